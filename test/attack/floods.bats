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
@test "modes that change" { floods change-mode change-mode; }
# bats test_tags=turn:1
@test "specs that are rewritten" { floods rewrite rewrite; }
# bats test_tags=turn:2
@test "specs that are rewritten badly" { floods rewrite-badly rewrite-badly; }
# bats test_tags=turn:0
@test "specs that come and go" { floods create-and-remove create-and-remove; }
# bats test_tags=turn:1
@test "ever new names" { floods new-names new-names; }
# bats test_tags=turn:2
@test "names that are not allowed" { floods wrong-names wrong-names; }
# bats test_tags=turn:0
@test "files that are ignored" { floods dot-files dot-files; }
# bats test_tags=turn:1
@test "100,000 files" { floods many-files many-files; }
# bats test_tags=turn:2
@test "files of a terabyte" { floods huge-files huge-files; }
# bats test_tags=turn:0
@test "files that are held open" { floods held-open held-open; }
# bats test_tags=turn:1
@test "files under a lease" { floods leased leased; }
# bats test_tags=turn:2
@test "links that come and go" { floods many-links many-links; }
# bats test_tags=turn:0
@test "a file and a link to another's that take turns" { floods swapped swapped; }
# bats test_tags=turn:1
@test "FIFOs, directories and links to themselves" { floods special-files special-files; }
# bats test_tags=turn:2
@test "thread ids of everybody" { floods thread-ids thread-ids; }
# bats test_tags=turn:0
@test "verdicts that are replaced by directories" { floods verdicts verdicts; }
# bats test_tags=turn:1
@test "a directory that is moved away and back" { floods directory-away create-and-remove; }
# bats test_tags=turn:2
@test "directories in specs/ that come and go" { floods directories directories; }
# bats test_tags=turn:0
@test "hidden directories in specs/ that come and go" { floods dot-directories dot-directories; }
# bats test_tags=turn:1
@test "files that are cut while they are read" { floods truncated truncated; }
# bats test_tags=turn:2
@test "all floods at once" {
    floods change-mode rewrite create-and-remove new-names wrong-names dot-files many-files held-open many-links swapped thread-ids directories
}

# The reader uses 12 ms, more than twice its budget for a short time.
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
