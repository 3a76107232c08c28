# Plugins on one CPU: the broker asks a neighbour before it takes a plan that could break the neighbour's promises. fixtures/plugins/judge is a small
# plugin that judges, shows the tasks that it knows, and misbehaves on demand.
load helper
load many

prepare() {
    cp "$BATS_TEST_DIRNAME/fixtures/plugins/judge" "$WORK/judge"
    chmod 755 "$WORK/judge"
    mkdir "$WORK/switch"
    configure_rules "$ALICE - max_utilization 1000" "$BOB - max_utilization 1000" "$CAROL - max_utilization 1000"
}

# judge NAME RANGE CPUS LIMIT [WORD...]: prints the line of such a plugin in plugins.conf.
judge() { echo "$1 $WORK/judge $2 $3 timeout=500ms limit=$4 switch=$WORK/switch/$1 ${*:5}"; }

# two_judges: HIGH may use half of CPU 0. LOW has lower priorities there, and accepts a total load of up to 0.8.
two_judges() {
    configure_plugins "$(judge HIGH 31-40 0 0.5)" "$(judge LOW 21-30 0 0.8)"
    broker_start
}

# books PLUGIN: prints the tasks that the plugin knows now. asked PLUGIN: prints all questions that it got.
books() { sed -n "s/^knows $1 //p" "$WORK/broker.out" | tail -n 1; }
asked() { sed -n "s/^asked $1 //p" "$WORK/broker.out"; }

# knows PLUGIN EXPECTED: the plugin knows exactly these runtimes of its own tasks and of foreign tasks.
knows() { [ "$(books "$1" | jq -c '[[.own, .foreign | [.[].runtime | tonumber] | sort]] | .[0]')" = "$2" ]; }

# was_asked PLUGIN: prints how often the broker asked the plugin to judge.
was_asked() { jq -s '[.[] | select(.op == "load" and .commit != null)] | length' <(asked "$1"); }

switch_on() {
    echo "$2" >"$WORK/switch/.new"
    mv "$WORK/switch/.new" "$WORK/switch/$1"
}

high() { echo "{\"runtime\": $1, \"period\": 10000, \"plugin\": \"HIGH\"${2:-}}"; }
low() { echo "{\"runtime\": $1, \"period\": 10000, \"plugin\": \"LOW\"${2:-}}"; }

@test "a plan that a neighbour can bear is taken, and the neighbour knows it with all its parameters" {
    two_judges
    spec $BOB floor "$(low 4000)" >/dev/null
    answer=$(spec $ALICE cam "$(high 3000 ', "deadline": 9000')")
    said '[.result, .grant.plugin, .replies]' '["OK","HIGH",[{"plugin":"HIGH","answer":"ok","reason":null}]]' "$answer"
    eventually knows LOW '[[4000],[3000]]'
    [ "$(jq -c '.foreign[] | [.cpus, .policy, .priority, .runtime, .period, .deadline]' <(books LOW))" = '["0","fifo","40","3000","10000","9000"]' ]
    take_back $ALICE cam
    eventually knows LOW '[[4000],[]]'
}

@test "a plan that a neighbour cannot bear is refused on its behalf, with the exact nearest, and leaves no trace" {
    two_judges
    spec $BOB floor "$(low 6000)" >/dev/null
    answer=$(spec $ALICE cam "$(high 2001)")
    said '[.result, .grant, .refusal.by, .refusal.nearest, .refusal.retry]' '["SCHEDULE_FAIL",null,"LOW",2000,"when-freed"]' "$answer"
    said .reason '"LOW cannot bear it: 2001us asked, 2000us would fit"' "$answer"
    said .replies '[{"plugin":"HIGH","answer":"no","reason":"LOW cannot bear it: 2001us asked, 2000us would fit"}]' "$answer"
    [ "$(jq -c 'select(.stage == "accept") | [.decision, .plugin, .reason]' "$EVENTS")" = '["refused","LOW","LOW cannot bear it: 2001us asked, 2000us would fit"]' ]
    eventually knows LOW '[[6000],[]]'
    knows HIGH '[[],[6000]]'
    said '[.result, .grant.runtime]' '["OK",2000]' "$(spec $ALICE cam "$(high 2000)")"
    # If both refuse, the smaller nearest runtime is told: HIGH alone would give 3000.
    take_back $ALICE cam
    answer=$(spec $ALICE cam "$(high 9000)")
    said '[.refusal.by, .refusal.nearest]' '["HIGH",2000]' "$answer"
    eventually knows LOW '[[6000],[]]'
}

