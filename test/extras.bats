# Things that a thread has beside CPU time: lock_memory, cpu_latency, nice and clamp. Each value is read back from the kernel.

load helper
bats_require_minimum_version 1.5.0

prepare() {
    configure_rules "$ALICE - max_utilization 2" "$BOB - max_utilization 2" "$ALICE - max_lock_memory 64MiB" "$ALICE - max_user_lock_memory 96MiB" \
        "$ALICE - min_cpu_latency 20us" "$ALICE - min_nice -11" "$BOB - max_user_lock_memory 1GiB" "$CAROL - max_utilization 1" "$ALICE - max_clamp 512"
    # The kernel has one value of the latency, for all brokers of the machine.
    exec 8>/run/lock/rtf-test-extras
    flock 8
}

# limit_is PROCESS SOFT HARD: its limit of locked memory. lock_limit PROCESS: both numbers.
lock_limit() { awk '/^Max locked memory/ { print $4, $5 }' "/proc/$1/limits"; }
limit_is() { [ "$(lock_limit "$1")" = "$2 $3" ]; }
MIB=1048576

# latency: prints the kernel's effective limit of the CPU latency in us; 2000000000 if no program asks for a limit.
latency() { dd if=/dev/cpu_dma_latency bs=4 count=1 status=none | od -An -td4 | tr -d ' '; }
latency_is() { [ "$(latency)" = "$1" ]; }
nice_is() { [ "$(ps -o ni= -p "$1" | tr -d ' ')" = "$2" ]; }

locks='{"runtime": "1ms", "period": "100ms", "plugin": "FP", "priority": 15, "lock_memory": "32MiB"}'
reserve() { told '.result == "OK"' "$(spec "$1" "$2" "$3")"; }
refused() { told ".result != \"OK\" and .refusal.code == \"$1\" and (.reason | contains(\"$2\"))" "$3"; }

# limited [UID]: a sleeper of Alice, or of this user, with 1 MiB and 8 MiB.
limited() {
    sleeper "${1:-$ALICE}"
    prlimit --pid "$SLEEPER" --memlock=$MIB:$((8 * MIB))
}
lend() {
    reserve $ALICE "$1" "$3"
    told '.result == "OK" and .thread.state == "attached"' "$(attach $ALICE "$1" "$2")"
}

# Some containers leave root without CAP_SYS_RESOURCE. There no limit can be raised, and test/vm/check runs these tests.
root_may_raise() { prlimit --memlock=$((64 * MIB)):$((64 * MIB)) true 2>/dev/null || skip "root may not raise limits here"; }

@test "a process may lock the granted memory as long as its thread is attached: release, detach and stop take it back" {
    root_may_raise
    broker_start
    limited
    one=$SLEEPER
    lend cam "$one" "$locks"
    limit_is "$one" $((32 * MIB)) $((32 * MIB))
    told '.grant.lock_memory == 33554432' "$(cat "$SPECS/$ALICE/cam.verdict")"
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    eventually limit_is "$one" $MIB $((8 * MIB))
    attach $ALICE cam "$one"
    limit_is "$one" $((32 * MIB)) $((32 * MIB))
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually limit_is "$one" $MIB $((8 * MIB))
    lend cam "$one" "$locks"
    limit_is "$one" $((32 * MIB)) $((32 * MIB))
    broker_stop TERM
    limit_is "$one" $MIB $((8 * MIB))
    broker_start
    limit_is "$one" $((32 * MIB)) $((32 * MIB))
    "$RTF_BIN/rtf" revoke --spool "$SPOOL" "$ALICE/cam"
    eventually limit_is "$one" $MIB $((8 * MIB))
}

@test "of two reservations of one process the larger counts, and the last one to end gives the former limit back" {
    root_may_raise
    broker_start
    # a process with two threads
    become $ALICE /usr/bin/python3 -S -c 'import threading, time, os
threading.Thread(target=lambda: (os.write(1, b"%d" % threading.get_native_id()), time.sleep(1000))).start()
time.sleep(1000)' >"$WORK/second" 3>&- &
    one=$!
    echo "$one" >>"$WORK/pids"
    has_second() { [ -s "$WORK/second" ]; }
    eventually has_second
    prlimit --pid "$one" --memlock=$MIB:$((8 * MIB))
    lend cam "$one" "$locks"
    lend mic "$(cat "$WORK/second")" '{"runtime": "1ms", "period": "100ms", "plugin": "FP", "priority": 15, "lock_memory": "64MiB"}'
    limit_is "$one" $((64 * MIB)) $((64 * MIB))
    as $ALICE rm "$SPECS/$ALICE/mic.json"
    eventually limit_is "$one" $((32 * MIB)) $((32 * MIB))
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually limit_is "$one" $MIB $((8 * MIB))
}

