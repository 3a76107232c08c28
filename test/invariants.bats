# rtf-invariants(8) is silent when all agree, and finds what does not.
load helper

invariants() { "$RTF_LIBEXEC/rtf-invariants" --spool "$SPOOL"; }

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

granted() {
    broker_start
    sleeper $ALICE
    wish $ALICE cam '{"runtime": "1ms", "period": "10ms", "plugin": "EDF"}' >/dev/null
    wish $ALICE pump '{"priority": 12, "plugin": "FP"}' >/dev/null
    wish $BOB mine '{"priority": 3, "plugin": "RR"}' >/dev/null
    attach $ALICE pump "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" fifo
    eventually has_watches 1 # or what is done to it just now is taken for an execve(2) that was missed
}

@test "an empty spool, grants, threads, refusals and releases all agree" {
    broker_start
    agree
    broker_stop TERM
    granted
    agree
    wish $BOB bad '{bad' >/dev/null
    wish $BOB big '{"runtime": "10ms", "period": "10ms", "plugin": "EDF"}' >/dev/null
    attach $BOB alone 1 >/dev/null # a .tid without a wish is answered, too
    agree
    as $ALICE rm "$SPECS/$ALICE/cam.json" "$SPECS/$ALICE/pump.json"
    eventually test ! -e "$SPECS/$ALICE/pump.verdict"
    agree
    as $BOB touch "$SPECS/$BOB/nobody-asked.verdict"
    finds "files: $BOB/nobody-asked has an answer, and nothing asks for it"
}

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

@test "a thread that is scheduled otherwise than granted is found" {
    granted
    chrt -o -p 0 "$SLEEPER"
    finds "kernel: $ALICE/pump: thread $SLEEPER: policy is other, granted is fifo" || finds "kernel: $ALICE/pump: thread $SLEEPER is not real-time"
    chrt -R -f -p 13 "$SLEEPER"
    finds "kernel: $ALICE/pump: thread $SLEEPER: priority is 13, granted is 12"
}

@test "a user's thread that is real-time without a grant is found" {
    granted
    sleeper $BOB
    chrt -r -p 1 "$SLEEPER"
    finds "kernel: thread $SLEEPER of uid $BOB is rr, and nothing is granted to it"
}

@test "an answer that says something else is found" {
    granted
    as $ALICE sh -c 'jq -c ".grant.plugin = \"RM\"" pump.verdict >.new && mv .new pump.verdict' 2>/dev/null ||
        (cd "$SPECS/$ALICE" && as $ALICE sh -c 'jq -c ".grant.plugin = \"RM\"" pump.verdict >.new && mv .new pump.verdict')
    finds "files: $ALICE/pump: plugin is FP, and its owner was told RM"
    as $ALICE rm "$SPECS/$ALICE/pump.verdict"
    finds "files: $ALICE/pump is granted, and has no answer"
}

@test "a journal that says something else is found" {
    granted
    sed -i 's/^priority=12$/priority=13/' "$SPOOL/state/journal"
    finds "journal: $ALICE/pump: priority is 13, the broker says 12"
}

@test "a limit of the kernel that was put back behind the broker's back is found" {
    configure_plugins 'EDF edf - 1 partition=unthrottled threshold=0.9' 'FP fp 11-20 0' 'RR rr 1-10 0'
    granted
    echo "$RT_RUNTIME" >/proc/sys/kernel/sched_rt_runtime_us
    finds "kernel: sched_rt_runtime_us is $RT_RUNTIME, under partition=unthrottled"
}

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

@test "without a broker, without a spool, and without being root it says so" {
    run invariants
    [ "$status" -eq 66 ]
    broker_start
    run as $ALICE "$RTF_LIBEXEC/rtf-invariants" --spool "$SPOOL"
    [ "$status" -eq 77 ]
    broker_stop TERM
    run invariants
    [ "$status" -eq 69 ]
    [ "$output" = "rtf-invariants: no broker serves $SPOOL" ]
}
