# A broker stops (SIGTERM) while clients wait: its last verdicts answer no request.
load ../helper
load ../command
load front

prepare() {
    front_prepare
    configure_plugins 'EDF edf - all partition=global threshold=0.9'
}
tidy() {
    [ -z "$BROKER" ] || kill -CONT "$BROKER" "$(helpers rtf-attach)" 2>/dev/null || true
    [ -z "${CLIENT:-}" ] || kill -CONT "$CLIENT" 2>/dev/null || true
}

# asked COMMAND...: runs the command as Alice in the background. $CLIENT is its process; $WORK/client has its output.
asked() {
    become "$ALICE" env -u XDG_RUNTIME_DIR USER="$ALICE" RTF_SPOOL="$SPOOL" "$@" >"$WORK/client" 2>&1 3>&- &
    CLIENT=$!
}

# ended STATUS: the client exits with this status, and reports that the broker has ended.
ended() {
    local status=0
    wait "$CLIENT" || status=$?
    CLIENT=
    echo "status $status: $(<"$WORK/client")"
    [ "$status" -eq "$1" ]
    grep -qE 'ended before it answered|no broker is running' "$WORK/client" # the client prints the second message if it looks a moment later
}

helper_stops() {
    HELPER=$(helpers rtf-attach)
    kill -STOP "$HELPER"
    eventually is_stopped "$HELPER"
}

# stop_in_mid_order TID: SIGTERM comes after the journal has the thread, and before the attach helper answers.
stop_in_mid_order() {
    eventually grep -qax "tid=$1" "$SPOOL/state/current/journal"
    kill -TERM "$BROKER"
    eventually has_taken_signals
    kill -CONT "$HELPER"
    wait "$BROKER" || true
    BROKER=
}

@test "rtf declare --attach: a thread that was not attached yet is no success" {
    broker_start
    sleeper $ALICE
    helper_stops
    asked "$RTF_BIN/rtf" --spool "$SPOOL" declare cam -T 2ms -P 20ms --attach "$SLEEPER"
    stop_in_mid_order "$SLEEPER"
    ended 69
    [ -z "$(find "$OWN" -name '*.json')" ]
}

@test "rtf wait: the last verdict of a broker has no stamps and no token of a request that is under way, and the next broker answers" {
    broker_start
    sleeper $ALICE
    helper_stops
    put $ALICE cam "{\"runtime\": \"2ms\", \"period\": \"20ms\", \"attach\": $SLEEPER, \"token\": \"t-1\"}"
    asked "$RTF_BIN/rtf" --spool "$SPOOL" wait cam
    stop_in_mid_order "$SLEEPER"
    ended 69
    holds cam '.token == null and .spec == null and .tid == null and .thread == null and .ended == "broker"'
    broker_start
    prints 0 rtf wait cam
    says ".token == \"t-1\" and .thread == {tid: $SLEEPER, state: \"attached\"} and .ended == null"
}

@test "rtf-run: it fails, and leaves no reservation behind" {
    broker_start
    helper_stops
    asked "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 2ms -P 20ms true
    stop_in_mid_order "$CLIENT"
    ended 125
    [ -z "$(find "$OWN" -name '*.json')" ]
}

is_refused() { grep -q '"result":"SCHEDULE_FAIL"' "$OWN/cam.verdict"; }
is_another_file() { [ "$(stat -c %i "$OWN/cam.json")" != "$1" ]; }

# is_refused_and_stopped: the request of $CLIENT is refused while the client is stopped; then the broker stops.
is_refused_and_stopped() {
    kill -STOP "$CLIENT"
    eventually is_stopped "$CLIENT"
    kill -CONT "$BROKER"
    eventually is_refused
    broker_stop TERM
    holds cam '.result == "OK" and .ended == "broker"'
    kill -CONT "$CLIENT"
}

@test "rtf change: a refusal that the client has not read yet is no success" {
    broker_start
    sleeper $ALICE
    silent rtf declare cam -T 2ms -P 20ms --attach "$SLEEPER"
    before=$(stat -c %i "$OWN/cam.json")
    kill -STOP "$BROKER"
    asked "$RTF_BIN/rtf" --spool "$SPOOL" change cam plugin=FP
    eventually is_another_file "$before"
    is_refused_and_stopped
    ended 69
}

waits_by_now() { [[ $(cat "/proc/$CLIENT/wchan") == *poll* ]]; }

@test "rtf wait: a refusal is no success for a client that waits by the stamps of the file" {
    broker_start
    sleeper $ALICE
    silent rtf declare cam -T 2ms -P 20ms --attach "$SLEEPER"
    kill -STOP "$BROKER"
    put $ALICE cam '{"runtime": "2ms", "period": "20ms", "plugin": "FP"}'
    asked "$RTF_BIN/rtf-wait" --spool "$SPOOL" cam
    eventually waits_by_now
    is_refused_and_stopped
    ended 69
}
