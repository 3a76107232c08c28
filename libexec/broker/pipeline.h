/* The steps of one request, and what follows what: each stage says what has come of its step, and knows nothing of the others.
 *
 *   access -> admission -> accounting -> state -> activation -> verdict and event
 *
 * One request at a time is under way for a reservation; those of other reservations pass. */
#ifndef RTF_PIPELINE_H
#define RTF_PIPELINE_H

#include "attach.h"
#include "request.h"
#include "reservation.h"

/* A request begins with what its reservation's files ask for: SPEC_IS_NEW, MORE_IS_WANTED, THREAD_IS_NAMED, THREAD_IS_KNOWN (and was attached already), LET_GO,
 * SPEC_IS_GONE, or DECIDED. It goes on until something has to be waited for, or the answer is given; then the request is no more. */
void pipeline_begin(struct request *request, enum step_result asked);

/* What was waited for has come: an account, the request's turn, a time, the answer of a plugin or of a helper. False: no request waits for that answer. */
void pipeline_account_known(struct account *account);
void pipeline_turn_has_come(struct request *request);
void pipeline_has_waited(struct request *request);
void pipeline_plugin_answered(const struct plugin_event *event);
bool pipeline_helper_answered(const struct helper_event *event);

/* The step after this one; STEP_BEGUN: none. */
enum step pipeline_follows(enum step step, enum step_result result);

/* Nothing more is told of what its reader has seen of it, nor asked for. */
void pipeline_end_snapshot(struct reservation *reservation);

/* Frees a reservation of which nothing is left, and its user's directory with the last one. */
void pipeline_forget_if_empty(struct reservation *reservation);

/* What was granted is to be made again in the kernel, or there is more of what it desires. */
bool pipeline_is_to_be_applied_again(const struct reservation *reservation);

#endif
