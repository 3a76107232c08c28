# What all faults share: operations on one wish and its thread, each with what must be true before and after, whatever dies in
# between; and rtf-invariants(8), which must then have nothing to say.
#
# FAULT_STEP: only every so many-th fault, from FAULT_FIRST on; 1 is all of them (make faults).
. "$BATS_TEST_DIRNAME/../helper.bash"

STEP=${FAULT_STEP:-29} FIRST=${FAULT_FIRST:-3}
ORDINARY="other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
CAM='{"priority": 12, "plugin": "FP"}' OTHER='{"priority": 14, "plugin": "FP"}'

prepare() {
    configure_plugins 'FP fp 11-20 all' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 100"
}

says() { [ "$(jq -r "$3" "$SPECS/$1/$2.verdict" 2>/dev/null)" = true ]; }
kernel_says() { [ "$(kernel "$SLEEPER")" = "$1" ]; }

# Each operation: what it finds, what is done, what is true when it has been answered.
before_create() { :; }
do_create() { put $ALICE cam "$CAM"; }
is_create() { says $ALICE cam '.result == "OK" and .grant.priority == 12'; }

before_attach() { eventually ask create; }
do_attach() { as $ALICE sh -c 'echo "$2" >"$1/.tid" && mv "$1/.tid" "$1/cam.tid"' sh "$SPECS/$ALICE" "$SLEEPER"; }
is_attach() { says $ALICE cam ".result == \"OK\" and .thread.tid == $SLEEPER" && [[ $(kernel "$SLEEPER") == 'fifo 12 '*' reset=1' ]]; }

before_change() { before_attach; eventually ask attach; }
do_change() { put $ALICE cam "$OTHER"; }
is_change() { says $ALICE cam ".result == \"OK\" and .grant.priority == 14 and .thread.tid == $SLEEPER" && [[ $(kernel "$SLEEPER") == 'fifo 14 '*' reset=1' ]]; }

before_detach() { before_change; }
do_detach() { as $ALICE rm "$SPECS/$ALICE/cam.tid"; }
is_detach() { says $ALICE cam '.thread == null and .grant != null' && kernel_says "$ORDINARY"; }

before_release() { before_change; }
do_release() { as $ALICE rm "$SPECS/$ALICE/cam.json"; }
is_release() { [ ! -e "$SPECS/$ALICE/cam.verdict" ] && kernel_says "$ORDINARY"; }

# Nobody has to wait for ever, and nothing is half done.
is_answered() {
    case $1 in
    release) [ ! -e "$SPECS/$ALICE/cam.verdict" ] ;;
    *) [ -n "$(as $ALICE env USER=$ALICE timeout 5 "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 3s cam 2>/dev/null)" ] ;;
    esac
}

# ask OPERATION: once; a plugin that is being restarted is a no
ask() {
    local deadline=$((SECONDS + 2))
    case $1 in
    detach) if is_detach; then return; fi; do_attach ;;
    release) if is_release; then return; fi ;;
    esac
    "do_$1"
    until "is_$1"; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.01
    done
}

agree() {
    run "$RTF_LIBEXEC/rtf-invariants" --spool "$SPOOL"
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

is_traced() { [ "$(awk '/^TracerPid/ { print $2 }' "/proc/$1/status" 2>/dev/null)" != 0 ]; }
is_gone() { [ ! -e "/proc/$1" ] || [[ $(cat "/proc/$1/stat" 2>/dev/null) == *') Z '* ]]; }

process_of() {
    case $1 in
    broker) echo "$BROKER" ;;
    helper) parts rtf-attach ;;
    plugin) parts ' name=FP ' ;;
    esac
}

# trace PID [STRACE-OPTION...]: a fault in that process from here on, or a record of its calls
trace() {
    local process=$1
    shift
    : >"$WORK/trace"
    strace -qq -o "$WORK/trace" -p "$process" "$@" 2>"$WORK/strace" 3>&- &
    TRACER=$!
    echo "$TRACER" >>"$WORK/pids"
    eventually is_traced "$process"
}

# calls_of PROCESS OPERATION: NAME N, in their order, of the system calls that it makes for it
calls_of() {
    "before_$2" || return 1
    trace "$(process_of "$1")"
    "do_$2"
    eventually "is_$2" || return 1
    untrace
    as $ALICE rm -f "$SPECS/$ALICE/cam.json"
    eventually is_release || return 1
    awk -F '(' '/^[a-z0-9_]+\(/ { print $1, ++calls[$1] }' "$WORK/trace"
}

untrace() {
    kill "$TRACER" 2>/dev/null || true
    wait "$TRACER" 2>/dev/null || true
}

broker_is_back() {
    wait "$BROKER" 2>/dev/null || true
    BROKER=
    broker_start
}

# ends_well OPERATION (also where errors do not end the shell): it is answered, all agree, and the thread is given back as it was
ends_well() {
    if is_gone "$BROKER"; then broker_is_back || return 1; fi
    eventually "is_$1" || { echo "no answer to $1"; cat "$SPECS/$ALICE/cam.verdict" 2>/dev/null; tail -n 5 "$EVENTS"; return 1; }
    agree || return 1
    as $ALICE rm -f "$SPECS/$ALICE/cam.json"
    eventually is_release
}
