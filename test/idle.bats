# bats file_tags=lane:alone
# An idle broker sleeps, and requests leave nothing behind.
load helper

prepare() { configure_rules "$ALICE - max_utilization 1000" "$BOB - max_utilization 2"; }

# everybody: prints the ids of the broker and of all processes that it started
everybody() { echo "$BROKER" $(launcher) $(helpers); }

tidy() {
    if mountpoint -q "$SPOOL"; then
        if [ -n "$BROKER" ]; then broker_stop TERM; fi
        eventually umount "$SPOOL"
    fi
}

# switches: prints how often each of these processes has run
switches() {
    for pid in $(everybody); do
        echo "$(tr '\0' ' ' <"/proc/$pid/cmdline" | cut -c -60): $(grep ctxt_switches "/proc/$pid/status" | tr -s '\t\n' ' ')"
    done
}

# descriptors: prints how many descriptors each process has; memory: prints the bytes that malloc has given out in the broker, and the resident KiB of
# each other process
descriptors() { for pid in $(everybody); do ls "/proc/$pid/fd" | wc -l; done; }
memory() {
    in_use
    for pid in $(launcher) $(helpers); do awk '/^VmRSS/ { print $2 }' "/proc/$pid/status"; done
}
in_use() {
    eventually nothing_is_owed # released capacity stays in the books until its 0-lag time, and its amount depends on how fast `cycles` runs
    jq .memory "$SPOOL/state/current/books.json"
}
nothing_is_owed() {
    rm -f "$SPOOL/state/current/books.json"
    kill -USR1 "$BROKER"
    eventually test -e "$SPOOL/state/current/books.json"
    told '.debts == []' "$(cat "$SPOOL/state/current/books.json")" 2>/dev/null
}

@test "while nothing happens no process of rtf wakes up, with threads attached to every plugin" {
    broker_start
    for spec in '{"runtime": "1ms", "period": "10ms"}' '{"priority": 15}' '{"priority": 5, "plugin": "RR"}'; do
        n=$((${n:-0} + 1))
        sleeper $ALICE
        spec $ALICE w$n "$spec" >/dev/null
        attach $ALICE w$n "$SLEEPER" >/dev/null
    done
    spec $BOB refused '{"runtime": 0}' >/dev/null
    eventually no_readers # readers end when they have nothing to do
    [ "$(everybody | wc -w)" -eq 12 ] # broker, launcher, helper, guard, rtf-tasks, log, publisher, names, adopter, three plugins
    sleep 0.2
    before=$(switches)
    sleep 2
    diff <(echo "$before") <(switches)
}

# bats test_tags=turn:1
@test "rtf usage, and a program that marks its jobs, wake no process of rtf" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    as $ALICE mkdir -m 700 "$SPECS/$ALICE/.jobs"
    eventually no_readers
    sleep 0.2
    before=$(switches)
    as $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" usage --json --for 2s >"$WORK/out" 3>&- &
    measuring=$!
    eventually test -p "$SPECS/$ALICE/.jobs/cam"
    # shellcheck disable=SC2016 # sh expands
    as $ALICE sh -c 'for i in $(seq 100); do echo "9000000000000000 9000000000000000" 1<>"$1"; done' sh "$SPECS/$ALICE/.jobs/cam"
    wait "$measuring"
    diff <(echo "$before") <(switches)
    jq -e '.reservations[0].jobs == 100' "$WORK/out"
    [ -z "$(ls -A "$SPECS/$ALICE/.jobs")" ]
}

# switches_of PROCESS...: as switches, in the variable $SWITCHES, and without a new process.
switches_of() {
    local pid line
    SWITCHES=
    for pid; do
        while read -r line; do [[ $line != *ctxt_switches* ]] || SWITCHES+="$pid $line; "; done <"/proc/$pid/status"
    done
}
sleeps_at_rest() {
    local before
    switches_of "$@"
    before=$SWITCHES
    read -rt 1 <>"$RTF_STAGE/nothing" || true
    switches_of "$@"
    [ "$SWITCHES" = "$before" ] || { echo "$before"; echo "$SWITCHES"; return 1; }
}