@test "a dry run is judged as any other, and neighbours forget it, also where the grant in force is what they know" {
    two_judges
    spec $BOB floor "$(low 6000)" >/dev/null
    answer=$(spec $ALICE cam "$(high 2001 ', "dry_run": true')")
    said '[.result, .would_grant, .refusal.by, .refusal.nearest]' '["SCHEDULE_FAIL",null,"LOW",2000]' "$answer"
    answer=$(spec $ALICE cam "$(high 2000 ', "dry_run": true')")
    said '[.result, .grant, .would_grant.runtime]' '["OK",null,2000]' "$answer"
    [ "$(was_asked LOW)" -ge 2 ]
    eventually knows LOW '[[6000],[]]'
    knows HIGH '[[],[6000]]'
    spec $ALICE cam "$(high 1000)" >/dev/null
    eventually knows LOW '[[6000],[1000]]'
    said '[.result, .grant.runtime, .would_grant.runtime]' '["OK",1000,2000]' "$(spec $ALICE cam "$(high 2000 ', "dry_run": true')")"
    eventually knows LOW '[[6000],[1000]]'
    knows HIGH '[[1000],[6000]]'
}

@test "all neighbours are asked: the nearest is the least that one of them bears, and the others forget it" {
    configure_plugins "$(judge HIGH 31-40 0 0.9)" "$(judge LOW 21-30 0 0.8)" "$(judge LOWER 11-20 0 0.7)" "$(judge LOWEST 5-10 0 0.75)"
    broker_start
    answer=$(spec $ALICE cam "$(high 7800)")
    said '[.result, .refusal.by, .refusal.nearest]' '["SCHEDULE_FAIL","LOWER",7000]' "$answer"
    for plugin in LOW LOWER LOWEST; do eventually knows $plugin '[[],[]]'; done
    said .result '"OK"' "$(spec $ALICE cam "$(high 7000)")"
    said '[.result, .refusal.nearest, .grant.runtime]' '["SCHEDULE_FAIL",7000,7000]' "$(spec $ALICE cam "$(high 7001)")"
    for plugin in LOW LOWER LOWEST; do eventually knows $plugin '[[],[7000]]'; done
}

@test "of its desired runtime a spec gets as much as the neighbours bear" {
    two_judges
    spec $BOB floor "$(low 6500)" >/dev/null
    said '[.result, .grant.accepted_runtime]' '["OK",1500]' "$(spec $ALICE cam "$(high 1000 ', "desired_runtime": 4000')")"
    eventually knows LOW '[[6500],[1500]]'
    knows HIGH '[[1500],[6500]]'
    said '[.result, .refusal.nearest, .grant.runtime]' '["SCHEDULE_FAIL",1500,1000]' "$(spec $ALICE cam "$(high 1501 ', "desired_runtime": 4000')")"
}

@test "a refused change leaves the old grant in force, with the plugin and its neighbour" {
    two_judges
    spec $BOB floor "$(low 6000)" >/dev/null
    spec $ALICE cam "$(high 1000)" >/dev/null
    said '[.result, .refusal.by, .refusal.nearest, .grant.runtime]' '["SCHEDULE_FAIL","LOW",2000,1000]' "$(spec $ALICE cam "$(high 3000)")"
    eventually knows LOW '[[6000],[1000]]'
    knows HIGH '[[1000],[6000]]'
    said '[.result, .grant.runtime]' '["OK",2000]' "$(spec $ALICE cam "$(high 2000)")"
    eventually knows LOW '[[6000],[2000]]'
}

@test "a change to a plugin above does not count against what the spec has below" {
    two_judges
    spec $ALICE cam "$(low 5000)" >/dev/null
    spec $BOB floor "$(low 3000)" >/dev/null
    said '[.result, .refusal.by, .refusal.nearest, .grant.plugin]' '["SCHEDULE_FAIL","HIGH",5000,"LOW"]' "$(spec $ALICE cam "$(high 5001)")"
    eventually knows LOW '[[3000,5000],[]]'
    said '[.result, .grant.plugin]' '["OK","HIGH"]' "$(spec $ALICE cam "$(high 5000)")"
    eventually knows LOW '[[3000],[5000]]'
    eventually knows HIGH '[[5000],[3000]]'
    said '[.result, .grant.plugin]' '["OK","LOW"]' "$(spec $ALICE cam "$(low 5000)")"
    eventually knows LOW '[[3000,5000],[]]'
    eventually knows HIGH '[[],[3000,5000]]'
}

