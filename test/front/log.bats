# rtf log and rtf history: print the broker's log in columns, also over rotated files.
load ../helper
load ../command
load front

prepare() {
    front_prepare
    configure_plugins 'EDF edf - all partition=global threshold=0.4' 'FP fp 11-20 all'
}
tidy() { [ -z "${FOLLOWER:-}" ] || kill "$FOLLOWER" 2>/dev/null || true; }

nobody_follows() { ! pgrep -f "front/rtf-log --spool $SPOOL -f|tail .*$SPOOL/" >/dev/null; }
rtf_root() { "$RTF_BIN/rtf" --spool "$SPOOL" "$@"; }

something() {
    spec $ALICE cam '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    spec $ALICE huge '{"runtime": "20ms", "period": "20ms", "plugin": "EDF"}' >/dev/null
    spec $BOB arm '{"priority": 15, "runtime": "1ms", "period": "10ms", "plugin": "FP"}' >/dev/null
    logged_is() { grep -q '"name":"arm".*"stage":"verdict"\|"stage":"verdict".*"name":"arm"' "$EVENTS"; }
    eventually logged_is
}

released() { grep -q "\"stage\":\"release\".*\"name\":\"$1\"" "$EVENTS"; }

# older NUMBER: makes the rotated file with this number from standard input.
older() { cat >"$SPOOL/log/events.ndjson.$1"; }

# begins PROGRAM COMMAND...: the command succeeds, and prints the time of the first line of the log, because its option names an earlier time.
begins() {
    local program=$1
    shift
    "$@" >"$WORK/out" 2>"$WORK/err"
    [[ $(<"$WORK/err") == "$program: the log begins at 20"*Z ]] || { cat "$WORK/err" >&2; return 1; }
}

@test "rtf log prints a line for each event, as a sentence" {
    broker_start
    something
    prints 0 rtf_root log --stage verdict
    [ "$(wc -l <"$WORK/out")" -eq 3 ]
    sed -n 1p "$WORK/out" | grep -qxE "[0-9]{4}-[0-9-]+T[0-9:.]+Z verdict ok $ALICE/cam create: .*\(EDF grants 2ms of each 20ms on CPUs? [0-9-]+, 0.1 of a CPU\)"
    sed -n 2p "$WORK/out" | grep -qE "verdict refused $ALICE/huge create: EDF refused: "
    prints 0 rtf_root log
    grep -qE ' plugin started EDF$' "$WORK/out"
    grep -qE " accept refused $ALICE/huge create for EDF: " "$WORK/out"
    grep -qE ' broker started -: spool ' "$WORK/out"
    silent rtf release cam
    eventually released cam
    prints 0 rtf_root log --stage release
    grep -qE " release ok $ALICE/cam release: the owner has removed the spec\$" "$WORK/out"
    lacks 'no reason given' "$WORK/out"
}

# bats test_tags=turn:2
@test "rtf log selects events by user, name, stage, decision, number and time, and prints raw lines" {
    broker_start
    something
    prints 0 rtf_root log --user $ALICE --json
    [ "$(jq -r .user "$WORK/out" | sort -u)" = $ALICE ]
    diff "$WORK/out" <(grep "\"user\":\"$ALICE\"" "$EVENTS")
    prints 0 rtf_root log --name 'c*' --json
    says '.name == "cam"'
    prints 0 rtf_root log --decision refused --stage accept --json
    [ "$(jq -r .name "$WORK/out" | sort -u)" = huge ]
    prints 0 rtf_root log -n 1
    [ "$(wc -l <"$WORK/out")" -eq 1 ]
    begins "rtf log" rtf_root log --until 1h
    [ ! -s "$WORK/out" ]
    silent rtf_root log --since 2999-01-01
    begins "rtf log" rtf_root log --since 1h --until 2999-01-01
    [ -s "$WORK/out" ]
    moment=$(jq -r 'select(.stage == "verdict" and .name == "huge") | .time' "$EVENTS")
    prints 0 rtf_root log --since "$moment" --until "$moment" --json
    says '.name == "huge"'
    silent rtf_root log --name '.*'
}

