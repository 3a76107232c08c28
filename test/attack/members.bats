# bats file_tags=lane:alone
# A process with one runtime for all its threads (test/process.bats), and processes of the same user outside of it, try to have more than this runtime:
# with groups of their own, stops, traces, frozen threads, locks, and forks while the reservation ends.
load attack

FREEZER=/sys/fs/cgroup/freezer UNIFIED=/sys/fs/cgroup/unified

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.4' 'FP fp 11-20 1 enforce=process'
    ATTACKERS=()
    ulimit -t $((30 * PATIENCE)) # s of CPU time for each process; otherwise no other thread could run if a test fails
    OWN_GROUPS=()
    compile_once "$RTF_SOURCE/test/team.c" "$BATS_TEST_DIRNAME/into-group.c" "$BATS_TEST_DIRNAME/meddle.c"
}

SPEC='{"plugin": "FP", "priority": 15, "runtime": "10ms", "period": "100ms", "budget": "process"}'

# started NAME COMMAND...: starts a process of Alice's at nice 19, with this name. TEAM is its id.
started() {
    become $ALICE nice -n 19 "${@:2}" >/dev/null 3>&- &
    TEAM=$!
    echo "$TEAM" >>"$WORK/pids"
    eventually is_program "$TEAM" "$1"
}
team() { started team "$RTF_STAGE/team" "$@"; eventually has_threads "$1"; } # THREADS [WAY]
has_threads() { [ "$(ls "/proc/$TEAM/task" | wc -l)" -ge "$1" ]; }
granted() { told '.result == "OK"' "$(spec $ALICE cam "${SPEC%\}}, \"attach\": $TEAM}")"; }
released() {
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
}
becomes_real_time() { is_seen_as 'fifo 15 *' "$1"; }
is_ordinary() { [[ $(taskset -c 0 "$RTF_STAGE/kernel-view" "$1") == other* ]]; }
last_thread() { ls "/proc/$TEAM/task" | tail -1; }
none_is_real_time() { [ -z "$(ps -L -u $ALICE -o cls=,stat= | grep -E 'FF|RR|DLN' | grep -v Z || true)" ]; }

# has_at_most US [PERIODS]: the CPU time of all members at a real-time priority in periods of 100 ms. One period in ten may have more: see
# test/process.bats.
has_at_most() {
    "$RTF_STAGE/group-times" "$(basename "/run/rtf/rtf-$TEAM".*)" "$1" 100000 "${2:-15}" 3>&- >"$WORK/times"
    awk '{ sum += $1; bound += $2; if ($1 > $2) more++ } END { printf "%d %d %d %d\n", NR, sum / NR, bound / NR, more }' "$WORK/times" >"$WORK/sums"
    read -r periods mean bound more <"$WORK/sums"
    echo "# $periods periods: $mean us in the mean, $more of them had too much" >&3
    cat "$WORK/times"
    [ "$periods" -eq "${2:-15}" ]
    [ "$mean" -le "$bound" ]
    [ "$more" -le $((periods / 10 + 1)) ]
}

# own_group DIRECTORY: makes a group that is Alice's. OWN is its directory.
own_group() {
    OWN=$1/rtf-test-$$
    mkdir "$OWN" 2>/dev/null || skip "no group can be made in $1"
    OWN_GROUPS+=("$OWN")
    chown $ALICE "$OWN" "$OWN"/cgroup.procs
}

tidy() {
    local group pid
    for group in "${OWN_GROUPS[@]}"; do
        [ ! -e "$group/freezer.state" ] || echo THAWED >"$group/freezer.state"
        while read -r pid; do kill -KILL "$pid" 2>/dev/null || true; done <"$group/cgroup.procs"
        eventually rmdir "$group" 2>/dev/null
    done
}

