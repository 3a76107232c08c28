# Threads that the kernel makes for io_uring(7) in a user's process (IORING_SETUP_SQPOLL): they spin in the kernel, run none of the user's code, and take no signal.
load attack
load ring

prepare() {
    as $ALICE /usr/bin/python3 -S -c "$RING" once >/dev/null || skip 'no io_uring with a thread of its own for users'
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 1 enforce=runtime'
    configure_rules "$ALICE - max_utilization 1" "$BOB - max_utilization 0.5"
    ATTACKERS=()
}

# ring [FILE]: starts a process with a ring. $PROCESS is the process, and $WORK/ring has the id of the ring's thread.
ring() {
    : >"$WORK/ring"
    become $ALICE /usr/bin/python3 -S -c "$RING" stay "$@" >"$WORK/ring" 2>&1 3>&- &
    PROCESS=$!
    echo "$PROCESS" >>"$WORK/pids"
}

@test "the kernel's thread of a ring that an attached thread makes is ordinary" {
    broker_start
    for spec in '"plugin": "EDF", "runtime": "5ms", "period": "20ms"' '"plugin": "FP", "priority": 15, "runtime": "5ms", "period": "20ms"'; do
        rm -f "$WORK/go"
        ring "$WORK/go"
        eventually is_program "$PROCESS" python3
        told '.thread.state == "attached"' "$(spec $ALICE cam "{$spec, \"attach\": $PROCESS}")"
        touch "$WORK/go"
        eventually test -s "$WORK/ring"
        [[ $(kernel "$(cat "$WORK/ring")") == "other 0 nice=0 "* ]]
        as $ALICE rm "$SPECS/$ALICE/cam.json"
        eventually is_policy "$PROCESS" other
        kill -KILL "$PROCESS"
    done
}

@test "the kernel's thread of a ring that is attached has no more than its runtime, and is detached with its process" {
    broker_start
    ring
    eventually test -s "$WORK/ring"
    thread=$(cat "$WORK/ring")
    told '.thread.state == "attached"' "$(spec $ALICE cam "{\"plugin\": \"FP\", \"priority\": 15, \"runtime\": \"2ms\", \"period\": \"20ms\", \"attach\": $thread}")"
    eventually is_policy "$thread" other
    eventually grep -q 'used up its 2000us' "$EVENTS"
    kill -KILL "$PROCESS"
    eventually is_gone "$thread"
    lets_go() { told '.thread == null' "$(cat "$SPECS/$ALICE/cam.verdict")" 2>/dev/null; }
    eventually lets_go
}
