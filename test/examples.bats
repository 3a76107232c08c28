# contrib/examples: each example is compiled and run as a user would do it, under the shipped configuration.
load helper

prepare() {
    configure_as_shipped
    export PKG_CONFIG_PATH=$RTF_STAGE/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$RTF_STAGE
    EXAMPLES=$RTF_SOURCE/contrib/examples
}

as_alice() {
    as $ALICE env USER=$ALICE RTF_SPOOL="$SPOOL" LD_LIBRARY_PATH="$RTF_STAGE/usr/lib" PYTHONPATH="$RTF_SOURCE/contrib/python" PYTHONDONTWRITEBYTECODE=1 timeout 60 "$@"
}
# compiled NAME: compiles the example by the command in the file itself.
compiled() {
    cp "$EXAMPLES/$1.c" "$WORK/$1.c"
    (cd "$WORK" && eval "$(sed -n 's/^ \*  *\(cc .*librtf)\( -pthread\)\{0,1\}\).*/\1/p' "$1.c")")
    [ -x "$WORK/$1" ]
}
nothing_is_left() { eventually finds_nothing "$SPECS/$ALICE" -name '*.json'; }
plugins_that_granted() { jq -r 'select(.stage == "verdict" and .decision == "ok") | .plugin' "$EVENTS" | sort | uniq -c | xargs; }

@test "periodic.c, and its refusal" {
    compiled periodic
    broker_start
    run as_alice "$WORK/periodic" 10
    [ "$status" -eq 0 ]
    [[ $output == '10 periods, '*' missed' ]]
    [ "$(plugins_that_granted)" = '1 EDF' ]
    nothing_is_left
    spec $ALICE hold '{"runtime": "20ms", "period": "50ms"}' >/dev/null
    run as_alice "$WORK/periodic" 10
    [ "$status" -eq 77 ]
    [[ $output == 'periodic: '*'max_utilization 0.5: '*'periodic: a runtime of 100 us would be granted' ]] || { echo "$output" >&2; false; }
}

# bats test_tags=turn:0
@test "periodic.py" {
    broker_start
    run as_alice /usr/bin/python3 "$EXAMPLES/periodic.py" 5
    [ "$status" -eq 0 ]
    [[ $output == '5 periods, '*' missed' ]]
    [ "$(plugins_that_granted)" = '1 EDF' ]
    broker_stop TERM
    run as_alice /usr/bin/python3 "$EXAMPLES/periodic.py" 5
    [ "$status" -eq 1 ]
    [[ $output == 'periodic.py: no broker '* ]]
}

# looping: starts eight ordinary threads that never sleep.
looping() {
    local i
    for i in 1 2 3 4 5 6 7 8; do
        become $BOB sh -c 'while :; do :; done' 3>&- &
        echo "$!" >>"$WORK/pids"
    done
}
keeps_up() { as_alice "$@" | tee "$WORK/kept" | grep -q ' periods, 0 missed$' || { sed 's/^/# /' "$WORK/kept" >&3; return 1; }; }

@test "a loop at 1 kHz misses no period beside 8 endless loops, in C and in Python" {
    compiled periodic
    broker_start
    looping
    once_of 6 keeps_up "$WORK/periodic" 500
    once_of 6 keeps_up /usr/bin/python3 "$EXAMPLES/periodic.py" 500
    nothing_is_left
}

# bats test_tags=turn:1
@test "audio.c: the host's thread has the reservation, and goes on without one" {
    compiled audio
    broker_start
    run as_alice "$WORK/audio" 50
    [ "$status" -eq 0 ]
    [[ $output == '50 buffers, '*' late, by EDF' ]] || { echo "$output" >&2; false; }
    nothing_is_left
    broker_stop TERM
    run as_alice "$WORK/audio" 5
    [ "$status" -eq 0 ]
    [[ $output == *'5 buffers, '*' late, by nobody' ]]
}

