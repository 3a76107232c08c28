# rtf-why(1): why jobs were late.
# bats file_tags=lane:alone
load ../helper
load ../command
load ../slow-disk
load front

prepare() {
    front_prepare
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all enforce=runtime'
    configure_rules "$ALICE - max_utilization 4" "$ALICE - trace true" "$BOB - max_utilization 0.5"
    in_tracefs test -e events/raw_syscalls/sys_enter/format || skip 'the kernel has no tracefs, or does not record system calls'
}

tidy() {
    if [ -n "${SLOW_DISK:-}" ]; then
        while read -r pid; do kill -KILL "$pid" 2>/dev/null || true; done <"$WORK/pids"
        eventually umount "$WORK/fuse" 2>/dev/null # when no process has the file
    else
        rm -f "${COLD:-}"
    fi
}
# cold_file: makes a file whose pages are read from a slow disk, 4 ms each. COLD is its name. Without FUSE, this is a file on the machine's disk.
cold_file() {
    if has_fuse; then
        slow_file $((16 << 20)) cached
        COLD=$WORK/fuse/disk
    else
        COLD=$(mktemp /var/tmp/rtf-cold.XXXXXX) # $WORK can be in memory
        head -c 16M /dev/urandom >"$COLD"
        sync "$COLD"
        chmod 644 "$COLD"
    fi
}

in_tracefs() { unshare --mount sh -c 'mount -t tracefs none /sys/kernel/tracing 2>/dev/null && cd /sys/kernel/tracing && exec "$@"' sh "$@"; }
watcher() { helpers rtf-watch; }
# is_recording PID: the process records the system calls of somebody.
is_recording() { [ "$(in_tracefs sh -c 'cd "instances/rtf-watch-$1-"* && cat events/raw_syscalls/sys_enter/enable tracing_on' sh "$1" 2>/dev/null | tr '\n' ' ')" = '1 1 ' ]; }

# start_why UID OPTION...: begins rtf why in the background. $WHY: its process. end_why: ends it, so that it prints to $WORK/why.
start_why() {
    become "$1" env USER="$1" "$RTF_LIBEXEC/front/rtf-why" --spool "$SPOOL" --for 10min "${@:2}" >"$WORK/why" 2>"$WORK/err" 3>&- &
    WHY=$!
    echo "$WHY" >>"$WORK/pids"
    eventually watcher
    eventually is_recording "$(watcher)"
}
end_why() {
    kill -INT "$WHY"
    wait "$WHY" || { cat "$WORK/err" >&2; false; }
}

# other NAME CPU...: starts Bob's process that helps a victim (test/misses.c). $OF_BOB: its thread that takes the CPU.
other() {
    truncate -s 4096 "$WORK/shared.$1"
    chmod 666 "$WORK/shared.$1"
    become $BOB "$RTF_STAGE/misses" other "$WORK/shared.$1" "${@:2}" >"$WORK/other.$1" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -s "$WORK/other.$1"
    OF_BOB=$(<"$WORK/other.$1")
}
# victim NAME CAUSES COUNT: starts Alice's process whose jobs will be late for these causes. $VICTIM: its id.
victim() {
    become $ALICE "$RTF_STAGE/misses" victim "$WORK/shared.$1" "$COLD" "$2" "$3" >"$WORK/truth.$1" 2>"$WORK/said.$1" 3>&- &
    VICTIM=$!
    echo "$VICTIM" >>"$WORK/pids"
    eventually is_program "$VICTIM" misses
}

# ends NAME: waits until the victim has had all its late jobs.
ends() { PATIENCE=$((PATIENCE * (2 + ${MISSES:-70} / 40))) eventually grep -qx end "$WORK/truth.$1" || { cat "$WORK/said.$1" >&2; false; }; }

