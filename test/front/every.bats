# rtf-every(1): runs a command once a period inside a reservation, at the right times, and reports late activations.
load ../helper
load ../command
load front

prepare() { front_prepare; }

# every OPTION...: runs rtf every in the background, as Alice. $PID is its id; $WORK/said has its output, and $WORK/told its messages.
every() {
    become "$ALICE" env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" every "$@" </dev/null >"$WORK/said" 2>"$WORK/told" 3>&- &
    PID=$!
    echo "$PID" >>"$WORK/pids"
}
lines() { [ "$(wc -l <"$WORK/said")" -ge "$1" ]; }

# spaced MILLISECONDS: $WORK/out has times in ns. True if three of four times are at most a fifth of the period away from a multiple of the period after
# the first time.
spaced() {
    awk -v period="$1" 'NR == 1 { first = $1 } { n++; off = ($1 - first) / 1000000 % period; if (off > period / 5 && off < period * 4 / 5) bad++ }
        END { print bad + 0, "of", n, "far from their time" >"/dev/stderr"; exit !(n > 3 && bad <= n / 4) }' "$WORK/out"
}

@test "rtf every runs the command real-time at multiples of the period, and leaves no file" {
    broker_start
    once_of 3 prints 0 rtf every -T 10ms -P 100ms --count 5 -- chrt -p 0
    [ "$(grep -c 'policy: SCHED_DEADLINE' "$WORK/out")" -eq 5 ]
    eventually nothing_in "$OWN"
    on_time() { rtf every -T 10ms -P 100ms --count 8 -- date +%s%N >"$WORK/out" && spaced 100; }
    once_of 3 on_time
}

# bats test_tags=turn:0
@test "the reservation exists from the first run to the last, under a name" {
    broker_start
    every -n tick -T 5ms -P 100ms --comment hello --cpus "$ALL_CPUS" -- echo .
    eventually lines 3
    holds tick '.grant.runtime == 5000 and .grant.period == 100000'
    jq -e --arg cpus "$ALL_CPUS" '.comment == "hello" and .cpus == $cpus' "$OWN/tick.json"
    fails 125 "rtf every: $OWN/tick.json exists, and *runs under it: 'rtf release tick' ends it" rtf every -n tick -T 5ms -P 100ms -- true
    kill -TERM "$PID"
    status=0
    wait "$PID" || status=$?
    [ "$status" -eq 143 ]
    eventually nothing_in "$OWN"
}

# bats test_tags=turn:1
@test "a command that takes too long: misses and skipped activations are counted and told" {
    broker_start
    rtf every -T 5ms -P 100ms --count 2 -- sleep 0.25 2>"$WORK/err"
    [[ $(head -n 1 "$WORK/err") =~ ^'rtf every: 2 activations, 2 missed their deadline, '[0-9]+' skipped; the longest took '[2-9][0-9][0-9]+'.'[0-9]+' ms'$ ]] || { cat "$WORK/err" >&2; false; }
    [[ $(tail -n +2 "$WORK/err") == 'rtf every: runs longer than the period: 2 (activations are skipped while CMD runs)'* ]] || { cat "$WORK/err" >&2; false; }
    rtf every -T 5ms -P 200ms -D 20ms --count 2 --json -- sleep 0.1 2>"$WORK/err"
    [ "$(wc -l <"$WORK/err")" -eq 1 ]
    jq -e '.activations == 2 and .missed == 2 and .failed == 0 and .worst > 100000' "$WORK/err"
    prints 0 rtf every -T 5ms -P 100ms --count 2 -- echo quiet
    rtf every -T 5ms -P 200ms --count 1 -v -- true 2>"$WORK/err"
    [[ $(<"$WORK/err") == 'rtf every: 1 activation, 0 missed their deadline, 0 skipped; the longest took '* ]]
    rtf every -T 5ms -P 200ms --count 2 -v -- true 2>"$WORK/err"
    [[ $(<"$WORK/err") == 'rtf every: 2 activations, 0 missed their deadline, 0 skipped; the longest took '* ]]
}

# bats test_tags=turn:2
@test "rtf every exits with the command's last status that was not 0, and with those of env(1)" {
    broker_start
    run -3 rtf every -T 5ms -P 50ms --count 3 -- sh -c 'echo . >>'"$WORK/count"'; exit 3'
    [ "$(find "$WORK/count" 2>/dev/null | wc -l)" -eq 0 ] # Alice may not write there
    run -3 rtf every -T 5ms -P 50ms --count 3 --errexit -- sh -c 'echo .; exit 3'
    [ "$output" = . ]
    export PATH=/usr/bin:/bin # Alice may not read root's PATH; then a command would be forbidden instead of missing
    run -127 rtf every -T 5ms -P 50ms --count 3 -- no-such-command
    [ "$(grep -c 'no-such-command: No such file' <<<"$output")" -eq 1 ]
    run -126 rtf every -T 5ms -P 50ms --count 3 -- /etc/passwd
    run -137 rtf every -T 5ms -P 50ms --count 1 -- sh -c 'kill -KILL $$'
    eventually nothing_in "$OWN"
}

# bats test_tags=turn:0
@test "--until takes a time from now, or a time of the day" {
    broker_start
    takes 300 3000 rtf every -T 5ms -P 100ms --until +500ms -- echo . >"$WORK/out"
    [ "$(wc -l <"$WORK/out")" -ge 3 ]
    [ "$(wc -l <"$WORK/out")" -le 6 ]
    takes 0 6000 rtf every -T 5ms -P 500ms --until "$(date -d '+3 seconds' +%H:%M:%S)" -- true
    takes 300 3000 rtf every --loop -T 5ms -P 100ms --until +500ms -- cat >"$WORK/out"
    [ "$(wc -l <"$WORK/out")" -ge 3 ]
    [ "$(wc -l <"$WORK/out")" -le 6 ]
}

