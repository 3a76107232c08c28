# rtf-adopt(1): reserves the present scheduling of a thread for the thread, and counts it.
load ../helper
load ../command
load front

prepare() { front_prepare; }

@test "rtf adopt reserves the present bandwidth of a SCHED_DEADLINE thread" {
    broker_start
    sleeper $ALICE
    chrt -d -T 2000000 -D 10000000 -P 20000000 -p 0 "$SLEEPER"
    prints 0 rtf adopt --dry-run "$SLEEPER"
    says "del(.token) == {runtime: 2000, deadline: 10000, period: 20000, plugin: \"EDF\", attach: $SLEEPER, lifetime: \"thread\"}"
    silent rtf adopt "$SLEEPER"
    holds "adopt-$SLEEPER" '.grant.runtime == 2000 and .grant.deadline == 10000 and .thread.state == "attached"'
    kill "$SLEEPER"
    eventually nothing_in "$OWN"
}

@test "SCHED_FIFO and SCHED_RR threads go to plugins of their policy; options tell what the kernel does not know" {
    broker_start
    sleeper $ALICE
    chrt -f -p 7 "$SLEEPER"
    silent rtf adopt "$SLEEPER" -n fifo -T 1ms -P 50ms
    holds fifo '.grant.policy == "fifo" and .grant.runtime == 1000'
    jq -e '.priority == 7' "$OWN/fifo.json"
    sleeper $ALICE
    chrt -r -p 3 "$SLEEPER"
    rtf adopt "$SLEEPER" --name rr -v 2>"$WORK/err"
    [[ $(<"$WORK/err") == 'rtf adopt: rr: RR grants it at rr priority '* ]]
    holds rr '.grant.policy == "rr"'
    [[ $(kernel "$SLEEPER") == rr* ]]
}

@test "rtf adopt refuses threads that cannot be adopted" {
    broker_start
    sleeper $ALICE
    fails 65 "rtf adopt: thread $SLEEPER is ordinary, there is nothing to adopt: 'rtf attach NAME $SLEEPER -T TIME -P TIME' gives it a reservation" rtf adopt "$SLEEPER"
    # The advice works.
    silent rtf attach cam "$SLEEPER" -T 1ms -P 20ms
    fails 66 'rtf adopt: there is no thread 4194304, *' rtf adopt 4194304
    fails 66 "rtf adopt: there is no thread 2, or it is the kernel's own" rtf adopt 2
    sleeper $BOB
    # Only Bob and root can attach Bob's thread.
    fails 65 "rtf adopt: thread $SLEEPER is ordinary, there is nothing to adopt; only its owner, uid $BOB, can give it a reservation" rtf adopt "$SLEEPER"
    fails 65 "rtf adopt: thread $SLEEPER is ordinary, there is nothing to adopt: 'rtf attach NAME $SLEEPER *" "$RTF_BIN/rtf" --spool "$SPOOL" adopt "$SLEEPER"
    silent "$RTF_BIN/rtf" --spool "$SPOOL" attach bobs "$SLEEPER" -T 1ms -P 20ms
    silent "$RTF_BIN/rtf" --spool "$SPOOL" release "bobs-$SLEEPER"
    chrt -f -p 7 "$SLEEPER"
    fails 76 "rtf adopt: adopt-$SLEEPER: *" rtf adopt "$SLEEPER"
    [[ $(kernel "$SLEEPER") == "fifo 7"* ]]
    fails 64 'rtf adopt: a thread id is missing *' rtf adopt
    fails 64 'rtf adopt: only one thread id is allowed *' rtf adopt 1 2
    fails 64 'rtf adopt: x is not a thread id *' rtf adopt x
    broker_stop TERM
    sleeper $ALICE
    chrt -f -p 7 "$SLEEPER"
    fails 69 'rtf adopt: *: no broker is running on *' rtf adopt "$SLEEPER" --timeout 300ms
}

@test "page, --help and --version agree" { explains adopt; }
