# Attempts to get more than the rules give: by many specs, two names, many uids, or requests at the same time.
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
@test "a thousand uids without an account, which one user made up, count as one user" {
    configure_rules "$BOB - max_utilization 1" '- RR max_user_utilization 100'
    broker_start --max-specs 20
    for uid in $(seq 500000 500060); do
        as "$uid" sh -c 'mkdir -p "$1" && echo "{\"priority\": 5, \"plugin\": \"RR\"}" >"$1/w.json"' sh "$SPECS/$uid"
    done
    [ "$(field .result "$(spec $BOB mine '{"priority": 5, "plugin": "RR"}')")" = OK ]
    verdict 500060 w >/dev/null
    [ "$(cat "$SPECS"/5000*/w.verdict | jq -s '[.[] | select(.grant != null)] | length')" -le 20 ]
}

# directories_of FIRST COUNT: makes one directory for each of COUNT uids.
directories_of() {
    /usr/bin/python3 -S - "$SPECS" "$GROUP" "$1" "$2" <<'END'
import os, sys
specs, group, first, count = sys.argv[1], *map(int, sys.argv[2:])
os.setgroups([group])
for uid in range(first, first + count):
    os.seteuid(uid)
    os.mkdir(f"{specs}/{uid}")
    os.seteuid(0)
END
}
descriptors() { find "/proc/$1/fd" -mindepth 1 | wc -l; }

# The broker has no capability to raise the limit of descriptors, as in a container.
start_with_limit() {
    prlimit --nofile=4096 setpriv --bounding-set -sys_resource -- "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" \
        ${RTF_PLUGIN_USER:+--plugin-user "$RTF_PLUGIN_USER"} >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
}

@test "directories of 4,300 uids without an account take no descriptors, and another user is answered, also after a restart" {
    local each
    start_with_limit
    for each in adopter names; do helpers "rtf-$each\$" >"$WORK/$each"; descriptors "$(<"$WORK/$each")" >"$WORK/$each.had"; done
    had=$(descriptors "$BROKER")
    directories_of 500000 4300
    [ "$(field .result "$(spec $BOB mine "$OBSERVED")")" = OK ]
    eventually users_are 65 # the broker knows Bob, and 64 of the attacker's uids
    echo "# descriptors: $had before, $(descriptors "$BROKER") after" >&3
    [ "$(descriptors "$BROKER")" -le $((had + 3 * 65 + 8)) ]
    for each in adopter names; do [ "$(descriptors "$(<"$WORK/$each")")" -le $(($(<"$WORK/$each.had") + 1)) ]; done
    [ "$(jq -c 'select(.decision == "ignored")' "$EVENTS" | wc -l)" -le 20 ] # the uids share the limit of the log for one user
    broker_stop INT
    start_with_limit
    [ "$(field '.result + " " + (.grant | type)' "$(verdict $BOB mine)")" = 'OK object' ]
    [ "$(field .result "$(spec $BOB other "$OBSERVED")")" = OK ]
    eventually users_are 65
    # The broker looks at an ignored directory again when the rules name the directory's uid.
    ignored=$(find "$SPECS" -mindepth 1 -maxdepth 1 -type d -name '50????' ! -perm 2700 -printf '%f\n' | tail -n 1)
    configure_rules "$BOB - max_utilization 0.5" "$ignored - max_utilization 0.1"
    kill -HUP "$BROKER"
    [ "$(field .result "$(spec "$ignored" mine "$OBSERVED")")" = OK ]
    no grep -q 'rtf-adopter, which looks after specs/' "$EVENTS"
}

# Each of four uids causes 450 KB.
# bats test_tags=turn:0
@test "uids that one user made up share one user's part of the log" {
    broker_start
    directories_of 500000 4
    /usr/bin/python3 -S - "$SPECS" "$GROUP" <<'END'
import os, sys
os.setgroups([int(sys.argv[2])])
for turn in range(5):
    for uid in range(500000, 500004):
        os.seteuid(uid)
        os.chdir(f"{sys.argv[1]}/{uid}")
        for number in range(200):
            with open(".new", "w") as file:
                file.write('{"runtime": "never", "token": "%064d"}' % turn)
            os.rename(".new", f"w{number}.json")
        os.seteuid(0)
END
    is_full() { grep -q '"user":"50000[0-3]".*this user has caused more than 1024 KiB of lines in 10 s' "$EVENTS"; }
    eventually is_full
    windows=$(grep -c 'this user has caused more than' "$EVENTS")
    [ "$(grep '"user":"50000[0-3]"' "$EVENTS" | wc -c)" -le $(((windows + 1) * ((1 << 20) + 1000))) ]
}

# The lookup of each account takes 20 ms, as with a slow directory server.
# bats test_tags=turn:2
@test "uids that one user made up are looked up after another user, also at a restart" {
    private_tree
    printf '#!/bin/sh\nwhile read -r line; do case $line in id=* | uid=*) echo "$line" ;; "") sleep 0.02; printf "answer=ok\\n\\n" ;; esac; done\n' >"$RTF_LIBEXEC/rtf-names"
    broker_start
    directories_of 500000 600
    [ "$(field .result "$(spec $BOB mine "$OBSERVED")")" = OK ]
    users=$(the_books | jq '.quiet | length')
    echo "# $users directories are known when Bob is answered" >&3
    [ "$users" -gt 300 ] # the lookup of 300 accounts takes 6 s, and of all accounts 12 s
    broker_stop INT
    broker_start
    [ "$(field '.result + " " + (.grant | type)' "$(verdict $BOB mine)")" = 'OK object' ]
}

@test "one user's unused grants take that user's share only, and go with the directory" {
    configure_rules "$ALICE EDF max_utilization 0.4" "$BOB EDF max_utilization 0.5"
    broker_start
    [ "$(field .result "$(spec $ALICE squat '{"runtime": "4ms", "period": "10ms", "plugin": "EDF"}')")" = OK ]
    [ "$(field .result "$(spec $BOB mine '{"runtime": "5ms", "period": "10ms", "plugin": "EDF"}')")" = OK ]
    rm -rf "${SPECS:?}/$ALICE" # the broker removes its answers meanwhile
    eventually freed
}
freed() { [ "$(field .result "$(spec $ALICE squat '{"runtime": "4ms", "period": "10ms", "plugin": "EDF"}')")" = OK ]; }

# bats test_tags=machine
@test "task sets that make an exact test long delay no other user" {
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
