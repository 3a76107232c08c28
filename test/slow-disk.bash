# A disk of known speed: a file that takes its time (slow-disk.c), behind a loop device. A seek is 4 ms, then 22 MB/s: at random places 0.98 MB/s in blocks of
# 4 KiB, 5.97 in blocks of 32 KiB, 13.2 in blocks of 128 KiB.

bed=${BASH_SOURCE[0]%/*}/../contrib/bed

# disk_make: DISK is its name.
disk_make() {
    mkdir "$WORK/fuse"
    "$RTF_STAGE/slow-disk" 4000 22000000 $((256 << 20)) "$WORK/fuse" >"$WORK/slow-disk.out" 2>&1 3>&- &
    SLOW_DISK=$!
    eventually [ -e "$WORK/fuse/disk" ]
    chrt -a -f -p 50 "$SLOW_DISK" # a disk has its own processor
    FORMER=$("$bed/disk" attach "$WORK/fuse/disk")
    DISK=${FORMER%% *}
    cp "$bed/load.py" "$WORK" # where users may read it
}

# The device stays, as what it was.
disk_remove() {
    [ -n "${DISK:-}" ] || return 0
    # shellcheck disable=SC2086 # three words
    "$bed/disk" detach $FORMER
    eventually umount "$WORK/fuse"
    wait "$SLOW_DISK" 2>/dev/null || true
}

scheduler() { sed 's/.*\[\(.*\)\].*/\1/' "/sys/block/$DISK/queue/scheduler"; }

# load FILE UID KIND...: load.py in the background, LOAD; what it says goes to FILE. A stream begins with go.
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
groups_of_ours() { find "$blkio" -maxdepth 2 -type d -name 'c[0-9]*' -path '*/rtf-disk/*' | wc -l; }
has_groups() { [ "$(groups_of_ours)" = "$1" ]; }
