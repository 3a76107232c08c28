# The kernel's view decides who owns a thread. Owners attack through their threads.
load attack

fp() { [ "$(field .result "$(spec $ALICE cam '{"priority": 12, "plugin": "FP"}')")" = OK ]; }

refused() { # TID SENTENCE
    local answer
    answer=$(attach $ALICE cam "$1")
    echo "$answer"
    [ "$(field .result "$answer")" = ATTACH_FAIL ]
    [ "$(field .thread "$answer")" = null ]
    is_policy "$1" other
}

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 100"
    ATTACKERS=()
}

@test "threads of root, of other users, of the kernel and of the broker are not the user's" {
    broker_start
    fp
    sleeper $BOB
    for tid in 1 2 "$BROKER" "$(launcher)" "$(helpers rtf-attach)" "$(helpers plugins/fp)" "$SLEEPER" $$; do
        before=$(kernel "$tid" 2>/dev/null || true)
        answer=$(attach $ALICE cam "$tid")
        echo "$tid: $(field .reason "$answer")"
        [ "$(field .result "$answer")" = ATTACH_FAIL ]
        [ "$(kernel "$tid" 2>/dev/null || true)" = "$before" ]
    done
}

@test "a set-user-ID program that a user runs is not the user's" {
    install -m 4755 -o root /usr/bin/sleep "$WORK/sleep-as-root"
    broker_start
    fp
    become $ALICE "$WORK/sleep-as-root" 300 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually runs_as_root "$!"
    refused "$!"
}
runs_as_root() { [ "$(awk '/^Uid/ { print $3 }' "/proc/$1/status")" = 0 ]; }

@test "a thread that becomes root by execve while it is attached again and again is never real-time as root" {
    install -m 4755 -o root /usr/bin/sleep "$WORK/sleep-as-root"
    broker_start
    fp
    for round in $(seq 20); do
        mkfifo -m 666 "$WORK/go$round"
        become $ALICE sh -c 'read -r _ <"$1"; exec "$2" 300' sh "$WORK/go$round" "$WORK/sleep-as-root" 3>&- &
        tid=$!
        echo "$tid" >>"$WORK/pids"
        as $ALICE sh -c 'echo "$2" >"$1/.tid" && mv "$1/.tid" "$1/cam.tid"' sh "$SPECS/$ALICE" "$tid"
        echo >"$WORK/go$round"
        eventually runs_as_root "$tid"
        verdict $ALICE cam >/dev/null
        if is_policy "$tid" fifo; then # the thread was Alice's when it was attached; after a second attach it is not real-time
            [ "$(field .result "$(attach $ALICE cam "$tid")")" = ATTACH_FAIL ]
        fi
        is_policy "$tid" other
        kill -KILL "$tid"
    done
}

@test "a thread id in a spec means the id outside of the user's pid namespace" {
    as $ALICE unshare --user true 2>/dev/null || skip 'unprivileged users may not make user namespaces here'
    broker_start
    fp
    become $ALICE unshare --user --map-root-user --pid --fork --kill-child sleep 300 3>&- &
    outer=$!
    echo "$outer" >>"$WORK/pids"
    eventually pgrep -P "$outer" -x sleep
    refused 1 || [ "$(kernel 1 | cut -d ' ' -f 1)" = other ] # id 1 of the inner namespace is taken as id 1 outside: init
    inner=$(pgrep -P "$outer" -x sleep)
    echo "$inner" >>"$WORK/pids"
    [ "$(field .result "$(attach $ALICE cam "$inner")")" = OK ] # root in the inner namespace, Alice outside
    is_policy "$inner" fifo
}

@test "a user can only lower an own attached thread by ptrace" {
    [ "$(uname -m)" = x86_64 ] || skip 'test/fixtures/inject knows the registers of x86_64 only'
    broker_start
    fp
    sleeper $ALICE
    attach $ALICE cam "$SLEEPER" >/dev/null
    inject() { as $ALICE "$RTF_SOURCE/test/fixtures/inject" "$SLEEPER" "$@"; }
    # The kernel reads struct sched_param, an int, from the first four bytes of these texts, little-endian.
    [ "$(inject sched_setscheduler 0 1 c)" = EPERM ]          # FIFO 99
    [ "$(inject sched_setscheduler 0 0x40000002 $'\x05')" = EPERM ] # RR
    [ "$(inject sched_setscheduler 0 1 $'\x05')" = EPERM ]    # without reset-on-fork
    [[ $(kernel "$SLEEPER") == 'fifo 12 '*' reset=1' ]]
    [ "$(inject getpid)" = "$SLEEPER" ]
}

# bats test_tags=turn:0
@test "children and threads of an attached thread are ordinary, a thousand times over" {
    broker_start
    fp
    mkfifo -m 644 "$WORK/go"
    become $ALICE sh -c 'read -r _ <"$1"; for i in $(seq 200); do sleep 300 & done; wait' sh "$WORK/go" 3>&- &
    forker=$!
    echo "$forker" >>"$WORK/pids"
    eventually is_hers "$forker"
    attach $ALICE cam "$forker" >/dev/null
    is_policy "$forker" fifo
    echo >"$WORK/go"
    eventually has_children "$forker" 200
    pgrep -P "$forker" >>"$WORK/pids"
    them=$(pgrep -P "$forker")
    [ -n "$them" ]
    for child in $them; do is_policy "$child" other; done
}
is_hers() { [ "$(cat "/proc/$1/comm")" = sh ]; } # setpriv has become the shell
has_children() { [ "$(pgrep -P "$1" -x sleep | wc -l)" -ge "$2" ]; }

@test "one thread cannot be attached to two specs, nor for two users" {
    broker_start
    fp
    sleeper $ALICE
    attach $ALICE cam "$SLEEPER" >/dev/null
    [ "$(field .result "$(spec $ALICE two '{"priority": 15, "plugin": "FP"}')")" = OK ]
    [ "$(field .result "$(attach $ALICE two "$SLEEPER")")" = ATTACH_FAIL ]
    spec $BOB his '{"priority": 15, "plugin": "FP"}' >/dev/null
    [ "$(field .result "$(attach $BOB his "$SLEEPER")")" = ATTACH_FAIL ]
    [[ $(kernel "$SLEEPER") == 'fifo 12 '* ]]
}
