# bats file_tags=lane:alone
# Priority inheritance: while a real-time thread waits for a lock, the holder of the lock has the thread's priority. The holder gets the granted runtime by
# this, and not a whole CPU.
load attack

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all enforce=runtime'
    configure_rules "$ALICE - max_utilization 1" "$BOB - max_utilization 1"
    ATTACKERS=()
    mkdir -m 777 "$WORK/shared"
}

LOCK=lock ON=1 # the file of the lock, and the CPU of the lock's holder

# inherit UID MODE [US]: runs inherit in the background; $TID is its id
inherit() {
    become "$1" "$RTF_STAGE/inherit" "$WORK/shared/$LOCK" "${@:2}" 3>&- &
    TID=$!
    echo "$TID" >>"$WORK/pids"
    eventually is_inherit "$TID"
}
is_inherit() { [ "$(cat "/proc/$1/comm" 2>/dev/null)" = inherit ]; }

# holder UID [alone]: starts a process that holds the lock and spins, at nice 19, on a CPU with another process that spins. $HOLDER is its id.
holder() {
    (
        export -f become
        exec nice -n 19 setpriv --reuid "$1" --regid "$1" --clear-groups -- taskset -c "$ON" "$RTF_STAGE/inherit" "$WORK/shared/$LOCK" hold 3>&-
    ) &
    HOLDER=$!
    echo "$HOLDER" >>"$WORK/pids"
    eventually is_inherit "$HOLDER"
    eventually has_lock "$WORK/shared/$LOCK" "$HOLDER"
    [ "${2:-}" = alone ] || company "$ON"
}

is_boosted() { [ "$(awk '{ print $18 }' "/proc/$1/stat")" -lt 0 ]; }

# holder_had_at_most MS: the holder runs at most so long in the next 3 s, and still exists then. It is entitled to 60 ms, to its 45 ms as an ordinary
# thread, and to a tick in each of 30 periods. On a slower machine all times are longer, because the guard itself is slower.
holder_had_at_most() {
    local before had began
    before=$(consumed "$HOLDER") began=$(milliseconds)
    sleep $((3 * PATIENCE)) # this time is measured
    had=$(($(consumed "$HOLDER") - before))
    kill -0 "$HOLDER"
    echo "# of $(($(milliseconds) - began)) ms the holder had $had ms" >&3
    [ "$had" -le $(($1 * PATIENCE)) ]
}

lends() { # UID POLICY JSON
    inherit "$1" "${4:-lend}"
    lender=$TID
    [ "$(field .result "$(spec "$1" cam "${3%\}}, \"attach\": $lender}")")" = OK ]
}
WINDOW="\"runtime\": \"$((2 * PATIENCE))ms\", \"period\": \"$((100 * PATIENCE))ms\""
EDF="{\"plugin\": \"EDF\", $WINDOW}"
FP="{\"plugin\": \"FP\", \"priority\": 15, $WINDOW}"

is_told() { as $ALICE grep -q 'waited for a lock, the holder' "$SPECS/$ALICE/cam.verdict"; }
is_logged() { grep -q 'waited for a lock, the holder' "$EVENTS"; }
# A thread may have overrun by much before the guard watched it. Then it is ordinary for as long as it waits for the lock.
is_dealt_with() { is_logged || grep -q 'the thread sleeps and is attached when it wakes' "$EVENTS"; }

@test "a SCHED_DEADLINE thread lends no more than its runtime in each period, and its owner is told" {
    broker_start
    holder $ALICE
    lends $ALICE deadline "$EDF"
    eventually is_logged # each boost lasts 2 ms in each 100 ms
    holder_had_at_most 300
    eventually is_told
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_policy "$lender" other
}

@test "a FIFO thread lends no more than its runtime in each period" {
    broker_start
    holder $ALICE
    lends $ALICE fifo "$FP"
    eventually is_logged # each boost lasts 2 ms in each 100 ms
    holder_had_at_most 300
    eventually is_told
}

# bats test_tags=turn:0
@test "a thread lends no more to a stranger without any rule" {
    broker_start
    holder 20099
    lends $ALICE deadline "$EDF"
    holder_had_at_most 300
}

# While the holder runs, a waiting thread spins in the kernel, and with PREEMPT_RT never sleeps.
@test "a thread that spins for the lock, because the holder runs when the wait begins, lends no more" {
    broker_start
    holder $ALICE alone
    lends $ALICE deadline "$EDF"
    eventually is_dealt_with
    company "$ON"
    holder_had_at_most 300
}

