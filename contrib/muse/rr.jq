# Section 6.3, second experiment: threads of SCHED_RR with one priority, one thread more than twice the number of CPUs.
include "common";
experiment(several("rr"; 2 * (measured | length) + 1; {policy: "SCHED_RR", priority: 50, cpus: measured, phases: compute(100000), analysis: all}))
