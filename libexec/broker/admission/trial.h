/* Would a need that is refused be granted if the others had no more than they need? It is asked once more as a dry run, and nobody's share changes:
 * the books are put back before anything else looks at them, and a plugin reads the question between two descriptions of the others, with what
 * they need and with what they have. Only if it passes is anything taken back (spare-capacity.h). */
#ifndef RTF_TRIAL_H
#define RTF_TRIAL_H

#include "request.h"

/* False: the account owes too much for earlier trials, and there is none. */
bool trial_begin(struct request *request);
bool is_tried(const struct request *request);

/* True: it is asked again, to be granted. False: its owner asked for a dry run as well, and it is answered. */
bool trial_passes(struct request *request);

/* MUST_WAIT: somebody who is being changed was left out, and it is tried again in a moment. */
enum step_result trial_fails(struct request *request);

/* The request has waited: a trial that failed before may pass now. */
void trial_may_begin_again(struct request *request);

/* Between the two the books are as if. Nothing is done for a request that is not tried. */
void trial_enter(const struct request *request);
void trial_leave(void);

/* The plugin is told the same before a question, and what is true after it. */
void trial_tell(int plugin);
void trial_tell_back(int plugin);

#endif
