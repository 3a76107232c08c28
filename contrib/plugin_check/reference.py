"""The exact and the sufficient tests, written a second time, independently of the plugins: short, and slow.

A task is (level, runtime, period, deadline, owner), the deadline is at most the period. Levels count only for
fixed priorities. A task of another plugin has the level ABOVE. The owner counts only with overruns."""
import math
from fractions import Fraction
from heapq import merge
from itertools import chain, repeat

ABOVE = 1000
SERVER = -1  # the owner of the kernel's server for ordinary threads
SECOND = 1000000


def utilization(tasks):
    return sum(Fraction(runtime, period) for _, runtime, period, *_ in tasks)


def released(tasks, length):
    """Returns the sum of the runtimes of all jobs that begin within `length`, if all tasks begin at once."""
    return sum(-(-length // period) * runtime for _, runtime, period, *_ in tasks)


class Supply:
    """The least CPU time that a CPU gives: alpha (t - delta) in each interval of t us."""

    def __init__(self, alpha=Fraction(1), delta=0):
        self.alpha, self.delta = alpha, delta
        self.is_whole = alpha == 1 and delta == 0

    def after(self, work):
        """Returns the length of the shortest interval that gives this much CPU time."""
        return self.delta + math.ceil(work / self.alpha) if work else 0


WHOLE = Supply()


def with_fair_server(tasks, server, supply=WHOLE):
    """Adds the kernel's server for ordinary threads, if the tasks may leave ordinary threads less than the server guarantees."""
    acts = server and supply.after(released(tasks, SECOND - server) + server) > SECOND - server
    return tasks + [(ABOVE, server, SECOND, server, SERVER)] if acts else tasks


def beyond(task, overrun, length):
    """Returns the time that a thread of another user takes in addition to its whole jobs: it overruns, and it may have
    slept until shortly before a deadline, and kept a part of that job's runtime."""
    _, runtime, period, deadline, owner = task
    rest = length % period
    return 0 if owner == SERVER else overrun + (-(-runtime * rest // deadline) if rest < deadline else 0)


def taken_by_others(tasks, overrun, length):
    """Returns the most time that threads of other users take in this way from a user with a deadline within `length`."""
    owners = {owner for *_, deadline, owner in tasks if deadline <= length} - {SERVER}
    return max((sum(beyond(task, overrun, length) for task in tasks if task[-1] != owner) for owner in owners), default=0)


def demand(tasks, blocking=0, supply=WHOLE, overrun=0):
    """EDF: up to each deadline, all work with a deadline until then fits. If a deadline is missed, one in the first busy
    period is. Where the CPU gives less than all of its time, the deadline of the server is not tested."""
    overrun = overrun if len({owner for *_, owner in tasks} - {SERVER}) > 1 else 0
    extra = blocking + overrun * sum(task[-1] != SERVER for task in tasks)
    if utilization(tasks) > supply.alpha or ((extra or supply.delta) and utilization(tasks) == supply.alpha):
        return False
    first = min(deadline for *_, deadline, owner in tasks if supply.is_whole or owner != SERVER)
    busy, before = supply.after(released(tasks, 1) + extra), 0
    while busy > before:
        busy, before = supply.after(released(tasks, busy) + extra), busy
    jobs = merge(*(zip(range(deadline, busy, period), repeat(runtime)) for _, runtime, period, deadline, _ in tasks))
    done_by, needed = 0, blocking
    for deadline, runtime in chain(jobs, ((busy, 0),)):
        if deadline > done_by >= first and supply.after(needed + (overrun and taken_by_others(tasks, overrun, done_by))) > done_by:
            return False
        done_by, needed = deadline, needed + runtime
    return True


def response_times(tasks, blocking=0, supply=WHOLE):
    """Fixed priorities: all work of a level is done by the earliest deadline of the level. Within a level, jobs run in the order in which they come."""
    for level in {task[0] for task in tasks} - {ABOVE}:
        above = [task for task in tasks if task[0] > level]
        if utilization(above) >= supply.alpha:
            return False
        work = blocking + sum(runtime for own, runtime, *_ in tasks if own == level)
        response, before = supply.after(work), 0
        while response > before:
            if response > min(deadline for own, _, _, deadline, _ in tasks if own == level):
                return False
            response, before = supply.after(work + released(above, response)), response
    return True


def gfb(densities, cpus, speed, overruns=0):
    """Global EDF on this number of CPUs of this speed, by Goossens, Funk and Baruah."""
    return sum(densities) + overruns <= cpus * speed - (cpus - 1) * max(densities)


def overruns(tasks, overrun):
    """Returns the largest share of time that overruns of other users' threads take from a user, within an interval as
    long as the user's shortest deadline. A task here is (owner, deadline); a deadline of 0 means none."""
    shortest = {}
    for owner, deadline in tasks:
        if deadline:
            shortest[owner] = min(deadline, shortest.get(owner, deadline))
    return max((Fraction(sum(other != owner for other, _ in tasks) * min(overrun, window), window)
                for owner, window in shortest.items()), default=Fraction(0))
