# rtf-rtkit(8): RealtimeKit's interface on a system bus of the test's own, with real callers. The tests ask the kernel for the callers' threads.
load helper

prepare() {
    configure_plugins 'FP fp 11-20 all enforce=runtime' 'RR rr 1-10 all enforce=runtime'
    configure_rules '- - max_utilization 1' "$ALICE - max_utilization 0.3" "$BOB - max_utilization 0.3"
    ADDRESS=unix:path=$WORK/bus
    chmod 755 "$WORK"
}

# with_accounts COMMAND...: replaces this shell by the command, in a mount namespace where the users of these tests have accounts and are in the spool's
# group. The bus refuses a user without an account, and rtf-rtkit gives a worker the groups of the account.
with_accounts() {
    { cat /etc/passwd; for uid in $ALICE $BOB $CAROL; do echo "user$uid:x:$uid:$uid::/:/bin/false"; done; } >"$WORK/passwd"
    { cat /etc/group; echo "rtf$GROUP:x:$GROUP:user$ALICE,user$BOB"; } >"$WORK/group"
    # shellcheck disable=SC2016 # the inner shell expands it
    exec unshare --mount sh -c 'mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/group" /etc/group && shift && exec "$@"' sh "$WORK" "$@"
}

tidy() { pkill -KILL -u $ALICE,$BOB dbus-daemon || true; }

bus_start() {
    sed -e "s,@ADDRESS@,$ADDRESS,g" -e "s,@POLICY@,$RTF_SOURCE/contrib/rtkit/org.freedesktop.RealtimeKit1.conf,g" >"$WORK/bus.conf" <<'END'
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>@ADDRESS@</listen>
  <policy context="default">
    <allow user="*"/>
    <deny own="*"/>
    <deny send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
    <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus"/>
  </policy>
  <include>@POLICY@</include>
</busconfig>
END
    with_accounts dbus-daemon --config-file="$WORK/bus.conf" --nofork 2>"$WORK/bus.err" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -S "$WORK/bus"
}

