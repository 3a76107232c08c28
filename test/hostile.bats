# Attacks of a user with own files and threads, and failures of the machine: no other user waits, no thread keeps real-time scheduling without a grant, and
# no grant is lost.
load helper

ORDINARY="other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"

prepare() { ROUNDS=0; }

tidy() {
    if [ -n "${HELPER:-}" ]; then kill -CONT "$HELPER" 2>/dev/null || true; fi
    # A broker that ignores SIGTERM must not stop the tests.
    if [ -p "$WORK/full" ] && [ -n "$BROKER" ]; then broker_stop KILL; fi
}

# reads UID NAME JQ: JQ is true of the present verdict.
reads() { [ "$(field "$3" "$(cat "$SPECS/$1/$2.verdict")" 2>/dev/null)" = true ]; }

# reserve UID NAME PRIORITY: makes a reservation with FP.
reserve() { [ "$(field .result "$(spec "$1" "$2" "{\"priority\": $3, \"plugin\": \"FP\"}")")" = OK ]; }

# release UID NAME: removes the spec, and returns when it is released.
release() {
    as "$1" rm "$SPECS/$1/$2.json"
    eventually test ! -e "$SPECS/$1/$2.verdict"
}

# bob_is_answered: Bob is answered while Alice's attack goes on. The attack takes much longer than an answer.
bob_is_answered() {
    local began=${EPOCHREALTIME/./} elapsed
    ROUNDS=$((ROUNDS + 1))
    put $BOB "round$ROUNDS" '{"priority": 5, "plugin": "RR"}'
    says $BOB "round$ROUNDS" '.result == "OK"'
    elapsed=$((${EPOCHREALTIME/./} - began))
    echo "Bob waited $elapsed us"
    [ "$elapsed" -lt $((5000000 * PATIENCE)) ]
    rm "$SPECS/$BOB/round$ROUNDS.json"
}

# broker_is_idle: the broker uses less than a quarter of a CPU for half a second.
broker_is_idle() {
    local before
    before=$(awk '{ print $14 + $15 }' "/proc/$BROKER/stat")
    sleep 0.5
    [ $(($(awk '{ print $14 + $15 }' "/proc/$BROKER/stat") - before)) -lt $(($(getconf CLK_TCK) / 8)) ]
}

# readers_have_rest: no reader has work any more.
readers_have_rest() { eventually readers_have_ended; }

stack_kb() { awk '/^VmStk/ { print $2 }' "/proc/$BROKER/status"; }

# broker_dies: ends the broker and its helper processes by kill -9
broker_dies() {
    kill -KILL "$BROKER"
    wait "$BROKER" 2>/dev/null || true
    BROKER=
    eventually none_of_ours
}

# stop_helper: stops the attach helper of this broker, $HELPER; so it is as slow as it may ever be.
stop_helper() {
    HELPER=$(helpers "$RTF_LIBEXEC/rtf-attach")
    kill -STOP "$HELPER"
}

# two_threads SETPRIV-OPTION...: starts a process of Alice's with a second thread; their ids are in $FIRST and $SECOND.
# The second thread obeys the words that `order` gives.
two_threads() {
    mkfifo -m 666 "$WORK/order"
    cat >"$WORK/two.py" <<'END'
import os, sys, threading
def second():
    print(os.getpid(), threading.get_native_id(), flush=True)
    orders = os.open(sys.argv[1], os.O_RDWR)
    while True:
        for word in os.read(orders, 100).decode().split():
            if word == "affinity":
                os.sched_setaffinity(0, {0, 1})
            elif word == "uid":
                os.setresuid(*3 * [int(sys.argv[2])])
            elif word == "exec":
                os.execv("/bin/sleep", ["sleep", "300"])
            print(word, flush=True)
threading.Thread(target=second, daemon=True).start()
threading.Event().wait()
END
    setpriv --reuid "$ALICE" --regid "$ALICE" --clear-groups "$@" -- /usr/bin/python3 -S "$WORK/two.py" "$WORK/order" "$BOB" >"$WORK/two" 2>&1 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -s "$WORK/two"
    read -r FIRST SECOND <"$WORK/two"
}

