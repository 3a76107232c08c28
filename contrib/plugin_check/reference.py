"""The tests of the exact and the sufficient modes once more: as written in the papers, short, and slow.

A task is (level, runtime, period, deadline, owner), the deadline being at most the period. Levels count for fixed
priorities only; a task of another plugin has the level ABOVE. The owner counts only with overruns."""
from fractions import Fraction
from heapq import merge
from itertools import chain, repeat

ABOVE = 1000
SERVER = -1  # the owner of the kernel's server for ordinary threads
SECOND = 1000000


def utilization(tasks):
    return sum(Fraction(runtime, period) for _, runtime, period, *_ in tasks)


def released(tasks, length):
    """The runtimes of all jobs that come in so long, if all tasks begin at once."""
    return sum(-(-length // period) * runtime for _, runtime, period, *_ in tasks)


def with_fair_server(tasks, server):
    """The kernel's server for ordinary threads, if these may be left with less than it guarantees."""
    acts = server and released(tasks, SECOND - server) > SECOND - 2 * server
    return tasks + [(ABOVE, server, SECOND, server, SERVER)] if acts else tasks


def beyond(task, overrun, length):
    """What a thread of another user takes beyond its whole jobs: it overruns, and it may have slept until shortly
    before a deadline, and kept a part of that job's runtime."""
    _, runtime, period, deadline, owner = task
    rest = length % period
    return 0 if owner == SERVER else overrun + (-(-runtime * rest // deadline) if rest < deadline else 0)


def taken_by_others(tasks, overrun, length):
    """The most that other users' threads take so from a user who has a deadline by then."""
    owners = {owner for *_, deadline, owner in tasks if deadline <= length} - {SERVER}
    return max((sum(beyond(task, overrun, length) for task in tasks if task[-1] != owner) for owner in owners), default=0)


def demand(tasks, blocking=0, overrun=0):
    """EDF: up to each deadline, what must be done by then fits. What is wrong shows in the first busy period."""
    overrun = overrun if len({owner for *_, owner in tasks} - {SERVER}) > 1 else 0
    extra = blocking + overrun * sum(task[-1] != SERVER for task in tasks)
    if utilization(tasks) > 1 or (extra and utilization(tasks) == 1):
        return False
    busy, before = released(tasks, 1) + extra, 0
    while busy > before:
        busy, before = released(tasks, busy) + extra, busy
    jobs = merge(*(zip(range(deadline, busy, period), repeat(runtime)) for _, runtime, period, deadline, _ in tasks))
    done_by, needed = 0, blocking
    for deadline, runtime in chain(jobs, ((busy, 0),)):
        if deadline > done_by > 0 and needed + (overrun and taken_by_others(tasks, overrun, done_by)) > done_by:
            return False
        done_by, needed = deadline, needed + runtime
    return True


def response_times(tasks, blocking=0):
    """Fixed priorities: each level is done by its earliest deadline. Within a level the first to come is the first."""
    for level in {task[0] for task in tasks} - {ABOVE}:
        above = [task for task in tasks if task[0] > level]
        if utilization(above) >= 1:
            return False
        work = blocking + sum(runtime for own, runtime, *_ in tasks if own == level)
        response, before = work, 0
        while response > before:
            if response > min(deadline for own, _, _, deadline, _ in tasks if own == level):
                return False
            response, before = work + released(above, response), response
    return True


def gfb(densities, cpus, speed, overruns=0):
    """Global EDF on so many CPUs of this speed: Goossens, Funk and Baruah."""
    return sum(densities) + overruns <= cpus * speed - (cpus - 1) * max(densities)


def overruns(tasks, overrun):
    """The largest part of an interval that overruns of other users' threads take from a user, the interval being as
    long as that user's shortest deadline. A task here is (owner, deadline), without deadline 0."""
    shortest = {}
    for owner, deadline in tasks:
        if deadline:
            shortest[owner] = min(deadline, shortest.get(owner, deadline))
    return max((Fraction(sum(other != owner for other, _ in tasks) * min(overrun, window), window)
                for owner, window in shortest.items()), default=Fraction(0))
