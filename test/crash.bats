# kill -9 at any moment, a stop, a restart: the ledger, state/ and the kernel agree afterwards.
load helper

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.4' 'FP fp 11-20 all'
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 100" "$CAROL - max_utilization 100"
}

tidy() {
    if [ -n "${STREAM:-}" ]; then kill "$STREAM" 2>/dev/null || true; fi
    if mountpoint -q "$SPECS"; then
        if [ -n "$BROKER" ]; then broker_stop TERM; fi
        eventually umount "$SPECS"
    fi
}

cam='{"runtime": "1ms", "period": "10ms", "plugin": "EDF"}'

# broker_dies: ends the broker and its helper processes by kill -9
broker_dies() {
    kill -KILL "$BROKER"
    wait "$BROKER" 2>/dev/null || true
    BROKER=
}

# attached_sleeper UID NAME JSON: attaches $SLEEPER to this spec. $FORMER has its attributes before, $GRANTED its attributes afterwards.
attached_sleeper() {
    sleeper "$1"
    renice -n 5 -p "$SLEEPER" >/dev/null
    taskset -pc 1 "$SLEEPER" >/dev/null
    FORMER=$(kernel "$SLEEPER")
    spec "$1" "$2" "$3"
    attach "$1" "$2" "$SLEEPER"
    GRANTED=$(kernel "$SLEEPER")
    [ "$GRANTED" != "$FORMER" ]
}

# detach UID NAME: prints the verdict
detach() {
    as "$1" rm "$SPECS/$1/$2.tid"
    verdict "$1" "$2"
}

# left_of_edf MICROSECONDS: EDF has exactly so much left for a period of one second, once released reservations have reached their 0-lag times
left_of_edf() { eventually answers_left "$1"; }
answers_left() {
    local answer
    answer=$(spec $CAROL whole '{"runtime": "1s", "period": "1s", "plugin": "EDF"}')
    echo "$answer"
    [ "$(field .refusal.nearest "$answer")" = "$1" ]
}

@test "threads stay as they are when the broker is killed, and get back their former attributes later" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    edf_thread=$SLEEPER
    attached_sleeper $ALICE fast '{"priority": 15}'
    [ "$(kernel "$SLEEPER")" = "$GRANTED" ]
    broker_dies
    eventually none_of_ours
    [ "$(kernel "$edf_thread")" = "deadline 0 nice=0 1000/10000/10000 cpus=$ALL_CPUS reset=1" ]
    [ "$(kernel "$SLEEPER")" = "$GRANTED" ]
    broker_start
    [ "$(kernel "$edf_thread")" = "deadline 0 nice=0 1000/10000/10000 cpus=$ALL_CPUS reset=1" ]
    [ "$(kernel "$SLEEPER")" = "$GRANTED" ]
    left_of_edf 700000
    run detach $ALICE cam
    [ "$(field .request "$output")" = detach ]
    [ "$(kernel "$edf_thread")" = "$FORMER" ]
    rm "$SPECS/$ALICE/fast.json"
    eventually test ! -e "$SPECS/$ALICE/fast.verdict"
    [ "$(kernel "$SLEEPER")" = "$FORMER" ]
}

@test "SIGTERM demotes every thread and keeps the specs, and the next start attaches them again" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    broker_stop TERM
    [ "$(kernel "$SLEEPER")" = "$FORMER" ]
    [ -e "$SPECS/$ALICE/cam.json" ]
    [ "$(jq -c '[.thread, .ended, .grant.plugin]' "$SPECS/$ALICE/cam.verdict")" = '[null,"broker","EDF"]' ]
    broker_start
    eventually is_policy "$SLEEPER" deadline
    [ "$(kernel "$SLEEPER")" = "$GRANTED" ]
    run verdict $ALICE cam
    [ "$(field .request "$output")" = recover ]
    [ "$(field .thread.tid "$output")" = "$SLEEPER" ]
    left_of_edf 700000
    detach $ALICE cam >/dev/null
    [ "$(kernel "$SLEEPER")" = "$FORMER" ]
}

