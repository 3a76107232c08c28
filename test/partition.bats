# bats file_tags=lane:alone
# partition=cpuset and confine=cpuset: a scheduling domain for each CPU. And for every partition=: after many attachments (ATTACHMENTS, each of two
# threads) the kernel's bandwidth is as before.
load helper

CPUSETS=/sys/fs/cgroup/cpuset # the hierarchy of version 1, which some machines have; otherwise of version 2
[ -e "$CPUSETS/cpuset.sched_load_balance" ] || CPUSETS=/sys/fs/cgroup

prepare() {
    configure_plugins 'EDF edf - 1 partition=cpuset' 'FP fp 11-20 1 confine=cpuset' 'LOW fp 1-10 0'
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 100"
    mkdir -m 777 "$WORK/out"
    HOG=
    HOME_GROUP=$(group $$) # the group in which all processes of a test begin
}

# Removes what a failed test left: no other domain may exist.
tidy() {
    if [ -e /run/rtf/domains ] && [ -n "$BROKER" ]; then broker_stop TERM; fi
    if [ -n "$HOG" ]; then kill -KILL "$HOG" 2>/dev/null || true; fi
    if [ -e /run/rtf/domains ]; then eventually no_domains; fi
}

no_domains() { "$RTF_LIBEXEC/rtf-partition" restore 2>/dev/null; }

has_v1() { [ "$CPUSETS" != /sys/fs/cgroup ]; }

# group PROCESS: prints the group of the process in the hierarchy with the cpuset controller, such as / or /rtf-1/t42.100.
group() { sed -n "s/^[0-9]*:$(if has_v1; then echo cpuset; fi)://p" "/proc/$1/cgroup"; }
is_home() { [ "$(group "$1")" = "$HOME_GROUP" ]; }

# everywhere: prints the CPUs that are open to all; with version 2, without the CPUs of domains.
everywhere() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status; }
last_of() { sed 's/.*[,-]//' <<<"$1"; }

# account: prints the kernel's bandwidth account, CPU by CPU, in 2^-20 of a CPU. Where debugfs is not mounted, it is mounted only for this look.
account() {
    unshare --mount sh -c '[ -e /sys/kernel/debug/sched ] || mount -t debugfs none /sys/kernel/debug; sed -n "s/^ *.dl_bw->total_bw *: //p" /sys/kernel/debug/sched/debug' | paste -sd ' '
}

# machine: prints the state that must be the same afterwards: bandwidth, cpusets, sysctls.
machine() {
    account
    find "$CPUSETS" -name 'rtf-*' | sort
    if has_v1; then cat "$CPUSETS/cpuset.sched_load_balance"; else cat "$CPUSETS/cgroup.subtree_control"; fi
    cat /proc/sys/kernel/sched_rt_runtime_us /sys/devices/system/cpu/online
    ls /run/rtf/domains 2>/dev/null || true
}

is_machine() { [ "$(machine)" = "$1" ]; }

# waker UID: starts a process, $WAKER, that sleeps until somebody writes to the FIFO $WORK/wake.
waker() {
    mkfifo -m 666 "$WORK/wake"
    become "$1" sh -c 'read -r _ <"$1"; while :; do read -r _ <"$1" || sleep 1; done' sh "$WORK/wake" 3>&- &
    WAKER=$!
    echo "$WAKER" >>"$WORK/pids"
}

wake() { echo >"$WORK/wake"; }

# pending_waker: attaches Alice's waker while the waker sleeps on CPU 0, and the domain has CPU 1
pending_waker() {
    waker $ALICE
    taskset -pc 0 "$WAKER" >/dev/null
    wake
    spec $ALICE cam "$cam" >/dev/null
    attach $ALICE cam "$WAKER" >/dev/null
}

says() { [ "$(field "$3" "$(cat "$SPECS/$1/$2.verdict")")" = "$4" ]; }

cam='{"runtime": "1ms", "period": "10ms", "plugin": "EDF"}'
as_granted='deadline 0 nice=0 1000/10000/10000 cpus=1 reset=1'

@test "a thread that runs is alone with its kind on its CPU, and is where it was after the detach" {
    broker_start
    hog $ALICE
    taskset -pc 0 "$HOG" >/dev/null
    spec $ALICE cam "$cam" >/dev/null
    [ "$(attach $ALICE cam "$HOG" | jq -r '.result + " " + .thread.state')" = "OK attached" ]
    [ "$(kernel "$HOG")" = "$as_granted" ]
    [[ $(group "$HOG") == /rtf-1/t$HOG.* ]]
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    verdict $ALICE cam >/dev/null
    [ "$(kernel "$HOG")" = 'other 0 nice=0 0/0/0 cpus=0 reset=0' ]
    is_home "$HOG"
}

