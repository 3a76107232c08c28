/* Waits for the answer to a request of a spec handle. The caller holds the lock of the handle. */
#ifndef RTF_OWN_AWAIT_H
#define RTF_OWN_AWAIT_H

#include "rtf-own.h"

/* Call this before a request. If another program has replaced our NAME.json, and the verdict shows
 * that the reservation has not ended, the handle stands for the new file from now on. */
void own_follow(struct rtf_spec_own *spec, struct client *client);

/* Waits for the answer until `until`, and returns the result. If the connection is not blocking,
 * returns RTF_PENDING at once. */
enum rtf_result own_await_answer(struct rtf_spec_own *spec, struct client *client, int64_t until);

/* Waits until the broker removes the verdict. When the verdict is gone, the thread has its former
 * scheduling back. */
enum rtf_result own_await_end(struct rtf_spec_own *spec, struct client *client, int64_t until);

/* Puts the outcome of a wait into the handle, and frees the verdict. Returns the result for the
 * user. */
enum rtf_result own_take_outcome(struct rtf_spec_own *spec, const struct client *client,
                                 enum client_outcome outcome, struct client_verdict *verdict);

/* Reads the answer to a request under way; if no request is under way, reads changes that this
 * handle has not asked for. Returns the result of the last request; RTF_PENDING: no answer yet. */
enum rtf_result own_look(struct rtf_spec_own *spec, struct client *client);

#endif
