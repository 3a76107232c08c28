# rtf-trace(1): what the scheduler does with reserved threads.
load ../helper
load ../command
load front

prepare() {
    front_prepare
    in_tracefs test -e events/sched/sched_switch/format || skip 'the kernel has no tracefs'
}

# in_tracefs COMMAND...: runs a command in the root of a tracefs that nobody else sees.
in_tracefs() { unshare --mount sh -c 'mount -t tracefs none /sys/kernel/tracing 2>/dev/null && cd /sys/kernel/tracing && exec "$@"' sh "$@"; }
# is_recording PID: this process records. Other recordings have instances of other processes. The events are looked at, too, because they are switched on after
# the new instance.
is_recording() { [ "$(in_tracefs sh -c 'cd "instances/rtf-watch-$1-"* && cat events/sched/sched_switch/enable tracing_on' sh "$1" 2>/dev/null | tr '\n' ' ')" = '1 1 ' ]; }
leaves_nothing() { # PID: the recording has left neither an instance nor a process
    no in_tracefs sh -c 'ls -d "instances/rtf-watch-$1-"*' sh "$1" >/dev/null 2>&1 && no pgrep -f "rtf-trace --spool $SPOOL" >/dev/null
}

# trace OPTION...: runs rtf trace as root.
trace() { "$RTF_BIN/rtf" --spool "$SPOOL" trace "$@"; }

# keeps_rules FILE: the trace keeps the rules of Perfetto's reader, and has events.
keeps_rules() { "$BATS_TEST_DIRNAME/perfetto.py" "$1" | grep -qE '^[1-9][0-9]* events$'; }

# shows EXPRESSION: the expression is true of the trace.
shows() { jq -e "$1" "$WORK/run.json" >/dev/null || { jq .otherData "$WORK/run.json" >&2; echo "not true: $1" >&2; return 1; }; }

@test "replenishments are a period apart, runs add up to the kernel's CPU time, and the JSON keeps Perfetto's rules" {
    broker_start
    become $ALICE sh -c 'printf "a:[(\033\"" >"/proc/$$/comm"; while [ -d "/proc/$1" ]; do :; done' sh $$ 3>&- &
    echo $! >>"$WORK/pids"
    local first=$!
    silent rtf declare one -T 27ms -P 60ms --attach "$first"
    hog $ALICE
    silent rtf declare two -T 45ms -P 100ms --attach "$HOG"
    "$RTF_STAGE/stolen-time" "$WORK/stolen" "$first" "$HOG" -- "$RTF_BIN/rtf" --spool "$SPOOL" trace --for 2500ms --awake --user "$ALICE" \
        -o "$WORK/run.json" --gantt --svg "$WORK/run.svg" --dat "$WORK/run.dat" >"$WORK/out" 2>"$WORK/err"
    [ "$(stat -c %a "$WORK/run.json")" = 600 ]
    grep -qE "^$ALICE/one +[0-9]" "$WORK/out"
    keeps_rules "$WORK/run.json"
    /usr/bin/python3 -S - "$WORK/run.json" "$WORK/stolen" <<'END'
import json, sys
trace = json.load(open(sys.argv[1]))
# The scheduler does not count the time that a hypervisor takes from a thread. A trace shows a CPU as busy during this time.
stolen = {int(tid): int(us) for tid, us in map(str.split, open(sys.argv[2]))}
events = [e for e in trace["traceEvents"] if e["ph"] != "M"]
assert [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"][:1] in (['one (a:[(\\u001b")'], ["two (sh)"])
assert trace["systemTraceEvents"].count("\n") > 100
other = trace["otherData"]
for r in other["reservations"]:
    assert 0.99 * r["cpu_time"] <= r["ran"] + r["lost_time"] and r["ran"] - stolen[r["tid"]] <= 1.01 * r["cpu_time"], (stolen, r)
    of = [e for e in events if e["tid"] == r["tid"] and e["name"] == "replenished"]
    gaps = [b["ts"] - a["ts"] for a, b in zip(of, of[1:])]
    assert len(gaps) >= 20, gaps
    # The host may stop this machine, and so delay a timer. If a gap is a whole period too long, an event between its ends is lost.
    good = [gap for gap in gaps if abs(gap - r["period"] * max(1, round(gap / r["period"]))) <= 100]
    assert len(good) >= 0.8 * len(gaps), gaps
    assert sum(gap > 1.5 * r["period"] for gap in gaps) <= r["lost"], (gaps, r)
    planned = [b["args"]["deadline"] - a["args"]["deadline"] for a, b in zip(of, of[1:]) if "deadline" in a["args"] and "deadline" in b["args"]]
    assert all(abs(gap - r["period"] * round(gap / r["period"])) <= 100 for gap in planned), planned
    assert 0 < r["throttles"] and r["throttles"] <= r["replenishments"] + r["lost"] + 1, r
END
    grep -q "^$ALICE/one  *|[ #+.?-]*[#+][ #+.?-]*|$" "$WORK/out"
    [ "$(head -c 5 "$WORK/run.svg")" = '<?xml' ]
    for name in "$ALICE/one" "$ALICE/two" replenished; do grep -qF "<text>$name</text>" "$WORK/run.svg"; done
    # trace-cmd reads the same events from the file. The names in its report have no control characters.
    trace-cmd report -i "$WORK/run.dat" >"$WORK/report" 2>"$WORK/said" || { cat "$WORK/said"; false; }
    [ "$(grep -c ' sched_switch: ' "$WORK/report")" -eq "$(jq -r .systemTraceEvents "$WORK/run.json" | grep -c sched_switch:)" ]
    grep -q 'hrtimer_start: .*function=dl_task_timer' "$WORK/report"
    grep -q 'hrtimer_expire_entry: .*function=dl_task_timer' "$WORK/report"
    grep -qF 'a:[(?"' "$WORK/report"
    lacks $'\033' "$WORK/report"
    # All lost events are reported.
    if jq -e '[.otherData | .cpus[], .reservations[] | .lost] | add > 0' "$WORK/run.json" >/dev/null; then grep -q 'has lost events' "$WORK/err"; else [ ! -s "$WORK/err" ]; fi
    no pgrep -f "rtf-trace --spool $SPOOL"
}