@test "SIGTERM: a reader that is stopped keeps neither the broker nor other owners waiting for long" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    alices=$SLEEPER reader=$(helpers rtf-reader)
    attached_sleeper $BOB arm '{"runtime": "1ms", "period": "100ms"}'
    kill -STOP $reader
    before=$(milliseconds)
    broker_stop TERM
    took=$(($(milliseconds) - before))
    [ "$took" -ge 1000 ]
    [ "$took" -lt 30000 ] # the broker waits for the kernel, too
    [ "$(jq -c '[.thread, .ended]' "$SPECS/$BOB/arm.verdict")" = '[null,"broker"]' ]
    is_attached $ALICE cam "$alices" # the stopped reader has written no verdict
    broker_start
    eventually is_attached $ALICE cam "$alices"
    eventually is_attached $BOB arm "$SLEEPER"
}

@test "SIGTERM: a verdict reaches an owner while the owner's reader has crashed and waits for its restart" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    for crashes in 1 2 3 4 5; do # the broker waits before it starts the next reader, twice as long each time: at last 1.6 s
        eventually helpers rtf-reader >/dev/null
        kill -KILL "$(helpers rtf-reader)"
        eventually has_seen_crashes "$crashes"
    done
    broker_stop TERM
    [ "$(jq -c '[.thread, .ended]' "$SPECS/$ALICE/cam.verdict")" = '[null,"broker"]' ]
    broker_start
    eventually is_attached $ALICE cam "$SLEEPER"
}
has_seen_crashes() { [ "$(grep -c "the user's reader ended" "$EVENTS")" = "$1" ]; }

@test "SIGINT leaves all in force for a restart" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    broker_stop INT
    eventually none_of_ours
    [ "$(kernel "$SLEEPER")" = "$GRANTED" ]
    broker_start
    [ "$(kernel "$SLEEPER")" = "$GRANTED" ]
    left_of_edf 700000
    detach $ALICE cam >/dev/null
    [ "$(kernel "$SLEEPER")" = "$FORMER" ]
}

@test "a spec that was removed while no broker ran is released at the next start" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    first=$SLEEPER
    attached_sleeper $BOB cam "$cam"
    second=$SLEEPER
    attached_sleeper $ALICE stays "$cam"
    broker_dies
    rm "$SPECS/$ALICE/cam.json"
    as $BOB rm -rf "$SPECS/$BOB"
    broker_start
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ ! -e "$SPECS/$ALICE/cam.tid" ]
    eventually is_policy "$first" other
    eventually is_policy "$second" other
    [ "$(kernel "$first")" = "$FORMER" ]
    [ "$(kernel "$second")" = "$FORMER" ]
    [ "$(kernel "$SLEEPER")" = "$GRANTED" ]
    left_of_edf 700000
}

@test "after a time without a broker, the thread of a removed .tid is detached, and the thread of a new .tid is attached" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    first=$SLEEPER
    others=(other another third) # a directory may list NAME.tid before or after NAME.json
    for name in "${others[@]}"; do
        spec $ALICE "$name" "$cam" >/dev/null
        sleeper $ALICE
        eval "$name=$SLEEPER"
    done
    broker_dies
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    for name in "${others[@]}"; do
        as $ALICE sh -c 'echo "$2" >"$1"' sh "$SPECS/$ALICE/$name.tid" "${!name}"
    done
    broker_start
    run verdict $ALICE cam
    [ "$(field .request "$output")" = detach ]
    [ "$(field .thread "$output")" = null ]
    [ "$(kernel "$first")" = "$FORMER" ]
    for name in "${others[@]}"; do
        run verdict $ALICE "$name"
        [ "$(field .thread.tid "$output")" = "${!name}" ]
        is_policy "${!name}" deadline
    done
}

@test "a thread that ended while no broker ran is let go at the next start" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    first=$SLEEPER
    sleeper $ALICE
    spec $ALICE once "{\"priority\": 12, \"attach\": $SLEEPER, \"lifetime\": \"thread\"}" >/dev/null
    is_policy "$SLEEPER" fifo
    broker_dies
    kill -KILL "$first" "$SLEEPER"
    wait "$first" "$SLEEPER" 2>/dev/null || true
    broker_start
    eventually test ! -e "$SPECS/$ALICE/cam.tid"
    eventually test ! -e "$SPECS/$ALICE/once.json"
    eventually test ! -e "$SPECS/$ALICE/once.verdict"
    run verdict $ALICE cam
    [ "$(field .request "$output")" = exit ]
    [ "$(field .thread "$output")" = null ]
    [ "$(field .grant.runtime "$output")" = 1000 ]
    left_of_edf 700000
}

