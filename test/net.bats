# Claims on a network: the plugin admits each by its exact transmission time over the period (rtf-spec(5), plugins.conf(5)).

load helper

WIRE="NET net - - resource=network interface=rtf0 rate=3553kbit threshold=1 enforce=none"

prepare() {
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.5' "$WIRE"
    rules_are "- NET max_amount 1000000000"
}

rules_are() { configure_rules "$ALICE - max_utilization 20" "$BOB - max_utilization 20" "$@"; }
pool() { jq -r --arg name "$1" '.pools[] | select(.name == $name).used' "$SPOOL/status.json"; }
uses() { [ "$(pool "$1")" = "$2" ]; }
books() { invariants >&2; }

# stream BYTES [MORE]: prints a claim of this many bytes each 20 ms.
stream() { printf '{"network": {"bytes": %s, "period": "20ms"%s}}' "$1" "${2:-}"; }

# 1024 bytes and 42 bytes of headers, 50 times a second.
stream_weighs=53300

eight_streams() {
    for number in 1 2 3 4 5 6 7 8; do
        told '.result == "OK"' "$(spec $ALICE "s$number" "$(stream 1024)")"
    done
}

@test "eight streams fit onto the wire of the paper, the ninth is refused with the nearest" {
    broker_start
    eight_streams
    eventually uses NET $((8 * stream_weighs))
    answer=$(spec $ALICE ninth "$(stream 1024)")
    told '.result == "SCHEDULE_FAIL" and .grant == null and .refusal.by == "NET" and .refusal.retry == "when-freed"' "$answer"
    told '.reason == "NET refused: the wire has 17725 of 444125 bytes/s left, 53300 asked"' "$answer"
    nearest=$(jq .refusal.nearest <<<"$answer")
    [ "$nearest" = 312 ]
    told '.grant == null' "$(spec $ALICE ninth "$(stream $((nearest + 1)))")"
    for command in "rtf --spool $SPOOL declare tenth --net 1024B/20ms" "rtf-run --spool $SPOOL --net rtf0:1024B/20ms true"; do
        # shellcheck disable=SC2086 # words
        run as $ALICE env USER=$ALICE "$RTF_BIN"/$command
        [ "$status" = 75 ] || [ "$status" = 125 ]
        [[ "$output" == *': NET refused: the wire has 17725 of 444125 bytes/s left, 53300 asked; at most 312 bytes would fit' ]] || { echo "$output" >&2; return 1; }
    done
    told '.grant.claims == [{"resource": "network", "plugin": "NET", "bytes": 312, "accepted_bytes": 312, "desired_bytes": null, "period": 20000, "interface": "rtf0"}]' "$(spec $ALICE ninth "$(stream "$nearest")")"
    books
    as $ALICE sh -c "rm '$SPECS/$ALICE'/s*.json '$SPECS/$ALICE/ninth.json'"
    eventually uses NET 0
    books
}

@test "without a threshold 0.97 of the link is promised" {
    configure_plugins 'EDF edf - 0 partition=unthrottled' 'NET net - - resource=network interface=rtf0 rate=100Mbit enforce=none'
    broker_start
    is_promised() { [ "$(jq -r '.pools[] | select(.name == "NET") | "\(.unit) \(.capacity)"' "$SPOOL/status.json")" = 'network 12125000' ]; }
    eventually is_promised
}

@test "CPU time and the wire are granted together or not at all, and a change that is refused keeps both" {
    broker_start
    told '.grant.plugin == "EDF" and .grant.claims[0].bytes == 1024' \
        "$(spec $ALICE cam '{"runtime": "2ms", "period": "10ms", "plugin": "EDF", "network": {"interface": "rtf0", "bytes": 1024, "period": "20ms"}}')"
    answer=$(spec $ALICE cam '{"runtime": "6ms", "period": "10ms", "plugin": "EDF", "network": {"bytes": "2KiB", "period": "20ms"}}')
    told '.result == "SCHEDULE_FAIL" and .refusal.by == "EDF" and .grant.claims[0].bytes == 1024' "$answer"
    eventually uses NET $stream_weighs
    answer=$(spec $ALICE cam '{"runtime": "3ms", "period": "10ms", "plugin": "EDF", "network": {"bytes": "64KiB", "period": "20ms"}}')
    told '.refusal.by == "NET" and .refusal.retry == "never" and .grant.accepted_runtime == 2000' "$answer"
    eventually uses 'CPU 0 under EDF' 0.2
    books
}

