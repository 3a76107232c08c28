# rtf-programs(5): program files that the administrator writes for users, in programs.d.
load helper

prepare() {
    GIVEN=$CONFIG/programs.d
    mkdir "$GIVEN"
    chmod 755 "$CONFIG" "$GIVEN"
}

# give NAME JSON: writes the program file NAME into programs.d, as root.
give() { printf '%s\n' "$2" >"$GIVEN/$1.json"; }

# has UID NAME TEXT: the user's directory has the program file NAME with this text. Blanks do not count.
has() { [ "$(tr -d ' \n' <"$SPECS/$1/admin:$2.json" 2>/dev/null)" = "$3" ]; }
has_not() { [ ! -e "$SPECS/$1/admin:$2.json" ]; }

reloads() { grep -c '"reloaded"' "$EVENTS" || true; }
has_reloaded() { [ "$(reloads)" -gt "$1" ]; }
reload() {
    local before
    before=$(reloads)
    kill -HUP "$BROKER"
    eventually has_reloaded "$before"
}

# tells DECISION REASON: the log has a line about the broker with this decision and reason.
tells() { jq -e -s --arg decision "$1" --arg reason "$2" 'any(.[]; .stage == "broker" and .decision == $decision and .reason == $reason)' "$EVENTS" >/dev/null; }

RULES='"threads":[{"name":"*","runtime":"2ms","period":"20ms"}]'

@test "a file of programs.d is given to its user, as a program file of the user; it ends with its original" {
    give player "{\"user\": \"$ALICE\", \"program\": \"/usr/bin/player\", $RULES}"
    give mixer "{\"program\": \"/usr/bin/mixer\", $RULES, \"user\": \"$ALICE\"}"
    give README.txt 'no file of these'
    broker_start
    eventually has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
    eventually has $ALICE mixer "{\"program\":\"/usr/bin/mixer\",$RULES}"
    [ "$(stat -c %u "$SPECS/$ALICE/admin:player.json")" = $ALICE ]
    give player "{\"user\": \"$BOB\", \"program\": \"/usr/bin/player\", $RULES}"
    rm "$GIVEN/mixer.json"
    reload
    eventually has $BOB player "{\"program\":\"/usr/bin/player\",$RULES}"
    eventually has_not $ALICE player
    eventually has_not $ALICE mixer
    # A file that the user has made under such a name stays: rtf does not replace it.
    as $ALICE cp "$SPOOL/../etc/acl.conf" "$SPECS/$ALICE/admin:own.json"
    rm "$GIVEN/player.json"
    reload
    eventually has_not $BOB player
    [ -e "$SPECS/$ALICE/admin:own.json" ]
    # The broker is stopped while the program file is removed.
    give player "{\"user\": \"$BOB\", \"program\": \"/usr/bin/player\", $RULES}"
    reload
    eventually has $BOB player "{\"program\":\"/usr/bin/player\",$RULES}"
    broker_stop INT
    rm "$GIVEN/player.json"
    broker_start
    eventually has_not $BOB player
}

@test "a file for a group is given to its members, also by their primary group, and to the named user once" {
    cp /etc/group "$WORK/group"
    cp /etc/passwd "$WORK/passwd"
    echo "rtftest:x:$GROUP:rtfann" >>"$WORK/group"
    printf '%s:x:%s:%s::/:/bin/sh\n' rtfann $ALICE $ALICE rtfbob $BOB $GROUP rtfcarol $CAROL $CAROL >>"$WORK/passwd"
    give player "{\"group\": \"@rtftest\", \"user\": \"rtfann\", \"program\": \"/usr/bin/player\", $RULES}"
    cat >"$WORK/start" <<'END'
mount --bind "$WORK/group" /etc/group
mount --bind "$WORK/passwd" /etc/passwd
exec "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" ${RTF_PLUGIN_USER:+--plugin-user "$RTF_PLUGIN_USER"}
END
    export WORK SPOOL CONFIG GROUP RTF_LIBEXEC
    unshare --mount --propagation private sh -eu "$WORK/start" >"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
    place_of "$SPOOL" >>"$WORK/places"
    eventually has rtfann player "{\"program\":\"/usr/bin/player\",$RULES}"
    eventually has rtfbob player "{\"program\":\"/usr/bin/player\",$RULES}"
    [ ! -e "$SPECS/rtfcarol" ]
    # A user who leaves the group loses the file at the next reload.
    sed 's/^\(rtfbob:x:[0-9]*\):[0-9]*/\1:'$BOB'/' "$WORK/passwd" >"$WORK/later"
    cat "$WORK/later" >"$WORK/passwd" # the same inode, which is mounted
    give player "{\"group\": \"@rtftest\", \"program\": \"/usr/bin/player\", $RULES}"
    reload
    eventually has_not rtfbob player
    has rtfann player "{\"program\":\"/usr/bin/player\",$RULES}"
}