order() {
    echo "$*" >"$WORK/order"
    case $* in
    *exec) eventually is_sleep "$FIRST" ;;
    *) eventually grep -qx "$1" "$WORK/two" ;;
    esac
}

# answered_for: the first thread is attached, and the verdict says so; or it is ordinary.
answered_for() { [[ $(kernel "$FIRST") == other* ]] || reads $ALICE cam ".thread.tid == $FIRST"; }

# ---- no user keeps the broker busy ----

# bats test_tags=turn:0
@test "chmod in a loop on a bad spec delays no other user, and the stack does not grow" {
    broker_start
    as $ALICE mkdir "$SPECS/$ALICE"
    put $ALICE cam '{bad'
    says $ALICE cam '.result == "BAD_SPEC"'
    stack=$(stack_kb)
    cat >"$WORK/churn.c" <<'END'
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
int main(int count, char **words)
{
    time_t end = time(NULL) + 60;
    while (count == 2 && time(NULL) < end && chmod(words[1], 0600) == 0 && chmod(words[1], 0640) == 0)
        ;
    return 0;
}
END
    cc -O1 -o "$WORK/churn" "$WORK/churn.c"
    loops=()
    for _ in 1 2 3 4; do
        become $ALICE "$WORK/churn" "$SPECS/$ALICE/cam.json" 3>&- &
        loops+=("$!")
        echo "$!" >>"$WORK/pids"
    done
    for _ in 1 2 3 4; do bob_is_answered; done
    kill "${loops[@]}" # the loops have run until now
    echo "stack: $stack kB, then $(stack_kb) kB"
    [ "$(stack_kb)" -le $((stack + 128)) ]
}

# bats test_tags=turn:1
@test "many names of one file that is rewritten do not make the stack grow" {
    broker_start
    stack=$(stack_kb)
    as $ALICE sh -c 'mkdir "$1" && cd "$1" && dd if=/dev/zero of=.big bs=66000 count=1 status=none && for i in $(seq 500); do echo "$i"; done |
        xargs -I N ln .big nN.json' sh "$SPECS/$ALICE"
    says $ALICE n500 '.result == "BAD_SPEC"'
    as $ALICE sh -c 'echo "{bad" >"$1"' sh "$SPECS/$ALICE/n7.json"
    bob_is_answered
    says $ALICE n7 '.result == "BAD_SPEC"'
    echo "stack: $stack kB, then $(stack_kb) kB"
    [ "$(stack_kb)" -le $((stack + 128)) ]
}

# bats test_tags=turn:2
@test "a write to a file of two names does not make the broker spin" {
    broker_start
    reserve $ALICE cam 12
    as $ALICE ln "$SPECS/$ALICE/cam.json" "$SPECS/$ALICE/two.json"
    says $ALICE two 'has("result")'
    as $ALICE sh -c ': >>"$1"' sh "$SPECS/$ALICE/cam.json"
    bob_is_answered
    broker_is_idle
}

# bats test_tags=turn:0
@test "a file that had two names and that its owner keeps open does not make the broker spin" {
    broker_start
    reserve $ALICE cam 12
    as $ALICE ln "$SPECS/$ALICE/cam.json" "$SPECS/$ALICE/two.json"
    says $ALICE two 'has("result")'
    mkfifo -m 666 "$WORK/go"
    as $ALICE sh -c 'exec 5>>"$1/cam.json"; echo >&5; echo 1 >"$1/cam.tid"; echo >"$1/.open"; read -r _ <"$2"' sh "$SPECS/$ALICE" "$WORK/go" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -e "$SPECS/$ALICE/.open"
    bob_is_answered
    broker_is_idle
    as $ALICE rm "$SPECS/$ALICE/two.json"
    bob_is_answered
    broker_is_idle
    echo >"$WORK/go"
    says $ALICE cam '.result == "ATTACH_FAIL"' # thread 1 is not Alice's
}

