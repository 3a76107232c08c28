# rtf-watch: the events that a user gets are about the user's own attached threads, and about nothing else.
load helper
load command
load front/front

prepare() {
    front_prepare
    configure_rules "$ALICE - max_utilization 4" "$ALICE - trace true" "$BOB - max_utilization 0.5"
    [ -e /sys/kernel/tracing ] || skip 'the kernel has no tracefs'
}

in_tracefs() { unshare --mount sh -c 'mount -t tracefs none /sys/kernel/tracing 2>/dev/null && cd /sys/kernel/tracing && exec "$@"' sh "$@"; }
watcher() { helpers rtf-watch; }
no_watcher() { ! watcher >/dev/null; }
is_recording() { [ "$(in_tracefs sh -c 'cat "instances/rtf-watch-$1-"*/tracing_on' sh "$1" 2>/dev/null)" = 1 ]; }
# leaves_nothing WATCHER: this rtf-watch has ended, and has left no instance in tracefs.
leaves_nothing() { no in_tracefs sh -c 'ls -d "instances/rtf-watch-$1-"*' sh "$1" >/dev/null 2>&1 && no pgrep -f "$RTF_LIBEXEC/rtf-watch" >/dev/null; }

# raw SECONDS [DOOR]: Alice traces, and keeps the bytes in $WORK/raw and what they say in $WORK/said.
raw() {
    : >"$WORK/raw"
    chown $ALICE "$WORK/raw"
    as $ALICE /usr/bin/python3 -S "$RTF_SOURCE/test/tracer/raw.py" "$SPOOL" "$1" "$WORK/raw" "${2:-trace}" >"$WORK/said"
}
# said EXPRESSION [ARGUMENT...]: the expression is true of the stream in $WORK/said. The arguments are options of jq.
said() { jq -e "${@:2}" "$1" "$WORK/said" >/dev/null || { jq -c '.records |= length' "$WORK/said" >&2; echo "not true: $1" >&2; return 1; }; }

