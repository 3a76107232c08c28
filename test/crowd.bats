# Many clients at once: each gets its own answer, and no client wakes for another's answer.
load helper

# The 20 users of this crowd.
users=$(seq 21000 21019)

prepare() {
    configure_plugins 'FP fp 11-20 all' 'SLOW '"$WORK/slow"' 1-10 all timeout=3s'
    printf '#!/bin/sh\nprintf "protocol=1\\nanswer=ok\\n\\n"\nwhile read -r line; do case $line in op=accept) sleep 1; printf "answer=no\\nreason=never\\n\\n" ;; esac; done\n' >"$WORK/slow"
    chmod 755 "$WORK/slow"
    {
        for uid in $users; do echo "$uid - max_utilization 1000"; done
        for uid in $ALICE $BOB 1 2; do echo "$uid - max_utilization 10000"; done
    } >"$CONFIG/acl.conf"
    mkdir -m 1777 "$WORK/out"
}

# bats test_tags=turn:0
@test "500 clients of 20 users spec at once, and each gets its own verdict and its own thread" {
    broker_start
    began=$SECONDS
    runs=
    for uid in $users; do
        as "$uid" sh -c 'for n in $(seq 25); do
                "$1/rtf-run" --spool "$2" --plugin FP --priority 15 -v --timeout 20s sh -c "echo \$\$" >"$3/$4.$n" 2>&1 &
            done; wait' sh "$RTF_BIN" "$SPOOL" "$WORK/out" "$uid" 3>&- &
        runs="$runs $!"
        echo "$!" >>"$WORK/pids"
    done
    wait $runs
    [ $((SECONDS - began)) -le 20 ]
    # Each file has the verdict that a client got, and the client's process id.
    cat "$WORK/out"/* >"$WORK/all"
    [ "$(wc -l <"$WORK/all")" -eq 1000 ]
    jq -s -e '[range(0; length; 2) as $i | select(.[$i].result == "OK" and .[$i].thread.tid == .[$i + 1])] | length == 500' "$WORK/all"
    [ "$(jq -r 'select(type == "object") | .token' "$WORK/all" | sort -u | wc -l)" -eq 500 ]
    [ "$(jq -r 'select(.stage == "verdict" and .request == "create" and .decision != "error") | .token' "$EVENTS" | sort -u | wc -l)" -eq 500 ]
    # The clients have ended, and their specs have ended, too.
    eventually nothing_left
    run spec $ALICE after '{"priority": 15, "plugin": "FP"}'
    [ "$(field .result "$output")" = OK ]
}

nothing_left() { [ -z "$(find "$SPECS" -name '*.json' -o -name '*.verdict' -o -name '*.tid')" ]; }

# bats test_tags=turn:1
@test "a client is woken once, by its own answer, while as many others of the same user are answered" {
    broker_start
    as $ALICE mkdir "$SPECS/$ALICE"
    for spec in '{"priority": 15, "plugin": "FP"}' '{"priority": 0}'; do
        run as $ALICE sh -c 'cd "$1" && "$2" 50 "$3"' sh "$SPECS/$ALICE" "$BATS_TEST_DIRNAME/fixtures/crowd" "$spec"
        echo "$output"
        [ "$output" = "50 answered, 0 woken for nothing" ]
        as $ALICE sh -c 'rm "$1"/*.json' sh "$SPECS/$ALICE"
        eventually nothing_left
    done
}

# bats test_tags=turn:2
@test "a burst of specs does not make a plugin look late that is not" {
    # 5 ms would be enough for each request; the broker takes longer to read all answers together.
    configure_plugins 'FP fp 11-20 all timeout=5ms'
    broker_start
    spec $ALICE first '{"priority": 15}' >/dev/null
    for round in 1 2; do
        kill -STOP "$BROKER"
        as $ALICE /usr/bin/python3 -S - "$SPECS/$ALICE" <<'END'
import os, sys
os.chdir(sys.argv[1])
for number in range(500):
    with open(".new", "w") as file:
        file.write('{"priority": 15}')
    os.rename(".new", f"w{number}.json")
END
        kill -CONT "$BROKER"
        spec $ALICE "last$round" '{"priority": 15}' >/dev/null
        run sh -c 'cat "$1"/w*.verdict | jq -r ".result + \": \" + .reason" | sort | uniq -c | tr -s " "' sh "$SPECS/$ALICE"
        echo "$output"
        [ "$output" = " 500 OK: FP grants it" ]
    done
    jq -c 'select(.stage == "plugin")' "$EVENTS"
    [ "$(jq -c 'select(.stage == "plugin" and .decision == "killed")' "$EVENTS" | wc -l)" -eq 0 ]
}

# bats test_tags=turn:0
@test "specs that are rewritten at the same moment keep their grants" {
    configure_plugins 'EDF edf - all'
    configure_rules "$ALICE - max_utilization 0.8"
    broker_start
    for name in one two; do
        [ "$(field .result "$(spec $ALICE $name '{"runtime": "3ms", "period": "10ms"}')")" = OK ]
    done
    kill -STOP "$BROKER"
    as $ALICE touch "$SPECS/$ALICE/one.json" "$SPECS/$ALICE/two.json"
    kill -CONT "$BROKER"
    for name in one two; do
        [ "$(field '.request + " " + .result' "$(verdict $ALICE $name)")" = "change OK" ]
    done
}

# bats test_tags=turn:1
@test "rtf-run sleeps while fifty others of the same user come and go" {
    broker_start
    setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" -- strace -o "$WORK/out/trace" -e trace=poll,ppoll,execve \
        "$RTF_BIN/rtf-run" --spool "$SPOOL" --plugin SLOW --priority 5 true >"$WORK/out/slow" 2>&1 3>&- &
    slow=$!
    echo "$slow" >>"$WORK/pids"
    eventually grep -qs '^poll(\|^ppoll(' "$WORK/out/trace" # rtf-run waits
    for n in $(seq 50); do
        put $ALICE w$n '{"priority": 15, "plugin": "FP"}'
        rm "$SPECS/$ALICE/w$n.json"
    done
    wait "$slow" || true
    grep -q 'SLOW' "$WORK/out/slow"
    # The signal of dnotify (fcntl(2), F_NOTIFY) wakes rtf-run for other specs eight times at most. From then on rtf-run watches only its own spec.
    [ "$(grep -c 'poll(' "$WORK/out/trace")" -le 12 ]
}

# bats test_tags=turn:2
@test "the spec beyond --max-specs is refused, the others stay, and a removal makes room" {
    broker_start --max-specs 5
    # Each account has a limit of its own, and so has each uid that acl.conf names. Root has no limit.
    for uid in 1 2 $ALICE; do
        for n in 1 2 3 4 5; do
            [ "$(field .result "$(spec $uid w$n '{"priority": 15}')")" = OK ]
        done
    done
    run spec 1 sixth '{"priority": 15}'
    [ "$(field '.result + ": " + .reason' "$output")" = 'ACL_FAIL: you have 5 specs already: a user may have no more (--max-specs)' ]
    [ "$(field '.refusal.by + " " + .refusal.retry' "$output")" = 'broker when-freed' ]
    [ "$(field .grant "$output")" = null ]
    run spec $BOB first '{"priority": 15}'
    [ "$(field .result "$output")" = OK ]
    # All other uids without an account share one limit.
    for n in 1 2 3 4 5; do
        [[ $(field .reason "$(spec 20071 w$n '{"priority": 15}')") == *'not a member'* ]]
    done
    [[ $(field .reason "$(spec 20072 first '{"priority": 15}')") == 'you have 5 specs already'* ]]
    # No user has lost a reservation, and changes still work.
    for uid in 1 2 $ALICE; do
        run spec $uid w3 '{"priority": 16}'
        [ "$(field '.request + " " + .result' "$output")" = 'change OK' ]
    done
    # The end of a reservation makes room, and a refused spec is asked again.
    rm "$SPECS/1/w2.json"
    eventually test ! -e "$SPECS/1/w2.verdict"
    as 1 touch "$SPECS/1/sixth.json"
    run verdict 1 sixth
    [ "$(field .result "$output")" = OK ]
    run spec 1 seventh '{"priority": 15}'
    [ "$(field .result "$output")" = ACL_FAIL ]
    rm "$SPECS/1/seventh.json" "$SPECS/1/sixth.json"
    eventually test ! -e "$SPECS/1/sixth.verdict"
    [ "$(field .result "$(spec 1 eighth '{"priority": 15}')")" = OK ]
    # After a restart the same specs are granted.
    broker_stop INT
    broker_start --max-specs 5
    for name in w1 w3 w4 w5 eighth; do
        [ "$(field .result "$(verdict 1 $name)")" = OK ]
    done
    [ "$(field .result "$(spec 1 ninth '{"priority": 15}')")" = ACL_FAIL ]
    for n in 1 2 3 4 5 6 7; do
        [ "$(field .result "$(spec 0 w$n '{"priority": 15}')")" = OK ]
    done
    eventually test ! -e "$SPECS/1/seventh.verdict" # the verdict goes with the spec
}

# bats test_tags=turn:0
@test "specs that are removed make room for others at once" {
    local n
    broker_start --max-specs 4
    for n in 1 2 3 4; do [ "$(field .result "$(spec $ALICE "w$n" '{"priority": 15}')")" = OK ]; done
    [ "$(field .refusal.by "$(spec $ALICE w5 '{"priority": 15}')")" = broker ]
    # The broker gets all of these reports at once.
    kill -STOP "$BROKER"
    as $ALICE sh -c 'cd "$1" && rm w*.json && for n in 1 2 3 4; do echo "$2" >.new && mv .new "x$n.json"; done' sh "$SPECS/$ALICE" '{"priority": 15}'
    kill -CONT "$BROKER"
    for n in 1 2 3 4; do [ "$(field .result "$(verdict $ALICE "x$n")")" = OK ]; done
    [ "$(field .refusal.by "$(spec $ALICE x5 '{"priority": 15}')")" = broker ]
}

fp_grants() { [ "$(field .grant.plugin "$(spec "$1" "w$RANDOM" '{"priority": 15}')")" = FP ]; }
has_readers() { [ "$(helpers rtf-reader | wc -l)" = "$1" ]; }
# memory_of PID...: the memory in KiB, locked or not. Pages of several processes count in part for each.
memory_of() { for pid; do cat "/proc/$pid/smaps_rollup" 2>/dev/null || true; done | awk '/^Pss:/ { sum += $2 } END { print sum + 0 }'; }

# More users than root may have inotify instances (fs.inotify.max_user_instances). A reader without an instance polls and does not end.
# bats test_tags=turn:1
@test "300 users cost no more than 1 MiB each while all of them are active, and next to nothing while none is" {
    crowd=300 first=$((42000 + 10 * ${RTF_UIDS:-0})) own=$((20096 + ${RTF_UIDS:-0}))
    cc -std=c17 -D_GNU_SOURCE -O2 -o "$WORK/users" "$BATS_TEST_DIRNAME/bench/users.c"
    configure_plugins 'FP fp 1-50 all'
    for uid in $(seq $first $((first + crowd - 1))); do echo "$uid - max_utilization 1000"; done >"$CONFIG/acl.conf"
    broker_start --plugin-user $own --reader-user $own
    empty=$(memory_of "$BROKER")
    mkfifo "$WORK/go"
    "$WORK/users" all "$SPECS" "$GROUP" $first $crowd <"$WORK/go" >"$WORK/verdicts" 3>&- &
    clients=$!
    echo "$clients" >>"$WORK/pids"
    exec 5>"$WORK/go"
    eventually test -s "$WORK/verdicts" # each user has a verdict
    eventually has_readers $crowd
    active=$(memory_of "$BROKER" "$(launcher)" $(helpers 'rtf-reader|rtf-adopter'))
    # A plugin can be started again beside all these readers: they may have the uid of the plugins, and the limit of processes for a plugin must not count
    # readers.
    kill -KILL "$(helpers 'plugins/fp')"
    eventually fp_grants $first
    exec 5>&-
    wait $clients # all specs are granted
    eventually readers_have_ended
    idle=$(memory_of "$BROKER")
    echo "# each: $(((active - empty) / crowd)) KiB, then $(((idle - empty) / crowd))" >&3
    [ $((active - empty)) -le $((crowd * (1024 + ${RTF_MEMORY_SLACK:-0}))) ]
    [ $((idle - empty)) -le $((crowd * (16 + ${RTF_MEMORY_SLACK:-0}))) ]
}
