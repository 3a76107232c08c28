# bats file_tags=lane:compute
# contrib/plugin-check finds the faults of a plugin, and finds none in rtf's plugins. fixtures/plugins/bent makes the faults: it spoils the answers of a
# good plugin in one way at a time.
bats_require_minimum_version 1.5.0
load helper

setup() {
    check=(/usr/bin/python3 -S "$RTF_SOURCE/contrib/plugin-check")
    bent=$BATS_TEST_DIRNAME/fixtures/plugins/bent
    scratch=$(mktemp -d)
}

teardown() {
    rm -rf "$scratch"
}

# is_good_without: without the fault nothing is found, so it is the fault that is found. Runs once for each plugin and its options.
is_good_without() {
    local known
    known=$BATS_FILE_TMPDIR/$(cksum <<<"$*" | tr ' ' -)
    [ ! -e "$known" ] || return 0
    FAULT=none PLUGIN=$1 run "${check[@]}" --steps 200 "${@:2}" "$bent"
    [ "$status" -eq 0 ]
    touch "$known"
}

# finds FAULT SENTENCE PLUGIN [OPTION...]: the checker exits with 1, and one of its sentences on stderr contains this one
finds() {
    local fault=$1 sentence=$2 plugin=$3
    shift 3
    is_good_without "$plugin" "$@"
    FAULT=$fault PLUGIN=$plugin run --separate-stderr "${check[@]}" --steps 1000 "$@" "$bent"
    echo "$fault: $status: $stderr"
    [ "$status" -eq 1 ]
    [[ $stderr == *"$sentence"* ]]
    [[ $output != *" 0 faults" ]]
    [ "$(wc -l <<<"$output")" -eq 1 ]
}

# clean PLUGIN [OPTION...]: after this many steps the checker prints one line, and nothing on stderr
STEPS=2000
clean() {
    local plugin=$1
    shift
    run --separate-stderr "${check[@]}" --steps "$STEPS" "$@" "$plugin"
    echo "$*: $status: $output $stderr"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ $output =~ ^"plugin-check: ${plugin##*/}: "$STEPS" steps, "([0-9]+)" granted, "([0-9]+)" refused, 0 faults"$ ]]
    [ "${BASH_REMATCH[1]}" -gt 50 ]
    [ "${BASH_REMATCH[2]}" -gt $((STEPS / 100)) ]
}

on_harmonic() {
    finds "$1" "$2" "$RTF_SOURCE/contrib/plugins/harmonic" --words threshold=0.8
}

ours() {
    echo "$RTF_LIBEXEC/plugins/$1"
}

@test "no flush: names the buffer, not only the silence" {
    on_harmonic no-flush "came only at the end of its input: it holds its output back"
}

@test "waiting for the byte after the empty line is told from other silence" {
    on_harmonic next-byte 'came only when the next request began'
}

@test "taking one read for one request" {
    on_harmonic whole-reads "must not answer before the empty line"
}

# bats test_tags=turn:0
@test "a plugin that hangs, exits, or ends with another status than 0" {
    on_harmonic hangs "it hangs"
    on_harmonic exits "exited with status 3"
    on_harmonic ends-badly "exited with status 4"
}

@test "garbage, a duplicate key and an unasked answer are found" {
    on_harmonic garbage "each line must be KEY=VALUE"
    on_harmonic twice "a paragraph must not have a key twice"
    on_harmonic unasked "and nothing unasked"
}

@test "answers in another order than the requests, without ids" {
    on_harmonic last-first "must be answered in order"
}

@test "a CPU, a priority or a policy out of bounds" {
    on_harmonic wrong-cpu "within cpus=0-1"
    on_harmonic wrong-priority "within priority=11-30"
    on_harmonic wrong-policy "policy= must be deadline, fifo or rr"
}

@test "more than the threshold" {
    on_harmonic over-threshold "must be at most 0.8"
}

# bats test_tags=turn:1
@test "a period that lost its digits, a runtime above the desired one, a refusal without reason" {
    on_harmonic rounded "a time must be a whole number"
    on_harmonic too-much "at most the desired runtime"
    on_harmonic no-reason "must have a reason="
}

@test "nearest off by one, in both directions" {
    on_harmonic nearest-high "must be granted when it is asked for"
    on_harmonic nearest-low "must be the largest runtime that the plugin grants"
}