# The test leaves out rtf-tasks, which wakes up when any process of the machine starts or ends.
@test "no process of rtf but rtf-tasks wakes up while the threads of program files are at rest" {
    broker_start
    sleeper $ALICE
    for file in "\"process\": $SLEEPER" '"program": "/nothing"' '"cgroup": "/nothing"'; do
        n=$((${n:-0} + 1))
        told '.result == "OK"' "$(spec $ALICE p$n "{$file, \"threads\": [{\"name\": \"*\", \"runtime\": \"1ms\", \"period\": \"10ms\"}]}")"
    done
    is_policy "$SLEEPER" deadline
    sleep 0.5
    once_of 3 sleeps_at_rest $(everybody | tr ' ' '\n' | grep -vx "$(helpers rtf-tasks)")
}

no_readers() { ! helpers rtf-reader >/dev/null; }

@test "no process wakes up for a request that was answered long ago" {
    configure_plugins 'FP fp 11-20 all timeout=4s' # readers end after two seconds
    broker_start
    sleeper $ALICE
    spec $ALICE cam '{"priority": 15}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    spec $ALICE other '{"priority": 16}' >/dev/null
    eventually one_perf_event # the watch of the thread is the last thing that is done
    eventually no_readers
    eventually settled # before a plugin's or the helper's time to answer is over
    before=$(switches)
    sleep 3
    diff <(echo "$before") <(switches)
}

@test "a spec that is made below its directory, or without a name, wakes the broker when it gets its name, and not before" {
    broker_start
    spec $ALICE first '{"priority": 15}' >/dev/null
    as $ALICE mkdir "$SPECS/$ALICE/.new"
    eventually readers_have_ended
    eventually settled
    before=$(switches)
    as $ALICE sh -c 'echo "{\"priority\": 15}" >"$1/.new/cam"' sh "$SPECS/$ALICE"
    mkfifo -m 666 "$WORK/go"
    as $ALICE /usr/bin/python3 -S - "$SPECS/$ALICE" "$WORK/go" <<'END' 3>&- &
import os, sys
fd = os.open(sys.argv[1], os.O_TMPFILE | os.O_WRONLY, 0o600)
os.write(fd, b'{"priority": 16}')
held = os.open(f"/proc/self/fd/{fd}", os.O_PATH)
os.close(fd)
open(sys.argv[2]).read()
os.link(f"/proc/self/fd/{held}", sys.argv[1] + "/arm.json", src_dir_fd=held)  # linkat(2), which follows the link
END
    echo "$!" >>"$WORK/pids"
    exec 4>"$WORK/go" # the FIFO opens when the Python program opens its other end, and the program has made the file by then
    diff <(echo "$before") <(switches)
    as $ALICE mv "$SPECS/$ALICE/.new/cam" "$SPECS/$ALICE/cam.json"
    exec 4>&-
    [ "$(field .grant.priority "$(verdict $ALICE cam)")" = 15 ]
    [ "$(field .grant.priority "$(verdict $ALICE arm)")" = 16 ]
}

settled() {
    local before
    before=$(switches)
    sleep 0.02 # if a process still works, it has switched once more after this time
    [ "$(switches)" = "$before" ]
}

# perf_events: prints how many perf events the helper holds. The helper hands the watch of a thread on to the broker.
perf_events() {
    for pid in $(helpers); do
        [ "$(cat "/proc/$pid/comm")" != rtf-attach ] || find "/proc/$pid/fd" -lname 'anon_inode:*perf_event*' | wc -l
    done
}

@test "the kernel's wait for a first perf event is that of the first attachment, not of each one after a pause" {
    broker_start
    sleeper $ALICE
    [ "$(perf_events)" = 0 ]
    for name in cam other; do
        spec $ALICE $name "{\"priority\": 15, \"attach\": $SLEEPER}" >/dev/null
        eventually one_perf_event # the broker asks for the watch a moment after the verdict
        as $ALICE rm "$SPECS/$ALICE/$name.json"
        eventually test ! -e "$SPECS/$ALICE/$name.verdict"
        one_perf_event
    done
}
one_perf_event() { [ "$(perf_events)" = 1 ]; }

