# bats file_tags=lane:alone
# "budget": "process": all threads of a process have one runtime together, and have their former attributes when the
# reservation ends.
load helper

prepare() {
    configure_plugins 'FP fp 11-20 1 enforce=process' 'RR rr 1-10 1 enforce=runtime' 'EDF edf - all partition=global threshold=0.4'
    compile_once "$RTF_SOURCE/test/team.c"
}

SPEC='{"plugin": "FP", "priority": 15, "runtime": "20ms", "period": "100ms", "budget": "process"}'

# team N [WAY]: starts a process of Alice's with N threads that never sleep (test/team.c), and sets TEAM to its id.
team() {
    become $ALICE nice -n 19 "$RTF_STAGE/team" "$@" >/dev/null 3>&- &
    TEAM=$!
    echo "$TEAM" >>"$WORK/pids"
    eventually is_team "$TEAM"
}
is_team() { [ "$(cat "/proc/$1/comm")" = team ]; }
has_threads() { [ "$(ls "/proc/$TEAM/task" | wc -l)" -eq "$1" ]; }

granted() { told '.result == "OK"' "$(spec $ALICE cam "${SPEC%\}}, \"attach\": $TEAM}")"; }
released() { # [NAME]
    as $ALICE rm "$SPECS/$ALICE/${1:-cam}.json"
    eventually test ! -e "$SPECS/$ALICE/${1:-cam}.verdict"
}

# views: prints the policy, the allowed CPUs and the cgroup of all threads. Each different combination is one line.
views() {
    local task
    for task in "/proc/$TEAM/task"/*; do
        echo "$(taskset -c 0 "$RTF_STAGE/kernel-view" "${task##*/}" | cut -d ' ' -f 1,5) $(grep -o 'perf_event:.*' "$task/cgroup" || echo none)"
    done | sort | uniq -c
}
is_as() { [ "$(views | sed 's/ perf_event.*\| none//')" = "$(sed 's/ perf_event.*\| none//' <<<"$1")" ]; } # VIEWS
last_thread() { ls "/proc/$TEAM/task" | tail -1; }
has_no_group() { [ ! -e "/run/rtf/rtf-$TEAM".* ] && [[ $(views) != *perf_event:/rtf-* ]]; }

# The test judges the CPU time that all threads together have at a real-time priority (test/group-times.c). Load of other programs does not change
# this time. A hypervisor that takes a CPU away changes this time: the guard's timer on this CPU is late then, and no program of the machine sees how
# late. So one period in ten may have more.
has_its_runtime_at_most() { # PERIODS of 100 ms, and the least mean in us
    "$RTF_STAGE/group-times" "$(basename "/run/rtf/rtf-$TEAM".*)" "${RUNTIME:-20000}" 100000 "$1" 3>&- >"$WORK/times"
    awk '{ sum += $1; bound += $2; if ($1 > most) most = $1; if ($1 > $2) more++ } END {
        printf "%d %d %d %d %d\n", NR, sum / NR, bound / NR, most, more }' "$WORK/times" >"$WORK/sums"
    read -r periods mean bound most more <"$WORK/sums"
    echo "$periods periods: $mean us in the mean, $most at most; $more of them had too much. Each had, and might have:"
    cat "$WORK/times"
    [ "$periods" -eq "$1" ]
    [ "$mean" -ge "${2:-15000}" ] # the process also gets its runtime
    [ "$mean" -le "$bound" ]
    [ "$more" -le $(($1 / 10 + 1)) ]
}

@test "64 threads have 20 ms together in each 100 ms, including threads that are started later" {
    broker_start
    team 64 late
    granted
    kill -USR1 "$TEAM"
    eventually has_threads 64
    has_its_runtime_at_most 20
}

# bats test_tags=turn:2
@test "threads that their owner moves to other CPUs, and a storm of processes, have no more" {
    broker_start
    team 8 roam
    granted
    has_its_runtime_at_most 20 500 # The process is ordinary for a period each time that one of its threads moves to another CPU.
    released
    kill -KILL "$TEAM"
    team 4 storm
    granted
    has_its_runtime_at_most 20
}

