# Section 6.5, Figure 8: two reservations of half a CPU each, in periods of 20 ms and 100 ms, beside two threads of SCHED_OTHER for each CPU.
include "common";
experiment([{key: "short", value: {policy: "SCHED_DEADLINE", budget: "10ms", period: "20ms", nominal: "cpu-time", phases: compute(10000), analysis: all}},
    {key: "long", value: {policy: "SCHED_DEADLINE", budget: "50ms", period: "100ms", nominal: "cpu-time", phases: compute(10000), analysis: all}}] +
    several("hog"; 2 * $cpus; {policy: "SCHED_OTHER", phases: compute(100000)}))
