# bats file_tags=lane:disk
# Threads whose reads and writes come first on a disk: enforce=ioprio and rtf-disk(8), on a disk of known speed
# (slow-disk.bash).

load helper
load slow-disk

prepare() {
    disk_make
    keep_by ioprio
    configure_rules "$ALICE - max_utilization 20" "$BOB - max_utilization 20" "$ALICE DISK max_bandwidth 100MB"
}

tidy() { disk_tidy; }

keep_by() { configure_plugins 'EDF edf - all partition=global threshold=0.5' "DISK disk - - resource=disk device=$DISK throughput=4KiB:950kB,32KiB:5800kB enforce=$1"; }

stream='{"disk": {"bytes": "4KiB", "period": "50ms", "block": "4KiB"}}'
reserve() { told '.result == "OK"' "$(spec "$1" "$2" "${3:-$stream}")"; }

# class_is TID SENTENCE: ionice(1) prints this.
class_is() { [ "$(ionice -p "$1")" = "$2" ]; }
raised='realtime: prio 7'
former() { class_is "$1" 'best-effort: prio 2'; }
raised() { class_is "$1" "$raised"; }

# family UID: starts a process, $FAMILY, which starts a child, $CHILD, and a thread, $OTHER, when $WORK/more exists.
family() {
    cat >"$WORK/family.py" <<'END'
import os, sys, threading, time
while not os.path.exists(sys.argv[1] + "/more"):
    time.sleep(0.01)
threading.Thread(target=lambda: (os.write(1, b"thread %d\n" % threading.get_native_id()), time.sleep(1000))).start()
child = os.fork()
if child > 0:
    os.write(1, b"child %d\n" % child)
time.sleep(1000)
END
    become "$1" /usr/bin/python3 -S "$WORK/family.py" "$WORK" >"$WORK/said" 3>&- &
    FAMILY=$!
    echo "$FAMILY" >>"$WORK/pids"
    is_his() { [[ $(cat "/proc/$FAMILY/comm") == python3* ]]; } # setpriv has become python3
    eventually is_his
}
family_grows() {
    : >"$WORK/more"
    has_grown() { [ "$(grep -c . "$WORK/said")" = 2 ]; }
    eventually has_grown
    CHILD=$(sed -n 's/^child //p' "$WORK/said") OTHER=$(sed -n 's/^thread //p' "$WORK/said")
    echo "$CHILD" >>"$WORK/pids"
}

broker_dies() {
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    eventually none_of_ours
}
put_back() { "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"; }

# raise_one: starts Alice's thread $SLEEPER, which had best-effort 2 and is raised by the reservation cam.
raise_one() {
    reserve $ALICE cam "$@"
    sleeper $ALICE
    ionice -c 2 -n 2 -p "$SLEEPER"
    told '.result == "OK"' "$(attach $ALICE cam "$SLEEPER")"
    raised "$SLEEPER"
}

@test "an attached thread has class RT, level 7, a detached thread its former class, and the disk its former scheduler in the end" {
    broker_start
    [ "$(scheduler)" = bfq ]
    has_groups 0
    helper=$(helpers 'rtf-disk --ioprio --serve')
    [ $((0x$(sed -n 's/^CapEff:\t//p' "/proc/$helper/status") & ~0x880000)) = 0 ]
    grep -q '^Seccomp:.2' "/proc/$helper/status"
    [ -z "$(helpers 'rtf-disk --serve')" ]
    reserve $ALICE cam
    for former in 'none: prio 0' 'best-effort: prio 2' 'idle'; do
        sleeper $ALICE
        case $former in best*) ionice -c 2 -n 2 -p "$SLEEPER" ;; idle) ionice -c 3 -p "$SLEEPER" ;; esac
        class_is "$SLEEPER" "$former"
        told '.result == "OK" and .thread.state == "attached"' "$(attach $ALICE cam "$SLEEPER")"
        raised "$SLEEPER"
        grep -q "^former_ioprio=" "$SPOOL/state/current/journal"
        as $ALICE rm "$SPECS/$ALICE/cam.tid"
        eventually class_is "$SLEEPER" "$former"
    done
    attach $ALICE cam "$SLEEPER"
    raised "$SLEEPER"
    broker_stop TERM
    class_is "$SLEEPER" idle
    [ "$(scheduler)" = mq-deadline ]
    [ ! -s "$SPOOL/state/disks-ioprio" ]
    broker_start
    raised "$SLEEPER"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually class_is "$SLEEPER" idle
}

