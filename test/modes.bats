# Modes: the maximum over the modes is admitted at once for each resource, and the current mode is in force (rtf-spec(5)).

load helper

CAMERA="CAMERA $RTF_SOURCE/contrib/plugins/units - - resource=units capacity=5"
WIRE='NET net - - resource=network interface=rtf0 rate=3553kbit threshold=1'

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.5' 'FP fp 11-20 all enforce=runtime' "$CAMERA"
    configure_rules "$ALICE - max_utilization 20" "$BOB - max_utilization 20" '- CAMERA max_amount 9'
}

pool() { jq -r --arg name "$1" '.pools[] | select(.name == $name).used' "$SPOOL/status.json"; }
uses() { [ "$(pool "$1")" = "$2" ]; }
books() { invariants >&2; }

# camera MODE: prints a spec of 5 ms in each 50 ms; 2 ms in mode low; 10 ms and three units in mode hd.
camera() {
    printf '{"runtime": "5ms", "period": "50ms", "plugin": "EDF", "units": {"count": 1}, "modes": {"sd": {}, "low": {"runtime": "2ms"}, "hd": {"runtime": "10ms", "units": {"count": 3}}}, "mode": "%s"}' "$1"
}
runs() { [[ $(kernel "$SLEEPER") == "deadline 0 "*" $1/50000/50000 "* ]]; }

# bats test_tags=turn:0
@test "the maximum over the modes is admitted, and the kernel has the runtime of the current mode" {
    broker_start
    sleeper $ALICE
    told '.grant | .runtime == 10000 and .accepted_runtime == 10000 and .runtime_in_mode == 5000 and .mode == "sd" and .claims[0].accepted_count == 3 and .claims[0].count_in_mode == 1' \
        "$(spec $ALICE cam "$(camera sd)")"
    attach $ALICE cam "$SLEEPER"
    runs 5000
    eventually uses 'EDF on all its CPUs' 0.2
    uses CAMERA 3
    for switch in hd:10000:3 low:2000:1 hd:10000:3 sd:5000:1; do
        IFS=: read -r mode runtime count <<<"$switch"
        told ".grant.mode == \"$mode\" and .result == \"OK\" and .grant.runtime_in_mode == $runtime and .grant.claims[0].count_in_mode == $count and .grant.accepted_runtime == 10000" \
            "$(spec $ALICE cam "$(camera "$mode")")"
        eventually runs "$runtime"
        books
        uses 'EDF on all its CPUs' 0.2
        uses CAMERA 3
    done
}

@test "where nothing is left, each switch is granted all the same" {
    broker_start
    sleeper $ALICE
    told '.result == "OK"' "$(spec $ALICE cam "$(camera low)")"
    attach $ALICE cam "$SLEEPER"
    runs 2000
    # Bob takes the capacity that cam leaves on the CPUs, in parts of at most 0.8 CPUs, which one thread can have.
    left=$(jq '.pools[] | select(.name | startswith("EDF")).capacity | (tonumber - 0.2) * 100000 | floor' "$SPOOL/status.json")
    told '.result == "OK"' "$(spec $BOB units '{"units": {"count": 2}}')"
    for ((part = 0; left > 0; part++, left -= runtime)); do
        runtime=$((left < 80000 ? left : 80000))
        told '.result == "OK"' "$(spec $BOB "rest$part" "{\"runtime\": $runtime, \"period\": 100000}")"
    done
    told '.result == "SCHEDULE_FAIL"' "$(spec $BOB more '{"runtime": "1ms", "period": "100ms"}')"
    for mode in hd low hd; do
        told ".result == \"OK\" and .grant.mode == \"$mode\"" "$(spec $ALICE cam "$(camera "$mode")")"
    done
    eventually runs 10000
    # A mode above what was admitted needs a new admission.
    told '.result == "SCHEDULE_FAIL" and .grant.mode == "hd"' "$(spec $ALICE cam "$(camera hd | sed 's/10ms/20ms/')")"
    runs 10000
    books
}

