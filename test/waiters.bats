# "on_refusal": "wait", and rtf-run --wait: a spec that is refused because no capacity is free is asked again when capacity becomes free. Specs are asked in
# the order in which they came, but the users take turns. While no capacity becomes free, no process wakes.
load helper
load command

prepare() {
    configure_plugins 'FP fp 11-20 all' 'EDF edf - all partition=global threshold=0.9'
    configure_rules '- - max_utilization 0.5' "$ALICE - max_utilization 9" "$BOB - max_utilization 9" "$CAROL - max_utilization 9"
    install -m 777 -d "$WORK/open"
    ORDER=$WORK/open/order
    : >"$ORDER"
    chmod 666 "$ORDER"
}

half() { printf '{"plugin": "FP", "priority": 12, "runtime": "50ms", "period": "100ms"%s}' "${1:-}"; }
waits() { half ', "on_refusal": "wait"'; }
says() { told "$3" "$(cat "$SPECS/$1/$2.verdict")" 2>/dev/null; }
is_waiting() { says "$1" "$2" '.result == "WAITING"'; }
is_granted() { says "$1" "$2" '.result == "OK" and .grant != null'; }

# put_waiting UID NAME [JSON]: writes a spec that waits.
put_waiting() {
    put "$1" "$2" "${3:-$(waits)}"
    eventually is_waiting "$1" "$2"
}

# run_waiting UID NAME [OPTION...]: starts rtf-run --wait with a command that writes its name to $ORDER, and sets PID to its process id.
run_waiting() {
    become "$1" env --default-signal=INT "$RTF_BIN/rtf-run" --spool "$SPOOL" --wait --name "$2" --plugin FP --priority 12 -T 50ms -P 100ms "${@:3}" -- \
        sh -c 'echo "$1" >>"$2"' sh "$2" "$ORDER" </dev/null >"$WORK/out.$2" 2>&1 3>&- &
    PID=$!
    echo "$PID" >>"$WORK/pids"
    eventually is_waiting "$1" "$2"
}

switches() { cat "$@" 2>/dev/null | awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n + 0 }'; }
verdicts() { jq -c "select(.stage == \"verdict\" and $1)" "$EVENTS" | wc -l; }

@test "20 waiting specs are served in the order in which they came; while nothing is freed no process wakes" {
    broker_start
    spec $ALICE hold "$(half)" >/dev/null
    pids=()
    for i in {1..20}; do
        run_waiting $ALICE "w$i"
        pids+=("$PID")
    done
    says $ALICE w1 '.grant == null and .refusal.code == "rule-used-up" and (.reason | test("0.5 used, 0.5 asked"))'
    says $ALICE w2 '.reason == "this spec waits behind your spec w1, which came earlier and waits for room"'
    eventually readers_have_ended
    all=("/proc/$BROKER/status")
    for pid in "${pids[@]}"; do all+=("/proc/$pid/status"); done
    before=$(switches "${all[@]}")
    sleep 1
    [ "$(switches "${all[@]}")" = "$before" ]
    as $ALICE rm "$SPECS/$ALICE/hold.json"
    for pid in "${pids[@]}"; do wait "$pid"; done
    [ "$(paste -sd ' ' "$ORDER")" = "$(echo w{1..20})" ]
    # Each time that capacity became free, exactly one spec was asked again.
    waited=$(verdicts '.decision == "waiting"')
    [ "$waited" -ge 20 ] && [ "$waited" -le 60 ] || { echo "$waited" >&2; return 1; }
}

# bats test_tags=turn:0
@test "Ctrl-C of one lets the next through, and so does a change of mind" {
    broker_start
    spec $ALICE hold '{"plugin": "FP", "priority": 12, "runtime": "30ms", "period": "100ms"}' >/dev/null
    run_waiting $ALICE big
    big=$PID
    put_waiting $ALICE small '{"plugin": "FP", "priority": 12, "runtime": "10ms", "period": "100ms", "on_refusal": "wait"}'
    kill -INT "$big"
    eventually is_granted $ALICE small
    [ ! -e "$SPECS/$ALICE/big.json" ]
    put_waiting $ALICE big
    put_waiting $ALICE second '{"plugin": "FP", "priority": 12, "runtime": "10ms", "period": "100ms", "on_refusal": "wait"}'
    spec $ALICE big "$(half)" >/dev/null # the new spec does not want to wait
    says $ALICE big '.result == "ACL_FAIL"'
    eventually is_granted $ALICE second
}

# bats test_tags=turn:1
@test "users are served in turn" {
    broker_start
    spec $CAROL hold "$(half)" >/dev/null
    for name in a1 a2 a3; do put_waiting $ALICE $name; done
    for name in b1 b2; do put_waiting $BOB $name; done
    as $CAROL rm "$SPECS/$CAROL/hold.json"
    served=
    for _ in {1..5}; do
        eventually someone_is_granted
        served="$served $NAME"
        as "$USER_OF" rm "$SPECS/$USER_OF/$NAME.json"
        eventually test ! -e "$SPECS/$USER_OF/$NAME.verdict"
    done
    [ "$served" = ' a1 b1 a2 b2 a3' ] || { echo "$served" >&2; return 1; }
}
someone_is_granted() {
    for NAME in a1 a2 a3 b1 b2; do
        USER_OF=$ALICE
        [[ $NAME == a* ]] || USER_OF=$BOB
        if is_granted "$USER_OF" "$NAME"; then return 0; fi
    done
    return 1
}

