/* Keeps or drops capabilities (capabilities(7)). This is not part of confine.c, because libcap-ng
 * needs the accounts database, and rtf-reader is linked statically, without that database. */
#ifndef RTF_CAPABILITIES_H
#define RTF_CAPABILITIES_H

#include <stdbool.h>
#include <sys/types.h>

/* Keeps only these capabilities (CAP_..., -1 at the end), also for programs that this process
 * executes. A capability that the process does not have is skipped. */
bool capabilities_keep(const int keep[]);

/* The capability for perf events on this machine: CAP_PERFMON, or CAP_SYS_ADMIN where the kernel
 * wants more (kernel.perf_event_paranoid=3, the default of Debian's kernels). A child process tests
 * which capability the kernel accepts. */
int capability_for_perf(void);

/* Becomes this user, without other groups, and keeps only these capabilities, like
 * capabilities_keep. */
bool capabilities_keep_as(uid_t uid, gid_t gid, const int keep[]);

/* Becomes an unprivileged user without capabilities, with no group except `gid` and `other`; other
 * -1: only `gid`. */
bool become_unprivileged(uid_t uid, gid_t gid, gid_t other);

#endif
