/* What the kernel says of a thread: who it is and how it is scheduled. Reads only; the calls that change
 * anything are behind libexec/enforce.h and suspend.h.
 *
 * A thread is named by its id and a time at which it had that id: the id alone is reused, but whoever has it and started later
 * (/proc/TID/stat field 22, clock ticks since boot) is another. A pidfd opened before looking, and not readable afterwards,
 * proves that the two looks saw one thread. */
#ifndef RTF_THREAD_H
#define RTF_THREAD_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include "paragraph.h"

enum policy { POLICY_OTHER, POLICY_BATCH, POLICY_IDLE, POLICY_FIFO, POLICY_RR, POLICY_DEADLINE };

/* Everything that an attachment changes, and so everything that a detachment puts back. */
struct attributes {
    enum policy policy;
    bool reset_on_fork;
    bool domain;                        /* only wanted, never read: in the scheduling domain of its one CPU */
    int priority;                       /* FIFO and RR: 1..99; else 0 */
    int nice;                           /* -20..19; under real-time policies kept for later */
    uint64_t runtime, deadline, period; /* DEADLINE: us; else 0 */
    cpu_set_t cpus;                     /* the affinity */
};

struct identity {
    pid_t tid, process;
    uint64_t start;                             /* clock ticks since boot; 0: not looked at */
    uint64_t started_by;                        /* not later than that: what names it, beside its id */
    uid_t real_uid, effective_uid, saved_uid, files_uid;
    bool kernel;                                /* a kernel thread */
    bool ended;                                 /* dead, a zombie, or about to be one */
    bool runnable;                              /* runs, or would if it had a CPU */
    int cpu;                                    /* where it runs, or ran last */
};

const char *policy_name(enum policy policy);
bool policy_is_real_time(enum policy policy);
bool policy_from_name(const char *name, enum policy *policy);

/* Readable from the moment the thread ends. -1 with errno; ESRCH when there is no such thread. Before Linux
 * 6.9 a thread that does not lead its process is watched through its process. */
int thread_open(pid_t tid);
bool thread_has_ended(int pidfd);

/* Opens it and tells whose it is, whether it is the kernel's, and, if need be, its start; the rest may be left 0, for that is cheaper
 * from Linux 6.13 on. Returns a pidfd, or -1 with errno; ESRCH when there is no such thread, or it has ended. */
int thread_find(pid_t tid, bool with_start, struct identity *identity);

/* False with errno (ESRCH when there is no such thread). All of it; all but process and uids; these only. Each costs 10 us, for
 * the kernel composes a text; but the last does not, if there is a pidfd of the thread (else -1), from Linux 6.13 on. */
bool thread_identify(pid_t tid, struct identity *identity);
bool thread_look(pid_t tid, struct identity *identity);
bool thread_owner(int pidfd, pid_t tid, struct identity *identity);

/* It is there, and waits for something. */
bool thread_sleeps(pid_t tid);

/* By its pidfd alone (Linux 6.13): tid, process and uids. */
bool thread_of_pidfd(int pidfd, struct identity *identity);
#define THREAD_PIDFD_GET_INFO _IOWR(0xff, 11, uint64_t[8]) /* PIDFD_GET_INFO, of 64 bytes; for filters of system calls */

/* The clock tick of now, as started_by. */
uint64_t thread_now(void);

/* Whether the id is still that of a thread which had started by then. False with ESRCH: that thread has ended. False with another errno: this is not known, and
 * the caller must not forget a real-time thread. */
bool thread_is(pid_t tid, uint64_t started_by);

/* It runs with no other rights than this user's: each of its four uids is the user's. Root's may be anybody's. */
bool thread_is_of(const struct identity *identity, uid_t owner);
bool thread_attributes(pid_t tid, struct attributes *attributes);

/* Does a thread with the attributes `now` run as `plan` says? */
bool attributes_show(const struct attributes *plan, const struct attributes *now);

/* When the thread started, as CLOCK_REALTIME in ns, cut to the clock tick. */
int64_t thread_started(const struct identity *identity);

/* The attributes as lines of a paragraph, each key behind `prefix`: policy, reset_on_fork, priority, nice,
 * runtime, deadline, period, cpus. Lines of other policies, and a nice value of 0 under them, are left out. */
void attributes_add(struct paragraph_output *output, const char *prefix, const struct attributes *attributes);
bool attributes_get(const struct paragraph *paragraph, const char *prefix, struct attributes *attributes);

#endif