# The thread is throttled while it sleeps. If it were demoted and granted anew meanwhile, as others are, it would not run when it wakes.
overdraws() { # US that it uses up when it has the lock
    holder $ALICE
    inherit $ALICE overdraw $((2100 * PATIENCE)) "$1" # the thread uses more than its 2 ms, and mostly no tick comes in the time beyond
    lender=$TID
    [ "$(field .result "$(spec $ALICE "$LOCK" "${EDF%\}}, \"attach\": $lender}")")" = OK ]
    eventually sleeps_in_futex "$lender"
    eventually is_logged
    sleep $((PATIENCE)) # some periods: the guard makes the thread real-time again at the end of each period
}
sleeps_for_good() { [ "$(cut -d ' ' -f 1 "/proc/$1/syscall")" = 34 ]; } # 34 is pause(2)
has_ended() { ! kill -0 "$1" 2>/dev/null; }
is_taken() { [ "$(taken)" = "$1" ]; }

@test "a thread that used up its runtime as it began to wait for the lock is real-time again when it has had the lock, though it sleeps" {
    broker_start
    sleeper $ALICE
    [ "$(field .result "$(spec $ALICE other "${EDF%\}}, \"attach\": $SLEEPER}")")" = OK ] # the guard has its own SCHED_DEADLINE runtime from then on
    before=$(taken)
    overdraws 0
    kill -KILL "$HOLDER"
    eventually sleeps_for_good "$lender"
    eventually is_policy "$lender" deadline
    sleeps_for_good "$lender"
    kill "$lender"
    eventually has_ended "$lender"
    eventually is_taken "$before"
}

# The new guard does not know whether the use is paid back.
@test "a thread that used up its runtime as it began to wait for the lock is real-time when it wakes, if the guard was killed meanwhile" {
    broker_start
    sleeper $ALICE
    [ "$(field .result "$(spec $ALICE other "${EDF%\}}, \"attach\": $SLEEPER}")")" = OK ] # the guard has its own SCHED_DEADLINE runtime from then on
    before=$(taken)
    will_be_attached() { grep -q '"the thread sleeps and is attached when it wakes"' "$EVENTS"; }
    is_decided() { will_be_attached || is_policy "$lender" deadline; }
    for LOCK in one two three four five six; do
        overdraws $((300000 * PATIENCE))
        eventually is_policy "$lender" other
        kill -KILL "$(helpers rtf-guard)"
        eventually is_decided
        if will_be_attached; then break; fi # otherwise a tick came while the thread used more than its runtime, and the test tries again
        kill -KILL "$HOLDER" "$lender"
    done
    is_policy "$lender" other
    kill -KILL "$HOLDER"
    eventually is_policy "$lender" deadline
    eventually sleeps_for_good "$lender"
    is_policy "$lender" deadline
    kill "$lender"
    eventually has_ended "$lender"
    eventually is_taken "$before"
}

# The boost began before the new guard watched, and the kernel reports changes only.
may_be_replaced() { [ "$(ps -o etimes= -p "$1")" -ge 2 ]; } # at once: a guard that ends within its first second is started again later
# bats test_tags=turn:1
@test "a thread that lends when the guard is killed lends no more, because the next guard finds the lending" {
    [[ $(uname -v) != *PREEMPT_RT* ]] || skip "PREEMPT_RT: who is boosted keeps the kernel's rcuc from running, and the guard waits for that in its end"
    broker_start
    lends $ALICE deadline "$EDF"
    guard=$(helpers rtf-guard)
    ulimit -t $((20 * PATIENCE))
    eventually may_be_replaced "$guard"
    kill -STOP "$guard"
    taskset -p -c 0 $BASHPID >/dev/null # away from the holder, which nothing bounds until there is another guard
    holder $ALICE
    eventually is_boosted "$HOLDER"
    kill -KILL "$guard"
    holder_had_at_most 500 # the restart takes a moment
}

# Threads that wait for a lock stay ordinary, because without a broker no process bounds the lending.
# bats test_tags=turn:2
@test "a thread that lends when the broker ends lends no more, neither without a broker nor with the next" {
    broker_start
    holder $ALICE
    lends $ALICE deadline "$EDF"
    eventually is_logged
    for signal in TERM KILL; do
        broker_stop "$signal"
        holder_had_at_most 300
        broker_start
        holder_had_at_most 300
    done
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    kill -KILL "$HOLDER"
    eventually is_policy "$lender" other
}

