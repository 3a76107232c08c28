# The keys and values of a spec, rtf-spec(5). Any other text is refused with a sentence that names the file, the key or the line, and the allowed values,
# and delays no other user. test/unit/spec.c has each key with its values, and each kind of malformed text.
load helper
load many

ONLINE=$(</sys/devices/system/cpu/online)
a_time='must be a whole number of microseconds, or a string such as "8ms" with us, ms, s, min, h or d, from 1us to 3600s'

# put_bytes UID NAME: puts the bytes of standard input in place as a spec.
put_bytes() {
    as "$1" sh -c 'mkdir -p "$1" && cd "$1" && cat >".$2.new" && mv ".$2.new" "$2.json"' sh "$SPECS/$1" "$2"
}

is_plain() { ! LC_ALL=C grep -q '[^ -~]' <<<"$1"; }

# is_refused SENTENCE...: the verdict on cam.json, which was just written, is BAD_SPEC. Its reason begins with the
# file's name and contains each SENTENCE. Nothing is granted.
is_refused() {
    local result by retry grant reason part
    IFS=$'\t' read -r result by retry grant reason \
        < <(verdict $ALICE cam | jq -r '[.result, .refusal.by, .refusal.retry, .grant, .reason] | map(. // "null") | @tsv')
    echo "$result: $reason"
    [ "$result $by $retry $grant" = "BAD_SPEC spec never null" ]
    [[ $reason == cam.json* ]]
    is_plain "$reason"
    for part; do
        [[ $reason == *"$part"* ]] || { echo "misses: $part"; return 1; }
    done
}

# refuses JSON SENTENCE...: writes cam.json, and fails unless is_refused is true for it.
refuses() {
    echo "--- $1"
    put $ALICE cam "$1"
    shift
    is_refused "$@"
}

# drop JSON...: writes all specs at once, as v1.json, v2.json, ..., and prints their verdicts as one array.
drop() {
    local json
    local -a names=() specs=()
    for json; do
        names+=("v$((${#names[@]} + 1))")
        specs+=("${names[-1]}" "$json")
    done
    put_all $ALICE "${specs[@]}"
    verdicts $ALICE "${names[@]}" | jq -s .
}

