# Python (contrib/python): reservations of the interpreter's own threads, compared with the kernel's view of these threads.
load helper

prepare() {
    configure_plugins "EDF edf - all partition=global threshold=$(nproc --all | awk '{ printf "%.9f", 0.9 / $1 }')" 'FP fp 11-20 all' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 4"
    cat >"$WORK/common.py" <<'END'
import asyncio, os, threading, time, datetime
import rtf
DEADLINE = 6
def policy(thread=0):
    return os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK
def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind}")
END
}

# python: runs the script on standard input as Alice.
python() {
    cat "$WORK/common.py" - >"$WORK/script.py"
    as $ALICE env USER=$ALICE RTF_SPOOL="$SPOOL" LD_LIBRARY_PATH="$RTF_STAGE/usr/lib" PYTHONPATH="$RTF_SOURCE/contrib/python" PYTHONDONTWRITEBYTECODE=1 \
        timeout 60 /usr/bin/python3 "${1:-$WORK/script.py}"
}
nothing_is_left() { eventually finds_nothing "$SPECS/$ALICE" -name '*.json'; }

@test "with: the calling thread is real-time inside, ordinary before and after" {
    broker_start
    python <<'END'
assert policy() == 0
with rtf.reserve(runtime="5ms", period=datetime.timedelta(milliseconds=20)) as r:
    assert policy() == DEADLINE and r.attached and r.thread == threading.get_native_id()
    assert (r.accepted_runtime, r.period, r.plugin, r.policy) == (5000, 20000, "EDF", "deadline")
    r.change(runtime=6000, period="20ms")
    assert r.accepted_runtime == 6000 and policy() == DEADLINE
    r.detach()
    assert policy() == 0 and r.granted
    r.attach()
    assert policy() == DEADLINE
assert policy() == 0 and not r.granted
with rtf.reserve(priority=15, plugin="FP", runtime="1ms", period="10ms") as r:
    assert policy() == os.SCHED_FIFO
seen = []
def work():
    with rtf.reserve(runtime="1ms", period="20ms"):
        seen.append(policy())
threads = [threading.Thread(target=work) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
assert seen == [DEADLINE] * 8 and policy() == 0
END
    nothing_is_left
}

@test "a second taker of a reservation gets an exception with the code busy" {
    broker_start
    python <<'END'
with rtf.reserve(runtime="2ms", period="20ms", name="cam", lasting=True) as r:
    def take():
        try:
            r.attach()
        except rtf.AttachFail as refusal:
            seen.append((refusal.code, policy()))
    seen = []
    other = threading.Thread(target=take)
    other.start()
    other.join()
    assert seen == [("busy", 0)], seen
    assert policy() == DEADLINE and r.thread == threading.get_native_id()
    r.detach()
    r.attach()
    assert policy() == DEADLINE
END
    nothing_is_left
}

@test "a refusal is an exception with reason, code and nearest" {
    broker_start
    configure_rules "$ALICE EDF max_utilization 4" "$ALICE EDF max_runtime 40ms"
    kill -HUP "$BROKER"
    eventually grep -q '"decision":"reloaded"' "$EVENTS"
    python <<'END'
with rtf.reserve(runtime="10ms", period="40ms"):
    e = raises(rtf.ScheduleFail, rtf.reserve(runtime="36ms", period="40ms").acquire)
    assert e.code == "full" and 20000 < e.nearest < 36000 and e.nearest_minimum is None and e.reason and str(e) == e.reason
    e = raises(rtf.ScheduleFail, rtf.reserve(runtime=1, period="40ms").acquire)
    assert e.code == "unsuitable" and e.nearest_minimum == 2 and 20000 < e.nearest < 36000
    for runtime in e.nearest, e.nearest_minimum:
        assert rtf.dry_run(runtime=runtime, period="40ms").accepted_runtime == runtime
    assert raises(rtf.AclFail, rtf.reserve(runtime="41ms", period="100ms").acquire).code == "beyond-rule"
    assert policy() == DEADLINE
assert raises(rtf.AttachFail, rtf.reserve(runtime="1ms", period="20ms", thread=1).acquire).code == "not-yours"
assert raises(rtf.BadSpec, rtf.reserve(runtime="30ms", period="20ms").acquire).code == "bad-spec"
assert raises(rtf.BadSpec, lambda: rtf.reserve(runtime="1.5ms")).code == "bad-spec"
raises(TypeError, lambda: rtf.reserve(runtme="1ms"))
assert raises(rtf.NoBroker, rtf.reserve(runtime="1ms", period="20ms", spool="/nonexistent").acquire).reason
assert policy() == 0
END
    nothing_is_left
}

@test "each result of the library is an exception of its own" {
    HEADER=$RTF_SOURCE/lib/librtf/rtf.h python <<'END'
import re
known = {"SCHEDULE_FAIL": rtf.ScheduleFail, "ACL_FAIL": rtf.AclFail, "CONNECTION_ERR": rtf.NoBroker, "ATTACH_FAIL": rtf.AttachFail,
         "BAD_SPEC": rtf.BadSpec, "TIMEOUT": rtf.Timeout, "GONE": rtf.Gone}
with open(os.environ["HEADER"]) as header:
    numbers = {name: int(number) for name, number in re.findall(r"^    RTF_([A-Z_]+) = (\d+)", header.read(), re.M)}
assert numbers.keys() - known.keys() == {"OK", "PENDING", "ERROR"}, numbers
assert rtf._ERRORS == {numbers[name]: kind for name, kind in known.items()}, rtf._ERRORS
assert (rtf._OK, rtf._PENDING) == (numbers["OK"], numbers["PENDING"])
END
}

@test "every: ticks lie on a grid, and missed ticks are counted" {
    broker_start
    python <<'END'
with rtf.reserve(runtime="2ms", period="20ms") as r:
    ticks = []
    for tick in r.every():
        assert time.monotonic_ns() >= tick.time
        ticks.append(tick)
        if tick.number == 3:
            time.sleep(0.07)
        if tick.number == 6:
            break
assert [t.number for t in ticks] == list(range(7))
assert all((t.time - ticks[0].time) % 20_000_000 == 0 for t in ticks)
assert ticks[4].missed >= 2 and ticks[4].time - ticks[3].time == 20_000_000 * (ticks[4].missed + 1)
END
    nothing_is_left
}

# /proc/TID/sched shows what was left of the runtime at the last tick, or when the runtime was set anew.
whole() {
    python <<'END'
def left_after_work(begin):
    begun = time.thread_time()
    while time.thread_time() - begun < 0.005:
        pass
    begin()
    with open("/proc/thread-self/sched") as file:
        return next(int(line.split()[-1]) for line in file if line.startswith("dl.runtime"))
with rtf.reserve(runtime="10ms", period="20ms") as r:
    left = [left_after_work(lambda: rtf._rtf.rtf_task_start(r._at)), left_after_work(lambda: next(iter(r.every())))]
assert min(left) > 9_500_000, left
END
}
@test "the first period has the whole runtime, whatever the program has used before" {
    broker_start
    once_of 4 whole
    nothing_is_left
}

@test "change keeps the parameters that it does not state, also those of a refused change" {
    broker_start
    python <<'END'
with rtf.reserve(runtime="5ms", period="20ms", deadline="15ms", weight=3, name="cam") as r:
    r.change(runtime=6000)
    assert (r.accepted_runtime, r.period) == (6000, 20000) and policy() == DEADLINE
    raises(rtf.ScheduleFail, lambda: r.change(runtime="15ms", period="15ms"))
    r.change(period="25ms")
    assert (r.accepted_runtime, r.period) == (6000, 25000)
    r.change(deadline=None, weight=None)
    raises(TypeError, lambda: r.change(name="leg"))
    import json
    with open(os.environ["RTF_SPOOL"] + "/specs/" + os.environ["USER"] + "/cam.json") as file:
        spec = json.load(file)
    assert "deadline" not in spec and "weight" not in spec and spec["runtime"] == 6000, spec
END
    nothing_is_left
}

@test "floats are refused: round them" {
    python <<'END'
for asked in {"runtime": 5000.0}, {"period": 2e4}, {"priority": 5.0}, {"weight": 1.5}:
    e = raises(rtf.BadSpec, lambda: rtf.reserve(**asked))
    assert "round it" in e.reason and e.code == "bad-spec", e.reason
assert "round it" in raises(rtf.BadSpec, lambda: rtf.reserve(runtime=5000, timeout=1.5)).reason
raises(rtf.BadSpec, lambda: rtf.reserve(plugin=5))
END
}

@test "the threads of a program by their names, and further keys" {
    broker_start
    python <<'END'
import ctypes
ctypes.CDLL(None).prctl(15, b"audio", 0, 0, 0)
with rtf.reserve(threads=[{"name": "audio", "runtime": "2ms", "period": datetime.timedelta(milliseconds=20)}]) as r:
    assert policy() == DEADLINE and r.granted and r.amount("threads") == 1
while policy() != 0:
    time.sleep(0.01)
with rtf.reserve(runtime="2ms", period="20ms", comment="of a test", nice=None) as r:
    raises(TypeError, lambda: r.change(comment="another"))
    r.change(runtime="3ms")
e = raises(rtf.AclFail, rtf.reserve(runtime="2ms", period="20ms", nice=-5).acquire)
assert "nice" in e.reason, e.reason
END
    nothing_is_left
}

@test "a reservation tells what it is" {
    broker_start
    python <<'END'
r = rtf.reserve(runtime="5ms", period="20ms", name="cam")
assert repr(r) == "<rtf.Reservation, not in force>", r
with r:
    assert repr(r) == f"<rtf.Reservation cam: EDF deadline, 5000us in 20000us, thread {threading.get_native_id()}>", r
    r.detach()
    assert repr(r) == "<rtf.Reservation cam: EDF deadline, 5000us in 20000us, no thread>", r
    os.unlink(os.environ["RTF_SPOOL"] + "/specs/" + os.environ["USER"] + "/cam.json")
    while r.granted:
        time.sleep(0.01)
    assert repr(r).startswith("<rtf.Reservation cam, nothing granted: "), r
END
    nothing_is_left
}

@test "every: the loop ends with an exception when the reservation has gone, also under asyncio" {
    broker_start
    python <<'END'
file = os.environ["RTF_SPOOL"] + "/specs/" + os.environ["USER"] + "/cam"
def spin():
    with rtf.reserve(runtime="2ms", period="20ms", name="cam") as r:
        for tick in r.every():
            assert tick.number < 500
            if tick.number == 2:
                os.unlink(file + ".json")
def detached():
    with rtf.reserve(runtime="2ms", period="20ms", name="cam", thread=False) as r:
        r.attach()
        for tick in r.every():
            assert tick.number < 500
            if tick.number == 2:
                os.unlink(file + ".tid")
async def spin_async():
    async with rtf.reserve(runtime="2ms", period="20ms", name="cam") as r:
        async for tick in r.every():
            assert tick.number < 500
            if tick.number == 2:
                os.unlink(file + ".json")
assert raises(rtf.Gone, spin).code == "gone"
assert raises(rtf.AttachFail, detached).code == "detached"
assert raises(rtf.Gone, lambda: asyncio.run(spin_async())).code == "gone"
assert policy() == 0
END
    nothing_is_left
}

@test "modes, claims, weight and a dry run" {
    configure_rules "$ALICE EDF max_utilization 4" "$ALICE CAM max_amount 9"
    configure_plugins "EDF edf - all partition=global threshold=$(nproc --all | awk '{ printf "%.9f", 0.9 / $1 }')" "CAM $RTF_SOURCE/contrib/plugins/units - - resource=units capacity=4"
    broker_start
    python <<'END'
with rtf.reserve(runtime="2ms", period="20ms", weight=2, units={"count": 2},
                 modes={"sd": {}, "hd": {"runtime": datetime.timedelta(milliseconds=4), "units": {"count": 3}}}, mode="sd") as r:
    assert (r.mode, r.runtime_in_mode, r.accepted_runtime, r.amount("units"), r.amount("disk")) == ("sd", 2000, 4000, 3, 0)
    r.change(mode="hd")
    assert (r.mode, r.runtime_in_mode) == ("hd", 4000)
    assert raises(rtf.Error, lambda: rtf.dry_run(units={"count": 2})).code == "full"
    assert rtf.dry_run(units={"count": 1}).accepted_runtime == 0
plan = rtf.dry_run(runtime="2ms", period="20ms")
assert (plan.plugin, plan.policy, plan.accepted_runtime) == ("EDF", "deadline", 2000)
assert raises(rtf.ScheduleFail, lambda: rtf.dry_run(runtime="20ms", period="20ms")).nearest
assert raises(rtf.AclFail, rtf.reserve(runtime="2ms", period="20ms", importance=7).acquire).code
raises(rtf.BadSpec, lambda: rtf.reserve(units=2))
END
    nothing_is_left
}

@test "asyncio: nothing blocks the loop while the broker is asked" {
    broker_start
    python <<'END'
async def main():
    async with rtf.reserve(runtime="2ms", period="20ms") as r:
        assert policy() == DEADLINE
        times = []
        async for tick in r.every():
            times.append(tick.time)
            if tick.number == 4:
                break
        assert all((t - times[0]) % 20_000_000 == 0 for t in times)
        await r.change_async(runtime="3ms")
        assert (r.accepted_runtime, r.period) == (3000, 20000)
        await r.detach_async()
        assert policy() == 0 and r.granted
        await r.attach_async()
        assert policy() == DEADLINE
        try:
            async with rtf.reserve(runtime="17ms", period="20ms", thread=False):
                assert False
        except rtf.ScheduleFail as e:
            assert 0 < e.nearest < 17000
    assert policy() == 0
    # A call that waits for room gives up when its time is over, and the event loop goes on while the call waits. (The bandwidth that the thread above
    # used must be paid back first.)
    async with rtf.reserve(runtime="12ms", period="20ms", thread=False, wait=True, timeout="5s"):
        beats = 0
        async def beat():
            nonlocal beats
            while True:
                beats += 1
                await asyncio.sleep(0.01)
        beating = asyncio.create_task(beat())
        try:
            async with rtf.reserve(runtime="12ms", period="20ms", thread=False, wait=True, timeout="300ms"):
                assert False
        except rtf.Timeout:
            pass
        beating.cancel()
        assert beats > 5
asyncio.run(main())
END
    nothing_is_left
}

# These examples need all of the bandwidth that the kernel can give.
# bats test_tags=machine
@test "the examples of contrib/python/README.md do what the README says, under the configuration as shipped" {
    configure_as_shipped
    broker_start
    local count=0 block
    awk -v base="$WORK/example." '/^```python/ { literal = 1; count++; next } /^```/ { literal = 0 } literal { print >(base count) }' "$RTF_SOURCE/contrib/python/README.md"
    for block in "$WORK"/example.*; do
        python "$block" </dev/null >>"$WORK/out" || { cat "$block" >&2; false; }
        count=$((count + 1))
    done
    [ "$count" -eq 3 ]
    grep -qx 'deadline 200' "$WORK/out"
    [ "$(grep -cx 20000 "$WORK/out")" -eq 2 ]
}
