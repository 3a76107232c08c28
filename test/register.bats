# rtf-brokers(8): root's tools find a broker by a lock that only root can hold, and a broker leaves no entry behind.
bats_require_minimum_version 1.5.0
load helper
load command

brokers() { "$RTF_LIBEXEC/rtf-brokers" "$@"; }
ours() { brokers | grep -F "	$SPOOL	" || true; }
entries() { local one; for one in /run/rtf/brokers/*; do grep -qF "$SPOOL" "$one" 2>/dev/null && echo "$one"; done; true; }
is_listed() { [ "$(ours)" = "$1" ]; }
has_no_entry() { [ -z "$(entries)" ]; }

@test "a broker is listed with its process, spool and configuration while it runs" {
    broker_start
    is_listed "$BROKER	$SPOOL	$CONFIG"
    [ "$(brokers --spool "$SPOOL")" = "$BROKER	$SPOOL	$CONFIG" ]
    no grep -qF "$SPOOL" <(brokers --except "$BROKER")
    [ "$(stat -c '%u %a' /run/rtf/brokers)" = '0 700' ]
    [ "$(brokers --journals --spool "$SPOOL" | head -n 1)" = "$(head -n 1 "$SPOOL/state/current/journal")" ]
    broker_stop TERM
    is_listed ''
    has_no_entry
    [ -z "$(brokers --spool "$SPOOL")" ]
}

@test "a path with a tab and a line end in it stays one field of one line" {
    SPOOL=$WORK/'a	b
c\d'
    broker_start
    line=$(brokers --spool "$SPOOL")
    [ "$line" = "$BROKER	$WORK/a\\0011b\\0012c\\0134d	$CONFIG" ]
    [ "$(printf %b "$(cut -f 2 <<<"$line")")" = "$SPOOL" ]
}

@test "a killed broker leaves no entry; a broker that is killed with its launcher leaves an entry until the next look" {
    broker_start
    broker_stop KILL
    eventually has_no_entry
    broker_start
    child=$(launcher)
    kill -STOP "$child"
    broker_stop KILL
    kill -KILL "$child"
    is_listed '' # this look removes the entry, unless the look of a broker of another lane has done so
    has_no_entry
    broker_start
    child=$(launcher)
    kill -STOP "$child"
    broker_stop KILL
    kill -KILL "$child"
    eventually broker_start
    is_listed "$BROKER	$SPOOL	$CONFIG"
    [ "$(entries | wc -l)" -eq 1 ]
}

@test "a broker that cannot write its entry in its spool says so" {
    broker_start
    broker_stop TERM
    rm "$SPOOL/state/broker"
    mkdir "$SPOOL/state/broker"
    broker_start
    eventually grep -q "root's tools may not find this broker: .*: Is a directory" "$EVENTS"
}

@test "only root may look, and wrong usage and a full disk are told" {
    fails 77 'rtf-brokers: only root may read the register' as "$ALICE" "$RTF_LIBEXEC/rtf-brokers"
    run -64 brokers --except none
    run -64 brokers word
    broker_start
    run -74 sh -c '"$1/rtf-brokers" >/dev/full' sh "$RTF_LIBEXEC"
}

# faked: starts a process of root's with the name rtf-brokerd that has a user's files open. su(1) is such a process when a user runs it by a link of
# this name.
faked() {
    cp /bin/sleep "$WORK/rtf-brokerd"
    mkfifo "$WORK/journal"
    chown "$ALICE" "$WORK/journal"
    mkdir -p "$WORK/theirs/state"
    : >"$WORK/theirs/state/lock"
    chown -R "$ALICE" "$WORK/theirs"
    "$WORK/rtf-brokerd" "$SLEEPS" 5<>"$WORK/journal" 6<"$WORK/theirs/state/lock" 7<"$SPOOL/specs" 3>&- &
    FAKED=$!
    echo "$FAKED" >>"$WORK/pids"
    eventually is_program "$FAKED" rtf-brokerd
}

@test "a process with a broker's name and a user's FIFO called journal is nothing to root's tools" {
    broker_start
    faked
    timeout 60 "$RTF_LIBEXEC/rtf-invariants" --spool "$SPOOL" 2>/dev/null
    timeout 60 "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG" >"$WORK/said" || [ $? -eq 1 ]
    no grep -q 'drifted' "$WORK/said"
    no grep -q "^$FAKED	" <(brokers)
}

# init: runs the init script for the broker that was just started.
init() { grep -v '^PATH=\|^LIBEXEC=\|^SPOOL=\|default/rtf' "$RTF_SOURCE/contrib/init/rtf" | sed "s|^set -eu|&\nLIBEXEC=$RTF_LIBEXEC SPOOL=$SPOOL|"; }

@test "no tool looks at a user's descriptors, nor takes a user's spool for one of root's" {
    broker_start
    faked
    [ -z "$(brokers --spool "$WORK/theirs")" ]
    init >"$WORK/init"
    for one in "$RTF_LIBEXEC/rtf-invariants --spool $SPOOL" "$RTF_LIBEXEC/front/rtf-doctor --spool $SPOOL" "sh $WORK/init status"; do
        # shellcheck disable=SC2086 # words
        timeout 60 strace -f -e trace=file -o "$WORK/trace" $one >/dev/null 2>&1 || true
        no grep "/proc/$FAKED/fd" "$WORK/trace"
        no grep "$WORK/journal" "$WORK/trace"
    done
}

# bats test_tags=turn:0
@test "the init script is not held up by a process with a broker's name" {
    broker_start
    faked
    init >"$WORK/init"
    run -0 timeout 60 sh "$WORK/init" status
    [ "$output" = "rtf-brokerd is running ($BROKER)" ]
    timeout 60 sh "$WORK/init" stop
    BROKER=
    kill -0 "$FAKED"
    run -3 timeout 60 sh "$WORK/init" status
}