@test "a spec that was changed while no broker ran is asked again, whether its thread was demoted or not" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    broker_dies
    put $ALICE cam '{"runtime": "2ms", "period": "10ms", "plugin": "EDF"}'
    broker_start
    run verdict $ALICE cam
    [ "$(field .grant.runtime "$output")" = 2000 ]
    [[ $(kernel "$SLEEPER") == *" 2000/10000/10000 "* ]]
    left_of_edf 600000
    broker_stop TERM
    put $ALICE cam '{"runtime": "1ms", "period": "5ms", "plugin": "EDF"}'
    broker_start
    run verdict $ALICE cam
    [ "$(field .grant.period "$output")" = 5000 ]
    [[ $(kernel "$SLEEPER") == *" 1000/5000/5000 "* ]]
    detach $ALICE cam >/dev/null
    [ "$(kernel "$SLEEPER")" = "$FORMER" ]
}

# Waits until a new file gets another time stamp than the files before.
next_tick() {
    touch "$WORK/tick"
    TICK=$(stat -c %.9Z "$WORK/tick")
    eventually is_next_tick
}
is_next_tick() {
    touch "$WORK/tick"
    [ "$(stat -c %.9Z "$WORK/tick")" != "$TICK" ]
}

@test "specs that were added while no broker ran are asked in the order of their times" {
    broker_start
    spec $ALICE first '{"runtime": "3ms", "period": "10ms", "plugin": "EDF"}' >/dev/null
    broker_dies
    for name in m z a q; do # EDF has 0.5 of 0.8 CPUs left, and each of these asks for 0.3
        put $ALICE $name '{"runtime": "3ms", "period": "10ms", "plugin": "EDF"}'
        next_tick # waits until files get another time stamp
    done
    put $ALICE first '{"runtime": "2ms", "period": "10ms", "plugin": "EDF"}'
    broker_start
    [ "$(field .grant.runtime "$(verdict $ALICE first)")" = 2000 ]
    for name in m z; do
        run verdict $ALICE $name
        [ "$(field .grant.runtime "$output")" = 3000 ]
    done
    for name in a q; do
        run verdict $ALICE $name
        [ "$(field .result "$output")" = SCHEDULE_FAIL ]
    done
}

@test "the earlier of competing specs have the grants after a restart, too" {
    broker_start
    names='q b z a m'
    for name in $names; do
        spec $ALICE $name '{"runtime": "3ms", "period": "10ms", "plugin": "EDF"}' >/dev/null
    done
    for signal in KILL TERM INT; do
        kill -$signal "$BROKER"
        wait "$BROKER" || true
        broker_start
        for name in $names; do
            run verdict $ALICE $name
            case $name in
            q | b) [ "$(field .grant.runtime "$output")" = 3000 ] ;;
            *) [ "$(field .result "$output")" = SCHEDULE_FAIL ] ;;
            esac
        done
    done
    # After a reboot all specs are asked again, in their former order.
    broker_stop INT
    grep -q '^boot=' "$SPOOL/state/current/journal"
    sed -i 's/^boot=.*/boot=another/' "$SPOOL/state/current/journal"
    broker_start
    for name in $names; do
        run verdict $ALICE $name
        case $name in
        q | b) [ "$(field '.request + " " + (.grant.runtime | tostring)' "$output")" = "recover 3000" ] ;;
        *) [ "$(field .result "$output")" = SCHEDULE_FAIL ] ;;
        esac
    done
}

@test "a .tid from before a reboot is removed, never obeyed" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    broker_stop TERM
    # Another thread, which started after the file was written, has the number now.
    sed -i 's/^boot=.*/boot=another/' "$SPOOL/state/current/journal"
    touch -d '2001-01-01' "$SPECS/$ALICE/cam.tid"
    sleeper $ALICE
    as $ALICE sh -c 'echo "$2" >"$1"' sh "$SPECS/$ALICE/cam.tid" 1
    broker_start
    run verdict $ALICE cam
    [ "$(field .grant.runtime "$output")" = 1000 ]
    [ "$(field .thread "$output")" = null ]
}