@test "only neighbours that can be touched are asked: those below, on the CPUs of the plan, that judge" {
    configure_plugins "$(judge HIGH 31-40 0-1 0.5)" "$(judge LOW 21-30 1 0.8)" "$(judge DEAF 11-20 0-1 0.8 greets=judges:no,tests:none)"
    broker_start
    said .grant.cpus '"0"' "$(spec $ALICE first "$(high 1000)")"
    said .grant.cpus '"1"' "$(spec $ALICE second "$(high 1000)")"
    said .grant.plugin '"LOW"' "$(spec $ALICE third "$(low 1000)")"
    said .grant.plugin '"DEAF"' "$(spec $ALICE fourth '{"runtime": 1000, "period": 10000, "plugin": "DEAF"}')"
    [ "$(was_asked LOW)" = 1 ]
    [ "$(was_asked HIGH)" = 0 ]
    [ "$(was_asked DEAF)" = 0 ]
    # A plugin without a judge is asked and its spec is granted at once.
    [ "$(jq -s -c '[.[] | .op] | unique' <(asked DEAF))" = '["accept","load"]' ]
}

@test "a partial offer is judged as well, and then the next one" {
    configure_plugins "$(judge HIGH 31-40 0 0.5)" "$(judge LOW 21-30 0 0.8)" 'FP fp 1-10 0' 'RM rm 11-20 1'
    broker_start
    answer=$(spec $ALICE cam '{"period": 10000}')
    said '[.result, .grant.plugin]' '["OK","LOW"]' "$answer"
    said '[.replies[] | [.plugin, .answer]]' '[["HIGH","no"],["LOW","partial"],["FP","no"],["RM","partial"]]' "$answer"
}

@test "many at once are granted as much as one after the other, and never more" {
    configure_plugins "$(judge HIGH 31-40 0 0.25)" "$(judge LOW 21-30 0 0.8)"
    broker_start
    spec $CAROL floor "$(low 5000)" >/dev/null
    specs=() names=()
    for number in 1 2 3 4 5 6 7 8 9; do
        specs+=("w$number" "$(high $((400 + number)))")
        names+=("w$number")
    done
    kill -STOP "$BROKER"
    put_all $ALICE "${specs[@]}"
    put_all $BOB "${specs[@]}"
    put $CAROL more "$(low 500)"
    kill -CONT "$BROKER"
    verdict $CAROL more >/dev/null
    granted=$({ verdicts $ALICE "${names[@]}"; verdicts $BOB "${names[@]}"; } | jq -s '[.[].grant | select(. != null).runtime] | add')
    [ "$granted" -le 2500 ]
    [ "$granted" -gt 2090 ]
    rest=$((2500 - granted))
    said .refusal.nearest $rest "$(spec $BOB rest "$(high 5000)")"
    eventually knows_all HIGH
    eventually knows_all LOW
}

# knows_all PLUGIN: the plugin knows the grants in all verdicts.
knows_all() {
    [ "$(jq -s '[.[].grant | select(. != null).runtime] | add' "$SPECS"/*/*.verdict)" = "$(jq '[.own[], .foreign[] | .runtime | tonumber] | add' <(books "$1"))" ]
}

@test "a neighbour that hangs, crashes or babbles is restarted, and the spec refused; the next one is judged" {
    two_judges
    spec $BOB floor "$(low 4000)" >/dev/null
    spec $ALICE early "$(high 1000)" >/dev/null
    for fault in hangs crashes partial; do
        switch_on LOW $fault
        answer=$(spec $ALICE cam "$(high 1000)")
        said '[.result, .grant, .refusal.by, .refusal.nearest, .refusal.retry]' '["SCHEDULE_FAIL",null,"LOW",null,"when-freed"]' "$answer"
        said .replies '[{"plugin":"HIGH","answer":"restarting","reason":"LOW cannot be asked: the plugin is being restarted"}]' "$answer"
        eventually knows HIGH '[[1000],[4000]]'
        eventually granted_again
        eventually knows LOW '[[4000],[1000,1000]]'
        take_back $ALICE cam
    done
    [ "$(jq -c 'select(.stage == "plugin" and .decision == "killed") | .plugin' "$EVENTS" | sort | uniq -c | tr -s ' ')" = ' 3 "LOW"' ]
}

