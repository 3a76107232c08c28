# bats file_tags=lane:disk
# SIGKILL at each system call of broker, helper and plugin, of reader, adopter, log, publisher and guard, while a spec is made, attached, changed, detached and
# released, and while a broker starts: afterwards journal, kernel and files agree, the request is answered, and the thread has its former scheduling again.
load fault

# kill_at PROCESS OPERATION CALL N: true if the call was made and the process killed, 2 if the operation did not end well
kill_at() {
    local hit=no
    "before_$2" || return 2
    trace_part "$1" -e "trace=$3" -e "inject=$3:signal=KILL:when=$4" || return 2
    goes_on_after_kill "$@"
}
goes_on_after_kill() { # the same arguments as kill_at
    LOGGED=$(wc -l <"$EVENTS")
    "do_$2"
    eventually hit_or_done "$TRACED" "$2" || return 2
    is_another "$1" || bob_is_served || return 2
    if is_gone "$TRACED"; then hit=yes; fi
    untrace
    if is_gone "$TRACED"; then hit=yes; fi # the process may have been killed after its answer
    if [ "$1" = plugin ] || [ "$1" = edf ] || [ "$1" = counter ]; then # the death of a plugin may refuse this request, and only this request
        eventually is_answered "$2" || return 2
        [ "$2" = raise ] || eventually ask "$2" || return 2 # `raise` is no request: when the plugin is back, the capacity is given
    fi
    is_another "$1" || has_lost_nothing "$1" "$2" || return 2
    ends_well "$2" || return 2
    [ "$hit" = yes ] || return 1
    is_another "$1" || begins_anew "$1" || return 2
}
is_another() { [[ broker\ helper\ net\ disk\ plugin\ edf\ counter == *"$1"* ]]; }

# has_lost_nothing: the broker carries out the request once, without a second request, and Alice's directory has the expected files.
has_lost_nothing() { # PROCESS OPERATION
    local files
    eventually "is_$2" || { echo "no answer to $2"; tail -n 5 "$EVENTS"; return 1; }
    files=$(files_after "$2")
    [ "$2" = move ] || eventually has_files "$files" || { ls -la "$SPECS/$ALICE"; return 1; }
    [ "$(answers "$2")" -le 1 ] || { tail -n "+$((LOGGED + 1))" "$EVENTS"; return 1; }
}

# begins_anew: the program runs again. The pause before a restart grows with each kill; the test does not wait for long pauses.
begins_anew() { # PROCESS
    [ -n "$(process_of "$1")" ] || eventually has_part "$1" || return 1
    if [ "$1" = reader ]; then
        broker_stop INT
        broker_start
    fi
}
has_part() { [ -n "$(process_of "$1")" ]; }
hit_or_done() { is_gone "$1" || "is_$2"; }

