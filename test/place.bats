# The journal is in /run/rtf, under the spool's device and inode. The broker finds it again after a crash and a move, and takes no other file for it.
load helper

cam='{"priority": 12, "plugin": "FP"}'

prepare() {
    configure_plugins 'FP fp 11-20 all'
    configure_rules "$ALICE - max_utilization 100"
    # with-run MOUNT COMMAND...: runs the command with another /run, which mount(8) makes from these
    # words
    # shellcheck disable=SC2016 # the script's
    printf '%s\n' '#!/bin/sh' 'exec unshare --mount --propagation private sh -c '\''mount $0 /run && exec "$@"'\'' "$@"' >"$WORK/with-run"
    chmod 755 "$WORK/with-run"
}
tidy() {
    if [ -n "$BROKER" ]; then broker_stop TERM; fi
    if [ -n "${SECOND:-}" ]; then kill "$SECOND" 2>/dev/null || true; wait "$SECOND" 2>/dev/null || true; fi
    if [ -n "${PLACE:-}" ]; then rm -rf "$PLACE"; fi
    [ -z "${MEMORY:-}" ] || rm -rf "$MEMORY"
    [ -z "${DISK:-}" ] || { umount -q "$DISK" || true; rmdir "$DISK"; }
}

place() { readlink "$SPOOL/state/current"; }
broker_dies() {
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    BROKER=
    eventually none_of_ours
}
# refuses STATUS WORDS [COMMAND...]: the broker, run by this command, does not start, and prints these words.
refuses() {
    run timeout 10 "${@:3}" "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
    [[ $status == "$1" && $output == *"$2"* ]] || { echo "$output"; return 1; }
}
# holds: starts a thread of Alice's, $SLEEPER, with a grant
holds() {
    sleeper $ALICE
    spec $ALICE cam "$cam" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" fifo
}
# gives_back: the thread has its former attributes again
gives_back() {
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_policy "$SLEEPER" other
}
agree() { invariants; }
warned() { eventually grep -q "$1" "$EVENTS"; }

@test "the journal is in memory, and is there after a crash" {
    broker_start
    [ "$(place)" = "$(place_of "$SPOOL")" ]
    [ "$(stat -c '%U %a' "$(place)")" = 'root 700' ]
    holds
    grep -q '^name=cam$' "$(place)/journal"
    [ "$(cd "$SPOOL/state" && echo *)" = 'broker current lock' ]
    agree
    broker_dies
    broker_start
    [ "$(place)" = "$(place_of "$SPOOL")" ]
    [ "$(cd "$(place)" && echo *)" = 'journal orders' ]
    agree
    gives_back
}

@test "where /run is in memory, the log has no doubt of it; where it is on a disk, the log says so" {
    "$WORK/with-run" '-t tmpfs none' "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
    [ -s "/proc/$BROKER/root$(place)/journal" ]
    [ ! -e "$(place)" ]
    run jq -r 'select(.decision == "warning") | .reason' "$EVENTS"
    [[ $output != */run/rtf* ]]
    broker_stop TERM
    DISK=$(mktemp -d /var/tmp/rtf-test.XXXXXX)
    [[ $(stat -f -c %T "$DISK") != @(tmpfs|ramfs) ]] || { truncate -s 4M "$WORK/disk" && mkfs.ext4 -q "$WORK/disk" && mount -o loop "$WORK/disk" "$DISK"; }
    "$WORK/with-run" "--bind $DISK" "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
    [ -s "/proc/$BROKER/root$(place)/journal" ]
    warned '/run/rtf is not in memory (a tmpfs): the broker may have to wait for the disk'
}