# The attach helper, which makes the thread real-time, and the broker may be on the holder's CPU, and wait for it.
# bats test_tags=turn:1
@test "a thread that waited for the lock before it was attached lends no more, whatever CPU the holder is on" {
    broker_start
    ulimit -t $((20 * PATIENCE))
    for ON in 0 1; do
        LOCK=lock$ON
        holder $ALICE
        inherit $ALICE lend-now
        lender=$TID
        eventually sleeps_in_futex "$lender"
        put $ALICE "$LOCK" "${EDF%\}}, \"attach\": $lender}"
        holder_had_at_most 300
        as $ALICE rm "$SPECS/$ALICE/$LOCK.json"
        eventually is_policy "$lender" other
    done
}

# With PREEMPT_RT, a kernel thread on the CPU of the boost wakes the guard. The boost keeps this kernel thread from running.
@test "a thread that waited for the lock lends no more when a helper on the holder's CPU attaches it" {
    broker_start
    holder $ALICE
    inherit $ALICE lend-now
    eventually sleeps_in_futex "$TID"
    taskset -p -c "$ON" "$(helpers rtf-attach)" >/dev/null
    put $ALICE cam "${EDF%\}}, \"attach\": $TID}"
    holder_had_at_most 300
}

sleeps_in_futex() { is_inherit "$1" && [ "$(cut -d ' ' -f 1 "/proc/$1/syscall")" = 202 ]; }

# A holder that is lent SCHED_DEADLINE runs before all FIFO threads, and is never throttled.
# bats test_tags=turn:2
@test "as many lenders at once as there are CPUs do not keep the guard from running" {
    configure_rules "$ALICE - max_utilization $(nproc)"
    broker_start
    ulimit -t $((20 * PATIENCE)) # of CPU time; otherwise no other thread could run if the test fails
    for ON in $(seq 0 $(($(nproc) - 1))); do
        LOCK=lock$ON
        holder $ALICE
        holders+=("$HOLDER")
    done
    for LOCK in $(seq --format=lock%g 0 $(($(nproc) - 1))); do
        inherit $ALICE lend
        lenders+=("$TID")
        [ "$(field .result "$(spec $ALICE "$LOCK" "{\"plugin\": \"EDF\", \"runtime\": \"$((40 * PATIENCE))ms\", \"period\": \"$((100 * PATIENCE))ms\", \"attach\": $TID}")")" = OK ]
    done
    began=$(date +%s%N)
    for HOLDER in "${holders[@]}"; do used+=("$(consumed "$HOLDER")"); done
    sleep $((3 * PATIENCE)) # this time is measured
    for i in "${!holders[@]}"; do
        kill -0 "${holders[i]}"
        had=$(($(consumed "${holders[i]}") - used[i])) of=$((($(date +%s%N) - began) / 1000000))
        echo "# of $of ms one had $had ms" >&3
        # The holder is entitled to 400 of 1,000 ms, to a hundredth of the rest as an ordinary thread, and to a tick in each period.
        [ "$had" -le $((of * 46 / 100)) ]
    done
    as $ALICE sh -c 'rm "$1"/*.json' sh "$SPECS/$ALICE" # both specs at once, so that the helper that makes the threads ordinary can run
    for lender in "${lenders[@]}"; do eventually is_policy "$lender" other; done
    for HOLDER in "${holders[@]}"; do kill -0 "$HOLDER"; done
}

# bats test_tags=turn:0
@test "a thread that a third thread puts behind the lock lends no more" {
    broker_start
    holder $ALICE
    inherit $ALICE requeue
    lends $ALICE deadline "$EDF" sleep
    holder_had_at_most 300
}

# waits_at_the_door: an ordinary thread, $lender, waits until FUTEX_CMP_REQUEUE_PI puts it behind the lock
waits_at_the_door() {
    holder $ALICE
    inherit $ALICE sleep-now
    lender=$TID
    eventually sleeps_in_futex "$lender"
}
has_waiters() { [ "$((0x$(od -An -tx4 -N4 "$WORK/shared/$LOCK" | tr -d " ") & 0x80000000))" -ne 0 ]; }
is_not_boosted() { ! is_boosted "$HOLDER"; }
# lends_nothing_any_more: the reservation of $lender ends while the thread waits behind the lock and has lent its rank.
lends_nothing_any_more() {
    holder_had_at_most 300
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_policy "$lender" other
    eventually is_not_boosted
    sleeps_in_futex "$lender"
}

