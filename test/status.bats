# bats file_tags=long
# status.json: it is true, for users who may read it. The publisher writes it after a change, at most once a second.
load helper

cam='{"runtime": "1ms", "period": "10ms"}'

prepare() {
    configure_plugins 'EDF edf - all partition=unthrottled threshold=0.9' 'FP fp 11-20 all' 'RR rr 1-10 0 threshold=0.5'
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 100"
    STATUS=$SPOOL/status.json
}

says() { told "$1" "$(cat "$STATUS")" 2>/dev/null; }
publisher() { helpers rtf-publisher; }
version() { stat -c '%i %.9Z' "$STATUS"; } # The time is needed because an inode number may be used again.
ended() {
    wait "$BROKER" 2>/dev/null || true
    BROKER=
}

# watch_renames: from here on, each file that is renamed into the spool is a line in $WORK/renamed.
watch_renames() {
    inotifywait -m -e moved_to --format %f "$SPOOL" >"$WORK/renamed" 2>"$WORK/watching" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually grep -q established "$WORK/watching"
}
renames() { grep -c '^status.json$' "$WORK/renamed" || true; }

# agrees: status.json agrees with the broker's books.
agrees() {
    local books="$SPOOL/state/current/books.json"
    rm -f "$books"
    kill -USR1 "$BROKER"
    eventually test -e "$books"
    jq -n -e --slurpfile status "$STATUS" --slurpfile books "$books" '
        def billionths: tonumber * 1000000000 | round;
        ($status[0].pools | map(select(.used != "0") | {plugin, cpu: (if .name | endswith("on all its CPUs") then -1 else .cpus | tonumber end), sum: (.used | billionths)}) | sort)
        == ($books[0].promised | map({plugin, cpu, sum}) | sort)
        and all($status[0].pools[]; (.capacity | billionths) == (.used | billionths) + (.free | billionths))
        and $status[0].reservations == ([$books[0].reservations[] | select(.grant != null)] | length)
        and $status[0].attached == ([$books[0].reservations[] | select(.thread != null)] | length)' >/dev/null
}

# changes SECONDS: changes the state as often as possible for so many seconds.
changes() {
    as $BOB /usr/bin/python3 -S - "$SPECS/$BOB" "$1" 3>&- <<'END'
import os, sys, time
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
until = time.time() + float(sys.argv[2])
number = 0
while time.time() < until:
    number += 1
    with open(".new", "w") as file:
        file.write('{"runtime": %d, "period": 1000000, "plugin": "EDF"}' % (1000 + number % 1000))
    os.rename(".new", "w%d.json" % (number % 8))
    time.sleep(0.002)
END
}

@test "when clients can be served it tells what there is, to root and the group" {
    broker_start
    [ "$(stat -c '%F %u %g %04a %h' "$STATUS")" = "regular file 0 $GROUP 0640 1" ]
    as $ALICE jq -e .running "$STATUS"
    no stranger $ALICE cat "$STATUS" 2>/dev/null
    no as $ALICE sh -c ': >>"$1"' sh "$STATUS" 2>/dev/null
    says ".schema == 1 and .running and .reservations == 0 and .attached == 0"
    [ "rtf-run $(jq -r .version "$STATUS")" = "$("$RTF_BIN/rtf-run" --version)" ]
    since=$(date -d "$(jq -r .since "$STATUS")" +%s)
    [ $(($(date +%s) - since)) -le 60 ]
    [ "$(jq -c '.plugins[] | [.name, .program, .policy, .priorities, .tests, .state]' "$STATUS" | xargs)" = \
        '[EDF,edf,deadline,null,sufficient,serving] [FP,fp,fixed-priority,11-20,none,serving] [RR,rr,fixed-priority,1-10,none,serving]' ]
    [ "$(jq -r '.plugins | map(.cpus) | join(" ")' "$STATUS")" = "$ALL_CPUS $ALL_CPUS 0" ]
    # FP promises no capacity.
    cpus=$(nproc --all)
    [ "$(jq -r '[.pools[] | select(.plugin == "EDF" and .capacity == "0.9" and .used == "0" and .free == "0.9" and .unit == "CPU").name] | join(",")' "$STATUS")" = \
        "$(seq -s, -f 'CPU %g under EDF' 0 $((cpus - 1)))" ]
    says '[.pools[] | select(.plugin == "RR")] == [{"name": "CPU 0 under RR", "plugin": "RR", "cpus": "0", "unit": "CPU", "capacity": "0.5", "used": "0", "free": "0.5"}]'
    [ "$(jq -r '[.pools[] | select(.plugin == null and .capacity == "1").name] | join(",")' "$STATUS")" = "$(seq -s, -f 'CPU %g' 0 $((cpus - 1)))" ]
    says ".pools | length == $((2 * cpus + 1))"
    ls -A "$SPOOL" | grep -F status >"$WORK/names"
    [ "$(cat "$WORK/names")" = status.json ]
}

