# A plugin's fault costs the current request, and no more. fixtures/plugins/faulty is a correct plugin that misbehaves once, at the accept after a test
# wrote a fault into its switch.
load helper

prepare() {
    cp "$BATS_TEST_DIRNAME/fixtures/plugins/faulty" "$WORK/faulty"
    chmod 755 "$WORK/faulty"
    mkdir "$WORK/switch"
    configure_rules "$ALICE - max_utilization 1000" "$BOB - max_utilization 1000"
    configure_plugins "EDF $WORK/faulty - all threshold=0.4 timeout=500ms good=$RTF_LIBEXEC/plugins/edf switch=$WORK/switch/EDF" \
        "FP $WORK/faulty 11-20 all timeout=500ms good=$RTF_LIBEXEC/plugins/fp switch=$WORK/switch/FP" 'RR rr 1-10 all'
}

# A spec that any of the three plugins can take, and a spec for EDF only.
any='{"runtime": "1ms", "period": "10ms", "priority": 15}'

# switch_on PLUGIN FAULT...: the plugin misbehaves in this way at its next accept
switch_on() {
    echo "${EPOCHREALTIME/./} ${*:2}" >"$WORK/switch/.new"
    mv "$WORK/switch/.new" "$WORK/switch/$1"
}

# begin_with_grants: attaches a thread of each of the two plugins, and grants 0.3 of 0.8 CPUs by EDF
begin_with_grants() {
    broker_start
    sleeper $ALICE
    edf_thread=$SLEEPER
    sleeper $ALICE
    fp_thread=$SLEEPER
    spec $ALICE early '{"runtime": "1ms", "period": "10ms", "plugin": "EDF"}' >/dev/null
    attach $ALICE early "$edf_thread" >/dev/null
    spec $ALICE strong '{"priority": 14, "plugin": "FP"}' >/dev/null
    attach $ALICE strong "$fp_thread" >/dev/null
    [ "$(field .grant.utilization "$(spec $BOB big '{"runtime": "2ms", "period": "10ms", "plugin": "EDF"}')")" = 200000000 ]
    edf_before=$(kernel "$edf_thread")
    fp_before=$(kernel "$fp_thread")
    [[ $edf_before == "deadline 0 "* ]]
    [[ $fp_before == "fifo 14 "* ]]
}

# restarted PLUGIN COUNT: the plugin has been started again this many times
restarted() {
    [ "$(jq -c --arg plugin "$1" 'select(.stage == "plugin" and .plugin == $plugin and .decision == "restarted")' "$EVENTS" | wc -l)" -ge "$2" ]
}

# left_of_edf MICROSECONDS: EDF has exactly this much left for a period of 10 ms, so it knows its earlier grants
left_of_edf() {
    local answer
    answer=$(spec $BOB whole '{"runtime": "10ms", "period": "10ms", "plugin": "EDF"}')
    echo "$answer" >"$WORK/left"
    [ "$(field .refusal.nearest "$answer")" = "$1" ]
}

# all_is_as_before: the threads have their attributes, and EDF counts its earlier grants
all_is_as_before() {
    [ "$(kernel "$edf_thread")" = "$edf_before" ]
    [ "$(kernel "$fp_thread")" = "$fp_before" ]
    eventually left_of_edf 5000
    [ "$(field .replies[0].answer "$(cat "$WORK/left")")" = no ]
}

# costs_only PLUGIN NEXT FAULT...: PLUGIN misbehaves, the spec goes to NEXT, and PLUGIN is started again
costs_only() {
    local plugin=$1 next=$2 began answer elapsed
    losses=$((${losses:-0} + 1))
    echo "$*"
    shift 2
    switch_on "$plugin" "$@"
    began=${EPOCHREALTIME/./}
    case $plugin in
    EDF) answer=$(spec $ALICE hit '{"runtime": "1ms", "period": "10ms", "priority": 15}') ;;
    FP) answer=$(spec $ALICE hit '{"priority": 15}') ;;
    esac
    elapsed=$((${EPOCHREALTIME/./} - began))
    echo "$elapsed us: $answer"
    has_misbehaved "$plugin"
    [ "$elapsed" -lt $((5000000 * PATIENCE)) ]
    [ "$(field .result "$answer")" = OK ]
    [ "$(field .grant.plugin "$answer")" = "$next" ]
    [ "$(field ".replies[] | select(.plugin == \"$plugin\") | .answer" "$answer")" = restarting ]
    eventually restarted "$plugin" "$losses"
    rm "$SPECS/$ALICE/hit.json"
    eventually test ! -e "$SPECS/$ALICE/hit.verdict"
}