@test "where /run is full or cannot be written, a broker does not start, and says why" {
    refuses 69 '/run/rtf: Read-only file system' "$WORK/with-run" '-t tmpfs -o ro none'
    refuses 69 "$(place_of "$SPOOL"): No space left on device" "$WORK/with-run" '-t tmpfs -o nr_inodes=2 none'
    refuses 71 "$(place_of "$SPOOL")/journal.new: No space left on device" "$WORK/with-run" '-t tmpfs -o nr_inodes=6 none'
    refuses 71 "$(place_of "$SPOOL")/journal: No space left on device" "$WORK/with-run" '-t tmpfs -o size=4k none'
    broker_start
    holds
    agree
}

@test "a start that fails has changed nothing" {
    broker_start
    holds
    broker_dies
    cp -p "$(place)/journal" "$WORK/journal"
    sed -i '0,/^record=reservation/s//rec\x01rd/' "$(place)/journal"
    cp -p "$(place)/journal" "$WORK/damaged"
    refuses 71 "$(place)/journal cannot be read"
    cmp "$(place)/journal" "$WORK/damaged"
    cp "$WORK/journal" "$(place)/journal"
    broker_start
    agree
    gives_back
    first=$(place)
    broker_stop TERM
    [ ! -e "$first" ]
}

@test "a journal that somebody but root can have written, or that was cut short, is not taken up" {
    broker_start
    holds
    broker_dies
    cp -p "$(place)/journal" "$WORK/journal"
    good() { rm "$(place)/journal" && cp -p "$WORK/journal" "$(place)/journal"; }
    not_ours="$(place)/journal cannot be read: the file is not root's alone; move it away to start without it"
    chown $ALICE "$(place)/journal"
    refuses 71 "$(place)/journal cannot be read: Permission denied"
    chmod 644 "$(place)/journal"
    refuses 71 "$not_ours"
    good
    chmod 622 "$(place)/journal"
    refuses 71 "$not_ours"
    good
    ln "$(place)/journal" "$(place)/another"
    refuses 71 "$not_ours"
    rm "$(place)/another" "$(place)/journal"
    mkfifo "$(place)/journal"
    refuses 71 "$not_ours"
    rm "$(place)/journal"
    ln -s "$WORK/journal" "$(place)/journal"
    refuses 71 "$(place)/journal cannot be read: Too many levels of symbolic links"
    good
    sed -i '/^record=whole/,$d' "$(place)/journal"
    refuses 71 "$(place)/journal cannot be read: the file is cut short"
    good
    # A new journal that was begun, and never got its final name, does not count.
    sed '/^record=whole/,$d' "$WORK/journal" >"$(place)/journal.new"
    broker_start
    agree
    gives_back
}

@test "a journal of another boot that was cut short is no journal" {
    broker_start
    holds
    broker_dies
    sed -i '/^record=whole/,$d; s/^boot=.*/boot=another/' "$(place)/journal"
    rm -r "${SPECS:?}/$ALICE"
    broker_start
    no grep '^name=cam' "$(place)/journal"
    chrt -o -p 0 "$SLEEPER"
}

@test "a spool that was moved keeps its directory" {
    broker_start
    holds
    first=$(place)
    broker_stop INT
    mv "$SPOOL" "$WORK/moved"
    SPOOL=$WORK/moved SPECS=$WORK/moved/specs
    broker_start
    [ "$(place)" = "$first" ]
    agree
    gives_back
}

@test "a spool that was moved to another file system has another directory, and the log says what that means" {
    broker_start
    holds
    PLACE=$(place)
    broker_stop INT
    MEMORY=$(mktemp -d /dev/shm/rtf-test.XXXXXX)
    chmod 755 "$MEMORY"
    cp -a "$SPOOL" "$MEMORY/spool"
    rm -r "$SPOOL"
    SPOOL=$MEMORY/spool SPECS=$MEMORY/spool/specs EVENTS=$MEMORY/spool/log/events.ndjson
    broker_start
    [ "$(place)" = "$(place_of "$SPOOL")" ]
    warned "the spool was copied or moved: the broker does not continue the grants in $PLACE"
    broker_stop TERM
    [ ! -e "$(place)" ] || rm -r "$(place)"
}

