# rtf-wait(1): waits for the answer to the current files, prints the answer, and tells the result by its exit status.
load helper
load command

prepare() {
    configure_rules "$ALICE - max_utilization 0.9" "$BOB - max_utilization 0.9"
    OWN=$SPECS/$ALICE
}

# A broker that a test has stopped (SIGSTOP) would not end, so tidy lets the broker go on.
tidy() {
    if [ -n "$BROKER" ]; then kill -CONT "$BROKER" 2>/dev/null || true; fi
}

rtf_wait() { as "$ALICE" "$RTF_BIN/rtf-wait" --spool "$SPOOL" "$@"; }

# gives STATUS COMMAND...: the command exits with STATUS and prints an answer: one line of JSON on standard
# output, nothing on standard error. $WORK/out has the answer.
gives() {
    local expected=$1 status=0
    shift
    "$@" </dev/null >"$WORK/out" 2>"$WORK/err" || status=$?
    [ "$status" -eq "$expected" ] && [ ! -s "$WORK/err" ] && [ "$(wc -l <"$WORK/out")" -eq 1 ] &&
        [ "$(jq -r type "$WORK/out")" = object ] && return 0
    printf 'status %s, expected %s; said: %s\n' "$status" "$expected" "$(cat "$WORK/out" "$WORK/err")" >&2
    return 1
}

says() { told "$1" "$(<"$WORK/out")"; }

freeze_broker() {
    kill -STOP "$BROKER"
    eventually is_stopped "$BROKER"
}
is_stopped() { [[ $(cat "/proc/$1/stat") == *") T "* ]]; }

# waiting OPTION...: starts rtf-wait as Alice in the background, waits until it sleeps, and sets PID to its process id.
waiting() {
    become "$ALICE" "$RTF_BIN/rtf-wait" --spool "$SPOOL" "$@" </dev/null >"$WORK/out" 2>"$WORK/err" 3>&- &
    PID=$!
    echo "$PID" >>"$WORK/pids"
    eventually is_asleep "$PID"
}
is_asleep() { [[ $(cat "/proc/$1/wchan") == *poll* ]]; }

ended_with() {
    local status=0
    wait "$PID" || status=$?
    [ "$status" -eq "$1" ] || { echo "status $status: $(cat "$WORK/out" "$WORK/err")" >&2; return 1; }
}

@test "0: granted" {
    broker_start
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    gives 0 rtf_wait cam
    says '.result == "OK" and .grant.runtime == 1000'
}

@test "standard output is the verdict, byte for byte, and only that" {
    broker_start
    put $ALICE cam '{"runtime": "1ms", "period": "20ms", "comment": "ü"}'
    gives 0 rtf_wait cam
    cmp "$WORK/out" "$OWN/cam.verdict"
}

@test "65: a spec that cannot be understood" {
    broker_start
    put $ALICE cam '{"runtime": '
    gives 65 rtf_wait cam
    says '.result == "BAD_SPEC"'
    put $ALICE cam '{"runtme": 5}'
    gives 65 rtf_wait cam
}

@test "66: no such spec, no such directory, or it was removed meanwhile" {
    broker_start
    fails 66 "rtf-wait: there is no directory $SPOOL/specs/$ALICE" rtf_wait cam
    as $ALICE mkdir "$OWN"
    fails 66 "rtf-wait: there is no spec cam in $SPOOL/specs/$ALICE" rtf_wait cam
    fails 66 "rtf-wait: there is no spec cam in *" rtf_wait --token abc cam
    freeze_broker
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    waiting cam
    as $ALICE rm "$OWN/cam.json"
    ended_with 66
    [ ! -s "$WORK/out" ]
    [[ $(<"$WORK/err") == "rtf-wait: there is no spec cam in "* ]]
}

@test "66: the directory is removed, or renamed, while it waits" {
    broker_start
    freeze_broker
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    waiting cam
    as $ALICE rm -rf "$OWN"
    ended_with 66
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    waiting cam
    install -d -o $ALICE "$WORK/elsewhere"
    as $ALICE mv "$OWN" "$WORK/elsewhere/away"
    ended_with 66
    [ "$(wc -l <"$WORK/err")" -eq 1 ]
}