# bats test_tags=turn:0
@test "children that are started in another group (CLONE_INTO_CGROUP) share the runtime" {
    own_group $UNIFIED
    mkdir "$OWN/inner"
    chown $ALICE "$OWN/inner" "$OWN/inner/cgroup.procs"
    broker_start
    started into-group "$RTF_STAGE/into-group" "$OWN/inner"
    echo "$TEAM" >"$OWN/cgroup.procs"
    granted
    eventually is_moving
    eventually has_child_in_both
    has_at_most 10000
    released
    eventually none_is_real_time
    kill -KILL "$TEAM"
    eventually rmdir "$OWN/inner" 2>/dev/null
}
is_moving() { grep -qsx moving "/proc/$TEAM/task"/*/comm; }
# A child is in the group that its parent has chosen, and in the group of the reservation.
has_child_in_both() {
    local child
    child=$(children "$TEAM" | head -1) && grep -q "^0::/$(basename "$OWN")/inner$" "/proc/$child/cgroup" && grep -q "perf_event:/rtf-$TEAM\." "/proc/$child/cgroup"
}

@test "a user who mounts the hierarchy in a user namespace cannot move a member" {
    broker_start
    team 2
    granted
    mkdir -m 777 "$WORK/mounted"
    # shellcheck disable=SC2016 # the inner shell expands these
    run become $ALICE unshare --user --map-root-user --cgroup --mount sh -c '
        mount -t cgroup -o perf_event own "$1" || exit 3
        for file in "$1/tasks" "$1/cgroup.procs"; do
            if { echo "$2" >"$file"; } 2>/dev/null; then echo moved; fi
        done
        if mkdir "$1/own" 2>/dev/null; then echo made; fi
        true' sh "$WORK/mounted" "$TEAM"
    [ "$status" -ne 3 ] && [ "$status" -ne 1 ] || skip "this kernel lets users mount nothing: $output"
    [ -z "$output" ]
    grep -q "perf_event:/rtf-$TEAM\." "/proc/$TEAM/cgroup"
}

# meddled WAY: another process of the user meddles with the threads (meddle.c).
meddled() {
    broker_start
    team 8
    granted
    become $ALICE "$RTF_STAGE/meddle" "$1" "$TEAM" >/dev/null 2>&1 3>&- &
    meddler=$!
    echo "$meddler" >>"$WORK/pids"
    eventually is_program "$meddler" meddle
    has_at_most 10000
    kill -0 "$meddler"
    released
    eventually none_is_real_time
}

# bats test_tags=turn:1
@test "a process whose threads another process stops and continues has no more" { meddled stop; }
# bats test_tags=turn:2
@test "a process whose threads a tracer stops and continues has no more" { meddled trace; }
# bats test_tags=turn:0
@test "a process whose threads another process tries to make real-time, or moves to other CPUs, has no more" { meddled schedule; }

puts_on_ice() { as $ALICE sh -c 'echo "$2" >"$1/cgroup.procs"' sh "$OWN" "$1"; }
freeze() { as $ALICE sh -c 'echo FROZEN >"$1/freezer.state"' sh "$OWN"; eventually is_frozen; }
is_frozen() { [ "$(cat "$OWN/freezer.state")" = FROZEN ]; }
thaw() { echo THAWED >"$OWN/freezer.state"; }

# bats test_tags=turn:1
@test "a process that is frozen and thawed again and again has no more; one that is frozen when its reservation ends is ordinary" {
    own_group $FREEZER
    chown $ALICE "$OWN/freezer.state"
    broker_start
    team 4
    granted
    puts_on_ice "$TEAM"
    become $ALICE sh -c 'while [ -d "/proc/$2" ]; do echo FROZEN; sleep 0.03; echo THAWED; sleep 0.03; done >"$1/freezer.state"' sh "$OWN" $$ 3>&- &
    freezer=$!
    echo "$freezer" >>"$WORK/pids"
    has_at_most 10000
    kill "$freezer"
    wait "$freezer" 2>/dev/null || true
    freeze
    released
    none_is_real_time
    eventually test ! -e "/run/rtf/rtf-$TEAM".*
    thaw
    eventually none_is_real_time
    [[ $(cat "/proc/$TEAM/cgroup") != *perf_event:/rtf-* ]]
}

# holds: a thread of the process has a lock (test/attack/inherit.c), and never sleeps. Another process spins on the CPU: otherwise the thread would
# never leave the CPU, and group-times (test/group-times.c) could not tell when it was real-time.
holds() {
    taskset -c 1 sh -c 'i=0; while i=$((i + 1)); [ "$((i % 100000))" -gt 0 ] || [ -d "/proc/$1" ]; do :; done' sh $$ 3>&- &
    echo "$!" >>"$WORK/pids"
    mkdir -m 777 "$WORK/shared"
    install -m 666 /dev/null "$WORK/shared/lock"
    truncate -s 8 "$WORK/shared/lock"
    team 2 hold "$WORK/shared/lock"
    granted
    becomes_real_time "$(last_thread)"
}
lends() { # JSON
    become $ALICE "$RTF_STAGE/inherit" "$WORK/shared/lock" lend 3>&- &
    LENDER=$!
    echo "$LENDER" >>"$WORK/pids"
    eventually is_program "$LENDER" inherit
    told '.result == "OK"' "$(spec $ALICE lender "${1%\}}, \"attach\": $LENDER}")"
    eventually sleeps_in_futex
}
sleeps_in_futex() { [ "$(cut -d ' ' -f 1 "/proc/$LENDER/syscall")" = 202 ]; }

# The lender has 5 ms in 100 ms.
# bats test_tags=turn:2
@test "a member that a thread of the same priority waits for has the runtime of both" {
    broker_start
    holds
    lends '{"plugin": "FP", "priority": 15, "runtime": "5ms", "period": "100ms"}'
    has_at_most 15000
}

# bats test_tags=turn:0
@test "a member that a thread of a lower priority waits for has the runtime of both" {
    broker_start
    holds
    lends '{"plugin": "FP", "priority": 12, "runtime": "5ms", "period": "100ms"}'
    has_at_most 15000
}

# Bob's requests are granted meanwhile, and the time of the slowest is printed.
# bats test_tags=turn:2
@test "processes that start processes without end while their reservation ends are ordinary, and others are served" {
    configure_rules "$ALICE - max_utilization 1" "$BOB - max_utilization 0.2"
    broker_start
    for ((i = 0; i < 5; i++)); do
        team 4 storm
        granted
        becomes_real_time "$TEAM"
        as $ALICE rm "$SPECS/$ALICE/cam.json"
        sleeper $BOB
        before=$(milliseconds)
        told '.result == "OK" and .thread.state == "attached"' "$(spec $BOB "cam-$i" "{\"plugin\": \"EDF\", \"runtime\": \"1ms\", \"period\": \"100ms\", \"attach\": $SLEEPER}")"
        echo "# Bob's request took $(($(milliseconds) - before)) ms" >&3
        eventually test ! -e "$SPECS/$ALICE/cam.verdict"
        eventually none_is_real_time
        kill -KILL "$TEAM"
    done
}
