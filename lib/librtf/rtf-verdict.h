/* Takes the result of the last call of a spec handle, and the grant, from the verdict. The caller
 * of each function, except own_read, holds the lock of the handle. */
#ifndef RTF_OWN_VERDICT_H
#define RTF_OWN_VERDICT_H

#include "rtf-own.h"

/* Returns the number of this key; 0: the key is missing, or has no positive number. */
uint64_t own_number(const json_t *object, const char *key);

/* Copies the string of this key; "": the key is missing. */
void own_take_text(const json_t *object, const char *key, char *text, size_t size);

/* own_take_verdict takes everything of the verdict into the handle, and returns the result in the
 * verdict. own_take_grant takes only the grant and the thread; NULL: the verdict has none. */
enum rtf_result own_take_verdict(struct rtf_spec_own *spec, const json_t *verdict);
void own_take_grant(struct rtf_spec_own *spec, const json_t *grant, const json_t *thread);

/* Parses the answer if it is not parsed yet. If there is no memory, the answer stays unparsed, and
 * the next call tries again. own_read takes the spec's lock. */
void own_read_answer(struct rtf_spec_own *spec);
void own_read(struct rtf_spec_own *spec);

/* Drops the unparsed answer. */
void own_forget_answer(struct rtf_spec_own *spec);

/* Drops the text from before a change that was not granted. */
void own_forget_former(struct rtf_spec_own *spec);

/* Each function sets the result of the last call, and returns it. own_set_gone: the spec does not
 * exist any more. own_set_released: the caller has released the spec. own_set_busy: another thread
 * has the reservation. */
enum rtf_result own_set_result(struct rtf_spec_own *spec, enum rtf_result result, const char *code,
                               const char *reason);
enum rtf_result own_set_outcome(struct rtf_spec_own *spec, enum client_outcome outcome,
                                const char *why);
enum rtf_result own_set_gone(struct rtf_spec_own *spec, const char *why);
enum rtf_result own_set_released(struct rtf_spec_own *spec);
enum rtf_result own_set_busy(struct rtf_spec_own *spec, const char *why);

#endif
