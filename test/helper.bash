# All tests share this file: a broker on a private spool, unprivileged users, and the kernel's view of a thread.
#
# Users are numeric uids without accounts; GROUP is the spool's group. Every process that a test starts is
# recorded in $WORK/pids and ended in teardown, which also proves that the machine is as it was.

GROUP=20000
# test/run runs several files side by side, each in a lane. Each lane has users of its own: RTF_UIDS differs.
ALICE=$((20017 + ${RTF_UIDS:-0}))
BOB=$((20018 + ${RTF_UIDS:-0}))
CAROL=$((20019 + ${RTF_UIDS:-0}))
ALL_CPUS=$(</sys/devices/system/cpu/online)
PATIENCE=${RTF_PATIENCE:-1} # how many times slower than usual the machine may be

setup() {
    # bats notes the line of each command, which takes longer than most commands. The lines of the test itself are enough.
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
        # A failed test may have left the broker stopped. A stopped broker does not take SIGTERM.
        kill -CONT "$BROKER"
        broker_stop TERM
    fi
    while read -r pid; do
        # A function in the background is a shell. The program that the function runs is a child of this shell.
        kill -STOP "$pid" 2>/dev/null || continue
        for child in $(children "$pid"); do kill -KILL "$child" 2>/dev/null || true; done
        kill -KILL "$pid" 2>/dev/null || true
    done <"$WORK/pids"
    # A broker that a test killed leaves its helper processes. These end at end-of-file.
    eventually none_of_ours
    forget_places
    eventually rt_limit_is_back
    # A process that still writes here ends in a moment. If it does not, the test has a fault.
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

# place_of SPOOL: prints the directory of its journal
place_of() { printf '/run/rtf/%s-%x\n' $(stat -c '%D %i' "$1"); }

# The journal of a spool stays in memory when the spool is removed, until the next boot. $WORK/places has the journals of spools that a test may have
# removed or unmounted.
forget_places() {
    local link place
    if [ -f "$WORK/places" ]; then
        while read -r place; do rm -rf "$place"; done <"$WORK/places"
    fi
    for link in "$WORK"/*/state/current "$WORK"/*/*/state/current; do
        [ ! -L "$link" ] || { place=$(readlink "$link") && [[ $place != /run/rtf/*-* ]] || rm -rf "$place"; }
    done
    # This removes what a killed broker left, and /run/rtf if it is empty.
    "$RTF_LIBEXEC/rtf-brokers" >"$WORK/brokers"
}

# children PROCESS: the ids of its children, a line each. Only builtins are used: pgrep looks at each process of the machine.
children() {
    local file child
    for file in "/proc/$1/task/"*/children; do
        { read -r -d '' file <"$file" || true; } 2>/dev/null
        for child in $file; do [ ! -d "/proc/$child" ] || echo "$child"; done
    done
}

# launcher: the id of the launcher, a child of the broker. helpers [REGEX]: the ids of the launcher's children, the broker's helper processes; with
# REGEX, only of helpers with a matching command line.
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

# once_of NUMBER COMMAND...: tries at most this many times until the command succeeds. This is for measurements of time: the host of a virtual
# machine stops it for 10 ms now and then. A fault fails each time.
once_of() {
    local tries=$1
    shift
    for ((; tries > 1; tries--)); do
        if "$@"; then return; fi
    done
    "$@"
}

readers_have_ended() { [ -z "$(helpers rtf-reader)" ]; }

# private_tree: makes a copy of the programs. A test may replace and remove programs there.
private_tree() {
    mkdir "$WORK/tree"
    cp -a "$RTF_STAGE/usr" "$WORK/tree/"
    RTF_LIBEXEC=$WORK/tree/usr/libexec/rtf
}

# has_watches NUMBER: the broker watches this many threads. rtf-attach hands the broker a perf event for each thread, a moment after the thread
# is attached. A thread that is made ordinary before this may be another one, which took over the id by execve(2).
has_watches() { [ "$(find "/proc/$BROKER/fd" -lname 'anon_inode:*perf_event*' | wc -l)" = "$1" ]; }

# grep takes a third of the time of pgrep. The brackets keep grep's own command line from matching.
none_of_ours() { ! grep -qs "$RTF_STAGE/usr/libexec/rtf[/]" /proc/[0-9]*/cmdline; }

configure_plugins() {
    printf '%s\n' "$@" | if [ "$PATIENCE" -gt 1 ]; then sed "/timeout=/! s/\$/ timeout=$((100 * PATIENCE))ms/"; else cat; fi >"$CONFIG/plugins.conf"
}
# The configuration of etc/, with Alice in the place of the group.
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
    place_of "$SPOOL" >>"$WORK/places"
}

# second_broker: starts a broker with a spool of its own, in $WORK/other, and the same configuration. Returns when it serves. $SECOND is its process.
second_broker() {
    "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$WORK/other/spool" --config "$CONFIG" --group "$GROUP" >"$WORK/second" 2>&1 3>&- &
    SECOND=$!
    echo "$SECOND" >>"$WORK/pids"
    eventually second_serves
}
second_serves() { [ -p "$WORK/other/spool/alive" ] && dd if=/dev/null of="$WORK/other/spool/alive" oflag=nonblock conv=notrunc status=none 2>/dev/null; }

# broker_begins: starts a broker whose plugin does not greet until $WORK/greet exists. Until then the broker is starting.
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

# The FIFO has a reader, or the broker has ended. The caller notices an ended broker.
broker_serves() {
    kill -0 "$BROKER" 2>/dev/null || return 0
    [ -p "$SPOOL/alive" ] && dd if=/dev/null of="$SPOOL/alive" oflag=nonblock conv=notrunc status=none 2>/dev/null
}

# broker_stop SIGNAL: sends the signal, and waits for the broker's end.
broker_stop() {
    kill -"$1" "$BROKER"
    wait "$BROKER" 2>/dev/null || true
    BROKER=
}

# No signal to the broker is pending.
has_taken_signals() { grep -q '^ShdPnd:.0*$' "/proc/$BROKER/status"; }

# told EXPRESSION JSON: the expression is true of this JSON.
told() { [[ "$(field "$1" "$2")" != @(|null|false) ]] || { echo "$2" >&2; return 1; }; }

# is_attached UID NAME TID
is_attached() { told ".thread.tid == $3 and .thread.state == \"attached\"" "$(cat "$SPECS/$1/$2.verdict")" 2>/dev/null; }

milliseconds() { echo $((${EPOCHREALTIME/./} / 1000)); }

# A zombie counts as gone.
is_gone() { local line; [ ! -e "/proc/$1" ] || { { read -r line <"/proc/$1/stat"; } 2>/dev/null && [[ $line == *') Z '* ]]; }; }

# Alice may have 90 ms of 100. A used reservation of 2 ms/20 ms keeps its share for up to 60 ms after its end, until its 0-lag time. A spec that asks for
# all 90 ms waits until then.
all_is_free() { as $ALICE env USER=$ALICE "$RTF_LIBEXEC/front/rtf-what-if" --spool "$SPOOL" -T 90ms -P 100ms >/dev/null 2>&1; }

# eventually COMMAND...: tries until the command succeeds, at most ten seconds. The pauses grow, because each try takes CPU time.
eventually() {
    local deadline=$((SECONDS + 10 * PATIENCE)) tries=0
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || { echo "did not come true: $*" >&2; return 1; }
        read -rt "0.0$((++tries < 20 ? 1 : tries < 50 ? 2 : 5))" <>"$RTF_STAGE/nothing" || true # sleep(1) is a program
    done
}

# finds_nothing WORD...: find(1) finds no file.
finds_nothing() { [ -z "$(find "$@")" ]; }

# is_seen_as PATTERN TID: waits until the kernel's view of the thread (test/kernel-view.c) matches the pattern. This is for a thread that is real-time
# for a part of each period only: `eventually` may look at the same part of each period. CPU 0 must be free for this.
is_seen_as() {
    timeout "$((10 * PATIENCE))" chrt -f 1 taskset -c 0 "$RTF_STAGE/kernel-view" "$2" "$1" >"$WORK/view" && return
    echo "thread $2 was never seen as $1; it is $(view "$2" || true)" >&2
    return 1
}

# as UID COMMAND...: runs a command as this user, in the spool's group.
as() {
    local uid=$1
    shift
    setpriv --reuid "$uid" --regid "$uid" --groups "$GROUP" -- "$@"
}

# become UID COMMAND...: like `as`, for the background, where $! must be the command itself: become ... &
become() { exec setpriv --reuid "$1" --regid "$1" --groups "$GROUP" -- "${@:2}"; }

# stranger UID COMMAND...: runs a command as this user, without the spool's group.
stranger() {
    local uid=$1
    shift
    setpriv --reuid "$uid" --regid "$uid" --clear-groups -- "$@"
}

# spec UID NAME JSON: puts the spec in place by a rename, waits for the verdict, and prints it.
spec() {
    put "$@"
    verdict "$1" "$2"
}

# put UID NAME JSON: puts the spec in place by a rename.
put() {
    as "$1" sh -c '{ [ -d "$1" ] || mkdir -p "$1"; } && cd "$1" && printf "%s\n" "$3" >".$2.new" && exec mv ".$2.new" "$2.json"' sh "$SPECS/$1" "$2" "$3"
}

# verdict UID NAME: waits until the verdict answers the current files, and prints the verdict.
verdict() {
    USER="$1" as "$1" "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout "$((10 * PATIENCE))s" "$2" || true
}

# Tests run jq thousands of times. jq takes 40 ms to start, gojq 4 ms. gojq does not keep the order of keys: a test of this order calls `command jq`.
# Tests run Python without its site packages (-S) for the same reason: they take most of its start.
jq() { command gojq "$@"; }

# invariants: runs rtf-invariants(8) on the spool, with gojq in the place of jq. Tests run this program hundreds of times, and jq takes 0.2 s each time.
# test/invariants.bats runs the program with jq.
invariants() { PATH="$RTF_STAGE/gojq:$PATH" "$RTF_LIBEXEC/rtf-invariants" --spool "$SPOOL"; }

# field EXPRESSION JSON: prints the raw result of jq.
field() { jq -r "$1" <<<"$2"; }

# attach UID NAME TID: writes NAME.tid, and prints the verdict.
attach() {
    as "$1" sh -c 'echo "$2" >"$1"' sh "$SPECS/$1/$2.tid" "$3"
    verdict "$1" "$2"
}

# compile_once SOURCE...: compiles a C program once for all tests of a file. The program is in $RTF_STAGE, under the name of the source.
compile_once() {
    local source name
    for source; do
        name=${source##*/}
        name=${name%.c}
        [ ! -x "$RTF_STAGE/$name" ] || continue
        # a file of another lane may compile the same program at the same time
        cc -std=c17 -D_GNU_SOURCE -O2 -pthread -o "$WORK/$name" "$source" && mv -f "$WORK/$name" "$RTF_STAGE/$name" || return
    done
}

# sleeper [UID]: starts a sleeping process of this user. $SLEEPER is its id.
SLEEPS=${BATS_TEST_TIMEOUT:-300} # s: the time that a test may take
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

# kernel TID: prints policy, priority, nice, runtime/deadline/period in us, affinity and reset-on-fork on one
# line, as "fifo 15 nice=0 0/0/0 cpus=1 reset=1".
kernel() { "$RTF_STAGE/kernel-view" "$1"; }

# with_debugfs COMMAND...: runs a command in a mount namespace with debugfs.
with_debugfs() { unshare --mount sh -c '[ -e /sys/kernel/debug/sched ] || mount -t debugfs none /sys/kernel/debug; exec "$@"' sh "$@"; }
# taken: prints the sum of the bandwidth of SCHED_DEADLINE threads in the kernel.
taken() { with_debugfs grep -m 1 total_bw /sys/kernel/debug/sched/debug; }
count_anew() { cat /proc/sys/kernel/sched_rt_runtime_us >/proc/sys/kernel/sched_rt_runtime_us; }

# The kernel's sum stays the same for a second. The kernel subtracts a thread that has ended, or was made ordinary, at the thread's 0-lag time:
# a sum that was read earlier is then too large. No thread of the tests has a longer period.
account_is_settled() {
    local before
    count_anew
    before=$(taken)
    sleep 1
    [ "$(taken)" = "$before" ]
}

# is_counted TID: the kernel finds the thread, which becomes SCHED_DEADLINE, when the kernel counts anew what is taken. The kernel's sum may be
# wrong already, by a thread of another test that ended while scheduling domains were made. So the kernel counts anew first.
is_counted() {
    eventually account_is_settled
    chrt --deadline --sched-runtime 1000000 --sched-period 10000000 --pid 0 "$1"
    local before
    before=$(taken)
    count_anew
    [ "$(taken)" = "$before" ] || { echo "taken before: $before, and counted anew: $(taken)" >&2; return 1; }
}

is_policy() { [[ $(kernel "$1") == "$2 "* ]]; }

# hog UID: starts a process of this user that spins, until this test ends at the latest. $HOG is its id.
hog() {
    become "$1" sh -c 'while [ -d "/proc/$1" ]; do :; done' sh $$ 3>&- &
    HOG=$!
    echo "$HOG" >>"$WORK/pids"
    eventually is_sh "$HOG"
}
is_sh() { is_program "$1" sh; }

# has_lock FILE TID: this thread has the lock that test/attack/inherit.c made in the file. The lock is the id of the thread, and a bit if others wait.
has_lock() { [ "$((0x$(od -An -tx4 -N4 "$1" 2>/dev/null | tr -d ' ' || :) & 0x3fffffff))" -eq "$2" ] 2>/dev/null; }

# consumed TID: prints its CPU time in ms.
consumed() { awk '{ printf "%d\n", $1 / 1000000 }' "/proc/$1/task/$1/schedstat"; }
is_zombie() { [[ $(cat "/proc/$1/stat") == *") Z "* ]]; }
has_consumed() { [ "$(consumed "$1")" -ge "$2" ]; }

# replaceable UID [COMMAND...]: starts a process of this user, $HOG, with two threads. The first thread sleeps. When $WORK/go exists, the second thread
# calls execve for the command, or for a loop, and takes over the id of the first.
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

# ---- assertions

no() { if "$@"; then return 1; fi; }

# said EXPRESSION VALUE JSON: the expression has this value.
said() {
    local found
    found=$(jq -c "$1" <<<"$3")
    [ "$found" = "$2" ] || [ "$found" = "$(jq -c . <<<"$2")" ] || { echo "$1 is $found, not $2, in $3"; return 1; }
}

# says UID NAME EXPRESSION: the expression is true of the verdict that answers the current files. The function waits for this verdict.
says() {
    local answer
    answer=$(verdict "$1" "$2")
    [ "$(field "$3" "$answer")" = true ] || { echo "$1/$2: $answer" >&2; return 1; }
}

# shows TID VIEW: the kernel has this view of the thread, in the form of `kernel`.
shows() {
    local view
    view=$(kernel "$1")
    [ "$view" = "$2" ] || { echo "thread $1 is $view" >&2; return 1; }
}

# logged COUNT EXPRESSION: the expression is true of this number of events.
logged() { [ "$(jq -s "[.[] | select($2)] | length" "$EVENTS")" = "$1" ]; }

has_ended() { ! kill -0 "$1" 2>/dev/null; }
is_stopped() { [[ $(cat "/proc/$1/stat") == *') T '* ]]; }
is_traced() { [ "$(awk '/^TracerPid/ { print $2 }' "/proc/$1/status" 2>/dev/null)" != 0 ]; }

# has_misbehaved NAME: the plugin of test/fixtures has done the fault that $WORK/switch/NAME names.
has_misbehaved() { grep -qx "misbehaved $WORK/switch/$1 $(stat -c %i "$WORK/switch/$1")" "$WORK/broker.out"; }

# company CPU...: on each of these CPUs a process of nice 0 spins as long as the test lasts, also if the test limits its own CPU time. The loop looks for this
# shell now and then only. With PREEMPT_RT each look may sleep for a lock that a process on a CPU with a boosted thread holds.
company() {
    local cpu
    for cpu; do
        taskset -c "$cpu" sh -c 'ulimit -t unlimited; i=0; while i=$((i + 1)); [ "$((i % 100000))" -gt 0 ] || [ -d "/proc/$1" ]; do :; done' sh $$ 3>&- &
        echo "$!" >>"$WORK/pids"
    done
}
