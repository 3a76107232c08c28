"""The checker's own books, and what each kind of plugin may grant: exact fractions, written from rtf-plugin(7)
and the paper's equations, not from the plugins.

A plugin may round each utilisation up to a billionth, as the broker's ledger does, or be exact. So a grant is
wrong when it is too much in exact numbers, and a refusal when even the rounded numbers fit."""
from collections import namedtuple
from fractions import Fraction
from math import prod

BILLION = 10 ** 9
NO_SHARES = {}

Task = namedtuple("Task", "asked plan")


def parse_cpus(text):
    """"0-3,6" -> (0, 1, 2, 3, 6); ValueError on anything else."""
    cpus = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not (first + last).isdigit() or (dash and not last) or int(last or first) < int(first):
            raise ValueError(text)
        cpus.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(cpus))


def rounded_up(share):
    return -(-share.numerator * BILLION // share.denominator)


class Books:
    """A place is a CPU, or the whole tuple of CPUs of a plan that is not pinned to one."""

    def __init__(self, cpus, weigh):
        self.cpus, self.weigh = cpus, weigh
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
        share = self.shares.get(place, NO_SHARES).pop(task, 0)
        if share:
            self.exact[place] -= share
            self.rounded[place] -= rounded_up(share)

    def put(self, task, entry):
        self.tasks[task] = entry
        self.on.setdefault(entry.plan.place, set()).add(task)
        self.charge(task, entry.plan.place, self.weigh(entry.plan))

    def take(self, task):
        entry = self.tasks.pop(task, None)
        if entry:
            self.on[entry.plan.place].discard(task)
            self.discharge(task, entry.plan.place)
        return entry

    def load(self, task, cpu, runtime, window):
        self.unload(task)
        self.foreign[task] = (cpu, runtime, window)
        if runtime:
            self.charge(task, cpu, Fraction(runtime, window))

    def unload(self, task):
        if task in self.foreign:
            self.discharge(task, self.foreign.pop(task)[0])


class Model:
    """Rules that hold for every plugin are in session.py; these are the ones of a kind of plugin."""

    def __init__(self, setting):
        self.levels = setting.levels
        self.words = setting.word_values
        self.threshold = Fraction(self.words.get("threshold", "1"))
        self.tests = "none"  # what the greeting says

    def weigh(self, plan):
        window = min(plan.period, plan.deadline) if plan.period else 0
        return Fraction(plan.runtime or 0, window) if window else Fraction(0)

    def judge(self, books, asked, answer, plan, old):
        """What is wrong with this answer; books are without the task, `old` is what it had."""
        if plan and "ignore_admission" not in asked and ("threshold" in self.words or self.tests != "none"):
            if books.exact.get(plan.place, 0) + self.weigh(plan) > self.threshold:
                yield f"the sum of utilisations on a CPU is at most {float(self.threshold):g}"

    def settled(self, books, place):
        """What is wrong with the tasks of one place after a step."""
        return ()

    def least_loaded(self, books):
        return min(books.cpus, key=books.rounded.__getitem__)

    def misplaced(self, books, plan, old, fits):
        """Worst fit, unless a change stays where it was or the least loaded CPU has no room."""
        cpu, best = plan.place, self.least_loaded(books)
        if cpu not in books.rounded or isinstance(cpu, tuple):
            return "this kind of plugin places a task on one CPU"
        stays = old is not None and old.plan.place == cpu
        if not stays and books.rounded[cpu] - len(books.shares[cpu]) > books.rounded[best] and fits(best):
            return f"the CPU with the least utilisation is taken, which is {best}"
        return None


class Edf(Model):
    """Paper, equations 3 and 4."""

    def __init__(self, setting):
        super().__init__(setting)
        self.pinned = self.words.get("partition", "global") == "unthrottled"
        default = "0.95" if self.pinned else "0.9"
        self.threshold = Fraction(self.words.get("threshold", default))

    def judge(self, books, asked, answer, plan, old):
        if "period" not in asked or "runtime" not in asked:
            return ["edf needs a period and a runtime"] if plan else []
        runtime, window = asked["runtime"], min(asked["period"], asked.get("deadline", asked["period"]))
        if plan and plan.runtime > window:
            return ["a runtime longer than period or deadline is refused"]
        if self.pinned:
            place = plan.place if plan else self.least_loaded(books)
            if place not in books.exact:
                return ["partition=unthrottled places a task on one CPU"]
            free = self.threshold - books.exact[place]
            free_rounded = self.threshold * BILLION - books.rounded[place]
        else:
            capacity = self.threshold * len(books.cpus)
            free = capacity - sum(books.exact.values())
            free_rounded = capacity * BILLION - sum(books.rounded.values())
        most = max(0, int(free * window // 1))
        most_rounded = max(0, int(free_rounded * window // BILLION))
        if not plan:
            ignored = "ignore_admission" in asked and self.pinned
            if runtime <= min(window, asked.get("max_runtime", window)) and (ignored or runtime <= most_rounded):
                return [f"equation 3 admits it: up to {most_rounded} us of runtime fit"]
            return []
        return self.judge_grant(books, asked, plan, old, window, most, most_rounded)

    def judge_grant(self, books, asked, plan, old, window, most, most_rounded):
        runtime = asked["runtime"]
        if not self.pinned and plan.cpus != books.cpus:
            yield "with partition=global the plan's cpus are all of the plugin's"
        if self.pinned:
            wrong = self.misplaced(books, plan, old, lambda cpu: runtime * BILLION <= window * (
                self.threshold * BILLION - books.rounded[cpu]))
            if wrong:
                yield wrong
        if runtime > most and "ignore_admission" in asked:
            if not self.pinned:
                yield "with partition=global the kernel tests too: ignore_admission cannot help"
            if plan.runtime != runtime:
                yield "a task that fails the test gets its minimum runtime (paper 5.1)"
        elif plan.runtime > most:
            yield f"equation 3 has room for {most} us of runtime at most"
        else:
            goal = min(max(runtime, asked.get("desired_runtime", 0)), asked.get("max_runtime", window), window)
            if not min(goal, most_rounded) <= plan.runtime <= min(goal, most):
                yield f"equation 4 gives {min(goal, most_rounded)} us"


class Ordered(Model):
    """Fixed priorities: on each CPU the more urgent task is never lower, and different urgencies share a
    level only when there are more of them than levels."""
    equals_share = False
    unit = ""

    def urgency(self, entry):
        raise NotImplementedError

    def settled(self, books, place):
        if self.levels is None:  # a deadline plugin that was taken for this model: policy= has been reported
            return
        ranks = {}
        for task in books.on.get(place, ()):
            entry = books.tasks[task]
            ranks.setdefault(self.urgency(entry), []).append(entry.plan.priority)
        room = len(ranks) <= self.levels[1] - self.levels[0] + 1
        below = None
        for rank in sorted(ranks):
            lowest, highest = min(ranks[rank]), max(ranks[rank])
            if self.equals_share and lowest != highest:
                yield f"equal {self.unit} have one level on a CPU: {abs(rank)} has {lowest} and {highest} on {place}"
            if below and below[1] > lowest:
                yield (f"levels follow the {self.unit}: on CPU {place} {abs(below[0])} has level {below[1]}, "
                       f"above {abs(rank)} with {lowest}")
            elif below and below[1] == lowest and room:
                yield (f"different {self.unit} share a level only when levels run out: on CPU {place} "
                       f"{abs(below[0])} and {abs(rank)} share {lowest}")
            below = rank, highest


class Rm(Ordered):
    unit = "periods"

    def __init__(self, setting):
        super().__init__(setting)
        self.fits = {"hyperbolic": hyperbolic, "liu-layland": liu_layland,
                     "necessary": necessary}[self.words.get("admission", "hyperbolic")]

    def urgency(self, entry):
        return -(entry.plan.period or 0)

    def weigh(self, plan):
        return Fraction(plan.runtime or 0, plan.period) if plan.period else Fraction(0)

    def admits(self, shares, more, slack=0):
        shares = [share + slack for share in (*shares.values(), more)]
        return self.fits(shares) and sum(shares) <= self.threshold

    def judge(self, books, asked, answer, plan, old):
        if "period" not in asked:
            return ["rm needs a period"] if plan else []
        if "runtime" not in asked:
            return [] if answer == "partial" else ["rm answers partial to a task without runtime: it has no test"]
        window = min(asked["period"], asked.get("deadline", asked["period"]))
        share = Fraction(asked["runtime"], asked["period"])
        slack = Fraction(2, BILLION)  # for plugins that round, twice: the share and the bound
        if not plan:
            best = self.least_loaded(books)
            allowed = asked["runtime"] <= min(window, asked.get("max_runtime", window))
            if allowed and self.admits(books.shares[best], share, slack):
                return [f"CPU {best} is the least loaded and its test admits this task"]
            return []
        if answer == "ok" and window < asked["period"]:
            return ["rm answers partial when the deadline is below the period: its tests do not cover that"]
        if "ignore_admission" in asked:
            return []
        wrong = self.misplaced(books, plan, old, lambda cpu: self.admits(books.shares[cpu], share, slack))
        if wrong:
            return [wrong]
        if not self.admits(books.shares[plan.place], share):
            return [f"the {self.words.get('admission', 'hyperbolic')} test fails on CPU {plan.place} with this task"]
        return []


class Fp(Ordered):
    unit = "requested priorities"
    equals_share = True

    def urgency(self, entry):
        return entry.asked.get("priority", 0)

    def judge(self, books, asked, answer, plan, old):
        if "priority" not in asked:
            return ["this plugin needs a priority"] if plan else []
        counts = {cpu: len(books.on[cpu]) for cpu in books.cpus}
        fewest = [cpu for cpu in books.cpus if counts[cpu] == min(counts.values())]
        if plan:
            stays = old is not None and old.plan.place == plan.place
            if not stays and plan.place not in fewest and self.words.get("exhausted") != "reject":
                return [f"the CPU with the fewest tasks is taken, which is {fewest[0]}"]
        if self.words.get("exhausted", "share") == "reject":
            return self.judge_reject(books, asked, plan, fewest)
        return [] if plan else ["without exhausted=reject every task that has a priority is granted"]

    def judge_reject(self, books, asked, plan, fewest):
        def exceeds(cpu):
            wishes = {books.tasks[task].asked["priority"] for task in books.on[cpu]} | {asked["priority"]}
            return len(wishes) > self.levels[1] - self.levels[0] + 1
        if plan and exceeds(plan.place):
            return ["with exhausted=reject a CPU has no more different requested priorities than levels"]
        if not plan and not any(exceeds(cpu) for cpu in fewest):
            return ["the CPU with the fewest tasks has levels left"]
        return []


def hyperbolic(shares):
    """Product of (U + 1) at most 2, with the division left out."""
    return prod(s.numerator + s.denominator for s in shares) <= 2 * prod(s.denominator for s in shares)


def liu_layland(shares):
    """U <= n (2^(1/n) - 1), that is (1 + U/n)^n <= 2."""
    count, total = len(shares), sum(shares)
    each = count * total.denominator
    return (each + total.numerator) ** count <= 2 * each ** count


def necessary(shares):
    return sum(shares) <= 1


MODELS = {"edf": Edf, "rm": Rm, "fp": Fp, "rr": Fp, "none": Model}
