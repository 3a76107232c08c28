"""The checker's own books, and what each kind of plugin may grant. All is computed in exact fractions, and written
from rtf-plugin(7) and the equations of the ReTiF paper, not from the plugins.

A plugin may round each utilisation up to a billionth, as the broker's ledger does, or be exact. So a grant is
wrong when it is too much in exact numbers, and a refusal when even the rounded numbers fit."""
from collections import namedtuple
from fractions import Fraction
from math import prod
from time import clock_getres

from . import reference

BILLION = 10 ** 9
MOST_TASKS = 64  # the most tasks on a CPU, for the exact tests
Task = namedtuple("Task", "asked plan")
# Another plugin's task. judged: it came with commit=if-ok, and the plugin said that its own tasks bear it.
Load = namedtuple("Load", "cpu runtime period deadline policy priority judged owner", defaults=(0,))
COARSE = 6  # CLOCK_MONOTONIC_COARSE, which advances at each tick


def parse_cpus(text):
    """"0-3,6" -> (0, 1, 2, 3, 6); ValueError on anything else."""
    cpus = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not (first + last).isdigit() or (dash and not last) or int(last or first) < int(first):
            raise ValueError(text)
        cpus.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(cpus))


def time(text):
    """"50ms" -> 50000."""
    digits = text.rstrip("mus")
    return int(digits) * {"us": 1, "ms": 1000, "s": 1000000}[text[len(digits):]]


def overrun_of(word):
    """What a thread can take beyond its runtime, in us."""
    if word == "tick":
        return round(clock_getres(COARSE) * 1000000)
    return 0 if word == "none" else time(word)


def named(place):
    return f"CPU {place}" if isinstance(place, int) else f"CPUs {','.join(map(str, place))}"


