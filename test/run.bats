# rtf-run(1): the command runs with a reservation, and nothing else is changed; or one line tells the reason.
load helper
load command

prepare() {
    configure_rules "$ALICE - max_utilization 0.9" "$BOB - max_utilization 0.9"
    OWN=$SPECS/$ALICE
}

# A stopped broker cannot be ended.
tidy() {
    if [ -n "$BROKER" ]; then kill -CONT "$BROKER" 2>/dev/null || true; fi
    if mountpoint -q "$SPOOL"; then
        if [ -n "$BROKER" ]; then broker_stop TERM; fi
        eventually umount "$SPOOL"
    fi
}

# start_with PREFIX... -- OPTION...: starts rtf-run as Alice in the background, under PREFIX, and sets PID to
# its process id. A shell starts its background commands with INT and QUIT ignored. The prefix undoes this.
start_with() {
    local prefix=()
    while [ "$1" != -- ]; do prefix+=("$1"); shift; done
    shift
    become "$ALICE" env --default-signal=INT,QUIT "${prefix[@]}" "$RTF_BIN/rtf-run" --spool "$SPOOL" "$@" \
        </dev/null >"$WORK/out" 2>"$WORK/err" 3>&- &
    PID=$!
    echo "$PID" >>"$WORK/pids"
}

start() { start_with -- "$@"; }

# began OPTION... -- sleep 300: starts this, and returns when the sleep runs.
began() {
    start "$@"
    eventually is_sleep "$PID" || { cat "$WORK/err" >&2; return 1; }
}

# waits: rtf-run has written its spec and waits, because no broker answers.
waits() { eventually test -e "$OWN/run-$PID.json"; }

rtf_run() { as "$ALICE" "$RTF_BIN/rtf-run" --spool "$SPOOL" "$@"; }

# ending COMMAND...: prints the command's exit status. If a signal has ended the command, prints the negative number of the signal.
ending() {
    /usr/bin/python3 -S -c 'import subprocess, sys; print(subprocess.run(sys.argv[1:]).returncode)' "$@"
}

# unchanged COMMAND...: fails unless the command's output is the same with and without rtf-run before it.
unchanged() {
    local plain reserved
    plain=$("${PREFIX[@]}" "$@")
    reserved=$("${PREFIX[@]}" "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 5ms -P 20ms -- "$@")
    [ -n "$plain" ] && [ "$plain" = "$reserved" ] || { diff <(echo "$plain") <(echo "$reserved") >&2; return 1; }
}

freeze_broker() {
    kill -STOP "$BROKER"
    eventually is_stopped "$BROKER"
}
is_stopped() { [[ $(cat "/proc/$1/stat") == *") T "* ]]; }
has_ended() { ! kill -0 "$1" 2>/dev/null; }
is_empty() { [ -d "$1" ] && [ -z "$(ls -A "$1")" ]; }

# nothing_reserved: fails unless Alice can have 0.8 of her 0.9 CPUs. The broker answers specs in the order in which they come.
nothing_reserved() {
    local answer
    answer=$(spec $ALICE probe '{"runtime": "80ms", "period": "100ms"}')
    [ "$(field .result "$answer")" = OK ] || { echo "$answer" >&2; return 1; }
    rm "$OWN/probe.json"
    eventually test ! -e "$OWN/probe.verdict"
}

# bats test_tags=turn:0
@test "the command runs under SCHED_DEADLINE as the options say, and its children are ordinary" {
    broker_start
    began -T 5ms -P 20ms -D 10ms -- sleep 300
    [ "$(kernel "$PID")" = "deadline 0 nice=0 5000/10000/20000 cpus=$ALL_CPUS reset=1" ]
    install -m 666 /dev/null "$WORK/child"
    start -T 5ms -P 20ms -- sh -c "sleep 300 & echo \$! >$WORK/child; exec sleep 300"
    eventually test -s "$WORK/child"
    eventually is_sleep "$PID"
    child=$(cat "$WORK/child")
    echo "$child" >>"$WORK/pids"
    [ "$(kernel "$PID")" = "deadline 0 nice=0 5000/20000/20000 cpus=$ALL_CPUS reset=1" ]
    [ "$(kernel "$child")" = "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0" ]
}

# bats test_tags=turn:1
@test "a second thread of the command is ordinary" {
    broker_start
    run rtf_run -T 10ms -P 20ms -- /usr/bin/python3 -S -c '
import os, threading
own = os.sched_getscheduler(0)
thread = threading.Thread(target=lambda: print(own & ~os.SCHED_RESET_ON_FORK, os.sched_getscheduler(0)))
thread.start()
thread.join()'
    [ "$status" -eq 0 ]
    [ "$output" = "6 0" ]
}

# bats test_tags=turn:2
@test "the command runs under SCHED_FIFO and SCHED_RR with a priority" {
    configure_rules "$ALICE - max_utilization 3"
    broker_start
    began --priority 15 --plugin FP -- sleep 300
    [[ $(kernel "$PID") =~ ^'fifo 15 nice=0 0/0/0 cpus='[0-9]+' reset=1'$ ]]
    began --priority 5 --plugin RR -T 1ms -P 10ms -- sleep 300
    [[ $(kernel "$PID") =~ ^'rr 5 nice=0 0/0/0 cpus='[0-9]+' reset=1'$ ]]
    # Without a name the plugins are asked in the order of the file. EDF needs a period and a runtime.
    began --priority 12 -- sleep 300
    [[ $(kernel "$PID") =~ ^'fifo 12 nice=0 0/0/0 cpus='[0-9]+' reset=1'$ ]]
}

# bats test_tags=turn:0
@test "long options and their aliases mean the same" {
    for words in '-T 5ms -P 40ms -D 20ms' '--runtime 5ms --period 40ms --deadline=20ms' \
        '--sched-runtime=5ms --sched-period=40ms --sched-deadline 20ms' '-T5000us -P40ms -D20ms'; do
        # shellcheck disable=SC2086 # words
        run "$RTF_BIN/rtf-run" --dry-run $words
        [ "$(jq -c '[.runtime, .period, .deadline]' <<<"$output")" = '[5000,40000,20000]' ]
    done
}

# bats test_tags=turn:1
@test "the process id stays" {
    broker_start
    start -T 5ms -P 20ms -- sh -c 'echo $$'
    wait "$PID"
    [ "$(<"$WORK/out")" = "$PID" ]
    [ ! -s "$WORK/err" ]
}

# bats test_tags=turn:2
@test "the exit status is the command's" {
    broker_start
    for status in 0 1 77 124 125 126 127 255; do
        [ "$(ending setpriv --reuid $ALICE --regid $ALICE --groups $GROUP -- \
            "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 1ms -P 20ms -- sh -c "exit $status")" = "$status" ]
    done
}

# bats test_tags=turn:0
@test "a command that a signal kills is seen to die of it" {
    broker_start
    for signal in TERM INT KILL ABRT USR1; do
        [ "$(ulimit -c 0; ending setpriv --reuid $ALICE --regid $ALICE --groups $GROUP -- env --default-signal \
            "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 1ms -P 20ms -- sh -c "kill -$signal \$\$")" = "-$(kill -l $signal)" ]
    done
}

# bats test_tags=turn:1
@test "environment, directory, umask, limits and session are untouched" {
    broker_start
    PREFIX=(as $ALICE env -i PATH=/usr/bin:/bin LC_ALL=C ODD="a  b" EMPTY= USER=nobody-such setsid -w)
    cd "$WORK"
    umask 027
    ulimit -S -n 99
    unchanged env
    unchanged sh -c 'pwd; umask; ulimit -a'
    unchanged grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Umask)' /proc/self/status
    unchanged sh -c '[ $(ps -o sid= -p $$) -eq $(ps -o pgid= -p $$) ] && echo leads its session'
}

