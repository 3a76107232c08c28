# Section 6.6, Figure 9: threads that share 0.85 of all CPUs by SCHED_DEADLINE, and do more and more of each job under one lock. $threads: 3, 5 or 10.
include "common";
def share: [(0.85 * $cpus / $threads), 0.95] | min;
experiment(several("t"; $threads; {policy: "SCHED_DEADLINE", budget: (share * 10000 | floor | "\(.)us"), period: "10ms",
        phases: {l0: {loops: 500, res: 0}, c0: {loops: 9500}}, analysis: {supply: true}})) +
    {resources: 1, sweep: {set: [range(1; $threads + 1) | "threads.t\(.).phases.l0.loops", "threads.t\(.).phases.c0.loops"],
        to: [(5, 15, 25, 35, 50, 65, 80, 95) as $locked | [range($threads) | $locked * 100, (100 - $locked) * 100]]}}
