# bats file_tags=lane:disk
# Reservations of a disk that rtf-disk(8) keeps, on a disk of known speed (slow-disk.bash).

load helper
load slow-disk

prepare() {
    disk_make
    configure_plugins 'EDF edf - all partition=global threshold=0.5' "DISK disk - - resource=disk device=$DISK throughput=4KiB:950kB,32KiB:5800kB"
    configure_rules "$ALICE - max_utilization 20" "$BOB - max_utilization 20" '- DISK max_bandwidth 100MB'
}

tidy() {
    disk_tidy
    rmdir "$blkio"/rtf-test/*/rtf-returned* "$blkio"/rtf-test/*/* "$blkio"/rtf-test/* "$blkio/rtf-test" 2>/dev/null || true
    [ ! -d "$blkio/rtf-test" ]
    hand_on_as_before
}
# hand_on_as_before: the root of version 2 again has the controllers for its children that it had before the function `ours`.
hand_on_as_before() {
    local each
    [ -n "${CONTROLLERS+known}" ] || return 0
    for each in $(<"$blkio/cgroup.subtree_control"); do
        [[ " $CONTROLLERS " == *" $each "* ]] || echo "-$each" >"$blkio/cgroup.subtree_control"
    done
}

# The smallest part of its bytes that a reserved stream gets, in hundredths: 100 if nothing else uses the disk. An emulated machine is late by itself (47 to 58
# were measured, and 4 to 14 without a reservation). On such a machine the test shows only that a reserved stream gets several times as much as others.
LEAST=$((PATIENCE > 1 ? 25 : 90))

# Each stream reserves CPU time, too, because a read may also be late for want of CPU time.
stream='{"runtime": "1ms", "period": "50ms", "disk": {"bytes": "32KiB", "period": "50ms", "block": "32KiB"}}'
reserve() { told '.result == "OK"' "$(spec "$1" "$2" "${3:-$stream}")"; }


@test "a grant has a group with its bounds, a change others, a release none, and all is as before in the end" {
    [ "$(scheduler)" = mq-deadline ]
    before=$(group_of self)
    broker_start
    [ "$(scheduler)" = bfq ]
    [ "$(cat "/sys/block/$DISK/queue/iosched/strict_guarantees" "/sys/block/$DISK/queue/iosched/low_latency" | tr '\n' ' ')" = '1 0 ' ]
    helper=$(helpers 'rtf-disk --serve')
    [ -e "$blkio/cgroup.controllers" ] && powers=0x880002 || powers=0x80002
    [ $((0x$(sed -n 's/^CapEff:\t//p' "/proc/$helper/status") & ~powers)) = 0 ]
    grep -q '^Seccomp:.2' "/proc/$helper/status"
    [ "$(group_of $$)" = /rtf-disk-rest ] || { [ "$before" != / ] && [ "$(group_of $$)" = "$before" ]; }
    reserve $ALICE cam
    has_groups 1
    load_begins "$WORK/one" $ALICE stream 32768 50 60
    attach $ALICE cam "$LOAD"
    [[ $(group_of "$LOAD") == /rtf-disk/c* ]]
    has_bounds() { [ "$(bounds "$(group_of "$LOAD")")" = "$1" ]; }
    has_bounds '819201 35 112' # a quarter more than 655360 bytes a second, and ten blocks of 32 KiB more
    reserve $ALICE cam '{"runtime": "1ms", "period": "50ms", "disk": {"bytes": "16KiB", "period": "50ms", "block": "16KiB"}}'
    has_bounds '409601 35 108'
    told '.result == "SCHEDULE_FAIL" and .grant.claims[0].bytes == 16384' "$(spec $ALICE cam '{"runtime": "1ms", "period": "50ms", "disk": {"bytes": "1MiB", "period": "50ms", "block": "32KiB"}}')"
    has_bounds '409601 35 108'
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually has_groups 0
    [ "$(group_of "$LOAD")" = "$(group_of $$)" ]
    broker_stop TERM
    [ "$(scheduler)" = mq-deadline ]
    [ "$(group_of self)" = "$before" ]
    [ ! -s "$SPOOL/state/disks" ]
}

# The process needs time to free its memory, and gets no CPU time for that.
@test "a process that is ending while the disk is given back leaves no group" {
    read -r cpu <<<"$(taskset -pc "$BASHPID" | sed 's/.*: //; s/[,-].*//')"
    broker_start
    mkfifo "$WORK/go"
    taskset -c "$cpu" python3 -c '
import mmap, os, signal, sys
memory = mmap.mmap(-1, 256 << 20)
try:
    memory.madvise(mmap.MADV_NOHUGEPAGE)
except OSError: # with PREEMPT_RT there are no such threads
    pass
for at in range(0, len(memory), 4096):
    memory[at] = 1
print(flush=True)
open(sys.argv[1]).read()
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
os.kill(os.getpid(), signal.SIGKILL)' "$WORK/go" >"$WORK/ready" 3>&- &
    ending=$!
    echo "$ending" >>"$WORK/pids"
    eventually test -s "$WORK/ready"
    nice -n -20 taskset -c "$cpu" sh -c 'while :; do :; done' 3>&- &
    loop=$!
    echo "$loop" >>"$WORK/pids"
    echo >"$WORK/go"
    is_ending() { read -r _ _ _ _ _ _ _ _ flags _ <"/proc/$ending/stat" && [ $((flags & 4)) -ne 0 ]; }
    eventually is_ending
    kill -TERM "$BROKER"
    sleep 1 # the process has no CPU time for this second
    is_ending
    kill -KILL "$loop"
    eventually is_gone "$BROKER"
    [ -z "$(find /sys/fs/cgroup -type d -name 'rtf-disk*')" ]
    [ ! -s "$SPOOL/state/disks" ]
}

