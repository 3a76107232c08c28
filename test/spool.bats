# The spool: the meaning of each operation of a user on a file, and its obstacles. names.bats has the names of files, threads.bats the threads.
load helper

PERIODIC='{"runtime": "1ms", "period": "20ms"}'
OTHER='{"runtime": "2ms", "period": "50ms", "deadline": "40ms"}'
TWO_NAMES='has a second name (hard link)'

prepare() {
    HOME_OF_ALICE=$WORK/home
    install -d -m 700 -o $ALICE -g $ALICE "$HOME_OF_ALICE"
    ROUNDS=0
}

# here UID SCRIPT: runs a shell script as this user in the user's own directory, and makes the directory if necessary.
here() {
    as "$1" env HOME="$HOME_OF_ALICE" sh -c "mkdir -p '$SPECS/$1' && cd '$SPECS/$1' && $2"
}

# in_background SCRIPT: runs a script as Alice in Alice's directory, in the background.
in_background() {
    as $ALICE mkdir -p "$SPECS/$ALICE"
    become $ALICE bash -c "cd '$SPECS/$ALICE' && $1" >"$WORK/background" 2>&1 3>&- &
    echo "$!" >>"$WORK/pids"
}

# stop_sign: makes a FIFO where a script waits for the test: `read _ <$WORK/go`.
stop_sign() {
    mkfifo "$WORK/go"
    chmod 666 "$WORK/go"
}

# is_granted UID NAME JQ: the spec has a grant, and JQ is true for the verdict.
is_granted() {
    local answer
    answer=$(verdict "$1" "$2")
    [ "$(field "$3" "$answer")" = true ] || { echo "$1/$2: $answer" >&2; return 1; }
}

is_periodic() { is_granted "$1" "$2" '.result == "OK" and .grant.runtime == 1000 and .grant.period == 20000'; }
is_other() { is_granted "$1" "$2" '.result == "OK" and .grant.runtime == 2000 and .grant.period == 50000 and .grant.deadline == 40000'; }

# is_bad NAME TEXT: the verdict on Alice's spec NAME is BAD_SPEC, with a reason that starts with the file's name and contains TEXT.
is_bad() {
    local answer
    answer=$(verdict $ALICE "$1")
    [ "$(field .result "$answer")" = BAD_SPEC ] && [ "$(field .grant "$answer")" = null ] &&
        [ "$(field .refusal.by "$answer")" = spec ] && [ "$(field .refusal.retry "$answer")" = never ] &&
        [[ $(field .reason "$answer") == "$1."*"$2"* ]] || { echo "$1: $answer" >&2; return 1; }
}

# bob_is_answered: waits for the answer to a spec of Bob's. The broker takes events in their order, so it has also handled all earlier events then.
bob_is_answered() {
    ROUNDS=$((ROUNDS + 1))
    put $BOB "round$ROUNDS" '{"runtime": 100, "period": "100ms"}'
    is_granted $BOB "round$ROUNDS" '.request == "create" and .result == "OK"'
    rm "$SPECS/$BOB/round$ROUNDS.json"
}

# told UID NAME [DECISION]: prints how many verdicts the broker has written for this spec.
told() {
    jq -s --arg user "$1" --arg name "$2" --arg decision "${3:-}" \
        '[.[] | select(.stage == "verdict" and .user == $user and .name == $name and ($decision == "" or .decision == $decision))] | length' "$EVENTS"
}

was_told() { [ "$(told "$1" "$2")" = "$3" ]; }

# stamp FILE: prints the file's stamp in the form of a verdict.
stamp() { stat -c '{"inode":%i,"changed":"%.9Z"}' "$1"; }

# ---- a file appears ----

# bats test_tags=turn:0
@test "a spec that is written aside and renamed is granted" {
    broker_start
    here $ALICE "echo '$PERIODIC' >.new && mv .new cam.json"
    is_periodic $ALICE cam
    [ "$(told $ALICE cam)" = 1 ]
}

# bats test_tags=turn:1
@test "a spec that a shell redirects into place is granted" {
    broker_start
    here $ALICE "echo '$PERIODIC' >cam.json"
    is_periodic $ALICE cam
    [ "$(told $ALICE cam)" = 1 ]
}

# bats test_tags=turn:2
@test "a spec that cp, cp -a or install puts there is granted" {
    broker_start
    here $ALICE "echo '$PERIODIC' >~/spec && touch -d 2001-01-01 ~/spec"
    here $ALICE 'cp ~/spec plain.json'
    is_periodic $ALICE plain
    here $ALICE 'cp -a ~/spec preserved.json'
    is_periodic $ALICE preserved
    here $ALICE 'install -m 644 ~/spec installed.json'
    is_periodic $ALICE installed
}

# bats test_tags=turn:0
@test "a spec that is moved in from another directory or another file system is granted" {
    broker_start
    here $ALICE "echo '$PERIODIC' >~/spec && mv ~/spec near.json"
    is_periodic $ALICE near
    far=$(as $ALICE mktemp /dev/shm/rtf-test.XXXXXX)
    here $ALICE "echo '$PERIODIC' >'$far' && mv '$far' far.json"
    is_periodic $ALICE far
}

# bats test_tags=turn:1
@test "a spec that keeps a second name is refused, wherever that is, and is granted when it has lost it and is touched" {
    broker_start
    here $ALICE "echo '$PERIODIC' >~/spec && ln ~/spec cam.json"
    is_bad cam "$TWO_NAMES"
    [ "$(told $ALICE cam)" = 1 ]
    # After the refusal, the spec wakes no process any more.
    eventually readers_have_ended
    here $ALICE 'rm ~/spec'
    eventually readers_have_ended
    [ "$(told $ALICE cam)" = 1 ]
    here $ALICE 'touch cam.json'
    is_periodic $ALICE cam
}

# bats test_tags=turn:1
@test "the removal of a spec that was refused for its second name leaves that" {
    broker_start
    here $ALICE "echo '$PERIODIC' >~/spec && ln ~/spec cam.json"
    is_bad cam "$TWO_NAMES"
    here $ALICE 'rm cam.json'
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ "$(cat "$HOME_OF_ALICE/spec")" = "$PERIODIC" ]
}

