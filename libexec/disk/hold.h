/* Whom the broker has had raised (raised.h), and what each had before: it says so, and writes it down before anybody is raised. */
#ifndef RTF_HOLD_H
#define RTF_HOLD_H

#include "way.h"

/* TID,STARTED_BY,IOPRIO of one that was raised before this process was started. False: it is not that. */
bool hold_know(const char *word);

/* A thread is raised, from when it is bound on; or is not, and nobody is to whom it has handed that on. A class is nothing but its name. When all is
 * settled nobody else is raised, and when it is dissolved nobody. */
extern const struct way by_priority;

#endif
