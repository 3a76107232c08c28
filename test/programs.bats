# Program files: one file reserves for the threads of a program, by their names.

load helper

# program UID NAME...: starts a process of this user with threads of these names, in the cgroup with the directory $IN if IN is set. $PROGRAM is its id.
# `tell LINE` sends it a line (test/fixtures/threads).
program() {
    local user=$1 kept
    shift
    rm -f "$WORK/orders" "$WORK/said"
    mkfifo "$WORK/orders" "$WORK/said"
    ${IN:+sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$IN"} setpriv --reuid "$user" --regid "$user" --clear-groups -- "${PYTHON:-/usr/bin/python3}" -S "$RTF_SOURCE/test/fixtures/threads" "$@" <"$WORK/orders" >"$WORK/said" 3>&- &
    PROGRAM=$!
    echo "$PROGRAM" >>"$WORK/pids"
    { exec {kept}>&7; } 2>/dev/null || true # an earlier program ends when its orders end
    exec 7>"$WORK/orders"
    read -r _ <"$WORK/said"
}
tell() { echo "$1" >&7; }
tidy() {
    exec 7>&-
    if [ -n "${GROUP_DIRECTORY:-}" ]; then eventually group_remove 2>/dev/null; fi
}

thread() { # thread NAME: prints the id of the process's thread with this name.
    local task
    for task in /proc/"${OF:-$PROGRAM}"/task/*; do
        [ "$(cat "$task/comm")" != "$1" ] || { echo "${task##*/}"; return; }
    done
    return 1
}

policy() { chrt -p "$(thread "$1")" | sed -n 's/.*policy: //p'; } # policy NAME: prints the policy of the thread with this name.
is_ordinary() { [ "$(policy "$1")" = SCHED_OTHER ]; }
is_deadline() { [[ "$(policy "$1")" = SCHED_DEADLINE* ]]; }
says() { told "$2" "$(cat "$SPECS/$ALICE/$1.verdict")" 2>/dev/null; } # says NAME EXPRESSION: the expression is true for the verdict of Alice's NAME.
rules() { echo '{"process": '"$PROGRAM"', "threads": ['"$1"']'"${2:+, $2}"'}'; }

camera='{"name": "camera*", "runtime": "1ms", "period": "20ms"}'

@test "each thread that a rule matches gets its reservation, and the others are left alone" {
    broker_start
    program $ALICE camera-1 camera-2 audio other
    said=$(spec $ALICE player "$(rules "$camera"', {"name": "audio", "priority": 15, "runtime": "1ms", "period": "10ms", "plugin": "FP"}, {"name": "*", "leave": true}' '"token": "t1"')")
    told '.result == "OK" and .grant.threads == 3 and .token == "t1" and .program.state == "stands"' "$said"
    [ "$(field '[.threads[] | "\(.name) \(.rule) \(.result) \(.grant.plugin)"] | join("; ")' "$said")" = 'camera-1 1 OK EDF; camera-2 1 OK EDF; audio 2 OK FP' ]
    told '.threads[0].tid == '"$(thread camera-1)" "$said"
    is_deadline camera-1
    is_deadline camera-2
    [[ $(policy audio) = SCHED_FIFO* ]]
    is_ordinary other
    is_ordinary python3
    as $ALICE rm "$SPECS/$ALICE/player.json"
    eventually is_ordinary camera-1
    eventually is_ordinary audio
    eventually test ! -e "$SPECS/$ALICE/player.verdict"
}

@test "more program files than the reader keeps are refused, also if all are refused" {
    broker_start
    as $ALICE mkdir -p "$SPECS/$ALICE"
    for i in $(seq 300); do echo '{"process": 2, "threads": ['"$camera"']}'; done |
        as $ALICE sh -c 'cd "$1" && split -l 1 -d -a 3 --additional-suffix=.json - p' sh "$SPECS/$ALICE"
    eventually has_verdicts 300
    [ "$(as $ALICE sh -c 'cat "$1"/p*.verdict' sh "$SPECS/$ALICE" | grep -c 'you have 256 program files already')" = 44 ]
    told '.refusal.code == "bad-spec"' "$(spec $ALICE more "{\"process\": 2, \"threads\": [$camera]}")"
    as $ALICE sh -c 'rm "$1"/p*.json' sh "$SPECS/$ALICE"
    program $ALICE camera-1
    told '.grant.threads == 1' "$(spec $ALICE player "$(rules "$camera")")"
}
has_verdicts() { [ "$(as $ALICE sh -c 'ls "$1" | grep -c verdict' sh "$SPECS/$ALICE")" -ge "$1" ]; }