@test "a thread that sleeps is pending, and attached when it wakes" {
    broker_start
    waker $ALICE
    taskset -pc 0 "$WAKER" >/dev/null # the thread then sleeps on CPU 0, and the domain has CPU 1
    wake
    spec $ALICE cam "$cam" >/dev/null
    [ "$(attach $ALICE cam "$WAKER" | jq -r '.result + " " + .thread.state')" = "OK pending" ]
    [ "$(kernel "$WAKER")" = 'other 0 nice=0 0/0/0 cpus=1 reset=0' ]
    wake
    eventually says $ALICE cam .thread.state attached
    [ "$(kernel "$WAKER")" = "$as_granted" ]
    says $ALICE cam .request update
    says $ALICE cam .reason "thread $WAKER has woken and is attached"
}

@test "a pending thread is detached without ever having been real-time" {
    broker_start
    pending_waker
    says $ALICE cam .thread.state pending
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ "$(kernel "$WAKER")" = 'other 0 nice=0 0/0/0 cpus=0 reset=0' ]
    is_home "$WAKER"
    wake
    [ "$(kernel "$WAKER")" = 'other 0 nice=0 0/0/0 cpus=0 reset=0' ]
}

@test "a pending thread that dies before it wakes is told to have ended" {
    broker_start
    pending_waker
    kill -KILL "$WAKER"
    eventually says $ALICE cam .request exit || { cat "$EVENTS"; cat "$SPECS/$ALICE/cam.verdict"; false; }
    [ ! -e "$SPECS/$ALICE/cam.tid" ]
    [ -z "$(find "$CPUSETS/rtf-1" -mindepth 1 -type d)" ]
}

@test "a pending thread stays pending over a kill of the broker, and is attached when it wakes" {
    broker_start
    pending_waker
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    broker_start
    eventually says $ALICE cam .thread.state pending
    wake
    eventually says $ALICE cam .thread.state attached
    [ "$(kernel "$WAKER")" = "$as_granted" ]
}

# bats test_tags=turn:0
@test "rtf-run comes back from its wait real-time, in the domain" {
    broker_start
    run as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 1ms -P 10ms --plugin EDF -- sh -c '"$1" $$; grep -o "/rtf-1/t[0-9.]*" /proc/self/cgroup' \
        sh "$RTF_STAGE/kernel-view"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "$as_granted" ]
    [[ ${lines[1]} == /rtf-1/t* ]]
}

# bats test_tags=turn:1
@test "children of an attached thread leave the domain with the thread, and after its end" {
    broker_start
    become $ALICE sh -c 'sleep 100 & echo $! >"$1"; while [ -d "/proc/$2" ]; do :; done' sh "$WORK/out/child" $$ 3>&- &
    parent=$!
    echo "$parent" >>"$WORK/pids"
    eventually test -s "$WORK/out/child"
    spec $ALICE cam "$cam" >/dev/null
    attach $ALICE cam "$parent" >/dev/null
    become $BOB sh -c 'until [ -e "$1" ]; do :; done; sleep 100 & echo $! >"$2"; while [ -d "/proc/$3" ]; do :; done' sh \
        "$WORK/go" "$WORK/out/second" $$ 3>&- &
    second=$!
    echo "$second" >>"$WORK/pids"
    eventually is_sh "$second"
    spec $BOB mine "$cam" >/dev/null
    attach $BOB mine "$second" >/dev/null
    touch "$WORK/go"
    eventually test -s "$WORK/out/second"
    child=$(cat "$WORK/out/second")
    echo "$child" >>"$WORK/pids"
    echo "$(cat "$WORK/out/child")" >>"$WORK/pids"
    [[ $(group "$child") == /rtf-1/t$second.* ]]
    is_home "$(cat "$WORK/out/child")" # the process in out/child was started before the attachment
    kill -KILL "$second"
    eventually says $BOB mine .request exit
    eventually is_home "$child"
    [ "$(kernel "$child")" = "other 0 nice=0 0/0/0 cpus=$(everywhere) reset=0" ]
}

# bats test_tags=turn:2
@test "a FIFO thread under confine=cpuset cannot leave its CPU, and one under affinity can" {
    broker_start
    hog $ALICE
    spec $ALICE cam '{"priority": 12, "plugin": "FP"}' >/dev/null
    attach $ALICE cam "$HOG" >/dev/null
    [ "$(kernel "$HOG")" = 'fifo 12 nice=0 0/0/0 cpus=1 reset=1' ]
    run as $ALICE taskset -pc 0 "$HOG"
    [ "$status" -ne 0 ]
    [ "$(kernel "$HOG")" = 'fifo 12 nice=0 0/0/0 cpus=1 reset=1' ]
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ "$(kernel "$HOG")" = "other 0 nice=0 0/0/0 cpus=$(everywhere) reset=0" ]
    spec $ALICE low '{"priority": 2, "plugin": "LOW"}' >/dev/null
    attach $ALICE low "$HOG" >/dev/null
    elsewhere=$(last_of "$(everywhere)")
    as $ALICE taskset -pc "$elsewhere" "$HOG"
    [ "$(kernel "$HOG")" = "fifo 2 nice=0 0/0/0 cpus=$elsewhere reset=1" ]
}

