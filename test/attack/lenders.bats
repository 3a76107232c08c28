# bats file_tags=lane:alone
# A thread that waits for a lock lends its rank to the holder of the lock (inheritance.bats). Here the user hides which thread lends, or that a thread
# lends at all. The holder still has no more than the granted runtimes.
load attack

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all enforce=runtime'
    configure_rules "$ALICE - max_utilization 1"
    ATTACKERS=()
    ulimit -t $((6 * PATIENCE)) # s of CPU time for each process; otherwise no other thread could run if a test fails
    compile_once "$BATS_TEST_DIRNAME/lenders.c"
}

# lenders WAY...: starts the process (lenders.c). Its id is in LENDERS, the id of the holder of the locks in HOLDER.
lenders() {
    become $ALICE "$RTF_STAGE/lenders" "$@" 3>&- &
    LENDERS=$!
    echo "$LENDERS" >>"$WORK/pids"
    eventually has_holder
    eventually is_program "$HOLDER" holder
    eventually has_thread mover
}
has_holder() { HOLDER=$(children "$LENDERS") && [ -n "$HOLDER" ]; }
has_thread() { [ -n "$(thread "$1")" ]; } # NAME
thread() { grep -lx "$1" "/proc/$LENDERS/task"/*/comm | cut -d / -f 5; }

FIFO='{"plugin": "FP", "priority": 15, "runtime": "2ms", "period": "100ms"}'
EDF='{"plugin": "EDF", "runtime": "2ms", "period": "100ms"}'
SOON='{"plugin": "EDF", "runtime": "2ms", "period": "40ms"}' # its deadline is before those of EDF

reserved() { told '.result == "OK"' "$(spec $ALICE "$1" "${2%\}}, \"attach\": $3}")"; } # NAME JSON TID
waiters_have() { # JSON
    reserved one "$1" "$(thread waiter-0)"
    reserved two "$1" "$(thread waiter-1)"
}

# holder_had_at_most MS: the holder runs at most so long in the next 2 s, and still exists then. Each reservation of 2 ms in 100 ms is worth 40 ms. The
# holder has 30 ms as an ordinary thread. A loan without end would be all of the 2 s.
holder_had_at_most() {
    local before had began
    before=$(consumed "$HOLDER") began=$(milliseconds)
    sleep $((2 * PATIENCE)) # this time is measured
    had=$(($(consumed "$HOLDER") - before))
    kill -0 "$HOLDER"
    echo "# of $(($(milliseconds) - began)) ms the holder had $had ms" >&3
    [ "$had" -le $(($1 * PATIENCE)) ]
    [ "$had" -ge 20 ] # otherwise nothing was lent, or the holder has the CPU without end and the kernel does not count: the test shows nothing
}

@test "threads that are moved to a lock by an attached thread lend no more, whichever of these runs out first" {
    broker_start
    company 0 1
    lenders moved
    reserved mover "$FIFO" "$(thread mover)"
    waiters_have "$EDF"
    holder_had_at_most 400
}

# bats test_tags=turn:0
@test "the same when the reservation of the thread that moved them ends" {
    broker_start
    company 0 1
    lenders moved
    reserved mover "$FIFO" "$(thread mover)"
    waiters_have "$EDF"
    eventually grep -q 'waited for a lock, the holder' "$EVENTS" # a look at the holder seldom meets a loan, which lasts for 2 ms
    as $ALICE rm "$SPECS/$ALICE/mover.json"
    eventually test ! -e "$SPECS/$ALICE/mover.verdict"
    holder_had_at_most 400
}

@test "threads that lend for less than a runtime at a time, and are moved to the lock each time, lend no more together" {
    broker_start
    company 0 1
    lenders moved gives=1000
    waiters_have "$FIFO"
    holder_had_at_most 200 # without the sum of short loans: 212 ms and more
}

# bats test_tags=turn:0
@test "the same among many sleeping threads that could be the lender" {
    configure_rules "$ALICE - max_utilization 4"
    broker_start
    company 0 1
    for ((i = 0; i < 40; i++)); do
        sleeper $ALICE
        reserved "sleeper-$i" '{"plugin": "FP", "priority": 15, "runtime": "2ms", "period": "200ms"}' "$SLEEPER"
    done
    lenders moved gives=1500
    waiters_have "$FIFO"
    holder_had_at_most 400
}

# bats test_tags=turn:1
@test "threads that have lowered their priority, and are moved to a lock, lend no more" {
    broker_start
    company 0 1
    lenders moved low
    waiters_have "$FIFO"
    holder_had_at_most 400
}

# bats test_tags=turn:2
@test "if the priority of waiting threads is lowered, these threads lend no more" {
    broker_start
    company 0 1
    lenders lowered
    waiters_have "$FIFO"
    eventually has_thread lowerer # the mover has lowered the priority, and has this name now
    holder_had_at_most 400
}

# bats test_tags=turn:0
@test "a real-time holder that is suspended has its own runtime and the lent runtimes" {
    broker_start
    company 0 1
    lenders real
    reserved holder "$FIFO" "$HOLDER"
    waiters_have "$FIFO"
    holder_had_at_most 400
}

# The kernel reports neither the beginning of these waits, because the holder has the rank of the waiting threads, nor that the holder becomes ordinary.
# waited_for JSON [WAY]: the holder has a reservation, and both threads wait for its locks before its runtime is used up.
waited_for() {
    broker_start
    company 0 1
    lenders real rests ${2:-}
    waiters_have "$FIFO"
    reserved holder "$1" "$HOLDER"
    for name in waiter-0 waiter-1; do eventually sleeps_in_futex "$(thread "$name")"; done
}
sleeps_in_futex() { [ "$(cut -d ' ' -f 1 "/proc/$1/syscall")" = 202 ]; }
holder_is_released() {
    as $ALICE rm "$SPECS/$ALICE/holder.json"
    eventually test ! -e "$SPECS/$ALICE/holder.verdict"
}

@test "a real-time holder that threads of its rank wait for has its own runtime and the lent runtimes" {
    waited_for '{"plugin": "FP", "priority": 15, "runtime": "20ms", "period": "100ms"}'
    holder_had_at_most 800
}

@test "a real-time holder that threads of its rank wait for has only the lent runtimes after its own reservation has ended" {
    waited_for '{"plugin": "FP", "priority": 15, "runtime": "400ms", "period": "500ms"}'
    holder_is_released
    holder_had_at_most 400
}

# bats test_tags=turn:1
@test "a SCHED_DEADLINE holder that real-time threads wait for has only the lent runtimes after its own reservation has ended" {
    waited_for '{"plugin": "EDF", "runtime": "400ms", "period": "500ms"}'
    holder_is_released
    holder_had_at_most 400
}

# The guard does not guard the holder: the line FREE has no enforce=runtime.
# bats test_tags=turn:1
@test "a holder whose runtime is not enforced has only the lent runtimes after its own reservation has ended" {
    echo 'FREE fp 30-40 all' >>"$CONFIG/plugins.conf"
    waited_for '{"plugin": "FREE", "priority": 35, "runtime": "20ms", "period": "100ms"}'
    holder_is_released
    holder_had_at_most 400
}

# bats test_tags=turn:2
@test "a holder that makes itself ordinary has its own runtime and the lent ones" {
    waited_for '{"plugin": "FP", "priority": 15, "runtime": "20ms", "period": "100ms"}' ordinary
    kill -USR1 "$HOLDER"
    holder_had_at_most 800
}

# bats test_tags=turn:1
@test "a SCHED_DEADLINE holder that makes itself ordinary has its own runtime and the lent ones" {
    waited_for '{"plugin": "EDF", "runtime": "20ms", "period": "100ms"}' ordinary
    kill -USR1 "$HOLDER"
    holder_had_at_most 800
}

# The waiting threads are awake, so a suspension of sleeping threads ends no boost.
@test "threads that a timeout has woken, but that cannot run, lend no more" {
    broker_start
    company 0 1
    lenders times-out
    waiters_have "${FIFO%\}}, \"cpus\": \"1\"}"
    holder_had_at_most 400
}

# The kernel throttles such a thread when the timeout wakes it, because its deadline has passed. A suspension of sleeping threads ends no boost.
@test "SCHED_DEADLINE threads that a timeout has woken, but that are throttled, lend no more" {
    broker_start
    company 0 1
    lenders throttled
    waiters_have '{"plugin": "EDF", "runtime": "2ms", "deadline": "20ms", "period": "100ms"}'
    holder_had_at_most 400
}

# bats test_tags=turn:0
@test "throttled threads lend no more if the holder is a process of another user" {
    become() { exec "${@:2}"; } # the process then becomes one of Alice, and its child one of Bob
    broker_start
    company 0 1
    lenders throttled "user=$ALICE" "holder=$BOB"
    waiters_have '{"plugin": "EDF", "runtime": "2ms", "deadline": "20ms", "period": "100ms"}'
    holder_had_at_most 400
}

# bats test_tags=turn:2
@test "throttled threads lend no more if these threads were moved to the lock" {
    broker_start
    company 0 1
    lenders throttled moved
    waiters_have '{"plugin": "EDF", "runtime": "2ms", "deadline": "20ms", "period": "100ms"}'
    holder_had_at_most 400
}

# The kernel does not throttle a thread that is lent SCHED_DEADLINE.
# bats test_tags=turn:0
@test "a SCHED_DEADLINE holder has its own runtime and the lent ones" {
    broker_start
    company 0 1
    lenders real
    reserved holder "$EDF" "$HOLDER"
    waiters_have "$SOON"
    holder_had_at_most 800
}

# bats test_tags=turn:1
@test "a SCHED_DEADLINE holder of locks that waiting threads are moved to has its own runtime and the lent ones" {
    broker_start
    company 0 1
    lenders real moved
    reserved holder "$EDF" "$HOLDER"
    waiters_have "$SOON"
    holder_had_at_most 800
}

# The kernel's report of this gift shows nothing of the thread that still waits.
@test "a SCHED_DEADLINE holder that gives back one of two locks has its own runtime and the lent ones" {
    broker_start
    company 0 1
    lenders real rests gives-one
    waiters_have "$SOON"
    reserved holder "$EDF" "$HOLDER"
    eventually sleeps_in_pause "$(thread waiter-0)"
    sleeps_in_futex "$(thread waiter-1)"
    holder_had_at_most 400
}
sleeps_in_pause() { [ "$(cut -d ' ' -f 1 "/proc/$1/syscall")" = 34 ]; }

# bats test_tags=turn:0
@test "a SCHED_DEADLINE holder that gives back the lock again and again has its own runtime and the lent ones" {
    broker_start
    company 0 1
    lenders real rests again
    waiters_have "$SOON"
    reserved holder "$EDF" "$HOLDER"
    for name in waiter-0 waiter-1; do eventually sleeps_in_futex "$(thread "$name")"; done
    holder_had_at_most 400
}

# A thread that reclaims may have more than its runtime without a loan. So its CPU time would not show the loan.
# bats test_tags=turn:1
@test "if the holder reclaims, its reclaiming ends when other threads wait for it, and it has its own runtime and the lent ones" {
    echo "$ALICE EDF reclaim true" >>"$CONFIG/acl.conf"
    broker_start
    company 0 1
    lenders real rests gives-one
    waiters_have "$SOON"
    reserved holder "${EDF%\}}, \"reclaim\": true}" "$HOLDER"
    eventually sleeps_in_pause "$(thread waiter-0)"
    sleeps_in_futex "$(thread waiter-1)"
    holder_had_at_most 400
    eventually is_seen_plain "$HOLDER"
    grep -q 'another thread has waited for a lock of thread' "$EVENTS"
    # a change of the spec does not bring the reclaiming back
    reserved holder "${EDF%\}}, \"reclaim\": true, \"comment\": \"again\"}" "$HOLDER"
    eventually is_seen_plain "$HOLDER"
    holder_had_at_most 400
}
is_seen_plain() { [[ $(kernel "$1") == deadline*' reset=1' ]]; }

# bats test_tags=turn:2
@test "a lender that reclaims has been ordinary, and reclaims again" {
    echo "$ALICE EDF reclaim true" >>"$CONFIG/acl.conf"
    broker_start
    lenders rests
    waiters_have '{"plugin": "EDF", "runtime": "20ms", "period": "100ms", "reclaim": true}'
    eventually grep -q 'waited for a lock, the holder' "$EVENTS"
    is_seen_as 'other *' "$(thread waiter-0)"
    is_seen_as 'deadline * reclaim' "$(thread waiter-0)"
}

# An event reports what the holder uses. Until the guard has this event, it looks at the holder 50 times a second.
@test "a SCHED_DEADLINE holder that has given back its locks does not wake the guard" {
    broker_start
    lenders real rests gives-one gives-all
    waiters_have "$SOON"
    reserved holder "$EDF" "$HOLDER"
    eventually sleeps_in_pause "$(thread waiter-0)"
    eventually sleeps_in_pause "$(thread waiter-1)"
    eventually is_quiet "$(helpers rtf-guard)"
}
# is_quiet PROCESS: nothing wakes the process for half a second.
is_quiet() {
    local before
    before=$(grep ctxt_switches "/proc/$1/status")
    sleep 0.5 # this time is measured
    [ "$(grep ctxt_switches "/proc/$1/status")" = "$before" ]
}

# The kernel's report of the end of such a wait is the same as the report of its beginning.
@test "SCHED_DEADLINE threads that have stopped waiting for a SCHED_DEADLINE holder are not suspended for lending" {
    broker_start
    lenders real gives-up
    waiters_have '{"plugin": "EDF", "runtime": "20ms", "period": "200ms"}' # a timeout of 1 ms may be late
    reserved holder '{"plugin": "EDF", "runtime": "10ms", "period": "100ms"}' "$HOLDER"
    eventually has_thread gave-up-0
    eventually has_thread gave-up-1
    eventually has_consumed "$HOLDER" $(($(consumed "$HOLDER") + 30)) # three periods. A lent runtime would be used up in the first one
    no grep 'waited for a lock, the holder' "$EVENTS"
}

# The guard is stopped between its look at the thread and its calls that make the thread ordinary. Meanwhile the thread ends, and remains a zombie,
# because nobody waits for it. The kernel then counts one thread too few (lib/demote.c), and later grants bandwidth twice.
# bats test_tags=machine
@test "a thread that ends while the guard makes it ordinary leaves the kernel's number of SCHED_DEADLINE threads as it was" {
    sleeper
    is_counted "$SLEEPER"
    chrt --other --pid 0 "$SLEEPER"
    count_anew
    broker_start
    lenders real rests gives-one takes
    waiters_have "$SOON"
    reserved holder "$EDF" "$HOLDER"
    for name in waiter-0 waiter-1; do eventually sleeps_in_pause "$(thread "$name")"; done
    eventually sleeps_in_futex "$HOLDER" # in each period, the guard makes it ordinary
    guard=$(helpers rtf-guard)
    strace -o "$WORK/trace" -e trace=getpriority -e inject=getpriority:signal=STOP:when=1 -p "$guard" 2>/dev/null 3>&- &
    tracer=$!
    echo "$tracer" >>"$WORK/pids"
    eventually grep -qs 'stopped by SIGSTOP' "$WORK/trace"
    kill -KILL "$HOLDER"
    eventually is_zombie "$HOLDER"
    kill -CONT "$guard"
    eventually test ! -e "$SPECS/$ALICE/holder.tid"
    kill "$tracer"
    broker_stop TERM # its guard is a SCHED_DEADLINE thread, too
    is_counted "$SLEEPER"
}

# When the holder makes itself ordinary, it has the rank of the threads that wait, and the kernel reports nothing.
@test "a thread that becomes SCHED_DEADLINE while a FIFO thread waits for it, and makes itself ordinary when that runtime is over, has only the lent runtime" {
    broker_start
    company 0 1
    lenders ordinary
    reserved one '{"plugin": "FP", "priority": 15, "runtime": "300ms", "period": "1s"}' "$(thread waiter-0)"
    reserved holder "$EDF" "$HOLDER"
    sleep 0.6 # the attack: the holder works for twice the lent runtime before it makes itself ordinary
    kill -USR1 "$HOLDER"
    holder_had_at_most 1200
}

# bats test_tags=turn:2
@test "a SCHED_DEADLINE holder with a long runtime that makes itself ordinary has only the lent runtimes" {
    waited_for '{"plugin": "EDF", "runtime": "400ms", "period": "500ms"}' ordinary
    kill -USR1 "$HOLDER"
    holder_had_at_most 400
}

# bats test_tags=turn:1
@test "a SCHED_DEADLINE holder that gives back a lock each ms has its own runtime and the lent ones, also among many possible lenders" {
    broker_start
    company 0 1
    for ((i = 0; i < 40; i++)); do
        sleeper $ALICE
        reserved "sleeper-$i" '{"plugin": "EDF", "runtime": "100us", "period": "100ms"}' "$SLEEPER"
    done
    lenders real rests again often
    waiters_have "$SOON"
    reserved holder "$EDF" "$HOLDER"
    holder_had_at_most 400
}

# The kernel's report of such a wait is the same as the report of a loan.
@test "a thread that is not real-time and waits for a SCHED_DEADLINE holder causes no search among other threads" {
    broker_start
    lenders real idle strange watches
    waiters_have "$EDF"
    reserved holder "$EDF" "$HOLDER"
    eventually has_thread real
    eventually has_consumed "$HOLDER" $(($(consumed "$HOLDER") + 20)) # ten periods
    has_thread real
}

# The guard needs long to search such a process for the lender.
# bats test_tags=turn:0
@test "threads that are moved to a lock lend no more beside a process of 480 sleeping threads with one runtime" {
    configure_plugins 'FP fp 11-20 1 enforce=process'
    broker_start
    company 0 1
    lenders crowd idle
    eventually has_crowd
    reserved team "$TEAM" "$LENDERS"
    lenders moved gives=1500
    waiters_have "$FIFO"
    holder_had_at_most 400
}
TEAM='{"plugin": "FP", "priority": 15, "runtime": "2ms", "period": "100ms", "budget": "process"}'
has_crowd() { [ "$(ls "/proc/$LENDERS/task" | wc -l)" -gt 480 ]; }

# The waiters are members of the process, the holder is not.
# bats test_tags=turn:2
@test "members of a process with one runtime that lower their priority lend no more" {
    configure_plugins 'FP fp 11-20 1 enforce=process'
    broker_start
    company 0 1
    lenders low
    reserved team '{"plugin": "FP", "priority": 15, "runtime": "5ms", "period": "100ms", "budget": "process"}' "$LENDERS"
    holder_had_at_most 500
}

# bats test_tags=turn:0
@test "members of a process with one runtime that wait for a real-time holder lend no more after its reservation has ended" {
    configure_plugins 'FP fp 11-20 1 enforce=process'
    broker_start
    company 0 1
    lenders real rests
    reserved team '{"plugin": "FP", "priority": 15, "runtime": "5ms", "period": "100ms", "budget": "process"}' "$LENDERS"
    reserved holder '{"plugin": "FP", "priority": 15, "runtime": "400ms", "period": "500ms"}' "$HOLDER"
    for name in waiter-0 waiter-1; do eventually sleeps_in_futex "$(thread "$name")"; done
    holder_is_released
    holder_had_at_most 500
}

# The guard has no room for so many boosts. It suspends the lenders, and does not end.
# bats test_tags=turn:1
@test "two threads that boost a thousand threads at once, in two chains, lend no more" {
    compile_once "$BATS_TEST_DIRNAME/chains.c"
    broker_start
    guard=$(helpers rtf-guard)
    become $ALICE nice -n 19 "$RTF_STAGE/chains" 600 3>&- &
    LENDERS=$!
    echo "$LENDERS" >>"$WORK/pids"
    eventually has_thread ready
    company 0 1 # not earlier: the threads have to be ready in time
    waiters_have "$FIFO"
    before=$(used_by "$LENDERS") cost=$(used_by "$guard")
    sleep $((2 * PATIENCE)) # this time is measured
    had=$(($(used_by "$LENDERS") - before)) cost=$(($(used_by "$guard") - cost))
    echo "# in 2 s the process had $had ms, and the guard $cost ms" >&3
    [ "$had" -le $((400 * PATIENCE)) ]
    [ "$had" -ge 20 ]                   # of these, 30 ms each for the ends of the chains, as ordinary threads
    [ "$cost" -le $((400 * PATIENCE)) ] # each change of a waiting thread takes the kernel 9 ms
    [ "$(helpers rtf-guard)" = "$guard" ]
}
used_by() { awk '{ print ($14 + $15) * 10 }' "/proc/$1/stat"; } # PROCESS: the CPU time of all its threads, in ms