@test "69: no broker runs, and it says so at once" {
    broker_start
    broker_stop TERM
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    at_once fails 69 "rtf-wait: no broker is running on $SPOOL ('rtf-brokerd --spool $SPOOL', as root, starts one)" rtf_wait cam
    at_once fails 69 "rtf-wait: no broker is running on $SPOOL ('rtf-brokerd --spool $SPOOL', as root, starts one)" rtf_wait --timeout 10s cam
    at_once fails 69 "rtf-wait: no broker has made a spool at $WORK/none ('rtf-brokerd --spool $WORK/none', as root, makes it)" as $ALICE "$RTF_BIN/rtf-wait" --spool "$WORK/none" cam
}

@test "69: the broker dies while it waits" {
    broker_start
    freeze_broker
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    waiting cam
    kill -KILL "$BROKER"
    takes 0 5000 ended_with 69
    BROKER=
    [ "$(<"$WORK/err")" = "rtf-wait: the broker on $SPOOL ended before it answered" ]
    [ ! -s "$WORK/out" ]
}

@test "75: no plugin can honour it now; 65: none ever can" {
    configure_rules "$ALICE - max_utilization 0.9" "$BOB - max_utilization 0.5"
    broker_start
    put $ALICE cam '{"plugin": "NONE"}'
    gives 65 rtf_wait cam
    says '.result == "SCHEDULE_FAIL" and .refusal.retry == "never"'
    put $ALICE dog '{"runtime": "10ms", "deadline": "50ms"}'
    gives 65 rtf_wait dog
    says '.reason == "EDF refused: needs a period"'
    spec $ALICE cat '{"runtime": "80ms", "period": "100ms"}' >/dev/null
    put $ALICE owl '{"runtime": "20ms", "period": "100ms"}'
    gives 75 rtf_wait owl
    says '.result == "ACL_FAIL" and .refusal.code == "rule-used-up"'
}

@test "75: no answer in time, and nothing on standard output" {
    broker_start
    freeze_broker
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    takes 300 5000 fails 75 'rtf-wait: no answer to cam within the time allowed' rtf_wait --timeout 300ms cam
    takes 0 5000 fails 75 'rtf-wait: no answer to cam within the time allowed' rtf_wait --timeout 1us cam
    kill -CONT "$BROKER"
    gives 0 rtf_wait --timeout 10s cam
}

@test "76: the thread cannot be attached; and the grant stays" {
    broker_start
    sleeper $BOB
    put $ALICE cam "{\"runtime\": \"1ms\", \"period\": \"20ms\", \"attach\": $SLEEPER}"
    gives 76 rtf_wait cam
    says '.result == "ATTACH_FAIL" and .grant != null and .refusal.retry == "never"'
}

@test "75: the thread cannot be attached until something is freed" {
    broker_start
    sleeper $ALICE
    spec $ALICE one "{\"runtime\": \"1ms\", \"period\": \"20ms\", \"attach\": $SLEEPER}"
    put $ALICE two "{\"runtime\": \"1ms\", \"period\": \"20ms\", \"attach\": $SLEEPER}"
    gives 75 rtf_wait two
    says '.result == "ATTACH_FAIL" and .refusal.retry == "when-freed"'
}

@test "77: the rules forbid it" {
    broker_start
    put $ALICE cam '{"runtime": "19ms", "period": "20ms"}'
    gives 77 rtf_wait cam
    says '.result == "ACL_FAIL"'
}

@test "77: a user who is not in the group is told the group's name, and standard output stays empty" {
    broker_start
    # Bob wrote the spec as a member of the group, and is no longer a member.
    put $BOB cam '{"runtime": "1ms", "period": "20ms"}'
    fails 77 "rtf-wait: you are not in group $GROUP, which may use $SPOOL (a new member must log in again)" \
        stranger $BOB "$RTF_BIN/rtf-wait" --spool "$SPOOL" cam
    fails 77 "rtf-wait: you are not in group $GROUP, *" stranger $CAROL "$RTF_BIN/rtf-wait" --spool "$SPOOL" cam
}