# bats test_tags=turn:0
@test "a thread that its owner has pinned elsewhere is noticed and pinned again at a hangup" {
    broker_start
    hog $ALICE
    spec $ALICE low '{"priority": 2, "plugin": "LOW"}' >/dev/null
    attach $ALICE low "$HOG" >/dev/null
    elsewhere=$(last_of "$(everywhere)")
    as $ALICE taskset -pc "$elsewhere" "$HOG" >/dev/null
    kill -HUP "$BROKER"
    eventually is_pinned
    jq -r "select(.stage == \"attach\" and .decision == \"warning\" and .tid == $HOG) | .reason" "$SPOOL/log/events.ndjson" |
        grep -q "thread [0-9]* does not run as granted: it has .* CPUs $elsewhere"
}

is_pinned() { [ "$(kernel "$HOG")" = 'fifo 2 nice=0 0/0/0 cpus=0 reset=1' ]; }

# bats test_tags=turn:1
@test "a spec that moves from one plugin to another takes its thread into the domain and out of it" {
    broker_start
    hog $ALICE
    taskset -pc 0 "$HOG" >/dev/null
    spec $ALICE cam '{"priority": 2, "plugin": "LOW"}' >/dev/null
    attach $ALICE cam "$HOG" >/dev/null
    is_home "$HOG"
    answer=$(spec $ALICE cam "$cam")
    echo "$answer"
    [ "$(field .result "$answer")" = OK ]
    eventually says $ALICE cam .thread.state attached
    [ "$(kernel "$HOG")" = "$as_granted" ]
    [[ $(group "$HOG") == /rtf-1/* ]]
    [ "$(spec $ALICE cam '{"priority": 2, "plugin": "LOW"}' | jq -r .result)" = OK ]
    [ "$(kernel "$HOG")" = 'fifo 2 nice=0 0/0/0 cpus=0 reset=1' ]
    is_home "$HOG"
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    verdict $ALICE cam >/dev/null
    [ "$(kernel "$HOG")" = 'other 0 nice=0 0/0/0 cpus=0 reset=0' ]
}

# bats test_tags=turn:2
@test "a grant that the kernel does not admit is refused with the kernel's numbers, and the thread is put back" {
    configure_plugins 'EDF edf - 1 partition=cpuset threshold=1'
    broker_start
    hog $ALICE
    spec $ALICE cam '{"runtime": "99ms", "period": "100ms"}' >/dev/null
    attach $ALICE cam "$HOG" >/dev/null
    says $ALICE cam .result ATTACH_FAIL
    [[ $(jq -r .reason "$SPECS/$ALICE/cam.verdict") == "the kernel's own admission test refuses 0.99 of a CPU"* ]]
    [ "$(kernel "$HOG")" = "other 0 nice=0 0/0/0 cpus=$(everywhere) reset=0" ]
    is_home "$HOG"
}

# bats test_tags=turn:0
@test "the domains go with SIGTERM, stay over SIGINT and kill -9, and --put-back removes them" {
    before=$(machine)
    broker_start
    hog $ALICE
    spec $ALICE cam "$cam" >/dev/null
    attach $ALICE cam "$HOG" >/dev/null
    broker_stop INT
    [ "$(kernel "$HOG")" = "$as_granted" ]
    broker_start
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    [ "$(kernel "$HOG")" = "$as_granted" ]
    run "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL"
    [ "$status" -eq 71 ]
    [[ $output == *"cannot be removed, because it has real-time threads"* ]]
    broker_start
    broker_stop TERM
    [ "$(kernel "$HOG")" = "other 0 nice=0 0/0/0 cpus=$(everywhere) reset=0" ]
    eventually is_machine "$before"
    rm "$SPECS/$ALICE/cam.json"
    broker_start
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    BROKER=
    "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL"
    is_machine "$before"
}

# bats test_tags=turn:1
@test "rtf-partition makes, shows and removes domains, and those of its own the broker uses and leaves" {
    before=$(machine)
    "$RTF_LIBEXEC/rtf-partition" setup 1
    [ "$("$RTF_LIBEXEC/rtf-partition" show | tail -1 | tr -s ' ')" = '1 0 rtf-partition' ]
    "$RTF_LIBEXEC/rtf-partition" setup 1 # the domain is there already
    broker_start
    broker_stop TERM
    [ -d "$CPUSETS/rtf-1" ]
    "$RTF_LIBEXEC/rtf-partition" restore
    is_machine "$before"
    "$RTF_LIBEXEC/rtf-partition" restore # there is nothing to restore
    run "$RTF_LIBEXEC/rtf-partition" setup "$ALL_CPUS"
    [ "$status" -eq 69 ]
    [[ $output == *"at least one CPU has to stay outside"* ]]
    run "$RTF_LIBEXEC/rtf-partition" setup 900
    [ "$status" -eq 69 ]
    run "$RTF_LIBEXEC/rtf-partition" setup nonsense
    [ "$status" -eq 64 ]
    run stranger $ALICE "$RTF_LIBEXEC/rtf-partition" setup 1
    [ "$status" -eq 77 ]
    is_machine "$before"
}

# bats test_tags=turn:2
@test "a group that rtf did not make is neither entered nor removed" {
    before=$(machine)
    mkdir "$CPUSETS/rtf-1"
    run "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
    "$RTF_LIBEXEC/rtf-partition" restore
    rmdir "$CPUSETS/rtf-1"
    [ "$status" -eq 71 ]
    [[ $output == *"the cpuset group rtf-1 exists, and rtf-partition has not made it"* ]]
    if ! has_v1; then echo +cpuset >"$CPUSETS/cgroup.subtree_control"; fi
    mkdir "$CPUSETS/somebody"
    echo 1 >"$CPUSETS/somebody/cpuset.cpus"
    run "$RTF_LIBEXEC/rtf-partition" setup 1
    rmdir "$CPUSETS/somebody"
    if ! has_v1 && [[ $before != *cpuset* ]]; then echo -cpuset >"$CPUSETS/cgroup.subtree_control"; fi
    echo "$output"
    [ "$status" -eq 69 ]
    if has_v1; then
        [[ $output == *"another group has one of these CPUs exclusively"* ]]
    else
        [[ $output == *"the kernel makes no domain of CPU 1: root invalid"* ]]
    fi
    is_machine "$before"
}

@test "hrtick=on does not start where debugfs is closed, and leaves nothing behind" {
    [ ! -w /sys/kernel/debug/sched/features ] || skip "the features of this kernel's scheduler can be set"
    before=$(machine)
    configure_plugins 'EDF edf - all partition=global hrtick=on'
    run "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
    [ "$status" -eq 71 ]
    [[ $output == *"plugins.conf:1: EDF cannot have hrtick=on: /sys/kernel/debug/sched/features cannot be opened: "* ]]
    ! grep -qs "^by=$WORK/" /run/rtf/hrtick || false
    is_machine "$before"
}

# bats test_tags=turn:0
@test "partition=global beside domains, or on a part of a domain, does not start" {
    before=$(machine)
    configure_plugins 'EDF edf - 1 partition=cpuset' 'ALL edf - all partition=global'
    run "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
    echo "$output"
    [ "$status" -ne 0 ]
    configure_plugins 'ALL edf - 1 partition=global'
    run "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
    [ "$status" -eq 71 ]
    [[ $output == *"plugins.conf:1: ALL cannot have partition=global: the CPUs 1 are not one whole scheduling domain"* ]]
    is_machine "$before"
}

# bats test_tags=turn:1
@test "the key move takes thread or process and nothing else" {
    broker_start
    [ "$(spec $ALICE cam '{"runtime": "1ms", "period": "10ms", "move": "process"}' | jq -r .result)" = OK ]
    [[ $(spec $ALICE cam '{"runtime": "1ms", "period": "10ms", "move": "all"}' | jq -r .reason) == *'key "move" (line 1) must be "thread" or "process"' ]]
}

# of_two UID: starts a process of two threads, $FIRST and $SECOND, by the Python program on standard input; argv[1] is the process id of the test
of_two() {
    cat >"$WORK/two.py"
    become "$1" /usr/bin/python3 -S "$WORK/two.py" $$ 3>&- &
    FIRST=$!
    echo "$FIRST" >>"$WORK/pids"
    eventually has_two_threads "$FIRST"
    SECOND=$(ls "/proc/$FIRST/task" | grep -vx "$FIRST")
}

# two_threads UID: starts a process of two threads that wake often, $FIRST and $SECOND; the second thread may only use CPU 0
two_threads() {
    of_two "$1" <<'END'
import os, sys, threading, time
def nap():
    while os.path.isdir("/proc/" + sys.argv[1]):
        time.sleep(0.01)
threading.Thread(target=nap).start()
nap()
END
    taskset -pc 0 "$SECOND" >/dev/null
}

# bats test_tags=turn:2
@test "one of two threads of a process is attached: version 1 moves this thread alone, version 2 both, if the spec says so" {
    broker_start
    two_threads $ALICE
    spec $ALICE cam "$cam" >/dev/null
    if ! has_v1; then
        [ "$(attach $ALICE cam "$FIRST" | jq -r .result)" = ATTACH_FAIL ]
        says $ALICE cam .reason "process $FIRST has 2 threads, and cgroup version 2 can move only all of them to one CPU: \"move\": \"process\" in the spec allows the move of all of them"
        is_home "$FIRST"
        [ "$(kernel "$FIRST")" = "other 0 nice=0 0/0/0 cpus=$(everywhere) reset=0" ]
        spec $ALICE cam "${cam%\}}, \"move\": \"process\"}" >/dev/null
    fi
    attach $ALICE cam "$FIRST" >/dev/null
    eventually says $ALICE cam .thread.state attached
    [ "$(kernel "$FIRST")" = "$as_granted" ]
    [[ $(group "$FIRST") == /rtf-1/t$FIRST.* ]]
    if has_v1; then
        is_home "$SECOND"
    else
        [ "$(group "$SECOND")" = "$(group "$FIRST")" ]
        [ "$(kernel "$SECOND")" = 'other 0 nice=0 0/0/0 cpus=1 reset=0' ]
    fi
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    verdict $ALICE cam >/dev/null
    is_home "$FIRST"
    is_home "$SECOND"
    [ "$(kernel "$FIRST")" = "other 0 nice=0 0/0/0 cpus=$(everywhere) reset=0" ]
    [ "$(kernel "$SECOND")" = 'other 0 nice=0 0/0/0 cpus=0 reset=0' ]
}

# bats test_tags=turn:0
@test "a thread of a scope that systemd removed meanwhile comes back beneath the slice, not to the root" {
    if has_v1 || [ ! -d /run/systemd/system ]; then skip 'no systemd with cgroup version 2'; fi
    broker_start
    exec_in_scope() { exec systemd-run --quiet --scope --unit=rtf-test --slice=user-$ALICE.slice -- setpriv --reuid $ALICE --regid $ALICE --clear-groups -- "$@"; }
    exec_in_scope sh -c 'while [ -d "/proc/$1" ]; do :; done' sh $$ 3>&- &
    HOG=$!
    echo "$HOG" >>"$WORK/pids"
    eventually is_in_scope
    spec $ALICE cam "$cam" >/dev/null
    [ "$(attach $ALICE cam "$HOG" | jq -r .result)" = OK ]
    eventually test ! -d "$CPUSETS/user.slice/user-$ALICE.slice/rtf-test.scope"
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    verdict $ALICE cam >/dev/null
    returned=$(group "$HOG")
    echo "$returned"
    [[ $returned == /user.slice*/rtf-returned ]]
    kill -KILL "$HOG"
    eventually rmdir "$CPUSETS$returned"
}

