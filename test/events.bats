# log/events.ndjson is as rtf-events(5) says. A full disk costs lines and time, but no grant.
load helper

page=man/rtf-events.5.scd
cam='{"runtime": "1ms", "period": "10ms"}'

prepare() { configure_rules "$ALICE - max_utilization 20" "$ALICE FP max_priority 17" "$BOB - max_utilization 2" "$CAROL - max_utilization 2"; }

tidy() {
    if [ -n "${FOLLOWER:-}" ]; then kill -- -"$FOLLOWER" 2>/dev/null || true; fi
    for part in "$SPOOL/log" "$SPOOL/specs" ${PLACE:+"$PLACE"}; do
        if mountpoint -q "$part"; then
            if [ -n "$BROKER" ]; then broker_stop TERM; fi
            eventually umount "$part"
        fi
    done
}

# tiny PART SIZE: mounts a file system of its own on this directory of the spool
tiny() {
    mkdir -p "$SPOOL/$1"
    mount -t tmpfs -o "size=$2" none "$SPOOL/$1"
}

# tiny_place SIZE: mounts a file system of its own on the directory of the journal
tiny_place() {
    mkdir -p "$SPOOL"
    PLACE=$(place_of "$SPOOL")
    mkdir -p -m 1711 /run/rtf
    mkdir -m 700 "$PLACE"
    mount -t tmpfs -o "size=$1,mode=700" none "$PLACE"
}

# fill_up DIRECTORY: fills the file system to the last byte
fill_up() {
    cat /dev/zero >"$1/.filler" 2>/dev/null || true
    [ "$(df --output=avail "$1" | tail -n 1)" -eq 0 ]
}

# something_of_everything: causes each event that the log has lines for
something_of_everything() {
    sleeper $ALICE
    spec $ALICE cam '{"runtime": "1ms", "period": "10ms", "token": "t-1", "comment": "x"}'
    attach $ALICE cam "$SLEEPER"
    spec $ALICE cam '{"runtime": "2ms", "period": "10ms"}'
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    verdict $ALICE cam
    attach $ALICE cam "$SLEEPER"
    attach $ALICE cam 1
    spec $ALICE full '{"runtime": "9ms", "period": "10ms", "plugin": "EDF"}'
    spec $ALICE huge '{"runtime": "10ms", "period": "10ms", "plugin": "EDF"}'
    spec $ALICE shut '{"priority": 18, "runtime": "1ms", "period": "10ms", "plugin": "FP"}'
    spec $ALICE bad '{"runtime": "never"}'
    as $ALICE touch "$SPECS/$ALICE/~not a spec"
    as $ALICE mkdir "$SPECS/somebody"
    rm "$SPECS/$ALICE/full.json"
    kill -KILL "$(helpers 'name=RR')"
    eventually logged '.stage == "plugin" and .plugin == "RR" and .decision == "restarted"'
    kill -HUP "$BROKER"
    eventually test ! -e "$SPECS/$ALICE/full.verdict"
    eventually logged '.stage == "release"'
    eventually test ! -e "$SPECS/somebody"
}

# logged CONDITION: the log has a line that meets the condition
logged() { jq -e -n -R "any(inputs | fromjson?; $1)" "$EVENTS" >/dev/null; }

# every_line CONDITION: jq takes each line for one object that meets the condition
every_line() {
    local lines
    lines=$(wc -l <"$EVENTS")
    command jq -c "select($1 | not)" "$EVENTS" | head -n 3
    [ "$(command jq -c "select($1)" "$EVENTS" | wc -l)" -eq "$lines" ]
}

