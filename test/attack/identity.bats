# Real-time without a grant: a thread that calls execve(2) gets its process's id and stays real-time, until the broker makes the thread ordinary again.
load attack

ROUNDS=${IDENTITY_ROUNDS:-1} # rounds of each attack; races have four times as many; make faults runs more

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 100"
    ATTACKERS=()
    EDF='{"runtime": "1ms", "period": "20ms", "plugin": "EDF"}'
    FP='{"priority": 12, "plugin": "FP"}'
    # Programs that the kernel lets no user look into: the kernel removes the perf events of a thread that executes them.
    install -m 711 /usr/bin/sleep "$WORK/unreadable"
    install -m 4755 -o root /usr/bin/sleep "$WORK/as-root"
}

# attacker THREADS: starts a process of Alice's. TIDS has the ids of its threads (0: the first thread); the process reads orders from $TELL.
attacker() {
    rm -f "$WORK/orders" "$WORK/says"
    mkfifo "$WORK/orders"
    exec {TELL}<>"$WORK/orders"
    become $ALICE "$RTF_STAGE/identity" "$1" <"$WORK/orders" >"$WORK/says" 3>&- &
    echo "$!" >>"$WORK/pids"
    ATTACKERS+=("$!")
    eventually said_line 1
    read -r -a TIDS <"$WORK/says"
}
said_line() { [ "$(wc -l <"$WORK/says")" -ge "$1" ]; }
tell() { printf '%s\n' "$@" >&"$TELL"; }

# all_told: waits until the attacker has read all orders.
all_told() {
    local lines
    lines=$(wc -l <"$WORK/says")
    tell stopped
    eventually said_line $((lines + 1))
}

execed() { [ "$(cat "/proc/$1/comm" 2>/dev/null)" = "${2:-sleep}" ]; }
is_not_attached() { [ "$(field .thread "$(cat "$SPECS/$ALICE/$1.verdict")")" = null ]; }
has_thread() { [ "$(field .thread.tid "$(cat "$SPECS/$ALICE/$1.verdict")")" = "$2" ]; }
strays() { "$BATS_TEST_DIRNAME/strays" "$SPECS" $ALICE; }
none_stray() { [ -z "$(strays)" ]; }

# none_stray_soon: within a second no thread is real-time without a grant, and this stays so.
none_stray_soon() {
    local until=$(($(milliseconds) + 1000 * PATIENCE))
    until none_stray; do
        [ "$(milliseconds)" -lt "$until" ] || { echo "real-time without a grant: $(strays)" >&2; return 1; }
    done
}