# bats test_tags=turn:1
@test "each thread is what it was when the reservation ends, after a restart of broker and guard, too" {
    broker_start
    team 5
    eventually has_threads 5
    before=$(views)
    [[ $before == *' 1 batch cpus=0 '* ]]
    granted
    are_real_time
    kill -KILL "$(helpers rtf-guard)"
    are_real_time
    kill -KILL "$BROKER"
    wait "$BROKER" 2>/dev/null || true
    eventually none_of_ours
    broker_start
    are_real_time
    has_its_runtime_at_most 20
    released
    eventually has_no_group
    is_as "$before"
}
# Each thread is real-time at some moment. Most of the time all threads are ordinary.
are_real_time() {
    local task
    for task in "/proc/$TEAM/task"/*; do
        becomes_real_time "${task##*/}"
        grep -q "perf_event:/rtf-$TEAM\." "$task/cgroup"
    done
}
becomes_real_time() { is_seen_as 'fifo 15 * cpus=1 *' "$1"; }

@test "rtf-run --whole runs a command whose threads have one runtime" {
    eventually no_team # the process of the test before
    broker_start
    become $ALICE env USER=$ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --whole --plugin FP --priority 15 -T 20ms -P 100ms -- nice -n 19 "$RTF_STAGE/team" 4 3>&- &
    TEAM=$!
    echo "$TEAM" >>"$WORK/pids"
    eventually has_child
    TEAM=$CHILD
    echo "$TEAM" >>"$WORK/pids"
    eventually has_threads 4
    are_real_time
    has_its_runtime_at_most 20
}
has_child() { CHILD=$(pgrep -x team -u $ALICE); }
no_team() { ! pgrep -x team -u $ALICE; }

# hierarchy: mounts the hierarchy with the groups of the guard on $WORK/groups. The caller unmounts it.
hierarchy() {
    mkdir -p "$WORK/groups"
    mount -t cgroup -o perf_event rtf "$WORK/groups"
}
# joins PROCESS: puts the process into the group of the team. A process that a member of the team starts is in this group, too.
joins() {
    hierarchy
    local joined=0
    echo "$1" >"$WORK/groups/$(basename "/run/rtf/rtf-$TEAM".*)/cgroup.procs" || joined=1
    umount "$WORK/groups"
    return $joined
}
# other_joins COMMAND...: starts a sleeping process of Bob's in the group. COMMAND, which root runs, gives it a policy. OTHER is its id.
other_joins() {
    become $BOB sleep 300 3>&- &
    OTHER=$!
    echo "$OTHER" >>"$WORK/pids"
    eventually is_sleep "$OTHER"
    "$@" "$OTHER"
    joins "$OTHER"
}
is_sleep() { [ "$(cat "/proc/$1/comm")" = sleep ]; }
view() { taskset -c 0 "$RTF_STAGE/kernel-view" "$1" | cut -d ' ' -f 1,2; }
made_deadline() { # made_deadline THREAD: makes the thread SCHED_DEADLINE. The kernel demands that it is allowed on all CPUs.
    taskset -pc "0-$(($(nproc --all) - 1))" "$1" && chrt -d --sched-runtime 1000000 --sched-deadline 10000000 --sched-period 10000000 -p 0 "$1"
} >/dev/null 2>&1

# bats test_tags=turn:2
@test "a member that has rights of another user, or is SCHED_DEADLINE, is not made real-time" {
    broker_start
    team 3
    eventually has_threads 3
    granted
    are_real_time
    other_joins true
    ordinary=$OTHER
    other_joins chrt -f -p 50
    higher=$OTHER
    other_joins chrt -f -p 15
    same=$OTHER
    before=$(view "$ordinary")
    eventually is_ordinary "$same" # the group has exceeded its runtime for the first time
    thread=$(ls "/proc/$TEAM/task" | tail -1)
    eventually made_deadline "$thread"
    for ((i = 0; i < 50; i++)); do # for five periods
        [ "$(view "$ordinary")" = "$before" ]
        [ "$(view "$higher")" = 'fifo 50' ]
        is_ordinary "$same"
        [[ $(view "$thread") == deadline* ]]
        sleep 0.01
    done
    released
    eventually has_no_group
    [[ $(view "$thread") == deadline* ]]
}
is_ordinary() { [[ $(view "$1") == other* ]]; }

