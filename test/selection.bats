# Which plugin gets a spec, the keys that each plugin needs, and the nearest runtime of a refusal.
load helper
load many

DAVE=20020
ONLINE=$(</sys/devices/system/cpu/online)

# open_to_all [RULE...]: writes rules that open all of the plugins' capacity to all users, and then these rules.
open_to_all() {
    configure_rules "$ALICE - max_utilization 1000" "$BOB - max_utilization 1000" "$CAROL - max_utilization 1000" "$DAVE - max_utilization 1000" "$@"
}

# replies VERDICT: each asked plugin with its answer, in this order.
replies() { jq -r '[.replies[] | "\(.plugin):\(.answer)"] | join(" ")' <<<"$1"; }

# ---- which plugin gets a spec ----

# bats test_tags=turn:0
@test "a plugin that is requested is the only one asked" {
    open_to_all
    broker_start
    json='"runtime": "1ms", "period": "10ms", "priority": 5'
    for plugin in EDF FP RR; do
        answer=$(spec $ALICE cam$plugin "{$json, \"plugin\": \"$plugin\"}")
        [ "$(field .grant.plugin "$answer")" = $plugin ]
        [ "$(replies "$answer")" = "$plugin:ok" ]
    done
    # If the named plugin refuses a spec, the spec is refused, although another plugin would accept it.
    answer=$(spec $ALICE cam '{"priority": 5, "plugin": "EDF"}')
    said '[.result, .refusal.by, .refusal.retry, .grant]' '["SCHEDULE_FAIL","EDF","never",null]' "$answer"
    [ "$(replies "$answer")" = "EDF:no" ]
}

# bats test_tags=turn:1
@test "a requested plugin that is not configured is named, and no plugin is asked" {
    open_to_all
    broker_start
    for plugin in RM edf EDF2; do
        answer=$(spec $ALICE cam "{\"runtime\": \"1ms\", \"period\": \"10ms\", \"plugin\": \"$plugin\"}")
        said '[.result, .refusal.retry, .replies, .grant]' '["SCHEDULE_FAIL","never",[],null]' "$answer"
        [[ $(field .reason "$answer") == "plugins.conf has no plugin \"$plugin\" for cpu; it has "* ]]
    done
}

# bats test_tags=turn:2
@test "the first that says ok gets it, in the order of the file" {
    open_to_all
    configure_plugins 'TWO fp 30-39 all' 'ONE fp 20-29 all'
    broker_start
    answer=$(spec $ALICE cam '{"priority": 25}')
    [ "$(replies "$answer")" = "TWO:ok" ]
    broker_stop TERM
    configure_plugins 'ONE fp 20-29 all' 'TWO fp 30-39 all'
    broker_start
    answer=$(spec $ALICE new '{"priority": 25}')
    [ "$(replies "$answer")" = "ONE:ok" ]
}

# bats test_tags=turn:0
@test "a spec that the first plugin has no room for goes to the next" {
    open_to_all
    configure_plugins 'A rm 31-40 0' 'B rm 21-30 1' 'FP fp 1-9 all'
    broker_start
    json='{"runtime": "7ms", "period": "10ms", "priority": 5}'
    [ "$(replies "$(spec $ALICE one "$json")")" = "A:ok" ]
    [ "$(replies "$(spec $ALICE two "$json")")" = "A:no B:ok" ]
    [ "$(replies "$(spec $ALICE three "$json")")" = "A:no B:no FP:ok" ]
    take_back $ALICE one three
    [ "$(replies "$(spec $ALICE four "$json")")" = "A:ok" ]
}

# bats test_tags=turn:1
@test "ok comes before partial, whatever the order of the file" {
    open_to_all
    configure_plugins 'RM rm 21-40 all' 'FP fp 11-20 all'
    broker_start
    answer=$(spec $ALICE both '{"period": "20ms", "priority": 15}')
    [ "$(replies "$answer")" = "RM:partial FP:ok" ]
    said '[.grant.plugin, .grant.policy, .grant.priority]' '["FP","fifo",15]' "$answer"
    answer=$(spec $ALICE period '{"period": "20ms"}')
    [ "$(replies "$answer")" = "RM:partial FP:no" ]
    said '[.grant.plugin, .grant.runtime, .grant.utilization]' '["RM",null,0]' "$answer"
    answer=$(spec $ALICE all '{"runtime": "1ms", "period": "20ms", "priority": 15}')
    [ "$(replies "$answer")" = "RM:ok" ]
}

# bats test_tags=turn:2
@test "of several partial answers the first one counts" {
    open_to_all
    configure_plugins 'A rm 31-40 0' 'B rm 21-30 1'
    broker_start
    answer=$(spec $ALICE cam '{"period": "20ms"}')
    [ "$(replies "$answer")" = "A:partial B:partial" ]
    [ "$(field .grant.plugin "$answer")" = A ]
    [ "$(field '.replies | all(.reason != null)' "$answer")" = true ]
}

