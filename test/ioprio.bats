# Threads that come first on a disk: enforce=ioprio and rtf-disk(8), on a disk of known speed (slow-disk.bash).

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

# class_is TID SENTENCE: what ionice(1) says.
class_is() { [ "$(ionice -p "$1")" = "$2" ]; }
raised='realtime: prio 7'
low() { class_is "$1" 'none: prio 0'; }
raised() { class_is "$1" "$raised"; }

# family UID: a process, FAMILY, that starts a child whenever $WORK/more is there, CHILD; it sleeps otherwise.
family() {
    become "$1" sh -c 'echo $$ >"$1"; while [ ! -e "$2" ]; do sleep 0.01; done; sleep "$3" & echo $! >"$1"; wait' sh "$WORK/said" "$WORK/more" "$SLEEPS" 3>&- &
    FAMILY=$!
    echo "$FAMILY" >>"$WORK/pids"
    eventually [ -s "$WORK/said" ]
}
may_say() { : >"$WORK/said" && chmod 666 "$WORK/said"; }
child_of_family() {
    : >"$WORK/more"
    has_child() { CHILD=$(cat "$WORK/said") && [ "$CHILD" != "$FAMILY" ] && is_sleep "$CHILD"; }
    eventually has_child
    echo "$CHILD" >>"$WORK/pids"
}

@test "an attached thread has class RT, level 7, a detached one what it had before, and the disk its scheduler in the end" {
    broker_start
    [ "$(scheduler)" = bfq ]
    has_groups 0
    helper=$(parts 'rtf-disk --ioprio --serve')
    [ $((0x$(sed -n 's/^CapEff:\t//p' "/proc/$helper/status") & ~0x880000)) = 0 ]
    grep -q '^Seccomp:.2' "/proc/$helper/status"
    [ -z "$(parts 'rtf-disk --serve')" ]
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