# nothing_left: removes all specs; then no thread of Alice's is real-time.
nothing_left() {
    rm -f "$SPECS/$ALICE"/*.json "$SPECS/$ALICE"/*.tid
    eventually no_verdicts
    none_stray_soon
    exec {TELL}>&-
    attack_ends
}
no_verdicts() { ! ls "$SPECS/$ALICE"/*.verdict >/dev/null 2>&1; }

attached() { # NAME TID
    answer=$(attach $ALICE "$1" "$2")
    [ "$(field .result "$answer")" = OK ] && [ "$(field .thread.tid "$answer")" = "$2" ] || { echo "$answer" >&2; return 1; }
}

granted() { [ "$(field .result "$(spec $ALICE "$1" "$2")")" = OK ]; } # NAME JSON

# zombie_leader JSON HOW: starts an attacker. Its first thread was attached to the spec first, has ended, and is detached.
zombie_leader() {
    granted first "$1"
    granted second "$1"
    attacker 2
    attached first "${TIDS[0]}"
    tell 'exit 0'
    eventually is_zombie "${TIDS[0]}"
    case $2 in
    tid) as $ALICE rm "$SPECS/$ALICE/first.tid" ;;
    json) as $ALICE rm "$SPECS/$ALICE/first.json" ;;
    esac
    if [ "$2" = json ]; then
        eventually test ! -e "$SPECS/$ALICE/first.verdict"
    else
        eventually is_not_attached first
    fi
}

# is_put_back TID: the verdict of the spec second gives the reason; the spec keeps its grant, and has no thread any more.
is_put_back() {
    eventually is_not_attached second
    [ "$(jq -r '.request + ": " + .reason' "$SPECS/$ALICE/second.verdict")" = \
        "exit: thread ${TIDS[1]} called execve and has taken over the id of its process, $1: the process is ordinary again, and not attached" ]
    [ "$(jq -r '.grant.plugin' "$SPECS/$ALICE/second.verdict")" != null ]
    eventually test ! -e "$SPECS/$ALICE/second.tid"
    eventually is_policy "$1" other
    none_stray
    as $ALICE rm "$SPECS/$ALICE/second.json"
    eventually test ! -e "$SPECS/$ALICE/second.verdict"
    is_policy "$1" other
}

after_a_zombie() { # JSON
    broker_start
    for round in $(seq "$ROUNDS"); do
        for how in tid json ended; do
            zombie_leader "$1" $how
            attached second "${TIDS[1]}"
            tell 'exec 1 0 /usr/bin/sleep'
            eventually execed "${TIDS[0]}"
            none_stray_soon
            is_put_back "${TIDS[0]}"
            nothing_left
        done
    done
}

# bats test_tags=turn:0
@test "a process is put back after execve if its first thread ended as SCHED_FIFO" { after_a_zombie "$FP"; }
# bats test_tags=turn:1
@test "a process is put back after execve if its first thread ended as SCHED_DEADLINE" { after_a_zombie "$EDF"; }

# bats test_tags=turn:2
@test "five attacks at once, twice, do not hold more than the rules allow" {
    configure_rules "$ALICE - max_utilization 0.5"
    broker_start
    all=()
    tells=()
    for i in 1 2 3 4 5; do granted "cam$i" '{"runtime": "2ms", "period": "20ms", "plugin": "EDF"}'; done
    for wave in 1 2; do
        for i in 1 2 3 4 5; do
            attacker 2
            attached "cam$i" "${TIDS[0]}"
            tell 'exit 0'
            eventually is_not_attached "cam$i" # the first thread is a zombie, and has its former attributes
            attached "cam$i" "${TIDS[1]}"
            all+=("${TIDS[0]}")
            tells+=("$TELL")
        done
        for fd in "${tells[@]:wave * 5 - 5:5}"; do echo 'exec 1 0 /usr/bin/sleep' >&"$fd"; done
        for tid in "${all[@]}"; do eventually execed "$tid"; done
        none_stray_soon
        deadlines=0
        for tid in "${all[@]}"; do if is_policy "$tid" deadline; then deadlines=$((deadlines + 1)); fi; done
        [ "$deadlines" -eq 0 ]
    done
    nothing_left
}

# bats test_tags=turn:0
@test "a process is put back after execve if root made its first thread real-time" {
    broker_start
    for round in $(seq "$ROUNDS"); do
        for how in '-f -p 5' '-r -p 5' '-d -T 1000000 -P 100000000 -p 0'; do
            granted second "$FP"
            attacker 1
            chrt $how "${TIDS[0]}"
            attached second "${TIDS[1]}"
            tell 'exec 1 0 /usr/bin/sleep'
            eventually execed "${TIDS[0]}"
            none_stray_soon
            is_put_back "${TIDS[0]}"
            nothing_left
        done
    done
}

# bats test_tags=turn:1
@test "a process cannot be attached if its first thread is real-time with reset-on-fork by other means" {
    broker_start
    for how in '-f -R -p 5' '-r -R -p 5' '-d -R -T 1000000 -P 100000000 -p 0'; do
        granted second "$FP"
        attacker 1
        chrt $how "${TIDS[0]}"
        before=$(kernel "${TIDS[0]}")
        answer=$(attach $ALICE second "${TIDS[1]}")
        [ "$(field .result "$answer")" = ATTACH_FAIL ]
        [[ $(field .reason "$answer") == *"the first thread of its process, ${TIDS[0]}, is real-time with reset-on-fork"*execve* ]]
        tell 'exec 1 0 /usr/bin/sleep'
        eventually execed "${TIDS[0]}"
        none_stray_soon
        # The same holds behind a thread that the broker had attached: the first thread gets its former attributes back when it ends.
        attacker 1
        chrt $how "${TIDS[0]}"
        granted first "$FP"
        attached first "${TIDS[0]}"
        answer=$(attach $ALICE second "${TIDS[1]}")
        [ "$(field .result "$answer")" = ATTACH_FAIL ]
        as $ALICE rm "$SPECS/$ALICE/first.json"
        eventually test ! -e "$SPECS/$ALICE/first.verdict"
        [ "$(kernel "${TIDS[0]}")" = "$before" ] # the attachment has ended, and the thread has again what root gave it
        chrt -o -p 0 "${TIDS[0]}"
        nothing_left
    done
}

# bats test_tags=turn:2
@test "a first thread that root makes real-time later stays so when an attached one ends" {
    broker_start
    for how in '-f -R -p 5' '-r -R -p 5' '-d -R -T 1000000 -P 100000000 -p 0'; do
        granted second "$FP"
        attacker 2
        attached second "${TIDS[1]}"
        eventually has_watches 1
        chrt $how "${TIDS[0]}"
        before=$(kernel "${TIDS[0]}")
        tell 'name 1 renamed' 'exit 1'
        eventually is_not_attached second
        granted third "$FP" # when this is granted, the broker has handled the earlier events
        [ "$(kernel "${TIDS[0]}")" = "$before" ]
        chrt -o -p 0 "${TIDS[0]}"
        nothing_left
    done
}

# bats test_tags=turn:0
@test "a process is put back in a program that its user may not look into, too, and in root's" {
    broker_start
    for round in $(seq "$ROUNDS"); do
        for how in tid ended; do
            zombie_leader "$FP" $how
            attached second "${TIDS[1]}"
            eventually has_watches 1
            tell "exec 1 0 $WORK/unreadable"
            eventually execed "${TIDS[0]}" unreadable
            none_stray_soon
            is_put_back "${TIDS[0]}"
            nothing_left
        done
        zombie_leader "$FP" tid
        attached second "${TIDS[1]}"
        tell "exec 1 0 $WORK/as-root"
        eventually execed "${TIDS[0]}" as-root
        none_stray_soon
        is_policy "${TIDS[0]}" other
        nothing_left
    done
}

# bats test_tags=turn:2
@test "a first thread that calls execve itself stays attached in any program of its user, and is detached in root's" {
    broker_start
    for round in $(seq "$ROUNDS"); do
        for program in /usr/bin/sleep "$WORK/unreadable"; do
            granted second "$FP"
            attacker 2
            attached second "${TIDS[0]}"
            eventually has_watches 1
            tell "exec 0 0 $program"
            eventually execed "${TIDS[0]}" "${program##*/}"
            [ "$program" = /usr/bin/sleep ] || eventually reason_of_second_is "thread ${TIDS[0]} called execve and runs a program that its user cannot read: it is attached anew"
            granted third "$FP" # when this is granted, the broker has handled the earlier events
            has_thread second "${TIDS[0]}"
            is_policy "${TIDS[0]}" fifo
            as $ALICE rm "$SPECS/$ALICE/second.json"
            eventually test ! -e "$SPECS/$ALICE/second.verdict"
            is_policy "${TIDS[0]}" other
            nothing_left
        done
        granted second "$FP"
        attacker 2
        attached second "${TIDS[0]}"
        eventually has_watches 1
        tell "exec 0 0 $WORK/as-root"
        eventually execed "${TIDS[0]}" as-root
        eventually is_policy "${TIDS[0]}" other
        eventually is_not_attached second
        nothing_left
    done
}
reason_of_second_is() { [ "$(jq -r .reason "$SPECS/$ALICE/second.verdict")" = "$1" ]; }

