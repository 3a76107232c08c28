# rtf revoke, drain and resume: root ends users' reservations, and admits no new ones.
load ../helper
load ../command
load front

prepare() { front_prepare; }
rtf_root() { "$RTF_BIN/rtf" --spool "$SPOOL" "$@"; }
granted() { [ "$(field '.grant != null' "$(spec "$@")")" = true ]; }

@test "revoke ends all reservations of a user, and none of others" {
    broker_start
    sleeper $ALICE
    granted $ALICE cam "{\"priority\": 15, \"attach\": $SLEEPER}"
    granted $ALICE arm '{"runtime": "2ms", "period": "20ms"}'
    granted $BOB cam '{"runtime": "2ms", "period": "20ms"}'
    as $ALICE sh -c 'cd "$1" && echo mine >notes && mkdir sub.json' sh "$OWN"
    eventually is_policy "$SLEEPER" fifo
    silent rtf_root revoke $ALICE
    is_policy "$SLEEPER" other
    is_left() { [ "$(ls "$OWN")" = "$(printf 'notes\nsub.json\nsub.verdict')" ]; }
    eventually is_left
    [ -e "$SPECS/$BOB/cam.verdict" ]
    [ "$(jq -r 'select(.stage == "release") | "\(.user)/\(.name)"' "$EVENTS" | sort | xargs)" = "$ALICE/arm $ALICE/cam" ]
}

# bats test_tags=turn:0
@test "revoke ends one reservation, or those of several users; -v names them" {
    broker_start
    granted $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    granted $ALICE arm '{"runtime": "2ms", "period": "20ms"}'
    granted $BOB cam '{"runtime": "2ms", "period": "20ms"}'
    silent rtf_root revoke $ALICE/cam.json
    eventually test ! -e "$OWN/cam.verdict"
    [ -e "$OWN/arm.verdict" ]
    rtf_root revoke -v $ALICE $BOB/cam 2>"$WORK/err"
    diff "$WORK/err" - <<END
rtf revoke: $ALICE/arm is revoked
rtf revoke: $BOB/cam is revoked
END
    eventually test ! -e "$OWN/arm.verdict"
    silent rtf_root revoke $ALICE
    fails 66 "rtf revoke: $ALICE/cam: there is no such reservation" rtf_root revoke $ALICE/cam
    # A revoked spec may be asked for again, and an order may have a pattern.
    granted $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    granted $ALICE call '{"runtime": "2ms", "period": "20ms"}'
    granted $BOB arm '{"runtime": "2ms", "period": "20ms"}'
    rtf_root revoke -v '*/ca?' 2>"$WORK/err"
    [ "$(<"$WORK/err")" = "rtf revoke: $ALICE/cam is revoked" ]
    granted $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    rtf_root revoke -v "$ALICE/*" 2>"$WORK/err"
    [ "$(sort "$WORK/err")" = "$(printf 'rtf revoke: %s is revoked\n' $ALICE/call $ALICE/cam)" ]
    [ -e "$SPECS/$BOB/arm.verdict" ]
    silent rtf_root revoke '*'
    eventually test ! -e "$OWN/call.verdict"
    eventually test ! -e "$SPECS/$BOB/arm.verdict"
}

# bats test_tags=turn:0
@test "revoke ends a reservation though the owner's reader is stopped, and a spec that waits is granted nothing any more" {
    broker_start
    granted $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    spec $ALICE big '{"runtime": "19ms", "period": "20ms", "on_refusal": "wait"}' >/dev/null
    reader=$(helpers rtf-reader)
    kill -STOP $reader
    silent rtf_root revoke $ALICE
    revoked() { [ "$(jq -r 'select(.stage == "verdict" and .name == "cam" and .grant == null) | .reason' "$EVENTS")" = 'an administrator has revoked the reservation' ]; }
    eventually revoked # rtf-logger writes a moment later
    # The broker is killed, and the next broker knows the order: revoked specs are not granted anew.
    broker_stop KILL
    kill -KILL $reader || true # the reader may have ended with its broker
    broker_start
    eventually test ! -e "$OWN/cam.json"
    eventually test ! -e "$OWN/big.json"
    [ "$(jq -r 'select(.name == "cam" and .stage == "verdict" and .grant != null) | .request' "$EVENTS")" = create ]
}