@test "a thread that appears later, gets a matching name or is made again has its reservation at once, and the end of a thread frees its capacity" {
    broker_start
    program $ALICE camera-1
    said=$(spec $ALICE player "$(rules "$camera")")
    told '.grant.threads == 1' "$said"
    tell '+camera-2'
    eventually is_deadline camera-2
    tell '+other'
    tell '=other camera-3'
    eventually is_deadline camera-3
    eventually says player '.grant.threads == 3'
    tell '-camera-2'
    eventually says player '.grant.threads == 2'
    tell '+camera-2'
    eventually is_deadline camera-2
    tell '=camera-3 plain'
    eventually is_ordinary plain
    eventually says player '.grant.threads == 2 and ([.threads[].name] | sort) == ["camera-1", "camera-2"]'
}

@test "a thread whose new name matches another rule has what that rule says" {
    broker_start
    program $ALICE camera-1
    spec $ALICE player "$(rules "$camera"', {"name": "slow", "runtime": "1ms", "period": "40ms"}')" >/dev/null
    tell '=camera-1 slow'
    eventually says player '.threads[0].rule == 2 and .threads[0].grant.period == 40000'
    [[ $(chrt -p "$(thread slow)") = */40000000* ]]
}

@test "the first reservation is all or none: on refusal the verdict names the thread and what would fit, and nothing stays reserved" {
    configure_plugins 'EDF edf - all partition=global threshold='"$(jq -n "0.4 / $(nproc)")"
    broker_start
    program $ALICE camera-1 camera-2 big-1 big-2
    said=$(spec $ALICE player "$(rules "$camera"', {"name": "big*", "runtime": "20ms", "period": "100ms"}')")
    told '.result == "SCHEDULE_FAIL" and .grant == null and .program.state == "refused"' "$said"
    told '.reason | test("^thread big-2 \\([0-9]+\\), rule 2: ")' "$said"
    told '.refusal.nearest > 0 and .refusal.nearest < 20000 and .refusal.code == "full"' "$said"
    told '[.threads[] | .grant] == [null, null, null, null]' "$said"
    is_ordinary camera-1
    eventually reservations 0
    tell '+camera-3'
    sleep 0.1
    is_ordinary camera-3
    nearest=$(field .refusal.nearest "$said")
    tell '-camera-3'
    eventually has_no_thread camera-3
    fits=$(spec $ALICE player "$(rules "$camera"', {"name": "big-1", "runtime": "20ms", "period": "100ms"}, {"name": "big-2", "runtime": '"$nearest"', "period": "100ms"}')")
    told '.result == "OK" and .grant.threads == 4' "$fits"
}
has_no_thread() { ! thread "$1" >/dev/null; }
reservations() { [ "$(jq .reservations "$SPOOL/status.json")" = "$1" ]; } # reservations COUNT: status.json has this number of reservations

@test "a refusal does not wait for used runtime if another thread of the file can never fit" {
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.5'
    broker_start
    sleeper $ALICE
    told '.result == "OK"' "$(spec $ALICE before '{"runtime": "1640ms", "period": "4100ms"}')"
    attach $ALICE before "$SLEEPER" >/dev/null
    program $ALICE camera-1 never
    sleep 1 # the thread may use up to 1 s of its 1.64 s, which then counts for 2.5 s
    as $ALICE rm "$SPECS/$ALICE/before.json"
    eventually test ! -e "$SPECS/$ALICE/before.verdict"
    said=$(spec $ALICE player "$(rules '{"name": "camera*", "runtime": "30ms", "period": "100ms"}, {"name": "never", "plugin": "NONE", "runtime": "1ms", "period": "20ms"}')")
    told '.result == "SCHEDULE_FAIL" and .refusal.code == "no-plugin" and (.reason | test("^thread never ")) and .grant == null' "$said"
    kill -USR1 "$BROKER"
    eventually test -s "$SPOOL/state/current/books.json"
    told '.debts != []' "$(cat "$SPOOL/state/current/books.json")"
}