@test "grants that plugins.conf has no place for any more are asked again, and their threads not left real-time" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    gone=$SLEEPER
    spec $ALICE any '{"runtime": "1ms", "period": "10ms", "priority": 15}' >/dev/null # EDF's
    sleeper $ALICE
    attach $ALICE any "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" deadline
    broker_dies
    configure_plugins 'FP fp 11-20 0'
    broker_start
    run verdict $ALICE any
    eventually is_policy "$SLEEPER" fifo
    [ "$(kernel "$SLEEPER")" = "fifo 15 nice=0 0/0/0 cpus=0 reset=1" ]
    eventually is_policy "$gone" other
    [ "$(kernel "$gone")" = "$FORMER" ]
    [ "$(jq -c '[.grant, .thread]' "$SPECS/$ALICE/cam.verdict")" = "[null,null]" ]
    as $ALICE rm "$SPECS/$ALICE/any.tid"
    eventually is_policy "$SLEEPER" other
    [ "$(kernel "$SLEEPER")" = "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0" ]
}

@test "grants stay under narrower rules and for a user who may have no more grants, and are not raised" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    first=$SLEEPER
    attached_sleeper $BOB cam "$cam"
    broker_dies
    configure_rules "$ALICE - max_utilization 0.05" "$CAROL - max_utilization 100"
    broker_start
    for uid in $ALICE $BOB; do
        run spec $uid more "$cam"
        [ "$(field '.result + " " + (.grant | tostring)' "$output")" = "ACL_FAIL null" ]
    done
    left_of_edf 600000
    [ "$(kernel "$first")" = "$GRANTED" ]
    [ "$(kernel "$SLEEPER")" = "$GRANTED" ]
    detach $BOB cam >/dev/null
    [ "$(kernel "$SLEEPER")" = "$FORMER" ]
}

# stream UID NAMES...: as this user, writes, attaches, changes, detaches and removes specs, without waiting
stream() {
    setpriv --reuid "$1" --regid "$1" --groups "$GROUP" -- /usr/bin/python3 -S - "$SPECS/$1" "$SEED" "${@:2}" 3>&- >/dev/null <<'END' &
import os, random, sys, time
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
random.seed(int(sys.argv[2]))
threads = sys.argv[3:]


def put(name, text):
    with open(".new", "w") as file:
        file.write(text)
    os.rename(".new", name)


def remove(name):
    try:
        os.unlink(name)
    except OSError:
        pass


while True:
    place = random.randrange(len(threads))
    name = f"w{place}"
    step = random.randrange(10)
    if step < 4:
        put(f"{name}.json", '{"runtime": %d, "period": 100000, "plugin": "EDF"}' % random.randrange(1000, 20000))
    elif step < 5:
        put(f"{name}.json", '{"priority": %d, "plugin": "FP"}' % random.randrange(11, 20))
    elif step < 8 and os.path.exists(f"{name}.json"):
        put(f"{name}.tid", threads[place])
    elif step < 9:
        remove(f"{name}.tid")
    else:
        remove(f"{name}.json")
        remove(f"{name}.tid")
    time.sleep(random.random() * 0.004)
END
    STREAM=$!
    echo "$STREAM" >>"$WORK/pids"
}

# stream_ends: waits until every spec has its verdict
stream_ends() {
    kill "$STREAM" 2>/dev/null || true
    wait "$STREAM" 2>/dev/null || true
    STREAM=
    eventually all_are_answered
}

all_are_answered() {
    local file name
    for file in "$SPECS/$ALICE"/w*.json; do
        [ -e "$file" ] || continue
        name=$(basename "$file" .json)
        as $ALICE "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 10s "$name" >"$WORK/answer.$name" 2>/dev/null || [ -s "$WORK/answer.$name" ] || return 1
    done
    for file in "$SPECS/$ALICE"/w*.verdict; do
        [ ! -e "$file" ] || [ -e "${file%.verdict}.json" ] || [ -e "${file%.verdict}.tid" ] || return 1
    done
}

# verdict_view FILE: the view that test/kernel-view must show of the verdict's thread
verdict_view() {
    jq -r 'if .thread == null then "none"
           elif .grant.policy == "deadline" then "deadline 0 nice=0 \(.grant.accepted_runtime)/\(.grant.deadline)/\(.grant.period) cpus=\(.grant.cpus) reset=1"
           else "\(.grant.policy) \(.grant.priority) nice=0 0/0/0 cpus=\(.grant.cpus) reset=1" end' "$1"
}

