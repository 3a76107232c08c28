# A spec with "dry_run": true is asked about like any other spec, and holds nothing.
load helper
load many

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 0.5" "$ALICE FP max_priority 15" "$BOB RR max_utilization 1" '- - min_period 2ms'
}

# edf MILLISECONDS [MORE]: prints a spec for this time in each 10 ms, as a dry run or not.
edf() { echo "{\"runtime\": \"$1ms\", \"period\": \"10ms\", \"plugin\": \"EDF\"${2:-}}"; }
dry() { edf "$1" ', "dry_run": true'"${2:-}"; }

# books: the promised, charged and held amounts.
books() {
    rm -f "$SPOOL/state/current/books.json"
    kill -USR1 "$BROKER"
    eventually test -e "$SPOOL/state/current/books.json"
    jq -c '[(.reservations | map(select(.grant) | [.name, .grant, .thread])), .promised, .charges, .used, .debts]' "$SPOOL/state/current/books.json"
}
empty='[[],[],{},{},[]]'

recover() { broker_stop "$1"; broker_start; }

@test "a dry run that would be granted has the grant and every rule in its verdict; nothing is held, and the same spec is then granted that" {
    broker_start
    put $ALICE cam "$(dry 1)"
    answer=$(as $ALICE env USER=$ALICE "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 10s cam)
    said '[.request, .result, .refusal, .grant, .thread, .dry_run]' '["create","OK",null,null,null,true]' "$answer"
    said .reason '"EDF would grant it; this is a dry run and holds nothing"' "$answer"
    said .replies '[{"plugin":"EDF","answer":"ok","reason":null}]' "$answer"
    said '.rules' "[{\"plugin\":\"EDF\",\"line\":1,\"text\":\"$ALICE - max_utilization 0.5\",\"used\":\"0\",\"asked\":\"0.1\",\"says\":\"opens\"},$(
        )"'{"plugin":"EDF","line":4,"text":"- - min_period 2ms","used":null,"asked":null,"says":"passes"}]' "$answer"
    [ "$(books)" = "$empty" ]
    real=$(spec $ALICE cam "$(edf 1)")
    said '[.request, .result, has("dry_run"), has("rules"), has("would_grant")]' '["create","OK",false,false,false]' "$real"
    said .grant "$(jq -c .would_grant <<<"$answer")" "$real"
}

@test "a dry run that would be refused has the same refusal, and the rules that refuse" {
    broker_start
    spec $ALICE cam "$(edf 4)" >/dev/null
    before=$(books)
    put $ALICE new "$(dry 2)"
    status=0
    answer=$(as $ALICE env USER=$ALICE "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 10s new) || status=$?
    [ $status = 75 ]
    said '[.grant, .would_grant, .dry_run]' '[null,null,true]' "$answer"
    said '.rules[0] | [.used, .asked, .says]' '["0.4","0.2","refuses"]' "$answer"
    [ "$(books)" = "$before" ]
    said '[.result, .reason, .refusal]' "$(jq -c '[.result, .reason, .refusal]' <<<"$answer")" "$(spec $ALICE new "$(edf 2)")"
    said .refusal.nearest 1000 "$answer"
    # Refusals by a rule for one plugin, by a rule for all plugins, and by the plugin, whose CPUs are full.
    answer=$(spec $ALICE high '{"priority": 16, "plugin": "FP", "runtime": "1ms", "period": "10ms", "dry_run": true}')
    said '[.result, (.rules[] | [.line, .says])]' '["ACL_FAIL",[1,"opens"],[2,"refuses"],[4,"passes"]]' "$answer"
    answer=$(spec $BOB fast '{"period": "1ms", "dry_run": true}')
    said '[.result, (.rules[] | [.plugin, .line, .says])]' '["ACL_FAIL",["EDF",4,"refuses"],["FP",4,"refuses"],["RR",3,"opens"],["RR",4,"refuses"]]' "$answer"
    answer=$(spec 0 big '{"runtime": 1, "period": "10ms", "plugin": "EDF", "dry_run": true}')
    said '[.result, .rules, .refusal.by]' '["SCHEDULE_FAIL",[],"EDF"]' "$answer"
}

@test "a user who may not use the spool, or has too many specs, is told that this was a dry run, without rules" {
    broker_start --max-specs 2
    answer=$(as $CAROL sh -c 'mkdir "$1"' sh "$SPECS/$CAROL"; spec $CAROL cam "$(dry 1)")
    said '[.result, .dry_run, .rules, .would_grant]' '["ACL_FAIL",true,[],null]' "$answer"
    said .reason "\"uid $CAROL is not a member of the spool's group $GROUP, and acl.conf does not name it\"" "$answer"
    put_all $ALICE a "$(dry 1)" b "$(dry 1)" c "$(dry 1)"
    said '[.result, .dry_run, .rules]' '["OK",true,2]' "$(verdict $ALICE b | jq -c '.rules |= length')"
    said '[.result, .refusal.by, .dry_run, .rules]' '["ACL_FAIL","broker",true,[]]' "$(verdict $ALICE c)"
    take_back $ALICE a
    said .result '"OK"' "$(spec $ALICE c "$(edf 1)")"
}

@test "a reservation in force stays, with its thread, while its change is a dry run" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "$(edf 4)" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    before=$(books)
    answer=$(spec $ALICE cam "$(dry 5)") # the 0.4 that cam itself has do not count
    said '[.request, .result, .grant.runtime, .would_grant.runtime, .thread.state]' '["change","OK",4000,5000,"attached"]' "$answer"
    said '.rules[0] | [.used, .asked, .says]' '["0","0.5","opens"]' "$answer"
    said '[.result, .grant.runtime, .would_grant, .refusal.nearest]' '["ACL_FAIL",4000,null,5000]' "$(spec $ALICE cam "$(dry 6)")"
    said '[.result, .grant.plugin, .would_grant.plugin]' '["OK","EDF","FP"]' "$(spec $ALICE cam '{"priority": 12, "runtime": 1, "period": 10000, "plugin": "FP", "dry_run": true}')"
    [ "$(books)" = "$before" ]
    is_policy "$SLEEPER" deadline
    # The thread can be detached and attached as before a dry run, and a restart changes nothing.
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    said '[.request, .result, .grant.runtime, has("dry_run")]' '["detach","OK",4000,false]' "$(verdict $ALICE cam)"
    said '[.request, .thread.state]' '["attach","attached"]' "$(attach $ALICE cam "$SLEEPER")"
    recover INT
    is_policy "$SLEEPER" deadline
    [ "$(books | jq -c '.[0] | map(.[1].runtime)')" = '[4000]' ]
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_policy "$SLEEPER" other
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ "$(books | jq -c '.[0]')" = '[]' ]
}