granted_again() { [ "$(field .result "$(spec $ALICE cam "$(high 1000)")")" = OK ]; }

@test "a neighbour that noted a plan and crashed knows the plan again; a neighbour that haggles delays no other request" {
    two_judges
    spec $BOB floor "$(low 4000)" >/dev/null
    switch_on LOW crashes-after
    said .result '"OK"' "$(spec $ALICE cam "$(high 1000)")"
    eventually knows LOW '[[4000],[1000]]'
    switch_on LOW haggles
    said '[.result, .grant.runtime, .refusal.by, .refusal.nearest]' '["SCHEDULE_FAIL",1000,"LOW",null]' "$(spec $ALICE cam "$(high 2000)")"
    [ "$(was_asked LOW)" -le 20 ]
    rm -f "$WORK/switch/LOW"
    said .result '"OK"' "$(spec $ALICE cam "$(high 2000)")"
    eventually knows LOW '[[4000],[2000]]'
}

@test "a spec that vanishes while a neighbour thinks leaves nothing, and others wait no longer than that" {
    two_judges
    switch_on LOW slow
    put $ALICE cam "$(high 1000)"
    eventually has_misbehaved LOW
    rm "$SPECS/$ALICE/cam.json"
    said .result '"OK"' "$(spec $BOB next "$(high 2000)")"
    eventually knows LOW '[[],[2000]]'
    eventually knows HIGH '[[2000],[]]'
    [ ! -e "$SPECS/$ALICE/cam.verdict" ]
}

@test "a change that the kernel refuses is forgotten by the neighbours" {
    configure_plugins "$(judge HIGH 31-40 0,1023 0.5)" "$(judge LOW 21-30 0,1023 0.8)" # CPU 1023 does not exist
    broker_start
    sleeper $ALICE
    spec $ALICE cam "$(high 1000 ", \"attach\": $SLEEPER")" >/dev/null
    spec $BOB far "$(high 3000)" >/dev/null
    spec $BOB near "$(high 4000)" >/dev/null
    is_policy "$SLEEPER" fifo
    answer=$(spec $ALICE cam "$(high 1500 ", \"attach\": $SLEEPER")")
    said '[.result, .refusal.by, .grant.runtime, .grant.cpus]' '["ATTACH_FAIL","kernel",1000,"0"]' "$answer"
    for plugin in HIGH LOW; do eventually at_home $plugin; done
    said '[.result, .grant.runtime]' '["OK",2000]' "$(spec $BOB more "$(high 2000)")"
}

# at_home PLUGIN: the plugin has a runtime of 5000 on CPU 0 and of 3000 on the other CPU.
at_home() { [ "$(jq -c '[.own[], .foreign[]] | group_by(.cpus) | map([.[].runtime | tonumber] | add)' <(books "$1"))" = '[5000,3000]' ]; }

@test "a configuration that cannot be sound is refused at the start, with the reason" {
    while IFS='|' read -r place sentence first second; do
        configure_plugins "$(line "$first")" "$(line "$second")"
        echo "--- $first | $second"
        status=0
        timeout 10 "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group $GROUP >"$WORK/out" 2>&1 3>&- || status=$?
        cat "$WORK/out"
        [ $status = 78 ]
        grep -q "rtf-brokerd: plugins.conf:$place: $sentence" "$WORK/out"
    done <<'CASES'
2|B cannot judge the tasks of A, which has higher priorities on the same CPU|A 31-40 0|B 21-30 0-1 greets=judges:no
1|B tests its tasks, but A has higher priorities on the same CPU and also grants tasks without a test|B 21-30 0-1|A 31-40 0 greets=grants:some
1|A and B test their tasks on the same CPU, but their priorities 25-35 and 21-30 overlap|A 25-35 0|B 21-30 0
2|B tests its tasks (tests=exact), but A on the same CPU proves less (tests=necessary): its priorities reach 40, and must stay below 21|A 31-40 0 greets=tests:necessary|B 21-30 0 greets=tests:exact
2|B cannot judge the SCHED_DEADLINE tasks of A, which run above its own on the same CPU|A - 0 partition=unthrottled|B 21-30 0 greets=judges:no
1|A and B are both SCHED_DEADLINE on the same CPU, and A cannot judge the other's tasks (judges=load)|A - 0 partition=unthrottled greets=judges:no|B - 0 partition=unthrottled
2|B is SCHED_DEADLINE on the same CPU as A, which is global EDF and tests its tasks|A - 0-1 partition=global|B - 0 partition=unthrottled
1|B tests its tasks, but global EDF (A) on the same CPU makes this test unsound|B 21-30 0|A - 0-1 partition=global
CASES
}