# all_agree THREAD...: for the threads of w0, w1, ...: the kernel and EDF's sum agree with the verdicts
all_agree() {
    local place=0 thread expected file used=0
    for thread; do
        file=$SPECS/$ALICE/w$place.verdict
        expected=none
        if [ -e "$file" ]; then
            expected=$(verdict_view "$file")
            used=$((used + $(jq 'if .grant.plugin == "EDF" then .grant.utilization else 0 end' "$file")))
        fi
        if [ "$expected" = none ]; then expected="other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"; fi
        if [ "$(kernel "$thread")" != "$expected" ]; then
            echo "w$place: expected $expected, is $(kernel "$thread"): $(cat "$file" 2>/dev/null)"
            return 1
        fi
        place=$((place + 1))
    done
    left_of_edf $(((800000000 - used) / 1000))
}

# From now on each reader dies when it is about to put a verdict in place.
readers_die_at_verdicts() {
    # shellcheck disable=SC2046 # a word for each process id
    strace -qq -f -o /dev/null -e trace=rename,renameat -e inject=rename,renameat:signal=SIGKILL -p "$(launcher)" $(helpers rtf-reader | sed 's/^/-p /') 3>&- &
    STRACE=$!
    echo "$STRACE" >>"$WORK/pids"
    eventually is_traced "$(launcher)"
    for reader in $(helpers rtf-reader); do eventually is_traced "$reader"; done
}
is_traced() { grep -q '^TracerPid:.[1-9]' "/proc/$1/status"; }
is_decided() { jq -e -n --arg token "$1" 'any(inputs; .stage == "verdict" and .token == $token)' "$EVENTS" >/dev/null; }

@test "a decision that was written down and not told is told at the next start, however soon it came after another" {
    broker_start
    spec $ALICE vain '{"runtime": "1s", "period": "1s", "plugin": "EDF", "token": "old"}' >/dev/null
    readers_die_at_verdicts
    put $ALICE vain '{"runtime": "1s", "period": "1s", "plugin": "EDF", "token": "new"}'
    eventually is_decided new
    [ "$(jq -r .token "$SPECS/$ALICE/vain.verdict")" = old ]
    broker_dies
    broker_start
    [ "$(field .token "$(verdict $ALICE vain)")" = new ]
}

@test "a reader writes the verdicts that the reader before, which died, had not written" {
    broker_start
    spec $ALICE cam "$cam" >/dev/null
    readers_die_at_verdicts
    put $ALICE cam '{"runtime": "2ms", "period": "10ms", "plugin": "EDF", "token": "second"}'
    eventually is_decided second
    [ "$(jq -r .token "$SPECS/$ALICE/cam.verdict")" = null ]
    kill -KILL "$STRACE" # strace cannot leave a launcher that waits until a reader calls execve
    run verdict $ALICE cam
    [ "$(field .token "$output")" = second ]
    [ "$(field .grant.runtime "$output")" = 2000 ]
    left_of_edf 600000
}

@test "readers end with the launcher, and carry out no order late, beside the next readers" {
    broker_start
    spec $ALICE cam "$cam" >/dev/null
    reader=$(helpers rtf-reader)
    echo "$reader" >>"$WORK/pids"
    kill -STOP "$reader"
    kill -KILL "$(launcher)"
    eventually is_gone "$BROKER"
    eventually is_gone "$reader"
    wait "$BROKER" || true
    broker_start
    [ "$(field .result "$(spec $ALICE cam "$cam")")" = OK ]
}

put_tid() { as "$1" sh -c 'cd "$1" && echo "$3" >".$2.new" && exec mv ".$2.new" "$2.tid"' sh "$SPECS/$1" "$2" "$3"; }
is_told_alone() { grep -q 'there is no cam.json beside cam.tid' "$SPECS/$ALICE/cam.verdict"; }

@test "a NAME.tid that replaces the spec is answered, whether a reader looked meanwhile or not" {
    broker_start
    sleeper $ALICE
    for before in '' "$SLEEPER"; do
        spec $ALICE cam "$cam" >/dev/null
        if [ -n "$before" ]; then attach $ALICE cam "$before" >/dev/null; fi
        broker_dies
        as $ALICE rm "$SPECS/$ALICE/cam.json"
        put_tid $ALICE cam $$
        broker_start
        eventually is_told_alone
        as $ALICE rm "$SPECS/$ALICE/cam.tid"
        eventually test ! -e "$SPECS/$ALICE/cam.verdict"

        spec $ALICE cam "$cam" >/dev/null
        if [ -n "$before" ]; then attach $ALICE cam "$before" >/dev/null; fi
        reader=$(helpers rtf-reader)
        kill -STOP "$reader"
        as $ALICE rm "$SPECS/$ALICE/cam.json"
        put_tid $ALICE cam $$
        kill -CONT "$reader"
        eventually is_told_alone
        as $ALICE rm "$SPECS/$ALICE/cam.tid"
        eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    done
    left_of_edf 800000
}

