/* Keeps the threads that are raised for the broker (raised.h), with the former I/O priority of each
 * thread. The broker sends the former priority, and records this priority before the thread is
 * raised, so that the priority is known also after a crash. */
#ifndef RTF_HOLD_H
#define RTF_HOLD_H

#include "way.h"

/* Takes TID,STARTED_BY,IOPRIO of a thread that was raised before this process started. False:
 * malformed. */
bool hold_know(const char *word);

/* Raises a thread when it is bound. Unbinding lowers the thread and all threads that inherited its
 * priority. A class has no rate and no share here. settle lowers every thread that no request has
 * named; dissolve lowers all. */
extern const struct way by_priority;

#endif