@test "a line that has all CPUs together has one pool" {
    configure_plugins 'EDF edf - all partition=global threshold=0.9'
    broker_start
    cpus=$(nproc --all)
    spec $ALICE cam "$cam" >/dev/null
    eventually says '.reservations == 1'
    [ "$(jq -c '.pools' "$STATUS")" = "$(jq -cn --argjson most $((cpus * 9)) --arg cpus "$ALL_CPUS" \
        'def text: tostring; [{name: "EDF on all its CPUs", plugin: "EDF", cpus: $cpus, unit: "CPU", capacity: ($most / 10 | text), used: "0.1", free: (($most - 1) / 10 | text)}]')" ]
}

# The broker counts the bandwidth of the released reservation for up to four seconds, its period. The publisher writes status.json once a second, so
# status.json shows this bandwidth.
# bats test_tags=turn:1
@test "status.json counts bandwidth that is not paid back as used, and as no reservation" {
    broker_start
    hog $ALICE
    is_paid_back() {
        spec $ALICE job "{\"runtime\": \"20ms\", \"period\": \"4s\", \"attach\": $HOG}" >/dev/null
        eventually says '.reservations == 1 and .attached == 1'
        as $ALICE rm "$SPECS/$ALICE/job.json"
        eventually says '.reservations == 0 and any(.pools[]; .used != "0")'
    }
    once_of 3 is_paid_back
}

@test "status.json counts grants, attachments, changes and releases, and has no user's name" {
    broker_start
    sleeper $ALICE
    spec $ALICE secret "$cam" >/dev/null
    eventually says '.reservations == 1 and .attached == 0 and ([.pools[] | select(.used == "0.1")] | length == 2)'
    spec $BOB prio '{"priority": 12}' >/dev/null
    spec $BOB robin '{"priority": 5, "plugin": "RR", "runtime": "1ms", "period": "4ms"}' >/dev/null
    attach $BOB prio 1 >/dev/null # refused
    attach $ALICE secret "$SLEEPER" >/dev/null
    eventually says '.reservations == 3 and .attached == 1 and any(.pools[]; .name == "CPU 0 under RR" and .used == "0.25" and .free == "0.25")'
    agrees
    no grep -E "secret|prio\"|robin|\"$ALICE\"|\"$BOB\"" "$STATUS"
    spec $ALICE secret '{"runtime": "2ms", "period": "10ms"}' >/dev/null
    eventually says '[.pools[] | select(.plugin == "EDF" and .used == "0.2")] | length == 1'
    agrees
    as $ALICE rm "$SPECS/$ALICE/secret.tid"
    eventually says '.attached == 0 and .reservations == 3'
    as $ALICE rm "$SPECS/$ALICE/secret.json"
    as $BOB sh -c 'rm "$1"/*.json' sh "$SPECS/$BOB"
    eventually says '.reservations == 0 and all(.pools[]; .used == "0" and .free == .capacity)' # when all bandwidth is paid back
    agrees
}

@test "a plugin that is down is told, and that it is back" {
    cat >"$WORK/plugin" <<END
#!/bin/sh
while [ -e "$WORK/wait" ]; do sleep 0.05; done
printf 'protocol=1\nanswer=ok\n\n'
cat >/dev/null
END
    chmod 755 "$WORK/plugin"
    configure_plugins "OWN $WORK/plugin 21-30 all" 'FP fp 11-20 all'
    broker_start
    says 'all(.plugins[]; .state == "serving")'
    : >"$WORK/wait"
    kill -KILL "$(helpers 'name=OWN')"
    eventually says '[.plugins[].state] == ["restarting", "serving"]'
    rm "$WORK/wait"
    eventually says '[.plugins[].state] == ["serving", "serving"]'
}