# bats test_tags=turn:0
@test "when none will, each one's reason is told" {
    open_to_all
    configure_plugins 'RM rm 21-40 all' 'FP fp 11-20 all' 'RR rr 1-10 all'
    broker_start
    answer=$(spec $ALICE cam '{"runtime": "1ms"}')
    said '[.result, .grant, .refusal.nearest]' '["SCHEDULE_FAIL",null,null]' "$answer"
    said '[.replies[] | [.plugin, .answer, .reason]]' \
        '[["RM","no","needs a period"],["FP","no","needs a priority"],["RR","no","needs a priority"]]' "$answer"
    [ "$(field .refusal.retry "$answer")" = never ]
    [[ $(field .reason "$answer") == RM*period* ]]
}

# bats test_tags=turn:1
@test "a plugin that the rules close to a user is not asked for the user's specs" {
    configure_rules "$ALICE FP max_utilization 10" "$BOB - max_utilization 10"
    broker_start
    json='{"runtime": "1ms", "period": "10ms", "priority": 15}'
    [ "$(replies "$(spec $ALICE cam "$json")")" = "FP:ok" ]
    [ "$(replies "$(spec $BOB cam "$json")")" = "EDF:ok" ]
    answer=$(spec $ALICE cam2 '{"runtime": "1ms", "period": "10ms"}')
    [ "$(replies "$answer")" = "FP:no" ]
    [ "$(field .grant "$answer")" = null ]
}

# ---- Table 6: which parameters each plugin needs ----

# expected PLUGIN T Q QD D P: prints the expected "RESULT ANSWER GRANT" for a spec that has the keys whose flag is 1.
expected() {
    local plugin=$1 t=$2 q=$3 qd=$4 d=$5 p=$6 answer=no accepted=null utilization=0 policy=fifo priority=null window=0
    if ((qd && !q)); then
        echo 'BAD_SPEC null null'
        return
    fi
    case $plugin in
    EDF) ((t && q)) && answer=ok policy=deadline ;;
    RM) ((t)) && answer=partial && ((q)) && answer=ok ;;
    FP) ((p)) && answer=ok priority=15 ;;
    RR) ((p)) && answer=ok priority=5 policy=rr ;;
    esac
    if [ $answer = no ]; then
        echo 'SCHEDULE_FAIL no null'
        return
    fi
    ((t || d)) && window=20000
    ((q)) && accepted=1000
    [ $plugin = EDF ] && ((qd)) && accepted=2000
    ((q && window)) && utilization=$((accepted * 50000))
    [ $plugin = RM ] && priority='"rm"'
    echo "OK $answer $plugin $policy $priority $( ((q)) && echo 1000 || echo null) $( ((qd)) && echo 2000 || echo null) $accepted" \
        "$( ((t)) && echo 20000 || echo null) $( ((t || d)) && echo 20000 || echo null) $utilization"
}

# table_6 PLUGIN: all 32 combinations of period T, runtime Q, desired runtime Qd, deadline D and priority P.
table_6() {
    local plugin=$1 n name json t q qd d p
    local -a specs=() names=()
    : >"$WORK/expected"
    for ((n = 0; n < 32; n++)); do
        ((t = n >> 4 & 1, q = n >> 3 & 1, qd = n >> 2 & 1, d = n >> 1 & 1, p = n & 1)) || true
        name=t${t}q${q}w${qd}d${d}p$p
        json="{\"plugin\": \"$plugin\""
        ((t)) && json+=', "period": "20ms"'
        ((q)) && json+=', "runtime": "1ms"'
        ((qd)) && json+=', "desired_runtime": "2ms"'
        ((d)) && json+=', "deadline": "20ms"'
        ((p)) && json+=', "priority": '$([ "$plugin" = RR ] && echo 5 || echo 15)
        names+=("$name")
        specs+=("$name" "$json}")
        echo "$name $(expected "$plugin" $t $q $qd $d $p)" >>"$WORK/expected"
    done
    put_all $ALICE "${specs[@]}"
    verdicts $ALICE "${names[@]}" | jq -r '[.result, .replies[0].answer // "null"] + (.grant | if . == null then ["null"] else
        [.plugin, .policy, (.priority | if . != null and . > 20 then "\"rm\"" else . end), .runtime, .desired_runtime, .accepted_runtime,
         .period, .deadline, .utilization] end) | map(. // "null" | tostring) | join(" ")' >"$WORK/found"
    printf '%s\n' "${names[@]}" | paste -d' ' - "$WORK/found" >"$WORK/answers"
    diff "$WORK/expected" "$WORK/answers"
}

# bats test_tags=turn:2
@test "edf needs runtime and period; desired runtime and deadline are optional" {
    open_to_all
    broker_start
    table_6 EDF
}

# bats test_tags=turn:0
@test "rm needs a period, answers partial without a runtime; a deadline is optional" {
    open_to_all
    configure_plugins 'RM rm 21-40 all'
    broker_start
    table_6 RM
}

# bats test_tags=turn:1
@test "fp needs a priority and nothing else" {
    open_to_all
    broker_start
    table_6 FP
}

# bats test_tags=turn:2
@test "rr needs a priority and nothing else" {
    open_to_all
    broker_start
    table_6 RR
}