# bats test_tags=turn:2
@test "a spec that gets a second name keeps its grant; the second name has no grant, and a write there changes nothing" {
    broker_start
    spec $ALICE cam "$PERIODIC" >/dev/null
    here $ALICE 'ln cam.json twin.json'
    is_bad twin "$TWO_NAMES"
    here $ALICE "echo '$OTHER' >twin.json"
    is_bad twin "$TWO_NAMES"
    [ "$(jq .grant.runtime "$SPECS/$ALICE/cam.verdict")" = 1000 ]
    here $ALICE 'touch cam.json'
    is_granted $ALICE cam '.request == "change" and .result == "BAD_SPEC" and .grant.runtime == 1000'
    # After a restart the change is still refused, and the old grant stays.
    broker_stop INT
    broker_start
    [ "$(jq .grant.runtime "$SPECS/$ALICE/cam.verdict")" = 1000 ]
    here $ALICE 'rm cam.json'
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    here $ALICE 'touch twin.json'
    is_other $ALICE twin
}

# bats test_tags=turn:0
@test "a spec that is linked into place and loses its first name is answered as it is" {
    broker_start
    here $ALICE "echo '$PERIODIC' >.new && ln .new cam.json && rm .new"
    is_periodic $ALICE cam
    [ "$(told $ALICE cam)" = 1 ]
    # A file that is linked into place counts, wherever its first name is. The answer comes at once: long before a second is over.
    once_of 3 answered_at_once
}
answered_at_once() {
    local began before
    here $ALICE "rm -f radio.json && echo '$OTHER' >~/spec"
    eventually test ! -e "$SPECS/$ALICE/radio.verdict" || return 1
    before=$(told $ALICE radio ok) began=$(milliseconds)
    here $ALICE 'ln ~/spec radio.json && rm ~/spec'
    is_other $ALICE radio && [ $(($(milliseconds) - began)) -lt $((900 * PATIENCE)) ] && [ "$(told $ALICE radio ok)" = $((before + 1)) ]
}

# bats test_tags=turn:1
@test "a spec that is there before the broker starts is granted" {
    broker_start
    broker_stop TERM
    here $ALICE "echo '$PERIODIC' >cam.json"
    broker_start
    is_periodic $ALICE cam
}

# bats test_tags=turn:2
@test "a spec that is renamed to another name is released and asked again" {
    broker_start
    spec $ALICE cam "$PERIODIC" >/dev/null
    here $ALICE 'mv cam.json radio.json'
    is_periodic $ALICE radio
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ "$(field .request "$(verdict $ALICE radio)")" = create ]
}

# ---- a file changes ----

# changes_to_other SCRIPT: a thread is attached while SCRIPT changes the spec. When the verdict reports the change, the kernel has it too.
changes_to_other() {
    sleeper $ALICE
    spec $ALICE cam "$PERIODIC" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 1000/20000/20000 cpus=$ALL_CPUS reset=1" ]
    here $ALICE "$1"
    is_other $ALICE cam
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 2000/40000/50000 cpus=$ALL_CPUS reset=1" ]
    is_granted $ALICE cam ".thread.tid == $SLEEPER"
}

# bats test_tags=turn:0
@test "a spec that is replaced changes the grant and its thread" {
    broker_start
    changes_to_other "echo '$OTHER' >.new && mv .new cam.json"
    is_granted $ALICE cam '.request == "change"'
    [ "$(told $ALICE cam)" = 3 ]
}

# bats test_tags=turn:1
@test "a spec that is rewritten in place changes the grant and its thread" {
    broker_start
    changes_to_other "echo '$OTHER' >cam.json"
    is_granted $ALICE cam '.request == "change"'
    [ "$(told $ALICE cam)" = 3 ]
}

# bats test_tags=turn:2
@test "a spec that is overwritten without truncation, or by sed -i, changes the grant and its thread" {
    broker_start
    changes_to_other "printf '%-80s' '$OTHER' | dd of=cam.json conv=notrunc status=none"
    here $ALICE "sed -i 's/2ms/3ms/' cam.json"
    is_granted $ALICE cam '.result == "OK" and .request == "change" and .grant.runtime == 3000'
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 3000/40000/50000 cpus=$ALL_CPUS reset=1" ]
}

# bats test_tags=turn:0
@test "an editor that keeps a backup and writes a new file leaves a grant" {
    broker_start
    spec $ALICE cam "$PERIODIC" >/dev/null
    here $ALICE "mv cam.json cam.json~ && echo '$OTHER' >cam.json && rm cam.json~"
    is_other $ALICE cam
    here $ALICE "cp cam.json .cam.json.bak && : >cam.json && echo '$PERIODIC' >cam.json"
    is_periodic $ALICE cam
}

# bats test_tags=turn:1
@test "a refused change says so and leaves the old grant and its thread" {
    configure_plugins 'EDF edf - all partition=global threshold=0.1' 'FP fp 11-20 all'
    broker_start
    sleeper $ALICE
    spec $ALICE cam "$PERIODIC" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    before=$(kernel "$SLEEPER")
    for refused in '{"runtime": "19ms", "period": "20ms"}' '{"runtime": "2ms"}' '{"runtime": "30ms", "period": "20ms"}' '{"plugin": "none"}' 'not JSON' ''; do
        here $ALICE "printf '%s' '$refused' >cam.json"
        is_granted $ALICE cam '.request == "change" and (.result == "BAD_SPEC" or .result == "SCHEDULE_FAIL") and .refusal != null and (.reason | length) > 0'
        is_granted $ALICE cam ".grant.runtime == 1000 and .grant.period == 20000 and .thread == {\"tid\": $SLEEPER, \"state\": \"attached\"}"
        [ "$(kernel "$SLEEPER")" = "$before" ]
        [ "$(cat "$SPECS/$ALICE/cam.json")" = "$refused" ]
    done
    here $ALICE "echo '$OTHER' >cam.json"
    is_other $ALICE cam
    [ "$(kernel "$SLEEPER")" = "deadline 0 nice=0 2000/40000/50000 cpus=$ALL_CPUS reset=1" ]
}

