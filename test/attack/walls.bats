# Two checks protect one user's files from another user: the permissions of the files, and the broker's check of owners. Two checks protect threads: the
# broker's and the attach helper's. Each test tries one check alone, with programs that lack the other check.
load attack

# without FILE SED-EXPRESSION PROGRAM: builds PROGRAM for this test from the source FILE, changed by the sed expression.
without() {
    local tree=$WORK/changed
    mkdir "$tree"
    cp -a "$RTF_SOURCE/Makefile" "$RTF_SOURCE/bin" "$RTF_SOURCE/lib" "$RTF_SOURCE/libexec" "$RTF_SOURCE/plugins" "$RTF_SOURCE/man" "$tree"
    mkdir "$tree/build"
    cp -a "$RTF_SOURCE/build/obj" "$tree/build"
    sed -i "$2" "$tree/$1"
    if cmp -s "$tree/$1" "$RTF_SOURCE/$1"; then
        echo "nothing to change in $1"
        return 1
    fi
    make --silent -C "$tree" "build/libexec/$3"
    cp -a "$RTF_LIBEXEC" "$tree/programs"
    install "$tree/build/libexec/$3" "$tree/programs/$3"
    RTF_LIBEXEC=$tree/programs
}

tidy() { if [ -n "$BROKER" ]; then broker_stop TERM; fi; }

@test "the permissions alone: with a reader that takes every user's files, no user can put a file where it would count" {
    without libexec/reader/files.c 's/status->st_uid != owner)/0)/' rtf-reader
    broker_start
    spec $ALICE cam '{"priority": 5, "plugin": "RR"}' >/dev/null
    spec $BOB mine '{"priority": 5, "plugin": "RR"}' >/dev/null
    before=$(ls -la "$SPECS/$ALICE")
    for act in 'echo {} >"$1/new.json"' 'cp "$2/mine.json" "$1/new.json"' 'mv "$2/mine.json" "$1/new.json"' 'ln "$2/mine.json" "$1/new.json"' \
        'echo 1 >"$1/cam.tid"' 'rm -f "$1/cam.json"' 'cat "$1/cam.verdict"' 'mv "$1" "$2/taken"'; do
        if as $BOB sh -c "$act" sh "$SPECS/$ALICE" "$SPECS/$BOB" 2>/dev/null; then
            echo "could: $act"
            return 1
        fi
    done
    [ "$(ls -la "$SPECS/$ALICE")" = "$before" ]
    # This shows that the broker lacks its check: root puts a spec into Alice's directory, and the broker accepts the file as Alice's.
    echo '{"priority": 6, "plugin": "RR"}' >"$SPECS/$ALICE/roots.json"
    [ "$(field .result "$(verdict $ALICE roots)")" = OK ]
}

@test "the owners alone: with directories that are open to all, another user's file there does not count" {
    without libexec/adopter/rtf-adopter.c 's/while (chmod(path, closed) != 0/while (path[0] == 0/' rtf-adopter
    broker_start
    sleeper $BOB
    spec $ALICE cam '{"priority": 5, "plugin": "RR"}' >/dev/null
    as $ALICE chmod 2777 "$SPECS/$ALICE"
    as $BOB sh -c 'echo "{\"priority\": 5, \"plugin\": \"RR\"}" >"$1/his.json"; echo "$2" >"$1/cam.tid"' sh "$SPECS/$ALICE" "$SLEEPER"
    [ "$(stat -c %a "$SPECS/$ALICE")" = 2777 ] # the built adopter has not closed the directory again
    run verdict $ALICE his
    [ "$(field '.result + ": " + .reason' "$output")" = "BAD_SPEC: his.json belongs to uid $BOB; it must belong to uid $ALICE as its directory does" ]
    run verdict $ALICE cam
    [ "$(field .result "$output")" = BAD_SPEC ]
    [ "$(field .thread "$output")" = null ]
    is_policy "$SLEEPER" other
}

@test "the helper alone: the helper refuses a broker that asks for any user's thread" {
    without libexec/broker/activation/thread-owner.c 's/else if (!thread_is_of(identity, uid))/else if (0 \&\& !thread_is_of(identity, uid))/' rtf-brokerd
    broker_start
    sleeper $BOB
    spec $ALICE cam '{"priority": 5, "plugin": "RR"}' >/dev/null
    answer=$(attach $ALICE cam "$SLEEPER")
    [ "$(field '.result + ": " + .reason' "$answer")" = \
        "ATTACH_FAIL: thread $SLEEPER runs as uid $BOB (effective $BOB, saved $BOB, for files $BOB), but the spec belongs to uid $ALICE" ]
    is_policy "$SLEEPER" other
}

@test "the broker alone: the broker does not ask a helper that would attach any user's thread" {
    without lib/scheduling.c 's/if (thread_is_of(identity, owner))/if (1)/' rtf-attach
    broker_start
    sleeper $BOB
    spec $ALICE cam '{"priority": 5, "plugin": "RR"}' >/dev/null
    answer=$(attach $ALICE cam "$SLEEPER")
    [ "$(field '.result + ": " + .reason' "$answer")" = \
        "ATTACH_FAIL: thread $SLEEPER is not yours: it runs as uid $BOB (effective $BOB, saved $BOB, for files $BOB), you are $ALICE" ]
    is_policy "$SLEEPER" other
}
