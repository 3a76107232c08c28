# Floods: a user changes files in the own directory, and in specs/, as fast as two CPUs allow. Another user's requests are granted, the broker neither
# grows nor spins, and afterwards the flooder is answered, too.
load attack

memory() { awk '/^VmRSS/ { print $2 }' "/proc/$BROKER/status"; }
descriptors() { ls "/proc/$BROKER/fd" | wc -l; }

floods() {
    broker_start
    bob_is_answered_beside flood "$@"
    as $ALICE sh -c 'cd "$1" && find . -mindepth 1 -delete' sh "$SPECS/$ALICE" || true
    [ "$(field .result "$(spec $ALICE after '{"priority": 7, "plugin": "RR"}')")" = OK ]
}

# bats test_tags=turn:0
@test "a flood of mode changes delays no other user" { floods change-mode change-mode; }
# bats test_tags=turn:1
@test "a flood of rewritten specs delays no other user" { floods rewrite rewrite; }
# bats test_tags=turn:2
@test "a flood of wrong specs delays no other user" { floods rewrite-badly rewrite-badly; }
# bats test_tags=turn:0
@test "a flood of specs that come and go delays no other user" { floods create-and-remove create-and-remove; }
# bats test_tags=turn:1
@test "a flood of new names delays no other user" { floods new-names new-names; }
# bats test_tags=turn:2
@test "a flood of wrong names delays no other user" { floods wrong-names wrong-names; }
# bats test_tags=turn:0
@test "a flood of ignored files delays no other user" { floods dot-files dot-files; }
# bats test_tags=turn:1
@test "100,000 files delay no other user" { floods many-files many-files; }
# bats test_tags=turn:2
@test "files of a terabyte delay no other user" { floods huge-files huge-files; }
# bats test_tags=turn:0
@test "files that are held open delay no other user" { floods held-open held-open; }
# bats test_tags=turn:1
@test "files under a lease delay no other user" { floods leased leased; }
# bats test_tags=turn:2
@test "links that come and go delay no other user" { floods many-links many-links; }
# bats test_tags=turn:0
@test "a file that takes turns with a link to another user's file delays no other user" { floods swapped swapped; }
# bats test_tags=turn:1
@test "FIFOs, directories and links to themselves delay no other user" { floods special-files special-files; }
# bats test_tags=turn:2
@test "a flood of other users' thread ids delays no other user" { floods thread-ids thread-ids; }
# bats test_tags=turn:0
@test "directories in place of verdicts delay no other user" { floods verdicts verdicts; }
# bats test_tags=turn:1
@test "a directory that is moved away and back delays no other user" { floods directory-away create-and-remove; }
# bats test_tags=turn:2
@test "directories in specs/ that come and go delay no other user" { floods directories directories; }
# bats test_tags=turn:0
@test "hidden directories in specs/ that come and go delay no other user" { floods dot-directories dot-directories; }
# bats test_tags=turn:1
@test "files that are truncated while they are read delay no other user" { floods truncated truncated; }
# bats test_tags=turn:2
@test "all floods at once delay no other user" {
    floods change-mode rewrite create-and-remove new-names wrong-names dot-files many-files held-open many-links swapped thread-ids directories
}

# The reader uses 12 ms in all, with pauses. That is more than twice the CPU time that a reader may use without a pause.
asks_at_leisure() {
    local used=0
    until [ "$used" -ge 12 ]; do
        put $BOB cam "$OBSERVED"
        eventually test -e "$SPECS/$BOB/cam.verdict"
        is_policy "$reader" fifo
        rm "$SPECS/$BOB/cam.json"
        eventually test ! -e "$SPECS/$BOB/cam.verdict"
        is_policy "$reader" fifo
        used=$(consumed "$reader")
    done
}

# bats test_tags=turn:0
@test "the reader of a user who asks now and then runs above all grants; the reader of a flooding user is ordinary meanwhile" {
    broker_start
    [ "$(field .result "$(spec $BOB cam "$OBSERVED")")" = OK ]
    reader=$(helpers rtf-reader)
    flood rewrite rewrite
    flooded() { helpers "rtf-reader $ALICE "; }
    eventually flooded
    eventually is_policy "$(flooded)" batch
    asks_at_leisure
    is_policy "$(flooded)" batch
}