@test "processes that a process with a budget leaves behind are ordinary" {
    broker_start
    team 3 storm
    granted
    kill -KILL "$TEAM"
    eventually test ! -e "/run/rtf/rtf-$TEAM".*
    eventually none_is_real_time
}

none_is_real_time() { [ -z "$(ps -u $ALICE -o cls= | grep -v TS || true)" ]; }

# ran: the CPU time of the attach helper, in us. While the helper works, it serves no other user.
ran() { echo $(($(cut -d ' ' -f 1 "/proc/$(helpers rtf-attach)/schedstat") / 1000)); }
herd() { # BEFORE AFTER
    compile_once "$RTF_SOURCE/test/attack/herd.c"
    become $ALICE "$RTF_STAGE/herd" "$@" >"$WORK/herd.out" 3>&- &
    TEAM=$!
    echo "$TEAM" >>"$WORK/pids"
    eventually said_ready 1
}
said_ready() { [ "$(grep -c ready "$WORK/herd.out")" -ge "$1" ]; }

@test "a process with thousands of threads is refused at once, and one that starts hundreds keeps the attach helper from nothing" {
    broker_start
    herd 2000 0
    before=$(ran)
    spec $ALICE cam "${SPEC%\}}, \"attach\": $TEAM}" >"$WORK/verdict"
    took=$(($(ran) - before))
    echo "refused after $took us of the attach helper's CPU time"
    grep -q 'the process has more than 512 threads' "$WORK/verdict"
    [ "$took" -lt 10000 ]
    kill -KILL "$TEAM"
    herd 10 700
    granted
    kill -USR1 "$TEAM"
    eventually said_ready 2
    before=$(ran)
    released
    took=$(($(ran) - before))
    echo "released after $took us"
    [ "$took" -lt 40000 ]
    eventually test ! -e "/run/rtf/rtf-$TEAM".*
    kill -KILL "$TEAM"
    herd 10 20000
    granted
    kill -USR1 "$TEAM"
    eventually said_ready 2
    before=$(ran)
    released
    took=$(($(ran) - before))
    echo "released 20000 threads after $took us"
    [ "$took" -lt 200000 ]
    former=$TEAM # its group may be left
    kill -KILL "$former"
    eventually test ! -e "/proc/$former"
    team 2
    granted
    [ ! -e "/run/rtf/rtf-$former".* ]
}

@test "a line without enforce=process, and a thread that is not the first, are refused" {
    broker_start
    team 2
    answer=$(spec $ALICE cam '{"plugin": "RR", "priority": 5, "runtime": "20ms", "period": "100ms", "budget": "process"}')
    [ "$(field .result "$answer")" = SCHEDULE_FAIL ]
    [[ $(field .reason "$answer") == *'its line of plugins.conf has no enforce=process'* ]]
    eventually has_threads 2
    first=$TEAM
    TEAM=$(ls "/proc/$first/task" | tail -1)
    answer=$(spec $ALICE arm "${SPEC%\}}, \"attach\": $TEAM}")
    [ "$(field .result "$answer")" = ATTACH_FAIL ]
    [[ $(field .reason "$answer") == *"is not the first thread of its process, $first"* ]]
}

OWN='{"plugin": "RR", "priority": 5, "runtime": "5ms", "period": "100ms"}'

# refused_as_shared NAME JSON PATTERN: the reservation is granted, and its thread is not attached.
refused_as_shared() {
    local answer
    answer=$(spec $ALICE "$1" "$2")
    # shellcheck disable=SC2053 # it is a pattern
    [ "$(field .result "$answer")" = ATTACH_FAIL ] && [ "$(field .refusal.code "$answer")" = attached-elsewhere ] &&
        [[ $(field .reason "$answer") == $3 ]] || { echo "$answer" >&2; return 1; }
}