# bats test_tags=turn:2
@test "signal mask and ignored signals are untouched, and nothing is pending" {
    broker_start
    PREFIX=(as $ALICE env --default-signal --ignore-signal=HUP,USR2,CHLD --block-signal=TERM,USR1,WINCH)
    unchanged grep -E '^(Sig|Shd)' /proc/self/status
    PREFIX=(as $ALICE env --default-signal)
    unchanged grep -E '^(Sig|Shd)' /proc/self/status
    PREFIX=(as $ALICE env --ignore-signal)
    unchanged grep -E '^(Sig|Shd)' /proc/self/status
}

# bats test_tags=turn:0
@test "the command has the descriptors that rtf-run was given, and no other" {
    broker_start
    echo here >"$WORK/given"
    chmod 666 "$WORK/given"
    # shellcheck disable=SC2016 # the command's sh expands it
    list='find /proc/$$/fd -type l -printf "%f %l\n"; :'
    for reserved in '' "$RTF_BIN/rtf-run --spool $SPOOL -T 5ms -P 20ms --"; do
        # shellcheck disable=SC2086 # words
        as $ALICE $reserved sh -c "$list" 3>&- 4>&- 7<"$WORK/given" 9>>"$WORK/given" </dev/null >"$WORK/out" 2>&1
        grep -q "^7 $WORK/given" "$WORK/out"
        mv "$WORK/out" "$WORK/seen-${reserved:+with}"
    done
    diff "$WORK/seen-" "$WORK/seen-with" >&2
    run rtf_run -T 5ms -P 20ms -- sh -c 'cat <&7' 7<"$WORK/given"
    [ "$output" = here ]
}

# bats test_tags=turn:1
@test "closed standard descriptors stay closed" {
    broker_start
    install -m 666 /dev/null "$WORK/seen"
    # shellcheck disable=SC2016 # the command's sh expands it
    list='for fd in 0 1 2; do [ ! -e "/proc/$$/fd/$fd" ] || seen="$seen $fd"; done; chrt -p $$ >>'$WORK/seen' 2>&1; echo "open:$seen" >>'$WORK/seen
    rtf_run -T 5ms -P 20ms -- sh -c "$list" <&-
    rtf_run -T 5ms -P 20ms -- sh -c "$list" >&-
    rtf_run -T 5ms -P 20ms -- sh -c "$list" <&- 2>&-
    rtf_run -T 5ms -P 20ms -- sh -c "$list" <&- >&- 2>&-
    [ "$(grep '^open:' "$WORK/seen")" = "$(printf 'open: 1 2\nopen: 0 2\nopen: 1\nopen:')" ] || { cat "$WORK/seen" >&2; false; }
    [ "$(grep -c SCHED_DEADLINE "$WORK/seen")" -eq 4 ]
}

# bats test_tags=turn:2
@test "with closed standard descriptors a refusal goes nowhere, not into the spool" {
    broker_start
    status=0
    rtf_run -T 5ms -P 20ms --plugin NONE -- true <&- >&- 2>&- || status=$?
    [ "$status" -eq 125 ]
    eventually is_empty "$OWN"
    status=0
    rtf_run -v -T 5ms -P 20ms -- sh -c "cat $OWN/run-\$\$.json" >"$WORK/out" 2>&- || status=$?
    [ "$status" -eq 0 ]
    jq -e '.runtime == 5000 and .lifetime == "thread"' "$WORK/out"
    # While rtf-run waits, `alive` is the only file of the spool that rtf-run has open for writing. rtf-run does not write into it, even if its standard
    # descriptors are closed.
    freeze_broker
    rtf_run -T 5ms -P 20ms --timeout 20ms -- true <&- >&- 2>&- || true
    [ -z "$(dd if="$SPOOL/alive" iflag=nonblock status=none 2>/dev/null)" ]
}

# bats test_tags=turn:0
@test "rtf-run works with an empty environment" {
    broker_start
    run as $ALICE env -i "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 5ms -P 20ms -- /usr/bin/env
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [ -d "$OWN" ]
    run as $ALICE env -i "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 5ms -P 20ms -- chrt -p 0
    [[ $output == *SCHED_DEADLINE* ]]
}

