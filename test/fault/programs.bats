# SIGKILL at random moments of the broker, the guard, rtf-tasks, the reader and the program itself, while a program of 50 threads ends and begins ten of
# them a second: afterwards the books, the kernel and the files agree.
# PROGRAM_KILLS: how many; PROGRAM_SECONDS: how long threads are measured; FAULT_SEED.
load fault

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all enforce=runtime'
    configure_rules "$ALICE - max_utilization 1"
}

MATCHED=10 OTHERS=39 # the process has its first thread besides
RULES='"threads": [{"name": "work-*", "runtime": "1ms", "period": "100ms"}, {"name": "tick-*", "priority": 15, "plugin": "FP", "runtime": "1ms", "period": "50ms"}]'

# churns: starts Alice's program under an interpreter of its own, by which the program file names it. $PROGRAM is its process.
churns() {
    cp -f /usr/bin/python3 "$WORK/churning" 2>/dev/null || true # a running program cannot be overwritten
    rm -f "$WORK/ready" # the file has the words of an earlier program
    become $ALICE "$WORK/churning" -S "$BATS_TEST_DIRNAME/churn" $MATCHED $OTHERS "$WORK/late" >"$WORK/ready" 3>&- &
    PROGRAM=$!
    echo "$PROGRAM" >>"$WORK/pids"
    eventually grep -q ready "$WORK/ready"
}
begins() {
    : >"$WORK/late"
    chmod 666 "$WORK/late"
    broker_start
    churns
    [ "$(field .program.state "$(spec $ALICE app "{\"program\": \"$WORK/churning\", $RULES}")")" = stands ]
}

# The threads of the program that are real-time in the kernel, the threads whose names match, and the threads that the verdict grants; sorted.
in_kernel() { for task in "/proc/$PROGRAM/task"/*; do [[ $(kernel "${task##*/}") != @(fifo|deadline)* ]] || echo "${task##*/}"; done | sort; }
by_name() { grep -lE '^(work|tick)-' "/proc/$PROGRAM/task"/*/comm | cut -d / -f 5 | sort; }
in_verdict() { jq -r --arg process "$PROGRAM" 'select(.result == "OK" and .program.state == "stands" and (.program.process | tostring) == $process) | .threads[] | select(.grant != null) | .tid' \
    "$SPECS/$ALICE/app.verdict" | sort; }
in_status() { jq .reservations "$SPOOL/status.json"; }
all_are_there() {
    local names
    names=$(by_name)
    [ "$(wc -l <<<"$names")" = $MATCHED ] && [ "$(in_kernel)" = "$names" ] && [ "$(in_verdict)" = "$names" ] && [ "$(in_status)" = $MATCHED ]
}
agrees() {
    eventually all_are_there || { by_name; in_kernel; cat "$SPECS/$ALICE/app.verdict"; in_status; tail -n 5 "$EVENTS"; return 1; }
    agree
}
ends() {
    as $ALICE rm "$SPECS/$ALICE/app.json"
    nothing_is_left() { [ -z "$(in_kernel)" ] && [ "$(in_status)" = 0 ]; }
    eventually nothing_is_left
    agree
    kill -KILL "$PROGRAM"
}

# Prints how often app.verdict is written in so many seconds.
verdicts_in() { # SECONDS
    timeout "$1" inotifywait -qm -e moved_to --format %f "$SPECS/$ALICE" 3>&- | grep -cx app.verdict
}

# bats test_tags=turn:1
@test "the verdict of a program that ends and begins threads without end is written at most ten times a second" {
    local seconds=3 count
    begins
    agree
    count=$(verdicts_in $seconds)
    echo "# $count verdicts in $seconds s" >&3
    [ "$count" -ge $seconds ]
    [ "$count" -le $((10 * seconds + 1)) ]
    kill -USR1 "$PROGRAM"
    agrees
    ends
}

# bats test_tags=turn:1
@test "a program of 50 threads ends and begins ten a second: each that matches is real-time after some ms" {
    begins
    agree
    : >"$WORK/late"
    sleep "${PROGRAM_SECONDS:-3}"
    kill -USR1 "$PROGRAM"
    agrees
    read -r count median most beyond < <(sort -n "$WORK/late" | awk '{ late[NR] = $1 } $1 > 10 { beyond++ } END { printf "%d %d %d %d\n", NR, late[int((NR + 1) / 2)], late[NR], beyond }')
    echo "# $count threads: real-time after $median ms (median), $most ms (most), $beyond of them after more than 10 ms" >&3
    [ "$count" -ge $((5 * ${PROGRAM_SECONDS:-3})) ]
    [ "$median" -le $((10 * PATIENCE)) ]
    ends
}

# bats test_tags=turn:2
@test "random kills of the broker, its parts and the program under a stream of threads: books, kernel and files agree each time" {
    local kills=${PROGRAM_KILLS:-12} seed=${FAULT_SEED:-1} n victim
    declare -A killed=()
    begins
    agrees
    RANDOM=$seed
    for ((n = 0; n < kills; n++)); do
        sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
        case $((RANDOM % 8)) in
        0 | 1) what=broker victim=$BROKER ;;
        2 | 3) what=guard victim=$(helpers rtf-guard || true) ;;
        4 | 5) what=program victim=$PROGRAM ;;
        6) what=tasks victim=$(helpers rtf-tasks || true) ;;
        7) what=reader victim=$(helpers "rtf-reader.* $ALICE " || true) ;;
        esac
        [ -n "$victim" ] || continue # the program is being started again
        kill -KILL "$victim" 2>/dev/null || true
        killed[$what]=$((${killed[$what]:-0} + 1))
        eventually is_gone "$victim"
        if [ "$what" = broker ]; then broker_is_back; fi
        if [ "$what" = program ]; then churns; fi
        kill -USR1 "$PROGRAM"
        agrees || { echo "after kill $n, of $what"; return 1; }
        kill -USR2 "$PROGRAM"
    done
    echo "# killed, seed $seed: $(for what in "${!killed[@]}"; do printf '%s %s times; ' "$what" "${killed[$what]}"; done)" >&3
    kill -USR1 "$PROGRAM"
    ends
}