# bats test_tags=turn:2
@test "the amount that a refused change asked for is not charged" {
    configure_rules "$ALICE - max_utilization 0.5"
    broker_start
    spec $ALICE cam '{"runtime": "4ms", "period": "10ms"}' >/dev/null
    here $ALICE "echo '{\"runtime\": \"6ms\", \"period\": \"10ms\"}' >cam.json"
    is_granted $ALICE cam '.result == "ACL_FAIL" and .grant.runtime == 4000'
    spec $ALICE rest '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    is_granted $ALICE rest '.result == "OK"'
    spec $ALICE more '{"runtime": 2, "period": "1ms"}' >/dev/null
    is_granted $ALICE more '.result == "ACL_FAIL" and .grant == null'
}

# bats test_tags=turn:0
@test "neither a verdict nor the kernel ever mixes two grants" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "$PERIODIC" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    cat >"$WORK/reader.py" <<'END'
import ctypes, json, os, struct, sys
verdict, tid, stop = sys.argv[1], int(sys.argv[2]), sys.argv[3]
number = {"x86_64": 315, "aarch64": 275}[os.uname().machine]
libc, buffer, seen, reads = ctypes.CDLL(None), ctypes.create_string_buffer(48), set(), 0
while not os.path.exists(stop):
    text = open(verdict).read()
    grant = json.loads(text)["grant"]
    seen.add("verdict %(runtime)d %(accepted_runtime)d %(period)d %(deadline)d %(utilization)d" % grant)
    libc.syscall(number, tid, buffer, 48, 0)
    seen.add("kernel %d %d %d" % tuple(n // 1000 for n in struct.unpack("<IIQiIQQQ", buffer.raw)[5:]))
    reads += 1
print(*sorted(seen), sep="\n")
print("enough" if reads >= 200 else "only %d" % reads)
END
    become $ALICE /usr/bin/python3 -S "$WORK/reader.py" "$SPECS/$ALICE/cam.verdict" "$SLEEPER" "$WORK/stop" >"$WORK/seen" 2>&1 3>&- &
    reader=$!
    echo "$reader" >>"$WORK/pids"
    here $ALICE "
        for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
            for spec in '$OTHER' '$PERIODIC'; do
                echo \"\$spec\" >.new && mv .new cam.json && USER=$ALICE '$RTF_BIN/rtf-wait' --spool '$SPOOL' --timeout 10s cam >/dev/null || exit
                echo \"\$spec \" >cam.json && USER=$ALICE '$RTF_BIN/rtf-wait' --spool '$SPOOL' --timeout 10s cam >/dev/null || exit
            done
        done"
    touch "$WORK/stop"
    wait "$reader"
    [ "$(cat "$WORK/seen")" = "kernel 1000 20000 20000
kernel 2000 40000 50000
verdict 1000 1000 20000 20000 50000000
verdict 2000 2000 50000 40000 40000000
enough" ] || { cat "$WORK/seen"; false; }
}

# ---- a file goes ----

# bats test_tags=turn:1
@test "a removed spec is released: thread as before, capacity free, .tid and .verdict gone" {
    configure_rules "$ALICE - max_utilization 0.1"
    broker_start
    sleeper $ALICE
    before=$(kernel "$SLEEPER")
    spec $ALICE cam '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" deadline
    here $ALICE 'rm cam.json'
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ ! -e "$SPECS/$ALICE/cam.tid" ]
    [ "$(kernel "$SLEEPER")" = "$before" ]
    next_is_granted() {
        spec $ALICE next '{"runtime": "2ms", "period": "20ms"}' >/dev/null
        is_granted $ALICE next '.result == "OK"'
    }
    eventually next_is_granted # after the 0-lag time of the released reservation
    logged 1 '.stage == "release"'
}

# bats test_tags=turn:2
@test "a refused spec that is removed leaves nothing behind" {
    broker_start
    spec $ALICE cam '{"runtime": "2ms"' >/dev/null
    is_bad cam 'is not one JSON object'
    here $ALICE 'rm cam.json'
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ -z "$(ls -A "$SPECS/$ALICE")" ]
}

# bats test_tags=turn:0
@test "a directory that is removed takes all its specs along" {
    configure_rules "$ALICE - max_utilization 0.2"
    broker_start
    sleeper $ALICE
    before=$(kernel "$SLEEPER")
    spec $ALICE one '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    spec $ALICE two '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    spec $ALICE refused '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    attach $ALICE one "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" deadline
    as $ALICE sh -c 'until rm -r "$1" 2>/dev/null; do :; done' sh "$SPECS/$ALICE"
    eventually logged 3 '.stage == "release"'
    [ "$(kernel "$SLEEPER")" = "$before" ]
    spec $ALICE all '{"runtime": "4ms", "period": "20ms"}' >/dev/null
    is_granted $ALICE all '.result == "OK" and .request == "create"'
}

# bats test_tags=turn:1
@test "a directory that is renamed away takes all its specs along" {
    configure_rules "$ALICE - max_utilization 0.2" "$BOB - max_utilization 1"
    broker_start
    sleeper $ALICE
    before=$(kernel "$SLEEPER")
    spec $ALICE one '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    spec $ALICE two '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    attach $ALICE one "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" deadline
    as $ALICE mv "$SPECS/$ALICE" "$HOME_OF_ALICE/old"
    eventually logged 2 '.stage == "release"'
    [ "$(kernel "$SLEEPER")" = "$before" ]
    spec $ALICE all '{"runtime": "4ms", "period": "20ms"}' >/dev/null
    is_granted $ALICE all '.result == "OK" and .request == "create"'
    # The text in the old file has no effect any more.
    as $ALICE sh -c 'echo "$1" >"$2/old/three.json"' sh "$PERIODIC" "$HOME_OF_ALICE"
    bob_is_answered
    [ ! -e "$HOME_OF_ALICE/old/three.verdict" ]
    [ "$(told $ALICE three)" = 0 ]
}