@test "a copy of a spool gets a directory of its own, also while the first is served" {
    broker_start
    holds
    cp -a "$SPOOL" "$WORK/copy"
    [ "$(readlink "$WORK/copy/state/current")" = "$(place)" ]
    "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$WORK/copy" --config "$CONFIG" --group "$GROUP" >"$WORK/second" 2>&1 3>&- &
    SECOND=$!
    eventually grep -q "spool $WORK/copy" "$WORK/copy/log/events.ndjson"
    [ "$(readlink "$WORK/copy/state/current")" = "$(place_of "$WORK/copy")" ]
    is_policy "$SLEEPER" fifo
    kill "$SECOND"
    wait "$SECOND"
    SECOND=
    broker_dies
    broker_start
    agree
    gives_back
}

@test "a spool has one broker, even if its lock was removed" {
    broker_start
    holds
    refuses 69 'another broker serves this spool'
    mv "$SPOOL/state" "$WORK/state"
    refuses 69 "$(place_of "$SPOOL"): another broker has its journal there"
    rm -r "$SPOOL/state"
    mv "$WORK/state" "$SPOOL/state"
    agree
    gives_back
}

@test "where nothing is in force, nothing is left; else it is there for the next start" {
    broker_start
    first=$(place)
    holds
    broker_stop TERM
    [ "$(ls "$first")" = journal ]
    broker_start
    gives_back
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    link=$(stat -c %i "$SPOOL/state/current")
    broker_stop TERM
    [ ! -e "$first" ]
    broker_start
    [ "$(place)" = "$first" ]
    [ "$(stat -c %i "$SPOOL/state/current")" = "$link" ] # the link is not written anew
}

@test "a spool with the inode number of a removed one does not take up the removed spool's journal" {
    broker_start
    holds
    broker_dies
    rm -r "$SPOOL/state" "${SPECS:?}/$ALICE"
    broker_start
    no grep '^name=cam' "$(place)/journal"
    chrt -o -p 0 "$SLEEPER"
}

@test "only where root alone can write" {
    refuses 69 '/run/rtf: must be a directory that only root can write to' \
        unshare --mount --propagation private sh -c 'mount -t tmpfs none /run && mkdir -m 777 /run/rtf && chmod 777 /run/rtf && exec "$@"' sh
    broker_start
    PLACE=$(place)
    broker_stop TERM
    # The broker refuses a link with the name of the journal's directory, and another user's directory with this name.
    mkdir "$WORK/evil"
    mkdir -p /run/rtf
    ln -s "$WORK/evil" "$PLACE"
    refuses 69 "$PLACE: "
    [ "$(ls "$WORK/evil")" = '' ]
    rm "$PLACE"
    mkdir -p -m 700 "$PLACE" && chown $ALICE "$PLACE"
    refuses 69 "$PLACE: must be a directory that root alone can enter"
    chown 0 "$PLACE"
    chmod 755 "$PLACE"
    refuses 69 "$PLACE: must be a directory that root alone can enter"
    rmdir "$PLACE"
    broker_start
}

@test "a broker that is killed as the new journal takes the place of the former loses nothing" {
    command -v strace >/dev/null || skip 'no strace'
    broker_start
    holds
    broker_dies
    cp "$(place)/journal" "$WORK/journal"
    run timeout 10 strace -o "$WORK/trace" -e trace=renameat,renameat2 -e inject=renameat,renameat2:signal=KILL:when=1 \
        "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" 3>&-
    grep -q 'killed by SIGKILL' "$WORK/trace"
    cmp "$(place)/journal" "$WORK/journal"
    # The launcher removes journal.new only if it still sees the broker as its parent. Otherwise the next broker removes this file.
    eventually none_of_ours
    broker_start
    [ ! -e "$(place)/journal.new" ]
    agree
    gives_back
}