@test "a file that the user has removed or changed comes back at the next reload" {
    give player "{\"user\": \"$ALICE\", \"program\": \"/usr/bin/player\", $RULES}"
    broker_start
    eventually has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
    as $ALICE rm "$SPECS/$ALICE/admin:player.json"
    reload
    eventually has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
    put $ALICE admin:player '{"runtime": "1ms", "period": "20ms"}'
    reload
    eventually has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
}

@test "a file of the user of the same name wins" {
    give player "{\"user\": \"$ALICE\", \"program\": \"/usr/bin/player\", $RULES}"
    broker_start
    eventually has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
    put $ALICE player "{\"program\": \"/usr/bin/player\", \"threads\": [{\"name\": \"*\", \"leave\": true}]}"
    reload
    eventually has_not $ALICE player
    as $ALICE rm "$SPECS/$ALICE/player.json"
    reload
    eventually has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
}

@test "a wrong file is named with key and line, and the file in force stays" {
    give player "{\"user\": \"$ALICE\", \"program\": \"/usr/bin/player\", $RULES}"
    broker_start
    eventually has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
    give player "{\"user\": \"$ALICE\",
        \"porgram\": \"/usr/bin/player\", $RULES}"
    reload
    eventually tells error 'programs.d/player.json: key "porgram" (line 2) is unknown; did you mean "program"?; the file in force stays'
    has $ALICE player "{\"program\":\"/usr/bin/player\",$RULES}"
    reload # the broker's record of written files still names the file
    rm "$GIVEN/player.json"
    reload
    eventually has_not $ALICE player
}

# check STATUS SENTENCE: rtf-brokerd --check exits with the status and prints the sentence.
check() {
    run "$RTF_LIBEXEC/rtf-brokerd" --check --config "$CONFIG"
    [ "$status" -eq "$1" ]
    [[ $output == *"$2"* ]] || { echo "$output" >&2; return 1; }
}