# bats test_tags=turn:0
@test "however much changes, it is written at most once a second, and in the end it is right" {
    broker_start
    watch_renames
    began=$(milliseconds)
    changes 5
    took=$((($(milliseconds) - began) / 1000))
    written=$(renames)
    echo "# written $written times in $took s" >&3
    [ "$written" -le $((took + 1)) ]
    [ "$written" -ge $((took / 2)) ]
    as $BOB sh -c 'rm "$1"/*.json' sh "$SPECS/$BOB"
    eventually says '.reservations == 0'
    eventually agrees
}

@test "a change that is undone before the write is not written" {
    broker_start
    for try in 1 2 3 4 5; do
        spec $ALICE "cam$try" "$cam" >/dev/null
        eventually says ".reservations == $try"
        began=$(milliseconds) before=$(version)
        spec $ALICE short "$cam" >/dev/null
        as $ALICE rm "$SPECS/$ALICE/short.json"
        eventually test ! -e "$SPECS/$ALICE/short.verdict"
        [ $(($(milliseconds) - began)) -ge 900 ] || break # otherwise the next write may come between the two
    done
    sleep 1.5
    [ "$(version)" = "$before" ]
    agrees
}

@test "a change that is undone before the write is written if a spec was refused in between, because there may be room now" {
    broker_start
    for try in 1 2 3 4 5; do
        spec $ALICE "cam$try" "$cam" >/dev/null
        eventually says ".reservations == $try"
        began=$(milliseconds) before=$(version)
        spec $ALICE short "$cam" >/dev/null
        spec $BOB large '{"runtime": "20ms", "period": "20ms"}' >/dev/null
        as $ALICE rm "$SPECS/$ALICE/short.json"
        eventually test ! -e "$SPECS/$ALICE/short.verdict"
        [ $(($(milliseconds) - began)) -ge 900 ] || break # otherwise the next write may come between the two
    done
    is_new() { [ "$(version)" != "$before" ]; }
    eventually is_new
    agrees
}

@test "a refusal writes nothing, and while nothing changes no process wakes up" {
    broker_start
    spec $ALICE cam "$cam" >/dev/null
    eventually says '.reservations == 1'
    eventually readers_have_ended
    eventually settled
    before=$(version) switches=$(switches)
    sleep 5
    [ "$(switches)" = "$switches" ]
    [ "$(version)" = "$before" ]
    spec $BOB cam '{"runtime": "20ms", "period": "10ms"}' >/dev/null
    eventually readers_have_ended # readers end after two seconds without work
    [ "$(version)" = "$before" ]
}
switches() { for pid in "$BROKER" "$(publisher)"; do grep ctxt_switches "/proc/$pid/status" | tr -s '\t\n' ' '; done; }
settled() {
    local before
    before=$(switches)
    sleep 0.02
    [ "$(switches)" = "$before" ]
}

# bats test_tags=turn:2
@test "1,000 reads of status.json while it changes see whole files only" {
    broker_start
    # Each write takes 0.1 s.
    strace -qq -o "$WORK/trace" -p "$(publisher)" -e trace=write -e inject=write:delay_enter=100000 2>"$WORK/strace" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually is_traced "$(publisher)"
    changes 5 &
    echo "$!" >>"$WORK/pids"
    /usr/bin/python3 -S - "$STATUS" <<'END'
import json, os, sys, time
seen = set()
for turn in range(1000):
    with open(sys.argv[1]) as file:
        seen.add(os.fstat(file.fileno()).st_ino)
        status = json.load(file)
    assert status["running"] and list(status)[-1] == "rules"
    time.sleep(0.004)
print("#", len(seen), "of them") # at least so many files: an inode number may be used again
END
    grep -q 'write(1' "$WORK/trace" # the publisher has written meanwhile
}

