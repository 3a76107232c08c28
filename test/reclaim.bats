# bats file_tags=lane:alone
# The keys "reclaim" and "overrun_signal": two flags of SCHED_DEADLINE. Each flag is read back from the kernel, and its effect is measured.
load helper
bats_require_minimum_version 1.5.0

prepare() {
    configure_rules "$ALICE - max_utilization 2" "$ALICE EDF reclaim true" "$BOB - max_utilization 2"
}

no_domains() { "$RTF_LIBEXEC/rtf-partition" restore 2>/dev/null; }
tidy() {
    if [ -e /run/rtf/domains ] && [ -n "$BROKER" ]; then broker_stop TERM; fi
    if [ -e /run/rtf/domains ]; then eventually no_domains; fi
}

TENTH='{"plugin": "EDF", "runtime": "10ms", "period": "100ms"}'
# with JSON MEMBER: the JSON object with another member
with() { echo "${1%\}}, $2}"; }
granted() { told '.result == "OK"' "$(spec "$1" "$2" "$3")"; }
refused() { told ".result != \"OK\" and .refusal.code == \"$1\" and (.reason | contains(\"$2\"))" "$3"; }
view_is() { [ "$(kernel "$1")" = "$2" ]; }
PLAIN="deadline 0 nice=0 10000/100000/100000 cpus=$ALL_CPUS reset=1"

# shares SECONDS TID...: prints how many thousandths of a CPU each thread has in this time.
shares() {
    local seconds=$1 tid i=0 before=() began
    shift
    began=$(milliseconds)
    for tid; do before+=("$(consumed "$tid")"); done
    sleep "$seconds" # this time is measured
    for tid; do echo $((($(consumed "$tid") - before[i++]) * 1000 / ($(milliseconds) - began))); done
}

# reload RULE...: the broker reads these rules. RELOADS counts.
RELOADS=0
reload() {
    configure_rules "$@"
    kill -HUP "$BROKER"
    RELOADS=$((RELOADS + 1))
    eventually has_reloaded
}
has_reloaded() { [ "$(grep -c '"decision":"reloaded"' "$EVENTS")" -eq "$RELOADS" ]; }

@test "reclaim needs a rule that says true, overrun_signal needs no rule, and both keys need SCHED_DEADLINE" {
    broker_start
    refused not-opened 'no rule in acl.conf allows reclaim (reclaim true)' "$(spec $BOB cam "$(with "$TENTH" '"reclaim": true')")"
    granted $BOB cam "$(with "$TENTH" '"reclaim": false, "overrun_signal": true')"
    told '.grant.overrun_signal and (.grant | has("reclaim") | not)' "$(cat "$SPECS/$BOB/cam.verdict")"
    reload "$ALICE - max_utilization 2" "- - reclaim true" "$ALICE EDF reclaim false"
    refused beyond-rule 'acl.conf:3: ' "$(spec $ALICE cam "$(with "$TENTH" '"reclaim": true')")"
    reload "$ALICE - max_utilization 2" "- - reclaim true"
    granted $ALICE cam "$(with "$TENTH" '"reclaim": true')"
    told '.grant.reclaim and (.grant | has("overrun_signal") | not)' "$(cat "$SPECS/$ALICE/cam.verdict")"
    for key in reclaim overrun_signal; do
        answer=$(spec $ALICE two "{\"plugin\": \"FP\", \"priority\": 15, \"runtime\": \"1ms\", \"period\": \"100ms\", \"$key\": true}")
        told '.refusal.code == "unsuitable"' "$answer"
        [[ $(field .reason "$answer") == *"the key \"$key\" needs SCHED_DEADLINE, which the plugin does not give"* ]]
    done
}

# A thread that reclaims takes the CPU from all threads of fixed priorities. Without the kernel's limit it would take all of the CPU.
@test "reclaim is refused beside a plugin that promises CPU time to threads of fixed priorities, and without the kernel's limit" {
    configure_plugins 'EDF edf - all partition=global threshold=0.5' 'FP fp 11-20 all threshold=0.3'
    broker_start
    refused unsuitable 'FP promises CPU time' "$(spec $ALICE cam "$(with "$TENTH" '"reclaim": true')")"
    granted $ALICE cam "$(with "$TENTH" '"overrun_signal": true')"
    broker_stop TERM
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.5'
    broker_start
    refused unsuitable 'the line of EDF has partition=unthrottled' "$(spec $ALICE cam "$(with "$TENTH" '"reclaim": true')")"
    granted $ALICE cam "$(with "$TENTH" '"overrun_signal": true')"
}

@test "a grant with reclaim ends if the broker starts again where reclaim is refused" {
    broker_start
    sleeper $ALICE
    granted $ALICE cam "$(with "$TENTH" "\"reclaim\": true, \"attach\": $SLEEPER")"
    broker_stop KILL
    configure_plugins 'EDF edf - all partition=global threshold=0.5' 'FP fp 11-20 all threshold=0.3'
    broker_start
    eventually refused unsuitable 'FP promises CPU time' "$(cat "$SPECS/$ALICE/cam.verdict")"
    eventually is_policy "$SLEEPER" other
}