@test "a thread that inherited its class from an attached thread loses the class at the release; other threads keep theirs" {
    broker_start
    reserve $ALICE cam
    family $ALICE
    ionice -c 2 -n 2 -p "$FAMILY"
    told '.result == "OK"' "$(attach $ALICE cam "$FAMILY")"
    family_grows
    raised "$CHILD"
    raised "$OTHER"
    sleeper $ALICE
    admins=$SLEEPER
    ionice -c 1 -n 4 -p "$admins"
    sleeper $BOB
    ionice -c 1 -n 7 -p "$SLEEPER"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually former "$FAMILY"
    eventually former "$CHILD"
    eventually former "$OTHER"
    class_is "$admins" 'realtime: prio 4'
    raised "$SLEEPER"
}

@test "no thread is raised without a rule for the line, nor a thread of another user" {
    broker_start
    told '.result == "ACL_FAIL"' "$(spec $BOB cam "$stream")"
    sleeper $BOB
    reserve $ALICE cam
    told '.result == "ATTACH_FAIL"' "$(attach $ALICE cam "$SLEEPER")"
    told '.result == "ATTACH_FAIL"' "$(attach $BOB cam "$SLEEPER")"
    class_is "$SLEEPER" 'none: prio 0'
}

@test "the messages about enforce=ioprio promise no bound, and there is none" {
    broker_start
    raise_one
    logged 1 '.stage == "attach" and .reason == "attached: reads and writes of the thread come before the reads and writes of others, without a limit"'
    has_groups 0
    [ "$(group_of "$SLEEPER")" = "$(group_of $$)" ]
}

@test "a claim that goes and comes takes the class along, and a thread that is attached anew at once gets back its former class" {
    broker_start
    both='{"runtime": "1ms", "period": "50ms", "disk": {"bytes": "4KiB", "period": "50ms", "block": "4KiB"}}'
    raise_one "$both"
    reserve $ALICE cam '{"runtime": "1ms", "period": "50ms"}'
    eventually former "$SLEEPER"
    is_attached $ALICE cam "$SLEEPER"
    reserve $ALICE cam "$both"
    raised "$SLEEPER"
    reserve $ALICE other
    attach_anew "$SLEEPER" cam.tid
    raised "$SLEEPER"
    as $ALICE rm "$SPECS/$ALICE/other.json"
    eventually former "$SLEEPER"
}

@test "kill -9 of broker or rtf-disk: an attached thread stays raised, and a detached one gets back the class of before" {
    broker_start
    raise_one
    stays=$SLEEPER
    reserve $ALICE gone
    sleeper $ALICE
    ionice -c 3 -p "$SLEEPER"
    attach $ALICE gone "$SLEEPER"
    pkill -KILL -P "$(launcher)" -f 'rtf-disk --ioprio'
    is_back() { [ -n "$(helpers 'rtf-disk --ioprio')" ]; }
    eventually is_back
    raised "$stays"
    raised "$SLEEPER"
    broker_dies
    raised "$stays"
    raised "$SLEEPER"
    as $ALICE rm "$SPECS/$ALICE/gone.json"
    broker_start
    raised "$stays"
    eventually class_is "$SLEEPER" idle
    broker_stop INT
    raised "$stays"
    broker_start
    raised "$stays"
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    eventually former "$stays"
}

@test "--put-back, and a start without the line or with another enforce=, put back what a killed broker has raised" {
    broker_start
    raise_one
    broker_dies
    put_back
    former "$SLEEPER"
    [ "$(scheduler)" = mq-deadline ]
    for enforce in none cgroup; do
        keep_by ioprio
        broker_start
        raised "$SLEEPER"
        broker_dies
        keep_by $enforce
        broker_start
        former "$SLEEPER"
        [ "$(scheduler)" = "$([ $enforce = none ] && echo mq-deadline || echo bfq)" ]
        broker_stop TERM
        [ "$(scheduler)" = mq-deadline ]
    done
}

