# Rare exit statuses of rtf's commands, after a full disk, a name that is taken, or a missing right.
load ../helper
load ../command
load front

prepare() { front_prepare; }

# full BLOCKS COMMAND...: runs rtf as Alice. Her directory is a file system of BLOCKS blocks with cam.json; one block is free.
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
@test "74: the disk is full; the files of before stay, and no others are left" {
    broker_start
    sleeper $ALICE
    first=$SLEEPER
    sleeper $ALICE
    silent rtf declare cam -T 2ms -P 20ms --attach "$first"
    # One block is free: the first spec takes this block, and there is none for the second spec.
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
    # If the second id is longer, only its name may be too long.
    long=$(printf 'n%.0s' $(seq $((63 - ${#first}))))
    fails 64 "rtf attach: $long-1000000000: a name must be 1 to 64 of *" rtf attach "$long" "$first" 1000000000 -T 1ms -P 20ms
    [ "$(ls "$OWN"/*.json)" = "$OWN/app-$SLEEPER.json" ]
}

# bats test_tags=turn:2
@test "75 and 77: a thread cannot be adopted now, or may not be; 65 and 77 of detach" {
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

@test "69: jq is not installed, and each command that needs it says so; --help goes without" {
    mkdir "$WORK/bin"
    ln -s /usr/bin/* "$WORK/bin"
    rm "$WORK/bin/jq"
    chmod a+x "$WORK"
    count=0
    for file in "$RTF_LIBEXEC"/front/rtf-*; do
        grep -q '/front\.sh"' "$file" && grep -qwE 'jq|query' "$file" || continue
        name=${file##*/rtf-}
        fails 69 "rtf $name: jq is not installed: install the package jq" as $ALICE env PATH="$WORK/bin" "$RTF_BIN/rtf" --spool "$SPOOL" "$name"
        prints 0 as $ALICE env PATH="$WORK/bin" "$RTF_BIN/rtf" "$name" --help
        count=$((count + 1))
    done
    [ "$count" -gt 3 ]
    fails 69 'rtf-invariants: jq is not installed: install the package jq' env PATH="$WORK/bin" "$RTF_LIBEXEC/rtf-invariants" --spool "$SPOOL"
}

# printing COMMAND: prints options that make COMMAND write to standard output, one list per line. Prints "-" if COMMAND writes there only with --help
# and --version.
printing() {
    case $1 in
    run) echo --dry-run -T 1ms -P 20ms ;;
    declare) echo dog -T 1ms -P 20ms --json ;;
    change) echo cam runtime=3ms --json ;;
    attach) echo cam "$SLEEPER" --json ;;
    adopt) echo "$RR" --dry-run ;;
    wait | show) echo cam ;;
    ls | plugins | log | history | metrics | rtf-brokers) echo '' ;;
    what-if) echo -T 1ms -P 20ms ;;
    learn) echo --for 200ms "$SLEEPER" ;;
    doctor) echo --config "$CONFIG" ;;
    acl) printf '%s\n' "--config $CONFIG check" "--config $CONFIG explain" "--config $CONFIG who" "--config $CONFIG check --json" "--config $CONFIG explain --json" "--config $CONFIG who --json" ;;
    muse) printf '%s\n' "marks $WORK/measured" "analyse $WORK/measured" help 'sweep --help' 'report --help' 'supply --help' ;;
    rtf-lint) echo --config "$CONFIG" ;;
    rtf-invariants) echo --spool "$SPOOL" ;;
    rtf-brokerd) echo --check --config "$CONFIG" ;;
    release | detach | every | preload | top | usage | adapt | trace | why | revoke | drain | reload | restart | resume | rtf-disk | rtf-net | rtf-probe | rtf-partition) echo - ;;
    *) return 1 ;;
    esac
}

