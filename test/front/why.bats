# rtf-why(1): why jobs were late.
# bats file_tags=lane:alone
load ../helper
load ../command
load front

prepare() {
    front_prepare
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all enforce=runtime'
    configure_rules "$ALICE - max_utilization 4" "$ALICE - trace true" "$BOB - max_utilization 0.5"
    in_tracefs test -e events/raw_syscalls/sys_enter/format || skip 'the kernel has no tracefs, or does not record system calls'
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
    fails 66 'rtf why: you have no reservation with a thread' why
    fails 77 'rtf why: no rule in acl.conf allows you to trace (trace true)' rtf_of $BOB why
    fails 77 'rtf why: only root may look at the threads of other users' why --user $BOB
    fails 66 "rtf why: $BOB has no reservation with a thread" "$RTF_BIN/rtf" --spool "$SPOOL" why --user $BOB
    fails 66 'rtf why: root has no reservation with a thread: --user USER means the threads of that user' "$RTF_BIN/rtf" --spool "$SPOOL" why
    hog $ALICE
    silent rtf declare one -T 5ms -P 60ms --attach "$HOG"
    fails 66 "rtf why: $ALICE has no reservation of these names with a thread" why 'x*'
    start_why $ALICE
    fails 75 'rtf why: you have a trace already' why --for 10ms
    kill -KILL "$WHY"
    wait "$WHY" || true
    eventually no_watcher
    prints 0 why --for 10ms
    broker_stop TERM
    fails 69 "rtf why: no broker serves $SPOOL" why
}
no_watcher() { ! watcher >/dev/null; }
