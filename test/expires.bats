# A dead program leaves no reservation: a spec with "expires" ends unless it is renewed, and a spec with "lifetime": "thread" ends when its thread can no
# longer be attached. No user can set the clock for this, and the clock goes on while the machine sleeps.
load helper
load command

prepare() {
    configure_rules "$ALICE - max_utilization 0.6" "$BOB - max_utilization 2"
    OWN=$SPECS/$ALICE
}

reservation_is_gone() { [ ! -e "$OWN/$1.json" ] && [ ! -e "$OWN/$1.verdict" ]; }
logged() { [ -n "$(jq -c "select($1)" "$EVENTS")" ]; }

# other_clock SECONDS: starts a broker that sees this much more time since boot than has passed.
other_clock() {
    unshare --time --boottime "$1" "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" \
        ${RTF_PLUGIN_USER:+--plugin-user "$RTF_PLUGIN_USER"} >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
}

kill_broker() {
    kill -KILL "$BROKER"
    wait "$BROKER" 2>/dev/null || true
    BROKER=
    eventually none_of_ours
}

@test "a spec that is not renewed in time ends: thread as before, files gone, capacity free" {
    broker_start
    sleeper $ALICE
    began=$(milliseconds)
    answer=$(spec $ALICE cam '{"runtime": "10ms", "period": "20ms", "expires": "600ms"}')
    [ "$(field .grant.expires "$answer")" = 600000 ]
    attach $ALICE cam "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" deadline
    eventually reservation_is_gone cam
    took=$(($(milliseconds) - began))
    [ "$took" -ge 600 ]
    has_no_tid() { [ ! -e "$OWN/cam.tid" ]; }
    eventually has_no_tid
    eventually is_policy "$SLEEPER" other
    logged '.name == "cam" and .stage == "spec" and .decision == "ended" and (.reason | startswith("the spec was not renewed within 600000us"))'
    eventually is_granted '{"runtime": "10ms", "period": "20ms"}'
}
is_granted() { [ "$(field .result "$(spec $ALICE other "$1")")" = OK ]; }

@test "a lease does not end while the request that renews it is being judged" {
    configure_plugins 'EDF edf - all partition=global threshold=0.4 timeout=9s'
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms", "expires": "700ms"}' >/dev/null
    over=$(($(milliseconds) + 700))
    edf=$(helpers ' name=EDF ')
    kill -STOP "$edf"
    put $ALICE cam '{"runtime": "2ms", "period": "20ms", "expires": "1h"}'
    is_over() { [ "$(milliseconds)" -ge "$over" ]; }
    eventually is_over
    spec $BOB none bad >/dev/null # when Bob is answered, the broker has looked at its clock
    kill -CONT "$edf"
    [ "$(field .grant.accepted_runtime "$(verdict $ALICE cam)")" = 2000 ]
    no logged '.name == "cam" and .decision == "ended"'
    kill -KILL "$(helpers "rtf-reader.* $ALICE ")" # the next reader asks which files to remove
    spec $ALICE other '{"runtime": "1ms", "period": "20ms"}' >/dev/null
    [ "$(field .grant.accepted_runtime "$(verdict $ALICE cam)")" = 2000 ]
}

# waiting_change: cam has 1 ms in 100 ms, and its change to 40 ms waits for room.
waiting_change() {
    spec $ALICE hold '{"runtime": "40ms", "period": "100ms"}' >/dev/null
    spec $ALICE cam '{"runtime": "1ms", "period": "100ms", "expires": "700ms"}' >/dev/null
    put $ALICE cam '{"runtime": "40ms", "period": "100ms", "expires": "700ms", "on_refusal": "wait"}'
    eventually is_waiting
}
is_waiting() { told '.result == "WAITING" and .grant.accepted_runtime == 1000' "$(cat "$OWN/cam.verdict")" 2>/dev/null; }