# order_slowly USER: sends the order of rtf revoke by a client that reads nothing until all reservations are revoked. Prints each message with its
# number.
order_slowly() {
    /usr/bin/python3 -S - "$SPOOL/state/current/orders" "$1" "$OWN" <<'END'
import collections, os, socket, sys, time
broker = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
broker.settimeout(30)
broker.connect(sys.argv[1])
broker.send(f"op=revoke\nuser={sys.argv[2]}\n\n".encode())
until = time.monotonic() + 30
while time.monotonic() < until and any(name.endswith(".verdict") for name in os.listdir(sys.argv[3])):
    time.sleep(0.05)
said = b""
while part := broker.recv(65536):
    said += part
events = collections.Counter(line for line in said.decode().split("\n") if line.startswith("event="))
print(*(f"{event} {count}" for event, count in sorted(events.items())))
END
}

# bats test_tags=turn:0
@test "revoke: a client that is slow to read gets a message for each reservation" {
    broker_start
    as $ALICE mkdir "$OWN"
    as $ALICE /usr/bin/python3 -S - "$OWN" <<'END'
import os, sys
os.chdir(sys.argv[1])
for number in range(500):
    with open(".new", "w") as file:
        file.write('{"runtime": 2, "period": 1000000}')
    os.rename(".new", f"w{number}.json")
END
    has_500() { [ "$(find "$OWN" -name '*.verdict' | wc -l)" = 500 ]; }
    eventually has_500
    [ "$(order_slowly $ALICE)" = 'event=done 1 event=revoked 500 event=taken 1' ]
}

# bats test_tags=turn:1
@test "revoke: a broker without a free descriptor lets the order in when it has one, and does not spin" {
    broker_start
    granted $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    most=$(prlimit --pid "$BROKER" --nofile --noheadings --raw --output SOFT)
    prlimit --pid "$BROKER" --nofile=1:
    rtf_root revoke --timeout 30s $ALICE 3>&- &
    order=$!
    echo $order >>"$WORK/pids"
    before=$(consumed "$BROKER")
    sleep 2 # this time is measured
    spent=$(($(consumed "$BROKER") - before))
    prlimit --pid "$BROKER" --nofile="$most:"
    wait $order
    echo "# $spent ms of CPU time in 2 s" >&3
    [ "$spent" -lt $((500 * PATIENCE)) ]
}

# bats test_tags=turn:2
@test "revoke: an owner who has left the group by then loses the reservation by the order" {
    configure_plugins 'EDF edf - all timeout=20s'
    broker_start
    granted $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    plugin=$(helpers edf)
    kill -STOP $plugin
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    run -75 rtf_root revoke --timeout 500ms $ALICE
    configure_rules "$BOB - max_utilization 0.5"
    kill -HUP "$BROKER"
    eventually logged 1 '.decision == "reloaded"'
    kill -CONT $plugin
    eventually test ! -e "$OWN/cam.json"
    logged 1 '.reason == "an administrator has revoked the reservation"'
}

# bats test_tags=turn:1
@test "revoke: root follows no links that an owner put in the place of a directory" {
    broker_start
    mkdir "$WORK/precious"
    granted $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    as $ALICE sh -c 'cd "$1" && mv "$2" .moved-"$2" && ln -s "$3" "$2"' sh "$SPECS" $ALICE "$WORK/precious"
    echo keep >"$WORK/precious/cam.json"
    rtf_root revoke $ALICE/cam 2>"$WORK/err" || true
    [ -e "$WORK/precious/cam.json" ]
    # No program of root opens files in specs/.
    granted $BOB cam '{"runtime": "2ms", "period": "20ms"}'
    strace -f -e trace=%file -o "$WORK/calls" "$RTF_BIN/rtf" --spool "$SPOOL" revoke $BOB
    grep -q /state "$WORK/calls"
    lacks "specs/" "$WORK/calls"
}

# bats test_tags=turn:2
@test "revoke reports its failures" {
    fails 69 'rtf revoke: no broker has made a spool at *' rtf_root revoke $ALICE
    broker_start
    explains revoke
    fails 64 'rtf revoke: the user is missing*' rtf_root revoke
    fails 64 'rtf revoke: ../x: this must be USER or USER/NAME*' rtf_root revoke ../x
    fails 64 'rtf revoke: a/b/c: this must be USER or USER/NAME*' rtf_root revoke a/b/c
    fails 64 'rtf revoke: *u001bb: a name must be *' rtf_root revoke "$ALICE/$(printf 'a\033b')"
    fails 66 "rtf revoke: $CAROL has no directory in $SPECS" rtf_root revoke $CAROL
    fails 77 "rtf revoke: only root may end other users' reservations" rtf revoke $BOB
    granted $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    kill -STOP "$BROKER"
    fails 75 "rtf revoke: $ALICE: it has not ended in time: 'rtf log' may say why" rtf_root revoke --timeout 200ms $ALICE
    fails 64 "rtf revoke: $ALICE: it is not revoked: a time must be *, 1us to 366d" rtf_root revoke --timeout 367d $ALICE
    rtf_root revoke --timeout 4294967298ms $ALICE 3>&- & # 2 ms if poll(2) gets the low 32 bits
    local order=$!
    echo $order >>"$WORK/pids"
    eventually pgrep -f "^[^ ]*/rtf-order $SPOOL 4294967298ms " >/dev/null
    kill -CONT "$BROKER"
    wait $order
    eventually test ! -e "$OWN/cam.verdict"
    granted $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    broker_stop TERM
    fails 69 "rtf revoke: $ALICE: it is not revoked: no broker serves this spool" rtf_root revoke $ALICE
    [ -e "$OWN/cam.json" ]
}

