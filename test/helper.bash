# What all tests share: a broker on a private spool, unprivileged users, and the kernel's view of a thread.
#
# Users are numeric uids without accounts; GROUP is the spool's group. Every process that a test starts is
# recorded in $WORK/pids and ended in teardown, which also proves that the machine is as it was.

GROUP=20000
# Files that are run beside others (test/run) have users of their own.
ALICE=$((20017 + ${RTF_UIDS:-0}))
BOB=$((20018 + ${RTF_UIDS:-0}))
CAROL=$((20019 + ${RTF_UIDS:-0}))
ALL_CPUS=$(</sys/devices/system/cpu/online)
PATIENCE=${RTF_PATIENCE:-1} # how many times slower than usual the machine may be

setup() {
    # bats notes the line of each command, which takes longer than most of them. That of the test is enough.
    set +T
    declare -ft "$BATS_TEST_NAME"
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/rtf-test.XXXXXX")
    chmod 755 "$WORK"
    SPOOL=$WORK/spool
    CONFIG=$WORK/etc
    SPECS=$SPOOL/specs
    EVENTS=$SPOOL/log/events.ndjson
    mkdir "$CONFIG"
    : >"$WORK/pids"
    BROKER=
    RT_RUNTIME=$(rt_limit)
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 2" "$BOB - max_utilization 2" "$CAROL - max_utilization 2"
    if declare -F prepare >/dev/null; then prepare; fi
}

teardown() {
    if [ -z "${BATS_TEST_COMPLETED:-}" ] && [ -s "$WORK/broker.out" ]; then tail -n 3 "$WORK/broker.out" >&2; fi
    if declare -F tidy >/dev/null; then tidy; fi
    if [ -n "$BROKER" ] && kill -0 "$BROKER" 2>/dev/null; then
        # A test that failed may have stopped the broker, which takes SIGTERM only when it runs.
        kill -CONT "$BROKER"
        broker_stop TERM
    fi
    while read -r pid; do
        # A function in the background is a shell, and the program that it runs is a child of that.
        kill -STOP "$pid" 2>/dev/null || continue
        for child in $(children "$pid"); do kill -KILL "$child" 2>/dev/null || true; done
        kill -KILL "$pid" 2>/dev/null || true
    done <"$WORK/pids"
    # A broker that a test killed leaves its helper processes, which end at end-of-file.
    eventually none_of_ours
    forget_places
    eventually rt_limit_is_back
    # Whoever wrote there ends in a moment; whoever does not is a fault of the test.
    eventually rm -rf "$WORK" 2>/dev/null
}

# rt_limit: the kernel's limit for real-time threads as it is while no broker lifts it (partition=unthrottled). A broker of another lane (test/run) may
# lift it at any time. The record names the limit before a broker lifts it, and until the limit is back.
rt_limit() {
    local limit key value
    limit=$(</proc/sys/kernel/sched_rt_runtime_us)
    if [ "$limit" = -1 ]; then
        { while IFS='=' read -r key value && [ "$key" != former ]; do :; done </run/rtf/throttle; } 2>/dev/null || value=
        limit=${value:-$(</proc/sys/kernel/sched_rt_runtime_us)}
    fi
    echo "$limit"
}
rt_limit_is_back() { ! grep -qs "^by=$WORK/" /run/rtf/throttle && [ "$(rt_limit)" = "$RT_RUNTIME" ]; }

# place_of SPOOL: the directory of its journal
place_of() { printf '/run/rtf/%s-%x' $(stat -c '%D %i' "$1"); }

