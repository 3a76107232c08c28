# rtf-learn(1): periods and execution times of real programs, words for threads that have none, and the spec that follows.
# The programs run at a FIFO priority, so that no other process delays them; their truth is the CPU time that they measure themselves.
# bats file_tags=lane:alone
load ../helper
load ../command
load front

prepare() {
    front_prepare
    mkdir "$WORK/home"
    chown $ALICE "$WORK/home"
}

# working WORD...: starts test/worker as Alice. $WORKER is its id; $WORK/home/truth will have its truth.
working() {
    (exec chrt -f 3 setpriv --reuid $ALICE --regid $ALICE --clear-groups -- "$RTF_STAGE/worker" "$WORK/home/truth" "$@" 3>&-) &
    WORKER=$!
    echo "$WORKER" >>"$WORK/pids"
    is_worker() { [ "$(cat "/proc/$WORKER/comm" 2>/dev/null)" = worker ]; }
    eventually is_worker
}

# learn OPTION...: observes the worker, and ends it. $WORK/out has the first thread; $WORK/truth the truth.
learn() {
    rtf learn --json "$@" "$WORKER" >"$WORK/report" || return
    jq -c '.threads[0]' "$WORK/report" >"$WORK/out"
    kill "$WORKER"
    wait "$WORKER" || :
}

# near KEY PERMILLE NS: the learned value differs from the truth by at most so many thousandths, or by at most so many ns.
near() {
    jq -e --arg key "$1" --argjson part "$2" --argjson least "$3" --slurpfile truth "$WORK/home/truth" \
        '($truth[0][$key]) as $true | (.[$key] - $true | fabs) <= ([$true * $part / 1000, $least] | max)' "$WORK/out" >/dev/null ||
        { echo "not near: $1" >&2; cat "$WORK/out" "$WORK/home/truth" >&2; return 1; }
}

# known PERMILLE WORD...: rtf learn finds the period of a worker with these words to so many thousandths, and the times of its jobs within 3 % or 0.1 ms.
known() {
    local part=$1
    shift
    working "$@"
    learn --for 4s
    says '.behaviour == "periodic" and .source == "switches" and .confidence > 60' &&
        near period_ns "$part" 0 && near percentile_99_ns 30 100000 && near longest_ns 30 "${LONGEST:-100000}"
}

# bats test_tags=turn:0
@test "programs of 1 kHz, 100 Hz and 30 Hz: the period within 0.1 %, execution times within 3 % or 0.1 ms" {
    # Where a hypervisor takes the CPU for more than a period, two jobs run as one, and the program counts them apart.
    LONGEST=500000 once_of 3 known 1 clock 1000 100 50
    once_of 3 known 1 clock 10000 2000 1000
    once_of 3 known 1 clock 33333 5000 3000
}

# bats test_tags=turn:1
@test "a loop of poll(2): the period within 0.5 %" {
    once_of 3 known 5 poll 10000 1000 500
}

# bats test_tags=turn:1
@test "words instead of numbers: aperiodic, event-driven, hog, sleeping" {
    is() { # WORD KIND...
        local word=$1
        shift
        working "$@"
        learn --for 2s
        says ".behaviour == \"$word\" and (has(\"period_ns\") | not)"
    }
    once_of 3 is aperiodic random 10000 1000
    once_of 3 is event-driven event 10000 1000
    once_of 3 is hog hog
    once_of 3 is sleeping sleep
    jq -e '.spec == null' "$WORK/report"
}

@test "a thread that is always ready, and does not get a CPU, is starved" {
    working hog
    chrt -o -p 0 "$WORKER"
    renice -n 19 "$WORKER" >/dev/null
    cpu=$(awk '$1 == "Cpus_allowed_list:" { sub(/[-,].*/, "", $2); print $2 }' /proc/self/status)
    taskset -p -c "$cpu" "$WORKER" >/dev/null
    starved=$WORKER
    working hog
    chrt -o -p 0 "$WORKER"
    taskset -p -c "$cpu" "$WORKER" >/dev/null
    prints 0 rtf learn --for 2s "$starved"
    out "*starved: it never sleeps, and waits for a CPU*"
}

@test "--write reserves what the thread needs, and attaches the thread" {
    broker_start
    working clock 20000 2000 500
    chrt -o -p 0 "$WORKER"
    rtf learn --for 2s -w cam -v "$WORKER" >"$WORK/out" 2>"$WORK/err" || { cat "$WORK/out" "$WORK/err" >&2; false; }
    [[ $(<"$WORK/err") == 'rtf learn: cam: EDF grants '* ]]
    is_policy "$WORKER" deadline
    holds cam '.grant.period <= 20000 and .grant.period >= 19900 and .grant.runtime >= 2200 and .grant.runtime < 20000'
    tail -n 1 "$WORK/out" | jq -e '.lifetime == "thread"'
    kill "$WORKER"
    eventually nothing_in "$OWN"
}

