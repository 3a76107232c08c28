# What a wish may say, rtf-spec(5): everything else gets a sentence that names the file, the key or the line, and
# what is allowed, and costs nobody else anything.
load helper
load many

ONLINE=$(cat /sys/devices/system/cpu/online)
times='runtime period deadline desired_runtime'
a_time='must be a whole number of microseconds, or a string such as "8ms" with us, ms or s, from 1us to 3600s'

# put_bytes UID NAME: drops what comes on standard input, whatever bytes these are.
put_bytes() {
    as "$1" sh -c 'mkdir -p "$1" && cd "$1" && cat >".$2.new" && mv ".$2.new" "$2.json"' sh "$SPECS/$1" "$2"
}

is_plain() { ! LC_ALL=C grep -q '[^ -~]' <<<"$1"; }

# is_refused SENTENCE...: the verdict on cam.json, which was just dropped, is BAD_SPEC, its reason begins with the
# file and contains each SENTENCE, and nothing is granted.
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

# refuses JSON SENTENCE...
refuses() {
    echo "--- $1"
    put $ALICE cam "$1"
    shift
    is_refused "$@"
}

# drop JSON...: all at once, as v1.json, v2.json, ...; their verdicts, as one array.
drop() {
    local json
    local -a names=() wishes=()
    for json; do
        names+=("v$((${#names[@]} + 1))")
        wishes+=("${names[-1]}" "$json")
    done
    put_all $ALICE "${wishes[@]}"
    verdicts $ALICE "${names[@]}" | jq -s .
}

# refuses_all SENTENCES WISH...: as is_refused, for all at once; SENTENCES are separated by |.
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

# refuses_values KEY ALLOWED VALUE...: the key on the third line.
refuses_values() {
    local key=$1 allowed=$2 value
    local -a wishes=()
    shift 2
    for value; do
        wishes+=($'{\n\n'"\"$key\": $value}")
    done
    refuses_all "key \"$key\" (line 3)|$allowed" "${wishes[@]}"
}

# takes JSON: the wish can be understood, whether or not it is granted. The verdict is in $answer.
takes() {
    answer=$(wish $ALICE cam "$1")
    echo "--- $1: $answer"
    [[ $(field .result "$answer") == OK || $(field .result "$answer") == *_FAIL ]]
}

# takes_all JSON...: none of them is BAD_SPEC.
takes_all() {
    wrong=$(drop "$@" | jq -c '.[] | select((.result | test("^(OK|SCHEDULE_FAIL|ACL_FAIL|ATTACH_FAIL)$")) | not)')
    echo "$wrong"
    [ -z "$wrong" ]
}

repeat() { printf "%0*d" "$2" 0 | sed "s/0/$1/g"; }

