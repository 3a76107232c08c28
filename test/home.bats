# The broker and its parts run on one CPU: a question crosses none. Apart only where a SCHED_DEADLINE thread may come before them.
load helper

prepare() {
    [ "$(nproc)" -ge 2 ] || skip "one CPU: there is no choice"
    configure_rules "$ALICE - max_utilization 1000"
    read -r FIRST SECOND _ <<<"$(taskset -pc "$BASHPID" | sed 's/.*: //' | tr , '\n' | while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done | tr '\n' ' ')"
}

# cpus: of the broker and each part, where they may run; the same ones once
cpus() {
    for pid in "$BROKER" $(parts); do
        sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$pid/status"
    done | sort -u
}

are_on() { [ "$(cpus)" = "$1" ]; }

@test "the broker and its parts are on one CPU while no SCHED_DEADLINE thread is, and may go anywhere while one is" {
    broker_start
    eventually are_on "$FIRST"
    sleeper $ALICE
    wish $ALICE cam '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    [[ $(kernel "$SLEEPER") == "deadline "* ]]
    eventually are_on "$ALL_CPUS"
    wish $ALICE other '{"priority": 15}' >/dev/null
    are_on "$ALL_CPUS"
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    eventually are_on "$FIRST"
    # FIFO threads are below them.
    attach $ALICE other "$SLEEPER" >/dev/null
    [[ $(kernel "$SLEEPER") == "fifo "* ]]
    are_on "$FIRST"
}

@test "one change makes a thread SCHED_DEADLINE, the next one does not leave it at that, and its end counts as well" {
    broker_start
    sleeper $ALICE
    wish $ALICE cam '{"priority": 15}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    eventually are_on "$FIRST"
    wish $ALICE cam '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    eventually are_on "$ALL_CPUS"
    wish $ALICE cam '{"priority": 15}' >/dev/null
    eventually are_on "$FIRST"
    wish $ALICE cam '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    eventually are_on "$ALL_CPUS"
    kill -KILL "$SLEEPER"
    eventually are_on "$FIRST"
}

@test "a broker that takes over a SCHED_DEADLINE thread knows of it" {
    broker_start
    sleeper $ALICE
    wish $ALICE cam '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    broker_stop INT
    eventually none_of_ours
    broker_start
    eventually are_on "$ALL_CPUS"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually are_on "$FIRST"
}

@test "a part that is started again is where the others are" {
    broker_start
    eventually are_on "$FIRST"
    for part in 'name=FP' rtf-attach rtf-names; do
        pid=$(parts "$part")
        kill -KILL "$pid"
        is_new() { local now; now=$(parts "$part") && [ -n "$now" ] && [ "$now" != "$pid" ]; }
        eventually is_new
        eventually are_on "$FIRST"
    done
}

@test "where no deadline plugin has a CPU they stay, whatever is attached" {
    configure_plugins "EDF edf - $FIRST partition=unthrottled" 'FP fp 11-20 all'
    broker_start
    eventually are_on "$SECOND"
    sleeper $ALICE
    wish $ALICE cam '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    [[ $(kernel "$SLEEPER") == "deadline "*" cpus=$FIRST "* ]]
    sleep 0.1 # longer than they wait
    are_on "$SECOND"
}

@test "of several CPUs they take the one that the fewest plugins have" {
    configure_plugins "FP fp 11-20 all" "RR rr 1-10 $FIRST"
    broker_start
    eventually are_on "$SECOND"
}

@test "a broker that may run on some CPUs only stays there" {
    taskset -c "$SECOND" "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
    wish $ALICE cam '{"priority": 15}' >/dev/null
    are_on "$SECOND"
}
