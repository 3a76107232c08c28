# Section 6.4: one thread that writes to more and more memory.
include "common";
experiment([{key: "t", value: {policy: "SCHED_RR", priority: 50, cpus: measured, phases: {m0: {loops: 1000000, memory: 1}}, analysis: all}}]) +
    {sweep: {set: ["threads.t.phases.m0.memory"], to: [[1], [1000], [4000], [10000], [40000], [100000], [200000], [400000], [1000000], [2000000], [4000000], [9000000]]}}
