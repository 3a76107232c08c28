# Threads that the kernel makes for io_uring(7) in a user's process (IORING_SETUP_SQPOLL): they spin in the kernel, run none of the user's code, and take no signal.
load attack

prepare() {
    as $ALICE /usr/bin/python3 -S -c "$RING" once >/dev/null || skip 'no io_uring with a thread of its own for users'
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 1 enforce=runtime'
    configure_rules "$ALICE - max_utilization 1" "$BOB - max_utilization 0.5"
    ATTACKERS=()
}

# A ring whose thread spins for a minute, made at once or when the file of the second word is there; the id of the thread is printed.
RING='
import ctypes, os, sys, time
call = ctypes.CDLL(None).syscall
def threads():
    for one in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{one}/comm") as name:
            if name.read().startswith("iou-sqp"):
                yield one
while len(sys.argv) > 2 and not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
params = (ctypes.c_uint32 * 30)()
params[2], params[4] = 2, 60000
ring = call(425, 8, params)
if ring < 0:
    sys.exit(1)
while not (found := list(threads())): # it has its name from itself
    time.sleep(0.01)
call(426, ring, 0, 0, 2, None, 0) # IORING_ENTER_SQ_WAKEUP: it begins to spin
print(*found, flush=True)
if sys.argv[1] != "once":
    time.sleep(1000)
'

# ring [FILE]: its process in $PROCESS, in $WORK/ring the id of the thread
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

@test "the kernel's thread of a ring that is attached has no more than its runtime, and is let go with its process" {
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