# bats test_tags=turn:0
@test "drain refuses new reservations, and the others go on and end; resume admits new ones again" {
    broker_start
    granted $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    silent rtf_root drain --no-wait
    answer=$(spec $ALICE new '{"runtime": "2ms", "period": "20ms"}')
    [ "$(field .refusal.code "$answer")" = draining ]
    [ "$(field .refusal.retry "$answer")" = when-freed ]
    answer=$(spec $ALICE cam '{"runtime": "1ms", "period": "20ms"}')
    [ "$(field .refusal.code "$answer")" = draining ]
    [ "$(field .grant.runtime "$answer")" = 2000 ]
    [ "$(field .refusal.code "$(spec 0 roots '{"runtime": "2ms", "period": "20ms"}')")" = draining ]
    grep -q '"decision":"warning","result":null,"code":null,"reason":"draining: ' "$EVENTS"
    # Threads may still be attached and detached.
    sleeper $ALICE
    [ "$(field .thread.tid "$(attach $ALICE cam "$SLEEPER")")" = "$SLEEPER" ]
    # The same holds after a restart.
    broker_stop INT
    broker_start
    [ "$(field .refusal.code "$(spec $ALICE new '{"runtime": "1ms", "period": "20ms"}')")" = draining ]
    [ "$(field .grant.runtime "$(verdict $ALICE cam)")" = 2000 ]
    silent rtf_root resume
    granted $ALICE new '{"runtime": "2ms", "period": "20ms"}'
    grep -q '"decision":"ok","result":null,"code":null,"reason":"draining is over' "$EVENTS"
    silent rtf_root resume
}

# bats test_tags=turn:1
@test "drain waits until all reservations have ended, and no longer than allowed" {
    broker_start
    silent rtf_root drain
    silent rtf_root resume
    granted $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    granted $ALICE arm '{"runtime": "2ms", "period": "20ms"}'
    takes 300 5000 fails 75 'rtf drain: 2 reservations have not ended: rtf revoke ends them' rtf_root drain --timeout 300ms
    rtf_root drain -v 2>"$WORK/said" 3>&- &
    drain=$!
    echo $drain >>"$WORK/pids"
    says_left() { grep -q "rtf drain: $1 left" "$WORK/said"; }
    eventually says_left 2
    rm "$OWN/cam.json"
    eventually says_left 1
    kill -0 $drain
    rm "$OWN/arm.json"
    wait $drain
    watches() { pgrep -f "inotifywait -m -e moved_to --format %f $SPOOL"; }
    watches_no_more() { ! watches; }
    eventually watches_no_more
}

# bats test_tags=turn:2
@test "drain reports its failures" {
    fails 69 'rtf drain: no broker has made a spool at *' rtf_root drain
    broker_start
    for command in drain resume; do
        explains $command
        fails 64 "rtf $command: *" rtf_root $command operand
        fails 77 "rtf $command: only root may *" rtf $command
    done
    fails 64 'rtf drain: *a time needs a unit*' rtf_root drain --timeout 5
    fails 64 'rtf drain: --timeout 5m: a time must be *, 1us to 366d' rtf_root drain --timeout 5m
    # A wrong acl.conf does not stop the command, and is reported.
    echo 'one word' >>"$CONFIG/acl.conf"
    rtf_root drain --no-wait 2>"$WORK/err"
    grep -q '^rtf drain: acl.conf:.*the rules in force stay$' "$WORK/err"
    broker_stop TERM
    rm "$SPOOL/draining"
    fails 69 "rtf drain: no broker serves $SPOOL: the next broker will begin no new reservation" rtf_root drain
    fails 69 "rtf resume: no broker serves $SPOOL: the next broker will begin new reservations" rtf_root resume
    [ ! -e "$SPOOL/draining" ]
}
