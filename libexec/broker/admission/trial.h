/* A trial asks: would a refused request be granted if all others had only what they need? The
 * request is asked once more as a dry run. Nobody's share changes: the books are put back before
 * anything else reads them. A plugin reads first what the others need, then the question, then what
 * the others have. Only if the trial passes, capacity is taken back (spare-capacity.h). */
#ifndef RTF_TRIAL_H
#define RTF_TRIAL_H

#include "request.h"

/* Begins a trial. False: the account has used up its trials for now (trial-cost.h), and no trial
 * begins. */
bool trial_begin(struct request *request);
bool is_tried(const struct request *request);

/* The trial has passed. True: the plugins are asked again, and grant. False: the owner asked for a
 * dry run, and has the answer. */
bool trial_passes(struct request *request);

/* The trial has failed. MUST_WAIT: it left out a reservation that is being changed, and is repeated
 * in a moment. */
enum step_result trial_fails(struct request *request);

/* The request has waited, so a trial that failed before may pass now. */
void trial_may_begin_again(struct request *request);

/* Between these two calls the books say that the others have only what they need. Outside a trial
 * both calls do nothing. */
void trial_enter(const struct request *request);
void trial_leave(void);

/* Tell the plugin what the books of the trial say before a question, and what the others really
 * have after the question. */
void trial_tell(int plugin);
void trial_tell_back(int plugin);

#endif
