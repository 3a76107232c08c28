/* The steps of a request, and which step follows which. The steps belong to stages, in the order
 * below. A stage returns the result of its step, and knows nothing of the other stages.
 *
 *   access -> admission -> accounting -> state -> activation -> verdict and event
 *
 * A reservation has one request at a time. Requests of other reservations go on meanwhile. */
#ifndef RTF_PIPELINE_H
#define RTF_PIPELINE_H

#include "attach.h"
#include "request.h"
#include "reservation.h"

/* Begins a request. `asked` says what the reservation's files ask for: a result of BEGUN in the
 * diagram of pipeline.c. The request goes on until it waits for something, or is answered and
 * freed. */
void pipeline_begin(struct request *request, enum step_result asked);

/* Each function goes on with requests that have waited: for their account; for their turn to ask a
 * plugin; for a time; for an answer of a plugin; for an answer of a helper. False: no request waits
 * for this answer. */
void pipeline_account_known(struct account *account);
void pipeline_turn_has_come(struct request *request);
void pipeline_has_waited(struct request *request);
void pipeline_plugin_answered(const struct plugin_event *event);
bool pipeline_helper_answered(const struct helper_event *event);

/* Returns the step that follows `step` with this result; STEP_BEGUN: `step` cannot have this
 * result. */
enum step pipeline_follows(enum step step, enum step_result result);

/* Tells the reader that its last report about the reservation gets no further answer, and frees the
 * report. */
void pipeline_end_snapshot(struct reservation *reservation);

/* Frees the reservation if it has no files, no grant and no thread. With the last reservation of a
 * removed directory, frees the user, too. */
void pipeline_forget_if_empty(struct reservation *reservation);

/* True: the grant has to be applied to the thread again, or the grant may get spare capacity
 * (spare-capacity.h). */
bool pipeline_is_to_be_applied_again(const struct reservation *reservation);

#endif