@test "the next start puts back a raised thread that has no reservation any more" {
    broker_start
    raise_one
    broker_dies
    mv "$SPECS/$ALICE" "$WORK/away"
    broker_start
    former "$SLEEPER"
}

@test "a thread that has the id of another one is not touched" {
    sleeper
    ionice -c 1 -n 7 -p "$SLEEPER"
    started=$(sed 's/.*) //' "/proc/$SLEEPER/stat" | cut -d ' ' -f 20)
    "$RTF_LIBEXEC/rtf-disk" --ioprio --remove-all "$DISK=mq-deadline" --thread="$SLEEPER,$((started - 1)),0"
    raised "$SLEEPER"
    "$RTF_LIBEXEC/rtf-disk" --ioprio --remove-all "$DISK=mq-deadline" --thread="$SLEEPER,$started,16386"
    former "$SLEEPER"
    run "$RTF_LIBEXEC/rtf-disk" --ioprio --remove-all "$DISK" --thread=1,2
    [ "$status" = 64 ]
}

@test "the disks of a second broker that would raise threads are off, it serves on, and those of the first stay raised" {
    broker_start
    raise_one
    mkdir "$WORK/other"
    second_broker
    eventually grep -q 'plugins.conf:2: another broker manages the disks of this machine' "$WORK/second"
    kill "$SECOND"
    wait "$SECOND"
    raised "$SLEEPER"
    [ "$(scheduler)" = bfq ]
}

@test "a user's lock on a file that anybody can open does not stop the broker, and no lock is left in the end" {
    mount=$(awk '$3 == "cgroup" && $4 ~ /blkio/ { print $2 }' /proc/mounts)
    for place in /sys/block $mount; do
        become $ALICE flock --no-fork --exclusive "$place" sleep "$SLEEPS" 3>&- &
        echo $! >>"$WORK/pids"
    done
    eventually no as $ALICE flock --nonblock --shared /sys/block true
    for way in ioprio cgroup; do
        keep_by $way
        broker_start
        [ "$(jq -r '.plugins[1].state' "$SPOOL/status.json")" = serving ]
        broker_stop TERM
        [ ! -e /run/rtf/brokers/.priorities ]
        [ ! -e /run/rtf/brokers/.groups ]
    done
}

# light_reader UID: reads 4 KiB at a time for four seconds, with a pause of 20 ms after each read; Alice's process is attached
# to cam. $READS is the number of reads, $TIMES has the shortest, median and longest time in microseconds.
light_reader() {
    load_begins "$WORK/reads" "$1" thinker 4096 20 4
    if [ "$1" = $ALICE ]; then attach $ALICE cam "$LOAD" >"$WORK/attached" && raised "$LOAD" || return 1; fi
    go "$WORK/reads"
    is_over() { ! kill -0 "$LOAD" 2>/dev/null; }
    PATIENCE=6 eventually is_over
    READS=$(sed 1d "$WORK/reads" | wc -l)
    TIMES=$(sed 1d "$WORK/reads" | sort -n | awk '{ all[NR] = $1 } END { print all[1], all[int((NR + 1) / 2)], all[NR] }')
}

# The test compares the numbers of reads of the processes, and not the medians of their times: BFQ itself serves some reads of a light reader at once,
# and delays others by seconds, so most of its few reads may be fast.
# bats test_tags=machine,turn:2
@test "beside deep readers a raised thread gets several times the single reads that another one gets" {
    broker_start
    reserve $ALICE cam
    for _ in 1 2; do load_begins "$WORK/deep" $BOB deep; done
    is_several_times() {
        light_reader $BOB
        bare=$READS
        echo "# $READS reads of 4 KiB in 4 s; shortest, median, worst: $TIMES us" >&3
        light_reader $ALICE
        echo "# $READS raised; $TIMES us" >&3
        [ $((bare * 3)) -le "$READS" ]
    }
    once_of 3 is_several_times
}