# eight_threads: starts eight threads of $ALICE, in the array $threads
eight_threads() {
    threads=()
    for place in 0 1 2 3 4 5 6 7; do
        sleeper $ALICE
        threads+=("$SLEEPER")
    done
}

# bats test_tags=turn:0
@test "the broker is killed a dozen times in a stream of specs, and all agree after each start" {
    eight_threads
    broker_start
    RANDOM=4711
    for round in 1 2 3 4; do
        SEED=$round stream $ALICE "${threads[@]}"
        for _ in 1 2 3; do
            sleep "0.0$((RANDOM % 90 + 10))"
            broker_dies
            broker_start
        done
        stream_ends
        all_agree "${threads[@]}"
    done
}

# bats test_tags=turn:1
@test "plugins and helper are killed a dozen times in a stream of specs, and all agree" {
    eight_threads
    broker_start
    RANDOM=815
    for round in 1 2; do
        SEED=1$round stream $ALICE "${threads[@]}"
        for part in rtf-attach plugins/edf rtf-attach plugins/fp rtf-attach rtf-names; do
            sleep "0.0$((RANDOM % 90 + 10))"
            pid=$(helpers "$part") || continue # a plugin may be waiting for its restart
            kill -KILL "$pid" || true
        done
        stream_ends
        eventually edf_is_up
        all_agree "${threads[@]}"
    done
}

edf_is_up() { answers_left x || [ "$(jq -r '.replies[0].answer' "$SPECS/$CAROL/whole.verdict")" = no ]; }

@test "a helper that is killed at rest is started again, and the next thread attached" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    pid=$(helpers rtf-attach)
    kill -KILL "$pid"
    detach $ALICE cam >/dev/null
    [ "$(kernel "$SLEEPER")" = "$FORMER" ]
    [ "$(helpers rtf-attach)" != "$pid" ]
    attach $ALICE cam "$SLEEPER" >/dev/null
    [ "$(kernel "$SLEEPER")" = "$GRANTED" ]
}

@test "a journal that is torn at its end is taken up to there" {
    for bytes in 1 2 40; do
        broker_start
        attached_sleeper $ALICE "cam$bytes" "$cam"
        spec $ALICE "last$bytes" "$cam" >/dev/null
        broker_dies
        truncate -s -$bytes "$SPOOL/state/current/journal"
        broker_start
        [ "$(kernel "$SLEEPER")" = "$GRANTED" ]
        run verdict $ALICE "last$bytes"
        [ "$(field .grant.runtime "$output")" = 1000 ]
        rm "$SPECS/$ALICE/last$bytes.json"
        detach $ALICE "cam$bytes" >/dev/null
        [ "$(kernel "$SLEEPER")" = "$FORMER" ]
    done
    left_of_edf 500000 # three reservations of 0.1
}

@test "a journal that was begun and is not in force yet counts for nothing" {
    broker_start
    cp -p "$SPOOL/state/current/journal" "$WORK/earlier"
    attached_sleeper $ALICE cam "$cam"
    broker_dies
    cp -p "$WORK/earlier" "$SPOOL/state/current/journal.new"
    broker_start
    [ ! -e "$SPOOL/state/current/journal.new" ]
    detach $ALICE cam >/dev/null
    [ "$(kernel "$SLEEPER")" = "$FORMER" ] # the earlier journal does not have the thread's former attributes
}

@test "a journal that is damaged in the middle stops the start, with a sentence" {
    broker_start
    spec $ALICE one "$cam" >/dev/null
    spec $ALICE two "$cam" >/dev/null
    broker_dies
    sed -i '0,/^record=reservation/s//rec\x01rd/' "$SPOOL/state/current/journal"
    : >"$WORK/broker.out"
    run "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
    [ "$status" -eq 71 ]
    [[ $output == *"/journal cannot be read"* ]]
    rm "$SPOOL/state/current/journal"
    broker_start
    left_of_edf 600000
}