@test "a late thread stays within the quota, and waits for room if the file says so" {
    configure_rules "$ALICE - max_utilization 0.1"
    broker_start
    program $ALICE camera-1
    told '.result == "OK"' "$(spec $ALICE player "$(rules "$camera" '"on_refusal": "wait"')")"
    tell '+camera-2'
    eventually is_deadline camera-2
    tell '+camera-3'
    eventually says player '.result == "WAITING" and .grant.threads == 2 and (.reason | test("^thread camera-3 "))'
    tell '-camera-1'
    eventually is_deadline camera-3
    eventually says player '.result == "OK" and .grant.threads == 2'
    told '.result == "OK"' "$(spec $ALICE player "$(rules "$camera")")"
    tell '+camera-4'
    eventually says player '.result == "ACL_FAIL" and .grant.threads == 2 and (.reason | test("^thread camera-4 "))'
    is_ordinary camera-4
}

@test "the process has to be the user's" {
    broker_start
    program $BOB camera-1
    said=$(spec $ALICE player "$(rules "$camera")")
    told '.result == "ATTACH_FAIL" and .refusal.code == "not-yours" and .grant == null and .threads == []' "$said"
    is_ordinary camera-1
}

@test "a wrong program file is refused with the rule and the key, and a wrong rewrite keeps what was granted" {
    broker_start
    program $ALICE camera-1
    said=$(spec $ALICE player '{"process": 1, "threads": [{"name": "a"}]}')
    told '.result == "BAD_SPEC" and (.reason | test("rule 1: key \"leave\""))' "$said"
    told '.grant.threads == 1' "$(spec $ALICE player "$(rules "$camera")")"
    said=$(spec $ALICE player '{"process": 1, "threads": [{"name": "a"}]}')
    told '.result == "BAD_SPEC" and .grant.threads == 1' "$said"
    is_deadline camera-1
}

@test "a change into no JSON, or into a wrong spec, has a verdict with its token, and keeps what was granted" {
    broker_start
    program $ALICE camera-1
    told '.grant.threads == 1' "$(spec $ALICE player "$(rules "$camera" '"token": "good"')")"
    for wrong in '{"process": 1, "threads": [' '{"perid": 5}' '[]' '' '{"threads": 5, "token": "wrong"}'; do
        said=$(spec $ALICE player "$wrong")
        told '.result == "BAD_SPEC" and .refusal.code == "bad-spec" and .request == "change" and .grant.threads == 1' "$said"
        is_deadline camera-1
    done
    told '.token == "wrong"' "$said"
    # The rules that are in force go on.
    tell '+camera-2'
    eventually is_deadline camera-2
    eventually says player '.result == "BAD_SPEC" and .grant.threads == 2'
    told '.result == "OK" and .grant.threads == 2' "$(spec $ALICE player "$(rules "$camera" '"token": "again"')")"
    # A right spec takes the place of the program file.
    told '.result == "OK" and .grant.plugin == "EDF"' "$(spec $ALICE player '{"runtime": "1ms", "period": "20ms"}')"
    eventually is_ordinary camera-1
}

@test "a wrong change while the program does not run is still told when it runs" {
    broker_start
    cp /usr/bin/python3 "$WORK/player"
    told '.program.state == "away"' "$(spec $ALICE player '{"program": "'"$WORK/player"'", "threads": ['"$camera"']}')"
    told '.result == "BAD_SPEC" and .program.state == "away"' "$(spec $ALICE player '{"program": ')"
    PYTHON="$WORK/player" program $ALICE camera-1
    eventually says player '.result == "BAD_SPEC" and .grant.threads == 1'
    is_deadline camera-1
    kill -KILL "$PROGRAM"
    eventually says player '.result == "BAD_SPEC" and .grant == null and .program.state == "away"'
}

