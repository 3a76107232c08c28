# A user makes many things of one kind. Each kind has a bound, and the broker forgets the things when they are gone.
load attack

errors() { [ "$(grep -c '"stage":"verdict".*"decision":"error"' "$EVENTS")" -ge "$1" ]; }

# bats test_tags=turn:0
@test "900 directories in place of verdicts cost the broker next to no CPU time, and the verdicts come when the directories are gone" {
    broker_start
    as $ALICE sh -c 'mkdir -p "$1" && cd "$1" && for n in $(seq 900); do mkdir "w$n.verdict"; echo bad >"w$n.json"; done' sh "$SPECS/$ALICE"
    eventually errors 900
    before=$(consumed "$BROKER")
    sleep 4 # this time is measured
    spent=$(($(consumed "$BROKER") - before))
    echo "# $spent ms of CPU time in 4 s" >&3
    [ "$spent" -le $((40 * PATIENCE)) ] # a broker that tried all verdicts each second would use 300 ms
    as $ALICE rmdir "$SPECS/$ALICE/w900.verdict" "$SPECS/$ALICE/w1.verdict"
    as $ALICE sh -c 'rm -r "$1"/w[2-8]*' sh "$SPECS/$ALICE"
    eventually test -f "$SPECS/$ALICE/w900.verdict"
    eventually test -f "$SPECS/$ALICE/w1.verdict"
}

# bats test_tags=turn:1
@test "a verdict that cannot be written is tried again at longer and longer intervals, and another user's verdict is not late for it" {
    broker_start
    as $ALICE mkdir -p "$SPECS/$ALICE/cam.verdict"
    put $ALICE cam bad
    as $BOB mkdir -p "$SPECS/$BOB/cam.verdict"
    eventually errors 1
    put $BOB cam bad
    eventually errors 2
    as $BOB rmdir "$SPECS/$BOB/cam.verdict"
    began=$(milliseconds)
    eventually test -f "$SPECS/$BOB/cam.verdict"
    [ $(($(milliseconds) - began)) -lt $((1500 * PATIENCE)) ]
}

# bats test_tags=turn:0
@test "times of specs/ that change without end cost the broker next to no CPU time, and modes are mended meanwhile" {
    broker_start
    attack /usr/bin/python3 -S -c 'import os, sys
while True: os.utime(sys.argv[1]), os.utime(sys.argv[2])' "$SPECS" "$SPOOL/alive"
    log_is() { [ "$(stat -c %a "$SPOOL/log")" = "$1" ]; }
    chmod 700 "$SPOOL/log"
    eventually log_is 2750
    before=$(consumed "$BROKER")
    sleep 3 # this time is measured
    spent=$(($(consumed "$BROKER") - before))
    echo "# $spent ms of CPU time in 3 s" >&3
    kill -0 "${ATTACKERS[0]}"
    [ "$spent" -lt $((300 * PATIENCE)) ]
}

# uids_come_and_go FIRST COUNT: each makes a directory, and removes it when the broker has seen all directories and adopted 64
uids_come_and_go() {
    /usr/bin/python3 -S - "$SPECS" "$1" "$2" "$GROUP" <<'END'
import os, sys
specs, first, count, group = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
def as_user(uid, act):
    child = os.fork()
    if child == 0:
        os.setgroups([group]); os.setgid(uid); os.setuid(uid)
        act(f"{specs}/{uid}")
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(f"uid {uid} could not")
for uid in range(first, first + count):
    as_user(uid, os.mkdir)
END
    eventually users_are 64
    rmdir "$SPECS"/[5-9]?????
}

# bats test_tags=turn:2
@test "accounts of 2,400 made-up uids are forgotten" {
    broker_start
    for first in $(seq 500000 300 502100); do
        uids_come_and_go "$first" 300
        eventually users_are 0
    done
    known=$(the_books | jq .accounts)
    echo "# $known accounts" >&3
    [ "$known" -lt 1000 ] # twice the number of accounts at once, plus 256
}

# bats test_tags=turn:0
@test "a user's reader has 64 MiB at most, and is ended before any other part when memory runs out" {
    broker_start
    spec $ALICE cam bad >/dev/null
    reader=$(helpers rtf-reader)
    grep -qE '^Max data size +67108864 +67108864 ' "/proc/$reader/limits"
    [ "$(cat "/proc/$reader/oom_score_adj")" = 1000 ]
    [ "$(cat "/proc/$(launcher)/oom_score_adj")" != 1000 ] # the reader shared the launcher's memory until it was started
}