killed_everywhere() { # PROCESS OPERATION
    broker_start
    sleeper $ALICE
    as $ALICE sh -c 'mkdir -p "$1" && : >"$1/$2"' sh "$SPECS/$ALICE" "$NOTES"
    calls_of "$1" "$2" >"$WORK/calls"
    kill_at_each "$STEP" kill_at "$@"
    echo "# $1 killed $kills times while it served $2: it makes ${#calls[@]} system calls, and this was every ${STEP}th; number $FIRST of today" >&3
}
kill_at_each() { # STEP FUNCTION PROCESS OPERATION: kills at a sample of the calls in $WORK/calls; $kills counts the kills
    local i at call n status tried=0
    kills=0
    mapfile -t calls <"$WORK/calls"
    mapfile -t at < <(sample "${#calls[@]}" "$1")
    for i in "${at[@]}"; do
        # The calls after the sample are for the case that no call of the sample was made.
        if [ "$kills" -gt 0 ] && [ "$tried" -ge $(((${#calls[@]} + $1 - 1) / $1)) ]; then break; fi
        tried=$((tried + 1))
        read -r call n <<<"${calls[i]}"
        status=0
        "${@:2}" "$call" "$n" || status=$?
        [ "$status" -ne 2 ] || { echo "$3 killed at $call $n of $4"; return 1; }
        [ "$status" -ne 0 ] || kills=$((kills + 1))
    done
    [ "$kills" -gt 0 ]
}

# killed_between: kills at each of these calls every day, and not at a sample of the calls. The calls are the writes of the journal, the messages to the helper,
# and the helper's calls. contrib/model/journal.pml is a model of them.
killed_between() { # PROCESS OPERATION CALLS
    broker_start
    sleeper $ALICE
    as $ALICE sh -c 'mkdir -p "$1" && : >"$1/$2"' sh "$SPECS/$ALICE" "$NOTES"
    calls_of "$1" "$2" >"$WORK/all-calls"
    grep -E "^($3) " "$WORK/all-calls" >"$WORK/calls"
    kill_at_each 1 kill_at "$1" "$2"
    echo "# $1 killed $kills times while it served $2: at each of ${#calls[@]} calls ($3)" >&3
}
@test "the broker is killed between journal and helper, at each call of an attach" { killed_between broker attach 'write|sendmsg'; }
@test "the helper is killed before and after it makes a thread real-time" { killed_between helper attach 'sched_setattr|sendmsg'; }
@test "the helper is killed before and after it makes a thread ordinary" { killed_between helper release 'sched_setattr|sendmsg'; }

# bats test_tags=turn:0
@test "the broker is killed at each system call of a create" { killed_everywhere broker create; }
# bats test_tags=turn:1
@test "the broker is killed at each system call of an attach" { killed_everywhere broker attach; }
# bats test_tags=turn:2
@test "the broker is killed at each system call of a change" { killed_everywhere broker change; }
# bats test_tags=turn:0
@test "the broker is killed at each system call of a detach" { killed_everywhere broker detach; }
# bats test_tags=turn:1
@test "the broker is killed at each system call of a release" { killed_everywhere broker release; }

# bats test_tags=turn:2
@test "the helper is killed at each system call of an attach" { killed_everywhere helper attach; }
# bats test_tags=turn:0
@test "the helper is killed at each system call of a change" { killed_everywhere helper change; }
# bats test_tags=turn:1
@test "the helper is killed at each system call of a detach" { killed_everywhere helper detach; }
# bats test_tags=turn:2
@test "the helper is killed at each system call of a release" { killed_everywhere helper release; }

# bats test_tags=turn:0
@test "a plugin is killed at each system call of a create" { killed_everywhere plugin create; }
# bats test_tags=turn:1
@test "a plugin is killed at each system call of a change" { killed_everywhere plugin change; }
# bats test_tags=turn:2
@test "a plugin is killed at each system call of a release" { killed_everywhere plugin release; }

# bats test_tags=turn:1
@test "the broker is killed at each system call of a create with two claims" { is_a_transaction; killed_everywhere broker create; }
# bats test_tags=turn:2
@test "the broker is killed at each system call of a change with two claims" { is_a_transaction; killed_everywhere broker change; }
# bats test_tags=turn:0
@test "the broker is killed at each system call of a release with two claims" { is_a_transaction; killed_everywhere broker release; }
# bats test_tags=turn:0
@test "the plugin of a second claim is killed at each system call of a create" { is_a_transaction; killed_everywhere counter create; }
# bats test_tags=turn:2
@test "the plugin of a second claim is killed at each system call of a change" { is_a_transaction; killed_everywhere counter change; }

# bats test_tags=turn:1
@test "rtf-net is killed at each system call of a create" { is_on_a_wire; killed_everywhere net create; }
# bats test_tags=turn:2
@test "rtf-net is killed at each system call of an attach" { is_on_a_wire; killed_everywhere net attach; }
# bats test_tags=turn:0
@test "rtf-net is killed at each system call of a change" { is_on_a_wire; killed_everywhere net change; }
# bats test_tags=turn:1
@test "rtf-net is killed at each system call of a detach" { is_on_a_wire; killed_everywhere net detach; }
# bats test_tags=turn:2
@test "rtf-net is killed at each system call of a release" { is_on_a_wire; killed_everywhere net release; }
# bats test_tags=turn:0
@test "the broker is killed at each system call of a create with a share of an interface" { is_on_a_wire; killed_everywhere broker create; }
# bats test_tags=turn:2
@test "the broker is killed at each system call of a release with a share of an interface" { is_on_a_wire; killed_everywhere broker release; }

# bats test_tags=turn:2
@test "rtf-disk is killed at each system call of a create" { is_on_a_disk; killed_everywhere disk create; }
# bats test_tags=turn:0
@test "rtf-disk is killed at each system call of an attach" { is_on_a_disk; killed_everywhere disk attach; }
# bats test_tags=turn:1
@test "rtf-disk is killed at each system call of a change" { is_on_a_disk; killed_everywhere disk change; }
# bats test_tags=turn:2
@test "rtf-disk is killed at each system call of a detach" { is_on_a_disk; killed_everywhere disk detach; }
# bats test_tags=turn:0
@test "rtf-disk is killed at each system call of a release" { is_on_a_disk; killed_everywhere disk release; }
# bats test_tags=turn:1
@test "rtf-disk --ioprio is killed at each system call of an attach" { is_first_on_a_disk; killed_everywhere disk attach; }
# bats test_tags=turn:2
@test "rtf-disk --ioprio is killed at each system call of a change" { is_first_on_a_disk; killed_everywhere disk change; }
# bats test_tags=turn:0
@test "rtf-disk --ioprio is killed at each system call of a detach" { is_first_on_a_disk; killed_everywhere disk detach; }
# bats test_tags=turn:1
@test "rtf-disk --ioprio is killed at each system call of a release" { is_first_on_a_disk; killed_everywhere disk release; }
# bats test_tags=turn:2
@test "the broker is killed at each system call of an attach that raises" { is_first_on_a_disk; killed_everywhere broker attach; }
# bats test_tags=turn:0
@test "the broker is killed at each system call of a release that lowers" { is_first_on_a_disk; killed_everywhere broker release; }
# bats test_tags=turn:1
@test "the broker is killed at each system call of a create with a share of a disk" { is_on_a_disk; killed_everywhere broker create; }
# bats test_tags=turn:0
@test "the broker is killed at each system call of a release with a share of a disk" { is_on_a_disk; killed_everywhere broker release; }

# bats test_tags=turn:0
@test "a reader is killed at each system call of a create" { killed_everywhere reader create; }
# bats test_tags=turn:1
@test "a reader is killed at each system call of an attach" { killed_everywhere reader attach; }
# bats test_tags=turn:2
@test "a reader is killed at each system call of a change" { killed_everywhere reader change; }
# bats test_tags=turn:0
@test "a reader is killed at each system call of a detach" { killed_everywhere reader detach; }
# bats test_tags=turn:1
@test "a reader is killed at each system call of a release" { killed_everywhere reader release; }

# bats test_tags=turn:2
@test "the adopter is killed at each system call for a new directory" { killed_everywhere adopter adopt; }
# bats test_tags=turn:0
@test "the adopter is killed at each system call for a directory that goes" { killed_everywhere adopter move; }
# bats test_tags=turn:1
@test "the adopter is killed at each system call for a directory of a wrong name" { killed_everywhere adopter aside; }

# bats test_tags=turn:2
@test "the log is killed at each system call of a create" { killed_everywhere logger create; }

# bats test_tags=turn:0
@test "the publisher is killed at each system call of a create that is told" { killed_everywhere publisher tell; }

# is_guarded: from now on, CAM and OTHER are specs with a runtime that the guard enforces.
is_guarded() {
    configure_plugins 'FP fp 11-20 all enforce=runtime' 'RR rr 1-10 all'
    CAM='{"priority": 12, "plugin": "FP", "runtime": "10ms", "period": "100ms"}' OTHER='{"priority": 14, "plugin": "FP", "runtime": "10ms", "period": "100ms"}'
}
# bats test_tags=turn:0
@test "the guard is killed at each system call of an attach" { is_guarded; killed_everywhere guard attach; }
# bats test_tags=turn:1
@test "the guard is killed at each system call of a change" { is_guarded; killed_everywhere guard change; }
# bats test_tags=turn:2
@test "the guard is killed at each system call of a detach" { is_guarded; killed_everywhere guard detach; }

killed_from_start() { # PROCESS OPERATION
    held "rtf-$1"
    broker_start
    sleeper $ALICE
    as $ALICE sh -c 'mkdir -p "$1" && : >"$1/$2"' sh "$SPECS/$ALICE" "$NOTES"
    "before_$2"
    begin_traced "$1"
    "do_$2"
    eventually "is_$2"
    untrace
    cleans_up "$2"
    calls_traced >"$WORK/calls"
    kill_at_each $((STEP > 1 ? STEP * 7 : 1)) kill_at_start "$@"
    echo "# $1 killed $kills times from its start to the end of $2: it makes ${#calls[@]} system calls, and this was every $((STEP > 1 ? STEP * 7 : 1))th; number $FIRST of today" >&3
    broker_stop TERM
}
kill_at_start() { # the same arguments as kill_at
    local hit=no
    "before_$2" || return 2
    begin_traced "$1" -e "trace=$3" -e "inject=$3:signal=KILL:when=$4" || return 2
    goes_on_after_kill "$@"
}
# bats test_tags=turn:0
@test "a reader is killed at each system call from its start to a create" { killed_from_start reader create; }
# bats test_tags=turn:1
@test "the adopter is killed at each system call from its start to a new directory" { killed_from_start adopter adopt; }
# bats test_tags=turn:2
@test "the log is killed at each system call from its start to a create" { killed_from_start logger create; }
# bats test_tags=turn:1
@test "the publisher is killed at each system call from its start to a create that is told" { killed_from_start publisher tell; }
# bats test_tags=turn:0
@test "the guard is killed at each system call from its start to an attach" { is_guarded; killed_from_start guard attach; }

# bats test_tags=turn:1
@test "a thread whose attach helper died is free for no other spec before it is put back" {
    configure_plugins 'FP fp 11-20 0'
    broker_start
    sleeper $ALICE
    before_attach
    [ "$(field .result "$(spec $ALICE other "$OTHER")")" = OK ]
    # From here on, each helper dies when it has pinned the thread and is about to make it real-time.
    trace "$(launcher)" -f -p "$(helpers rtf-attach)" -e trace=sched_setattr -e inject=sched_setattr:signal=KILL
    do_attach
    eventually has_died 2
    # The broker does not know yet what the thread is. So the other spec waits.
    as $ALICE sh -c 'echo "$2" >"$1/.tid" && mv "$1/.tid" "$1/other.tid"' sh "$SPECS/$ALICE" "$SLEEPER"
    eventually has_died 4
    [[ $(kernel "$SLEEPER") == 'other 0 '* ]]
    says $ALICE other '.request == "create"'
    untrace
    eventually is_refused cam
    eventually says $ALICE other '.request == "attach" and .result == "OK"'
    [[ $(kernel "$SLEEPER") == 'fifo 14 '* ]]
    agree
    as $ALICE rm "$SPECS/$ALICE/other.tid"
    eventually says $ALICE other '.request == "detach"'
    kernel_says "$ORDINARY"
}
has_died() { [ "$(grep -c 'attach helper is started again' "$EVENTS")" -ge "$1" ]; } # TIMES
is_refused() { says $ALICE "$1" '.request == "attach" and .result == "ATTACH_FAIL"'; }

# bats test_tags=turn:2
@test "the broker is killed at each system call of a start with a grant and a thread" { killed_while_starting; }
# bats test_tags=turn:1
@test "the broker is killed at each system call of a start with a share of a disk and a thread" { is_on_a_disk; killed_while_starting; }

# When a broker starts, the grants of the earlier broker stay in force, even if the new broker's helper dies before or after the broker has told the
# helper all grants.
# bats test_tags=turn:0
@test "rtf-disk is killed at each system call of a broker's start with a grant and a thread" {
    is_on_a_disk
    held rtf-disk
    broker_start
    sleeper $ALICE
    before_change
    broker_starts_traced
    eventually broker_serves
    eventually is_attach
    untrace
    calls_traced >"$WORK/calls"
    kill_at_each "$((STEP > 1 ? STEP * 3 : 1))" kill_at_restart disk start
    echo "# rtf-disk killed $kills times while a broker started: it makes ${#calls[@]} system calls" >&3
}
broker_starts_traced() { # [STRACE-OPTION...]: rtf-disk is, from its beginning
    : >"$WORK/hold"
    kill -KILL "$BROKER"
    wait "$BROKER" 2>/dev/null || true
    eventually none_of_ours
    eventually no pgrep -f "$WORK/programs/" >/dev/null
    "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" ${RTF_PLUGIN_USER:+--plugin-user "$RTF_PLUGIN_USER"} \
        >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually is_stopped rtf-disk || return 1
    TRACED=$(helpers rtf-disk)
    trace "$TRACED" "$@" || return 1
    kill -CONT "$TRACED"
}
kill_at_restart() { # the same arguments as kill_at
    local hit=no
    broker_starts_traced -e "trace=$3" -e "inject=$3:signal=KILL:when=$4" || return 2
    eventually broker_serves && ! is_gone "$BROKER" || return 2
    eventually is_attach && eventually has_another || return 2
    if is_gone "$TRACED"; then hit=yes; fi
    untrace
    is_attach && agree || return 2
    [ "$hit" = yes ]
}
# has_another: the traced rtf-disk runs, or another rtf-disk has carried out all messages and waits for more.
has_another() { ! is_gone "$TRACED" || { [ "$(helpers rtf-disk)" != "$TRACED" ] && [[ $(cat "/proc/$(helpers rtf-disk)/wchan") == *wait_for_more_packets ]]; }; }

killed_while_starting() {
    broker_start
    sleeper $ALICE
    before_change
    local i call n calls kills=0 step=$((STEP > 1 ? STEP * 6 : 1))
    kill -KILL "$BROKER"
    wait "$BROKER" 2>/dev/null || true
    traced_start -o "$WORK/trace"
    traced_end
    awk -F '(' '/^[a-z0-9_]+\(/ { print $1, ++calls[$1] } /fchmod\(.*alive|"alive"/ { exit }' "$WORK/trace" >"$WORK/calls"
    mapfile -t calls <"$WORK/calls"
    for ((i = (FIRST - 1) % step; i < ${#calls[@]}; i += step)); do
        read -r call n <<<"${calls[i]}"
        traced_start -o /dev/null -e "trace=$call" -e "inject=$call:signal=KILL:when=$n"
        if is_gone "$BROKER"; then kills=$((kills + 1)); fi
        traced_end
        broker_is_back
        is_attach
        agree
        kill -KILL "$BROKER"
        wait "$BROKER" 2>/dev/null || true
    done
    echo "# killed $kills times while it started: it makes ${#calls[@]} system calls, and this was every ${step}th" >&3
    eventually none_of_ours
    broker_is_back
    is_attach
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_release
}

# traced_start STRACE-OPTION...: starts a traced broker, and returns when it serves or has ended
traced_start() {
    strace -qq "$@" -- "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually serves_or_gone
}
traced_end() {
    kill -KILL "$(pgrep -P "$BROKER")" 2>/dev/null || true
    wait "$BROKER" 2>/dev/null || true
}
serves_or_gone() { is_gone "$BROKER" || broker_serves; }

# The broker is killed while it shares out spare capacity.
# bats test_tags=turn:0
@test "the broker is killed at each system call while a spec is given more of CPU time" { desires_time; killed_everywhere broker raise; }
# bats test_tags=turn:1
@test "the broker is killed at each system call while a spec is left less of CPU time" { desires_time; killed_everywhere broker lower; }
# bats test_tags=turn:2
@test "the helper is killed at each system call while a spec is given more of CPU time" { desires_time; killed_everywhere helper raise; }
# bats test_tags=turn:0
@test "the helper is killed at each system call while a spec is left less of CPU time" { desires_time; killed_everywhere helper lower; }
# bats test_tags=turn:1
@test "the plugin is killed at each system call while a spec is given more of CPU time" { desires_time; killed_everywhere edf raise; }
# bats test_tags=turn:2
@test "the plugin is killed at each system call while a spec is left less of CPU time" { desires_time; killed_everywhere edf lower; }
# bats test_tags=turn:0
@test "the broker is killed at each system call while a spec is given more of an interface" { desires_of_a_wire; killed_everywhere broker raise; }
# bats test_tags=turn:1
@test "the broker is killed at each system call while a spec is left less of an interface" { desires_of_a_wire; killed_everywhere broker lower; }
# bats test_tags=turn:2
@test "rtf-net is killed at each system call while a spec is given more of an interface" { desires_of_a_wire; killed_everywhere net raise; }
# bats test_tags=turn:0
@test "rtf-net is killed at each system call while a spec is left less of an interface" { desires_of_a_wire; killed_everywhere net lower; }
# bats test_tags=turn:1
@test "the broker is killed at each system call while a spec is given more of a disk" { desires_of_a_disk; killed_everywhere broker raise; }
# bats test_tags=turn:2
@test "the broker is killed at each system call while a spec is left less of a disk" { desires_of_a_disk; killed_everywhere broker lower; }
# bats test_tags=turn:0
@test "rtf-disk is killed at each system call while a spec is given more of a disk" { desires_of_a_disk; killed_everywhere disk raise; }
# bats test_tags=turn:1
@test "rtf-disk is killed at each system call while a spec is left less of a disk" { desires_of_a_disk; killed_everywhere disk lower; }
