# A user attacks others by the sockets that rtf-net marks for the user.

load ../helper
load ../wire

prepare() {
    near=
    configure_plugins 'NET net - - resource=network interface=rtf0 rate=100Mbit'
    configure_rules '- NET max_amount 1000000000' "$ALICE - max_utilization 1" "$BOB - max_utilization 1"
    wire_make
}

tidy() {
    if [ -n "${STUCK:-}" ]; then umount -l "$WORK/stuck" 2>/dev/null || true; fi
}

# A file whose pages do not come before the end of the test, when its server ends.
mount_stuck() {
    cat >"$WORK/stuck.py" <<'END'
import ctypes, os, struct, sys
fd = os.open("/dev/fuse", os.O_RDWR)
options = "fd=%d,rootmode=100000,user_id=0,group_id=0,allow_other" % fd
if ctypes.CDLL(None).mount(b"stuck", sys.argv[1].encode(), b"fuse", 6, options.encode()) != 0:
    sys.exit(1)
INIT, GETATTR, OPEN, READ, FORGET, INTERRUPT = 26, 3, 14, 15, 2, 36
while True:
    request = os.read(fd, 1 << 17)
    _, what, unique, node = struct.unpack("<IIQQ", request[:24])
    if what == INIT:
        answer = struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 12, 10, 4096, 1, 1, 0, 0, *7 * [0])
    elif what == GETATTR:
        answer = struct.pack("<QII6Q10I", 9, 0, 0, 1, 4096, 8, 0, 0, 0, 0, 0, 0, 0o100444, 1, 0, 0, 0, 4096, 0)
    elif what == OPEN:
        answer = struct.pack("<QII", 1, 0, 0)
    elif what in (READ, FORGET, INTERRUPT):
        continue
    else:
        answer = b""
    os.write(fd, struct.pack("<IiQ", 16 + len(answer), 0 if answer else -38, unique) + answer)
END
    : >"$WORK/stuck"
    STUCK=1
    /usr/bin/python3 -S "$WORK/stuck.py" "$WORK/stuck" >/dev/null 2>"$WORK/stuck.err" 3>&- &
    SERVER=$!
    echo "$SERVER" >>"$WORK/pids"
    eventually grep -q " $WORK/stuck fuse " /proc/mounts || { cat "$WORK/stuck.err" >&2; return 1; }
}

