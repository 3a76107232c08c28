# Section 6.3, first experiment: threads of SCHED_FIFO on all CPUs but one, and five threads of SCHED_RR; all have one priority.
include "common";
experiment(several("fifo"; (measured | length) - 1; {policy: "SCHED_FIFO", priority: 50, cpus: measured, phases: compute(100000), analysis: all}) +
    several("rr"; 5; {policy: "SCHED_RR", priority: 50, cpus: measured, phases: compute(100000), analysis: all}))
