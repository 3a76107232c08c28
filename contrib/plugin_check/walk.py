"""Random steps against the checker's books."""
from .protocol import BROKER_SECONDS
from .scenarios import expect_same, probes
from .session import Session, number

PERIODS = (1000, 2000, 3000, 4000, 5000, 8000, 10000, 16000, 20000, 30000, 33333, 40000, 50000, 100000, 1000000)
PRIORITIES = (1, 5, 9, 10, 11, 20, 30, 40, 50, 70, 98, 99)
FOREIGN = 60000  # task numbers: other plugins' tasks, ours from FIRST, across 2^31
FIRST = 2 ** 31 - 500
RESTARTS = 5


class Walk:
    def __init__(self, setting, model, report, rng):
        self.setting, self.model, self.report, self.rng = setting, model, report, rng
        self.session = Session(setting, model, report)
        self.next_task = FIRST
        self.granted = self.refused = 0
        self.draining = False
        self.most = min(14 * len(setting.cpu_numbers), 400)
        self.probes = probes(self.session)
        self.empty = self.session.probe(self.probes)

    def step(self):
        rng, tasks = self.rng, self.session.books.tasks
        self.draining = len(tasks) > (0 if self.draining else self.most) and rng.random() > 0.002
        choice = rng.random()
        if tasks and choice < (0.6 if self.draining else 0.2):
            self.session.release(rng.choice(list(tasks)))
        elif tasks and choice < (0.7 if self.draining else 0.35):
            self.accept(rng.choice(list(tasks)), self.wish())
        elif choice < 0.95:
            self.next_task += 1
            self.accept(self.next_task, self.wish())
        elif choice < 0.98:
            self.load()
        else:
            self.session.release(self.next_task + 1000)

    def wish(self):
        rng = self.rng
        period = rng.choice(PERIODS) if rng.random() < 0.6 else rng.randint(1000, 1000000)
        low, high = rng.choice(((1, 5), (1, 5), (1, 5), (5, 30), (5, 30), (30, 100)))
        runtime = max(2, period * rng.randint(low * 1000, high * 1000) // 100000)
        asked = {"runtime": runtime, "period": period}
        if rng.random() < 0.15:
            asked["deadline"] = rng.randint(runtime, period)
        if rng.random() < 0.25:
            asked["desired_runtime"] = rng.randint(runtime, 2 * runtime)
        if rng.random() < (0.97 if self.setting.levels else 0.1):
            asked["priority"] = rng.choice(PRIORITIES) if rng.random() < 0.6 else rng.randint(1, 99)
        if rng.random() < 0.02:
            asked["ignore_admission"] = 1
        if rng.random() < 0.1:
            asked["max_runtime"] = rng.randint(runtime, 2 * runtime)
        if rng.random() < 0.06:
            for key in rng.choice((("runtime", "desired_runtime", "max_runtime"), ("period",))):
                asked.pop(key, None)
        return asked

    def accept(self, task, asked):
        answer, plan, closing = self.session.accept(task, asked, self.rng.random() < 0.8, self.rng.random() < 0.8)
        if plan:
            self.granted += 1
        elif answer == "no":
            self.refused += 1
            self.check_nearest(task, asked, closing)

    def check_nearest(self, task, asked, closing):
        if "runtime" not in asked:
            return
        if "nearest" not in closing:
            for runtime in (1, 2) if self.rng.random() < 0.3 else ():
                if runtime < asked["runtime"] and self.session.question(task, {**asked, "runtime": runtime})[1]:
                    self.report.fault({"op": "accept", "task": task, **asked}, closing, "a refusal names the nearest= "
                                      f"runtime that would be granted, and {runtime} us would be")
            return
        nearest = number(closing["nearest"])
        if not nearest or nearest >= asked["runtime"]:
            self.report.fault({"op": "accept", "task": task, **asked}, closing,
                              "nearest= is a runtime in us, smaller than the one asked")
            return
        resubmitted = {**asked, "runtime": nearest}
        answer, _, again = self.session.question(task, resubmitted)
        if answer == "no":
            self.report.fault({"op": "accept", "task": task, **resubmitted}, again, "the nearest= of the answer before "
                              "is granted when it is asked for")
        answer, _, again = self.session.question(task, {**asked, "runtime": nearest + 1})
        if answer != "no":
            self.report.fault({"op": "accept", "task": task, **asked, "runtime": nearest + 1}, again,
                              f"nearest={nearest} was said to be the largest runtime that is granted")
        if self.rng.random() < 0.3:
            self.session.accept(task, resubmitted)

    def load(self):
        """Another plugin's task comes, changes or goes."""
        rng, foreign = self.rng, self.session.books.foreign
        task = FOREIGN + rng.randrange(2 * len(self.setting.cpu_numbers))
        if task in foreign and rng.random() < 0.6:
            self.session.unload(task)
        else:
            period = rng.choice(PERIODS)
            runtime = max(1, period * rng.randint(1, 150) // 1000) if rng.random() < 0.75 else None
            self.session.load(task, rng.choice(self.setting.cpu_numbers), runtime, period)

    def restart(self):
        """What the broker does after a plugin died: a new one is fed with what the old one had granted."""
        old, self.session = self.session, Session(self.setting, self.model, self.report)
        for task, (cpu, runtime, period) in old.books.foreign.items():
            self.session.load(task, cpu, runtime, period)
        tasks = list(old.books.tasks.items())
        self.rng.shuffle(tasks)
        self.session.feed(tasks)
        asked = self.probes + [(task, self.wish()) for task in list(old.books.tasks)[:10]]
        expect_same(self.session, asked, old.probe(asked), self.session.probe(asked),
                    "after a restart and schedule for each task the answers are the same")
        old.__exit__(None, None, None)

    def finish(self):
        for task in list(self.session.books.tasks):
            self.session.release(task)
        for task in list(self.session.books.foreign):
            self.session.unload(task)
        expect_same(self.session, self.probes, self.empty, self.session.probe(self.probes),
                    "when all is released the answers are those of the start")
        plugin = self.session.plugin
        if plugin.slow > 5 and plugin.slow * 100 > plugin.asked:
            self.report.fault(None, None, f"{plugin.slow} of {plugin.asked} answers took longer than the "
                              f"{BROKER_SECONDS * 1000:.0f} ms that the broker waits (see timeout=)")


def walk(setting, model, report, rng, steps):
    """(steps, granted, refused)"""
    report.step = "start of the random steps"
    walker, done = Walk(setting, model, report, rng), 0
    try:
        for done in range(1, steps + 1):
            report.step = f"step {done}"
            walker.step()
            if done % max(20, steps // RESTARTS) == 0:
                walker.restart()
        report.step = "end of the random steps"
        walker.finish()
        walker.session.plugin.close()
    finally:
        walker.session.plugin.kill()
    return done, walker.granted, walker.refused