def rounded_up(share):
    return -(-share.numerator * BILLION // share.denominator)


class Books:
    """The tasks of a plugin, by place. A place is a CPU, or the tuple of all CPUs of a plan that is not pinned to one."""

    def __init__(self, cpus, model):
        self.cpus, self.model = cpus, model
        self.tasks, self.foreign = {}, {}
        self.on = {cpu: set() for cpu in cpus}  # own tasks
        self.shares = {cpu: {} for cpu in cpus}  # own and foreign tasks with a utilisation
        self.exact = {cpu: Fraction(0) for cpu in cpus}
        self.rounded = {cpu: 0 for cpu in cpus}

    def charge(self, task, place, share):
        if share:
            self.shares.setdefault(place, {})[task] = share
            self.exact[place] = self.exact.get(place, 0) + share
            self.rounded[place] = self.rounded.get(place, 0) + rounded_up(share)

    def discharge(self, task, place):
        share = self.shares.get(place, {}).pop(task, 0)
        if share:
            self.exact[place] -= share
            self.rounded[place] -= rounded_up(share)

    def least_loaded(self):
        return min(self.cpus, key=self.rounded.__getitem__)

    def put(self, task, entry):
        self.tasks[task] = entry
        self.on.setdefault(entry.plan.place, set()).add(task)
        self.charge(task, entry.plan.place, self.model.weigh(entry.plan))

    def take(self, task):
        entry = self.tasks.pop(task, None)
        if entry:
            self.on[entry.plan.place].discard(task)
            self.discharge(task, entry.plan.place)
        return entry

    def load(self, task, load):
        self.unload(task)
        self.foreign[task] = load
        if load.runtime and self.model.counts(load):
            self.charge((task, "load"), load.cpu, self.model.weigh(load))

    def unload(self, task):
        """Forgets another plugin's task. Returns its load, or None if it was not known."""
        load = self.foreign.pop(task, None)
        if load:
            self.discharge((task, "load"), load.cpu)
        return load

    def others(self, cpu):
        """Returns the tasks of other plugins on a CPU that count for this plugin."""
        return [load for load in self.foreign.values() if load.cpu == cpu and self.model.counts(load)]


class Model:
    """A plugin of an unknown kind. Rules that hold for every plugin are in session.py."""

    def __init__(self, setting):
        self.levels, self.words = setting.levels, setting.words
        self.threshold = Fraction(self.words.get("threshold", "1"))
        self.tests = "none"  # what the greeting says

    def weigh(self, plan):
        """Weighs a task as the broker's ledger does: under fixed priorities as runtime / period, however short its deadline is."""
        by_period = self.levels is not None or self.tests in ("exact", "necessary")
        window = (plan.period or plan.deadline) if by_period else min(plan.period or 0, plan.deadline or 0)
        return Fraction(plan.runtime or 0, window) if window else Fraction(0)

    def counts(self, load):
        """Whether another plugin's task runs before ours. A SCHED_DEADLINE task does, unless ours are SCHED_DEADLINE, too."""
        if self.levels is None or load.policy in (None, "deadline"):
            return load.policy in (None, "deadline")
        return load.priority > self.levels[1]

    def bears(self, books, load):
        """Whether the plugin's tasks meet their deadlines beside this task, which is not in the books. Returns two
        results: with numbers that are rounded up, and with exact numbers. None: only the plugin knows."""
        return None, None

    def judge(self, books, asked, answer, plan, old):
        """Yields what is wrong with this answer. The books do not have the task; `old` is its former entry."""
        if plan and "ignore_admission" not in asked and ("threshold" in self.words or self.tests != "none"):
            cpus = len(plan.cpus)  # a plan over several CPUs takes its share once, of all these CPUs together
            if books.exact.get(plan.place, 0) + self.weigh(plan) > cpus * self.threshold:
                yield (f"the sum of utilisations on {'a CPU' if cpus == 1 else f'these {cpus} CPUs'} must be at most {float(cpus * self.threshold):g}: "
                       f"{'' if cpus == 1 else f'{cpus} times '}threshold= (equation 3 of the ReTiF paper)")

    def settled(self, books, place):
        """Yields what is wrong with the tasks of one place after a step."""
        return ()

    def misplaced(self, books, plan, old, fits):
        """Yields what is wrong with the place: a task goes to the least loaded CPU, unless it has no room or the task stays."""
        cpu, best = plan.place, books.least_loaded()
        if cpu not in books.cpus:
            yield "this kind of plugin must place a task on one of its CPUs"
        elif not (old and old.plan.place == cpu) and fits(best):
            if books.rounded[cpu] - len(books.shares[cpu]) > books.rounded[best]:
                yield f"a task must get the CPU with the least utilisation, which is {best}"


class Tested:
    """What edf and rm share when reference.py decides instead of a sum. can_take(books, place, asked, runtime) returns
    two results: with numbers that are rounded up, and with exact numbers. None: only the plugin knows."""

    overrun = 0

    def timing(self, task, owner, level=0):
        return level, task.runtime, task.period, min(task.deadline or task.period, task.period), owner

    def candidate(self, asked, runtime, level=0):
        deadline = min(asked["period"], asked.get("deadline", asked["period"]))
        return level, runtime, asked["period"], deadline, asked["owner"]

    def judge_tested(self, books, asked, plan, old, ignores):
        limit = min(asked["period"], asked.get("deadline", asked["period"]), asked.get("max_runtime", asked["period"]))
        runtime = asked["runtime"]
        if not plan:
            places = [] if runtime > limit else books.cpus if self.pinned else [books.cpus]
            admits = [place for place in places if ignores or self.can_take(books, place, asked, runtime)[0]]
            return [f"the plugin must grant what passes the {self.test} test, and the task passes on {named(admits[0])}"] if admits else []
        exact = self.can_take(books, plan.place, asked, plan.runtime)[1]
        if exact is False and not ignores:
            return [f"the plugin must refuse what fails the {self.test} test, and {plan.runtime} us fail on {named(plan.place)}"]
        if exact is False and plan.runtime != runtime:
            return ["a task that fails the test must get its minimum runtime (section 5.1 of the ReTiF paper)"]
        wrong = list(self.misplaced(books, plan, old, lambda cpu: self.can_take(books, cpu, asked, runtime)[0])
                     if self.pinned else ())
        goal = min(max(runtime, asked.get("desired_runtime", 0)), limit) if self.gives_desired else runtime
        if exact and plan.runtime != goal and self.can_take(books, plan.place, asked, plan.runtime + 1)[0]:
            wrong.append(f"the runtime must be the largest that passes the {self.test} test, up to the desired {goal} us: "
                         f"{plan.runtime + 1} us would pass, too")
        return wrong

    def exact_on(self, books, cpu, more, test):
        """Whether a test passes on a CPU when these tasks are added. The fair server and the blocking time are included."""
        own = [self.timing(books.tasks[task].plan, books.tasks[task].asked["owner"], self.level(books, cpu, task))
               for task in books.on.get(cpu, ())]
        others = books.others(cpu)
        if not all(load.runtime for load in others):
            return not own and not more
        tasks = own + [self.timing(load, load.owner, reference.ABOVE) for load in others] + more
        if len(tasks) > MOST_TASKS or reference.utilization(tasks) > self.threshold:
            return False
        server, blocking = (time(self.words.get(word, usual)) for word, usual in
                            (("fair_server", "50ms"), ("blocking", "0us")))
        share, delay = self.words.get("supply", "1,0us").split(",")
        supply = reference.Supply(Fraction(share), time(delay))
        more = (self.overrun,) if self.overrun else ()
        return test(reference.with_fair_server(tasks, server, supply), blocking, supply, *more)


class Edf(Tested, Model):
    """Uses equations 3 and 4 of the ReTiF paper, or the processor demand, or the density test of global EDF."""
    gives_desired = True

    def __init__(self, setting):
        super().__init__(setting)
        partition = self.words.get("partition", "global")
        self.pinned, self.ignores = partition != "global", partition == "unthrottled"
        self.threshold = Fraction(self.words.get("threshold", "0.95" if self.ignores else "0.9"))
        self.test = self.words.get("admission", "density" if self.pinned else "bandwidth")
        self.overrun = overrun_of(self.words.get("overrun", "none"))

    def weigh(self, plan):
        base = self.base(plan.period or 0, plan.deadline or 0)
        return Fraction(plan.runtime or 0, base) if base else Fraction(0)

    def base(self, period, deadline):
        """Returns the time by which a runtime is divided: period or deadline."""
        return min(period, deadline) if self.test in ("density", "gfb") else period

    def counts(self, load):
        return bool(load.runtime) and super().counts(load)

    def level(self, books, cpu, task):
        return 0

    def can_take(self, books, place, asked, runtime):
        if self.test == "demand":
            return 2 * (self.exact_on(books, place, [self.candidate(asked, runtime)], reference.demand),)
        window = min(asked["period"], asked.get("deadline", asked["period"]))
        own = Fraction(runtime, window)
        shares = [share for shares in books.shares.values() for share in shares.values()] + [own]
        taken = self.taken(books, place, (asked["owner"], window))
        return (reference.gfb([Fraction(rounded_up(share), BILLION) for share in shares], len(books.cpus), self.threshold,
                              Fraction(rounded_up(taken), BILLION)),
                reference.gfb(shares, len(books.cpus), self.threshold, taken))

    def taken(self, books, place, more):
        """The part that overruns take on a CPU, or on all CPUs together, with one task more: its owner and deadline."""
        if not self.overrun:
            return Fraction(0)
        cpus = (place,) if self.pinned else books.on
        tasks = [(books.tasks[task].asked["owner"], books.tasks[task].plan.deadline) for cpu in cpus for task in books.on.get(cpu, ())]
        loads = [(load.owner, 0) for cpu in books.cpus if cpu == place or not self.pinned for load in books.others(cpu)]
        return reference.overruns([*tasks, *loads, more], self.overrun)

    def bears(self, books, load):
        if not self.pinned or not self.counts(load) or not books.on.get(load.cpu):
            return True, True
        if self.test == "demand":
            return 2 * (self.exact_on(books, load.cpu, [self.timing(load, load.owner)], reference.demand),)
        share, taken = self.weigh(load), self.taken(books, load.cpu, (load.owner, 0))
        return (books.rounded[load.cpu] + rounded_up(share) + rounded_up(taken) <= self.threshold * BILLION,
                books.exact[load.cpu] + share + taken <= self.threshold)

    def room(self, books, place, asked):
        """Returns the largest runtime that fits, in exact numbers and in rounded numbers."""
        deadline = asked.get("deadline", asked["period"])
        window, taken = self.base(asked["period"], deadline), self.taken(books, place, (asked["owner"], deadline))
        places, capacity = ([place], 1) if self.pinned else (list(books.exact), len(books.cpus))
        free = self.threshold * capacity - taken - sum(books.exact.get(place, 0) for place in places)
        free_rounded = self.threshold * capacity * BILLION - rounded_up(taken) - sum(books.rounded.get(place, 0) for place in places)
        return max(0, int(free * window // 1)), max(0, int(free_rounded * window // BILLION))

    def roomiest(self, books, asked):
        """Returns the CPU with the most room: if a runtime fits on any CPU, it fits on this one."""
        if not self.overrun:
            return books.least_loaded()
        return max(books.cpus, key=lambda cpu: self.room(books, cpu, asked)[1])

    def judge(self, books, asked, answer, plan, old):
        if not {"period", "runtime"} <= set(asked):
            return ["edf must refuse a request without period or runtime"] if plan else []
        ignored = "ignore_admission" in asked and self.ignores
        if plan and not self.pinned and plan.cpus != books.cpus:
            return ["with partition=global a plan must have all CPUs of the plugin"]
        if self.test in ("demand", "gfb"):
            return self.judge_tested(books, asked, plan, old, ignored)
        runtime, deadline = asked["runtime"], asked.get("deadline", asked["period"])
        most, most_rounded = self.room(books, plan.place if plan else self.roomiest(books, asked), asked)
        limit = min(asked["period"], deadline, asked.get("max_runtime", deadline))
        if plan:
            return self.judge_grant(books, asked, plan, old, limit, (most_rounded, most))
        fits = runtime <= limit and (ignored or runtime <= most_rounded)
        return [f"the plugin must grant what equation 3 of the ReTiF paper admits: up to {most_rounded} us of runtime fit"] if fits else []

    def judge_grant(self, books, asked, plan, old, limit, room):
        runtime = asked["runtime"]
        if self.pinned and self.overrun:
            best = self.roomiest(books, asked)
            stays = old and old.plan.place == plan.place
            if not stays and runtime <= self.room(books, best, asked)[1] and room[1] < self.room(books, best, asked)[1]:
                yield f"a task must get the CPU with the most room beside overruns, which is {best}"
        elif self.pinned:
            yield from self.misplaced(books, plan, old, lambda cpu: runtime <= self.room(books, cpu, asked)[1])
        goal = min(max(runtime, asked.get("desired_runtime", 0)), limit)
        if runtime > room[1] and "ignore_admission" in asked:
            if not self.ignores:
                yield "without partition=unthrottled the plugin must refuse what fails the test, also with ignore_admission: the kernel tests, too"
            elif plan.runtime != runtime:
                yield "a task that fails the test must get its minimum runtime (section 5.1 of the ReTiF paper)"
        elif plan.runtime > room[1]:
            yield f"the runtime must be at most {room[1]} us by equation 3 of the ReTiF paper"
        elif not min(goal, room[0]) <= plan.runtime <= min(goal, room[1]):
            yield f"the runtime must be {min(goal, room[0])} us by equation 4 of the ReTiF paper"


class Ordered(Model):
    """Fixed priorities: on each CPU a more urgent task never has a lower level. Tasks of different urgency share a
    level only if there are more urgencies than levels."""

    def settled(self, books, place):
        ranks = {}
        for task in books.on.get(place, ()):
            ranks.setdefault(self.urgency(books.tasks[task]), []).append(books.tasks[task].plan.priority or 0)
        room = self.levels is not None and len(ranks) <= self.levels[1] - self.levels[0] + 1
        below = None
        for rank in sorted(ranks):
            lowest, highest = min(ranks[rank]), max(ranks[rank])
            if self.equals_share and lowest != highest:
                yield f"tasks with equal {self.unit} on a CPU must have the same level: those with {abs(rank)} have {lowest} and {highest} on CPU {place}"
            if below and below[1] > lowest:
                yield (f"levels must follow the {self.unit}: on CPU {place}, {abs(below[0])} has level {below[1]}, "
                       f"and the more urgent {abs(rank)} has only level {lowest}")
            elif below and below[1] == lowest and room:
                yield (f"different {self.unit} must have different levels, unless levels run out: on CPU {place}, "
                       f"{abs(below[0])} and {abs(rank)} share level {lowest}")
            below = rank, highest


class Rm(Tested, Ordered):
    unit, equals_share, pinned, gives_desired = "periods", False, True, False

    def __init__(self, setting):
        super().__init__(setting)
        self.test = self.words.get("admission", "hyperbolic")

    def urgency(self, entry):
        return -(entry.plan.period or 0)

    def weigh(self, plan):
        """For a sufficient test, tasks of other plugins that run before ours count by density: under SCHED_DEADLINE one job
        may run late in its period, and the next job at once."""
        if isinstance(plan, Load) and plan.deadline and self.test not in ("rta", "necessary"):
            return Fraction(plan.runtime or 0, min(plan.period or plan.deadline, plan.deadline))
        return Fraction(plan.runtime or 0, plan.period) if plan.period else Fraction(0)

    def admits(self, shares, more, slack=0):
        shares = [share + slack for share in (*shares.values(), more)]
        return TESTS[self.test](shares) and sum(shares) <= self.threshold

    def level(self, books, cpu, task):
        return books.tasks[task].plan.priority

    def can_take(self, books, place, asked, runtime):
        """If there are enough levels, a shorter period has a higher level. Otherwise only the plugin knows the levels."""
        periods = {books.tasks[task].plan.period for task in books.on.get(place, ())} | {asked["period"]}
        if len(periods) > self.levels[1] - self.levels[0] + 1:
            return None, None
        ranked = Books(books.cpus, self)
        ranked.foreign = books.foreign
        for task in books.on.get(place, ()):
            entry = books.tasks[task]
            ranked.put(task, entry._replace(plan=entry.plan._replace(priority=-entry.plan.period)))
        candidate = self.candidate(asked, runtime, -asked["period"])
        return 2 * (self.exact_on(ranked, place, [candidate], reference.response_times),)

    def bears(self, books, load):
        if self.test != "rta" or not self.counts(load) or not books.on.get(load.cpu):
            return True, True
        if not load.runtime:
            return False, False
        more = [self.timing(load, load.owner, reference.ABOVE)]
        return 2 * (self.exact_on(books, load.cpu, more, reference.response_times),)

    def settled(self, books, place):
        yield from super().settled(books, place)
        own = [books.tasks[task].asked for task in books.on.get(place, ())]
        promised = all("ignore_admission" not in asked for asked in own) and all(load.judged for load in books.others(place))
        if self.test == "rta" and promised and not self.exact_on(books, place, [], reference.response_times):
            yield f"with admission=rta every task must meet its deadline: with the present levels, a task on CPU {place} can miss its deadline"

    def judge(self, books, asked, answer, plan, old):
        if "period" not in asked:
            return ["rm must refuse a request without period"] if plan else []
        if self.test == "rta":
            if answer == "partial":
                return ["with admission=rta the answer must be ok or no, never partial: the plugin tests each task"]
            return self.judge_tested(books, asked, plan, old, "ignore_admission" in asked) if "runtime" in asked else (
                ["with admission=rta the plugin must refuse a request without runtime"] if plan else [])
        if "runtime" not in asked:
            return [] if answer == "partial" else ["rm must answer partial to a task without runtime: no test covers the task"]
        window = min(asked["period"], asked.get("deadline", asked["period"]))
        if answer == "ok" and window < asked["period"]:
            return ["rm must answer partial when the deadline is below the period: its tests do not cover that"]
        share = Fraction(asked["runtime"], asked["period"])

        def surely_fits(cpu):  # a plugin may round twice: the share, and the bound
            return self.admits(books.shares[cpu], share, Fraction(2, BILLION))
        if not plan:
            best = books.least_loaded()
            allowed = asked["runtime"] <= min(window, asked.get("max_runtime", window))
            return [f"the plugin must grant what passes the {self.test} test on the least loaded CPU: "
                    f"the task passes on CPU {best}"] if allowed and surely_fits(best) else []
        if "ignore_admission" in asked:
            return []
        wrong = list(self.misplaced(books, plan, old, surely_fits))
        if not wrong and not self.admits(books.shares[plan.place], share):
            wrong.append(f"the plugin must refuse what fails the {self.test} test: the test fails on CPU {plan.place} with this task")
        return wrong


class Fp(Ordered):
    unit, equals_share = "requested priorities", True

    def urgency(self, entry):
        return entry.asked.get("priority", 0)

    def judge(self, books, asked, answer, plan, old):
        if "priority" not in asked:
            return ["this plugin must refuse a request without priority"] if plan else []
        fewest = min(len(books.on[cpu]) for cpu in books.cpus)
        candidates = [cpu for cpu in books.cpus if len(books.on[cpu]) == fewest]
        if self.words.get("exhausted") != "reject":
            if not plan:
                return ["without exhausted=reject the plugin must grant every task that has a priority"]
            stays = old and old.plan.place == plan.place
            return [] if stays or plan.place in candidates else [
                f"a task must get the CPU with the fewest tasks, which is {candidates[0]}"]

        def exceeds(cpu):
            priorities = {self.urgency(books.tasks[task]) for task in books.on.get(cpu, ())} | {asked["priority"]}
            return len(priorities) > self.levels[1] - self.levels[0] + 1
        if plan and exceeds(plan.place):
            return ["with exhausted=reject a CPU must not have more different requested priorities than levels"]
        return [] if plan or any(map(exceeds, candidates)) else ["the plugin must grant a task while the CPU with the fewest tasks has levels left"]


def hyperbolic(shares):
    """The product of all (U + 1) is at most 2. The formula is written without division."""
    return prod(s.numerator + s.denominator for s in shares) <= 2 * prod(s.denominator for s in shares)


def liu_layland(shares):
    """U <= n (2^(1/n) - 1), that is (1 + U/n)^n <= 2."""
    each = len(shares) * sum(shares).denominator
    return (each + sum(shares).numerator) ** len(shares) <= 2 * each ** len(shares)


TESTS = {"hyperbolic": hyperbolic, "liu-layland": liu_layland, "necessary": lambda shares: sum(shares) <= 1}
MODELS = {"edf": Edf, "rm": Rm, "fp": Fp, "rr": Fp, "none": Model}