# bats test_tags=turn:1
@test "with cgroup version 2 a process that its cgroup limits is refused with the limit, and stays where it is" {
    if has_v1 || [ ! -d /run/systemd/system ]; then skip 'no systemd with cgroup version 2'; fi
    broker_start
    spec $ALICE cam "$cam" >/dev/null
    for limit in MemoryMax=64M MemoryHigh=64M CPUQuota=50%; do
        systemd-run --quiet --scope --unit=rtf-test --slice=user-$ALICE.slice -p "$limit" -- setpriv --reuid $ALICE --regid $ALICE --clear-groups -- \
            sh -c 'while [ -d "/proc/$1" ]; do :; done' sh $$ 3>&- &
        HOG=$!
        echo "$HOG" >>"$WORK/pids"
        eventually is_in_scope
        before=$(kernel "$HOG")
        answer=$(attach $ALICE cam "$HOG")
        field .reason "$answer"
        [ "$(field .result "$answer")" = ATTACH_FAIL ]
        [[ $(field .reason "$answer") == "the thread's cgroup /user.slice/user-$ALICE.slice/rtf-test.scope has the limit "*", which would not hold in the domain of a CPU" ]]
        is_in_scope
        [ "$(kernel "$HOG")" = "$before" ]
        [ ! -e "$(echo "$CPUSETS"/rtf-1/t"$HOG".*)" ]
        kill -KILL "$HOG"
        wait "$HOG" || true
        eventually test ! -d "$CPUSETS/user.slice/user-$ALICE.slice/rtf-test.scope"
        as $ALICE rm -f "$SPECS/$ALICE/cam.tid"
        verdict $ALICE cam >/dev/null
    done
}