@test "a user is told why each job was late: seven causes, and no byte of the other user" {
    local count=${MISSES:-70} hog other arm cam
    broker_start
    cold_file
    other cam 0 1
    other=$OF_BOB
    other arm
    hog=$OF_BOB
    silent rtf_of $BOB declare hog --plugin FP --priority 20 -T 60ms -P 140ms --cpus 0 --attach "$hog"
    victim cam olapis $((count * 6 / 7))
    cam=$VICTIM
    victim arm h $((count / 7))
    arm=$VICTIM
    silent rtf declare cam --plugin EDF -T 12ms -D 15ms -P 20ms --attach "$cam"
    silent rtf declare arm --plugin FP --priority 12 -T 4ms -D 15ms -P 20ms --cpus 0 --attach "$arm"
    start_why $ALICE --json --awake
    "$RTF_STAGE/misses" go "$WORK/shared.cam"
    ends cam
    "$RTF_STAGE/misses" go "$WORK/shared.arm"
    ends arm
    end_why
    [ ! -s "$WORK/err" ] || cat "$WORK/err" >&2
    no grep -qE 'others-|bob' "$WORK/why"
    /usr/bin/python3 -S - "$WORK" "$other" "$hog" "$count" <<'END'
import collections, json, sys
work, count = sys.argv[1], int(sys.argv[4])
late = collections.defaultdict(list)
for job in map(json.loads, open(f"{work}/why")):
    assert set(job) <= {"user", "reservation", "tid", "job", "release", "end", "deadline", "late", "goes_on", "ran", "runtime", "cause", "causes", "holder", "call", "until", "others"}, job
    assert job["tid"] not in map(int, sys.argv[2:4]), job
    late[job["reservation"]].append(job)
wanted = {"o": "overrun", "l": "lock of own", "a": "lock of another", "p": "page_fault", "i": "interrupt", "h": "others", "s": "stopped"}
named, total, wrong = collections.Counter(), collections.Counter(), collections.Counter()
for name in "cam", "arm":
    for line in open(f"{work}/truth.{name}").readlines()[:-1]:
        cause, release, end = line[0], *map(int, line[2:].split())
        def common(job):
            return min(end, job["end"]) - max(release, job["release"])
        job = max(late[name], key=common, default=None)
        found = "none"
        if job is not None and common(job) > 0:
            found = job["cause"]
            if found == "lock":
                holder = job["holder"]
                found += " of another" if holder == "another" else " of own" if holder["name"] == "own-holder" else f" of {holder}"
        total[cause] += 1
        named[cause] += found == wanted[cause]
        if found != wanted[cause]:
            wrong[wanted[cause] + " as " + found] += 1
            print(line.strip(), job and (job["cause"], job["causes"], job["ran"]), file=sys.stderr)
right, all_of_them = sum(named.values()), sum(total.values())
figures = f"{right} of {all_of_them} causes are named right: " + ", ".join(f"{wanted[c]} {named[c]}/{total[c]}" for c in wanted) + f"; wrong: {dict(wrong)}"
open(f"{work}/figures", "w").write(figures + "\n")
# On a busy machine, some jobs come out in time: the timers are not set in time, the signal comes late, or the disk answers at once. Such jobs do not count.
assert all_of_them >= 0.7 * count and sum(total[c] >= count // 14 for c in wanted) >= 6, figures
# Of few misses, some more than one in twenty may touch lost events.
assert right >= (0.95 if count >= 500 else 0.9) * all_of_them, figures
END
    sed 's/^/# /' "$WORK/figures" >&3
}

# jobs: a program of Alice's that has a job each 20 ms, and marks its jobs. Each fifth runs for 30 ms. $JOBS: its id.
jobs() {
    cat >"$WORK/jobs.py" <<'END'
import os, sys, time
job = 0
while os.path.exists(f"/proc/{sys.argv[2]}"):
    time.sleep(0.02)
    job += 1
    begin, used = time.monotonic_ns(), time.thread_time_ns()
    while time.thread_time_ns() - used < (8_000_000 if job % 5 == 0 else 500_000):
        pass
    try:
        mark = os.open(sys.argv[1], os.O_RDWR | os.O_NONBLOCK)
        os.write(mark, f"{begin // 1000 - 5000} {time.monotonic_ns() // 1000} 10000\n".encode())
        os.close(mark)
    except OSError:
        pass
END
    become $ALICE /usr/bin/python3 -S "$WORK/jobs.py" "$1" $$ 3>&- &
    JOBS=$!
    echo "$JOBS" >>"$WORK/pids"
    eventually is_program "$JOBS" python3
}
why() { rtf why "$@"; }

# bats test_tags=turn:0
@test "an own overrun: a line for a person, a summary, only the last one, and the same for root" {
    broker_start
    jobs /nonexistent
    silent rtf declare cam -T 3ms -P 20ms --attach "$JOBS"
    prints 0 why --for 1s --awake cam
    [ "$(grep -cE "^[0-9:]{8}\\.[0-9]{3} $ALICE/cam job [0-9]+ (is|was) [0-9]+\\.[0-9] ms late( so far)?: ran [0-9.]+ ms of 3\\.0 ms \\(own overrun\\), throttled [0-9.]+ ms until [0-9:]{8}\\.[0-9]{3}" "$WORK/out")" -ge 3 ] || { cat "$WORK/out" >&2; false; }
    grep -qE "^$ALICE/cam: [0-9]+ jobs, [0-9]+ late: own overrun [0-9]+" "$WORK/out" || { cat "$WORK/out" >&2; false; }
    prints 0 why --for 1s --awake --last
    [ "$(wc -l <"$WORK/out")" -eq 2 ]
    prints 0 "$RTF_BIN/rtf" --spool "$SPOOL" why --for 1s --awake --json --user $ALICE
    says '.reservation == "cam" and .late > 0 and .late == .end - .deadline and .runtime == 3000000'
    [ "$(jq -s 'map(select(.cause == "overrun")) | length' "$WORK/out")" -ge 3 ] || { cat "$WORK/out" >&2; false; }
}

# bats test_tags=turn:1
@test "a program that marks its jobs says itself what is late" {
    broker_start
    mkdir "$OWN"
    chown $ALICE "$OWN"
    jobs "$OWN/.jobs/cam"
    silent rtf declare cam -T 12ms -P 20ms --attach "$JOBS"
    # each job is released 5 ms before it begins, and has 10 ms: each fifth is late, and the others are not
    prints 0 why --for 2s --awake --json cam
    [ "$(jq -s 'length' "$WORK/out")" -ge 8 ] || { cat "$WORK/out" >&2; false; }
    [ "$(jq -s 'map(select(.causes.slept > 3e6 and .deadline == .release + 1e7)) | length > 0.8 * length' "$WORK/out")" = true ] || { cat "$WORK/out" >&2; false; }
    [ ! -e "$OWN/.jobs/cam" ]
}

# bats test_tags=turn:2
@test "if no job was late, rtf why says so" {
    broker_start
    become $ALICE /usr/bin/python3 -S -c 'import time
while True: time.sleep(0.02)' 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually is_program $! python3
    silent rtf declare cam -T 10ms -P 200ms --attach $!
    prints 0 why --for 500ms
    grep -qxE "$ALICE/cam: [1-9][0-9]* jobs, 0 late" "$WORK/out"
    run -0 why --for 100ms --json
    [ -z "$output" ]
    # a thread that never sleeps has no jobs, but a reason
    hog $ALICE
    silent rtf declare one -T 5ms -P 50ms --attach "$HOG"
    prints 0 why --for 500ms one
    grep -qE "^[0-9:.]+ $ALICE/one did not wait for a next job in [0-9.]+ ms: ran [0-9.]+ ms of 5\\.0 ms \\(own overrun\\), throttled [0-9.]+ ms" "$WORK/out" || { cat "$WORK/out" >&2; false; }
}

@test "rtf why explains itself, and refuses as rtf trace does" {
    broker_start
    explains why
    fails 66 'rtf why: you have no reservation with a thread: attach a thread first' why
    fails 77 'rtf why: no rule in acl.conf allows you to trace (trace true)' rtf_of $BOB why
    fails 77 'rtf why: only root may look at the threads of other users' why --user $BOB
    fails 66 "rtf why: $BOB has no reservation with a thread" "$RTF_BIN/rtf" --spool "$SPOOL" why --user $BOB
    fails 66 'rtf why: root has no reservation with a thread: --user USER means the threads of that user' "$RTF_BIN/rtf" --spool "$SPOOL" why
    hog $ALICE
    silent rtf declare one -T 5ms -P 60ms --attach "$HOG"
    fails 66 "rtf why: $ALICE has no reservation of these names with a thread" why 'x*'
    start_why $ALICE
    fails 75 'rtf why: you have a trace already: end this trace first' why --for 10ms
    kill -KILL "$WHY"
    wait "$WHY" || true
    eventually no_watcher
    prints 0 why --for 10ms
    broker_stop TERM
    fails 69 "rtf why: no broker serves $SPOOL" why
}
no_watcher() { ! watcher >/dev/null; }