# to_full STATUS COMMAND...: the command cannot write its output, and says so in one line.
to_full() {
    local expected=$1 status=0
    shift
    "$@" </dev/null >/dev/full 2>"$WORK/all" || status=$?
    grep -v '^rtf-invariants: foreign: ' "$WORK/all" >"$WORK/err" # without the lines about other processes' threads
    [ "$status" -eq "$expected" ] && [ "$(wc -l <"$WORK/err")" -eq 1 ] && [[ $(<"$WORK/err") =~ ^rtf[a-z\ -]*:\ .*(written|No\ space\ left) ]] && return 0
    echo "${*}: $status, $(<"$WORK/err")" >&2
    return 1
}
unwritten() { case $1 in run | every | preload) echo 125 ;; *) echo 74 ;; esac; }

# each_to_full NAME PROGRAM...
each_to_full() {
    local name=$1 words
    shift
    to_full "$(unwritten "$name")" "$@" --help && to_full "$(unwritten "$name")" "$@" --version && words=$(printing "$name") || return 1
    while IFS= read -r words; do
        # shellcheck disable=SC2086 # words
        [ "$words" = - ] || to_full "$(unwritten "$name")" "$@" $words || return 1
    done <<<"$words"
}

@test "74: each command and each program for administrators says that its output cannot be written" {
    configure_rules "$ALICE - max_utilization 4" '- - max_utilization 50' # rtf-lint warns of this line
    broker_start
    sleeper $ALICE
    RR=$SLEEPER
    chrt -r -p 5 "$RR"
    sleeper $ALICE
    silent rtf declare cam -T 2ms -P 20ms
    rtf log >"$WORK/out" 2>&1 # verdicts are kept for the user from now on
    echo '{"global": {"duration": "1s"}, "threads": {"a": {"phases": {"c0": {"loops": 1000}}, "analysis": {"supply": true}}}}' >"$WORK/e.json"
    seq 0 99 | awk '{ print "1," $1 * 1000 ",0," $1 }' >"$WORK/marks.csv"
    "$RTF_BIN/rtf" muse import "$WORK/e.json" "$WORK/marks.csv" -o "$WORK/measured" >"$WORK/out"
    chown -R $ALICE "$WORK/measured"
    chmod a+x "$WORK"
    count=0
    while read -r name section _; do
        if [ "$section" = 8 ]; then each_to_full "$name" "$RTF_BIN/rtf" --spool "$SPOOL" "$name"; else each_to_full "$name" rtf "$name"; fi
        count=$((count + 1))
    done <"$RTF_LIBEXEC/front/commands"
    rm "$OWN/cam.verdict" # rtf-invariants finds the difference
    for name in $(sed -n 's/^SBIN = //p' "$RTF_SOURCE/Makefile"); do
        each_to_full "$name" "$RTF_LIBEXEC/$name"
        count=$((count + 1))
    done
    [ "$count" -ge 30 ]
    [ "$(ls "$OWN"/*.json "$OWN"/*.tid 2>/dev/null)" = "$OWN/cam.json" ]
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
    to_nobody() { # COMMAND WORD...: writes to a pipe without a reader
        local status=0
        exec 7> >(:)
        wait "$!"
        as $ALICE env --default-signal=PIPE USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" "$@" </dev/null >&7 2>"$WORK/err" || status=$?
        exec 7>&-
        [ "$status" -eq 141 ] && [ ! -s "$WORK/err" ] || { echo "$*: $status, $(<"$WORK/err")" >&2; return 1; }
    }
    to_nobody declare dog -T 1ms -P 20ms --json
    to_nobody change cam runtime=3ms --json
    to_nobody attach cam "$SLEEPER" --json
    to_nobody attach app "$SLEEPER" -T 1ms -P 20ms --json
    [ "$(ls "$OWN"/*.json "$OWN"/*.tid 2>/dev/null)" = "$OWN/cam.json" ]
    eventually holds_two
    eventually is_policy "$SLEEPER" other
    for command in 'what-if -T 1ms -P 20ms' 'what-if -T 1ms -P 20ms --json' 'show cam' 'show cam --json' plugins 'plugins --json' 'log --help' 'log --version'; do
        # shellcheck disable=SC2086 # words
        to_full $command
    done
}
