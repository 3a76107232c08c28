# rtf-brokerd --explain says what would become of a wish, and --check what may be wrong with the rules.
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

@test "--check tells of rules that bound where nothing opens, and that open where nothing bounds" {
    check() { "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG" 2>&1; }
    configure_rules "$ALICE - max_utilization 0.5" "$ALICE - max_runtime 5ms"
    run check
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    configure_rules "$ALICE - max_period 9000" "@cdrom EDF max_period 9000" "$BOB RR max_utilization 1"
    run check
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "acl.conf:1: $ALICE - max_period 9000: this bounds, but no rule opens anything there (max_utilization or max_user_utilization)" ]
    [[ ${lines[1]} == 'acl.conf:2: @cdrom EDF max_period 9000: this bounds, '* ]]
    [ "${lines[2]}" = "acl.conf:3: $BOB RR max_utilization 1: this opens, and nothing bounds runtime, period, deadline or priority" ]
    # No runtime can pass both.
    configure_rules "$ALICE EDF max_utilization 0.5" "$ALICE EDF max_runtime 5ms" "$ALICE - min_runtime 5001us" "$BOB - min_runtime 6ms" "$BOB - max_utilization 1" \
        "$BOB - max_runtime 6ms"
    run check
    echo "$output"
    [ "${lines[0]}" = "acl.conf:3: $ALICE - min_runtime 5001us: no runtime passes this and line 2: $ALICE EDF max_runtime 5ms" ]
    [ "${#lines[@]}" = 1 ]
    configure_rules "$ALICE FP max_utilization 0.5" "$ALICE FP max_runtime 1us" "$ALICE - min_runtime tick" # which is not for FP
    run check
    [ -z "$output" ]
    configure_rules "$ALICE - max_utilization 0.5" "$ALICE - min_runtime 5ms"
    run check
    [[ $output == 'acl.conf:1: '*': this opens, and nothing bounds runtime, period, deadline or priority' ]]
    # A group opens for its members.
    configure_rules 'root - max_runtime 9000' '@root - max_utilization 1' '@root - max_runtime 1s'
    run check
    [ -z "$output" ]
    run as $ALICE "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
    [ "$status" -eq 0 ]
}
