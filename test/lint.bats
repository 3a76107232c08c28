# rtf-lint(8) warns of likely mistakes in the configuration, under mawk and gawk; rtf-brokerd --check runs it.
load helper

prepare() {
    ROOT=$WORK/root
    mkdir -p "$ROOT/proc" "$ROOT/sys/devices/system/cpu"
    echo 0-3 >"$ROOT/sys/devices/system/cpu/online"
    for awk in mawk gawk; do
        mkdir "$WORK/$awk"
        ln -s "$(command -v "$awk")" "$WORK/$awk/awk"
    done
}

lint() { # OPTION...: runs rtf-lint with either awk, and compares the output
    for awk in gawk mawk; do
        run env PATH="$WORK/$awk:$PATH" "$RTF_LIBEXEC/rtf-lint" --config "$CONFIG" --root "$ROOT" "$@"
        [ "$awk" = gawk ] || [ "$status: $output" = "$before" ] || { echo "gawk: $before"; echo "mawk: $status: $output"; return 1; }
        before="$status: $output"
    done
    echo "$status: $output"
}

says() { # LINE...: rtf-lint prints these lines, and no others
    lint
    [ "$status" -eq 1 ]
    [ "$output" = "$(printf '%s\n' "$@")" ]
}

silent() {
    lint "$@"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

# servant PID NAME PARENT POLICY PRIORITY: makes a process in the imitated /proc. NAME may have any characters.
servant() {
    mkdir "$ROOT/proc/$1"
    printf '%s\n' "$2" >"$ROOT/proc/$1/comm"
    # shellcheck disable=SC2046 # words
    printf '%s (%s) S %s%s %s %s 0 0 0\n' "$1" "$2" "$3" "$(printf ' 1%.0s' $(seq 5 39))" "$5" "$4" >"$ROOT/proc/$1/stat"
}

bounded="$ALICE - max_runtime 5ms"

@test "rules that bound where nothing opens, and that open where nothing bounds" {
    configure_rules "$ALICE - max_utilization 0.5" "$bounded"
    silent
    configure_rules "$ALICE - max_period 9000" "@cdrom EDF max_period 9000" '' "$BOB RR max_utilization 1 # all"
    says "acl.conf:1: $ALICE - max_period 9000: this bounds, but no rule opens anything there (max_utilization or max_user_utilization)" \
        'acl.conf:2: @cdrom EDF max_period 9000: this bounds, but no rule opens anything there (max_utilization or max_user_utilization)' \
        "acl.conf:4: $BOB RR max_utilization 1: this opens, and nothing bounds runtime, period, deadline or priority"
    configure_rules "$ALICE - max_utilization 0.5" "$ALICE - min_runtime 5ms" "$ALICE - ignore_adm_test true"
    says "acl.conf:1: $ALICE - max_utilization 0.5: this opens, and nothing bounds runtime, period, deadline or priority"
    # A rule for all users holds for each user. If several rules are for one subject, the first rule opens the plugin for all these rules.
    configure_rules '- - max_user_utilization 0.5' "$ALICE FP max_priority 12" "$ALICE FP max_period 1s" '- - max_runtime 1ms'
    silent
    # The rule bounds another plugin than the one that is open.
    configure_rules "$ALICE FP max_utilization 0.5" "$ALICE FP max_priority 12" "$ALICE RR max_priority 5"
    says "acl.conf:3: $ALICE RR max_priority 5: this bounds, but no rule opens anything there (max_utilization or max_user_utilization)"
}

@test "a rule that closes opens nothing, and rtf-lint does not warn of it" {
    configure_rules "$ALICE - max_utilization 0.5" "$bounded" "- FP max_utilization 0" "$ALICE RR max_user_utilization 0.00"
    silent
    configure_rules "$ALICE - max_utilization 0" "$bounded"
    says "acl.conf:2: $bounded: this bounds, but no rule opens anything there (max_utilization or max_user_utilization)"
}

@test "an account by name, by number and by its groups is one" {
    configure_rules 'root - max_runtime 9000' '0 - max_utilization 1'
    silent
    configure_rules '@root - max_runtime 9000' '@0 - max_utilization 1'
    silent
    configure_rules 'root - max_runtime 9000' '@root - max_utilization 1' '@root - max_runtime 1s'
    silent
    configure_rules '0 - max_runtime 9000' '@root - max_utilization 1' '@root - max_runtime 1s'
    silent
    configure_rules 'root - max_runtime 9000' '@0 - max_utilization 1' '@0 - max_runtime 1s'
    silent
    configure_rules 'root - max_runtime 9000' '@nogroup - max_utilization 1' '@nogroup - max_runtime 1s'
    says 'acl.conf:1: root - max_runtime 9000: this bounds, but no rule opens anything there (max_utilization or max_user_utilization)'
}

@test "names that the account database does not know, once each" {
    configure_rules 'nosuchuser - max_utilization 1' 'nosuchuser - max_runtime 1ms' '@nosuch\tgroup - max_utilization 1' '29999 - max_utilization 1' \
        '@29999 - max_runtime 1s' '- - max_runtime 1s'
    says 'acl.conf:1: nosuchuser - max_utilization 1: the account database knows no such user' \
        'acl.conf:3: @nosuch\tgroup - max_utilization 1: the account database knows no such group'
}

@test "a smallest runtime that is above the largest" {
    configure_rules "$ALICE EDF max_utilization 0.5" "$ALICE EDF max_runtime 5ms" "$ALICE - min_runtime 5001us" "$BOB - min_runtime 6ms" \
        "$BOB - max_utilization 1" "$BOB - max_runtime 6ms"
    says "acl.conf:3: $ALICE - min_runtime 5001us: no runtime can pass both this rule and line 2: $ALICE EDF max_runtime 5ms"
    configure_rules "$ALICE - max_utilization 0.5" "$ALICE - max_runtime 1999" '- - min_runtime 2ms' '- - max_runtime 1s'
    says "acl.conf:3: - - min_runtime 2ms: no runtime can pass both this rule and line 2: $ALICE - max_runtime 1999"
    # The value `tick` bounds only runtimes under SCHED_DEADLINE.
    configure_rules "$ALICE FP max_utilization 0.5" "$ALICE FP max_runtime 1us" "$ALICE - min_runtime tick"
    silent --tick 4000
    configure_rules "$ALICE EDF max_utilization 0.5" "$ALICE EDF max_runtime 3ms" "$ALICE - min_runtime tick"
    lint --tick 4000
    [ "$status: $output" = "1: acl.conf:3: $ALICE - min_runtime tick: no runtime can pass both this rule and line 2: $ALICE EDF max_runtime 3ms" ]
    silent --tick 3000
    silent --tick 0
    silent
}

@test "CPUs that are not online, and SCHED_DEADLINE on all that are" {
    configure_rules "$ALICE - max_utilization 1" "$bounded"
    configure_plugins 'EDF edf - 0-1 partition=unthrottled' '# more' 'FP fp 11-20 3-4,1' 'RR rr 1 1000'
    says 'plugins.conf:3: some of the CPUs 3-4,1 are not online: nothing can be attached there' \
        'plugins.conf:4: some of the CPUs 1000 are not online: nothing can be attached there'
    sentence='SCHED_DEADLINE threads may fill every CPU, and may keep the broker waiting for many of their periods when they use up their runtimes: threshold=0.9 leaves room for the broker'
    configure_plugins 'E1 edf - 0-1 partition=unthrottled threshold=0.95' 'E2 edf 100-100 2,3 partition=unthrottled timeout=200ms'
    says "plugins.conf:2: $sentence"
    configure_plugins 'E1 edf - all partition=unthrottled threshold=0.900000001'
    says "plugins.conf:1: $sentence"
    configure_plugins 'E1 edf - all partition=unthrottled threshold=0.9'
    silent
    configure_plugins 'E1 edf - all partition=global threshold=0.95' 'E2 edf - 0-2 partition=unthrottled'
    silent
}

@test "the kernel's own threads at a priority that a plugin gives" {
    configure_rules "$ALICE - max_utilization 1" "$bounded"
    configure_plugins 'EDF edf - all partition=global' 'FP fp 11-20 all' 'RR rr 7 all'
    sentence() { echo "plugins.conf:2: the kernel's thread $1 has priority $2: a granted thread of this priority or above that never sleeps stops the machine; raise ktimers, rcuc and irq_work above 20"; }
    servant 15 rcuc/0 2 1 21
    servant 16 kswapd0 2 1 1
    servant 17 ktimers/1 2 0 0
    silent
    # A user's process with such a name is not a thread of the kernel.
    servant 99 ktimers/9 1 1 1
    servant 98 'rcuc/1) S 2 0' 1 1 1
    servant 97 $'rcuc/1) S 2\nx' 1 1 1
    silent
    servant 18 irq_work/1 2 1 20
    says "$(sentence irq_work/1 20)"
    configure_plugins 'EDF edf - all partition=global'
    silent
}

@test "rtf-lint refuses files with errors, and wrong usage" {
    lint --nonsense
    [ "$status" -eq 64 ]
    lint --tick 4ms
    [ "$status" -eq 64 ]
    configure_rules '- - max_utilization'
    lint
    [ "$status: $output" = '78: rtf-lint: acl.conf:1: this is no rule; rtf-brokerd --check says what is wrong' ]
    configure_rules '- NONE max_utilization 1'
    lint
    [ "$status: $output" = '78: rtf-lint: acl.conf:1: plugins.conf has no plugin NONE; rtf-brokerd --check says what is wrong' ]
    configure_plugins 'EDF edf'
    lint
    [ "$status" -eq 78 ]
    rm "$CONFIG/acl.conf"
    lint
    [ "$status: $output" = "66: rtf-lint: $CONFIG/acl.conf cannot be read" ]
}

@test "rtf-brokerd --check ends as rtf-lint, says the same, and it is no fault; the broker's start says nothing of it" {
    check() { run "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"; }
    configure_rules "$ALICE - max_utilization 0.5" "$bounded"
    check
    [ "$status: $output" = '0: ' ]
    configure_plugins 'EDF edf - all' 'FP fp 11-20 1000'
    configure_rules "$ALICE EDF max_utilization 0.5" "$ALICE EDF max_runtime 1us" "$ALICE - min_runtime tick" "$BOB - max_runtime 1s"
    check
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = 'plugins.conf:2: some of the CPUs 1000 are not online: nothing can be attached there' ]
    [ "${lines[1]}" = "acl.conf:3: $ALICE - min_runtime tick: no runtime can pass both this rule and line 2: $ALICE EDF max_runtime 1us" ]
    [ "${lines[2]}" = "acl.conf:4: $BOB - max_runtime 1s: this bounds, but no rule opens anything there (max_utilization or max_user_utilization)" ]
    [ "${#lines[@]}" = 3 ]
    run as $ALICE "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" = 3 ]
    broker_start
    no grep -q '^rtf-brokerd:.*plugins.conf\|this bounds' "$WORK/broker.out"
}