@test "a process that inherited the raised limit loses it with the reservation, and other processes keep theirs" {
    root_may_raise
    broker_start
    become $ALICE /usr/bin/python3 -S -c 'import os, resource, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
child = os.fork()
if child == 0 and os.fork() == 0:
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (20 << 20, 24 << 20)) # the process sets a limit by itself, which is neither the former limit nor the raised limit
    os.setsid()
    os.write(1, b"%d\n" % os.getpid())
elif child != 0:
    os.write(1, b"%d\n" % child)
time.sleep(1000)' "$WORK/more" >"$WORK/children" 3>&- &
    one=$!
    echo "$one" >>"$WORK/pids"
    is_python() { [[ $(cat "/proc/$one/comm") == python3* ]]; }
    eventually is_python
    prlimit --pid "$one" --memlock=$MIB:$((8 * MIB))
    limited
    other=$SLEEPER
    prlimit --pid "$other" --memlock=$((30 * MIB)):$((30 * MIB)) # the limit before the reservation
    lend cam "$one" "$locks"
    limited $BOB
    bobs=$SLEEPER
    prlimit --pid "$bobs" --memlock=$((30 * MIB)):$((30 * MIB))
    : >"$WORK/more"
    has_children() { [ "$(grep -c . "$WORK/children")" = 2 ]; }
    eventually has_children
    cat "$WORK/children" >>"$WORK/pids"
    children=$(cat "$WORK/children")
    for child in $children; do [ "$(lock_limit "$child" | cut -d ' ' -f 2)" -gt $((8 * MIB)) ]; done
    kill -KILL "$one" # only the children go on
    for child in $children; do
        below() { [ "$(lock_limit "$child" | cut -d ' ' -f 2)" -le $((8 * MIB)) ]; }
        eventually below
    done
    limit_is "$other" $((30 * MIB)) $((30 * MIB))
    limit_is "$bobs" $((30 * MIB)) $((30 * MIB))
}

@test "what a user lowers meanwhile stays lowered, and nothing is higher afterwards than before" {
    root_may_raise
    broker_start
    for change in 16:32 4:32 2:4 32:32 0:0; do
        limited
        one=$SLEEPER
        lend cam "$one" "$locks"
        as $ALICE prlimit --pid "$one" --memlock=$((${change%:*} * MIB)):$((${change#*:} * MIB))
        as $ALICE rm "$SPECS/$ALICE/cam.json"
        case $change in
        16:32) eventually limit_is "$one" $((8 * MIB)) $((8 * MIB)) ;;
        4:32) eventually limit_is "$one" $((4 * MIB)) $((8 * MIB)) ;;
        2:4) eventually limit_is "$one" $((2 * MIB)) $((4 * MIB)) ;;
        32:32) eventually limit_is "$one" $MIB $((8 * MIB)) ;;
        0:0)
            eventually released cam
            limit_is "$one" 0 0
            ;;
        esac
    done
}
released() { [ ! -e "$SPECS/$ALICE/$1.verdict" ]; }

@test "after kill -9 of broker and helper the next start takes the limit back, or keeps it for the spec that is there" {
    root_may_raise
    broker_start
    limited
    one=$SLEEPER
    limited
    two=$SLEEPER
    lend cam "$one" "$locks"
    lend mic "$two" "$locks"
    grep -q "^former_lock_hard=$((8 * MIB))" "$SPOOL/state/current/journal"
    kill -KILL "$(helpers 'rtf-attach --serve')" "$BROKER"
    wait "$BROKER" || true
    eventually none_of_ours
    limit_is "$one" $((32 * MIB)) $((32 * MIB))
    as $ALICE prlimit --pid "$two" --memlock=$((2 * MIB)):$((4 * MIB))
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    broker_start
    eventually limit_is "$one" $MIB $((8 * MIB))
    limit_is "$two" $((2 * MIB)) $((4 * MIB))
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    eventually none_of_ours
    configure_plugins 'EDF edf - all partition=global threshold=0.9' # the grant of FP is not taken over
    broker_start
    eventually limit_is "$two" $((2 * MIB)) $((4 * MIB))
    told '.result != "OK" and .thread == null' "$(cat "$SPECS/$ALICE/mic.verdict")"
}

