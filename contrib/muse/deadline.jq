# Section 6.5, Figure 6: one thread of SCHED_DEADLINE with half a CPU, in longer and longer periods.
include "common";
def halves: [["200us", "400us"], ["500us", "1ms"], ["1ms", "2ms"], ["2ms", "4ms"], ["5ms", "10ms"], ["10ms", "20ms"], ["20ms", "40ms"], ["50ms", "100ms"], ["100ms", "200ms"]];
experiment([{key: "t", value: {policy: "SCHED_DEADLINE", budget: "1ms", period: "2ms", nominal: "cpu-time", phases: compute(10000), analysis: {supply: true}}}]) +
    {sweep: {set: ["threads.t.budget", "threads.t.period"], to: halves}}