is_in_scope() { [ "$(group "$HOG")" = "/user.slice/user-$ALICE.slice/rtf-test.scope" ] && [ "$(cat "/proc/$HOG/comm")" = sh ]; }

# again_and_again STATE-AFTER THREAD: attaches and detaches the thread, as its owner does; the last time its state must be STATE-AFTER.
again_and_again() {
    local after=$1 thread=$2
    spec $ALICE cam "$cam" >/dev/null
    for _ in $(seq "${ATTACHMENTS:-25}"); do
        as $ALICE sh -c 'cd "$1" && echo "$2" >.tid && mv .tid cam.tid && "$3" --spool "$4" cam >.first || exit 1; rm cam.tid; exec "$3" --spool "$4" cam >.second' \
            sh "$SPECS/$ALICE" "$thread" "$RTF_BIN/rtf-wait" "$SPOOL" || { cat "$SPECS/$ALICE"/.first "$SPECS/$ALICE"/.second; return 1; }
        [[ $(cat "$SPECS/$ALICE/.first") == *"\"thread\":{\"tid\":$thread"* ]]
    done
    [ "$(kernel "$thread")" = "$after" ]
    [ "$(jq -r .result "$SPECS/$ALICE/.second")" = OK ]
}

# balanced: attachments of a running thread and of a sleeping thread leave no trace
balanced() {
    before=$(machine)
    broker_start
    hog $ALICE
    taskset -pc 0 "$HOG" >/dev/null
    renice -n 3 -p "$HOG" >/dev/null
    sleeper $ALICE
    groups="$(cat "/proc/$HOG/cgroup") $(cat "/proc/$SLEEPER/cgroup")"
    limits="$(cat "/proc/$HOG/limits") $(cat "/proc/$SLEEPER/limits")"
    again_and_again 'other 0 nice=3 0/0/0 cpus=0 reset=0' "$HOG"
    again_and_again "other 0 nice=0 0/0/0 cpus=$(everywhere) reset=0" "$SLEEPER"
    [ "$(cat "/proc/$HOG/cgroup") $(cat "/proc/$SLEEPER/cgroup")" = "$groups" ]
    [ "$(cat "/proc/$HOG/limits") $(cat "/proc/$SLEEPER/limits")" = "$limits" ]
    broker_stop TERM
    eventually is_machine "$before"
}