# bats test_tags=turn:1
@test "a thread that is attached before it is put behind the lock lends its runtime at most, and nothing when it is detached" {
    broker_start
    waits_at_the_door
    put $ALICE cam "${EDF%\}}, \"attach\": $lender}"
    eventually is_policy "$lender" deadline
    inherit $ALICE requeue
    eventually has_waiters
    lends_nothing_any_more
}

# bats test_tags=turn:2
@test "a thread that is attached after it was put behind the lock lends its runtime at most, and nothing when it is detached" {
    broker_start
    waits_at_the_door
    inherit $ALICE requeue
    eventually has_waiters
    put $ALICE cam "${EDF%\}}, \"attach\": $lender}"
    lends_nothing_any_more
}

# The lender ends while it lends: the kernel takes the priority back, and the guard forgets the lending.
# bats test_tags=turn:0
@test "a thread that is killed behind the lock has lent its runtime at most" {
    broker_start
    sleeper $ALICE
    [ "$(field .result "$(spec $ALICE other "${EDF%\}}, \"attach\": $SLEEPER}")")" = OK ] # the guard has its own SCHED_DEADLINE runtime from then on
    before=$(taken)
    waits_at_the_door
    inherit $ALICE requeue
    eventually has_waiters
    put $ALICE cam "${EDF%\}}, \"attach\": $lender}"
    eventually is_logged
    kill -KILL "$lender"
    eventually has_ended "$lender"
    eventually is_not_boosted
    eventually is_taken "$before"
    holder_had_at_most 300
}

switches() { awk '/ctxt_switches/ { sum += $2 } END { print sum }' "/proc/$1/status"; }

# bats test_tags=turn:1
@test "a flood of boosts wakes the guard at most a thousand times a second, and honest threads are served meanwhile" {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all enforce=runtime' 'RR rr 1-10 0'
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 1"
    broker_start
    become $ALICE taskset -c 1 "$RTF_STAGE/inherit" "$WORK/shared/lock" pulse 0 3>&- &
    echo "$!" >>"$WORK/pids"
    inherit $ALICE lend
    [ "$(field .result "$(spec $ALICE cam "{\"plugin\": \"RR\", \"priority\": 5, \"attach\": $TID}")")" = OK ]
    sleeper $BOB
    [ "$(field .result "$(spec $BOB still "${EDF%\}}, \"attach\": $SLEEPER}")")" = OK ]
    guard=$(helpers rtf-guard)
    before=$(switches "$guard") used=$(consumed "$guard")
    sleep 3 # this time is measured
    woke=$(($(switches "$guard") - before)) used=$(($(consumed "$guard") - used))
    echo "# in 3 s the guard woke $woke times, and used $used ms" >&3
    [ "$woke" -le 4500 ]
    [ "$used" -le $((300 * PATIENCE)) ]
    [[ $(kernel "$SLEEPER") == "deadline "* ]]
}

# The test stops the guard. A host that stops a virtual machine's CPU, or a thread of higher priority, does the same to the guard. The kernel's buffer has
# room for 64 KiB of records for each CPU.
# bats test_tags=turn:2
@test "a thread that begins to lend while the kernel's buffer of events is full lends no more" {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'RR rr 1-10 0'
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 1"
    broker_start
    become $ALICE taskset -c 1 "$RTF_STAGE/inherit" "$WORK/shared/flood" pulse 0 3>&- &
    pulse=$!
    echo "$pulse" >>"$WORK/pids"
    eventually test -s "$WORK/shared/flood"
    LOCK=flood inherit $ALICE lend
    flood=$TID
    [ "$(field .result "$(spec $ALICE flood "{\"plugin\": \"RR\", \"priority\": 5, \"attach\": $flood}")")" = OK ]
    inherit $BOB lend
    lender=$TID
    [ "$(field .result "$(spec $BOB cam "${EDF%\}}, \"attach\": $lender}")")" = OK ]
    guard=$(helpers rtf-guard)
    ulimit -t $((20 * PATIENCE))
    kill -STOP "$guard"
    eventually has_consumed "$flood" $(($(consumed "$flood") + 500)) # ms; the flood causes a record each 10 us or so, and the buffer has room for about 1,000 records
    kill -STOP "$flood"
    taskset -p -c 0 $BASHPID >/dev/null # away from the holder, which nothing bounds until the guard goes on
    holder $ALICE
    eventually is_boosted "$HOLDER"
    kill -CONT "$guard"
    kill -KILL "$pulse" "$flood"
    holder_had_at_most 300
}