# bats test_tags=turn:0
@test "a plugin that crashes on a request costs that request only" {
    begin_with_grants
    costs_only EDF FP crashes
    all_is_as_before
    costs_only EDF FP crashes
    all_is_as_before
    losses=0
    costs_only FP RR crashes
    all_is_as_before
}

# bats test_tags=turn:1
@test "a grant stays if the plugin crashes right after it" {
    begin_with_grants
    switch_on EDF crashes-after
    run spec $ALICE hit '{"runtime": "1ms", "period": "10ms", "priority": 15}'
    [ "$(field .grant.plugin "$output")" = EDF ]
    eventually restarted EDF 1
    eventually left_of_edf 4000
    rm "$SPECS/$ALICE/hit.json"
    all_is_as_before
}

# bats test_tags=turn:2
@test "a plugin that breaks off in the middle of a sentence costs one request" {
    begin_with_grants
    costs_only EDF FP breaks-off
    all_is_as_before
}

# bats test_tags=turn:0
@test "a plugin that ends in the middle of an unasked message is started again, and the broker sleeps" {
    begin_with_grants
    switch_on EDF ends-unfinished
    spec $ALICE hit "$any" >/dev/null
    eventually restarted EDF 1
    rm "$SPECS/$ALICE/hit.json"
    all_is_as_before
    before=$(cut -d ' ' -f 14,15 "/proc/$BROKER/stat")
    sleep 0.3
    [ "$(cut -d ' ' -f 14,15 "/proc/$BROKER/stat")" = "$before" ]
}

# bats test_tags=turn:1
@test "a plugin that hangs costs one request, and that no longer than its timeout" {
    begin_with_grants
    costs_only EDF FP hangs
    all_is_as_before
    losses=0
    costs_only FP RR hangs
    all_is_as_before
}

# bats test_tags=turn:2
@test "a plugin that answers too late has not answered" {
    begin_with_grants
    costs_only EDF FP late 0.8
    all_is_as_before
}

# For 50 ms in a second the kernel's fair server, or RT throttling, may keep a plugin from its CPU.
# bats test_tags=turn:0
@test "a plugin that is 60 ms late does not count as hung, unless timeout= says so" {
    for timeout in '' timeout=50ms; do
        configure_plugins "FP $WORK/faulty 11-20 all $timeout good=$RTF_LIBEXEC/plugins/fp switch=$WORK/switch/FP"
        broker_start
        switch_on FP late 0.06
        spec $ALICE hit "$any" >"$WORK/answer"
        has_misbehaved FP
        [ "$(jq -r .result "$WORK/answer")" = "$([ -z "$timeout" ] && echo OK || echo SCHEDULE_FAIL)" ]
        rm "$SPECS/$ALICE/hit.json"
        broker_stop TERM
    done
}

# bats test_tags=turn:1
@test "an answer that the broker was kept from reading is not late" {
    begin_with_grants
    switch_on EDF late 0.1
    put $ALICE hit "$any"
    eventually has_misbehaved EDF
    kill -STOP "$BROKER"
    sleep 0.5
    kill -CONT "$BROKER"
    run verdict $ALICE hit
    [ "$(field .grant.plugin "$output")" = EDF ]
}

# bats test_tags=turn:2
@test "a plugin that babbles costs one request: words, bytes, a paragraph without end" {
    begin_with_grants
    costs_only EDF FP garbage
    costs_only EDF FP binary
    costs_only EDF FP endless
    all_is_as_before
}

# bats test_tags=turn:0
@test "the broker does not believe an unasked answer" {
    begin_with_grants
    costs_only EDF FP other-id
    all_is_as_before
    switch_on EDF two-answers # only the first answer counts
    run spec $ALICE hit "$any"
    [ "$(field .result "$output")" = OK ]
    eventually restarted EDF 2
    rm "$SPECS/$ALICE/hit.json"
    all_is_as_before
}