@test "64: wrong usage, with a line that names the error" {
    fails 64 'rtf-wait: --timeout 5: a time needs a unit (us, ms, s, min, h or d)' "$RTF_BIN/rtf-wait" --timeout 5 cam
    for text in 0ms 1.5us -5ms 5m 367d '' ms; do
        fails 64 "rtf-wait: --timeout $text: a time must be a whole number and a unit (us, ms, s, min, h or d), 1us to 366d" \
            "$RTF_BIN/rtf-wait" --timeout="$text" cam
    done
    long=$(printf 'x%.0s' {1..65})
    for name in '' .hidden a/b 'a b' ../cam .json cam/ "$long"; do
        fails 64 "rtf-wait: $name: a name must be 1 to 64 of *" "$RTF_BIN/rtf-wait" "$name"
    done
    fails 64 "rtf-wait: $long: a name must be 1 to 64 of *" "$RTF_BIN/rtf-wait" "$long.json"
    fails 64 'rtf-wait: ??: a name must be 1 to 64 of *' "$RTF_BIN/rtf-wait" ä
    fails 64 "rtf-wait: the name of a spec is missing ('rtf wait --help' tells more)" "$RTF_BIN/rtf-wait" --spool "$SPOOL"
    fails 64 "rtf-wait: only one NAME is allowed ('rtf wait --help' tells more)" "$RTF_BIN/rtf-wait" --spool "$SPOOL" one two
    fails 64 "rtf-wait: there is no option --no-such-option ('rtf wait --help' tells more)" "$RTF_BIN/rtf-wait" --no-such-option cam
    fails 64 "rtf-wait: there is no option -x ('rtf wait --help' tells more)" "$RTF_BIN/rtf-wait" -x cam
    for option in --token --timeout --for --spool; do
        fails 64 "rtf-wait: $option needs a value ('rtf wait --help' tells more)" "$RTF_BIN/rtf-wait" $option
    done
}

@test "74: the answer cannot be printed" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    status=0
    rtf_wait cam >/dev/full 2>"$WORK/err" || status=$?
    [ "$status" -eq 74 ]
    [ "$(<"$WORK/err")" = 'rtf-wait: standard output cannot be written' ]
    status=0
    rtf_wait cam >&- 2>"$WORK/err" || status=$?
    [ "$status" -eq 74 ]
    # Without standard descriptors, rtf-wait does not write into a file of the spool instead.
    before=$(cat "$OWN/cam.json" "$OWN/cam.verdict")
    rtf_wait cam <&- >&- 2>&- || true
    [ "$(cat "$OWN/cam.json" "$OWN/cam.verdict")" = "$before" ]
}

@test "NAME.json means NAME" {
    broker_start
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    gives 0 rtf_wait cam.json
    # The name of a spec may itself end in .json. The file of the spec arm.json is arm.json.json.
    put $ALICE arm.json '{"runtime": "2ms", "period": "20ms"}'
    gives 0 rtf_wait arm.json.json
    says '.grant.runtime == 2000'
    long=$(printf 'x%.0s' {1..64})
    put $ALICE "$long" '{"runtime": "3ms", "period": "20ms"}'
    gives 0 rtf_wait "$long.json"
    says '.grant.runtime == 3000'
}

@test "69: without a broker no answer of before is told, however the broker ended" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    spec $ALICE bad '{"runtime": 0}'
    sleeper $ALICE
    [ "$(field .thread.state "$(attach $ALICE cam "$SLEEPER")")" = attached ]
    broker_stop TERM
    at_once fails 69 "rtf-wait: no broker is running on $SPOOL ('rtf-brokerd --spool $SPOOL', as root, starts one)" rtf_wait cam
    fails 69 "rtf-wait: no broker is running on $SPOOL ('rtf-brokerd --spool $SPOOL', as root, starts one)" rtf_wait bad
    broker_start
    gives 0 rtf_wait cam
    broker_stop KILL
    eventually none_of_ours
    fails 69 "rtf-wait: no broker is running on $SPOOL ('rtf-brokerd --spool $SPOOL', as root, starts one)" rtf_wait cam
}

