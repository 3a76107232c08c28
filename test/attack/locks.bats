# A process that renames, removes or looks up a file in a directory waits for the directory's lock. The directory's owner can hold this lock as long as
# they like. Only this user's requests wait then.
load attack

lock() {
    [ -x "$BATS_FILE_TMPDIR/lock" ] || cc -D_GNU_SOURCE -O2 -o "$BATS_FILE_TMPDIR/lock" "$BATS_TEST_DIRNAME/lock.c"
    attack "$BATS_FILE_TMPDIR/lock" "$@"
}

# loop_mount PLACE: mounts a new ext4 file system on PLACE.
loop_mount() {
    truncate -s 32M "$1.image"
    mkfs.ext4 -q "$1.image"
    mkdir -p "$1"
    mount -o loop "$1.image" "$1"
    MOUNTED+=("$1")
}
freeze() { fsfreeze -f "$1" && FROZEN=$1; }
thaw() { fsfreeze -u "$FROZEN" && FROZEN=; }
tidy() {
    [ -z "${FROZEN:-}" ] || thaw
    attack_ends
    if [ -n "$BROKER" ]; then broker_stop TERM; fi
    local place
    for place in "${MOUNTED[@]}"; do umount "$place"; done
}
MOUNTED=()

# keeps_locked DIRECTORY: a process of Alice's holds the directory's lock until thaw.
keeps_locked() {
    loop_mount "$WORK/ice"
    truncate -s 4096 "$WORK/ice/page"
    chown $ALICE "$WORK/ice/page"
    freeze "$WORK/ice"
    lock hold "$1" "$WORK/ice/page"
    eventually is_stuck "${ATTACKERS[-1]}"
}
is_stuck() { [ "$(awk '{ print $3 }' "/proc/$1/stat")" = D ]; }

# bob_is_answered: like bob_is_answered_beside, for a process that keeps the lock and cannot end before the file system is thawed.
bob_is_answered() {
    local attacked
    attacked=$(observe)
    echo "# $BATS_TEST_DESCRIPTION: p50, p99, worst of $REQUESTS: $attacked us" >&3
}

# Alice rewrites an existing file, which does not need the directory's lock. The verdict would need the lock.
rewrites() { as $ALICE sh -c 'echo "$2" >"$1"' sh "$SPECS/$ALICE/cam.json" "$1"; }

# bats test_tags=turn:0
@test "a directory that its owner keeps locked delays no other user" {
    broker_start
    spec $ALICE cam '{"priority": 2, "plugin": "RR"}' >/dev/null
    keeps_locked "$SPECS/$ALICE"
    rewrites '{"priority": 3, "plugin": "RR"}'
    bob_is_answered
    [ "$(jq .grant.priority "$SPECS/$ALICE/cam.verdict")" = 2 ]
    thaw
    [ "$(field .grant.priority "$(verdict $ALICE cam)")" = 3 ]
}

@test "rtf-lint ends, although a directory of a program in programs.d is kept locked by its owner" {
    mkdir -m 755 "$CONFIG/programs.d"
    install -d -o $ALICE "$WORK/theirs"
    chmod 755 "$WORK" "$CONFIG"
    echo '{"user": "daemon", "program": "'"$WORK/theirs/player"'", "threads": [{"name": "*", "runtime": "1ms", "period": "10ms"}]}' >"$CONFIG/programs.d/player.json"
    keeps_locked "$WORK/theirs"
    attack touch "$WORK/theirs/new" # a writer that waits keeps later readers waiting, too
    eventually is_stuck "${ATTACKERS[-1]}"
    run timeout 20 "$RTF_LIBEXEC/rtf-programs" lint "$CONFIG"
    [ "$status" -eq 0 ]
    [ "$output" = "programs.d/player.json: 2 s were not enough to look up the program $WORK/theirs/player" ]
}

# bats test_tags=turn:1
@test "a reader that waits too long is ended when that is possible, and the next reader tells the rest" {
    broker_start
    spec $ALICE cam '{"priority": 2, "plugin": "RR"}' >/dev/null
    reader=$(helpers rtf-reader)
    kill -STOP "$reader"
    rewrites '{"priority": 3, "plugin": "RR"}'
    bob_is_answered_beside true
    kill -KILL "$reader"
    [ "$(field .grant.priority "$(verdict $ALICE cam)")" = 3 ]
}

# bats test_tags=turn:2
@test "a directory of 200,000 names, listed by an idle thread beside busy CPUs, delays no other user" {
    broker_start
    spec $ALICE cam '{"priority": 2, "plugin": "RR"}' >/dev/null
    as $ALICE sh -c 'cd "$1" && seq -f .%.0f 200000 | xargs touch' sh "$SPECS/$ALICE"
    lock list "$SPECS/$ALICE"
    for _ in $(seq "$(nproc)"); do hog $CAROL; done
    rewrites '{"priority": 3, "plugin": "RR"}'
    bob_is_answered_beside true
    attack_ends
    [ "$(field .grant.priority "$(verdict $ALICE cam)")" = 3 ]
}