well_formed='(keys_unsorted - ["times", "left_out"] == ["schema", "time", "stage", "uid", "user", "name", "request", "decision", "result", "code", "reason", "plugin", "tid", "us", "token", "grant", "ended"])
    and (keys_unsorted[17:] | IN([], ["times"], ["left_out"], ["times", "left_out"]))
    and (.grant | . == null or (keys_unsorted[:4] == ["plugin", "policy", "cpus", "priority"] and has("accepted_runtime") and has("period") and has("deadline") and has("utilization")))
    and .schema == 1 and (.time | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[.][0-9]{6}Z$"))
    and (.stage | IN("spool", "spec", "acl", "accept", "ledger", "attach", "verdict", "release", "plugin", "broker"))
    and (.uid | . == null or type == "number") and (.user | . == null or type == "string") and (.name | . == null or type == "string")
    and (.request | . == null or IN("create", "change", "attach", "detach", "recover", "update", "exit", "release"))
    and (.decision | type == "string") and (.result != null) == (.stage == "verdict" and .decision != "error") and (.code != null) == (.stage == "verdict" and (.decision | IN("refused", "waiting")))
    and (.result | . == null or IN("OK", "SCHEDULE_FAIL", "ACL_FAIL", "BAD_SPEC", "ATTACH_FAIL", "WAITING")) and (.code | . == null or test("^[a-z-]+$")) and (.reason | . == null or type == "string") and (.plugin | . == null or type == "string")
    and (.tid | . == null or type == "number") and (.us | . == null or (type == "number" and . >= 0))
    and (.token | . == null or type == "string") and (.times // 1 | type == "number") and (.left_out // 1 | type == "number")'

@test "every line is one object with the keys of rtf-events(5), in their order and of their types" {
    broker_start
    something_of_everything >/dev/null
    broker_stop TERM
    every_line "$well_formed"
    # In the page's table the keys come in the same order.
    [ "$(sed -n '/^# FIELDS/,/^# STAGES/s/^|  \([a-z_\\]*\)$/\1/p' "$RTF_SOURCE/$page" | tr -d '\\' | tr '\n' ' ')" = \
        "schema time stage uid user name request decision result code reason plugin tid us token grant ended times left_out " ]
}

@test "each verdict and each release is exactly one line, with the words of rtf-events(5)" {
    broker_start
    something_of_everything >/dev/null
    spec $ALICE last "$cam" >/dev/null
    [ "$(jq -r 'select(.stage == "verdict") | [.name, .request] | join(" ")' "$EVENTS" | tr '\n' ,)" = \
        'cam create,cam attach,cam change,cam detach,cam attach,cam attach,full create,huge create,shut create,bad create,last create,' ]
    [ "$(jq -r 'select(.stage == "release") | .name' "$EVENTS")" = full ]
    [ "$(jq -r 'select(.stage == "verdict" and .name == "cam") | .token' "$EVENTS" | head -n 1)" = t-1 ]
    jq -e -n --arg tid "$SLEEPER" 'any(inputs; .stage == "verdict" and .request == "attach" and .tid == ($tid | tonumber))' "$EVENTS"
    every_line '.stage != "verdict" or (.us != null and .uid != null)'
    every_line '.stage != "verdict" or (.decision | IN("ok", "refused"))'
    [ "$(jq -r 'select(.name == "last" and .stage == "verdict") | .decision' "$EVENTS")" = ok ]
    [ "$(jq -r 'select(.name == "bad" and .stage == "verdict") | .decision' "$EVENTS")" = refused ]
}

@test "the line of a verdict has the new grant, and the line of a release the former one" {
    broker_start
    answer=$(spec $ALICE cam '{"runtime": "1ms", "desired_runtime": "2ms", "period": "20ms"}')
    [ "$(jq -c 'select(.stage == "verdict") | .grant' "$EVENTS")" = "$(jq -c .grant <<<"$answer")" ]
    [ "$(jq -r 'select(.stage == "verdict") | .grant.accepted_runtime' "$EVENTS")" = 2000 ]
    # A refused change leaves the grant, so the log line of the refusal has the grant.
    spec $ALICE cam '{"runtime": "21ms", "period": "20ms"}' >/dev/null
    [ "$(jq -r 'select(.stage == "verdict" and .decision == "refused") | .grant.accepted_runtime' "$EVENTS")" = 2000 ]
    spec $ALICE high '{"priority": 15}' >/dev/null
    [ "$(jq -c 'select(.stage == "verdict" and .name == "high") | .grant | [.plugin, .policy, .priority]' "$EVENTS")" = '["FP","fifo",15]' ]
    spec $ALICE none '{"runtime": 0}' >/dev/null
    [ "$(jq -c 'select(.stage == "verdict" and .name == "none") | .grant' "$EVENTS")" = null ]
    rm "$SPECS/$ALICE/cam.json"
    eventually logged '.stage == "release" and .name == "cam" and .grant.accepted_runtime == 2000'
    every_line '.grant == null or (.stage | IN("verdict", "release"))'
}

# bats test_tags=turn:1
@test "the log says why a reservation ended" {
    broker_start
    why() { jq -r --arg name "$1" 'select(.name == $name and .stage == "release") | .ended' "$EVENTS"; }
    has_ended() { [ "$(why "$1")" = "$2" ]; }
    for name in mine lease order; do spec $ALICE $name "{\"runtime\": \"1ms\", \"period\": \"100ms\"$([ $name != lease ] || echo ', "expires": "300ms"')}" >/dev/null; done
    sleeper $ALICE
    spec $ALICE thread "{\"runtime\": \"1ms\", \"period\": \"100ms\", \"attach\": $SLEEPER, \"lifetime\": \"thread\"}" >/dev/null
    rm "$SPECS/$ALICE/mine.json"
    eventually has_ended mine user
    eventually has_ended lease lease
    kill -KILL "$SLEEPER"
    eventually has_ended thread thread
    "$RTF_BIN/rtf" --spool "$SPOOL" revoke "$ALICE/order"
    eventually has_ended order revoke
    logged '.stage == "verdict" and .name == "order" and .grant == null and .ended == "revoke"'
    every_line '.ended == null or .stage == "release" or .grant == null'
    broker_stop TERM
    logged '.stage == "broker" and .decision == "stopped" and .ended == "broker"'
}

@test "the other stages of the log show the way to the answer" {
    broker_start
    something_of_everything >/dev/null
    broker_stop TERM
    for stage in spec acl accept attach spool plugin broker release; do
        echo "$stage"
        logged ".stage == \"$stage\""
    done
    logged '.stage == "spec" and .name == "bad" and .decision == "refused"'
    logged '.stage == "acl" and .name == "shut" and .decision == "refused" and (.reason | startswith("acl.conf:2:"))'
    logged '.stage == "attach" and .name == "cam" and .request == "attach" and .decision == "ok"'
    logged '.stage == "attach" and .name == "cam" and .request == "attach" and .decision == "refused"'
    logged '.stage == "attach" and .name == "cam" and .request == "detach" and .decision == "ok"'
    logged '.stage == "accept" and .name == "huge" and .plugin == "EDF"'
    logged '.stage == "spool" and .decision == "ignored"'
    every_line '(.stage | IN("plugin", "broker") | not) or (.decision | IN("ok", "refused", "waiting", "ignored", "ended", "error", "started", "stopped", "killed", "restarted", "reloaded", "warning"))'
}

@test "standard error has the lines that concern no user, as they are in the log, and no others" {
    broker_start
    something_of_everything >/dev/null
    broker_stop TERM
    grep -a '^{' "$WORK/broker.out" >"$WORK/told"
    cmp "$WORK/told" <(grep '"uid":null' "$EVENTS")
    grep -q '"decision":"stopped"' "$WORK/told"
}

# of_page TEXT: prints the literal block of the page that has this text, with this spool
of_page() {
    awk -v wanted="$1" '/^```/ { inside = !inside; if (!inside && index(block, wanted)) { printf "%s", block; exit } block = ""; next }
        inside { block = block $0 "\n" }' "$RTF_SOURCE/$page" | sed "s,/var/spool/rtf,$SPOOL,g; s,\\\\\\\\$,\\\\,"
}

@test "tail -F events.ndjson | jq shows decisions as the page says, across a rotation" {
    broker_start
    of_page 'select(.stage == "verdict") |' >"$WORK/watch"
    grep -q 'tail -F' "$WORK/watch"
    setsid sh "$WORK/watch" >"$WORK/seen" 2>/dev/null 3>&- &
    FOLLOWER=$!
    echo "$FOLLOWER" >>"$WORK/pids"
    spec $ALICE one "$cam" >/dev/null
    eventually grep -q "$(printf '%s\tone\tcreate\t' $ALICE)" "$WORK/seen"
    mv "$EVENTS" "$EVENTS.1"
    kill -HUP "$BROKER"
    eventually test -e "$EVENTS"
    spec $ALICE two '{"runtime": 0}' >/dev/null
    eventually grep -q "$(printf '%s\ttwo\tcreate\t' $ALICE)" "$WORK/seen"
    kill -- -"$FOLLOWER"
    wait "$FOLLOWER" 2>/dev/null || true
    FOLLOWER=
    [ "$(grep -c . "$WORK/seen")" -eq 2 ]
    grep -E "^[0-9T:.Z-]+	$ALICE	one	create	ok	" "$WORK/seen"
    grep -E "^[0-9T:.Z-]+	$ALICE	two	create	refused	" "$WORK/seen"
}

@test "the page's other commands find what the page says" {
    broker_start
    something_of_everything >/dev/null
    broker_stop TERM
    of_page 'sort | uniq -c' >"$WORK/refusals"
    run sh "$WORK/refusals"
    [[ $output =~ ^\ *[1-9][0-9]*\ $ALICE$ ]]
    of_page '{median:' >"$WORK/median"
    run sh "$WORK/median"
    [ "$(field '.median <= .worst' "$output")" = true ]
    of_page '.user == "lab" and' | sed "s/lab/$ALICE/" >"$WORK/user"
    [ "$(sh "$WORK/user" | wc -l)" -eq 10 ]
    of_page '.decision == "error"' | sed "s/tail -F/cat/; s/--unbuffered//" >"$WORK/trouble"
    sh "$WORK/trouble" | jq -e -n 'any(inputs; .plugin == "RR") and all(inputs; .stage == "plugin")'
    [ "$(sh "$WORK/trouble" | jq -c 'select(.stage == "plugin" and .plugin != "RR")' | wc -l)" -eq 0 ]
}

@test "after a rename and SIGHUP the log goes on in a new file, and no line is lost" {
    broker_start
    spec $ALICE one "$cam" >/dev/null
    mv "$EVENTS" "$EVENTS.1"
    spec $ALICE two "$cam" >/dev/null # the log line about two still goes into the old file
    kill -HUP "$BROKER"
    eventually test -s "$EVENTS"
    spec $ALICE three "$cam" >/dev/null
    rm "$SPECS/$ALICE/one.json"
    eventually logged '.stage == "release"'
    [ "$(stat -c '%U %G %a' "$EVENTS")" = "root adm 640" ]
    [ "$(jq -r 'select(.stage == "verdict") | .name' "$EVENTS.1" | tr '\n' ' ')" = "one two " ]
    [ "$(jq -r 'select(.stage == "verdict") | .name' "$EVENTS" | tr '\n' ' ')" = "three " ]
    logged '.stage == "broker" and .decision == "reloaded"'
}

@test "names, tokens and comments cannot break a line" {
    broker_start
    for text in 'a\nb' 'a","decision":"ok' '\u0000' '\u001b[31mred' '☃' 'back\\slash' '\ud800' '{}'; do
        n=$((${n:-0} + 1))
        spec $ALICE "token$n" "{\"token\": \"$text\"}" >/dev/null
        spec $ALICE "comment$n" "{\"priority\": 12, \"comment\": \"$text\"}" >/dev/null
        spec $ALICE "key$n" "{\"$text\": 1}" >/dev/null
        spec $ALICE "plugin$n" "{\"plugin\": \"$text\"}" >/dev/null
    done
    as $ALICE sh -c 'cd "$1" && printf "\377\376{\"token\": \"\300\"}" >bytes.json && printf "a\nb" >bytes.tid' sh "$SPECS/$ALICE"
    verdict $ALICE bytes >/dev/null
    # The log takes at most ten lines about such names in ten seconds from each user, so three users make them.
    as $ALICE sh -c 'cd "$1" && printf "" | tee "a
b.json" "c\",\"decision\":\"ok.json" "$(printf "\033[31m.json")" "☃.json" "$(printf "\377\376.json")" "d\\.json" "%s%n.tid"' sh "$SPECS/$ALICE" >/dev/null
    as $BOB sh -c 'cd "$1" && mkdir "e
f" "g\"," "$(printf "\377\376")" "☃"' sh "$SPECS"
    as $CAROL sh -c 'cd "$1" && echo 1 >"h
i" && echo 1 >"$(printf "j\377")"' sh "$SPECS"
    spec $ALICE last "$cam" >/dev/null
    broker_stop TERM
    every_line "$well_formed"
    [ "$(jq -c 'select(.stage == "spool") | [.uid, .name]' "$EVENTS" | sort -u | jq -c '.[0]' | uniq -c | tr -s ' \n' ' ')" = " 7 $ALICE 4 $BOB 2 $CAROL " ]
    no grep -P '[^\x20-\x7e]' "$EVENTS"
}

@test "a full log/ stops nothing, and the lines that were lost are counted when it works again" {
    tiny log 64k
    broker_start
    spec $ALICE before "$cam" >/dev/null
    fill_up "$SPOOL/log"
    room=$((4096 - $(stat -c %s "$EVENTS") % 4096)) # the rest of the log's last page
    for n in $(seq $((room / 250 + 3))); do
        run spec $ALICE w$n '{"runtime": "1us", "period": "1s"}'
        [ "$(field .result "$output")" = OK ] || [ "$(field .result "$output")" = SCHEDULE_FAIL ]
    done
    sleeper $ALICE
    spec $ALICE cam "$cam" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" deadline
    every_line "$well_formed" # no line is cut
    kept=$(jq -c 'select(.stage == "verdict")' "$EVENTS" | wc -l)
    rm "$SPOOL/log/.filler"
    spec $ALICE after "$cam" >/dev/null
    every_line "$well_formed"
    lost=$(jq -r 'select(.stage == "broker" and .decision == "error") | .reason' "$EVENTS")
    [[ $lost =~ ([0-9]+)\ lines ]]
    [ "$((kept + BASH_REMATCH[1]))" -ge "$((1 + room / 250 + 3 + 2))" ]
    [ "$(tail -n 1 "$EVENTS" | jq -r '.name')" = after ]
}

@test "a log that cannot be written stops nothing, and is taken up when it can be" {
    mkdir -p "$SPOOL/log/events.ndjson"
    broker_start
    run spec $ALICE one "$cam"
    [ "$(field .result "$output")" = OK ]
    rmdir "$EVENTS"
    run spec $ALICE two "$cam"
    [ "$(field .result "$output")" = OK ]
    eventually logged '.name == "two"'
    logged '.stage == "broker" and .decision == "error" and (.reason | test("[1-9][0-9]* lines"))'
    mv "$EVENTS" "$EVENTS.1"
    mkdir "$EVENTS"
    kill -HUP "$BROKER"
    run spec $ALICE three "$cam"
    [ "$(field .result "$output")" = OK ]
    rmdir "$EVENTS"
    run spec $ALICE four "$cam"
    [ "$(field .result "$output")" = OK ]
    eventually logged '.name == "four"'
    every_line "$well_formed"
}

@test "with a full /run a spec is granted or refused with a sentence, nothing is lost, and service resumes" {
    tiny_place 64k
    broker_start
    sleeper $ALICE
    before=$(kernel "$SLEEPER")
    spec $ALICE early "$cam" >/dev/null
    attach $ALICE early "$SLEEPER" >/dev/null
    fill_up "$PLACE"
    refused=
    for n in $(seq 50); do # fills the rest of the log's last page
        run spec $BOB w$n '{"runtime": "10us", "period": "10ms"}'
        if [ "$(field .result "$output")" != OK ]; then
            refused=w$n
            break
        fi
    done
    [ -n "$refused" ]
    [[ $(field .reason "$output") == *"state"* ]]
    [ "$(field '.refusal.by + " " + .refusal.retry' "$output")" = "broker when-freed" ]
    [ "$(field .grant "$output")" = null ]
    # Threads cannot be attached now, but they can be detached.
    run spec $ALICE other "$cam"
    as $ALICE rm "$SPECS/$ALICE/early.tid"
    [ "$(field .request "$(verdict $ALICE early)")" = detach ]
    [ "$(kernel "$SLEEPER")" = "$before" ]
    run attach $ALICE early "$SLEEPER"
    [ "$(field .result "$output")" = ATTACH_FAIL ]
    [ "$(kernel "$SLEEPER")" = "$before" ]
    rm "$PLACE/.filler"
    # The thread was detached, and the journal says so as soon as it can be written, although no other record is due.
    eventually logged '.stage == "broker" and .decision == "ok" and (.reason | test("journal"))'
    invariants
    run spec $BOB $refused "$cam"
    [ "$(field .grant.runtime "$output")" = 1000 ]
    as $ALICE touch "$SPECS/$ALICE/early.tid" # touching the file asks again
    run verdict $ALICE early
    [ "$(field .thread.tid "$output")" = "$SLEEPER" ]
    # All grants are there after a crash.
    rm "$SPECS/$ALICE/other.json"
    eventually test ! -e "$SPECS/$ALICE/other.verdict"
    held=$(cat "$SPECS"/*/*.verdict | jq -s 'map(.grant.utilization // 0) | add')
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    broker_start
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 1000/10000/10000 cpus=$ALL_CPUS reset=1" ]
    spec $CAROL half '{"runtime": "900ms", "period": "1s", "plugin": "EDF"}' >/dev/null
    run spec $CAROL whole '{"runtime": "1s", "period": "1s", "plugin": "EDF"}'
    [ "$(field .refusal.nearest "$output")" = $(((900000000 - held) / 1000)) ]
}

# bats test_tags=turn:1
@test "a journal that cannot be written afresh is still a journal" {
    tiny_place 4400k
    tiny specs 16m # a file system in memory is quicker than a disk
    configure_rules "$ALICE - max_utilization 1000" "$BOB - max_utilization 2"
    broker_start
    spec $BOB first "$cam" >/dev/null
    # The broker writes the journal anew when it has passed 4 MiB; at that time there is no room.
    dd if=/dev/zero of="$PLACE/.filler" bs=1k count=296 status=none || true
    as $ALICE /usr/bin/python3 -S - "$SPECS/$ALICE" <<'END'
import os, sys, time
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])


def put(name, text):
    with open(".new", "w") as file:
        file.write(text)
    os.rename(".new", name)


for turn in range(22):
    for number in range(600):
        put("w%063d.json" % number, '{"runtime": %d, "desired_runtime": 9, "period": 1000000, "token": "%064d"}' % (2 + turn % 5, turn))
    done = time.time() + 10
    put("last.json", '{"runtime": 2, "period": 1000000, "token": "t%d"}' % turn)
    while time.time() < done:
        try:
            if '"t%d"' % turn in open("last.verdict").read():
                break
        except OSError:
            pass
        time.sleep(0.002)
END
    eventually logged '.stage == "broker" and (.reason | test("journal"))'
    rm "$PLACE/.filler"
    sleeper $BOB
    before=$(kernel "$SLEEPER")
    attach $BOB first "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" deadline
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    broker_start
    as $BOB rm "$SPECS/$BOB/first.tid"
    verdict $BOB first >/dev/null
    [ "$(kernel "$SLEEPER")" = "$before" ] # the broker was killed, so it had the former attributes from the journal only
}

@test "with a full stage/ the verdict is written as soon as there is room, and rtf-run gets it" {
    tiny specs 256k
    broker_start
    spec $ALICE early "$cam" >/dev/null
    as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --timeout 8s -T 1ms -P 10ms sh -c 'echo ran' >"$WORK/ran" 2>&1 3>&- &
    wait $!
    [ "$(cat "$WORK/ran")" = ran ]
    put $ALICE late "$cam"
    verdict $ALICE late >/dev/null
    kill -STOP "$BROKER"
    put $ALICE late '{"runtime": "2ms", "period": "10ms"}'
    setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" -- "$RTF_BIN/rtf-run" --spool "$SPOOL" --timeout 8s -T 1ms -P 10ms \
        sh -c 'echo ran' >"$WORK/ran" 2>&1 3>&- &
    runner=$!
    echo "$runner" >>"$WORK/pids"
    eventually test -e "$SPECS/$ALICE/run-$runner.json"
    fill_up "$SPECS"
    kill -CONT "$BROKER"
    eventually logged '.stage == "verdict" and .decision == "error" and .name == "late"'
    eventually logged '.stage == "verdict" and .decision == "error" and (.name | startswith("run-"))'
    [ "$(jq .grant.runtime "$SPECS/$ALICE/late.verdict")" = 1000 ]
    rm "$SPECS/.filler"
    run verdict $ALICE late
    [ "$(field .grant.runtime "$output")" = 2000 ]
    began=${EPOCHREALTIME/./}
    wait "$runner" || true
    [ "$(cat "$WORK/ran")" = ran ]
    [ $((${EPOCHREALTIME/./} - began)) -lt 4000000 ] # the broker wrote the verdict before rtf-run would have given up
}

@test "a verdict that was late does not come after a newer one" {
    tiny specs 256k
    broker_start
    spec $ALICE cam "$cam" >/dev/null
    spec $ALICE other "$cam" >/dev/null
    fill_up "$SPECS"
    for name in cam other; do
        as $ALICE chmod 644 "$SPECS/$ALICE/$name.json" # the change time differs, so the spec is judged again
        eventually logged ".stage == \"verdict\" and .decision == \"error\" and .name == \"$name\" and .request == \"change\""
    done
    rm "$SPECS/.filler"
    sleeper $ALICE
    run attach $ALICE cam "$SLEEPER"
    [ "$(field .request "$output")" = attach ]
    verdict $ALICE other >/dev/null # the broker owes other's verdict for a shorter time than cam's old verdict. So when other's verdict is there, cam's old verdict cannot come any more
    run verdict $ALICE cam
    [ "$(field .request "$output")" = attach ]
    [ "$(field .reason "$output")" = "thread $SLEEPER is attached" ]
}
