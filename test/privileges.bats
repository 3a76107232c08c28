# The rights of broker, launcher, helper, adopter, readers, lookup and plugins, as rtf-brokerd(8) states them: read from /proc, and tried from inside.
load helper

PLUGIN_USER=$((20099 + ${RTF_UIDS:-0})) READER_USER=$((20098 + ${RTF_UIDS:-0}))

prepare() { configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all'; }

requires_x86_64() { [ "$(uname -m)" = x86_64 ] || skip "test/fixtures/inject knows the registers of x86_64 only"; }
requires_landlock() { as_itself landlock || skip 'this kernel has no landlock'; }
as_itself() { /usr/bin/python3 -S -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 2)'; }

status_of() { awk -v key="$2:" '$1 == key { $1 = ""; print substr($0, 2) }' "/proc/$1/status"; }

# powers PID [unbound]: prints the names of its capabilities. Effective, permitted and bounding capabilities are the same; with `unbound` there are no
# bounding ones. There are no inheritable and ambient ones.
powers() {
    local effective bounding
    effective=$(status_of "$1" CapEff)
    bounding=$effective
    [ "${2:-}" != unbound ] || bounding=0000000000000000
    [ "$effective $bounding" = "$(status_of "$1" CapPrm) $(status_of "$1" CapBnd)" ] || { echo "they differ"; return; }
    [ "$(status_of "$1" CapInh)$(status_of "$1" CapAmb)" = 00000000000000000000000000000000 ] || { echo "some are inheritable"; return; }
    /usr/bin/python3 -S - "$effective" <<'END'
import sys
names = {0: "chown", 1: "dac_override", 3: "fowner", 4: "fsetid", 5: "kill", 6: "setgid", 7: "setuid", 8: "setpcap", 14: "ipc_lock", 23: "sys_nice", 24: "sys_resource", 28: "lease", 38: "perfmon"}
value = int(sys.argv[1], 16)
print(" ".join(names.get(bit, str(bit)) for bit in range(64) if value >> bit & 1))
END
}

# resource: prints " sys_resource", unless root lacks this capability, as in some containers.
resource() { (((16#$(status_of $$ CapBnd) >> 24 & 1) == 0)) || echo " sys_resource"; }

descriptors() { find "/proc/$1/fd" -mindepth 1 -printf '%f\n' | sort -n | paste -sd ' '; }

ids() { echo "$(status_of "$1" Uid | tr -s ' \t' ' ') / $(status_of "$1" Gid | tr -s ' \t' ' ') / $(status_of "$1" Groups)"; }

tries() { "$RTF_SOURCE/test/fixtures/inject" "$@"; }

# as_plugin_user: starts a broker whose plugins have a user of their own.
as_plugin_user() { broker_start --plugin-user $PLUGIN_USER; }

@test "the broker can neither handle files of users nor schedule" {
    as_plugin_user
    [ "$(powers "$BROKER")" = ipc_lock ]
    [ "$(status_of "$BROKER" Seccomp)" = 2 ]
    [ "$(status_of "$BROKER" NoNewPrivs)" = 1 ]
    [ "$(status_of "$BROKER" Uid | tr -s ' \t' ' ')" = '0 0 0 0' ]
}

@test "the launcher has the rights that its children need, and six descriptors besides its socket" {
    as_plugin_user
    [ "$(powers "$(launcher)")" = 'chown dac_override fowner fsetid kill setgid setuid setpcap ipc_lock sys_nice'"$(resource) perfmon" ]
    [ "$(cat "/proc/$(launcher)/comm")" = rtf-launcher ]
    [[ $(descriptors "$(launcher)") =~ ^'0 1 2 3 4 5 '([0-9]+)$ ]] # 4: where the journal is, 5: tells that a child has ended
    [ "$(readlink "/proc/$(launcher)/fd/${BASH_REMATCH[1]}")" = /run/rtf ]
}

@test "the guard can schedule, and nothing else" {
    as_plugin_user
    guard=$(helpers rtf-guard)
    [ "$(powers "$guard")" = 'ipc_lock sys_nice' ]
    [ "$(status_of "$guard" Seccomp)" = 2 ]
    [ "$(status_of "$guard" NoNewPrivs)" = 1 ]
}

@test "no other part than the helper can" {
    as_plugin_user
    helper=$(helpers rtf-attach)
    [ "$(powers "$helper")" = 'dac_override ipc_lock sys_nice'"$(resource) perfmon" ]
    [ "$(status_of "$helper" Seccomp)" = 2 ]
    [ "$(status_of "$helper" NoNewPrivs)" = 1 ]
    [ "$(descriptors "$helper")" = '0 1 2 3 4' ] # 3: the spool's lock, 4: sched_rt_runtime_us
}

@test "plugins and lookup have another user, no power at all and three descriptors" {
    as_plugin_user
    pids="$(helpers plugins/) $(helpers rtf-names)"
    [ "$(wc -w <<<"$pids")" -ge 2 ]
    for pid in $pids; do
        [ "$(powers "$pid")" = '' ]
        [ "$(ids "$pid")" = "$PLUGIN_USER $PLUGIN_USER $PLUGIN_USER $PLUGIN_USER / $PLUGIN_USER $PLUGIN_USER $PLUGIN_USER $PLUGIN_USER / " ]
        [ "$(status_of "$pid" NoNewPrivs)" = 1 ]
        [ "$(descriptors "$pid")" = '0 1 2' ]
    done
    pids=$(helpers plugins/)
    [ -n "$pids" ]
    for pid in $pids; do
        [ "$(status_of "$pid" Seccomp)" = 2 ]
        [ "$(awk '/^Max open files/ { print $4, $5 }' "/proc/$pid/limits")" = '64 64' ]
        [ "$(awk '/^Max processes/ { print $3, $4 }' "/proc/$pid/limits")" = '128 128' ]
        [ "$(awk '/^Max realtime priority/ { print $4, $5 }' "/proc/$pid/limits")" = '0 0' ]
        [[ $(kernel "$pid") == 'fifo '*' reset=1' ]]
        [ "$(awk '/^Max core file size/ { print $5, $6 }' "/proc/$pid/limits")" = '0 0' ]
    done
}

# reader_of UID: gives the reader of that user's directory something to do, and prints its process id.
reader_of() {
    spec "$1" "${2:-occasion}" '{"priority": 12}' >/dev/null
    pgrep -P "$(launcher)" -f "rtf-reader $1 "
}

@test "the adopter can give directories a group and a mode, and nothing else" {
    as_plugin_user
    adopter=$(helpers rtf-adopter)
    [ "$(powers "$adopter")" = 'chown fowner fsetid' ]
    [ "$(status_of "$adopter" Seccomp)" = 2 ]
    [ "$(status_of "$adopter" NoNewPrivs)" = 1 ]
    [ "$(descriptors "$adopter")" = '0 1 2 3 4' ] # 3: specs/, 4: the inotify instance of specs/
}

@test "a reader has its user's rights over files, an identity of its own, and no power at all" {
    broker_start --plugin-user $PLUGIN_USER --reader-user $READER_USER
    reader=$(reader_of $ALICE)
    [ "$(powers "$reader")" = '' ]
    [ "$(ids "$reader")" = "$READER_USER $READER_USER $READER_USER $ALICE / $READER_USER $READER_USER $READER_USER $READER_USER / " ]
    [ "$(status_of "$reader" Seccomp)" = 2 ]
    [ "$(status_of "$reader" NoNewPrivs)" = 1 ]
    [ "$(descriptors "$reader")" = '0 1 2 3 4' ] # 3: the directory, 4: its inotify instance
    for by in $ALICE $READER_USER $PLUGIN_USER; do
        no setpriv --reuid "$by" --regid "$by" --clear-groups -- ls "/proc/$reader/fd" >/dev/null 2>&1
    done
    no as $ALICE kill -STOP "$reader" 2>/dev/null
    no as $ALICE chrt -i -p 0 "$reader" 2>/dev/null
    no stranger $PLUGIN_USER kill -STOP "$reader" 2>/dev/null
}

@test "a reader can do nothing that its user could not, and only in the user's directory" {
    requires_x86_64
    requires_landlock
    broker_start --plugin-user $PLUGIN_USER --reader-user $READER_USER
    reader=$(reader_of $ALICE)
    install -d -m 1777 "$WORK/open"
    as $ALICE sh -c 'echo mine >"$1/hers" && chmod 600 "$1/hers"' sh "$WORK/open"
    echo "root's" >"$SPECS/$ALICE/.roots"
    chmod 600 "$SPECS/$ALICE/.roots"
    [ "$(tries "$reader" open .roots 0)" = EACCES ] # Alice may not read the file
    [ "$(tries "$reader" open "$WORK/open/hers" 0)" = EACCES ]      # Alice may read the file, but it is outside of her directory
    [ "$(tries "$reader" open "$WORK/open/new" 0x41 0x180)" = EACCES ]
    [ "$(tries "$reader" open .new 0x41 0x180)" -ge 3 ]
    [ "$(stat -c %u "$SPECS/$ALICE/.new")" = $ALICE ]
    [ "$(tries "$reader" setfsuid 0)" = EPERM ]
    [ "$(tries "$reader" setuid $ALICE)" = EPERM ]
    [ "$(tries "$reader" mkdir .directory 0x1c0)" = EPERM ]
    [ "$(tries "$reader" execve /bin/true 0 0)" = EPERM ]
    [ "$(tries "$reader" fork)" = EPERM ]
    [ "$(tries "$reader" socket 1 1 0)" = EPERM ]
    [ "$(tries "$reader" ptrace 16 1)" = EPERM ]
    [ "$(tries "$reader" kill "$BROKER" 9)" = EPERM ]
    [ "$(tries "$reader" sched_setscheduler 0 0 0)" = EPERM ]
}

@test "the writer of the log has no power at all, and one directory" {
    as_plugin_user
    log=$(helpers rtf-logger)
    [ "$(powers "$log")" = '' ]
    [ "$(status_of "$log" Seccomp)" = 2 ]
    [ "$(status_of "$log" NoNewPrivs)" = 1 ]
    has_two_more() { [ "$(descriptors "$log")" = '0 1 2 3 4' ]; } # 3: log/, 4: the file
    eventually has_two_more
    [[ $(kernel "$log") == 'fifo '*' reset=1' ]]
    requires_x86_64
    [ "$(tries "$log" socket 1 1 0)" = EPERM ]
    [ "$(tries "$log" execve /bin/true 0 0)" = EPERM ]
    [ "$(tries "$log" kill 1 0)" = EPERM ]
    [ "$(tries "$log" mkdir "$SPOOL/log/new" 0x1c0)" = EPERM ]
    requires_landlock
    [ "$(tries "$log" open "$SPOOL/state/lock" 0)" = EACCES ]
    [ "$(tries "$log" open "$WORK/new" 0x41 0x180)" = EACCES ]
    [ "$(tries "$log" open "$EVENTS" 1)" -ge 3 ]
}

@test "the writer of status.json has no power at all, and two names" {
    as_plugin_user
    publisher=$(helpers rtf-publisher)
    [ "$(powers "$publisher")" = '' ]
    [ "$(ids "$publisher")" = "0 0 0 0 / $GROUP $GROUP $GROUP $GROUP / " ]
    [ "$(status_of "$publisher" Seccomp)" = 2 ]
    [ "$(status_of "$publisher" NoNewPrivs)" = 1 ]
    [ "$(descriptors "$publisher")" = '0 1 2 3' ] # 3: the spool
    [[ $(kernel "$publisher") == 'fifo '*' reset=1' ]]
    requires_x86_64
    for call in 'socket 1 1 0' 'execve /bin/true 0 0' 'kill 1 0' "mkdir $SPOOL/new 0x1c0" 'fchmod 3 0x1ff' 'mprotect 0 0 7' 'open /etc/shadow 0'; do
        [ "$(tries "$publisher" $call)" = EPERM ] || { echo "$call"; false; }
    done
    # The publisher may not even open status.json, or its own new file by other flags: it makes a new file each time.
    before=$(ls -lai "$SPOOL" "$SPOOL/state" "$SPOOL/log")
    for call in "openat 3 status.json 0" "openat 3 status.json 1" "openat 3 .status.json.new 0xa0c1 0x1a0" "openat 3 state/lock 1" "openat 3 new 0x41 0x180" \
        "unlinkat 3 status.json 0" "unlinkat 3 alive 0" "renameat 3 status.json 3 other" "renameat 3 state 3 other" "rename $SPOOL/state $SPOOL/other" \
        "linkat 3 state/lock 3 lock 0"; do
        [ "$(tries "$publisher" $call)" = EPERM ] || { echo "$call"; false; }
    done
    [ "$(ls -lai "$SPOOL" "$SPOOL/state" "$SPOOL/log")" = "$before" ]
}

@test "no helper process can open /etc/shadow" {
    requires_x86_64
    requires_landlock
    as_plugin_user
    reader=$(reader_of $ALICE)
    for pid in "$reader" "$BROKER" $(helpers | grep -vx "$reader") $(children "$(helpers rtf-tasks)"); do # begins with a reader that has work, because a reader with nothing to do ends
        # The filter of system calls refuses open(2) to the publisher, rtf-tasks and rtf-links, and openat(2) to the first and the last of them.
        wanted=EACCES and_at=EACCES
        case $(cat "/proc/$pid/comm") in
        rtf-publisher | rtf-links) wanted=EPERM and_at=EPERM ;;
        rtf-tasks) wanted=EPERM ;;
        esac
        [ "$(tries "$pid" open /etc/shadow 0)" = $wanted ]
        [ "$(tries "$pid" openat -100 /etc/shadow 0x80000)" = $and_at ] # O_CLOEXEC, which rtf-tasks may use
    done
}

@test "rtf-tasks reads /proc, and only its child takes the rights of users, and opens nothing" {
    requires_x86_64
    as_plugin_user
    tasks=$(helpers rtf-tasks)
    links=$(children "$tasks")
    [ "$(powers "$tasks" unbound)" = 'ipc_lock perfmon' ]
    [ "$(powers "$links" unbound)" = 'setgid setuid' ]
    for pid in "$tasks" "$links"; do
        [ "$(status_of "$pid" Seccomp)" = 2 ]
        [ "$(status_of "$pid" NoNewPrivs)" = 1 ]
        [[ $(kernel "$pid") == 'fifo '*' reset=1' ]]
        for call in 'setuid 1' 'execve /bin/true 0 0' 'kill 1 0' 'ptrace 16 1' 'socket 1 1 0' "mkdir $WORK/new 0x1ed" "openat -100 $WORK/new 0x80041 0x180"; do
            [ "$(tries "$pid" $call)" = EPERM ] || { echo "$call"; false; }
        done
    done
    [ "$(tries "$links" openat -100 /etc/passwd 0x80000)" = EPERM ]
    [ "$(tries "$tasks" setfsuid $ALICE)" = EPERM ]
    [ "$(descriptors "$links")" = '0 1 2' ]
    if as_itself landlock; then [ "$(tries "$tasks" openat -100 /etc/passwd 0x80000)" = EACCES ]; fi
    kill -KILL "$tasks"
    eventually is_gone "$links"
    eventually is_another_than "$tasks"
}
is_another_than() { # PID
    local now
    now=$(helpers rtf-tasks) && [ "$now" != "$1" ]
}

@test "rtf-watch has no power at all, and opens /proc and its own instance of tracefs" {
    configure_rules "$ALICE - max_utilization 2" "$ALICE - trace true"
    as_plugin_user
    hog $ALICE
    spec $ALICE cam "{\"runtime\": \"1ms\", \"period\": \"50ms\", \"attach\": $HOG}" >/dev/null
    become $ALICE env USER=$ALICE "$RTF_LIBEXEC/front/rtf-trace" --spool "$SPOOL" --for 1min >"$WORK/out" 2>&1 3>&- &
    echo $! >>"$WORK/pids"
    eventually helpers rtf-watch >/dev/null
    local watch
    watch=$(helpers rtf-watch)
    is_confined() { [ "$(status_of "$1" Seccomp)" = 2 ]; }
    eventually is_confined "$watch" || { cat "$WORK/out" >&2; false; }
    [ "$(powers "$watch")" = '' ]
    [ "$(status_of "$watch" NoNewPrivs)" = 1 ]
    [[ $(kernel "$watch") == 'other '* ]]
    requires_x86_64
    for call in 'setuid 1' 'execve /bin/true 0 0' 'kill 1 0' 'ptrace 16 1' 'socket 1 1 0' "mkdir $WORK/new 0x1ed" 'sched_setscheduler 0 0 0' 'unlinkat 3 instances 0x200'; do
        [ "$(tries "$watch" $call)" = EPERM ] || { echo "$call"; false; }
    done
    requires_landlock
    [ "$(tries "$watch" openat -100 /etc/shadow 0x80000)" = EACCES ]
    [ "$(tries "$watch" openat -100 "$SPOOL/state/lock" 0x80001)" = EACCES ]
    [ "$(tries "$watch" openat 3 trace 0x80000)" = EACCES ] # descriptor 3 is the directory of tracefs, and `trace` has the events of all users
}

@test "the broker cannot run a program, trace, connect, or schedule anybody" {
    requires_x86_64
    as_plugin_user
    [ "$(tries "$BROKER" execve /bin/true 0 0)" = EPERM ]
    [ "$(tries "$BROKER" ptrace 16 1)" = EPERM ]
    [ "$(tries "$BROKER" socket 1 1 0)" = EPERM ]
    [ "$(tries "$BROKER" sched_setscheduler 0 0 0)" = EPERM ]
    [ "$(tries "$BROKER" setuid 0)" = EPERM ]
    [ "$(tries "$BROKER" kill 1 0)" = EPERM ]
    [ "$(tries "$BROKER" tgkill 1 1 0)" = EPERM ]
    [ "$(tries "$BROKER" ioctl 0 0x5412 0)" = EPERM ] # TIOCSTI
    [ "$(tries "$BROKER" fcntl 0 8 1)" = EPERM ]      # F_SETOWN
    [ "$(field .result "$(spec $ALICE cam '{"priority": 12}')")" = OK ] # and the broker goes on
}

@test "broker and helper write where they have to, and nowhere else" {
    requires_x86_64
    requires_landlock
    as_plugin_user
    reader_of $ALICE
    for pid in "$BROKER" "$(helpers rtf-attach)"; do
        [ "$(tries "$pid" open "$WORK/broker.out" 1)" = EACCES ]
        [ "$(tries "$pid" open "$CONFIG/acl.conf" 1)" = EACCES ]
        [[ "$(tries "$pid" mkdir "$WORK/new" 0x1ed)" =~ ^(EACCES|EPERM)$ ]]
        [ "$(tries "$pid" execve /bin/true 0 0)" != 0 ]
    done
    for place in "$SPOOL" "$SPECS" "$SPECS/$ALICE"; do
        [ "$(tries "$BROKER" open "$place/new" 0x41 0x180)" = EACCES ]
    done
    [ "$(tries "$BROKER" open "$SPECS/$ALICE/occasion.json" 0)" = EACCES ]
    [ "$(tries "$BROKER" mkdir "$SPOOL/state/new" 0x1c0)" = EPERM ]
    [ "$(tries "$(helpers rtf-attach)" mkdir "$SPOOL/new" 0x1c0)" = EACCES ]
}

@test "a plugin can write to no file, connect to no socket, and send no process a signal" {
    requires_x86_64
    as_plugin_user
    plugin=$(helpers plugins/fp)
    mkdir -m 1777 "$WORK/open"
    [ "$(tries "$plugin" socket 1 1 0)" = EPERM ]
    [ "$(tries "$plugin" socket 2 1 0)" = EPERM ]
    [ "$(tries "$plugin" ptrace 16 "$(helpers plugins/edf)")" = EPERM ]
    [ "$(tries "$plugin" unshare 0x10000000)" = EPERM ]
    [ "$(tries "$plugin" setsid)" = EPERM ]
    [ "$(tries "$plugin" sched_setscheduler 0 0 0)" = EPERM ]
    [ "$(tries "$plugin" open /etc/passwd 0)" -ge 3 ] # a plugin may read what every user may read
    requires_landlock
    [ "$(tries "$plugin" mkdir "$WORK/open/new" 0x1c0)" = EACCES ]
    [ "$(tries "$plugin" open "$WORK/open/new" 0x41 0x180)" = EACCES ]
    [ "$(tries "$plugin" open /dev/null 1)" -ge 3 ]
    [ "$(tries "$plugin" kill "$(helpers plugins/edf)" 9)" = EPERM ]
}

@test "plugins in awk, sh and Python start, serve and are ended under all that" {
    mkdir "$WORK/plugins"
    cat >"$WORK/plugins/awk" <<'END'
#!/usr/bin/awk -f
BEGIN { FS = "="; printf "protocol=1\nanswer=ok\n\n"; fflush() }
/./ { said[$1] = $2; next }
{
    print "id=" said["id"]
    if (said["op"] == "accept") print "cpus=0\npolicy=fifo\npriority=" said["priority"]
    print "answer=ok\n"
    fflush()
    delete said
}
END
    cat >"$WORK/plugins/sh" <<'END'
#!/bin/sh
printf 'protocol=1\nanswer=ok\n\n'
while IFS== read -r key value; do
    case $key in
    op) op=$value ;;
    id) id=$value ;;
    priority) priority=$value ;;
    '')
        plan=$([ "$op" != accept ] || printf 'cpus=0\npolicy=fifo\npriority=%s\nx' "$priority" 2>/dev/null)
        printf 'id=%s\n%sanswer=ok\n\n' "$id" "${plan%x}"
        ;;
    esac