# bats test_tags=turn:2
@test "a spec that became bad while the broker was away does not make the broker spin, and its thread keeps the grant" {
    is_refused_so_often() { [ "$(jq -s '[.[] | select(.stage == "spec" and .name == "cam" and .decision == "refused")] | length' "$EVENTS")" = "$1" ]; }
    refused=0
    broker_start
    for change in 'echo "{bad" >cam.json' 'mkdir .away; ln cam.json .away/cam' 'rm cam.json; mkdir cam.json'; do
        sleeper $ALICE
        reserve $ALICE cam 12
        attach $ALICE cam "$SLEEPER" >/dev/null
        broker_stop TERM
        is_policy "$SLEEPER" other
        as $ALICE sh -c "cd '$SPECS/$ALICE' && $change"
        broker_start
        eventually is_refused_so_often $((refused += 1))
        readers_have_rest
        reads $ALICE cam '.grant.priority == 12'
        [ -d "$SPECS/$ALICE/cam.json" ] || eventually is_policy "$SLEEPER" fifo
        as $ALICE sh -c "cd '$SPECS/$ALICE' && rm -r cam.json && rm -rf .away cam.tid"
        eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    done
}

# bats test_tags=turn:1
@test "a hangup with 10,000 files over a user's limit delays no other user" {
    broker_start --max-specs 10
    reserve $ALICE cam 12
    as $ALICE /usr/bin/python3 -S -c 'import sys
for i in range(10000):
    open(f"{sys.argv[1]}/f{i}.json", "w").close()' "$SPECS/$ALICE"
    eventually bob_is_answered
    for _ in 1 2 3; do
        kill -HUP "$BROKER"
        bob_is_answered
    done
    says $ALICE cam '.result == "OK"'
}

# bats test_tags=turn:2
@test "a verdict that cannot be written delays no other verdict" {
    broker_start
    as $ALICE mkdir -p "$SPECS/$ALICE/cam.verdict"
    put $ALICE cam '{bad'
    as $BOB mkdir -p "$SPECS/$BOB/mine.verdict"
    put $BOB mine '{bad'
    bob_is_answered
    as $BOB rmdir "$SPECS/$BOB/mine.verdict"
    eventually reads $BOB mine '.result == "BAD_SPEC"'
    [ -d "$SPECS/$ALICE/cam.verdict" ]
    as $ALICE rmdir "$SPECS/$ALICE/cam.verdict"
    eventually reads $ALICE cam '.result == "BAD_SPEC"'
}

# ---- no thread keeps real-time scheduling without a grant ----

# bats test_tags=turn:0
@test "a thread that changes its affinity and execs is answered for" {
    broker_start
    two_threads
    reserve $ALICE cam 12
    attach $ALICE cam "$SECOND" >/dev/null
    is_policy "$SECOND" fifo
    order affinity exec
    eventually answered_for
    release $ALICE cam
    shows "$FIRST" "$ORDINARY"
}

# bats test_tags=turn:1
@test "a thread that execs is answered for when its leader was attached too, but is no more" {
    broker_start
    two_threads
    reserve $ALICE leader 11
    attach $ALICE leader "$FIRST" >/dev/null
    reserve $ALICE cam 12
    attach $ALICE cam "$SECOND" >/dev/null
    is_policy "$SECOND" fifo
    release $ALICE leader
    shows "$FIRST" "$ORDINARY"
    order exec
    eventually answered_for
    release $ALICE cam
    shows "$FIRST" "$ORDINARY"
}

