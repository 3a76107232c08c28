# rtf-adapt(1): the runtime follows the jobs of the thread, stays within rules, and survives a restart of the broker.
load ../helper
load ../command
load front

prepare() {
    front_prepare
    mkdir "$WORK/home"
    chown $ALICE "$WORK/home"
}

# working PERIOD RUNTIME: a periodic worker of Alice. $WORKER is its id.
working() {
    become $ALICE "$RTF_STAGE/worker" "$WORK/home/truth" clock "$@" 3>&- &
    WORKER=$!
    echo "$WORKER" >>"$WORK/pids"
    is_worker() { [ "$(cat "/proc/$WORKER/comm" 2>/dev/null)" = worker ]; }
    eventually is_worker
}

# adapt OPTION...: rtf adapt cam in the background, as Alice. $PID is its id, and $WORK/lines has its decisions.
adapt() {
    become "$ALICE" env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" adapt cam "$@" </dev/null >"$WORK/lines" 2>"$WORK/told" 3>&- &
    PID=$!
    echo "$PID" >>"$WORK/pids"
}
# decided EXPRESSION: the expression is true of the list of decisions.
decided() { jq -se "$1" "$WORK/lines" >/dev/null; }
# between LEAST MOST: the runtime of the grant is between these two, in us.
between() { jq -e --argjson least "$1" --argjson most "$2" '.grant.runtime >= $least and .grant.runtime <= $most' "$OWN/cam.verdict" >/dev/null; }

@test "the runtime follows the jobs down and up, and rtf adapt ends with the thread" {
    broker_start
    working 20000 1000
    silent rtf declare cam -T 9ms -P 20ms --attach "$WORKER" --lifetime thread
    adapt
    eventually between 1000 3000
    decided '.[0] | .decision == "lowered" and .cause == "shorter" and .name == "cam" and .runtime == 9000 and .asked < 9000 and .period == 20000'
    kill -USR1 "$WORKER"
    kill -USR1 "$WORKER"
    eventually between 4000 9000
    decided 'map(.decision) | index("raised") > 0'
    # Of all changes, no two are closer than a period.
    decided '[.[].time | capture("(?<second>.*)\\.(?<part>[0-9]+)Z") | ((.second + "Z") | fromdate) + ("0." + .part | tonumber)] |
        [., .[1:]] | transpose | map(select(.[1] != null) | .[1] - .[0]) | length > 0 and all(. >= 0.0199)'
    kill "$WORKER"
    status=0
    wait "$PID" || status=$?
    [ "$status" -eq 0 ]
    [ ! -s "$WORK/told" ]
}

@test "a thread that is always late gets more, until its jobs have an end" {
    broker_start
    working 20000 6000
    silent rtf declare cam -T 2ms -P 20ms --attach "$WORKER" --lifetime thread
    adapt
    eventually between 6000 15000
    decided '.[0] | .decision == "raised" and .cause == "saturated" and .asked == 3000'
}

@test "--min, --max and rules bound the runtime: a refusal is a line, the offer is taken, and the next try waits" {
    configure_rules "$ALICE - max_utilization 0.2"
    broker_start
    working 20000 6000
    silent rtf declare cam -T 2ms -P 20ms --attach "$WORKER" --lifetime thread
    adapt
    eventually decided 'map(select(.decision == "refused")) | length > 1'
    holds cam '.grant.runtime == 4000'
    decided 'map(select(.decision == "refused"))[0] | .sentence | contains("max_utilization")'
    decided 'map(select(.cause == "offer"))[0].decision == "raised"'
    kill "$PID"
    wait "$PID" || :
    adapt --max 3ms --min 2500us
    eventually between 2500 3000
    kill "$PID"
    fails 64 'rtf adapt: --min is larger than --max, or than the period' rtf adapt cam --min 3ms --max 2ms
}

@test "rtf adapt goes on when a broker starts again" {
    broker_start
    working 20000 1000
    silent rtf declare cam -T 9ms -P 20ms --attach "$WORKER" --lifetime thread
    broker_stop KILL
    fails 69 'rtf adapt: cam: no broker is running on *' rtf adapt cam --timeout 300ms
    broker_start
    adapt
    eventually between 1000 3000
    broker_stop KILL
    kill -USR1 "$WORKER"
    kill -USR1 "$WORKER"
    eventually decided 'map(select(.decision == "unanswered")) | length > 0'
    broker_start
    eventually between 4000 9000
}

@test "rtf adapt refuses what it cannot adapt, and wrong usage" {
    broker_start
    fails 66 'rtf adapt: there is no spec cam' rtf adapt cam
    silent rtf declare cam -T 2ms -P 20ms
    fails 65 'rtf adapt: cam needs a thread, a runtime and a period' rtf adapt cam
    fails 64 'rtf adapt: --margin x: *' rtf adapt cam --margin x
    fails 64 'rtf adapt: --window 0: *' rtf adapt cam --window 0
    fails 64 'rtf adapt: the name of the reservation is missing *' rtf adapt
    sleeper $ALICE
    echo '{"process": '"$SLEEPER"', "threads": [{"name": "*", "runtime": "1ms", "period": "20ms"}]}' | as $ALICE tee "$OWN/team.json" >/dev/null
    fails 64 'rtf adapt: team is a program file or has modes: *' rtf adapt team
}

@test "page, --help and --version agree" { explains adapt; }
