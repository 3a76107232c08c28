# Exit statuses of rtf's commands that are rare: a full disk, names that are taken, and who may not.
load ../helper
load ../command
load front

prepare() { front_prepare; }

# full BLOCKS COMMAND...: rtf, as Alice, where her directory is a file system of so many blocks, which has cam.json, and else is full but for one block.
full() {
    local blocks=$1
    shift
    # shellcheck disable=SC2016 # the other shell's
    unshare --mount --propagation private bash -euc 'own=$1 uid=$2 group=$3 blocks=$4 spool=$5 rtf=$6 work=$7
        shift 7
        cp "$own/cam.json" "$work/cam.json"
        mount -t tmpfs -o "size=${blocks}k,mode=2700,uid=$uid,gid=$group" none "$own"
        cp "$work/cam.json" "$own/cam.json"
        chown "$uid:$group" "$own/cam.json"
        dd if=/dev/zero of="$own/rest" bs=4096 status=none 2>/dev/null || true
        truncate -s -4096 "$own/rest"
        status=0
        setpriv --reuid "$uid" --regid "$uid" --groups "$group" env USER="$uid" "$rtf" --spool "$spool" "$@" || status=$?
        (cd "$own" && ls -A) >"$work/left"
        cmp "$own/cam.json" "$work/cam.json"
        exit "$status"' bash "$OWN" "$ALICE" "$GROUP" "$((blocks * 4))" "$SPOOL" "$RTF_BIN/rtf" "$WORK" "$@"
}
nothing_stays() { [ "$(paste -sd ' ' "$WORK/left")" = 'cam.json rest' ] || { cat "$WORK/left" >&2; return 1; }; }

# bats test_tags=turn:0
@test "74: the disk is full; what was there stays, and nothing else" {
    broker_start
    sleeper $ALICE
    first=$SLEEPER
    sleeper $ALICE
    silent rtf declare cam -T 2ms -P 20ms --attach "$first"
    # One block is left: the first spec has it, and the second one has none.
    fails 74 "rtf attach: cannot write $OWN/app-*.json: No space left on device" full 4 attach app "$first" "$SLEEPER" -T 1ms -P 20ms
    nothing_stays
    is_policy "$SLEEPER" other
    long=$(head -c 5000 /dev/zero | tr '\0' x)
    fails 74 "rtf declare: cannot write $OWN/dog.json: No space left on device" full 4 declare dog -T 1ms -P 20ms --comment "$long"
    nothing_stays
    fails 74 "rtf what-if: cannot write $OWN/what-if-*.json: No space left on device" full 4 what-if -T 1ms -P 20ms --comment "$long"
    nothing_stays
    fails 74 "rtf change: cannot write $OWN/cam.json: No space left on device" full 4 change cam comment="$long"
    nothing_stays
    chrt -r -p 5 "$SLEEPER"
    fails 74 "rtf adopt: cannot write $OWN/adopt-$SLEEPER.json: No space left on device" full 4 adopt "$SLEEPER" --comment "$long"
    nothing_stays
}

# bats test_tags=turn:1
@test "73: the name is taken; of several threads none is attached then" {
    broker_start
    sleeper $ALICE
    first=$SLEEPER
    sleeper $ALICE
    silent rtf declare "app-$SLEEPER" -T 1ms -P 20ms
    fails 73 "rtf attach: app-$SLEEPER exists already: 'rtf release app-$SLEEPER' ends it" rtf attach app "$first" "$SLEEPER" -T 1ms -P 20ms
    [ "$(ls "$OWN"/*.json)" = "$OWN/app-$SLEEPER.json" ]
    chrt -r -p 5 "$SLEEPER"
    fails 73 "rtf adopt: app-$SLEEPER exists already: *" rtf adopt "$SLEEPER" -n "app-$SLEEPER"
    # A name may be too long with the second number, too.
    long=$(printf 'n%.0s' $(seq $((63 - ${#first}))))
    fails 64 "rtf attach: $long-1000000000: a name is 1 to 64 of *" rtf attach "$long" "$first" 1000000000 -T 1ms -P 20ms
    [ "$(ls "$OWN"/*.json)" = "$OWN/app-$SLEEPER.json" ]
}

# bats test_tags=turn:2
@test "75 and 77: what cannot be adopted now, or may not; 65 and 77 of detach" {
    broker_start
    sleeper $BOB
    chrt -d --sched-runtime 12000000 --sched-period 20000000 -p 0 "$SLEEPER"
    fails 77 "rtf adopt: adopt-$SLEEPER: access refused: acl.conf:2: *" rtf_of $BOB adopt "$SLEEPER"
    configure_rules "$ALICE - max_utilization 4" "$BOB - max_utilization 4"
    broker_stop TERM
    broker_start
    full_up() { ! rtf declare "big$1" -T 10ms -P 20ms 2>/dev/null; }
    count=0
    until full_up $((count += 1)); do [ "$count" -lt 100 ]; done
    fails 75 "rtf adopt: adopt-$SLEEPER: EDF refused: *" rtf_of $BOB adopt "$SLEEPER"
    [ -z "$(ls "$SPECS/$BOB")" ]
    as $ALICE sh -c 'echo "{" >"$1/bad.json"' sh "$OWN"
    fails 65 "rtf detach: $OWN/bad.json: this is not one JSON object" rtf detach bad
    for command in 'detach big1' 'change big1 runtime=1ms' 'release big1' 'release --all' 'show big1' 'declare dog -T 1ms -P 20ms' 'attach big1 1' 'wait big1' plugins; do
        # shellcheck disable=SC2086 # words
        fails 77 'rtf*: you are not in group *' stranger $ALICE env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" $command
    done
}

# bats test_tags=turn:0
@test "74: standard output cannot be written, and nothing is left behind" {
    broker_start
    sleeper $ALICE
    silent rtf declare cam -T 2ms -P 20ms
    to_full() { # COMMAND WORD...
        local status=0
        rtf "$@" </dev/null >/dev/full 2>"$WORK/err" || status=$?
        [ "$status" -eq 74 ] && [[ $(<"$WORK/err") == "rtf $1: standard output cannot be written" ]] || { echo "$*: $status, $(<"$WORK/err")" >&2; return 1; }
    }
    to_full declare dog -T 1ms -P 20ms --json
    to_full change cam runtime=3ms --json
    to_full attach cam "$SLEEPER" --json
    to_full attach app "$SLEEPER" -T 1ms -P 20ms --json
    [ "$(ls "$OWN"/*.json "$OWN"/*.tid 2>/dev/null)" = "$OWN/cam.json" ]
    holds_two() { holds cam '.grant.runtime == 2000' 2>/dev/null; }
    eventually holds_two
    eventually is_policy "$SLEEPER" other
    for command in 'what-if -T 1ms -P 20ms' 'what-if -T 1ms -P 20ms --json' 'show cam' 'show cam --json' plugins 'plugins --json' 'log --help' 'log --version'; do
        # shellcheck disable=SC2086 # words
        to_full $command
    done
}
