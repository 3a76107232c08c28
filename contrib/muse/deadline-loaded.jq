# Section 6.5, Figure 7: the thread of Figure 6 beside other threads of SCHED_DEADLINE, which use 0.85 of all CPUs together.
include "common";
def halves: [["1ms", "2ms"], ["2ms", "4ms"], ["5ms", "10ms"], ["10ms", "20ms"], ["20ms", "40ms"], ["50ms", "100ms"], ["100ms", "200ms"]];
def others: ($cpus * 0.85 - 0.5) / 0.4 | floor;
experiment([{key: "t", value: {policy: "SCHED_DEADLINE", budget: "1ms", period: "2ms", nominal: "cpu-time", phases: compute(10000), analysis: {supply: true}}}] +
    several("load"; others; {policy: "SCHED_DEADLINE", budget: "8ms", period: "20ms", phases: compute(10000)})) +
    {sweep: {set: ["threads.t.budget", "threads.t.period"], to: halves}}