# bats test_tags=turn:2
@test "a directory that is renamed away and back is asked again" {
    broker_start
    spec $ALICE cam "$PERIODIC" >/dev/null
    as $ALICE mv "$SPECS/$ALICE" "$HOME_OF_ALICE/old"
    eventually logged 1 '.stage == "release"'
    as $ALICE mv "$HOME_OF_ALICE/old" "$SPECS/$ALICE"
    eventually was_told $ALICE cam 2
    is_periodic $ALICE cam
}

# ---- when a file is read ----

# bats test_tags=turn:0
@test "a slow writer is waited for" {
    broker_start
    stop_sign
    in_background "exec 9>cam.json; printf '{\"runtime\": ' >&9; read -r _ <'$WORK/go'; printf '1000, \"period\": 20000}' >&9"
    eventually test -s "$SPECS/$ALICE/cam.json"
    bob_is_answered
    # After SIGHUP, or after an event about the file, the broker does not read half of the file, either.
    chmod 640 "$SPECS/$ALICE/cam.json"
    kill -HUP "$BROKER"
    eventually grep -q '"reloaded"' "$EVENTS"
    bob_is_answered
    [ "$(told $ALICE cam)" = 0 ]
    [ ! -e "$SPECS/$ALICE/cam.verdict" ]
    echo go >"$WORK/go"
    eventually test -e "$SPECS/$ALICE/cam.verdict"
    is_periodic $ALICE cam
    [ "$(told $ALICE cam)" = 1 ]
}

# bats test_tags=turn:1
@test "a slow rewriter in place keeps the old grant until it is done" {
    broker_start
    spec $ALICE cam "$PERIODIC" >/dev/null
    stop_sign
    in_background "exec 9>cam.json; printf '{\"runtime\": ' >&9; read -r _ <'$WORK/go'; printf '2000, \"period\": 50000, \"deadline\": 40000}' >&9"
    eventually grep -q '^{"runtime": $' "$SPECS/$ALICE/cam.json"
    chmod 640 "$SPECS/$ALICE/cam.json"
    bob_is_answered
    [ "$(jq .grant.runtime "$SPECS/$ALICE/cam.verdict")" = 1000 ]
    echo go >"$WORK/go"
    eventually was_told $ALICE cam 2
    is_other $ALICE cam
    [ "$(told $ALICE cam refused)" = 0 ]
}

# unheard FILE: opens the file for writing, in the background, in a way that inotify does not report the close: fanotify(7) opens files so.
unheard() {
    /usr/bin/python3 -S - "$1" "$WORK/unheard" 3>&- <<'END' &
import ctypes, os, signal, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
NOTIFY, ADD, OPENED, HERE = 0, 1, ctypes.c_ulonglong(0x20), -100
listener = libc.fanotify_init(NOTIFY, os.O_RDWR)
if listener < 0 or libc.fanotify_mark(listener, ADD, OPENED, HERE, sys.argv[1].encode()) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
os.close(os.open(sys.argv[1], os.O_RDONLY))
event = os.read(listener, 24)
os.close(listener)
with open(sys.argv[2], "w", encoding="ascii") as file:
    file.write(f"{struct.unpack_from('i', event, 16)[0]}\n")
signal.pause()
END
    UNHEARD=$!
    echo "$UNHEARD" >>"$WORK/pids"
    eventually test -s "$WORK/unheard"
}

# timeout_of_poll: prints the timeout of the reader's present call of poll(2).
timeout_of_poll() { cut -d ' ' -f 1,4 "/proc/$(helpers rtf-reader)/syscall"; }
waits_for_events() { [[ $(timeout_of_poll) == '7 0x'*ffffffff ]]; }
looks_again() { [[ $(timeout_of_poll) =~ ^7\ 0x[0-9a-f]+$ ]] && ! waits_for_events; }

# The kernel reports that a writer has closed a file before the writer counts as gone. Here the time between is long.
@test "the broker also waits for a writer that has closed the file and has not ended" {
    broker_start
    spec $ALICE cam "$PERIODIC" >/dev/null
    unheard "$SPECS/$ALICE/cam.json"
    stop_sign
    in_background "exec 9>cam.json; printf '{\"runtime\": ' >&9; read -r _ <'$WORK/go'; printf '2000, \"period\": 50000, \"deadline\": 40000}' >&9"
    eventually grep -q '^{"runtime": $' "$SPECS/$ALICE/cam.json"
    chmod 640 "$SPECS/$ALICE/cam.json"
    eventually looks_again
    eventually waits_for_events # the reader now waits without a timeout
    echo go >"$WORK/go"
    eventually looks_again
    kill -KILL "$UNHEARD"
    eventually was_told $ALICE cam 2
    is_other $ALICE cam
}

# bats test_tags=turn:2
@test "a file that is renamed in while its writer has it open is waited for" {
    broker_start
    stop_sign
    in_background "exec 9>.draft; printf '{\"runtime\": ' >&9; mv .draft cam.json; read -r _ <'$WORK/go'; printf '1000, \"period\": 20000}' >&9"
    eventually test -s "$SPECS/$ALICE/cam.json"
    bob_is_answered
    [ "$(told $ALICE cam)" = 0 ]
    echo go >"$WORK/go"
    eventually test -e "$SPECS/$ALICE/cam.verdict"
    is_periodic $ALICE cam
    [ "$(told $ALICE cam)" = 1 ]
}

# bats test_tags=turn:0
@test "a file that is linked in while its writer has it open elsewhere is waited for" {
    broker_start
    stop_sign
    in_background "exec 9>'$HOME_OF_ALICE/draft'; printf '{\"runtime\": ' >&9; ln '$HOME_OF_ALICE/draft' cam.json
        rm '$HOME_OF_ALICE/draft'; : >.linked; read -r _ <'$WORK/go'; printf '1000, \"period\": 20000}' >&9"
    eventually test -e "$SPECS/$ALICE/.linked"
    bob_is_answered
    [ "$(told $ALICE cam)" = 0 ]
    echo go >"$WORK/go"
    eventually test -e "$SPECS/$ALICE/cam.verdict"
    is_periodic $ALICE cam
}

