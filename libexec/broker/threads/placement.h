/* Chooses the CPU of the broker and its helper processes.
 *
 * When a real-time thread wakes another real-time thread, the kernel puts the woken thread on
 * another CPU, if this thread may run there (select_task_rq_rt). Then a request takes 25 to 100 us
 * longer. So the broker and its helper processes stay on one CPU. But a SCHED_DEADLINE thread runs
 * before all of these processes, whatever their priority, so they avoid the CPUs to which lines of
 * plugins.conf pin such threads. If no CPU is left, or such threads may run on each CPU, the
 * processes stay together only on a CPU where, by the parameters of the attached threads, they wait
 * less than a move to another CPU costs. If there is no such CPU, each process may run on each CPU.
 * Each process may also run on each CPU while the broker is so busy that the plugins could not run
 * on the broker's CPU. */
#ifndef RTF_PLACEMENT_H
#define RTF_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

struct attributes;
struct presence;

/* Chooses the CPU from the lines of plugins.conf. Call this before the launcher is forked. */
void placement_choose(void);

/* Call this when the thread of `presence` is about to get the attributes `plan`; plan == NULL: the
 * thread has ended. Chooses another CPU if the processes would now wait too long on the present
 * CPU. */
void placement_expect(struct presence *presence, const struct attributes *plan);

/* Call this after each turn of the loop. busy: the next turn begins at once, without waiting for
 * events. */
void placement_keep(bool busy);

#endif
