# A loop device as a disk with one partition and a file system, for tests that only have to find a disk.

# loop_make: makes the disk. $LOOP is its name, $WORK/mounted the root of the file system.
loop_make() {
    truncate -s 32M "$WORK/image"
    LOOP=$(losetup --partscan --find --show "$WORK/image")
    LOOP=${LOOP#/dev/}
    addpart "/dev/$LOOP" 1 2048 40960
    eventually [ -b "/dev/${LOOP}p1" ]
    mkfs.ext4 -q "/dev/${LOOP}p1"
    mkdir "$WORK/mounted"
    mount "/dev/${LOOP}p1" "$WORK/mounted"
}

loop_remove() {
    [ -n "${LOOP:-}" ] || return 0
    if mountpoint -q "$WORK/mounted"; then umount "$WORK/mounted"; fi
    delpart "/dev/$LOOP" 1 2>/dev/null || true
    losetup -d "/dev/$LOOP"
}
