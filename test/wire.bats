# Reservations of a network that are kept: rtf-net(8), on a real interface with a real wire behind it (wire.bash).

bats_require_minimum_version 1.5.0
load helper
load wire

prepare() {
    near=
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.5' 'NET net - - resource=network interface=rtf0 rate=3553kbit'
    configure_rules "$ALICE - max_utilization 20" "$BOB - max_utilization 20" '- NET max_amount 1000000000'
    wire_make
}

stream='{"network": {"bytes": 1024, "period": "20ms"}}'
reserve() { told '.result == "OK"' "$(spec "$1" "$2" "${3:-$stream}")"; }

lets_go() { jq -e '.thread == null' "$SPECS/$1/$2.verdict" >/dev/null; }

# sent CLASS: prints the number of packets that were sent so far.
sent() { at "$near" tc -s class show dev rtf0 classid "5254:$1" | sed -n 's/^ Sent .* bytes \([0-9]*\) pkt.*/\1/p'; }
of_class() { classes | head -n 1 | cut -d ' ' -f 1; }

# came PORT EXPRESSION: the expression is true for each stream that has come to this port.
came() {
    eventually is_over
    sed -n 's/^/# /p' "$WORK/got.$1" >&3
    jq -se "$2" < <(grep '^{' "$WORK/got.$1") >/dev/null || { cat "$WORK/got.$1" >&2; return 1; }
}
is_over() { ! kill -0 "$RECEIVER" 2>/dev/null; }

# Before Linux 6.2 only an interface that is down can be renamed.
rename() { at "$near" sh -c "ip link set $1 down && ip link set $1 name $2 && ip link set $2 up"; }

@test "a grant has a class with its rate, a change another rate, a refused change the same, and a release none" {
    [ "$(root_qdisc)" = noqueue ]
    broker_start
    [ "$(root_qdisc)" = htb ]
    reserve $ALICE cam
    [ "$(classes | cut -d ' ' -f 2)" = 426400bit ]
    class=$(of_class)
    reserve $ALICE cam '{"network": {"bytes": 512, "period": "20ms"}}'
    [ "$(classes)" = "$class 221600bit" ]
    told '.result == "SCHEDULE_FAIL" and .grant.claims[0].bytes == 512' "$(spec $ALICE cam '{"network": {"bytes": 102400, "period": "20ms"}}')"
    [ "$(classes)" = "$class 221600bit" ]
    told '.would_grant != null' "$(spec $ALICE dry '{"network": {"bytes": 1, "period": "20ms"}, "dry_run": true}')"
    has_classes 1
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually has_classes 0
    broker_stop TERM
    [ "$(root_qdisc)" = noqueue ]
    [ ! -s "$SPOOL/state/interfaces" ]
}

@test "a running program's sockets, and its later sockets, are reserved as long as the program is attached" {
    broker_start
    reserve $ALICE cam
    class=$(of_class)
    receiver 5000
    sender $ALICE 5000 1 10 "$WORK/go"
    attach $ALICE cam "$SENDER"
    [ "$(sent "$class")" = 0 ]
    touch "$WORK/go"
    came 5000 '.[0].came == 10'
    [ "$(sent "$class")" = 10 ]
    eventually lets_go $ALICE cam # the sender has ended
    receiver 5001
    rm "$WORK/go"
    sender $ALICE 5001 1 10 "$WORK/go"
    attach $ALICE cam "$SENDER"
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    eventually lets_go $ALICE cam
    touch "$WORK/go"
    came 5001 '.[0].came == 10'
    [ "$(sent "$class")" = 10 ]
}

@test "eight streams fit onto the wire, beside a flood nothing of them is lost or late; the ninth is refused" {
    broker_start
    receiver 5000
    for number in 1 2 3 4 5 6 7 8; do
        reserve $ALICE "s$number"
        sender $ALICE 5000 "$number" 150 "$WORK/go"
        attach $ALICE "s$number" "$SENDER"
    done
    told '.refusal.by == "NET" and .refusal.nearest > 0' "$(spec $ALICE s9 "$stream")"
    flood $BOB
    touch "$WORK/go"
    # A flood that waits on the wire can delay a late packet in the scheduler longer than the network does. rtf promises only that no packet
    # is lost.
    came 5000 'length == 8 and all(.[]; .came == 150)'
}