@test "a mode is kept by a broker that was killed, and by the next one" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "$(camera low)" >/dev/null
    attach $ALICE cam "$SLEEPER"
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    broker_start
    runs 2000
    books
    broker_stop INT
    broker_start
    runs 2000
    told '.grant.mode == "hd"' "$(spec $ALICE cam "$(camera hd)")"
    eventually runs 10000
    books
    broker_stop TERM
    broker_start
    eventually runs 10000
    told '.grant.mode == "hd" and .grant.claims[0].count_in_mode == 3' "$(cat "$SPECS/$ALICE/cam.verdict")"
}

@test "rtf change switches, and rtf show tells" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "$(camera low)" >/dev/null
    attach $ALICE cam "$SLEEPER"
    rtf() { as $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" "$@"; }
    rtf change cam mode=hd
    runs 10000
    rtf show --json cam >"$WORK/shown"
    jq -e '.verdict.grant.mode == "hd" and .spec.mode == "hd"' "$WORK/shown" >/dev/null || { cat "$WORK/shown" >&2; false; }
    if rtf change cam mode=no 2>/dev/null; then false; fi
    runs 10000
    books
}

@test "a rule on the least runtime is for each mode, whichever is on" {
    configure_rules "$ALICE - max_utilization 20" "$ALICE - min_runtime 3ms" '- CAMERA max_amount 9'
    broker_start
    for mode in low hd; do
        told '.result == "ACL_FAIL" and (.reason | contains("2000us asked in a mode")) and .refusal.nearest == null' "$(spec $ALICE cam "$(camera $mode)")"
    done
    told '.result == "OK"' "$(spec $ALICE cam "$(camera hd | sed 's/2ms/3ms/')")"
}

# The guard has the budget of the mode that is on, and enforces this budget.
@test "under FIFO the runtime of the mode that is on is enforced" {
    broker_start
    become $ALICE sh -c 'while :; do :; done' 3>&- &
    spinner=$!
    echo "$spinner" >>"$WORK/pids"
    strace -qq -s 4096 -e trace=recvmsg -o "$WORK/trace" -p "$(helpers rtf-guard)" 2>"$WORK/strace" 3>&- &
    echo "$!" >>"$WORK/pids"
    is_traced() { grep -q '^TracerPid:.[1-9]' "/proc/$(helpers rtf-guard)/status"; }
    eventually is_traced
    fixed() { printf '{"runtime": "40ms", "period": "100ms", "priority": 12, "plugin": "FP", "modes": {"high": {}, "low": {"runtime": "5ms"}}, "mode": "%s"}' "$1"; }
    told '.grant.runtime_in_mode == 5000 and .grant.accepted_runtime == 40000' "$(spec $ALICE spin "$(fixed low)")"
    attach $ALICE spin "$spinner"
    is_suspended() { [[ $(kernel "$spinner") == 'other '* ]]; }
    eventually is_suspended
    told '.grant.runtime_in_mode == 40000' "$(spec $ALICE spin "$(fixed high)")"
    has_budgets() { grep -o 'budget=[0-9]*' "$WORK/trace" | uniq | tr '\n' ' ' >"$WORK/budgets" && [ "$(<"$WORK/budgets")" = 'budget=5000 budget=40000 ' ]; }
    eventually has_budgets || { cat "$WORK/budgets" >&2; return 1; }
    books
}

@test "a share of an interface follows the mode" {
    . "$BATS_TEST_DIRNAME/wire.bash"
    wire_make
    configure_plugins 'EDF edf - all partition=global threshold=0.5' "$WIRE"
    configure_rules "$ALICE - max_utilization 20" '- NET max_bandwidth 100Mbit'
    broker_start
    stream() { printf '{"network": {"bytes": 512, "period": "20ms"}, "modes": {"sd": {}, "hd": {"network": {"bytes": 1024}}, "low": {"network": {"bandwidth": "12800B"}}}, "mode": "%s"}' "$1"; }
    has_rate() { [ "$(classes | cut -d ' ' -f 2)" = "$1" ]; }
    told '.result == "OK" and .grant.claims[0].bytes_in_mode == 512' "$(spec $ALICE cam "$(stream sd)")"
    has_rate 221600bit
    told '.grant.claims[0].bytes_in_mode == 1024' "$(spec $ALICE cam "$(stream hd)")"
    has_rate 426400bit
    told '.grant.claims[0].bytes_in_mode == 256' "$(spec $ALICE cam "$(stream low)")"
    has_rate 119200bit
    eventually uses NET 53300
    books
}