@test "after a restart the answer of a dry run stays as it is, and the dry run holds nothing" {
    broker_start
    spec $ALICE cam "$(dry 1)" >/dev/null
    cp "$SPECS/$ALICE/cam.verdict" "$WORK/before"
    for signal in INT TERM KILL; do
        recover $signal
        said .result '"OK"' "$(spec $ALICE "after$signal" "$(dry 5)")" # the reader has looked through the directory
        cmp "$SPECS/$ALICE/cam.verdict" "$WORK/before"
        [ "$(books)" = "$empty" ]
    done
    take_back $ALICE cam
}

@test "other specs are granted the amount that a dry run asks for, while it is asked" {
    configure_plugins 'EDF edf - all partition=global threshold=0.9 timeout=20s' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 0.5"
    broker_start
    kill -STOP "$(helpers plugins/edf)"
    put $ALICE cam "$(dry 5)"
    eventually is_asked cam
    said '[.result, .grant.plugin]' '["OK","RR"]' "$(spec $ALICE all '{"runtime": "5ms", "period": "10ms", "priority": 5, "plugin": "RR"}')"
    kill -CONT "$(helpers plugins/edf)"
    # The dry run said OK because the runtime was free at that time.
    said '[.result, .would_grant.runtime]' '["OK",5000]' "$(verdict $ALICE cam)"
}

is_asked() {
    rm -f "$SPOOL/state/current/books.json"
    kill -USR1 "$BROKER"
    eventually test -e "$SPOOL/state/current/books.json"
    jq -e --arg name "$1" 'any(.reservations[]; .name == $name and .busy)' "$SPOOL/state/current/books.json" >/dev/null
}

@test "no thread can be attached to a dry run, neither by the key nor by NAME.tid" {
    broker_start
    sleeper $ALICE
    answer=$(spec $ALICE cam $'{"runtime": "1ms", "period": "10ms",\n"attach": '"$SLEEPER"$',\n"dry_run": true}')
    said '[.result, has("dry_run")]' '["BAD_SPEC",false]' "$answer"
    said .reason '"cam.json: key \"dry_run\" (line 3) cannot stand beside the key \"attach\": a dry run reserves nothing"' "$answer"
    spec $ALICE cam "$(dry 1)" >/dev/null
    said '[.request, .result, .reason]' '["attach","ATTACH_FAIL","cam.json has no grant to attach a thread to"]' "$(attach $ALICE cam "$SLEEPER")"
    is_policy "$SLEEPER" other
    # "dry_run": false means the same as no key.
    said '[.result, .grant.runtime, has("dry_run")]' '["OK",1000,false]' "$(spec $ALICE two "$(edf 1 ', "dry_run": false, "attach": '"$SLEEPER")")"
}

