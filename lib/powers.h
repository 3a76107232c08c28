/* Powers (capabilities(7)), which a program keeps or gives up. Not part of confine.c, for libcap-ng knows the accounts database, and the reader, which is
 * linked statically, has to do without that. */
#ifndef RTF_POWERS_H
#define RTF_POWERS_H

#include <stdbool.h>
#include <sys/types.h>

/* Keeps these, CAP_... with -1 at the end, of what the process has, also for what it runs. */
bool confine_powers(const int keep[]);

/* The power that perf events take here: CAP_PERFMON, or CAP_SYS_ADMIN where that is not enough: kernel.perf_event_paranoid=3, as
 * Debian's kernels have it from the start. Tried by a child. */
int confine_perf_power(void);

/* Becomes an unprivileged user without any power, and with no group but its own and this other one; -1 is none. */
bool confine_to_user(uid_t uid, gid_t gid, gid_t other);

#endif
