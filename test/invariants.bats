# rtf-invariants(8) is silent when journal, broker, kernel and files agree, and finds each difference.
load helper

# The other output, mostly about threads that do not concern this broker, goes to $WORK/said.
invariants() { "$RTF_LIBEXEC/rtf-invariants" --spool "$SPOOL" 2>"$WORK/said"; }

agree() {
    run invariants
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = '' ]
}

finds() { # SENTENCE
    run invariants
    echo "$output"
    [ "$status" -eq 1 ]
    grep -qFx "$1" <<<"$output"
}

calls_foreign() { grep -qFx "rtf-invariants: foreign: $1" "$WORK/said" || { cat "$WORK/said"; return 1; }; }

granted() {
    broker_start
    sleeper $ALICE
    spec $ALICE cam '{"runtime": "1ms", "period": "10ms", "plugin": "EDF"}' >/dev/null
    spec $ALICE pump '{"priority": 12, "plugin": "FP"}' >/dev/null
    spec $BOB mine '{"priority": 3, "plugin": "RR"}' >/dev/null
    attach $ALICE pump "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" fifo
    eventually has_watches 1 # otherwise a change by the test could be taken for an execve(2) that the broker has missed
}

# bats test_tags=turn:0
@test "an empty spool, grants, threads, refusals and releases all agree" {
    broker_start
    agree
    broker_stop TERM
    granted
    agree
    spec $BOB bad '{bad' >/dev/null
    spec $BOB big '{"runtime": "10ms", "period": "10ms", "plugin": "EDF"}' >/dev/null
    attach $BOB alone 1 >/dev/null # a .tid without a spec gets a verdict, too
    agree
    as $ALICE rm "$SPECS/$ALICE/cam.json" "$SPECS/$ALICE/pump.json"
    eventually test ! -e "$SPECS/$ALICE/pump.verdict"
    agree
    as $BOB touch "$SPECS/$BOB/nobody-asked.verdict"
    finds "files: $BOB/nobody-asked has a verdict, and there is no spec"
}

@test "the reservations of root agree, and their files need no remark" {
    broker_start
    spec 0 own '{"runtime": "1ms", "period": "100ms"}' >/dev/null
    agree
    [[ $(<"$WORK/said") != *'the files of'* ]]
}

# bats test_tags=turn:1
@test "a program file and the reservations of its threads agree, and a row without a reservation is found" {
    broker_start
    sleeper $ALICE
    told '.grant.threads == 1' "$(spec $ALICE app "{\"process\": $SLEEPER, \"threads\": [{\"name\": \"sleep\", \"priority\": 12, \"plugin\": \"FP\"}]}")"
    eventually has_watches 1
    agree
    as $ALICE sh -c 'sed "s/app+$2/app+3/" "$1" >"$1.new" && cat "$1.new" >"$1"; rm "$1.new"' sh "$SPECS/$ALICE/app.verdict" "$SLEEPER"
    finds "files: $ALICE/app+3 has a verdict with a grant, and the broker has granted nothing"
    as $ALICE rm "$SPECS/$ALICE/app.json"
    eventually test ! -e "$SPECS/$ALICE/app.verdict"
    agree
}

# Alone: other lanes attach threads to the CPU of the broker's domain.
# bats test_tags=machine
@test "under each partition the machine agrees" {
    for partition in global unthrottled cpuset; do
        if [ "$partition" = cpuset ] && ! grep -q cpuset /proc/self/mounts /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then continue; fi
        cpus=1
        [ "$partition" != global ] || cpus=all
        configure_plugins "EDF edf - $cpus partition=$partition threshold=0.9" 'FP fp 11-20 0' 'RR rr 1-10 0'
        granted
        hog $ALICE
        attach $ALICE cam "$HOG" >/dev/null
        is_policy "$HOG" deadline
        agree
        as $ALICE rm "$SPECS/$ALICE/cam.json" "$SPECS/$ALICE/pump.json"
        eventually test ! -e "$SPECS/$ALICE/cam.verdict"
        broker_stop TERM
        rm "$SPECS/$BOB/mine.json"
        kill -KILL "$HOG" "$SLEEPER"
    done
}

# bats test_tags=turn:2
@test "a thread that is scheduled otherwise than granted is found" {
    granted
    eventually has_watches 1
    chrt -o -p 0 "$SLEEPER"
    finds "kernel: $ALICE/pump: thread $SLEEPER: policy is other, granted is fifo" || finds "kernel: $ALICE/pump: thread $SLEEPER is not real-time"
    chrt -R -f -p 13 "$SLEEPER"
    finds "kernel: $ALICE/pump: thread $SLEEPER: priority is 13, granted is 12"
}

# bats test_tags=turn:0
@test "a user's thread that is real-time without a grant is found" {
    granted
    sleeper $BOB
    chrt -R -r -p 1 "$SLEEPER"
    finds "kernel: thread $SLEEPER of uid $BOB is rr, and nothing is granted to it"
}