# bats test_tags=turn:0
@test "an attached first thread that loses its id to another thread is detached, and the other thread is left alone" {
    broker_start
    for round in $(seq "$ROUNDS"); do
        for JSON in "$FP" "$EDF"; do
            for how in '-o -p 0' '-f -p 5'; do
                granted second "$JSON"
                attacker 2
                attached second "${TIDS[0]}"
                eventually has_watches 1
                chrt $how "${TIDS[1]}"
                before=$(kernel "${TIDS[1]}")
                tell 'exec 1 0 /usr/bin/sleep'
                eventually execed "${TIDS[0]}"
                eventually is_not_attached second
                reason_of_second_is "another thread of process ${TIDS[0]} called execve and has taken over the id of the attached thread: the process is ordinary, and not attached"
                granted third "$FP"
                [ "$(kernel "${TIDS[0]}")" = "$before" ]
                chrt -o -p 0 "${TIDS[0]}"
                nothing_left
            done
        done
        # Both threads are attached: both are made ordinary.
        beginning "$FP" first
        eventually has_watches 2
        tell 'exec 1 0 /usr/bin/sleep'
        eventually execed "${TIDS[0]}"
        eventually is_not_attached first
        eventually is_not_attached second
        eventually is_policy "${TIDS[0]}" other
        nothing_left
    done
}

