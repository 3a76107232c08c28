# Whatever a user does in his own directory, and in specs/, as fast as two CPUs let him: another user's requests are granted,
# the broker neither grows nor spins, and afterwards the flooder is answered, too.
load attack

memory() { awk '/^VmRSS/ { print $2 }' "/proc/$BROKER/status"; }
descriptors() { ls "/proc/$BROKER/fd" | wc -l; }

floods() {
    broker_start
    bob_is_answered_beside flood "$@"
    as $ALICE sh -c 'cd "$1" && find . -mindepth 1 -delete' sh "$SPECS/$ALICE" || true
    [ "$(field .result "$(wish $ALICE after '{"priority": 7, "plugin": "RR"}')")" = OK ]
}

@test "modes that change" { floods change-mode change-mode; }
@test "wishes that are rewritten" { floods rewrite rewrite; }
@test "wishes that are rewritten badly" { floods rewrite-badly rewrite-badly; }
@test "wishes that come and go" { floods create-and-remove create-and-remove; }
@test "ever new names" { floods new-names new-names; }
@test "names that are not allowed" { floods wrong-names wrong-names; }
@test "files that are ignored" { floods dot-files dot-files; }
@test "100,000 files" { floods many-files many-files; }
@test "files of a terabyte" { floods huge-files huge-files; }
@test "files that are held open" { floods held-open held-open; }
@test "files under a lease" { floods leased leased; }
@test "links that come and go" { floods many-links many-links; }
@test "a file and a link to another's that take turns" { floods swapped swapped; }
@test "FIFOs, directories and links to themselves" { floods special-files special-files; }
@test "thread ids of everybody" { floods thread-ids thread-ids; }
@test "verdicts that are replaced by directories" { floods verdicts verdicts; }
@test "a directory that is moved away and back" { floods directory-away create-and-remove; }
@test "directories in specs/ that come and go" { floods directories directories; }
@test "hidden directories in specs/ that come and go" { floods dot-directories dot-directories; }
@test "files that are cut while they are read" { floods truncated truncated; }
@test "all of it at once" {
    floods change-mode rewrite create-and-remove new-names wrong-names dot-files many-files held-open many-links swapped thread-ids directories
}