# bats test_tags=turn:0
@test "a stranger who keeps the lock of all renames between directories of the file system delays no user" {
    broker_start
    spec $ALICE cam '{"priority": 2, "plugin": "RR"}' >/dev/null
    install -d -o $ALICE "$WORK/one" "$WORK/two"
    : >"$WORK/one/file"
    chown $ALICE "$WORK/one/file"
    keeps_locked "$WORK/two"
    attack mv "$WORK/one/file" "$WORK/two/file"
    eventually is_stuck "${ATTACKERS[-1]}"
    bob_is_answered
}

# bats test_tags=turn:1
@test "as many notifications on a directory as the kernel allows delay only the directory's owner" {
    broker_start
    spec $ALICE cam '{"priority": 2, "plugin": "RR"}' >/dev/null
    [ -x "$BATS_FILE_TMPDIR/lock" ] || cc -D_GNU_SOURCE -O2 -o "$BATS_FILE_TMPDIR/lock" "$BATS_TEST_DIRNAME/lock.c"
    most=$(($(ulimit -Hn) - 100 < 50000 ? $(ulimit -Hn) - 100 : 50000))
    (ulimit -n "$(ulimit -Hn)" && become $ALICE "$BATS_FILE_TMPDIR/lock" notes "$SPECS/$ALICE" "$most") >"$WORK/noted" 2>&1 3>&- &
    ATTACKERS+=("$!")
    echo "$!" >>"$WORK/pids"
    eventually test -s "$WORK/noted"
    flood rewrite
    bob_is_answered_beside true
}

# bats test_tags=turn:2
@test "files that do not belong in specs/ are moved aside, and never removed" {
    broker_start
    spec $ALICE cam '{"priority": 2, "plugin": "RR"}' >/dev/null
    as $ALICE mkdir "$SPECS/wrong"
    eventually is_aside wrong
    [ "$(field .result "$(spec $ALICE two '{"priority": 2, "plugin": "RR"}')")" = OK ]
}
is_aside() { [ "$(find "$SPECS" -maxdepth 1 -type d -name ".aside-$ALICE-*-$1" | wc -l)" = 1 ]; }

# bats test_tags=turn:0
@test "while the file system of specs/ is frozen, threads that end are detached, and SIGTERM restores all threads" {
    mkdir "$SPOOL"
    loop_mount "$SPECS"
    broker_start
    sleeper $ALICE
    first=$SLEEPER
    spec $ALICE cam '{"priority": 2, "plugin": "RR"}' >/dev/null
    attach $ALICE cam "$first" >/dev/null
    sleeper $BOB
    spec $BOB cam '{"runtime": "1ms", "period": "10ms", "plugin": "EDF"}' >/dev/null
    attach $BOB cam "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" deadline
    freeze "$SPECS"
    kill "$first"
    eventually has_ended "$first"
    kill -TERM "$BROKER"
    eventually is_policy "$SLEEPER" other
    thaw
    wait "$BROKER" || true
    BROKER=
}
has_ended() { jq -e -n --arg reason "thread $1 has ended" 'any(inputs; .stage == "verdict" and .reason == $reason)' "$EVENTS" >/dev/null; }

# bats test_tags=turn:1
@test "a reader that is kept busy is ordinary until its time is over, and others' reservations lose no time" {
    broker_start
    spec $ALICE cam '{"priority": 2, "plugin": "RR"}' >/dev/null
    is_policy "$(helpers rtf-reader)" fifo
    flood rewrite
    eventually is_policy "$(helpers rtf-reader)" batch
    attack_ends
    eventually is_policy "$(helpers rtf-reader)" fifo
}

# bats test_tags=turn:0
@test "a directory that its owner keeps locked, and a writer that waits for the lock, delay neither a revocation nor root's tools" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{\"priority\": 2, \"plugin\": \"RR\", \"attach\": $SLEEPER}" >/dev/null
    eventually is_policy "$SLEEPER" rr
    keeps_locked "$SPECS/$ALICE"
    attack mkdir "$SPECS/$ALICE/writer"
    eventually is_stuck "${ATTACKERS[-1]}"
    # Root's tools do not wait for the locked directory, either.
    goes_on() { timeout -k 1 60 "$@" >"$WORK/said" 2>&1; }
    goes_on "$RTF_BIN/rtf" --spool "$SPOOL" ls --all
    grep -q "^$ALICE .* attached " "$WORK/said"
    goes_on "$RTF_LIBEXEC/rtf-invariants" --spool "$SPOOL" || { cat "$WORK/said"; false; }
    grep -q "the files of $ALICE cannot be read" "$WORK/said"
    goes_on "$RTF_BIN/rtf" --spool "$SPOOL" revoke $ALICE
    is_policy "$SLEEPER" other
    bob_is_answered
    thaw
    eventually test ! -e "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
}