@test "a least runtime that is off by one" {
    finds minimum-high "must be the least and the largest runtime" "$(ours edf)" --model edf --words partition=unthrottled
}

@test "a plugin that does not look at the users: overruns of others are forgotten" {
    finds no-owner "us by equation 3 of the ReTiF paper" "$(ours edf)" --model edf --words "partition=unthrottled overrun=300us"
}

@test "retry=never for what other tasks take" {
    on_harmonic never "must say retry=never only of what it can never grant"
}

@test "a question that commits" {
    on_harmonic question-commits "accept without commit must change nothing"
}

@test "a refused change that loses the old reservation" {
    on_harmonic refused-change-loses-old "a refused change must keep the old reservation"
}

@test "releases that are forgotten" {
    on_harmonic forgets-releases "the sums must be zero again"
}

# bats test_tags=turn:0
@test "a plugin that stumbles over keys it does not know" {
    on_harmonic known-keys-only "the plugin must ignore unknown keys"
}

# bats test_tags=turn:2
@test "an update of a task it does not hold" {
    on_harmonic foreign-update "update= must name a task that this plugin holds"
}

# bats test_tags=turn:1
@test "sums of floating point numbers that drift" {
    run --separate-stderr "${check[@]}" --steps 3000 --seed 9 --priority - --model none "$BATS_TEST_DIRNAME/fixtures/plugins/drifting"
    echo "$output $stderr"
    [ "$status" -eq 1 ]
    [[ $stderr == *"the answers must be"* ]]
}

@test "a plan over several CPUs counts once, and may take the capacity of all of them, for each kind of plugin" {
    clean "$(ours edf)" --model none --words partition=global --priority -
    finds over-threshold "the sum of utilisations on these 2 CPUs must be at most 1: 2 times threshold= (equation 3 of the ReTiF paper)" "$(ours edf)" --model none --words "partition=global threshold=0.5" --priority -
}

# bats test_tags=turn:1
@test "edf: more than equation 3, less than equation 4, not the least loaded CPU" {
    words="partition=unthrottled threshold=0.8"
    finds over-threshold "equation 3" "$(ours edf)" --model edf --words "$words"
    finds no-desired "equation 4" "$(ours edf)" --model edf --words "$words"
    finds any-cpu "the least utilisation" "$(ours edf)" --model edf --words "$words"
}

# bats test_tags=turn:2
@test "exact tests: what blocks is forgotten" {
    words="partition=unthrottled admission=demand fair_server=0us blocking=2ms"
    finds no-blocking "must refuse what fails the demand test" "$(ours edf)" --model edf --words "$words"
    finds no-blocking "every task must meet its deadline" "$(ours rm)" --model rm --words "admission=rta blocking=2ms"
}

# bats test_tags=turn:1
@test "others' tasks: borne whatever they are, noted although refused" {
    finds bears-all "must refuse a load of a whole CPU" "$(ours edf)" --model edf --words partition=unthrottled
    finds notes-refused-load "must not note a load that it refused" "$(ours rm)" --model rm --words admission=rta
}

# bats test_tags=turn:1
@test "grants=tested and a grant without runtime" {
    finds says-all-is-tested "with grants=tested the plugin must refuse a request without runtime" "$(ours rm)" --model rm
}

# bats test_tags=turn:0
@test "rm: a weaker test, levels turned round" {
    finds weaker-test "must refuse what fails the hyperbolic test" "$(ours rm)" --model rm
    finds inversion "levels must follow the periods" "$(ours rm)" --model rm
}

# bats test_tags=turn:2
@test "fp and rr: levels turned round, another CPU than the one with fewest tasks" {
    for plugin in fp rr; do
        finds inversion "levels must follow the requested priorities" "$(ours $plugin)" --model $plugin
        finds any-cpu "the CPU with the fewest tasks" "$(ours $plugin)" --model $plugin
    done
}

@test "wrong usage is 64, a plugin that cannot be started is a fault" {
    run "${check[@]}" --cpus none /bin/true
    [ "$status" -eq 64 ]
    run "${check[@]}" --priority 0-200 /bin/true
    [ "$status" -eq 64 ]
    run "${check[@]}"
    [ "$status" -eq 64 ]
    run "${check[@]}" "$scratch/absent"
    [ "$status" -eq 1 ]
    [[ $output == *"cannot be started"* ]]
    run "${check[@]}" --priority - "$RTF_SOURCE/contrib/plugins/harmonic"
    [ "$status" -eq 1 ]
    [[ $output == *"declines to start"* ]]
}

