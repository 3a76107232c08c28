/* The threads that the broker has had raised (raised.h), with the I/O priority of each before. The
 * broker sends these, and records them before a thread is raised. */
#ifndef RTF_HOLD_H
#define RTF_HOLD_H

#include "way.h"

/* Takes TID,STARTED_BY,IOPRIO of a thread that was raised before this process started. False:
 * malformed. */
bool hold_know(const char *word);

/* Raises a thread when it is bound. Unbinding lowers the thread and all threads that inherited its
 * priority. A class is only a number here. settle lowers every thread that no request has named;
 * dissolve lowers all. */
extern const struct way by_priority;

#endif
