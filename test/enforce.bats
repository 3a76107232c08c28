# bats file_tags=lane:alone
# enforce=runtime: FIFO and RR threads get no more CPU time than their grant, and otherwise keep their policy and priority.
load helper

prepare() { configure_plugins 'FP fp 11-20 1 enforce=runtime' 'RR rr 1-10 1 enforce=runtime'; }

SPEC='{"plugin": "FP", "priority": 15, "runtime": "2ms", "period": "10ms"}'

# rival: starts an ordinary thread that uses nearly all the CPU time of ordinary threads on CPU 1: all but a hundredth
rival() {
    # shellcheck disable=SC2016 # the inner shell expands it
    nice -n -20 taskset -c 1 sh -c 'while [ -d "/proc/$1" ]; do :; done' sh $$ 3>&- &
    echo "$!" >>"$WORK/pids"
}

# granted NAME TID [SPEC]: grants Alice's spec, and attaches the thread
granted() {
    local spec=${3:-$SPEC}
    [ "$(field .result "$(spec $ALICE "$1" "${spec%\}}, \"attach\": $2}")")" = OK ]
}

# had TID: prints how many ms of 1,000 the thread ran. This shell may have to wait for a CPU, so the function measures the time, too.
had() {
    local before began
    began=$(milliseconds)
    before=$(consumed "$1")
    sleep 1
    echo $((($(consumed "$1") - before) * 1000 / ($(milliseconds) - began)))
}

# has_a_fifth TID: the thread has a fifth of CPU 1, 2 ms in 10, and not the whole CPU. Other load on the machine takes time from the thread, so the lower
# bound is far below a fifth.
has_a_fifth() {
    local ms
    ms=$(had "$1")
    echo "# of 1,000 ms it had $ms ms" >&3
    [ "$ms" -le 250 ]
    [ "$ms" -ge 100 ]
}

# Looks from the other CPU, because on CPU 1 no ordinary process runs while the thread is real-time.
seen() { taskset -c 0 "$RTF_STAGE/kernel-view" "$1"; }
is_suspended() { [[ $(seen "$1") == "other 0 "*" reset=1" ]]; }
is_in_force() { [[ $(seen "$1") == "fifo "*" cpus=1 reset=1" ]]; }
guard() { helpers rtf-guard; }

@test "a thread that never sleeps has its runtime in each period, and others the rest" {
    broker_start
    rival
    hog $ALICE
    renice -n 7 -p "$HOG" >/dev/null
    granted cam "$HOG"
    has_a_fifth "$HOG"
    eventually is_suspended "$HOG"
    eventually is_in_force "$HOG"
    [ "$(cut -d ' ' -f 19 "/proc/$HOG/stat")" = 7 ]
    eventually grep -q 'used up its 2000us.*"times":[1-9]' "$EVENTS"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_policy "$HOG" other
    [[ $(kernel "$HOG") == "other 0 nice=7 0/0/0 cpus=$ALL_CPUS reset="* ]]
}

@test "a thread under RR that never sleeps has its runtime in each period" {
    broker_start
    rival
    hog $ALICE
    granted cam "$HOG" '{"plugin": "RR", "priority": 5, "runtime": "2ms", "period": "10ms"}'
    has_a_fifth "$HOG"
}

@test "a spec without a runtime or a period, or with one that is too small, is refused with the key to add" {
    broker_start
    for spec in '{"plugin": "FP", "priority": 15}' '{"plugin": "FP", "priority": 15, "runtime": "2ms"}' '{"plugin": "FP", "priority": 15, "period": "10ms"}'; do
        answer=$(spec $ALICE cam "$spec")
        [ "$(field .result "$answer")" = SCHEDULE_FAIL ]
        [[ $(field .reason "$answer") == *'state "runtime", and "period" or "deadline"'* ]]
    done
    for spec in '{"plugin": "FP", "priority": 15, "runtime": 99, "period": "10ms"}' '{"plugin": "FP", "priority": 15, "runtime": 100, "period": 999}'; do
        answer=$(spec $ALICE cam "$spec")
        [ "$(field .result "$answer")" = SCHEDULE_FAIL ]
        [[ $(field .reason "$answer") == *'the runtime must be at least 100us, and the period or deadline at least 1000us'* ]]
    done
    [ "$(field .result "$(spec $ALICE cam '{"plugin": "FP", "priority": 15, "runtime": 100, "deadline": "1ms"}')")" = OK ]
}