# bats test_tags=turn:1
@test "a file that is half written when the broker starts is waited for" {
    broker_start
    broker_stop TERM
    stop_sign
    in_background "exec 9>cam.json; printf '{\"runtime\": ' >&9; read -r _ <'$WORK/go'; printf '1000, \"period\": 20000}' >&9"
    eventually test -s "$SPECS/$ALICE/cam.json"
    broker_start
    bob_is_answered
    [ "$(told $ALICE cam)" = 0 ]
    echo go >"$WORK/go"
    eventually test -e "$SPECS/$ALICE/cam.verdict"
    is_periodic $ALICE cam
}

# bats test_tags=turn:2
@test "a file that is rewritten over and over, each time in two goes, gets each last word answered" {
    broker_start
    as $ALICE mkdir "$SPECS/$ALICE"
    cat >"$WORK/writer.py" <<'END'
import json, os, time
def changed():
    open("times", "a").write("x")
    return os.stat("times").st_ctime_ns
coarse = len({changed() for _ in range(4)}) < 4 # before Linux 6.13, change times advance with the tick
def granted():
    grant = json.load(open("cam.verdict"))["grant"] # the first, empty version has no grant, if it was answered
    return grant and grant["runtime"]
for number in range(150):
    open("cam.json", "w").close()
    with open("cam.json", "w") as spec:
        spec.write('{"runtime": %d, "period": 100000}' % (100 + number))
    deadline = time.monotonic() + 3
    while True:
        try:
            if coarse and granted() != 100 + number:
                pass # This verdict answers the version before, which had the same time. The last word is still unanswered.
            elif json.load(open("cam.verdict"))["spec"]["changed"] == "%d.%09d" % divmod(os.stat("cam.json").st_ctime_ns, 10**9):
                break
        except FileNotFoundError:
            pass
        if time.monotonic() > deadline:
            raise SystemExit("rewrite %d is not answered" % number)
    assert granted() == 100 + number
END
    here $ALICE "/usr/bin/python3 -S '$WORK/writer.py'"
}

# bats test_tags=turn:0
@test "a file that is only being read elsewhere is answered" {
    broker_start
    stop_sign
    in_background "echo '$PERIODIC' >.new; exec 9<.new; mv .new cam.json; read -r _ <'$WORK/go'"
    eventually test -e "$SPECS/$ALICE/cam.json"
    is_periodic $ALICE cam
}

# ---- refused, restarted ----

# bats test_tags=turn:1
@test "a refused spec stays refused, also across a restart, until it is rewritten or touched" {
    broker_start
    spec $ALICE bad '{"runtime": "2ms", "periodd": "20ms"}' >/dev/null
    is_bad bad periodd
    spec $ALICE big '{"runtime": "2ms"}' >/dev/null
    is_granted $ALICE big '.result == "SCHEDULE_FAIL"'
    before=$(cat "$SPECS/$ALICE/bad.verdict" "$SPECS/$ALICE/big.verdict")
    files=$(stamp "$SPECS/$ALICE/bad.json"; stamp "$SPECS/$ALICE/big.json")
    bob_is_answered
    for signal in TERM INT KILL; do
        broker_stop $signal
        broker_start
        bob_is_answered
        [ "$(cat "$SPECS/$ALICE/bad.verdict" "$SPECS/$ALICE/big.verdict")" = "$before" ]
    done
    [ "$(stamp "$SPECS/$ALICE/bad.json"; stamp "$SPECS/$ALICE/big.json")" = "$files" ]
    [ "$(told $ALICE bad)" = 1 ]

    here $ALICE 'touch bad.json'
    is_bad bad periodd
    [ "$(told $ALICE bad)" = 2 ]
    [ "$(command jq -c .spec "$SPECS/$ALICE/bad.verdict")" = "$(stamp "$SPECS/$ALICE/bad.json")" ]
    here $ALICE "echo '$PERIODIC' >bad.json"
    is_periodic $ALICE bad
}

# bats test_tags=turn:2
@test "touch asks again, and is granted capacity that has become free" {
    configure_rules "$ALICE - max_utilization 0.1" "$BOB - max_utilization 1"
    broker_start
    spec $ALICE first '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    spec $ALICE second '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    is_granted $ALICE second '.result == "ACL_FAIL" and .refusal.retry == "when-freed"'
    here $ALICE 'rm first.json'
    eventually test ! -e "$SPECS/$ALICE/first.verdict"
    bob_is_answered
    [ "$(told $ALICE second)" = 1 ]
    here $ALICE 'touch second.json'
    is_granted $ALICE second '.result == "OK" and .request == "create"'
}

# bats test_tags=turn:0
@test "after a restart a granted spec is not asked again, and a spec that changed meanwhile is" {
    broker_start
    spec $ALICE same "$PERIODIC" >/dev/null
    spec $ALICE changed "$PERIODIC" >/dev/null
    spec $ALICE gone "$PERIODIC" >/dev/null
    before=$(cat "$SPECS/$ALICE/same.verdict")
    broker_stop INT
    here $ALICE "echo '$OTHER' >changed.json; rm gone.json"
    broker_start
    is_other $ALICE changed
    eventually test ! -e "$SPECS/$ALICE/gone.verdict"
    bob_is_answered
    for signal in TERM KILL; do
        broker_stop $signal
        broker_start
        bob_is_answered
    done
    [ "$(cat "$SPECS/$ALICE/same.verdict")" = "$before" ]
    [ "$(told $ALICE same)" = 1 ]
}