# bats test_tags=turn:1
@test "a thread that lowers itself before its execve is put back, too" {
    broker_start
    for round in $(seq "$ROUNDS"); do
        for to in '1 1' '2 1' '2 12' '0 0'; do
            zombie_leader "$FP" tid
            attached second "${TIDS[1]}"
            tell "lower 1 $to" 'exec 1 0 /usr/bin/sleep'
            eventually execed "${TIDS[0]}"
            none_stray_soon
            nothing_left
        done
    done
}

# race LINE...: gives all orders in one write; each order is carried out after its own US. Then no thread of Alice's is real-time without a grant, and
# after the removal of all specs none is.
race() {
    tell "$@"
    eventually execed "${TIDS[0]}"
    none_stray_soon
    nothing_left
}

beginning() { # JSON [FIRST]: attaches the second thread, and with FIRST the first thread, too
    granted second "$1"
    attacker 2
    if [ -n "${2:-}" ]; then
        granted first "$1"
        attached first "${TIDS[0]}"
    fi
    attached second "${TIDS[1]}"
}

in_turns() { # COMMAND...: with SCHED_DEADLINE and SCHED_FIFO in turns; each round calls execve at another time
    for turn in $(seq $((ROUNDS * 4))); do
        LATER=$((turn * 97 % 900))
        if [ $((turn % 2)) = 0 ]; then "$@" "$FP"; else "$@" "$EDF"; fi
    done
}

detach_and_exec() { beginning "$1" && race "exec 1 $LATER /usr/bin/sleep" "remove 300 $SPECS/$ALICE/second.tid"; }
release_and_exec() { beginning "$1" && race "exec 1 $LATER /usr/bin/sleep" "remove 300 $SPECS/$ALICE/second.json"; }
change_and_exec() { beginning "$1" && race "exec 1 $LATER /usr/bin/sleep" "write 300 $SPECS/$ALICE/second.json $FP"; }
both_and_exec() { beginning "$1" first && race "exec 1 $LATER /usr/bin/sleep" "remove 300 $SPECS/$ALICE/first.tid"; }
both_end_and_exec() { beginning "$1" first && race 'exit 0' "exec 1 $LATER /usr/bin/sleep" "remove 300 $SPECS/$ALICE/first.json" "remove 300 $SPECS/$ALICE/second.tid"; }
other_way_and_exec() { beginning "$1" first && race "exec 2 $LATER /usr/bin/sleep" "remove 300 $SPECS/$ALICE/first.tid" "remove 500 $SPECS/$ALICE/second.tid"; }
# The attributes that one spec grants must not become the former attributes of a second spec.
claim_and_exec() {
    beginning "$1" && granted third "$FP" && race "exec 1 $LATER /usr/bin/sleep" "write $((LATER + 400)) $SPECS/$ALICE/third.tid ${TIDS[0]}" &&
        true
}
swap_and_exec() { beginning "$1" && race "exec 1 $LATER /usr/bin/sleep" "write 300 $SPECS/$ALICE/second.tid ${TIDS[0]}"; }
attach_and_exec() {
    granted second "$1"
    attacker 2
    race "write 0 $SPECS/$ALICE/second.tid ${TIDS[1]}" "exec 1 $((LATER * 2)) /usr/bin/sleep"
}