@test "a journal of a later version stops the start, with a sentence" {
    broker_start
    broker_stop INT
    sed -i 's/^format=.*/format=99/' "$SPOOL/state/current/journal"
    run timeout 10 "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
    [ "$status" -eq 71 ]
    [[ $output == *"/journal cannot be read: another version of rtf has written the journal"* ]]
}

@test "an overflowing queue of events loses nothing" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    spec $ALICE gone "$cam" >/dev/null
    spec $ALICE changed "$cam" >/dev/null
    sleeper $ALICE
    reader=$(helpers rtf-reader)
    kill -STOP "$reader"
    as $ALICE /usr/bin/python3 -S - "$SPECS/$ALICE" <<'END'
import os, sys
os.chdir(sys.argv[1])
open(".a", "w").close()
for number in range(9000): # two events for each file; the queue has 16384 places
    os.rename(".a", ".b")
    os.rename(".b", ".a")
END
    put $ALICE fresh "$cam"
    put $BOB first "$cam"
    put $ALICE changed '{"runtime": "2ms", "period": "10ms", "plugin": "EDF"}'
    as $ALICE rm "$SPECS/$ALICE/gone.json" "$SPECS/$ALICE/cam.tid"
    as $ALICE sh -c 'echo "$2" >"$1"' sh "$SPECS/$ALICE/changed.tid" "$SLEEPER"
    [ "$(field .grant.runtime "$(verdict $BOB first)")" = 1000 ] # Alice's events keep no other user waiting
    kill -CONT "$reader"
    [ "$(field .grant.runtime "$(verdict $ALICE fresh)")" = 1000 ]
    run verdict $ALICE changed
    [ "$(field .grant.runtime "$output")" = 2000 ]
    [ "$(field .thread.tid "$output")" = "$SLEEPER" ]
    [ "$(field .request "$(verdict $ALICE cam)")" = detach ]
    eventually test ! -e "$SPECS/$ALICE/gone.verdict"
    jq -e -n --arg user "$ALICE" 'any(inputs; .stage == "spool" and .user == $user and (.reason | contains("lost events")))' "$EVENTS"
    left_of_edf 300000
}

@test "specs/ may be a file system of its own" {
    mkdir "$SPOOL" "$SPECS"
    mount -t tmpfs -o size=8m none "$SPECS"
    broker_start
    attached_sleeper $ALICE cam "$cam"
    run verdict $ALICE cam
    [ "$(field .thread.tid "$output")" = "$SLEEPER" ]
    [ "$(stat -c '%u %a' "$SPECS/$ALICE/cam.verdict")" = "$ALICE 600" ]
    broker_dies
    broker_start
    [ "$(kernel "$SLEEPER")" = "$GRANTED" ]
    rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ "$(kernel "$SLEEPER")" = "$FORMER" ]
    [ -z "$(find "$SPECS" -name ".*" ! -path "$SPECS")" ]
}

rt_runtime() { cat /proc/sys/kernel/sched_rt_runtime_us; }

# bats test_tags=machine
@test "partition=unthrottled lifts the kernel's limit, pins to the least loaded CPU, and SIGTERM puts the limit back" {
    configure_plugins 'EDF edf - all partition=unthrottled threshold=0.4'
    sleeper $ALICE
    first=$SLEEPER
    sleeper $ALICE
    broker_start
    [ "$(rt_runtime)" = -1 ]
    spec $ALICE one "{\"runtime\": \"3ms\", \"period\": \"10ms\", \"attach\": $first}" >/dev/null
    spec $ALICE two "{\"runtime\": \"1ms\", \"period\": \"10ms\", \"attach\": $SLEEPER}" >/dev/null
    views="$(kernel "$first"), $(kernel "$SLEEPER")"
    run spec $ALICE three '{"runtime": "2ms", "period": "10ms"}'
    broker_stop TERM
    [ "$(rt_runtime)" = "$RT_RUNTIME" ]
    [ "$views" = "deadline 0 nice=0 3000/10000/10000 cpus=0 reset=1, deadline 0 nice=0 1000/10000/10000 cpus=1 reset=1" ]
    [ "$(field .grant.cpus "$output")" = 1 ]
    [ "$(kernel "$first")" = "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0" ]
}