# bats test_tags=turn:1
@test "after a reboot the specs that survived are asked again, in the order of old" {
    configure_rules "$ALICE - max_utilization 0.3"
    broker_start
    for name in delta alpha charlie; do
        spec $ALICE $name '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    done
    spec $ALICE bravo '{"runtime": "1ms", "period": "10ms"}' >/dev/null
    is_granted $ALICE bravo '.result == "ACL_FAIL"'
    broker_stop TERM
    # With another boot id in it, the journal is of an earlier boot.
    sed -i 's/^boot=.*/boot=00000000-0000-0000-0000-000000000000/' "$SPOOL/state/current/journal"
    grep -q '^boot=0000' "$SPOOL/state/current/journal"
    broker_start
    eventually logged 4 '.stage == "verdict" and .request == "recover"'
    [ "$(jq -r 'select(.request == "recover" and .decision == "ok") | .name' "$EVENTS" | paste -sd ' ')" = 'delta alpha charlie' ]
    is_granted $ALICE bravo '.request == "recover" and .result == "ACL_FAIL" and .grant == null'
    is_granted $ALICE delta '.result == "OK" and .grant.runtime == 1000'
}

# ---- hostile users ----

# bats test_tags=turn:2
@test "a symbolic link is told to be one, whatever it points to" {
    broker_start
    here $ALICE "echo '$PERIODIC' >~/spec; ln -s ~/spec near.json; ln -s nowhere dangling.json; ln -s /dev/zero endless.json
        ln -s '$SPOOL/state/journal' secret.json; mkdir .real; echo '$PERIODIC' >.real/spec; ln -s .real/spec inside.json"
    for name in near dangling endless secret inside; do
        is_bad $name 'is a symbolic link; it must be a regular file'
    done
    bob_is_answered
}

# bats test_tags=turn:0
@test "a FIFO, a directory, a device and a socket are told to be what they are, and none is waited for" {
    broker_start
    here $ALICE 'mkfifo pipe.json; mkdir folder.json; mkdir .full; : >.full/file; mv .full full.json'
    mknod "$SPECS/$ALICE/device.json" c 1 3
    chown $ALICE "$SPECS/$ALICE/device.json"
    /usr/bin/python3 -S -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$SPECS/$ALICE/socket.json"
    chown $ALICE "$SPECS/$ALICE/socket.json"
    is_bad pipe 'is a FIFO; it must be a regular file'
    is_bad folder 'is a directory; it must be a regular file'
    is_bad full 'is a directory; it must be a regular file'
    is_bad device 'device; it must be a regular file'
    is_bad socket 'is a socket'
    bob_is_answered
    here $ALICE "rmdir folder.json; echo '$PERIODIC' >folder.json"
    is_periodic $ALICE folder
}

# bats test_tags=turn:1
@test "a file of another owner is told to be one, and counts once it is given to the directory's owner" {
    broker_start
    as $ALICE mkdir "$SPECS/$ALICE"
    echo "$PERIODIC" >"$SPECS/$ALICE/.new"
    chown $BOB "$SPECS/$ALICE/.new"
    mv "$SPECS/$ALICE/.new" "$SPECS/$ALICE/cam.json"
    is_bad cam "belongs to uid $BOB; it must belong to uid $ALICE"
    bob_is_answered
    chown $ALICE "$SPECS/$ALICE/cam.json"
    is_periodic $ALICE cam
}

# bats test_tags=turn:2
@test "a spec that is given to somebody else is no spec any more, and the old grant stays" {
    broker_start
    spec $ALICE cam "$PERIODIC" >/dev/null
    chown $BOB "$SPECS/$ALICE/cam.json"
    is_granted $ALICE cam '.result == "BAD_SPEC" and .grant.runtime == 1000'
}

# bats test_tags=turn:0
@test "a hard link to another user's file counts for no user" {
    broker_start
    echo "$PERIODIC" >"$WORK/bobs"
    chown $BOB "$WORK/bobs"
    chmod 666 "$WORK/bobs" # otherwise the kernel does not let Alice link the file (fs.protected_hardlinks)
    here $ALICE "ln '$WORK/bobs' cam.json"
    is_bad cam "belongs to uid $BOB"
    bob_is_answered
}