# bats test_tags=turn:1
@test "a plugin that offers CPUs, a policy or a priority that are not its own costs one request" {
    begin_with_grants
    costs_only EDF FP set cpus 0-77
    costs_only EDF FP set policy fifo
    costs_only EDF FP set priority 15
    all_is_as_before
    losses=0
    costs_only FP RR set priority 21
    costs_only FP RR set policy deadline
    costs_only FP RR set cpus 77
    all_is_as_before
}

# bats test_tags=turn:2
@test "a plugin that offers another runtime, period or deadline than was asked costs one request" {
    begin_with_grants
    costs_only EDF FP more runtime
    costs_only EDF FP more period
    costs_only EDF FP more deadline
    all_is_as_before
}

# bats test_tags=turn:0
@test "a plugin that promises more than the rules allow the user costs one request" {
    configure_rules "$ALICE - max_utilization 2" "$ALICE - max_runtime 1ms" "$BOB - max_utilization 2"
    broker_start
    switch_on EDF more runtime
    run spec $ALICE hit '{"runtime": "1ms", "desired_runtime": "5ms", "period": "10ms", "priority": 15}'
    [ "$(field .replies[0].answer "$output")" = restarting ]
    eventually restarted EDF 1
    run spec $BOB cam '{"runtime": "1ms", "desired_runtime": "5ms", "period": "10ms"}'
    [ "$(field .grant.accepted_runtime "$output")" = 5000 ]
}

# bats test_tags=turn:1
@test "a plugin that promises more than its threshold is asked once more, and is not believed" {
    begin_with_grants
    switch_on EDF promises 0-1
    run spec $ALICE hit '{"runtime": "6ms", "period": "10ms", "priority": 15}' # 0.5 is left
    # A correct plugin can also offer too much, if another request is granted meanwhile. So the broker asks EDF again. EDF then answers correctly and refuses.
    [ "$(field .grant.plugin "$output")" = FP ]
    [ "$(field '.replies[0].reason' "$output")" = "CPUs 0-1 have 0.5 of 0.8 left, 0.6 asked" ]
    rm "$SPECS/$ALICE/hit.json"
    all_is_as_before
}

# bats test_tags=turn:2
@test "a plugin that always promises more than its threshold never gets past it" {
    sed -i 's/    doing = .*/    doing = ["promises", "0-1"] if asked["op"] == "accept" else []/' "$WORK/faulty"
    broker_start
    run spec $ALICE one '{"runtime": "8ms", "period": "10ms", "plugin": "EDF"}'
    [ "$(field .grant.plugin "$output")" = EDF ]
    run spec $ALICE two '{"runtime": "2us", "period": "1s", "priority": 15}'
    [ "$(field .grant.plugin "$output")" != EDF ]
    [ "$(field .replies[0].answer "$output")" = restarting ]
}

# bats test_tags=turn:0
@test "a plugin that moves a task of another plugin, or an unknown task, costs one request" {
    begin_with_grants
    costs_only EDF FP moves 31337 cpus 0-1
    all_is_as_before
    # Tasks have numbers in the order of the specs: 2 is FP's task.
    costs_only EDF FP moves 2 cpus 0-1
    all_is_as_before
    losses=0
    costs_only FP RR moves 1 priority 12
    all_is_as_before
}

# bats test_tags=turn:1
@test "a plugin that moves its own task to a CPU or priority that is not its own costs one request" {
    begin_with_grants
    costs_only EDF FP moves 1 cpus 77
    losses=0
    costs_only FP RR moves 2 priority 21
    costs_only FP RR moves 2 cpus 0,77
    all_is_as_before
}

# bats test_tags=turn:2
@test "a change that meets a fault leaves the old grant in force" {
    begin_with_grants
    switch_on EDF crashes
    run spec $ALICE early '{"runtime": "2ms", "period": "10ms", "plugin": "EDF"}'
    [ "$(field .result "$output")" = SCHEDULE_FAIL ]
    [ "$(field .grant.runtime "$output")" = 1000 ]
    [ "$(field .refusal.retry "$output")" = when-freed ]
    all_is_as_before
    run spec $ALICE early '{"runtime": "2ms", "period": "10ms", "plugin": "EDF"}'
    [ "$(field .grant.runtime "$output")" = 2000 ]
    [[ $(kernel "$edf_thread") == *" 2000/10000/10000 "* ]]
}