# What a spool had in force stays in memory when the spool is removed, until the next boot.
forget_places() {
    local link place
    for link in "$WORK"/*/state/current "$WORK"/*/*/state/current; do
        [ ! -L "$link" ] || { place=$(readlink "$link") && [[ $place != /run/rtf/*-* ]] || rm -rf "$place"; }
    done
    # What a broker left that was killed, and /run/rtf, if nothing is in it.
    "$RTF_LIBEXEC/rtf-brokers" >"$WORK/brokers"
}

# children PROCESS: their ids, a line each. Nothing but builtins: pgrep looks at each process of the machine.
children() {
    local file child
    for file in "/proc/$1/task/"*/children; do
        { read -r -d '' file <"$file" || true; } 2>/dev/null
        for child in $file; do [ ! -d "/proc/$child" ] || echo "$child"; done
    done
}

# The broker's helper processes are children of a child of its, the launcher: its id; their ids, of all or of those whose command line matches.
launcher() { children "$BROKER"; }
helpers() {
    local child words status=1
    for child in $(children "$(launcher)"); do
        { mapfile -d '' words <"/proc/$child/cmdline"; } 2>/dev/null || continue
        if [[ "${words[*]}" =~ ${1:-.} ]]; then
            echo "$child"
            status=0
        fi
    done
    return $status
}

# once_of NUMBER COMMAND...: it succeeds once. For what measures time: the host of a virtual machine stops that for 10 ms now and then. What
# is wrong fails each time.
once_of() {
    local tries=$1
    shift
    for ((; tries > 1; tries--)); do
        if "$@"; then return; fi
    done
    "$@"
}

readers_have_ended() { [ -z "$(helpers rtf-reader)" ]; }

# private_tree: a copy of the programs, which a test may replace or remove
private_tree() {
    mkdir "$WORK/tree"
    cp -a "$RTF_STAGE/usr" "$WORK/tree/"
    RTF_LIBEXEC=$WORK/tree/usr/libexec/rtf
}

# has_watches NUMBER: so many threads are watched by the broker (rtf-attach hands it a perf event for each, a moment after it is attached). Who is made
# ordinary before that may be another one, who has taken the id over by execve(2).
has_watches() { [ "$(find "/proc/$BROKER/fd" -lname 'anon_inode:*perf_event*' | wc -l)" = "$1" ]; }

# By grep, which takes a third of the time of pgrep; its own words do not match.
none_of_ours() { ! grep -qs "$RTF_STAGE/usr/libexec/rtf[/]" /proc/[0-9]*/cmdline; }

configure_plugins() {
    printf '%s\n' "$@" | if [ "$PATIENCE" -gt 1 ]; then sed "/timeout=/! s/\$/ timeout=$((100 * PATIENCE))ms/"; else cat; fi >"$CONFIG/plugins.conf"
}
# As etc/ is shipped, with Alice in the place of the group.
configure_as_shipped() {
    local lines
    mapfile -t lines <"$RTF_SOURCE/etc/plugins.conf"
    configure_plugins "${lines[@]}"
    sed "s/^@rtf /$ALICE /" "$RTF_SOURCE/etc/acl.conf" >"$CONFIG/acl.conf"
    grep -q "^$ALICE " "$CONFIG/acl.conf"
}
configure_rules() { printf '%s\n' "$@" >"$CONFIG/acl.conf"; }

# broker_start [OPTION...]: returns when clients can be served. Its output is in $WORK/broker.out.
broker_start() {
    ${RTF_NET:+nsenter --net="$RTF_NET"} "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" \
        ${RTF_PLUGIN_USER:+--plugin-user "$RTF_PLUGIN_USER"} "$@" >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves || { cat "$WORK/broker.out" >&2; return 1; }
}

# second_broker: one with a spool of its own, in $WORK/other, and the same configuration; its process in $SECOND. It serves.
second_broker() {
    "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$WORK/other/spool" --config "$CONFIG" --group "$GROUP" >"$WORK/second" 2>&1 3>&- &
    SECOND=$!
    echo "$SECOND" >>"$WORK/pids"
    eventually second_serves
}
second_serves() { [ -p "$WORK/other/spool/alive" ] && dd if=/dev/null of="$WORK/other/spool/alive" oflag=nonblock conv=notrunc status=none 2>/dev/null; }

# broker_begins: a broker that is starting until $WORK/greet is there, for its plugin greets only then.
broker_begins() {
    printf '#!/bin/sh\nwhile [ ! -e "%s" ]; do sleep 0.05; done\nexec "%s" "$@"\n' "$WORK/greet" "$RTF_LIBEXEC/plugins/edf" >"$WORK/slow"
    chmod 755 "$WORK/slow"
    configure_plugins "EDF $WORK/slow - all partition=global threshold=0.9"
    "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" \
        ${RTF_PLUGIN_USER:+--plugin-user "$RTF_PLUGIN_USER"} >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually pgrep -f "$WORK/slow" >/dev/null
}

# The FIFO has a reader; or the broker has ended, which the caller will find out.
broker_serves() {
    kill -0 "$BROKER" 2>/dev/null || return 0
    [ -p "$SPOOL/alive" ] && dd if=/dev/null of="$SPOOL/alive" oflag=nonblock conv=notrunc status=none 2>/dev/null
}

# broker_stop SIGNAL: and waits for its end.
broker_stop() {
    kill -"$1" "$BROKER"
    wait "$BROKER" 2>/dev/null || true
    BROKER=
}

# The broker has taken each signal that was sent.
has_taken_signals() { grep -q '^ShdPnd:.0*$' "/proc/$BROKER/status"; }

# told EXPRESSION JSON: it holds.
told() { [[ "$(field "$1" "$2")" != @(|null|false) ]] || { echo "$2" >&2; return 1; }; }

# is_attached UID NAME TID
is_attached() { told ".thread.tid == $3 and .thread.state == \"attached\"" "$(cat "$SPECS/$1/$2.verdict")" 2>/dev/null; }

milliseconds() { echo $((${EPOCHREALTIME/./} / 1000)); }

# A zombie is, too.
is_gone() { local line; [ ! -e "/proc/$1" ] || { { read -r line <"/proc/$1/stat"; } 2>/dev/null && [[ $line == *') Z '* ]]; }; }

# Alice may have 90 ms of 100. A used reservation of 2 ms/20 ms keeps its share for up to 60 ms after its end, until its 0-lag time: who asks for all
# there is waits until that is paid back.
all_is_free() { as $ALICE env USER=$ALICE "$RTF_LIBEXEC/front/rtf-what-if" --spool "$SPOOL" -T 90ms -P 100ms >/dev/null 2>&1; }

# eventually COMMAND...: tries until it succeeds, at most ten seconds; less often the longer it takes, for what is tried has its cost, too.
eventually() {
    local deadline=$((SECONDS + 10 * PATIENCE)) tries=0
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || { echo "did not come true: $*" >&2; return 1; }
        read -rt "0.0$((++tries < 20 ? 1 : tries < 50 ? 2 : 5))" <>"$RTF_STAGE/nothing" || true # sleep(1) is a program
    done
}

# as UID COMMAND...: as that user, who is in the spool's group.
as() {
    local uid=$1
    shift
    setpriv --reuid "$uid" --regid "$uid" --groups "$GROUP" -- "$@"
}

# become UID COMMAND...: the same for the background, where $! has to be the command itself: become ... &
become() { exec setpriv --reuid "$1" --regid "$1" --groups "$GROUP" -- "${@:2}"; }

# stranger UID COMMAND...: as a user who is not.
stranger() {
    local uid=$1
    shift
    setpriv --reuid "$uid" --regid "$uid" --clear-groups -- "$@"
}

# spec UID NAME JSON: drops it as a careful user does, and waits for the verdict, which is printed.
spec() {
    put "$@"
    verdict "$1" "$2"
}

# put UID NAME JSON: only drops it.
put() {
    as "$1" sh -c '{ [ -d "$1" ] || mkdir -p "$1"; } && cd "$1" && printf "%s\n" "$3" >".$2.new" && exec mv ".$2.new" "$2.json"' sh "$SPECS/$1" "$2" "$3"
}

# verdict UID NAME: waits until it answers the files that are there, and prints it.
verdict() {
    USER="$1" as "$1" "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout "$((10 * PATIENCE))s" "$2" || true
}

# Tests ask jq thousands of things, and it takes 40 ms to start; gojq says the same in 4, but for the order of keys, which it does not keep: who looks
# at that, calls `command jq`. Python is called without its site packages (-S) for the same reason: they are most of its start.
jq() { command gojq "$@"; }

# field EXPRESSION JSON: what jq says, raw.
field() { jq -r "$1" <<<"$2"; }

# attach UID NAME TID: through NAME.tid; prints the verdict.
attach() {
    as "$1" sh -c 'echo "$2" >"$1"' sh "$SPECS/$1/$2.tid" "$3"
    verdict "$1" "$2"
}

# sleeper [UID]: a sleeping process of that user; its pid in $SLEEPER.
SLEEPS=${BATS_TEST_TIMEOUT:-300} # s: as long as a test may take
sleeper() {
    if [ -n "${1:-}" ]; then
        setpriv --reuid "$1" --regid "$1" --clear-groups -- sleep "$SLEEPS" >/dev/null 2>&1 3>&- &
    else
        sleep "$SLEEPS" >/dev/null 2>&1 3>&- &
    fi
    SLEEPER=$!
    echo "$SLEEPER" >>"$WORK/pids"
    eventually is_sleep "$SLEEPER"
}

is_program() { local comm; { read -r comm <"/proc/$1/comm"; } 2>/dev/null && [ "$comm" = "$2" ]; }
is_sleep() { is_program "$1" sleep; }

# kernel TID: policy, priority, nice, runtime/deadline/period in us, affinity, reset-on-fork, on one line, as
# "fifo 15 nice=0 0/0/0 cpus=1 reset=1".
kernel() { "$RTF_STAGE/kernel-view" "$1"; }

# with_debugfs COMMAND...: in a mount namespace of its own.
with_debugfs() { unshare --mount sh -c '[ -e /sys/kernel/debug/sched ] || mount -t debugfs none /sys/kernel/debug; exec "$@"' sh "$@"; }
# What the kernel counts as granted to SCHED_DEADLINE threads.
taken() { with_debugfs grep -m 1 total_bw /sys/kernel/debug/sched/debug; }

is_policy() { [[ $(kernel "$1") == "$2 "* ]]; }

# hog UID: a process of that user that spins, not longer than this test; its id in $HOG.
hog() {
    become "$1" sh -c 'while [ -d "/proc/$1" ]; do :; done' sh $$ 3>&- &
    HOG=$!
    echo "$HOG" >>"$WORK/pids"
    eventually is_sh "$HOG"
}
is_sh() { is_program "$1" sh; }

# consumed TID: its CPU time in ms.
consumed() { awk '{ printf "%d\n", $1 / 1000000 }' "/proc/$1/task/$1/schedstat"; }
has_consumed() { [ "$(consumed "$1")" -ge "$2" ]; }

# replaceable UID [COMMAND...]: a process of that user, in $HOG, whose first thread sleeps; when $WORK/go is there, the second calls
# execve, and takes the first one's id over, for that command or a loop.
replaceable() {
    cat >"$WORK/replaced.py" <<'END'
import os, sys, threading, time
def second():
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    os.execvp(sys.argv[2], sys.argv[2:])
threading.Thread(target=second, daemon=True).start()
while True:
    time.sleep(100)
END
    [ $# -gt 1 ] || set -- "$1" sh -c "while [ -d /proc/$$ ]; do :; done"
    become "$1" /usr/bin/python3 -S "$WORK/replaced.py" "$WORK/go" "${@:2}" 3>&- &
    HOG=$!
    echo "$HOG" >>"$WORK/pids"
    eventually has_two_threads "$HOG"
}
has_two_threads() { [ "$(ls "/proc/$1/task" 2>/dev/null | wc -l)" -eq 2 ]; }

# ---- what is so

no() { if "$@"; then return 1; fi; }

# said EXPRESSION VALUE JSON: jq finds that there.
said() {
    local found
    found=$(jq -c "$1" <<<"$3")
    [ "$found" = "$2" ] || [ "$found" = "$(jq -c . <<<"$2")" ] || { echo "$1 is $found, not $2, in $3"; return 1; }
}

# says UID NAME EXPRESSION: the verdict that answers the files that are there; it is waited for.
says() {
    local answer
    answer=$(verdict "$1" "$2")
    [ "$(field "$3" "$answer")" = true ] || { echo "$1/$2: $answer" >&2; return 1; }
}

# shows TID VIEW: as the kernel has it.
shows() {
    local view
    view=$(kernel "$1")
    [ "$view" = "$2" ] || { echo "thread $1 is $view" >&2; return 1; }
}

# logged COUNT EXPRESSION: of so many events that is true.
logged() { [ "$(jq -s "[.[] | select($2)] | length" "$EVENTS")" = "$1" ]; }

has_ended() { ! kill -0 "$1" 2>/dev/null; }
is_stopped() { [[ $(cat "/proc/$1/stat") == *') T '* ]]; }
is_traced() { [ "$(awk '/^TracerPid/ { print $2 }' "/proc/$1/status" 2>/dev/null)" != 0 ]; }

# The plugin in test/fixtures that is told what to do wrong by $WORK/switch/NAME has done it.
has_misbehaved() { grep -qx "misbehaved $WORK/switch/$1 $(stat -c %i "$WORK/switch/$1")" "$WORK/broker.out"; }