# bats test_tags=turn:2
@test "execve beside the removal of NAME.tid leaves no thread real-time without a grant" { broker_start && in_turns detach_and_exec; }
# bats test_tags=turn:0
@test "execve beside the removal of the spec leaves no thread real-time without a grant" { broker_start && in_turns release_and_exec; }
# bats test_tags=turn:1
@test "execve beside a change of the spec leaves no thread real-time without a grant" { broker_start && in_turns change_and_exec; }
# bats test_tags=turn:2
@test "execve beside the attachment leaves no thread real-time without a grant" { broker_start && in_turns attach_and_exec; }
# bats test_tags=turn:0
@test "execve beside the detachment of the first thread leaves no thread real-time without a grant" { broker_start && in_turns both_and_exec; }
# bats test_tags=turn:1
@test "execve beside the end of both specs leaves no thread real-time without a grant" { broker_start && in_turns both_end_and_exec; }
# bats test_tags=turn:2
@test "execve by a third thread beside the detachment of both leaves no thread real-time without a grant" { broker_start && in_turns other_way_and_exec; }
# bats test_tags=turn:0
@test "execve beside another spec for the thread's new id leaves no thread real-time without a grant" { broker_start && in_turns claim_and_exec; }
# bats test_tags=turn:1
@test "execve beside the same spec for the thread's new id leaves no thread real-time without a grant" { broker_start && in_turns swap_and_exec; }

# bats test_tags=turn:2
@test "one of hundreds of threads, many of them attached, calls execve, and no thread stays real-time without a grant" {
    broker_start
    for round in $(seq "$ROUNDS"); do
        attacker 300
        for i in $(seq 20); do
            granted "cam$i" "$FP"
            attached "cam$i" "${TIDS[i]}"
        done
        [ $((round % 2)) = 0 ] || eventually has_watches 20
        tell 'exit 0' 'exec 13 500 /usr/bin/sleep'
        eventually execed "${TIDS[0]}"
        none_stray_soon
        nothing_left
    done
}

# bats test_tags=turn:0
@test "execve while the broker is stopped leaves no thread real-time without a grant" {
    broker_start
    for round in $(seq "$ROUNDS"); do
        for first in '' first; do
            beginning "$FP" $first
            kill -STOP "$BROKER"
            tell 'exit 0' 'exec 1 100 /usr/bin/sleep'
            eventually execed "${TIDS[0]}"
            [ $((round % 2)) = 0 ] || as $ALICE rm -f "$SPECS/$ALICE/first.json" "$SPECS/$ALICE/second.tid"
            kill -CONT "$BROKER"
            none_stray_soon
            nothing_left
        done
    done
}

# bats test_tags=turn:1
@test "execve while the broker is stopped: another spec claims the new id, and no thread is real-time without a grant" {
    broker_start
    for round in $(seq "$ROUNDS"); do
        beginning "$FP"
        granted third "$FP"
        kill -STOP "$BROKER"
        as $ALICE sh -c 'echo "$2" >"$1/third.tid"' sh "$SPECS/$ALICE" "${TIDS[0]}"
        tell 'exec 1 0 /usr/bin/sleep'
        eventually execed "${TIDS[0]}"
        kill -CONT "$BROKER"
        none_stray_soon
        nothing_left
    done
}

# bats test_tags=turn:2
@test "execve while the helper is stopped leaves no thread real-time without a grant" {
    broker_start
    for round in $(seq "$ROUNDS"); do
        for what in first.json second.json second.tid; do
            beginning "$FP" first
            helper=$(helpers rtf-attach)
            kill -STOP "$helper"
            rm "$SPECS/$ALICE/$what"
            tell 'exit 0' 'exec 1 0 /usr/bin/sleep'
            eventually execed "${TIDS[0]}"
            kill -CONT "$helper"
            none_stray_soon
            nothing_left
        done
    done
}