done
END
    cat >"$WORK/plugins/python" <<'END'
#!/usr/bin/python3 -S
import json, subprocess, sys
print("protocol=1\nanswer=ok\n", flush=True)
said = {}
for line in sys.stdin:
    key, _, value = line.rstrip("\n").partition("=")
    if key:
        said[key] = value
        continue
    print("id=" + said["id"])
    if said["op"] == "accept":
        print("cpus=0\npolicy=fifo\npriority=" + subprocess.run(["echo", said["priority"]], capture_output=True, text=True).stdout, end="")
    print("answer=ok\n", flush=True)
    said = {}
END
    chmod 755 "$WORK"/plugins/*
    configure_rules "$ALICE - max_utilization 3"
    configure_plugins "AWK $WORK/plugins/awk 1-10 all" "SH $WORK/plugins/sh 11-20 all" "PY $WORK/plugins/python 21-30 all"
    as_plugin_user
    for plugin in AWK:5 SH:15 PY:25; do
        answer=$(spec $ALICE "${plugin%:*}" "{\"priority\": ${plugin#*:}, \"plugin\": \"${plugin%:*}\"}")
        echo "$answer"
        [ "$(field .result "$answer")" = OK ]
    done
}

@test "a plugin's children end with it, though they ignore what they are told" {
    cat >"$WORK/parent" <<'END'
#!/bin/sh
setsid sh -c 'trap "" HUP TERM PIPE; exec sleep 287' >/dev/null 2>&1 &
(trap "" HUP TERM PIPE; exec sleep 287) >/dev/null 2>&1 &
printf 'protocol=1\nanswer=ok\n\n'
cat >/dev/null
END
    chmod 755 "$WORK/parent"
    configure_plugins "PARENT $WORK/parent 1-10 all" 'FP fp 11-20 all'
    as_plugin_user
    [ "$(pgrep -u $PLUGIN_USER -fx 'sleep 287' | wc -l)" = 1 ] # the other process could not leave the session
    broker_stop TERM
    eventually no_process_of $PLUGIN_USER
}
no_process_of() { ! pgrep -u "$1"; }

@test "when the broker is killed, even a plugin that does not end by itself ends" {
    printf '#!/bin/sh\nprintf "protocol=1\\nanswer=ok\\n\\n"\ntrap "" HUP TERM PIPE\nexec sleep 287\n' >"$WORK/deaf"
    chmod 755 "$WORK/deaf"
    configure_plugins "DEAF $WORK/deaf 1-10 all" 'FP fp 11-20 all'
    as_plugin_user
    kill -KILL "$BROKER"
    wait "$BROKER" 2>/dev/null || true
    BROKER=
    eventually no_process_of $PLUGIN_USER
}

@test "where /proc hides the processes of others, threads are attached all the same, and the log names the missing check" {
    unshare --mount sh -c 'mount -t proc -o hidepid=invisible proc /proc && exec "$@"' sh \
        "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
    sleeper $ALICE
    spec $ALICE cam '{"priority": 12}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" fifo
    [ "$(jq -r 'select(.decision == "warning" and (.reason | test("landlock"))).reason' "$EVENTS")" = 'broker and helper are not confined to their files (landlock): /proc is mounted with hidepid' ]
}

@test "without its launcher the broker ends for a new one, and threads keep what they have" {
    as_plugin_user
    sleeper $ALICE
    spec $ALICE cam '{"priority": 12}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" fifo
    kill -KILL "$(launcher)"
    status=0
    wait "$BROKER" || status=$?
    BROKER=
    [ "$status" = 71 ]
    eventually none_of_ours
    is_policy "$SLEEPER" fifo
    as_plugin_user
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_policy "$SLEEPER" other
}

# catch_programs: runs rtf-programs until it waits for its broker, which does not take the line about a wrong file. $PROGRAMS is its process.
catch_programs() {
    /usr/bin/python3 -S - "$RTF_LIBEXEC/rtf-programs" "$CONFIG" "$SPOOL" >"$WORK/programs.pid" 3>&- <<'END' &
import os, socket, subprocess, sys, time
ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
its.setblocking(False)
try:
    while True:
        its.send(b"x" * 64)
except BlockingIOError:
    its.setblocking(True)
state = os.open(sys.argv[3] + "/state", os.O_RDONLY)
def third():
    os.dup2(state, 3)
    os.closerange(4, 256)
program = subprocess.Popen([sys.argv[1], "give", sys.argv[2], sys.argv[3]], stdin=its, preexec_fn=third, close_fds=False)
print(program.pid, flush=True)
program.wait()
END
    echo $! >>"$WORK/pids"
    eventually [ -s "$WORK/programs.pid" ]
    PROGRAMS=$(<"$WORK/programs.pid")
    echo "$PROGRAMS" >>"$WORK/pids"
    eventually waits_to_send "$PROGRAMS"
}
waits_to_send() { [ "$(cut -d ' ' -f 1 "/proc/$1/syscall")" = 46 ]; } # sendmsg

@test "rtf-programs can become users and end their processes, and opens specs/ and its record only" {
    requires_x86_64
    mkdir "$CONFIG/programs.d"
    chmod 755 "$CONFIG" "$CONFIG/programs.d"
    as_plugin_user # a start that makes the spool
    echo '{"wrong": 1}' >"$CONFIG/programs.d/wrong.json"
    catch_programs
    [ "$(powers "$PROGRAMS")" = 'kill setgid setuid setpcap' ]
    [ "$(status_of "$PROGRAMS" Seccomp)" = 2 ]
    [ "$(status_of "$PROGRAMS" NoNewPrivs)" = 1 ]
    for call in 'execve /bin/true 0 0' 'socket 1 1 0' 'ptrace 16 1' 'chmod /etc 0x1ed' "mkdir $SPECS/new 0x1ed" 'setfsuid 0' 'unshare 0x10000000' 'sched_setscheduler 0 0 0' 'perf_event_open 0 0 0 0 0' 'setsid' 'fork'; do
        [ "$(tries "$PROGRAMS" $call)" = EPERM ] || { echo "$call"; false; }
    done
    requires_landlock
    [ "$(tries "$PROGRAMS" openat -100 /etc/shadow 0)" = EACCES ]
    [ "$(tries "$PROGRAMS" openat -100 "$CONFIG/acl.conf" 0)" = EACCES ]
    [ "$(tries "$PROGRAMS" openat -100 "$WORK/new" 0x41 0x180)" = EACCES ]
    [ "$(tries "$PROGRAMS" openat -100 "$SPOOL/new" 0x41 0x180)" = EACCES ]
    [ "$(tries "$PROGRAMS" openat -100 "$SPOOL/state/programs.new" 0x41 0x180)" -ge 3 ]
}

@test "the guard reads /proc and schedules, and does nothing else" {
    requires_x86_64
    as_plugin_user
    guard=$(helpers rtf-guard)
    [ "$(tries "$guard" execve /bin/true 0 0)" = EPERM ]
    [ "$(tries "$guard" socket 1 1 0)" = EPERM ]
    [ "$(tries "$guard" perf_event_open 0 0 0 0 0)" = EPERM ]
    [ "$(tries "$guard" kill 1 0)" = EPERM ]
    [ "$(tries "$guard" ptrace 16 1)" = EPERM ]
    [ "$(tries "$guard" mkdir "$WORK/new" 0x1ed)" = EPERM ]
    requires_landlock
    [ "$(tries "$guard" open "$CONFIG/acl.conf" 0)" = EACCES ]
    [ "$(tries "$guard" open "$WORK/broker.out" 1)" = EACCES ]
}