@test "rtf-brokerd --check refuses a wrong file of programs.d, and rtf-lint tells what may be a mistake" {
    while IFS='|' read -r json sentence; do
        give player "$json"
        check 78 "rtf-brokerd: programs.d/player.json: $sentence"
    done <<END
{"program": "/usr/bin/player", $RULES}|has neither the key "user" nor "group"
{"user": 3, "program": "/usr/bin/player", $RULES}|key "user" (line 1) must be the name of a user
{"user": "@audio", "program": "/usr/bin/player", $RULES}|key "user" (line 1) must be the name of a user
{"user": "ann", "group": "audio", "program": "/usr/bin/player", $RULES}|key "group" (line 1) must be @ and the name of a group, such as "@audio"
{"user": "ann", "process": 42, $RULES}|the key "program" or "cgroup" is missing: "process" is only for the files of users
{"user": "ann", "program": "/usr/bin/player"}|the key "threads" is missing
{"user": "ann", "program": "player", $RULES}|key "program" (line 1) must be the absolute path of a program
{"user": "ann", "program": "/usr/bin/player", "threads": []}|key "threads" (line 1) must be an array of 1 to 64 rules
{"user": "ann"|is not one JSON object: line 2, column 0
END
    printf '{"user": "ann", "program": "/usr/bin/player", %s}\n' "$RULES" >"$GIVEN/player.json"
    run "$RTF_LIBEXEC/rtf-lint" --config "$CONFIG"
    [[ $output == *'programs.d/player.json: there is no user ann'* ]]
    [[ $output == *'programs.d/player.json: there is no program /usr/bin/player'* ]]
}

@test "each example is a file that the broker takes, and says if nobody has run it" {
    install -m 644 "$RTF_SOURCE"/etc/programs.d/*.json "$GIVEN"
    [ "$(ls "$GIVEN" | wc -l)" -ge 4 ]
    check 0 ''
    # The machine may lack the users, groups and programs of the example. The example has no other fault.
    [ -z "$(grep 'programs\.d' <<<"$output" | grep -vE 'programs\.d/[a-z0-9_]+\.json: there is no (user|group|program) ')" ] || { echo "$output" >&2; return 1; }
    for name in mpd ros2_control; do [[ $(jq -r .comment "$GIVEN/$name.json") == *'never run'*'ps -L'* ]]; done
}

@test "only root may write what counts: another owner, mode or kind of file is refused" {
    give player "{\"user\": \"$ALICE\", \"program\": \"/usr/bin/player\", $RULES}"
    chmod 664 "$GIVEN/player.json"
    check 78 "$GIVEN/player.json: must be a regular file of root's that nobody else can write"
    chmod 644 "$GIVEN/player.json"
    chown $ALICE "$GIVEN/player.json"
    check 78 "$GIVEN/player.json: must be a regular file of root's that nobody else can write"
    rm "$GIVEN/player.json"
    mkfifo "$GIVEN/player.json"
    check 78 "$GIVEN/player.json: must be a regular file of root's that nobody else can write"
    rm "$GIVEN/player.json"
    chmod 775 "$GIVEN"
    check 78 "$GIVEN: must be a directory of root's that nobody else can write"
    broker_start
    eventually tells error "$GIVEN: must be a directory of root's that nobody else can write (mode 0755 at most)"
}

is_caught() { ps -u $ALICE -o stat=,comm= | grep -q '^T.* rtf-programs$'; }
has_ended_or_stopped() { is_caught || ! pgrep -u $ALICE '^rtf-programs$' >/dev/null; }

# Bob's files are written after Alice's.
@test "a user who stops the process that writes their file delays nobody" {
    broker_start
    # Alice stops each of her processes except this one.
    become $ALICE /usr/bin/python3 -S -c '
import os, signal, sys
print("stops", flush=True)
while os.path.isdir(sys.argv[1]):
    for _ in range(1000):
        try:
            os.kill(-1, signal.SIGSTOP)
        except (ProcessLookupError, PermissionError):
            pass' "$WORK" >"$WORK/stops" 3>&- &
    echo $! >>"$WORK/pids"
    eventually [ -s "$WORK/stops" ]
    for ((tries = 20; tries > 0; tries--)); do
        give a "{\"user\": \"$ALICE\", \"program\": \"/usr/bin/$tries\", $RULES}"
        give b "{\"user\": \"$BOB\", \"program\": \"/usr/bin/$tries\", $RULES}"
        reload
        eventually has $BOB b "{\"program\":\"/usr/bin/$tries\",$RULES}"
        eventually has_ended_or_stopped
        if is_caught; then break; fi
    done
    local late="the files of programs.d for uid $ALICE are not all in force: writing the directory of the user took too long"
    no tells warning "$late"
    eventually tells warning "$late"
}

# ---- programs as they are, under the rules as shipped

# example FILE [SED]: puts an example of the source into programs.d, for Alice.
example() {
    sed -E 's/"(user|group)": "[^"]*"/"user": "'$ALICE'"/; '"${2:-}" "$RTF_SOURCE/$1" >"$GIVEN/$(basename "$1")"
}

# policies PROCESS: prints NAME=POLICY for each thread.
policies() { for task in "/proc/$1/task"/*; do echo "$(<"$task/comm")=$(kernel "${task##*/}" | cut -d ' ' -f 1)"; done 2>/dev/null | sort | uniq -c | xargs; }
are() { [ "$(policies "$1")" = "$2" ]; }

# runs COMMAND...: starts the command as Alice, outside the group of the spool. $PROGRAM is the id of its process.
runs() {
    setpriv --reuid $ALICE --regid $ALICE --clear-groups -- env HOME="$WORK/home" "$@" >"$WORK/program" 2>&1 3>&- &
    PROGRAM=$!
    echo "$PROGRAM" >>"$WORK/pids"
}
ends() { kill "$PROGRAM"; wait "$PROGRAM" 2>/dev/null || true; }

as_shipped() {
    configure_as_shipped
    mkdir -m 777 "$WORK/home"
    [ "$(ulimit -r)" = 0 ]
}