@test "rtf learn starts a command, and ends it" {
    rtf learn --for 1s -- "$RTF_STAGE/worker" "$WORK/home/truth" clock 10000 500 >"$WORK/out"
    jq -e '.jobs > 50' "$WORK/home/truth"
    tail -n 1 "$WORK/out" | jq -e '.period > 9800 and .period <= 10010'
    fails 127 'rtf learn: /no/such/command: *' rtf learn -- /no/such/command
}

@test "rtf learn refuses processes that it may not observe, and wrong usage" {
    fails 64 'rtf learn: a process id or a command is missing *' rtf learn
    fails 64 "rtf learn: sleep is no process id; 'rtf learn -- COMMAND' starts a command *" rtf learn sleep
    fails 64 'rtf learn: one process is enough; *' rtf learn 1 2
    fails 66 'rtf learn: there is no process 4194304, *' rtf learn 4194304
    fails 77 "rtf learn: process 1 is another user's" rtf learn 1
    fails 64 'rtf learn: --source x: it must be switches or samples' rtf learn --source x 1
    sleeper $ALICE
    run -65 rtf learn --for 300ms -w cam "$SLEEPER"
    [[ $output == *'sleeping: it has hardly run'*'rtf learn: no thread has a period, so there is nothing to reserve' ]]
}

# bats test_tags=turn:2
@test "the source samples needs no perf events" {
    sampled() {
        working clock 20000 3000 2000
        learn --for 4s --source samples
        says '.behaviour == "periodic" and .source == "samples"' && near period_ns 2 0 && near longest_ns 150 500000
    }
    once_of 3 sampled
    working clock 1000 100
    learn --for 1s --source samples
    says '.behaviour == "too-fast"'
}

# bats test_tags=turn:1
@test "cyclictest: the period of each thread, and one rule for their name" {
    command -v cyclictest >/dev/null || skip 'cyclictest is not here'
    (exec cyclictest --quiet --threads=2 --interval=4000 --distance=2000 --priority=3 3>&- >/dev/null 2>&1) &
    WORKER=$!
    echo "$WORKER" >>"$WORK/pids"
    is_testing() { [ "$(find "/proc/$WORKER/task" -mindepth 1 -maxdepth 1 | wc -l)" -eq 3 ]; }
    eventually is_testing
    is_known() {
        rtf_of 0 learn --for 3s --json "$WORKER" >"$WORK/out"
        says '[.threads[] | select(.period_ns > 3996000 and .period_ns < 4004000)] | length == 1' &&
            says '[.threads[] | select(.period_ns > 5994000 and .period_ns < 6006000)] | length == 1'
    }
    once_of 3 is_known
    says ".spec.process == $WORKER and .spec.lifetime == \"process\" and (.spec.threads | length == 1 and .[0].name == \"cyclictest\")"
    says '.spec.threads[0].period <= 4000 and .spec.threads[0].period >= 3980'
    # SIGKILL would leave a file in /dev/shm
    kill -INT "$WORKER"
    wait "$WORKER" || true
    [ ! -e "/dev/shm/cyclictest$WORKER" ]
}

# bats test_tags=turn:2
@test "several periodic threads: --write makes a program file with a rule for each name, and the broker attaches all" {
    broker_start
    become $ALICE /usr/bin/python3 -S -c '
import ctypes, threading, time
def work(name, period):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    due = time.monotonic()
    while True:
        end = time.thread_time() + 0.001
        while time.thread_time() < end:
            pass
        due += period
        time.sleep(max(0, due - time.monotonic()))
threading.Thread(target=work, args=(b"video", 0.04)).start()
work(b"au*io", 0.025)' 3>&- &
    WORKER=$!
    echo "$WORKER" >>"$WORK/pids"
    is_team() { [ "$(cat "/proc/$WORKER/task"/*/comm 2>/dev/null | sort | xargs -d '\n')" = 'au*io video' ]; }
    eventually is_team
    rtf learn --for 3s --json "$WORKER" -w team >"$WORK/out"
    says '.spec.threads | map(.name) | sort == ["au*io", "video"]'
    says '.spec.threads[] | select(.name == "video") | .period <= 40000 and .period >= 39500'
    for thread in "/proc/$WORKER/task"/*; do is_policy "${thread##*/}" deadline; done
    kill "$WORKER"
    eventually nothing_in "$OWN"
}

# bats test_tags=turn:0
@test "learning a program of 1 kHz takes at most 2 % of a CPU" {
    working clock 1000 100
    cheaply() {
        local TIMEFORMAT='%U %S' times
        times=$({ time rtf learn --for 5s "$WORKER" >/dev/null; } 2>&1)
        echo "$times" | awk '{ used = $1 + $2; print used " s of 5 s" >"/dev/stderr"; exit used > 0.1 + 0.06 }' # rtf is a shell script, and runs setpriv
    }
    once_of 3 cheaply
}

@test "page, --help and --version agree" { explains learn; }
