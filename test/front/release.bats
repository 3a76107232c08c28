# rtf-release(1): when it returns, the capacity is free, and the threads have their former attributes.
load ../helper
load ../command
load ../many
load front

prepare() { front_prepare; }
tidy() { [ -z "$BROKER" ] || kill -CONT "$BROKER" 2>/dev/null || true; }

@test "rtf release prints nothing, and leaves nothing when it returns" {
    broker_start
    sleeper $ALICE
    silent rtf declare cam -T 2ms -P 20ms
    silent rtf attach cam "$SLEEPER"
    silent rtf release cam
    [ -z "$(ls -A "$OWN")" ]
    is_policy "$SLEEPER" other
}

# bats test_tags=turn:1
@test "release of several names, one without a spec, releases the others" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    silent rtf declare dog -T 2ms -P 20ms
    fails 66 "rtf release: there is no spec cow in $OWN" rtf release cam cow dog.json
    [ -z "$(ls -A "$OWN")" ]
    fails 66 'rtf release: there is no spec cam' rtf_of $CAROL release cam
}

# bats test_tags=turn:1
@test "rtf release does not wait for a spec that it cannot remove" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    as $ALICE mkdir "$OWN/dog.json"
    fails 71 'rtf release: dog: Is a directory' rtf release --timeout 1s cam dog
    [ ! -e "$OWN/cam.json" ]
}

# bats test_tags=turn:0
@test "release with patterns removes the specs with names that match, and no other file" {
    broker_start
    put_all $ALICE app-9 '{"runtime": "1ms", "period": "20ms"}' app-10 '{"runtime": "1ms", "period": "20ms"}' cam '{}' dog '{}'
    verdicts $ALICE app-9 app-10 cam dog >"$WORK/verdicts"
    as $ALICE touch "$OWN/app my.json" "$OWN/.app-1.json" "$WORK/app-0.json" || true
    cd "$WORK"
    silent rtf release 'app*'
    [ "$(cd "$OWN" && echo *.json)" = 'app my.json cam.json dog.json' ]
    [ -e "$OWN/.app-1.json" ]
    fails 66 "rtf release: there is no spec a* in $OWN" rtf release 'a*' 'd?g.json'
    [ "$(cd "$OWN" && echo [b-z]*.json)" = cam.json ]
    fails 66 "rtf release: there is no spec ../*/* in $OWN" rtf release '../*/*'
    fails 66 'rtf release: there is no spec c*' rtf_of $CAROL release 'c*'
    silent rtf release '[b-d]*'
    [ "$(cd "$OWN" && echo *.json)" = 'app my.json' ]
}

# bats test_tags=turn:2
@test "--all releases all own specs, also a refused spec, and no spec of another user" {
    broker_start
    silent rtf_of $BOB declare his -T 2ms -P 20ms
    silent rtf release --all
    put_all $ALICE a '{}' b '{"priority": 5}' c '{"runtime": "1ms", "period": "20ms"}'
    verdicts $ALICE a b c >"$WORK/verdicts"
    as $ALICE touch "$OWN/my notes.json" "$OWN/.hidden.json"
    silent rtf release --all
    [ "$(ls -A "$OWN" | grep -cv '^\(my notes.json\|.hidden.json\|.ignored\)$')" -eq 0 ] || { ls -A "$OWN" >&2; false; }
    [ -e "$OWN/my notes.json" ]
    [ -e "$SPECS/$BOB/his.json" ]
}

# bats test_tags=turn:0
@test "rtf release releases 5,000 specs at once" {
    configure_plugins 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 10000"
    broker_start --max-specs 6000
    as $ALICE sh -c 'mkdir -p "$1" && cd "$1" && i=0; while [ $i -lt 5000 ]; do echo "{\"priority\": 5}" >"n$i.json"; i=$((i + 1)); done' sh "$OWN"
    all_answered() { [ "$(find "$OWN" -name '*.verdict' | wc -l)" -eq 5000 ]; }
    eventually all_answered
    takes 0 8000 silent rtf release --all
    [ -z "$(ls -A "$OWN")" ]
}

# bats test_tags=turn:1
@test "69 without a broker: rtf release removes the files, and says so; --no-wait prints nothing" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    silent rtf declare dog -T 2ms -P 20ms
    broker_stop INT
    fails 69 "rtf release: cam: no broker is running on $SPOOL ('rtf-brokerd --spool $SPOOL', as root, starts one)" rtf release cam --timeout 300ms
    [ ! -e "$OWN/cam.json" ]
    silent rtf release dog --no-wait
    broker_start
    eventually nothing_in "$OWN"
}

# bats test_tags=turn:2
@test "75: rtf release takes longer than allowed" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    kill -STOP "$BROKER"
    fails 75 'rtf release: cam: cam has not ended within the time allowed' rtf release cam --timeout 200ms
}

# bats test_tags=turn:0
@test "64: rtf release refuses wrong usage" {
    broker_start
    fails 64 'rtf release: the names of reservations are missing *' rtf release
    fails 64 'rtf release: names and --all exclude each other *' rtf release --all cam
    fails 64 'rtf release: ../cam: a name must be *' rtf release ../cam
}

# bats test_tags=turn:1
@test "page, --help and --version agree" { explains release; }