@test "another user's process gets nothing, and a process that has become root's loses the limit with the reservation" {
    root_may_raise
    broker_start
    limited $BOB
    reserve $ALICE cam "$locks"
    refused not-yours "is not yours" "$(attach $ALICE cam "$SLEEPER")"
    limit_is "$SLEEPER" $MIB $((8 * MIB))
    cp /bin/sleep "$WORK/suid"
    chmod 4755 "$WORK/suid"
    become $ALICE sh -c 'while [ ! -e "$1" ]; do sleep 0.05; done; exec "$2" 1000' sh "$WORK/go" "$WORK/suid" 3>&- &
    one=$!
    echo "$one" >>"$WORK/pids"
    eventually is_program "$one" sh
    prlimit --pid "$one" --memlock=$MIB:$((8 * MIB))
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    told '.result == "OK"' "$(attach $ALICE cam "$one")"
    limit_is "$one" $((32 * MIB)) $((32 * MIB))
    : >"$WORK/go"
    is_roots() { grep -q "^Uid:.$ALICE.0.0.0" "/proc/$one/status"; }
    eventually is_roots
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually limit_is "$one" $MIB $((8 * MIB))
}

@test "where root may not raise a limit, the thread is refused, and is what it was" {
    if prlimit --memlock=$((64 * MIB)):$((64 * MIB)) true 2>/dev/null; then skip "root may raise limits here"; fi
    broker_start
    sleeper $ALICE
    before=$(lock_limit "$SLEEPER")
    reserve $ALICE cam "$locks"
    refused kernel "lock_memory: the limit of process" "$(attach $ALICE cam "$SLEEPER")"
    [ "$(lock_limit "$SLEEPER")" = "$before" ]
    [ "$(chrt -p "$SLEEPER" | grep -c SCHED_OTHER)" = 1 ]
}

@test "the kernel keeps the least cpu_latency of all attached threads, and none when no thread wants one" {
    broker_start
    latency_is 2000000000
    reserve $ALICE cam '{"runtime": "1ms", "period": "100ms", "plugin": "FP", "priority": 15, "cpu_latency": "70us"}'
    latency_is 2000000000
    sleeper $ALICE
    one=$SLEEPER
    told '.result == "OK" and .grant.cpu_latency == 70' "$(attach $ALICE cam "$one")"
    latency_is 70
    sleeper $ALICE
    told '.result == "OK"' "$(spec $ALICE mic "{\"cpu_latency\": \"20us\", \"attach\": $SLEEPER}")"
    latency_is 20
    as $ALICE rm "$SPECS/$ALICE/mic.json"
    eventually latency_is 70
    kill -KILL "$one"
    eventually latency_is 2000000000
}

@test "cpu_latency is gone after kill -9 of the broker, there again after the next start, and said again to a new attach helper" {
    broker_start
    sleeper $ALICE
    lend cam "$SLEEPER" '{"runtime": "1ms", "period": "100ms", "plugin": "FP", "priority": 15, "cpu_latency": "70us"}'
    latency_is 70
    helper=$(helpers 'rtf-attach --serve')
    kill -KILL "$helper"
    has_another() { [[ $(helpers 'rtf-attach --serve') != @(|"$helper") ]]; }
    eventually has_another
    eventually latency_is 70
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    eventually none_of_ours
    latency_is 2000000000
    broker_start
    eventually latency_is 70
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    eventually none_of_ours
    kill -KILL "$SLEEPER"
    broker_start
    latency_is 2000000000
    broker_stop TERM
    latency_is 2000000000
}

@test "a thread without CPU time has its nice value, its children do not, and it keeps a weaker one of its user" {
    broker_start
    sleeper $ALICE
    renice -n 3 -p "$SLEEPER"
    told '.result == "OK" and .grant.nice == -11 and .grant.plugin == null' "$(spec $ALICE cam "{\"nice\": -11, \"attach\": $SLEEPER}")"
    nice_is "$SLEEPER" -11
    chrt -p "$SLEEPER" | grep -q 'SCHED_OTHER|SCHED_RESET_ON_FORK'
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually nice_is "$SLEEPER" 3
    run ! grep -q RESET <(chrt -p "$SLEEPER")
    told '.result == "OK"' "$(spec $ALICE cam "{\"nice\": -5, \"attach\": $SLEEPER}")"
    nice_is "$SLEEPER" -5
    as $ALICE renice -n 10 -p "$SLEEPER"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually released cam
    nice_is "$SLEEPER" 10
}