# bats test_tags=turn:0
@test "a plugin that lacks a parameter names it" {
    open_to_all
    configure_plugins 'EDF edf - all' 'FP fp 11-20 all' 'RR rr 1-10 all'
    broker_start
    while read -r plugin reason json; do
        answer=$(spec $ALICE cam "{\"plugin\": \"$plugin\"${json:+, $json}}")
        said '[.result, .refusal.by, .refusal.retry, .refusal.nearest]' "[\"SCHEDULE_FAIL\",\"$plugin\",\"never\",null]" "$answer"
        [ "$(field '.replies[0].reason' "$answer")" = "needs a $reason" ]
    done <<'CASES'
EDF period
EDF period "runtime": "1ms"
EDF period "runtime": "1ms", "deadline": "10ms"
EDF runtime "period": "10ms"
EDF runtime "period": "10ms", "deadline": "5ms", "priority": 5
FP priority "runtime": "1ms", "period": "10ms", "deadline": "5ms"
RR priority "runtime": "1ms", "period": "10ms"
CASES
}

# ---- limits of the policies ----

# bats test_tags=turn:1
@test "edf refuses a spec that the kernel would refuse, and names the allowed values" {
    open_to_all
    broker_start
    least=$(</proc/sys/kernel/sched_deadline_period_min_us) most=$(</proc/sys/kernel/sched_deadline_period_max_us)
    for period in $((least - 1)) $((most + 1)); do
        answer=$(spec $ALICE cam "{\"runtime\": 10, \"period\": $period, \"plugin\": \"EDF\"}")
        [ "$(field .result "$answer")" = SCHEDULE_FAIL ]
        [ "$(field '.replies[0].reason' "$answer")" = "the period is ${period}us, the kernel allows ${least}us to ${most}us" ]
    done
    for period in $least $most; do
        [ "$(field .result "$(spec $ALICE cam "{\"runtime\": 10, \"period\": $period}")")" = OK ]
    done
    answer=$(spec $ALICE small '{"runtime": 1, "period": 1000, "plugin": "EDF"}')
    said '[.result, .grant]' '["SCHEDULE_FAIL",null]' "$answer"
    [[ $(field '.replies[0].reason' "$answer") == *"least is 2us" ]]
    [ "$(field .result "$(spec $ALICE small '{"runtime": 2, "period": 1000}')")" = OK ]
    sleeper $ALICE
    [ "$(field .thread.state "$(attach $ALICE small "$SLEEPER")")" = attached ]
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 2/1000/1000 cpus=$ONLINE reset=1" ]
}

# bats test_tags=turn:2
@test "rm with admission=rta tests a deadline below the period, and refuses specs that it cannot test" {
    open_to_all
    configure_plugins 'RM rm 21-40 0 admission=rta'
    broker_start
    answer=$(spec $ALICE cam '{"runtime": "4ms", "period": "20ms", "deadline": "10ms"}')
    [ "$(replies "$answer")" = "RM:ok" ]
    said '[.grant.deadline, .grant.utilization]' '[10000,200000000]' "$answer"
    answer=$(spec $ALICE other '{"runtime": "7ms", "period": "20ms", "deadline": "10ms"}')
    said '[.grant, .refusal.nearest, .refusal.retry]' '[null,6000,"when-freed"]' "$answer"
    answer=$(spec $ALICE none '{"period": "20ms"}')
    [ "$(replies "$answer")" = "RM:no" ]
    said '[.grant, .refusal.retry]' '[null,"never"]' "$answer"
}

# bats test_tags=turn:0
@test "rm answers partial for a deadline below the period, and goes on serving" {
    open_to_all
    configure_plugins 'RM rm 21-40 0'
    broker_start
    # Two of 0.3 by their periods: the test passes. By their deadlines they would be 1.5 CPUs.
    json='{"runtime": "6ms", "period": "20ms", "deadline": "8ms"}'
    for name in one two; do
        answer=$(spec $ALICE $name "$json")
        [ "$(replies "$answer")" = "RM:partial" ]
        said '[.result, .grant.plugin, .grant.deadline]' '["OK","RM",8000]' "$answer"
    done
    [ "$(jq -s '[.[] | select(.decision == "killed")] | length' "$EVENTS")" = 0 ]
}

# bats test_tags=turn:1
@test "fp and rr test nothing: whatever runtimes are declared, they grant, and go on serving" {
    open_to_all
    configure_plugins 'FP fp 11-20 0' 'RR rr 1-10 0'
    broker_start
    for plugin in FP RR; do
        for name in one two three; do
            answer=$(spec $ALICE $plugin$name "{\"runtime\": \"9ms\", \"period\": \"10ms\", \"priority\": 5, \"plugin\": \"$plugin\"}")
            echo "$answer"
            [ "$(replies "$answer")" = "$plugin:ok" ]
            said '[.result, .grant.accepted_runtime, .grant.utilization]' '["OK",9000,900000000]' "$answer"
        done
    done
    [ "$(jq -s '[.[] | select(.decision == "killed")] | length' "$EVENTS")" = 0 ]
}