# cycles NUMBER: creates, attaches, changes, is refused, detaches and releases, as $ALICE, this many times
cycles() {
    setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" -- /usr/bin/python3 -S - "$SPECS/$ALICE" "$1" "$2" 3>&- <<'END'
import os, sys, time
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
number, thread = int(sys.argv[2]), sys.argv[3]
SPECS = (
    '{"runtime": 10, "period": 100000}', '{"priority": 15}', '{"priority": 5, "plugin": "RR"}', '{"runtime": "no"}',
    '{"runtime": 10, "period": 100000, "cpus": "0-1023", "expires": "1000s", "modes": {"a": {}, "b": {"runtime": 20}}, "mode": "a"}',
)
BATCH = 100 # with more at once, the user would have to wait


def put(name, text):
    with open(".new", "w") as file:
        file.write(text)
    os.rename(".new", name)


def wait(condition, what):
    until = time.time() + 10
    while not condition():
        if time.time() > until:
            sys.exit(f"did not come true: {what}")
        time.sleep(0.001)


for batch in range(number // BATCH):
    names = [f"w{batch % 3}-{place}" for place in range(BATCH)]
    for place, name in enumerate(names):
        put(f"{name}.json", SPECS[place % len(SPECS)])
    wait(lambda: all(os.path.exists(f"{name}.verdict") for name in names), "all have a verdict")
    if '"result":"OK"' not in open(f"{names[4]}.verdict").read():
        sys.exit(open(f"{names[4]}.verdict").read())
    put(f"{names[0]}.tid", thread)
    wait(lambda: f'"tid":{thread}' in open(f"{names[0]}.verdict").read(), f"{names[0]} is attached")
    for name in names:
        os.unlink(f"{name}.json")
    wait(lambda: not any(os.path.exists(f"{name}.verdict") for name in names), "all are released")
END
}

says_rest() { [ "$(spec $ALICE rest '{"runtime": "1s", "period": "1s", "plugin": "EDF"}' | jq .refusal.nearest)" = "$1" ]; }

# bats test_tags=turn:1
@test "10,000 create and release cycles leave memory and descriptors where they were" {
    mkdir "$SPOOL"
    mount -t tmpfs -o size=128m,mode=755 none "$SPOOL" # a file system in memory is quicker than a disk
    broker_start
    sleeper $ALICE
    journal() { stat -c %i "$SPOOL/state/current/journal"; }
    first=$(journal)
    # Buffers keep their largest size. So the test first makes as many cycles as it takes until the journal is written anew.
    for _ in $(seq 60); do
        cycles 1000 "$SLEEPER" || { jq -c 'select(.name == "w0-0" or .stage == "plugin" or .stage == "broker")' "$EVENTS" | tail -n 12; false; }
        [ "$(journal)" = "$first" ] || break
    done
    [ "$(journal)" != "$first" ]
    memory_before=$(memory)
    eventually readers_have_ended # readers end at a time of their own
    descriptors_before=$(descriptors)
    cycles 10000 "$SLEEPER" || { jq -c 'select(.name == "w0-0" or .stage == "plugin" or .stage == "broker")' "$EVENTS" | tail -n 12; false; }
    memory_after=$(memory)
    echo "# memory: $(echo $memory_before) / $(echo $memory_after)" >&3
    eventually readers_have_ended
    are_as_before() { [ "$(descriptors)" = "$descriptors_before" ]; }
    # The adopter may have a descriptor more for a moment, while it looks at a directory.
    eventually are_as_before || { diff <(echo "$descriptors_before") <(descriptors) >&2; false; }
    # Sanitizers keep freed memory for a time, and look for leaks themselves. With sanitizers RTF_MEMORY_SLACK raises the bounds.
    paste <(echo "$memory_before") <(echo "$memory_after") | {
        read -r before after
        [ $((after - before)) -le $((${RTF_MEMORY_SLACK:-64} * 1024)) ] # 7 bytes a cycle would be seen
        while read -r before after; do
            [ $((after - before)) -le "${RTF_MEMORY_SLACK:-256}" ] # KiB
        done
    }
    [ "$(kernel "$SLEEPER")" = "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0" ]
    run spec $ALICE whole '{"runtime": "1s", "period": "1s"}'
    [ "$(field .grant.accepted_runtime "$output")" = 1000000 ]
    run spec $ALICE rest '{"runtime": "1s", "period": "1s", "plugin": "EDF"}'
    eventually says_rest 800000 # 0.8 CPUs of 1.8: whole has 1. When all debts are paid back, EDF's sums are exactly the former sums
}