@test "a key or a value that cannot be a mode is named" {
    broker_start
    refuses() { told ".result == \"BAD_SPEC\" and (.reason | contains(\"$2\"))" "$(spec $ALICE cam "$1")"; }
    refuses '{"runtime": "5ms", "period": "50ms", "mode": "hd"}' 'must be the name of one of the modes'
    refuses '{"runtime": "5ms", "period": "50ms", "modes": {"sd": {}}, "mode": "hd"}' 'must be the name of one of the modes'
    refuses '{"runtime": "5ms", "period": "50ms", "modes": {"sd": {}}, "mode": 1}' 'must be the name of one of the modes'
    refuses '{"runtime": "5ms", "period": "50ms", "modes": [], "mode": "sd"}' 'must be an object with 1 to 8 modes'
    refuses '{"runtime": "5ms", "period": "50ms", "modes": {}, "mode": "sd"}' 'must be an object with 1 to 8 modes'
    refuses "$(jq -n '{runtime: "5ms", period: "50ms", modes: ([range(9) | {key: "m\(.)", value: {}}] | from_entries), mode: "m1"}')" 'must be an object with 1 to 8 modes'
    refuses '{"runtime": "5ms", "period": "50ms", "modes": {"s d": {}}, "mode": "sd"}' 'must have names of 1 to 31 characters'
    refuses '{"runtime": "5ms", "period": "50ms", "modes": {"sd": 3}, "mode": "sd"}' 'must have objects as modes'
    refuses '{"runtime": "5ms", "period": "50ms", "modes": {"sd": {"period": "5ms"}}, "mode": "sd"}' 'is unknown there: a mode may state a runtime'
    refuses '{"runtime": "5ms", "period": "50ms", "modes": {"sd": {"runtime": 5.5}}, "mode": "sd"}' 'which must be'
    refuses '{"runtime": "5ms", "period": "50ms", "modes": {"sd": {"units": {"count": 1}}}, "mode": "sd"}' 'needs a claim on this resource beside'
    refuses '{"period": "50ms", "modes": {"sd": {"runtime": "1ms"}, "hd": {}}, "mode": "sd"}' 'lacks a runtime in some modes: the spec itself has no runtime, so state a runtime in each mode, or in no mode'
    refuses '{"runtime": "5ms", "period": "50ms", "modes": {"sd": {}}}' 'the name of the current mode'
    refuses '{"units": {"count": 1}, "modes": {"sd": {"units": {"count": 1, "plugin": "X"}}}, "mode": "sd"}' 'alone'
    refuses '{"units": {"count": 1}, "modes": {"sd": {"units": {"bandwidth": 1}}}, "mode": "sd"}' 'alone'
    refuses '{"runtime": "5ms", "period": "50ms", "desired_runtime": "6ms", "modes": {"sd": {}}, "mode": "sd"}' 'cannot stand beside a desired runtime or amount'
    refuses '{"runtime": "5ms", "period": "50ms", "modes": {"sd": {}, "hd": {"runtime": "51ms"}}, "mode": "sd"}' 'must not exceed the period'
    [ ! -e "$SPECS/$ALICE/cam.tid" ]
    told '.result == "OK" and .grant.mode == "sd" and .grant.accepted_runtime == 2000 and .grant.runtime_in_mode == 1000' \
        "$(spec $ALICE cam '{"period": "50ms", "modes": {"sd": {"runtime": "1ms"}, "hd": {"runtime": "2ms"}}, "mode": "sd"}')"
    told '.grant | has("mode") or has("runtime_in_mode") | not' "$(spec $ALICE cam '{"runtime": "5ms", "period": "50ms"}')"
}