# serves [OPTION...]: starts rtf-rtkit on that bus, and sets RTKIT to its process id.
serves() {
    bus_start
    # The broker does not see these accounts, so it names the users' directories by uid.
    for uid in $ALICE $BOB; do as $uid mkdir "$SPECS/$uid"; done
    with_accounts env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" "$RTF_LIBEXEC/rtf-rtkit" --spool "$SPOOL" --user 20077 "$@" 3>&- 2>"$WORK/rtkit.err" &
    RTKIT=$!
    echo "$RTKIT" >>"$WORK/pids"
    eventually answers
}
answers() { as $ALICE env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" dbus-send --system --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetNameOwner string:org.freedesktop.RealtimeKit1 >/dev/null 2>&1; }

# client UID PRIORITY [COMMAND...]: starts a process that asks for its own thread. TID is the thread's id, and SAID is the answer.
client() {
    local uid=$1 priority=$2
    shift 2
    mkfifo -m 666 "$WORK/input.$uid.$((++clients))"
    : >"$WORK/said.$clients"
    become "$uid" "$@" env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" "$RTF_STAGE/rtkit-client" "$priority" <"$WORK/input.$uid.$clients" >"$WORK/said.$clients" 3>&- &
    CLIENT=$!
    echo "$CLIENT" >>"$WORK/pids"
    exec {INPUT}>"$WORK/input.$uid.$clients"
    eventually test -s "$WORK/said.$clients"
    read -r TID SAID <"$WORK/said.$clients"
}
clients=0

# asks_for UID PROCESS THREAD PRIORITY: asks by dbus-send, with the process id.
asks_for() {
    as "$1" env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" dbus-send --system --print-reply --dest=org.freedesktop.RealtimeKit1 /org/freedesktop/RealtimeKit1 \
        org.freedesktop.RealtimeKit1.MakeThreadRealtimeWithPID "uint64:$2" "uint64:$3" "uint32:$4" 2>&1
}
property() {
    as $ALICE env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" dbus-send --system --print-reply=literal --dest=org.freedesktop.RealtimeKit1 /org/freedesktop/RealtimeKit1 \
        org.freedesktop.DBus.Properties.Get string:org.freedesktop.RealtimeKit1 "string:$1" | awk '{ print $NF }'
}

@test "a thread gets what the rules allow its user, and the reservation ends with it" {
    broker_start
    serves
    client $ALICE 7
    [ "$SAID" = ok ]
    [[ $(kernel "$TID") == "fifo "* ]]
    jq -e --argjson tid "$TID" '.grant.plugin == "FP" and .grant.runtime == 1000 and .grant.period == 10000 and .thread.tid == $tid' "$SPECS/$ALICE/rtkit-$TID.verdict"
    [ "$(stat -c %u "$SPECS/$ALICE/rtkit-$TID.json")" = $ALICE ]
    jq -e 'select(.name == "rtkit-'"$TID"'" and .stage == "verdict" and .decision == "ok")' "$EVENTS" >/dev/null
    [ "$(property MaxRealtimePriority) $(property RTTimeUSecMax) $(property MinNiceLevel)" = '20 200000 -20' ]
    exec {INPUT}>&-
    gone() { [ ! -e "$SPECS/$ALICE/rtkit-$TID.json" ]; }
    eventually gone
}

@test "a thread gets a nice level that the rules allow its user, and keeps its policy" {
    echo "$ALICE - min_nice -11" >>"$CONFIG/acl.conf"
    broker_start
    serves
    sleeper $ALICE
    wants_nice() { # LEVEL
        as $ALICE env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" dbus-send --system --print-reply --dest=org.freedesktop.RealtimeKit1 /org/freedesktop/RealtimeKit1 \
            org.freedesktop.RealtimeKit1.MakeThreadHighPriorityWithPID "uint64:$SLEEPER" "uint64:$SLEEPER" "int32:$1" 2>&1
    }
    run wants_nice -12
    [[ $output == *AccessDenied*"min_nice -11: nice -12 asked"* ]]
    [ ! -e "$SPECS/$ALICE/rtkit-$SLEEPER.json" ]
    wants_nice -11
    [ "$(ps -o ni= -p "$SLEEPER" | tr -d ' ')" = -11 ]
    is_policy "$SLEEPER" other
    told '.grant.nice == -11 and .grant.plugin == null' "$(cat "$SPECS/$ALICE/rtkit-$SLEEPER.verdict")"
    wants_nice -5
    [ "$(ps -o ni= -p "$SLEEPER" | tr -d ' ')" = -5 ]
    for wrong in 0 1 -21; do
        run wants_nice "$wrong"
        [[ $output == *InvalidArgs*"must be from -20 to -1"* ]]
    done
}

# bats test_tags=turn:0
@test "a request that the rules or the plugins refuse is refused with the reason, and the thread stays as it was" {
    broker_start
    serves
    for _ in 1 2 3; do client $ALICE 5 && [ "$SAID" = ok ]; done
    client $ALICE 5
    [[ $SAID == "org.freedesktop.DBus.Error.AccessDenied: rtf: acl.conf:2: "*"0.3 used, 0.1 asked"* ]] || { echo "$SAID" >&2; return 1; }
    is_policy "$TID" other
    [ ! -e "$SPECS/$ALICE/rtkit-$TID.json" ]
    client $CAROL 5
    [[ $SAID == "org.freedesktop.DBus.Error.AccessDenied: rtf: "* ]]
    client $BOB 21
    [ "$SAID" = 'org.freedesktop.DBus.Error.InvalidArgs: rtf: the priority must be from 1 to 20' ]
    client $BOB 0
    [[ $SAID == *'the priority must be from 1 to 20' ]]
    kill -TERM "$BROKER"
    wait "$BROKER" || true
    client $BOB 5
    [[ $SAID == 'org.freedesktop.DBus.Error.Failed: rtf: no broker '* ]] || { echo "$SAID" >&2; return 1; }
}

# bats test_tags=turn:1
@test "another process of one's own can be named, somebody else's cannot; another priority is a change" {
    broker_start
    serves
    sleeper $BOB
    bobs=$SLEEPER
    sleeper $ALICE
    asks_for $ALICE "$SLEEPER" "$SLEEPER" 3
    [[ $(kernel "$SLEEPER") == "fifo "* ]]
    asks_for $ALICE "$SLEEPER" "$SLEEPER" 9
    jq -e '.request == "change" and .result == "OK"' "$SPECS/$ALICE/rtkit-$SLEEPER.verdict"
    [[ $(asks_for $ALICE "$bobs" "$bobs" 3 || true) == *"thread $bobs is not yours"* ]]
    is_policy "$bobs" other
    [[ $(asks_for $ALICE "$SLEEPER" 1 3 || true) == *'the process has no such thread'* ]]
    [[ $(asks_for $ALICE 18446744073709551615 18446744073709551615 3 || true) == *'the process has no such thread'* ]]
}

# bats test_tags=turn:2
@test "a caller in a pid namespace of its own means its thread, by the number that it has there" {
    broker_start
    serves
    mkfifo -m 666 "$WORK/nested"
    become $ALICE unshare --user --map-current-user --pid --fork --kill-child env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" "$RTF_STAGE/rtkit-client" 7 <"$WORK/nested" >"$WORK/inside" 2>&1 3>&- &
    echo "$!" >>"$WORK/pids"
    exec {INPUT}>"$WORK/nested"
    eventually test -s "$WORK/inside"
    grep -q '^unshare:' "$WORK/inside" && skip 'unprivileged users may not make user namespaces here'
    [ "$(cat "$WORK/inside")" = '1 ok' ]
    inside=$(pgrep --newest -u $ALICE -x rtkit-client) # a client of an earlier test may still be there
    [[ $(kernel "$inside") == "fifo "* ]]
}

@test "a caller in a pid namespace of its own names no process outside" {
    broker_start
    serves
    sleeper $ALICE
    said=$(as $ALICE unshare --user --map-current-user --pid --fork --kill-child env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" dbus-send --system --print-reply \
        --dest=org.freedesktop.RealtimeKit1 /org/freedesktop/RealtimeKit1 org.freedesktop.RealtimeKit1.MakeThreadRealtimeWithPID \
        "uint64:$SLEEPER" "uint64:$SLEEPER" uint32:3 2>&1 || true)
    [[ $said != unshare:* ]] || skip 'unprivileged users may not make user namespaces here'
    [[ $said == *'the process has no such thread'* ]]
    is_policy "$SLEEPER" other
}

@test "a caller with many threads in a pid namespace of its own costs its own worker time, and no other caller" {
    local before
    broker_start
    serves
    client $BOB 7
    [ "$SAID" = ok ]
    before=$(consumed "$RTKIT")
    mkfifo -m 666 "$WORK/nested"
    become $ALICE unshare --user --map-current-user --pid --fork --kill-child env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" "$RTF_STAGE/rtkit-client" lost 500 1000 \
        <"$WORK/nested" >"$WORK/inside" 2>&1 3>&- &
    echo "$!" >>"$WORK/pids"
    exec {INPUT}>"$WORK/nested"
    eventually test -s "$WORK/inside"
    grep -q 'unshare failed' "$WORK/inside" && skip 'unprivileged users may not make user namespaces here'
    [ "$(cat "$WORK/inside")" = asked ]
    client $BOB 7
    [ "$SAID" = ok ]
    echo "# $(($(consumed "$RTKIT") - before)) ms of CPU time for 500 calls" >&3
    [ $(($(consumed "$RTKIT") - before)) -lt 1000 ] # A look at the status of each thread would take 3 s or more.
}

# A program in a pid namespace may only ask for its own threads. When the program has ended, its child has the connection, and the bus still reports
# the parent's id.
orphaned() { ! kill -0 "$caller" 2>/dev/null; }
is_alices() { [ "$(stat -c %u "/proc/$1")" = $ALICE ]; }
# says PROCESS: lets the child ask for the process, and prints the answer.
says() {
    local lines
    lines=$(($(wc -l <"$WORK/inside") + 1))
    echo "$1" >&"$INPUT"
    has_lines() { [ "$(wc -l <"$WORK/inside")" -ge "$1" ]; }
    eventually has_lines "$lines"
    tail -n 1 "$WORK/inside"
}
# reuses ID: starts another process of Alice's with this id.
reuses() {
    "$RTF_STAGE/reuse" "$1" setpriv --reuid $ALICE --regid $ALICE --clear-groups --pdeathsig KILL sleep infinity 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually is_alices "$1"
}
@test "a process that gets the id of a caller that has ended gives its connection no rights" {
    broker_start
    serves
    sleeper $ALICE
    mkfifo -m 666 "$WORK/nested"
    # shellcheck disable=SC2016 # the inner shell expands it
    become $ALICE unshare --user --map-current-user --pid --fork --kill-child env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" sh -c '"$0" orphan; exec sleep infinity' "$RTF_STAGE/rtkit-client" \
        <"$WORK/nested" >"$WORK/inside" 2>&1 3>&- &
    echo "$!" >>"$WORK/pids"
    exec {INPUT}>"$WORK/nested"
    eventually test -s "$WORK/inside"
    grep -q 'unshare failed' "$WORK/inside" && skip 'unprivileged users may not make user namespaces here'
    [ "$(cat "$WORK/inside")" = '2 ok' ]
    caller=$(pgrep -u $ALICE -f 'rtkit-client orphan$')
    echo >&"$INPUT"
    eventually orphaned
    [[ $(says "$SLEEPER") == *'the process has no such thread' ]]
    reuses "$caller"
    [[ $(says "$SLEEPER") == *'the process has no such thread' ]]
    is_policy "$SLEEPER" other
}

is_asked_for() { [ -e "$SPECS/$ALICE/rtkit-$1.json" ]; }

@test "a thread that ends before the broker has looked is not the next one with its id" {
    broker_start
    serves
    kill -STOP "$BROKER"
    mkfifo -m 666 "$WORK/ends"
    become $ALICE env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" "$RTF_STAGE/rtkit-client" 7 <"$WORK/ends" >/dev/null 3>&- &
    caller=$!
    echo "$caller" >>"$WORK/pids"
    exec {INPUT}>"$WORK/ends"
    eventually is_asked_for "$caller"
    kill -KILL "$caller"
    wait "$caller" || true
    sleep 0.05 # the kernel's times of files and starts of threads are multiples of up to 10 ms
    reuses "$caller"
    kill -CONT "$BROKER"
    eventually grep -q "rtkit-$caller.json is older than thread $caller" "$EVENTS"
    ended=$caller
    client $ALICE 7 # the worker that has answered the first call answers this call, too
    [ "$SAID" = ok ]
    is_policy "$ended" other
    [ ! -e "$SPECS/$ALICE/rtkit-$ended.json" ]
}

# close(2) of a descriptor on a user's file system could last for ever.
@test "no descriptor comes with a message" {
    broker_start
    serves
    client $ALICE descriptor
    [[ $SAID == 'org.freedesktop.DBus.Error.NotSupported: '* ]] || { echo "$SAID" >&2; return 1; }
    client $ALICE 7
    [ "$SAID" = ok ]
}

# bats test_tags=turn:0
@test "rtf-rtkit has two capabilities, is not root, and cannot become root; a worker runs as its caller, and ends when idle" {
    broker_start
    serves
    client $ALICE 7
    [ "$SAID" = ok ]
    status() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$2/status"; }
    [ "$(status Uid "$RTKIT" | tr -d '[:blank:]')" = 20077200772007720077 ]
    [ "$(status Groups "$RTKIT" | tr -d '[:blank:]')" = '' ]
    for set in CapPrm CapEff CapBnd; do [ "$((16#$(status $set "$RTKIT")))" -eq $((1 << 6 | 1 << 7)) ]; done
    [ "$(status NoNewPrivs "$RTKIT") $(status Seccomp "$RTKIT")" = '1 2' ]
    worker=$(pgrep -P "$RTKIT")
    [ "$(status Uid "$worker" | tr -d '[:blank:]')" = "$ALICE$ALICE$ALICE$ALICE" ]
    [ "$((16#$(status CapPrm "$worker")))" -eq 0 ]
    [ "$(find "/proc/$worker/fd" -lname 'socket:*' | wc -l)" -eq 1 ]
    exec {INPUT}>&-
    no_worker() { ! pgrep -P "$RTKIT" >/dev/null; }
    PATIENCE=$((PATIENCE * 3)) eventually no_worker
    # While idle, no process wakes.
    switches() { awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$RTKIT/status"; }
    before=$(switches)
    sleep 1
    [ "$(switches)" = "$before" ]
}

@test "a program that reads the properties has a worker that waits for its call, and nothing in the spool yet" {
    broker_start
    serves
    as $BOB rmdir "$SPECS/$BOB"
    client $BOB properties
    [ "$SAID" = ok ]
    waits() { worker=$(pgrep -P "$RTKIT" -U $BOB) && [ -n "$(find "/proc/$worker/fd" -lname '*inotify')" ] && [ "$(cut -d ' ' -f 3 "/proc/$worker/stat")" = S ]; }
    eventually waits
    [ -z "$(find "$SPECS" -mindepth 1 -uid $BOB)" ]
    as $BOB mkdir "$SPECS/$BOB"
    client $BOB 7
    [ "$SAID" = ok ]
    [ "$(pgrep -P "$RTKIT")" = "$worker" ]
}

# bats test_tags=turn:1
@test "a killed worker is an error for the caller that waits, and the next call has a new worker; a stopped worker delays no other caller" {
    broker_start
    serves
    client $ALICE 7
    pkill -STOP -P "$RTKIT"
    mkfifo -m 666 "$WORK/stuck"
    become $ALICE env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" "$RTF_STAGE/rtkit-client" 7 <"$WORK/stuck" >"$WORK/stuck.said" 2>&1 3>&- &
    echo "$!" >>"$WORK/pids"
    exec {STUCK}>"$WORK/stuck"
    client $BOB 7
    [ "$SAID" = ok ]
    [ ! -s "$WORK/stuck.said" ]
    pkill -KILL -P "$RTKIT" -U $ALICE
    eventually test -s "$WORK/stuck.said"
    grep -q 'the worker for this user has ended' "$WORK/stuck.said"
    client $ALICE 7
    [ "$SAID" = ok ]
}

# bats test_tags=turn:2
@test "a thousand calls, and a hundred callers that are gone before their answer, leave nothing behind" {
    broker_start
    serves
    measured=$(as $ALICE env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" "$RTF_STAGE/rtkit-client" 5 1000)
    echo "# a call that changes the priority: $measured us in the median" >&3
    [ "$measured" -gt 0 ]
    before=$(find "/proc/$RTKIT/fd" | wc -l)
    # shellcheck disable=SC2016 # the inner shell expands it
    as $BOB env DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" sh -c 'for i in $(seq 100); do
        timeout -s KILL 0.0$((i % 10)) "$1" 5 >/dev/null 2>&1 </dev/null & done; wait' sh "$RTF_STAGE/rtkit-client"
    nothing_left() { [ -z "$(find "$SPECS/$ALICE" "$SPECS/$BOB" -name '*.json')" ]; }
    eventually nothing_left
    [ "$(find "/proc/$RTKIT/fd" | wc -l)" -le "$((before + 1))" ]
    client $BOB 5
    [ "$SAID" = ok ]
}

# in_session COMMAND...: runs a command as Alice, without a display, with a session bus and directories of Alice's own beside the system bus. SESSION
# is the id of its process.
in_session() {
    install -d -o $ALICE -m 700 "$WORK/run" "$WORK/home"
    # Debian's own configuration puts the socket into /tmp, where it remains when the bus is killed.
    cat >"$WORK/session.conf" <<END
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:dir=$WORK/run</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
END
    with_accounts setpriv --reuid $ALICE --regid $ALICE --clear-groups env -u PULSE_SERVER DBUS_SYSTEM_BUS_ADDRESS="$ADDRESS" XDG_RUNTIME_DIR="$WORK/run" HOME="$WORK/home" \
        dbus-run-session --config-file="$WORK/session.conf" -- "$@" >"$WORK/session.out" 2>&1 3>&- &
    SESSION=$!
    echo "$SESSION" >>"$WORK/pids"
}
# has_real_time NAME: Alice's program NAME has a thread with SCHED_FIFO or SCHED_RR, and this thread has a grant.
has_real_time() {
    local process thread
    for process in $(pgrep -u $ALICE -x "$1"); do
        for thread in "/proc/$process/task/"*; do
            case $(kernel "${thread##*/}") in fifo* | rr*) jq -e '.grant != null' "$SPECS/$ALICE/rtkit-${thread##*/}.verdict" >/dev/null && return 0 ;; esac
        done
    done
    return 1
}

# has_real_time_of NAME: as has_real_time, but any policy that a grant can have will do.
has_real_time_of() {
    local process thread
    for process in $(pgrep -u $ALICE -x "$1"); do
        for thread in "/proc/$process/task/"*; do
            case $(kernel "${thread##*/}") in fifo* | rr* | deadline*) jq -e '.grant != null' "$SPECS/$ALICE/rtkit-${thread##*/}.verdict" >/dev/null && return 0 ;; esac
        done
    done
    return 1
}

# bats test_tags=turn:0
@test "PipeWire and PulseAudio, as Debian has them, get their threads; refused, they run on without" {
    broker_start
    serves
    in_session pipewire -v
    eventually has_real_time pipewire
    grep -q 'acquired realtime priority 20 for thread' "$WORK/session.out"
    pkill -TERM -u $ALICE -x pipewire
    wait "$SESSION" || true
    in_session pulseaudio -n --daemonize=no --exit-idle-time=-1 --realtime=yes -L module-null-sink -L module-native-protocol-unix
    eventually has_real_time pulseaudio
    pkill -TERM -u $ALICE -x pulseaudio
    wait "$SESSION" || true
    configure_rules "$BOB - max_utilization 0.3" "$ALICE - max_runtime 500us"
    kill -HUP "$BROKER"
    eventually grep -q '"decision":"reloaded"' "$EVENTS"
    in_session pipewire -v
    eventually grep -q 'mod.rt.*RTKit' "$WORK/session.out"
    no has_real_time pipewire
    pgrep -u $ALICE -x pipewire
}

@test "PipeWire and PulseAudio get their threads without options under the configuration as shipped" {
    configure_as_shipped
    broker_start
    serves
    for program in pipewire 'pulseaudio -n --daemonize=no --exit-idle-time=-1 --realtime=yes -L module-null-sink'; do
        # shellcheck disable=SC2086 # words
        in_session $program
        eventually has_real_time_of "${program%% *}"
        [ "$(jq -c '[.grant.runtime, .grant.period]' "$SPECS/$ALICE"/rtkit-*.verdict | sort -u)" = '[1000,10000]' ]
        pkill -TERM -u $ALICE -x "${program%% *}"
        wait "$SESSION" || true
    done
}

@test "rtf-rtkit ends with its bus, so that it is started anew" {
    broker_start
    serves
    client $ALICE 7
    pkill -KILL -f -- "--config-file=$WORK/bus.conf"
    has_ended() { no kill -0 "$RTKIT" 2>/dev/null; }
    eventually has_ended
    wait "$RTKIT" || status=$?
    [ "$status" -eq 71 ]
    grep -q '^rtf-rtkit: the bus: ' "$WORK/rtkit.err"
    no_worker() { no pgrep -f "^$RTF_LIBEXEC/rtf-rtkit"; }
    eventually no_worker
}

@test "its AppArmor profile is one" {
    command -v apparmor_parser >/dev/null || skip 'apparmor_parser is not here'
    apparmor_parser --skip-kernel-load --skip-cache --skip-read-cache "$RTF_SOURCE/contrib/apparmor/usr.libexec.rtf.rtf-rtkit"
}