@test "values that are not what their author meant, and rules that give nothing" {
    configure_rules "$ALICE - max_utilization 0.5" "$ALICE - min_period 2s" "$ALICE - max_period 1s" "$bounded"
    says "acl.conf:2: $ALICE - min_period 2s: no spec can pass both this rule and line 3: $ALICE - max_period 1s"
    configure_rules "$ALICE EDF max_utilization 0.5" "$bounded" "$ALICE EDF max_utilization 0.7"
    says "acl.conf:3: $ALICE EDF max_utilization 0.7: line 1 bounds the same sum, and the smaller of the two holds"
    configure_rules '- - max_utilization 0.5' '- - max_runtime 5ms' "$ALICE EDF max_utilization 0.7" "$BOB EDF max_utilization 0.2"
    says "acl.conf:3: $ALICE EDF max_utilization 0.7: this gives nothing more, because line 1 holds as well: - - max_utilization 0.5"
    configure_rules "$ALICE - max_utilization 50" "$bounded" "$BOB - max_runtime 20" "$BOB - max_utilization 3"
    says "acl.conf:1: $ALICE - max_utilization 50: a sum is in CPUs, and this machine has 4; 50 % of one CPU is 0.5" \
        "acl.conf:3: $BOB - max_runtime 20: a number without a unit is in microseconds; 20ms is milliseconds"
    configure_rules
    says 'acl.conf: the file has no rule, so only root is granted anything'
}

@test "rtf-lint warns of a user who is no member of the spool's group" {
    configure_rules 'games - max_utilization 0.5' 'games - max_runtime 5ms' 'root - max_utilization 0.5' 'root - max_runtime 5ms'
    silent
    mkdir -p "$ROOT/var/spool/rtf/specs"
    chgrp 29999 "$ROOT/var/spool/rtf/specs"
    says 'acl.conf:1: games - max_utilization 0.5: games is no member of the group that may use the spool'
    chgrp "$(id -g games)" "$ROOT/var/spool/rtf/specs"
    silent
}

@test "lines that end as on other systems are the same lines" {
    configure_rules "$ALICE - max_utilization 0.5" "games - max_runtime 9000" 'games - max_utilization 0.5'
    sed -i 's/$/\r/' "$CONFIG/acl.conf" "$CONFIG/plugins.conf"
    says "acl.conf:1: $ALICE - max_utilization 0.5: this opens, and nothing bounds runtime, period, deadline or priority"
}