# bats test_tags=turn:0
@test "while one plugin hangs, specs for the others are answered" {
    sed -i 's/timeout=500ms/timeout=5s/' "$CONFIG/plugins.conf"
    begin_with_grants
    switch_on EDF hangs
    put $ALICE slow "$any"
    eventually has_misbehaved EDF
    run spec $BOB quick '{"priority": 12, "plugin": "FP"}'
    [ "$(field .grant.plugin "$output")" = FP ]
    as $ALICE rm "$SPECS/$ALICE/strong.tid"
    run verdict $ALICE strong
    [ "$(field .request "$output")" = detach ]
    [ ! -e "$SPECS/$ALICE/slow.verdict" ] # slow is not answered yet, so the plugin still hangs
    run verdict $ALICE slow
    [ "$(field .grant.plugin "$output")" = FP ]
}

# pid_of PLUGIN: prints the id of the process that runs for this line
pid_of() { helpers " name=$1 "; }

# bats test_tags=turn:1
@test "a plugin killed at rest is started again and knows its grants" {
    begin_with_grants
    kill -KILL "$(pid_of EDF)"
    eventually restarted EDF 1
    kill -KILL "$(pid_of FP)"
    eventually restarted FP 1
    all_is_as_before
    run spec $ALICE late '{"priority": 20, "plugin": "FP"}'
    [ "$(field .grant.priority "$output")" = 20 ] # the new priority is above 14, which FP knows from before
}

# bats test_tags=turn:2
@test "a plugin that is stopped costs one request, and a thousand specs at once are answered" {
    begin_with_grants
    kill -STOP "$(pid_of EDF)"
    run spec $ALICE hit "$any"
    [ "$(field .grant.plugin "$output")" = FP ]
    [ "$(field .replies[0].answer "$output")" = restarting ]
    rm "$SPECS/$ALICE/hit.json"
    all_is_as_before
    kill -STOP "$(pid_of EDF)"
    as $BOB /usr/bin/python3 -S - "$SPECS/$BOB" <<'END'
import os, sys
os.chdir(sys.argv[1])
for number in range(900):
    with open(".new", "w") as file:
        file.write('{"runtime": 2, "period": 1000000, "priority": 15}')
    os.rename(".new", f"w{number}.json")
END
    eventually count_is 902 "$SPECS/$BOB" verdict # together with the verdicts of big and whole
    [ "$(cd "$SPECS/$BOB" && cat w[0-9]*.verdict | jq -r .result | sort | uniq -c | tr -s ' ')" = " 900 OK" ]
    rm "$SPECS/$BOB"/w*.json
    all_is_as_before
}