@test "a real-time thread has its nice value for the time when it is ordinary, and its former one after kill -9 and a start without its spec" {
    broker_start
    sleeper $ALICE
    lend cam "$SLEEPER" '{"runtime": "1ms", "period": "100ms", "plugin": "FP", "priority": 15, "nice": -7}'
    [ "$(python3 -S -c "import os; print(os.getpriority(os.PRIO_PROCESS, $SLEEPER))")" = -7 ]
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    eventually none_of_ours
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    broker_start
    eventually nice_is "$SLEEPER" 0
}

@test "rtf-run has an option for each, and its command has the values from the beginning until it ends" {
    broker_start
    [ "$(as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --nice -5 nice)" = -5 ]
    become $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --nice=-5 -T 1ms -P 100ms --priority 15 --plugin FP --cpu-latency 55us --name cam -- sleep 300 3>&- &
    one=$!
    echo "$one" >>"$WORK/pids"
    eventually is_sleep "$one"
    latency_is 55
    told '.grant.nice == -5 and .grant.cpu_latency == 55 and .grant.plugin == "FP"' "$(cat "$SPECS/$ALICE/cam.verdict")"
    kill -KILL "$one"
    eventually latency_is 2000000000
    [[ $(as $ALICE "$RTF_BIN/rtf" what-if --spool "$SPOOL" -T 1ms -P 100ms --nice -5 --cpu-latency 55us --lock-memory 1MiB) == *', 1048576 bytes to lock, CPUs wake within 55us, nice -5'* ]]
    for wrong in 5 - a-b 1025- -1025 6-5x ''; do
        run as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" "--clamp=$wrong" true
        [ "$status" = 125 ]
    done
    told '.reason | contains("lock_memory 1073741824B asked")' "$(as $ALICE "$RTF_BIN/rtf" what-if --spool "$SPOOL" --lock-memory 1GiB --clamp= -T 1ms -P 100ms --json || true)"
}

@test "the keys on rtf-verdict(5) for more than CPU time are those of a grant, in this order" {
    echo "$ALICE EDF reclaim true" >>"$CONFIG/acl.conf"
    broker_start
    names=$(awk '/^## A grant with more than CPU time/ { inside = 1; next } /^## / { inside = 0 } inside && /^\|  / { print $2 }' "$RTF_SOURCE/man/rtf-verdict.5.scd" | tr -d '\\\\')
    plain=$(spec $ALICE plain '{"runtime": "1ms", "period": "100ms"}')
    answer=$(spec $ALICE cam '{"runtime": "1ms", "period": "100ms", "lock_memory": "1MiB", "cpu_latency": "1ms", "nice": -1, "reclaim": true, "overrun_signal": true}')
    [ "$(grep -v '^clamp$' <<<"$names")" = "$(command jq -r --argjson plain "$plain" '.grant | keys_unsorted - ($plain.grant | keys) | .[]' <<<"$answer")" ]
}

@test "what no rule opens is refused, and so is what is beyond a rule" {
    broker_start
    refused not-opened "allows cpu_latency (min_cpu_latency)" "$(spec $BOB one '{"runtime": "1ms", "period": "100ms", "cpu_latency": "1s"}')"
    refused not-opened "allows nice (min_nice)" "$(spec $BOB one '{"runtime": "1ms", "period": "100ms", "nice": -1}')"
    refused not-opened "allows lock_memory (max_lock_memory" "$(spec $CAROL one '{"runtime": "1ms", "period": "100ms", "lock_memory": 1}')"
    refused beyond-rule "cpu_latency 19us asked" "$(spec $ALICE one '{"runtime": "1ms", "period": "100ms", "cpu_latency": "19us"}')"
    refused beyond-rule "nice -12 asked" "$(spec $ALICE one '{"runtime": "1ms", "period": "100ms", "nice": -12}')"
    refused beyond-rule "lock_memory 67108865B asked" "$(spec $ALICE one '{"runtime": "1ms", "period": "100ms", "lock_memory": 67108865}')"
}

@test "two specs of one user get no more memory together than the sum allows" {
    broker_start
    reserve $ALICE one '{"runtime": "1ms", "period": "100ms", "lock_memory": "64MiB"}'
    verdict=$(spec $ALICE two '{"runtime": "1ms", "period": "100ms", "lock_memory": "33MiB"}')
    refused rule-used-up "lock_memory 34603008B asked, 67108864B used" "$verdict"
    told '.refusal.available == "33554432B" and .refusal.retry == "when-freed"' "$verdict"
    reserve $ALICE two '{"runtime": "1ms", "period": "100ms", "lock_memory": "32MiB"}'
    reserve $ALICE one '{"runtime": "1ms", "period": "100ms", "lock_memory": "64MiB"}' # the reservation's own amount does not count
    as $ALICE rm "$SPECS/$ALICE/one.json"
    could_have_more() { told '.result == "OK"' "$(spec $ALICE three '{"dry_run": true, "runtime": "1ms", "period": "100ms", "lock_memory": "64MiB"}')"; }
    eventually could_have_more
}