# ---- the nearest runtime ----

# Tests of the nearest runtime for each admission test: test/unit/nearest.c.

# nearest_is_exact UID TEMPLATE TOO_MUCH: TEMPLATE has %d in the place of the runtime, and TOO_MUCH is a runtime
# that is refused. If the verdict names a nearest runtime, this runtime is granted, and 1 us more is refused and
# names the same nearest runtime. If the verdict names none, no runtime is granted. `told` and `untold` count the
# two cases.
nearest_is_exact() {
    local uid=$1 template=$2 too_much=$3 answer nearest name
    shift 3
    # shellcheck disable=SC2059 # the test itself writes the template
    answer=$(spec "$uid" ask "$(printf "$template" "$too_much")")
    if [ "$(field .result "$answer")" = OK ]; then
        take_back "$uid" ask
        return
    fi
    nearest=$(field .refusal.nearest "$answer")
    if [ "$nearest" = null ]; then
        untold=$((untold + 1))
        answer=$(spec "$uid" ask "$(printf "$template" 2)")
        said .grant null "$answer"
        return
    fi
    told=$((told + 1))
    [ "$nearest" -lt "$too_much" ]
    answer=$(spec "$uid" ask "$(printf "$template" $((nearest + 1)))")
    said '[.grant, .refusal.nearest]' "[null,$nearest]" "$answer"
    name=took$told
    answer=$(spec "$uid" $name "$(printf "$template" "$nearest")")
    said '[.result, .grant.accepted_runtime]' "[\"OK\",$nearest]" "$answer"
    [ $((RANDOM % 3)) = 0 ] || take_back "$uid" $name
}

between() { echo $(($1 + (RANDOM * 32768 + RANDOM) % ($2 - $1 + 1))); }

# random_times: sets `period`, `deadline` and `window` at random. `deadline` is text for a template: ", " and the deadline, or empty.
random_times() {
    period=$(between 1000 100000)
    window=$period
    deadline=
    if [ "${with_deadlines:-}" = yes ] && [ $((RANDOM % 2)) = 0 ]; then
        window=$(between $((period / 2)) "$period")
        deadline=", \"deadline\": $window"
    fi
}

# fill UID COUNT PERMILLE: writes COUNT specs of random sizes up to PERMILLE of a CPU. The first two are taken back if they are granted.
fill() {
    local uid=$1 count=$2 most=$3 n
    local -a specs=()
    for ((n = 0; n < count; n++)); do
        random_times
        specs+=("f$n" "{\"runtime\": $((window * $(between 30 "$most") / 1000)), \"period\": $period$deadline}")
    done
    put_all "$uid" "${specs[@]}"
    verdicts "$uid" $(seq -f 'f%g' 0 $((count - 1))) >/dev/null
    take_back "$uid" f0 f1
}

# at_random_fills SEED ROUNDS COUNT PERMILLE UID...: fills the CPUs at random, and then checks the nearest runtimes for each user in turn.
at_random_fills() {
    local seed=$1 rounds=$2 count=$3 most=$4 round uid
    shift 4
    RANDOM=$seed
    told=0 untold=0
    fill $DAVE "$count" "$most"
    for ((round = 0; round < rounds; round++)); do
        for uid; do
            random_times
            nearest_is_exact "$uid" "{\"runtime\": %d, \"period\": $period$deadline}" "$window"
        done
    done
    echo "seed $seed: $told told, $untold with nothing left"
}

# bats test_tags=turn:2
@test "nearest is exact for edf, global, with and without deadlines" {
    open_to_all
    broker_start
    with_deadlines=yes
    at_random_fills 1 8 $((8 * $(nproc))) 300 $ALICE
    [ $told -ge 3 ]
}

# bats test_tags=turn:0
@test "nearest is exact when an access rule is the ceiling" {
    configure_rules "$DAVE - max_utilization 10" "$ALICE - max_utilization 10" "$ALICE - max_runtime 4321us" \
        "$BOB - max_utilization 0.345678901" "$CAROL - max_user_utilization 0.5" "$CAROL - max_runtime 7ms"
    broker_start
    with_deadlines=yes
    at_random_fills 6 5 $((3 * $(nproc))) 300 $ALICE $BOB $CAROL
    [ $told -ge 6 ]
}

# bats test_tags=turn:1
@test "nearest is exact when each of several plugins has another ceiling" {
    configure_plugins 'LL rm 41-50 0 admission=liu-layland' 'HYP rm 31-40 1 admission=hyperbolic' 'FP fp 11-20 all'
    configure_rules "$DAVE - max_utilization 10" "$ALICE LL max_utilization 0.3" "$ALICE HYP max_utilization 1" "$ALICE HYP max_runtime 5ms" \
        "$BOB LL max_utilization 1" "$BOB LL max_runtime 9ms" "$BOB HYP max_utilization 0.2"
    broker_start
    at_random_fills 7 5 6 200 $ALICE $BOB
    [ $told -ge 5 ]
}

