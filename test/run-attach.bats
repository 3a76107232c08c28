# rtf-run(1) --attach: rtf-run reserves before the command starts, and attaches the command's thread later: when the command says that it is ready, after
# a time, or when a thread with a certain name appears. The command is then a child of rtf-run, and rtf-run passes on signals.
load helper
load command

prepare() {
    configure_rules "$ALICE - max_utilization 0.9"
    OWN=$SPECS/$ALICE
    cat >"$WORK/program.py" <<'END'
# program.py FILE [THREAD]: writes its process id to FILE. When FILE.go exists, it says READY=1 and starts a thread with the name THREAD. It runs
# until FILE.end exists.
import ctypes, os, socket, sys, threading, time
def wait(path):
    while not os.path.exists(path):
        time.sleep(0.01)
def tell(text):
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(text.encode(), "\0" + path[1:] if path[0] == "@" else path)
def named():
    ctypes.CDLL(None).prctl(15, sys.argv[2].encode(), 0, 0, 0)
    with open(sys.argv[1] + ".tid", "w") as file: file.write(str(threading.get_native_id()))
    wait(sys.argv[1] + ".end")
with open(sys.argv[1] + ".new", "w") as file: file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
tell("STATUS=on the way")
wait(sys.argv[1] + ".go")
tell("READY=1\nSTATUS=there")
if len(sys.argv) > 2:
    threading.Thread(target=named).start()
wait(sys.argv[1] + ".end")
END
    install -m 777 -d "$WORK/open"
    AT=$WORK/open/at
}

# start OPTION...: starts rtf-run as Alice in the background, and sets PID to its process id.
start() {
    become "$ALICE" env --default-signal "${PREFIX[@]}" "$RTF_BIN/rtf-run" --spool "$SPOOL" "$@" </dev/null >"$WORK/out" 2>"$WORK/err" 3>&- &
    PID=$!
    echo "$PID" >>"$WORK/pids"
}
PREFIX=(env)

# begins: waits until the command has started, and sets CHILD to its process id.
begins() {
    eventually test -s "$AT"
    CHILD=$(cat "$AT")
    echo "$CHILD" >>"$WORK/pids"
}

has_grant() { jq -e '.grant.runtime == 5000 and .thread == null' "$OWN"/run-*.verdict >/dev/null; }
is_empty() { [ -d "$1" ] && [ -z "$(ls -A "$1")" ]; }
rtf_run() { as "$ALICE" "$RTF_BIN/rtf-run" --spool "$SPOOL" "$@"; }
ends() {
    local status=0
    wait "$PID" || status=$?
    [ "$status" -eq "$1" ] || { echo "status $status: $(<"$WORK/err")" >&2; return 1; }
    eventually is_empty "$OWN"
}
ending() { as "$ALICE" env --default-signal /usr/bin/python3 -S -c 'import subprocess, sys; print(subprocess.run(sys.argv[1:]).returncode)' "$@"; }

@test "--attach=start is the default: the command has rtf-run's process id" {
    broker_start
    start --attach=start -T 5ms -P 20ms -- /usr/bin/python3 -S "$WORK/program.py" "$AT"
    begins
    [ "$CHILD" = "$PID" ]
    [[ $(kernel "$PID") == "deadline "* ]]
    touch "$AT.go" "$AT.end"
    ends 0
}

# bats test_tags=turn:2
@test "--attach=ready: reserved before the start, attached when the command says READY=1, and gone with it" {
    broker_start
    start --attach=ready -T 5ms -P 20ms -- /usr/bin/python3 -S "$WORK/program.py" "$AT"
    begins
    has_grant
    is_policy "$CHILD" other
    touch "$AT.go"
    eventually is_policy "$CHILD" deadline
    [ "$(kernel "$CHILD")" = "deadline 0 nice=0 5000/20000/20000 cpus=$ALL_CPUS reset=1" ]
    eventually jq -e ".thread.tid == $CHILD" "$OWN"/run-*.verdict
    touch "$AT.end"
    ends 0
    [ ! -s "$WORK/err" ]
}

