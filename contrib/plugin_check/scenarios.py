"""Steps made by hand, each with a fresh plugin."""
import time
from fractions import Fraction

from .model import MODELS, Rm
from .protocol import Lost, render
from .report import compact
from .session import Session, number

UNKNOWN = {"zz_unknown": "7", "from_a_later_broker": "a b=c"}
PAUSE = 0.02  # long enough that a write is read on its own


def wish(session, runtime, period, **more):
    """A request that most plugins can grant: with everything that one may need."""
    levels = session.setting.levels
    return {"runtime": runtime, "period": period, "priority": sum(levels) // 2 if levels else 20, **more}


def probes(session):
    """Questions whose answers show the plugin's state: plain ones, and ones at the edge of what fits, where a
    sum that has drifted by the smallest amount turns the answer round."""
    asks = [wish(session, 1000, 100000), wish(session, 1000, 100000, priority=99), {"period": 50000},
            wish(session, 20000, 50000, desired_runtime=50000), wish(session, 3000, 80000, deadline=7000)]
    for period in (1000000, 30000, 4001):
        whole = wish(session, period, period)
        nearest = number(session.question(7000000, whole)[2].get("nearest"))
        asks += [whole] + ([{**whole, "runtime": nearest + more} for more in (0, 1)] if nearest else [])
    return [(7000000 + index, asked) for index, asked in enumerate(asks)]


def expect_same(session, asked, before, after, demand):
    for (task, request), old, new in zip(asked, before, after):
        if old != new:
            session.report.fault({"op": "accept", "task": task, **request}, new, f"{demand}: it was '{compact(old)}'")
            return


def guess_model(setting, report):
    if setting.name in MODELS:
        return setting.name
    report.step = "first question"
    with Session(setting, MODELS["none"](setting), report) as session:
        session.question(1, wish(session, 1000, 100000))
        return {"deadline": "edf", "rr": "rr"}.get(session.policy, "none")


def conversation(session):
    request, reply = session.ask({"op": "no_such_op", "task": 1})
    if reply.closing["answer"] != "no":
        session.report.fault(request, reply.closing, "an unknown op gets answer=no and a reason")
    session.release(424242)
    session.unload(424243)
    session.question(1, {})
    for task, asked in probes(session):
        plain = session.probe([(task, asked)])
        expect_same(session, [(task, {**asked, **UNKNOWN})], plain, session.probe([(task, {**asked, **UNKNOWN})]),
                    "unknown keys are ignored")
    cpu = session.setting.cpu_numbers[0]
    session.load(424243, cpu, 1000, 100000)
    session.load(424244, cpu, None, 100000)
    session.unload(424243)
    session.unload(424244)


def large_numbers(session):
    """Beyond 2^31, where a careless awk or a C int ends."""
    hour, tasks = 3600000000, (3000000001, 5, 2 ** 32 + 5)
    before = session.probe(probes(session))
    session.question(tasks[0], wish(session, 2500000000, hour))
    for task in tasks:
        session.accept(task, wish(session, 1000, 100000))
    for task in tasks:
        session.release(task)
    expect_same(session, probes(session), before, session.probe(probes(session)), "task numbers differ beyond 2^31 too")


def split_requests(session):
    plugin = session.plugin
    for size in (25, 1):
        request = plugin.number({"op": "no_such_op", "task": 1, "runtime": 1000})
        data = render(request)
        for at in range(0, len(data) - 1, size):
            plugin.send(data[at:min(at + size, len(data) - 1)])
            time.sleep(PAUSE if size > 1 else PAUSE / 20)
        if plugin.poll.poll(50):
            session.report.fault(data[:-1].decode().replace("\n", " "), plugin.paragraph(),
                                 "a request ends with its empty line, and is not answered before it")
            raise Lost("a paragraph may come in several pieces")
        plugin.send(data[-1:])
        session.check_closing(request, plugin.reply(request).closing)


def many_in_one_write(session):
    """Requests of which each has another answer than its neighbour, so that a wrong order shows without ids."""
    for count in (2, 50, 2000):
        requests = [{"op": ("release", "no_such_op")[i % 2], "task": 500000 + i} for i in range(count)]
        for request, reply in session.plugin.ask_all(requests):
            if (reply.closing["answer"] == "ok") != (request["op"] == "release"):
                session.report.fault(request, reply.closing, f"{count} requests in one stream are answered in order: "
                                     "release ok, an unknown op no")
                return


def questions_change_nothing(session):
    asked = [(7, wish(session, 30000, 100000))]
    before = session.probe(asked)
    for _ in range(60):
        expect_same(session, asked, before, session.probe(asked), "accept without commit changes nothing")
    everything = probes(session)
    before = session.probe(everything)
    for task in range(100, 160):
        session.question(task, wish(session, 30000, 100000))
    expect_same(session, everything, before, session.probe(everything), "accept without commit changes nothing")


def changes(session):
    """A change that is only asked about, or refused, leaves the old reservation as it was."""
    held = fill(session)
    if not held:
        return
    state = probes(session) + [(task, session.books.tasks[task].asked) for task in held[:8]]
    before = session.probe(state)
    target = held[-1]
    for other in (wish(session, 100000, 100000), wish(session, 10, 100000), {"runtime": 5000}, {}):
        session.question(target, other)
    expect_same(session, state, before, session.probe(state), "a question about a change changes nothing")
    for other in (wish(session, 100000, 100000), {"runtime": 5000}, {}):
        if session.question(target, other)[0] == "no":
            session.accept(target, other)
            expect_same(session, state, before, session.probe(state), "a refused change keeps the old reservation")
    session.accept(target, session.books.tasks[target].asked)
    expect_same(session, state, before, session.probe(state), "a change to the same is granted and alters nothing")


def fill(session, share=Fraction(3, 10), most=40):
    held = []
    for task in range(1, most + 1):
        period = 100000 if task % 2 else 200000
        if session.accept(task, wish(session, int(period * share), period))[1] is None:
            break
        held.append(task)
    return held


def sums_return_to_zero(session):
    asked = probes(session)
    before = session.probe(asked)
    for share in (Fraction(1, 10), Fraction(1, 3), Fraction(7, 100)):
        held = fill(session, share)
        for task in held[::2] + held[1::2]:
            session.release(task)
        expect_same(session, asked, before, session.probe(asked), "when all is released the sums are zero again")


def product_of_two(session):
    """0.25 and 0.6 on one CPU: (1 + 0.25) (1 + 0.6) is exactly 2."""
    if not isinstance(session.model, Rm) or session.model.words.get("admission", "hyperbolic") != "hyperbolic":
        return
    for task, cpu in enumerate(session.setting.cpu_numbers, 1):
        session.load(9000 + task, cpu, 250000, 1000000)
    if session.model.threshold >= Fraction(85, 100):
        for runtime, fits in ((600001, False), (600000, True)):
            if (session.question(1, wish(session, runtime, 1000000))[0] != "no") != fits:
                session.report.fault(f"runtime={runtime} period=1000000 beside 0.25", None,
                                     "the hyperbolic test is exact: a product of 2 is admitted, more is not")


SCENARIOS = (conversation, large_numbers, split_requests, many_in_one_write, questions_change_nothing, changes,
             sums_return_to_zero, product_of_two)


def run_all(setting, model, report):
    """Whether the plugin kept up the conversation."""
    lost = 0
    for scenario in SCENARIOS:
        report.step = scenario.__name__.replace("_", " ")
        try:
            with Session(setting, model, report) as session:
                scenario(session)
        except Lost as fault:
            report.fault(fault.sent, fault.got, fault.why)
            lost += 1
            if lost == 2:  # each costs seconds of waiting, and they tend to say the same
                break
    return lost == 0
