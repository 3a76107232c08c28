/* Chooses the CPU of the broker and its helper processes.
 *
 * When a real-time thread wakes another one, the kernel puts the other one on another CPU, if it
 * may run there (select_task_rq_rt). Then a request takes 25 to 100 us longer. So the processes
 * stay on one CPU. But a SCHED_DEADLINE thread runs before all of them, whatever their priority. So
 * they keep off the CPUs to which such threads are pinned. If no CPU is left, or such threads may
 * run on each CPU, the processes stay together only on a CPU where, by the parameters of the
 * attached threads, they wait less than a move to another CPU costs. If there is no such CPU, each
 * process may run on each CPU. The processes are not together either while the broker is so busy
 * that the plugins could not run beside it. */
#ifndef RTF_PLACEMENT_H
#define RTF_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

struct attributes;
struct presence;

/* Chooses by plugins.conf. Call this before the launcher is forked. */
void placement_choose(void);

/* The thread is about to run with these attributes instead of its former ones; NULL: it has
 * ended. */
void placement_expect(struct presence *presence, const struct attributes *plan);

/* Call this after each turn. busy: the next turn begins at once. */
void placement_keep(bool busy);

#endif
