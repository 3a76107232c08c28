/* The broker's side of rtf-guard, the program that keeps threads to their granted runtimes where
 * the kernel does not. A suspended thread has used up its runtime, and is ordinary until its next
 * period. A thread lends its rank, which is its policy and priority, while another thread holds a
 * lock for which it waits (priority inheritance).
 *
 * While the guard guards a thread, no other program may change the thread's scheduling. So before
 * the attach helper changes the thread, the broker ends the guarding (guard_end), and waits some us
 * for the guard's answer. The guard itself never waits for the broker. */
#ifndef RTF_GUARD_H
#define RTF_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "reservation.h"

/* SUSPENDED: the thread has used up its runtime. LENT: the thread was suspended because it lent its
 * rank. LOST: the guard no longer guards the thread, so guard_begin has to be called again. ASLEEP:
 * the thread has to be attached again, because it was suspended, sleeps now, and can be real-time
 * only when it wakes. HOLDS: another thread waits for a lock of the SCHED_DEADLINE thread; the guard
 * needs an event that counts its CPU time (attach_count). */
enum guard_news { GUARD_SUSPENDED, GUARD_LENT, GUARD_LOST, GUARD_ASLEEP, GUARD_HOLDS };

struct guard_event {
    enum guard_news news;
    pid_t tid;
    uint64_t started_by;
    uint64_t times; /* SUSPENDED, LENT: the number of such events since the last message */
};

/* The functions that receive events. news is called for each event. is_new is called when a new
 * guard has started, because guard_begin then has to be called again for all threads. miscount is
 * called when attach_repair is due, because a thread has ended while the guard made it ordinary. */
struct guard_listener {
    void (*news)(const struct guard_event *event);
    void (*is_new)(void);
    void (*miscount)(void);
};

/* Tells the launcher about the guard. Call this before the launcher is forked. */
void guard_prepare(char *path, const struct guard_listener *who);
bool guard_start(void);

/* Ends the guard. On return, suspended threads are real-time again, except threads that wait for a
 * lock and lend their rank. */
void guard_stop(void);

/* True: the guard can enforce the spec's runtime, or the guard need not enforce it, because the
 * plugin's line has no enforce=runtime. False: *reason says what the spec or the line lacks.
 * *least: the least runtime that the guard can enforce for the spec, us; 0: no bound, or no other
 * runtime helps. */
bool guard_can_enforce(int plugin, const struct spec *spec, uint64_t *least,
                       char reason[static REASON_BYTES]);

/* The guard guards the thread from here on. The function takes over `event`, the perf event that
 * reports when the runtime is used up (libexec/attach/task-events.h). event == -1: the thread is
 * SCHED_DEADLINE, and no other thread has waited for a lock of it. Then the guard only watches whether
 * the thread lends its rank. again: an earlier guard guarded the thread, which may still be
 * suspended. */
void guard_begin(struct attachment *attachment, const struct grant *grant, int event, bool again);

/* Has the guard look whether the thread, which the attach helper has just made ordinary, is lent a
 * rank. A thread that the guard did not guard may have had a lock for which a guarded thread of a
 * lower rank waits; the kernel does not report when this wait becomes a loan. */
void guard_look_at(const struct attachment *attachment);

/* Has the guard watch this process of rtf by the perf event `event`: the event shows whether the
 * process loops in the kernel (libexec/guard/kernel-loop.h). The caller keeps the event. */
void guard_watch_loop(pid_t process, int event);

/* If the grant is SCHED_DEADLINE, tells the guard that the attach helper is about to make the
 * thread SCHED_DEADLINE, so that the guard knows the thread if it lends its rank at once
 * (libexec/guard/promotions.h). */
void guard_expect(const struct attachment *attachment, const struct grant *grant);

/* guard_yield: the kernel has no SCHED_DEADLINE bandwidth left for a granted thread, so the guard
 * gives up its own bandwidth, because grants come first. This bandwidth is free after
 * GUARD_YIELDS_IN (ns). The guard takes bandwidth again at guard_rise, or before the next thread
 * becomes SCHED_DEADLINE. */
enum { GUARD_YIELDS_IN = 8000000 };
void guard_yield(void);
void guard_rise(void);

/* Ends the guarding of the thread. After the return, the guard does not change the thread's
 * scheduling any more. detaches: the attach helper makes the thread, or all threads of the process,
 * ordinary next; a FIFO or RR thread is ordinary from now on. */
void guard_end(struct attachment *attachment, bool detaches);

#endif
