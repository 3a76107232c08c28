load helper

@test "a wish that is dropped is granted, and its removal releases it" {
    broker_start
    run wish $ALICE cam '{"runtime": "2ms", "period": "10ms"}'
    [ "$(field .result "$output")" = OK ]
    [ "$(field .grant.accepted_runtime "$output")" = 2000 ]
    rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
}

@test "a thread attached through NAME.tid runs as granted, and gets its former attributes back" {
    broker_start
    sleeper $ALICE
    renice -n 5 -p "$SLEEPER" >/dev/null
    taskset -pc 1 "$SLEEPER" >/dev/null
    before=$(kernel "$SLEEPER")
    wish $ALICE cam '{"runtime": "2ms", "period": "10ms", "deadline": "8ms"}'
    run attach $ALICE cam "$SLEEPER"
    [ "$(field .thread.tid "$output")" = "$SLEEPER" ]
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 2000/8000/10000 cpus=0-1 reset=1" ]
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    run verdict $ALICE cam
    [ "$(field .request "$output")" = detach ]
    [ "$(kernel "$SLEEPER")" = "$before" ]
}
