/* The rank of rtf-guard itself: its scheduling policy and priority.
 *
 *     ORDINARY      the broker is not real-time, so the guard is not either
 *     FIFO          one above the broker, and so above every granted FIFO and RR thread
 *       |  ^   down: a thread is about to become SCHED_DEADLINE, and can lend this policy
 *       v  |   up: the kernel has no bandwidth left for a thread that was granted SCHED_DEADLINE
 *     DEADLINE
 *
 * A boosted thread runs with the rank that a waiting thread lends it (lending.h). The kernel never
 * throttles a boosted thread, but replenishes its runtime at once (update_curr_dl_se(), Linux
 * 6.18). A thread that is lent SCHED_DEADLINE runs before every FIFO thread. One such thread for
 * each CPU would keep a FIFO guard from ever running. A SCHED_DEADLINE guard runs as soon as its
 * own deadline is the earliest, and its deadline is near.
 *
 * The guard has to be SCHED_DEADLINE before a thread is first lent SCHED_DEADLINE. Otherwise the
 * kernel may wake the guard, at this boost, on the CPU of the boosted thread, because the kernel
 * still sees an ordinary thread on that CPU. In Linux 6.1 no other CPU pulls the FIFO guard from
 * that CPU, because a run queue counts as overloaded only with two FIFO or RR threads
 * (update_rt_migration()). */
#ifndef RTF_GUARD_RANK_H
#define RTF_GUARD_RANK_H

#include <sched.h>
#include <stdbool.h>

/* Called once, at the start of the guard. Removes the CPUs `domains` from the guard's affinity:
 * these CPUs are scheduling domains of their own, and their bandwidth is for the threads that have
 * a reservation there. */
void guard_rank_begin(const cpu_set_t *domains);

/* Makes the guard FIFO until guard_rank_rise, because the kernel needs the guard's bandwidth for a
 * granted thread. The bandwidth is free within 4 ms. */
void guard_rank_yield(void);

/* Makes the guard SCHED_DEADLINE: from now on threads may lend SCHED_DEADLINE. True: done, or not
 * needed, because the broker is not real-time. False with errno: the guard stays FIFO. */
bool guard_rank_rise(void);

#endif
