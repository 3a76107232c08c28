/* Computes the time that overruns of other users' SCHED_DEADLINE threads can take from a user's
 * threads.
 *
 * If the kernel ends runtimes only at the tick, a thread can run for up to a tick beyond its
 * runtime: it overruns. The thread pays the overrun back: the kernel postpones its next periods. So
 * in an interval in which the thread's runtimes make up C, the thread takes at most C and one tick.
 * Overruns of a user's own threads harm only this user, and do not count.
 *
 * The deadlines of the other users' threads do not matter. A thread that still has some runtime may
 * wake shortly before its absolute deadline, and keeps this deadline (the wakeup rule of the
 * constant bandwidth server). So a thread with a relative deadline of a second can overrun with an
 * absolute deadline that is a millisecond away. An interval that is shorter than any deadline of
 * the user contains no whole job of the user, and needs no test.
 *
 * Deadlines on one CPU (processor demand): suppose that a job misses its deadline d. Let s be the
 * last instant before d at which no job with a deadline up to d was pending. The job began at s or
 * later. In [s, d], which is at least as long as the shortest deadline of the user, the threads
 * have to take more than d - s. In a test by densities, the runtimes of the threads make up at most
 * (d - s) times the sum of the densities. In the exact test, a thread that wakes late has, in
 * addition to its whole jobs, a part of one job (demand.c).
 *
 * Deadlines on m CPUs (Goossens, Funk and Baruah; the proof is Baker's, "Multiprocessor EDF and
 * Deadline Monotonic Schedulability Analysis", RTSS 2003): if a job misses its deadline, an
 * interval ends at this deadline in which the threads take more than m - (m - 1) max times the
 * length of the interval, where max is the largest density. The interval is at least as long as the
 * relative deadline of the job. A job that began before the interval has already used at least its
 * density of the time before the interval. So in the interval each thread takes at most its density
 * of the interval, and one tick. */
#ifndef RTF_TICK_OVERRUNS_H
#define RTF_TICK_OVERRUNS_H

#include "cpus.h"

/* The worst case of the overruns on a CPU. part: the largest part of any interval that overruns can
 * take, in billionths of a CPU, rounded up. In the worst case, `count` threads of other users
 * overrun in an interval of `window` us. All three are 0 if no two users have tasks on the same
 * CPU. */
struct overruns {
    uint64_t part, count, window;
};

/* Computes the overruns of the tasks of this CPU or pool, without the share `gone` (NULL: with all
 * shares) and with a task that has the timing `asked`. overrun: the longest overrun of one task, in
 * us. A thread takes no more than the whole interval, because it runs on one CPU at a time. */
struct overruns overruns_on(const struct cpu *cpu, const struct share *gone,
                            const struct timing *asked, uint64_t overrun);

/* For an exact test: sets the overrun and the user of each task of the set. */
void overruns_enter(struct task_set *set, uint64_t overrun);

#endif
