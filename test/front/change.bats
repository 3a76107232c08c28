# rtf-change(1): changes some keys of a spec; a refused change leaves the spec as it was.
load ../helper
load ../command
load front

prepare() { front_prepare; }
tidy() { [ -z "$BROKER" ] || kill -CONT "$BROKER" 2>/dev/null || true; }

@test "rtf change takes keys and options, prints nothing, and keeps the rest of the spec" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms --comment 'the left one'
    silent rtf change cam runtime=3ms
    holds cam '.grant.runtime == 3000 and .grant.period == 20000 and .request == "change"'
    silent rtf change cam -P 40ms deadline=10ms
    holds cam '.grant.runtime == 3000 and .grant.period == 40000 and .grant.deadline == 10000'
    silent rtf change cam deadline= comment=
    jq -e 'del(.token) == {runtime: "3ms", period: "40ms"}' "$OWN/cam.json"
    [ "$(find "$OWN" -mindepth 1 | wc -l)" -eq 2 ]
}

# bats test_tags=turn:0
@test "the thread stays attached, and has the new grant at once" {
    broker_start
    sleeper $ALICE
    silent rtf declare cam -T 2ms -P 20ms --attach "$SLEEPER"
    silent rtf change cam runtime=3ms
    [[ $(kernel "$SLEEPER") == *3000/20000/20000* ]]
    silent rtf declare dog -T 2ms -P 20ms
    sleeper $ALICE
    silent rtf attach dog "$SLEEPER"
    silent rtf change dog runtime=1ms
    [[ $(kernel "$SLEEPER") == *1000/20000/20000* ]]
}

# bats test_tags=turn:1
@test "rtf change removes the id of a thread that has ended" {
    broker_start
    sleeper $ALICE
    silent rtf declare cam -T 2ms -P 20ms --attach "$SLEEPER"
    kill "$SLEEPER"
    eventually holds cam '.thread == null'
    silent rtf change cam runtime=3ms
    holds cam '.grant.runtime == 3000 and .result == "OK"'
}

# bats test_tags=turn:2
@test "refused: the reason is printed, and the file and the reservation are unchanged" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    cp "$OWN/cam.json" "$WORK/before"
    silent rtf_of $BOB declare dog -T 8ms -P 20ms
    silent rtf declare two -T 12ms -P 20ms
    fails 75 'rtf change: cam: EDF refused: *; a runtime of at most *us would fit*' rtf change cam runtime=19ms
    cmp "$OWN/cam.json" "$WORK/before"
    holds cam '.grant.runtime == 2000 and .result == "OK"'
    fails 65 'rtf change: cam: spec refused: *"perid"*' rtf change cam perid=5
    fails 77 'rtf change: dog: access refused: *acl.conf:2*' rtf_of $BOB change dog runtime=11ms
    [ "$(find "$OWN" -mindepth 1 | wc -l)" -eq 4 ]
    rtf change cam runtime=19ms --keep 2>"$WORK/err" || status=$?
    [ "$status" -eq 75 ]
    holds cam '.grant.runtime == 2000 and .result == "SCHEDULE_FAIL"'
    [ "$(jq -r .runtime "$OWN/cam.json")" = 19ms ]
}

# bats test_tags=turn:1
@test "refused: a lease ends when it would have ended" {
    broker_start
    silent rtf declare two -T 18ms -P 20ms
    silent rtf declare cam -T 1ms -P 20ms --expires 2s
    is_over() {
        rtf change cam runtime=19ms 2>"$WORK/err" || true
        [ ! -e "$OWN/cam.json" ]
    }
    eventually is_over
    silent rtf declare cam -T 1ms -P 20ms --expires 10min
    rtf change cam runtime=19ms 2>"$WORK/err" || true
    silent rtf change cam expires=1s
    cam_is_gone() { [ ! -e "$OWN/cam.json" ]; }
    eventually cam_is_gone
}

