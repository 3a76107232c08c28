# A wire of 3553 kbit between two network namespaces, as in paper 002, section 5.3: near ── wire ── far. Packets wait before the wire for up to 100 ms;
# others are lost.

bed=${BASH_SOURCE[0]%/*}/../contrib/bed

# wire_make: RTF_NET is the near end, whose interface is rtf0; the far end is 10.78.0.2.
wire_make() {
    local tool
    for tool in ip tc nsenter unshare; do command -v "$tool" >/dev/null || { echo "no $tool" >&2; return 1; }; done
    cp "$bed"/*.py "$WORK" # users may read the copies
    near=$(wire_namespace) between=$(wire_namespace) far=$(wire_namespace)
    export RTF_NET=/proc/$near/ns/net
    "$bed/wire" join "$near" "$between" "$far"
    "$bed/wire" carries "$between" 3553kbit
}

# wire_namespace: prints the id of a process with a network namespace of its own.
wire_namespace() {
    unshare --net sleep "$SLEEPS" >/dev/null 2>&1 3>&- &
    local holder=$!
    echo "$holder" >>"$WORK/pids"
    eventually has_namespace "$holder"
    echo "$holder"
}

has_namespace() { [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ] && is_sleep "$1"; }

# at HOLDER COMMAND...: runs a command in this process's network namespace. from: the same for the background, where $! must be the command itself.
at() { nsenter --net="/proc/$1/ns/net" -- "${@:2}"; }
from() { exec nsenter --net="/proc/$1/ns/net" -- "${@:2}"; }

classes() { at "$near" tc class show dev rtf0 | sed -n 's/^class htb 5254:\([0-9a-f]*\) parent 5254:1 .*prio 0 .*rate \([^ ]*\) .*/\1 \2/p'; }
has_classes() { [ "$(classes | wc -l)" = "$1" ]; }
root_qdisc() { at "$near" tc qdisc show dev rtf0 root | cut -d ' ' -f 2; }

# receiver PORT: receives on this port. When nothing has come for a second, $WORK/got.PORT has the result.
receiver() {
    from "$far" /usr/bin/python3 "$WORK/receive.py" "$1" 1 >"$WORK/got.$1" 2>&1 3>&- &
    RECEIVER=$!
    echo "$RECEIVER" >>"$WORK/pids"
    eventually grep -q ready "$WORK/got.$1"
}

# sender UID PORT STREAM COUNT [START]: sends 1024 bytes each 20 ms.
sender() {
    from "$near" setpriv --reuid "$1" --regid "$1" --groups "$GROUP" -- /usr/bin/python3 "$WORK/send.py" 10.78.0.2 "$2" "$3" 1024 20 "$4" ${5:+"$5"} >"$WORK/sender.out" 2>&1 3>&- &
    SENDER=$!
    echo "$SENDER" >>"$WORK/pids"
    eventually is_sender "$SENDER" || { cat "$WORK/sender.out" >&2; ls -l "/proc/$SENDER/fd" >&2; return 1; }
}
is_sender() { grep -aqs send.py "/proc/$1/cmdline" && [ -n "$(find "/proc/$1/fd" -lname 'socket:*' 2>/dev/null)" ]; }

flood() {
    from "$near" setpriv --reuid "$1" --regid "$1" --clear-groups -- /usr/bin/python3 "$WORK/flood.py" 10.78.0.2 9 >/dev/null 2>&1 3>&- &
    FLOOD=$!
    echo "$FLOOD" >>"$WORK/pids"
}