# bats test_tags=turn:2
@test "executor.c: two executors, two reservations" {
    compiled executor
    broker_start
    run as_alice "$WORK/executor"
    [ "$status" -eq 0 ]
    [ "$output" = 'joints 25, images 10, logs 2' ]
    [ "$(jq -r 'select(.stage == "verdict" and .decision == "ok") | .name' "$EVENTS" | sort | xargs)" = 'control perception' ]
    nothing_is_left
}

# bats test_tags=turn:0
@test "cron: the line, with cron's own environment" {
    broker_start
    mkdir "$WORK/bin"
    printf '#!/bin/sh\n[ "$1" = run ] && shift\nexec %s --spool %s "$@"\n' "$RTF_BIN/rtf-run" "$SPOOL" >"$WORK/bin/rtf"
    chmod 755 "$WORK/bin/rtf"
    install -d -o $ALICE "$WORK/home"
    # The line as crontab(5) reads it: without five fields, and \% is %.
    line=$(sed -nE 's/^([^ #]+ ){5}//p' "$EXAMPLES/cron" | sed 's/\\%/%/g')
    as $ALICE env -i HOME="$WORK/home" LOGNAME=$ALICE USER=$ALICE SHELL=/bin/sh PATH="$WORK/bin:/usr/bin:/bin" /bin/sh -c "$line" </dev/null
    grep -qE '^[0-9]{2}:[0-9]{2}:[0-9]{2}$' "$WORK/home/measured"
    [ "$(plugins_that_granted)" = '1 EDF' ]
}

# bats test_tags=turn:1
@test "camera.service: the program is real-time after its message that it is ready, and systemd gets the message" {
    broker_start
    cat >"$WORK/camera" <<'END'
#!/usr/bin/python3
import os, socket, sys
def real_time(): return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
before = real_time()
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
    notify.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1))
while real_time() == 0:
    pass
print(before, real_time())
END
    chmod 755 "$WORK/camera"
    cat >"$WORK/systemd.py" <<'END'
import os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
    manager.bind(sys.argv[1])
    os.chmod(sys.argv[1], 0o777)
    manager.settimeout(30)
    print(manager.recv(100).decode(), flush=True)
END
    /usr/bin/python3 "$WORK/systemd.py" "$WORK/notify" >"$WORK/heard" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -S "$WORK/notify"
    line=$(sed -n 's/^ExecStart=//p' "$EXAMPLES/camera.service" | sed "s,/usr/bin/rtf-run,$RTF_BIN/rtf-run --spool $SPOOL,; s,/usr/local/bin,$WORK,")
    # shellcheck disable=SC2086 # words, as systemd splits them
    run as $ALICE env NOTIFY_SOCKET="$WORK/notify" USER=$ALICE timeout 30 $line
    [ "$status" -eq 0 ]
    [ "$output" = "0 6" ] || { echo "$output" >&2; false; }
    eventually grep -q READY=1 "$WORK/heard"
}

@test "the programs of experiments run where their user cannot enter the tree" {
    mkdir -m 700 "$WORK/home"
    mkdir -p "$WORK/home/test/experiments" "$WORK/home/build/experiments"
    cp "$RTF_SOURCE/test/experiments/bench.py" "$WORK/home/test/experiments"
    cc -std=c17 -D_GNU_SOURCE -O2 -o "$WORK/home/build/experiments/jobs" "$RTF_SOURCE/test/experiments/jobs.c"
    cat >"$WORK/home/test/experiments/one" <<'END'
from bench import Machine
machine = Machine("EDF edf - all")
machine.check = lambda: None    # others may change the kernel's settings meanwhile
with machine:
    process = machine.jobs(0, 1, 1, "0:1000")
    machine.started()
    print(process.wait())
END
    chmod 755 "$WORK"
    run timeout 100 env PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$WORK/home/test/experiments/one"
    [ "$status=$output" = 0=0 ]
}
