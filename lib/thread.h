/* The kernel's view of a thread: its identity and its scheduling. The functions here only read;
 * lib/scheduling.h and suspension.h change threads.
 *
 * A thread is identified by its id and a time at which it had that id. Ids are reused: a thread
 * with the same id that started later (/proc/TID/stat field 22, clock ticks since boot) is another
 * thread. A pidfd that was opened before two reads of /proc, and is not readable after them, proves
 * that both reads saw the same thread. */
#ifndef RTF_THREAD_H
#define RTF_THREAD_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include "paragraph.h"

enum policy { POLICY_OTHER, POLICY_BATCH, POLICY_IDLE, POLICY_FIFO, POLICY_RR, POLICY_DEADLINE };

/* The attributes that an attachment changes and a detachment restores. */
struct attributes {
    enum policy policy;
    bool reset_on_fork;
    /* true: the thread has to run in the scheduling domain of its one CPU. Only requests state
     * this; the kernel does not report it */
    bool domain;
    int priority;                       /* FIFO and RR: 1..99; else 0 */
    int nice;                           /* -20..19; has no effect under a real-time policy */
    uint64_t runtime, deadline, period; /* DEADLINE: us; else 0 */
    /* DEADLINE: the thread also gets CPU time that nobody has reserved (SCHED_FLAG_RECLAIM); the
     * kernel sends SIGXCPU at an overrun (SCHED_FLAG_DL_OVERRUN) */
    bool reclaim, overrun_signal;
    cpu_set_t cpus; /* the affinity */
};

struct identity {
    pid_t tid, process;
    uint64_t start; /* clock ticks since boot; 0: not read */
    /* a time at or after `start`, in clock ticks since boot. tid and this time together identify
     * the thread */
    uint64_t started_by;
    uid_t real_uid, effective_uid, saved_uid, files_uid;
    bool kernel;   /* a kernel thread */
    bool ended;    /* dead, a zombie, or exiting */
    bool runnable; /* running, or waiting for a CPU */
    int cpu;       /* the CPU on which the thread runs, or ran last */
};

const char *policy_name(enum policy policy);
bool policy_is_real_time(enum policy policy);
bool policy_from_name(const char *name, enum policy *policy);

/* Opens a pidfd, which becomes readable when the thread ends. -1: errno says why; ESRCH: no such
 * thread. Before Linux 6.9 the pidfd of a thread that does not lead its process is the pidfd of the
 * process. */
int thread_open(pid_t tid);
bool thread_has_ended(int pidfd);

/* Opens a pidfd and reads the thread's owner and whether it is a kernel thread; with_start: also
 * its start. Other members may stay 0: since Linux 6.13, reading less is cheaper. Returns the
 * pidfd, or -1: errno says why; ESRCH: no such thread, or it has ended. */
int thread_find(pid_t tid, bool with_start, struct identity *identity);

/* These functions read the identity of a thread. False: errno says why; ESRCH: no such thread.
 * thread_identify fills all members, thread_look all members except process and uids, and
 * thread_owner only process and uids. Each call costs 10 us, because the kernel formats text; only
 * thread_owner with a pidfd (-1: none) is cheaper, from Linux 6.13 on. */
bool thread_identify(pid_t tid, struct identity *identity);
bool thread_look(pid_t tid, struct identity *identity);
/* Like thread_look, for a thread of the process `process`. Reads /proc/PROCESS/task/TID/stat: for
 * /proc/TID/stat the kernel adds up the times of all threads of the process, which takes long if
 * there are thousands. */
bool thread_look_within(pid_t process, pid_t tid, struct identity *identity);
bool thread_owner(int pidfd, pid_t tid, struct identity *identity);

/* Like thread_owner, but opens and closes a pidfd itself. */
bool thread_owner_of(pid_t tid, struct identity *identity);

/* True if the thread exists and waits for something. */
bool thread_sleeps(pid_t tid);

/* Reads tid, process and uids by a pidfd alone (Linux 6.13). */
bool thread_of_pidfd(int pidfd, struct identity *identity);
/* PIDFD_GET_INFO, of 64 bytes; for system call filters */
#define THREAD_PIDFD_GET_INFO _IOWR(0xff, 11, uint64_t[8])

/* Returns the current time in clock ticks since boot, for started_by. */
uint64_t thread_now(void);

/* True if the id still belongs to the thread that had it at the time started_by. False with ESRCH:
 * that thread has ended. False with another errno: it is unknown whether the thread has ended. Then
 * the caller must not forget the thread, because the thread may still be real-time. */
bool thread_is(pid_t tid, uint64_t started_by);

/* True if all four uids of the thread are `owner`, so that the thread has no rights of another
 * user. If `owner` is root, the result is true for any thread. */
bool thread_is_of(const struct identity *identity, uid_t owner);
bool thread_attributes(pid_t tid, struct attributes *attributes);

/* True if the attributes `now`, which the kernel reports for a thread, agree with the attributes
 * `plan`. They also agree if the thread does not reclaim although it may, because the guard ends
 * the reclaiming of a thread that other threads wait for (guarded_end_reclaim). */
bool attributes_show(const struct attributes *plan, const struct attributes *now);

/* Returns the time of the thread's start, in ns of CLOCK_REALTIME, rounded down to the clock
 * tick. */
int64_t thread_started(const struct identity *identity);

/* attributes_add writes attributes as lines of a paragraph, and attributes_get reads such lines.
 * `prefix` stands before each key: policy, reset_on_fork, priority, nice, runtime, deadline,
 * period, reclaim, overrun_signal, cpus. Lines that the policy does not use are left out. A nice value of 0 is also left
 * out, except under POLICY_OTHER and POLICY_BATCH. */
void attributes_add(struct paragraph_output *output, const char *prefix,
                    const struct attributes *attributes);
bool attributes_get(const struct paragraph *paragraph, const char *prefix,
                    struct attributes *attributes);

#endif