# Alone: the disk works in threads of the kernel without a reservation, and other tests' load would make them late.
# bats test_tags=machine
@test "six reserved streams beside eight that read without end have what they asked for; without a reservation they have not" {
    broker_start
    for _ in 1 2 3 4; do
        load_begins "$WORK/sequential" $BOB sequential
        load_begins "$WORK/deep" $BOB deep
    done
    load_begins "$WORK/bare" $ALICE stream 32768 50 5
    go "$WORK/bare"
    is_over() { ! kill -0 "$1" 2>/dev/null; }
    PATIENCE=6 eventually is_over "$LOAD"
    read -r percent late < <(tail -n 1 "$WORK/bare")
    echo "# without: $percent % of its bytes, $late late" >&3
    [ "$percent" -lt 85 ]
    [ "$PATIENCE" = 1 ] || LEAST=$((2 * percent))
    for n in 1 2 3 4 5 6; do reserve $ALICE "s$n"; done
    once_of 3 six_streams_are_kept
}
six_streams_are_kept() {
    local n percent late least=100
    for n in 1 2 3 4 5 6; do
        load_begins "$WORK/s$n" $ALICE stream 32768 50 5 || return 1
        attach $ALICE "s$n" "$LOAD"
    done
    for n in 1 2 3 4 5 6; do go "$WORK/s$n"; done
    for n in 1 2 3 4 5 6; do
        eventually has_said "s$n" || return 1
        read -r percent late < <(tail -n 1 "$WORK/s$n")
        echo "# stream $n: $percent % of its bytes, $late of 100 late" >&3
        [ "$percent" -ge "$least" ] || least=$percent
    done
    [ "$least" -ge "$LEAST" ]
}
has_said() { [ "$(wc -l <"$WORK/$1")" = 2 ]; } # the process writes the second line when it has ended

