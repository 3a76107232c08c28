/* Keeps the list of the threads that are raised for the broker (raised.h), with the former I/O
 * priority of each thread. The broker sends the former priority. It records this priority before
 * the thread is raised, so that the priority is also known after a crash. */
#ifndef RTF_HOLD_H
#define RTF_HOLD_H

#include "way.h"

/* Takes the word TID,STARTED_BY,IOPRIO of a thread that was raised before this process started.
 * False: the word is malformed. */
bool hold_know(const char *word);

/* Raises a thread when it is bound. Unbinding lowers the thread, and all threads that inherited its
 * raised priority. With I/O priorities, a class has no rate and no share. settle lowers every
 * thread that no request has named. dissolve lowers all threads. */
extern const struct way by_priority;

#endif