@test "a file NAME.tid beside a program file is refused, and the rules stand" {
    broker_start
    program $ALICE camera-1 other
    told '.grant.threads == 1' "$(spec $ALICE player "$(rules "$camera")")"
    said=$(attach $ALICE player "$(thread other)")
    told '.result == "BAD_SPEC" and .grant.threads == 1 and (.threads | length) == 1 and (.reason | test("beside the file player.tid"))' "$said"
    is_deadline camera-1
    is_ordinary other
    tell '+camera-2'
    eventually is_deadline camera-2
    eventually says player '.result == "BAD_SPEC" and .grant.threads == 2'
    as $ALICE rm "$SPECS/$ALICE/player.tid"
    eventually says player '.result == "OK" and .grant.threads == 2 and .tid == null'
    is_deadline camera-1
    # A new program file keeps the same order: threads are attached when its owner removes fresh.tid.
    as $ALICE sh -c 'echo "$2" >"$1/fresh.tid"' sh "$SPECS/$ALICE" "$(thread other)"
    told '.result == "BAD_SPEC" and .grant == null' "$(spec $ALICE fresh "$(rules '{"name": "other", "runtime": "1ms", "period": "20ms"}')")"
    is_ordinary other
    as $ALICE rm "$SPECS/$ALICE/fresh.tid"
    eventually is_deadline other
    eventually says fresh '.result == "OK" and .grant.threads == 1'
}

@test "the process ends: its capacity is free, and a file with lifetime process goes" {
    broker_start
    program $ALICE camera-1
    told '.grant.threads == 1' "$(spec $ALICE player "$(rules "$camera")")"
    told '.grant.threads == 1' "$(spec $ALICE audio "$(rules '{"name": "python3", "priority": 15, "plugin": "FP", "runtime": 1000, "period": 10000}' '"lifetime": "process"')")"
    kill -KILL "$PROGRAM"
    eventually says player '.grant == null and .program.state == "over" and .threads == []'
    eventually test ! -e "$SPECS/$ALICE/audio.json"
    eventually test ! -e "$SPECS/$ALICE/audio.verdict"
}

again() { # again: prints what a restart must not change.
    before=$(jq -c '[.threads[] | [.name, .tid, .grant.plugin]]' "$SPECS/$ALICE/player.verdict")
    "$@"
    is_deadline camera-1
    tell '+camera-9'
    eventually is_deadline camera-9
    is_deadline camera-1
    tell '-camera-9'
    eventually says player '.result == "OK" and ([.threads[] | [.name, .tid, .grant.plugin]]) == '"$before"
}
reader() { helpers rtf-reader; }
killed() { # PROGRAM
    local one
    one=$(helpers "$1")
    kill -KILL "$one"
    eventually is_gone "$one"
    eventually runs_another "$1" "$one"
}

@test "reservations and rules stand over a kill of the reader, of rtf-tasks and of the broker, and over a restart" {
    broker_start
    program $ALICE camera-1 camera-2
    told '.grant.threads == 2' "$(spec $ALICE player "$(rules "$camera")")"
    again killed rtf-reader
    again killed rtf-tasks
    again broker_kill_and_start
    again broker_stop_and_start
    # If a thread ends while no broker runs, the next broker releases the thread's grant.
    broker_stop INT
    tell '-camera-2'
    broker_start
    eventually says player '.grant.threads == 1 and .threads[0].name == "camera-1"'
    eventually reservations 1
}
runs_another() { # PROGRAM FORMER
    local one
    one=$(helpers "$1") && [ "$one" != "$2" ]
}
broker_kill_and_start() {
    kill -KILL "$BROKER"
    eventually is_gone "$BROKER"
    broker_start
}
broker_stop_and_start() {
    broker_stop INT
    broker_start
}

