/* The wait for the answer to a request. The caller holds the spec's lock. */
#ifndef RTF_OWN_AWAIT_H
#define RTF_OWN_AWAIT_H

#include "rtf-own.h"

/* Call this before a request. If another program has put another NAME.json in place of ours, the
 * handle belongs to the new file from now on, as long as the verdict shows that the reservation has
 * not ended. */
void own_follow(struct rtf_spec_own *spec, struct client *client);

/* Waits for the answer until `until`, and returns the result. If the connection is not blocking,
 * returns RTF_PENDING at once. */
enum rtf_result own_await_answer(struct rtf_spec_own *spec, struct client *client, int64_t until);

/* Waits until the broker removes the verdict, because by then the thread has its former scheduling
 * back. */
enum rtf_result own_await_end(struct rtf_spec_own *spec, struct client *client, int64_t until);

/* Takes the outcome of a wait. Frees the verdict. */
enum rtf_result own_take_outcome(struct rtf_spec_own *spec, const struct client *client,
                                 enum client_outcome outcome, struct client_verdict *verdict);

/* Reads the answer to a request under way; if no request is under way, reads changes that this
 * handle has not asked for. Returns the result of the last request; RTF_PENDING: no answer yet. */
enum rtf_result own_look(struct rtf_spec_own *spec, struct client *client);

#endif