# as_user_makes UID COUNT: the user tries to make so many directories in specs/ under other users' names. Prints how many the user could make.
as_user_makes() {
    as "$1" /usr/bin/python3 -S - "$SPECS" "$2" <<'END2'
import os, sys
made = 0
for number in range(int(sys.argv[2])):
    try:
        os.mkdir(f"{sys.argv[1]}/other{number}")
        made += 1
    except PermissionError:
        break
print(made)
END2
}
aside_of() { find "$SPECS" -mindepth 1 -maxdepth 1 -name ".aside-$1-*" | wc -l; }
has_aside() { [ "$(aside_of "$1")" = "$2" ]; }
says_full() { [ "$(jq -r 'select(.stage == "spool" and .decision == "warning") | .reason' "$EVENTS" | grep -c "^uid $1 can make nothing more in specs/")" = "$2" ]; }
lists_of() { /usr/bin/python3 -S -c 'import os, sys; print(*os.listxattr(sys.argv[1]))' "$1"; }
can_make() { as "$1" mkdir "$SPECS/$1" 2>/dev/null; }

# bats test_tags=turn:1
@test "a user who makes one wrongly named directory after another in specs/ can make no more, loses none, and is served as before" {
    broker_start
    [ "$(field .result "$(spec $BOB cam "$OBSERVED")")" = OK ]
    made=$(as_user_makes $BOB 20000)
    echo "# $made directories" >&3
    [ "$made" -ge 64 ]
    [ "$made" -lt 20000 ]
    eventually has_aside $BOB "$made" # all of these directories were moved aside
    eventually says_full $BOB 1
    [ "$(stat -c %04a "$SPECS")" = 3730 ]
    # Bob keeps all grants, and other users keep all their rights.
    [ "$(field .result "$(spec $BOB other "$OBSERVED")")" = OK ]
    as $ALICE mkdir "$SPECS/not-alice" "$SPECS/$ALICE"
    [ "$(field .result "$(spec $ALICE cam "$OBSERVED")")" = OK ]
    # Under the next broker the user can make no more directories either, until an administrator has removed some of them.
    broker_stop TERM
    broker_start
    run as $BOB mkdir "$SPECS/again"
    [ "$status" -ne 0 ]
    rm -rf "$SPECS/$BOB" "$SPECS/.aside-$BOB-"*
    kill -HUP "$BROKER"
    eventually can_make $BOB
    [ "$(lists_of "$SPECS")" = '' ]
    [ "$(stat -c %04a "$SPECS")" = 3730 ]
}

# bats test_tags=turn:2
@test "names that look like a moved-aside directory of another user take no right from that user" {
    broker_start
    as $BOB sh -c 'cd "$1" && for n in $(seq 100); do mkdir ".aside-$2-$n" 2>/dev/null || true; done' sh "$SPECS" "$ALICE"
    kill -HUP "$BROKER"
    eventually says_full $BOB 1
    can_make $ALICE
    run can_make $BOB
    [ "$status" -ne 0 ]
}

# bats test_tags=turn:2
@test "names with a leading dot count like others, and the adopter, as an ordinary process, serves the user who makes them" {
    broker_start
    made=$(as $CAROL sh -c 'cd "$1" && n=0; while mkdir ".$n" 2>/dev/null && [ $n -lt 20000 ]; do n=$((n + 1)); done; echo $n' sh "$SPECS")
    echo "# $made directories" >&3
    [ "$made" -ge 64 ]
    [ "$made" -lt 20000 ]
    eventually has_aside $CAROL "$made"
    eventually says_full $CAROL 1
    # The links also point to files that others can write to. The adopter removes the links, and their owner keeps all rights.
    adopter=$(helpers rtf-adopter)
    attack sh -c 'mkdir "$1/$2" && echo >"$1/$2/.file" && cd "$1" && while :; do ln "$2/.file" .link 2>/dev/null; done' sh "$SPECS" "$ALICE"
    eventually is_policy "$adopter" batch
    bob_is_answered_beside true
    eventually is_policy "$adopter" fifo
    [ "$(aside_of $ALICE)" -le 2 ]
    # The broker looks at all directories anew, and meanwhile an adopted directory has become another kind of file.
    kill -STOP "$adopter"
    as $ALICE sh -c 'cd "$1" && rm -rf "$2" && echo >"$2" && mkdir .late' sh "$SPECS" "$ALICE"
    kill -HUP "$BROKER"
    kill -CONT "$adopter"
    eventually test ! -e "$SPECS/$ALICE"
    eventually test ! -e "$SPECS/.late"
    bob_is_answered_beside true
    no grep -q 'rtf-adopter, which looks after specs/' "$EVENTS" # the adopter was not restarted meanwhile
}