@test "clamps are refused where the kernel has none" {
    if python3 -S -c 'import ctypes, struct, sys; b = ctypes.create_string_buffer(56); ctypes.CDLL(None).syscall(315, 0, b, 56, 0); sys.exit(struct.unpack_from("I", b, 52)[0] != 0)'; then
        broker_start
        verdict=$(spec $ALICE cam '{"runtime": "1ms", "period": "100ms", "clamp": {"min": 100}}')
        refused kernel "CONFIG_UCLAMP_TASK" "$verdict"
        told '.refusal.retry == "never"' "$verdict"
    else
        skip "the kernel has clamps"
    fi
}

# program NAME...: a process of Alice with threads of these names, in $PROGRAM. thread NAME: the thread of that name.
program() {
    mkfifo "$WORK/orders" "$WORK/said"
    become $ALICE /usr/bin/python3 -S "$RTF_SOURCE/test/fixtures/threads" "$@" <>"$WORK/orders" >"$WORK/said" 3>&- &
    PROGRAM=$!
    echo "$PROGRAM" >>"$WORK/pids"
    read -r _ <"$WORK/said"
}
has_nice() { [[ $(kernel "$(thread "$1")") == *" nice=$2 "* ]]; }
is_like_other() { [ "$(kernel "$(thread "$1")")" = "$(kernel "$(thread other)")" ]; }
thread() { grep -lx "$1" "/proc/$PROGRAM/task/"*/comm | cut -d / -f 5; }

@test "a program file gives nice and clamp by its rules, and the process what is for a process, once" {
    broker_start
    program camera-1 camera-2 audio other
    said=$(spec $ALICE player '{"process": '$PROGRAM', "cpu_latency": "30us", "threads": [{"name": "camera*", "runtime": "1ms", "period": "20ms"}, {"name": "audio", "nice": -7}]}')
    told '.result == "OK" and .grant.threads == 4' "$said"
    # The first thread matches no rule.
    told '[.threads[] | [.name, .rule, .grant.cpu_latency, .grant.nice]] == [["python3", 0, 30, null], ["camera-1", 1, null, null], ["camera-2", 1, null, null], ["audio", 2, null, -7]]' "$said"
    latency_is 30
    has_nice audio -7
    is_policy "$PROGRAM" other
    is_policy "$(thread camera-2)" deadline
    as $ALICE rm "$SPECS/$ALICE/player.json"
    eventually latency_is 2000000000
    eventually is_like_other audio
    # With a rule for the first thread, this thread has CPU time, and also what the file asks for the process.
    said=$(spec $ALICE player '{"process": '$PROGRAM', "cpu_latency": "30us", "threads": [{"name": "python3", "runtime": "1ms", "period": "20ms", "nice": -3}]}')
    told '.result == "OK" and .grant.threads == 1 and .threads[0].grant.cpu_latency == 30 and .threads[0].grant.nice == -3' "$said"
    is_policy "$PROGRAM" deadline
    latency_is 30
    # If the rules of acl.conf refuse a thing that is for the process, the whole file is refused.
    told '.result == "ACL_FAIL" and .grant.threads == 1' "$(spec $ALICE player '{"process": '$PROGRAM', "cpu_latency": "10us", "threads": [{"name": "python3", "runtime": "1ms", "period": "20ms"}]}')"
    kill -KILL "$PROGRAM"
    eventually latency_is 2000000000
}

@test "a program file lets its process lock memory, whatever number of threads it has" {
    root_may_raise
    broker_start
    program camera-1 camera-2
    prlimit --pid "$PROGRAM" --memlock=$MIB:$((8 * MIB))
    # Two threads with 64 MiB each would be more than the user's 96 MiB.
    said=$(spec $ALICE player '{"process": '$PROGRAM', "lock_memory": "64MiB", "threads": [{"name": "*", "runtime": "1ms", "period": "20ms"}]}')
    told '.result == "OK" and .grant.threads == 3 and ([.threads[].grant.lock_memory | select(. != null)]) == [67108864]' "$said"
    limit_is "$PROGRAM" $((64 * MIB)) $((64 * MIB))
    as $ALICE rm "$SPECS/$ALICE/player.json"
    eventually limit_is "$PROGRAM" $MIB $((8 * MIB))
}