# bats test_tags=machine
@test "the kernel's limit is put back after kill -9: by --put-back, or by the next start with another configuration" {
    configure_plugins 'EDF edf - all partition=unthrottled threshold=0.4'
    broker_start
    broker_dies
    after=$(rt_runtime)
    "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL" --group "$GROUP"
    [ "$(rt_runtime)" = "$RT_RUNTIME" ]
    [ "$after" = -1 ]
    broker_start
    broker_dies
    configure_plugins 'FP fp 11-20 all'
    broker_start
    [ "$(rt_runtime)" = "$RT_RUNTIME" ]
}

# bats test_tags=machine
@test "the kernel's limit is put back after kill -9 though the spool is gone: by --put-back, or by the next start of any broker" {
    configure_plugins 'EDF edf - all partition=unthrottled threshold=0.4'
    broker_start
    broker_dies
    eventually none_of_ours
    rm -rf "$SPOOL"
    [ "$(rt_runtime)" = -1 ]
    "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$SPOOL" --group "$GROUP"
    [ "$(rt_runtime)" = "$RT_RUNTIME" ]
    [ ! -e /run/rtf/throttle ]
    broker_start
    broker_dies
    eventually none_of_ours
    rm -rf "$SPOOL"
    [ "$(rt_runtime)" = -1 ]
    configure_plugins 'FP fp 11-20 all'
    SPOOL=$WORK/another
    broker_start
    [ "$(rt_runtime)" = "$RT_RUNTIME" ]
    [ ! -e /run/rtf/throttle ]
}

# other_broker NAME: prepares a second broker with a spool and a configuration of its own, in $OTHER.
other_broker() {
    mkdir -p "$WORK/$1"
    cp -r "$CONFIG" "$WORK/$1/etc"
    "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$WORK/$1/spool" --config "$WORK/$1/etc" --group "$GROUP" \
        ${RTF_PLUGIN_USER:+--plugin-user "$RTF_PLUGIN_USER"} >>"$WORK/$1/out" 2>&1 3>&- &
    OTHER=$!
    echo "$OTHER" >>"$WORK/pids"
    eventually other_serves "$WORK/$1/spool/alive"
    place_of "$WORK/$1/spool" >>"$WORK/places"
}
other_serves() { [ -p "$1" ] && dd if=/dev/null of="$1" oflag=nonblock conv=notrunc status=none 2>/dev/null; }
other_ends() { # SIGNAL
    kill -"$1" "$OTHER"
    wait "$OTHER" 2>/dev/null || true
}

# bats test_tags=machine
@test "the kernel's limit is lifted while one of several brokers needs that, and the last one puts it back" {
    configure_plugins 'EDF edf - all partition=unthrottled threshold=0.4'
    broker_start
    other_broker second
    broker_stop TERM
    between=$(rt_runtime)
    other_ends TERM
    [ "$(rt_runtime)" = "$RT_RUNTIME" ]
    [ "$between" = -1 ]
    # A killed broker counts as needing the setting until its settings are put back, or its spool is removed.
    broker_start
    other_broker third
    other_ends KILL
    broker_stop TERM
    between=$(rt_runtime)
    "$RTF_LIBEXEC/rtf-brokerd" --put-back --spool "$WORK/third/spool" --group "$GROUP"
    [ "$(rt_runtime)" = "$RT_RUNTIME" ]
    [ "$between" = -1 ]
    other_broker fourth
    other_ends KILL
    [ "$(rt_runtime)" = -1 ]
    eventually rm -rf "$WORK/fourth/spool"
    configure_plugins 'FP fp 11-20 all'
    broker_start
    [ "$(rt_runtime)" = "$RT_RUNTIME" ]
    [ ! -e /run/rtf/throttle ]
}

@test "--put-back and a second broker leave a spool alone that a broker serves" {
    broker_start
    attached_sleeper $ALICE cam "$cam"
    for option in --put-back --foreground; do
        "$RTF_LIBEXEC/rtf-brokerd" $option --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" >"$WORK/$option" 2>&1 3>&- &
        echo "$!" >>"$WORK/pids"
    done
    pids=$(tail -n 2 "$WORK/pids")
    [ -n "$pids" ]
    for pid in $pids; do
        wait "$pid" && status=0 || status=$?
        [ "$status" -eq 69 ]
    done
    grep -q "another broker serves this spool" "$WORK/--put-back"
    grep -q "another broker serves this spool" "$WORK/--foreground"
    [ "$(kernel "$SLEEPER")" = "$GRANTED" ]
    left_of_edf 700000
}