# bats test_tags=turn:0
@test "slots is right under every awk here, and says the same under each" {
    for awk in mawk gawk; do
        command -v $awk || skip "no $awk"
        AWK=$awk clean "$RTF_SOURCE/contrib/plugins/slots"
        AWK=$awk clean "$RTF_SOURCE/contrib/plugins/slots" --words slots=1 --cpus 0,2-3 --seed 2
    done
    for awk in mawk gawk; do
        { printf 'op=accept\nid=%d\ntask=%d\nruntime=2500000000\nperiod=3600000000\n\n' 1 2 3 4 5 6
          printf 'op=accept\nid=9\ntask=9\nruntime=9\nperiod=3600000001\ncommit=if-ok\n\n'; } |
            AWK=$awk "$RTF_SOURCE/contrib/plugins/slots" name=S cpus=3,8-9 priority=7-9 slots=1 >"$scratch/$awk"
    done
    grep -qx nearest=3600000000 "$scratch/mawk" || grep -qx period=3600000000 "$scratch/mawk"
    cmp "$scratch/mawk" "$scratch/gawk"
}

# bats test_tags=turn:2
@test "harmonic is right" {
    clean "$RTF_SOURCE/contrib/plugins/harmonic"
    clean "$RTF_SOURCE/contrib/plugins/harmonic" --words threshold=0.7 --cpus 0,2-4 --priority 1-3 --seed 2
}

@test "a plan weighs as in the ledger: under FIFO and RR by the period, under SCHED_DEADLINE by a shorter deadline" {
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$RTF_SOURCE/contrib" /usr/bin/python3 -S -c '
from fractions import Fraction
from types import SimpleNamespace as Of
from plugin_check.model import Model
def weight(levels, tests, **plan):
    model = Model(Of(levels=levels, words={}))
    model.tests = tests
    return model.weigh(Of(**plan))
plan = dict(runtime=10, period=100, deadline=20)
for tests in "none", "necessary", "sufficient", "exact":
    assert weight((1, 9), tests, **plan) == Fraction(1, 10), tests
    assert weight((1, 9), tests, runtime=10, period=None, deadline=20) == Fraction(1, 2), tests
assert weight(None, "sufficient", **plan) == Fraction(1, 2)
assert weight(None, "exact", **plan) == Fraction(1, 10)'
}

# prints the next literal block of the manual page after MARK
literal() {
    awk -v mark="# $1" '$0 == mark { on = 1 } on && /^```/ { n++; next } on && n == 1 { print } n == 2 { exit }' \
        "$RTF_SOURCE/man/rtf-plugin.7.scd"
}

@test "the plugin in rtf-plugin(7) works" {
    literal "A COMPLETE PLUGIN" >"$scratch/solo"
    chmod +x "$scratch/solo"
    run ! grep -F "\\" "$scratch/solo" # scdoc would remove a backslash
    clean "$scratch/solo"
    clean "$scratch/solo" --cpus 0,3-5 --priority 7
}

@test "the conversation in rtf-plugin(7) is what that plugin says" {
    literal "A COMPLETE PLUGIN" >"$scratch/solo"
    literal "AN EXAMPLE" >"$scratch/conversation"
    sed -n 's/^< \{0,1\}//p' "$scratch/conversation" >"$scratch/expected"
    sed -n 's/^> \{0,1\}//p' "$scratch/conversation" |
        sh "$scratch/solo" name=SOLO cpus=2-3 priority=10-20 >"$scratch/said"
    [ -s "$scratch/expected" ]
    diff "$scratch/expected" "$scratch/said"
}

@test "rtf-plugin(7) can be made into a page" {
    scdoc <"$RTF_SOURCE/man/rtf-plugin.7.scd" >/dev/null
}

# one CPU, few CPUs, and many CPUs that do not exist
in_all_sizes() {
    for cpus in 0 0-3 64-127; do
        clean "$@" --cpus $cpus
    done
}

# The checks wait for their plugins more than they compute. (`jobs` would name bats's own timer, too.)
checks=()
beside() {
    "$@" 3>&- &
    checks+=("$!")
}
all_are_clean() {
    local pid
    for pid in "${checks[@]}"; do wait "$pid"; done
}

