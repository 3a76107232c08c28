# SIGKILL at each system call of broker, helper and plugin, while a wish is made, attached, changed, detached and released, and
# while a broker starts: afterwards all agree, what was asked is answered, and the thread gets back what it had.
load fault

# kill_at PROCESS OPERATION N: true if it came to that
kill_at() {
    local process hit=no
    "before_$2"
    process=$(process_of "$1")
    trace "$process" "all:signal=KILL:when=$3"
    "do_$2"
    eventually hit_or_done "$process" "$2"
    if is_gone "$process"; then hit=yes; fi
    untrace
    if is_gone "$process"; then hit=yes; fi # by what it did after its answer
    ends_well "$2"
    [ "$hit" = yes ]
}
hit_or_done() { is_gone "$1" || "is_$2"; }

killed_everywhere() { # PROCESS OPERATION
    local n kills=0
    broker_start
    sleeper $ALICE
    for ((n = FIRST; n < 1000; n += STEP)); do
        if ! kill_at "$1" "$2" "$n"; then break; fi
        kills=$((kills + 1))
    done
    echo "# $1 killed $kills times while it served $2, at every ${STEP}th system call from the ${FIRST}th on" >&3
    [ "$n" -lt 1000 ]
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

@test "the broker is killed at each system call of a start with a grant and a thread" {
    broker_start
    sleeper $ALICE
    before_change
    local n kills=0 step=$((STEP * 3))
    for ((n = FIRST; n < 5000; n += step)); do
        kill -KILL "$BROKER"
        wait "$BROKER" 2>/dev/null || true
        strace -qq -o /dev/null -e trace=all -e "inject=all:signal=KILL:when=$n" "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" \
            --group "$GROUP" >>"$WORK/broker.out" 2>&1 3>&- &
        BROKER=$!
        echo "$BROKER" >>"$WORK/pids"
        eventually broker_serves
        if ! is_gone "$BROKER"; then break; fi
        kills=$((kills + 1))
        broker_is_back
        is_attach
        agree
    done
    echo "# killed $kills times while it started, at every ${step}th system call" >&3
    kill -KILL "$BROKER" "$(pgrep -P "$BROKER")" 2>/dev/null || true
    eventually none_of_ours
    broker_is_back
    is_attach
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_release
}