# bob: Bob's processes, named bobs-secret, run and sleep on all CPUs; one has a reservation, and one reads what Alice's thread writes. $BOBS: their ids.
bob() {
    cat >"$WORK/bob.py" <<'END'
import os, sys, time
with open("/proc/self/comm", "w") as name:
    name.write("bobs-secret")
if len(sys.argv) > 2:
    while os.read(0, 100):
        pass
while os.path.exists(f"/proc/{sys.argv[1]}"):
    time.sleep(0.001)
    end = time.monotonic() + 0.002
    while time.monotonic() < end:
        pass
END
    local n
    BOBS=
    mkfifo -m 666 "$WORK/fifo"
    exec {FIFO}<>"$WORK/fifo"
    for n in 1 2 3 reader; do
        become $BOB /usr/bin/python3 -S "$WORK/bob.py" $$ ${n#[123]} <"$WORK/fifo" 3>&- &
        BOBS+=" $!"
        echo "$!" >>"$WORK/pids"
        eventually is_named $! bobs-secret
        if [ "$n" = 1 ]; then silent rtf_of $BOB declare own -T 3ms -P 20ms --attach "$!"; fi
    done
}

# alice: a thread of Alice's that runs, sleeps, wakes Bob's thread, makes children named alices-child, and changes its name. $JOBS: its id.
alice() {
    cat >"$WORK/jobs.py" <<'END'
import os, sys, time
out, job = os.open(sys.argv[1], os.O_WRONLY), 0
while os.path.exists(f"/proc/{sys.argv[2]}"):
    time.sleep(0.004)
    job += 1
    os.write(out, b"x\n")
    with open("/proc/self/comm", "w") as name:
        name.write(f'jobs-{job % 8} \033"')
    if job % 10 == 0:
        if os.fork() == 0:
            with open("/proc/self/comm", "w") as name:
                name.write("alices-child")
            end = time.monotonic() + 0.002
            while time.monotonic() < end:
                pass
            os._exit(0)
        while True:
            try:
                os.waitpid(-1, os.WNOHANG)
                break
            except ChildProcessError:
                break
END
    become $ALICE /usr/bin/python3 -S "$WORK/jobs.py" "$WORK/fifo" $$ 3>&- &
    JOBS=$!
    echo "$JOBS" >>"$WORK/pids"
    eventually is_alices "$JOBS"
    silent rtf declare jobs -T 5ms -P 20ms --attach "$JOBS"
}
# Between setuid and execve the files of the process are root's.
is_alices() { [ "$(stat -c %u "/proc/$1")" = $ALICE ]; }

@test "a user gets no name, no id and no time of anybody else's threads, nor of own threads that are not attached" {
    broker_start
    hog $ALICE
    silent rtf declare one -T 10ms -P 60ms --attach "$HOG"
    bob
    alice
    "$RTF_BIN/rtf" --spool "$SPOOL" trace --all --for 4s --awake -o "$WORK/root.json" >/dev/null 2>&1 3>&- &
    local root=$! id
    raw 2
    rtf trace --for 1s --awake -o - >"$WORK/user.json" 2>"$WORK/err" || { cat "$WORK/err" >&2; false; }
    rtf trace --for 200ms --gantt >"$WORK/summary" 2>"$WORK/err"
    wait "$root"
    # Neither the bytes nor the JSON have a name of somebody else.
    for file in "$WORK/raw" "$WORK/user.json" "$WORK/summary"; do
        [ -s "$file" ]
        no grep -aqE 'bobs-secret|alices-child|rtf-watch|swapper|kworker' "$file"
        grep -aq "jobs" "$file"
    done
    # A time, which has a fraction, may have the digits of an id.
    sed -E 's/[0-9]+[.][0-9]+//g' "$WORK/user.json" >"$WORK/user.ids"
    for id in $BOBS; do no grep -qw "$id" "$WORK/user.ids"; done
    for file in root user; do "$BATS_TEST_DIRNAME/front/perfetto.py" "$WORK/$file.json" | grep -qE '^[1-9][0-9]* events$'; done
    /usr/bin/python3 -S - "$WORK/said" "$WORK/root.json" "$WORK/user.json" "$HOG" "$JOBS" <<'END'
import json, re, sys
said, root, user = (json.load(open(file)) for file in sys.argv[1:4])
own = {int(id) for id in sys.argv[4:]}
assert set(said["threads"]) == own, said["threads"]
SWITCH, WAKING, MIGRATE, THROTTLE, REPLENISH = range(5)
kinds = [0] * 5
for time, kind, cpu, to_cpu, state, priority, next_priority, thread, next, timer, expires, *causes in said["records"]:
    assert not any(causes), "causes, which nobody has asked for"
    kinds[kind] += 1
    assert said["begin"] <= time, "a record from before the beginning"
    if kind == SWITCH:
        assert {thread, next} <= own | {0} and (thread or next), (thread, next)
        assert thread or (state, priority) == (0, 120)
        assert next or next_priority == 120
        assert not timer and not expires and not to_cpu
    elif kind == REPLENISH:
        assert timer >> 8 in own and not thread and not next and not state, timer
    else:
        assert thread in own and not next and not state and not priority and not next_priority
    assert timer < 1 << 40, "an address of the kernel"
assert kinds[SWITCH] > 500 and kinds[WAKING] > 200 and kinds[THROTTLE] > 20 and kinds[REPLENISH] > 20, kinds
assert {thread for thread, _ in said["names"]} == own
assert all(re.match(r"(jobs-\d|sh\0|python3\0)", name) for _, name in said["names"]), said["names"]
assert len({name for _, name in said["names"]}) >= 8
# Root's record of the same time has each change of a running thread. The user's changes are those of the own threads, and no others.
line = re.compile(r"\[(\d+)\] \S+ (\d+)\.(\d{9}): sched_switch: .* prev_pid=(\d+) .* next_pid=(\d+) ")
of_root = {}
for found in map(line.search, root["systemTraceEvents"].split("\n")):
    if found:
        cpu, seconds, part, thread, next = map(int, found.groups())
        pair = tuple(id if id in own else 0 for id in (thread, next))
        if any(pair):
            of_root.setdefault((cpu, *pair), []).append(seconds * 10**9 + part)
of_user, unknown, missing = {}, 0, 0
for time, kind, cpu, _, _, _, _, thread, next, *_ in said["records"]:
    if kind == SWITCH:
        of_user.setdefault((cpu, thread, next), []).append(time)
def is_in(changes, key, time):
    return any(abs(time - other) < 100_000 for other in changes.get(key, ()))
for key, times in of_user.items():
    unknown += sum(not is_in(of_root, key, time) for time in times)
for key, times in of_root.items():
    missing += sum(not is_in(of_user, key, time) for time in times if said["begin"] + 10**6 < time < said["end"] - 10**6)
lost = sum(cpu["lost"] for cpu in root["otherData"]["cpus"])
assert unknown <= lost, f"{unknown} changes are of other threads; root lost {lost}"
assert missing * 50 <= kinds[SWITCH] + lost, f"{missing} of {kinds[SWITCH]} changes are missing; root lost {lost}"
# The records are enough for a timeline of the thread.
of = {r["name"]: r for r in user["otherData"]["reservations"]}
assert set(of) == {"one", "jobs"}
assert 0.8 * of["one"]["cpu_time"] <= of["one"]["ran"] + of["one"]["lost_time"] <= 1.2 * of["one"]["cpu_time"], of
assert of["one"]["throttles"] >= 10 and of["one"]["replenishments"] >= 10 and of["jobs"]["jobs"] >= 100, of
assert {e["tid"] for e in user["traceEvents"]} == own
assert all("prev_comm=other" in l or "jobs" in l or "sh" in l for l in user["systemTraceEvents"].split("\n")[1:-1])
END
}

@test "when a thread ends, a later process with its id is not traced" {
    broker_start
    hog $ALICE
    silent rtf declare keeps -T 1ms -P 60ms --attach "$HOG"
    sleeper $ALICE
    silent rtf declare ends -T 1ms -P 20ms --attach "$SLEEPER"
    raw 2 &
    local tracer=$! reuser
    eventually watcher
    eventually is_recording "$(watcher)"
    kill -CONT "$SLEEPER"
    kill -KILL "$SLEEPER"
    wait "$SLEEPER" 2>/dev/null || true
    eventually is_gone "$SLEEPER"
    "$RTF_STAGE/reuse" "$SLEEPER" setpriv --reuid $BOB --regid $BOB --clear-groups sh -c 'printf later >/proc/$$/comm; while :; do :; done' 3>&- &
    reuser=$!
    echo "$reuser" >>"$WORK/pids"
    eventually is_named "$SLEEPER" later
    wait "$tracer"
    is_named "$SLEEPER" later
    kill "$reuser"
    said '.threads | index($id)' --argjson id "$SLEEPER"
    # Of the thread, the trace has at most the wake-up for its end, and the end: few records, within 20 ms.
    said '[.records[] | select(.[7] == $id or .[8] == $id)] | length <= 4' --argjson id "$SLEEPER"
    said '[.records[] | select(.[7] == $id or .[8] == $id) | .[0]] | (max // 0) - (min // 0) < 20e6' --argjson id "$SLEEPER"
    no grep -aq later "$WORK/raw"
    said '[.records[] | select(.[7] == $id)] | length > 10' --argjson id "$HOG"
}
is_named() { [ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ]; }

@test "a thread that gets the rights of another user is not traced any more" {
    broker_start
    cp /usr/bin/yes "$WORK/yes"
    chmod 4755 "$WORK/yes"
    mkfifo -m 666 "$WORK/go"
    become $ALICE sh -c 'echo >"$1"; read -r go <"$1"; exec "$2" >/dev/null' sh "$WORK/go" "$WORK/yes" 3>&- &
    JOBS=$!
    echo "$JOBS" >>"$WORK/pids"
    read -r _ <"$WORK/go"
    silent rtf declare jobs -T 5ms -P 20ms --attach "$JOBS"
    raw 2 &
    local tracer=$! changed
    eventually watcher
    eventually is_recording "$(watcher)"
    echo >"$WORK/go"
    eventually has_rights "$JOBS"
    changed=$(/usr/bin/python3 -S -c 'import time; print(time.monotonic_ns())')
    wait "$tracer"
    kill -0 "$JOBS"
    said 'all(.records[]; .[0] < $at) and .end - $at > 5e8' --argjson at "$changed"
    no grep -aq yes "$WORK/raw"
}
# has_rights PID: the process has root's rights, by a set-user-ID program.
has_rights() { [ "$(awk '/^Uid:/ { print $3 }' "/proc/$1/status")" = 0 ]; }

@test "a thread whose reservation ends is not traced any more" {
    broker_start
    alice_only
    raw 2 &
    local tracer=$!
    eventually watcher
    eventually is_recording "$(watcher)"
    silent rtf release jobs
    local released
    released=$(/usr/bin/python3 -S -c 'import time; print(time.monotonic_ns())')
    wait "$tracer"
    kill -0 "$JOBS"
    said '(.records | length > 1) and all(.records[]; .[0] < $at) and .end - $at > 5e8' --argjson at "$released"
}
alice_only() {
    mkfifo -m 666 "$WORK/fifo"
    exec {FIFO}<>"$WORK/fifo"
    become $BOB cat <"$WORK/fifo" >/dev/null 3>&- &
    echo "$!" >>"$WORK/pids"
    alice
}

@test "a user who asks for causes gets no name, no id and no time of others, also at a lock that another user holds" {
    broker_start
    hog $ALICE
    silent rtf declare one -T 10ms -P 60ms --attach "$HOG"
    bob
    alice
    truncate -s 4096 "$WORK/shared"
    chmod 666 "$WORK/shared"
    truncate -s 4096 "$WORK/cold"
    become $BOB "$RTF_STAGE/misses" other "$WORK/shared" >"$WORK/other" 3>&- &
    echo "$!" >>"$WORK/pids"
    BOBS+=" $!"
    eventually test -s "$WORK/other"
    become $ALICE "$RTF_STAGE/misses" victim "$WORK/shared" "$WORK/cold" lan 12 >"$WORK/truth" 2>"$WORK/misses" 3>&- &
    local victim=$! tracer
    echo "$victim" >>"$WORK/pids"
    eventually is_program "$victim" misses
    eventually has_threads "$victim" 2
    silent rtf declare cam -T 4ms -P 20ms --attach "$victim"
    local holder
    holder=$(ls "/proc/$victim/task" | grep -vx "$victim")
    raw 4 why &
    tracer=$!
    eventually watcher
    eventually is_recording "$(watcher)"
    "$RTF_STAGE/misses" go "$WORK/shared"
    wait "$tracer"
    no grep -aqE 'bobs-secret|alices-child|others-|rtf-watch|swapper|kworker' "$WORK/raw"
    [ "$(grep -c '^[lan]' "$WORK/truth")" -ge 9 ] || { cat "$WORK/truth" "$WORK/misses" >&2; false; }
    /usr/bin/python3 -S - "$WORK/said" "$WORK/truth" "$holder" "$HOG" "$JOBS" "$victim" <<'END'
import collections, json, sys
said = json.load(open(sys.argv[1]))
truth = [line.split() for line in open(sys.argv[2]) if line[0] in "lan"]
holder, own = int(sys.argv[3]), {int(id) for id in sys.argv[4:]}
victim = int(sys.argv[6])
assert set(said["threads"]) == own, said["threads"]
SWITCH, WAKING, MIGRATE, THROTTLE, REPLENISH, CALL, RETURN, FAULT, INTERRUPT, RESUME = range(10)
kinds, wakers, waits = collections.Counter(), collections.defaultdict(list), collections.Counter()
for time, kind, cpu, to_cpu, state, priority, next_priority, thread, next, timer, expires, wait, others, call in said["records"]:
    kinds[kind] += 1
    assert said["begin"] <= time
    assert timer < 1 << 40, "an address of the kernel"
    if kind == SWITCH:
        assert {thread, next} <= own | {0} and (thread or next), (thread, next)
        assert thread or (state, priority) == (0, 120)
        assert next or (next_priority, wait, others) == (120, 0, 0)
        assert not timer and not expires and not to_cpu and not call
        assert wait <= 4 and others <= 64 and (not others or wait == 1), (wait, others)
        waits[wait] += 1
    elif kind == REPLENISH:
        assert timer >> 8 in own and not thread and not next and not state, timer
    else:
        assert thread in own, (kind, thread)
        assert not priority and not next_priority and not wait and not others
        assert state <= (kind in (WAKING, INTERRUPT)), (kind, state)
        assert not call or kind == CALL
        assert next == 0 or kind == WAKING and next in own | {holder}, (kind, next)
        if kind == WAKING and thread == victim:
            wakers[next].append(time)
assert all(kinds[kind] > 50 for kind in (SWITCH, WAKING, CALL, RETURN, INTERRUPT, RESUME)), kinds
assert waits[1] > 5, waits
# The lock's holder is told if it is an older thread of the same process, and else not.
def holders(cause):
    return [[waker for waker, times in wakers.items() if any(int(release) < time < int(end) + 1000000 for time in times)] for which, release, end in truth if which == cause]
own_locks, locks_of_bob, new_threads = map(holders, "lan")
assert sum(holder in found for found in own_locks) >= len(own_locks) - 1 >= 2, own_locks
assert not any(set(found) - {0} for found in locks_of_bob + new_threads), (locks_of_bob, new_threads)
END
}
has_threads() { [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" -eq "$2" ]; }

@test "rules, other users' threads, and a second trace: one sentence each" {
    configure_rules "$ALICE - max_utilization 4" "$ALICE - trace true" "$BOB - max_utilization 0.5" "$CAROL - max_utilization 1" "$CAROL - trace true" '- - trace true' "$CAROL - trace false"
    broker_start
    fails 66 'rtf trace: you have no reservation with a thread: attach a thread first' rtf trace
    fails 77 "rtf trace: acl.conf:7: $CAROL - trace false" rtf_of $CAROL trace
    fails 77 'rtf trace: only root may trace the threads of other users' rtf trace --all
    fails 77 'rtf trace: only root may trace the threads of other users' rtf trace --user $BOB
    fails 77 "rtf trace: only root may have the kernel's own records, which name all threads" rtf trace --dat "$WORK/x.dat"
    configure_rules "$ALICE - max_utilization 4" "$ALICE - trace true" "$BOB - max_utilization 0.5"
    kill -HUP "$BROKER"
    eventually fails 77 'rtf trace: no rule in acl.conf allows you to trace (trace true)' rtf_of $BOB trace
    fails 77 "rtf trace: $SPOOL/trace: Permission denied" stranger $ALICE env USER=$ALICE "$RTF_LIBEXEC/front/rtf-trace" --spool "$SPOOL"
    hog $ALICE
    silent rtf declare one -T 5ms -P 60ms --attach "$HOG"
    fails 66 "rtf trace: $ALICE has no reservation of these names with a thread" rtf trace 'x*'
    raw 5 &
    local tracer=$!
    eventually watcher
    eventually fails 75 'rtf trace: you have a trace already: end this trace first' rtf trace --for 10ms
    kill "$tracer"
    wait "$tracer" || true
    pkill -KILL -u $ALICE -f raw.py || true
    eventually no_watcher
    prints 0 rtf trace --for 10ms
    broker_stop TERM
    fails 69 "rtf trace: no broker serves $SPOOL" rtf trace
}

@test "nothing stays after kill -9 of the user's process, of rtf-watch, and of the broker" {
    local watch tracer
    broker_start
    hog $ALICE
    silent rtf declare one -T 5ms -P 60ms --attach "$HOG"
    no_watcher
    begin() {
        become $ALICE env USER=$ALICE "$RTF_LIBEXEC/front/rtf-trace" --spool "$SPOOL" --for 1min >"$WORK/out" 2>"$WORK/err" 3>&- &
        tracer=$!
        echo "$tracer" >>"$WORK/pids"
        eventually watcher
        watch=$(watcher)
        eventually is_recording "$watch"
    }
    begin
    kill -KILL "$tracer"
    eventually leaves_nothing "$watch"
    begin
    kill -KILL "$watch"
    status=0
    wait "$tracer" || status=$?
    [ "$status" -eq 69 ]
    grep -qx 'rtf trace: the broker or rtf-watch has ended, and the recording with them' "$WORK/err"
    eventually leaves_nothing "$watch"
    # The next trace works.
    begin
    kill -KILL "$watch" $(children "$watch")
    eventually is_gone "$tracer"
    begin # the next rtf-watch removes what the last one has left
    kill -KILL "$BROKER"
    status=0
    wait "$tracer" || status=$?
    [ "$status" -eq 69 ]
    eventually leaves_nothing "$watch"
    no in_tracefs sh -c 'ls -d instances/rtf-watch-*' >/dev/null 2>&1 || in_tracefs ls instances >&2
    broker_start
    prints 0 rtf trace --for 10ms
    eventually leaves_nothing "$watch"
}

@test "a process that does not read, that sends bytes or that connects without end harms only itself" {
    local n
    broker_start
    hog $ALICE
    silent rtf declare one -T 5ms -P 60ms --attach "$HOG"
    cat >"$WORK/hostile.py" <<'END'
import socket, sys, time
def connect():
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.settimeout(5)
    door.connect(sys.argv[1] + "/trace")
    return door
if sys.argv[2] == "silent":
    door = connect()
    door.recv(1 << 20)
    print("begun", flush=True)
    time.sleep(60)
elif sys.argv[2] == "speaks":
    door = connect()
    door.recv(1 << 20)
    door.send(b"op=begin\nuid=0\n\n" * 100)
    kinds = []
    while True:
        try:
            datagram = door.recv(1 << 20)
        except ConnectionResetError: # rtf-watch has not read the bytes; its last datagrams follow
            continue
        if not datagram:
            break
        kinds.append(datagram[0])
    print(kinds[-1])
else:
    end, count = time.monotonic() + 2, 0
    while time.monotonic() < end:
        try:
            door = connect()
            door.close()
            count += 1
        except OSError:
            time.sleep(0.001)
    print(count)
END
    # If the user's process sends bytes, the trace ends, as it does after shutdown(2).
    [ "$(as $ALICE /usr/bin/python3 -S "$WORK/hostile.py" "$SPOOL" speaks)" = 5 ]
    eventually no_watcher
    # While a process does not read, its user has a trace, and other users can trace.
    configure_rules "$ALICE - max_utilization 4" '- - trace true' "$BOB - max_utilization 0.5"
    kill -HUP "$BROKER"
    become $ALICE /usr/bin/python3 -S "$WORK/hostile.py" "$SPOOL" silent >"$WORK/silent" 3>&- &
    n=$!
    echo "$n" >>"$WORK/pids"
    eventually grep -q begun "$WORK/silent"
    sleeper $BOB
    silent rtf_of $BOB declare two -T 1ms -P 60ms --attach "$SLEEPER"
    prints 0 rtf_of $BOB trace --for 50ms
    fails 75 'rtf trace: you have a trace already: end this trace first' rtf trace
    kill -KILL "$n"
    eventually no_watcher
    # The broker takes at most 100 connections a second, and answers others meanwhile.
    become $BOB /usr/bin/python3 -S "$WORK/hostile.py" "$SPOOL" floods >"$WORK/flood" 3>&- &
    n=$!
    echo "$n" >>"$WORK/pids"
    [ "$(field .result "$(spec $ALICE cam '{"runtime": "1ms", "period": "100ms"}')")" = OK ]
    prints 0 rtf trace --for 50ms
    wait "$n"
    [ "$(<"$WORK/flood")" -le 260 ]
    eventually no_watcher
}
