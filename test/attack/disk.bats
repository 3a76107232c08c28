# bats file_tags=lane:disk
# A user attacks others by the groups that rtf-disk puts processes into.

bats_require_minimum_version 1.5.0
load ../helper
load ../slow-disk
load ring

prepare() {
    truncate -s 64M "$WORK/image"
    disk_of "$WORK/image"
    configure_plugins "DISK disk - - resource=disk device=$DISK throughput=5800kB"
    configure_rules '- DISK max_bandwidth 100MB' "$ALICE - max_utilization 1" "$BOB - max_utilization 1"
}

tidy() {
    if [ -n "${STORM:-}" ]; then end_storm; fi
    hangs_no_more
    if mountpoint -q "$WORK/mounted"; then umount "$WORK/mounted"; fi
    if [ -n "${OTHER:-}" ]; then "$bed/disk" detach $OTHER; fi
    disk_tidy
    [ ! -d "$blkio/rtf-test-alice" ] || rmdir "$blkio/rtf-test-alice"
}

stream='{"disk": {"bytes": "32KiB", "period": "50ms", "block": "32KiB"}}'
reserve() { told '.result == "OK"' "$(spec "$1" "$2" "$stream")"; }
attach() { # UID NAME TID: prints the answer
    as "$1" sh -c "echo $3 >'$SPECS/$1/.$2' && mv '$SPECS/$1/.$2' '$SPECS/$1/$2.tid'"
    verdict "$1" "$2"
}
is_in_group() { [[ $(group_of "$1") == $2 ]]; }

@test "an attached process is moved together with its children, and no other process is, at attach and at detach" {
    broker_start
    sleeper $BOB
    bobs=$SLEEPER
    before=$(group_of "$bobs")
    sleeper $ALICE
    reserve $ALICE cam
    told '.result == "OK"' "$(attach $ALICE cam "$SLEEPER")"
    is_in_group "$SLEEPER" '/rtf-disk/c*'
    [ "$(cat "$blkio$(group_of "$SLEEPER")/cgroup.procs")" = "$SLEEPER" ]
    [ "$(group_of "$bobs")" = "$before" ]
    told '.result == "ATTACH_FAIL"' "$(attach $ALICE cam "$bobs")"
    [ "$(group_of "$bobs")" = "$before" ]
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually has_groups 0
    [ "$(group_of "$bobs")" = "$before" ] && [ "$(group_of "$SLEEPER")" = "$before" ]
}

