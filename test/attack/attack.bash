# All attacks share this: a broker, an attacker, and an observer of another uid. The broker goes on answering the observer's requests.
. "$BATS_TEST_DIRNAME/../helper.bash"

REQUESTS=200
OBSERVED='{"runtime": "1ms", "period": "10ms"}' # Bob's spec

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all' 'RR rr 1-10 all'
    configure_rules "$ALICE RR max_utilization 10000" "$ALICE EDF max_utilization 0.4" "$BOB - max_utilization 0.5" "$CAROL - max_utilization 0.2"
    ATTACKERS=()
}

the_books() {
    rm -f "$SPOOL/state/current/books.json"
    kill -USR1 "$BROKER"
    eventually test -e "$SPOOL/state/current/books.json"
    cat "$SPOOL/state/current/books.json"
}
users_are() { [ "$(the_books | jq '.quiet | length')" = "$1" ]; }

# observe: prints Bob's times. Bob's process is real-time: otherwise its wait for a CPU beside the attackers would be measured.
observe() { chrt -f 1 setpriv --reuid $BOB --regid $BOB --groups "$GROUP" -- "$BATS_TEST_DIRNAME/observer" "$SPECS/$BOB" $REQUESTS "$OBSERVED"; }

# attack COMMAND...: runs a command as Alice, in the background.
attack() {
    become $ALICE "$@" >/dev/null 2>&1 3>&- &
    ATTACKERS+=("$!")
    echo "$!" >>"$WORK/pids"
}

# flood MODE...: floods the broker on each CPU, as fast as possible.
flood() {
    [ -x "$BATS_FILE_TMPDIR/flood" ] || cc -D_GNU_SOURCE -O2 -o "$BATS_FILE_TMPDIR/flood" "$BATS_TEST_DIRNAME/flood.c"
    as $ALICE mkdir -p "$SPECS/$ALICE"
    local mode
    for mode; do attack "$BATS_FILE_TMPDIR/flood" "$mode" "$SPECS/$ALICE"; done
}

attack_ends() {
    [ "${#ATTACKERS[@]}" -gt 0 ] || return 0
    kill -KILL "${ATTACKERS[@]}" 2>/dev/null || true
    wait "${ATTACKERS[@]}" 2>/dev/null || true
    ATTACKERS=()
}

# bob_is_answered_beside COMMAND...: starts an attack by this command. All of Bob's requests are granted meanwhile; the figures are printed.
bob_is_answered_beside() {
    local quiet attacked
    [ -s "$BATS_FILE_TMPDIR/quiet" ] || observe >"$BATS_FILE_TMPDIR/quiet"
    read -r -a quiet <"$BATS_FILE_TMPDIR/quiet"
    "$@"
    attacked=($(observe)) || { echo "${attacked[*]}"; return 1; }
    for pid in "${ATTACKERS[@]}"; do kill -0 "$pid"; done # the attackers have run until now
    attack_ends
    echo "# $*: p50 ${attacked[0]} us, p99 ${attacked[1]}, worst ${attacked[2]} of $REQUESTS; quiet ${quiet[*]}" >&3
}