# bats test_tags=turn:2
@test "attachments under partition=cpuset leave the machine's books as they were" {
    balanced
}

# bats test_tags=turn:0
@test "attachments under partition=unthrottled leave the machine's books as they were" {
    configure_plugins 'EDF edf - 1 partition=unthrottled'
    balanced
}

# bats test_tags=turn:1
@test "attachments under partition=global leave the machine's books as they were" {
    configure_plugins 'EDF edf - all partition=global'
    balanced
}

used_up() { [ "$(awk '$1 == "dl.runtime" { print ($3 < 0) }' "/proc/$1/sched")" = 1 ]; }

# bats test_tags=turn:2
@test "a thread that was detached with its runtime used up runs when it is attached again" {
    configure_plugins 'EDF edf - 1 partition=unthrottled'
    broker_start
    hog $ALICE
    spec $ALICE cam "$cam" >/dev/null
    for round in 1 2 3 4 5 6; do
        attach $ALICE cam "$HOG"
        eventually used_up "$HOG"
        as $ALICE rm "$SPECS/$ALICE/cam.tid"
        verdict $ALICE cam >/dev/null
        eventually has_consumed "$HOG" $(($(consumed "$HOG") + 30)) # the kernel's timer for it has fired meanwhile
        attach $ALICE cam "$HOG" >/dev/null
        eventually has_consumed "$HOG" $(($(consumed "$HOG") + 30))
        [ "$(kernel "$HOG")" = "$as_granted" ]
    done
}

# bats test_tags=turn:0
@test "a thread that somebody else has made ordinary with its runtime used up runs when it is attached" {
    configure_plugins 'EDF edf - 1 partition=unthrottled'
    broker_start
    hog $ALICE
    spec $ALICE cam "$cam" >/dev/null
    for round in 1 2 3 4 5 6; do
        chrt --deadline --sched-runtime 1000000 --sched-period 300000000 --pid 0 "$HOG"
        eventually used_up "$HOG"
        chrt --other --pid 0 "$HOG"
        attach $ALICE cam "$HOG"
        eventually has_consumed "$HOG" $(($(consumed "$HOG") + 30))
        [ "$(kernel "$HOG")" = "$as_granted" ]
        as $ALICE rm "$SPECS/$ALICE/cam.tid"
        verdict $ALICE cam >/dev/null
    done
}

# The kernel counts the bandwidth of a thread that was detached with its runtime used up, until the thread has paid back its overrun. The kernel counts it in
# the domain where the thread is.