# Alone, for the same reason as the test of six streams.
# bats test_tags=machine
@test "a greedy process has at most 1.4 times its grant, and the others their whole grants" {
    broker_start
    for n in 1 2 3; do
        reserve $ALICE "s$n"
        load_begins "$WORK/s$n" $ALICE stream 32768 50 5
        attach $ALICE "s$n" "$LOAD"
    done
    reserve $BOB greedy
    load_begins "$WORK/greedy" $BOB greedy 32768 5
    attach $BOB greedy "$LOAD"
    for n in s1 s2 s3 greedy; do go "$WORK/$n"; done
    for n in s1 s2 s3 greedy; do eventually has_said "$n"; done
    for n in s1 s2 s3; do
        read -r percent _ < <(tail -n 1 "$WORK/$n")
        [ "$percent" -ge "$LEAST" ]
    done
    took=$(tail -n 1 "$WORK/greedy")
    echo "# greedy: $took of 655360 bytes/s" >&3
    [ "$took" -le $((655360 * 14 / 10)) ]
    # The disk's time for small blocks counts, not their bytes: a small block takes 4.186 ms, a granted block 5.489 ms.
    load_begins "$WORK/small" $BOB greedy 4096 3
    attach $BOB greedy "$LOAD"
    go "$WORK/small"
    eventually has_said small
    took=$(tail -n 1 "$WORK/small")
    echo "# greedy with 4 KiB: $took bytes/s" >&3
    [ $((took / 4096 * 4186)) -le $((20 * 5489 * 14 / 10)) ]
}

@test "kill -9 of broker or rtf-disk: groups and members stay, and groups without a reservation go" {
    broker_start
    reserve $ALICE cam
    reserve $ALICE gone
    load_begins "$WORK/one" $ALICE stream 32768 50 60
    attach $ALICE cam "$LOAD"
    before=$(group_of "$LOAD")
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    eventually none_of_ours
    [ "$(group_of "$LOAD")" = "$before" ]
    broker_start
    [ "$(group_of "$LOAD")" = "$before" ]
    has_groups 2
    pkill -KILL -P "$(launcher)" -f rtf-disk
    is_back() { [ -n "$(helpers 'rtf-disk --serve')" ]; }
    eventually is_back
    as $ALICE rm "$SPECS/$ALICE/gone.json"
    eventually has_groups 1
    [ "$(group_of "$LOAD")" = "$before" ]
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    eventually none_of_ours
    # A broker that keeps no disk any more restores the disk, too.
    cp "$CONFIG/plugins.conf" "$WORK/kept"
    configure_plugins 'EDF edf - all partition=global threshold=0.5' "DISK disk - - resource=disk device=$DISK throughput=4KiB:950kB,32KiB:5800kB enforce=none"
    broker_start
    [ "$(scheduler)" = mq-deadline ]
    has_groups 0
    [ ! -d "$blkio/rtf-disk-rest" ]
    broker_stop TERM
    cp "$WORK/kept" "$CONFIG/plugins.conf"
    broker_start
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    eventually none_of_ours
    "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
    [ "$(scheduler)" = mq-deadline ]
    has_groups 0
}

@test "rtf-run --disk: the command is in its group from the start, with CPU time or alone, and nothing is left" {
    broker_start
    run_it() { # OPTION...
        become $ALICE env USER=$ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --name job "$@" -- sleep 300 3>&- &
        running=$!
        echo "$running" >>"$WORK/pids"
        has_begun() { [ "$(cat "/proc/$running/comm")" = sleep ]; }
        eventually has_begun
        [[ $(group_of "$running") == /rtf-disk/c* ]]
        chrt -p "$running" >"$WORK/policy"
        kill -KILL "$running"
        eventually has_groups 0
    }
    run_it --disk "/dev/$DISK:32KiB/50ms,block=32KiB"
    grep -q SCHED_OTHER "$WORK/policy"
    run_it --disk "$DISK:100kB" -T 2ms -P 20ms
    grep -q SCHED_DEADLINE "$WORK/policy"
}

# bats test_tags=turn:2
@test "the disks of a second broker that would keep any are off, it serves on, and the groups of the first stay" {
    broker_start
    reserve $ALICE cam
    has_groups 1
    group=$(groups_of_ours)
    mkdir "$WORK/other"
    second_broker
    eventually grep -q 'plugins.conf:2: another broker manages the disks of this machine' "$WORK/second"
    is_off() { [ "$(jq -r '.plugins[1].state' "$WORK/other/spool/status.json")" = off ]; }
    eventually is_off
    kill "$SECOND"
    wait "$SECOND"
    [ "$(groups_of_ours)" = "$group" ]
    [ "$(scheduler)" = bfq ]
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    broker_start # at once, because the helper of the killed broker may still run
    [ "$(groups_of_ours)" = "$group" ]
    agree() { invariants; }
    agree
}

