"""One plugin process, the checker's books of what it granted, and the rules that hold for every plugin."""
from collections import namedtuple
from .model import Books, Task, parse_cpus
from .protocol import Lost, Plugin

POLICIES = ("deadline", "fifo", "rr")
KEPT = ("runtime", "deadline", "period", "accepted_runtime")

Plan = namedtuple("Plan", "cpus place policy priority runtime period deadline fields")


class Setting(namedtuple("Setting", "program name cpus cpu_numbers priority levels words word_values")):
    def arguments(self):
        return [self.program, f"name={self.name.upper()}", f"cpus={self.cpus}", f"priority={self.priority}",
                *self.words]


def number(text):
    """A protocol number: plain decimal digits. None for anything else."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


class Session:
    def __init__(self, setting, model, report):
        self.setting, self.model, self.report = setting, model, report
        self.policy = None
        self.books = Books(setting.cpu_numbers, model.weigh)
        self.plugin = Plugin(setting.arguments())
        greeting = self.plugin.greeting
        if greeting.get("protocol") != "1" or greeting.get("answer") not in ("ok", "no"):
            report.fault(None, greeting, "the greeting has protocol=1 and answer=ok, or answer=no with a reason")
        if greeting.get("answer") == "no":
            self.plugin.kill()
            raise Lost("a plugin that declines to start cannot be checked: see --priority and --words",
                       " ".join(setting.arguments()[1:]), greeting)
        model.tests = greeting.get("tests", "none")
        if model.tests not in ("sufficient", "exact", "necessary", "none"):
            report.fault(None, greeting, "tests= is sufficient, exact, necessary or none")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                self.plugin.close()
        finally:
            self.plugin.kill()

    # Requests. Each returns what the caller has to know; what is wrong goes to the report.

    def ask(self, request):
        request, reply = self.plugin.ask(request)
        self.check_closing(request, reply.closing)
        return request, reply

    def question(self, task, asked):
        """A pure question: (answer, plan or None, closing)."""
        request, reply = self.ask({"op": "accept", "task": task, **asked})
        if reply.updates:
            self.report.fault(request, reply.updates[0], "accept without commit changes nothing: no updates")
        closing = reply.closing
        return closing["answer"], self.check_plan(request, asked, closing), closing

    def probe(self, probes):
        """What it answers to these questions, for comparison."""
        return [{key: value for key, value in self.question(task, asked)[2].items() if key != "id"}
                for task, asked in probes]

    def accept(self, task, asked, commit=True, take_partial=True):
        """(answer, plan or None, closing). Afterwards the task is scheduled if it was granted."""
        request = {"op": "accept", "task": task, **asked, **({"commit": "if-ok"} if commit else {})}
        request, reply = self.ask(request)
        closing = reply.closing
        plan = self.check_plan(request, asked, closing)
        old = self.books.take(task)
        for wrong in self.model.judge(self.books, asked, closing["answer"], plan, old):
            self.report.fault(request, closing, wrong)
        committed = commit and plan is not None and closing["answer"] == "ok"
        if reply.updates and not committed:
            self.report.fault(request, reply.updates[0], "updates come only with what is done, not with a question, "
                              "a partial answer or a refusal")
        if committed:
            self.books.put(task, Task(asked, plan))
            self.apply(request, reply.updates, plan, old)
        elif old:
            self.books.put(task, old)
        if plan and not committed and (closing["answer"] == "ok" or take_partial):
            self.schedule(task, asked, plan)
        return closing["answer"], plan, closing

    def schedule(self, task, asked, plan):
        request, reply = self.ask(self.schedule_request(task, asked, plan))
        old = self.books.take(task)
        self.books.put(task, Task(asked, plan))
        self.apply(request, reply.updates, plan, old)

    def feed(self, tasks):
        """What the broker does after a restart; the order of levels counts when all are back."""
        for task, entry in tasks:
            request, reply = self.ask(self.schedule_request(task, entry.asked, entry.plan))
            if reply.updates:
                self.report.fault(request, reply.updates[0], "tasks that are fed again stay as they were: no updates")
            self.books.put(task, entry)
        self.policy = tasks[0][1].plan.policy if tasks else None

    @staticmethod
    def schedule_request(task, asked, plan):
        request = {"op": "schedule", "task": task, **plan.fields}
        request.update({key: asked[key] for key in ("desired_runtime", "ignore_admission") if key in asked})
        if "priority" in asked:
            request["requested_priority"] = asked["priority"]
        return request

    def release(self, task):
        request, reply = self.ask({"op": "release", "task": task})
        old = self.books.take(task)
        self.apply(request, reply.updates, None, old)

    def load(self, task, cpu, runtime, period):
        request = {"op": "load", "task": task, "cpus": cpu}
        if runtime:
            request["runtime"] = runtime
        self.ask({**request, "period": period, "deadline": period})
        self.books.load(task, cpu, runtime, period)

    def unload(self, task):
        self.ask({"op": "load", "task": task})
        self.books.unload(task)

    # Rules.

    def check_closing(self, request, closing):
        answer, op = closing["answer"], request["op"]
        if op in ("schedule", "release", "load"):
            if answer != "ok":
                self.report.fault(request, closing, f"{op} cannot be refused")
        elif answer not in ("ok", "partial", "no"):
            self.report.fault(request, closing, "answer= is ok, partial or no")
        if answer in ("no", "partial") and not closing.get("reason"):
            self.report.fault(request, closing, f"answer={answer} has a reason= for people")

    def check_plan(self, request, asked, closing):
        """The plan in an answer to accept; None when it is refused or is no plan at all."""
        if closing["answer"] not in ("ok", "partial"):
            return None
        wrong = []
        try:
            cpus = parse_cpus(closing.get("cpus", ""))
        except ValueError:
            self.report.fault(request, closing, "a plan has cpus= as a list like 0-3,6")
            return None
        if not set(cpus) <= set(self.setting.cpu_numbers):
            wrong.append(f"the plan's cpus are within cpus={self.setting.cpus}")
        wrong += self.wrong_policy(closing)
        wrong += wrong_times(asked, closing)
        for text in wrong:
            self.report.fault(request, closing, text)
        if wrong:
            return None
        fields = {key: closing[key] for key in ("cpus", "policy", "priority", *KEPT) if key in closing}
        period = number(closing.get("period"))
        return Plan(cpus, cpus[0] if len(cpus) == 1 else cpus, closing["policy"], number(closing.get("priority")),
                    number(closing.get("runtime")), period, number(closing.get("deadline")) or period, fields)

    def wrong_policy(self, closing):
        policy = closing.get("policy")
        if policy not in POLICIES:
            yield "policy= is deadline, fifo or rr"
        elif (policy == "deadline") != (self.setting.levels is None):
            yield f"the policy suits priority={self.setting.priority}: deadline with -, fifo or rr with a range"
        elif policy != (self.policy or policy):
            yield f"a plugin has one policy, and this one said {self.policy} before"
        else:
            self.policy = policy
            yield from self.wrong_priority(closing)

    def wrong_priority(self, paragraph):
        priority = number(paragraph.get("priority"))
        if self.setting.levels is None:
            if "priority" in paragraph:
                yield "a deadline plan has no priority"
        elif priority is None or not self.setting.levels[0] <= priority <= self.setting.levels[1]:
            yield f"the priority is within priority={self.setting.priority}"

    def apply(self, request, updates, plan, old):
        """Takes what had to move into the books, then looks at the places that changed."""
        places = {entry.place for entry in (plan, old.plan if old else None) if entry}
        for update in updates:
            task = number(update["update"])
            entry = self.books.tasks.get(task)
            if entry is None:
                self.report.fault(request, update, "update= names a task that this plugin holds")
                continue
            wrong = list(self.wrong_priority(update)) if "priority" in update else []
            try:
                cpus = parse_cpus(update["cpus"]) if "cpus" in update else entry.plan.cpus
            except ValueError:
                cpus = ()
            if not cpus or not set(cpus) <= set(self.setting.cpu_numbers):
                wrong.append(f"an update's cpus are within cpus={self.setting.cpus}")
            if not {"cpus", "priority"} & set(update):
                wrong.append("an update has cpus= or priority=")
            for text in wrong:
                self.report.fault(request, update, text)
            if wrong:
                continue
            place = cpus[0] if len(cpus) == 1 else cpus
            places |= {entry.plan.place, place}
            moved = {key: update[key] for key in ("cpus", "priority") if key in update}
            self.books.take(task)
            self.books.put(task, Task(entry.asked, entry.plan._replace(
                cpus=cpus, place=place, priority=number(update.get("priority")) or entry.plan.priority,
                fields={**entry.plan.fields, **moved})))
        for place in places:
            for wrong in self.model.settled(self.books, place):
                self.report.fault(request, f"{len(updates)} updates", wrong)


def wrong_times(asked, closing):
    for key in KEPT:
        if key in closing and number(closing[key]) is None:
            yield f"{key}= is a whole number of us"
            return
    if "period" in asked and number(closing.get("period")) != asked["period"]:
        yield "the plan's period is the one asked"
    if "period" not in asked and "period" in closing:
        yield "the plan has no period when none was asked"
    deadline = asked.get("deadline", asked.get("period"))
    if "deadline" in closing and number(closing["deadline"]) != deadline:
        yield "the plan's deadline is the one asked, or the period"
    if "deadline" in asked and "deadline" not in closing:
        yield "the plan has the deadline that was asked"
    runtime, accepted = number(closing.get("runtime")), number(closing.get("accepted_runtime"))
    if "runtime" not in asked:
        if runtime is not None or accepted is not None:
            yield "the plan has no runtime when none was asked"
    elif runtime is None or runtime != accepted:
        yield "the plan's runtime and accepted_runtime are the same, and both there"
    elif not asked["runtime"] <= runtime <= max(asked["runtime"], asked.get("desired_runtime", 0)):
        yield "the accepted runtime is at least the runtime and at most the desired runtime"
    elif runtime > asked.get("max_runtime", runtime):
        yield "the accepted runtime is at most max_runtime"
