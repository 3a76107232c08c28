# rtf-run --learn and --adapt: programs without numbers get the reservations that their threads need. The kernel's view of the threads counts.
# bats file_tags=lane:alone
load ../helper
load ../command
load front

prepare() {
    front_prepare
    mkdir "$WORK/home"
    chown $ALICE "$WORK/home"
}

# A killed jackd leaves its shared memory behind. Each leaves the registry of shared memory, which may have existed before.
tidy() {
    [ -n "${had_registry+set}" ] || return 0
    kill -KILL "$PROGRAM" 2>/dev/null || true
    rm -rf /dev/shm/jack*"$ALICE"*
    [ -n "$had_registry" ] || rm -f /dev/shm/jack-shm-registry
}

# follows OPTION... -- COMMAND: runs `rtf run --learn` in the background, as Alice. $RUN is its process; $WORK/told has its messages.
follows() {
    # shellcheck disable=SC2086 # words
    setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" ${CAPABILITIES:-} -- env USER=$ALICE HOME="$WORK/home" JACK_NO_AUDIO_RESERVATION=1 \
        "$RTF_BIN/rtf" --spool "$SPOOL" run --learn "$@" >"$WORK/said" 2>"$WORK/told" 3>&- &
    RUN=$!
    echo "$RUN" >>"$WORK/pids"
}
# The command is the first child; the keepers of reservations come later.
begins() { # NAME
    has_begun() { PROGRAM=$(children "$RUN" | head -n 1) && [ -n "$PROGRAM" ] && is_program "$PROGRAM" "$1"; }
    eventually has_begun "$1"
    echo "$PROGRAM" >>"$WORK/pids"
}
ends() { # STATUS: the status of rtf-run
    local status=0
    wait "$RUN" || status=$?
    [ "$status" -eq "$1" ] || { echo "status $status" >&2; cat "$WORK/told" >&2; return 1; }
}
# between NAME KEY LEAST MOST: the kernel's value of this thread, in us: runtime or period.
between() {
    local times runtime period
    times=$(kernel "$1" | cut -d ' ' -f 4)
    runtime=${times%%/*} period=${times##*/}
    [ "${!2}" -ge "$3" ] && [ "${!2}" -le "$4" ] || { echo "thread $1 has $times" >&2; return 1; }
}
told() { grep -q -e "$1" "$WORK/told" || { cat "$WORK/told" >&2; return 1; }; }

@test "a periodic program gets its reservation, SIGTERM reaches it, and the last line reserves the same again" {
    broker_start
    follows -v -- "$RTF_STAGE/worker" "$WORK/home/truth" clock 20000 3000
    begins worker
    eventually is_policy "$PROGRAM" deadline
    between "$PROGRAM" period 19700 20000
    between "$PROGRAM" runtime 3000 12000
    holds "run-$PROGRAM" '.thread.state == "attached"'
    kill "$RUN"
    ends 0
    jq -e '.jobs > 50' "$WORK/home/truth"
    told "^rtf-run: thread $PROGRAM (worker) has the reservation run-$PROGRAM"
    eventually nothing_in "$OWN"
    # as pasted into a shell
    local line
    line=$(tail -n 1 "$WORK/told")
    [[ $line == "rtf-run --spool $SPOOL -T "*us' -P '*' -- '*'/worker '*'/home/truth clock 20000 3000' ]] || { cat "$WORK/told" >&2; false; }
    become $ALICE env USER=$ALICE PATH="$RTF_BIN:$PATH" sh -c "exec $line" 3>&- &
    PROGRAM=$!
    echo "$PROGRAM" >>"$WORK/pids"
    eventually is_program "$PROGRAM" worker
    is_policy "$PROGRAM" deadline
    between "$PROGRAM" runtime 3300 12000
}

@test "a refusal is said once, and the program goes on; after kill -9 nothing is left" {
    configure_rules "$ALICE - max_utilization 0.01"
    broker_start
    follows -- "$RTF_STAGE/worker" "$WORK/home/truth" clock 10000 2000
    begins worker
    eventually told "^rtf-run: thread $PROGRAM (worker) goes on without a reservation: .*max_utilization"
    configure_rules "$ALICE - max_utilization 2"
    kill -HUP "$BROKER"
    eventually is_policy "$PROGRAM" deadline
    [ "$(grep -c 'goes on without' "$WORK/told")" -eq 1 ]
    kill -KILL "$RUN"
    wait "$RUN" || :
    is_policy "$PROGRAM" deadline
    [ -z "$(children "$RUN")" ]
    kill -KILL "$PROGRAM"
    eventually nothing_in "$OWN"
}