# bats test_tags=turn:2
@test "a thread that execs under an attached leader has neither its own grant nor that one's afterwards" {
    broker_start
    two_threads
    reserve $ALICE leader 11
    attach $ALICE leader "$FIRST" >/dev/null
    reserve $ALICE cam 18
    attach $ALICE cam "$SECOND" >/dev/null
    eventually has_watches 2
    order exec
    eventually is_policy "$FIRST" other
    release $ALICE cam
    release $ALICE leader
    shows "$FIRST" "$ORDINARY"
}

# bats test_tags=turn:0
@test "a thread that execs while its leader, attached elsewhere, is being released is ordinary afterwards" {
    broker_start
    two_threads
    reserve $ALICE leader 11
    attach $ALICE leader "$FIRST" >/dev/null
    reserve $ALICE cam 12
    attach $ALICE cam "$SECOND" >/dev/null
    stop_helper
    as $ALICE rm "$SPECS/$ALICE/leader.json"
    bob_is_answered # when Bob is answered, the helper has been asked
    order exec
    bob_is_answered # when Bob is answered, the broker has seen the end of the thread
    kill -CONT "$HELPER"
    eventually test ! -e "$SPECS/$ALICE/leader.verdict"
    release $ALICE cam
    bob_is_answered
    sleeper $ALICE # when this thread is attached, the helper has carried out all earlier orders
    reserve $ALICE last 13
    attach $ALICE last "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" fifo
    shows "$FIRST" "$ORDINARY"
}

# bats test_tags=turn:1
@test "a thread that execs while no broker runs is answered for at the next start" {
    broker_start
    two_threads
    reserve $ALICE cam 12
    attach $ALICE cam "$SECOND" >/dev/null
    is_policy "$SECOND" fifo
    broker_dies
    order exec
    [[ $(kernel "$FIRST") == fifo* ]]
    broker_start
    eventually answered_for
    release $ALICE cam
    shows "$FIRST" "$ORDINARY"
}

# bats test_tags=turn:2
@test "a thread that execs while it is being released is ordinary afterwards" {
    broker_start
    two_threads
    reserve $ALICE cam 12
    attach $ALICE cam "$SECOND" >/dev/null
    is_policy "$SECOND" fifo
    stop_helper
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    bob_is_answered # when Bob is answered, the helper has been asked
    order exec
    kill -CONT "$HELPER"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    shows "$FIRST" "$ORDINARY"
}

# bats test_tags=turn:0
@test "a thread that execs while its grant is being changed is answered for" {
    broker_start
    two_threads
    reserve $ALICE cam 12
    attach $ALICE cam "$SECOND" >/dev/null
    is_policy "$SECOND" fifo
    stop_helper
    put $ALICE cam '{"priority": 14, "plugin": "FP"}'
    bob_is_answered
    order exec
    kill -CONT "$HELPER"
    eventually answered_for
    release $ALICE cam
    shows "$FIRST" "$ORDINARY"
}

# bats test_tags=turn:1
@test "a thread that has become another user's is put back when it is named again" {
    broker_start
    two_threads --inh-caps +setuid --ambient-caps +setuid
    reserve $ALICE cam 12
    attach $ALICE cam "$SECOND" >/dev/null
    is_policy "$SECOND" fifo
    order uid
    run attach $ALICE cam "$SECOND"
    [ "$(field .result "$output")" = ATTACH_FAIL ]
    [ "$(field .thread "$output")" = null ]
    shows "$SECOND" "$ORDINARY"
    release $ALICE cam
    shows "$SECOND" "$ORDINARY"
}

# ---- no more is granted than there is ----