@test "a missing disk is named, another disk gets back its scheduler, and no process of another user comes into a group" {
    broker_start
    reserve $ALICE cam
    load_begins "$WORK/bob" $BOB stream 32768 50 60
    as $ALICE sh -c "echo $LOAD >'$SPECS/$ALICE/cam.tid'"
    refused() { jq -e '.result == "ATTACH_FAIL"' "$SPECS/$ALICE/cam.verdict" >/dev/null; }
    eventually refused
    [[ $(group_of "$LOAD") != /rtf-disk/* ]]
    broker_stop TERM
    configure_plugins 'EDF edf - all partition=global' 'DISK disk - - resource=disk device=nosuchdisk throughput=1MB'
    broker_start
    grep -q 'DISK is off: .*plugins.conf:2: there is no disk nosuchdisk' "$EVENTS"
    [ "$(jq -r '.plugins[1].state' "$SPOOL/status.json")" = off ]
    told '.result == "SCHEDULE_FAIL" and (.reason | contains("there is no disk nosuchdisk"))' "$(spec $ALICE none "$stream")"
    told '.result == "OK"' "$(spec $ALICE cpu '{"runtime": "1ms", "period": "100ms"}')"
    broker_stop TERM
    configure_plugins 'EDF edf - all partition=global' "DISK disk - - resource=disk device=$DISK throughput=1MB" 'GONE disk - - resource=disk device=nosuchdisk throughput=1MB'
    broker_start
    [ "$(scheduler)" = bfq ]
    broker_stop TERM
    [ "$(scheduler)" = mq-deadline ]
    [ "$(cat "$SPOOL/state/disks")" = nosuchdisk ] # otherwise the end of the next broker would restore the old scheduler, even after root has chosen another one
}

# ours: makes the group rtf-test, whose children can have limits. Needs version 2: with version 1 each kind of limit has its own hierarchy.
ours() {
    [ -e "$blkio/cgroup.controllers" ] || skip 'disks are in cgroup version 1 here'
    CONTROLLERS=$(<"$blkio/cgroup.subtree_control")
    echo '+cpu +memory +pids' >"$blkio/cgroup.subtree_control"
    mkdir "$blkio/rtf-test"
    echo '+cpu +memory +pids' >"$blkio/rtf-test/cgroup.subtree_control"
}
# own GROUP: makes a group of Alice's, as a service manager delegates it.
own() {
    mkdir "$blkio$1"
    chown $ALICE "$blkio$1" "$blkio$1"/cgroup.{procs,threads,subtree_control}
}
sleeper_in() { # GROUP
    sleeper $ALICE
    echo "$SLEEPER" >"$blkio$1/cgroup.procs"
}
limits() { cat "$blkio$1"/{pids.max,memory.max,cpu.max} | paste -sd ' '; }
attached() { # NAME TID
    attach $ALICE "$1" "$2" >"$WORK/answer"
    told '.result == "OK"' "$(cat "$WORK/answer")"
}

@test "with version 2 a process is limited in its reservation's group as it was in its own" {
    ours
    broker_start
    reserve $ALICE cam
    own /rtf-test/some
    echo 20 >"$blkio/rtf-test/pids.max"
    echo '50000 100000' >"$blkio/rtf-test/cpu.max"
    echo 64M >"$blkio/rtf-test/some/memory.max"
    sleeper_in /rtf-test/some
    attached cam "$SLEEPER"
    group=$(group_of "$SLEEPER")
    [[ $group == /rtf-disk/c* ]]
    [ "$(limits "$group")" = '20 67108864 50000 100000' ]
    # A second process comes from a group with more memory and fewer processes.
    own /rtf-test/other
    echo 5 >"$blkio/rtf-test/other/pids.max"
    first=$SLEEPER
    sleeper_in /rtf-test/other
    attached cam "$SLEEPER"
    [ "$(group_of "$SLEEPER")" = "$group" ]
    [ "$(cut -d ' ' -f 1 <<<"$(limits "$group")")" = 5 ]
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually has_groups 0
    [ "$(group_of "$first")" = /rtf-test/some ]
    # A process without limits does not get the limits of the processes before.
    reserve $ALICE cam
    sleeper_in /rtf-test/some
    attached cam "$SLEEPER"
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    is_back() { [ "$(group_of "$SLEEPER")" = /rtf-test/some ]; }
    eventually is_back
    sleeper $ALICE
    attached cam "$SLEEPER"
    [ "$(limits "$(group_of "$SLEEPER")")" = 'max max max 100000' ]
}

@test "with version 2 the owner of a group that is spoilt does not get a process out of what limits that" {
    ours
    broker_start
    own /rtf-test/alice
    echo 9 >"$blkio/rtf-test/alice/pids.max"
    # In the second round, the owner has also made the group rtf-returned, with a controller for its children, so that no process can join the group.
    for spoil in : 'mkdir rtf-returned && echo +memory >rtf-returned/cgroup.subtree_control'; do
        sleeper_in /rtf-test/alice
        reserve $ALICE cam
        attached cam "$SLEEPER"
        as $ALICE sh -c "cd '$blkio/rtf-test/alice' && echo +memory >cgroup.subtree_control && $spoil"
        as $ALICE rm "$SPECS/$ALICE/cam.json"
        eventually has_groups 0
        [[ $(group_of "$SLEEPER") == /rtf-test/alice/rtf-returned* ]]
        kill "$SLEEPER"
        eventually has_ended "$SLEEPER"
        as $ALICE sh -c "cd '$blkio/rtf-test/alice' && rmdir rtf-returned* && echo -memory >cgroup.subtree_control"
    done
    # Now the owner's groups reach the limit of descendants, so that rtf-disk can make no further group.
    sleeper_in /rtf-test/alice
    reserve $ALICE cam
    attached cam "$SLEEPER"
    group=$(group_of "$SLEEPER")
    echo 1 >"$blkio/rtf-test/alice/cgroup.max.descendants"
    as $ALICE sh -c "cd '$blkio/rtf-test/alice' && mkdir full && echo +memory >cgroup.subtree_control"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    is_told() { grep -q "cgroup ${group#/}: Resource temporarily unavailable" "$EVENTS"; }
    eventually is_told
    [ "$(group_of "$SLEEPER")" = "$group" ]
    [ "$(limits "$group" | cut -d ' ' -f 1)" = 9 ]
    [ "$(bounds "$group" | cut -d ' ' -f 3)" = 1 ]
}

@test "with version 2 attaching a process in a frozen group does not thaw the process" {
    ours
    broker_start
    own /rtf-test/ice
    sleeper_in /rtf-test/ice
    echo 1 >"$blkio/rtf-test/cgroup.freeze"
    is_frozen() { grep -q 'frozen 1' "$blkio/rtf-test/ice/cgroup.events"; }
    eventually is_frozen
    reserve $ALICE cam
    told '.result == "ATTACH_FAIL" and (.reason | contains("frozen"))' "$(attach $ALICE cam "$SLEEPER")"
    [ "$(group_of "$SLEEPER")" = /rtf-test/ice ]
    echo 0 >"$blkio/rtf-test/cgroup.freeze"
    attached cam "$SLEEPER"
}

@test "with version 2 a process that has more capabilities than rtf-disk comes back, where cpusets are handed on as well" {
    ours
    echo +cpuset >"$blkio/cgroup.subtree_control"
    sleeper
    echo "$SLEEPER" >"$blkio/cgroup.procs"
    broker_start
    [ "$(group_of "$SLEEPER")" = /rtf-disk-rest ]
    reserve 0 cam
    attach 0 cam "$SLEEPER" >"$WORK/answer"
    told '.result == "OK"' "$(cat "$WORK/answer")"
    [[ $(group_of "$SLEEPER") == /rtf-disk/c* ]]
    broker_stop TERM
    [ "$(group_of "$SLEEPER")" = / ]
    [ ! -s "$SPOOL/state/disks" ]
}