@test "runtime that is not paid back counts, and a dry run waits for it as the same spec would" {
    configure_plugins 'EDF edf - all partition=global threshold=0.9'
    configure_rules "$ALICE - max_utilization 0.6" "$BOB - max_utilization 0.6"
    broker_start
    hog $ALICE
    spec $ALICE cam '{"runtime": "600ms", "period": "1s"}' >/dev/null
    from=$(milliseconds)
    attach $ALICE cam "$HOG" >/dev/null
    eventually has_consumed "$HOG" $(($(consumed "$HOG") + 600)) # in the second period, because the thread had used some of the first runtime before
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_policy "$HOG" other
    answer=$(spec $ALICE next '{"runtime": "600ms", "period": "1s", "dry_run": true}')
    said '[.result, .grant, .would_grant.runtime, .rules[0].used]' '["OK",null,600000,"0"]' "$answer"
    [ $(($(milliseconds) - from)) -ge 1500 ]
    [ "$(books)" = "$empty" ]
}

@test "the verdict of a dry run names no other user: it has only rules for the owner, 64 at most" {
    configure_rules "$BOB - max_utilization 0.7" "$ALICE - max_utilization 0.5" "@somebody - max_runtime 1ms" "@$GROUP - max_runtime 5ms" '- EDF max_period 1s'
    broker_start
    spec $BOB cam "$(edf 4)" >/dev/null
    answer=$(spec $ALICE cam "$(dry 1)")
    said '[.rules[] | [.text, .used]]' "[[\"$ALICE - max_utilization 0.5\",\"0\"],[\"- EDF max_period 1s\",null]]" "$answer"
    { echo "$ALICE - max_utilization 0.5"; for _ in {1..200}; do echo '- - max_period 1s'; done; } >"$CONFIG/acl.conf"
    kill -HUP "$BROKER"
    eventually grep -q '"decision":"reloaded"' "$EVENTS"
    said '[.result, (.rules | length)]' '["OK",64]' "$(spec $ALICE cam '{"runtime": "1ms", "period": "10ms", "dry_run": true}')"
}

# run_dry SEED PLUGINS
run_dry() {
    "$RTF_SOURCE/test/dry-runs" "$1" "${DRY_RUNS:-60}" "$SPOOL" "$BROKER" "$2" $ALICE $BOB >"$WORK/said" 2>&1 || { cat "$WORK/said"; return 1; }
    echo "# seed $1: $(<"$WORK/said")" >&3
    [[ $(<"$WORK/said") =~ ^[1-9][0-9]*\ OK,\ [1-9][0-9]*\ SCHEDULE_FAIL,\ [1-9][0-9]*\ ACL_FAIL ]]
}

@test "a random spec gets the answer of its dry run: global EDF beside FP and RR" {
    configure_plugins 'EDF edf - all partition=global threshold=0.9 desired=kept' 'FP fp 11-20 all enforce=runtime desired=kept' 'RR rr 1-10 all desired=kept'
    configure_rules "$ALICE - max_utilization 0.9" "$BOB - max_utilization 1.5" '- - max_runtime 30ms' "$BOB EDF min_runtime 500us" "$ALICE FP max_priority 15" "$BOB RR max_runtime 400us"
    broker_start
    for seed in ${DRY_SEEDS:-1}; do run_dry "$seed" EDF,FP,RR; done # make faults runs more seeds
    [[ $(<"$WORK/said") == *' '[1-9]*' with a nearest_minimum' ]]
}

@test "a random spec gets the answer of its dry run: RM on two CPUs, each with a nearest of its own" {
    configure_plugins 'ONE rm 21-40 0 timeout=5s' 'TWO rm 41-60 1 timeout=5s'
    configure_rules "$ALICE - max_utilization 5" "$BOB - max_utilization 5" "$BOB ONE max_utilization 0.3"
    broker_start
    for seed in ${DRY_SEEDS:-1}; do run_dry "$seed" ONE,TWO; done
}

@test "a random spec gets the answer of its dry run: plugins that judge one another's plans" {
    cp "$BATS_TEST_DIRNAME/fixtures/plugins/judge" "$WORK/judge"
    chmod 755 "$WORK/judge"
    configure_plugins "HIGH $WORK/judge 31-40 0 timeout=5s desired=kept limit=0.5" "LOW $WORK/judge 21-30 0 timeout=5s desired=kept limit=0.8" "LOWER $WORK/judge 11-20 0 timeout=5s desired=kept limit=0.7" 'RR rr 1-5 0'
    configure_rules "$ALICE - max_utilization 0.4" "$BOB - max_utilization 1" "$ALICE HIGH max_priority 39" '- - max_runtime 30ms'
    broker_start
    for seed in ${DRY_SEEDS:-2}; do run_dry "$seed" HIGH,LOW,LOWER,RR; done
}

# bats test_tags=machine
@test "a random spec gets the answer of its dry run: exact tests, EDF above RM above FP" {
    configure_plugins 'EDF edf - 0 partition=unthrottled admission=demand fair_server=0us timeout=5s desired=kept' 'RM rm 21-40 0 admission=rta fair_server=0us timeout=5s desired=kept' 'FP fp 1-20 0'
    configure_rules "$ALICE - max_utilization 0.5" "$BOB - max_utilization 1" "$ALICE RM max_priority 30" '- - max_runtime 30ms'
    broker_start
    for seed in ${DRY_SEEDS:-3}; do run_dry "$seed" EDF,RM,FP; done
}
