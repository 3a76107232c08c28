/* Keeps or drops capabilities (capabilities(7)). This is not part of confine.c, because libcap-ng
 * needs the accounts database, and rtf-reader is linked statically, without that. */
#ifndef RTF_POWERS_H
#define RTF_POWERS_H

#include <stdbool.h>
#include <sys/types.h>

/* Keeps only these capabilities (CAP_..., -1 at the end), also for programs that this process
 * executes. A capability that the process does not have is skipped. */
bool confine_powers(const int keep[]);

/* The capability for perf events on this machine: CAP_PERFMON, or CAP_SYS_ADMIN where the kernel
 * wants more (kernel.perf_event_paranoid=3, the default of Debian's kernels). A child process tries
 * it out. */
int confine_perf_power(void);

/* Becomes an unprivileged user without capabilities, with no group except its own and `other`; -1:
 * no other. */
bool confine_to_user(uid_t uid, gid_t gid, gid_t other);

#endif