# Starts a process of Alice's with a socket that the kernel keeps locked, because the data to send do not come.
hold_socket() {
    cat >"$WORK/hold.py" <<'END'
import mmap, os, socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
out = socket.create_connection(listener.getsockname())
page = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 4096, prot=mmap.PROT_READ)
threading.Thread(target=out.send, args=(page,)).start()
print("ready", flush=True)
END
    from "$near" setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" -- /usr/bin/python3 -S "$WORK/hold.py" "$WORK/stuck" >"$WORK/held" 2>&1 3>&- &
    HOLDER=$!
    echo "$HOLDER" >>"$WORK/pids"
    eventually grep -q ready "$WORK/held" || { cat "$WORK/held" >&2; return 1; }
    eventually is_held
}
is_held() { grep -q request_wait_answer "/proc/$HOLDER"/task/*/wchan; } # waits for the file system to deliver the page

stream='{"network": {"bytes": 1024, "period": "20ms"}}'
attach() { # UID NAME TID: prints the answer
    as "$1" sh -c "echo $3 >'$SPECS/$1/.$2' && mv '$SPECS/$1/.$2' '$SPECS/$1/$2.tid'"
    verdict "$1" "$2"
}
says() { [[ $(jq -r '.result + ": " + .reason' <<<"$2") == $1 ]] || { echo "$2" >&2; return 1; }; }

@test "a socket that its owner keeps locked delays the owner's own attachments until the lock is released, and no other user's" {
    /usr/bin/python3 -S -c 'import os; os.open("/dev/fuse", os.O_RDWR)' 2>/dev/null || skip 'no FUSE in this kernel'
    broker_start
    mount_stuck
    hold_socket
    for uid in $ALICE $BOB; do spec "$uid" cam "$stream" >/dev/null; done
    spec $ALICE two "$stream" >/dev/null
    says 'ATTACH_FAIL: *marking its sockets took too long*' "$(attach $ALICE cam "$HOLDER")"
    sleeper $BOB
    says 'OK: *' "$(attach $BOB cam "$SLEEPER")"
    sleeper $ALICE
    says 'ATTACH_FAIL: *an earlier marking still waits for a socket of this user*' "$(attach $ALICE two "$SLEEPER")"
    pgrep -f 'rtf-net --serve' >/dev/null # rtf-net was neither killed nor started again
    no grep -q 'network helper' "$EVENTS"
    kill -KILL "$SERVER"
    attaches() { says 'OK: *' "$(attach $ALICE two "$SLEEPER")" 2>/dev/null; }
    eventually attaches
}

@test "rtf-net looks at descriptors up to a bound" {
    broker_start
    from "$near" setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" -- /usr/bin/python3 -S -c '
import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (5000, 5000))
all = [socket.socket() for _ in range(4500)]
print("ready", flush=True)
time.sleep(300)' >"$WORK/many" 2>&1 3>&- &
    many=$!
    echo "$many" >>"$WORK/pids"
    eventually grep -q ready "$WORK/many"
    spec $ALICE cam "$stream" >/dev/null
    says 'ATTACH_FAIL: *more than 4096 descriptors*' "$(attach $ALICE cam "$many")"
}

@test "a thread of another user is neither attached nor marked" {
    broker_start
    sleeper $BOB
    spec $ALICE cam "$stream" >/dev/null
    says 'ATTACH_FAIL: thread * is not yours*' "$(attach $ALICE cam "$SLEEPER")"
}

tickets() { # WHAT: test/wire/tickets.py describes each WHAT
    at "$near" /usr/bin/python3 -S "$RTF_SOURCE/test/wire/tickets.py" "$RTF_LIBEXEC/rtf-net" $ALICE "$1" "/proc/$far/ns/net"
}

@test "a socket that is kept past the end of its reservation sends nothing through the share that gets the number next" {
    output=$(tickets kept)
    [ "$output" = "in force: 5
a number that came round: 0 52540010
somebody has it: 1" ] || { echo "$output" >&2; return 1; }
}

@test "a connection that a marked socket has accepted is in the socket's class, until the class is removed" {
    output=$(tickets accepted)
    [ "$output" = "accepted: True 52540010
a number that came round: 0" ] || { echo "$output" >&2; return 1; }
}

@test "a socket of a class that could not be removed is in no class when the class's number is used again" {
    output=$(tickets refused)
    [ "$output" = "a number that came round: 0 52540010" ] || { echo "$output" >&2; return 1; }
}

@test "a socket that a thread opens as another user has no mark" {
    output=$(tickets changed)
    [ "$output" = "52540010 0" ] || { echo "$output" >&2; return 1; }
}

# The next broker gives the first number again, so Bob's share gets the number that Alice's share had.
@test "a user without a reservation sends nothing through another user's share by a socket from that user" {
    cat >"$WORK/pass.py" <<'END'
import os, socket, sys, time
def once(name):
    while not os.path.exists(name):
        time.sleep(0.01)
def say(name):
    open(name, "w").close()
os.chdir(sys.argv[2])
there = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
if sys.argv[1] == "takes":
    there.bind("there")
    os.chmod("there", 0o777)
    say("taker")
    out = socket.socket(fileno=socket.recv_fds(there, 100, 1)[1][0])
    say("taken")
    once("go")
    for _ in range(20):
        out.sendto(b"through the share of another user", ("10.78.0.2", 9))
    say("sent")
else:
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    say("giver")
    once("give")
    there.connect("there")
    socket.send_fds(there, [b"one"], [out.fileno()])
    out.close()
time.sleep(300)
END
    mkdir "$WORK/said"
    chmod 777 "$WORK/said"
    passer() { # UID WHAT
        from "$near" setpriv --reuid "$1" --regid "$1" --groups "$GROUP" -- /usr/bin/python3 -S "$WORK/pass.py" "$2" "$WORK/said" >/dev/null 2>&1 3>&- &
        PASSER=$!
        echo "$PASSER" >>"$WORK/pids"
    }
    first() { classes | head -n 1 | cut -d ' ' -f 1; }
    sent() { at "$near" tc -s class show dev rtf0 classid "5254:$1" | sed -n 's/^ Sent .* bytes \([0-9]*\) pkt.*/\1/p'; }
    broker_start
    spec $ALICE cam "$stream" >/dev/null
    class=$(first)
    passer $CAROL takes
    eventually test -e "$WORK/said/taker"
    passer $ALICE gives
    eventually test -e "$WORK/said/giver"
    says 'OK: *' "$(attach $ALICE cam "$PASSER")"
    touch "$WORK/said/give"
    eventually test -e "$WORK/said/taken"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually has_classes 0
    broker_stop INT
    broker_start
    spec $BOB cam "$stream" >/dev/null
    [ "$(first)" = "$class" ]
    before=$(sent 2)
    touch "$WORK/said/go"
    eventually test -e "$WORK/said/sent"
    all_is_sent() { [ $(($(sent 2) + $(sent "$class"))) -ge $((before + 20)) ]; }
    eventually all_is_sent
    [ "$(sent "$class")" = 0 ]
}