# bats test_tags=turn:1
@test "edf: 10,000 steps, and 2,000 in other shapes: partitioned, global, low thresholds" {
    STEPS=10000 beside clean "$(ours edf)" --seed 110 --cpus 0-3
    beside in_all_sizes "$(ours edf)" --seed 11
    beside in_all_sizes "$(ours edf)" --seed 12 --words "partition=unthrottled"
    beside clean "$(ours edf)" --seed 13 --words "partition=unthrottled threshold=0.333333333" --cpus 1,5-6
    beside clean "$(ours edf)" --seed 14 --words "partition=unthrottled threshold=1"
    beside clean "$(ours edf)" --seed 15 --words "partition=global threshold=0.5" --cpus 0-3
    all_are_clean
}

# bats test_tags=turn:0
@test "edf with overruns of other users: 1,000 steps with each test" {
    STEPS=1000
    for words in "overrun=300us" "overrun=100us admission=gfb" "overrun=tick"; do beside clean "$(ours edf)" --seed 16 --words "$words" --cpus 0-2; done
    beside clean "$(ours edf)" --seed 17 --words "partition=unthrottled overrun=300us"
    STEPS=300 beside clean "$(ours edf)" --seed 18 --words "partition=unthrottled admission=demand overrun=100us fair_server=0us"
    all_are_clean
}

# bats test_tags=turn:2
@test "rm: 10,000 steps, and 2,000 in other shapes: every test, many levels and few" {
    STEPS=10000 beside clean "$(ours rm)" --seed 210 --cpus 0-3
    beside in_all_sizes "$(ours rm)" --seed 21
    beside in_all_sizes "$(ours rm)" --seed 22 --priority 1-3
    beside clean "$(ours rm)" --seed 23 --words admission=liu-layland
    beside clean "$(ours rm)" --seed 24 --words admission=necessary --priority 5
    beside clean "$(ours rm)" --seed 25 --words "admission=necessary threshold=0.9"
    beside clean "$(ours rm)" --seed 26 --words threshold=0.5 --priority 1-97
    all_are_clean
}

# bats test_tags=turn:0
@test "edf and rm, the tests that are sufficient for many CPUs or exact for one: 1,000 steps in many shapes" {
    STEPS=1000
    for words in "admission=gfb" "admission=gfb threshold=0.7"; do
        beside clean "$(ours edf)" --seed 51 --words "$words" --cpus 0-2
    done
    for words in "partition=unthrottled" "partition=cpuset fair_server=0us" "partition=unthrottled blocking=200us fair_server=5ms" \
        "partition=unthrottled supply=0.9,300us" "partition=cpuset supply=0.95,50us fair_server=0us overrun=100us"; do
        beside clean "$(ours edf)" --seed 52 --words "admission=demand $words"
    done
    for range in 1-97 11-13 7; do
        beside clean "$(ours rm)" --seed 53 --words "admission=rta" --priority $range
        beside clean "$(ours rm)" --seed 54 --words "admission=rta fair_server=0us blocking=150us threshold=0.95" --priority $range
    done
    beside clean "$(ours rm)" --seed 55 --words "admission=rta" --cpus 0-3
    beside clean "$(ours rm)" --seed 56 --words "admission=rta supply=0.85,150us blocking=50us"
    all_are_clean
}

# bats test_tags=turn:1
@test "fp: 10,000 steps, and 2,000 in other shapes: many levels and few, sharing and rejecting" {
    STEPS=10000 beside clean "$(ours fp)" --seed 310 --cpus 0-3
    beside in_all_sizes "$(ours fp)" --seed 31
    beside in_all_sizes "$(ours fp)" --seed 32 --priority 1-3
    beside clean "$(ours fp)" --seed 33 --priority 1-3 --words exhausted=reject
    beside clean "$(ours fp)" --seed 34 --priority 9 --words exhausted=reject --cpus 0-3
    all_are_clean
}

# bats test_tags=turn:2
@test "rr: 10,000 steps, and 2,000 in other shapes: many levels and few, sharing and rejecting" {
    STEPS=10000 beside clean "$(ours rr)" --seed 410 --cpus 0-3
    beside in_all_sizes "$(ours rr)" --seed 41
    beside in_all_sizes "$(ours rr)" --seed 42 --priority 1-3
    beside clean "$(ours rr)" --seed 43 --priority 1-3 --words exhausted=reject
    beside clean "$(ours rr)" --seed 44 --priority 9 --words exhausted=reject --cpus 0-3
    all_are_clean
}
