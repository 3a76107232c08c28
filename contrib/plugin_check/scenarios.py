"""Steps made by hand, each with a fresh plugin."""
import time
from contextlib import contextmanager

from .model import MODELS, Load, Rm
from .protocol import Lost, render
from .report import compact
from .session import Session, number

UNKNOWN = {"zz_unknown": "7", "from_a_later_broker": "a b=c"}
ASKER = 7000000  # tasks that are only asked about


def parameters(session, runtime, period, **more):
    """Returns a request that most plugins can grant. It has all parameters that a plugin may need."""
    levels = session.setting.levels
    return {"runtime": runtime, "period": period, "priority": sum(levels) // 2 if levels else 20, **more}


def other(cpu, runtime, period, policy=None, priority=None, judged=False):
    """Returns a task of another plugin."""
    return Load(cpu, runtime, period, period, policy, priority, judged)


def probes(session):
    """Returns questions about the plugin's state. Some ask for an amount that just fits, or that just does not fit: the
    smallest error in a sum changes the answers to these."""
    asks = [parameters(session, 1000, 100000), parameters(session, 1000, 100000, priority=99), {"period": 50000},
            parameters(session, 20000, 50000, desired_runtime=50000), parameters(session, 3000, 80000, deadline=7000)]
    for period in (1000000, 30000, 4001):
        whole = parameters(session, period, period)
        nearest = number(session.question(ASKER, whole)[1].get("nearest"))
        asks += [whole] + [{**whole, "runtime": nearest + more} for more in (0, 1) if nearest]
    return list(enumerate(asks, ASKER))


def expect_same(session, asked, before, after, demand):
    for (task, request), old, new in zip(asked, before, after):
        if old != new:
            session.report.fault({"op": "accept", "task": task, **request}, new, f"{demand}: the earlier answer was '{compact(old)}'")
            return


@contextmanager
def unchanged(session, demand, asked=None):
    asked = asked or probes(session)
    before = session.probe(asked)
    yield
    expect_same(session, asked, before, session.probe(asked), demand)


def fill(session, percent, most=40):
    """Asks for tasks of this size until one is refused."""
    for task in range(1, most + 1):
        period = 100000 if task % 2 else 200000
        if session.accept(task, parameters(session, period * percent // 100, period))[0] is None:
            break
    return list(session.books.tasks)


def conversation(session):
    request, reply = session.ask("no_such_op", 1)
    if reply.closing["answer"] != "no":
        session.report.fault(request, reply.closing, "the answer to an unknown op must be no, with a reason=")
    session.release(424242)
    session.unload(424243)
    session.question(1, {})
    plain = probes(session)
    strange = [(task, {**asked, **UNKNOWN}) for task, asked in plain]
    expect_same(session, strange, session.probe(plain), session.probe(strange), "the plugin must ignore unknown keys")
    with unchanged(session, "the plugin must forget a load that came and went"):
        for task, runtime in ((424243, 1000), (424244, None)):
            session.load(task, other(session.setting.cpu_numbers[0], runtime, 100000))
        for task in (424243, 424244):
            session.unload(task)


def large_numbers(session):
    """Numbers above 2^31, which a careless awk program or a C int cannot hold."""
    with unchanged(session, "the plugin must tell task numbers apart, also beyond 2^31"):
        session.question(ASKER, parameters(session, 2500000000, 3600000000))
        for step in (lambda task: session.accept(task, parameters(session, 1000, 100000)), session.release):
            for task in (3000000001, 5, 2 ** 32 + 5):
                step(task)


def split_requests(session):
    plugin = session.plugin
    for size in (25, 1):
        request = plugin.number({"op": "no_such_op", "task": 1, "runtime": 1000})
        data, last = render(request)[:-1], b"\n"
        for at in range(0, len(data), size):
            plugin.send(data[at:at + size])
            time.sleep(size / 1000)  # a pause, so that the plugin reads this piece alone
        if plugin.poll.poll(50):
            raise Lost("a request can come in pieces: the plugin must not answer before the empty line",
                       data.decode().replace("\n", " "), plugin.paragraph())
        plugin.send(last)
        session.check_closing(request, plugin.reply(request).closing)


def many_in_one_write(session):
    """Neighbouring requests have different answers, so a wrong order is noticed even without ids."""
    for count in (2, 50, 2000):
        requests = [{"op": ("release", "no_such_op")[i % 2], "task": 500000 + i} for i in range(count)]
        for request, reply in session.plugin.ask_all(requests):
            if (reply.closing["answer"] == "ok") != (request["op"] == "release"):
                raise Lost(f"{count} requests in one stream must be answered in order: ok to release, no to an unknown op",
                           request, reply.closing)


def questions_change_nothing(session):
    with unchanged(session, "accept without commit must change nothing"):
        for task in range(100, 160):
            session.question(task, parameters(session, 30000, 100000))


def changes(session):
    """A change that is only asked about, or refused, leaves the old reservation as it was."""
    held = fill(session, 30)
    others = (parameters(session, 100000, 100000), parameters(session, 10, 100000), {"runtime": 5000}, {})
    state = probes(session) + [(task, session.books.tasks[task].asked) for task in held[:8]]
    for task in held[-1:]:
        with unchanged(session, "a question about a change must change nothing", state):
            refused = [other for other in others if session.question(task, other)[1]["answer"] == "no"]
        with unchanged(session, "a refused change must keep the old reservation", state):
            for other in refused:
                session.accept(task, other)
        with unchanged(session, "a change to the same parameters must be granted and alter nothing", state):
            session.accept(task, session.books.tasks[task].asked)


def sums_return_to_zero(session):
    with unchanged(session, "after the release of all tasks the sums must be zero again"):
        for percent in (10, 33, 7):
            held = fill(session, percent)
            for task in held[::2] + held[1::2]:
                session.release(task)


def product_of_two(session):
    """0.25 and 0.6 on one CPU: (1 + 0.25) (1 + 0.6) is exactly 2."""
    words = session.setting.words
    if isinstance(session.model, Rm) and not {"threshold", "admission"} & set(words):
        for task, cpu in enumerate(session.setting.cpu_numbers, 1):
            session.load(9000 + task, other(cpu, 250000, 1000000))
        if [bool(session.question(1, parameters(session, us, 1000000))[0]) for us in (600000, 600001)] != [True, False]:
            session.report.fault("600000 and 600001 of 1000000 us beside 0.25", None,
                                 "the hyperbolic test must admit a product of exactly 2, and no more")


def judging(session):
    """With judges=load: the plugin refuses a load beside which its tasks would miss deadlines, and then forgets the load."""
    cpu, levels = session.setting.cpu_numbers[0], session.setting.levels
    task, whole = 424245, other(cpu, 100000, 100000, "deadline", None, True)
    if not session.judges:
        return
    harmless = [other(cpu, 100000, 100000, "fifo", 1, True), other(cpu, None, None, "rr", 1, True)]
    with unchanged(session, "the plugin must forget a judged load that came and went"):
        if session.load(task, whole)["answer"] != "ok":
            session.report.fault(whole._asdict(), None, "a plugin must bear any load on a CPU where it has no task")
        session.unload(task)
    fill(session, 20)
    own = next((number for number, task in session.books.tasks.items() if task.plan.place == cpu), None)
    if own is not None:
        with unchanged(session, "the plugin must forget a load that came and went, also with the number of an own task"):
            asked = session.books.tasks[own].asked
            moved = other(cpu, asked["runtime"], asked["period"], "deadline", None, True)
            if session.load(own, moved)["answer"] != "ok":
                session.report.fault(moved._asdict(), None, "a task that moves to another plugin must not count against itself")
            session.unload(own)
    for load in harmless if levels is None or levels[0] > 1 else []:
        with unchanged(session, "a load that runs below the plugin's own tasks must change nothing"):
            if session.load(task, load)["answer"] != "ok":
                session.report.fault(load._asdict(), None, "the plugin must not refuse a load of lower priority: the load does not harm its tasks")
    with unchanged(session, "the plugin must not note a load that it refused"):
        refused = session.load(task, whole)
        if refused["answer"] != "no":
            session.report.fault(whole._asdict(), refused, "the plugin must refuse a load of a whole CPU: beside such a load its tasks would miss deadlines")
    nearest = number(refused.get("nearest"))
    if nearest:
        check_nearest_load(session, task, whole, nearest)
    session.unload(task)


def check_nearest_load(session, task, whole, nearest):
    bearable, more = whole._replace(runtime=nearest), whole._replace(runtime=nearest + 1)
    if session.load(task, more)["answer"] == "ok":
        session.report.fault(more._asdict(), None, "nearest= of a load must be the largest runtime that the plugin's tasks can bear")
    session.unload(task)
    if session.load(task, bearable)["answer"] != "ok":
        session.report.fault(bearable._asdict(), None, "a load with the nearest= of the answer before must be borne")
    judged = session.probe(probes(session))
    with unchanged(session, "a refused change of a load must keep the load as it was"):
        session.load(task, more)
    session.load(task, bearable._replace(judged=False))
    expect_same(session, probes(session), judged, session.probe(probes(session)),
                "a judged load must count the same as a load that the plugin was only told of")


def check_minimum(session, task, asked, closing):
    """A refusal of a runtime that is too small names the least runtime that is granted."""
    def fault(runtime, got, demand):
        session.report.fault({"op": "accept", "task": task, **asked, "runtime": runtime}, got, demand)

    def ask(runtime):
        return session.question(task, {**asked, "runtime": runtime})[1]
    runtime, least, most = asked["runtime"], number(closing["nearest_minimum"]), number(closing.get("nearest"))
    if not least or least <= runtime or (most is not None and most < least):
        fault(runtime, closing, "nearest_minimum= must be a runtime in us, larger than the one asked and at most nearest=")
        return
    for value, granted in ((least, True), (least - 1, False), (most, True), (most and most + 1, False)):
        if value is not None and (ask(value)["answer"] != "no") != granted:
            fault(value, ask(value), f"nearest_minimum={least} and nearest={most} must be the least and the largest runtime "
                  "that the plugin grants")


def too_small(session):
    """Asks for runtimes that may be too small for the policy, and checks which runtime the plugin names."""
    for runtime in (1, 2, 50):
        for period in (10000, 1000000):
            asked = parameters(session, runtime, period)
            closing = session.question(ASKER, asked)[1]
            if "nearest_minimum" in closing and closing["answer"] == "no":
                check_minimum(session, ASKER, asked, closing)
            elif "nearest" in closing and (number(closing["nearest"]) or runtime) >= runtime:
                session.report.fault({"op": "accept", "task": ASKER, **asked}, closing,
                                     "nearest= without nearest_minimum= must be smaller than the runtime that was asked")


def many_users(session):
    """Several users have threads. With overrun= the plugin charges each thread for the threads of other users, by the key owner=."""
    with unchanged(session, "when the tasks of all users are released the answers must be the same as at the start"):
        for task in range(1, 13):
            session.accept(task, parameters(session, 200, 10000 * task))
        for task in list(session.books.tasks):
            session.release(task)


SCENARIOS = (conversation, large_numbers, split_requests, many_in_one_write, questions_change_nothing, changes,
             sums_return_to_zero, product_of_two, judging, too_small, many_users)


def guess_model(setting, report):
    if setting.name in MODELS:
        return setting.name
    report.step = "first question"
    with Session(setting, MODELS["none"](setting), report) as session:
        session.question(1, parameters(session, 1000, 100000))
        return {"deadline": "edf", "rr": "rr"}.get(session.policy, "none")


def run_all(setting, model, report):
    """Runs all scenarios. Returns whether the plugin answered to the end."""
    lost = 0
    for scenario in SCENARIOS:
        report.step = scenario.__name__.replace("_", " ")
        try:
            with Session(setting, model, report) as session:
                scenario(session)
        except Lost as fault:
            report.fault(fault.sent, fault.got, fault.why)
            lost += 1
            if lost == 2:  # each lost answer costs seconds of waiting, and more of them mostly have the same cause
                break
    return lost == 0
