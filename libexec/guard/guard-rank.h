/* The rank at which rtf-guard itself runs.
 *
 *     ORDINARY      the broker is not real-time, so neither is the guard
 *     FIFO          above the broker, and so above all that is granted
 *       |  ^   down: a thread is about to be promoted that can lend SCHED_DEADLINE, and the kernel has bandwidth left
 *       v  |   up: the kernel refuses a thread that was granted SCHED_DEADLINE, for there is none left
 *     DEADLINE
 *
 * A thread that is lent SCHED_DEADLINE is never throttled: the kernel replenishes who is boosted at once (update_curr_dl_se(), Linux
 * 6.18). It comes before every FIFO thread, so that as many of those as there are CPUs would keep a guard under FIFO from ever running.
 * Under SCHED_DEADLINE the guard runs as soon as its own deadline is the next, and that is a near one.
 *
 * It has to rise before such a thread is promoted: woken by the first boost, it may still find the CPU of who is boosted busy with an ordinary
 * thread, and be put there. In Linux 6.1 nobody takes a FIFO thread away from there again, for a run queue counts as overloaded with two
 * under FIFO or RR only (update_rt_migration()). */
#ifndef RTF_GUARD_RANK_H
#define RTF_GUARD_RANK_H

#include <sched.h>
#include <stdbool.h>

/* At its start. It keeps off the CPUs in `domains`, which are scheduling domains of threads that never leave them: a domain's
 * bandwidth is its threads'. */
void guard_rank_begin(const cpu_set_t *domains);

/* Somebody's thread needs the bandwidth: FIFO again, until guard_rank_rise. The kernel has it back within 4 ms. */
void guard_rank_fall(void);

/* From now on SCHED_DEADLINE may be lent. False with errno: the guard stays FIFO. */
bool guard_rank_rise(void);

#endif