# bats test_tags=turn:2
@test "a thread with 100 us in 1 ms has no more, and costs the guard at most 500 wakeups per second, and one that keeps to its runtime loses nothing" {
    broker_start
    rival
    hog $ALICE
    granted cam "$HOG" '{"plugin": "FP", "priority": 15, "runtime": "100us", "period": "1ms"}'
    sleep 2 # the guard lets a thread catch up for a second
    once_of 5 is_held "$HOG"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    compile_once "$RTF_SOURCE/test/experiments/jobs.c"
    once_of 6 is_on_time
}

# is_on_time: of 1,000 jobs of 50 us, one in each ms, at most 100 are late
is_on_time() {
    local jobs late
    become $ALICE "$RTF_STAGE/jobs" "$(($(awk '{ print int($1 * 1000) }' /proc/uptime) * 1000 + 3000000))" 1000 1000 0:50 3>&- >"$WORK/times" &
    jobs=$!
    echo "$jobs" >>"$WORK/pids"
    eventually is_jobs "$jobs"
    granted cam "$jobs" '{"plugin": "FP", "priority": 15, "runtime": "100us", "period": "1ms"}'
    wait $jobs
    late=$(awk '$3 - $1 > 1000' "$WORK/times" | wc -l)
    echo "# $late of $(wc -l <"$WORK/times") jobs were late" >&3
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    [ "$(wc -l <"$WORK/times")" -eq 1000 ] && [ "$late" -le 100 ]
}