@test "a refused program file stays refused over a restart, until it is rewritten" {
    configure_plugins 'EDF edf - all partition=global threshold='"$(jq -n "0.4 / $(nproc)")"
    broker_start
    program $ALICE camera-1 big-1 big-2
    told '.result == "SCHEDULE_FAIL"' "$(spec $ALICE player "$(rules "$camera"', {"name": "big*", "runtime": "20ms", "period": "100ms"}')")"
    before=$(stat -c %.9Y "$SPECS/$ALICE/player.verdict")
    broker_kill_and_start
    tell '-big-1'
    sleep 0.3
    [ "$(stat -c %.9Y "$SPECS/$ALICE/player.verdict")" = "$before" ]
    is_ordinary camera-1
    as $ALICE touch "$SPECS/$ALICE/player.json"
    eventually is_deadline camera-1
}

@test "a program is taken at each of its starts, and its capacity is free while it does not run" {
    broker_start
    cp /usr/bin/python3 "$WORK/player"
    said=$(spec $ALICE player '{"program": "'"$WORK/player"'", "threads": ['"$camera"']}')
    told '.result == "OK" and .grant == null and .program.state == "away"' "$said"
    for _ in 1 2; do
        PYTHON="$WORK/player" program $ALICE camera-1 camera-2
        eventually is_deadline camera-1
        eventually is_deadline camera-2
        eventually says player '.grant.threads == 2 and .program == {"process": '"$PROGRAM"', "state": "stands"}'
        kill -KILL "$PROGRAM"
        eventually says player '.grant == null and .program.state == "away"'
        eventually reservations 0
    done
    PYTHON="$WORK/player" program $BOB camera-1
    sleep 0.2
    is_ordinary camera-1
}

@test "a program that runs already is taken, also by a broker that starts later" {
    broker_start
    cp /usr/bin/python3 "$WORK/player"
    PYTHON="$WORK/player" program $ALICE camera-1
    told '.grant.threads == 1' "$(spec $ALICE player '{"program": "'"$WORK/player"'", "threads": ['"$camera"']}')"
    broker_kill_and_start
    tell '+camera-2'
    eventually is_deadline camera-2
    eventually says player '.grant.threads == 2'
}

