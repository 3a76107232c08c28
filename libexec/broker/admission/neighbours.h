/* The plugins whose promises a plan could break: those that judge, on its CPUs, and not above it. Each is asked
 * before the plan is taken, and notes it if it can bear it; the request has the turn meanwhile (request.h). */
#ifndef RTF_NEIGHBOURS_H
#define RTF_NEIGHBOURS_H

#include "request.h"

/* Asks the first, or the next after this answer. False: all have been asked about request->hearing.offer, and
 * request->hearing.objector tells whether one of them said no. */
bool neighbours_ask(struct request *request);
bool neighbour_answered(struct request *request, const struct plugin_event *event);

/* What they have noted will not be: they hear again what is. */
void neighbours_forget(const struct request *request, const struct grant *offer);

#endif