# bats test_tags=turn:2
@test "nearest is exact for a change, which does not count against itself" {
    open_to_all
    configure_plugins 'RM rm 21-40 0-1'
    broker_start
    RANDOM=8
    fill $DAVE 10 250
    spec $ALICE cam '{"runtime": 500, "period": 10000}' >/dev/null
    answer=$(spec $ALICE cam '{"runtime": 10000, "period": 10000}')
    said '[.request, .result, .grant.runtime]' '["change","SCHEDULE_FAIL",500]' "$answer"
    nearest=$(field .refusal.nearest "$answer")
    [ "$nearest" -ge 500 ]
    answer=$(spec $ALICE cam "{\"runtime\": $((nearest + 1)), \"period\": 10000}")
    said '[.result, .refusal.nearest, .grant.runtime]' "[\"SCHEDULE_FAIL\",$nearest,500]" "$answer"
    answer=$(spec $ALICE cam "{\"runtime\": $nearest, \"period\": 10000}")
    said '[.result, .grant.runtime]' "[\"OK\",$nearest]" "$answer"
}

# bats test_tags=turn:0
@test "nearest is absent where no runtime is the cause, and retry tells what could help" {
    configure_rules "$ALICE - max_utilization 10" "$ALICE - min_period 5ms" "$BOB - max_utilization 0.1" "$CAROL - max_utilization 10"
    broker_start
    answer=$(spec $ALICE cam '{"runtime": "1ms", "period": "4ms"}')
    said '[.result, .refusal.by, .refusal.nearest, .refusal.retry]' '["ACL_FAIL","access",null,"never"]' "$answer"
    # The spec asks for more than a rule ever gives, and for more than the rule has left now.
    answer=$(spec $BOB cam '{"runtime": "2ms", "period": "10ms"}')
    said '[.result, .refusal.asked, .refusal.available, .refusal.nearest, .refusal.retry]' '["ACL_FAIL","0.2","0.1",1000,"never"]' "$answer"
    spec $BOB some '{"runtime": "500us", "period": "10ms"}' >/dev/null
    answer=$(spec $BOB cam '{"runtime": "1ms", "period": "10ms"}')
    said '[.result, .refusal.asked, .refusal.available, .refusal.nearest, .refusal.retry]' '["ACL_FAIL","0.1","0.05",500,"when-freed"]' "$answer"
    specs=()
    for ((n = 0; n < $(nproc); n++)); do
        specs+=("f$n" '{"runtime": "88ms", "period": "100ms"}')
    done
    put_all $CAROL "${specs[@]}"
    answer=$(spec $CAROL cam '{"runtime": "90ms", "period": "100ms"}')
    said '[.result, .refusal.by, .refusal.retry]' '["SCHEDULE_FAIL","EDF","when-freed"]' "$answer"
}

# ---- desired runtime ----

# bats test_tags=turn:1
@test "a desired runtime gets the most that fits, and never more than the rules allow" {
    configure_rules "$DAVE - max_utilization 100" "$ALICE - max_utilization 100" "$BOB - max_utilization 100" "$BOB - max_runtime 3ms" \
        "$CAROL - max_utilization 0.123456789"
    configure_plugins 'EDF edf - all partition=global threshold=0.9 desired=kept' 'FP fp 11-20 all' 'RR rr 1-10 all'
    broker_start
    # All CPUs except 0.35 CPUs are reserved: the sum may be 0.9 for each CPU.
    specs=(last '{"runtime": "55ms", "period": "100ms"}')
    for ((n = 1; n < $(nproc); n++)); do
        specs+=("f$n" '{"runtime": "90ms", "period": "100ms"}')
    done
    put_all $DAVE "${specs[@]}"
    verdicts $DAVE last >/dev/null
    while read -r uid accepted json; do
        answer=$(spec "$uid" cam "{$json}")
        said '[.result, .grant.accepted_runtime, .grant.utilization]' \
            "[\"OK\",$accepted,$(jq "(.accepted_runtime * 1000000000 / .period) | ceil" <<<"$(jq .grant <<<"$answer")")]" "$answer"
        take_back "$uid" cam
    done <<CASES
$ALICE 3500 "runtime": "2ms", "desired_runtime": "10ms", "period": "10ms"
$ALICE 3500 "runtime": 3500, "desired_runtime": 3501, "period": "10ms"
$ALICE 3499 "runtime": "2ms", "desired_runtime": 3499, "period": "10ms"
$ALICE 2721 "runtime": 100, "desired_runtime": 7777, "period": 7777
$ALICE 7000 "runtime": 100, "desired_runtime": 7777, "period": 20000, "deadline": 7777
$BOB 3000 "runtime": "2ms", "desired_runtime": "10ms", "period": "10ms"
$BOB 2450 "runtime": "2ms", "desired_runtime": "7ms", "period": "7ms"
$CAROL 1234 "runtime": "1ms", "desired_runtime": "10ms", "period": "10ms"
$CAROL 1234 "runtime": 1234, "desired_runtime": "10ms", "period": "10ms"
CASES
    # The kernel enforces the accepted runtime, and no capacity is left beside it.
    sleeper $ALICE
    spec $ALICE cam '{"runtime": "2ms", "desired_runtime": "10ms", "period": "10ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 3500/10000/10000 cpus=$ONLINE reset=1" ]
    said '[.grant, .refusal.nearest]' '[null,null]' "$(spec $BOB cam '{"runtime": 2, "period": "10ms"}')"
    # After the release, no charge is left.
    take_back $ALICE cam
    said .grant.accepted_runtime 1234 "$(spec $CAROL cam '{"runtime": 2, "desired_runtime": "10ms", "period": "10ms"}')"
}

