# More than the rules give: by many specs, two names, many uids, or by being asked at the same time.
load attack

granted_to() { jq -s '[.[].grant.utilization // 0] | add // 0' "$SPECS/$1"/*.verdict; }

@test "a hundred specs at once have no more than the bound together" {
    configure_rules "$ALICE EDF max_utilization 0.4"
    broker_start
    as $ALICE sh -c 'mkdir -p "$1" && cd "$1" && for n in $(seq 100); do echo "{\"runtime\": \"1ms\", \"period\": \"20ms\", \"plugin\": \"EDF\"}" >.w && mv .w w$n.json; done' \
        sh "$SPECS/$ALICE"
    verdict $ALICE w100 >/dev/null
    for n in $(seq 100); do verdict $ALICE w$n >/dev/null; done
    [ "$(granted_to $ALICE)" = 400000000 ]
    as $ALICE sh -c 'rm "$1"/*.json' sh "$SPECS/$ALICE"
    [ "$(field .result "$(spec $ALICE all '{"runtime": "8ms", "period": "20ms", "plugin": "EDF"}')")" = OK ]
}

# bats test_tags=turn:1
@test "a thousand uids without an account, which one user made up, are one user" {
    configure_rules "$BOB - max_utilization 1" '- RR max_user_utilization 100'
    broker_start --max-specs 20
    for uid in $(seq 500000 500060); do
        as "$uid" sh -c 'mkdir -p "$1" && echo "{\"priority\": 5, \"plugin\": \"RR\"}" >"$1/w.json"' sh "$SPECS/$uid"
    done
    [ "$(field .result "$(spec $BOB mine '{"priority": 5, "plugin": "RR"}')")" = OK ]
    verdict 500060 w >/dev/null
    [ "$(cat "$SPECS"/5000*/w.verdict | jq -s '[.[] | select(.grant != null)] | length')" -le 20 ]
}

@test "what one user squats is his part only, and goes with his directory" {
    configure_rules "$ALICE EDF max_utilization 0.4" "$BOB EDF max_utilization 0.5"
    broker_start
    [ "$(field .result "$(spec $ALICE squat '{"runtime": "4ms", "period": "10ms", "plugin": "EDF"}')")" = OK ]
    [ "$(field .result "$(spec $BOB mine '{"runtime": "5ms", "period": "10ms", "plugin": "EDF"}')")" = OK ]
    rm -rf "${SPECS:?}/$ALICE" # the broker removes its answers meanwhile
    eventually freed
}
freed() { [ "$(field .result "$(spec $ALICE squat '{"runtime": "4ms", "period": "10ms", "plugin": "EDF"}')")" = OK ]; }

# bats test_tags=machine
@test "sets that make an exact test long keep nobody else waiting" {
    configure_plugins 'EDF edf - 0 partition=unthrottled admission=demand threshold=0.95' 'RM rm 11-40 1 admission=rta' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 10000" "$BOB RR max_utilization 1"
    broker_start
    cat >"$WORK/sets.py" <<'END'
import os, random, sys
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
chance = random.Random(7)
number = 0
while True:
    number += 1
    period = chance.choice([10007, 10009, 99991, 999983, 3000017, 100, 101, 103])
    plugin = chance.choice(["EDF", "RM"])
    deadline = period - chance.randrange(period // 2)
    with open(".new", "w") as file:
        file.write('{"runtime": %d, "period": %d, "deadline": %d, "plugin": "%s"}' % (max(1, period // 300), period, deadline, plugin))
    os.rename(".new", f"s{number % 900}.json")
END
    chmod 644 "$WORK/sets.py"
    OBSERVED='{"priority": 5, "plugin": "RR"}'
    bob_is_answered_beside attack /usr/bin/python3 -S "$WORK/sets.py" "$SPECS/$ALICE"
}