# refuses_all SENTENCES SPEC...: checks what is_refused checks, for all specs at once. SENTENCES are separated by |.
refuses_all() {
    local sentences=$1 wrong
    shift
    wrong=$(drop "$@" | jq -c --arg sentences "$sentences" 'to_entries[] | .key as $n | .value as $v | $v.reason as $r |
        select(($v.result == "BAD_SPEC" and $v.refusal.by == "spec" and $v.refusal.retry == "never" and $v.grant == null and
            ($r | startswith("v\($n + 1).json: ")) and ($r | test("^[ -~]*$")) and
            ($sentences | split("|") | all(. as $sentence | $r | contains($sentence)))) | not) |
        [$ARGS.positional[$n][0:80], $v.result, $r]' --args "$@")
    echo "$wrong"
    [ -z "$wrong" ]
}

# takes JSON: the broker accepts the spec as well-formed, whether or not it grants it. `answer` is the verdict.
takes() {
    answer=$(spec $ALICE cam "$1")
    echo "--- $1: $answer"
    [[ $(field .result "$answer") == OK || $(field .result "$answer") == *_FAIL ]]
}

repeat() { printf "%0*d" "$2" 0 | sed "s/0/$1/g"; }

@test "a spec that is not JSON is refused with line and column" {
    broker_start
    refuses_all 'JSON object|line |column ' 'not json' '{"runtime": "5ms"' '{' ' ' $'\n\n' '{"runtime": "5ms",}' "{'runtime': 5}" '{"runtime": 5ms}' \
        '{"runtime": NaN}' '{"runtime": 0x10}' '{"runtime": 05}' '{"runtime": +5}' '{"runtime" "5ms"}' '{runtime: 5}' \
        '// {}' '{"comment": "a' '{"comment": "\x"}' '{"comment": "\ud800"}' '{"comment": "a\u0000b"}' $'{"comment": "a\tb"}'
    refuses $'{"runtime": "5ms",\n "period": oops}' 'line 2'
    refuses $'{"runtime": "5ms",\n "period": "10ms"\n\n' 'line 5'
}

@test "an empty file is refused" {
    broker_start
    put_bytes $ALICE cam </dev/null
    is_refused 'JSON object' 'line 1'
}

@test "NUL bytes, a byte order mark, UTF-16 and invalid UTF-8 are refused" {
    broker_start
    while read -r bytes; do
        echo "--- $bytes"
        printf "$bytes" | put_bytes $ALICE cam
        is_refused 'JSON object' 'line 1'
    done <<'BYTES'
{}\0
\xef\xbb\xbf{"runtime": "1ms", "period": "10ms"}
\xff\xfe{\0}\0
{"\xff": 1}
BYTES
}

@test "64 KiB are read, one byte more is not, and neither is a file of a tebibyte" {
    broker_start
    json='{"runtime": "1ms", "period": "10ms"}'
    printf '%-65536s' "$json" | put_bytes $ALICE cam
    answer=$(verdict $ALICE cam)
    [ "$(field .grant.runtime "$answer")" = 1000 ]
    rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    printf '%-65537s' "$json" | put_bytes $ALICE cam
    is_refused 'longer than 64 KiB'
    printf '%-66560s' "$json" | put_bytes $ALICE cam
    is_refused 'longer than 64 KiB'
    as $ALICE truncate -s 1T "$SPECS/$ALICE/.big"
    as $ALICE mv "$SPECS/$ALICE/.big" "$SPECS/$ALICE/cam.json"
    is_refused 'longer than 64 KiB'
}

@test "keys written with escapes are the same keys" {
    broker_start
    takes '{"\u0072untime": "1ms", "p\u0065rio\u0064": "10ms"}'
    [ "$(field .grant.period "$answer")" = 10000 ]
    rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    refuses $'{"period": "10ms",\n"\\u0072untime": 0}' 'key "runtime" (line 2)' "$a_time"
}

@test "of several faults one is told, and any one refuses the whole spec" {
    broker_start
    refuses '{"runtime": 0, "period": 0, "colour": "red"}' 'cam.json: key "'
    refuses '{"runtime": "1ms", "period": "10ms", "priority": 100}' 'key "priority" (line 1)'
}

@test "the same time in any unit, and any blanks around it, is the same spec" {
    broker_start
    for json in '{"runtime":2000,"period":20000}' '{"runtime": "2000us", "period": "20ms"}' \
        $'\r\n\t{ "period" : "20000us" ,\r\n"runtime" : "2ms" }\r\n\n'; do
        takes "$json"
        [ "$(jq -c '.grant | [.runtime, .accepted_runtime, .period, .deadline, .utilization]' <<<"$answer")" = '[2000,2000,20000,20000,100000000]' ]
    done
}

# lasting_helpers: prints all processes of the broker except readers. A reader ends when its user has had nothing to do for 2 s.
lasting_helpers() { { launcher; helpers; } | grep -vxF -e "$(helpers rtf-reader)" | sort; }

@test "control characters and foreign bytes reach neither verdict, log nor terminal" {
    broker_start
    for json in '{"\u001b[2J\u0007": 1}' '{"token": "\u001b]0;x\u0007"}' '{"plugin": "\u0085\u2028\u202e"}' '{"comment": 5, "x": "\u001b"}' \
        $'\x1b[31m' $'{"runtime": \x1b}' $'{"runtime": "\x9b1m"}' $'{"\xc3\xa9\xe2\x80\xae": 1}' $'{"lifetime": "\x7f\x01"}'; do
        refuses "$json"
        is_plain "$(cat "$SPECS/$ALICE/cam.verdict")"
    done
    takes '{"priority": 5, "comment": "\u001b[31m secret"}'
    is_plain "$(cat "$SPECS/$ALICE/cam.verdict")"
    is_plain "$(cat "$EVENTS" "$WORK/broker.out")"
    is_plain "$(jq -r '.. | strings' "$EVENTS")"
    [ "$(grep -c secret "$EVENTS")" = 0 ]
    jq -e . "$EVENTS" >/dev/null
}

@test "a refused spec is not touched, not asked again, and says nothing to anybody else" {
    configure_rules "$ALICE - max_utilization 1000" "$BOB - max_utilization 1"
    broker_start
    sleeper $BOB
    spec $BOB own '{"runtime": "2ms", "period": "10ms"}' >/dev/null
    attach $BOB own "$SLEEPER" >/dev/null
    spec $ALICE good '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    before=$(stat -c '%i %.9Z' "$SPECS/$BOB/own.verdict" "$SPECS/$ALICE/good.verdict"; kernel "$SLEEPER"; lasting_helpers)
    count=0
    for json in 'x' '[]' '{"runtime": 0}' '{"colour": 1}' '{"runtime": 2, "period": 1}' "$(repeat '[' 10000)" '{"runtime": 1, "runtime": 1}'; do
        refuses "$json"
        [ "$(cat "$SPECS/$ALICE/cam.json")" = "$json" ]
        count=$((count + 1))
    done
    [ "$(jq -s '[.[] | select(.stage == "verdict" and .name == "cam")] | length' "$EVENTS")" = $count ]
    [ "$(jq -s '[.[] | select(.decision == "killed" or .decision == "error")] | length' "$EVENTS")" = 0 ]
    after=$(stat -c '%i %.9Z' "$SPECS/$BOB/own.verdict" "$SPECS/$ALICE/good.verdict"; kernel "$SLEEPER"; lasting_helpers)
    echo "$before"
    echo "$after"
    [ "$after" = "$before" ]
    # No capacity is lost either: 0.9 of each CPU can be reserved in all, and 0.3 of that are reserved now.
    tenths=$((9 * $(nproc) - 3))
    specs=()
    for ((n = 0; n <= tenths; n++)); do
        specs+=('{"runtime": "1ms", "period": "10ms"}')
    done
    [ "$(drop "${specs[@]}" | jq '[.[] | select(.result == "OK")] | length')" = $tenths ]
}

@test "a change to something wrong is refused, and the grant of before stays" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam '{"runtime": "2ms", "period": "10ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    for json in '{"runtime": "3ms", "period": "10ms"' '{"runtime": "11ms", "period": "10ms"}' '{"runtime": "3ms", "period": "10ms", "x": 1}'; do
        answer=$(spec $ALICE cam "$json")
        [ "$(jq -c '[.request, .result, .grant.runtime, .thread.tid]' <<<"$answer")" = "[\"change\",\"BAD_SPEC\",2000,$SLEEPER]" ]
        [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 2000/10000/10000 cpus=$ONLINE reset=1" ]
    done
    answer=$(spec $ALICE cam '{"runtime": "3ms", "period": "10ms"}')
    [ "$(jq -c '[.request, .result, .grant.runtime]' <<<"$answer")" = '["change","OK",3000]' ]
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 3000/10000/10000 cpus=$ONLINE reset=1" ]
}
