# rtf-what-if(1): tells the grant that a spec would get, and grants nothing.
load ../helper
load ../command
load front

prepare() { front_prepare; }

@test "granted: rtf what-if tells where and how much; nothing is held, and no file stays" {
    broker_start
    prints 0 rtf what-if -T 2ms -P 20ms
    out "EDF would grant 2ms of each 20ms on CPUs $ALL_CPUS, 0.1 of a CPU"
    eventually nothing_in "$OWN"
    prints 0 rtf what-if --priority 5 --plugin FP
    out 'FP would grant it at fifo priority 11 on CPU 0'
    prints 0 rtf what-if --json -T 2ms -P 20ms
    says '.dry_run and .would_grant.runtime == 2000'
    prints 0 rtf what-if -T 2ms -P 20ms --set dry_run=false
    out 'EDF would grant 2ms of each 20ms *'
    prints 0 rtf what-if -f - <<<'{"runtime": "2ms", "period": "20ms", "attach": 1, "lifetime": "thread"}' || true
}

@test "refused: rtf what-if tells the reason and the nearest runtime, which then is granted" {
    broker_start
    silent rtf declare big -T 17ms -P 20ms
    silent rtf declare two -T 15ms -P 20ms
    fails 75 'rtf what-if: EDF refused: *; a runtime of at most 4000us would fit*' rtf what-if -T 5ms -P 20ms
    silent rtf declare rest -T 4000us -P 20ms
    status=0
    rtf what-if -T 5ms -P 20ms --json >"$WORK/out" 2>"$WORK/err" || status=$?
    [ "$status" -eq 75 ]
    says '.refusal.code == "full"'
    fails 77 'rtf what-if: access refused: *acl.conf:2*' rtf_of $BOB what-if -T 11ms -P 20ms
    fails 65 'rtf what-if: spec refused: *' rtf what-if -T 30ms -P 20ms
    echo '{"threads": [{"name": "*", "runtime": "2ms", "period": "20ms"}]}' >"$WORK/rules"
    fails 65 'rtf what-if: a file with rules for threads: ask for each rule by itself, *' rtf what-if -f "$WORK/rules"
}

@test "-v shows each rule's answer; root asks for another user" {
    broker_start
    prints 0 rtf_of $BOB what-if -v -T 2ms -P 20ms
    grep -qx "EDF: acl.conf:2: $BOB - max_utilization 0.5: opens (0 used, 0.1 asked)" "$WORK/out"
    prints 0 "$RTF_BIN/rtf" --spool "$SPOOL" what-if --for $BOB -T 2ms -P 20ms
    out 'EDF would grant *'
    fails 77 'rtf what-if: access refused: *acl.conf:2*' "$RTF_BIN/rtf" --spool "$SPOOL" what-if --for $BOB -T 11ms -P 20ms
    [ ! -e "$SPECS/root" ]
    eventually nothing_in "$SPECS/$BOB"
    prints 0 "$RTF_BIN/rtf" --spool "$SPOOL" what-if -T 17ms -P 20ms
    fails 74 'rtf-as-user: *rtf-what-if: standard output cannot be written' sh -c '"$@" >/dev/full' sh "$RTF_BIN/rtf" --spool "$SPOOL" what-if --for $BOB -T 2ms -P 20ms
    fails 67 'rtf what-if: there is no user nobody-here' "$RTF_BIN/rtf" --spool "$SPOOL" what-if --for nobody-here -T 2ms -P 20ms
    fails 77 'rtf what-if: only root may act for somebody else' rtf what-if --for $BOB -T 2ms -P 20ms
}

@test "a spec that has the name of the dry run does not keep rtf what-if from asking, and stays" {
    broker_start
    silent rtf declare cam -T 1ms -P 20ms
    cat >"$WORK/script" <<'END'
cp "$OWN/cam.json" "$OWN/what-if-$$.json"
exec "$@"
END
    export OWN
    prints 0 as $ALICE env USER=$ALICE sh -eu "$WORK/script" "$RTF_BIN/rtf" --spool "$SPOOL" what-if -T 2ms -P 20ms
    out 'EDF would grant 2ms of each 20ms *'
    [ "$(find "$OWN" -name 'what-if-*.json' | wc -l)" -eq 1 ]
}

@test "for a user who is not a member of the group, root is told how to make the user one" {
    broker_start
    fails 77 "rtf what-if: *not a member*: 'usermod -aG $GROUP daemon', as root, makes daemon a member" "$RTF_BIN/rtf" --spool "$SPOOL" what-if --for daemon -T 2ms -P 20ms
    fails 77 "rtf what-if: *not a member*: a rule of acl.conf(5) can name uid $CAROL, which has no account" "$RTF_BIN/rtf" --spool "$SPOOL" what-if --for $CAROL -T 2ms -P 20ms
}

@test "rtf what-if refuses wrong usage, and fails without a broker" {
    fails 69 "rtf what-if: no broker has made a spool at $SPOOL ('rtf-brokerd --spool $SPOOL', as root, makes it)" rtf what-if -T 2ms -P 20ms
    broker_start
    fails 64 'rtf what-if: say what is needed: *' rtf what-if
    fails 64 'rtf what-if: the command takes no operand, but got cam *' rtf what-if cam -T 2ms
    fails 66 'rtf what-if: /nowhere cannot be read: No such file or directory' rtf what-if -f /nowhere
    broker_stop INT
    fails 69 'rtf what-if: no broker is running on *' rtf what-if -T 2ms -P 20ms --timeout 300ms
    [ -z "$(ls -A "$OWN" 2>/dev/null)" ]
}

@test "page, --help and --version agree" { explains what-if; }
