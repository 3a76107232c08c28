/* Keeps or drops capabilities (capabilities(7)). These functions are not in confine.c, because they
 * need libcap-ng. rtf-reader uses confine.c, but cannot use libcap-ng: libcap-ng needs the accounts
 * database, and rtf-reader is linked statically, without this database. */
#ifndef RTF_CAPABILITIES_H
#define RTF_CAPABILITIES_H

#include <stdbool.h>
#include <sys/types.h>

/* Keeps only these capabilities (CAP_..., -1 at the end), also for programs that this process
 * executes. A capability that the process does not have is skipped. */
bool capabilities_keep(const int keep[]);

/* The capability for perf events on this machine: CAP_PERFMON, or CAP_SYS_ADMIN where the kernel
 * refuses CAP_PERFMON (kernel.perf_event_paranoid=3, the default of Debian's kernels). A child
 * process tests which capability the kernel accepts. */
int capability_for_perf(void);

/* Changes this process to the user `uid`, with no group except `gid`, and keeps only these
 * capabilities, like capabilities_keep. */
bool capabilities_keep_as(uid_t uid, gid_t gid, const int keep[]);

/* Changes this process to the unprivileged user `uid`, without capabilities, and with no group
 * except `gid` and `other`. other = -1: only `gid`. */
bool become_unprivileged(uid_t uid, gid_t gid, gid_t other);

#endif
