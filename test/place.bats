# Where the journal is: in memory, found again after a crash, a move, an upgrade; and nothing of it stays behind.
load helper

cam='{"priority": 12, "plugin": "FP"}'

prepare() {
    configure_plugins 'FP fp 11-20 all'
    configure_rules "$ALICE - max_utilization 100"
    MEMORY=$(mktemp -d /dev/shm/rtf-test.XXXXXX)
    RTF_STATE=$MEMORY
}
tidy() {
    if [ -n "$BROKER" ]; then broker_stop TERM; fi
    if [ -n "${SECOND:-}" ]; then kill "$SECOND" 2>/dev/null || true; wait "$SECOND" 2>/dev/null || true; fi
    rm -rf "$MEMORY"
    [ -z "${DISK:-}" ] || { umount -q "$DISK" || true; rmdir "$DISK"; }
}
# on_disk COMMAND...: runs the command where /run is a directory on a disk. Where / is in memory, the disk is a file system of the test's own.
on_disk() {
    DISK=$(mktemp -d /var/tmp/rtf-test.XXXXXX)
    [[ $(stat -f -c %T "$DISK") != @(tmpfs|ramfs) ]] || { truncate -s 4M "$WORK/disk" && mkfs.ext4 -q "$WORK/disk" && mount -o loop "$WORK/disk" "$DISK"; }
    unshare --mount sh -c 'mount --bind "$1" /run && shift && exec "$@"' sh "$DISK" "$@" >>"$WORK/broker.out" 2>&1 3>&- &
}

place() { readlink "$SPOOL/state/current"; }
broker_dies() {
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    BROKER=
}
# holds: a thread of Alice's, in $SLEEPER, with a grant
holds() {
    sleeper $ALICE
    spec $ALICE cam "$cam" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    is_policy "$SLEEPER" fifo
}
# gives_back: the books know what the thread was
gives_back() {
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_policy "$SLEEPER" other
}
agree() { "$RTF_LIBEXEC/rtf-invariants" --spool "$SPOOL"; }

@test "what is in force is written down in memory, and is there after a crash" {
    broker_start
    [[ $(place) =~ ^$MEMORY/[0-9a-f]{16}$ ]]
    [ "$(stat -c '%U %a' "$(place)")" = 'root 700' ]
    first=$(place)
    holds
    grep -q '^name=cam$' "$(place)/journal"
    [ ! -e "$SPOOL/state/journal" ]
    [ "$(cd "$SPOOL/state" && echo *)" = 'broker current lock' ]
    agree
    broker_dies
    broker_start
    [ "$(place)" = "$first" ]
    agree
    gives_back
}

@test "by default it is beneath /run/rtf, if that is in memory" {
    unshare --mount sh -c 'mount -t tmpfs none /run && exec "$@"' sh \
        "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
    [[ $(place) =~ ^/run/rtf/[0-9a-f]{16}$ ]]
    [ -s "/proc/$BROKER/root$(place)/journal" ]
    [ ! -e "$SPOOL/state/journal" ]
    run jq -r 'select(.decision == "warning") | .reason' "$EVENTS"
    [[ $output != *journal* ]]
}

@test "where /run is no memory it is in state/, and the log says so" {
    on_disk "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
    [ "$(place)" = . ]
    [ -s "$SPOOL/state/journal" ]
    eventually grep -q 'the journal is in state/, and the broker may have to wait for its disk: /run/rtf: it is not in memory' "$EVENTS"
}

@test "what an older broker left in force in state/ is taken up, and goes on in memory" {
    broker_start
    holds
    broker_stop INT
    mv "$(place)/journal" "$SPOOL/state/journal"
    rm -r "$(place)" "$SPOOL/state/current"
    broker_start
    is_policy "$SLEEPER" fifo
    [ ! -e "$SPOOL/state/journal" ]
    agree
    gives_back
}