# bats test_tags=turn:2
@test "a change that the kernel refuses takes back no bandwidth that others were granted meanwhile" {
    configure_plugins 'RM rm 21-30 0' 'FP fp 11-19 1' 'RR rr 1-10 0'
    broker_start
    two_threads --inh-caps +setuid --ambient-caps +setuid
    spec $ALICE cam '{"runtime": "80ms", "period": "100ms", "plugin": "RM"}' >/dev/null
    attach $ALICE cam "$SECOND" >/dev/null
    is_policy "$SECOND" fifo
    stop_helper
    order uid # the thread changes its uid, so the helper will refuse the change of the grant
    put $ALICE cam '{"priority": 19, "plugin": "FP"}'
    bob_is_answered
    put $BOB big '{"runtime": "80ms", "period": "100ms", "plugin": "RM"}'
    bob_is_answered
    kill -CONT "$HELPER"
    alices=$(verdict $ALICE cam)
    bobs=$(verdict $BOB big)
    echo "$bobs"
    echo "$alices"
    [ "$(field .result "$alices")" = ATTACH_FAIL ]
    [ "$(jq -s '[.[].grant | select(. != null and .plugin == "RM").utilization] | add' <<<"$bobs $alices")" -le 800000000 ]
    if [ "$(field .grant "$alices")" = null ]; then shows "$SECOND" "$ORDINARY"; fi
    release $ALICE cam
    shows "$SECOND" "$ORDINARY"
}

# bats test_tags=turn:0
@test "a new spec waits while a change may yet be undone, though the sums would take both" {
    configure_plugins 'RM rm 21-30 0' 'FP fp 11-19 1' 'RR rr 1-10 1'
    broker_start
    two_threads --inh-caps +setuid --ambient-caps +setuid
    spec $ALICE cam '{"runtime": "45ms", "period": "100ms", "plugin": "RM"}' >/dev/null
    attach $ALICE cam "$SECOND" >/dev/null
    is_policy "$SECOND" fifo
    stop_helper
    order uid # the thread changes its uid, so the helper will refuse the change of the grant
    put $ALICE cam '{"priority": 19, "plugin": "FP"}'
    bob_is_answered
    put $BOB late '{"runtime": "70ms", "period": "150ms", "plugin": "RM"}' # 70 + 2 * 45 > 150
    bob_is_answered
    [ ! -e "$SPECS/$BOB/late.verdict" ]
    kill -CONT "$HELPER"
    says $ALICE cam '.result == "ATTACH_FAIL" and .grant.plugin == "RM"'
    [ "$(field .result "$(verdict $BOB late)")" = SCHEDULE_FAIL ]
    release $ALICE cam
    shows "$SECOND" "$ORDINARY"
}

# bats test_tags=machine
@test "a change that the kernel refuses brings back bandwidth that was paid back meanwhile, if no other spec has it" {
    configure_plugins 'EDF edf - 1 partition=unthrottled' 'FP fp 11-19 1' 'RR rr 1-10 0'
    broker_start
    two_threads --inh-caps +setuid --ambient-caps +setuid
    spec $ALICE cam '{"runtime": "10ms", "period": "100ms", "plugin": "EDF"}' >/dev/null
    attach $ALICE cam "$SECOND" >/dev/null
    is_policy "$SECOND" deadline
    stop_helper
    order uid
    put $ALICE cam '{"priority": 19, "plugin": "FP"}'
    bob_is_answered
    # When the debts of the change are paid back, Bob can reserve a whole CPU. Bob then releases the CPU.
    [ "$(field .result "$(spec $BOB all '{"runtime": "950ms", "period": "1s", "plugin": "EDF"}')")" = OK ]
    release $BOB all
    kill -CONT "$HELPER"
    says $ALICE cam '.result == "ATTACH_FAIL" and .grant.plugin == "EDF"'
    [ "$(field .result "$(spec $BOB all '{"runtime": "851ms", "period": "1s", "plugin": "EDF"}')")" = SCHEDULE_FAIL ]
    release $ALICE cam
    shows "$SECOND" "$ORDINARY"
    [ "$(field .result "$(spec $BOB all '{"runtime": "950ms", "period": "1s", "plugin": "EDF"}')")" = OK ]
}