# bats test_tags=turn:0
@test "execve while no broker runs leaves no thread real-time without a grant" {
    broker_start
    for round in $(seq "$ROUNDS"); do
        for first in '' first; do
            beginning "$EDF" $first
            broker_stop KILL
            eventually none_of_ours
            tell 'exit 0' 'exec 1 100 /usr/bin/sleep'
            eventually execed "${TIDS[0]}"
            [ $((round % 2)) = 0 ] || as $ALICE rm -f "$SPECS/$ALICE/first.json" "$SPECS/$ALICE/second.tid"
            broker_start
            none_stray_soon
            nothing_left
        done
    done
}

# bats test_tags=turn:1
@test "execve while no broker runs, and its plugin is removed, leaves no thread real-time without a grant" {
    for round in $(seq "$ROUNDS"); do
        broker_start
        beginning "$FP"
        broker_stop KILL
        eventually none_of_ours
        tell 'exec 1 0 /usr/bin/sleep'
        eventually execed "${TIDS[0]}"
        configure_plugins 'RR rr 1-10 all'
        broker_start
        none_stray_soon
        is_policy "${TIDS[0]}" other
        nothing_left
        broker_stop TERM
        prepare
    done
}

# bats test_tags=turn:2
@test "execve beside SIGTERM leaves no thread real-time" {
    for turn in $(seq $((ROUNDS * 4))); do
        broker_start
        if [ $((turn % 2)) = 0 ]; then beginning "$FP"; else beginning "$EDF" first; fi
        tell 'exit 0' "exec 1 $((turn * 97 % 900)) /usr/bin/sleep"
        kill -TERM "$BROKER"
        eventually execed "${TIDS[0]}"
        wait "$BROKER"
        BROKER=
        is_policy "${TIDS[0]}" other
        for tid in "${TIDS[@]}"; do [ ! -d "/proc/$tid" ] || is_policy "$tid" other; done
        broker_start
        none_stray_soon
        nothing_left
        broker_stop TERM
    done
}

# True if the broker waits in poll(2), or in ppoll(2) on machines without poll(2). Before, the broker waits in epoll.
waits_for_its_helper() { [[ $(cut -d ' ' -f 1 "/proc/$BROKER/syscall") == @(7|73) ]]; }

# bats test_tags=turn:0
@test "execve beside SIGTERM, which waits for the helper, leaves no thread real-time" {
    for round in $(seq "$ROUNDS"); do
        for first in '' first; do
            broker_start
            beginning "$FP" $first
            helper=$(helpers rtf-attach)
            kill -STOP "$helper"
            kill -TERM "$BROKER"
            eventually waits_for_its_helper
            tell 'exit 0' 'exec 1 0 /usr/bin/sleep'
            eventually execed "${TIDS[0]}"
            kill -CONT "$helper"
            wait "$BROKER"
            BROKER=
            is_policy "${TIDS[0]}" other
            # If the first thread is attached, too, the order that restores it has made this thread ordinary, and no such line is due.
            [ -n "$first" ] || grep -q "after an execve of its process, thread ${TIDS[0]} runs under the grant of another thread" "$EVENTS"
            rm "$EVENTS"
            broker_start
            nothing_left
            broker_stop TERM
            rm "$EVENTS"
        done
    done
}

# bats test_tags=turn:1
@test "threads of the same process that others have made real-time stay so" {
    broker_start
    for round in $(seq "$ROUNDS"); do
        beginning "$FP"
        chrt -f -R -p 5 "${TIDS[2]}"
        tell 'exit 1'
        eventually is_not_attached second
        granted third "$FP"
        [[ $(kernel "${TIDS[2]}") == 'fifo 5 '*' reset=1' ]]
        chrt -o -p 0 "${TIDS[2]}"
        nothing_left
    done
}