# With version 1 the kernel starts no process in a group by CLONE_INTO_CGROUP, and a user cannot open rtf-disk's groups at all.
@test "a user cannot start a process in another reservation's group (CLONE_INTO_CGROUP)" {
    broker_start
    sleeper $BOB
    reserve $BOB cam
    told '.result == "OK"' "$(attach $BOB cam "$SLEEPER")"
    for group in "$blkio$(group_of "$SLEEPER")" "$blkio/rtf-disk" "$blkio"; do
        output=$(as $ALICE /usr/bin/python3 -S -c '
import ctypes, os, sys
try:
    words = (ctypes.c_uint64 * 11)()
    words[0], words[4], words[10] = 0x200000000, 17, os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
    libc = ctypes.CDLL(None, use_errno=True)
    child = libc.syscall(435, words, ctypes.sizeof(words))
    if child == 0:
        os._exit(0)
    print("started" if child > 0 else "refused")
except PermissionError:
    print("refused")' "$group")
        [ "$output" = refused ]
    done
    [ "$(cat "$blkio$(group_of "$SLEEPER")/cgroup.procs")" = "$SLEEPER" ]
}

@test "a process with a thread of another user stays where it is" {
    broker_start
    cat >"$WORK/server.py" <<'END'
import ctypes, sys, threading, time
libc = ctypes.CDLL(None)
def work():
    libc.syscall(117, *3 * [int(sys.argv[1])])  # setresuid(2), for this thread alone
    print(threading.get_native_id(), flush=True)
    time.sleep(300)
threading.Thread(target=work, daemon=True).start()
time.sleep(300)
END
    /usr/bin/python3 -S "$WORK/server.py" $ALICE >"$WORK/server" 2>&1 3>&- &
    server=$!
    echo "$server" >>"$WORK/pids"
    eventually [ -s "$WORK/server" ]
    before=$(group_of "$server")
    reserve $ALICE cam
    told '.result == "ATTACH_FAIL" and (.reason | contains("has a thread that the user does not own"))' "$(attach $ALICE cam "$(cat "$WORK/server")")"
    [ "$(group_of "$server")" = "$before" ]
}

# Each process starts another process and ends, so that there is always a process that rtf-disk has not seen.
begin_storm() { # COUNT
    cat >"$WORK/storm.py" <<'END'
import os, sys
for _ in range(int(sys.argv[2])):
    if os.fork() == 0:
        while os.path.exists(sys.argv[1]):
            if os.fork() != 0:
                os._exit(0)
        os._exit(0)
while os.path.exists(sys.argv[1]):
    try:
        os.wait()
    except ChildProcessError:
        pass
END
    : >"$WORK/storming"
    mkfifo -m 644 "$WORK/storming.go"
    become $ALICE sh -c 'read -r line <"$1.go"; exec /usr/bin/python3 -S "$2" "$1" "$3"' sh "$WORK/storming" "$WORK/storm.py" "$1" >/dev/null 2>&1 3>&- &
    STORM=$!
    echo "$STORM" >>"$WORK/pids"
    eventually is_sh "$STORM"
    renice -n -20 -p $BASHPID >/dev/null # otherwise Bob's wait for a CPU beside the storm would be measured
}
release_beside_storm() {
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    begin=$(milliseconds)
    reserve $BOB cam
    took=$(($(milliseconds) - begin))
    echo "# Bob's claim took $took ms beside it" >&3
    [ "$took" -lt $((2000 * PATIENCE)) ]
}
end_storm() {
    rm -f "$WORK/storming"
    has_no_storm() { ! pgrep -f "$WORK/storm.py" >/dev/null; }
    eventually has_no_storm
    STORM=
}

# Thirty processes that come and go want each CPU.
# bats test_tags=machine
@test "a process that forks faster than rtf-disk moves delays others for a moment and has no share of a disk; the group goes when all have ended" {
    broker_start
    reserve $ALICE cam
    begin_storm 30
    told '.result == "OK"' "$(attach $ALICE cam "$STORM")"
    group=$(group_of "$STORM")
    echo >"$WORK/storming.go"
    many() { [ "$(wc -l <"$blkio$group/cgroup.procs")" -ge 10 ]; }
    eventually many
    release_beside_storm
    is_told() { grep -qE 'processes fork faster than rtf can move them|is ending but does not end, and the group stays' "$EVENTS"; }
    is_over() { [ ! -d "$blkio$group" ] || is_told; }
    eventually is_over
    if [ -d "$blkio$group" ]; then # the processes forked faster than rtf-disk could move them
        echo '# the processes forked faster than rtf-disk could move them' >&3
        has_no_weight() { [ ! -d "$blkio$group" ] || [ "$(bounds "$group" | cut -d ' ' -f 3)" = 1 ]; }
        eventually has_no_weight
    fi
    end_storm
    reserve $BOB other
    as $BOB rm "$SPECS/$BOB/cam.json" "$SPECS/$BOB/other.json"
    eventually has_groups 0
}

# bats test_tags=machine
@test "a raised process that forks faster than rtf-disk finds the children delays others for a moment, and no thread is raised when it has ended" {
    sed -i '/^DISK/s/$/ enforce=ioprio/' "$CONFIG/plugins.conf"
    broker_start
    reserve $ALICE cam
    sleeper $ALICE
    ionice -c 1 -n 7 -p "$SLEEPER" # the same priority as if it had inherited it from a raised thread
    begin_storm 30
    told '.result == "OK"' "$(attach $ALICE cam "$STORM")"
    echo >"$WORK/storming.go"
    cat >"$WORK/raised.py" <<'END'
import ctypes, os, sys
libc, count = ctypes.CDLL(None), 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        count += os.stat("/proc/" + pid).st_uid == int(sys.argv[1]) and libc.syscall(252, 1, int(pid)) == 1 << 13 | 7  # ioprio_get
    except OSError:
        pass
print(count)
END
    raised() { /usr/bin/python3 -S "$WORK/raised.py" $ALICE; }
    many() { [ "$(raised)" -ge 3 ]; } # counts only processes that exist for long enough to be seen
    eventually many
    release_beside_storm
    none() { [ "$(raised)" = 0 ]; }
    is_over() { none || grep -q 'fork faster than rtf can find them' "$EVENTS"; }
    eventually is_over
    end_storm
    none || echo '# the processes forked faster than rtf-disk could find them' >&3
    reserve $ALICE other # when rtf-disk detaches another process of the user, it also finds the processes that forked too fast before
    sleeper $ALICE
    told '.result == "OK"' "$(attach $ALICE other "$SLEEPER")"
    as $ALICE rm "$SPECS/$ALICE/other.json"
    eventually none
}

@test "a raised thread that is detached before many others and attached anew at once gets back its former class" {
    configure_plugins "DISK disk - - resource=disk device=$DISK throughput=5800kB enforce=ioprio"
    broker_start
    reserve $ALICE other
    for i in {1..18}; do
        sleeper $ALICE
        [ "$i" != 1 ] || { first=$SLEEPER && ionice -c 2 -n 2 -p "$first"; }
        told '.result == "OK"' "$(spec $ALICE "cam$i" '{"disk": {"bytes": "32KiB", "period": "2s", "block": "32KiB"}}')"
        attach $ALICE "cam$i" "$SLEEPER" >"$WORK/attached"
    done
    attach_anew "$first" cam1.tid 'cam*.tid'
    [ "$(ionice -p "$first")" = 'realtime: prio 7' ]
    as $ALICE rm "$SPECS/$ALICE/other.json"
    has_its_own() { [ "$(ionice -p "$first")" = 'best-effort: prio 2' ]; }
    eventually has_its_own
}

@test "a process that is hidden in /proc is attached and detached" {
    unshare --mount sh -c 'mount -t proc -o hidepid=ptraceable proc /proc && exec "$@"' sh \
        "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" \
        ${RTF_PLUGIN_USER:+--plugin-user "$RTF_PLUGIN_USER"} >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
    sleeper $ALICE
    before=$(group_of "$SLEEPER")
    reserve $ALICE cam
    told '.result == "OK"' "$(attach $ALICE cam "$SLEEPER")"
    is_in_group "$SLEEPER" '/rtf-disk/c*'
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually has_groups 0
    [ "$(group_of "$SLEEPER")" = "$before" ]
}

@test "a spec names a disk by NAME or /dev/NAME only, and by no link or other path" {
    broker_start
    as $ALICE ln -s "/dev/$DISK" "$WORK/spool/specs/disk" 2>/dev/null || true
    for name in "../$DISK" "/dev/../dev/$DISK" "$WORK/image" "$DISK/queue" "/dev/block/../$DISK" "/proc/self/fd/0" .; do
        told '.grant == null' "$(spec $ALICE cam "$(jq -c --arg name "$name" '.disk.device = $name' <<<"$stream")")"
    done
    has_groups 0
    told '.grant.claims[0].device == "'"$DISK"'"' "$(spec $ALICE cam "$(jq -c --arg name "/dev/$DISK" '.disk.device = $name' <<<"$stream")")"
    has_groups 1
}

# seen_as SOURCE PLACE COMMAND...: Alice's command, where SOURCE is bind-mounted on PLACE.
seen_as() {
    unshare --mount sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$1" "$2" \
        setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" env USER=$ALICE "${@:3}"
}
claim_of() { seen_as "$1" "$2" "$RTF_BIN/rtf-run" --spool "$SPOOL" --name job --disk "$3:32KiB/50ms,block=32KiB" -- sh -c 'sed -n "s/^[0-9]*:\(blkio\|\)://p" /proc/self/cgroup'; }

@test "a bind-mounted device or directory counts as itself, whatever it is mounted on, and the name of a disk is no path" {
    truncate -s 64M "$WORK/other"
    OTHER=$("$bed/disk" attach "$WORK/other")
    other=${OTHER%% *}
    mkfs.ext4 -q "/dev/$DISK"
    mkdir "$WORK/mounted" "$WORK/elsewhere"
    mount "/dev/$DISK" "$WORK/mounted" 2>/dev/null || echo '# no ext4 in this kernel: without a directory on the disk' >&3
    broker_start
    # plugins.conf has no line for $other. A claim on it is not granted under the name of $DISK, which has a line.
    run -125 claim_of "/dev/$other" "/dev/$DISK" "/dev/$DISK"
    [[ $output == *"no plugin for disk"* ]]
    has_groups 0
    : >"$WORK/file"
    for place in "/dev/$other" "$WORK/file"; do
        run -0 claim_of "/dev/$DISK" "$place" "$place"
        [[ $output == *"/rtf-disk/c"* ]]
    done
    if mountpoint -q "$WORK/mounted"; then
        run -0 claim_of "$WORK/mounted" "$WORK/elsewhere" "$WORK/elsewhere"
        [[ $output == *"/rtf-disk/c"* ]]
    fi
    [ -z "$(grep -s "^$(cat "/sys/block/$other/dev") " "$blkio"/rtf-disk/*weight*)" ]
    # A spec has a name of a disk, and the broker opens no path.
    seen_as "/dev/$other" "/dev/$DISK" sh -c 'echo "$2" >"$1/.cam" && mv "$1/.cam" "$1/cam.json"' sh "$SPECS/$ALICE" "$(jq -c ".disk.device = \"/dev/$DISK\"" <<<"$stream")"
    told '.grant.claims[0].device == "'"$DISK"'"' "$(verdict $ALICE cam)"
}