# bats test_tags=turn:1
@test "bandwidth that is set aside for one question is not given to another" {
    configure_plugins 'RM2 rm 11-20 0 admission=necessary' 'RM1 rm 21-30 0 admission=necessary'
    broker_start
    [ "$(field .grant.plugin "$(spec $ALICE cam '{"runtime": "50ms", "period": "100ms", "plugin": "RM2"}')")" = RM2 ]
    [ "$(field .result "$(spec $BOB mine '{"runtime": "60ms", "period": "100ms", "plugin": "RM1"}')")" = SCHEDULE_FAIL ]
    release $BOB mine
    kill -STOP "$BROKER"
    put $ALICE cam '{"priority": 25, "plugin": "RM1"}'
    put $BOB mine '{"runtime": "60ms", "period": "100ms", "plugin": "RM1"}'
    kill -CONT "$BROKER"
    says $ALICE cam '.result != "OK" and .grant.plugin == "RM2"'
    says $BOB mine '.result == "SCHEDULE_FAIL" and .grant == null'
}

# ---- no grant is lost ----

# bats test_tags=turn:2
@test "a lower limit of specs at a restart takes no grant and no thread away" {
    broker_start
    sleeper $ALICE
    one=$SLEEPER
    sleeper $ALICE
    two=$SLEEPER
    reserve $ALICE one 12
    attach $ALICE one "$one" >/dev/null
    reserve $ALICE two 13
    attach $ALICE two "$two" >/dev/null
    broker_stop INT
    broker_start --max-specs 1
    is_policy "$one" 'fifo 12'
    is_policy "$two" 'fifo 13'
    as $ALICE touch "$SPECS/$ALICE/one.json" "$SPECS/$ALICE/two.json"
    for name in one two; do says $ALICE $name '.result == "OK" and .thread != null and .grant != null'; done
    broker_dies
    broker_start --max-specs 1
    is_policy "$one" 'fifo 12'
    is_policy "$two" 'fifo 13'
    release $ALICE two
    shows "$two" "$ORDINARY"
    release $ALICE one
    shows "$one" "$ORDINARY"
    kill -KILL "$one" "$two"
    bob_is_answered
}

# bats test_tags=turn:0
@test "no grant is lost when the account database is down at a restart" {
    private_tree
    broker_start
    sleeper $ALICE
    reserve $ALICE cam 12
    attach $ALICE cam "$SLEEPER" >/dev/null
    granted=$(kernel "$SLEEPER")
    [[ $granted == 'fifo 12 '* ]]
    broker_dies
    mv "$RTF_LIBEXEC/rtf-names" "$RTF_LIBEXEC/kept"
    printf '#!/bin/sh\nwhile read -r line; do case $line in id=* | uid=*) echo "$line" ;; "") printf "answer=no\\n\\n" ;; esac; done\n' >"$RTF_LIBEXEC/rtf-names"
    chmod 755 "$RTF_LIBEXEC/rtf-names"
    broker_start
    shows "$SLEEPER" "$granted"
    reads $ALICE cam ".grant != null and .thread.tid == $SLEEPER"
    broker_dies
    mv "$RTF_LIBEXEC/kept" "$RTF_LIBEXEC/rtf-names"
    broker_start
    shows "$SLEEPER" "$granted"
    says $ALICE cam ".result == \"OK\" and .grant != null and .thread.tid == $SLEEPER"
    release $ALICE cam
    shows "$SLEEPER" "$ORDINARY"
}

# bats test_tags=turn:1
@test "a new thread id that is written while the old thread ends is attached" {
    broker_start
    sleeper $ALICE
    one=$SLEEPER
    sleeper $ALICE
    two=$SLEEPER
    reserve $ALICE cam 12
    attach $ALICE cam "$one" >/dev/null
    is_policy "$one" fifo
    kill -STOP "$BROKER"
    kill -KILL "$one"
    wait "$one" 2>/dev/null || true
    as $ALICE sh -c 'echo "$2" >"$1"' sh "$SPECS/$ALICE/cam.tid" "$two"
    kill -CONT "$BROKER"
    says $ALICE cam ".result == \"OK\" and .thread.tid == $two"
    is_policy "$two" 'fifo 12'
    [ "$(cat "$SPECS/$ALICE/cam.tid")" = "$two" ]
}