# bats test_tags=turn:1
@test "a file under a write lease is not waited for" {
    broker_start
    stop_sign
    here $ALICE "echo '$PERIODIC' >.new"
    in_background "exec /usr/bin/python3 -S -c '
import fcntl, os, signal
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(\".new\", os.O_RDONLY)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
os.rename(\".new\", \"cam.json\")
open(\"$WORK/go\").read()'"
    eventually test -e "$SPECS/$ALICE/cam.json"
    is_bad cam 'is under a write lease (fcntl(2)): end the lease, and touch the file'
    bob_is_answered
    echo >"$WORK/go"
    here $ALICE "echo '$PERIODIC' >.new && mv .new cam.json"
    is_periodic $ALICE cam
}

# bats test_tags=turn:2
@test "an empty file, 65 KiB and a file of the greatest size are told so" {
    broker_start
    here $ALICE ": >empty.json; printf '%66560s' '$PERIODIC' >long.json; printf '%65537s' '$PERIODIC' >longer.json; printf '%65536s' '$PERIODIC' >fits.json
        truncate -s 8E .enormous 2>/dev/null || truncate -s 1T .enormous; mv .enormous enormous.json"
    is_bad empty 'is not one JSON object: line 1'
    is_bad long 'is longer than 64 KiB'
    is_bad longer 'is longer than 64 KiB'
    is_bad enormous 'is longer than 64 KiB'
    is_periodic $ALICE fits
    bob_is_answered
}

# bats test_tags=turn:0
@test "a .tid is opened as carefully as a .json" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "$PERIODIC" >/dev/null
    bad_tid() {
        here $ALICE "rm -rf cam.tid && $1"
        is_granted $ALICE cam ".result == \"BAD_SPEC\" and .request == \"attach\" and (.reason | startswith(\"cam.tid $2\")) and .grant != null and .thread == null"
        is_policy "$SLEEPER" other
    }
    bad_tid "echo $SLEEPER >~/tid; ln -s ~/tid cam.tid" 'is a symbolic link'
    bad_tid 'mkfifo cam.tid' 'is a FIFO'
    bad_tid 'mkdir cam.tid' 'is a directory'
    bad_tid "printf '%66560d' $SLEEPER >cam.tid" 'is longer than 64 KiB'
    here $ALICE 'rm cam.tid'
    echo "$SLEEPER" >"$SPECS/$ALICE/.new"
    chown $BOB "$SPECS/$ALICE/.new"
    mv "$SPECS/$ALICE/.new" "$SPECS/$ALICE/cam.tid"
    is_granted $ALICE cam ".result == \"BAD_SPEC\" and (.reason | startswith(\"cam.tid belongs to uid $BOB\")) and .thread == null"
    is_policy "$SLEEPER" other
    bob_is_answered
}

# bats test_tags=turn:1
@test "a user's own text in a verdict deceives no other user, and the next answer replaces the text" {
    broker_start
    spec $ALICE cam "$PERIODIC" >/dev/null
    here $ALICE "echo '{\"grant\": {\"runtime\": 1000000}}' >cam.verdict"
    bob_is_answered
    [ "$(jq .grant.runtime "$SPECS/$ALICE/cam.verdict")" = 1000000 ]
    here $ALICE 'rm cam.verdict && ln -s ~/elsewhere cam.verdict && touch cam.json'
    is_periodic $ALICE cam
    [ ! -L "$SPECS/$ALICE/cam.verdict" ]
    [ ! -e "$HOME_OF_ALICE/elsewhere" ]
    # The grant holds though no verdict can be written. The verdict is written when this is possible.
    here $ALICE "rm cam.verdict && mkdir -p cam.verdict/full && echo '$OTHER' >cam.json"
    eventually grep -q '"name":"cam".*"decision":"error"' "$EVENTS"
    bob_is_answered
    here $ALICE 'rm -r cam.verdict'
    eventually test -f "$SPECS/$ALICE/cam.verdict"
    is_other $ALICE cam
}

# ---- what users can see ----

# bats test_tags=turn:2
@test "a verdict is its owner's, mode 0600, and the spec is left as it was" {
    broker_start
    here $ALICE "umask 022; echo '$PERIODIC' >cam.json"
    before=$(stamp "$SPECS/$ALICE/cam.json")
    is_periodic $ALICE cam
    [ "$(stat -c '%u %g %a %F' "$SPECS/$ALICE/cam.verdict")" = "$ALICE $GROUP 600 regular file" ]
    [ "$(stamp "$SPECS/$ALICE/cam.json")" = "$before" ]
    [ "$(command jq -c .spec "$SPECS/$ALICE/cam.verdict")" = "$before" ]
    [ "$(stat -c '%u %a' "$SPECS/$ALICE/cam.json")" = "$ALICE 644" ]
}

# bats test_tags=turn:0
@test "a user can neither list the users nor see, make or remove anything in another user's directory" {
    broker_start
    spec $ALICE cam "$PERIODIC" >/dev/null
    bob_is_answered
    no as $BOB ls "$SPECS"
    no as $BOB ls "$SPECS/$ALICE"
    no as $BOB cat "$SPECS/$ALICE/cam.json"
    no as $BOB cat "$SPECS/$ALICE/cam.verdict"
    no as $BOB stat "$SPECS/$ALICE/cam.json"
    no as $BOB sh -c 'echo {} >"$1"' sh "$SPECS/$ALICE/forged.json"
    no as $BOB rm -f "$SPECS/$ALICE/cam.json"
    no as $BOB mv "$SPECS/$ALICE" "$SPECS/.stolen"
    no as $BOB rmdir "$SPECS/$ALICE"
    no as $BOB ln "$SPECS/$ALICE/cam.json" "$SPECS/$BOB/cam.json"
    no as $BOB ls "$SPOOL/state"
    no as $BOB cat "$EVENTS"
    no as $BOB cat "$SPOOL/alive"
    no stranger $BOB ls "$SPECS/$BOB/."
    is_periodic $ALICE cam
}

# bats test_tags=turn:1
@test "a directory that is opened to others is closed again" {
    broker_start
    as $ALICE sh -c 'umask 0; mkdir "$1"' sh "$SPECS/$ALICE"
    closed() { [ "$(stat -c '%u %g %a' "$SPECS/$ALICE")" = "$ALICE $GROUP 2700" ]; }
    eventually closed
    as $ALICE chmod 777 "$SPECS/$ALICE"
    eventually closed
    as $ALICE chmod 6755 "$SPECS/$ALICE"
    eventually closed
    as $ALICE chgrp $ALICE "$SPECS/$ALICE" 2>/dev/null || chgrp $ALICE "$SPECS/$ALICE"
    eventually closed
    spec $ALICE cam "$PERIODIC" >/dev/null
    is_periodic $ALICE cam
}

# bats test_tags=turn:2
@test "the spool looks as spool/manifest says" {
    broker_start
    bob_is_answered
    adm=$(getent group adm | cut -d: -f3)
    checked=0
    while read -r path type owner group mode _; do
        case $path in '' | '#'*) continue ;; esac
        case $group in rtf) group=$GROUP ;; adm) group=${adm:-0} ;; root) group=0 ;; esac
        [ "$owner" = root ]
        [ "$(find "$SPOOL/$path" -maxdepth 0 -printf '%y %U %G %04m')" = "$type 0 $group $mode" ] || { echo "$path"; false; }
        checked=$((checked + 1))
    done <"$RTF_SOURCE/spool/manifest"
    [ "$checked" -ge 6 ]
    # A broker also restores changed modes when it starts.
    broker_stop TERM
    chmod 777 "$SPECS" "$SPOOL/state" "$SPOOL"
    broker_start
    [ "$(stat -c %a "$SPECS" "$SPOOL/state" "$SPOOL" | paste -sd ' ')" = "3730 700 755" ]
}

# bats test_tags=turn:0
@test "alive opens for writing only while a broker runs, and hangs up when it dies" {
    broker_start
    cat >"$WORK/watch.py" <<'END'
import errno, os, select, sys
try:
    fd = os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK)
