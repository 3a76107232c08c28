/* The attach helper as the broker sees it: rtf-attach --serve, the only program that can schedule.
 * Messages are answered in order. All of them may be said twice, so when the helper dies or hangs
 * it is started again and told what it had not answered. */
#ifndef RTF_ATTACH_H
#define RTF_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "helper.h"
#include "reservation.h"

/* Tells the launcher about the program, before the launcher is forked. `event` is called for each
 * answer. */
void attach_prepare(char *path, void (*event)(const struct helper_event *event));

/* `lock` is shared with it. False with errno. */
bool attach_start(int lock);
void attach_stop(void);

/* Each returns the id that the answer will carry. reservation_fd stays the caller's and must stay
 * open till then. */
uint64_t attach_apply(struct attachment *attachment, const struct grant *grant, int reservation_fd);
uint64_t attach_adjust(struct attachment *attachment, const struct grant *grant);

/* The grant once more, whatever the thread's policy is now: restore to what is granted. */
uint64_t attach_apply_again(struct attachment *attachment, const struct grant *grant);
uint64_t attach_restore(struct attachment *attachment);
uint64_t attach_watch(const struct attachment *attachment);

/* Only what tells when its runtime is used up: that of apply, adjust and apply_again has been
 * lost. */
uint64_t attach_budget(const struct attachment *attachment, const struct grant *grant);
uint64_t attach_sweep(const struct attachment *attachment);

/* Has sched_rt_runtime_us lifted for the spool `by`, or restored (rt-limit.h). */
uint64_t attach_rt_limit(bool lifted, const char *by);

/* Asks whether the kernel takes SCHED_DEADLINE threads that may be on all of these CPUs. */
uint64_t attach_probe(const cpu_set_t *cpus);

/* No CPUs: those of `by` are removed. */
uint64_t attach_domains(const cpu_set_t *cpus, const char *by);

/* At start and at the end, when there is nothing else to do: waits until everything is answered, at
 * most `seconds`. Answers are dropped, but for the last one, in *last. */
bool attach_drain(int seconds, struct helper_event *last);

/* After this time, ns, something of what was drained has to be said again, or leaves the kernel's
 * account; 0: nothing. */
int64_t attach_owed(void);

#endif