# bats test_tags=turn:0
@test "--attach=ready passes on the command's messages and descriptors to the program that started rtf-run, from rtf-run's own process" {
    broker_start
    cat >"$WORK/manager" <<'END'
import array, os, socket, struct, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
manager.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
while True:
    data, ancillary, _, _ = manager.recvmsg(4096, 4096)
    pid = fds = 0
    for level, kind, payload in ancillary:
        if kind == socket.SCM_CREDENTIALS: pid = struct.unpack("iii", payload)[0]
        if kind == socket.SCM_RIGHTS: fds = len(payload) // 4
    with open(sys.argv[2], "a") as told:
        told.write(f"{pid} {fds} {data.decode()!r}\n")
END
    /usr/bin/python3 -S "$WORK/manager" "$WORK/open/socket" "$WORK/told" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -S "$WORK/open/socket"
    cat >"$WORK/speaker.py" <<'END'
import array, os, socket, sys
speaker = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
path = os.environ["NOTIFY_SOCKET"]
speaker.connect("\0" + path[1:] if path[0] == "@" else path)
speaker.sendmsg([b"FDSTORE=1"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 2]))])
speaker.send(b"READY=1")
print(os.environ.get("WATCHDOG_PID") == str(os.getpid()), os.environ.get("LISTEN_PID") == str(os.getpid()), os.environ.get("LISTEN_FDS"), flush=True)
sys.stdin.read()
END
    mkfifo "$WORK/keys"
    # shellcheck disable=SC2016
    become "$ALICE" sh -c 'NOTIFY_SOCKET=$1 WATCHDOG_PID=$$ LISTEN_PID=$$ LISTEN_FDS=0; export NOTIFY_SOCKET WATCHDOG_PID LISTEN_PID LISTEN_FDS; shift; exec "$@"' sh \
        "$WORK/open/socket" "$RTF_BIN/rtf-run" --spool "$SPOOL" --attach=ready -T 5ms -P 20ms -- /usr/bin/python3 -S "$WORK/speaker.py" \
        <"$WORK/keys" >"$WORK/out" 2>"$WORK/err" 3>&- &
    PID=$!
    echo "$PID" >>"$WORK/pids"
    exec 8>"$WORK/keys"
    eventually grep -q READY "$WORK/told"
    [ "$(cat "$WORK/told")" = "$PID 2 'FDSTORE=1'
$PID 0 'READY=1'" ]
    exec 8>&-
    ends 0
    [ "$(<"$WORK/out")" = "True True 0" ]
}

# bats test_tags=turn:1
@test "--attach=ready: another user's READY=1 counts for nothing" {
    broker_start
    start --attach=ready -T 5ms -P 20ms -- /usr/bin/python3 -S "$WORK/program.py" "$AT"
    begins
    path=$(tr '\0' '\n' <"/proc/$CHILD/environ" | sed -n 's/^NOTIFY_SOCKET=//p')
    as $BOB /usr/bin/python3 -S -c 'import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", sys.argv[1].replace("@", "\0", 1))' "$path"
    as $ALICE /usr/bin/python3 -S -c 'import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"STATUS=x", sys.argv[1].replace("@", "\0", 1))' "$path"
    has_grant
    is_policy "$CHILD" other
    touch "$AT.go"
    eventually is_policy "$CHILD" deadline
    touch "$AT.end"
    ends 0
}

# bats test_tags=turn:2
@test "--attach=TIME: attached when it has run for so long, not before" {
    broker_start
    began=$(milliseconds)
    start --attach=700ms -T 5ms -P 20ms -- /usr/bin/python3 -S "$WORK/program.py" "$AT"
    begins
    is_policy "$CHILD" other
    has_grant
    eventually is_policy "$CHILD" deadline
    [ $(($(milliseconds) - began)) -ge 700 ]
    touch "$AT.go" "$AT.end"
    ends 0
}

named_thread_is_attached() {
    start --attach=thread:work* -T 5ms -P 20ms -- /usr/bin/python3 -S "$WORK/program.py" "$AT" worker-7
    begins
    has_grant
    touch "$AT.go"
    eventually test -s "$AT.tid"
    eventually is_policy "$(cat "$AT.tid")" deadline
    is_policy "$CHILD" other
    touch "$AT.end"
    ends 0
}

# bats test_tags=turn:0
@test "--attach=thread:NAME: the thread that has such a name, as soon as it has; nothing polls for it" {
    broker_start
    PREFIX=(strace -o "$WORK/open/trace")
    named_thread_is_attached
    [ "$(grep -c '^openat(.*/task' "$WORK/open/trace")" -lt 30 ]
}

# bats test_tags=turn:1
@test "--attach=thread:NAME: where the kernel gives users no perf events, it looks now and then" {
    broker_start
    PREFIX=(strace -o "$WORK/open/trace" -e inject=perf_event_open:error=EACCES)
    named_thread_is_attached
}

