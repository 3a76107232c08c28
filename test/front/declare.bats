# rtf-declare(1): makes a reservation under a name; a refused spec is removed.
load ../helper
load ../command
load front

prepare() { front_prepare; }
tidy() { [ -z "$BROKER" ] || kill -CONT "$BROKER" 2>/dev/null || true; }

@test "granted: rtf declare prints nothing and exits with 0; the spec is private, and the only one" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    holds cam '.grant.runtime == 2000 and .grant.period == 20000 and .result == "OK"'
    [ "$(stat -c '%a %u' "$OWN/cam.json")" = "600 $ALICE" ]
    [ "$(find "$OWN" -mindepth 1 | wc -l)" -eq 2 ]
}

# bats test_tags=turn:2
@test "each option becomes its key" {
    broker_start
    sleeper $ALICE
    silent rtf declare --runtime=2ms cam --period 20ms -D10ms --desired-runtime 3ms --plugin EDF --comment 'the left one' --attach "$SLEEPER" \
        --lifetime thread --set move=thread
    jq -e --argjson tid "$SLEEPER" 'del(.token) == {runtime: "2ms", period: "20ms", deadline: "10ms", desired_runtime: "3ms", plugin: "EDF",
        comment: "the left one", attach: $tid, lifetime: "thread", move: "thread"}' "$OWN/cam.json"
    is_policy "$SLEEPER" deadline
    silent rtf declare one --plugin FP --priority 5 -T 1ms -P 50ms --cpus 0 --expires 30s
    holds one '.grant.cpus == "0"'
    jq -e '.cpus == "0" and .expires == "30s"' "$OWN/one.json"
    silent rtf declare prio --priority 5 --plugin FP -T 1ms -P 50ms --set comment=true --set ignore_admission=false
    jq -e '.priority == 5 and .comment == "true" and .ignore_admission == false' "$OWN/prio.json"
    POSIXLY_CORRECT=1 silent rtf declare posix -T 1ms -P 50ms # with this variable getopt_long(3) accepts no option behind the name
}

# bats test_tags=turn:0
@test "-v tells the grant in a sentence, --json prints the answer, and the key of --dry-run only asks" {
    broker_start
    rtf declare -v cam -T 2ms -P 20ms 2>"$WORK/err"
    [ "$(<"$WORK/err")" = "rtf declare: cam: EDF grants 2ms of each 20ms on CPUs $ALL_CPUS, 0.1 of a CPU" ]
    prints 0 rtf declare two -T 2ms -P 20ms --json
    says '.grant.runtime == 2000'
    rtf declare -v dry -T 2ms -P 20ms --set dry_run=true 2>"$WORK/err"
    [[ $(<"$WORK/err") == *"EDF grants 2ms"* ]]
    holds dry '.grant == null and .would_grant.runtime == 2000'
}

# bats test_tags=turn:1
@test "rtf declare reads a spec from a file or standard input; options override its keys" {
    broker_start
    echo '{"runtime": "3ms", "period": 20000, "comment": "file"}' >"$WORK/spec"
    silent rtf declare cam -f "$WORK/spec"
    holds cam '.grant.runtime == 3000'
    silent rtf declare dog --file "$WORK/spec" -T 1ms
    holds dog '.grant.runtime == 1000'
    rtf declare fox -f - <"$WORK/spec"
    holds fox '.grant.runtime == 3000'
    fails 66 "rtf declare: $WORK/none cannot be read: No such file or directory" rtf declare cow -f "$WORK/none"
    echo '[]' >"$WORK/spec"
    fails 65 "rtf declare: $WORK/spec: this is not one JSON object" rtf declare cow -f "$WORK/spec"
    echo '{} {}' >"$WORK/spec"
    fails 65 "rtf declare: $WORK/spec: this is not one JSON object: line 1, column 4: end of file expected near '{'" rtf declare cow -f "$WORK/spec"
    fails 65 "rtf declare: standard input: this is not one JSON object: line 1, column 0: *" rtf declare cow -f -
    [ ! -e "$OWN/cow.json" ]
}

# bats test_tags=turn:2
@test "75: refused for want of room, with the nearest runtime, and the spec is taken back" {
    broker_start
    silent rtf declare big -T 17ms -P 20ms
    silent rtf declare two -T 17ms -P 20ms
    fails 75 "rtf declare: cam: EDF refused: *; a runtime of at most *us would fit; FP, which makes no schedulability test, refused: needs a priority" rtf declare cam -T 5ms -P 20ms
    answered() { [ ! -e "$OWN/cam.json" ] && [ ! -e "$OWN/cam.verdict" ]; }
    eventually answered
    status=0
    rtf declare cam -T 5ms -P 20ms --json --keep >"$WORK/out" 2>"$WORK/err" || status=$?
    [ "$status" -eq 75 ]
    says '.result == "SCHEDULE_FAIL"'
    [ -e "$OWN/cam.json" ]
}

