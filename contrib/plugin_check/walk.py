"""Random steps, compared with the checker's books."""
from .protocol import BROKER_SECONDS
from .model import Load
from .scenarios import check_minimum, expect_same, probes
from .session import Session, number

PERIODS = (1000, 2000, 3000, 4000, 5000, 8000, 10000, 16000, 20000, 30000, 33333, 40000, 50000, 100000, 1000000)
PRIORITIES = (1, 5, 9, 10, 11, 20, 30, 40, 50, 70, 98, 99)
PERCENTS = ((1, 5), (1, 5), (1, 5), (5, 30), (5, 30), (30, 100))
FIRST, FOREIGN = 2 ** 31 - 500, 60000  # task numbers: ours, across 2^31; other plugins'
RESTARTS = 5


class Walk:
    def __init__(self, setting, model, report, rng):
        self.setting, self.model, self.report, self.rng = setting, model, report, rng
        self.session = Session(setting, model, report)
        self.next_task, self.draining, self.nevers = FIRST, False, []
        self.most = min(14 * len(setting.cpu_numbers), 400)
        self.probes = probes(self.session)
        self.empty = self.session.probe(self.probes)

    def step(self):
        """Makes one random step. The steps fill the CPUs, empty them, and fill them again."""
        rng, tasks = self.rng, self.session.books.tasks
        self.draining = len(tasks) > (0 if self.draining else self.most) and rng.random() > 0.002
        choice = rng.random()
        if tasks and choice < (0.6 if self.draining else 0.2):
            self.session.release(rng.choice(list(tasks)))
        elif tasks and choice < (0.7 if self.draining else 0.35):
            self.accept(rng.choice(list(tasks)), self.parameters())
        elif choice < 0.95:
            self.next_task += 1
            self.accept(self.next_task, self.parameters())
        elif choice < 0.98:
            self.load()
        else:
            self.session.release(self.next_task + 1000)

    def parameters(self):
        rng = self.rng
        period = rng.choice(PERIODS) if rng.random() < 0.6 else rng.randint(1000, 1000000)
        low, high = rng.choice(PERCENTS)
        runtime = max(2, period * rng.randint(low * 1000, high * 1000) // 100000)
        asked = {"runtime": runtime, "period": period}
        priority = rng.choice(PRIORITIES) if rng.random() < 0.6 else rng.randint(1, 99)
        for key, chance, value in (
                ("deadline", 0.15, rng.randint(runtime, period)), ("ignore_admission", 0.02, 1),
                ("desired_runtime", 0.25, rng.randint(runtime, 2 * runtime)),
                ("max_runtime", 0.1, rng.randint(runtime, 2 * runtime)),
                ("priority", 0.97 if self.setting.levels else 0.1, priority)):
            if rng.random() < chance:
                asked[key] = value
        if rng.random() < 0.06:
            for key in rng.choice((("runtime", "desired_runtime", "max_runtime"), ("period",))):
                asked.pop(key, None)
        return asked

    def accept(self, task, asked):
        plan, closing = self.session.accept(task, asked, self.rng.random() < 0.8, self.rng.random() < 0.8)
        self.report.granted += plan is not None
        self.report.refused += closing["answer"] == "no"
        if closing.get("retry") == "never":
            self.nevers.append((task, asked))
        if closing["answer"] == "no" and "runtime" in asked:
            self.check_nearest(task, asked, closing)

    def check_nearest(self, task, asked, closing):
        def fault(runtime, got, demand):
            self.report.fault({"op": "accept", "task": task, **asked, "runtime": runtime}, got, demand)

        def ask(runtime):
            return self.session.question(task, {**asked, "runtime": runtime})[1]
        runtime, nearest = asked["runtime"], number(closing.get("nearest"))
        if "nearest_minimum" in closing:
            check_minimum(self.session, task, asked, closing)
        elif "nearest" not in closing:
            for less in range(1, min(3, runtime)) if self.rng.random() < 0.3 else ():
                if ask(less)["answer"] != "no":
                    fault(runtime, closing, f"a refusal must have nearest= if a smaller runtime is granted: {less} us would be granted")
        elif not nearest or nearest >= runtime:
            fault(runtime, closing, "nearest= must be a runtime in us, smaller than the one asked")
        else:
            at, above = ask(nearest), ask(nearest + 1)
            if at["answer"] == "no":
                fault(nearest, at, "the nearest= of the answer before must be granted when it is asked for")
            if above["answer"] != "no":
                fault(nearest + 1, above, f"nearest={nearest} must be the largest runtime that the plugin grants")
            if self.rng.random() < 0.3:
                self.session.accept(task, {**asked, "runtime": nearest})

    def load(self):
        """Lets a task of another plugin come, change or go."""
        rng = self.rng
        task, period = FOREIGN + rng.randrange(2 * len(self.setting.cpu_numbers)), rng.choice(PERIODS)
        if task in self.session.books.foreign and rng.random() < 0.6:
            self.session.unload(task)
        else:
            runtime = max(1, period * rng.randint(1, 150) // 1000) if rng.random() < 0.75 else None
            deadline = period if rng.random() < 0.8 else rng.randint(runtime or 1, period)
            policy, priority = self.rank()
            load = Load(rng.choice(self.setting.cpu_numbers), runtime, period, deadline, policy, priority,
                        self.session.judges and rng.random() < 0.7)
            nearest = number(self.session.load(task, load).get("nearest"))
            if nearest:
                self.check_nearest_load(task, load, nearest)

    def rank(self):
        """Returns a policy and a priority above or below the plugin's range."""
        levels, policy = self.setting.levels or (40, 40), self.rng.choice((None, "deadline", "fifo", "rr"))
        outside = [level for level in (levels[0] - 1, levels[1] + 1) if 1 <= level <= 97]
        if policy in ("fifo", "rr"):
            return (policy, self.rng.choice(outside)) if outside else (None, None)
        return policy, None

    def check_nearest_load(self, task, load, nearest):
        for runtime, answer in ((nearest + 1, "no"), (nearest, "ok")):
            closing = self.session.load(task, load._replace(runtime=runtime))
            if closing["answer"] != answer:
                self.report.fault({"op": "load", "task": task, **load._asdict(), "runtime": runtime}, closing,
                                  f"nearest={nearest} must be the largest runtime of this load that the plugin's tasks can bear")

    def restart(self):
        """Starts a new plugin process, and gives it the grants of the old one, as the broker does after a plugin has ended."""
        old, self.session = self.session, Session(self.setting, self.model, self.report)
        with old:
            for task, load in old.books.foreign.items():
                self.session.load(task, load._replace(judged=False))
                self.session.books.foreign[task] = load
            tasks = list(old.books.tasks.items())
            self.rng.shuffle(tasks)
            self.session.feed(tasks)
            asked = self.probes + [(task, self.parameters()) for task, _ in tasks[:10]]
            expect_same(self.session, asked, old.probe(asked), self.session.probe(asked),
                        "after a restart and schedule for each task the answers must be the same")

    def finish(self):
        for task in list(self.session.books.tasks):
            self.session.release(task)
        for task in list(self.session.books.foreign):
            self.session.unload(task)
        expect_same(self.session, self.probes, self.empty, self.session.probe(self.probes),
                    "when all is released the answers must be the same as at the start")
        for task, asked in self.nevers:
            plan, closing = self.session.question(task, asked)
            if plan:
                self.report.fault({"op": "accept", "task": task, **asked}, closing, "the plugin must say retry=never only of "
                                  "what it can never grant: it said so of this request before")
        slow, asked = self.session.plugin.slow, self.session.plugin.serial
        if slow > 5 and slow * 100 > asked:
            self.report.fault(None, None, f"a plugin must answer within {BROKER_SECONDS * 1000:.0f} ms, unless plugins.conf has "
                              f"another timeout=: {slow} of {asked} answers took longer")


def walk(setting, model, report, rng, steps):
    report.step = "start of the random steps"
    walker = Walk(setting, model, report, rng)
    try:
        for report.steps in range(1, steps + 1):
            report.step = f"step {report.steps}"
            walker.step()
            if report.steps % max(20, steps // RESTARTS) == 0:
                walker.restart()
        report.step = "end of the random steps"
        walker.finish()
        walker.session.plugin.close()
    finally:
        walker.session.plugin.kill()