@test "a change that waits for room renews the lease when it is written, not each time that it is asked again" {
    broker_start
    waiting_change
    before=$(milliseconds)
    until reservation_is_gone cam; do # each end of other has the broker ask again
        spec $BOB other '{"runtime": "1ms", "period": "100ms"}' >/dev/null
        as $BOB rm "$SPECS/$BOB/other.json"
        [ $(($(milliseconds) - before)) -lt 5000 ]
    done
}

# bats test_tags=turn:0
@test "touch and a rewrite renew it, NAME.tid does not, and a rewrite without the key ends the lease" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms", "expires": "2500ms"}' >/dev/null
    spec $ALICE arm '{"runtime": "1ms", "period": "20ms", "expires": "2500ms"}' >/dev/null
    spec $ALICE leg '{"runtime": "1ms", "period": "20ms", "expires": "2500ms"}' >/dev/null
    spec $ALICE eye '{"runtime": "1ms", "period": "20ms", "expires": "2500ms"}' >/dev/null
    attach $ALICE eye "$SLEEPER" >/dev/null
    for _ in 1 2 3; do
        sleep 0.9 # the lease of 2.5 s is renewed each 0.9 s
        as $ALICE touch "$OWN/cam.json"
        as $ALICE sh -c 'echo "$2" >"$1"' sh "$OWN/arm.json" '{"runtime": "2ms", "period": "20ms", "expires": "2500ms"}'
        [ -e "$OWN/leg.json" ] || continue
        spec $ALICE leg '{"runtime": "1ms", "period": "20ms"}' >/dev/null
    done
    [ -e "$OWN/cam.json" ]
    [ -e "$OWN/arm.json" ]
    [ -e "$OWN/leg.json" ]
    eventually reservation_is_gone eye
    eventually reservation_is_gone cam
    eventually reservation_is_gone arm
    [ "$(field .grant.expires "$(verdict $ALICE leg)")" = null ]
}

@test "a lease ends with its spec: a thread's file that takes its place has none" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms", "expires": "700ms"}' >/dev/null
    reader=$(helpers rtf-reader)
    kill -STOP "$reader" # the reader then gets both events at once
    as $ALICE sh -c 'cd "$1" && rm cam.json && echo 1 >cam.tid' sh "$OWN"
    kill -CONT "$reader"
    eventually logged '.name == "cam" and (.reason // "" | startswith("there is no cam.json"))'
    spec $ALICE later '{"runtime": "1ms", "period": "20ms", "expires": "700ms"}' >/dev/null
    eventually logged '.name == "later" and .decision == "ended"'
    ! logged '.name == "cam" and .decision == "ended"' || false
}

# bats test_tags=turn:1
@test "a refused spec expires, too, and so does a dry run" {
    broker_start
    spec $ALICE cam '{"runtime": "19ms", "period": "20ms", "expires": "300ms"}' >/dev/null
    spec $ALICE ask '{"runtime": "1ms", "period": "20ms", "dry_run": true, "expires": "300ms"}' >/dev/null
    eventually reservation_is_gone cam
    eventually reservation_is_gone ask
}

# bats test_tags=turn:2
@test "a lease holds over kill -9 of the broker: it ends when it would have, also if no broker ran then" {
    broker_start
    began=$(milliseconds)
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms", "expires": "2s"}' >/dev/null
    spec $ALICE arm '{"runtime": "1ms", "period": "20ms", "expires": "300ms"}' >/dev/null
    spec $ALICE leg '{"runtime": "1ms", "period": "20ms", "expires": "60s"}' >/dev/null
    kill_broker
    sleep 0.5
    broker_start
    eventually reservation_is_gone arm
    [ -e "$OWN/cam.json" ]
    kill_broker
    broker_start
    eventually reservation_is_gone cam
    took=$(($(milliseconds) - began))
    [ "$took" -ge 2000 ]
    [ -e "$OWN/leg.json" ]
}

