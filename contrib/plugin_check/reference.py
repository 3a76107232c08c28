"""The tests of the exact and the sufficient modes once more: as written in the papers, short, and slow.

A task is (level, runtime, period, deadline), the deadline being at most the period. Levels count for fixed priorities
only; a task of another plugin has the level ABOVE."""
from fractions import Fraction
from heapq import merge
from itertools import repeat

ABOVE = 1000
SECOND = 1000000


def utilization(tasks):
    return sum(Fraction(runtime, period) for _, runtime, period, _ in tasks)


def released(tasks, length):
    """The runtimes of all jobs that come in so long, if all tasks begin at once."""
    return sum(-(-length // period) * runtime for _, runtime, period, _ in tasks)


def with_fair_server(tasks, server):
    """The kernel's server for ordinary threads, if these may be left with less than it guarantees."""
    acts = server and released(tasks, SECOND - server) > SECOND - 2 * server
    return tasks + [(ABOVE, server, SECOND, server)] if acts else tasks


def demand(tasks, blocking=0):
    """EDF: up to each deadline, what must be done by then fits. What is wrong shows in the first busy period."""
    if utilization(tasks) > 1 or (blocking and utilization(tasks) == 1):
        return False
    busy, before = released(tasks, 1) + blocking, 0
    while busy > before:
        busy, before = released(tasks, busy) + blocking, busy
    jobs = merge(*(zip(range(deadline, busy, period), repeat(runtime)) for _, runtime, period, deadline in tasks))
    done_by, needed = 0, blocking
    for deadline, runtime in jobs:
        if deadline > done_by and needed > done_by > 0:
            return False
        done_by, needed = deadline, needed + runtime
    return needed <= done_by or done_by == 0


def response_times(tasks, blocking=0):
    """Fixed priorities: each level is done by its earliest deadline. Within a level the first to come is the first."""
    for level in {task[0] for task in tasks} - {ABOVE}:
        above = [task for task in tasks if task[0] > level]
        if utilization(above) >= 1:
            return False
        work = blocking + sum(runtime for own, runtime, _, _ in tasks if own == level)
        response, before = work, 0
        while response > before:
            if response > min(deadline for own, _, _, deadline in tasks if own == level):
                return False
            response, before = work + released(above, response), response
    return True


def gfb(densities, cpus, speed):
    """Global EDF on so many CPUs of this speed: Goossens, Funk and Baruah."""
    return sum(densities) <= cpus * speed - (cpus - 1) * max(densities)