@test "what is not JSON is told with line and column" {
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

@test "arrays, scalars and two objects in one file are not one object" {
    broker_start
    refuses_all 'one JSON object' '[]' '[{"runtime": "1ms", "period": "10ms"}]' '"x"' '5' 'null' 'true' '{}{}' \
        '{"runtime": "1ms", "period": "10ms"} {"runtime": "1ms", "period": "10ms"}' '{} x' '{},'
}

@test "NUL bytes, a byte order mark, UTF-16 and invalid UTF-8 are refused" {
    broker_start
    while read -r bytes; do
        echo "--- $bytes"
        printf "$bytes" | put_bytes $ALICE cam
        is_refused 'JSON object' 'line 1'
    done <<'BYTES'
\0
{}\0
{\0}
\0{}
{"runtime": "1ms\0", "period": "10ms"}
{"comment": "a\0b"}
{"runtime\0": "1ms"}
\xef\xbb\xbf{"runtime": "1ms", "period": "10ms"}
\xff\xfe{\0}\0
{"comment": "\xff"}
{"comment": "\xc0\x80"}
{"comment": "\xed\xa0\x80"}
{"comment": "\xf4\x90\x80\x80"}
{"comment": "\xe2\x82"}
{"\xff": 1}
\x1b[31m{}
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

@test "10,000 levels of arrays or objects are refused with their place" {
    broker_start
    repeat '[' 10000 | put_bytes $ALICE cam
    is_refused 'line 1' depth
    { repeat '[' 10000; repeat ']' 10000; } | put_bytes $ALICE cam
    is_refused 'line 1' depth
    repeat '{"a":' 10000 | put_bytes $ALICE cam
    is_refused 'line 1' depth
    { printf '{"runtime": '; repeat '[' 10000; repeat ']' 10000; printf '}'; } | put_bytes $ALICE cam
    is_refused 'line 1' depth
    refuses '{"runtime": [[["5ms"]]]}' 'key "runtime" (line 1)' "$a_time"
}

@test "an unknown key is named with its line, and the known ones are listed" {
    broker_start
    known='runtime, period, deadline, desired_runtime, priority, plugin, ignore_admission, attach, lifetime, move, token and comment'
    refuses $'{"runtime": "1ms",\n "perod": "10ms"}' 'key "perod" (line 2) is unknown' "$known"
    for key in Runtime RUNTIME runtime_ uid plugins desired-runtime _; do
        refuses_values "$key" "$known" 1
    done
    # As a value first, and with blanks before its colon.
    refuses $'{"token": "perod",\n "perod"\n : 1}' 'key "perod" (line 2)' "$known"
    refuses $'{"comment": "\\"perod\\": 1",\n "perod": 1}' 'key "perod" (line 2)' "$known"
}

@test "an unknown key that is not plain is not repeated, but its line is" {
    broker_start
    wishes=()
    for key in '' ' ' 'run time' 'runtime ' 'durée' '-' 'a/b' '$(id)' "$(repeat x 65)" "$(repeat x 2000)" \
        'a\n' '\u001b[31mred' '\u202eevil' 'a\"b' '\\'; do
        wishes+=($'{"runtime": "1ms",\n\n'"\"$key\": 1}")
    done
    refuses_all 'key "|(line 3)|is unknown|the keys are runtime' "${wishes[@]}"
}

@test "a key that stands twice is named with the line of the second" {
    broker_start
    refuses $'{"runtime": "1ms",\n"period": "10ms",\n"runtime": "1ms"}' runtime 'line 3' duplicate
    refuses $'{"runtime": "1ms",\n\n\n"runt\\u0069me": "1ms"}' 'line 4' duplicate
    refuses $'{"comment": "a", "comment":\n"a"}' comment 'line 1' duplicate
}

@test "keys written with escapes are the same keys" {
    broker_start
    takes '{"\u0072untime": "1ms", "p\u0065rio\u0064": "10ms"}'
    [ "$(field .grant.period "$answer")" = 10000 ]
    rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    refuses $'{"period": "10ms",\n"\\u0072untime": 0}' 'key "runtime" (line 2)' "$a_time"
}

@test "times of a wrong type or form name key, line and what is allowed" {
    broker_start
    for key in $times; do
        refuses_values $key "$a_time" null true '[]' '{}' '[5]' '""' '"5"' '"ms"' '"5 ms"' '" 5ms"' '"5ms "' '"5MS"' '"5m"' '"5ns"' \
            '"5µs"' '"1.5ms"' '"5e3us"' '"0x5us"' '"+5ms"' '"5ms5us"' '"5,000us"' 1.5 5.0 5e3
    done
}

@test "times that are negative, zero or absurd name key, line and what is allowed" {
    broker_start
    for key in $times; do
        refuses_values $key "$a_time" 0 -0 -1 -9223372036854775808 3600000001 9223372036854775807 1e30 -1e30 '"0"' '"0us"' '"0s"' '"-5ms"' \
            '"3601s"' '"3600001ms"' '"3600000001us"' '"18446744073709551616us"' '"18446744073709551s"' '"1000000000000000000000000000000s"'
    done
}

@test "a number that no integer holds is told as what it is, with its line" {
    broker_start
    huge=$(repeat 9 31)
    refuses_all 'line 3|3600' $'{\n\n"runtime": '"$huge}" $'{\n\n"period": '"-$huge}" $'{\n\n"priority": '"$huge}" $'{\n\n"attach": '"$huge}" \
        $'{\n\n"deadline": 9223372036854775808}' $'{\n\n"runtime": 1e400}'
    ! grep 'is not one JSON object' "$EVENTS" || false
}

@test "a priority is 1 to 99" {
    broker_start
    refuses_values priority 'must be a whole number from 1 to 99' 0 -1 100 98.5 99.0 1e1 2147483648 4294967297 '"30"' null true '[30]' '{}'
}

@test "a thread id to attach is 1 to 4194304" {
    broker_start
    refuses_values attach 'must be a whole number from 1 to 4194304' 0 -1 4194305 4294967297 1.5 '"42"' null true '[42]' '{}'
}

@test "a flag is true or false, a lifetime is spec or thread" {
    broker_start
    refuses_values ignore_admission 'must be true or false' 0 1 '"true"' null '[]' '{}' 1.0
    refuses_values lifetime 'must be "spec" or "thread"' '""' '"Thread"' '"spec "' '"thread\n"' '"forever"' 1 null true '["spec"]' '{}'
}

@test "a plugin's name and a token are short words of the name alphabet" {
    broker_start
    values=('""' '".x"' '"-"' '"@x"' '"a b"' '"a/b"' '"../EDF"' '"é"' '"EDF\n"' '"\u001b[31m"' '"\u202e"' '"a=b"' 5 null true '["EDF"]' '{}')
    refuses_values plugin 'must be a string of 1 to 32 characters [A-Za-z0-9_.@:-]' "${values[@]}"
    refuses_values token 'must be a string of 1 to 64 characters [A-Za-z0-9_.@:-]' "${values[@]}"
    refuses_values plugin 'must be a string of 1 to 32 characters' "\"$(repeat p 33)\"" "\"$(repeat p 60000)\""
    refuses_values token 'must be a string of 1 to 64 characters' "\"$(repeat t 65)\"" "\"$(repeat t 60000)\""
}

@test "a comment is a string of at most 1024 bytes" {
    broker_start
    refuses_values comment 'must be a string of at most 1024 bytes' 5 null true '["x"]' '{"x": 1}' "\"$(repeat c 1025)\"" "\"$(repeat é 513)\"" \
        "\"$(repeat c 60000)\""
}

@test "times that contradict one another name key, line, and both times" {
    broker_start
    refuses $'{"period": "10ms",\n"runtime": "11ms"}' 'key "runtime" (line 2)' 'must not exceed the period' 11000us 10000us
    refuses $'{"deadline": "5ms",\n"runtime": "5001us"}' 'key "runtime" (line 2)' 'must not exceed the deadline' 5001us 5000us
    refuses $'{"deadline": "5ms", "period": "10ms",\n"runtime": "6ms"}' 'key "runtime" (line 2)' 'must not exceed the deadline' 6000us 5000us
    refuses $'{"runtime": "1ms", "period": "10ms",\n"deadline": 10001}' 'key "deadline" (line 2)' 'must not exceed the period' 10001us 10000us
    refuses $'{"period": "10ms",\n"desired_runtime": "2ms"}' 'key "desired_runtime" (line 2)' 'needs the key "runtime"'
    refuses $'{"runtime": "2ms", "period": "10ms",\n"desired_runtime": 1999}' 'key "desired_runtime" (line 2)' 'must not be below the runtime' \
        1999us 2000us
    refuses $'{"runtime": "2ms", "period": "10ms",\n"desired_runtime": "11ms"}' 'key "desired_runtime" (line 2)' 'must not exceed the period' \
        11000us 10000us
    refuses $'{"runtime": "2ms", "period": "10ms", "deadline": "5ms",\n"desired_runtime": "6ms"}' 'key "desired_runtime" (line 2)' \
        'must not exceed the deadline' 6000us 5000us
}

@test "of several faults one is told, and any one refuses the whole wish" {
    broker_start
    refuses '{"runtime": 0, "period": 0, "colour": "red"}' 'cam.json: key "'
    refuses '{"runtime": "1ms", "period": "10ms", "priority": 100}' 'key "priority" (line 1)'
}

@test "every key takes its whole range" {
    configure_rules "$ALICE - max_utilization 100"
    broker_start
    wishes=('{"runtime": "3600s", "desired_runtime": "3600s", "period": "3600s", "deadline": "3600s"}'
        '{"runtime": 10000, "desired_runtime": 10000, "period": 10000, "deadline": 10000}'
        '{"priority": 5, "lifetime": "thread"}' '{"ignore_admission": true}' "{\"plugin\": \"$(repeat p 32)\"}")
    for time in 1 '"1us"' 3600000000 '"3600000000us"' '"3600000ms"' '"3600s"' '"007ms"'; do
        wishes+=("{\"runtime\": $time}" "{\"period\": $time}" "{\"deadline\": $time}" "{\"runtime\": 1, \"desired_runtime\": $time}")
    done
    takes_all "${wishes[@]}"
    for priority in 1 50 99; do
        takes "{\"priority\": $priority}"
        [ "$(field .result "$answer")" = OK ]
    done
    for tid in 1 4194304; do
        takes "{\"priority\": 5, \"attach\": $tid}"
        [ "$(field .result "$answer")" = ATTACH_FAIL ]
    done
    takes '{"priority": 5, "lifetime": "spec", "ignore_admission": false}'
    [ "$(field .result "$answer")" = OK ]
    for token in x _ 0 "$(repeat t 64)" 'a.b@c:d-e_F9'; do
        takes "{\"priority\": 5, \"token\": \"$token\"}"
        [ "$(field .token "$answer")" = "$token" ]
    done
    for comment in '' "$(repeat c 1024)" "$(repeat é 512)" '\u0001\u001b[31m\"\\\/\b\f\n\r\t\ud83d\ude00'; do
        takes "{\"priority\": 5, \"comment\": \"$comment\"}"
        [ "$(field .result "$answer")" = OK ]
    done
    takes '{}'
    [ "$(field .result "$answer")" = SCHEDULE_FAIL ]
}

@test "the same time in any unit, and any blanks around it, is the same wish" {
    broker_start
    for json in '{"runtime":2000,"period":20000}' '{"runtime": "2000us", "period": "20ms"}' \
        $'\r\n\t{ "period" : "20000us" ,\r\n"runtime" : "2ms" }\r\n\n'; do
        takes "$json"
        [ "$(jq -c '.grant | [.runtime, .accepted_runtime, .period, .deadline, .utilization]' <<<"$answer")" = '[2000,2000,20000,20000,100000000]' ]
    done
}

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

@test "a refused wish is not touched, not asked again, and says nothing to anybody else" {
    configure_rules "$ALICE - max_utilization 1000" "$BOB - max_utilization 1"
    broker_start
    sleeper $BOB
    wish $BOB own '{"runtime": "2ms", "period": "10ms"}' >/dev/null
    attach $BOB own "$SLEEPER" >/dev/null
    wish $ALICE good '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    before=$(stat -c '%i %.9Z' "$SPECS/$BOB/own.verdict" "$SPECS/$ALICE/good.verdict"; kernel "$SLEEPER"; { starter; parts; } | sort)
    count=0
    for json in 'x' '[]' '{"runtime": 0}' '{"colour": 1}' '{"runtime": 2, "period": 1}' "$(repeat '[' 10000)" '{"runtime": 1, "runtime": 1}'; do
        refuses "$json"
        [ "$(cat "$SPECS/$ALICE/cam.json")" = "$json" ]
        count=$((count + 1))
    done
    [ "$(jq -s '[.[] | select(.stage == "verdict" and .name == "cam")] | length' "$EVENTS")" = $count ]
    [ "$(jq -s '[.[] | select(.decision == "killed" or .decision == "error")] | length' "$EVENTS")" = 0 ]
    after=$(stat -c '%i %.9Z' "$SPECS/$BOB/own.verdict" "$SPECS/$ALICE/good.verdict"; kernel "$SLEEPER"; { starter; parts; } | sort)
    echo "$before"
    echo "$after"
    [ "$after" = "$before" ]
    # No capacity is lost either: 0.9 of each CPU in all, and 0.3 of that are given away.
    tenths=$((9 * $(nproc) - 3))
    wishes=()
    for ((n = 0; n <= tenths; n++)); do
        wishes+=('{"runtime": "1ms", "period": "10ms"}')
    done
    [ "$(drop "${wishes[@]}" | jq '[.[] | select(.result == "OK")] | length')" = $tenths ]
}

@test "a change to something wrong is refused, and the grant of before stays" {
    broker_start
    sleeper $ALICE
    wish $ALICE cam '{"runtime": "2ms", "period": "10ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    for json in '{"runtime": "3ms", "period": "10ms"' '{"runtime": "11ms", "period": "10ms"}' '{"runtime": "3ms", "period": "10ms", "x": 1}'; do
        answer=$(wish $ALICE cam "$json")
        [ "$(jq -c '[.request, .result, .grant.runtime, .thread.tid]' <<<"$answer")" = "[\"change\",\"BAD_SPEC\",2000,$SLEEPER]" ]
        [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 2000/10000/10000 cpus=$ONLINE reset=1" ]
    done
    answer=$(wish $ALICE cam '{"runtime": "3ms", "period": "10ms"}')
    [ "$(jq -c '[.request, .result, .grant.runtime]' <<<"$answer")" = '["change","OK",3000]' ]
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 3000/10000/10000 cpus=$ONLINE reset=1" ]
}
