/* The attach helper as the broker sees it: rtf-attach --serve, the only program that can schedule.
 * The helper answers messages in order. A helper that dies or hangs is started again, and gets the
 * unanswered messages once more: each message may come twice. */
#ifndef RTF_ATTACH_H
#define RTF_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/kernel-setting.h"
#include "helper.h"
#include "reservation.h"

/* Tells the launcher about the program, before the launcher is forked. `event` is called for each
 * answer, `again` when the program has been started again. */
void attach_prepare(char *path, void (*event)(const struct helper_event *event),
                    void (*again)(void));

/* The helper shares `lock`. False with errno. */
bool attach_start(int lock);
void attach_stop(void);

/* Each function returns the id that the answer will carry. The caller keeps reservation_fd open
 * until the answer. */
uint64_t attach_apply(struct attachment *attachment, const struct grant *grant, int reservation_fd);
uint64_t attach_adjust(struct attachment *attachment, const struct grant *grant);

/* Applies the grant once more, whatever the thread's policy is now. */
uint64_t attach_apply_again(struct attachment *attachment, const struct grant *grant);
uint64_t attach_restore(struct attachment *attachment);
uint64_t attach_watch(const struct attachment *attachment);

/* Asks for a new perf event that tells when the runtime is used up: the one from apply, adjust or
 * apply_again was lost. */
uint64_t attach_budget(struct attachment *attachment, const struct grant *grant);
uint64_t attach_sweep(const struct attachment *attachment);

/* Gives and takes back what the thread has beside CPU time, for given-extras.c. The text gets more
 * lines before attach_given. */
struct message *attach_give(const struct attachment *attachment);
uint64_t attach_given(struct message *message);

/* Has a setting of the kernel changed for the spool `by`, or restored (kernel-setting.h). */
uint64_t attach_setting(enum which_setting which, bool needed, const char *by);

/* Asks whether a timer ends SCHED_DEADLINE runtimes: ok, or no (tick-probe.h). */
uint64_t attach_tick(void);

/* Asks whether the kernel takes SCHED_DEADLINE threads that may be on all of these CPUs. */
uint64_t attach_probe(const cpu_set_t *cpus);

/* Makes scheduling domains for `by`. No CPUs: removes the domains of `by`. */
uint64_t attach_domains(const cpu_set_t *cpus, const char *by);

/* For the start and the end of the broker: waits until all messages are answered, at most
 * `seconds`. Drops all answers except the last one, *last. */
bool attach_drain(int seconds, struct helper_event *last);

/* The longest of the times `after` in the dropped answers, ns: after this time a dropped message
 * has to be repeated, or the kernel no longer counts a former bandwidth. 0: none. */
int64_t attach_owed(void);

#endif