# bats test_tags=turn:1
@test "rtf log takes local times, and a day from its beginning" {
    broker_start
    something
    day() { jq -c --arg time "$(date -u -d "@$(date -d "$1" +%s)" +%FT%T.000000Z)" --arg name "$2" 'select(.stage == "verdict" and .name == "cam") | .time = $time | .name = $name' "$EVENTS" | head -n 1; }
    export TZ=Asia/Tokyo
    { day 'yesterday 13:59' early; day 'yesterday 14:01' noon; day 'yesterday 23:59' late; day 'today 00:00' first; } >"$SPOOL/log/events.ndjson.1"
    touch -d 'today 00:00:01' "$SPOOL/log/events.ndjson.1"
    named() { rtf_root log --json --until 'today 00:00' "$@" | jq -r .name | xargs; }
    [ "$(named --since yesterday)" = 'early noon late first' ]
    [ "$(named --since 'yesterday 14:00')" = 'noon late first' ]
    [ "$(named --since today)" = first ]
    silent rtf_root history --at 'yesterday 13:59' --user nobody --noheadings
}

# bats test_tags=turn:0
@test "rtf log --since reads rotated files, also compressed ones, oldest first" {
    broker_start
    something
    line() { jq -c --arg time "$1" --arg name "$2" '.time = $time | .name = $name' <<<"$(head -n 1 "$EVENTS")"; }
    line 2026-01-02T00:00:00.000000Z second | older 1
    line 2026-01-01T00:00:00.000000Z first | older 2
    touch -d 2026-01-01T12:00:00Z "$SPOOL/log/events.ndjson.2"
    touch -d 2026-01-02T12:00:00Z "$SPOOL/log/events.ndjson.1"
    gzip "$SPOOL/log/events.ndjson.2"
    [ "$(rtf_root log --since 2026-01-01T00:00:00Z --json | jq -r .name | head -n 2 | xargs)" = 'first second' ]
    [ "$(rtf_root log --since 2026-01-01T06:00:00Z --until 2026-01-03 --json | jq -r .name | xargs)" = second ]
    [ -z "$(rtf_root log --json | jq -r 'select(.name == "second")')" ]
}

# bats test_tags=turn:1
@test "rtf log -f follows the log over a rotation" {
    broker_start
    something
    rtf_root log -f --stage verdict >"$WORK/followed" 2>"$WORK/err" 3>&- &
    FOLLOWER=$!
    echo $FOLLOWER >>"$WORK/pids"
    followed() { grep -q "$ALICE/$1 " "$WORK/followed"; }
    eventually followed cam
    spec $ALICE next '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    eventually followed next
    mv "$EVENTS" "$EVENTS.1"
    kill -HUP "$BROKER"
    eventually test -e "$EVENTS"
    spec $ALICE last '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    eventually followed last
    [ ! -s "$WORK/err" ]
    # When rtf-log is killed by its number, no process of it stays.
    pkill -TERM -o -f "front/rtf-log --spool $SPOOL -f"
    eventually nobody_follows
}