@test "a claim on a wire needs a rule that opens it, and the nearest amount passes the rule" {
    rules_are "$BOB NET max_user_amount $stream_weighs"
    broker_start
    told '.result == "ACL_FAIL" and .refusal.nearest == null' "$(spec $ALICE cam "$(stream 1)")"
    told '.result == "ACL_FAIL" and .refusal.nearest == 1024' "$(spec $BOB cam "$(stream 1025)")"
    told '.grant != null' "$(spec $BOB cam "$(stream 1024)")"
    told '.result == "ACL_FAIL" and .refusal.nearest == null' "$(spec $BOB more "$(stream 1)")"
}

@test "a claim on an interface without a line is refused, and so is a malformed claim" {
    broker_start
    told '.result == "SCHEDULE_FAIL" and .refusal.code == "no-plugin"' "$(spec $ALICE cam "$(stream 1 ', "interface": "rtf1"')")"
    for claim in '{"bytes": 1}' '{"period": "20ms"}' '{"bytes": 0, "period": "20ms"}' '{"bytes": "1GB", "period": "20ms"}' '{"bytes": 1, "period": 0}' \
        '{"bytes": 1, "period": "20ms", "interface": "../etc"}' '{"bytes": 1, "period": "20ms", "interface": "0123456789abcdef"}' '5'; do
        told '.result == "BAD_SPEC" and (.reason | contains("network"))' "$(spec $ALICE cam "{\"network\": $claim}")"
    done
}

@test "kill -9 of broker or plugin loses no stream, and takes none twice" {
    broker_start
    eight_streams
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    broker_start
    eventually uses NET $((8 * stream_weighs))
    told '.refusal.nearest == 312' "$(spec $BOB cam "$(stream 1024)")"
    pkill -KILL -P "$(launcher)" -f 'name=NET'
    restarted() { grep -q '"decision":"restarted".*"plugin":"NET"' "$EVENTS"; }
    eventually restarted
    told '.refusal.nearest == 312' "$(spec $BOB cam "$(stream 1024)")"
    books
}

@test "a rule may have a bandwidth, which is rounded down; a wrong value is named" {
    rules_are "$BOB NET max_user_bandwidth 426407bit" "$ALICE NET max_bandwidth 53299B" # a stream weighs 53300 bytes a second
    broker_start
    told '.grant != null' "$(spec $BOB cam "$(stream 1024)")"
    told '.result == "ACL_FAIL"' "$(spec $BOB more "$(stream 1)")"
    told '.result == "ACL_FAIL" and (.reason | contains("max_bandwidth 53299B"))' "$(spec $ALICE cam "$(stream 1024)")"
    for value in fast -1 1.5Mbit 10Mb 10mbit 1TB 0x9; do
        rules_are "- NET max_bandwidth $value"
        run "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
        [ "$status" = 78 ] # EX_CONFIG
        [[ $output == *"max_bandwidth takes a rate such as 10Mbit or bytes a second such as 640kB, not \"$value\""* ]]
    done
    rules_are '- EDF max_bandwidth 1Mbit'
    run "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
    [ "$status" = 78 ] # EX_CONFIG
    [[ $output == *'max_bandwidth needs a plugin'* ]]
}

@test "no spec holds the bytes that a dry run would be granted" {
    broker_start
    told '.would_grant.claims[0].bytes == 1024' "$(spec $ALICE cam '{"network": {"bytes": 1024, "period": "20ms"}, "dry_run": true}')"
    eight_streams
    eventually uses NET $((8 * stream_weighs))
}

@test "a line that is no line for a network is refused with its place" {
    refuses_line() {
        configure_plugins 'FP fp 11-20 0' "$1"
        run "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
        [ "$status" = 78 ]
        [[ "$output" == *"plugins.conf:2: $2"* ]] || { echo "$output" >&2; return 1; }
    }
    refuses_line 'X net - - resource=network interface=rtf0' 'resource=network needs interface= and rate='
    refuses_line 'X net - - resource=network rate=1Mbit' 'resource=network needs interface= and rate='
    refuses_line 'X net - - resource=network interface=rtf0 rate=1Mbit capacity=5' 'resource=network needs interface= and rate='
    refuses_line 'X net - - resource=network interface=rtf0 rate=1Mb' 'rate= takes a rate such as 100Mbit'
    refuses_line 'X net - - resource=network interface=a/b rate=1Mbit' 'interface= takes the name of an interface'
    refuses_line 'X net - - resource=network interface=rtf0 rate=1Mbit partition=cpuset' 'partition=, confine=, enforce='
}

@test "10,000 streams that come, change and go on links of four rates: each answer is exact, and so is each nearest" {
    run /usr/bin/python3 -SB "$RTF_SOURCE/test/wire/streams-walk.py" "$RTF_LIBEXEC/plugins/net" 2500 1
    echo "$output"
    [ "$status" = 0 ]
    [ "${#lines[@]}" = 4 ]
    printf '%s\n' "${lines[@]}" >&3
}
