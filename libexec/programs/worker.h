/* Carries orders out in the directory of one user, with the rights of that user. */
#ifndef RTF_PROGRAMS_WORKER_H
#define RTF_PROGRAMS_WORKER_H

#include "programs-d-users.h"

/* Becomes the user of the orders, with the group of the spool's users, and carries the orders out.
 * Returns 0, or an exit status of sysexits(3). */
int worker_run(const char *spool, gid_t group, const struct order *orders, size_t count);

#endif