@test "a broker that is starting is waited for, as long as --timeout says" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    broker_stop TERM
    broker_begins
    fails 75 "rtf-wait: the broker on $SPOOL is still starting" rtf_wait --timeout 100ms cam
    waiting cam
    touch "$WORK/greet"
    ended_with 0
    says '.grant.runtime == 1000'
}

@test "69: a broker that dies while it starts" {
    broker_start
    broker_stop TERM
    broker_begins
    waiting cam
    kill -KILL "$BROKER"
    takes 0 5000 ended_with 69
    BROKER=
    touch "$WORK/greet"
    [ "$(<"$WORK/err")" = "rtf-wait: no broker is running on $SPOOL ('rtf-brokerd --spool $SPOOL', as root, starts one)" ]
}

@test "an answer to the file before does not count: it waits for the change's own" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    freeze_broker
    put $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    fails 75 '*no answer*' rtf_wait --timeout 50ms cam
    waiting cam
    kill -CONT "$BROKER"
    ended_with 0
    says '.request == "change" and .grant.runtime == 2000'
    # The file is written in place, so it has the same inode. Then the former text is written again.
    freeze_broker
    as $ALICE sh -c "echo '{\"runtime\": \"1ms\", \"period\": \"20ms\"}' >$OWN/cam.json"
    waiting cam
    kill -CONT "$BROKER"
    ended_with 0
    says '.request == "change" and .grant.runtime == 1000'
}

@test "files that change again while it waits: the answer to the last ones" {
    broker_start
    freeze_broker
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    waiting cam
    for runtime in 2 3 4; do put $ALICE cam "{\"runtime\": \"${runtime}ms\", \"period\": \"20ms\"}"; done
    kill -CONT "$BROKER"
    ended_with 0
    says '.grant.runtime == 4000'
}

# bats test_tags=turn:2
@test "a hundred changes in a row are each answered with their own" {
    broker_start
    for ((i = 2; i <= 100; i++)); do
        put $ALICE cam "{\"runtime\": $i, \"period\": \"20ms\", \"token\": \"t$i\"}"
        gives 0 rtf_wait --timeout 10s cam
        says ".token == \"t$i\" and .grant.runtime == $i"
    done
}

@test "a refused change is told as refused, though the old grant holds" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    put $ALICE cam '{"runtime": "19ms", "period": "20ms"}'
    gives 77 rtf_wait cam
    says '.grant.runtime == 1000'
}

@test "rtf-wait waits for the answer to NAME.tid: attached, rewritten, removed" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    freeze_broker
    as $ALICE sh -c "echo $SLEEPER >$OWN/cam.tid"
    waiting cam
    kill -CONT "$BROKER"
    ended_with 0
    says ".request == \"attach\" and .thread.tid == $SLEEPER"
    [[ $(kernel "$SLEEPER") == "deadline "* ]]
    freeze_broker
    rm "$OWN/cam.tid"
    waiting cam
    kill -CONT "$BROKER"
    ended_with 0
    says '.request == "detach" and .thread == null'
    [[ $(kernel "$SLEEPER") == "other "* ]]
}

@test "a NAME.tid without a NAME.json can be waited for" {
    broker_start
    sleeper $ALICE
    as $ALICE sh -c "mkdir -p $OWN && echo $SLEEPER >$OWN/cam.tid"
    gives 76 rtf_wait --timeout 5s cam
    says '.result == "ATTACH_FAIL" and .grant == null'
}

