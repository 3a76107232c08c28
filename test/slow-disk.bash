# Disks of files behind loop devices, and rtf-disk's groups on them. Where the kernel has no such devices the test is skipped.

bed=${BASH_SOURCE[0]%/*}/../contrib/bed

# disk_make: makes a disk of known speed, of a slow file (slow-disk.c). DISK is its name. A seek takes 4 ms, and the disk then reads 22 MB/s: at random
# places 0.98 MB/s in blocks of 4 KiB, 5.97 in blocks of 32 KiB, 13.2 in blocks of 128 KiB.
disk_make() {
    has_fuse || skip 'no FUSE in this kernel'
    slow_file $((256 << 20))
    disk_of "$WORK/fuse/disk" --direct-io=on
    cp "$bed/load.py" "$WORK" # where users may read it
}

has_fuse() { (: <>/dev/fuse) 2>/dev/null; }
# slow_file BYTES [cached]: makes the file $WORK/fuse/disk (slow-disk.c). SLOW_DISK is the process that serves the file.
slow_file() {
    mkdir "$WORK/fuse"
    "$RTF_STAGE/slow-disk" 4000 22000000 "$1" "$WORK/fuse" ${2:-} >"$WORK/slow-disk.out" 2>&1 3>&- &
    SLOW_DISK=$!
    eventually [ -e "$WORK/fuse/disk" ]
    chrt -a -f -p 50 "$SLOW_DISK" # a disk has its own processor
}

# disk_of FILE [OPTION...]: makes a disk of any file.
disk_of() {
    FORMER=$("$bed/disk" attach "$@") || skip 'no loop devices in this kernel'
    DISK=${FORMER%% *}
    grep -q bfq "/sys/block/$DISK/queue/scheduler" || skip 'no bfq in this kernel'
}

# The device stays, with its former scheduler.
disk_remove() {
    [ -n "${DISK:-}" ] || return 0
    # shellcheck disable=SC2086 # three words
    "$bed/disk" detach $FORMER
    [ -n "${SLOW_DISK:-}" ] || return 0
    eventually umount "$WORK/fuse"
    wait "$SLOW_DISK" 2>/dev/null || true
}

# disk_tidy: ends the broker, and then removes the disk. Nothing is left of either.
disk_tidy() {
    if [ -n "$BROKER" ] && kill -0 "$BROKER" 2>/dev/null; then broker_stop TERM; fi
    while read -r pid; do kill -KILL "$pid" 2>/dev/null || true; done <"$WORK/pids"
    eventually none_of_ours
    "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" || true
    disk_remove
    has_groups 0 && [ ! -d "$blkio/rtf-disk" ] && [ ! -d "$blkio/rtf-disk-rest" ]
}

scheduler() { sed 's/.*\[\(.*\)\].*/\1/' "/sys/block/$DISK/queue/scheduler"; }

# load_begins FILE UID KIND...: starts load.py in the background, as LOAD, with its output in FILE. A stream waits for `go FILE`.
load_begins() {
    local said=$1
    [ -p "$said.go" ] || mkfifo "$said.go"
    /usr/bin/python3 "$WORK/load.py" "$2" "/dev/$DISK" "${@:3}" <>"$said.go" >"$said" 2>&1 3>&- &
    LOAD=$!
    echo "$LOAD" >>"$WORK/pids"
    eventually grep -q ready "$said"
}
go() { echo >"$1.go"; }

blkio=/sys/fs/cgroup/blkio
[ -d $blkio ] || blkio=/sys/fs/cgroup
group_of() { sed -n 's/^[0-9]*:\(blkio\|\):\(.*\)/\2/p' "/proc/$1/cgroup" | head -n 1; }
groups_of_ours() { find "$blkio" -maxdepth 2 -type d -name 'c[0-9]*' -path '*/rtf-disk/*' -printf '/%P\n'; }
has_groups() { [ "$(groups_of_ours | wc -l)" = "$1" ]; }

# bounds GROUP: the bytes and blocks that the group may read a second, and the group's weight.
bounds() {
    local group=$blkio$1
    if [ -e "$group/io.max" ]; then
        sed -n 's/.* rbps=\([0-9]*\) .* riops=\([0-9]*\) .*/\1 \2/p' "$group/io.max"
        sed -n '/:/s/.* //p' "$group/io.bfq.weight"
    else
        sed -n '/:/s/.* //p' "$group"/blkio.{throttle.read_bps,throttle.read_iops,bfq.weight}_device
    fi | paste -sd ' '
}

# attach_anew TID PATTERN...: Alice removes these files, one pattern after the other, and attaches the thread to `other` at once. rtf-disk is stopped
# meanwhile, so the thread is raised still. It is stopped for less than five seconds: a longer stop counts as hung.
attach_anew() {
    local tid=$1 helper
    shift
    # The last record of `other`: the broker may write the journal anew meanwhile, without older records.
    is_noted() {
        awk -v RS= '/\nname=other\n/ { noted = /\nformer_ioprio=/ } END { exit !noted }' "$SPOOL/state/current/journal"
    }
    helper=$(helpers 'rtf-disk --ioprio')
    run ! is_noted
    kill -STOP "$helper"
    as $ALICE sh -c "cd '$SPECS/$ALICE' && $(printf 'rm %s && ' "$@") echo $tid >other.tid"
    eventually is_noted
    kill -CONT "$helper"
    eventually is_attached $ALICE other "$tid"
}

# hanging UID: starts a process of this user, $HANGING. `hangs` kills the process. The process cannot finish its exit, because the exit closes a file of a
# file system with a stopped program. `hangs_no_more` lets the process finish; tidy calls this, too.
hanging() {
    (: <>/dev/fuse) 2>/dev/null || skip 'no FUSE in this kernel'
    mkdir "$WORK/hang"
    "$RTF_STAGE/slow-disk" 0 22000000 4096 "$WORK/hang" >"$WORK/hang.out" 2>&1 3>&- &
    HANGS_ON=$!
    echo "$HANGS_ON" >>"$WORK/pids"
    eventually [ -e "$WORK/hang/disk" ]
    /usr/bin/python3 -S -c '
import os, sys, time
os.open(sys.argv[1], os.O_RDONLY)
uid = int(sys.argv[2])
os.setgroups([])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
print(flush=True)
time.sleep(300)' "$WORK/hang/disk" "$1" >"$WORK/hanging" 3>&- &
    HANGING=$!
    echo "$HANGING" >>"$WORK/pids"
    eventually test -s "$WORK/hanging"
}
hangs() {
    kill -STOP "$HANGS_ON"
    eventually has_stopped "$HANGS_ON" # otherwise the program may still answer the process's last close
    kill -KILL "$HANGING"
    eventually is_hanging
}
has_stopped() { read -r _ _ state _ <"/proc/$1/stat" && [ "$state" = T ]; }
is_hanging() { read -r _ _ state _ _ _ _ _ flags _ <"/proc/$HANGING/stat" && [ "$state" = D ] && [ $((flags & 4)) -ne 0 ]; }
hangs_no_more() {
    [ -n "${HANGS_ON:-}" ] || return 0
    kill -KILL "$HANGS_ON" # the connection to the kernel ends with this process
    wait "$HANGS_ON" "$HANGING" 2>/dev/null || true
    umount -l "$WORK/hang"
    HANGS_ON=
}