# line "NAME RANGE CPUS [WORD...]": prints a line of plugins.conf.
line() {
    local words
    read -r -a words <<<"$1"
    judge "${words[@]:0:3}" 0.5 "${words[@]:3}"
}

@test "a plugin that greets otherwise after a restart is not believed" {
    # shellcheck disable=SC2016 # for the plugin's own shell
    printf '%s\n' '#!/bin/sh' 'if [ ! -e '"$WORK"'/begun ]; then exec '"$WORK"'/judge "$@"; fi' \
        'exec '"$WORK"'/judge "$@" greets=judges:no' >"$WORK/fickle"
    chmod 755 "$WORK/fickle"
    configure_plugins "$(judge HIGH 31-40 0 0.5)" "$(judge LOW 21-30 0 0.8 | sed "s,$WORK/judge,$WORK/fickle,")"
    broker_start
    : >"$WORK/begun"
    switch_on LOW crashes
    said '[.result, .refusal.by]' '["SCHEDULE_FAIL","LOW"]' "$(spec $ALICE cam "$(high 1000)")"
    eventually grep -q 'its greeting differs from the greeting at the start' "$EVENTS"
    said '[.result, .refusal.by]' '["SCHEDULE_FAIL","LOW"]' "$(spec $ALICE cam "$(high 1000)")"
}

# ---- the plugins that come with rtf, with partition=unthrottled: the broker then sets sched_rt_runtime_us, a setting of the whole machine ----

# edf_rm_fp: configures EDF, RM and FP on one CPU. Each has lower priorities than the one before.
edf_rm_fp() {
    configure_plugins 'EDF edf - 0 partition=unthrottled admission=demand fair_server=0us' \
        'RM rm 21-40 0 admission=rta fair_server=0us' 'FP fp 1-20 0'
    broker_start
}

# bats test_tags=machine
@test "edf above rm above fp: a spec to edf that would make an rm task miss is refused on behalf of rm" {
    edf_rm_fp
    said '[.result, .grant.plugin]' '["OK","RM"]' "$(spec $BOB slow '{"runtime": "4ms", "period": "20ms", "deadline": "9ms", "plugin": "RM"}')"
    said '[.result, .grant.plugin]' '["OK","FP"]' "$(spec $BOB spin '{"priority": 10}')"
    answer=$(spec $ALICE cam '{"runtime": 5001, "period": "20ms", "plugin": "EDF"}')
    said '[.result, .grant, .refusal.by, .refusal.nearest, .refusal.retry]' '["SCHEDULE_FAIL",null,"RM",5000,"when-freed"]' "$answer"
    [[ $(field .reason "$answer") == 'RM cannot bear it: '*' tasks on CPU 0 would miss deadlines' ]]
    said '[.result, .grant.plugin]' '["OK","EDF"]' "$(spec $ALICE cam '{"runtime": 5000, "period": "20ms", "plugin": "EDF"}')"
    said '[.result, .refusal.by]' '["SCHEDULE_FAIL","RM"]' "$(spec $BOB more '{"runtime": 1, "period": "10ms", "plugin": "RM"}')"
    # A spec that names no plugin goes to the next plugin with room.
    said '[.grant.plugin, [.replies[].answer]]' '["FP",["no","no","ok"]]' "$(spec $ALICE any '{"runtime": "1ms", "period": "10ms", "priority": 5}')"
}

# bats test_tags=machine
@test "edf above rm: of a random walk exactly that is granted which both tests allow, with the exact nearest" {
    edf_rm_fp
    told=$(as $ALICE "$RTF_SOURCE/test/fixtures/shared-cpu" "$SPECS/$ALICE" 1 300)
    echo "# 300 specs: $told" >&3
    [[ $told =~ 'granted '[1-9][0-9]+', EDF '[1-9][0-9]+', RM '[1-9][0-9]+', for RM '[1-9][0-9]+ ]]
}
