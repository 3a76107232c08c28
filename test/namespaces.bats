# Programs in pid and user namespaces (containers): a thread has another number inside, and the user another uid.
load helper
load command

prepare() {
    configure_rules "$ALICE - max_utilization 0.9" "$BOB - max_utilization 0.9"
    OWN=$SPECS/$ALICE
    as $ALICE unshare --user true 2>/dev/null || skip 'unprivileged users may not make user namespaces here'
    as $ALICE env USER=$ALICE "$RTF_BIN/rtf-run" --version >/dev/null
}

# inside SCRIPT [OPTION...]: runs a shell script of Alice in namespaces of its own; without options as root of these namespaces.
inside() {
    local script=$1
    shift
    [ $# -gt 0 ] || set -- --map-root-user
    as $ALICE env USER="${AS-$ALICE}" SPOOL="$SPOOL" BIN="$RTF_BIN" unshare --user "$@" --pid --fork --kill-child --mount-proc sh -euc "$script"
}
# container: starts a sleeping process of Alice, $SLEEPER, which is number 1 of a new pid namespace. The FIFO $GIVE gives it commands to run.
container() {
    mkfifo -m 666 "$WORK/in.$1" "$WORK/out.$1"
    become $ALICE env USER=$ALICE SPOOL="$SPOOL" BIN="$RTF_BIN" unshare --user --map-root-user --pid --fork --kill-child --mount-proc \
        sh -c 'while read -r line <"$1"; do eval "$line" >"$2" 2>&1; done' sh "$WORK/in.$1" "$WORK/out.$1" 3>&- &
    echo "$!" >>"$WORK/pids"
    local outer=$!
    has_child() { pgrep -P "$outer" >/dev/null; }
    eventually has_child
    CONTAINED=$(pgrep -P "$outer")
    echo "$CONTAINED" >>"$WORK/pids"
}
# within NAME COMMAND: runs the command in this container, and prints the command's output.
within() { echo "$2" >"$WORK/in.$1"; timeout 20 cat "$WORK/out.$1"; }

@test "rtf-run attaches its own thread in a pid namespace of its user" {
    broker_start
    for options in --map-root-user --map-current-user; do
        said=$(inside '"$BIN/rtf-run" --spool "$SPOOL" -T 10ms -P 100ms -- sh -c "echo \$\$; exec chrt -p 0"' $options)
        [[ $said == 2*SCHED_DEADLINE* ]] || { echo "$said" >&2; false; }
    done
    # Without a name the user is found by the uid outside, which is not 0.
    said=$(AS='' inside 'unset USER; "$BIN/rtf-run" --spool "$SPOOL" -T 10ms -P 100ms -- chrt -p 0')
    [[ $said == *SCHED_DEADLINE* ]] || { echo "$said" >&2; false; }
    [ "$(find "$SPECS" -mindepth 1 -maxdepth 1 -type d)" = "$OWN" ]
}

@test "rtf attach in a pid namespace attaches the thread of this namespace, whatever number it has outside" {
    broker_start
    sleeper $ALICE # the thread has another number inside
    container one
    one=$CONTAINED
    container two
    two=$CONTAINED
    for which in one two; do
        said=$(within $which '"$BIN/rtf" --spool "$SPOOL" attach '$which' -T 10ms -P 100ms -p $$ 2>&1; echo "$?"')
        [ "$said" = 0 ] || { echo "$said" >&2; false; }
    done
    is_attached $ALICE one-1 "$one" || is_attached $ALICE one "$one"
    is_attached $ALICE two-1 "$two" || is_attached $ALICE two "$two"
    for tid in "$one" "$two"; do is_policy "$tid" deadline; done
    is_policy "$SLEEPER" other
}

@test "NAME.tid in a pid namespace, librtf and rtf preload mean the thread of the namespace" {
    broker_start
    container one
    spec $ALICE cam '{"runtime": "10ms", "period": "100ms"}' >/dev/null
    said=$(within one '"$BIN/rtf" --spool "$SPOOL" attach cam $$; cat "$SPOOL/specs/$USER/cam.tid"')
    [[ $said =~ ^1\ inode=[0-9]+$ ]] || { echo "$said" >&2; false; }
    is_attached $ALICE cam "$CONTAINED"
    is_policy "$CONTAINED" deadline
    rm "$OWN/cam.tid"
    eventually is_policy "$CONTAINED" other
    said=$(within one '"$BIN/rtf" --spool "$SPOOL" every -T 10ms -P 100ms --count 2 -- chrt -p 0')
    [ "$(grep -c SCHED_DEADLINE <<<"$said")" = 2 ] || { echo "$said" >&2; false; }
    said=$(within one '"$BIN/rtf" --spool "$SPOOL" preload --plugin EDF -- chrt -d -T 10000000 -P 100000000 0 chrt -p 0')
    [[ $said == *SCHED_DEADLINE* ]] || { echo "$said" >&2; false; }
}

@test "in a pid namespace that root made, a user's thread is found; of another user it is refused" {
    broker_start
    said=$(unshare --pid --fork --kill-child --mount-proc setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" env USER=$ALICE \
        "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 10ms -P 100ms -- sh -c 'echo $$; exec chrt -p 0')
    [[ $said == 1*SCHED_DEADLINE* ]] || { echo "$said" >&2; false; }
    # 1000 inside is Alice outside, as a container's engine maps it.
    said=$(python3 - "$ALICE" "$GROUP" "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 10ms -P 100ms -- sh -c 'id -u; exec chrt -p 0' <<'END'
import ctypes, os, sys
ready, mapped = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    ctypes.CDLL(None).unshare(0x10000000 | 0x20000000) # CLONE_NEWUSER | CLONE_NEWPID
    os.write(ready[1], b"1")
    os.read(mapped[0], 1)
    os.setgroups([])
    os.setgid(1000)
    os.setuid(1000)
    os.environ.pop("USER", None)
    if os.fork() == 0:
        os.execv(sys.argv[3], sys.argv[3:])
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
os.read(ready[0], 1)
for name, outside in ("uid_map", sys.argv[1]), ("gid_map", sys.argv[2]):
    with open(f"/proc/{child}/{name}", "w") as file:
        file.write(f"1000 {outside} 1")
os.write(mapped[1], b"1")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
END
    )
    [[ $said == 1000*SCHED_DEADLINE* ]] || { echo "$said" >&2; false; }
    sleeper $BOB
    inode=$(python3 -c 'import os, sys; print(os.stat(f"/proc/self/fd/{os.pidfd_open(int(sys.argv[1]))}").st_ino)' "$SLEEPER")
    refused=$(spec $ALICE arm "{\"runtime\": \"10ms\", \"period\": \"100ms\", \"attach\": {\"tid\": 1, \"inode\": $inode}}")
    told '.result == "ATTACH_FAIL" and .refusal.code == "not-yours"' "$refused"
    [[ $(field .reason "$refused") == "thread $SLEEPER is not yours: "* ]]
    is_policy "$SLEEPER" other
}

@test "rules for threads in a pid namespace are for the process of the namespace: of rtf attach, rtf-run and the library" {
    broker_start
    container one
    printf '{"threads": [{"name": "sh", "runtime": "10ms", "period": "100ms"}]}' >"$WORK/rules"
    chmod 644 "$WORK/rules"
    said=$(within one '"$BIN/rtf" --spool "$SPOOL" attach app -f '"$WORK/rules"' -p $$; echo "$?"')
    [ "$said" = 0 ] || { echo "$said" >&2; false; }
    is_policy "$CONTAINED" deadline
    told ".result == \"OK\" and .program.process == $CONTAINED and .threads[0].tid == $CONTAINED" "$(cat "$OWN/app.verdict")"
    [ "$(jq .process.tid "$OWN/app.json")" = 1 ]
    # The rules stay in force when the broker is killed and starts again. The rules end when the process ends.
    kill -KILL "$BROKER"
    eventually is_gone "$BROKER"
    broker_start
    is_policy "$CONTAINED" deadline
    said=$(within one '"$BIN/rtf-run" --spool "$SPOOL" --name own -f '"$WORK/rules"' -- sh -c "until chrt -p \$\$ | grep DEADLINE; do sleep 0.01; done"')
    [[ $said == *SCHED_DEADLINE* ]] || { echo "$said" >&2; false; }
    kill -KILL "$CONTAINED"
    eventually test ! -e "$OWN/app.json"
    eventually test ! -e "$OWN/own.json"
}

@test "a process that was written by hand in a namespace is refused with the cure, and an inode of no process too" {
    broker_start
    refused=$(spec $ALICE cam '{"process": 2, "threads": [{"name": "*", "runtime": "10ms", "period": "100ms"}]}')
    told '.result == "ATTACH_FAIL" and .refusal.code == "no-thread" and (.reason | contains("pid namespace"))' "$refused"
    refused=$(spec $ALICE cam '{"process": 1, "threads": [{"name": "*", "runtime": "10ms", "period": "100ms"}]}')
    told '.result == "ATTACH_FAIL" and .refusal.code == "not-yours" and (.reason | contains("pid namespace"))' "$refused"
    refused=$(spec $ALICE arm '{"process": {"tid": 7, "inode": 1}, "threads": [{"name": "*", "runtime": "10ms", "period": "100ms"}]}')
    told '.result == "ATTACH_FAIL" and .refusal.code == "no-thread"' "$refused"
    [[ $(field .reason "$refused") == 'process 7 of the pid namespace of its owner is not found: '* ]]
}

@test "a number that was written by hand in a namespace is refused with the cure, and an inode of no thread too" {
    broker_start
    refused=$(spec $ALICE cam '{"runtime": "10ms", "period": "100ms", "attach": 2}')
    told '.result == "ATTACH_FAIL" and (.reason | contains("pid namespace"))' "$refused"
    refused=$(spec $ALICE arm '{"runtime": "10ms", "period": "100ms", "attach": {"tid": 7, "inode": 1}}')
    told '.result == "ATTACH_FAIL" and .refusal.code == "no-thread"' "$refused"
    [[ $(field .reason "$refused") == 'thread 7 of the pid namespace of its owner is not found: '* ]]
    spec $ALICE leg '{"runtime": "10ms", "period": "100ms"}' >/dev/null
    refused=$(attach $ALICE leg '7 inode=1')
    told '.result == "ATTACH_FAIL" and .refusal.code == "no-thread" and .grant != null' "$refused"
    for bad in '{"tid": 7}' '{"tid": 7, "inode": -1}' '{"tid": 7, "inode": 1, "more": 1}' '{"tid": null, "inode": 1}' '{}'; do
        told '.result == "BAD_SPEC"' "$(spec $ALICE bad "{\"runtime\": \"10ms\", \"period\": \"100ms\", \"attach\": $bad}")"
    done
}

@test "a spec in a namespace that a thread runs under is not taken for abandoned" {
    broker_start
    container one
    within one '"$BIN/rtf" --spool "$SPOOL" attach cam -T 10ms -P 100ms -p $$' >/dev/null
    name=$(basename "$(ls "$OWN"/*.json)" .json)
    said=$(within one '"$BIN/rtf-run" --spool "$SPOOL" --replace --name '"$name"' -T 10ms -P 100ms -- true; echo "$?"')
    [[ $said == *'runs under it'*125 ]] || { echo "$said" >&2; false; }
    is_policy "$CONTAINED" deadline
}

@test "threads with one number in two containers of a user each keep a reservation of their own under rtf preload" {
    broker_start
    container one
    one=$CONTAINED
    container two
    two=$CONTAINED
    for which in one two one; do
        said=$(within $which '"$BIN/rtf" --spool "$SPOOL" preload -T 1ms -P 20ms -- chrt -f -p 12 $$; echo "$?"')
        [ "$said" = 0 ] || { echo "$said" >&2; false; }
    done
    for tid in "$one" "$two"; do is_policy "$tid" fifo; done
    [ "$(find "$OWN" -name 'preload-1-*.json' | wc -l)" = 2 ]
    within one '"$BIN/rtf" --spool "$SPOOL" preload -- chrt -o -p 0 $$' >/dev/null
    eventually is_policy "$one" other
    is_policy "$two" fifo
}

@test "rtf-run takes another name when a program of another container of its user has the first" {
    broker_start
    for which in one two; do
        become $ALICE env USER=$ALICE unshare --user --map-root-user --pid --fork --kill-child --mount-proc \
            "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 1ms -P 20ms -- sleep "$SLEEPS" 2>"$WORK/said.$which" 3>&- &
        echo "$!" >>"$WORK/pids"
    done
    both_run() { [ "$(cat "$OWN"/run-1*.verdict 2>/dev/null | jq -s '[.[] | select(.thread.state == "attached")] | length')" = 2 ]; }
    eventually both_run || { cat "$WORK"/said.* >&2; false; }
}