# bats test_tags=turn:0
@test "a lease counts time that the machine sleeps" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms", "expires": "60s"}' >/dev/null
    spec $ALICE arm '{"runtime": "1ms", "period": "20ms", "expires": "3000s"}' >/dev/null
    kill_broker
    other_clock 100
    eventually reservation_is_gone cam
    [ "$(field .grant.runtime "$(verdict $ALICE arm)")" = 1000 ]
}

# bats test_tags=machine
@test "a clock that is set changes nothing" {
    /usr/bin/python3 -S -c 'import time; time.clock_settime(time.CLOCK_REALTIME, time.time())' 2>/dev/null || skip 'the clock may not be set here'
    jump() { /usr/bin/python3 -S -c 'import sys, time; time.clock_settime(time.CLOCK_REALTIME, time.time() + int(sys.argv[1]))' "$1"; }
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms", "expires": "60s"}' >/dev/null
    spec $ALICE arm '{"runtime": "1ms", "period": "20ms", "expires": "1s"}' >/dev/null
    jump 90
    left=$(ls "$OWN")
    jump -180
    eventually reservation_is_gone arm || left=never
    jump 90
    [ -e "$OWN/cam.json" ]
    [[ $left == *cam.json* ]]
}

# bats test_tags=turn:1
@test "the file of a lease is not removed while its owner renews it" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms", "expires": "20ms"}' >/dev/null
    # Each spec is written anew at the moment of its end: the last writer finds the new spec, or an end that came after its grant.
    for i in {1..30}; do
        answer=$(spec $ALICE cam "{\"runtime\": \"${i}00us\", \"period\": \"20ms\", \"expires\": \"20ms\"}")
        [ -z "$answer" ] || [ "$(field .grant.runtime "$answer")" = "${i}00" ]
    done
    spec $ALICE cam '{"runtime": "5ms", "period": "20ms"}' >/dev/null
    [ "$(field .grant.runtime "$(verdict $ALICE cam)")" = 5000 ]
}

# bats test_tags=turn:2
@test "a spec of another boot that ends with its thread ends when the machine is up again" {
    broker_start
    as $ALICE mkdir -p "$OWN"
    sleeper $ALICE
    # The spec is as rtf-run --name arm writes it, in a unit of a machine that crashes.
    spec $ALICE arm "{\"runtime\": \"1ms\", \"period\": \"20ms\", \"attach\": $SLEEPER, \"lifetime\": \"thread\"}" >/dev/null
    spec $ALICE leg "{\"runtime\": \"1ms\", \"period\": \"20ms\", \"attach\": $SLEEPER}" >/dev/null
    kill_broker
    kill -KILL "$SLEEPER"
    rm -rf "$SPOOL/state" "$(place_of "$SPOOL")"
    sleep 2.5
    other_clock "-$(($(cut -d. -f1 /proc/uptime) - 1))" # the machine has been up for a second, and the files are older
    eventually reservation_is_gone arm
    [ "$(field .refusal.code "$(verdict $ALICE leg)")" = no-thread ] # leg does not end with its thread, so its owner is to decide
    begin=$(field .time "$(jq -c 'select(.name == "arm" and .decision == "ended")' "$EVENTS")")
    [ -n "$begin" ]
    rm "$OWN/leg.json"
    as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --name arm -T 1ms -P 20ms -- true
}

# bats test_tags=turn:0
@test "a spec that ends with its thread stays for a minute if the thread ended before it was attached: its answer can be read" {
    broker_start
    sleeper $ALICE
    kill -KILL "$SLEEPER"
    eventually test ! -e "/proc/$SLEEPER"
    answer=$(spec $ALICE run-1 "{\"runtime\": \"1ms\", \"period\": \"20ms\", \"attach\": $SLEEPER, \"lifetime\": \"thread\"}")
    [ "$(field '.refusal.code + " " + (.grant | tostring)' "$answer")" = "no-thread null" ]
    kill_broker
    broker_start
    [ -e "$OWN/run-1.verdict" ]
    kill_broker
    other_clock 60 # the time of a minute is over
    eventually reservation_is_gone run-1
}