# left_over POLICY PRIORITY: the thread is detached, and then made real-time without the broker, as if it had not been detached
left_over() {
    as $ALICE rm "$SPECS/$ALICE/pump.tid"
    eventually is_policy "$SLEEPER" other
    chrt -R "--$1" -p "$2" "$SLEEPER"
}

# bats test_tags=turn:1
@test "a thread that was attached, and is real-time without a grant, is found whatever else is true of it" {
    granted
    left_over fifo 12
    finds "kernel: thread $SLEEPER of uid $ALICE is fifo, and nothing is granted to it"
    # No plugin gives this policy and priority. But the journal says that this broker has attached the thread.
    chrt -R -r -p 40 "$SLEEPER"
    finds "kernel: thread $SLEEPER of uid $ALICE is rr, and nothing is granted to it"
    # The next journal does not name the thread, but the log does. The thread's owner has no directory any more.
    as $ALICE rm "$SPECS/$ALICE/cam.json" "$SPECS/$ALICE/pump.json"
    eventually rmdir "$SPECS/$ALICE"
    broker_stop INT
    broker_start
    [ "$(grep -c "^tid=$SLEEPER\$" "$SPOOL/state/current/journal")" = 0 ]
    finds "kernel: thread $SLEEPER of uid $ALICE is rr, and nothing is granted to it"
    # Another thread with this id would have started later.
    sed -i 's/"time":"20[0-9][0-9]/"time":"1999/' "$EVENTS"
    agree
}

# bats test_tags=turn:2
@test "a thread that becomes the first of its process by execve still counts as attached" {
    granted
    replaceable $ALICE sleep "$SLEEPS"
    local second
    second=$(ls "/proc/$HOG/task" | grep -vx "$HOG")
    attach $ALICE cam "$second" >/dev/null
    is_policy "$second" deadline
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    eventually is_policy "$second" other
    agree
    touch "$WORK/go"
    eventually is_sleep "$HOG"
    chrt -R -r -p 40 "$HOG"
    finds "kernel: thread $HOG of uid $ALICE is rr, and nothing is granted to it"
}

# beside [OPTION...]: starts a broker of another spool, $OTHER, with a thread of $ALICE, who also has a directory in this spool, and a thread
# of $CAROL, who has none here.
beside() {
    local here=$SPOOL mine=$BROKER
    mkdir -p "$WORK/beside"
    SPOOL=$WORK/beside/spool SPECS=$WORK/beside/spool/specs BROKER=
    broker_start "$@"
    OTHER=$BROKER
    sleeper $ALICE
    spec $ALICE cam '{"priority": 13, "plugin": "FP"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" fifo
    THEIRS=$SLEEPER
    become $CAROL /usr/bin/python3 -S -c 'import time
while True: time.sleep(0.05)' 3>&- & # a thread that sleeps for long could not be moved into a domain
    SLEEPER=$!
    echo "$SLEEPER" >>"$WORK/pids"
    spec $CAROL cam '{"runtime": "1ms", "period": "100ms", "plugin": "EDF"}' >/dev/null
    attach $CAROL cam "$SLEEPER" >/dev/null
    eventually is_policy "$SLEEPER" deadline
    SPOOL=$here SPECS=$here/specs BROKER=$mine
}

# bats test_tags=turn:0
@test "threads of others are named, and are no disagreement: of another broker, of its plugins, of chrt and rtkit" {
    granted
    beside
    agree
    calls_foreign "thread $THEIRS of uid $ALICE is fifo 13: another broker has attached it"
    calls_foreign "thread $SLEEPER of uid $CAROL is deadline: another broker has attached it"
    cat "$WORK/said"
    plugins=$(id -u "${RTF_PLUGIN_USER:-rtf-plugin}" 2>/dev/null || echo 65534)
    grep -q "^rtf-invariants: foreign: thread [0-9]* of uid $plugins is fifo 21: uid $plugins has no directory in this spool$" "$WORK/said" # the plugins of the other broker

    sleeper 65534
    chrt -f -p 15 "$SLEEPER"
    sleeper 65534
    chrt -R -r -p 15 "$SLEEPER"
    agree
    calls_foreign "thread $SLEEPER of uid 65534 is rr 15: uid 65534 has no directory in this spool"
    sleeper $ALICE
    chrt -f -p 12 "$SLEEPER"
    agree
    calls_foreign "thread $SLEEPER of uid $ALICE is fifo 12: without reset-on-fork, which every grant has"
    chrt -R -r -p 30 "$SLEEPER"
    agree
    calls_foreign "thread $SLEEPER of uid $ALICE is rr 30: no plugin of this broker gives that"

    # A user's process cannot speak for another broker.
    chrt -R -r -p 3 "$SLEEPER"
    mkdir "$WORK/forged"
    printf 'record=spec\nuser=x\nname=x\ntask=1\ntid=%s\nstarted_by=18446744073709551615\nprocess=1\n\n' "$SLEEPER" >"$WORK/forged/journal"
    become $ALICE /usr/bin/python3 -S -c 'import sys, time
open("/proc/self/comm", "w").write("rtf-brokerd")
file = open(sys.argv[1])
time.sleep(300)' "$WORK/forged/journal" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually is_called rtf-brokerd "$!"
    finds "kernel: thread $SLEEPER of uid $ALICE is rr, and nothing is granted to it"
    # The other broker speaks for its own threads, not for this broker's.
    kill "$SLEEPER"
    kill -STOP "$OTHER"
    chrt -R -f -p 12 "$THEIRS"
    agree
    SLEEPER=$(as $ALICE cat "$SPECS/$ALICE/pump.tid")
    left_over fifo 12
    finds "kernel: thread $SLEEPER of uid $ALICE is fifo, and nothing is granted to it"
}
is_called() { [ "$(cat "/proc/$2/comm" 2>/dev/null)" = "$1" ]; }