# bats test_tags=turn:0
@test "a line says after ten seconds that the sign has not come, and the reservation is renewed until then" {
    broker_start
    PREFIX=(strace -o "$WORK/open/trace" -e inject=perf_event_open:error=EACCES) # without perf events rtf-run looks at intervals
    for when in ready thread:nosuch; do
        rm -f "$AT"
        start --attach=$when -T 5ms -P 20ms -- sh -c "echo \$\$ >$AT; exec sleep 300"
        begins
        before=$(stat -c %.Y "$OWN"/run-*.json)
        eventually test -s "$WORK/err" || eventually test -s "$WORK/err" # rtf-run says nothing in the first ten seconds.
        case $when in
        ready) [ "$(<"$WORK/err")" = 'rtf-run: sh has not said yet that it is ready (READY=1, sd_notify(3)): it runs without a reservation until it says so' ] ;;
        *) [ "$(<"$WORK/err")" = 'rtf-run: sh has no thread named nosuch yet: it runs without a reservation until it has one' ] ;;
        esac
        [ "$(stat -c %.Y "$OWN"/run-*.json)" != "$before" ]
        kill -TERM "$CHILD"
        ends 143
    done
}

# bats test_tags=turn:2
@test "a command that ends before it is attached: its status, and no reservation is left" {
    broker_start
    for when in ready 10s thread:none; do
        for status in 0 7; do
            start --attach=$when -T 5ms -P 20ms -- sh -c "exit $status"
            ends $status
            case $when in
            ready) [ "$(<"$WORK/err")" = 'rtf-run: sh has ended and never said that it is ready (READY=1, sd_notify(3)): it had no reservation' ] ;;
            thread:none) [ "$(<"$WORK/err")" = 'rtf-run: sh has ended and never had a thread named none: it had no reservation' ] ;;
            *) [ ! -s "$WORK/err" ] ;;
            esac
        done
    done
    start --attach=ready -T 5ms -P 20ms -- "$WORK/none"
    ends 127
    [ "$(<"$WORK/err")" = "rtf-run: $WORK/none: No such file or directory" ]
    start --attach=ready -T 5ms -P 20ms -- "$WORK"
    ends 126
}

# bats test_tags=turn:0
@test "refused: 125, and the command does not start" {
    broker_start
    for when in ready 10s thread:none; do
        fails 125 'rtf-run: *acl.conf:1*would fit' rtf_run --attach=$when -T 19ms -P 20ms -- touch "$AT"
        is_empty "$OWN"
        [ ! -e "$AT" ]
    done
    rtf_run --fallback --attach=ready -T 19ms -P 20ms -- touch "$AT" 2>/dev/null
    [ -e "$AT" ]
}

# bats test_tags=turn:1
@test "signals reach the command, and rtf-run dies of what the command dies of" {
    broker_start
    ulimit -c 0
    for signal in INT TERM HUP QUIT ALRM USR1 USR2; do
        rm -f "$AT"
        start --attach=ready -T 5ms -P 20ms -- /usr/bin/python3 -S -c "
import signal, os, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
open('$AT', 'w').write(str(os.getpid()))
time.sleep(100)"
        begins
        kill -"$signal" "$PID"
        ends $((128 + $(kill -l $signal)))
    done
    [ "$(ending "$RTF_BIN/rtf-run" --spool "$SPOOL" --attach=ready -T 5ms -P 20ms -- sh -c 'kill -KILL $$')" = -9 ]
    # A signal that the command catches ends neither process.
    rm -f "$AT"
    start --attach=ready -T 5ms -P 20ms -- sh -c "trap 'exit 5' TERM; echo \$\$ >$AT; while :; do sleep 0.01; done"
    begins
    kill -TERM "$PID"
    ends 5
}

# bats test_tags=turn:2
@test "rtf-run is stopped with its command, and goes on with it" {
    broker_start
    # The kernel's SIGTSTP stops no process in an orphaned process group. A group with a parent in the same session is not orphaned.
    PREFIX=(/usr/bin/python3 -S -c 'import os, sys; os.setpgid(0, 0); os.execvp(sys.argv[1], sys.argv[1:])')
    start --attach=ready -T 5ms -P 20ms -- /usr/bin/python3 -S "$WORK/program.py" "$AT"
    begins
    kill -TSTP "$PID"
    eventually is_stopped "$CHILD"
    eventually is_stopped "$PID"
    kill -CONT "$PID"
    eventually is_going "$CHILD"
    touch "$AT.go"
    eventually is_policy "$CHILD" deadline
    touch "$AT.end"
    ends 0
}
is_stopped() { [[ $(cat "/proc/$1/stat") == *") T "* ]]; }
is_going() { ! is_stopped "$1"; }