# ---- ignore_admission ----

# bats test_tags=turn:2
@test "passing over the test needs a rule with true, and no rule with false" {
    configure_plugins 'RM rm 21-40 0' 'FP fp 11-20 0'
    configure_rules "$ALICE - max_utilization 10" "$BOB - max_utilization 10" "$BOB RM ignore_adm_test true" \
        "$CAROL - max_utilization 10" "$CAROL - ignore_adm_test true" "$CAROL RM ignore_adm_test false" \
        "$DAVE - max_utilization 10" "$DAVE FP ignore_adm_test true"
    broker_start
    json='{"runtime": "8ms", "period": "10ms", "plugin": "RM"}'
    over=${json/\}/, \"ignore_admission\": true\}}
    spec $ALICE first "$json" >/dev/null
    for uid in $ALICE $DAVE; do
        answer=$(spec $uid cam "$over")
        said '[.result, .refusal.by, .refusal.rule, .refusal.retry, .replies]' '["ACL_FAIL","access",null,"never",[]]' "$answer"
        [ "$(field .reason "$answer")" = "no rule in acl.conf allows ignore_adm_test for a user without account (uid $uid) on RM" ]
    done
    answer=$(spec $CAROL cam "$over")
    said '[.result, .refusal.rule]' "[\"ACL_FAIL\",\"acl.conf:6: $CAROL RM ignore_adm_test false\"]" "$answer"
    # A user with the permission, but without the key "ignore_admission", still has the test.
    said .result '"SCHEDULE_FAIL"' "$(spec $BOB cam "$json")"
    sleeper $BOB
    answer=$(spec $BOB cam "$over")
    said '[.result, .grant.plugin, .grant.accepted_runtime]' '["OK","RM",8000]' "$answer"
    attach $BOB cam "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" fifo
    # Root needs no rule. The admission test still holds for all others.
    said .result '"OK"' "$(spec 0 cam "$over")"
    said '[.result, .refusal.nearest]' '["SCHEDULE_FAIL",null]' "$(spec $ALICE cam '{"runtime": 1, "period": "10ms", "plugin": "RM"}')"
    [ "$(jq -s '[.[] | select(.decision == "killed")] | length' "$EVENTS")" = 0 ]
}

# bats test_tags=turn:0
@test "where the kernel makes the test, it cannot be passed over" {
    open_to_all '- - ignore_adm_test true'
    configure_plugins 'EDF edf - all partition=global threshold=0.1'
    broker_start
    answer=$(spec $ALICE cam '{"runtime": "9ms", "period": "10ms", "ignore_admission": true}')
    said '[.result, .grant]' '["SCHEDULE_FAIL",null]' "$answer"
    [[ $(field '.replies[0].reason' "$answer") == *"the kernel's own test cannot be ignored" ]]
}

# ---- which CPU a task gets ----

# bats test_tags=turn:1
@test "rm takes the CPU with the least utilisation" {
    open_to_all
    configure_plugins 'RM rm 21-40 0-1'
    broker_start
    found=
    n=0
    for runtime in 4000 3000 1000 1000 500 500; do # The sums on CPUs 0 and 1: 0.4|0  0.4|0.3  0.4|0.4 (both have the same number of tasks) 0.5|0.4 ...
        n=$((n + 1))
        found+=" $(field .grant.cpus "$(spec $ALICE "w$n" "{\"runtime\": $runtime, \"period\": 10000}")")"
    done
    # The plugin takes the CPU with the smaller sum, then the CPU with fewer tasks. The fourth task finds equal sums, and fewer tasks on CPU 0. The fifth
    # task finds the smaller sum on CPU 1. The sixth task finds equal sums, and does not find fewer tasks on CPU 0.
    [ "$found" = " 0 1 1 0 1 1" ]
    sleeper $ALICE
    attach $ALICE w2 "$SLEEPER" >/dev/null
    [ "$(kernel "$SLEEPER" | cut -d' ' -f1,5-)" = "fifo cpus=1 reset=1" ]
    take_back $ALICE w1
    [ "$(field .grant.cpus "$(spec $ALICE w7 '{"runtime": 100, "period": 10000}')")" = 0 ]
}

# bats test_tags=turn:2
@test "fp takes the CPU with the fewest tasks" {
    open_to_all
    configure_plugins 'FP fp 11-20 0-1'
    broker_start
    found=
    for n in 1 2 3 4 5; do
        found+=" $(field .grant.cpus "$(spec $ALICE "w$n" '{"priority": 15}')")"
    done
    [ "$found" = " 0 1 0 1 0" ]
    take_back $ALICE w2 w4
    found=
    for n in 6 7 8; do
        found+=" $(field .grant.cpus "$(spec $ALICE "w$n" '{"priority": 12}')")"
    done
    [ "$found" = " 1 1 1" ]
    sleeper $ALICE
    attach $ALICE w8 "$SLEEPER" >/dev/null
    [ "$(kernel "$SLEEPER")" = "fifo 12 nice=0 0/0/0 cpus=1 reset=1" ]
}