# bats test_tags=turn:1
@test "a loop is one process that gets a line for each activation, and whose exit status counts at the end" {
    broker_start
    once_of 3 loops_on_time
    eventually nothing_in "$OWN"
}
loops_on_time() {
    local status=0
    rtf every --loop -T 10ms -P 100ms --count 6 -- sh -c 'while read -r n late missed; do echo "$(date +%s%N) $n $$"; done; chrt -p $$; exit 3' >"$WORK/all" || status=$?
    grep -v 'policy\|priority\|parameters' "$WORK/all" >"$WORK/out"
    [ "$status" -eq 3 ] && grep -q 'policy: SCHED_DEADLINE' "$WORK/all" &&
        [ "$(awk '{ print $2 }' "$WORK/out" | xargs)" = '1 2 3 4 5 6' ] && [ "$(awk '{ print $3 }' "$WORK/out" | sort -u | wc -l)" -eq 1 ] && spaced 100
}

# bats test_tags=turn:2
@test "a loop that takes too long: its misses are counted, and lines do not pile up" {
    broker_start
    rtf every --loop -T 5ms -P 100ms --count 6 -- sh -c 'while read -r n late missed; do echo $n $missed; [ $n != 3 ] || sleep 0.45; done' >"$WORK/out" 2>"$WORK/err"
    [[ $(<"$WORK/err") =~ ^'rtf every: 6 activations, '[1-6]' missed their deadline, '[2-6]' skipped; the latest activation came late by ' ]] || { cat "$WORK/out" "$WORK/err" >&2; false; }
    grep -qx 'rtf every: an activation is skipped if the loop has not yet read the line of the previous activation' "$WORK/err"
    [ "$(awk '{ print $1 }' "$WORK/out" | xargs)" = '1 2 3 4 5 6' ]
    [ "$(tail -n 1 "$WORK/out" | awk '{ print $2 }')" -ge 3 ]
}

# bats test_tags=turn:0
@test "rtf every ends when its loop ends; its reservation ends with the loop, and after a kill -9" {
    broker_start
    takes 0 3000 rtf every --loop -T 5ms -P 100ms -- sh -c 'read -r n; read -r n'
    eventually nothing_in "$OWN"
    every --loop -T 5ms -P 100ms -- cat
    eventually lines 2
    kill -KILL "$PID"
    eventually nothing_in "$OWN"
}

# bats test_tags=turn:1
@test "the reservation that kill -9 of rtf every leaves expires" {
    broker_start
    every -n tick -T 5ms -P 200ms -- echo .
    eventually lines 2
    jq -e '.expires == 60000000 and (has("lifetime") | not)' "$OWN/tick.json"
    kill -KILL "$PID"
    wait "$PID" 2>/dev/null || true
    [ -e "$OWN/tick.json" ]
    silent rtf release tick
}

# bats test_tags=turn:2
@test "rtf every passes an interrupt on to the command, and withdraws the spec" {
    broker_start
    every -T 5ms -P 100ms -- sh -c 'trap "echo told; exit" TERM; echo started; while :; do sleep 0.02; done'
    eventually lines 1
    kill -TERM "$PID"
    status=0
    wait "$PID" || status=$?
    [ "$status" -eq 143 ]
    grep -qx told "$WORK/said"
    eventually nothing_in "$OWN"
}

# bats test_tags=turn:0
@test "rtf every exits with 125 for a refusal, without a broker, and for wrong usage" {
    fails 125 "rtf every: no broker has made a spool at $SPOOL ('rtf-brokerd --spool $SPOOL', as root, makes it)" rtf every -T 5ms -P 100ms -- true
    broker_start
    fails 125 'rtf every: access refused: *; a runtime of at most 10000us would fit' rtf_of $BOB every -T 11ms -P 20ms -- true
    fails 125 'rtf every: *refused*' rtf_of $BOB every --loop -T 11ms -P 20ms -- true
    fails 125 'rtf every: spec refused: *' rtf every -T 30ms -P 20ms -- true
    eventually nothing_in "$OWN"
    fails 125 'rtf every: -P TIME is missing: *' rtf every -T 5ms -- true
    fails 125 'rtf every: a command is missing *' rtf every -P 5ms
    fails 125 'rtf every: -P 5: a time needs a unit (us, ms, s, min, h or d)' rtf every -P 5 -- true
    fails 125 'rtf every: --until lunch: this must be +TIME, or *' rtf every --until lunch -P 5ms -- true
    fails 125 'rtf every: --count 0: this must be from 1 to *' rtf every --count 0 -P 5ms -- true
    fails 125 'rtf every: --name .x: a name must be *' rtf every -n .x -P 5ms -- true
    every -T 5ms -P 100ms -- echo .
    eventually lines 2
    broker_stop INT
    status=0
    wait "$PID" || status=$?
    [ "$status" -eq 125 ]
    [[ $(cat "$WORK/told") == *'broker'* ]]
}

# bats test_tags=turn:1
@test "page, --help and --version agree" {
    page=$(awk '/^# / { inside = $0 == "# OPTIONS" } inside && /^\*-/' "$RTF_SOURCE/man/rtf-every.1.scd" | grep -oE '\*--?[a-zA-Z?][a-z-]*' | tr -d '*' | sort -u)
    prints 0 rtf every --help
    [ "$page" = "$(grep -E '^ {1,8}-' "$WORK/out" | grep -oE '(^|[ ,])--?[a-zA-Z?][a-z-]*' | tr -d ' ,' | sort -u)" ]
    prints 0 rtf every --version
}