# bats test_tags=turn:2
@test "a spec for a thread's lifetime that is rewritten while that thread ends is answered" {
    broker_start
    sleeper $ALICE
    one=$SLEEPER
    sleeper $ALICE
    two=$SLEEPER
    spec $ALICE cam "{\"priority\": 12, \"plugin\": \"FP\", \"lifetime\": \"thread\", \"attach\": $one}" >/dev/null
    is_policy "$one" fifo
    kill -STOP "$BROKER"
    kill -KILL "$one"
    wait "$one" 2>/dev/null || true
    as $ALICE sh -c 'echo "$2" >"$1"' sh "$SPECS/$ALICE/cam.json" \
        "{\"priority\": 13, \"plugin\": \"FP\", \"lifetime\": \"thread\", \"attach\": $two}"
    kill -CONT "$BROKER"
    says $ALICE cam ".result == \"OK\" and .thread.tid == $two"
    is_policy "$two" 'fifo 13'
}

# bats test_tags=turn:0
@test "a thread that the spec names is attached though its predecessor's NAME.tid went at the same time" {
    broker_start
    sleeper $ALICE
    one=$SLEEPER
    sleeper $ALICE
    two=$SLEEPER
    reserve $ALICE cam 12
    attach $ALICE cam "$one" >/dev/null
    is_policy "$one" fifo
    kill -STOP "$BROKER"
    as $ALICE sh -c 'cd "$1" && echo "$2" >.new && rm cam.tid && mv .new cam.json' sh "$SPECS/$ALICE" \
        "{\"priority\": 12, \"plugin\": \"FP\", \"attach\": $two}"
    kill -CONT "$BROKER"
    eventually reads $ALICE cam ".result == \"OK\" and .thread.tid == $two"
    shows "$one" "$ORDINARY"
    is_policy "$two" 'fifo 12'
}

# bats test_tags=turn:1
@test "a directory that goes and comes back while the helper is slow loses neither its grant nor its thread" {
    broker_start
    sleeper $ALICE
    reserve $ALICE cam 12
    attach $ALICE cam "$SLEEPER" >/dev/null
    stop_helper
    install -d -o $ALICE "$WORK/elsewhere"
    as $ALICE mv "$SPECS/$ALICE" "$WORK/elsewhere/away"
    bob_is_answered
    as $ALICE mv "$WORK/elsewhere/away" "$SPECS/$ALICE"
    bob_is_answered
    kill -CONT "$HELPER"
    eventually reads $ALICE cam ".result == \"OK\" and .thread.tid == $SLEEPER"
    is_policy "$SLEEPER" 'fifo 12'
    broker_dies
    broker_start
    bob_is_answered
    is_policy "$SLEEPER" 'fifo 12'
    [ "$(jq -c 'select(.stage == "verdict" and .name == "cam" and .request == "create")' "$EVENTS" | wc -l)" -le 2 ]
    release $ALICE cam
    shows "$SLEEPER" "$ORDINARY"
}

# ---- directories ----

# bats test_tags=turn:2
@test "a directory that is renamed over an empty one is adopted" {
    broker_start
    as $ALICE mkdir "$SPECS/$ALICE"
    is_adopted() { [ "$(stat -c %a "$SPECS/$ALICE")" = 2700 ]; }
    eventually is_adopted
    install -d -o $ALICE "$WORK/elsewhere"
    as $ALICE sh -c 'mkdir "$3/new" && echo "{\"priority\": 12}" >"$3/new/cam.json" && mv -T "$3/new" "$1/$2"' sh "$SPECS" "$ALICE" "$WORK/elsewhere"
    eventually reads $ALICE cam '.result == "OK"'
    [ "$(stat -c %a "$SPECS/$ALICE")" = 2700 ]
    as $ALICE sh -c 'echo "{bad" >"$1"' sh "$SPECS/$ALICE/bad.json"
    eventually reads $ALICE bad '.result == "BAD_SPEC"'
}