@test "the exit status is the command's, and a command without a period is named in words" {
    prints_status() { # STATUS COMMAND...
        local expected=$1 status=0
        shift
        rtf run --learn -- "$@" >"$WORK/said" 2>"$WORK/told" || status=$?
        [ "$status" -eq "$expected" ] || { echo "status $status" >&2; cat "$WORK/told" >&2; return 1; }
    }
    prints_status 7 sh -c 'exit 7'
    told '^rtf-run: sh has ended within a second: too soon to be observed$'
    prints_status 137 sh -c 'kill -KILL $$'
    fails 127 'rtf-run: /no/such/command: *' rtf run --learn -- /no/such/command
    fails 126 'rtf-run: /etc/passwd: *' rtf run --learn -- /etc/passwd
    fails 125 'rtf-run: --learn finds out what CMD needs: *' rtf run --learn -T 1ms -- true
    fails 125 'rtf-run: a command is missing *' rtf run --learn
    fails 125 'rtf-run: --adapt needs a runtime (-T) and a period (-P), *' rtf run --adapt -- true
    follows -- sleep 2.2
    ends 0
    told '^rtf-run: thread sleep gets no reservation (sleeping: it has hardly run)$'
    told '^rtf-run: no thread has a period, so there is nothing to reserve$'
    [ -z "$(find "$SPECS" -name '*.json' 2>/dev/null)" ]
}

@test "--adapt keeps the reservation at what the command uses, and ends with the command" {
    broker_start
    become $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" run --adapt --name cam -T 9ms -P 20ms -- "$RTF_STAGE/worker" "$WORK/home/truth" clock 20000 1000 3>&- &
    RUN=$!
    echo "$RUN" >>"$WORK/pids"
    lowered() { between "$RUN" runtime 1000 3000 2>/dev/null; }
    eventually lowered
    holds cam '.thread.state == "attached"'
    [ -z "$(children "$RUN")" ]
    kill "$RUN"
    ends 0
    eventually nothing_in "$OWN"
    adapts() { grep -qs "rtf-adapt.*$SPOOL" /proc/[0-9]*/cmdline; }
    eventually no adapts
}

# bats test_tags=turn:0
@test "cyclictest: each of its threads gets a reservation, and the last line has rules for their name" {
    command -v cyclictest >/dev/null || skip 'cyclictest is not here'
    broker_start
    CAPABILITIES='--inh-caps +sys_nice --ambient-caps +sys_nice' # cyclictest does not start without the right
    follows -- cyclictest --quiet --threads=2 --interval=4000 --distance=2000 --policy=other
    begins cyclictest
    reserved() { [ "$(for task in "/proc/$PROGRAM/task"/*; do kernel "${task##*/}"; done | grep -c '^deadline')" -ge 2 ]; }
    eventually reserved
    kill "$RUN"
    ends 0
    [[ $(tail -n 1 "$WORK/told") == "printf '%s\n' '{\"threads\": [{\"name\": \"cyclictest\", \"runtime\": "*'}]}'"' >cyclictest.threads && rtf-run --spool $SPOOL -f cyclictest.threads -- cyclictest "* ]] ||
        { cat "$WORK/told" >&2; false; }
    eventually nothing_in "$OWN"
}

# bats test_tags=turn:1
@test "a loop in Python gets its reservation" {
    broker_start
    follows -- /usr/bin/python3 -S -c '
import time
due = time.monotonic()
while True:
    end = time.thread_time() + 0.002
    while time.thread_time() < end:
        pass
    due += 0.025
    time.sleep(max(0, due - time.monotonic()))'
    begins python3
    eventually is_policy "$PROGRAM" deadline
    between "$PROGRAM" period 24700 25000
    kill -TERM "$RUN"
    ends 143
    [[ $(tail -n 1 "$WORK/told") == *' -P 2'*"-- /usr/bin/python3 -S -c '"* ]] || told ' -- /usr/bin/python3 -S -c "$(printf '
    eventually nothing_in "$OWN"
}

# bats test_tags=turn:2
@test "jackd with the dummy driver: its periodic thread gets a reservation" {
    command -v jackd >/dev/null || skip 'jackd is not here'
    had_registry=$(find /dev/shm -name jack-shm-registry)
    broker_start
    follows -v -- jackd -n "rtf$ALICE" -r -d dummy -r 48000 -p 1024
    begins jackd
    reserved() { [ "$(for task in "/proc/$PROGRAM/task"/*; do kernel "${task##*/}"; done | grep -c '^deadline')" -ge 1 ]; }
    eventually reserved
    waits() { grep -q sigtimedwait "/proc/$PROGRAM/wchan"; }
    eventually waits
    kill "$RUN"
    ends 0
    eventually nothing_in "$OWN"
}
