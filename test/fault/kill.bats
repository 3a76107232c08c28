# SIGKILL at each system call of broker, helper and plugin, while a wish is made, attached, changed, detached and released, and
# while a broker starts: afterwards all agree, what was asked is answered, and the thread gets back what it had.
load fault

# kill_at PROCESS OPERATION CALL N: true if it came to that, 2 if it did not end well
kill_at() {
    local process hit=no
    "before_$2" || return 2
    process=$(process_of "$1")
    trace "$process" -e "trace=$3" -e "inject=$3:signal=KILL:when=$4"
    "do_$2"
    eventually hit_or_done "$process" "$2" || return 2
    if is_gone "$process"; then hit=yes; fi
    untrace
    if is_gone "$process"; then hit=yes; fi # by what it did after its answer
    if [ "$1" = plugin ]; then # which costs that request, if only that
        eventually is_answered "$2" && eventually ask "$2" || return 2
    fi
    ends_well "$2" || return 2
    [ "$hit" = yes ]
}
hit_or_done() { is_gone "$1" || "is_$2"; }

killed_everywhere() { # PROCESS OPERATION
    local i call n calls kills=0 status
    broker_start
    sleeper $ALICE
    calls_of "$1" "$2" >"$WORK/calls"
    mapfile -t calls <"$WORK/calls"
    for ((i = FIRST - 1; i < ${#calls[@]}; i += STEP)); do
        read -r call n <<<"${calls[i]}"
        status=0
        kill_at "$1" "$2" "$call" "$n" || status=$?
        [ "$status" -ne 2 ] || { echo "$1 killed at $call $n of $2"; return 1; }
        [ "$status" -ne 0 ] || kills=$((kills + 1))
    done
    echo "# $1 killed $kills times while it served $2: it makes ${#calls[@]} system calls, and this was every ${STEP}th from the ${FIRST}th on" >&3
    [ "$kills" -gt 0 ]
}

@test "the broker is killed at each system call of a create" { killed_everywhere broker create; }
@test "the broker is killed at each system call of an attach" { killed_everywhere broker attach; }
@test "the broker is killed at each system call of a change" { killed_everywhere broker change; }
@test "the broker is killed at each system call of a detach" { killed_everywhere broker detach; }
@test "the broker is killed at each system call of a release" { killed_everywhere broker release; }

@test "the helper is killed at each system call of an attach" { killed_everywhere helper attach; }
@test "the helper is killed at each system call of a change" { killed_everywhere helper change; }
@test "the helper is killed at each system call of a detach" { killed_everywhere helper detach; }
@test "the helper is killed at each system call of a release" { killed_everywhere helper release; }

@test "a plugin is killed at each system call of a create" { killed_everywhere plugin create; }
@test "a plugin is killed at each system call of a change" { killed_everywhere plugin change; }
@test "a plugin is killed at each system call of a release" { killed_everywhere plugin release; }

@test "a thread that the helper has died over is nobody else's before it is put back" {
    configure_plugins 'FP fp 11-20 0'
    broker_start
    sleeper $ALICE
    before_attach
    [ "$(field .result "$(wish $ALICE other "$OTHER")")" = OK ]
    # Each helper, from here on, dies when it has pinned the thread and is about to make it real-time.
    trace "$(starter)" -f -p "$(parts rtf-attach)" -e trace=sched_setattr -e inject=sched_setattr:signal=KILL
    do_attach
    eventually has_died_twice
    as $ALICE sh -c 'echo "$2" >"$1/.tid" && mv "$1/.tid" "$1/other.tid"' sh "$SPECS/$ALICE" "$SLEEPER"
    eventually is_refused other
    untrace
    eventually is_refused cam
    kernel_says "$ORDINARY"
    agree
    as $ALICE rm "$SPECS/$ALICE/other.tid"
    eventually says $ALICE other '.request == "detach"'
    kernel_says "$ORDINARY"
}
has_died_twice() { [ "$(grep -c 'attach helper ended' "$EVENTS")" -ge 2 ]; }
is_refused() { says $ALICE "$1" '.request == "attach" and .result == "ATTACH_FAIL"'; }

@test "the broker is killed at each system call of a start with a grant and a thread" {
    broker_start
    sleeper $ALICE
    before_change
    local i call n calls kills=0 step=$((STEP * 3))
    kill -KILL "$BROKER"
    wait "$BROKER" 2>/dev/null || true
    traced_start -o "$WORK/trace"
    traced_end
    awk -F '(' '/^[a-z0-9_]+\(/ { print $1, ++calls[$1] } /fchmod\(.*alive|"alive"/ { exit }' "$WORK/trace" >"$WORK/calls"
    mapfile -t calls <"$WORK/calls"
    for ((i = FIRST - 1; i < ${#calls[@]}; i += step)); do
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

# traced_start STRACE-OPTION...: it serves, or has ended
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