# count_is NUMBER DIRECTORY ENDING
count_is() {
    set -- "$1" "$2"/*."$3"
    [ $(($# - 1)) -eq "$1" ]
}

# bats test_tags=turn:0
@test "a plugin with a program that is not there serves again when the program is there again, and knows all tasks" {
    begin_with_grants
    mv "$WORK/faulty" "$WORK/away"
    kill -KILL "$(pid_of EDF)"
    run spec $ALICE hit "$any"
    [ "$(field .grant.plugin "$output")" = FP ]
    # Detaching, releasing and attaching need no plugin.
    rm "$SPECS/$BOB/big.json" "$SPECS/$ALICE/hit.json"
    eventually test ! -e "$SPECS/$BOB/big.verdict"
    as $ALICE rm "$SPECS/$ALICE/early.tid"
    run verdict $ALICE early
    [ "$(field .request "$output")" = detach ]
    [[ $(kernel "$edf_thread") == "other 0 "* ]]
    run attach $ALICE early "$edf_thread"
    [ "$(kernel "$edf_thread")" = "$edf_before" ]
    mv "$WORK/away" "$WORK/faulty"
    eventually restarted EDF 1
    eventually left_of_edf 7000
}

# bats test_tags=turn:1
@test "a plugin that crashes on every message is started less and less often" {
    printf '#!/bin/sh\nprintf "protocol=1\\nanswer=ok\\n\\n"\n[ ! -e "%s" ] || exit 3\ncat >/dev/null\n' "$WORK/broken" >"$WORK/brief"
    chmod 755 "$WORK/brief"
    configure_plugins "BRIEF $WORK/brief 1-10 all" 'FP fp 11-20 all'
    broker_start
    touch "$WORK/broken"
    kill -KILL "$(pid_of BRIEF)"
    eventually restarted BRIEF 3
    began=${EPOCHREALTIME/./}
    run spec $ALICE cam '{"priority": 15}'
    [ "$(field .grant.plugin "$output")" = FP ]
    sleep 1
    [ "$(jq -c 'select(.stage == "plugin" and .plugin == "BRIEF")' "$EVENTS" | wc -l)" -lt 20 ]
}

# bats test_tags=turn:2
@test "a plugin that moves a task that was just released is not at fault" {
    local n
    configure_plugins 'RM rm 11-13 0 timeout=1000ms'
    broker_start
    # There are more periods than levels: each task that goes lets other tasks move.
    for n in 1 2 3 4 5 6; do [ "$(field .result "$(spec $ALICE "w$n" "{\"runtime\": \"1ms\", \"period\": \"${n}00ms\"}")")" = OK ]; done
    kill -STOP "$(pid_of RM)"
    as $ALICE sh -c 'cd "$1" && rm w*.json' sh "$SPECS/$ALICE"
    for n in 1 2 3 4 5 6; do eventually test ! -e "$SPECS/$ALICE/w$n.verdict"; done
    kill -CONT "$(pid_of RM)"
    [ "$(field .result "$(spec $ALICE next '{"runtime": "1ms", "period": "50ms"}')")" = OK ]
    run jq -r 'select(.stage == "plugin" and .decision == "killed") | .reason' "$EVENTS"
    [ "$output" = '' ]
}

# The broker goes through sets of CPUs word by word (64 bits), so these CPUs are at the ends of words.
# bats test_tags=turn:0
@test "a plan on several CPUs counts on each of them and on no other" {
    local cpu here=2,62-65,1023 there=0-1,127-128
    cat >"$WORK/trusting" <<'END'
#!/usr/bin/gawk -f
# Offers the asked runtime on the CPUs in the file that the word switch= names.
BEGIN {
    for (i = 1; i < ARGC; i++)
        if (sub(/^switch=/, "", ARGV[i])) file = ARGV[i]
    ARGC = 1
    FS = "="
    printf "protocol=1\nanswer=ok\ntests=none\n\n"
    fflush()
}
NF == 2 { asked[$1] = $2 }
NF == 0 {
    if (asked["op"] == "accept") {
        getline cpus <file
        close(file)
        printf "cpus=%s\npolicy=fifo\npriority=15\nruntime=%s\nperiod=%s\ndeadline=%s\n", cpus, asked["runtime"], asked["period"], asked["period"]
    }
    printf "answer=ok\n\n"
    fflush()
    delete asked
}
END
    chmod 755 "$WORK/trusting"
    configure_plugins "MINE $WORK/trusting 11-20 0-2,62-65,127-128,1023 threshold=1 switch=$WORK/switch/cpus"
    broker_start
    for cpus in "$here" "$there"; do
        echo "$cpus" >"$WORK/switch/cpus"
        answer=$(spec $ALICE "on-${cpus%%,*}" '{"runtime": "6ms", "period": "10ms"}')
        echo "$answer"
        [ "$(field .grant.cpus "$answer")" = "$cpus" ]
    done
    for cpu in 0 1 2 62 63 64 65 127 128 1023; do
        echo "$cpu" >"$WORK/switch/cpus"
        [ "$(field '.replies[0].reason' "$(spec $ALICE more '{"runtime": "6ms", "period": "10ms"}')")" = \
            "CPU $cpu would exceed its threshold of 1: 0.6 is promised already" ]
    done
    rm "$SPECS/$ALICE/on-2.json"
    eventually test ! -e "$SPECS/$ALICE/on-2.verdict"
    echo "$here" >"$WORK/switch/cpus"
    [ "$(field .result "$(spec $ALICE again '{"runtime": "9ms", "period": "10ms"}')")" = OK ]
}