# ---- changes ----

# bats test_tags=turn:0
@test "a change that fits nowhere keeps the old grant, in the kernel, too" {
    open_to_all
    configure_plugins 'RM rm 21-40 0-1'
    broker_start
    spec $BOB one '{"runtime": "6ms", "period": "10ms"}' >/dev/null
    spec $BOB two '{"runtime": "6ms", "period": "10ms"}' >/dev/null
    sleeper $ALICE
    spec $ALICE cam '{"runtime": "2ms", "period": "10ms"}' >/dev/null
    before=$(attach $ALICE cam "$SLEEPER")
    thread=$(kernel "$SLEEPER")
    answer=$(spec $ALICE cam '{"runtime": "4ms", "period": "10ms"}')
    said '[.request, .result, .refusal.nearest]' '["change","SCHEDULE_FAIL",2500]' "$answer"
    said '[.grant, .thread]' "$(jq -c '[.grant, .thread]' <<<"$before")" "$answer"
    [ "$(kernel "$SLEEPER")" = "$thread" ]
    answer=$(spec $ALICE cam '{"runtime": 2500, "period": "10ms"}')
    said '[.request, .result, .grant.runtime, .thread.tid]' "[\"change\",\"OK\",2500,$SLEEPER]" "$answer"
}

# bats test_tags=turn:1
@test "a change that fits on another CPU only moves the thread there" {
    open_to_all
    configure_plugins 'RM rm 21-40 0-1'
    broker_start
    spec $BOB one '{"runtime": "5ms", "period": "10ms"}' >/dev/null
    sleeper $ALICE
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    spec $BOB two '{"runtime": "3ms", "period": "10ms"}' >/dev/null
    take_back $BOB one
    [[ $(kernel "$SLEEPER") == *cpus=1* ]]
    answer=$(spec $ALICE cam '{"runtime": "16ms", "period": "20ms"}')
    said '[.result, .grant.cpus, .thread.tid]' "[\"OK\",\"0\",$SLEEPER]" "$answer"
    [[ $(kernel "$SLEEPER") == *cpus=0* ]]
}

# bats test_tags=turn:2
@test "a change to another plugin takes the thread along, and back" {
    open_to_all
    broker_start
    sleeper $ALICE
    renice -n 3 -p "$SLEEPER" >/dev/null
    taskset -pc 1 "$SLEEPER" >/dev/null
    former=$(kernel "$SLEEPER")
    spec $ALICE cam '{"runtime": "2ms", "period": "10ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 2000/10000/10000 cpus=$ONLINE reset=1" ]
    answer=$(spec $ALICE cam '{"priority": 15, "plugin": "FP"}')
    said '[.request, .result, .grant.plugin, .thread.tid]' "[\"change\",\"OK\",\"FP\",$SLEEPER]" "$answer"
    [[ $(kernel "$SLEEPER") == "fifo 15 nice="*" 0/0/0 cpus=$(field .grant.cpus "$answer") reset=1" ]]
    # EDF's capacity is free again.
    specs=()
    for ((n = 0; n < $(nproc); n++)); do
        specs+=("f$n" '{"runtime": "90ms", "period": "100ms"}')
    done
    put_all $BOB "${specs[@]}"
    [ "$(verdicts $BOB $(seq -f 'f%g' 0 $(($(nproc) - 1))) | jq -s 'all(.result == "OK")')" = true ]
    answer=$(spec $ALICE cam '{"runtime": "3ms", "period": "10ms", "plugin": "EDF"}')
    said '[.request, .result, .grant.plugin]' '["change","SCHEDULE_FAIL","FP"]' "$answer"
    is_policy "$SLEEPER" fifo
    take_back $BOB f0
    answer=$(spec $ALICE cam '{"runtime": "3ms", "period": "10ms", "plugin": "EDF"}')
    said '[.request, .result, .grant.plugin, .thread.tid]' "[\"change\",\"OK\",\"EDF\",$SLEEPER]" "$answer"
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 3000/10000/10000 cpus=$ONLINE reset=1" ]
    rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ "$(kernel "$SLEEPER")" = "$former" ]
}

# bats test_tags=turn:0
@test "a change to another plugin on the same CPU does not count against itself" {
    open_to_all
    configure_plugins 'RM rm 21-40 0' 'FP fp 11-20 0'
    broker_start
    answer=$(spec $ALICE cam '{"runtime": "6ms", "period": "10ms", "priority": 15, "plugin": "FP"}')
    said .grant.plugin '"FP"' "$answer"
    answer=$(spec $ALICE cam '{"runtime": "6ms", "period": "10ms", "priority": 15, "plugin": "RM"}')
    said '[.request, .result, .grant.plugin]' '["change","OK","RM"]' "$answer"
    # The former reservation left no charge behind: 0.6 and 0.25 fill the bound exactly.
    said .result '"OK"' "$(spec $BOB cam '{"runtime": "2500us", "period": "10ms", "plugin": "RM"}')"
}

