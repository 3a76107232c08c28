/* rtf-guard as the broker sees it: what keeps threads to what they were granted where the kernel
 * does not.
 *
 * While a thread is guarded it can be ordinary until its next period, and nobody but the guard may
 * touch its scheduling. So whoever has the attach helper do so lets it go first (guard_end), which
 * waits for the guard's word, some us: it never waits itself. */
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
    uint64_t times; /* SUSPENDED, LENT: since it was last told */
};

/* The receiver of events. is_new: a new guard has started, and all threads have to be guarded
 * anew. */
struct guard_listener {
    void (*news)(const struct guard_event *event);
    void (*is_new)(void);
};

/* Before the launcher is forked. */
void guard_prepare(char *path, const struct guard_listener *who);
bool guard_start(void);

/* Ends the guard. On return, suspended threads are in force again, except threads that wait for a
 * lock and lend their rank. */
void guard_stop(void);

/* Where the plugin's line says enforce=runtime: whether there is one in what was asked for, and one
 * that can be. False: what to add. */
bool guard_can_enforce(int plugin, const struct spec *spec, char reason[static REASON_BYTES]);

/* From here on. `event` is its budget's (libexec/attach/task-events.h), and taken over; -1:
 * SCHED_DEADLINE, of which only what it lends is guarded. `again`: it was guarded before, and may
 * have been left suspended. */
void guard_begin(struct attachment *attachment, const struct grant *grant, int event, bool again);

/* A helper process of the broker itself is held to a runtime in each period in the same way: us.
 * The descriptors stay the caller's. */
struct guarded_child {
    pid_t pid;
    uint64_t started_by; /* thread.h */
    struct attributes rank;
    uint64_t runtime, period;
    int pidfd, event;
};
void guard_child(const struct guarded_child *guarded, bool again);

/* The helper is to make it SCHED_DEADLINE, if that is what was granted:
 * libexec/guard/promotions.h. */
void guard_expect(const struct attachment *attachment, const struct grant *grant);

/* The kernel has no bandwidth left for a thread: the guard gives up its own, which is there after
 * GUARD_YIELDS_IN (ns), until there is another SCHED_DEADLINE thread, or guard_rise: what others
 * were granted comes first. */
enum { GUARD_YIELDS_IN = 8000000 };
void guard_yield(void);
void guard_rise(void);

/* The guard does not make it real-time any more. */
void guard_end(struct attachment *attachment);

#endif
