# acl.conf(5): how much a user may reserve. Specs of real uids, with and without accounts. test/unit/acl.c has each property for each domain, and each
# wrong line.
#
# Only the broker sees another account database: copies of /etc/passwd and /etc/group with these users, mounted over the files in a mount namespace of
# its own. Users act by number.
load helper

ANN=20021 # rtfann: rtf and, as a supplementary group, rtfteam
BEN=20022 # rtfben: rtf and, as the primary group, rtfteam
CAT=20023 # rtfcat: rtf
DAN=20024 # rtfdan: not in rtf
TEAM=20050

prepare() {
    declare -gA HOMES=([0]=root [$ANN]=rtfann [$BEN]=rtfben [$CAT]=rtfcat [$DAN]=rtfdan)
    ACCOUNTS=$WORK/accounts
    mkdir "$ACCOUNTS"
    cp /etc/passwd /etc/group "$ACCOUNTS"
    printf '%s::/:/bin/sh\n' rtfann:x:$ANN:$ANN rtfben:x:$BEN:$TEAM rtfcat:x:$CAT:$CAT rtfdan:x:$DAN:$DAN >>"$ACCOUNTS/passwd"
    groups_are rtfann,rtfben,rtfcat rtfann
    # No test in this file is about a plugin that answers late, so the plugins have 10 s to answer.
    configure_plugins 'EDF edf - all partition=global threshold=0.9 timeout=10s desired=kept' 'FP fp 1-60 all timeout=10s'
}

# groups_are MEMBERS MEMBERS: sets the members of rtf and rtfteam. The function writes into the existing file, because that file is mounted over /etc/group.
groups_are() {
    { sed "/^rtf:/d; /^rtfteam:/d" /etc/group && printf '%s\n' "rtf:x:$GROUP:$1" "rtfteam:x:$TEAM:$2"; } >"$ACCOUNTS/group"
}

# broker: helper.bash's broker_start, in the namespace with these accounts. exec keeps the pid of the broker.
broker() {
    # shellcheck disable=SC2016
    unshare --mount --propagation private sh -c '
        mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/group" /etc/group && shift && exec "$@"' sh "$ACCOUNTS" \
        "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves || { cat "$WORK/broker.out" >&2; return 1; }
}

# broker_with RULE...
broker_with() {
    configure_rules "$@"
    broker
}