@test "a start that fails has moved nothing" {
    broker_start
    holds
    broker_dies
    mv "$(place)/journal" "$SPOOL/state/journal"
    rm -r "$(place)" "$SPOOL/state/current"
    cp "$SPOOL/state/journal" "$WORK/journal"
    sed -i '0,/^record=reservation/s//rec\x01rd/' "$SPOOL/state/journal"
    run timeout 10 "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" --state "$MEMORY"
    [ "$status" -eq 71 ]
    [ -e "$SPOOL/state/journal" ]
    cp "$WORK/journal" "$SPOOL/state/journal"
    broker_start
    agree
    gives_back
    broker_stop TERM
    [ "$(ls "$MEMORY")" = '' ]
}

@test "another directory, and back to the spool: each takes up what was in force" {
    broker_start
    holds
    broker_stop INT
    mkdir "$MEMORY/other"
    RTF_STATE=$MEMORY/other
    broker_start
    [[ $(place) == "$MEMORY/other/"* ]]
    agree
    broker_stop INT
    # As where /run has become unwritable.
    on_disk "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP"
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves
    agree
    broker_dies
    broker_start
    [[ $(place) == "$MEMORY/other/"* ]]
    agree
    gives_back
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

@test "a spool that was moved to another file system takes up what was in force" {
    broker_start
    holds
    broker_stop INT
    mkdir "$MEMORY/new"
    chmod 755 "$MEMORY" "$MEMORY/new"
    cp -a "$SPOOL" "$MEMORY/new/spool"
    rm -r "$SPOOL"
    SPOOL=$MEMORY/new/spool SPECS=$MEMORY/new/spool/specs
    broker_start
    agree
    gives_back
}

@test "a copy of a spool gets a directory of its own, also while the first is served" {
    broker_start
    holds
    cp -a "$SPOOL" "$WORK/copy"
    [ "$(readlink "$WORK/copy/state/current")" = "$(place)" ]
    "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$WORK/copy" --config "$CONFIG" --group "$GROUP" --state "$MEMORY" >"$WORK/second" 2>&1 3>&- &
    SECOND=$!
    eventually grep -q '"started"' "$WORK/copy/log/events.ndjson"
    eventually grep -q "spool $WORK/copy" "$WORK/copy/log/events.ndjson"
    [ "$(readlink "$WORK/copy/state/current")" != "$(place)" ]
    is_policy "$SLEEPER" fifo
    kill "$SECOND"
    wait "$SECOND"
    SECOND=
    broker_dies
    broker_start
    agree
    gives_back
}

@test "where nothing is in force, nothing is left; else it is there for the next start" {
    broker_start
    first=$(place)
    holds
    broker_stop TERM
    [ -s "$first/journal" ]
    broker_start
    gives_back
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    broker_stop TERM
    [ "$(ls "$MEMORY")" = '' ]
    broker_start
    [ "$(place)" = "$first" ] # the link is not written anew
}

@test "what a spool that is gone has left is removed by a later broker, after a day" {
    broker_start
    holds
    first=$(place)
    broker_dies
    eventually none_of_ours
    mv "$SPOOL" "$WORK/away"
    broker_start
    [ -e "$first/journal" ]
    broker_stop TERM
    touch -d '-2 days' "$first/journal"
    broker_start
    [ ! -e "$first" ]
    chrt -o -p 0 "$SLEEPER"
}

@test "only where root alone can write" {
    chmod 777 "$MEMORY"
    run timeout 10 "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" --state "$MEMORY"
    [ "$status" -eq 69 ]
    [[ $output == *"$MEMORY: it must be a directory that only root can write to"* ]]
    chmod 755 "$MEMORY"
    broker_start
    first=$(place)
    broker_stop TERM
    # Somebody else's directory, or a link to one, of that name.
    mkdir "$WORK/evil"
    ln -s "$WORK/evil" "$first"
    broker_start
    [ "$(place)" != "$first" ]
    [ "$(ls "$WORK/evil")" = '' ]
    rm "$first"
    broker_stop TERM
    mkdir "$first" && chown $ALICE "$first"
    broker_start
    [ "$(stat -c %u "$(place)")" = 0 ]
}
