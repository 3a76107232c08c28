# rtf-probe(8): measures the throughput of a disk at random places, on a disk of known speed (slow-disk.bash); and finds the disk of a path.

load helper
load slow-disk
load loop-disk

probe() { "$RTF_LIBEXEC/rtf-probe" "$1"; }

tidy() {
    loop_remove
    disk_remove
}

# within RATE PERCENT OF: the printed rate is within this percentage of the other.
within() {
    local bytes=${1%kB}
    [ "$bytes" != "$1" ] && bytes=$((bytes * 1000)) && [ $((bytes * 100)) -ge $(($3 * (100 - $2))) ] && [ $((bytes * 100)) -le $(($3 * (100 + $2))) ]
}

@test "the measured throughput of a disk of 4 ms and 22 MB/s is within 10 %, takes 5 s, and fits into a line of plugins.conf" {
    disk_make
    measured() {
        local begin=${EPOCHREALTIME/./} took
        line=$(probe "/dev/$DISK")
        took=$((${EPOCHREALTIME/./} - begin))
        echo "# $line in $((took / 1000)) ms" >&3
        [[ $line =~ ^throughput=4KiB:([0-9]+kB),32KiB:([0-9]+kB),128KiB:([0-9]+kB)$ ]] || return 1
        within "${BASH_REMATCH[1]}" 10 978473 && within "${BASH_REMATCH[2]}" 10 5969000 && within "${BASH_REMATCH[3]}" 10 13169000 && [ "$took" -lt 5000000 ]
    }
    once_of 3 measured
    configure_plugins 'EDF edf - all partition=global' "DISK disk - - resource=disk device=$DISK $line"
    configure_rules '- DISK max_bandwidth 1MB'
    "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
}

# A user who may not open the disk is told the disk's name.
@test "a disk may be named by its name, its device, a partition or a path of something on it" {
    loop_make
    ln -s "/dev/${LOOP}p1" "$WORK/link"
    mkdir "$WORK/mounted/rec"
    for word in "$LOOP" "${LOOP}p1" "/dev/$LOOP" "/dev/${LOOP}p1" "$WORK/mounted" "$WORK/mounted/rec/../rec" "$WORK/link"; do
        run stranger $ALICE "$RTF_LIBEXEC/rtf-probe" "$word"
        [ "$status" = 77 ] && [ "$output" = "rtf-probe: /dev/$LOOP: Permission denied" ] || { echo "$word: $status $output" >&2; return 1; }
    done
}

@test "rtf-probe refuses a path that is no disk, and a user who may not read the disk, with the reason" {
    refused() { # STATUS SENTENCE WORD
        run probe "$3"
        [ "$status" = "$1" ] && [ "$output" = "rtf-probe: $3: $2" ] || { echo "$status $output" >&2; return 1; }
    }
    refused 66 'there is no disk of that name' nosuchdisk
    refused 66 'No such file or directory' "$WORK/nothing"
    refused 66 'this is in memory (tmpfs), not on a disk' /dev/shm
    refused 66 'this is on a file system that has no disk' /proc
    refused 66 'this is a device, but no disk' /dev/null
    refused 66 'this is neither the name of a disk, such as sda, nor a path' 'a b'
    disk_make
    refused 66 'this is on the file system of a program (FUSE), which has no disk' "$WORK/fuse/disk"
    mkdir -m 700 "$WORK/closed"
    run stranger $ALICE "$RTF_LIBEXEC/rtf-probe" "$WORK/closed/rec"
    [ "$status" = 66 ]
    [ "$output" = "rtf-probe: $WORK/closed/rec: Permission denied" ]
    for words in '' '--none' "$DISK $DISK"; do
        # shellcheck disable=SC2086 # words
        run "$RTF_LIBEXEC/rtf-probe" $words
        [ "$status" = 64 ]
    done
}