# If a thread had two such reservations, each would, at its end, give the thread the policy that the thread had from the other reservation.
@test "a thread has no FIFO or RR reservation of its own beside one of its process, whichever is first" {
    broker_start
    team 3 sleep
    eventually has_threads 3
    granted
    are_real_time
    refused_as_shared arm "${OWN%\}}, \"attach\": $(last_thread)}" "*shares the runtime of process $TEAM *"
    released arm
    released
    eventually has_no_group
    [ "$(field .result "$(spec $ALICE arm "${OWN%\}}, \"attach\": $(last_thread)}")")" = OK ]
    refused_as_shared cam "${SPEC%\}}, \"attach\": $TEAM}" "thread $(last_thread) of process $TEAM is attached to another reservation already*"
    released cam
    released arm
    [[ $(view "$(last_thread)") == other* ]]
}

@test "a thread that had a SCHED_DEADLINE reservation beside that of its process is ordinary after both" {
    broker_start
    team 3 sleep
    eventually has_threads 3
    before=$(views)
    granted
    are_real_time
    [ "$(field .result "$(spec $ALICE arm "{\"plugin\": \"EDF\", \"runtime\": \"5ms\", \"period\": \"100ms\", \"attach\": $(last_thread)}")")" = OK ]
    [[ $(view "$(last_thread)") == deadline* ]]
    released
    eventually has_no_group
    [[ $(view "$(last_thread)") == deadline* ]]
    released arm
    is_as "$before"
    # The other order: the process has the thread as it was when the process was attached.
    [ "$(field .result "$(spec $ALICE arm "{\"plugin\": \"EDF\", \"runtime\": \"5ms\", \"period\": \"100ms\", \"attach\": $(last_thread)}")")" = OK ]
    granted
    released arm
    released
    eventually has_no_group
    is_as "$before"
}

# starts PROGRAM: a process of the team runs it; its id is in CHILD.
starts() {
    kill -USR1 "$TEAM"
    eventually is_started
    echo "$CHILD" >>"$WORK/pids"
    eventually is_program "$CHILD" "$(basename "$1")"
}
is_started() { CHILD=$(children "$TEAM") && [ -n "$CHILD" ]; }

@test "a process that the process starts shares the runtime, and has no FIFO or RR reservation of its own" {
    broker_start
    team 2 child /usr/bin/yes
    eventually has_threads 2
    granted
    starts /usr/bin/yes
    becomes_real_time "$CHILD"
    refused_as_shared arm "${SPEC%\}}, \"attach\": $CHILD}" "*shares the runtime of process $TEAM *"
    has_its_runtime_at_most 5
    released arm
    released
    eventually is_ordinary "$CHILD"
}

# The guard makes the first thread of the child real-time with reset-on-fork, and the broker has no reservation for it.
@test "a thread of a process that the process starts has its own SCHED_DEADLINE reservation, also if it is not the first" {
    broker_start
    printf '#!/bin/sh\nexec "%s" 2 sleep\n' "$RTF_STAGE/team" >"$WORK/two"
    chmod 755 "$WORK/two"
    team 2 child "$WORK/two"
    eventually has_threads 2
    granted
    kill -USR1 "$TEAM"
    eventually is_started
    echo "$CHILD" >>"$WORK/pids"
    eventually is_team "$CHILD"
    becomes_real_time "$CHILD"
    eventually has_second_thread
    [ "$(field .result "$(spec $ALICE arm "{\"plugin\": \"EDF\", \"runtime\": \"5ms\", \"period\": \"100ms\", \"attach\": $SECOND}")")" = OK ]
    [[ $(view "$SECOND") == deadline* ]]
    released arm
    released
    eventually none_is_real_time
}
has_second_thread() { SECOND=$(ls "/proc/$CHILD/task" | tail -1) && [ "$SECOND" -ne "$CHILD" ]; }

# The thread that calls execve has the id of the first thread from then on.
# bats test_tags=turn:0
@test "after an execve by a thread that is not the first, the process is ordinary, and is in no group" {
    broker_start
    team 3 exec
    eventually has_threads 3
    granted
    are_real_time
    kill -USR1 "$TEAM"
    eventually has_threads 2
    eventually has_no_group
    eventually none_is_real_time
    [[ $(verdict $ALICE cam) == *'ordinary, and not attached'* ]]
}