@test "the kernel has the flags as long as the spec states the keys, also after a crash of the broker" {
    broker_start
    sleeper $ALICE
    granted $ALICE cam "$(with "$TENTH" "\"reclaim\": true, \"overrun_signal\": true, \"attach\": $SLEEPER")"
    view_is "$SLEEPER" "$PLAIN reclaim overrun"
    broker_stop KILL
    broker_start
    view_is "$SLEEPER" "$PLAIN reclaim overrun"
    told '.grant.reclaim and .grant.overrun_signal' "$(cat "$SPECS/$ALICE/cam.verdict")"
    granted $ALICE cam "$(with "$TENTH" '"reclaim": false, "overrun_signal": true')"
    view_is "$SLEEPER" "$PLAIN overrun"
    granted $ALICE cam "$(with "$TENTH" '"reclaim": true')"
    view_is "$SLEEPER" "$PLAIN reclaim"
    granted $ALICE cam "$TENTH"
    view_is "$SLEEPER" "$PLAIN"
    granted $ALICE cam "$(with "$TENTH" '"reclaim": true')"
    view_is "$SLEEPER" "$PLAIN reclaim"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually view_is "$SLEEPER" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
}

@test "a thread that lost its flags while no broker ran gets them back, and a thread that gained flags loses them" {
    broker_start
    sleeper $ALICE
    granted $ALICE cam "$(with "$TENTH" "\"overrun_signal\": true, \"attach\": $SLEEPER")"
    broker_stop KILL
    chrt --deadline --reset-on-fork --sched-runtime 10000000 --sched-deadline 100000000 --sched-period 100000000 --pid 0 "$SLEEPER"
    view_is "$SLEEPER" "$PLAIN"
    broker_start
    eventually view_is "$SLEEPER" "$PLAIN overrun"
}

@test "a thread has more than its runtime only with reclaim, while nothing else is reserved" {
    broker_start
    hog $ALICE
    granted $ALICE cam "$(with "$TENTH" "\"attach\": $HOG")"
    plain=$(shares 2 "$HOG")
    granted $ALICE cam "$(with "$TENTH" '"reclaim": true')"
    reclaimed=$(shares 2 "$HOG")
    echo "# 10 ms in 100 ms: 0.$(printf %03d "$plain") of a CPU without reclaim, $reclaimed thousandths with reclaim" >&3
    [ "$plain" -le 200 ]
    [ "$reclaimed" -ge 500 ]
}

@test "beside a thread that reclaims, another admitted thread has its runtime" {
    configure_plugins 'EDF edf - 1 partition=cpuset'
    broker_start
    hog $ALICE
    greedy=$HOG
    granted $ALICE cam "$(with "$TENTH" "\"reclaim\": true, \"attach\": $greedy")"
    alone=$(shares 2 "$greedy")
    [ "$alone" -ge 500 ]
    hog $BOB
    granted $BOB mic '{"plugin": "EDF", "runtime": "50ms", "period": "100ms", "attach": '"$HOG"'}'
    once_of 3 has_its_runtime
}
has_its_runtime() {
    read -r -d '' beside guaranteed < <(shares 3 "$greedy" "$HOG") || true
    echo "# on one CPU 10 ms in 100 ms with reclaim had $alone thousandths alone, and $beside beside 50 ms in 100 ms, which had $guaranteed" >&3
    [ "$guaranteed" -ge 480 ] && [ "$beside" -ge 90 ]
}

# counter FILE: starts a process of Alice that spins, and adds a character to the file at each SIGXCPU.
counter() {
    cat >"$WORK/counter.py" <<'END'
import signal, sys
signals = open(sys.argv[1], "ab", buffering=0)
signal.signal(signal.SIGXCPU, lambda *_: signals.write(b"x"))
while True:
    pass
END
    install -m 666 /dev/null "$1"
    become $ALICE /usr/bin/python3 -S "$WORK/counter.py" "$1" 3>&- &
    COUNTER=$!
    echo "$COUNTER" >>"$WORK/pids"
    eventually catches_xcpu
}
# SIGXCPU is signal 24
catches_xcpu() { (((0x$(awk '/^SigCgt/ { print $2 }' "/proc/$COUNTER/status") >> 23) & 1)); }
has_signals() { [ "$(stat -c %s "$1")" -ge "$2" ]; }

@test "with overrun_signal a process gets SIGXCPU at each overrun, and without the key it gets none" {
    broker_start
    counter "$WORK/signals"
    granted $ALICE cam "$(with "$TENTH" "\"attach\": $COUNTER")"
    shares 1 "$COUNTER" >/dev/null
    no has_signals "$WORK/signals" 1
    granted $ALICE cam "$(with "$TENTH" '"overrun_signal": true')"
    eventually has_signals "$WORK/signals" 5
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_policy "$COUNTER" other
    kill -0 "$COUNTER"
}

@test "a process without a handler for SIGXCPU is ended by its first overrun" {
    broker_start
    hog $ALICE
    granted $ALICE cam "$(with "$TENTH" "\"overrun_signal\": true, \"attach\": $HOG")"
    status=0
    wait "$HOG" || status=$?
    [ "$status" -eq $((128 + 24)) ]
}
