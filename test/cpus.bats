# The key "cpus": plugins plan inside these CPUs, or refuse. rtf-run takes the CPUs that taskset(1) left it.
load helper
load command

prepare() {
    [ "$(nproc)" -gt 1 ] || skip 'there is one CPU only'
    configure_rules "$ALICE - max_utilization 9"
    OWN=$SPECS/$ALICE
}

# granted NAME JSON: the spec is granted; prints its CPUs.
granted() {
    answer=$(spec $ALICE "$1" "$2")
    [ "$(field .result "$answer")" = OK ] || { echo "$answer" >&2; return 1; }
    field .grant.cpus "$answer"
}

# refused NAME JSON PATTERN
refused() {
    answer=$(spec $ALICE "$1" "$2")
    # shellcheck disable=SC2053 # the reason is a pattern
    [[ $(field '.refusal.retry + " " + .reason' "$answer") == $3 ]] || { echo "$answer" >&2; return 1; }
}

# bats test_tags=turn:0
@test "each plugin that pins plans inside it: the other CPU is empty, and stays so" {
    for line in 'P edf - all partition=unthrottled' 'P edf - all partition=unthrottled admission=demand' 'P rm 1-20 all' 'P rm 1-20 all admission=rta' 'P fp 1-20 all' 'P rr 1-20 all'; do
        configure_plugins "$line"
        broker_start
        for name in a b c; do
            [ "$(granted $name '{"runtime": "10ms", "period": "100ms", "priority": 5, "cpus": "1"}')" = 1 ]
        done
        [ "$(granted d '{"runtime": "10ms", "period": "100ms", "priority": 5, "cpus": "0,5"}')" = 0 ]
        [ "$(granted e '{"runtime": "10ms", "period": "100ms", "priority": 5}')" = 0 ] # CPU 0 has the least load
        # A change with the key moves the task there, and a change without the key leaves it there.
        [ "$(granted e '{"runtime": "10ms", "period": "100ms", "priority": 5, "cpus": "1"}')" = 1 ]
        [ "$(granted e '{"runtime": "10ms", "period": "100ms", "priority": 5}')" = 1 ]
        refused f '{"runtime": "10ms", "period": "100ms", "priority": 5, "cpus": "700-702"}' "never P refused: the plugin has CPUs $ALL_CPUS, but the spec allows only CPUs 700-702"
        # The CPUs stay the same over a restart.
        broker_stop INT
        broker_start
        [ "$(jq -r .grant.cpus "$OWN/a.verdict")" = 1 ]
        as $ALICE rm -rf "$OWN"
        eventually test ! -d "$OWN"
        broker_stop TERM
    done
}

# bats test_tags=turn:1
@test "a CPU that is full is full, though another has room; and the nearest is for this one" {
    configure_plugins 'EDF edf - 0-1 partition=unthrottled threshold=0.9'
    broker_start
    [ "$(granted a '{"runtime": "80ms", "period": "100ms", "cpus": "1"}')" = 1 ]
    refused b '{"runtime": "20ms", "period": "100ms", "cpus": "1"}' 'when-freed EDF refused: CPU 1 has 0.1 of 0.9 left, 0.2 asked'
    [ "$(field .refusal.nearest "$answer")" = 10000 ]
    [ "$(granted b '{"runtime": "10ms", "period": "100ms", "cpus": "1"}')" = 1 ]
    [ "$(granted c '{"runtime": "80ms", "period": "100ms", "cpus": "0-1"}')" = 0 ]
}

# bats test_tags=turn:2
@test "partition=global has all of its CPUs or none; a plugin that does not know the key is not believed" {
    configure_plugins 'EDF edf - all partition=global'
    broker_start
    refused a '{"runtime": "10ms", "period": "100ms", "cpus": "1"}' "never EDF refused: its threads run on all CPUs $ALL_CPUS and cannot be restricted to CPUs 1"
    [ "$(granted a '{"runtime": "10ms", "period": "100ms", "cpus": "0-63"}')" = "$ALL_CPUS" ]
    broker_stop TERM
    printf '#!/bin/sh\nsed -u "/^cpus=/d" | %s "$@"\n' "$RTF_LIBEXEC/plugins/fp" >"$WORK/old"
    chmod 755 "$WORK/old"
    configure_plugins "OLD $WORK/old 1-20 0-1"
    broker_start
    refused b '{"priority": 5, "runtime": "1ms", "period": "100ms", "cpus": "1"}' 'never OLD refused: it cannot restrict the thread to CPUs 1'
    [ "$(granted b '{"priority": 5, "runtime": "1ms", "period": "100ms", "cpus": "0"}')" = 0 ]
}

# bats test_tags=turn:0
@test "a value that is no list of CPUs is refused" {
    broker_start
    for value in '""' '"x"' '"0-"' '"3-1"' '"1024"' '" 1"' 1 null '[0]'; do
        refused a "{\"runtime\": \"1ms\", \"period\": \"100ms\", \"cpus\": $value}" 'never a.json: key "cpus" (line 1) must be a string with a list of CPUs, *'
    done
}

# Alone: the kernel's limit (sched_rt_runtime_us) must stay lifted during the test.
# bats test_tags=machine
@test "rtf-run takes the affinity that taskset has left it, unless --cpus says otherwise" {
    configure_plugins 'EDF edf - all partition=unthrottled'
    broker_start
    run="$RTF_BIN/rtf-run --spool $SPOOL -T 10ms -P 100ms"
    # shellcheck disable=SC2086
    for cpu in 0 1 0 1; do
        [ "$(as $ALICE taskset -c $cpu $run -- grep Cpus_allowed_list /proc/self/status | cut -f 2)" = $cpu ]
        [ "$(as $ALICE taskset -c 0 $run --cpus=$cpu -- grep Cpus_allowed_list /proc/self/status | cut -f 2)" = $cpu ]
    done
    # shellcheck disable=SC2086
    [ "$(as $ALICE taskset -c 1 $run --dry-run | jq .cpus)" = '"1"' ]
    # shellcheck disable=SC2086
    [ "$(as $ALICE taskset -c 1 $run --cpus=all --dry-run | jq .cpus)" = null ]
    # shellcheck disable=SC2086
    [ "$(as $ALICE $run --dry-run | jq .cpus)" = null ]
    fails 125 'rtf-run: --cpus 3-1: it must be a list of CPUs such as 0-3,6, or all' "$RTF_BIN/rtf-run" --cpus=3-1 -- true
}
