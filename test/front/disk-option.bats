# --disk, of rtf-run(1) and of all commands that make a spec: a claim on a disk, and the disk of a path.
load ../helper
load ../command
load front
load ../loop-disk

prepare() {
    front_prepare
    loop_make
    mkdir -m 755 "$WORK/mounted/rec"
    configure_plugins 'EDF edf - all partition=global threshold=0.5' "DISK disk - - resource=disk device=$LOOP throughput=4KiB:900kB,32KiB:5400kB enforce=none" \
        'DM disk - - resource=disk device=dm-7 throughput=1MB enforce=none'
    configure_rules "$ALICE - max_utilization 2" "- DISK max_bandwidth 100MB" "- DM max_bandwidth 100MB"
}

tidy() {
    if [ -n "$BROKER" ]; then broker_stop TERM; fi
    loop_remove
}

# prepared TEXT: prints the claim that rtf-run would make from the text.
prepared() { as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --dry-run --disk "$1" | jq -c .disk; }
rtf_run() { as $ALICE env USER=$ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" "$@"; }

@test "a size and a time, a size a second, a block: the keys of a claim; a path is its disk" {
    disk='"device":"'$LOOP'"'
    [ "$(prepared "$LOOP:32KiB/50ms,block=32KiB")" = '{"block":"32KiB","bytes":"32KiB",'"$disk"',"period":"50ms"}' ]
    [ "$(prepared 640kB)" = '{"bandwidth":"640kB"}' ]
    [ "$(prepared background)" = '{"background":true}' ]
    [ "$(prepared "$WORK/mounted:background")" = '{"background":true,'"$disk"'}' ]
    ln -s mounted/rec "$WORK/link"
    mkdir "$WORK/mounted/a:b,c"
    for place in "/dev/$LOOP" "/dev/${LOOP}p1" "$WORK/mounted/rec" "$WORK/link/" "$WORK/mounted/a:b,c"; do
        [ "$(prepared "$place:10Mbit,block=1MiB")" = '{"bandwidth":"10Mbit","block":"1MiB",'"$disk"'}' ] || { echo "$place" >&2; return 1; }
    done
    [ "$(cd "$WORK/mounted" && prepared ./rec:1B)" = '{"bandwidth":"1B",'"$disk"'}' ]
    [ "$(cd "$WORK/mounted" && prepared .:1B)" = '{"bandwidth":"1B",'"$disk"'}' ]
    [ "$(prepared nosuchdisk:1B)" = '{"bandwidth":"1B","device":"nosuchdisk"}' ] # rtf-run takes the name as it is, and the broker refuses a disk without a line
}

@test "a path that is on no disk of this machine, or that the user cannot see, is refused with the reason" {
    mkdir -m 700 "$WORK/closed"
    touch "$WORK/closed/rec"
    refused() { # SENTENCE TEXT: rtf-run and the other commands refuse the text with the same sentence
        fails 125 "rtf-run: --disk $2: $1" rtf_run --disk "$2" true
        fails 64 "rtf declare: --disk $2: $1" rtf declare cam --disk "$2"
    }
    broker_start
    refused 'this is in memory (tmpfs), not on a disk' /dev/shm:1MB
    refused 'this is on a file system that has no disk' /proc:1MB
    refused 'this is a device, but no disk' /dev/null:1MB
    refused 'Permission denied' "$WORK/closed/rec:1MB"
    refused 'No such file or directory' "$WORK/nothing:1MB"
    mkdir "$WORK/upper" "$WORK/work" "$WORK/over"
    if mount -t overlay -o "lowerdir=$WORK/mounted/rec,upperdir=$WORK/upper,workdir=$WORK/work" overlay "$WORK/over"; then
        refused 'this is on an overlay, whose layers may be on several disks: name the disk' "$WORK/over:1MB"
        umount "$WORK/over"
    fi
    refused 'no size is given: write SIZE or DISK:SIZE, with a size such as 640kB' "$WORK/mounted"
    refused 'write block= and a size after the comma, such as block=32KiB' "$LOOP:1MB,period=5ms"
    [ -z "$(ls -A "$SPECS/$ALICE" 2>/dev/null)" ]
    # The broker refuses a value that is no size.
    fails 125 '*"bandwidth", which must be*' rtf_run --disk "$LOOP:1Mb" true
    fails 65 '*"block", which must be*' rtf declare cam --disk "$LOOP:1MB,block=17MiB"
}

@test "rtf-run, rtf declare, change, what-if and attach claim the disk and the amount of the option" {
    broker_start
    claims() { # NAME BYTES PERIOD BLOCK
        holds "$1" "(.grant.claims | map(del(.desired_bytes, .accepted_bytes))) == [{\"resource\": \"disk\", \"plugin\": \"DISK\", \"bytes\": $2, \"period\": $3, \"block\": $4, \"device\": \"$LOOP\"}]"
    }
    silent rtf declare cam --disk "$WORK/mounted/rec:640kB,block=32KiB"
    claims cam 640000 1000000 32768
    silent rtf change cam --disk "$WORK/mounted/rec:32KiB/50ms,block=32KiB"
    claims cam 32768 50000 32768
    fails 65 'rtf change: cam: DISK refused: *; at most * bytes would fit' rtf change cam --disk "$LOOP:320KiB/50ms,block=32KiB"
    claims cam 32768 50000 32768
    prints 0 rtf what-if --disk "$WORK/mounted:1MB,block=32KiB"
    rtf what-if --disk "$WORK/mounted:5MB,block=32KiB" --json >"$WORK/out" 2>"$WORK/err" || [ $? = 65 ] # the disk has less time than this claim needs
    says '.refusal.by == "DISK" and .refusal.nearest == 3637248'
    sleeper $ALICE
    silent rtf attach job "$SLEEPER" -T 1ms -P 100ms --disk "$LOOP:4KiB/50ms"
    claims "job-$SLEEPER" 4096 50000 4096
    become $ALICE env USER=$ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --name run -T 1ms -P 100ms --disk "$WORK/mounted/rec:4KiB/50ms" -- sleep 300 3>&- &
    echo $! >>"$WORK/pids"
    has_run() { [ -e "$OWN/run.verdict" ]; }
    eventually has_run
    claims run 4096 50000 4096
    # The refusal names a disk without a line, and a remedy.
    fails 65 '*no plugin*' rtf declare other --disk nosuchdisk:1MB
}

# Not every kernel can make such a device. These files imitate the kernel's list.
@test "dm and md devices are refused, and the refusal names the disks below, unless plugins.conf has a line for the device" {
    number=$(stat -c '%Hd:%Ld' "$WORK/mounted/rec")
    seen_as() { # DEVICE
        rm -rf "$WORK/sys"
        mkdir -p "$WORK/sys/dev/block" "$WORK/sys/class/block/$1/dm" "$WORK/sys/class/block/$1/slaves/sda2"
        ln -s "../../devices/virtual/block/$1" "$WORK/sys/dev/block/$number"
    }
    among() { unshare --mount sh -c 'mount --bind "$0/sys" /sys && shift 0 && exec "$@"' "$WORK" setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" -- "$@"; }
    broker_start
    eventually test -s "$SPOOL/status.json"
    seen_as dm-0
    fails 125 "rtf-run: --disk $WORK/mounted/rec:1MB: this is on dm-0, which passes its data on to other disks, such as sda2: name one of them, or give dm-0 a line in plugins.conf" \
        among "$RTF_BIN/rtf-run" --spool "$SPOOL" --dry-run --disk "$WORK/mounted/rec:1MB"
    seen_as dm-7
    among "$RTF_BIN/rtf-run" --spool "$SPOOL" --dry-run --disk "$WORK/mounted/rec:1MB" | jq -e '.disk.device == "dm-7"'
    fails 125 '*this is on dm-7*' among "$RTF_BIN/rtf-run" --spool "$WORK/nothing" --dry-run --disk "$WORK/mounted/rec:1MB"
}

@test "disks and interfaces are completed" {
    broker_start
    eventually test -s "$SPOOL/status.json"
    complete() { as $ALICE env USER=$ALICE "$RTF_BIN/rtf" --complete --spool "$SPOOL" "$@" | cut -f 1 | xargs; }
    [ "$(complete declare --disk '')" = "$LOOP: dm-7:" ]
    [ "$(complete run --disk=lo)" = "--disk=$LOOP:" ]
    [ "$(complete run --disk "$LOOP:")" = "$LOOP:background" ]
    [ "$(complete declare "--disk=dm-7:b")" = '--disk=dm-7:background' ]
    [ "$(complete change cam di)" = disk= ]
    [ "$(complete declare --net '')" = '' ]
}
