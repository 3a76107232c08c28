# rtf-attach(8) and rtf-detach(8) by hand: a thread becomes real-time, and afterwards has its former attributes.
load helper

prepare() {
    ATTACH=$RTF_LIBEXEC/rtf-attach
    DETACH=$RTF_LIBEXEC/rtf-detach
    LAST_CPU=${ALL_CPUS##*[-,]}
    CGROUP=
    FIFO="policy=fifo priority=10 cpus=$LAST_CPU"
    RR="policy=rr priority=3 cpus=0"
    DEADLINE="policy=deadline runtime=1000 deadline=10000 period=20000 cpus=$ALL_CPUS"
}

tidy() {
    if [ -n "${COUNT_ANEW:-}" ]; then count_anew; fi
    if [ -n "$CGROUP" ]; then
        while read -r pid; do echo "$pid" >"${CGROUP%/*}/cgroup.procs" || true; done <"$CGROUP/cgroup.procs"
        rmdir "$CGROUP"
    fi
}

# refuses STATUS PATTERN PROGRAM WORD...: the program exits with the status, and prints one line on standard error that matches the pattern.
refuses() {
    local expected=$1 pattern=$2 status=0
    shift 2
    "$@" </dev/null >"$WORK/out" 2>"$WORK/err" || status=$?
    # shellcheck disable=SC2053 # it is a pattern
    [ "$status" -eq "$expected" ] && [ "$(wc -l <"$WORK/err")" -eq 1 ] && [[ $(<"$WORK/err") == $pattern ]] && return 0
    printf 'status %s, expected %s; said: %s\n' "$status" "$expected" "$(<"$WORK/err")" >&2
    return 1
}

# attached TID WORD...: attaches the thread; $WORK/former has its attributes before. Other real-time
# threads of the machine may have the kernel's room for SCHED_DEADLINE for a moment.
attached() {
    local tid=$1
    shift
    # shellcheck disable=SC2068 # words
    "$ATTACH" "tid=$tid" $@ >"$WORK/former" 2>"$WORK/err" || { cat "$WORK/err" >&2; return 1; }
}

# everything TID: prints the attributes, and the nice value that the kernel keeps while the thread is real-time.
everything() { echo "$(kernel "$1") own-nice=$(awk '{ sub(/.*\) /, ""); print $17 }' "/proc/$1/stat")"; }

# round_trips TID: attaches the thread with each policy and detaches it again. The thread is then as before.
round_trips() {
    local tid=$1 before
    before=$(everything "$tid")
    eventually attached "$tid" "$FIFO"
    [ "$(kernel "$tid")" = "fifo 10 nice=0 0/0/0 cpus=$LAST_CPU reset=1" ] || return 1
    "$DETACH" <"$WORK/former"
    same "$before" "$tid" fifo || return 1
    eventually attached "$tid" "$RR"
    [ "$(kernel "$tid")" = "rr 3 nice=0 0/0/0 cpus=0 reset=1" ] || return 1
    "$DETACH" <"$WORK/former"
    same "$before" "$tid" rr || return 1
    eventually attached "$tid" "$DEADLINE"
    [ "$(kernel "$tid")" = "deadline 0 nice=0 1000/10000/20000 cpus=$ALL_CPUS reset=1" ] || return 1
    "$DETACH" <"$WORK/former"
    same "$before" "$tid" deadline
}

same() { [ "$(everything "$2")" = "$1" ] || { echo "before: $1; after $3: $(everything "$2")" >&2; return 1; }; }

@test "an ordinary thread, and one with a nice value, go there and back" {
    sleeper
    round_trips "$SLEEPER"
    for nice in 7 19 -5 -20; do
        renice -n "$nice" -p "$SLEEPER" >/dev/null
        round_trips "$SLEEPER"
    done
}

@test "a batch thread goes there and back" {
    sleeper
    renice -n 3 -p "$SLEEPER" >/dev/null
    chrt -b -p 0 "$SLEEPER"
    [[ $(kernel "$SLEEPER") == "batch 0 nice=3 "* ]]
    round_trips "$SLEEPER"
}

@test "an idle thread goes there and back" {
    sleeper
    chrt -i -p 0 "$SLEEPER"
    round_trips "$SLEEPER"
    renice -n 4 -p "$SLEEPER" >/dev/null
    round_trips "$SLEEPER"
}

@test "threads that were real-time before go there and back, with and without reset-on-fork" {
    sleeper
    chrt -f -p 7 "$SLEEPER"
    round_trips "$SLEEPER"
    chrt -R -f -p 7 "$SLEEPER"
    [[ $(kernel "$SLEEPER") == "fifo 7 "*"reset=1" ]]
    round_trips "$SLEEPER"
    chrt -r -p 9 "$SLEEPER"
    round_trips "$SLEEPER"
    renice -n 6 -p "$SLEEPER" >/dev/null
    round_trips "$SLEEPER"
}

@test "a thread that was under SCHED_DEADLINE before goes there and back" {
    sleeper
    renice -n 6 -p "$SLEEPER" >/dev/null
    chrt -d -T 2000000 -D 30000000 -P 40000000 -p 0 "$SLEEPER"
    [[ $(kernel "$SLEEPER") == "deadline 0 nice=0 2000/30000/40000 "* ]]
    round_trips "$SLEEPER"
    "$DETACH" tid="$SLEEPER" policy=other nice=0 cpus="$ALL_CPUS" # otherwise the kernel would lose the thread's bandwidth (CAVEATS in rtf-attach(8))
}

@test "a narrowed affinity comes back" {
    sleeper
    taskset -cp "$LAST_CPU" "$SLEEPER" >/dev/null
    round_trips "$SLEEPER"
    taskset -cp 0 "$SLEEPER" >/dev/null
    chrt -f -p 7 "$SLEEPER"
    round_trips "$SLEEPER"
}

@test "rtf-attach | rtf-detach in one pipeline leaves the thread as it was" {
    sleeper
    renice -n 7 -p "$SLEEPER" >/dev/null
    for words in "$FIFO" "$RR" "$DEADLINE" "$FIFO" "$RR" "$FIFO" "$RR" "$FIFO" "$RR"; do
        # shellcheck disable=SC2086 # words
        "$ATTACH" tid="$SLEEPER" $words | "$DETACH"
        [ "${PIPESTATUS[*]}" = '0 0' ]
        [ "$(kernel "$SLEEPER")" = "other 0 nice=7 0/0/0 cpus=$ALL_CPUS reset=0" ]
    done
}

@test "rtf-attach prints a paragraph with id, start time and the former attributes" {
    sleeper
    renice -n 7 -p "$SLEEPER" >/dev/null
    attached "$SLEEPER" "$FIFO"
    start=$(awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$SLEEPER/stat")
    [ "$(cat "$WORK/former"; echo .)" = "$(printf 'tid=%s\nstart=%s\npolicy=other\nnice=7\ncpus=%s\n\n.' "$SLEEPER" "$start" "$ALL_CPUS")" ]
    attached "$SLEEPER" "$RR"
    [ "$(cat "$WORK/former"; echo .)" = "$(printf 'tid=%s\nstart=%s\npolicy=fifo\nreset_on_fork=1\npriority=10\nnice=7\ncpus=%s\n\n.' "$SLEEPER" "$start" "$LAST_CPU")" ]
    eventually attached "$SLEEPER" "$DEADLINE"
    attached "$SLEEPER" "$RR"
    [ "$(cat "$WORK/former"; echo .)" = "$(printf 'tid=%s\nstart=%s\npolicy=deadline\nreset_on_fork=1\nnice=7\nruntime=1000\ndeadline=10000\nperiod=20000\ncpus=%s\n\n.' "$SLEEPER" "$start" "$ALL_CPUS")" ]
}

@test "rtf-detach takes the lines as words too" {
    sleeper
    renice -n 7 -p "$SLEEPER" >/dev/null
    attached "$SLEEPER" "$FIFO"
    mapfile -t words <"$WORK/former"
    "$DETACH" "${words[@]:0:5}"
    [ "$(kernel "$SLEEPER")" = "other 0 nice=7 0/0/0 cpus=$ALL_CPUS reset=0" ]
    "$DETACH" tid="$SLEEPER" policy=batch nice=-3 cpus=0
    [ "$(kernel "$SLEEPER")" = "batch 0 nice=-3 0/0/0 cpus=0 reset=0" ]
    "$DETACH" tid="$SLEEPER" policy=fifo priority=4 reset_on_fork=1 cpus=0
    [ "$(kernel "$SLEEPER")" = "fifo 4 nice=0 0/0/0 cpus=0 reset=1" ]
}

@test "one thread of several: the others are left alone" {
    /usr/bin/python3 -S -c '
import sys, threading, time
thread = threading.Thread(target=time.sleep, args=(300,), daemon=True)
thread.start()
open(sys.argv[1], "w").write(f"{thread.native_id}\n")
time.sleep(300)' "$WORK/tid" >/dev/null 2>&1 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -s "$WORK/tid"
    tid=$(cat "$WORK/tid")
    attached "$tid" "$FIFO"
    [[ $(kernel "$tid") == "fifo 10 "* ]]
    [[ $(kernel $!) == "other "*" cpus=$ALL_CPUS "* ]]
    "$DETACH" <"$WORK/former"
    [[ $(kernel "$tid") == "other "* ]]
}

@test "children of an attached thread are ordinary" {
    mkfifo "$WORK/go"
    sh -c "read line <$WORK/go; sleep 300 & echo \$! >$WORK/child; wait" >/dev/null 2>&1 3>&- &
    parent=$!
    echo "$parent" >>"$WORK/pids"
    eventually attached "$parent" "$DEADLINE"
    echo >"$WORK/go"
    eventually test -s "$WORK/child"
    child=$(cat "$WORK/child")
    echo "$child" >>"$WORK/pids"
    [[ $(kernel "$child") == "other 0 nice=0 "*" reset=0" ]]
    "$DETACH" <"$WORK/former"
}

# orphan: starts a process, $ORPHAN, with a parent that does not wait for it.
orphan() {
    sh -c "sleep $SLEEPS & echo \$! >$WORK/orphan; exec sleep $SLEEPS" >/dev/null 2>&1 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -s "$WORK/orphan"
    ORPHAN=$(<"$WORK/orphan")
    echo "$ORPHAN" >>"$WORK/pids"
    eventually is_sleep "$ORPHAN"
}

@test "66: there is no such thread, or it has ended" {
    sleeper
    gone=$SLEEPER
    start=$(awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$gone/stat")
    orphan
    kill -KILL "$ORPHAN"
    eventually is_zombie "$ORPHAN"
    kill "$gone"
    wait "$gone" || true
    for program in "$ATTACH" "$DETACH"; do
        name=${program##*/}
        # shellcheck disable=SC2086 # words
        refuses 66 "$name: thread $gone: No such process" "$program" tid="$gone" $FIFO
        # shellcheck disable=SC2086 # words
        refuses 66 "$name: thread $gone: No such process" "$program" tid="$gone" start="$start" $FIFO
        # shellcheck disable=SC2086 # words
        refuses 66 "$name: the thread has ended" "$program" tid="$ORPHAN" $FIFO
        # shellcheck disable=SC2086 # words
        refuses 66 "$name: thread 2147483647: No such process" "$program" tid=2147483647 $FIFO
    done
}


@test "66: the id was reused: a thread with another start time is not touched" {
    sleeper
    start=$(awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$SLEEPER/stat")
    for program in "$ATTACH" "$DETACH"; do
        for wrong in 0 1 $((start + 1)) $((start - 1)) 18446744073709551615; do
            # shellcheck disable=SC2086 # words
            refuses 66 "${program##*/}: thread $SLEEPER has ended and its id was reused" "$program" tid="$SLEEPER" start="$wrong" $FIFO
            [ ! -s "$WORK/out" ]
        done
        [ "$(kernel "$SLEEPER")" = "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0" ]
    done
    attached "$SLEEPER" "start=$start $FIFO"
    [[ $(kernel "$SLEEPER") == "fifo 10 "* ]]
}

@test "77: a kernel thread is refused and left as it is" {
    before=$(kernel 2)
    # shellcheck disable=SC2086 # words
    refuses 77 'rtf-attach: thread 2 is a kernel thread' "$ATTACH" tid=2 $FIFO
    # shellcheck disable=SC2086 # words
    refuses 77 'rtf-attach: thread 2 is a kernel thread' "$ATTACH" tid=2 $DEADLINE
    [ "$(kernel 2)" = "$before" ]
}

@test "64: words that are missing or wrong are named, and nothing is printed or done" {
    sleeper
    tid=tid=$SLEEPER
    wrong() {
        local pattern=$1
        shift
        refuses 64 "rtf-attach: $pattern" "$ATTACH" "$@" && [ ! -s "$WORK/out" ]
    }
    wrong 'tid= is needed, a thread id in decimal' policy=fifo priority=10 cpus=0
    for text in '' 0 -1 x 1x 4294967296 99999999999999999999; do
        wrong 'tid= is needed, a thread id in decimal' "tid=$text" policy=fifo priority=10 cpus=0
    done
    for text in '' -1 x 1.5; do wrong '*start*' $tid "start=$text" policy=fifo priority=10 cpus=0; done
    wrong '*policy=*' $tid
    wrong '*policy=*' $tid priority=10 cpus=0
    wrong '*cpus=*' $tid policy=fifo priority=10
    for text in other batch idle FIFO '' 1; do wrong '*policy*' $tid "policy=$text" priority=10 cpus=0; done
    for text in '' x 1- -1 1-0 0,,1 0-99999; do wrong '*cpus=*' $tid policy=fifo priority=10 "cpus=$text"; done
    for text in '' 100 -1 x 1.5; do wrong '*priority=*' $tid policy=fifo "priority=$text" cpus=0; done
    wrong '*priority=*' $tid policy=fifo cpus=0
    wrong '*priority=*' $tid policy=rr cpus=0
    for words in '' 'runtime=1000' 'runtime=1000 period=20000' 'runtime=1ms deadline=20ms period=20ms' 'deadline=20000 period=20000'; do
        # shellcheck disable=SC2086 # words
        wrong '*runtime=*' $tid policy=deadline $words cpus="$ALL_CPUS"
    done
    wrong '*KEY=VALUE*' $tid policy
    wrong '*KEY=VALUE*' $tid policy=fifo priority=10 cpus=0 tid=1
    wrong '*KEY=VALUE*' $tid policy=fifo priority=10 cpus=0 TID=1
    wrong '*KEY=VALUE*' $tid policy=fifo priority=10 ''
    [ "$(kernel "$SLEEPER")" = "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0" ]
    run "$ATTACH"
    [ "$status" -eq 64 ]
    run "$ATTACH" --no-such-option
    [ "$status" -eq 64 ]
}

@test "64: rtf-detach names the keys that standard input lacks" {
    sleeper
    for text in '' 'policy=other' 'tid=1\n' "tid=$SLEEPER\npolicy\n\n" '\n' 'x\0y\n\n'; do
        status=0
        # shellcheck disable=SC2059 # it is a format
        printf "$text" | "$DETACH" >"$WORK/out" 2>"$WORK/err" || status=$?
        [ "$status" -eq 64 ]
        [ "$(wc -l <"$WORK/err")" -eq 1 ]
        [[ $(<"$WORK/err") == "rtf-detach: standard input: "* ]]
    done
    refuses 64 'rtf-detach: policy= and cpus= are needed, and nice= within*' "$DETACH" tid="$SLEEPER"
    refuses 64 'rtf-detach: *nice*' "$DETACH" tid="$SLEEPER" policy=other nice=20 cpus=0
    refuses 64 'rtf-detach: tid= is needed, *' "$DETACH" policy=other cpus=0
}

@test "77: priorities and times outside the kernel's bounds; the thread is as it was" {
    sleeper
    renice -n 7 -p "$SLEEPER" >/dev/null
    taskset -cp "$LAST_CPU" "$SLEEPER" >/dev/null
    before=$(kernel "$SLEEPER")
    for times in 'runtime=1 deadline=10000 period=10000' 'runtime=20000 deadline=10000 period=20000' \
        'runtime=1000 deadline=20000 period=10000' 'runtime=1000 deadline=5000000 period=5000000'; do
        # shellcheck disable=SC2086 # words
        refuses 77 'rtf-attach: the kernel refuses deadline with *' "$ATTACH" tid="$SLEEPER" policy=deadline $times cpus="$ALL_CPUS"
        [ "$(kernel "$SLEEPER")" = "$before" ]
    done
}

@test "77: CPUs that are offline or outside the thread's cpuset; the thread is as it was" {
    sleeper
    renice -n 7 -p "$SLEEPER" >/dev/null
    before=$(kernel "$SLEEPER")
    refuses 77 "rtf-attach: thread $SLEEPER may not run on CPU 1000: offline, or outside the cpuset of the thread" \
        "$ATTACH" tid="$SLEEPER" policy=fifo priority=10 cpus=1000
    [ "$(kernel "$SLEEPER")" = "$before" ]
    refuses 77 "rtf-attach: some of the CPUs 0,1000 are offline or outside the cpuset of thread $SLEEPER" \
        "$ATTACH" tid="$SLEEPER" policy=rr priority=10 cpus=0,1000
    [ "$(kernel "$SLEEPER")" = "$before" ]
}

# bats test_tags=machine
@test "77: SCHED_DEADLINE on fewer CPUs than the scheduling domain has is explained" {
    sleeper
    before=$(kernel "$SLEEPER")
    refuses 77 'rtf-attach: the kernel wants a SCHED_DEADLINE thread to be allowed on its whole scheduling domain, and the CPUs 0 are only a part of this domain' \
        "$ATTACH" tid="$SLEEPER" policy=deadline runtime=1000 deadline=10000 period=10000 cpus=0
    [ "$(kernel "$SLEEPER")" = "$before" ]
}

@test "77: without root, rtf-attach is refused with the true reason" {
    sleeper $ALICE
    # shellcheck disable=SC2086 # words
    refuses 77 "rtf-attach: *Operation not permitted*" as $ALICE "$ATTACH" tid="$SLEEPER" $FIFO
    # shellcheck disable=SC2086 # words
    refuses 77 "rtf-attach: *Operation not permitted*" as $ALICE "$ATTACH" tid="$SLEEPER" $DEADLINE
    sleeper $BOB
    # shellcheck disable=SC2086 # words
    refuses 77 "rtf-attach: *Operation not permitted*" as $ALICE "$ATTACH" tid="$SLEEPER" $FIFO
    [ "$(kernel "$SLEEPER")" = "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0" ]
}

# bats test_tags=machine
@test "77: the kernel's own admission test has no room: its numbers are told" {
    # Each thread takes all of a CPU, so the last thread finds no room.
    sleepers=()
    for ((i = 0; i < $(nproc); i++)); do
        sleeper
        sleepers+=("$SLEEPER")
    done
    for tid in "${sleepers[@]}"; do
        "$ATTACH" tid="$tid" policy=deadline runtime=20000 deadline=20000 period=20000 cpus="$ALL_CPUS" >"$WORK/former.$tid" 2>"$WORK/err" || break
    done
    for tid in "${sleepers[@]}"; do
        if [ -s "$WORK/former.$tid" ]; then "$DETACH" <"$WORK/former.$tid"; fi
    done
    [[ $(<"$WORK/err") == "rtf-attach: the kernel's own admission test refuses 1 of a CPU ("*[0-9]*"): "* ]]
    [ "$(kernel "$tid")" = "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0" ]
}

account_is_below_zero() { with_debugfs grep -q 'total_bw *: -' /sys/kernel/debug/sched/debug; }

# The kernel counts a thread that was made ordinary with its runtime used up until the thread's period ends. If the kernel counts its sum anew
# meanwhile, the sum does not include this thread; afterwards the kernel subtracts the thread's bandwidth from the sum all the same.
# bats test_tags=machine
@test "77: the kernel's sum is below zero: rtf-attach names a remedy, and the remedy helps" {
    hog 0
    chrt --deadline --sched-runtime 900000000 --sched-period 1000000000 --pid 0 "$HOG"
    eventually has_consumed "$HOG" $(($(consumed "$HOG") + 900))
    chrt --other --pid 0 "$HOG"
    count_anew
    eventually has_consumed "$HOG" $(($(consumed "$HOG") + 1000))
    COUNT_ANEW=yes
    account_is_below_zero || skip "this kernel counts right"
    sleeper
    refuses 77 "rtf-attach: the kernel's own admission test refuses 0.1 of a CPU (its sum is below zero: it admits no thread until sched_rt_runtime_us is written again): *" \
        with_debugfs "$ATTACH" tid="$SLEEPER" policy=deadline runtime=1000 deadline=10000 period=10000 cpus="$ALL_CPUS"
    count_anew
    "$ATTACH" tid="$SLEEPER" policy=deadline runtime=1000 deadline=10000 period=10000 cpus="$ALL_CPUS" >"$WORK/former"
    "$DETACH" <"$WORK/former"
}

# bats test_tags=machine
@test "77: a cpu cgroup without real-time runtime is named; SCHED_DEADLINE is not concerned" {
    [ -w /sys/fs/cgroup/cpu/cpu.rt_runtime_us ] || skip "this kernel has no real-time group scheduling"
    CGROUP=$(mktemp -d /sys/fs/cgroup/cpu/rtf-test.XXXXXX)
    sleeper
    echo "$SLEEPER" >"$CGROUP/cgroup.procs"
    before=$(kernel "$SLEEPER")
    for words in "$FIFO" "$RR"; do
        # shellcheck disable=SC2086 # words
        refuses 77 "rtf-attach: thread $SLEEPER is in the cpu cgroup /${CGROUP##*/}, which has no real-time runtime (cpu.rt_runtime_us)" \
            "$ATTACH" tid="$SLEEPER" $words
        [ "$(kernel "$SLEEPER")" = "$before" ]
    done
    eventually attached "$SLEEPER" "$DEADLINE"
    "$DETACH" <"$WORK/former"
    # The remedy that rtf-brokerd(8) names.
    echo 10000 >"$CGROUP/cpu.rt_runtime_us"
    attached "$SLEEPER" "$FIFO"
    "$DETACH" <"$WORK/former"
    [ "$(kernel "$SLEEPER")" = "$before" ]
}

@test "no bandwidth is lost: half a CPU for a sleeping thread, sixty times" {
    # A thread that sleeps when it is demoted would leave half a CPU in the kernel's account each time.
    sleeper
    for ((i = 0; i < 60; i++)); do
        eventually attached "$SLEEPER" "policy=deadline runtime=5000 deadline=10000 period=10000 cpus=$ALL_CPUS"
        "$DETACH" <"$WORK/former"
    done
    for ((i = 0; i < 60; i++)); do
        eventually attached "$SLEEPER" "policy=deadline runtime=5000 deadline=10000 period=10000 cpus=$ALL_CPUS"
        attached "$SLEEPER" "$FIFO"
        "$DETACH" tid="$SLEEPER" policy=other nice=0 cpus="$ALL_CPUS"
    done
}

@test "a running thread can be demoted, and attached again a little later" {
    timeout 20 sh -c 'while :; do :; done' >/dev/null 2>&1 3>&- &
    hog=$(eventually_child $!)
    echo "$hog" >>"$WORK/pids"
    for ((i = 0; i < 5; i++)); do
        eventually attached "$hog" "policy=deadline runtime=4000 deadline=10000 period=10000 cpus=$ALL_CPUS"
        [[ $(kernel "$hog") == "deadline 0 nice=0 4000/10000/10000 "* ]]
        "$DETACH" <"$WORK/former"
        [[ $(kernel "$hog") == "other "* ]]
    done
    kill "$hog"
}

eventually_child() { eventually pgrep -P "$1"; }

@test "rtf-attach prints the former attributes before it changes any: if the output fails, the thread stays as it is" {
    sleeper
    status=0
    # shellcheck disable=SC2086 # words
    "$ATTACH" tid="$SLEEPER" $FIFO >/dev/full 2>"$WORK/err" || status=$?
    [ "$status" -ne 0 ]
    [ -s "$WORK/err" ]
    [[ $(kernel "$SLEEPER") == "other "* ]]
}

@test "rtf-detach after the end of the thread, or twice, does no harm" {
    sleeper
    attached "$SLEEPER" "$FIFO"
    "$DETACH" <"$WORK/former"
    "$DETACH" <"$WORK/former"
    [ "$(kernel "$SLEEPER")" = "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0" ]
    kill "$SLEEPER"
    wait "$SLEEPER" || true
    status=0
    "$DETACH" <"$WORK/former" 2>"$WORK/err" || status=$?
    [ "$status" -eq 66 ]
}

# stopped_at CALL PROGRAM WORD...: starts the program, which stops at its first such call. $STOPPED is the program, $TRACER its tracer.
stopped_at() {
    strace -f -o "$WORK/trace" -e "trace=$1" -e "inject=$1:signal=STOP:when=1" "${@:2}" <"$WORK/former" >"$WORK/out" 2>"$WORK/err" 3>&- &
    TRACER=$!
    echo "$TRACER" >>"$WORK/pids"
    eventually grep -qs 'stopped by SIGSTOP' "$WORK/trace"
    STOPPED=$(children "$TRACER")
    echo "$STOPPED" >>"$WORK/pids"
}

# ends_meanwhile THREAD: ends the thread while the program is stopped. The program then reports that the thread has ended.
ends_meanwhile() {
    kill -KILL "$1"
    eventually is_zombie "$1"
    kill -CONT "$STOPPED"
    wait "$TRACER" || [ $? -eq 66 ]
    [[ $(kernel "$1") == "other "* ]] || { kernel "$1"; return 1; }
}

# When a thread ends, the kernel lowers the number of SCHED_DEADLINE threads in its cpuset; it lowers the number again if the ended thread is then made
# ordinary. With a number of zero, the kernel leaves out the remaining thread when it counts bandwidth. rtf-detach is stopped between its look at the
# thread and its calls. If rtf-detach were stopped between its calls, the thread would have 1,024 ns in 4 s to end. A tick there would throttle the
# thread for an hour, together with the locks that it holds in the kernel. A wrong number is repaired.
# bats test_tags=machine
@test "a thread that ends while it is made ordinary leaves the kernel's number of SCHED_DEADLINE threads as it was" {
    sleeper
    is_counted "$SLEEPER"
    chrt --other --pid 0 "$SLEEPER"
    count_anew
    orphan
    attached "$ORPHAN" "$DEADLINE"
    stopped_at getpriority "$DETACH"
    [[ $(kernel "$ORPHAN") == "deadline "* ]]
    ends_meanwhile "$ORPHAN"
    is_counted "$SLEEPER" || { chrt --deadline --sched-runtime 1024 --sched-deadline 1024 --sched-period 4000000000 --pid 0 "$ORPHAN"; return 1; }
}

# A thread that gets bandwidth after its end would keep it for ever.
# bats test_tags=machine
@test "a thread that ends while it is made SCHED_DEADLINE leaves the kernel's account as it was" {
    COUNT_ANEW=yes
    eventually account_is_settled
    before=$(taken)
    orphan
    echo ignored >"$WORK/former"
    # shellcheck disable=SC2086 # words
    stopped_at clock_gettime "$ATTACH" tid="$ORPHAN" $DEADLINE
    ends_meanwhile "$ORPHAN"
    [ "$(taken)" = "$before" ] || { echo "before: $before, afterwards: $(taken)" >&2; return 1; }
    sleeper
    is_counted "$SLEEPER"
}