# Alone: other lanes attach threads to the CPU of the other broker's domain.
# bats test_tags=machine
@test "a thread in a domain of another broker's is that one's business" {
    if ! grep -q cpuset /proc/self/mounts /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then skip "no cpuset controller"; fi
    configure_plugins 'FP fp 11-20 all' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 2" "$BOB - max_utilization 2" "$CAROL - max_utilization 2"
    broker_start
    configure_plugins 'EDF edf - 1 partition=cpuset threshold=0.8' 'FP fp 11-20 all' 'RR rr 1-10 all'
    beside
    agree
    calls_foreign "thread $SLEEPER of uid $CAROL is deadline: another broker has attached it"
    kill -TERM "$OTHER"
    wait "$OTHER"
}

# bats test_tags=turn:2
@test "an answer that says something else is found" {
    granted
    as $ALICE sh -c 'jq -c ".grant.plugin = \"RM\"" pump.verdict >.new && mv .new pump.verdict' 2>/dev/null ||
        (cd "$SPECS/$ALICE" && as $ALICE sh -c 'jq -c ".grant.plugin = \"RM\"" pump.verdict >.new && mv .new pump.verdict')
    finds "files: $ALICE/pump: plugin is FP, and its owner was told RM"
    as $ALICE rm "$SPECS/$ALICE/pump.verdict"
    finds "files: $ALICE/pump is granted, and has no verdict"
}

# bats test_tags=turn:0
@test "a journal that says something else is found" {
    granted
    sed -i 's/^priority=12$/priority=13/' "$SPOOL/state/current/journal"
    finds "journal: $ALICE/pump: priority is 13, the broker says 12"
}

# Brokers of other lanes may have lifted the limit.
# bats test_tags=machine
@test "a limit of the kernel that was put back behind the broker's back is found" {
    configure_plugins 'EDF edf - 1 partition=unthrottled threshold=0.9' 'FP fp 11-20 0' 'RR rr 1-10 0'
    granted
    echo "$RT_RUNTIME" >/proc/sys/kernel/sched_rt_runtime_us
    finds "kernel: sched_rt_runtime_us is $RT_RUNTIME, under partition=unthrottled"
}

# bats test_tags=turn:2
@test "answers that are no files, or do not end, do not stop it" {
    granted
    as $BOB sh -c 'cd "$1" && mkfifo fifo.verdict && ln -s /etc/shadow shadow.verdict && mkdir dir.verdict && echo "{" >half.verdict' sh "$SPECS/$BOB"
    run timeout 60 "$RTF_LIBEXEC/rtf-invariants" --spool "$SPOOL"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output != *root:* ]]
    as $BOB sh -c 'cd "$1" && rm -r fifo.verdict shadow.verdict dir.verdict half.verdict' sh "$SPECS/$BOB"
    agree
}

# bats test_tags=turn:0
@test "without a broker, without a spool, and without being root it says so" {
    run invariants
    [ "$status" -eq 66 ]
    broker_start
    run as $ALICE "$RTF_LIBEXEC/rtf-invariants" --spool "$SPOOL"
    [ "$status" -eq 77 ]
    broker_stop TERM
    run invariants
    [ "$status" -eq 69 ]
    [ "$(<"$WORK/said")" = "rtf-invariants: no broker serves $SPOOL" ]
}

# Another user's process may have an open file of a FUSE server that never answers.
@test "a user's process that is called rtf-brokerd is not looked into" {
    broker_start
    cp /bin/sleep "$WORK/rtf-brokerd"
    become $ALICE "$WORK/rtf-brokerd" "$SLEEPS" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually is_program "$!" rtf-brokerd
    strace -f -o "$WORK/trace" "$RTF_LIBEXEC/rtf-invariants" --spool "$SPOOL" 2>"$WORK/said"
    grep -q F_GETLK "$WORK/trace"
    no grep -m 1 "\"/proc/$!/fd" "$WORK/trace"
}