@test "the kernel's thread of a ring (IORING_SETUP_SQPOLL) is in the group with its process, and returns with the process" {
    as $ALICE /usr/bin/python3 -S -c "$RING" once >/dev/null || skip 'no io_uring with a thread of its own for users'
    broker_start
    become $ALICE /usr/bin/python3 -S -c "$RING" stay >"$WORK/ring" 2>&1 3>&- &
    process=$!
    echo "$process" >>"$WORK/pids"
    eventually test -s "$WORK/ring"
    thread=$(cat "$WORK/ring")
    before=$(group_of "$process")
    reserve $ALICE cam
    told '.result == "OK"' "$(attach $ALICE cam "$process")"
    is_in_group "$process" '/rtf-disk/c*'
    [ "$(group_of "$thread")" = "$(group_of "$process")" ]
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually has_groups 0
    [ "$(group_of "$thread")" = "$before" ]
    # The ring's thread is attached by its own id.
    reserve $ALICE cam
    attach $ALICE cam "$thread" >"$WORK/answer"
    [ "$(group_of "$thread")" = "$(group_of "$process")" ]
    kill -KILL "$process"
    as $ALICE rm -f "$SPECS/$ALICE/cam.json"
    eventually has_groups 0
}

@test "a process that its owner moves into another group of the owner has no share there, brings no other process in, and stays there" {
    broker_start
    mkdir "$blkio/rtf-test-alice"
    chown $ALICE "$blkio/rtf-test-alice" "$blkio/rtf-test-alice"/{cgroup.procs,tasks} 2>/dev/null || true
    sleeper $ALICE
    one=$SLEEPER
    sleeper $ALICE
    reserve $ALICE cam
    told '.result == "OK"' "$(attach $ALICE cam "$one")"
    group=$(group_of "$one")
    no as $ALICE sh -c "echo $SLEEPER >'$blkio$group/cgroup.procs'" 2>/dev/null
    no as $ALICE sh -c "echo 1000 >'$blkio$group'/*bfq.weight" 2>/dev/null
    no as $ALICE mkdir "$blkio$group/more" 2>/dev/null
    [[ $(group_of "$SLEEPER") != /rtf-disk/* ]]
    left=no
    if as $ALICE sh -c "echo $one >'$blkio/rtf-test-alice/cgroup.procs'" 2>/dev/null; then left=yes; fi # with version 2 Alice may not write this file
    reserve $ALICE other
    [ "$(bounds /rtf-test-alice 2>/dev/null | awk '{ print $NF }')" = 1 ]
    as $ALICE rm "$SPECS/$ALICE/cam.json" "$SPECS/$ALICE/other.json"
    eventually has_groups 0
    [ "$left" = no ] || [ "$(group_of "$one")" = /rtf-test-alice ]
    kill "$one"
    eventually has_ended "$one"
}

put_back() { run -0 "$RTF_LIBEXEC/rtf-disk" --remove-all "$DISK=mq-deadline"; }
is_told_of() { grep -q "rtf-disk: cgroup $1: process $HANGING is ending but does not end" "$WORK/broker.out"; }
stops_at_once() {
    local begin took
    begin=$(milliseconds)
    broker_stop TERM
    took=$(($(milliseconds) - begin))
    echo "# the broker has stopped after $took ms" >&3
    [ "$took" -lt $((3000 * PATIENCE)) ] # 3.5 s if the broker waits for the process
}

@test "a process that does not come to its end does not stop rtf-disk from giving the disk back, and is named" {
    broker_start
    hanging $ALICE
    echo "$HANGING" >"$blkio/rtf-disk-rest/cgroup.procs"
    hangs
    stops_at_once
    is_told_of rtf-disk-rest
    [ "$(scheduler)" = mq-deadline ]
    [ ! -s "$SPOOL/state/disks" ]
    [ -d "$blkio/rtf-disk-rest" ]
    [ ! -d "$blkio/rtf-disk" ]
    [ -z "$(bounds /rtf-disk-rest)" ]
    run -0 "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
    put_back
    [[ "$output" == *"process $HANGING is ending but does not end"* ]]
    broker_start # the broker starts without an error
    reserve $BOB cam
    hangs_no_more
    broker_stop TERM
    [ ! -d "$blkio/rtf-disk-rest" ]
}

@test "a process that does not come to its end in its group takes no other group, and does not stop rtf-disk from giving the disk back" {
    broker_start
    hanging $ALICE
    reserve $ALICE cam
    told '.result == "OK"' "$(attach $ALICE cam "$HANGING")"
    group=$(group_of "$HANGING")
    hangs
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    is_told() { grep -q "process $HANGING is ending but does not end" "$EVENTS"; }
    eventually is_told
    has_no_weight() { [ "$(bounds "$group" | cut -d ' ' -f 3)" = 1 ]; }
    eventually has_no_weight
    reserve $BOB cam
    stops_at_once
    is_told_of "${group#/}"
    [ "$(scheduler)" = mq-deadline ]
    [ ! -s "$SPOOL/state/disks" ]
    broker_start
    reserve $BOB cam
    sleeper $BOB
    told '.result == "OK"' "$(attach $BOB cam "$SLEEPER")"
    [ "$(group_of "$SLEEPER")" != "$group" ]
    hangs_no_more
    as $BOB rm "$SPECS/$BOB/cam.json"
    eventually has_groups 0
}