except OSError as error:
    sys.exit(errno.errorcode[error.errno])
print("open", flush=True)
poll = select.poll()
poll.register(fd, 0)
print("hung up" if poll.poll(10000) else "waited in vain")
END
    become $ALICE /usr/bin/python3 -S "$WORK/watch.py" "$SPOOL/alive" >"$WORK/watched" 3>&- &
    watcher=$!
    echo "$watcher" >>"$WORK/pids"
    eventually grep -q open "$WORK/watched"
    broker_stop KILL
    wait "$watcher"
    grep -qx 'hung up' "$WORK/watched"
    run as $ALICE /usr/bin/python3 -S "$WORK/watch.py" "$SPOOL/alive"
    [ "$status" -ne 0 ]
    [ "$output" = ENXIO ]
    run stranger $ALICE /usr/bin/python3 -S "$WORK/watch.py" "$SPOOL/alive"
    [ "$output" = EACCES ]
}

# ---- waiting, space, limits ----

# bats test_tags=turn:1
@test "a client can watch its own file: when the broker closes it, the verdict is there" {
    broker_start
    as $ALICE mkdir "$SPECS/$ALICE"
    here $ALICE "echo '{\"runtime\": \"1ms\", \"period\": \"20ms\", \"token\": \"t1\"}' >.new"
    become $ALICE sh -c "inotifywait -t 10 -e close_nowrite '$SPECS/$ALICE/.new' >/dev/null && cat '$SPECS/$ALICE/cam.verdict'" >"$WORK/read" 2>"$WORK/watching" 3>&- &
    watcher=$!
    echo "$watcher" >>"$WORK/pids"
    eventually grep -q established "$WORK/watching"
    here $ALICE 'mv .new cam.json'
    wait "$watcher"
    [ "$(jq -r .token "$WORK/read")" = t1 ]
}

# bats test_tags=turn:2
@test "a client can watch its own directory: the verdict is renamed in, whole" {
    broker_start
    as $ALICE mkdir "$SPECS/$ALICE"
    become $ALICE sh -c "inotifywait -t 10 -e moved_to --include '[.]verdict\$' '$SPECS/$ALICE' >/dev/null && jq -r .grant.runtime '$SPECS/$ALICE/cam.verdict'" >"$WORK/read" 2>"$WORK/watching" 3>&- &
    watcher=$!
    echo "$watcher" >>"$WORK/pids"
    eventually grep -q established "$WORK/watching"
    here $ALICE "echo '$PERIODIC' >cam.json"
    wait "$watcher"
    [ "$(cat "$WORK/read")" = 1000 ]
}

# bats test_tags=turn:0
@test "a user may have so many specs and no more, and others are not kept from theirs" {
    configure_rules "$ALICE - max_utilization 1" '1 - max_utilization 1'
    broker_start --max-specs 2
    spec $ALICE one "$PERIODIC" >/dev/null
    spec $ALICE two '{' >/dev/null
    spec $ALICE three "$PERIODIC" >/dev/null
    is_granted $ALICE three '.result == "ACL_FAIL" and .grant == null and .refusal.by == "broker" and .refusal.retry == "when-freed" and (.reason | test("2 specs"))'
    spec 1 cam "$PERIODIC" >/dev/null # All users whom the account database does not know are counted as one user.
    is_periodic 1 cam
    here $ALICE 'rm two.json'
    eventually test ! -e "$SPECS/$ALICE/two.verdict"
    here $ALICE 'touch three.json'
    is_periodic $ALICE three
    spec $ALICE four "$PERIODIC" >/dev/null
    here $ALICE 'rm four.json'
    eventually test ! -e "$SPECS/$ALICE/four.verdict"
}

# bats test_tags=turn:1
@test "specs/ may be a file system of its own, and a full file system stops no grant" {
    mkdir -p "$SPECS"
    mount -t tmpfs -o size=1m tmpfs "$SPECS"
    MOUNTED=$SPECS
    broker_start
    spec $ALICE cam "$PERIODIC" >/dev/null
    is_periodic $ALICE cam
    as $CAROL sh -c 'mkdir "$1" && cat /dev/zero >"$1/.fill" 2>/dev/null' sh "$SPECS/$CAROL" || true
    sleeper $ALICE
    here $ALICE 'rm cam.verdict; mv cam.json radio.json'
    eventually logged 1 '.stage == "verdict" and .name == "radio" and .decision == "ok"'
    as $CAROL rm "$SPECS/$CAROL/.fill"
    eventually test -e "$SPECS/$ALICE/radio.verdict"
    is_periodic $ALICE radio
}

tidy() {
    if [ -n "${MOUNTED:-}" ]; then
        if [ -n "$BROKER" ] && kill -0 "$BROKER" 2>/dev/null; then broker_stop TERM; fi
        umount "$MOUNTED"
        MOUNTED=
    fi
}

# bats test_tags=turn:1
@test "the broker puts back all modes that somebody changes in the spool, at once" {
    broker_start
    spec $ALICE cam "$PERIODIC" >/dev/null
    modes() { (cd "$SPOOL" && stat -c '%n %a' . state log specs alive starting status.json "specs/$ALICE"); }
    before=$(modes)
    is_as_before() { [ "$(modes)" = "$before" ]; }
    chmod -R a+rwX "$SPOOL" || true # .status.json.new comes and goes
    eventually is_as_before
    chmod 700 "$SPOOL/log" "$SPOOL/specs"
    eventually is_as_before
    eventually grep -q '"decision":"warning","result":null,"code":null,"reason":"log had the mode 0*2*700 and has 2750 again"' "$EVENTS"
    run as $ALICE ls "$SPOOL/state"
    [ "$status" -ne 0 ]
    # Modes that were changed while the broker did not run are restored at the next SIGHUP.
    kill -STOP "$BROKER"
    chmod 755 "$SPOOL/state"
    kill -HUP "$BROKER"
    kill -CONT "$BROKER"
    eventually is_as_before
}