# bats test_tags=turn:0
@test "Ctrl-C on a terminal reaches the command once, and Ctrl-Z stops the job" {
    broker_start
    mkfifo "$WORK/keys"
    script -qec "exec setpriv --reuid $ALICE --regid $ALICE --groups $GROUP -- env --default-signal \
        $RTF_BIN/rtf-run --spool $SPOOL --attach=ready -T 5ms -P 20ms -- sh -c 'trap \"echo int >>$WORK/open/ints\" INT; echo \$\$ >$AT; while [ ! -e $AT.end ]; do sleep 0.05; done'" \
        /dev/null <"$WORK/keys" >"$WORK/screen" 2>&1 3>&- &
    PID=$!
    echo "$PID" >>"$WORK/pids"
    exec 8>"$WORK/keys"
    begins
    printf '\003' >&8
    eventually test -s "$WORK/open/ints"
    touch "$AT.end"
    ends 0
    exec 8>&-
    [ "$(cat "$WORK/open/ints")" = int ]
}

# bats test_tags=turn:1
@test "a wrong --attach is refused with the reason; --dry-run shows the spec that reserves" {
    for wrong in soon 5 5.5ms thread: ''; do
        fails 125 "rtf-run: --attach $wrong: *" rtf_run --attach="$wrong" -T 5ms -P 20ms -- true
    done
    [ "$(rtf_run --attach=ready --dry-run -T 5ms -P 20ms | command jq -c 'del(.token)')" = '{"runtime":5000,"period":20000,"lifetime":"thread","expires":30000000}' ]
}

# on_terminal COMMAND...: prints the output of the command on a terminal.
on_terminal() {
    script -qec "setpriv --reuid $ALICE --regid $ALICE --groups $GROUP -- $*" /dev/null </dev/null 2>&1 3>&- | tr -d '\r'
}

# bats test_tags=turn:2
@test "on a terminal a budget below 20 ms a second gets one line of advice, unless it says when to attach" {
    broker_start
    run="$RTF_BIN/rtf-run --spool $SPOOL"
    [[ $(on_terminal "$run -T 1ms -P 100ms -- true") == 'rtf-run: true may start slowly: the reservation gives it only 10ms of CPU time a second, also while it is loaded'*'--attach=ready'* ]]
    [ -z "$(on_terminal "$run -T 2ms -P 100ms -- true")" ]
    [ -z "$(on_terminal "$run --attach=start -T 1ms -P 100ms -- true")" ]
    [ -z "$(rtf_run -T 1ms -P 100ms -- true 2>&1)" ]
}

# bats test_tags=turn:0
@test "the start of a program does not run on its budget: with 1 ms in 100 ms it is there at once" {
    broker_start
    rtf_run --attach=10s -T 1ms -P 100ms -- /usr/bin/python3 -S -c pass # what Python reads from the disk is in memory now
    at_once rtf_run --attach=10s -T 1ms -P 100ms -- /usr/bin/python3 -S -c pass
}

# bats test_tags=turn:1
@test "killed with -9 before its command is attached, it leaves no reservation for longer than half a minute" {
    broker_start
    start --attach=ready -T 5ms -P 20ms -- /usr/bin/python3 -S "$WORK/program.py" "$AT"
    begins
    kill -KILL "$PID"
    [ "$(jq .expires "$OWN/run-$PID.json")" = 30000000 ]
    [ "$(jq .grant.expires "$OWN/run-$PID.verdict")" = 30000000 ]
    touch "$AT.go" "$AT.end"
}

# bats test_tags=turn:2
@test "while it waits it renews its reservation" {
    broker_start
    start --attach=ready -T 5ms -P 20ms -- /usr/bin/python3 -S "$WORK/program.py" "$AT"
    begins
    before=$(stat -c %Z "$OWN/run-$PID.json")
    renewed() { [ "$(stat -c %Z "$OWN/run-$PID.json")" -ge $((before + 10)) ]; }
    eventually renewed || eventually renewed
    has_grant
    touch "$AT.go"
    eventually is_policy "$CHILD" deadline
    [ "$(jq .grant.expires "$OWN/run-$PID.verdict")" = null ]
    touch "$AT.end"
    ends 0
}