# bats test_tags=turn:0
@test "a directory under another user's name is moved aside, whatever names are taken" {
    broker_start
    install -d -o $ALICE "$WORK/elsewhere"
    as $ALICE sh -c 'cd "$1" && mkdir $(seq -f ".aside-$2-%g-$3" 0 49) "$4/mine" && : >"$4/mine/full" && mv "$4/mine" "$3"' sh "$SPECS" "$ALICE" "$CAROL" "$WORK/elsewhere"
    eventually test ! -e "$SPECS/$CAROL"
    reserve $CAROL cam 12
}

# ---- the broker's surroundings ----

# bats test_tags=turn:1
@test "a full pipe on standard error stops neither answers nor SIGTERM" {
    mkfifo "$WORK/full"
    sleep 300 <>"$WORK/full" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually is_sleep "$!"
    dd if=/dev/zero of="$WORK/full" bs=4096 oflag=nonblock conv=notrunc status=none 2>/dev/null || true
    "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" >/dev/null 2>"$WORK/full" 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
    bob_is_answered
    grep -q '"stage":"verdict"' "$EVENTS"
    kill -TERM "$BROKER"
    eventually none_of_ours
    BROKER=
}

# bats test_tags=turn:2
@test "a missing attach helper is not started again and again, and serves when it is back" {
    private_tree
    broker_start
    sleeper $ALICE
    reserve $ALICE cam 12
    helper=$(helpers "$RTF_LIBEXEC/rtf-attach")
    mv "$RTF_LIBEXEC/rtf-attach" "$RTF_LIBEXEC/kept"
    lines=$(wc -l <"$EVENTS")
    kill -KILL "$helper"
    sleep 1
    new=$(($(wc -l <"$EVENTS") - lines))
    echo "$new lines"
    [ "$new" -ge 1 ]
    [ "$new" -le 8 ]
    bob_is_answered
    mv "$RTF_LIBEXEC/kept" "$RTF_LIBEXEC/rtf-attach"
    says $ALICE cam '.result == "OK"'
    attach $ALICE cam "$SLEEPER" >/dev/null
    eventually is_policy "$SLEEPER" 'fifo 12'
    release $ALICE cam
    shows "$SLEEPER" "$ORDINARY"
}

# bats test_tags=turn:0
@test "a missing account lookup is not started again and again, and serves when it is back" {
    private_tree
    broker_start
    bob_is_answered
    names=$(helpers "$RTF_LIBEXEC/rtf-names")
    mv "$RTF_LIBEXEC/rtf-names" "$RTF_LIBEXEC/kept"
    lines=$(wc -l <"$EVENTS")
    kill -KILL "$names"
    sleep 1
    new=$(($(wc -l <"$EVENTS") - lines))
    echo "$new lines"
    [ "$new" -ge 1 ]
    [ "$new" -le 8 ]
    bob_is_answered # Bob's account is known already
    mv "$RTF_LIBEXEC/kept" "$RTF_LIBEXEC/rtf-names"
    reserve $CAROL cam 12
}

# bats test_tags=turn:1
@test "an answer of the account lookup is never taken for another user's" {
    configure_rules "root - max_utilization 2" "$CAROL RR max_utilization 2" "$BOB - max_utilization 2"
    broker_start
    names=$(helpers "$RTF_LIBEXEC/rtf-names")
    kill -KILL "$names"
    eventually grep -q 'account lookup is started again: it ended' "$EVENTS"
    put $CAROL cam '{"priority": 12, "plugin": "FP"}'
    eventually helpers "$RTF_LIBEXEC/rtf-names"
    mkdir "$SPECS/0"
    says $CAROL cam '.result == "ACL_FAIL"'
}
