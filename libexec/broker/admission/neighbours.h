/* Asks the neighbours of a plan. A neighbour is a plugin that judges the tasks of other plugins and
 * has one of the plan's CPUs. Its threads do not run above the thread of the plan. The plan could
 * break the promises of a neighbour, so each neighbour is asked before the plan is taken. A
 * neighbour that can bear the plan takes it into its books. Until all neighbours have answered, the
 * request has the turn (turn_take): no other request that needs the turn goes on. */
#ifndef RTF_NEIGHBOURS_H
#define RTF_NEIGHBOURS_H

#include "request.h"

/* neighbours_ask asks the first neighbour about hearing.offer. neighbour_answered takes the
 * neighbour's answer, and asks the next neighbour. False: all neighbours have answered, and
 * hearing.objector is the first neighbour that said no. */
bool neighbours_ask(struct request *request);
bool neighbour_answered(struct request *request, const struct plugin_event *event);

/* Call this when the offer is not taken: the neighbours' books get the present grant in place of
 * the plan. */
void neighbours_forget(const struct request *request, const struct grant *offer);

#endif