# bats test_tags=turn:2
@test "log: nothing that a user may write reaches a terminal as it is; a pipe that is closed is no fault" {
    broker_start
    spec $ALICE cam '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    as $ALICE touch "$SPECS/$ALICE/$(printf 'a\033[2Jb')"
    noticed() { grep -q '"decision":"ignored"' "$EVENTS"; }
    eventually noticed
    head -n 1 "$EVENTS" | jq -c '.reason = "a\u001b[2J\u202eb"' >>"$EVENTS" # a broker of a later version may write such bytes
    for locale in C C.UTF-8; do
        LC_ALL=$locale prints 0 rtf_root log
        no env LC_ALL=C grep -q "[^ -~]" "$WORK/out"
        grep -qF 'a\u001b[2J\u202eb' "$WORK/out"
    done
    # The broker writes printable ASCII only. The command trusts no line of the log all the same.
    printf '%s\n' '{"time":"2026-01-01T00:00:00.000000Z","stage":"plugin","decision":"refused","plugin":"EDF","reason":"a\u202eb\u001b[2Jc"}' | older 1
    begins 'rtf log' rtf_root log --since 2026-01-01
    grep -qF 'a\u202eb\u001b[2Jc' "$WORK/out"
    no env LC_ALL=C grep -q "[^ -~]" "$WORK/out"
    rtf_root log --json 2>"$WORK/err" | head -n 1 >/dev/null
    [ ! -s "$WORK/err" ]
}

# bats test_tags=turn:0
@test "history tells which user held what and when, from grants, changes, refusals and releases" {
    broker_start
    something
    spec $ALICE cam '{"runtime": "4ms", "period": "20ms"}' >/dev/null
    spec $ALICE cam '{"runtime": "20ms", "period": "20ms", "plugin": "EDF"}' >/dev/null # refused: the grant stays
    rm "$SPECS/$BOB/arm.json"
    eventually released arm
    prints 0 rtf_root history --json
    [ "$(jq -r '"\(.user)/\(.name) \(.policy) \(.accepted_runtime) \(.priority) \(.end != null)"' "$WORK/out" | sort)" = "$(sort <<END
$ALICE/cam deadline 2000 null true
$ALICE/cam deadline 4000 null false
$BOB/arm fifo 1000 15 true
END
)" ]
    # One grant ends when the other begins.
    jq -e -s 'map(select(.name == "cam")) | .[0].end == .[1].begin' "$WORK/out"
    prints 0 rtf_root history --user $ALICE
    head -n 1 "$WORK/out" | grep -qE '^BEGIN +END +RESERVATION +PLUGIN +PRIO +SHARE +ENDED$'
    sed -n 3p "$WORK/out" | grep -qE "^[-0-9]{10}T[:0-9]{8}Z  - +$ALICE/cam +EDF +- +0.2 +-$"
    prints 0 rtf_root history --plugin FP --noheadings
    [ "$(wc -l <"$WORK/out")" -eq 1 ]
    moment=$(jq -r 'select(.stage == "release") | .time' "$EVENTS")
    prints 0 rtf_root history --at "$moment" --json --name 'c*'
    says '.accepted_runtime == 4000'
    begins "rtf history" rtf_root history --until 1h --noheadings
    [ ! -s "$WORK/out" ]
}

# bats test_tags=turn:1
@test "history reads rotated files, and ends each reservation with its kernel" {
    broker_start
    something
    jq -c 'select(.stage == "verdict" and .name == "cam") | .time = "2020-01-01T00:00:00.000000Z"' "$EVENTS" | older 2
    jq -c 'select(.stage == "verdict" and .name == "cam") | .time = "2020-01-02T00:00:00.000000Z" | .name = "left"' "$EVENTS" | older 1
    jq -c 'select(.stage == "verdict" and .name == "cam") | .time = "2020-01-03T00:00:00.000000Z" | .stage = "release"' "$EVENTS" >>"$SPOOL/log/events.ndjson.1"
    touch -d 2020-01-01 "$SPOOL/log/events.ndjson.2"
    touch -d 2020-01-03 "$SPOOL/log/events.ndjson.1"
    gzip "$SPOOL/log/events.ndjson.2"
    prints 0 rtf_root history --json --until 2020-02-01
    [ "$(jq -r '[.name, .begin[:10], (.end | . != null and . > "2021")] | @tsv' "$WORK/out" | sort)" = "$(printf 'cam\t2020-01-01\tfalse\nleft\t2020-01-02\ttrue')" ]
    jq -e -s 'map(select(.name == "cam"))[0].end == "2020-01-03T00:00:00.000000Z"' "$WORK/out"
}

@test "history tells why each reservation ended, also over a stop of the broker" {
    broker_start
    spec $ALICE cam '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    spec $ALICE lease '{"runtime": "1ms", "period": "20ms", "expires": "300ms"}' >/dev/null
    eventually released lease
    broker_stop TERM
    broker_start
    silent rtf_root revoke $ALICE/cam
    eventually released cam
    rtf_root history --json >"$WORK/out"
    [ "$(jq -r '"\(.name) \(.ended)"' "$WORK/out" | paste -sd ,)" = 'lease lease,cam broker,cam revoke' ]
    # The user held nothing between the two brokers.
    jq -e -s 'map(select(.name == "cam")) | .[0].end < .[1].begin' "$WORK/out"
    prints 0 rtf_root history --noheadings --name lease
    grep -q ' lease$' "$WORK/out"
}

# as_of BEGIN END NAME SHARE: the lines of a log for one reservation
as_of() {
    jq -c -n --arg begin "$1" --arg end "$2" --arg name "$3" --argjson share "$4" '{schema: 1, uid: 1000, user: "ann", name: $name, token: null}
        | (.stage = "verdict" | .time = $begin | .grant = {plugin: "EDF", policy: "deadline", cpus: "0", priority: null, accepted_runtime: 1, period: 4, deadline: 4, utilization: $share, claims: []}),
          (.stage = "release" | .time = $end | .grant = null | .ended = "user")'
}

@test "history: the table fits into 80 columns for usual names, in any year and for any share" {
    broker_start
    {
        as_of 2020-01-01T00:00:00.000000Z 2020-01-01T01:00:00.999999Z camera 333333333
        as_of 2020-01-01T02:00:00.500000Z 2020-01-02T02:00:02.000000Z arm-left 10
        jq -c -n '{schema: 1, uid: 1000, user: "ann", name: "app-123456", stage: "verdict", time: "2020-01-03T00:00:00.000000Z", grant: {plugin: "FP", policy: "fifo", cpus: "0", priority: 15, accepted_runtime: 1000, period: 7000, deadline: 7000, utilization: 142857143, claims: []}}'
    } | older 1
    touch -d 2020-01-04 "$SPOOL/log/events.ndjson.1"
    prints 0 rtf_root history --until 2020-02-01
    lacks '.\{81\}' "$WORK/out"
    diff <(tr -s ' ' <"$WORK/out" | sed 's,[-0-9]* ann/app,DAY ann/app,') - <<END
BEGIN END RESERVATION PLUGIN PRIO SHARE ENDED
2020-01-01T00:00:00Z 01:00:00Z ann/camera EDF - 0.3333 user
2020-01-01T02:00:00Z 2020-01-02 ann/arm-left EDF - <0.0001 user
2020-01-03T00:00:00Z DAY ann/app-123456 FP 15 0.1429 boot
END
}

# bats test_tags=turn:1
@test "history prints totals of each user between two times" {
    broker_start
    {
        as_of 2020-01-01T00:00:00.000000Z 2020-01-01T01:00:00.000000Z cam 250000000
        as_of 2020-01-01T02:00:00.500000Z 2020-01-01T02:00:02.000000Z arm 500000000
        as_of 2020-01-01T03:00:00.000000Z 2020-01-01T03:00:10.000000Z cam 0
    } | older 1
    touch -d 2020-01-02 "$SPOOL/log/events.ndjson.1"
    prints 0 rtf_root history --totals --json
    says '. == {user: "ann", uid: 1000, reservations: 2, held: 3611.5, cpu_time: 900.75}'
    prints 0 rtf_root history --totals
    diff <(tr -s ' ' <"$WORK/out") - <<END
USER RESERVATIONS HELD CPU TIME
ann 2 1h 0min 15min 0s
END
    prints 0 rtf_root history --totals --json --since 2020-01-01T00:30:00Z --until 2020-01-01T02:00:01Z
    says '.reservations == 2 and .held == 1800.5 and .cpu_time == 450.25'
    fails 64 'rtf history: --totals and --at exclude each other: use --since and --until *' rtf_root history --totals --at now
}

# bats test_tags=turn:2
@test "history prints 5,000 reservations, and none" {
    broker_start
    silent rtf_root history --noheadings
    something
    one=$(jq -c 'select(.stage == "verdict" and .name == "cam")' "$EVENTS")
    jq -c --argjson one "$one" -n 'range(5000) as $n | $one | .name = "r\($n)"' | older 1
    touch "$SPOOL/log/events.ndjson"
    # Measures CPU time, user's and kernel's, in seconds, because other lanes share the CPUs.
    TIMEFORMAT='%0U %0S'
    { time rtf_root history --noheadings >"$WORK/out" 2>"$WORK/err"; } 2>"$WORK/times"
    read -r own kernel <"$WORK/times"
    [ $((own + kernel)) -lt 10 ]
    [ "$(wc -l <"$WORK/out")" -eq 5002 ]
}

# bats test_tags=turn:0
@test "a user's log has this user's own verdicts from the first rtf log on, and nothing of other users" {
    broker_start
    something
    stat=$(stat -c %i "$SPECS/$ALICE")
    rtf log >"$WORK/out" 2>"$WORK/err"
    grep -qx "rtf log: from now on, $OWN/.events keeps the answers to your specs" "$WORK/err"
    [ "$(wc -l <"$WORK/out")" -eq 2 ]
    no grep -q "$BOB" "$WORK/out"
    [ "$(stat -c '%a %u' "$OWN/.events")" = "600 $ALICE" ]
    spec $ALICE cam '{"runtime": "4ms", "period": "20ms", "token": "t-1"}' >/dev/null
    spec $BOB arm '{"priority": 16, "runtime": "1ms", "period": "10ms", "plugin": "FP"}' >/dev/null
    rm "$OWN/cam.json"
    kept() { prints 0 rtf log --json && jq -e -s "$1" "$WORK/out" >/dev/null; }
    eventually kept 'last | .stage == "release" and .name == "cam" and (.time | fromdate? // (sub("[.][0-9]+"; "") | fromdate) | now - . < 60)'
    kept 'map(select(.request == "change"))[0] | .grant.accepted_runtime == 4000 and .token == "t-1" and .decision == "ok"'
    kept "all(.[]; .uid == $ALICE)"
    # The keys are the same as in the log.
    [ "$(command jq -r 'keys_unsorted | @csv' "$WORK/out" | sort -u)" = "$(command jq -r 'keys_unsorted | @csv' "$EVENTS" | sort -u)" ]
    prints 0 rtf history --json
    [ "$(jq -r '"\(.name) \(.accepted_runtime) \(.end != null) \(.ended)"' "$WORK/out" | paste -sd ,)" = 'cam 2000 true change,cam 4000 true user' ]
    rtf log --stage release >"$WORK/out"
    grep -qE ' release ok .*: user$' "$WORK/out"
    rtf log -f >"$WORK/followed" 2>/dev/null 3>&- &
    FOLLOWER=$!
    echo $FOLLOWER >>"$WORK/pids"
    followed() { grep -q "/$1 create" "$WORK/followed"; }
    eventually followed huge
    spec $ALICE next '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    eventually followed next
    # When rtf-log is killed by its number, no process of it stays.
    pkill -TERM -o -f "front/rtf-log --spool $SPOOL -f"
    eventually nobody_follows
}

# bats test_tags=turn:1
@test "a user's log is bounded, and a user who spoils the file harms no other user" {
    broker_start
    as $ALICE sh -c 'mkdir -p "$1" && : >"$1/.events"' sh "$OWN"
    big=$(head -c 900 /dev/zero | tr '\0' x)
    for n in $(seq 8); do spec $ALICE "n$n" "{\"comment\": \"$big\", \"runtime\": \"1ms\", \"period\": \"1s\"}" >/dev/null; done
    [ "$(jq -r .name "$OWN/.events" | xargs)" = 'n1 n2 n3 n4 n5 n6 n7 n8' ]
    head -c 300000 /dev/zero | tr '\0' '\n' >>"$OWN/.events"
    spec $ALICE more '{"runtime": "1ms", "period": "1s"}' >/dev/null
    names() { [ "$(jq -r .name "$OWN/.events" 2>/dev/null | xargs)" = more ]; }
    eventually names
    [ "$(stat -c %u "$OWN/.events.1")" = $ALICE ]
    [ "$(rtf log --since 1h --json | jq -r .name | xargs)" = 'n1 n2 n3 n4 n5 n6 n7 n8 more' ]
    # A link, a FIFO, a directory, a file of another user: the broker writes nothing into it, and answers requests without delay.
    echo keep >"$WORK/precious"
    chmod 666 "$WORK/precious"
    for odd in "ln -s $WORK/precious" mkfifo mkdir "ln $WORK/precious"; do
        as $ALICE sh -c "cd '$OWN' && rm -rf .events .events.1 && $odd .events" || continue
        spec $ALICE cam '{"runtime": "1ms", "period": "1s"}' >/dev/null
        rm "$OWN/cam.json"
        eventually test ! -e "$OWN/cam.verdict"
    done
    [ "$(cat "$WORK/precious")" = keep ]
}

# bats test_tags=turn:2
@test "rtf log refuses users who may not read the log, and wrong usage" {
    fails 69 'rtf log: no broker has made a spool at *' rtf_root log
    broker_start
    fails 77 'rtf log: only root and the group adm may read *' rtf_of $CAROL log
    fails 77 'rtf history: only root and the group adm may read *' rtf_of $CAROL history
    for command in log history; do
        explains $command
        fails 64 "rtf $command: *operand*" rtf_root $command operand
        fails 64 "rtf $command: --since 5: write a time such as *" rtf_root $command --since 5
        for time in yesteryear 3m 2w 1y m '15:30 m' 3month ''; do
            fails 64 "rtf $command: --since $time: write a time such as *" rtf_root $command --since "$time"
        done
    done
    fails 64 'rtf log: --follow has no end, so it cannot*' rtf_root log -f --until 5min
    fails 64 'rtf log: --lines two: this takes a whole number' rtf_root log -n two
    rm "$EVENTS"
    fails 66 'rtf log: there is no *' rtf_root log
}

@test "logrotate's command makes the broker write a new log, without systemd, too" {
    broker_start
    something
    sed -n '/postrotate/,/endscript/ { /postrotate\|endscript/d; s|/var/spool/rtf|'"$SPOOL"'|; s|/usr/libexec/rtf|'"$RTF_LIBEXEC"'|; p }' "$RTF_SOURCE/etc/rtf.logrotate" >"$WORK/postrotate"
    grep -q "rtf-brokers --spool $SPOOL " "$WORK/postrotate"
    mkdir "$WORK/bin"
    printf '#!/bin/sh\nexit 3\n' >"$WORK/bin/systemctl"
    chmod 755 "$WORK/bin/systemctl"
    mv "$EVENTS" "$EVENTS.1"
    silent env PATH="$WORK/bin:$PATH" sh -e "$WORK/postrotate"
    eventually test -e "$EVENTS"
    spec $ALICE next '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    is_written() { grep -q '"name":"next"' "$EVENTS"; }
    eventually is_written
    [ "$(rtf_root history --noheadings | wc -l)" -eq 3 ]
}

@test "rtf log reads the rotated log if the log has vanished, and doctor names the missing log" {
    broker_start
    something
    mv "$EVENTS" "$EVENTS.1"
    status=0
    rtf_root log --stage verdict >"$WORK/out" 2>"$WORK/err" || status=$?
    [ "$status" -eq 0 ]
    [ "$(wc -l <"$WORK/out")" -eq 3 ]
    grep -q '^rtf log: there is no .*events.ndjson: these lines are from the rotated files' "$WORK/err"
    [ "$(rtf_root history --noheadings 2>/dev/null | wc -l)" -eq 2 ]
    rtf_root doctor --json >"$WORK/out" 2>/dev/null || true
    says '.. | objects | select(.code? == "log") | .says | test("does not exist")'
    kill -HUP "$BROKER"
    eventually test -e "$EVENTS"
    rtf_root doctor --json >"$WORK/out" 2>/dev/null || true
    says '[.. | objects | select(.code? == "log")] == []'
}

@test "history: a reservation has ended, too, if its owner removed the verdict first" {
    broker_start
    as $ALICE sh -c 'mkdir -p "$1" && : >"$1/.events"' sh "$OWN"
    for n in 1 2 3; do
        spec $ALICE "short$n" '{"runtime": "2ms", "period": "20ms"}' >/dev/null
        as $ALICE sh -c 'rm "$1.verdict" && rm "$1.json"' sh "$OWN/short$n"
        eventually released "short$n"
    done
    all_have_ended() { prints 0 rtf history --json && jq -e -s 'length == 3 and all(.[]; .end != null)' "$WORK/out" >/dev/null; }
    eventually all_have_ended
    [ "$(grep -c '"released"' "$OWN/.events")" -eq 3 ]
}

@test "history: a clock that is set back puts no END before its BEGIN" {
    broker_start
    something
    jq -c 'select(.stage == "verdict" and .name == "cam") | .time = "2020-01-02T00:00:00.000000Z" | .name = "back"' "$EVENTS" | older 1
    jq -c 'select(.stage == "verdict" and .name == "cam") | .time = "2020-01-01T00:00:00.000000Z" | .name = "back" | .stage = "release"' "$EVENTS" >>"$SPOOL/log/events.ndjson.1"
    prints 0 rtf_root history --json --name back
    says '.begin == "2020-01-02T00:00:00.000000Z" and .end == .begin'
}

@test "a stage or decision that no event has is wrong usage, and each of rtf-events(5) is not" {
    broker_start
    page=$RTF_SOURCE/man/rtf-events.5.scd
    run -64 rtf_root log --stage verdcit
    [[ $output == 'rtf log: --stage takes one of spool, spec, '*', not verdcit ('* ]]
    run -64 rtf_root log --decision bogus
    [[ $output == 'rtf log: --decision takes one of ok, refused, '*', not bogus ('* ]]
    prints 0 rtf_root log --stage 'brok*'
    stages=$(awk '/^\|\[ \*stage/ { table = 1 } table && /^\|  / { print $2 } /^To count/ { exit }' "$page" | sort -u)
    decisions=$(sed -n '/^|  decision$/,/^|  reason$/s/^:  \(\*ok\*.*\)/\1/p' "$page" | tr -cs 'a-z' '\n' | grep -vx or)
    [ "$(wc -l <<<"$stages")" -eq 10 ]
    [ "$(grep -c . <<<"$decisions")" -eq 12 ]
    for stage in $stages; do rtf_root log --stage "$stage" >/dev/null; done
    for decision in $decisions; do rtf_root log --decision "$decision" >/dev/null; done
}
