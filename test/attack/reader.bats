# A user has taken over the own reader by some text, after the reader confined itself. The reader gets nothing of other users, and no more than its user
# could get without the reader.
load attack

prepare() {
    local objects=$RTF_SOURCE/build/obj
    [ -x "$BATS_FILE_TMPDIR/rtf-reader" ] || cc -std=c17 -D_GNU_SOURCE -O2 -I"$RTF_SOURCE/lib" -Wl,--wrap=files_begin -o "$BATS_FILE_TMPDIR/rtf-reader" \
        "$BATS_TEST_DIRNAME/taken.c" "$objects"/libexec/reader/*.o "$RTF_SOURCE/build/lib.a" -ljansson -lcap-ng -lseccomp
    cp -a "$RTF_LIBEXEC" "$WORK/programs"
    install "$BATS_FILE_TMPDIR/rtf-reader" "$WORK/programs/rtf-reader"
    RTF_LIBEXEC=$WORK/programs
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'RR rr 1-10 all'
    configure_rules "$ALICE RR max_utilization 10000" "$ALICE EDF max_utilization 0.4" "$ALICE RR max_priority 8" "$BOB - max_utilization 100"
    ATTACKERS=()
}
tidy() { if [ -n "$BROKER" ]; then broker_stop TERM; fi; }

# Alice and Bob have a spec each. Alice's is granted through a correct reader.
begins() {
    broker_start --plugin-user $((20097 + ${RTF_UIDS:-0})) --reader-user $((20098 + ${RTF_UIDS:-0})) --max-specs 50
    [ "$(field .result "$(spec $BOB dog '{"priority": 5, "plugin": "RR"}')")" = OK ]
    [ "$(field .result "$(spec $ALICE cam '{"priority": 5, "plugin": "RR"}')")" = OK ]
    bobs=$(cat "$SPECS/$BOB/dog.verdict")
}

# taken_over MODE...: from now on each reader of Alice's attacks in this way.
taken_over() {
    as $ALICE sh -c 'echo "$2" >"$1/.mode"' sh "$SPECS/$ALICE" "$*"
    as $ALICE sh -c ': >"$1/.wakes"' sh "$SPECS/$ALICE"
    eventually reader_is_there
    kill -KILL "$(reader)"
}
reader() { helpers "rtf-reader $ALICE "; }
reader_is_there() { [ -n "$(reader)" ]; }
said() { sed -n 's/^taken //p' "$WORK/broker.out"; }
has_said() { said | grep -q "^$1: "; }
lives() { as $ALICE stat -c %s "$SPECS/$ALICE/.count" 2>/dev/null || echo 0; }
has_lived() { [ "$(lives)" -ge "$1" ]; }

# Nothing of Bob's has changed, and Bob is answered.
bob_is_served() {
    local n
    for n in 1 2 3 4 5; do
        [ "$(field .result "$(spec $BOB new$n '{"priority": 5, "plugin": "RR"}')")" = OK ]
        as $BOB rm "$SPECS/$BOB/new$n.json"
    done
    [ "$(cat "$SPECS/$BOB/dog.verdict")" = "$bobs" ]
}

# When Alice no longer controls the reader, Alice's verdicts show the grants again.
is_over() {
    as $ALICE rm -f "$SPECS/$ALICE/.mode"
    broker_stop INT
    broker_start --plugin-user $((20097 + ${RTF_UIDS:-0})) --reader-user $((20098 + ${RTF_UIDS:-0})) --max-specs 50
    eventually agree
    [ "$(field .grant.priority "$(spec $ALICE cam '{"priority": 6, "plugin": "RR"}')")" = 6 ]
}
agree() { invariants; }

books() { kill -USR1 "$BROKER"; }
only_cam_is_left() {
    books
    eventually has_books
    [ "$(jq -c "[.reservations[] | select(.user == \"$ALICE\") | .name]" "$SPOOL/state/current/books.json")" = '["cam"]' ]
}
has_books() { jq -e . "$SPOOL/state/current/books.json" >/dev/null 2>&1; }

@test "a taken-over reader that sends no message is ended, and restarted later each time, while others are served" {
    begins
    taken_over nonsense
    for n in 1 2 3 4 5; do
        eventually has_lived $n
        bob_is_served
    done
    run jq -r "select(.uid == $ALICE and .stage == \"spool\" and .decision == \"error\") | .reason" "$EVENTS"
    echo "$output"
    [[ $output == *"it sends what its protocol does not allow"* || $output == *"paragraph"* ]]
    [[ $output == *"the reader passed a file of another user"* ]]
    [[ $output == *"the reader reported one file twice"* ]]
    is_over
}

@test "claims of a taken-over reader are judged as its user's: rules, limit and owners of threads hold" {
    begins
    sleeper $BOB
    taken_over claims "$(stat -c %i "$SPECS/$BOB/dog.json")" "$SLEEPER"
    eventually has_said claims
    bob_is_served
    books
    eventually has_books
    run jq -c ".reservations[] | select(.user == \"$ALICE\" and .grant != null) | [.name, .grant.plugin, .grant.priority, .thread]" "$SPOOL/state/current/books.json"
    echo "$output" | head -n 8
    granted=$output
    # Alice has no more than the rules allow, and only what a file of Alice's could have asked for.
    [ "$(wc -l <<<"$granted")" -le 50 ]
    [ "$(wc -l <<<"$granted")" -gt 30 ] # the broker has read what the reader claims
    [[ $granted != *'"high"'* && $granted != *'"much"'* ]]
    jq -s -e 'all(.[]; .[1] == "RR" and .[2] == 5 and .[3] == null)' <<<"$granted"
    is_policy "$SLEEPER" other
    jq -s -e "any(.[]; .name == \"thread\" and .decision == \"refused\")" "$EVENTS"
    is_over
    eventually only_cam_is_left || { jq -c ".reservations[]" "$SPOOL/state/current/books.json"; return 1; } # the reservations without files have ended
}

@test "threads of program files that a taken-over reader makes up are judged as its user's, and it hears nothing of others' processes" {
    begins
    sleeper $BOB
    taken_over threads "$SLEEPER"
    eventually has_said threads
    bob_is_served
    books
    eventually has_books
    granted=$(jq -c ".reservations[] | select(.user == \"$ALICE\" and .grant != null) | [.name, .grant.plugin, .grant.priority, .thread]" "$SPOOL/state/current/books.json")
    echo "$granted" | head -n 8
    [ "$(wc -l <<<"$granted")" -le 50 ]
    [[ $granted == *'"ghost+'* && $granted == *'"spirit+'* ]] # the broker read the claims
    jq -s -e 'all(.[]; .[1] == "RR" and .[2] == 5 and .[3] == null)' <<<"$granted"
    is_policy "$SLEEPER" other
    jq -s -e "any(.[]; .name == \"dog+$SLEEPER\" and .decision == \"refused\")" "$EVENTS"
    is_over
    eventually only_cam_is_left || { jq -c ".reservations[]" "$SPOOL/state/current/books.json"; return 1; }
}

@test "a taken-over reader that names no thread of a program file is ended" {
    begins
    taken_over misnames
    for n in 1 2 3 4; do eventually has_lived $n; done
    bob_is_served
    [ "$(jq -r "select(.uid == $ALICE and .decision == \"error\") | .reason" "$EVENTS" | grep -cF "the user's reader sent a message that is not valid")" -ge 3 ]
    is_over
}

@test "a reader that floods does not keep the broker from stopping, nor from telling other owners of the stop in their verdicts" {
    begins
    sleeper $BOB
    attach $BOB dog "$SLEEPER"
    sleeper $ALICE
    attach $ALICE cam "$SLEEPER"
    taken_over flood
    eventually has_said flood
    # The reader sends faster than the broker reads.
    strace -qq -o /dev/null -e trace=recvmsg -e inject=recvmsg:delay_exit=5000 -p "$BROKER" 3>&- &
    eventually is_traced "$BROKER"
    kill -TERM "$BROKER"
    eventually is_gone "$BROKER" || { kill -KILL "$BROKER"; false; }
    BROKER=
    [ "$(kernel "$SLEEPER")" = "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0" ]
    [ "$(jq -c '[.thread, .ended]' "$SPECS/$BOB/dog.verdict")" = '[null,"broker"]' ]
}

@test "a taken-over reader that floods, and one that stays silent, delay no other user" {
    begins
    taken_over flood
    eventually has_said flood
    bob_is_served
    observe >"$WORK/observed"
    echo "# beside a reader that floods: p50, p99, worst of $REQUESTS: $(cat "$WORK/observed") us" >&3
    has_lived 1
    is_over
    bobs=$(cat "$SPECS/$BOB/dog.verdict")
    taken_over silence
    put $ALICE more '{"priority": 5, "plugin": "RR"}'
    bob_is_served
    [ ! -e "$SPECS/$ALICE/more.verdict" ]
    is_over
}

@test "a taken-over reader opens no other user's files, signals and traces no process, and becomes neither another user nor more real-time" {
    begins
    sleeper $BOB
    theirs=$SLEEPER
    sleeper $ALICE
    was=$(ls -la "$SPECS/$BOB")
    taken_over tries "$SPECS/$BOB" "$theirs" "$BROKER" "$SLEEPER"
    eventually has_said all
    said
    # A reader may open a pidfd, which only names a process; nothing that it tries with the pidfd succeeds.
    [ "$(said | grep ': done$' | cut -d : -f 1 | paste -sd ,)" = 'own file,pidfd Bob,pidfd broker,pidfd Alice,all' ]
    [ "$(said | wc -l)" -ge 56 ]
    [[ $(kernel "$(reader)") == 'fifo 11 '*' reset=1' || $(kernel "$(reader)") == 'other 0 nice=0 '* ]] # real-time, one below the broker; or ordinary, after much CPU time
    [ "$(ls -la "$SPECS/$BOB")" = "$was" ]
    for pid in "$theirs" "$SLEEPER" "$BROKER"; do [[ $(cat "/proc/$pid/stat") != *') T '* ]]; done
    bob_is_served
    is_over
}
