/* The broker's side of the attach helper, rtf-attach --serve, the only program that may change the
 * scheduling of threads. The helper answers messages in order. A helper that dies or hangs is
 * started again, and gets the unanswered messages again, so each message must be harmless if the
 * helper gets it twice. */
#ifndef RTF_ATTACH_H
#define RTF_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/kernel-setting.h"
#include "helper.h"
#include "reservation.h"

/* Tells the launcher about the helper. Call this before the launcher is forked. `event` is called
 * for each answer, `again` when the helper has been started again. */
void attach_prepare(char *path, void (*event)(const struct helper_event *event),
                    void (*again)(void));

/* The helper inherits `lock`, the lock of the spool (spool.h). False: errno says why. */
bool attach_start(int lock);
void attach_stop(void);

/* Each function below sends the helper a message, and returns the id that the answer will carry.
 * The caller keeps reservation_fd open until the answer has come. */
uint64_t attach_apply(struct attachment *attachment, const struct grant *grant, int reservation_fd);
uint64_t attach_adjust(struct attachment *attachment, const struct grant *grant);

/* Applies the grant again, even if the thread has another policy than the attach helper expects. */
uint64_t attach_apply_again(struct attachment *attachment, const struct grant *grant);
uint64_t attach_restore(struct attachment *attachment);
uint64_t attach_watch(const struct attachment *attachment);

/* Asks for a new perf event that reports when the runtime is used up, because the perf event that
 * came with the answer to apply, adjust or apply_again was lost. */
uint64_t attach_budget(struct attachment *attachment, const struct grant *grant);
/* Asks for an event that reports each two runtimes of a SCHED_DEADLINE thread, or each 20 ms of its
 * CPU time if two runtimes are longer. */
uint64_t attach_count(const struct attachment *attachment, const struct grant *grant);
uint64_t attach_sweep(const struct attachment *attachment);

/* Repairs the kernel's count of SCHED_DEADLINE threads (lib/demote.h). No answer is expected. */
void attach_repair(void);

/* For given-extras.c: attach_give begins a message that gives the thread extras (extras.h) or takes
 * them back. The caller adds lines to the text. attach_given sends the message. */
struct message *attach_give(const struct attachment *attachment);
uint64_t attach_given(struct message *message);

/* needed is true: has the helper change a setting of the kernel for the spool `by`. needed is
 * false: has the helper restore the setting (kernel-setting.h). */
uint64_t attach_setting(enum which_setting which, bool needed, const char *by);

/* Asks whether a timer of the kernel ends SCHED_DEADLINE runtimes, and not the next tick. The
 * answer is ok or no (tick-probe.h). */
uint64_t attach_tick(void);

/* Call this when the guard or the helper has been started again: asks for new events by which the
 * guard sees that broker or helper loops in the kernel (libexec/guard/kernel-loop.h). */
void attach_watch_again(void);

/* Asks whether the kernel accepts SCHED_DEADLINE threads that may run on all of these CPUs. */
uint64_t attach_probe(const cpu_set_t *cpus);

/* Makes a scheduling domain of each of the CPUs for the spool `by`. An empty set of CPUs: removes
 * the domains of `by`. */
uint64_t attach_domains(const cpu_set_t *cpus, const char *by);

/* Waits until all messages are answered, at most `seconds`. Drops all answers except the last
 * answer, which becomes *last. The broker waits like this only at its start and end. */
bool attach_drain(int seconds, struct helper_event *last);

/* Returns the longest time `after` (helper_event) of the dropped answers, ns, and forgets it. After
 * this time, messages whose dropped answer was PENDING can be repeated, and the kernel counts no
 * former bandwidth any more. 0: there is nothing to wait for. */
int64_t attach_owed(void);

#endif
