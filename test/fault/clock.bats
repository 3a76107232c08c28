# bats file_tags=lane:alone
# The machine's clock is set forth and back by a minute and a half, as a late time server would do it: grants stay, and requests are answered. The clock
# is wrong for some seconds.
load fault

jumped=0
jump() { # SECONDS
    /usr/bin/python3 -S -c 'import sys, time; time.clock_settime(time.CLOCK_REALTIME, time.time() + int(sys.argv[1]))' "$1"
    jumped=$((jumped + $1))
    echo "$jumped" >"$WORK/jumped"
}

tidy() {
    if [ -s "$WORK/jumped" ]; then
        jumped=$(cat "$WORK/jumped")
        jump $((-jumped))
    fi
}

# is_served: the broker answers each kind of request, for a thread that started before the jump and for a new thread. Afterwards the books, the kernel
# and the files agree.
is_served() {
    eventually ask create && eventually ask attach && eventually ask change && eventually ask detach && eventually ask release || return 1
    as $BOB env USER=$BOB timeout 10 "$RTF_BIN/rtf-run" --spool "$SPOOL" --priority 12 -- true || return 1
    agree
}

@test "a clock that jumps changes no grant, and delays no request" {
    /usr/bin/python3 -S -c 'import time; time.clock_settime(time.CLOCK_REALTIME, time.time())' 2>/dev/null || skip 'the clock may not be set here'
    configure_plugins 'EDF edf - all partition=global threshold=0.4' 'FP fp 11-20 all'
    broker_start
    sleeper $CAROL
    held=$SLEEPER
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 100" "$CAROL - max_utilization 100"
    kill -HUP "$BROKER"
    spec $CAROL held '{"runtime": "1ms", "period": "10ms", "plugin": "EDF"}' >/dev/null
    attach $CAROL held "$held" >/dev/null
    granted=$(kernel "$held")
    [[ $granted == deadline* ]]
    sleeper $ALICE # this thread starts before all jumps
    for seconds in 90 -180 90; do
        jump "$seconds"
        is_served
        [ "$(kernel "$held")" = "$granted" ]
    done
    # The broker starts under another clock than its journal's.
    for seconds in 90 -180 90; do
        kill -KILL "$BROKER"
        jump "$seconds"
        broker_is_back
        [ "$(kernel "$held")" = "$granted" ]
        is_served
    done
    # A 0-lag time and a wait are measured by another clock.
    jump 90
    status=0
    as $BOB env USER=$BOB "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 200ms nothing 2>"$WORK/err" || status=$?
    [ "$status" -ne 0 ]
    jump -90
    as $CAROL rm "$SPECS/$CAROL/held.tid"
    eventually says $CAROL held '.thread == null'
    [ "$(kernel "$held")" = "$ORDINARY" ]
}
