# bats file_tags=lane:alone
# The broker keeps control of its grants: beside hogs of every priority on every CPU it answers, takes grants back and stops. The hogs end by themselves
# after a few seconds, also if the test fails.
load helper

prepare() {
    configure_plugins 'EDF edf - 0-1 partition=unthrottled threshold=0.95' 'FP fp 11-20 0-1' 'RR rr 1-10 0-1'
    configure_rules "$ALICE - max_utilization 1000" "$BOB - max_utilization 1000"
    mkfifo -m 666 "$WORK/go"
}

tidy() {
    if mountpoint -q "$SPECS"; then
        if [ -n "$BROKER" ]; then broker_stop TERM; fi
        eventually umount "$SPECS"
    fi
}

# hog NAME JSON: starts a process that will spin when a file tells it to, and attaches it; $HOG is its id
hog() {
    # shellcheck disable=SC2016 # for the hog's own shell, which does not fork
    become $ALICE bash -c 'read -r _ <"$0"; end=$((SECONDS + 60)); while ((SECONDS < end)); do :; done' "$WORK/go" 3>&- &
    HOG=$!
    echo "$HOG" >>"$WORK/pids"
    eventually is_bash "$HOG"
    spec $ALICE "$1" "${2%\}}, \"attach\": $HOG}" >/dev/null
}

is_bash() { [ "$(stat -c %u "/proc/$1") $(tr '\0' ' ' <"/proc/$1/cmdline" | cut -c1-7)" = "$ALICE bash -c" ]; }

# runs_as PID POLICY: the kernel has this number for the policy (0 ordinary, 1 FIFO, 6 SCHED_DEADLINE); uses no other process
runs_as() {
    local stat
    read -r -a stat <"/proc/$1/stat"
    [ "${stat[40]}" = "$2" ]
}

# since MICROSECONDS: prints how many ms ago this time was
since() { echo $(((${EPOCHREALTIME/./} - $1) / 1000)); }

# bats test_tags=turn:1
@test "beside hogs of its own on every CPU the broker answers, detaches and stops" {
    broker_start
    edf='{"runtime": "95ms", "period": "100ms", "plugin": "EDF"}' hogs=()
    for number in 1 2; do
        hog edf$number "$edf"
        runs_as "$HOG" 6
        hogs+=("$HOG")
        hog fp$number '{"priority": 20, "plugin": "FP"}'
        runs_as "$HOG" 1
        hogs+=("$HOG")
    done
    for pid in "${hogs[@]}"; do kernel "$pid" | tee -a "$WORK/hogs"; done
    for cpu in 0 1; do [ "$(grep -c "cpus=$cpu " "$WORK/hogs")" = 2 ]; done
    as $BOB "$RTF_SOURCE/test/fixtures/paced" "$SPECS/$BOB" 50 >"$WORK/took" 3>&- &
    client=$!
    : >"$WORK/go"
    wait $client
    read -r median worst <"$WORK/took"
    echo "# beside SCHED_DEADLINE threads at 0.95 of 100 ms and FIFO threads on every CPU: median $median ms, worst $worst ms of 50" >&3
    [ "$worst" -lt 5000 ]

    began=${EPOCHREALTIME/./}
    rm "$SPECS/$ALICE/edf1.json"
    eventually runs_as "${hogs[0]}" 0
    rm "$SPECS/$ALICE/fp2.json"
    eventually runs_as "${hogs[3]}" 0
    echo "# both taken back after $(since $began) ms" >&3
    runs_as "${hogs[2]}" 6
    runs_as "${hogs[1]}" 1

    began=${EPOCHREALTIME/./}
    broker_stop TERM
    echo "# stopped after $(since $began) ms" >&3
    for pid in "${hogs[@]}"; do [ "$(kernel "$pid")" = 'other 0 nice=0 0/0/0 cpus=0-1 reset=0' ]; done
    [ "$(</proc/sys/kernel/sched_rt_runtime_us)" = "$RT_RUNTIME" ]
}

# A missing right must stop the broker at its start, and must not be noticed only when the broker needs the right.

@test "a broker that may not outrank its grants does not start, and names the missing right" {
    status=0
    timeout 10 setpriv --bounding-set -sys_nice -- sh -c 'ulimit -r 0; exec "$@"' sh "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" \
        --config "$CONFIG" --group $GROUP >"$WORK/out" 2>&1 3>&- || status=$?
    cat "$WORK/out"
    [ $status = 71 ]
    grep -q 'rtf-brokerd: the broker cannot run above what it grants (SCHED_FIFO, priority 22): Operation not permitted; it needs CAP_SYS_NICE' "$WORK/out"
}

@test "broker, helper, plugins and account lookup are locked in memory; where they may not be, the log tells" {
    [ -z "${ASAN_OPTIONS:-}" ] || skip 'AddressSanitizer makes mlockall(2) do nothing'
    configure_plugins 'FP fp 11-20 all' 'RR rr 1-10 all'
    broker_start
    for pid in "$BROKER" $(launcher) $(helpers | grep -vxE "$(helpers rtf-logger)|$(helpers rtf-publisher)"); do # these may wait for the disk
        [ "$(awk '/VmLck/ { print $2 }' "/proc/$pid/status")" -gt 0 ] || { cat "/proc/$pid/cmdline"; return 1; }
    done
    [ "$(jq -s '[.[] | select(.decision == "warning" and (.reason | test("is not locked in memory")))] | length' "$EVENTS")" = 0 ]
    broker_stop TERM
    ulimit -l 64
    setpriv --bounding-set -ipc_lock,-sys_resource -- "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group $GROUP \
        >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
    sleeper $ALICE
    spec $ALICE cam "{\"priority\": 15, \"attach\": $SLEEPER}" >/dev/null
    is_policy "$SLEEPER" fifo
    for who in broker 'attach helper'; do
        [ "$(grep -c "the $who is not locked in memory" "$EVENTS")" = 1 ]
    done
}

# Root in a container may lock memory, but mostly may not raise its limit: then the broker must not lock all of the limit.
# bats test_tags=turn:2
@test "a limit on locked memory keeps neither the broker nor a reader from growing" {
    configure_plugins 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 100000"
    mkdir -p "$SPOOL/specs"
    mount -t tmpfs -o size=128m none "$SPECS" # a file system in memory is quicker than a disk
    for each in '8192 -sys_resource' '8192 -ipc_lock,-sys_resource' '2048 -sys_resource'; do
        read -r limit without <<<"$each"
        prlimit --memlock=$((limit * 1024)) setpriv --bounding-set "$without" -- "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group $GROUP \
            --max-specs 20000 >>"$WORK/broker.out" 2>&1 3>&- &
        BROKER=$!
        echo "$BROKER" >>"$WORK/pids"
        eventually broker_serves
        as $ALICE /usr/bin/python3 -S - "$SPECS/$ALICE" <<'END'
import os, sys
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
for number in range(12000):
    with open(".new", "w") as file:
        file.write('{"priority": 5}')
    os.rename(".new", f"w{number}.json")
END
        eventually all_answered
        [ "$(awk '/^VmRSS/ { print $2 }' "/proc/$BROKER/status")" -gt 10240 ]
        [ "$without" != -sys_resource ] || [ "$(awk '/^VmLck/ { print $2 }' "/proc/$BROKER/status")" -gt 10240 ]
        broker_stop TERM
        no grep -F "the user's reader ended" "$EVENTS"
        find "$SPECS/$ALICE" -name '*.json' -delete
    done
}
all_answered() { [ "$(find "$SPECS/$ALICE" -name '*.verdict' | wc -l)" -eq 12000 ]; }