# bats test_tags=turn:0
@test "77: refused by a rule; 65: a spec that makes no sense; 76: a thread that is somebody else's" {
    broker_start
    fails 77 'rtf declare: cam: access refused: *acl.conf:2*; a runtime of at most 10000us would fit' rtf_of $BOB declare cam -T 11ms -P 20ms
    fails 65 'rtf declare: cam: spec refused: *"perid"*' rtf declare cam --set perid=5
    sleeper $BOB
    fails 76 'rtf declare: cam: *refused*' rtf declare cam -T 2ms -P 20ms --attach "$SLEEPER" --lifetime thread
    eventually nothing_in "$OWN"
}

# bats test_tags=turn:1
@test "73: the name is taken, and the spec with this name stays unchanged" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    before=$(stat -c '%i %z' "$OWN/cam.json")
    fails 73 "rtf declare: cam exists already: 'rtf change cam' changes it, 'rtf release cam' ends it" rtf declare cam -T 3ms -P 20ms
    [ "$(stat -c '%i %z' "$OWN/cam.json")" = "$before" ]
    [ "$(find "$OWN" -mindepth 1 | wc -l)" -eq 2 ]
}

# bats test_tags=turn:2
@test "64: wrong usage; each case has its own sentence, and no file stays in the spool" {
    broker_start
    fails 64 'rtf declare: the name of the reservation is missing *' rtf declare -T 2ms
    fails 64 'rtf declare: only one NAME is allowed *' rtf declare a b
    fails 64 'rtf declare: .cam: a name must be 1 to 64 of *' rtf declare .cam -T 2ms
    fails 64 'rtf declare: ?????: a name must be 1 to 64 of *' rtf declare $'\e[31m'
    fails 64 "rtf declare: $(printf '%065d' 1): a name must be *" rtf declare "$(printf '%065d' 1)"
    fails 64 'rtf declare: -T 5000: a time needs a unit (us, ms, s, min, h or d)' rtf declare cam -T 5000
    for time in 1.5ms=1500us +5ms=5000us '5 ms=5000us' 5MS=5000us 1e3us=1000us .5s=500000us; do
        fails 64 "rtf declare: -P ${time%=*}: a time must be a whole number and a unit (us, ms, s, min, h or d), such as ${time#*=}" rtf declare cam -P "${time%=*}"
    done
    for time in 1.5us 5m 5h -1ms ms 0x5ms 5msec 0.1us 1e9s ''; do
        fails 64 "rtf declare: -P $time: a time must be a whole number and a unit (us, ms, s, min, h or d), 1us to 1h" rtf declare cam -P "$time"
    done
    fails 64 'rtf declare: there is no option -? *' rtf declare cam -T 2ms $'-\xc3\xa9'
    fails 64 'rtf declare: --priority high: a priority must be from 1 to 99' rtf declare cam --priority high
    fails 64 'rtf declare: --set runtime: this must be KEY=VALUE, *' rtf declare cam --set runtime
    fails 64 'rtf declare: *Key=1: this must be KEY=VALUE, *' rtf declare cam --set Key=1
    fails 64 'rtf declare: comment: the value is more than one line' rtf declare cam --comment $'a\nruntime=5ms'
    fails 64 'rtf declare: --runtime needs a value *' rtf declare cam --runtime
    fails 64 'rtf declare: -T needs a value *' rtf declare cam -T
    fails 64 'rtf declare: --keep takes no value *' rtf declare cam --keep=yes
    [ ! -e "$OWN" ]
}

# bats test_tags=turn:0
@test "69: no broker runs, rtf declare says so at once, and no file stays; 75: no answer comes in time" {
    at_once fails 69 "rtf declare: no broker has made a spool at $SPOOL ('rtf-brokerd --spool $SPOOL', as root, makes it)" rtf declare cam -T 2ms -P 20ms
    broker_start
    kill -STOP "$BROKER"
    fails 75 'rtf declare: cam: no answer to cam within the time allowed' rtf declare cam -T 2ms -P 20ms --timeout 200ms
    [ ! -e "$OWN/cam.json" ]
    kill -CONT "$BROKER"
    broker_stop TERM
    fails 69 "rtf declare: cam: no broker is running on $SPOOL ('rtf-brokerd --spool $SPOOL', as root, starts one)" rtf declare cam -T 2ms -P 20ms --timeout 300ms
    [ ! -e "$OWN/cam.json" ]
    silent rtf declare cam -T 2ms -P 20ms --no-wait
    broker_start
    eventually holds cam '.grant.runtime == 2000'
}

# bats test_tags=turn:1
@test "77: a user who is not in the group is told so" {
    broker_start
    fails 77 "rtf declare: you are not in group *, which may use $SPOOL (a new member must log in again)" \
        stranger $CAROL "$RTF_BIN/rtf" --spool "$SPOOL" declare cam -T 2ms -P 20ms
}

# bats test_tags=turn:2
@test "rtf declare withdraws the spec if it is interrupted while it waits" {
    broker_start
    silent rtf declare first -T 1ms -P 20ms # makes the user's directory
    kill -STOP "$BROKER"
    rtf declare cam -T 2ms -P 20ms 2>"$WORK/err" 3>&- &
    pid=$!
    eventually test -e "$OWN/cam.json"
    pkill -TERM -u $ALICE -x rtf-declare
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 143 ]
    [ ! -e "$OWN/cam.json" ]
}

# bats test_tags=turn:0
@test "page, --help and --version agree" { explains declare; }
