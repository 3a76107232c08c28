/* The time that overruns of other users' SCHED_DEADLINE threads can take from a user's threads.
 *
 * Where the kernel ends runtimes at the tick only, a thread can run for up to a tick beyond its
 * runtime. The thread pays this back: the kernel postpones its next periods. So in an interval in
 * which the thread's runtimes make up C, the thread takes at most C and one tick. The own threads
 * of a user harm that user only, and do not count.
 *
 * The deadlines of the other threads do not matter. A thread may wake shortly before its absolute
 * deadline, with a rest of its runtime, and keeps that deadline (the wakeup rule of the constant
 * bandwidth server). So a thread with a relative deadline of a second can overrun with an absolute
 * deadline that is a millisecond away. An interval that is shorter than any deadline of the user
 * contains no whole job of the user, and needs no test.
 *
 * Deadlines on one CPU (processor demand): a job that misses its deadline d began at or after the
 * last instant s before d at which no job due by d was pending. In [s, d], which is at least as
 * long as the shortest deadline of the user, the threads would have to take more than d - s. With
 * densities their runtimes make up at most (d - s) times the sum of the densities. Without
 * densities a thread that wakes late has, in addition to its whole jobs, a part of one job
 * (demand.c).
 *
 * Deadlines on m CPUs (Goossens, Funk and Baruah; the proof is Baker's, "Multiprocessor EDF and
 * Deadline Monotonic Schedulability Analysis", RTSS 2003): a missed deadline ends an interval in
 * which the threads take more than m - (m - 1) max of it, and which is at least as long as the
 * relative deadline of the job. A job from before that interval has used at least its density of
 * the time before. So each thread takes at most its density of the interval, and one tick. */
#ifndef RTF_TICK_OVERRUNS_H
#define RTF_TICK_OVERRUNS_H

#include "cpus.h"

/* part: the largest part of any interval that overruns can take, in billionths of a CPU, rounded
 * up. The overruns take this part of an interval of `window` us, by `count` threads of other users.
 * All 0: no user has tasks of other users on the same CPU. */
struct overruns {
    uint64_t part, count, window;
};

/* Computes the overruns of the tasks of this CPU or pool, without the share `gone` (NULL: none) and
 * with a task that has the timing `asked`. overrun: of one task, in us. A thread takes no more than
 * the whole interval, because it runs on one CPU at a time. */
struct overruns overruns_on(const struct cpu *cpu, const struct share *gone,
                            const struct timing *asked, uint64_t overrun);

/* For an exact test: fills in the overrun and the user of each task. */
void overruns_enter(struct task_set *set, uint64_t overrun);

#endif