# is_held TID: the thread gets at most 100 ms of 1,000 ms, and 10 ms as an ordinary thread; the guard wakes twice in 4 ms
is_held() {
    local ms before after began
    began=$(milliseconds)
    before=$(wakeups)
    ms=$(had "$1")
    after=$((($(wakeups) - before) * 1000 / ($(milliseconds) - began)))
    echo "# of 1,000 ms it had $ms ms; the guard woke $after times" >&3
    [ "$ms" -le 110 ] && [ "$after" -ge 100 ] && [ "$after" -le 600 ]
}
wakeups() { awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$(guard)/status"; }

@test "a spec with a deadline and no period is enforced, released and paid back, too" {
    broker_start
    hog $ALICE
    granted cam "$HOG" '{"plugin": "FP", "priority": 15, "runtime": "5ms", "deadline": "50ms"}'
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    kill -0 "$BROKER"
    [ "$(field .result "$(spec $ALICE cam '{"plugin": "FP", "priority": 15, "runtime": "5ms", "deadline": "50ms"}')")" = OK ]
}

@test "enforce=none, and a line without the word, enforce nothing" {
    configure_plugins 'FP fp 11-20 1 enforce=none' 'RR rr 1-10 1'
    broker_start
    [ "$(field .result "$(spec $ALICE cam '{"plugin": "FP", "priority": 15}')")" = OK ]
    hog $ALICE
    granted hog "$HOG"
    ms=$(had "$HOG")
    [ "$ms" -ge 500 ]
}

# bats test_tags=turn:0
@test "other words are wrong" {
    for word in enforce=no enforce= enforce=runtimes; do
        configure_plugins "FP fp 11-20 1 $word"
        run "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
        [ "$status" -eq 78 ]
        [[ $output == *"enforce= takes runtime, process or none"* ]]
    done
    configure_plugins 'EDF edf - 1 partition=unthrottled enforce=runtime'
    run "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
    [ "$status" -eq 78 ]
    [[ $output == *"under SCHED_DEADLINE the kernel enforces runtimes"* ]]
}

# bats test_tags=turn:1
@test "a thread that keeps to its runtime is never suspended, however others delay it" {
    configure_plugins 'FP fp 1-20 1 enforce=runtime'
    compile_once "$RTF_SOURCE/test/experiments/jobs.c"
    broker_start
    rival
    hog $BOB
    [ "$(field .result "$(spec $BOB high "{\"plugin\": \"FP\", \"priority\": 20, \"runtime\": \"2ms\", \"period\": \"10ms\", \"attach\": $HOG}")")" = OK ]
    once_of 6 keeps_to_its_runtime
}

keeps_to_its_runtime() {
    local jobs
    become $ALICE "$RTF_STAGE/jobs" "$(($(awk '{ print int($1 * 1000) }' /proc/uptime) * 1000 + 1000000))" 10000 100 0:2800 3>&- >"$WORK/times" &
    jobs=$!
    echo "$jobs" >>"$WORK/pids"
    eventually is_jobs "$jobs"
    granted cam "$jobs" '{"plugin": "FP", "priority": 15, "runtime": "3ms", "period": "10ms"}'
    wait $jobs
    echo "# $(awk '$3 - $1 > 10000' "$WORK/times" | wc -l) of $(wc -l <"$WORK/times") jobs were late" >&3
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    [ "$(wc -l <"$WORK/times")" -eq 100 ] &&
        jq -e --slurp --argjson tid "$jobs" 'map(select(.tid == $tid and (.reason // "" | test("used up")))) == []' "$EVENTS" >/dev/null
}

# bats test_tags=turn:2
@test "a broker that is killed while a thread is suspended brings it back" {
    broker_start
    rival
    hog $ALICE
    granted cam "$HOG"
    for _ in 1 2 3; do
        eventually is_suspended "$HOG"
        kill -KILL "$BROKER"
        wait "$BROKER" 2>/dev/null || true
        eventually none_of_ours
        broker_start
        eventually is_in_force "$HOG"
    done
    has_a_fifth "$HOG"
}

# bats test_tags=turn:0
@test "a guard that is killed is started again, and goes on" {
    broker_start
    rival
    hog $ALICE
    granted cam "$HOG"
    for _ in 1 2; do
        eventually is_suspended "$HOG"
        old=$(guard)
        kill -KILL "$old"
        eventually is_another_guard "$old"
    done
    eventually is_in_force "$HOG"
    eventually is_suspended "$HOG"
    has_a_fifth "$HOG"
    grep -q 'the guard is started again: it ended' "$EVENTS"
}
is_another_guard() { local now; now=$(guard) && [ "$now" != "$1" ]; }

# bats test_tags=turn:1
@test "SIGTERM puts back a suspended thread, SIGINT leaves all threads in force, and a restart goes on" {
    broker_start
    rival
    hog $ALICE
    granted cam "$HOG"
    eventually is_suspended "$HOG"
    broker_stop INT
    is_in_force "$HOG"
    broker_start
    has_a_fifth "$HOG"
    eventually is_suspended "$HOG"
    broker_stop TERM
    [[ $(kernel "$HOG") == "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset="* ]]
    broker_start
    eventually is_suspended "$HOG"
}

# bats test_tags=turn:2
@test "a thread gains no runtime when its spec is changed again and again" {
    broker_start
    rival
    hog $ALICE
    granted cam "$HOG"
    before=$(consumed "$HOG") from=$(milliseconds)
    for turn in $(seq 60); do
        granted cam "$HOG" "{\"plugin\": \"FP\", \"priority\": $((11 + turn % 9)), \"runtime\": \"2ms\", \"period\": \"10ms\"}"
    done
    took=$(($(milliseconds) - from)) ran=$(($(consumed "$HOG") - before))
    echo "# 60 changes in $took ms, and $ran ms of them had" >&3
    [ $((ran * 100)) -le $((took * 35)) ]
}

# bats test_tags=turn:0
@test "a fresh thread of the same reservation gains no runtime" {
    broker_start
    rival
    hog $ALICE
    one=$HOG
    hog $ALICE
    other=$HOG
    from=$(milliseconds)
    granted cam "$one" '{"plugin": "FP", "priority": 15, "runtime": "50ms", "period": "500ms"}'
    eventually is_suspended "$one"
    granted cam "$other" '{"plugin": "FP", "priority": 15, "runtime": "50ms", "period": "500ms"}'
    [ $(($(milliseconds) - from)) -ge 450 ] # the period began when the first thread was attached
}

# granted_unreadable PROGRAM: attaches a thread, $TID, to cam. When $WORK/go has a line, the thread becomes this program, which no user may read.
granted_unreadable() {
    chown $ALICE "$WORK/$1"
    chmod 0100 "$WORK/$1"
    mkfifo -m 666 "$WORK/go"
    # shellcheck disable=SC2016 # the inner shell expands it
    become $ALICE sh -c 'read -r _ <"$1"; exec "$2"' sh "$WORK/go" "$WORK/$1" 3>&- &
    TID=$!
    echo "$TID" >>"$WORK/pids"
    eventually is_sh "$TID"
    granted cam "$TID"
}

# bats test_tags=turn:1
@test "a program that no user may read is held to its runtime as any other" {
    cc -O2 -x c -o "$WORK/spin" - <<<'int main(void) { for (;;) ; }'
    broker_start
    rival
    granted_unreadable spin
    echo >"$WORK/go"
    eventually is_spin "$TID"
    has_a_fifth "$TID"
}

# A program that its user cannot read (granted_unreadable): its execve(2) takes the kernel's counter of the thread's runtime away from the guard.
@test "a thread is ordinary while no perf event counts its runtime" {
    cc -O2 -x c -o "$WORK/rest" - <<<'#include <unistd.h>
        int main(void) { for (;;) pause(); }'
    broker_start
    granted_unreadable rest
    is_policy "$TID" fifo
    kill -STOP "$BROKER"
    echo >"$WORK/go"
    is_rest() { [ "$(<"/proc/$TID/comm")" = rest ]; }
    eventually is_rest
    eventually is_policy "$TID" other
    kill -CONT "$BROKER"
    eventually is_policy "$TID" fifo
}
is_jobs() { [ "$(cat "/proc/$1/comm")" = jobs ]; }
is_spin() { [ "$(cat "/proc/$1/comm")" = spin ]; }

# bats test_tags=turn:2
@test "the books, the journal and the kernel agree while a thread is suspended and in force in turn" {
    broker_start
    rival
    hog $ALICE
    granted cam "$HOG"
    sleeper $ALICE
    granted still "$SLEEPER"
    invariants
    kill -USR1 "$BROKER"
    eventually [ -e "$SPOOL/state/current/books.json" ]
    [ "$(jq -r '.reservations[] | select(.name == "still").thread.enforcement' "$SPOOL/state/current/books.json")" = 'in force' ]
}

# bats test_tags=turn:0
@test "a thread that sleeps does not wake the guard" {
    broker_start
    sleeper $ALICE
    granted cam "$SLEEPER"
    has_slept() { grep -q '^State:.S' "/proc/$(guard)/status"; }
    eventually has_slept
    before=$(awk '/ctxt_switches/ { sum += $2 } END { print sum }' "/proc/$(guard)/status")
    sleep 2
    [ "$(awk '/ctxt_switches/ { sum += $2 } END { print sum }' "/proc/$(guard)/status")" -eq "$before" ]
}

# bats test_tags=turn:1
@test "when a line begins to enforce, grants without a runtime are asked again, and threads with a runtime are held to it" {
    configure_plugins 'FP fp 11-20 1'
    broker_start
    rival
    sleeper $ALICE
    granted none "$SLEEPER" '{"plugin": "FP", "priority": 15}'
    hog $ALICE
    granted cam "$HOG"
    broker_stop INT
    configure_plugins 'FP fp 11-20 1 enforce=runtime'
    broker_start
    eventually is_refused none
    is_policy "$SLEEPER" other
    has_a_fifth "$HOG"
}
is_refused() { [ "$(field .result "$(verdict $ALICE "$1")")" = SCHEDULE_FAIL ]; }
