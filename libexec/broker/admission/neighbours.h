/* The neighbours of a plan: plugins that judge other plugins' tasks, that have one of the plan's
 * CPUs, and whose threads do not run above the plan's. The plan could break their promises. Each
 * neighbour is asked before the plan is taken, and notes a plan that it can bear. Meanwhile the
 * request has the turn (request.h). */
#ifndef RTF_NEIGHBOURS_H
#define RTF_NEIGHBOURS_H

#include "request.h"

/* Asks the first neighbour about hearing.offer, or takes an answer and asks the next. False: all
 * have answered, and hearing.objector is the first that said no. */
bool neighbours_ask(struct request *request);
bool neighbour_answered(struct request *request, const struct plugin_event *event);

/* The offer is not taken: replaces the noted plan in the neighbours' books by the grant in
 * force. */
void neighbours_forget(const struct request *request, const struct grant *offer);

#endif