@test "a program of five executors that does not know rtf: as it is, at each start, and over a restart of the broker" {
    as_shipped
    cc -O2 "$RTF_SOURCE/contrib/examples/unaware.c" -o "$WORK/unaware" -pthread
    example contrib/examples/unaware.json "s,/usr/local/bin,$WORK,"
    broker_start
    eventually [ -e "$SPECS/$ALICE/admin:unaware.verdict" ]
    local all='1 control=fifo 1 logging=other 1 perception-1=fifo 1 perception-2=fifo 1 planning=deadline 1 unaware=other'
    runs "$WORK/unaware"
    eventually are $PROGRAM "$all"
    ends
    runs "$WORK/unaware"
    eventually are $PROGRAM "$all"
    broker_stop INT
    broker_start
    are $PROGRAM "$all"
    ends
    runs "$WORK/unaware"
    eventually are $PROGRAM "$all"
    # All attached threads are Alice's.
    [ "$(jq -r 'select(.stage == "attach" and .decision == "ok").user' "$EVENTS" | sort -u)" = $ALICE ]
    rm "$GIVEN/unaware.json"
    reload
    eventually are $PROGRAM "$(sed 's/=[a-z]*/=other/g' <<<"$all")"
    ends
}

@test "jackd -R -P 70, as it is, is real-time for a user without rights" {
    command -v jackd >/dev/null || skip 'jackd is not here'
    as_shipped
    example etc/programs.d/jackd.json
    broker_start
    eventually [ -e "$SPECS/$ALICE/admin:jackd.verdict" ]
    runs_jackd
    jackd_is_fifo
    grep -q 'Cannot use real-time scheduling' "$WORK/program"
    eventually jackd_waits
    ends
    runs_jackd
    jackd_is_fifo
    eventually jackd_waits
    ends
}
# Each server of JACK leaves shared memory and semaphores behind, and servers of other lanes share them. So this server has its own.
runs_jackd() {
    unshare --mount --ipc sh -c 'mount -t tmpfs rtf-jack /dev/shm && exec "$@"' sh setpriv --reuid $ALICE --regid $ALICE --clear-groups -- \
        env HOME="$WORK/home" JACK_NO_AUDIO_RESERVATION=1 jackd -n "rtf$ALICE" -R -P 70 -d dummy >"$WORK/program" 2>&1 3>&- &
    PROGRAM=$!
    echo "$PROGRAM" >>"$WORK/pids"
}
# Prints the verdict and the threads if this fails.
jackd_is_fifo() {
    eventually are $PROGRAM '4 jackd=fifo' && return
    cat "$SPECS/$ALICE/admin:jackd.verdict" "$WORK/program"
    ps -L -o tid,cls,rtprio,wchan:20,comm -p "$PROGRAM"
    return 1
}
# A signal that comes before jackd waits for signals can make jackd wait for ever. This also happens without rtf.
jackd_waits() { grep -q sigtimedwait "/proc/$PROGRAM/wchan"; }

@test "PipeWire, as it is, is real-time for a user without rights" {
    command -v pipewire >/dev/null || skip 'PipeWire is not here'
    as_shipped
    example etc/programs.d/pipewire.json
    broker_start
    eventually [ -e "$SPECS/$ALICE/admin:pipewire.verdict" ]
    runs env XDG_RUNTIME_DIR="$WORK/home" pipewire
    eventually are $PROGRAM '2 pipewire=fifo'
    ends
}

@test "rt-app, as it is, is real-time for a user without rights" {
    command -v rt-app >/dev/null || skip 'rt-app is not here'
    as_shipped
    give rt-app "{\"user\": \"$ALICE\", \"program\": \"$(command -v rt-app)\", \"threads\": [{\"name\": \"ctl*\", \"plugin\": \"FP\", \"priority\": 15, \"runtime\": \"1ms\", \"period\": \"10ms\"}]}"
    printf '{"tasks": {"ctl": {"instance": 3, "loop": -1, "run": 1000, "timer": {"ref": "unique", "period": 20000}}},
        "global": {"duration": 30, "calibration": 100, "default_policy": "SCHED_OTHER", "log_basename": "rta", "logdir": "%s"}}\n' "$WORK/home" >"$WORK/load.json"
    broker_start
    eventually [ -e "$SPECS/$ALICE/admin:rt-app.verdict" ]
    cd "$WORK/home"
    runs rt-app "$WORK/load.json"
    eventually are $PROGRAM '3 ctl=fifo 1 rt-app=other'
    ends
}
