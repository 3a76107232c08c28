# refusal.code: each word of rtf-verdict(5), by a real refusal.

load helper

prepare() {
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.5' 'RR rr 1-10 all timeout=300ms' 'STRICT rm 21-40 0 admission=rta fair_server=0us' \
        "CAMERA $RTF_SOURCE/contrib/plugins/units - - resource=units capacity=3"
    configure_rules "$ALICE - max_utilization 4" "$ALICE CAMERA max_amount 3" "$BOB EDF max_utilization 0.2" "$BOB EDF max_runtime 9ms"
}

# is CODE UID NAME JSON: the spec is refused with this code.
is() {
    local answer
    answer=$(spec "${@:2}")
    [ "$(field .refusal.code "$answer")" = "$1" ] || { echo "$answer" >&2; return 1; }
}

# waits CODE NAME: Alice's spec NAME waits, and its verdict has this code.
waits() {
    put $ALICE "$2" '{"runtime": "45ms", "period": "100ms", "plugin": "EDF", "on_refusal": "wait"}'
    eventually jq -e --arg code "$1" '.result == "WAITING" and .refusal.code == $code' "$SPECS/$ALICE/$2.verdict"
}

# is_for CODE NAME TID: Alice's NAME.tid is refused with this code.
is_for() {
    as $ALICE sh -c "echo $3 >'$SPECS/$ALICE/$2.tid'"
    [ "$(field .refusal.code "$(verdict $ALICE "$2")")" = "$1" ] || { verdict $ALICE "$2" >&2; return 1; }
    as $ALICE rm -f "$SPECS/$ALICE/$2.tid"
}

@test "each refusal of the file, the rules and the plugins has a code" {
    broker_start --max-specs 12
    is bad-spec $ALICE a '{"perod": 1}'
    is not-opened $BOB a '{"priority": 5, "plugin": "RR"}'
    is beyond-rule $BOB a '{"runtime": "10ms", "period": "100ms", "plugin": "EDF"}'
    spec $BOB b '{"runtime": "1ms", "period": "10ms", "plugin": "EDF"}' >/dev/null
    is rule-used-up $BOB a '{"runtime": "2ms", "period": "10ms", "plugin": "EDF"}'
    is full $ALICE a '{"runtime": "45ms", "period": "100ms", "plugin": "EDF"}'
    is unsuitable $ALICE a '{"priority": 5, "plugin": "EDF"}'
    is unsuitable $ALICE a '{"priority": 5, "plugin": "RR", "overrun_signal": true}'
    is full $ALICE a '{"units": {"count": 3}, "runtime": "45ms", "period": "100ms", "plugin": "EDF"}'
    waits full w
    waits behind x
    as $ALICE rm "$SPECS/$ALICE/w.json" "$SPECS/$ALICE/x.json"
    is no-plugin $ALICE a '{"runtime": "1ms", "period": "10ms", "plugin": "CAMERA"}'
    is no-plugin $ALICE a '{"units": {"count": 1, "plugin": "EDF"}}'
    spec $ALICE s '{"runtime": "40ms", "period": "100ms", "deadline": "60ms", "plugin": "STRICT"}' >/dev/null
    spec $BOB b '{"runtime": "1ms", "period": "200ms", "plugin": "EDF"}' >/dev/null
    is neighbour $ALICE a '{"runtime": "49ms", "period": "100ms", "plugin": "EDF"}'
    kill -STOP "$(helpers 'name=RR')"
    is restarting $ALICE a '{"priority": 5, "plugin": "RR"}'
    for n in $(seq 12); do put $ALICE "m$n" '{}'; done
    is too-many-specs $ALICE n '{}'
    stranger $CAROL sh -c 'true'
    configure_rules "- - max_utilization 1"
    kill -HUP "$BROKER"
    eventually grep -q '"decision":"reloaded"' "$EVENTS"
    is not-a-member $CAROL a '{"priority": 5}'
    touch "$SPOOL/draining"
    kill -HUP "$BROKER"
    eventually grep -q '"decision":"warning","result":null,"code":null,"reason":"draining:' "$EVENTS"
    is draining $BOB z '{"priority": 5}'
}

@test "each error of a thread has a code" {
    broker_start
    sleeper $BOB
    bobs=$SLEEPER
    sleeper $ALICE
    as $ALICE mkdir -p "$SPECS/$ALICE"
    is_for no-grant cam "$SLEEPER"
    spec $ALICE cam '{"priority": 5, "plugin": "RR", "runtime": "1ms", "period": "100ms"}' >/dev/null
    is_for no-thread cam 4194000
    is_for not-yours cam "$bobs"
    is_for kernel-thread cam 2
    spec $ALICE units '{"units": {"count": 1}}' >/dev/null
    is_for no-cpu-claim units "$SLEEPER"
    as $ALICE sh -c "echo $SLEEPER >'$SPECS/$ALICE/cam.tid'"
    [ "$(field .thread.tid "$(verdict $ALICE cam)")" = "$SLEEPER" ]
    spec $ALICE two '{"priority": 5, "plugin": "RR"}' >/dev/null
    is_for attached-elsewhere two "$SLEEPER"
    is still-attached $ALICE cam '{"units": {"count": 1}}'
}

# sentence PATTERN UID NAME JSON: the sentence of the verdict matches; null: there is none.
sentence() {
    local answer
    answer=$(spec "${@:2}")
    # shellcheck disable=SC2053 # the sentence is a pattern
    [[ $(field .sentence "$answer") == $1 ]] || { echo "$answer" >&2; return 1; }
}

@test "the sentence of a refusal names the refusing plugin, the reason, the rule and the nearest value" {
    broker_start
    sentence null $ALICE a '{"runtime": "1ms", "period": "10ms"}'
    sentence 'spec refused: *"perod"*' $ALICE b '{"perod": 1}'
    sentence 'EDF refused: *; a runtime of at most *us would fit' $ALICE b '{"runtime": "45ms", "period": "100ms", "plugin": "EDF"}'
    sentence "access refused: acl.conf:4: $BOB EDF max_runtime 9ms: *; a runtime of at most 9000us would fit" $BOB b '{"runtime": "10ms", "period": "100ms", "plugin": "EDF"}'
    sentence 'access refused: *CAMERA*; at most 3 units would fit' $ALICE b '{"units": {"count": 4}}'
    configure_rules "$ALICE - max_utilization 4" "$BOB - max_utilization 4" "$BOB EDF min_runtime 5ms"
    kill -HUP "$BROKER"
    eventually grep -q '"decision":"reloaded"' "$EVENTS"
    sentence '* refused: *; a runtime of at least 5000us would fit, up to *us' $BOB b '{"runtime": "1ms", "period": "100ms", "plugin": "EDF"}'
    sentence 'access refused: *; a runtime of exactly 5000us would fit' $BOB b '{"runtime": "1ms", "desired_runtime": "5ms", "period": "100ms", "plugin": "EDF"}'
    sentence "EDF refused: the runtime is 1us, the kernel's least is 2us; a runtime of at least 2us would fit, up to *us" $ALICE b '{"runtime": 1, "period": "1s", "plugin": "EDF"}'
}