# bats test_tags=turn:1
@test "rtf-run works as in a crontab: own session, no terminal, few variables, output to a pipe" {
    broker_start
    output=$(setpriv --reuid $ALICE --regid $ALICE --groups $GROUP -- setsid -w env -i HOME=/ SHELL=/bin/sh \
        PATH=/usr/bin:/bin LOGNAME=$ALICE sh -c "$RTF_BIN/rtf-run --spool $SPOOL -T 5ms -P 20ms -- sh -c 'chrt -p \$\$; exit 3'
            echo status \$?" </dev/null 2>&1 3>&- | cat)
    [[ $output == *SCHED_DEADLINE*"status 3" ]]
    # A command that prints nothing causes no mail.
    [ -z "$(as $ALICE setsid -w env -i sh -c "$RTF_BIN/rtf-run --spool $SPOOL -T 5ms -P 20ms -- true" </dev/null 2>&1)" ]
}

# bats test_tags=turn:2
@test "rtf-run works as a link in a pipeline, and takes SIGPIPE as the command would" {
    broker_start
    output=$(printf 'a\nb\n' | rtf_run -T 5ms -P 20ms -- tr ab xy | tail -n 1)
    [ "$output" = y ]
    as $ALICE env --default-signal=PIPE "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 5ms -P 20ms -- yes | head -n 1 >"$WORK/out"
    [ "${PIPESTATUS[0]}" -eq 141 ]
    # Input that comes before the broker has answered goes to the command.
    freeze_broker
    echo early >"$WORK/input"
    become $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 5ms -P 20ms -- cat < <(cat "$WORK/input") >"$WORK/out" 3>&- &
    PID=$!
    echo "$PID" >>"$WORK/pids"
    waits
    kill -CONT "$BROKER"
    wait "$PID"
    [ "$(<"$WORK/out")" = early ]
}

# bats test_tags=turn:0
@test "rtf-run works as a service's ExecStart: no USER, the main pid, a socket handed down" {
    broker_start
    echo ready >"$WORK/socket"
    become $ALICE setsid env -i LISTEN_FDS=1 NOTIFY_SOCKET="$WORK/none" INVOCATION_ID=1 "$RTF_BIN/rtf-run" --spool "$SPOOL" \
        -T 500us -P 4ms --name arm -- sh -c 'read -r line <&3; echo "$$ $line $LISTEN_FDS"; exec sleep 300' \
        3<"$WORK/socket" </dev/null >"$WORK/out" 2>&1 &
    PID=$!
    echo "$PID" >>"$WORK/pids"
    eventually is_sleep "$PID"
    [ "$(<"$WORK/out")" = "$PID ready 1" ]
    [ "$(kernel "$PID")" = "deadline 0 nice=0 500/4000/4000 cpus=$ALL_CPUS reset=1" ]
    [ "$(jq .thread.tid "$OWN/arm.verdict")" = "$PID" ]
    kill "$PID"
    eventually is_empty "$OWN"
}

# bats test_tags=turn:1
@test "rtf-run works on a terminal, where the command can be interrupted" {
    broker_start
    mkfifo "$WORK/keys"
    script -qec "exec setpriv --reuid $ALICE --regid $ALICE --groups $GROUP -- env --default-signal \
        $RTF_BIN/rtf-run --spool $SPOOL -T 5ms -P 20ms -- sleep 300" /dev/null <"$WORK/keys" >"$WORK/screen" 2>&1 3>&- &
    terminal=$!
    echo "$terminal" >>"$WORK/pids"
    exec 8>"$WORK/keys"
    eventually pgrep -P "$terminal" -x sleep
    [[ $(kernel "$(pgrep -P "$terminal" -x sleep)") == "deadline 0 nice=0 5000/20000/20000 "* ]]
    printf '\003' >&8
    status=0
    wait "$terminal" || status=$?
    exec 8>&-
    [ "$status" -eq 130 ]
    eventually is_empty "$OWN"
}

# bats test_tags=turn:2
@test "Ctrl-C while it waits for a broker that is stuck: it dies of it, the shell sees that, and nothing is left" {
    broker_start
    freeze_broker
    mkfifo "$WORK/keys"
    install -m 777 -d "$WORK/open"
    script -qec "exec setpriv --reuid $ALICE --regid $ALICE --groups $GROUP -- env --default-signal \
        bash -c '$RTF_BIN/rtf-run --spool $SPOOL -T 5ms -P 20ms -- touch $WORK/open/ran; touch $WORK/open/went-on'" \
        /dev/null <"$WORK/keys" >"$WORK/screen" 2>&1 3>&- &
    terminal=$!
    echo "$terminal" >>"$WORK/pids"
    exec 8>"$WORK/keys"
    eventually glob "$OWN/run-*.json"
    printf '\003' >&8
    status=0
    wait "$terminal" || status=$?
    exec 8>&-
    [ "$status" -eq 130 ]
    is_empty "$OWN"
    is_empty "$WORK/open" # bash ends after a command that died of SIGINT, and goes on after one that exits with 130
    kill -CONT "$BROKER"
    nothing_reserved
}

glob() { compgen -G "$1" >/dev/null; }

# bats test_tags=turn:0
@test "each signal that would end it takes the spec back, and it dies of that signal" {
    broker_start
    freeze_broker
    ulimit -c 0
    for signal in INT TERM HUP QUIT PIPE ALRM USR1 USR2; do
        as $ALICE env --default-signal /usr/bin/python3 -S -c '
import os, subprocess, sys, time
child = subprocess.Popen(sys.argv[3:])
while not os.path.exists(f"{sys.argv[1]}/run-{child.pid}.json"):
    time.sleep(0.005)
child.send_signal(int(sys.argv[2]))
print(child.wait(10))' "$OWN" "$(kill -l $signal)" "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 80ms -P 100ms -- true >"$WORK/ended"
        [ "$(cat "$WORK/ended")" = "-$(kill -l $signal)" ]
        is_empty "$OWN"
    done
    kill -CONT "$BROKER"
    nothing_reserved
}

# bats test_tags=turn:1
@test "an ignored hangup stays ignored: nohup rtf-run goes on waiting, and its command ignores it too" {
    broker_start
    freeze_broker
    start_with nohup -- -T 5ms -P 20ms -- sleep 300
    waits
    kill -HUP "$PID"
    kill -CONT "$BROKER"
    eventually is_sleep "$PID"
    kill -HUP "$PID"
    [ $((0x$(awk '/^SigIgn/ { print $2 }' "/proc/$PID/status") & 1)) -eq 1 ]
    [[ $(kernel "$PID") == "deadline "* ]]
}

# bats test_tags=turn:2
@test "a blocked signal that comes while it waits is pending for the command" {
    broker_start
    freeze_broker
    start_with env --block-signal=TERM -- -T 5ms -P 20ms -- sleep 300
    waits
    kill -TERM "$PID"
    kill -CONT "$BROKER"
    eventually is_sleep "$PID"
    [ $((0x$(awk '/^ShdPnd/ { print $2 }' "/proc/$PID/status") >> 14 & 1)) -eq 1 ]
}

# bats test_tags=turn:0
@test "rtf-run can be stopped and continued while it waits" {
    broker_start
    freeze_broker
    start -T 5ms -P 20ms -- sleep 300
    waits
    kill -STOP "$PID"
    eventually is_stopped "$PID"
    kill -CONT "$BROKER"
    eventually test -e "$OWN/run-$PID.verdict"
    kill -CONT "$PID"
    eventually is_sleep "$PID"
    [[ $(kernel "$PID") == "deadline "* ]]
}

# The kernel's account is of the whole machine.
# bats test_tags=machine,turn:1
@test "a refusal exits with 125 and one line with the plugin, the reason and the nearest runtime; that runtime fits, 1 us more does not" {
    configure_rules "$ALICE - max_utilization 9"
    broker_start
    began -T 15ms -P 20ms -- sleep 300
    while rtf_run -T 4ms -P 20ms --name "fill$((count += 1))" -- true && [ "$count" -lt "$(nproc)" ]; do
        began -T 15ms -P 20ms -- sleep 300
    done
    eventually knows_the_nearest # the bandwidth that the commands above have used must be paid back first
    rtf_run -T "${nearest}us" -P 20ms --plugin EDF -- true
}

knows_the_nearest() {
    fails 125 'rtf-run: EDF refused: * 0.75 asked; a runtime of at most *us would fit' rtf_run -T 15ms -P 20ms --plugin EDF -- true
    nearest=$(sed -E 's/.*; a runtime of at most ([0-9]+)us would fit/\1/' "$WORK/err")
    fails 125 'rtf-run: EDF refused: * would fit' rtf_run -T "$((nearest + 1))us" -P 20ms --plugin EDF -- true
}

# bats test_tags=turn:2
@test "a refusal by a rule is one line with file, line, bound and the asked value" {
    configure_rules "$ALICE - max_utilization 0.9" "$ALICE - max_runtime 20ms"
    broker_start
    fails 125 'rtf-run: *acl.conf:2: * max_runtime 20ms*30000us asked; a runtime of at most 20000us would fit' \
        rtf_run -T 30ms -P 100ms -- true
    fails 125 'rtf-run: *acl.conf:1: * max_utilization 0.9*0.95 asked; a runtime of at most 18000us would fit' \
        rtf_run -T 19ms -P 20ms -- true
    is_empty "$OWN"
}

# bats test_tags=turn:0
@test "a refusal for ever is one line that names the missing rule" {
    broker_start
    fails 125 'rtf-run: *NONE*' rtf_run -T 1ms -P 20ms --plugin NONE -- true
    fails 125 'rtf-run: *period*' rtf_run -T 1ms --plugin EDF -- true
    fails 125 'rtf-run: *runtime*period*' rtf_run -T 30ms -P 20ms -- true
    is_empty "$OWN"
}

# bats test_tags=turn:1
@test "a refused spec is gone when rtf-run has ended" {
    broker_start
    for _ in 1 2 3 4 5; do
        fails 125 '*refused*' rtf_run -T 1ms --plugin EDF --name same -- true
        is_empty "$OWN"
    done
    rtf_run -T 80ms -P 100ms --name same -- true
}

# bats test_tags=turn:2
@test "no broker: 125 and one line, at once" {
    at_once fails 125 "rtf-run: no broker has made a spool at $SPOOL ('rtf-brokerd --spool $SPOOL', as root, makes it)" rtf_run -T 5ms -P 20ms -- true
    broker_start
    broker_stop TERM
    at_once fails 125 "rtf-run: no broker is running on $SPOOL ('rtf-brokerd --spool $SPOOL', as root, starts one)" rtf_run -T 5ms -P 20ms --timeout 20s -- true
    [ ! -e "$OWN" ]
    broker_start
    broker_stop KILL
    at_once fails 125 "rtf-run: no broker is running on $SPOOL ('rtf-brokerd --spool $SPOOL', as root, starts one)" rtf_run -T 5ms -P 20ms -- true
    at_once fails 125 'rtf-run: *' rtf_run --spool "$WORK/etc" -T 5ms -P 20ms -- true
    at_once fails 125 'rtf-run: *' rtf_run --spool "$WORK/etc/acl.conf" -T 5ms -P 20ms -- true
    mkfifo "$WORK/fifo"
    at_once fails 125 'rtf-run: *' rtf_run --spool "$WORK/fifo" -T 5ms -P 20ms -- true
}

# bats test_tags=turn:1
@test "a broker that is starting is waited for, as long as --timeout says" {
    broker_begins
    takes 100 5000 fails 125 "rtf-run: the broker on $SPOOL is still starting" rtf_run --timeout 100ms -T 5ms -P 20ms -- true
    start -T 5ms -P 20ms -- sleep 300
    eventually is_polling "$PID"
    touch "$WORK/greet"
    eventually is_sleep "$PID"
    [[ $(kernel "$PID") == "deadline "* ]]
}
is_polling() { [[ $(cat "/proc/$1/wchan") == *poll* ]]; }

# took_us COMMAND...: prints how long one run of the command takes, in us: the median of 21 runs.
took_us() {
    /usr/bin/python3 -S -c '
import subprocess, sys, time
took = []
for _ in range(21):
    began = time.perf_counter()
    subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
    took.append(time.perf_counter() - began)
print(int(sorted(took)[10] * 1000000))' "$@"
}

# The kernel takes 8 to 16 ms to release an inotify instance. Neither rtf-run nor a reader of the command's output may wait for this.
costs_little() {
    ours=$(took_us "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 10ms -P 100ms -- true)
    theirs=$(took_us chrt -d -T 10000000 -P 100000000 0 true)
    piped=$(took_us sh -c '"$@" | cat' sh "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 10ms -P 100ms -- true)
    waited=$(took_us sh -c 'touch "$1" && shift && "$@"' sh "$SPECS/root/cam.json" "$RTF_BIN/rtf-wait" --spool "$SPOOL" cam)
    echo "rtf-run $ours us, in a pipe $piped, chrt $theirs, rtf-wait $waited" >&2
    [ "$ours" -lt $((2 * theirs + 1500)) ] && [ "$piped" -lt $((4 * theirs + 1500)) ] && [ "$waited" -lt $((4 * theirs + 1500)) ]
}

# Alone, and with a spool in memory: a disk that writes other tests' files would slow the command down.
# bats test_tags=turn:2,machine
@test "rtf-run starts a command in little more time than chrt, and does not wait for what the kernel tidies up" {
    mkdir "$SPOOL"
    mount -t tmpfs -o size=16m,mode=755 none "$SPOOL"
    broker_start
    mkdir "$SPECS/root"
    echo '{"runtime": "1ms", "period": "20ms"}' >"$SPECS/root/cam.json"
    USER=root once_of 5 costs_little
}

# bats test_tags=turn:0
@test "the wait is over: 125 and one line, when --timeout says so, and no reservation" {
    broker_start
    freeze_broker
    takes 300 5000 fails 125 'rtf-run: no answer to run-* within the time allowed' \
        rtf_run -T 80ms -P 100ms --timeout 300ms -- true
    is_empty "$OWN"
    kill -CONT "$BROKER"
    nothing_reserved
}

# bats test_tags=turn:1
@test "the broker dies while it waits: 125 and one line, long before its time is over, and no spec is left" {
    broker_start
    freeze_broker
    start -T 80ms -P 100ms --timeout 20s -- true
    waits
    kill -KILL "$BROKER"
    status=0
    takes 0 5000 wait_for "$PID"
    [ "$status" -eq 125 ]
    [ "$(<"$WORK/err")" = "rtf-run: the broker on $SPOOL ended before it answered" ]
    is_empty "$OWN"
    BROKER=
    eventually none_of_ours
    broker_start
    nothing_reserved
}

wait_for() { wait "$1" || status=$?; }

# bats test_tags=turn:2
@test "a name that is taken: 125 and one line, and the spec of that name is as it was" {
    broker_start
    spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    before=$(stat -c '%i %z' "$OWN/cam.json"; cat "$OWN/cam.json" "$OWN/cam.verdict")
    fails 125 'rtf-run: *'"/specs/$ALICE/cam.json exists, and no thread runs under it: --replace takes its place, 'rtf release cam' ends it" rtf_run -T 2ms -P 20ms --name cam -- true
    [ "$(stat -c '%i %z' "$OWN/cam.json"; cat "$OWN/cam.json" "$OWN/cam.verdict")" = "$before" ]
    [ "$(ls -A "$OWN")" = "$(printf 'cam.json\ncam.verdict')" ]
    fails 125 'rtf-run: *.json exists, and no thread *' rtf_run -T 2ms -P 20ms --name cam -- true # the refused command has not removed cam.json
}

# bats test_tags=turn:1
@test "--replace takes the place of a spec of that name under which no thread runs: refused, abandoned, or of a thread that has ended" {
    broker_start
    spec $ALICE arm '{"runtime": "19ms", "period": "20ms"}' >/dev/null
    fails 125 "rtf-run: $OWN/arm.json exists, and no thread runs under it: --replace takes its place, 'rtf release arm' ends it" rtf_run --name arm -T 5ms -P 20ms -- true
    rtf_run --name arm --replace -T 5ms -P 20ms -- true
    eventually is_empty "$OWN"
    spec $ALICE arm '{"runtime": "1ms", "period": "20ms"}' >/dev/null
    rtf_run --name arm --replace -T 5ms -P 20ms -- true
    eventually is_empty "$OWN"
    began --name arm -T 5ms -P 20ms -- sleep 300
    fails 125 "rtf-run: $OWN/arm.json exists, and thread $PID (sleep) runs under it: 'rtf release arm' ends it" rtf_run --name arm --replace -T 5ms -P 20ms -- true
    is_granted_to "$PID"
    # A service that is started again at once does the same.
    for _ in {1..10}; do
        kill -KILL "$PID"
        wait "$PID" || true
        began --name arm --replace -T 5ms -P 20ms -- sleep 300
        is_granted_to "$PID"
    done
    # Without a broker, rtf-run behaves as if rtf were absent.
    kill -KILL "$PID"
    eventually is_empty "$OWN"
    rtf_run --name arm --replace -T 5ms -P 20ms -- true
}
is_granted_to() { [ "$(jq .thread.tid "$OWN/arm.verdict")" = "$1" ]; }

# bats test_tags=turn:0
@test "the spec that a killed rtf-run with the same process id left does not stop rtf-run" {
    broker_start
    as $ALICE mkdir -p "$OWN"
    run as $ALICE sh -c "echo '{}' >$OWN/run-\$\$.json; exec $RTF_BIN/rtf-run --spool $SPOOL -T 5ms -P 20ms -- chrt -p 0"
    [ "$status" -eq 0 ]
    [[ $output == *SCHED_DEADLINE* ]]
    only_the_old_one() { [ "$(find "$OWN" -name '*.json' -exec cat {} +)" = '{}' ]; }
    eventually only_the_old_one
}

# bats test_tags=turn:1
@test "an old answer of the same name is not taken for its own" {
    broker_start
    as $ALICE mkdir -p "$OWN"
    as $ALICE tee "$OWN/cam.verdict" >/dev/null <<'END'
{"request":"create","token":"0000000000000000","result":"OK","reason":"old","grant":{"policy":"deadline"},"thread":{"tid":1,"state":"attached"}}
END
    rtf_run -v -T 2ms -P 20ms --name cam -- true 2>"$WORK/err"
    [ "$(jq -r .grant.runtime "$WORK/err")" = 2000 ]
}

# bats test_tags=turn:2
@test "a missing command exits with 127, one that cannot be run with 126, and the reservation is given back" {
    broker_start
    install -m 644 /dev/null "$WORK/text"
    PATH=/usr/bin:/bin # with a directory in it that Alice may not enter, execvp(3) says "Permission denied"
    fails 127 'rtf-run: no-such-command: No such file or directory' rtf_run -T 80ms -P 100ms -- no-such-command
    fails 127 "rtf-run: $WORK/none: No such file or directory" rtf_run -T 80ms -P 100ms -- "$WORK/none"
    fails 126 "rtf-run: $WORK/text: Permission denied" rtf_run -T 80ms -P 100ms -- "$WORK/text"
    fails 126 "rtf-run: $WORK: Permission denied" rtf_run -T 80ms -P 100ms -- "$WORK"
    fails 126 "rtf-run: $WORK/text/x: Not a directory" rtf_run -T 80ms -P 100ms -- "$WORK/text/x"
    fails 127 'rtf-run: : No such file or directory' rtf_run -T 80ms -P 100ms -- ''
    fails 125 'rtf-run: --wait 2s: this would run the command "2s"; to wait that long: --wait=2s' rtf_run --wait 2s -T 10ms -P 100ms -- true
    eventually is_empty "$OWN"
    nothing_reserved
}

# bats test_tags=turn:0
@test "a time without a unit, or that is none, is refused with the option's name, for every option" {
    for option in -T -P -D --desired-runtime --timeout; do
        longest=1h
        [ "$option" != --timeout ] || longest=366d
        fails 125 "rtf-run: $option 5: a time needs a unit (us, ms, s, min, h or d)" "$RTF_BIN/rtf-run" $option 5 -- true
        for text in 0 00 18446744073709551615; do
            fails 125 "rtf-run: $option $text: a time needs a unit (us, ms, s, min, h or d)" "$RTF_BIN/rtf-run" $option $text -- true
        done
        for text in 1.5ms=1500us +5ms=5000us '5 ms=5000us' 5MS=5000us 1e3us=1000us .5s=500000us; do
            fails 125 "rtf-run: $option ${text%=*}: a time must be a whole number and a unit (us, ms, s, min, h or d), such as ${text#*=}" \
                "$RTF_BIN/rtf-run" "$option" "${text%=*}" -- true
        done
        for text in 0ms 1.5us -5ms 367d 5m 5msec 31622401s 999999999999ms 99999999999999999999s '' ms 0x5ms; do
            fails 125 "rtf-run: $option $text: a time must be a whole number and a unit (us, ms, s, min, h or d), 1us to $longest" \
                "$RTF_BIN/rtf-run" "$option" "$text" -- true
        done
    done
    run "$RTF_BIN/rtf-run" --dry-run -T 1us -P 1h -D 60min --desired-runtime 7ms
    [ "$(jq -c '[.runtime, .period, .deadline, .desired_runtime]' <<<"$output")" = '[1,3600000000,3600000000,7000]' ]
}

# bats test_tags=turn:1
@test "other wrong usage exits with 125, too, and names the error" {
    for priority in 0 100 -1 x 5.5 '' 99999999999999999999; do
        fails 125 "rtf-run: --priority $priority: a priority must be from 1 to 99" "$RTF_BIN/rtf-run" "--priority=$priority" -- true
    done
    for name in '' .hidden -dash a/b 'a b' "$(printf 'x%.0s' {1..65})" ä ..; do
        fails 125 "rtf-run: --name ${name//ä/??}: a name must be 1 to 64 of *" "$RTF_BIN/rtf-run" "--name=$name" -- true
    done
    fails 125 'rtf-run: --comment: this is not UTF-8 text' "$RTF_BIN/rtf-run" --comment $'\xff' -- true
    fails 125 'rtf-run: --plugin: this is not UTF-8 text' "$RTF_BIN/rtf-run" --plugin $'\xff' -- true
    for words in '' '--' '-T' '--no-such-option -- true' '-x true' '--period -- true' '-T 5ms -P 20ms'; do
        # shellcheck disable=SC2086 # words
        run "$RTF_BIN/rtf-run" $words
        [ "$status" -eq 125 ]
        [[ $output == *rtf-run:* ]]
    done
}

# bats test_tags=turn:2
@test "options end at the command, and the command's own options are left alone" {
    broker_start
    run rtf_run -T 5ms -P 20ms printf '%s ' -T 1 --timeout -- --help
    [ "$status" -eq 0 ]
    [ "$output" = '-T 1 --timeout -- --help ' ]
    run rtf_run -T 5ms -P 20ms -- printf '%s ' -- -v
    [ "$output" = '-- -v ' ]
}

# bats test_tags=turn:0
@test "--help and --version answer on standard output and do nothing" {
    for option in --help '-?' -h --version -V; do
        "$RTF_BIN/rtf-run" --spool "$SPOOL" "$option" >"$WORK/out" 2>"$WORK/err" -- true
        [ -s "$WORK/out" ]
        [ ! -s "$WORK/err" ]
    done
    [ ! -e "$SPOOL" ]
}

# bats test_tags=turn:1
@test "--dry-run prints the spec on one line, needs no broker and touches nothing" {
    as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --dry-run -T 5ms -P 20ms -D 15ms --desired-runtime 7ms --priority 30 \
        --plugin EDF --ignore-admission --name cam --comment 'camera "1" ü' -- touch "$WORK/ran" >"$WORK/out"
    [ "$(wc -l <"$WORK/out")" -eq 1 ]
    jq -e 'del(.attach, .token) == {runtime: 5000, desired_runtime: 7000, period: 20000, deadline: 15000, priority: 30, plugin: "EDF", ignore_admission: true, lifetime: "thread", comment: "camera \"1\" ü"}' "$WORK/out"
    jq -e '(.attach | type) == "number" and (.token | test("^[0-9a-f]{16}$"))' "$WORK/out"
    [ ! -e "$SPOOL" ]
    [ ! -e "$WORK/ran" ]
    # The command may be omitted, and each call has another token.
    [ "$("$RTF_BIN/rtf-run" --dry-run -T 5ms | jq -r .token)" != "$("$RTF_BIN/rtf-run" --dry-run -T 5ms | jq -r .token)" ]
    fails 125 'rtf-run: cannot print the spec: *' to_full "$RTF_BIN/rtf-run" --dry-run -T 5ms
    fails 125 'rtf-run: cannot print the spec: *' to_nowhere "$RTF_BIN/rtf-run" --dry-run -T 5ms
}

to_full() { "$@" >/dev/full; }
to_nowhere() { "$@" >&-; }

# bats test_tags=turn:2
@test "-f starts from the spec in a file; a file with rules for threads is for the process of the command, and for nothing else" {
    printf '{"runtime": "3ms", "period": "20ms"}' >"$WORK/spec"
    printf '{"threads": [{"name": "camera*", "runtime": "2ms", "period": "33ms"}]}' >"$WORK/rules"
    run "$RTF_BIN/rtf-run" --dry-run -f "$WORK/spec" -P 30ms
    [ "$(jq -c '[.runtime, .period, .lifetime]' <<<"$output")" = '["3ms",30000,"thread"]' ]
    "$RTF_BIN/rtf-run" --dry-run -f "$WORK/rules" >"$WORK/out" &
    wait $!
    command jq -e --argjson process $! 'del(.token) == {threads: [{name: "camera*", runtime: "2ms", period: "33ms"}], process: $process, lifetime: "process"}' "$WORK/out"
    fails 125 'rtf-run: options for needs, such as -T, cannot stand beside a file with rules for threads: the rules state all needs*' "$RTF_BIN/rtf-run" -f "$WORK/rules" -T 2ms -- true
    fails 125 'rtf-run: --attach and --wait cannot stand beside a file with rules for threads*' "$RTF_BIN/rtf-run" -f "$WORK/rules" --attach=ready -- true
    printf '{"program": "/usr/bin/camera", "threads": []}' >"$WORK/rules"
    fails 125 'rtf-run: -f: leave out the key "program": the command line already says which process the rules are for' "$RTF_BIN/rtf-run" -f "$WORK/rules" -- true
    fails 125 "rtf-run: $WORK/none cannot be read: No such file or directory" "$RTF_BIN/rtf-run" -f "$WORK/none" -- true
}

@test "with rules for threads the command starts when these are taken, and each of its threads is attached by its name" {
    broker_start
    printf '{"threads": [{"name": "camera*", "runtime": "1ms", "period": "20ms"}]}' >"$WORK/rules"
    chmod 644 "$WORK/rules"
    mkfifo "$WORK/orders"
    become $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" -f "$WORK/rules" --name player -- \
        /usr/bin/python3 -S "$RTF_SOURCE/test/fixtures/threads" camera-1 other camera-2 <>"$WORK/orders" >"$WORK/said" 3>&- &
    local player=$!
    echo "$player" >>"$WORK/pids"
    policies() { for task in "/proc/$player/task"/*; do echo "$(<"$task/comm")=$(kernel "${task##*/}" | cut -d ' ' -f 1)"; done | sort | xargs; }
    are() { [ "$(policies)" = "$1" ]; }
    eventually are 'camera-1=deadline camera-2=deadline other=other python3=other'
    is_gone_with_process() { [ ! -e "$SPECS/$ALICE/player.json" ]; }
    kill "$player"
    eventually is_gone_with_process
    printf '{"threads": [{"name": "rtf-run", "runtime": "30ms", "period": "20ms"}]}' >"$WORK/rules"
    fails 125 'rtf-run: *' as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" -f "$WORK/rules" -- touch "$WORK/ran"
    [ ! -e "$WORK/ran" ]
    printf '{"threads": [{"name": "rtf-run", "runtime": "19ms", "period": "20ms", "plugin": "NONE"}]}' >"$WORK/rules"
    fails 125 'rtf-run: thread rtf-run (*), rule 1: *' as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" -f "$WORK/rules" -- touch "$WORK/ran"
    [ ! -e "$WORK/ran" ]
    eventually has_no_specs
    # With --fallback the command runs without a reservation.
    falls_back() { # SENTENCE
        status=0
        as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" -f "$WORK/rules" --fallback -- sh -c 'chrt -p $$; exit 7' >"$WORK/out" 2>"$WORK/err" || status=$?
        [ "$status" -eq 7 ] && [ "$(wc -l <"$WORK/err")" = 1 ] && [[ $(<"$WORK/err") == 'rtf-run: '$1'; running sh without a reservation' ]] && grep -q SCHED_OTHER "$WORK/out" ||
            { cat "$WORK/out" "$WORK/err" >&2; return 1; }
        eventually has_no_specs
    }
    falls_back 'thread rtf-run (*), rule 1: *'
    printf '{"threads": [{"name": "rtf-run", "runtime": "30ms", "period": "20ms"}]}' >"$WORK/rules"
    falls_back '*must not exceed the period*'
    printf '{"threads": [{"name": "*", "runtime": "1ms", "period": "20ms"}]}' >"$WORK/rules"
    broker_stop TERM
    falls_back 'no broker *'
    eventually has_no_specs
}
has_no_specs() { [ -z "$(find "$SPECS/$ALICE" -name '*.json')" ]; }

@test "--dry-run prints a correct spec for every combination of options" {
    broker_start
    as $ALICE mkdir -p "$OWN"
    sleeper $ALICE
    for words in '' '-T 5ms' '-P 20ms' '-T 5ms -P 20ms' '-T 5ms -P 20ms -D 10ms --desired-runtime 8ms' '--priority 12' \
        '-T 1us -P 3600s --priority 99 --plugin RR --ignore-admission' '--comment x --plugin NONE'; do
        # shellcheck disable=SC2086 # words
        json=$("$RTF_BIN/rtf-run" --dry-run $words)
        answer=$(spec $ALICE dry "$json")
        [ "$(field .result "$answer")" != BAD_SPEC ] || { echo "$words: $answer" >&2; false; }
        [ "$(field .token "$answer")" = "$(jq -r .token <<<"$json")" ]
        rm "$OWN/dry.json"
    done
    answer=$(spec $ALICE dry "$("$RTF_BIN/rtf-run" --dry-run -T 5ms -P 20ms | jq -c ".attach = $SLEEPER")")
    [ "$(field .result "$answer")" = OK ]
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 5000/20000/20000 cpus=$ALL_CPUS reset=1" ]
}

# bats test_tags=turn:0
@test "--fallback runs the command without, and says so in one line, whatever the reason" {
    said='; running sh without a reservation'
    fallback() { rtf_run --fallback "$@" -- sh -c 'chrt -p $$; exit 7' >"$WORK/out" 2>"$WORK/err"; }
    plain() {
        status=0
        fallback "$@" || status=$?
        [ "$status" -eq 7 ] && [[ $(<"$WORK/out") == *SCHED_OTHER* ]] && [ "$(wc -l <"$WORK/err")" -eq 1 ] &&
            [[ $(<"$WORK/err") == "rtf-run: "*"$said" ]] || { cat "$WORK/out" "$WORK/err" >&2; return 1; }
    }
    plain -T 5ms -P 20ms
    broker_start
    plain -T 19ms -P 20ms --plugin EDF
    is_empty "$OWN"
    plain -T 5ms -P 20ms --plugin NONE
    freeze_broker
    plain -T 80ms -P 100ms --timeout 50ms
    kill -CONT "$BROKER"
    nothing_reserved
    # If the reservation is granted, rtf-run prints nothing.
    status=0
    fallback -T 5ms -P 20ms || status=$?
    [ "$status" -eq 7 ]
    [[ $(<"$WORK/out") == *SCHED_DEADLINE* ]]
    [ ! -s "$WORK/err" ]
}

# bats test_tags=turn:1
@test "--fallback does not hide that the command is missing, nor a signal" {
    broker_start
    PATH=/usr/bin:/bin
    fails 127 'rtf-run: no-such-command: *' rtf_run --fallback -T 5ms -P 20ms -- no-such-command
    freeze_broker
    start --fallback -T 5ms -P 20ms -- touch "$WORK/ran"
    waits
    kill -INT "$PID"
    status=0
    wait "$PID" || status=$?
    [ "$status" -eq 130 ]
    [ ! -s "$WORK/err" ]
    is_empty "$OWN"
}

# bats test_tags=turn:2
@test "-v prints the answer on standard error, one line of JSON, granted or refused" {
    broker_start
    rtf_run -v -T 5ms -P 20ms -D 15ms --desired-runtime 6ms --name cam -- sh -c 'echo $$' >"$WORK/out" 2>"$WORK/err"
    [ "$(wc -l <"$WORK/err")" -eq 1 ]
    jq -e --argjson pid "$(<"$WORK/out")" '.result == "OK" and .request == "create" and
        .thread == {tid: $pid, state: "attached"} and .grant.plugin == "EDF" and .grant.deadline == 15000 and
        .grant.accepted_runtime == 6000 and (.token | length) == 16' "$WORK/err"
    status=0
    rtf_run --verbose -T 19ms -P 20ms -- true 2>"$WORK/err" || status=$?
    [ "$status" -eq 125 ]
    [ "$(wc -l <"$WORK/err")" -eq 2 ]
    [ "$(head -n 1 "$WORK/err" | jq -r .result)" = ACL_FAIL ]
}

# bats test_tags=turn:0
@test "--name and --comment are in the spool while the command runs, private, and go with it" {
    broker_start
    began -T 5ms -P 20ms --name left.arm-1 --comment 'left arm' -- sleep 300
    [ "$(ls -A "$OWN")" = "$(printf 'left.arm-1.json\nleft.arm-1.verdict')" ]
    [ "$(stat -c '%a %u' "$OWN/left.arm-1.json")" = "600 $ALICE" ]
    [ "$(jq -r .comment "$OWN/left.arm-1.json")" = 'left arm' ]
    kill -KILL "$PID"
    eventually is_empty "$OWN"
    began -T 5ms -P 20ms -- sleep 300
    [ "$(ls -A "$OWN")" = "$(printf 'run-%s.json\nrun-%s.verdict' "$PID" "$PID")" ]
    kill "$PID"
    eventually is_empty "$OWN"
    nothing_reserved
}

# bats test_tags=turn:1
@test "a command that becomes another one keeps its reservation" {
    broker_start
    start -T 5ms -P 20ms -- sh -c 'exec sh -c "exec sleep 300"'
    eventually is_sleep "$PID"
    [[ $(kernel "$PID") == "deadline 0 nice=0 5000/20000/20000 "* ]]
    [ -e "$OWN/run-$PID.json" ]
}

# bats test_tags=turn:2
@test "--plugin asks that one only" {
    broker_start
    rtf_run -v -T 1ms -P 20ms --priority 5 --plugin RR -- true 2>"$WORK/err"
    [ "$(jq -c '[.grant.plugin, [.replies[].plugin]]' "$WORK/err")" = '["RR",["RR"]]' ]
}

# bats test_tags=turn:0
@test "--ignore-admission is let in beyond the test where the administrator allows it, and only there" {
    configure_plugins 'RM rm 21-40 0'
    configure_rules "$ALICE - max_utilization 9" "$BOB - max_utilization 9" "$ALICE - ignore_adm_test true"
    broker_start
    began -T 90ms -P 100ms -- sleep 300
    fails 125 'rtf-run: RM refused: *' rtf_run -T 90ms -P 100ms -- true
    began -T 90ms -P 50s --ignore-admission -- sleep 300
    began -T 90ms -P 100ms --ignore-admission -- sleep 300
    [[ $(kernel "$PID") =~ ^'fifo '[234][0-9]' nice=0 0/0/0 cpus=0 reset=1'$ ]]
    fails 125 'rtf-run: *ignore_adm_test*' as $BOB "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 1ms -P 100ms --ignore-admission -- true
}

# bats test_tags=turn:1
@test "killed with -9 while it waits, it leaves no reservation" {
    broker_start
    freeze_broker
    start -T 80ms -P 100ms -- sleep 300
    waits
    kill -KILL "$PID"
    wait "$PID" 2>/dev/null || true
    kill -CONT "$BROKER"
    nothing_reserved
    # The user can remove the rest of the spec as any other spec.
    rm -f "$OWN/run-$PID.json"
    eventually is_empty "$OWN"
}

# bats test_tags=turn:2
@test "killed over its spec, before it has a name, it leaves nothing at all" {
    broker_start
    as $ALICE mkdir -p "$OWN"
    run strace -qq -o "$WORK/trace" -e trace=linkat -e inject=linkat:signal=KILL:error=EINTR setpriv --reuid="$ALICE" --regid="$ALICE" --groups="$GROUP" \
        "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 5ms -P 20ms -- true
    [ "$status" -eq 137 ]
    grep -q '^linkat(.*run-[0-9]*\.json' "$WORK/trace"
    [ "$(ls -A "$OWN")" = "" ]
}

# bats test_tags=turn:0
@test "where a file must have a name from the start, the spec is renamed into its own" {
    broker_start
    strace -qq -o "$WORK/trace" -e trace=linkat,renameat2 -e inject=linkat:error=EOPNOTSUPP setpriv --reuid="$ALICE" --regid="$ALICE" --groups="$GROUP" \
        "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 5ms -P 20ms -- chrt -p 0 >"$WORK/out"
    [[ $(<"$WORK/out") == *SCHED_DEADLINE* ]]
    grep -q '^renameat2(.*"\.run-[0-9]*\.json\.[0-9a-f]*", .*"run-[0-9]*\.json", RENAME_NOREPLACE) = 0' "$WORK/trace"
    eventually is_empty "$OWN"
}

# bats test_tags=turn:1
@test "the spec removed while the command runs: it goes on with the policy it had before" {
    broker_start
    start_with nice -n 5 -- -T 5ms -P 20ms -- sleep 300
    eventually is_sleep "$PID"
    [[ $(kernel "$PID") == "deadline "* ]]
    as $ALICE rm "$OWN/run-$PID.json"
    eventually test ! -e "$OWN/run-$PID.verdict"
    [ "$(kernel "$PID")" = "other 0 nice=5 0/0/0 cpus=$ALL_CPUS reset=0" ]
}

# bats test_tags=turn:2
@test "rtf-run that becomes rtf-run is refused, as its thread has a reservation" {
    broker_start
    fails 125 'rtf-run: *thread * is attached to another reservation already' rtf_run -T 1ms -P 20ms -- "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 2ms -P 20ms -- true
    eventually is_empty "$OWN"
    nothing_reserved
}

# bats test_tags=turn:0
@test "rtf-run in a child of a reserved command has its own reservation" {
    configure_rules "$ALICE - max_utilization 2"
    broker_start
    install -m 666 /dev/null "$WORK/child"
    start --priority 15 --plugin FP -- sh -c "$RTF_BIN/rtf-run --spool $SPOOL -T 5ms -P 20ms -- \
        sh -c 'echo \$\$ >$WORK/child; exec sleep 300' & exec sleep 300"
    eventually test -s "$WORK/child"
    child=$(cat "$WORK/child")
    echo "$child" >>"$WORK/pids"
    eventually is_sleep "$PID"
    eventually is_sleep "$child"
    [[ $(kernel "$PID") == "fifo 15 "*" reset=1" ]]
    [ "$(kernel "$child")" = "deadline 0 nice=0 5000/20000/20000 cpus=$ALL_CPUS reset=1" ]
    kill "$child" "$PID"
    eventually is_empty "$OWN"
}

# bats test_tags=turn:1
@test "a hundred at once are all real-time, and afterwards there is nothing" {
    broker_start
    pids=()
    for ((i = 0; i < 100; i++)); do
        become $((i % 2 ? ALICE : BOB)) "$RTF_BIN/rtf-run" --spool "$SPOOL" --timeout "$((10 * PATIENCE))s" -T 3ms -P 200ms -- \
            sleep 300 </dev/null >>"$WORK/out" 2>&1 3>&- &
        pids+=($!)
        echo $! >>"$WORK/pids"
    done
    sleepers() { [ "$(ps -o comm= -p "${pids[*]}" | grep -cx sleep)" -eq 100 ]; }
    eventually sleepers || { cat "$WORK/out" >&2; false; }
    # With PREEMPT_RT, a thread lends its priority to others in the kernel. The guard may suspend a thread for this, until the thread's next period,
    # or until it wakes.
    real_time() { [ $(($(ps -o cls= -p "${pids[*]}" | grep -c DLN) + $(asleep))) -eq 100 ]; }
    asleep() {
        case $(uname -v) in
            *PREEMPT_RT*) cat "$OWN"/*.verdict "$SPECS/$BOB"/*.verdict | grep -c 'is real-time as soon as it wakes' ;;
            *) echo 0 ;;
        esac
    }
    eventually real_time
    [ ! -s "$WORK/out" ] || { cat "$WORK/out" >&2; false; }
    kill "${pids[@]}"
    eventually is_empty "$OWN"
    eventually is_empty "$SPECS/$BOB"
    nothing_reserved
}

# bats test_tags=turn:2
@test "a user who is not in the group is told the group's name" {
    broker_start
    fails 125 "rtf-run: you are not in group $GROUP, which may use $SPOOL (a new member must log in again)" \
        stranger $BOB "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 1ms -P 20ms -- true
    [ ! -e "$SPECS/$BOB" ]
    # An existing directory does not help, and a group's name does not change the sentence.
    as $BOB mkdir "$SPECS/$BOB"
    fails 125 "rtf-run: you are not in group $GROUP, *" stranger $BOB "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 1ms -P 20ms -- true
    is_empty "$SPECS/$BOB"
}

# bats test_tags=turn:0
@test "the group's name is in the sentence when it has one" {
    # shellcheck disable=SC2034 # broker_start reads it
    GROUP=daemon
    broker_start
    fails 125 "rtf-run: you are not in group daemon, which may use $SPOOL *" \
        stranger $BOB "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 1ms -P 20ms -- true
}

# bats test_tags=turn:1
@test "a member of the group without a rule is refused in one line, and not for ever" {
    broker_start
    takes 0 5000 fails 125 'rtf-run: *' as $CAROL "$RTF_BIN/rtf-run" --spool "$SPOOL" --timeout 10s -T 1ms -P 20ms -- true
}

# bats test_tags=turn:2
@test "USER is not trusted: another user's name leads to the own directory" {
    broker_start
    as $BOB mkdir "$SPECS/$BOB"
    run as $ALICE env USER=$BOB "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 1ms -P 20ms -- sh -c "ls $OWN/run-\$\$.json"
    [ "$status" -eq 0 ]
    for user in ../state . .. '' /etc "$(printf 'x%.0s' {1..300})"; do
        as $ALICE env USER="$user" "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 1ms -P 20ms -- true
    done
    [ "$(ls -A "$SPECS")" = "$(printf '%s\n%s' $ALICE $BOB)" ]
}

# bats test_tags=turn:0
@test "two users may use one name, each for a spec of their own" {
    broker_start
    began -T 5ms -P 20ms --name cam -- sleep 300
    run as $BOB "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 5ms -P 20ms --name cam -- chrt -p 0
    [ "$status" -eq 0 ]
    [[ $output == *SCHED_DEADLINE* ]]
    [[ $(kernel "$PID") == "deadline "* ]]
}

# bats test_tags=turn:1
@test "root needs no rule and no group" {
    configure_rules
    broker_start
    run env -u USER "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 5ms -P 20ms -- chrt -p 0
    [ "$status" -eq 0 ]
    [[ $output == *SCHED_DEADLINE* ]]
    eventually is_empty "$SPECS/root"
}

# Threads outside of rtf take the kernel's bandwidth, a tenth of a CPU each, until the kernel refuses one.
# bats test_tags=machine
@test "a reservation that the kernel has no room for is refused at once, though the plugin had room" {
    broker_start
    sleeper
    while chrt --deadline --sched-runtime 100000000 --sched-period 1000000000 --pid 0 "$SLEEPER" 2>/dev/null; do sleeper; done
    takes 0 5000 fails 125 'rtf-run: *' rtf_run -T 10ms -P 20ms --plugin EDF --timeout 20s -- true
    is_empty "$OWN"
}