@test "a job is late when the program itself finds it late, and a thread that the guard suspends is throttled or ordinary" {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all enforce=runtime'
    broker_start
    cat >"$WORK/jobs.py" <<'END'
import sys, time
end = time.monotonic_ns() + 60_000_000_000
out = open(sys.argv[1], "w")
job = 0
while time.monotonic_ns() < end:
    time.sleep(0.02)
    job += 1
    begin, used = time.monotonic_ns(), time.thread_time_ns()
    while time.thread_time_ns() - used < (20_000_000 if job % 5 == 0 else 500_000):
        pass
    print(begin // 1000, (time.monotonic_ns() - begin) // 1000, file=out, flush=True)
END
    touch "$WORK/jobs" && chown "$ALICE" "$WORK/jobs"
    become $ALICE /usr/bin/python3 -S "$WORK/jobs.py" "$WORK/jobs" 3>&- &
    echo $! >>"$WORK/pids"
    silent rtf declare cam -T 5ms -P 20ms --attach $!
    eventually test -s "$WORK/jobs"
    # rtf-guard makes this thread ordinary for the rest of each period.
    hog $ALICE
    silent rtf declare arm --plugin FP --priority 15 -T 5ms -P 50ms --attach "$HOG"
    trace --all --for 2s --awake -o "$WORK/run.json" 'ca?' arm >"$WORK/out" 2>"$WORK/err"
    # Here the spans lie within jobs.
    keeps_rules "$WORK/run.json"
    shows '[.traceEvents[] | select(.name == "job" and .dur > 0)] | length > 10'
    /usr/bin/python3 -S - "$WORK/run.json" "$WORK/jobs" <<'END'
import json, sys
trace = json.load(open(sys.argv[1]))
begin, end = trace["otherData"]["begin"], trace["otherData"]["end"]
late = [int(a) for a, length in map(str.split, open(sys.argv[2])) if int(length) > 20_000 and begin < int(a) < end]
of = {r["name"]: r for r in trace["otherData"]["reservations"]}
everything = [e for e in trace["traceEvents"] if e["ph"] != "M"]
events = [e for e in everything if e["tid"] == of["cam"]["tid"]]
jobs = [e for e in events if e["name"] == "job"]
missed = [e for e in jobs if e["args"]["missed"]]
found = [any(e["ts"] - 100 <= a < e["ts"] + e["dur"] for e in missed) for a in late]
lost = of["cam"]["lost"]
assert len(late) >= 5 and found.count(False) <= 1 + lost, (late, missed)
assert len(missed) <= len(late) + 1, (late, missed)
assert all((e["dur"] > 20_000) == e["args"]["missed"] for e in jobs), jobs
assert len([e for e in events if e["name"] == "missed"]) == len(missed) == of["cam"]["missed"]
runs = [e for e in everything if e["tid"] == of["arm"]["tid"] and e["name"] == "running"]
assert of["arm"]["throttles"] + sum("ordinary" in e["args"] for e in runs) > 10, (of["arm"], runs)
assert of["arm"]["jobs"] == 0, of["arm"]
END
}

@test "nothing of a recording stays after kill -9, also of the process that would remove it" {
    broker_start
    sleeper $ALICE
    silent rtf declare cam -T 1ms -P 20ms --attach "$SLEEPER"
    "$RTF_LIBEXEC/front/rtf-trace" --spool "$SPOOL" --all --for 1min >"$WORK/out" 2>&1 3>&- &
    local tracer=$!
    echo "$tracer" >>"$WORK/pids"
    eventually is_recording "$tracer"
    kill -KILL "$tracer"
    eventually leaves_nothing "$tracer"
    "$RTF_LIBEXEC/front/rtf-trace" --spool "$SPOOL" --all --for 1min >"$WORK/out" 2>&1 3>&- &
    tracer=$!
    echo "$tracer" >>"$WORK/pids"
    eventually is_recording "$tracer"
    # shellcheck disable=SC2046 # numbers
    kill -KILL $(children "$tracer") "$tracer"
    eventually has_ended "$tracer"
    trace --all --for 10ms >"$WORK/out" 2>&1
    leaves_nothing "$tracer"
    # Ctrl-C ends a recording early. The results of the recording are still written.
    "$RTF_LIBEXEC/front/rtf-trace" --spool "$SPOOL" --all --for 1min -o "$WORK/run.json" >"$WORK/out" 2>&1 3>&- &
    tracer=$!
    echo "$tracer" >>"$WORK/pids"
    eventually is_recording "$tracer"
    kill -TERM "$tracer"
    wait "$tracer"
    shows '.otherData.reservations[0].name == "cam" and .otherData.end - .otherData.begin < 59e6'
    leaves_nothing "$tracer"
}

# bats test_tags=machine
@test "a recording with --awake ends in time on a CPU whose loops leave SCHED_IDLE nothing" {
    broker_start
    sleeper $ALICE
    silent rtf declare cam -T 1ms -P 20ms --attach "$SLEEPER"
    for _ in 1 2; do
        taskset -c 1 nice -n -20 sh -c 'while [ -d "/proc/$1" ]; do :; done' sh $$ 3>&- &
        echo $! >>"$WORK/pids"
    done
    is_busy() { [ "$(ps -o ni= -p "$1")" -eq -20 ]; }
    eventually is_busy $!
    # By its weight, a thread of SCHED_IDLE would wait for a minute here.
    timeout 20 "$RTF_BIN/rtf" --spool "$SPOOL" trace --all --awake --for 500ms >"$WORK/out" 2>"$WORK/err"
    grep -q "^$ALICE/cam " "$WORK/out"
}

@test "rtf trace explains itself, and says when there is nothing to trace" {
    broker_start
    explains trace
    fails 66 'rtf trace: no reservation has a thread' trace --all
    fails 66 "rtf trace: $ALICE has no reservation of these names with a thread" trace --user "$ALICE" 'c*'
    sleeper $ALICE
    silent rtf declare cam -T 1ms -P 20ms --attach "$SLEEPER"
    cure=': --all means the threads of all users, and --user USER the threads of one user'
    fails 66 "rtf trace: root has no reservation with a thread$cure" trace
    fails 66 "rtf trace: root has no reservation of these names with a thread$cure" trace cam
    fails 66 'rtf trace: no reservation of these names has a thread' trace --all other
    fails 64 'rtf trace: --all and --user exclude each other*' trace --all --user ann
    fails 73 'rtf trace: /nonexistent/x: No such file or directory' trace --all -o /nonexistent/x
    # rtf trace writes no file of another user, because the owner of the file could read the trace.
    echo kept >"$WORK/theirs"
    chown "$ALICE" "$WORK/theirs"
    fails 73 "rtf trace: $WORK/theirs: it belongs to another user, who could read the trace" trace --all -o "$WORK/theirs"
    [ "$(cat "$WORK/theirs")" = kept ]
    mkfifo "$WORK/fifo" && chown "$ALICE" "$WORK/fifo"
    fails 73 "rtf trace: $WORK/fifo: *" trace --all -o "$WORK/fifo"
    fails 69 'rtf trace: no broker has made a spool at *' "$RTF_BIN/rtf" --spool "$WORK/none" trace
    fails 69 'rtf trace: gnuplot, which draws the picture, is not installed' env PATH=/nonexistent "$RTF_LIBEXEC/front/rtf-trace" --spool "$SPOOL" --all --for 10ms --svg "$WORK/run.svg"
    status=0
    trace --all --for 10ms >/dev/full 2>"$WORK/err" || status=$?
    [ "$status" -eq 74 ]
    grep -q '^rtf trace: standard output cannot be written' "$WORK/err"
    trace --user "$ALICE" --for 10ms -o - 'c*' 2>/dev/null | jq -e '.otherData.reservations | length == 1' >/dev/null
    no pgrep -f "rtf-trace --spool $SPOOL"
}
