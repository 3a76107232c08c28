/* Whom the broker has had raised (raised.h), and what each had before: it says so, and writes it down before anybody is raised. */
#ifndef RTF_HOLD_H
#define RTF_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "serve.h"

/* From here on no other process raises anybody; false: one does, and *reason. */
bool hold_alone(char reason[static SERVE_REASON]);

/* TID,STARTED_BY,IOPRIO of one that was raised before this process was started. False: it is not that. */
bool hold_know(const char *word);

/* The thread is raised from now on; or is not, and nobody is to whom it has handed that on. */
enum done hold_bind(pid_t tid, uint64_t started_by, uid_t owner, int former, char reason[static SERVE_REASON]);
enum done hold_unbind(pid_t tid, uint64_t started_by, uid_t owner, int former, char reason[static SERVE_REASON]);

/* All that are still to be raised have been said: nobody else is. */
bool hold_settle(char reason[static SERVE_REASON]);

/* Nobody is. */
bool hold_end(char reason[static SERVE_REASON]);

#endif