@test "without reservations the same streams lose beside the same flood" {
    broker_start
    receiver 5000
    for number in 1 2 3 4; do sender $ALICE 5000 "$number" 150 "$WORK/go"; done
    flood $BOB
    touch "$WORK/go"
    came 5000 'length < 4 or (map(.came) | add) < 580' # 600 packets would mean no loss
}

@test "a thread has CPU time and an interface together; if the interface refuses, no CPU time is held" {
    broker_start
    receiver 5000
    sender $ALICE 5000 1 10 "$WORK/go"
    told '.grant.plugin == "EDF" and .thread.state == "attached"' \
        "$(spec $ALICE cam "{\"runtime\": \"2ms\", \"period\": \"10ms\", \"plugin\": \"EDF\", \"attach\": $SENDER, \"network\": {\"bytes\": 1024, \"period\": \"20ms\"}}")"
    chrt -p "$SENDER" | grep -q SCHED_DEADLINE
    touch "$WORK/go"
    came 5000 '.[0].came == 10'
    [ "$(sent "$(of_class)")" = 10 ]
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually has_classes 0
    rename rtf0 rtf1
    told '.result == "SCHEDULE_FAIL" and .grant == null and .refusal.by == "kernel" and (.reason | contains("no interface rtf0"))' \
        "$(spec $BOB cam '{"runtime": "2ms", "period": "10ms", "plugin": "EDF", "network": {"bytes": 1024, "period": "20ms"}}')"
    nothing_is_used() { jq -e 'all(.pools[]; .used == 0 or .used == "0")' "$SPOOL/status.json" >/dev/null; }
    eventually nothing_is_used
    rename rtf1 rtf0
    reserve $BOB cam
}

@test "rtf-run --net: the command's sockets are reserved from the start, with CPU time or alone" {
    broker_start
    run_it() { # ARGUMENTS...
        receiver 5000
        at "$near" setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" -- "$RTF_BIN/rtf-run" --spool "$SPOOL" --name job "$@" -- \
            /usr/bin/python3 -S "$WORK/send.py" 10.78.0.2 5000 1 1024 20 10 "$WORK/start" &
        running=$!
        eventually has_classes 1
        class=$(of_class) rate=$(classes | cut -d ' ' -f 2)
        other() { at "$near" tc -s class show dev rtf0 classid 5254:2 | sed -n 's/^ Sent \([0-9]*\) bytes.*/\1/p'; }
        before=$(other)
        touch "$WORK/start"
        wait "$running"
        rm "$WORK/start"
        came 5000 '.[0].came == 10'
        [ $(($(other) - before)) -lt 5120 ] # neighbour discovery also sends small packets
        eventually has_classes 0
    }
    run_it --net rtf0:1024B/20ms
    [ "$rate" = 426400bit ]
    run_it --net 1Mbit -T 2ms -P 10ms
    [ "$rate" = 1028Kbit ] # 125,000 bytes in 85 packets
    run at "$near" setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" -- "$RTF_BIN/rtf-run" --spool "$SPOOL" --net rtf0:1024Bit true
    [ "$status" = 125 ]
    [[ "$output" == *'"bandwidth", which must be'* ]] || { echo "$output" >&2; return 1; }
}

@test "a thread has what is granted when a change goes from the CPU alone to the network alone" {
    broker_start
    sleeper $ALICE
    told '.thread.state == "attached"' "$(spec $ALICE job "{\"network\": {\"bytes\": 1024, \"period\": \"20ms\"}, \"attach\": $SLEEPER}")"
    chrt -p "$SLEEPER" | grep -q SCHED_OTHER
    invariants
    as $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" ls | grep -q 'job .*attached'
    # If the spec also asks for CPU time, the same thread gets both. The CPU time cannot be given up while the thread is attached.
    told '.grant.plugin == "EDF" and .thread.state == "attached"' \
        "$(spec $ALICE job '{"runtime": "2ms", "period": "10ms", "plugin": "EDF", "network": {"bytes": 1024, "period": "20ms"}}')"
    chrt -p "$SLEEPER" | grep -q SCHED_DEADLINE
    told '.result == "SCHEDULE_FAIL" and .refusal.code == "still-attached" and .grant.plugin == "EDF"' "$(spec $ALICE job "$stream")"
    invariants
    as $ALICE sh -c "rm '$SPECS/$ALICE/job.json'"
    eventually has_classes 0
    [ -d "/proc/$SLEEPER" ]
    invariants
}

