/* The steps of a request, and which step follows which. Each stage returns the result of its step,
 * and knows nothing of the other stages.
 *
 *   access -> admission -> accounting -> state -> activation -> verdict and event
 *
 * A reservation has one request at a time. Requests of other reservations go on meanwhile. */
#ifndef RTF_PIPELINE_H
#define RTF_PIPELINE_H

#include "attach.h"
#include "request.h"
#include "reservation.h"

/* Begins a request with what its reservation's files ask for, as the edges of BEGUN say
 * (pipeline.c). The request goes on until it waits for something, or is answered and freed. */
void pipeline_begin(struct request *request, enum step_result asked);

/* Go on with the requests that wait for this account; with a request whose turn or time has come;
 * with the request that waits for this answer of a plugin or helper. False: no request waits for
 * the answer. */
void pipeline_account_known(struct account *account);
void pipeline_turn_has_come(struct request *request);
void pipeline_has_waited(struct request *request);
void pipeline_plugin_answered(const struct plugin_event *event);
bool pipeline_helper_answered(const struct helper_event *event);

/* The step that follows; STEP_BEGUN: `step` cannot have this result. */
enum step pipeline_follows(enum step step, enum step_result result);

/* The reader's last report about the reservation needs no answer any more. */
void pipeline_end_snapshot(struct reservation *reservation);

/* Frees a reservation that has no files, no grant and no thread; and its user's directory with the
 * last reservation. */
void pipeline_forget_if_empty(struct reservation *reservation);

/* True if the grant is to be applied again, or if spare capacity is to be had. */
bool pipeline_is_to_be_applied_again(const struct reservation *reservation);

#endif
