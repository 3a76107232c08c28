# 6.3, second: all of them SCHED_RR, one more than twice the CPUs.
include "common";
experiment(several("rr"; 2 * (measured | length) + 1; {policy: "SCHED_RR", priority: 50, cpus: measured, phases: compute(100000), analysis: all}))