# bats test_tags=turn:2
@test "a spec that can never be granted is refused at once; new rules are an occasion to ask again" {
    broker_start
    answer=$(spec $ALICE a '{"plugin": "FP", "priority": 12, "runtime": "90ms", "period": "100ms", "on_refusal": "wait"}')
    [ "$(field .result "$answer")" = ACL_FAIL ]
    spec $ALICE hold "$(half)" >/dev/null
    put_waiting $ALICE b
    configure_rules '- - max_utilization 2' "$ALICE - max_utilization 9"
    kill -HUP "$BROKER"
    eventually is_granted $ALICE b
    put_waiting $ALICE c '{"plugin": "EDF", "runtime": "90ms", "period": "100ms", "on_refusal": "wait"}' || true
}

# bats test_tags=turn:0
@test "a waiting user cannot read how often others make room, neither in the verdict nor in the log" {
    configure_rules '- - max_utilization 9' "$ALICE - max_utilization 0.5" "$BOB - max_utilization 9"
    broker_start
    spec $ALICE hold "$(half)" >/dev/null
    put_waiting $ALICE w
    before=$(stat -c '%i %Z' "$SPECS/$ALICE/w.verdict")
    lines=$(jq -c "select(.uid == $ALICE)" "$EVENTS" | wc -l)
    for i in {1..200}; do
        answer=$(spec $BOB "b$i" '{"plugin": "FP", "priority": 12, "runtime": "1ms", "period": "100ms"}')
        [ "$(field .result "$answer")" = OK ]
        as $BOB rm "$SPECS/$BOB/b$i.json"
    done
    eventually test ! -e "$SPECS/$BOB/b200.verdict"
    eventually readers_have_ended
    [ "$(stat -c '%i %Z' "$SPECS/$ALICE/w.verdict")" = "$before" ]
    [ "$(jq -c "select(.uid == $ALICE)" "$EVENTS" | wc -l)" = "$lines" ]
    as $ALICE rm "$SPECS/$ALICE/hold.json"
    eventually is_granted $ALICE w
}

# bats test_tags=turn:2
@test "a change that waits keeps the old grant and its thread" {
    broker_start
    sleeper $ALICE
    spec $ALICE hold '{"plugin": "FP", "priority": 12, "runtime": "30ms", "period": "100ms"}' >/dev/null
    spec $ALICE cam "{\"plugin\": \"FP\", \"priority\": 12, \"runtime\": \"10ms\", \"period\": \"100ms\", \"attach\": $SLEEPER}" >/dev/null
    put_waiting $ALICE cam "$(waits)"
    says $ALICE cam ".grant.runtime == 10000 and .thread.tid == $SLEEPER"
    as $ALICE rm "$SPECS/$ALICE/hold.json"
    eventually says $ALICE cam ".result == \"OK\" and .request == \"change\" and .grant.runtime == 50000 and .thread.tid == $SLEEPER"
}

# bats test_tags=turn:1
@test "they wait on over kill -9 of the broker and over its restart, in their order" {
    broker_start
    spec $ALICE hold "$(half)" >/dev/null
    for i in 1 2 3; do put_waiting $ALICE w$i; done
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    eventually none_of_ours
    broker_start
    for i in 1 2 3; do is_waiting $ALICE w$i; done
    broker_stop TERM
    broker_start
    as $ALICE rm "$SPECS/$ALICE/hold.json"
    for i in 1 2 3; do
        eventually is_granted $ALICE w$i
        [ "$i" = 3 ] || ! is_granted $ALICE w$((i + 1))
        as $ALICE rm "$SPECS/$ALICE/w$i.json"
    done
}

# bats test_tags=turn:2
@test "rtf-run --wait=TIME waits no longer than TIME, and names the reason; --timeout also bounds the wait for runtime to be paid back" {
    broker_start
    spec $ALICE hold "$(half)" >/dev/null
    fails 125 'rtf-run: no answer to run-* within the time allowed; the spec waits: acl.conf:1: - - max_utilization 0.5: 0.5 used, 0.5 asked' \
        as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --wait=200ms --plugin FP --priority 12 -T 50ms -P 100ms -- true
    fails 75 'rtf-wait: no answer to w1 within the time allowed; the spec waits: acl.conf:1: *' as $ALICE sh -c '
        echo "$1" >"$2/.new" && mv "$2/.new" "$2/w1.json" && exec "$3" --spool "$4" --timeout 200ms w1' sh "$(waits)" "$SPECS/$ALICE" "$RTF_BIN/rtf-wait" "$SPOOL"
    as $ALICE rm "$SPECS/$ALICE/hold.json" "$SPECS/$ALICE/w1.json"
    # A thread has used 0.4 of a CPU, and this share is counted for two seconds more.
    hog $ALICE
    spec $ALICE cam '{"plugin": "EDF", "runtime": "800ms", "period": "2s"}' >/dev/null
    attach $ALICE cam "$HOG" >/dev/null
    eventually has_consumed "$HOG" 300
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    fails 125 'rtf-run: no answer to run-* within the time allowed; the spec waits: acl.conf:1: *; 0.4 of the used share belongs to ended reservations, and comes free in *ms' \
        as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --timeout 200ms --plugin EDF -T 400ms -P 1s -- true
}