@test "a process whose first thread has ended keeps its reservation, and has no more than its runtime" {
    broker_start
    team 4 leave
    eventually has_threads 4
    granted
    kill -USR1 "$TEAM"
    eventually is_gone "$TEAM" # the first thread is a zombie
    has_its_runtime_at_most 5
    is_attached $ALICE cam "$TEAM"
    kill -KILL "$TEAM"
    eventually test ! -e "/run/rtf/rtf-$TEAM".*
}

# bats test_tags=turn:1
@test "a changed runtime holds for all threads, and after the change each thread is what it was" {
    broker_start
    team 8
    eventually has_threads 8
    before=$(views)
    granted
    as $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" change cam -T 40ms
    RUNTIME=40000 has_its_runtime_at_most 5 25000
    as $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" change cam -T 10ms
    RUNTIME=10000 has_its_runtime_at_most 5 5000
    released
    eventually has_no_group
    is_as "$before"
}

@test "a program with set-user-ID that the process starts shares the runtime, and is not made real-time again" {
    broker_start
    team 2 child "$WORK/yes-of-bob"
    install -o $BOB -m 4755 /usr/bin/yes "$WORK/yes-of-bob"
    eventually has_threads 2
    granted
    starts yes-of-bob
    eventually is_ordinary "$CHILD" # from the first suspension on
    has_its_runtime_at_most 5
    for ((i = 0; i < 20; i++)); do
        is_ordinary "$CHILD"
        sleep 0.01
    done
    [ "$(awk '/^Uid/ { print $3 }' "/proc/$CHILD/status")" = $BOB ]
}

# holder NICE MODE...: a process outside of the group has the lock (test/attack/inherit.c), and spins. Its id is in HOLDER.
holder() {
    mkdir -m 777 "$WORK/shared"
    nice -n "$1" setpriv --reuid $ALICE --regid $ALICE --clear-groups -- taskset -c 0 "$RTF_STAGE/inherit" "$WORK/shared/lock" "${@:2}" 3>&- &
    HOLDER=$!
    echo "$HOLDER" >>"$WORK/pids"
    eventually has_lock "$WORK/shared/lock" "$HOLDER" # a process of nice 19 may make the file long before it takes the lock
}
SHORT='{"plugin": "FP", "priority": 15, "runtime": "5ms", "period": "100ms", "budget": "process"}'

# In 1 s the holder is entitled to 50 ms, to 15 ms as an ordinary thread, and to a tick in each of ten periods. With a loan without end it would have all.
holder_is_bounded() {
    local before had
    before=$(consumed "$HOLDER")
    sleep 1 # this time is measured
    had=$(($(consumed "$HOLDER") - before))
    echo "the holder had $had ms"
    [ "$had" -le 200 ]
}

# The process has 5 ms. The holder has the lock for 2 ms each time, so only the sum of many boosts uses up the runtime.
@test "what a thread other than the first lends by priority inheritance counts for the process" {
    broker_start
    holder -20 pulse 2000
    team 3 lend "$WORK/shared/lock"
    SPEC=$SHORT
    granted
    eventually grep -q 'waited for a lock, the holder' "$EVENTS"
}

# The guard suspends possible lenders only while they sleep. The first thread, which is ordinary by its own will, is always awake and never runs.
@test "a thread that another process has moved to the lock lends no more, though the first thread is awake" {
    broker_start
    holder 19 hold
    company 0
    team 3 lend-moved "$WORK/shared/lock"
    SPEC=$SHORT
    granted
    becomes_real_time "$(last_thread)"
    company 1
    kill -USR1 "$TEAM"
    eventually is_idle "$TEAM"
    become $ALICE "$RTF_STAGE/inherit" "$WORK/shared/lock" requeue 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually grep -q 'waited for a lock, the holder' "$EVENTS"
    holder_is_bounded
}
is_idle() { [[ $(view "$1") == idle* ]]; }

# The new thread must not have reset-on-fork yet: the kernel would refuse the call by which pthread_create(3) sets the policy.
@test "a thread that is started with a policy of its own can be started" {
    broker_start
    team 3 explicit
    granted
    becomes_real_time "$TEAM"
    has_its_runtime_at_most 10 1000 # threads that last for less than 8 ms are ordinary
    kill -0 "$TEAM"
}