# bats test_tags=turn:1
@test "a thread that is detached with its runtime used up is ordinary at once, and leaves nothing behind in its domain" {
    broker_start
    hog $ALICE
    groups=$(cat "/proc/$HOG/cgroup")
    spec $ALICE cam '{"runtime": "1ms", "period": "100ms", "plugin": "EDF"}' >/dev/null
    attach $ALICE cam "$HOG" >/dev/null
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    eventually is_policy "$HOG" other
    eventually has_rank deadline "$(helpers rtf-guard)" # the guard's bandwidth counts from the first thread on
    eventually has_settled
    before=$(account)
    for round in 1 2 3 4; do
        attach $ALICE cam "$HOG"
        eventually used_up "$HOG"
        as $ALICE rm "$SPECS/$ALICE/cam.tid"
        eventually is_policy "$HOG" other
        [ "$(verdict $ALICE cam | jq -r '.request + " " + .result')" = 'detach OK' ]
        [ "$(cat "/proc/$HOG/cgroup")" = "$groups" ]
        eventually counts "$before"
    done
    attach $ALICE cam "$HOG"
    eventually used_up "$HOG"
    broker_stop TERM
    is_policy "$HOG" other
    [ "$(cat "/proc/$HOG/cgroup")" = "$groups" ]
}
counts() { [ "$(account)" = "$1" ]; }
has_settled() { # the account stays the same for a second, which is ten of the thread's periods: in this time the thread pays back an overrun of a tick
    local now
    now=$(account)
    sleep 1
    counts "$now"
}
has_rank() { [[ $(kernel "$2") == "$1 "* ]]; }

# busy_second UID: starts a process, $HOG, with a second thread that spins. The broker watches a thread that is not the first for its execve.
busy_second() {
    of_two "$1" <<'END'
import os, sys, threading, time
def spin():
    while os.path.isdir("/proc/" + sys.argv[1]):
        pass
threading.Thread(target=spin, daemon=True).start()
while True:
    time.sleep(100)
END
    HOG=$SECOND
}

# second_passes TID: returns when the thread has run for a second more. Until then, any timer of the kernel for a thread with a used-up runtime has fired.
second_passes() { eventually has_consumed "$1" $(($(consumed "$1") + 1000)); }

# bats test_tags=turn:2
@test "SIGTERM waits until the kernel no longer counts threads with a used-up runtime, or the next domains would refuse every thread" {
    eventually has_settled # the kernel counts a guard of the test before until its 0-lag time
    before=$(account)
    configure_plugins 'EDF edf - 1 partition=unthrottled'
    broker_start
    hog $ALICE
    spec $ALICE cam "{\"runtime\": \"300ms\", \"period\": \"600ms\", \"attach\": $HOG}"
    eventually used_up "$HOG"
    broker_stop TERM
    second_passes "$HOG"
    echo "$(account), and before $before"
    [ "$(account)" = "$before" ]
    broker_start
    eventually used_up "$HOG"
    kill -KILL "$HOG"
    broker_stop TERM
    hog $ALICE
    second_passes "$HOG"
    echo "$(account), and before $before"
    [ "$(account)" = "$before" ]
}

# spins_beside_the_broker: attaches $HOG with a long runtime, on the only CPU of both. There $HOG runs before the helper, and has
# rightly used up its runtime when the helper can look.
spins_beside_the_broker() {
    taskset -pc 1 "$BASHPID" >/dev/null
    configure_plugins 'EDF edf - 1 partition=unthrottled'
    broker_start
    taskset -pc 1 "$HOG" >/dev/null
    answer=$(spec $ALICE cam "{\"runtime\": \"300ms\", \"period\": \"600ms\", \"attach\": $HOG}")
    echo "$answer"
    [ "$(field '.result + " " + .thread.state' "$answer")" = 'OK attached' ]
    [[ $(kernel "$HOG") == "deadline "* ]]
    eventually has_consumed "$HOG" $(($(consumed "$HOG") + 700))
}

# bats test_tags=turn:0
@test "a thread that uses up its runtime before the helper comes to its CPU is attached" {
    hog $ALICE
    spins_beside_the_broker
}

# bats test_tags=turn:1
@test "so is the second thread of a process" {
    busy_second $ALICE
    spins_beside_the_broker
}

