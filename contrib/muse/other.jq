# Sections 5.1 and 6.2: twice as many equal threads of SCHED_OTHER as CPUs.
include "common";
experiment(several("t"; 2 * (measured | length); {policy: "SCHED_OTHER", cpus: measured, phases: compute(100000), analysis: all}))
