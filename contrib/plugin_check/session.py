"""One plugin process, the checker's books of what it granted, and the rules that hold for every plugin."""
from collections import namedtuple

from .model import Books, Load, Task, parse_cpus
from .protocol import Lost, Plugin

TIMES = ("runtime", "accepted_runtime", "period", "deadline")

OWNERS = 3  # users, each with every third task

Plan = namedtuple("Plan", "place cpus priority runtime period deadline fields")


class Setting(namedtuple("Setting", "program name cpus cpu_numbers priority levels words")):
    def arguments(self):
        return [self.program if "/" in self.program else f"./{self.program}", f"name={self.name.upper()}",
                f"cpus={self.cpus}", f"priority={self.priority}", *(f"{k}={v}" for k, v in self.words.items())]


def owner_of(task):
    return task % OWNERS + 1


def number(text):
    """A protocol number: plain decimal digits. None for anything else."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


class Session:
    def __init__(self, setting, model, report):
        self.setting, self.model, self.report, self.policy = setting, model, report, None
        self.books = Books(setting.cpu_numbers, model)
        self.plugin = Plugin(setting.arguments())
        greeting = self.plugin.greeting
        if greeting.get("answer") == "no":
            self.plugin.kill()
            raise Lost("a plugin that declines to start cannot be checked: see --priority and --words",
                       " ".join(setting.arguments()[1:]), greeting)
        model.tests = greeting.get("tests", "none")
        if greeting.get("protocol") != "1" or greeting.get("answer") != "ok" or model.tests not in (
                "sufficient", "exact", "necessary", "none"):
            report.fault(None, greeting, "the greeting must have protocol=1 and answer=ok or no, and tests=, if present, must be "
                         "sufficient, exact, necessary or none")
        self.judges = greeting.get("judges") == "load"
        if greeting.get("judges", "load") != "load" or greeting.get("grants", "tested") != "tested":
            report.fault(None, greeting, "in a greeting judges=, if present, must be load, and grants=, if present, must be tested")
        self.grants_tested = greeting.get("grants") == "tested"

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                self.plugin.close()
        finally:
            self.plugin.kill()

    # Requests.

    def ask(self, op, task, **fields):
        request, reply = self.plugin.ask({"op": op, "task": task, **fields})
        self.check_closing(request, reply.closing)
        return request, reply

    def question(self, task, asked):
        """Asks without commit. Returns the plan (None: refused) and the last paragraph of the answer."""
        asked = {**asked, "owner": owner_of(task)}
        request, reply = self.ask("accept", task, **asked)
        if reply.updates:
            self.report.fault(request, reply.updates[0], "accept without commit must change nothing: no updates")
        return self.check_plan(request, asked, reply.closing), reply.closing

    def probe(self, probes):
        """Returns the plugin's answers to these questions, for comparison."""
        return [{key: value for key, value in self.question(*probe)[1].items() if key != "id"} for probe in probes]

    def accept(self, task, asked, commit=True, take_offer=True):
        """Asks for a task. Returns the plan (None: refused) and the last paragraph of the answer. An offer that the plugin
        did not commit is scheduled: a partial one, or one without commit."""
        asked = {**asked, "owner": owner_of(task)}
        request, reply = self.ask("accept", task, **asked, **({"commit": "if-ok"} if commit else {}))
        closing, answer = reply.closing, reply.closing["answer"]
        plan = self.check_plan(request, asked, closing)
        old = self.books.take(task)
        for wrong in self.model.judge(self.books, asked, answer, plan, old):
            self.report.fault(request, closing, wrong)
        if old:
            self.books.put(task, old)
        if commit and plan and answer == "ok":
            self.settle(request, reply.updates, task, Task(asked, plan))
        elif reply.updates:
            self.report.fault(request, reply.updates[0], "an answer must not have updates if nothing was done: not for a question, "
                              "a partial answer or a refusal")
        elif plan and take_offer:
            request, reply = self.schedule(task, Task(asked, plan))
            self.settle(request, reply.updates, task, Task(asked, plan))
        return plan, closing

    def schedule(self, task, entry):
        stated = {key: entry.asked[key] for key in ("desired_runtime", "ignore_admission") if key in entry.asked}
        if "priority" in entry.asked:
            stated["requested_priority"] = entry.asked["priority"]
        return self.ask("schedule", task, **entry.plan.fields, **stated, owner=owner_of(task))

    def feed(self, tasks):
        """Gives the plugin all tasks, as the broker does after a restart. The order of levels must be right only at the end."""
        for task, entry in tasks:
            request, reply = self.schedule(task, entry)
            if reply.updates:
                self.report.fault(request, reply.updates[0], "tasks that are fed again must stay as they were: no updates")
            self.books.put(task, entry)

    def release(self, task):
        request, reply = self.ask("release", task)
        self.settle(request, reply.updates, task, None)

    def load(self, task, load):
        """Tells the plugin of another plugin's task, and has it judge the task if load.judged. Returns the last paragraph of the answer."""
        load = load._replace(owner=owner_of(task))
        stated = {key: getattr(load, key) for key in ("runtime", "period", "deadline", "policy", "priority", "owner")
                  if getattr(load, key) is not None}
        judged = {"commit": "if-ok"} if load.judged else {}
        before = self.books.unload(task)
        own = self.books.take(task)  # the task moves to the other plugin
        bears = self.model.bears(self.books, load) if judged else (None, None)
        if own:
            self.books.put(task, own)
        request, reply = self.ask("load", task, cpus=load.cpu, **stated, **judged)
        borne = reply.closing["answer"] == "ok"
        self.broken(request, reply.closing, (
            (reply.updates, "a load must move no task: no updates"),
            (borne and bears[1] is False, "the plugin must refuse this load: its tasks would miss deadlines"),
            (not borne and bears[0] is True, "the plugin must bear this load: its tasks would still meet all deadlines")))
        if borne or before:
            self.books.load(task, load if borne else before)
        return reply.closing

    def unload(self, task):
        self.ask("load", task)
        self.books.unload(task)

    # Rules. Each is a pair: is it broken, and what rtf-plugin(7) demands.

    def broken(self, request, got, rules):
        faults = [demand for wrong, demand in rules if wrong]
        for demand in faults:
            self.report.fault(request, got, demand)
        return bool(faults)

    def check_closing(self, request, closing):
        answer, op = closing["answer"], request["op"]
        must_obey = op in ("schedule", "release") or (op == "load" and not (self.judges and "commit" in request))
        self.broken(request, closing, (
            (must_obey and answer != "ok", f"the answer to {op} must be ok"),
            (op == "load" and answer == "partial", "the answer to a load must be ok or no"),
            (answer not in ("ok", "partial", "no"), "answer= must be ok, partial or no"),
            (closing.get("retry") not in (None, "never", "when-freed"), "retry= must be never or when-freed"),
            (answer != "ok" and not closing.get("reason"), f"answer={answer} must have a reason= for people")))

    def wrong_bounds(self, paragraph):
        """Returns the rules for the keys that a plan and an update share."""
        levels, level = self.setting.levels, number(paragraph.get("priority"))
        try:
            inside = set(parse_cpus(paragraph.get("cpus", self.setting.cpus))) <= set(self.setting.cpu_numbers)
        except ValueError:
            inside = False
        if levels is None:
            wrong_level = "priority" in paragraph
        else:
            wrong_level = "priority" in paragraph and not levels[0] <= (level or 0) <= levels[1]
        return [(not inside, f"cpus= must be a list within cpus={self.setting.cpus}"),
                (wrong_level, f"the priority must be within priority={self.setting.priority}, and absent for deadline")]

    def check_plan(self, request, asked, closing):
        """Returns the plan in an answer to accept. None: the answer refuses, or has no valid plan."""
        if closing["answer"] not in ("ok", "partial"):
            return None
        policy, deadline_only = closing.get("policy"), self.setting.levels is None
        self.policy = self.policy or policy
        cut = {key: number(closing.get(key)) for key in TIMES}
        least, most = asked.get("runtime"), max(asked.get("runtime", 0), asked.get("desired_runtime", 0))
        rules = self.wrong_bounds(closing) + [
            ("cpus" not in closing, "a plan must have cpus="),
            (("priority" in closing) == deadline_only, "a plan must have a priority, unless its policy is deadline"),
            (policy not in ("deadline", "fifo", "rr"), "policy= must be deadline, fifo or rr"),
            ((policy == "deadline") != deadline_only,
             f"with priority={self.setting.priority} the policy must be {'deadline' if deadline_only else 'fifo or rr'}"),
            (policy != self.policy, f"a plugin must have one policy, and this one said {self.policy} before"),
            (any(key in closing and cut[key] is None for key in TIMES), "a time must be a whole number of us"),
            (cut["period"] != asked.get("period"), "the plan's period must be the period that was asked, if any"),
            ("deadline" in asked and "deadline" not in closing, "the plan must have the deadline that was asked"),
            ("deadline" in closing and cut["deadline"] != asked.get("deadline", asked.get("period")),
             "the plan's deadline must be the deadline that was asked, or else the period"),
            (cut["runtime"] != cut["accepted_runtime"], "the plan's runtime and accepted_runtime must be the same"),
            ((cut["runtime"] is None) != (least is None), "the plan must have a runtime if one was asked, and no runtime otherwise"),
            (least is None and self.grants_tested, "with grants=tested the plugin must refuse a request without runtime"),
            (least and not least <= (cut["runtime"] or 0) <= most,
             "the accepted runtime must be at least the runtime and at most the desired runtime"),
            ((cut["runtime"] or 0) > asked.get("max_runtime", most), "the accepted runtime must be at most max_runtime")]
        if self.broken(request, closing, rules):
            return None
        cpus = parse_cpus(closing["cpus"])
        fields = {key: closing[key] for key in ("cpus", "policy", "priority", *TIMES) if key in closing}
        return Plan(cpus[0] if len(cpus) == 1 else cpus, cpus, number(closing.get("priority")), cut["runtime"],
                    cut["period"], cut["deadline"] or cut["period"], fields)

    def settle(self, request, updates, task, entry):
        """Enters this task and all moved tasks into the books. Then checks the places that have changed."""
        old = self.books.take(task)
        if entry:
            self.books.put(task, entry)
        places = {each.plan.place for each in (entry, old) if each}
        for update in updates:
            moved = number(update["update"])
            if self.broken(request, update, self.wrong_bounds(update) + [
                    (moved not in self.books.tasks, "update= must name a task that this plugin holds"),
                    (not {"cpus", "priority"} & set(update), "an update must have cpus= or priority=")]):
                continue
            asked, plan = self.books.take(moved)
            fields = {**plan.fields, **{key: update[key] for key in ("cpus", "priority") if key in update}}
            cpus = parse_cpus(fields["cpus"])
            place = cpus[0] if len(cpus) == 1 else cpus
            places |= {plan.place, place}
            self.books.put(moved, Task(asked, plan._replace(
                place=place, cpus=cpus, priority=number(fields.get("priority")), fields=fields)))
        for place in places:
            for wrong in self.model.settled(self.books, place):
                self.report.fault(request, f"{len(updates)} updates", wrong)