# bats test_tags=turn:1
@test "a spec without runtime that states one later is tested then" {
    open_to_all
    configure_plugins 'RM rm 21-40 0'
    broker_start
    spec $BOB most '{"runtime": "9ms", "period": "10ms"}' >/dev/null
    said '[.grant.plugin, .replies[0].answer]' '["RM","partial"]' "$(spec $ALICE cam '{"period": "20ms"}')"
    said '[.result, .grant.runtime]' '["SCHEDULE_FAIL",null]' "$(spec $ALICE cam '{"runtime": "2ms", "period": "20ms"}')"
    said '[.result, .grant.runtime]' '["OK",1000]' "$(spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}')"
}

# ---- partition=unthrottled, for a short time: the broker then sets sched_rt_runtime_us, a setting of the whole machine ----

# bats test_tags=machine
@test "edf on single CPUs: worst fit, exact nearest, pinned, and passing over the test" {
    open_to_all '- - ignore_adm_test true'
    configure_plugins 'EDF edf - 0-1 partition=unthrottled threshold=0.95'
    broker_start
    found=
    for runtime in 4000 3000 2000; do
        found+=" $(field .grant.cpus "$(spec $DAVE "w$runtime" "{\"runtime\": $runtime, \"period\": 10000}")")"
    done
    [ "$found" = " 0 1 1" ]
    RANDOM=9 told=0 untold=0 with_deadlines=yes
    for _ in 1 2 3; do
        random_times
        nearest_is_exact $ALICE "{\"runtime\": %d, \"period\": $period$deadline}" "$window"
    done
    [ $told -ge 2 ]
    sleeper $BOB
    answer=$(spec $BOB cam '{"runtime": "9ms", "desired_runtime": "10ms", "period": "10ms", "ignore_admission": true}')
    said '[.result, .grant.accepted_runtime]' '["OK",9000]' "$answer"
    attach $BOB cam "$SLEEPER"
    kernel "$SLEEPER"
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 9000/10000/10000 cpus=$(field .grant.cpus "$answer") reset=1" ]
}

@test "a refusal of an unknown plugin names the known ones, and the likely one" {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all' 'CAMERA ./units - - resource=units capacity=1'
    sed -i "s,\\./units,$RTF_SOURCE/contrib/plugins/units," "$CONFIG/plugins.conf"
    broker_start
    [ "$(field .reason "$(spec $ALICE cam '{"plugin": "edf", "runtime": "1ms", "period": "20ms"}')")" = 'plugins.conf has no plugin "edf" for cpu; it has EDF, FP; did you mean EDF?' ]
    [ "$(field .reason "$(spec $ALICE cam '{"plugin": "DLINE"}')")" = 'plugins.conf has no plugin "DLINE" for cpu; it has EDF, FP' ]
}

@test "a spec states how long it is blocked: the verdict says so, and it counts after a restart of plugin and broker, until a change" {
    open_to_all
    configure_plugins 'RM rm 21-40 0 admission=rta fair_server=0us' 'SUM rm 11-20 1'
    broker_start
    answer=$(spec $ALICE cam '{"runtime": "1ms", "period": "10ms", "deadline": "8ms", "blocking": "3ms", "plugin": "RM"}')
    said '[.result, .grant.blocking]' '["OK",3000]' "$answer"
    # 3 + 1 ms of the spec above, and twice 2 ms: the deadline leaves no more to the thread of the shorter period
    said '[.result, .refusal.nearest]' '["SCHEDULE_FAIL",2000]' "$(spec $BOB more '{"runtime": 2001, "period": "6ms", "plugin": "RM"}')"
    plugin=$(helpers 'plugins/rm .*name=RM')
    kill -KILL "$plugin"
    is_another() { local now; now=$(helpers 'plugins/rm .*name=RM') && [ "$now" != "$plugin" ]; }
    eventually is_another
    refuses() { said '[.result, .refusal.nearest]' '["SCHEDULE_FAIL",2000]' "$(spec $BOB "$1" '{"runtime": 2001, "period": "6ms", "plugin": "RM"}')"; }
    eventually refuses again
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    broker_start
    refuses after
    said '.grant.blocking' 3000 "$(command cat "$SPECS/$ALICE/cam.verdict")"
    said '[.result, .refusal.by, .refusal.retry]' '["SCHEDULE_FAIL","SUM","never"]' "$(spec $BOB sum '{"runtime": "1ms", "period": "10ms", "blocking": "3ms", "plugin": "SUM"}')"
    said '[.result, .grant.blocking]' '["OK",null]' "$(spec $ALICE cam '{"runtime": "1ms", "period": "10ms", "deadline": "8ms", "plugin": "RM"}')"
    said '.result' '"OK"' "$(spec $BOB more '{"runtime": 2001, "period": "6ms", "plugin": "RM"}')"
}
