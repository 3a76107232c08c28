/* rtf-guard as the broker sees it: what keeps threads to what they were granted where the kernel
 * does not.
 *
 * A guarded thread may be ordinary until its next period, and no other program may change its
 * scheduling. So before the attach helper changes the thread, the broker ends the guarding
 * (guard_end), and waits some us for the guard's answer. The guard itself never waits. */
#ifndef RTF_GUARD_H
#define RTF_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "reservation.h"

/* LOST: the thread has to be guarded anew. ASLEEP: the thread has to be attached anew, because it
 * can be real-time again only when it wakes. */
enum guard_news { GUARD_SUSPENDED, GUARD_LENT, GUARD_LOST, GUARD_ASLEEP };

struct guard_event {
    enum guard_news news;
    pid_t tid;
    uint64_t started_by;
    uint64_t times; /* SUSPENDED, LENT: how often since the last message */
};

/* The receiver of events. is_new: a new guard has started, and all threads have to be guarded
 * anew. */
struct guard_listener {
    void (*news)(const struct guard_event *event);
    void (*is_new)(void);
};

/* Call this before the launcher is forked. */
void guard_prepare(char *path, const struct guard_listener *who);
bool guard_start(void);

/* Ends the guard. On return, suspended threads are in force again, except threads that wait for a
 * lock and lend their rank. */
void guard_stop(void);

/* For a plugin with enforce=runtime: true if the spec has a runtime that the guard can enforce.
 * False: *reason says what to add. */
bool guard_can_enforce(int plugin, const struct spec *spec, char reason[static REASON_BYTES]);

/* The guard guards the thread from here on, and takes over `event`, the perf event of its budget
 * (libexec/attach/task-events.h). -1: a SCHED_DEADLINE thread, of which only loans are guarded.
 * `again`: the thread was guarded before, and may still be suspended. */
void guard_begin(struct attachment *attachment, const struct grant *grant, int event, bool again);

/* The guard enforces a runtime in each period (us) for a helper process of the broker, too. The
 * caller keeps the descriptors. */
struct guarded_child {
    pid_t pid;
    uint64_t started_by; /* thread.h */
    struct attributes rank;
    uint64_t runtime, period;
    int pidfd, event;
    bool whole; /* the runtime is for all threads of the process together */
};
void guard_child(const struct guarded_child *guarded, bool again);

/* The helper is about to make the thread SCHED_DEADLINE, if the grant says so:
 * libexec/guard/promotions.h. */
void guard_expect(const struct attachment *attachment, const struct grant *grant);

/* guard_yield: the kernel has no bandwidth left for a thread. The guard gives up its own bandwidth,
 * which is free after GUARD_YIELDS_IN (ns), because grants come first. The guard takes bandwidth
 * again at guard_rise, or when there is another SCHED_DEADLINE thread. */
enum { GUARD_YIELDS_IN = 8000000 };
void guard_yield(void);
void guard_rise(void);

/* From the return on, the guard does not make the thread real-time any more. */
void guard_end(struct attachment *attachment);

#endif