@test "a writer that is killed is started again, and the file is right again" {
    broker_start
    first=$(publisher)
    # A publisher that was killed before the rename leaves such a file.
    (umask 077 && echo '{"running":' >"$SPOOL/.status.json.new")
    kill -STOP "$first"
    spec $ALICE cam "$cam" >/dev/null
    kill -KILL "$first"
    eventually says '.reservations == 1'
    [ "$(publisher)" != "$first" ]
    [ "$(stat -c '%u %g %04a' "$STATUS")" = "0 $GROUP 0640" ]
    [ ! -e "$SPOOL/.status.json.new" ]
    eventually grep -q 'the writer of status.json is started again: it ended' "$EVENTS"
    spec $ALICE more "$cam" >/dev/null
    eventually says '.reservations == 2'
}

@test "a broker that ends says so, although its writer dies over just that" {
    broker_start
    first=$(publisher)
    strace -qq -o "$WORK/trace" -p "$first" -e trace=renameat -e inject=renameat:signal=KILL 2>"$WORK/strace" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually is_traced "$first"
    says '.running'
    broker_stop TERM
    grep -q 'killed by SIGKILL' "$WORK/trace"
    says '.running == false'
}

# bats test_tags=turn:1
@test "no request waits for a hanging writer of status.json, and newer text replaces the text that it missed" {
    broker_start
    kill -STOP "$(publisher)"
    watch_renames
    began=$(milliseconds)
    for n in 1 2 3; do
        [ "$(field .result "$(spec $ALICE cam$n "$cam")")" = OK ]
        sleep 1.1 # long enough for each change to be written
    done
    [ $(($(milliseconds) - began)) -lt $((3300 + 3000 * PATIENCE)) ]
    says '.reservations == 0'
    kill -CONT "$(publisher)"
    eventually says '.reservations == 3'
    [ "$(renames)" -le 2 ]
    kill -STOP "$(publisher)"
    began=$(milliseconds)
    broker_stop TERM
    [ $(($(milliseconds) - began)) -lt $((3000 * PATIENCE)) ]
}

@test "a status.json that cannot be written stays as it was, the log says so, and the broker tries again" {
    broker_start
    mkdir "$SPOOL/.status.json.new"
    before=$(version)
    spec $ALICE cam "$cam" >/dev/null
    eventually grep -q 'status.json cannot be written: File exists; the old file stays' "$EVENTS"
    [ "$(version)" = "$before" ]
    rmdir "$SPOOL/.status.json.new"
    eventually says '.reservations == 1'
}

@test "a broker that ends says so, and the next one replaces what one left that was killed" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "$cam" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    broker_stop INT
    says '.running == false and .reservations == 1 and .attached == 1 and all(.plugins[]; .state == "ended")'
    broker_start
    says '.running and .reservations == 1 and .attached == 1'
    broker_stop TERM
    says '.running == false and .reservations == 1 and .attached == 0'
    broker_start
    says '.running'
    since=$(jq .since "$STATUS")
    kill -KILL "$BROKER"
    ended
    says '.running'
    broker_start
    says ".running and .since != $since"
    # A status.json that another process with root's rights has written is replaced, too.
    broker_stop TERM
    rm "$STATUS"
    ln -s "$WORK/elsewhere" "$STATUS"
    broker_start
    [ "$(stat -c '%F %u %g %04a' "$STATUS")" = "regular file 0 $GROUP 0640" ]
    [ ! -e "$WORK/elsewhere" ]
}

@test "the keys on rtf-status(5) are those of the file, in this order" {
    broker_start
    keys() { awk -v part="$1" '/^## / { inside = $0 == "## " part; next } /^# / { inside = $0 == "# " part; next } inside && /^\|  / { print $2 }' "$RTF_SOURCE/man/rtf-status.5.scd"; }
    [ "$(keys FIELDS)" = "$(command jq -r 'keys_unsorted[]' "$STATUS")" ]
    [ "$(keys plugins)" = "$(command jq -r '.plugins[0] | keys_unsorted[]' "$STATUS")" ]
    [ "$(keys pools)" = "$(command jq -r '.pools[0] | keys_unsorted[]' "$STATUS")" ]
}