@test "--token: waits for the answer with it, whatever is in the files now" {
    broker_start
    put $ALICE cam '{"runtime": "1ms", "period": "20ms", "token": "first"}'
    gives 0 rtf_wait --token first cam
    freeze_broker
    fails 75 '*no answer*' rtf_wait --token second --timeout 50ms cam
    put $ALICE cam '{"runtime": "2ms", "period": "20ms", "token": "second"}'
    gives 0 rtf_wait --token first cam # the present answer
    waiting --token second cam
    kill -CONT "$BROKER"
    ended_with 0
    says '.token == "second" and .grant.runtime == 2000'
}

@test "--token: a spec that could not be read is answered all the same" {
    broker_start
    put $ALICE cam '{"token": "first", "runtime": '
    gives 65 rtf_wait --token first --timeout 5s cam
    says '.token == null'
}

@test "an answer that was forged or is no JSON is no answer" {
    broker_start
    freeze_broker
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    for text in '' 'x' '[]' '{"result": "OK"}' '{"result": "OK", "spec": {"inode": 1, "changed": "1.5"}, "tid": null}'; do
        as $ALICE sh -c 'echo "$1" >"$2"' sh "$text" "$OWN/cam.verdict"
        fails 75 'rtf-wait: no answer to cam *' rtf_wait --timeout 20ms cam
    done
    rm "$OWN/cam.verdict"
    as $ALICE mkfifo "$OWN/cam.verdict"
    fails 75 'rtf-wait: no answer to cam *' rtf_wait --timeout 20ms cam
    rm "$OWN/cam.verdict"
    as $ALICE ln -s /proc/self/environ "$OWN/cam.verdict"
    fails 75 'rtf-wait: no answer to cam *' rtf_wait --timeout 20ms cam
}

@test "70: an answer with a result that it does not know" {
    broker_start
    freeze_broker
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    read -r inode changed < <(stat -c '%i %.9Z' "$OWN/cam.json")
    as $ALICE tee "$OWN/cam.verdict" >/dev/null <<<"{\"result\":\"LATER\",\"spec\":{\"inode\":$inode,\"changed\":\"$changed\"},\"tid\":null}"
    gives 70 rtf_wait cam
}

@test "a signal ends it as any program, and it leaves the spec alone" {
    broker_start
    freeze_broker
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    waiting cam
    kill -TERM "$PID"
    ended_with 143
    [ "$(ls -A "$OWN")" = cam.json ]
}

@test "USER names the directory only if it is one's own; otherwise the uid does" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    spec $BOB cam '{"runtime": "2ms", "period": "20ms"}'
    for user in $ALICE $BOB nobody ../state '' .; do
        gives 0 as $ALICE env USER="$user" "$RTF_BIN/rtf-wait" --spool "$SPOOL" cam
        says '.grant.runtime == 1000'
    done
    gives 0 as $ALICE env -i "$RTF_BIN/rtf-wait" --spool "$SPOOL" cam
    says '.grant.runtime == 1000'
}

@test "rtf-wait makes no directory, and reads only" {
    broker_start
    fails 66 '*' rtf_wait cam
    [ ! -e "$OWN" ]
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    before=$(stat -c '%n %i %s %y %z' "$OWN"/*)
    gives 0 rtf_wait cam
    [ "$(stat -c '%n %i %s %y %z' "$OWN"/*)" = "$before" ]
}

@test "twenty waiters of one spec all get the answer" {
    broker_start
    freeze_broker
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    pids=()
    for ((i = 0; i < 20; i++)); do
        become $ALICE "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 10s cam </dev/null >"$WORK/out.$i" 2>&1 3>&- &
        pids+=($!)
        echo $! >>"$WORK/pids"
    done
    for pid in "${pids[@]}"; do eventually is_asleep "$pid"; done
    kill -CONT "$BROKER"
    for pid in "${pids[@]}"; do wait "$pid"; done
    for ((i = 0; i < 20; i++)); do cmp "$WORK/out.$i" "$OWN/cam.verdict"; done
}

@test "--help and --version answer on standard output" {
    for option in --help '-?' -h --version -V; do
        "$RTF_BIN/rtf-wait" "$option" >"$WORK/out" 2>"$WORK/err"
        [ -s "$WORK/out" ]
        [ ! -s "$WORK/err" ]
    done
}