# bats test_tags=turn:2
@test "a thread with its runtime used up that another plugin gets is ordinary until that is paid back, and costs the broker no descriptor" {
    broker_start
    busy_second $ALICE
    spec $ALICE cam '{"priority": 2, "plugin": "LOW"}' >/dev/null
    attach $ALICE cam "$HOG" >/dev/null
    eventually has_watches 1
    eventually has_pidfds 1 # the pidfd of the thread; a message about the thread that is under way has another pidfd
    eventually readers_have_ended
    before=$(descriptors)
    for round in 1 2 3 4; do
        spec $ALICE cam '{"runtime": "1ms", "period": "100ms", "plugin": "EDF", "move": "process"}'
        eventually used_up "$HOG"
        from=$(milliseconds)
        answer=$(spec $ALICE cam '{"priority": 2, "plugin": "LOW"}')
        echo "$answer"
        [ "$(field '.result + " " + .grant.plugin' "$answer")" = "OK LOW" ]
        [ $(($(milliseconds) - from)) -ge 50 ] # the thread could not leave the domain earlier
        [ "$(kernel "$HOG")" = 'fifo 2 nice=0 0/0/0 cpus=0 reset=1' ]
        is_home "$HOG"
    done
    eventually has_watches 1
    eventually readers_have_ended
    eventually has_descriptors "$before" # the broker watches the thread some ms after it was attached
}
descriptors() { ls "/proc/$BROKER/fd" | wc -l; }
has_descriptors() { [ "$(descriptors)" = "$1" ]; }
has_pidfds() { [ "$(find "/proc/$BROKER/fd" -lname '*pidfd*' | wc -l)" = "$1" ]; }

# bats test_tags=turn:0
@test "a thread that was detached with its runtime used up, and then slept, runs when it is attached again" {
    configure_plugins 'EDF edf - 1 partition=unthrottled'
    broker_start
    for round in 1 2 3 4 5 6; do
        mkfifo -m 666 "$WORK/go.$round"
        become $ALICE sh -c 'while [ ! -e "$1" ]; do :; done; read -r _ <"$2"; while [ -d "/proc/$3" ]; do :; done' sh "$WORK/nap.$round" "$WORK/go.$round" $$ 3>&- &
        thread=$!
        echo "$thread" >>"$WORK/pids"
        eventually is_sh "$thread"
        spec $ALICE cam$round "$cam" >/dev/null
        attach $ALICE cam$round "$thread"
        eventually used_up "$thread"
        as $ALICE rm "$SPECS/$ALICE/cam$round.tid"
        verdict $ALICE cam$round >/dev/null
        eventually has_consumed "$thread" $(($(consumed "$thread") + 30))
        touch "$WORK/nap.$round"
        eventually sleeps "$thread"
        attach $ALICE cam$round "$thread" >/dev/null
        echo >"$WORK/go.$round"
        eventually has_consumed "$thread" $(($(consumed "$thread") + 30))
        eventually says $ALICE cam$round .thread.state attached
        [ "$(kernel "$thread")" = "$as_granted" ]
        as $ALICE rm "$SPECS/$ALICE/cam$round.json"
        kill -KILL "$thread"
    done
}

sleeps() { [[ $(cat "/proc/$1/stat") == *") S "* ]]; }

# bats test_tags=turn:1
@test "an attached process that is replaced by execve of another thread of it is let go, and where it was" {
    for line in 'EDF edf - 1 partition=cpuset' 'EDF edf - all partition=global'; do
        configure_plugins "$line"
        broker_start
        rm -f "$WORK/go"
        replaceable $ALICE
        spec $ALICE cam "${cam%\}}, \"move\": \"process\"}" >/dev/null
        attach $ALICE cam "$HOG" >/dev/null
        touch "$WORK/go"
        eventually says $ALICE cam .reason "another thread of process $HOG called execve and has taken over the id of the attached thread: the process is ordinary, and not attached"
        eventually is_as_before
        as $ALICE rm "$SPECS/$ALICE/cam.json"
        eventually test ! -e "$SPECS/$ALICE/cam.verdict"
        is_as_before
        broker_stop TERM
    done
}
is_as_before() { [ "$(kernel "$HOG")" = "other 0 nice=0 0/0/0 cpus=$(everywhere) reset=0" ]; }

# bats test_tags=turn:2
@test "an attached first thread that ends before the others of its process is told to have ended" {
    broker_start
    cat >"$WORK/first.py" <<'END'
import ctypes, os, sys, threading, time
threading.Thread(target=time.sleep, args=(300,)).start()
os.read(0, 1)
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0) # exit(2), which ends this thread alone
END
    mkfifo -m 666 "$WORK/go"
    become $ALICE sh -c 'exec /usr/bin/python3 -S "$1" <"$2"' sh "$WORK/first.py" "$WORK/go" 3>&- &
    first=$!
    echo "$first" >>"$WORK/pids"
    exec 7>"$WORK/go"
    eventually has_two_threads "$first"
    spec $ALICE cam '{"priority": 2, "plugin": "LOW"}' >/dev/null
    attach $ALICE cam "$first" >/dev/null
    says $ALICE cam .thread.state attached
    echo >&7
    exec 7>&-
    eventually says $ALICE cam .request exit
    [ ! -e "$SPECS/$ALICE/cam.tid" ]
}