# group_make MOUNT: makes a cgroup with a cgroup in it. $GROUP_DIRECTORY is its directory, $GROUP_PATH its path in /proc/PID/cgroup.
group_make() {
    GROUP_DIRECTORY=$(mktemp -d "$1/rtf-test.XXXXXX")
    mkdir "$GROUP_DIRECTORY/sub"
    GROUP_PATH=/${GROUP_DIRECTORY##*/}
}
group_remove() {
    local pid
    while read -r pid; do kill -KILL "$pid" || true; done < <(cat "$GROUP_DIRECTORY"/cgroup.procs "$GROUP_DIRECTORY"/sub/cgroup.procs)
    rmdir "$GROUP_DIRECTORY/sub" "$GROUP_DIRECTORY"
}
mounts_of() { awk -v type="$1" '$3 == type && $4 !~ /cpuset|blkio/ { print $2; exit }' /proc/mounts; } # TYPE
child_of() { pgrep -P "$1"; }

of_a_cgroup() { # MOUNT
    group_make "$1" 2>/dev/null || skip 'no cgroup can be made here'
    broker_start
    program $ALICE camera-0
    outside=$PROGRAM
    told '.result == "OK" and .grant == null and .program.state == "away"' "$(spec $ALICE player '{"cgroup": "'"$GROUP_PATH"'", "threads": ['"$camera"']}')"
    # The first process, its later threads, and a child that calls no execve.
    IN=$GROUP_DIRECTORY program $ALICE camera-1 other
    first=$PROGRAM
    eventually is_deadline camera-1
    tell '+camera-2'
    eventually is_deadline camera-2
    tell 'f camera-3'
    eventually child_of "$first"
    OF=$(child_of "$first")
    eventually is_deadline camera-3
    eventually says player '.result == "OK" and .grant.threads == 3 and .program == {"process": null, "state": "stands"}'
    # Another process, in a cgroup below; and one of another user.
    IN=$GROUP_DIRECTORY/sub program $ALICE camera-4
    second=$PROGRAM
    OF='' eventually is_deadline camera-4
    IN=$GROUP_DIRECTORY program $BOB camera-5
    eventually says player '.grant.threads == 4'
    OF='' is_ordinary camera-5
    OF=$outside is_ordinary camera-0
    # All grants stay in force when a part of rtf is killed.
    killed rtf-tasks
    broker_kill_and_start
    OF=$second is_deadline camera-4
    OF=$first is_deadline camera-1
    # When one process ends, its threads lose their grants. When all have ended, nothing is reserved.
    kill -KILL "$second"
    eventually says player '.grant.threads == 3 and .program.state == "stands"'
    kill -KILL "$first"
    eventually says player '.grant == null and .program.state == "away" and .threads == []'
    eventually reservations 0
    # A process that moves into the cgroup is noticed only when the process calls execve (the order x).
    OF=''
    program $ALICE camera-6
    echo "$PROGRAM" >"$GROUP_DIRECTORY/cgroup.procs"
    tell 'x'
    eventually says player '.program.state == "stands"'
}

@test "with cgroup, the rules are for the threads of all processes of the user in it, now and later" {
    mount=$(mounts_of cgroup2)
    [ -n "$mount" ] || skip 'there are no cgroups of version 2 here'
    of_a_cgroup "$mount"
}

@test "the same in version 1 of cgroups" {
    mount=$(mounts_of cgroup)
    [ -n "$mount" ] || skip 'there are no cgroups of version 1 here'
    of_a_cgroup "$mount"
}

@test "the first reservation of a cgroup is all or none over its processes" {
    mount=$(mounts_of cgroup2)
    [ -n "$mount" ] || mount=$(mounts_of cgroup)
    group_make "$mount" 2>/dev/null || skip 'no cgroup can be made here'
    configure_plugins 'EDF edf - all partition=global threshold='"$(jq -n "0.4 / $(nproc)")"
    broker_start
    IN=$GROUP_DIRECTORY program $ALICE camera-1
    first=$PROGRAM
    IN=$GROUP_DIRECTORY program $ALICE big-1
    said=$(spec $ALICE player '{"cgroup": "'"$GROUP_PATH"'", "threads": ['"$camera"', {"name": "big*", "runtime": "50ms", "period": "100ms"}]}')
    told '.result == "SCHEDULE_FAIL" and .grant == null and (.reason | test("^thread big-1 ")) and (.threads | length) == 2' "$said"
    OF=$first is_ordinary camera-1
    eventually reservations 0
}

@test "with hold, the reservation of an ended thread stays for the next thread of its rule, also over starts of the program and of the broker" {
    configure_rules "$ALICE - max_utilization 0.1" "$BOB - max_utilization 2"
    broker_start
    cp /usr/bin/python3 "$WORK/player"
    PYTHON="$WORK/player" program $ALICE camera-1 camera-2
    told '.grant.threads == 2' "$(spec $ALICE player '{"program": "'"$WORK/player"'", "hold": true, "threads": ['"$camera"']}')"
    tell '-camera-2'
    eventually says player '.grant.threads == 2 and ([.threads[] | select(.held)] | length) == 1'
    tell '+camera-3'
    eventually is_deadline camera-3
    eventually says player '.grant.threads == 2 and ([.threads[] | select(.held)] | length) == 0'
    for _ in 1 2; do
        kill -KILL "$PROGRAM"
        eventually says player '.grant.threads == 2 and .program.state == "away" and ([.threads[] | select(.held)] | length) == 2'
        told '.result == "ACL_FAIL"' "$(spec $ALICE one '{"runtime": "1ms", "period": "20ms"}')"
        as $ALICE rm "$SPECS/$ALICE/one.json"
        PYTHON="$WORK/player" program $ALICE camera-1 camera-2
        eventually is_deadline camera-1
        eventually is_deadline camera-2
        eventually says player '.grant.threads == 2 and .result == "OK" and ([.threads[] | select(.held)] | length) == 0'
        broker_kill_and_start
        is_deadline camera-1
        eventually says player '.grant.threads == 2 and .result == "OK" and ([.threads[] | select(.held)] | length) == 0'
    done
    kill -KILL "$PROGRAM"
    eventually says player '.program.state == "away"'
    broker_kill_and_start
    eventually reservations 2
    as $ALICE rm "$SPECS/$ALICE/player.json"
    eventually reservations 0
}

@test "what root has revoked for a thread stays revoked until the file is rewritten" {
    broker_start
    program $ALICE camera-1 camera-2
    told '.grant.threads == 2' "$(spec $ALICE player "$(rules "$camera")")"
    "$RTF_BIN/rtf" revoke --spool "$SPOOL" "$ALICE/player+$(thread camera-1)"
    eventually is_ordinary camera-1
    is_deadline camera-2
    eventually says player '.grant.threads == 1'
    as $ALICE touch "$SPECS/$ALICE/player.json"
    eventually is_deadline camera-1
    eventually says player '.grant.threads == 2'
    "$RTF_BIN/rtf" revoke --spool "$SPOOL" "$ALICE/player"
    eventually is_ordinary camera-1
    eventually is_ordinary camera-2
    eventually test ! -e "$SPECS/$ALICE/player.json"
    eventually test ! -e "$SPECS/$ALICE/player.verdict"
    tell '+camera-3'
    sleep 0.2
    is_ordinary camera-3
}

@test "a user who rewrites program files without end does not keep the threads of others waiting" {
    broker_start
    program $BOB camera-1
    for i in 1 2 3 4; do
        /usr/bin/python3 -S -c 'import os, sys, time
os.chdir(sys.argv[1]); os.setgroups([]); os.setresgid(*[int(sys.argv[2])] * 3); os.setresuid(*[int(sys.argv[2])] * 3)
while True:
    for i in range(20):
        with open(f".{sys.argv[3]}", "w") as f: f.write("{\"program\": \"/nothing\", \"threads\": [{\"name\": \"a\", \"priority\": 1}]}")
        os.rename(f".{sys.argv[3]}", f"p{sys.argv[3]}-{i}.json")' "$(made $BOB)" $BOB $i 3>&- &
        echo $! >>"$WORK/pids"
    done
    program $ALICE camera-1
    told '.grant.threads == 1' "$(spec $ALICE player "$(rules "$camera")")"
    for i in 1 2 3; do
        from=$(milliseconds)
        tell "+camera-x$i"
        eventually is_deadline "camera-x$i"
        [ $(($(milliseconds) - from)) -lt $((1500 * PATIENCE)) ]
    done
}
made() { # UID: the user's directory
    as "$1" mkdir -p "$SPECS/$1"
    echo "$SPECS/$1"
}

@test "a rule has modes and units: a switch of the mode needs no new admission" {
    configure_plugins 'EDF edf - all partition=global threshold='"$(jq -n "0.45 / $(nproc)")" "CAMERA $RTF_SOURCE/contrib/plugins/units - - resource=units capacity=3"
    configure_rules "$ALICE - max_utilization 9" "$BOB - max_utilization 9" '- CAMERA max_amount 9'
    broker_start
    program $ALICE camera-1 camera-2 camera-3 other
    in_mode() { rules '{"name": "camera*", "runtime": "1ms", "period": "20ms", "units": {"count": 1}, "modes": {"low": {}, "high": {"runtime": "2ms"}}, "mode": "'"$1"'"}'; }
    told '.result == "OK" and .grant.threads == 3 and ([.threads[].grant.mode] | unique) == ["low"]' "$(spec $ALICE player "$(in_mode low)")"
    told '.result != "OK"' "$(spec $BOB other '{"units": {"count": 1}}')"
    # Bob reserves the CPU time that is left.
    told '.result == "OK"' "$(spec $BOB rest '{"runtime": "15ms", "period": "100ms"}')"
    told '.result == "OK" and ([.threads[].grant.mode] | unique) == ["high"] and ([.threads[].grant.accepted_runtime] | unique) == [2000]' "$(spec $ALICE player "$(in_mode high)")"
    [[ $(kernel "$(thread camera-1)") = 'deadline 0 nice=0 2000/20000/20000 '* ]]
    tell '+camera-4' # no unit is left for camera-4
    eventually says player '.grant.threads == 3 and .result != "OK" and (.reason | test("^thread camera-4 "))'
}
