# bats file_tags=lane:alone
# The broker and its helper processes run on one CPU, so that no question goes to another CPU. They run on several CPUs only where SCHED_DEADLINE
# threads may run before them for long.
load helper

prepare() {
    [ "$(nproc)" -ge 2 ] || skip "one CPU: there is no choice"
    configure_rules "$ALICE - max_utilization 1000"
    read -r FIRST SECOND _ <<<"$(taskset -pc "$BASHPID" | sed 's/.*: //' | tr , '\n' | while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done | tr '\n' ' ')"
}

# The guard runs on the CPU where the event happens.
placed_helpers() { comm -23 <(helpers | sort) <(helpers rtf-guard | sort); }

# cpus: prints the CPUs on which the broker and its helper processes may run; equal lists once
cpus() {
    for pid in "$BROKER" $(placed_helpers); do
        sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$pid/status"
    done | sort -u
}

are_on() { [ "$(cpus)" = "$1" ]; }

# moves: prints how often the launcher, which moves the processes, has woken; has_moves_beyond NUMBER: it has woken more often
moves() { awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$(launcher)/status"; }
has_moves_beyond() { [ "$(moves)" -gt "$1" ]; }

# reserve NAME SPEC: makes a reservation with a thread, $SLEEPER.
reserve() {
    spec $ALICE "$1" "$2" >/dev/null
    sleeper $ALICE
    attach $ALICE "$1" "$SLEEPER" >/dev/null
}
release() { as $ALICE rm "$SPECS/$ALICE/$1.json"; }

@test "the broker and its helper processes are on one CPU while nothing is SCHED_DEADLINE, and may go anywhere while something is" {
    broker_start
    eventually are_on "$FIRST"
    reserve cam '{"priority": 15}'
    [[ $(kernel "$SLEEPER") == "fifo "* ]]
    eventually are_on "$FIRST" # the thread runs below the broker; a broker that was kept waiting is on several CPUs for a second
    spec $ALICE other '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    spec $ALICE cam '{"priority": 16}' >/dev/null # when this is answered, the broker has had time to move after the grant of other
    eventually are_on "$FIRST"                    # no thread is attached to other
    reserve other '{"runtime": "1ms", "period": "10ms"}'
    [[ $(kernel "$SLEEPER") == "deadline "* ]]
    eventually are_on "$ALL_CPUS"
    spec $ALICE cam '{"priority": 15}' >/dev/null
    are_on "$ALL_CPUS"
    release other
    eventually are_on "$FIRST"
}

# bats test_tags=turn:2
@test "beside threads that take little they stay: 25 us on average and 2 ms at once" {
    broker_start
    eventually are_on "$FIRST"
    reserve one '{"runtime": "1ms", "period": "20ms"}'
    spec $ALICE other '{"priority": 15}' >/dev/null
    eventually are_on "$FIRST"
    spec $ALICE one '{"runtime": "1001us", "period": "20ms"}' >/dev/null
    eventually are_on "$ALL_CPUS"
    spec $ALICE one '{"runtime": "1ms", "period": "2s"}' >/dev/null
    eventually are_on "$FIRST"
    reserve two '{"runtime": "1ms", "period": "2s"}'
    spec $ALICE other '{"priority": 16}' >/dev/null
    eventually are_on "$FIRST"
    reserve three '{"runtime": "100us", "period": "2s"}'
    eventually are_on "$ALL_CPUS"
    kill -KILL "$SLEEPER"
    eventually are_on "$FIRST"
}

@test "they go where no such thread is pinned, if there is such a CPU" {
    configure_plugins "EDF edf - $FIRST,$SECOND partition=unthrottled" "FP fp 11-20 $FIRST,$SECOND"
    taskset -pc "$FIRST,$SECOND" "$BASHPID" >/dev/null
    both=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$BASHPID/status")
    broker_start
    eventually are_on "$FIRST"
    reserve one '{"runtime": "1ms", "period": "10ms"}'
    [[ $(kernel "$SLEEPER") == *" cpus=$FIRST "* ]]
    eventually are_on "$SECOND"
    reserve two '{"runtime": "1ms", "period": "10ms"}'
    [[ $(kernel "$SLEEPER") == *" cpus=$SECOND "* ]]
    eventually are_on "$both"
    release one
    eventually are_on "$FIRST"
}

# bats test_tags=turn:1
@test "a change to SCHED_DEADLINE and back counts, and so does a thread that has its runtime used up" {
    broker_start
    hog $ALICE
    spec $ALICE cam '{"priority": 15}' >/dev/null
    attach $ALICE cam "$HOG" >/dev/null
    eventually are_on "$FIRST"
    spec $ALICE cam '{"runtime": "50ms", "period": "2s"}' >/dev/null
    eventually are_on "$ALL_CPUS"
    eventually has_consumed "$HOG" 50
    are_on "$ALL_CPUS"
    spec $ALICE cam '{"priority": 15}' >/dev/null
    eventually are_on "$FIRST"
}

# bats test_tags=turn:2
@test "while the broker does not come to sleep they are apart, and a second later together again" {
    configure_plugins 'FP fp 11-20 all'
    broker_start --max-specs 100000
    as $ALICE mkdir "$SPECS/$ALICE"
    eventually are_on "$FIRST"
    # While the broker is stopped, more requests come than it can answer without a pause.
    backlog() {
        kill -STOP "$BROKER"
        as $ALICE sh -c 'cd "$1" && for n in $(seq 2000); do echo "{\"priority\": 15}" >"a$n.json"; done' sh "$SPECS/$ALICE"
        kill -CONT "$BROKER"
        for _ in $(seq 50); do
            if are_on "$ALL_CPUS"; then return 0; fi
            sleep 0.01
        done
        return 1
    }
    eventually backlog
    eventually are_on "$FIRST"
}

# bats test_tags=turn:0
@test "a broker that takes over a SCHED_DEADLINE thread knows of it" {
    broker_start
    reserve cam '{"runtime": "1ms", "period": "10ms"}'
    broker_stop INT
    eventually none_of_ours
    broker_start
    eventually are_on "$ALL_CPUS"
    release cam
    eventually are_on "$FIRST"
}

# bats test_tags=turn:1
@test "a part that is started again is where the others are" {
    broker_start
    eventually are_on "$FIRST"
    for part in 'name=FP' rtf-attach rtf-names; do
        pid=$(helpers "$part")
        kill -KILL "$pid"
        is_new() { local now; now=$(helpers "$part") && [ -n "$now" ] && [ "$now" != "$pid" ]; }
        eventually is_new
        eventually are_on "$FIRST"
    done
}

# bats test_tags=turn:2
@test "where no deadline plugin has a CPU they stay, whatever is attached" {
    configure_plugins "EDF edf - $FIRST partition=unthrottled" 'FP fp 11-20 all'
    broker_start
    eventually are_on "$SECOND"
    reserve cam '{"runtime": "1ms", "period": "10ms"}'
    [[ $(kernel "$SLEEPER") == "deadline "*" cpus=$FIRST "* ]]
    spec $ALICE other '{"priority": 15}' >/dev/null # when this is answered, the broker has had time to move after the grant of cam
    eventually are_on "$SECOND"
}

# bats test_tags=turn:0
@test "the broker's processes take the CPU that the fewest plugins have" {
    configure_plugins "FP fp 11-20 all" "RR rr 1-10 $FIRST"
    broker_start
    eventually are_on "$SECOND"
}

# bats test_tags=turn:1
@test "a broker that may run on one CPU only stays there" {
    taskset -pc "$SECOND" "$BASHPID" >/dev/null
    broker_start
    spec $ALICE early '{"priority": 15}' >/dev/null
    leaves_the_launcher_asleep() {
        before=$(moves)
        reserve "$1" '{"runtime": "1ms", "period": "10ms"}'
        [ "$(moves)" = "$before" ]
    }
    # The launcher also wakes for other reasons: a reader is started, or has used up its budget.
    leaves_the_launcher_asleep cam1 || leaves_the_launcher_asleep cam2 || leaves_the_launcher_asleep cam3
    are_on "$SECOND"
}

# bats test_tags=turn:2
@test "where somebody else has put them they stay" {
    broker_start
    eventually are_on "$FIRST"
    spec $ALICE early '{"priority": 15}' >/dev/null # starts Alice's reader
    eventually are_on "$FIRST"
    for pid in "$BROKER" $(placed_helpers); do taskset -pc "$SECOND" "$pid" >/dev/null; done
    before=$(moves)
    reserve cam '{"runtime": "1ms", "period": "10ms"}'
    eventually has_moves_beyond "$before"
    are_on "$SECOND"
    before=$(moves)
    release cam
    eventually has_moves_beyond "$before"
    are_on "$SECOND"
}