# reload [RULE...]: sends SIGHUP, and returns when the rules are in force.
reload() {
    [ $# -eq 0 ] || configure_rules "$@"
    RELOADS=$(grep -c '"reloaded"' "$EVENTS" || true)
    kill -HUP "$BROKER"
    eventually reloaded
}

reloaded() { [ "$(grep -c '"reloaded"' "$EVENTS")" -gt "$RELOADS" ]; }

# events STAGE DECISION: prints the reasons of these events, one a line.
events() { jq -r --arg stage "$1" --arg decision "$2" 'select(.stage == $stage and .decision == $decision).reason' "$EVENTS"; }

says() { # STAGE DECISION REASON
    events "$1" "$2" | grep -qxF -- "$3"
}

home_of() { HOME_OF=$SPECS/${HOMES[$1]:-$1}; } # UID: the user's directory, with the name of the user's account if there is one; in $HOME_OF

# given_directory UID: root makes the user's directory. Only root can if the user is not in the group.
given_directory() {
    home_of "$1"
    mkdir -p "$HOME_OF"
    chown "$1" "$HOME_OF"
}

# drop UID: writes the specs of standard input, a line "NAME JSON" each, one after another in the order of their names.
drop() {
    home_of "$1"
    # shellcheck disable=SC2016
    as "$1" sh -ec '
        [ -d "$1/.new" ] || mkdir -p "$1/.new"
        cd "$1"
        while read -r name json; do printf "%s\n" "$json" >".new/$name.json"; done
        mv .new/*.json .' sh "$HOME_OF"
}

# gone UID NAME: removes the spec, and returns when it is released.
gone() {
    home_of "$1"
    rm "$HOME_OF/$2.json"
    eventually test ! -e "$HOME_OF/$2.verdict"
}

all_gone() { # UID
    home_of "$1"
    rm -f "$HOME_OF"/*.json
    eventually no_verdict
}

no_verdict() { [ -z "$(compgen -G "$HOME_OF/*.verdict")" ]; }

# share MILLIONTHS [PLUGIN]: prints a spec for this share of a CPU.
share() { printf '{"plugin": "%s", "runtime": %s, "period": 1000000, "priority": 20}' "${2:-FP}" "$1"; }

# ask UID NAME JSON: puts the spec in place, and waits for the verdict, $VERDICT.
ask() {
    home_of "$1"
    if [ -e "$HOME_OF/$2.verdict" ]; then
        drop "$1" <<<"$2 $3"
        VERDICT=$(as "$1" env USER="${HOMES[$1]:-$1}" "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 10s "$2") || true
    else
        drop "$1" <<<"$2 $3"
        eventually test -e "$HOME_OF/$2.verdict"
        VERDICT=$(cat "$HOME_OF/$2.verdict")
    fi
}

# is EXPRESSION VALUE: the expression has this value in $VERDICT. Prints another value.
is() {
    local got
    got=$(field "$1" "$VERDICT")
    [ "$got" = "$2" ] || { echo "$1 is $got, not $2: $VERDICT" >&2; return 1; }
}

# granted UID NAME JSON
granted() {
    ask "$@"
    is .result OK
}

# denied UID NAME JSON REASON
denied() {
    ask "$1" "$2" "$3"
    is '"\(.result) \(.reason)"' "ACL_FAIL $4"
}

# refusal_is BY RULE ASKED AVAILABLE NEAREST RETRY: null is -
refusal_is() {
    is '.refusal | [.by, .rule, .asked, .available, .nearest, .retry] | map(. // "-") | join("|")' "$(IFS='|'; echo "$*")"
}

nothing_opens() { # UID PLUGIN
    echo "no rule in acl.conf opens anything (max_utilization or max_user_utilization) for $(who "$1") on $2"
}

who() { # prints the user as the sentences of refusals name the user
    echo "${HOMES[$1]:-a user without account} (uid $1)"
}

# ---- how rules work together ----

# bats test_tags=turn:0
@test "an empty file refuses everybody but root, on every plugin" {
    : >"$CONFIG/acl.conf"
    broker
    denied $ANN a "$(share 1)" "$(nothing_opens $ANN FP)"
    refusal_is access - - - - never
    denied $BEN a "$(share 2 EDF)" "$(nothing_opens $BEN EDF)"
    denied $CAT a '{"runtime": 10, "period": 10000, "priority": 1}' "$(nothing_opens $CAT FP)"
    is '.grant, .thread' $'null\nnull'
    is '.replies | length' 0
    granted 0 a "$(share 300000)"
    granted 0 b "$(share 300000 EDF)"
    reload '# nothing but words' ''
    denied $ANN b "$(share 1)" "$(nothing_opens $ANN FP)"
}

# bats test_tags=turn:1
@test "a bound alone does not open a plugin, and a rule that opens another plugin does not either" {
    broker_with '- - max_runtime 10ms' 'rtfann - min_period 1ms' '@rtf FP max_priority 50' '- - ignore_adm_test true' \
        'rtfann EDF max_utilization 0.5'
    denied $ANN a "$(share 1)" "$(nothing_opens $ANN FP)"
    granted $ANN b "$(share 2 EDF)"
    granted $ANN c '{"runtime": 10, "period": 10000, "priority": 1}'
    is .grant.plugin EDF
    reload 'rtfann EDF max_utilization 0' 'rtfann FP max_utilization 1'
    granted $ANN d '{"runtime": 10, "period": 10000, "priority": 1}' # if a plugin is closed, the next plugin is asked
    is .grant.plugin FP
}

# bats test_tags=turn:0
@test "the rules of a user and of the user's groups must all hold, in any order; the refusal names the first rule that does not" {
    user='rtfann - max_utilization 0.4' group='@rtfteam - max_utilization 0.6' all='- - max_utilization 0.9'
    broker_with "$user" "$group" "$all"
    denied $ANN a "$(share 600001)" "acl.conf:1: $user: 0 used, 0.600001 asked"
    granted $ANN b "$(share 400000)"
    denied $ANN c "$(share 1)" "acl.conf:1: $user: 0.4 used, 0.000001 asked"
    granted $BEN a "$(share 200000)"
    denied $BEN b "$(share 1)" "acl.conf:2: $group: 0.6 used, 0.000001 asked"
    denied $ANN d "$(share 1)" "acl.conf:1: $user: 0.4 used, 0.000001 asked"
    granted 0 a "$(share 100000)"
    reload "$group" "$all" "$user"
    denied $ANN e "$(share 1)" "acl.conf:1: $group: 0.6 used, 0.000001 asked"
    reload '@rtfteam - max_runtime 2ms' 'rtfann - max_utilization 0.9' 'rtfann - max_runtime 3ms' '- - max_runtime 1ms'
    denied $ANN f '{"plugin": "FP", "priority": 9, "runtime": "4ms", "period": "100ms"}' 'acl.conf:1: @rtfteam - max_runtime 2ms: 4000us asked'
    is .refusal.nearest 1000 # the runtime that passes all rules
}

# bats test_tags=turn:1
@test "a group's members share its sum, and each member has a sum of their own under max_user_utilization" {
    broker_with '@rtf - max_user_utilization 0.25' '@rtf - max_utilization 0.6'
    each='acl.conf:1: @rtf - max_user_utilization 0.25' together='acl.conf:2: @rtf - max_utilization 0.6'
    granted $ANN a "$(share 250000)"
    granted $BEN a "$(share 250000)"
    denied $ANN b "$(share 1)" "$each: 0.25 used, 0.000001 asked"
    denied $CAT a "$(share 100001)" "$together: 0.5 used, 0.100001 asked"
    granted $CAT b "$(share 100000)"
    denied $CAT c "$(share 1)" "$together: 0.6 used, 0.000001 asked"
    gone $ANN a
    granted $CAT d "$(share 150000)"
    denied $CAT e "$(share 1)" "$each: 0.25 used, 0.000001 asked"
}

# bats test_tags=turn:1
@test "max_user_threads bounds the reservations of each member with the plugin, and a change adds none" {
    broker_with '- - max_utilization 1' '@rtf EDF max_user_threads 2'
    threads='acl.conf:2: @rtf EDF max_user_threads 2: 2 used, 1 asked'
    granted $ANN a "$(share 2 EDF)"
    granted $ANN b "$(share 2 EDF)"
    denied $ANN c "$(share 2 EDF)" "$threads"
    refusal_is access 'acl.conf:2: @rtf EDF max_user_threads 2' 1 0 - when-freed
    granted $ANN b "$(share 3 EDF)"
    granted $BEN a "$(share 2 EDF)"
    granted $ANN d "$(share 2 FP)"
    reload '- - max_utilization 1' '@rtf EDF max_user_threads 1'
    events broker warning | grep -E '^acl.conf:2: @rtf EDF max_user_threads 1: 2 is in use by older grants of uid'
    gone $ANN a
    denied $ANN c "$(share 2 EDF)" 'acl.conf:2: @rtf EDF max_user_threads 1: 1 used, 1 asked'
    gone $ANN b
    granted $ANN c "$(share 2 EDF)"
}

# bats test_tags=turn:2
@test "a spec without runtime, or without period, weighs one whole CPU" {
    no_runtime='{"plugin": "FP", "priority": 9, "period": 10000}' no_period='{"plugin": "FP", "priority": 9, "runtime": 10}'
    broker_with 'rtfann - max_utilization 0.999999999' 'rtfben - max_utilization 1' 'rtfcat - max_utilization 1' 'rtfcat - max_runtime 10us'
    sentence='acl.conf:1: rtfann - max_utilization 0.999999999: 0 used, 1 asked'
    denied $ANN a "$no_runtime" "$sentence (a spec without runtime weighs a whole CPU)"
    refusal_is access 'acl.conf:1: rtfann - max_utilization 0.999999999' 1 0.999999999 - never
    denied $ANN b "$no_period" "$sentence (a spec without period weighs a whole CPU)"
    refusal_is access 'acl.conf:1: rtfann - max_utilization 0.999999999' 1 0.999999999 - never
    granted $BEN a "$no_runtime"
    denied $BEN b "$(share 1)" 'acl.conf:2: rtfben - max_utilization 1: 1 used, 0.000001 asked'
    granted $CAT a '{"plugin": "FP", "priority": 9, "runtime": 10, "deadline": 100}' # a deadline is a window
    denied $CAT b "$no_period" 'acl.conf:3: rtfcat - max_utilization 1: 0.1 used, 1 asked (a spec without period weighs a whole CPU)'
    refusal_is access 'acl.conf:3: rtfcat - max_utilization 1' 1 0.9 - when-freed
    # A spec without a period counts as a whole CPU, whatever its runtime is, so no value is called nearest.
    denied $CAT b '{"plugin": "FP", "priority": 9, "runtime": 11}' 'acl.conf:3: rtfcat - max_utilization 1: 0.1 used, 1 asked (a spec without period weighs a whole CPU)'
    refusal_is access 'acl.conf:3: rtfcat - max_utilization 1' 1 0.9 - never
    gone $CAT a
    granted $CAT c "$no_period"
}

# bats test_tags=turn:0
@test "a spec without runtime fails any max_runtime; what else is not stated passes its bounds" {
    broker_with '- - max_utilization 10' '- - max_runtime 3600s' '- - min_period 10ms' '- - max_period 20ms' '- - min_deadline 9ms' \
        '- - max_deadline 20ms' '- - min_priority 9' '- - max_priority 9'
    denied $ANN a '{"plugin": "FP", "priority": 9, "period": 10000}' 'acl.conf:2: - - max_runtime 3600s: the spec states no runtime'
    refusal_is access 'acl.conf:2: - - max_runtime 3600s' - - - never
    granted $ANN b '{"plugin": "FP", "priority": 9, "runtime": 10}'
    granted $ANN c '{"plugin": "EDF", "runtime": 10, "period": 10000}'
    # A spec without a deadline has its period as the deadline.
    denied $ANN d '{"plugin": "EDF", "runtime": 10, "period": 21000, "deadline": 20000}' 'acl.conf:4: - - max_period 20ms: 21000us asked'
    reload '- - max_utilization 10' '- - max_deadline 20ms' '- - min_deadline 9ms'
    denied $ANN e '{"plugin": "EDF", "runtime": 10, "period": 20001}' 'acl.conf:2: - - max_deadline 20ms: 20001us asked'
    denied $ANN f '{"plugin": "EDF", "runtime": 10, "period": 8999}' 'acl.conf:3: - - min_deadline 9ms: 8999us asked'
    granted $ANN g '{"plugin": "EDF", "runtime": 10, "period": 20001, "deadline": 20000}'
}

# One tick, in us.
tick() { /usr/bin/python3 -S -c 'import time; print(round(time.clock_getres(6) * 1000000))'; }

# bats test_tags=turn:1
@test "a spec without runtime fails any min_runtime; the accepted runtime is not below it either" {
    broker_with '- - max_utilization 10' '- - min_runtime 500us'
    denied $ANN a '{"plugin": "FP", "priority": 9, "period": 10000}' 'acl.conf:2: - - min_runtime 500us: the spec states no runtime'
    refusal_is access 'acl.conf:2: - - min_runtime 500us' - - - never
    # The runtime counts, because it may be all that is accepted, however much more is desired.
    denied $ANN b '{"plugin": "EDF", "runtime": 499, "desired_runtime": 5000, "period": 10000}' 'acl.conf:2: - - min_runtime 500us: 499us asked'
    granted $ANN c '{"plugin": "EDF", "runtime": 500, "period": 10000}'
    # A change to less than the smallest runtime is refused, and the old grant stays.
    denied $ANN c '{"plugin": "EDF", "runtime": 400, "period": 10000}' 'acl.conf:2: - - min_runtime 500us: 400us asked'
    is .grant.accepted_runtime 500
    granted 0 d '{"plugin": "EDF", "runtime": 400, "period": 10000}' # root is not restricted
}

# bats test_tags=turn:2
@test "min_runtime tick is one tick of this kernel, and bounds SCHED_DEADLINE only" {
    if grep -qsw HRTICK_DL /sys/kernel/debug/sched/features; then skip "the kernel does not wait for its tick"; fi
    least=$(tick)
    broker_with '- - max_utilization 10' '- - min_runtime tick'
    denied $ANN a "{\"plugin\": \"EDF\", \"runtime\": $((least - 1)), \"period\": 100000}" "acl.conf:2: - - min_runtime tick: $((least - 1))us asked, a tick is ${least}us"
    refusal_is access 'acl.conf:2: - - min_runtime tick' $((least - 1))us ${least}us "$(field .refusal.nearest "$VERDICT")" never
    granted $ANN b "{\"plugin\": \"EDF\", \"runtime\": $least, \"period\": 100000}"
    granted $ANN c '{"plugin": "FP", "priority": 9, "runtime": 1, "period": 10000}'
    granted $ANN d '{"plugin": "FP", "priority": 9}'
}

# ---- the words of a refusal ----

# bats test_tags=turn:0
@test "below min_runtime the nearest is the least that is granted, and there is none where no runtime passes" {
    broker_with '- - max_utilization 0.5' '- - min_runtime 2ms' '- - max_runtime 4ms'
    rule='acl.conf:2: - - min_runtime 2ms'
    denied $ANN a '{"plugin": "EDF", "runtime": 2, "period": 100000}' "$rule: 2us asked"
    refusal_is access "$rule" 2us 2000us 4000 never
    is '.refusal | .nearest_minimum, .nearest_is' $'2000\nat-least'
    denied $ANN a '{"plugin": "EDF", "runtime": 4001, "period": 100000}' 'acl.conf:3: - - max_runtime 4ms: 4001us asked'
    is '.refusal | .nearest, .nearest_minimum, .nearest_is' $'4000\nnull\nat-most'
    # Neither the desired runtime nor the period nor the deadline may be below the runtime.
    denied $ANN a '{"plugin": "EDF", "runtime": 2, "desired_runtime": 3000, "period": 100000}' "$rule: 2us asked"
    is '.refusal | .nearest, .nearest_minimum' $'3000\n2000'
    denied $ANN a '{"plugin": "EDF", "runtime": 2, "desired_runtime": 1999, "period": 100000}' "$rule: 2us asked"
    is '.refusal | .nearest, .nearest_minimum, .nearest_is' $'null\nnull\nnull'
    denied $ANN a '{"plugin": "EDF", "runtime": 2, "period": 100000, "deadline": 1999}' "$rule: 2us asked"
    is .refusal.nearest null
    # The sums of the rules have too little room for the smallest runtime.
    granted $CAT a '{"plugin": "FP", "priority": 9, "runtime": 4000, "period": 8100}'
    denied $ANN a '{"plugin": "EDF", "runtime": 2, "period": 10000}' "$rule: 2us asked"
    refusal_is access "$rule" 2us 2000us - never
    denied $ANN a '{"plugin": "EDF", "runtime": 2000, "period": 10000}' 'acl.conf:1: - - max_utilization 0.5: 0.493827161 used, 0.2 asked'
    is '.refusal | .nearest, .retry' $'null\nwhen-freed'
    gone $CAT a
    # The plugin has too little room for the smallest runtime, and this room is not called nearest.
    granted 0 big '{"plugin": "EDF", "runtime": 88500, "period": 100000}'
    granted 0 rest '{"plugin": "EDF", "runtime": 90000, "period": 100000}'
    ask $ANN a '{"plugin": "EDF", "runtime": 2000, "period": 100000}'
    is '.result, .refusal.nearest' $'SCHEDULE_FAIL\nnull'
    denied $ANN a '{"plugin": "EDF", "runtime": 2, "period": 100000}' "$rule: 2us asked"
    is .refusal.nearest null
    reload '- - max_utilization 0.5' '- - min_runtime 1ms' '- - max_runtime 4ms'
    ask $ANN a '{"plugin": "EDF", "runtime": 2000, "period": 100000}'
    is '.result, .refusal.nearest' $'SCHEDULE_FAIL\n1500'
    denied $ANN a '{"plugin": "EDF", "runtime": 2, "period": 100000}' "acl.conf:2: - - min_runtime 1ms: 2us asked"
    is '.refusal | .nearest, .nearest_minimum' $'1500\n1000'
    granted $ANN a '{"plugin": "EDF", "runtime": 1000, "period": 100000}'
}

# bats test_tags=turn:1
@test "the refusal of a full sum has the used, the asked and the remaining amount; the nearest runtime is granted, a microsecond more is not" {
    broker_with '# comment' $'\t@rtf   -\tmax_utilization  0.5 # half'
    rule='acl.conf:2: @rtf - max_utilization 0.5'
    granted $CAT a "$(share 400000)"
    denied $ANN a '{"plugin": "EDF", "runtime": "2ms", "period": "10007us"}' "$rule: 0.4 used, 0.199860098 asked"
    refusal_is access "$rule" 0.199860098 0.1 1000 when-freed
    denied $ANN b '{"plugin": "EDF", "runtime": 1001, "period": "10007us"}' "$rule: 0.4 used, 0.10002998 asked"
    granted $ANN c '{"plugin": "EDF", "runtime": 1000, "period": "10007us"}'
    gone $ANN c
    # A spec for more than the whole sum is never granted, although a part of it would be.
    denied $ANN d "$(share 500001)" "$rule: 0.4 used, 0.500001 asked"
    refusal_is access "$rule" 0.500001 0.1 100000 never
    granted $BEN a "$(share 100000)"
    denied $ANN e "$(share 1)" "$rule: 0.5 used, 0.000001 asked"
    refusal_is access "$rule" 0.000001 0 - when-freed
}

# bats test_tags=turn:2
@test "the refusal by a bound has the asked and the allowed value, and says never" {
    broker_with '- - max_utilization 10' 'rtfann - max_runtime 2ms' 'rtfann - max_period 100ms' '@rtf - max_priority 30'
    denied $ANN a '{"plugin": "FP", "priority": 9, "runtime": 2001, "period": 10000}' 'acl.conf:2: rtfann - max_runtime 2ms: 2001us asked'
    refusal_is access 'acl.conf:2: rtfann - max_runtime 2ms' 2001us 2000us 2000 never
    denied $ANN b '{"plugin": "FP", "priority": 9, "runtime": 2000, "period": 100001}' 'acl.conf:3: rtfann - max_period 100ms: 100001us asked'
    refusal_is access 'acl.conf:3: rtfann - max_period 100ms' 100001us 100000us - never
    denied $CAT a '{"plugin": "FP", "priority": 31, "runtime": 2000, "period": 10000}' 'acl.conf:4: @rtf - max_priority 30: 31 asked'
    refusal_is access 'acl.conf:4: @rtf - max_priority 30' 31 30 - never
}

# bats test_tags=turn:0
@test "no runtime is called nearest where another rule would refuse every runtime" {
    broker_with '- - max_utilization 10' '- - max_runtime 2ms' '- - max_period 10ms' '- - max_priority 30'
    denied $ANN a '{"plugin": "FP", "priority": 9, "runtime": 3000, "period": 10001}' 'acl.conf:2: - - max_runtime 2ms: 3000us asked'
    is .refusal.nearest null
    denied $ANN b '{"plugin": "FP", "priority": 31, "runtime": 3000, "period": 10000}' 'acl.conf:2: - - max_runtime 2ms: 3000us asked'
    is .refusal.nearest null
    denied $ANN c '{"plugin": "FP", "runtime": 3000, "period": 10000}' 'acl.conf:2: - - max_runtime 2ms: 3000us asked'
    is .refusal.nearest null # the plugin needs a priority
}

# bats test_tags=turn:1
@test "no runtime is called nearest to a spec that may not pass over the admission test" {
    broker_with '- - max_utilization 10' '- - max_runtime 2ms'
    ask $ANN a '{"plugin": "FP", "priority": 9, "runtime": 3000, "period": 10000, "ignore_admission": true}'
    is .result ACL_FAIL
    is '.refusal | .nearest, .retry' $'null\nnever'
}

# bats test_tags=turn:2
@test "a spec that one rule always refuses is refused for ever, though another rule is only full" {
    broker_with '- - max_utilization 0.5' '- - max_runtime 100ms'
    granted $CAT a '{"plugin": "FP", "priority": 9, "runtime": 4500, "period": 10000}'
    denied $ANN a "$(share 100001)" 'acl.conf:1: - - max_utilization 0.5: 0.45 used, 0.100001 asked'
    is '.refusal | .nearest, .retry' $'50000\nnever'
}

# bats test_tags=turn:0
@test "a spec that one plugin's rules always refuse may succeed when another plugin's rules have room again" {
    broker_with '- EDF max_utilization 0' '- FP max_utilization 0.5'
    granted $CAT a "$(share 400000)"
    ask $ANN a '{"priority": 9, "runtime": 2000, "period": 10000}'
    is .result ACL_FAIL
    is '.refusal | .nearest, .retry' $'1000\nwhen-freed'
    gone $CAT a
    granted $ANN b '{"priority": 9, "runtime": 2000, "period": 10000}'
}

# ---- plans and changes ----

# bats test_tags=turn:1
@test "the priority that rm plans is checked against max_priority and min_priority, and a refused plan leaves nothing behind" {
    configure_plugins 'RM rm 21-40 0 timeout=10s' 'FP fp 1-20 1 timeout=10s'
    spec='{"runtime": 4000, "period": 10000, "plugin": "RM"}'
    broker_with '- - max_utilization 1'
    granted $ANN a "$spec"
    planned=$(field .grant.priority "$VERDICT")
    gone $ANN a
    reload '- - max_utilization 1' "- RM max_priority $planned" "- - min_priority $planned"
    granted $ANN b "$spec"
    is .grant.priority "$planned"
    gone $ANN b
    reload '- - max_utilization 1' "rtfann RM max_priority $((planned - 1))"
    denied $ANN c "$spec" "acl.conf:2: rtfann RM max_priority $((planned - 1)): $planned planned"
    is '.refusal | .by, .retry' $'access\nnever'
    is .grant null
    reload '- - max_utilization 1' "@rtf RM min_priority $((planned + 1))"
    denied $ANN d "$spec" "acl.conf:2: @rtf RM min_priority $((planned + 1)): $planned planned"
    # The next plugin is asked.
    granted $ANN e '{"runtime": 4000, "period": 10000, "priority": 41}'
    is .grant.plugin FP
    gone $ANN e
    # Neither the rules nor the plugin count a refused spec.
    reload '- - max_utilization 1'
    granted $ANN f '{"runtime": 10000, "period": 10000, "plugin": "RM"}'
}

# bats test_tags=turn:2
@test "no runtime is called nearest where the priority that would be planned is refused" {
    configure_plugins 'RM rm 21-40 0 timeout=10s'
    broker_with '- - max_utilization 1' '- - max_priority 20' '- - max_runtime 1ms'
    denied $ANN a '{"runtime": 2000, "period": 10000}' 'acl.conf:3: - - max_runtime 1ms: 2000us asked'
    is .refusal.nearest null
}

# bats test_tags=machine
@test "a refusal does not mix one plugin's refused plan with another plugin's rule" {
    configure_plugins 'EDF edf - 1 partition=unthrottled timeout=10s' 'RM rm 21-40 0 timeout=10s'
    broker_with '- - max_utilization 1' '- EDF max_runtime 1ms' '- RM max_priority 20'
    denied $ANN a '{"runtime": 2000, "period": 10000}' 'acl.conf:2: - EDF max_runtime 1ms: 2000us asked'
    refusal_is access 'acl.conf:2: - EDF max_runtime 1ms' 2000us 1000us 1000 never
}

# bats test_tags=turn:0
@test "one plugin's partial offer does not count against the same spec on the next plugin" {
    configure_plugins 'RM rm 21-40 0 timeout=10s' 'FP fp 1-20 1 timeout=10s'
    broker_with '- - max_utilization 1'
    granted $ANN a '{"priority": 9, "period": 10000}' # RM grants a part, because the spec states no runtime
    is '.grant.plugin, .replies[0].answer' $'FP\npartial'
    denied $CAT a "$(share 1)" 'acl.conf:1: - - max_utilization 1: 1 used, 0.000001 asked'
    gone $ANN a
    granted $CAT b "$(share 1000000)"
}

# bats test_tags=turn:1
@test "the desired runtime is cut to the room of each rule, and the accepted runtime is charged" {
    broker_with 'rtfann - max_runtime 12ms' '@rtfteam - max_utilization 0.5' 'rtfcat - max_user_utilization 0.333333333' '- - max_utilization 10'
    granted $ANN a '{"plugin": "EDF", "runtime": "8ms", "desired_runtime": "40ms", "period": "40ms"}'
    is '.grant | .runtime, .desired_runtime, .accepted_runtime, .utilization' $'8000\n40000\n12000\n300000000'
    granted $BEN a '{"plugin": "EDF", "runtime": "1ms", "desired_runtime": "40ms", "period": "40ms"}'
    is .grant.accepted_runtime 8000
    denied $BEN b "$(share 1)" 'acl.conf:2: @rtfteam - max_utilization 0.5: 0.5 used, 0.000001 asked'
    granted $CAT a '{"plugin": "EDF", "runtime": 2, "desired_runtime": 10007, "period": 10007}'
    is '.grant | .accepted_runtime, .utilization' $'3335\n333266714'
    denied $CAT c '{"plugin": "FP", "priority": 9, "runtime": 67, "period": 1000000}' \
        'acl.conf:3: rtfcat - max_user_utilization 0.333333333: 0.333266714 used, 0.000067 asked'
    granted $CAT d '{"plugin": "FP", "priority": 9, "runtime": 66, "period": 1000000}'
    # A runtime that does not fit is refused, whatever is desired.
    denied $ANN b '{"plugin": "EDF", "runtime": "13ms", "desired_runtime": "20ms", "period": "400ms"}' 'acl.conf:1: rtfann - max_runtime 12ms: 13000us asked'
}

# bats test_tags=turn:2
@test "a change past a bound is refused: the old grant stays, in the books and in the kernel" {
    broker_with 'rtfann - max_utilization 0.5' '- EDF max_runtime 40ms'
    sleeper $ANN
    granted $ANN a "{\"plugin\": \"EDF\", \"runtime\": \"3ms\", \"period\": \"10ms\", \"attach\": $SLEEPER}"
    before=$(kernel "$SLEEPER")
    [[ $before == "deadline 0 "*" 3000/10000/10000 "* ]]
    denied $ANN a "{\"plugin\": \"EDF\", \"runtime\": 5001, \"period\": \"10ms\", \"attach\": $SLEEPER}" \
        'acl.conf:1: rtfann - max_utilization 0.5: 0 used, 0.5001 asked'
    is '.request, .grant.accepted_runtime, .thread.tid' $'change\n3000\n'"$SLEEPER"
    refusal_is access 'acl.conf:1: rtfann - max_utilization 0.5' 0.5001 0.5 5000 never
    denied $ANN a "{\"plugin\": \"EDF\", \"runtime\": 40001, \"period\": \"100ms\", \"attach\": $SLEEPER}" 'acl.conf:2: - EDF max_runtime 40ms: 40001us asked'
    is .grant.accepted_runtime 3000
    [ "$(kernel "$SLEEPER")" = "$before" ]
    denied $ANN b "$(share 200001)" 'acl.conf:1: rtfann - max_utilization 0.5: 0.3 used, 0.200001 asked'
    granted $ANN c "$(share 200000)"
    # A change counts without the old grant, up to the bound. A change to less gives the rest back.
    denied $ANN a "{\"plugin\": \"EDF\", \"runtime\": 3001, \"period\": \"10ms\", \"attach\": $SLEEPER}" \
        'acl.conf:1: rtfann - max_utilization 0.5: 0.2 used, 0.3001 asked'
    gone $ANN c
    granted $ANN a "{\"plugin\": \"EDF\", \"runtime\": 5000, \"period\": \"10ms\", \"attach\": $SLEEPER}"
    [[ $(kernel "$SLEEPER") == "deadline 0 "*" 5000/10000/10000 "* ]]
    denied $ANN d "$(share 1)" 'acl.conf:1: rtfann - max_utilization 0.5: 0.5 used, 0.000001 asked'
    granted $ANN a "{\"plugin\": \"EDF\", \"runtime\": 1000, \"period\": \"10ms\", \"attach\": $SLEEPER}"
    granted $ANN e "$(share 400000)"
}

# bats test_tags=turn:0
@test "a change to another plugin moves the charge with it" {
    broker_with '- EDF max_utilization 0.5' '- FP max_utilization 0.5'
    granted $ANN a "$(share 500000 EDF)"
    granted $CAT a "$(share 500000)"
    denied $ANN a "$(share 1)" 'acl.conf:2: - FP max_utilization 0.5: 0.5 used, 0.000001 asked'
    is .grant.plugin EDF
    gone $CAT a
    granted $ANN a "$(share 500000)"
    is .grant.plugin FP
    granted $CAT b "$(share 500000 EDF)"
    denied $CAT c "$(share 1)" 'acl.conf:2: - FP max_utilization 0.5: 0.5 used, 0.000001 asked'
    gone $ANN a
    granted $CAT d "$(share 500000)"
}

# bats test_tags=turn:1
@test "a release gives back exactly the charged amount, thirds and sevenths too" {
    rule='acl.conf:1: @rtf - max_utilization 1'
    of() { echo "{\"plugin\": \"FP\", \"priority\": 9, \"runtime\": $1, \"period\": $2}"; }
    broker_with '@rtf - max_utilization 1'
    granted $ANN a "$(of 1 3)"
    granted $BEN b "$(of 1 3)"
    granted $ANN c "$(of 1 7)"
    granted $CAT d "$(of 1 10007)"
    denied $ANN e "$(of 1 5)" "$rule: 0.809623742 used, 0.2 asked" # each utilization is rounded up to a billionth
    gone $ANN a
    granted $CAT d "$(of 2 10007)"
    granted $ANN e "$(of 1 3)"
    denied $BEN f "$(of 1 5)" "$rule: 0.809723672 used, 0.2 asked"
    for user in $BEN $CAT $ANN; do all_gone "$user"; done
    granted $CAT g "$(of 1000000000 1000000000)"
    denied $ANN f "$(of 1 1000000000)" "$rule: 1 used, 0.000000001 asked"
}

# bats test_tags=turn:2
@test "a grant that ends with its thread, its directory, or for want of a thread is given back, too" {
    broker_with '@rtf - max_utilization 0.3'
    sleeper $ANN
    ended=$SLEEPER
    kill -KILL "$ended"
    eventually test ! -e "/proc/$ended"
    ask $ANN a "{\"plugin\": \"EDF\", \"runtime\": 3000, \"period\": 10000, \"attach\": $ended, \"lifetime\": \"thread\"}"
    is '.result, .grant' $'ATTACH_FAIL\nnull'
    sleeper $ANN
    granted $ANN b "{\"plugin\": \"EDF\", \"runtime\": 3000, \"period\": 10000, \"attach\": $SLEEPER, \"lifetime\": \"thread\"}"
    kill -KILL "$SLEEPER"
    eventually test ! -e "$SPECS/rtfann/b.verdict"
    granted $CAT a "$(share 300000)"
    rm -rf "$SPECS/rtfcat" # the broker may be faster with a verdict
    eventually says_released rtfcat
    granted $BEN a "$(share 300000)"
    denied $ANN c "$(share 1)" 'acl.conf:1: @rtf - max_utilization 0.3: 0.3 used, 0.000001 asked'
}

says_released() { jq -e --arg user "$1" -s 'any(.stage == "release" and .user == $user)' "$EVENTS" >/dev/null; }

# bats test_tags=turn:0
@test "after a restart the sums are those of the grants that are in force, under the rules of then" {
    broker_with '@rtf - max_utilization 0.5'
    granted $ANN a "$(share 300000)"
    granted $CAT a "$(share 100000)"
    broker_stop INT
    broker
    denied $BEN a "$(share 100001)" 'acl.conf:1: @rtf - max_utilization 0.5: 0.4 used, 0.100001 asked'
    broker_stop KILL
    eventually none_of_ours
    broker_with '- - max_utilization 0.6' '@rtfteam - max_utilization 0.3'
    denied $BEN b "$(share 1)" 'acl.conf:2: @rtfteam - max_utilization 0.3: 0.3 used, 0.000001 asked'
    granted $CAT b "$(share 200000)"
    gone $ANN a
    granted $BEN c "$(share 300000)"
}

# bats test_tags=turn:1
@test "a sum that the rules allow and one CPU does not hold does not stop the plugin" {
    configure_plugins 'FP fp 1-60 0 timeout=10s'
    broker_with '- - max_utilization 10'
    granted $ANN a "$(share 600000)"
    ask $ANN b "$(share 600000)" # granted or refused: FP tests nothing
    granted $CAT a "$(share 1000)"
    [ "$(events plugin killed)" = '' ]
}

# bats test_tags=turn:2
@test "root is not restricted, and not counted" {
    broker_with '- - max_utilization 0.1' 'root - max_utilization 0.1' '0 - max_runtime 1us' '- - max_priority 1' '- - max_period 1ms'
    granted 0 a '{"plugin": "FP", "priority": 60, "runtime": 500000, "period": 1000000, "ignore_admission": true}'
    granted 0 b '{"plugin": "FP", "priority": 60}'
    granted 0 c '{"plugin": "EDF", "runtime": "10ms", "desired_runtime": "20ms", "period": "100ms"}'
    is .grant.accepted_runtime 20000
    granted $ANN a '{"plugin": "FP", "priority": 1, "runtime": 100, "period": 1000}'
    denied $ANN b '{"plugin": "FP", "priority": 1, "runtime": 1, "period": 1000}' 'acl.conf:1: - - max_utilization 0.1: 0.1 used, 0.001 asked'
    gone 0 a
    denied $ANN c '{"plugin": "FP", "priority": 1, "runtime": 1, "period": 1000}' 'acl.conf:1: - - max_utilization 0.1: 0.1 used, 0.001 asked'
}

# ---- new rules ----

# bats test_tags=turn:0
@test "after SIGHUP older grants over the new bounds stay, are told in the log, count, and are given back exactly" {
    broker_with '- - max_utilization 1'
    sleeper $ANN
    granted $ANN a "{\"plugin\": \"EDF\", \"runtime\": \"3ms\", \"period\": \"10ms\", \"attach\": $SLEEPER}"
    granted $ANN b "$(share 200000)"
    granted $CAT a "$(share 100000)"
    before=$(kernel "$SLEEPER") verdict=$(cat "$SPECS/rtfann/a.verdict")
    reload '@rtf - max_utilization 0.35' 'rtfann - max_utilization 0.25' 'rtfcat FP max_utilization 0.1' '@rtfteam FP max_user_utilization 0.1'
    says broker warning 'acl.conf:1: @rtf - max_utilization 0.35: 0.6 is in use by older grants, which stay'
    says broker warning 'acl.conf:2: rtfann - max_utilization 0.25: 0.5 is in use by older grants, which stay'
    [[ $(events broker warning) != *acl.conf:3* ]] # the sum of rule 3 is full, but not exceeded
    [ "$(cat "$SPECS/rtfann/a.verdict")" = "$verdict" ]
    [ "$(kernel "$SLEEPER")" = "$before" ]
    denied $ANN c "$(share 1)" 'acl.conf:1: @rtf - max_utilization 0.35: 0.6 used, 0.000001 asked'
    # A change is judged as a new request: the old amount is subtracted from the sums, and then each rule must hold.
    denied $ANN b "$(share 100000)" 'acl.conf:1: @rtf - max_utilization 0.35: 0.4 used, 0.1 asked'
    is .grant.accepted_runtime 200000
    gone $ANN a
    [[ $(kernel "$SLEEPER") == "other 0 "* ]]
    denied $ANN d "$(share 50001)" 'acl.conf:1: @rtf - max_utilization 0.35: 0.3 used, 0.050001 asked'
    denied $ANN e "$(share 50000)" 'acl.conf:4: @rtfteam FP max_user_utilization 0.1: 0.2 used, 0.05 asked'
    granted $ANN f "$(share 50000 EDF)"
    all_gone $ANN
    all_gone $CAT
    granted $ANN g "$(share 100000)"
    granted $ANN h "$(share 150000 EDF)"
    granted $CAT b "$(share 100000)"
    denied $BEN a "$(share 1)" 'acl.conf:1: @rtf - max_utilization 0.35: 0.35 used, 0.000001 asked'
}

# bats test_tags=turn:1
@test "after SIGHUP a user's older grants over a new max_user_utilization are told in the log" {
    broker_with '- - max_utilization 1'
    granted $ANN a "$(share 200000)"
    granted $CAT a "$(share 100000)"
    reload '@rtf - max_user_utilization 0.1'
    events broker warning | grep -E '^acl.conf:1: @rtf - max_user_utilization 0.1: 0.2 .*older grants'
    [ "$(events broker warning | grep -c 'older grants')" -eq 1 ] # the warning is about Ann's grant; Cat's sum is full, but not exceeded
}

# bats test_tags=turn:2
@test "after SIGHUP a grant that no rule opens any more stays until it is released" {
    broker_with 'rtfann - max_utilization 1'
    granted $ANN a "$(share 200000)"
    reload 'rtfcat - max_utilization 1'
    is_granted() { jq -e .grant "$SPECS/rtfann/a.verdict" >/dev/null; }
    is_granted
    denied $ANN b "$(share 1)" "$(nothing_opens $ANN FP)"
    is_granted
    gone $ANN a
    denied $ANN a "$(share 1)" "$(nothing_opens $ANN FP)"
    reload 'rtfann - max_utilization 0.2'
    granted $ANN c "$(share 200000)"
}

# rules_alternate RULES...: makes each text in turn the whole of acl.conf, and sends SIGHUP, until $WORK/enough exists. Each text stays until the broker has taken its
# SIGHUP.
rules_alternate() {
    (
        while [ ! -e "$WORK/enough" ]; do
            for rules in "$@"; do
                echo "$rules" >"$CONFIG/acl.new" && mv "$CONFIG/acl.new" "$CONFIG/acl.conf"
                kill -HUP "$BROKER"
                until has_taken_signals || [ -e "$WORK/enough" ]; do :; done
            done
        done
    ) 3>&- &
    HUPPER=$!
    echo $HUPPER >>"$WORK/pids"
}

# bats test_tags=turn:0
@test "while rules are read again and again, each spec is judged by the old ones or the new ones, never by none" {
    broker_with '- - max_utilization 10' '- - max_runtime 1ms'
    rules_alternate $'- - max_runtime 1ms\n- - max_utilization 9' $'- - max_utilization 10\n- - max_runtime 1ms'
    for _ in 1 2 3 4 5; do
        for spec in {10..49}; do echo "w$spec {\"plugin\": \"FP\", \"priority\": 9, \"runtime\": 10$((spec % 2)), \"period\": 100000}"; done | drop $ANN
        for spec in {10..29}; do echo "x$spec {\"plugin\": \"FP\", \"priority\": 9, \"runtime\": 1001, \"period\": 100000}"; done | drop $CAT
        for user in $ANN:w:40 $CAT:x:20; do
            IFS=: read -r uid letter count <<<"$user"
            home_of "$uid"
            eventually eval "[ \$(compgen -G '$HOME_OF/$letter*.verdict' | wc -l) -eq $count ]"
        done
        [ "$(cat "$SPECS"/rtfann/*.verdict | jq -r .result | sort | uniq -c | xargs)" = '40 OK' ]
        [ "$(cat "$SPECS"/rtfcat/*.verdict | jq -r '.reason | sub("^acl.conf:[12]"; "acl.conf:N")' | sort | uniq -c | xargs)" = \
            '20 acl.conf:N: - - max_runtime 1ms: 1001us asked' ]
        all_gone $ANN
        all_gone $CAT
    done
    touch "$WORK/enough"
    wait $HUPPER
    [ "$(grep -c '"reloaded"' "$EVENTS")" -gt 5 ]
}

# bats test_tags=turn:1
@test "rules are read again and again under many requests of many users: none is refused, none is charged twice" {
    cc -D_GNU_SOURCE -O2 -o "$WORK/clients" "$RTF_SOURCE/test/bench/clients.c"
    first=$(for uid in {31000..31005}; do echo "$uid - max_utilization 4"; done; echo '- - max_utilization 24')
    second=$(tac <<<"$first")
    broker_with "$first"
    rules_alternate "$second" "$first"
    run "$WORK/clients" "$SPECS" "$GROUP" 31000 6 4 "${ACL_SECONDS:-3}"
    touch "$WORK/enough"
    wait $HUPPER
    echo "$output"
    [ "$status" -eq 0 ]
    read -r _ _ _ _ count <<<"$output"
    reloads=$(grep -c '"reloaded"' "$EVENTS")
    echo "# $count specs granted to five of six users, and as many released, in ${ACL_SECONDS:-3} s; $reloads reloads meanwhile" >&3
    [ "$reloads" -gt 10 ]
    eventually nobody_has_anything
    reload '- - max_utilization 24'
    for spec in {10..33}; do echo "w$spec {\"plugin\": \"FP\", \"priority\": 9}"; done | drop $ANN
    eventually eval "[ \$(compgen -G '$SPECS/rtfann/w*.verdict' | wc -l) -eq 24 ]"
    [ "$(cat "$SPECS"/rtfann/*.verdict | jq -r .result | sort | uniq -c | xargs)" = '24 OK' ]
    [ "$(field .result "$(spec $ANN one '{"plugin": "FP", "priority": 9}')")" = ACL_FAIL ]
}
nobody_has_anything() { [ -z "$(find "$SPECS" -name '*.verdict')" ]; }

# bats test_tags=turn:2
@test "a file with a wrong line, or that others can write, is refused at SIGHUP with its place, and the rules in force stay" {
    broker_with '- - max_utilization 0.5'
    wrong() { # SENTENCE
        kill -HUP "$BROKER"
        eventually says broker error "$1; the rules in force stay"
        denied $ANN "$2" "$(share 500001)" 'acl.conf:1: - - max_utilization 0.5: 0 used, 0.500001 asked'
    }
    configure_rules '- - max_utilization 1' 'rtfann EDF2 max_utilization 1'
    wrong 'acl.conf:2: plugins.conf has no plugin "EDF2"; did you mean EDF? - means any' a
    configure_rules '- - max_utilization 1'
    chmod 664 "$CONFIG/acl.conf"
    wrong "$CONFIG/acl.conf: must be a regular file of root's that nobody else can write (mode 0644 at most)" b
    chmod 644 "$CONFIG/acl.conf"
    chown $ANN "$CONFIG/acl.conf"
    : >"$SPOOL/log/events.ndjson"
    wrong "$CONFIG/acl.conf: must be a regular file of root's that nobody else can write (mode 0644 at most)" c
    rm "$CONFIG/acl.conf"
    wrong "$CONFIG/acl.conf: No such file or directory" d
    reload '- - max_utilization 1'
    granted $ANN e "$(share 500001)"
}

# bats test_tags=turn:0
@test "the broker does not start with a wrong line, and names its place and the allowed values" {
    while IFS='|' read -r line sentence; do
        configure_rules '# a comment' "$line"
        run "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
        [ "$status" -eq 78 ]
        [ "$output" = "rtf-brokerd: acl.conf:2: $sentence" ] || { echo "$line: $output"; false; }
    done <<END
@rtf - max_runtime|a rule must have four words, DOMAIN PLUGIN PROPERTY VALUE: this line has 3
@rtf edf max_runtime 20ms|plugins.conf has no plugin "edf"; did you mean EDF? - means any
END
    configure_rules '@rtf - max_priority 100' $'\t@rtf\tEDF max_period 3600s# all of it' '' '- - max_utilization 0'
    run "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
    [ "$status" -eq 0 ]
    [ -z "$(sed '/: this \(bounds\|opens\), /d; /: the account database knows no such /d' <<<"$output")" ]
}

# ---- users and groups ----

# bats test_tags=turn:1
@test "an unknown user or group in the rules is a warning, at start and at SIGHUP" {
    broker_with 'rtfnobody - max_utilization 1' '@rtfnogroup FP max_runtime 1ms' 'rtfann - max_utilization 1' '@rtfteam - max_runtime 1s' \
        '29999 - max_utilization 1' '@29999 - max_utilization 1'
    eventually says broker warning 'acl.conf names rtfnobody, but the account database has no such name'
    eventually says broker warning 'acl.conf names @rtfnogroup, but the account database has no such name'
    [ "$(events broker warning | grep -c 'account database')" -eq 2 ]
    granted $ANN a "$(share 1)"
    reload 'rtfsomebody - max_utilization 1' 'rtfann - max_utilization 1'
    eventually says broker warning 'acl.conf names rtfsomebody, but the account database has no such name'
    [ "$(events broker warning | grep -c 'account database')" -eq 3 ]
}

# bats test_tags=turn:2
@test "a user with two directories, by name and by uid, has one sum" {
    broker_with '@rtf - max_user_utilization 0.3'
    granted $ANN a "$(share 200000)"
    HOMES[$ANN]=$ANN
    denied $ANN a "$(share 100001)" 'acl.conf:1: @rtf - max_user_utilization 0.3: 0.2 used, 0.100001 asked'
    granted $ANN b "$(share 100000)"
}

# bats test_tags=turn:0
@test "the rules of every group bind, in however many groups a user is" {
    for number in {1001..1200}; do echo "rtfgroup$number:x:3$number:rtfann"; done >"$WORK/many"
    rules=('@rtf - max_utilization 0.9')
    for number in {1001..1200}; do rules+=("@rtfgroup$number - max_utilization 0.8"); done
    { cat "$WORK/many" && cat "$ACCOUNTS/group"; } >"$ACCOUNTS/new" && cat "$ACCOUNTS/new" >"$ACCOUNTS/group"
    broker_with "${rules[@]}" '@rtfteam - max_utilization 0.3'
    granted $ANN a "$(share 200000)"
    denied $ANN b "$(share 100001)" 'acl.conf:202: @rtfteam - max_utilization 0.3: 0.2 used, 0.100001 asked'
    denied $BEN a "$(share 100001)" 'acl.conf:202: @rtfteam - max_utilization 0.3: 0.2 used, 0.100001 asked'
    all_gone $ANN
    granted $BEN b "$(share 300000)"
}

# bats test_tags=turn:1
@test "the rules of every group bind, however long their names are together" {
    for number in {1001..1200}; do echo "rtfgroup-with-a-long-name$number:x:3$number:rtfann"; done >"$WORK/many"
    { cat "$WORK/many" && cat "$ACCOUNTS/group"; } >"$ACCOUNTS/new" && cat "$ACCOUNTS/new" >"$ACCOUNTS/group"
    broker_with '@rtf - max_utilization 0.9' '@rtfteam - max_runtime 1ms' "@$TEAM - max_runtime 2ms"
    denied $ANN a '{"plugin": "FP", "priority": 9, "runtime": 1001, "period": 10000}' 'acl.conf:2: @rtfteam - max_runtime 1ms: 1001us asked'
    granted $ANN b '{"plugin": "FP", "priority": 9, "runtime": 1000, "period": 10000}'
}

# bats test_tags=turn:2
@test "a changed membership counts at the next request; an earlier charge is given back as it was charged" {
    team='acl.conf:1: @rtfteam - max_utilization 0.3' all='acl.conf:2: - - max_utilization 0.8'
    broker_with '@rtfteam - max_utilization 0.3' '- - max_utilization 0.8'
    granted $ANN a "$(share 300000)"
    granted $CAT a "$(share 200000)"
    groups_are rtfann,rtfben,rtfcat rtfann,rtfcat # cat joins
    denied $CAT b "$(share 1)" "$team: 0.3 used, 0.000001 asked"
    gone $ANN a
    granted $CAT c "$(share 300000)" # the first grant of rtfcat is not in the sum of the team
    gone $CAT a
    denied $ANN b "$(share 1)" "$team: 0.3 used, 0.000001 asked"
    groups_are rtfann,rtfben,rtfcat rtfann # rtfcat leaves the team
    granted $CAT d "$(share 500000)"
    denied $CAT e "$(share 1)" "$all: 0.8 used, 0.000001 asked"
    denied $ANN c "$(share 1)" "$team: 0.3 used, 0.000001 asked"
    gone $CAT c # this grant was charged to the team
    granted $ANN d "$(share 300000)"
    denied $ANN e "$(share 1)" "$team: 0.3 used, 0.000001 asked"
}

# bats test_tags=turn:0
@test "a user who leaves the spool's group is refused the next request, keeps the grants, and is served again after coming back" {
    broker_with '- - max_utilization 1'
    granted $ANN a "$(share 1000)"
    groups_are rtfben,rtfcat rtfann
    denied $ANN b "$(share 1)" "uid $ANN is not a member of the spool's group $GROUP, and acl.conf does not name it"
    refusal_is access - - - - never
    denied $ANN a "$(share 1)" "uid $ANN is not a member of the spool's group $GROUP, and acl.conf does not name it"
    is .grant.accepted_runtime 1000
    groups_are rtfann,rtfben,rtfcat rtfann
    granted $ANN c "$(share 1)"
}

# bats test_tags=turn:0
@test "a user who has left the group or was deleted loses all grants at the next reload, and is told; other users keep theirs" {
    broker_with '- - max_utilization 0.3'
    granted $ANN a "$(share 100000)"
    granted $BEN a "$(share 100000)"
    granted $CAT a "$(share 100000 EDF)"
    sleeper $CAT
    as $CAT sh -c 'echo "$2" >"$1"' sh "$SPECS/rtfcat/a.tid" "$SLEEPER"
    eventually is_policy "$SLEEPER" deadline
    groups_are rtfann,rtfben rtfann
    passwd=$(grep -v '^rtfben:' "$ACCOUNTS/passwd")
    echo "$passwd" >"$ACCOUNTS/passwd"
    reload
    eventually has_nothing rtfcat
    eventually has_nothing rtfben
    eventually is_policy "$SLEEPER" other
    jq -e '.result == "ACL_FAIL" and .refusal.code == "not-a-member" and .thread == null' "$SPECS/rtfcat/a.verdict"
    [ -e "$SPECS/rtfcat/a.json" ]
    [ "$(jq -r .grant.accepted_runtime "$SPECS/rtfann/a.verdict")" = 100000 ]
    jq -e 'select(.stage == "verdict" and .name == "a" and .user == "rtfcat" and .request == "update" and .decision == "refused")' "$EVENTS" >/dev/null
    # None of these grants counts any more, and a user who is back asks again.
    eventually is_granted_to_ann
    gone $ANN b
    groups_are rtfann,rtfben,rtfcat rtfann
    granted $CAT a "$(share 50000)"
}
has_nothing() { jq -e '.grant == null' "$SPECS/$1/a.verdict" >/dev/null; }
is_granted_to_ann() { granted $ANN b "$(share 200000)"; }

# bats test_tags=turn:1
@test "a user without an account is known by uid only: no rule for a name or a group applies, not even for the groups of the user's process" {
    broker_with "$ALICE - max_utilization 0.3" "@$GROUP - max_utilization 0.1" '@rtf - max_runtime 1us' "$BOB - max_utilization 0.2" \
        '- FP max_utilization 0.4'
    denied $ALICE a "$(share 300001)" "acl.conf:1: $ALICE - max_utilization 0.3: 0 used, 0.300001 asked"
    granted $ALICE b "$(share 300000)"
    denied $BOB a "$(share 100001)" 'acl.conf:5: - FP max_utilization 0.4: 0.3 used, 0.100001 asked'
    granted $BOB b "$(share 200000 EDF)"
    denied $BOB c "$(share 2 EDF)" "acl.conf:4: $BOB - max_utilization 0.2: 0.2 used, 0.000002 asked"
    reload '- FP max_utilization 0.4' "$ALICE FP max_runtime 1s" "$BOB - max_runtime 1s"
    denied $ALICE c "$(share 2 EDF)" "$(nothing_opens $ALICE EDF)"
}

# bats test_tags=turn:2
@test "a uid that the rules name by number needs no group, neither of an account nor of a process" {
    broker_with "$ALICE - max_utilization 0.3" "$DAN - max_utilization 0.2"
    for user in $ALICE $DAN; do
        given_directory "$user"
        # This user cannot even reach specs/, but can use a directory that root opened.
        (
            home_of "$user"
            cd "$HOME_OF"
            # shellcheck disable=SC2016
            stranger "$user" sh -c 'printf "%s\n" "$1" >.new && mv .new a.json' sh "$(share 200000)"
        )
        home_of "$user"
        eventually test -e "$HOME_OF/a.verdict"
        VERDICT=$(cat "$HOME_OF/a.verdict")
        is .result OK
    done
    denied $DAN b "$(share 1)" "acl.conf:2: $DAN - max_utilization 0.2: 0.2 used, 0.000001 asked"
    # The rules no longer name the user: the grant is taken back, and no other is given.
    reload "$ALICE - max_utilization 0.3" 'rtfdan - max_utilization 0.2'
    denied $DAN c "$(share 1)" "uid $DAN is not a member of the spool's group $GROUP, and acl.conf does not name it"
    eventually jq -e '.grant == null' "$SPECS/rtfdan/a.verdict"
}

# bats test_tags=turn:0
@test "a user who is neither in the group nor named by uid is refused with the reason; once in the group, the user's specs are granted" {
    broker_with '- - max_utilization 1' 'rtfdan - max_utilization 1' "@$DAN - max_utilization 1"
    for user in $DAN $ALICE; do
        given_directory "$user"
        denied "$user" a "$(share 1)" "uid $user is not a member of the spool's group $GROUP, and acl.conf does not name it"
    done
    granted $ANN a "$(share 1)" # the user of the next directory is served
    reload '- - max_utilization 1' "$ALICE - max_utilization 1"
    granted $ALICE a "$(share 1)"
    denied $DAN a "$(share 1)" "uid $DAN is not a member of the spool's group $GROUP, and acl.conf does not name it"
    groups_are rtfann,rtfdan rtfann # dan joins
    granted $DAN a "$(share 1)"
}

# bats test_tags=machine,turn:0
@test "10,000 random operations are answered as a model says, and leave every sum exact" {
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.9 timeout=10s desired=kept' 'RM rm 1-90 1 admission=necessary timeout=10s desired=kept' \
        'FP fp 1-90 2 timeout=10s' 'RR rr 1-90 3 timeout=10s'
    broker
    run "$RTF_SOURCE/test/acl-storm" --spool "$SPOOL" --config "$CONFIG" --etc "$ACCOUNTS" --broker "$BROKER" --steps "${ACL_STEPS:-10000}"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output =~ ([0-9]+)" ACL_FAIL, "([0-9]+)" OK," ]]
    [ "${BASH_REMATCH[1]}" -gt 1000 ]
    [ "${BASH_REMATCH[2]}" -gt 1000 ]
}
