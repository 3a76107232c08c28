/* The order of the stages of one request: each is called with the result of the one before, and knows nothing of the others.
 *
 *   access -> admission -> accounting -> state -> activation -> verdict and event
 *
 * One request at a time is under way for a reservation; those of other reservations pass. */
#ifndef RTF_PIPELINE_H
#define RTF_PIPELINE_H

#include "request.h"
#include "reservation.h"

/* Does what the last stage wants next, until something has to be waited for or the answer is given; then the request is no more. */
void pipeline_advance(struct request *request, enum next next);

/* A request whose time had not come goes on. */
void pipeline_has_waited(struct request *request);

/* Nothing more is told of what its reader has seen of it, nor asked for. */
void pipeline_end_snapshot(struct reservation *reservation);

/* Frees a reservation of which nothing is left, and its user's directory with the last one. */
void pipeline_forget_if_empty(struct reservation *reservation);

/* What was granted is to be made again in the kernel, or there is more of what it desires. */
bool pipeline_is_to_be_applied_again(const struct reservation *reservation);

#endif
