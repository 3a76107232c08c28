/* A trial finds out whether a refused request would be granted if all other reservations had only
 * what they need (desired-amounts.h). The plugins are asked for the request once more, as a dry
 * run. No grant changes: the books show the needs only during a step of the trial, and are restored
 * before anything else reads them. A plugin gets three messages: what the other reservations need,
 * the question, and what the other reservations really have. Capacity is taken back only if the
 * trial passes (spare-capacity.h). */
#ifndef RTF_TRIAL_H
#define RTF_TRIAL_H

#include "request.h"

/* Begins a trial. False: the account has used up its budget for trials (trial-cost.h), and no trial
 * begins. is_tried: a trial of the request is running. */
bool trial_begin(struct request *request);
bool is_tried(const struct request *request);

/* Call this when the trial has passed. True: the plugins are asked again without the trial. False:
 * the owner asked for a dry run, and has the answer. */
bool trial_passes(struct request *request);

/* Call this when the trial has failed. MUST_WAIT: the trial left out a reservation that is being
 * changed, so the trial is repeated a moment later. */
enum step_result trial_fails(struct request *request);

/* Call this when the request has waited: a trial that failed before may pass now. */
void trial_may_begin_again(struct request *request);

/* Between trial_enter and trial_leave the books say that the other reservations have only what they
 * need. Without a trial of the request, both functions do nothing. */
void trial_enter(const struct request *request);
void trial_leave(void);

/* trial_tell tells the plugin, before a question, what other reservations have in the trial.
 * trial_tell_back tells it, after the question, what they really have. */
void trial_tell(int plugin);
void trial_tell_back(int plugin);

#endif
