# What all faults share: operations on one wish and its thread, each with what must be true before and after, whatever dies in
# between; and rtf-invariants(8), which must then have nothing to say.
#
# FAULT_STEP: only every so many-th system call, from FAULT_FIRST on; 1 is all of them (make faults).
. "$BATS_TEST_DIRNAME/../helper.bash"

STEP=${FAULT_STEP:-19} FIRST=${FAULT_FIRST:-3}
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

before_attach() { do_create; eventually is_create; }
do_attach() { as $ALICE sh -c 'echo "$2" >"$1/.tid" && mv "$1/.tid" "$1/cam.tid"' sh "$SPECS/$ALICE" "$SLEEPER"; }
is_attach() { says $ALICE cam ".result == \"OK\" and .thread.tid == $SLEEPER" && [[ $(kernel "$SLEEPER") == 'fifo 12 '*' reset=1' ]]; }

before_change() { before_attach; do_attach; eventually is_attach; }
do_change() { put $ALICE cam "$OTHER"; }
is_change() { says $ALICE cam ".result == \"OK\" and .grant.priority == 14 and .thread.tid == $SLEEPER" && [[ $(kernel "$SLEEPER") == 'fifo 14 '*' reset=1' ]]; }

before_detach() { before_change; }
do_detach() { as $ALICE rm "$SPECS/$ALICE/cam.tid"; }
is_detach() { says $ALICE cam '.thread == null and .grant != null' && kernel_says "$ORDINARY"; }

before_release() { before_change; }
do_release() { as $ALICE rm "$SPECS/$ALICE/cam.json"; }
is_release() { [ ! -e "$SPECS/$ALICE/cam.verdict" ] && kernel_says "$ORDINARY"; }

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

# trace PID INJECTION: a fault in that process from here on
trace() {
    strace -qq -o /dev/null -p "$1" -e trace=all -e "inject=$2" 2>"$WORK/strace" 3>&- &
    TRACER=$!
    echo "$TRACER" >>"$WORK/pids"
    eventually is_traced "$1"
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

# ends_well OPERATION: it is answered, all agree, and the thread is given back as it was
ends_well() {
    if is_gone "$BROKER"; then broker_is_back; fi
    eventually "is_$1" || { echo "no answer to $1"; cat "$SPECS/$ALICE/cam.verdict" 2>/dev/null; tail -n 5 "$EVENTS"; return 1; }
    agree
    as $ALICE rm -f "$SPECS/$ALICE/cam.json"
    eventually is_release
}