# The guard changes each thread when the runtime is used up and when it comes back. It runs before all threads of all users.
# bats test_tags=turn:2
@test "a process of many threads and a short period costs the guard no more than a tenth of a CPU" {
    broker_start
    team 300 crowd
    eventually has_threads 300
    SPEC='{"plugin": "FP", "priority": 15, "runtime": "1ms", "period": "10ms", "budget": "process"}'
    granted
    local guard before
    guard=$(helpers rtf-guard)
    eventually has_consumed "$guard" 100 # the runtimes that a process may have early
    before=$(consumed "$guard")
    sleep 1 # this time is measured
    echo "the guard had $(($(consumed "$guard") - before)) ms"
    [ $(($(consumed "$guard") - before)) -le 100 ]
}

tidy() {
    mountpoint -q "$WORK/groups" || return 0
    rmdir "$WORK/groups/of-alice" 2>/dev/null || true
    umount --lazy "$WORK/groups" # a helper that was started meanwhile may have it open
}

# A member that was ending when its reservation ended keeps the group.
@test "a group that an ended process has left behind is removed with the next such reservation" {
    broker_start
    team 2
    hierarchy
    mkdir "$WORK/groups/rtf-4194303.7"
    touch /run/rtf/rtf-4194303.7
    granted
    eventually is_attached $ALICE cam "$TEAM"
    [ ! -e "$WORK/groups/rtf-4194303.7" ]
    [ ! -e /run/rtf/rtf-4194303.7 ]
    [ -e "$WORK/groups/$(basename "/run/rtf/rtf-$TEAM".*)" ]
}

# In version 1, a process may be moved by its owner to any group that the owner may write.
@test "a process has no runtime of its own while a user has a group in the hierarchy" {
    broker_start
    team 2
    hierarchy
    mkdir "$WORK/groups/of-alice"
    chown $ALICE "$WORK/groups/of-alice/cgroup.procs"
    answer=$(spec $ALICE cam "${SPEC%\}}, \"attach\": $TEAM}")
    [ "$(field .result "$answer")" = ATTACH_FAIL ]
    [[ $(field .reason "$answer") == *'a user has a group in the perf_event hierarchy of cgroup version 1'* ]]
    is_ordinary "$TEAM"
    released
    chown 0 "$WORK/groups/of-alice/cgroup.procs"
    granted
    becomes_real_time "$TEAM"
}

# elsewhere DIRECTORY: mounts the perf_event controller on the directory, under the name elsewhere, in a mount namespace of its own. The kernel keeps a hierarchy whose
# last group has just been removed, until the hierarchy is mounted and unmounted once more.
elsewhere() {
    cat >"$WORK/elsewhere" <<'END'
mkdir "$1"
until mount -t cgroup -o perf_event,name=elsewhere rtf "$1" 2>/dev/null; do
    if mount -t cgroup -o perf_event rtf "$1" 2>/dev/null; then umount "$1"; fi
    sleep 0.05
done
mkdir "$1/held"
touch "$1.ready"
until [ -e "$1.go" ]; do sleep 0.05; done
rmdir "$1/held"
END
    exec unshare --mount sh -eu "$WORK/elsewhere" "$1"
}

@test "a hierarchy that is mounted elsewhere, with another controller, is used" {
    elsewhere "$WORK/mounted" 3>&- &
    local elsewhere=$!
    echo "$elsewhere" >>"$WORK/pids"
    eventually test -e "$WORK/mounted.ready"
    broker_start
    team 2
    granted
    becomes_real_time "$TEAM"
    released
    touch "$WORK/mounted.go"
    wait "$elsewhere"
    broker_stop TERM
    eventually is_not_elsewhere
}
# The kernel keeps a hierarchy whose last mount ended before its last group. One more mount ends this hierarchy.
is_not_elsewhere() {
    grep -q ,name=elsewhere: /proc/self/cgroup || return 0
    mkdir -p "$WORK/groups"
    if mount -t cgroup -o perf_event,name=elsewhere rtf "$WORK/groups"; then umount "$WORK/groups"; fi
    return 1
}
