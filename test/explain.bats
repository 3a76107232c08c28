# rtf-brokerd --explain says what would become of a wish.
load helper

explain() { "$RTF_LIBEXEC/rtf-brokerd" --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" --explain "$@"; }

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 0.5" "$ALICE FP max_priority 15" "$BOB RR max_utilization 1" '- - min_period 2ms'
    echo '{"runtime": "1ms", "period": "10ms"}' >"$WORK/cam.json"
    chmod 644 "$WORK/cam.json"
}

grants() { find "$SPOOL" -type f -exec stat -c '%n %i %.9Z %s' {} + | sort; }

@test "a wish that would be granted: every rule, every answer, and the outcome" {
    broker_start
    before=$(grants)
    run explain "$WORK/cam.json" --as $ALICE
    echo "$output"
    [ "$status" -eq 0 ]
    grep -qFx "  acl.conf:1: $ALICE - max_utilization 0.5: 0 used, 0.1 asked: opens" <<<"$output"
    grep -qFx '  acl.conf:4: - - min_period 2ms: passes' <<<"$output"
    grep -qFx 'EDF answers ok' <<<"$output"
    grep -qFx "granted by EDF: deadline on CPU $ALL_CPUS, runtime 1000us, 0.1 of a CPU" <<<"$output"
    [ "$(grants)" = "$before" ]
}

@test "what is granted already counts, and a wish of that name is a change" {
    broker_start
    wish $ALICE cam '{"runtime": "4ms", "period": "10ms", "plugin": "EDF"}' >/dev/null
    echo '{"runtime": "2ms", "period": "10ms", "plugin": "EDF"}' >"$WORK/new.json"
    cp "$WORK/new.json" "$WORK/own.json"
    run explain "$WORK/new.json" --as $ALICE
    echo "$output"
    [ "$status" -eq 1 ]
    grep -qFx "  acl.conf:1: $ALICE - max_utilization 0.5: 0.4 used, 0.2 asked: refuses" <<<"$output"
    grep -qFx "refused: acl.conf:1: $ALICE - max_utilization 0.5: 0.4 used, 0.2 asked" <<<"$output"
    grep -qFx 'nearest runtime that would be granted: 1000us' <<<"$output"
    run explain "$SPECS/$ALICE/cam.json" --as $ALICE
    echo "$output"
    [ "$status" -eq 0 ]
    # And the outcome is that of the broker.
    [ "$(field '.reason, .refusal.nearest' "$(wish $ALICE new '{"runtime": "2ms", "period": "10ms", "plugin": "EDF"}')" | paste -sd ' ')" = \
        "acl.conf:1: $ALICE - max_utilization 0.5: 0.4 used, 0.2 asked 1000" ]
}

@test "each refusal names what refuses" {
    broker_start
    run explain "$WORK/cam.json" --as $CAROL
    [ "$status" -eq 1 ]
    [[ $output == "refused: uid $CAROL is not a member of the spool's group $GROUP, and acl.conf does not name it" ]]
    echo '{"priority": 16, "plugin": "FP", "runtime": "1ms", "period": "10ms"}' >"$WORK/high.json"
    run explain "$WORK/high.json" --as $ALICE
    echo "$output"
    [ "$status" -eq 1 ]
    grep -qFx "  acl.conf:2: $ALICE FP max_priority 15: refuses" <<<"$output"
    echo '{"period": "1ms"}' | { run explain - --as $BOB; [ "$status" -eq 1 ]; grep -qFx '  acl.conf:4: - - min_period 2ms: refuses' <<<"$output"; }
    echo '{"periood": 3}' >"$WORK/bad.json"
    run explain "$WORK/bad.json" --as $ALICE
    [ "$status" -eq 65 ]
    [[ $output == 'no wish: '*periood* ]]
    run explain "$WORK/none.json" --as $ALICE
    [ "$status" -eq 66 ]
    run explain "$WORK/cam.json" --as nobody-of-that-name
    [ "$status" -eq 67 ]
    run explain "$WORK/cam.json"
    [ "$status" -eq 64 ]
}

@test "it needs neither a broker nor root; then nothing counts as used" {
    chmod 644 "$CONFIG"/*
    run as $ALICE "$RTF_LIBEXEC/rtf-brokerd" --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" --explain "$WORK/cam.json" --as $ALICE
    echo "$output"
    [ "$status" -eq 0 ]
    grep -qFx "what is granted on $SPOOL cannot be read: it is explained as if nothing were in use" <<<"$output"
    grep -q '^granted by EDF' <<<"$output"
    eventually none_of_ours
}