@test "kill -9 of broker or rtf-net: classes and marks stay, and classes without a reservation go" {
    broker_start
    reserve $ALICE cam
    reserve $ALICE gone
    receiver 5000
    sender $ALICE 5000 1 10 "$WORK/go"
    attach $ALICE cam "$SENDER"
    before=$(classes)
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    eventually none_of_ours
    [ "$(classes)" = "$before" ] # the shares are in force while no broker runs
    broker_start
    [ "$(classes)" = "$before" ]
    pkill -KILL -P "$(launcher)" -f rtf-net
    is_back() { [ -n "$(helpers 'rtf-net --serve')" ]; }
    eventually is_back
    as $ALICE rm "$SPECS/$ALICE/gone.json"
    eventually has_classes 1
    touch "$WORK/go" # half of the packets come from a socket that is opened now
    came 5000 '.[0].came == 10'
    [ "$(sent "$(of_class)")" = 10 ]
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    eventually none_of_ours
    nsenter --net="$RTF_NET" "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
    [ "$(root_qdisc)" = noqueue ]
}

@test "SIGINT leaves classes in force for the next broker, which gives back interfaces that its configuration does not name" {
    broker_start
    reserve $ALICE cam
    broker_stop INT
    [ "$(root_qdisc)" = htb ]
    configure_rules "$ALICE - max_utilization 20"
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.5'
    broker_start
    [ "$(root_qdisc)" = noqueue ]
}

@test "an interface that is not there, or has a root qdisc of somebody else, is left alone, and its line is off" {
    is_off_for() {
        # rtf-brokerd reports the same error with --check and at its start.
        run -69 nsenter --net="$RTF_NET" "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
        [[ $output == "plugins.conf:2: NET would be off: $1"* ]]
        broker_start
        [ "$(jq -r '.plugins[1].state' "$SPOOL/status.json")" = off ]
        grep -qF "plugins.conf:2: $1" "$EVENTS" || { cat "$EVENTS" >&2; return 1; }
        broker_stop TERM
    }
    at "$near" tc qdisc add dev rtf0 root handle 7: pfifo limit 33
    is_off_for 'interface rtf0 has another root qdisc (pfifo), which rtf does not replace'
    at "$near" tc qdisc show dev rtf0 | grep -q 'pfifo 7: root .*limit 33p'
    at "$near" tc qdisc del dev rtf0 root
    rename rtf0 rtf1
    is_off_for 'there is no interface rtf0'
}

@test "a helper that ends at once is not started again for a line that is off" {
    starts() { grep -c 'the network helper is started again: it ended' "$EVENTS"; }
    nsenter() { exec unshare --mount --propagation private sh -c 'mount --bind /bin/false "$0" && exec nsenter "$@"' "$RTF_LIBEXEC/rtf-net" "$@"; }
    broker_start
    unset -f nsenter
    [ "$(jq -r '.plugins[1].state' "$SPOOL/status.json")" = off ]
    before=$(starts)
    sleep 2.5 # a helper that has ended is started again after a second
    [ "$(starts)" = "$before" ]
}

# The owner of the socket counts, not the process that has it: a socket that is passed on keeps its mark.
@test "a socket of another user, and one with a mark of somebody else, is left as it is" {
    broker_start
    reserve $ALICE cam
    cat >"$WORK/inherit.py" <<'END'
import os, socket, sys, time
theirs = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
marked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
marked.setsockopt(socket.SOL_SOCKET, 36, 7)
local = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
os.setgroups([]); os.setresgid(*3 * [int(sys.argv[1])]); os.setresuid(*3 * [int(sys.argv[1])])
own = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
os.fchown(marked.fileno(), -1, -1)
print("ready", flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
try:
    own.setsockopt(socket.SOL_SOCKET, 36, 5)
    print("forged", flush=True)
except PermissionError:
    pass
print(*(hex(s.getsockopt(socket.SOL_SOCKET, 36)) for s in (theirs, marked, local, own)), flush=True)
END
    from "$near" /usr/bin/python3 -S "$WORK/inherit.py" $ALICE "$WORK/go" >"$WORK/marks" 2>&1 3>&- &
    inheritor=$!
    echo "$inheritor" >>"$WORK/pids"
    eventually grep -q ready "$WORK/marks"
    attach $ALICE cam "$inheritor"
    touch "$WORK/go"
    eventually grep -q 0x "$WORK/marks"
    [ "$(tail -n 1 "$WORK/marks")" = "0x0 0x7 0x0 0x5254$(printf '%04x' $((16#$(of_class))))" ]
    no grep -q forged "$WORK/marks"
}