# bats test_tags=turn:0
@test "--json prints the answer, granted or not; -v tells the grant" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    prints 0 rtf change cam runtime=3ms --json
    says '.grant.runtime == 3000'
    rtf change cam -v runtime=4ms 2>"$WORK/err"
    [ "$(<"$WORK/err")" = "rtf change: cam: EDF grants 4ms of each 20ms on CPUs $ALL_CPUS, 0.2 of a CPU" ]
    status=0
    rtf change cam runtime=50ms --json >"$WORK/out" 2>"$WORK/err" || status=$?
    [ "$status" -eq 65 ]
    says '.result == "BAD_SPEC" and .grant.runtime == 4000'
}

# bats test_tags=turn:1
@test "rtf change refuses wrong usage, and a name without a spec" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    before=$(stat -c '%i %z' "$OWN/cam.json")
    fails 64 'rtf change: the name of the reservation is missing *' rtf change
    fails 64 'rtf change: say what to change: KEY=VALUE*' rtf change cam
    fails 64 'rtf change: 3ms is not KEY=VALUE *' rtf change cam 3ms
    fails 64 'rtf change: runtime 3000: a time needs a unit (us, ms, s, min, h or d)' rtf change cam runtime=3000
    fails 64 'rtf change: runtime 1.5ms: a time must be a whole number and a unit *' rtf change cam runtime=1.5ms
    [ "$(stat -c '%i %z' "$OWN/cam.json")" = "$before" ]
    fails 66 "rtf change: there is no spec dog in $OWN" rtf change dog runtime=1ms
    fails 66 'rtf change: there is no spec cam' rtf_of $CAROL change cam runtime=1ms
    echo '{' | as $ALICE tee "$OWN/bad.json" >"$WORK/out"
    fails 65 "rtf change: $OWN/bad.json: this is not one JSON object" rtf change bad runtime=1ms
}

# bats test_tags=turn:2
@test "rtf change restores the former spec without a broker (69), and without an answer in time (75)" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    cp "$OWN/cam.json" "$WORK/before"
    kill -STOP "$BROKER"
    fails 75 'rtf change: cam: no answer to cam within the time allowed' rtf change cam runtime=3ms --timeout 200ms
    kill -CONT "$BROKER"
    cmp "$OWN/cam.json" "$WORK/before"
    broker_stop INT
    fails 69 'rtf change: cam: no broker is running on *' rtf change cam runtime=3ms --timeout 200ms
    cmp "$OWN/cam.json" "$WORK/before"
    silent rtf change cam runtime=3ms --no-wait
    broker_start
    eventually holds cam '.grant.runtime == 3000'
}

# bats test_tags=turn:0
# bats test_tags=turn:0
@test "of two changes at once, the granted one has no key of the refused one" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    silent rtf declare big -T 17ms -P 20ms
    silent rtf declare wide -T 14ms -P 20ms
    has_comment() { jq -e --arg comment "$1" '.comment == $comment' "$OWN/cam.json" >/dev/null; }
    has_begun() { has_comment good || grep -q -- '-> FLOCK' /proc/locks; }
    kill -STOP "$BROKER"
    rtf change cam runtime=19ms comment=bad >"$WORK/bad" 2>&1 3>&- &
    bad=$!
    eventually has_comment bad
    fails 75 'rtf change: cam: another command is changing this spec, and has not ended within the time allowed' rtf change cam comment=late --timeout 300ms
    rtf change cam comment=good >"$WORK/good" 2>&1 3>&- &
    good=$!
    eventually has_begun
    kill -CONT "$BROKER"
    no wait "$bad"
    wait "$good"
    grep -q '^rtf change: cam: EDF refused: ' "$WORK/bad"
    [ ! -s "$WORK/good" ]
    jq -e '.runtime == "2ms" and .comment == "good"' "$OWN/cam.json"
    holds cam '.result == "OK" and .grant.runtime == 2000'
}

@test "page, --help and --version agree" { explains change; }
