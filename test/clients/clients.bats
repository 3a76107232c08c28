# The clients in Go and Rust (contrib/go, contrib/rust): each takes the same steps against a real broker. Their compilers are large, so these tests are no part
# of the check: `make check-clients` runs them with go(1) and rustc(1) of the user's PATH.
load ../helper

prepare() {
    configure_plugins "EDF edf - all partition=global threshold=$(nproc --all | awk '{ printf "%.9f", 0.9 / $1 }')"
    configure_rules "$ALICE - max_utilization 4"
}
as_alice() { as $ALICE env USER=$ALICE RTF_SPOOL="$SPOOL" timeout 60 "$@"; }
nothing_is_left() { eventually finds_nothing "$SPECS/$ALICE" -mindepth 1; }

go_example() { (cd "$RTF_SOURCE/contrib/go" && HOME=$WORK GOFLAGS=-mod=mod "${GO:?}" build -o "$WORK/example" ./example); }
rust_example() {
    "${RUSTC:?}" --edition 2021 -D warnings --crate-name rtf --crate-type rlib --out-dir "$WORK" "$RTF_SOURCE/contrib/rust/src/lib.rs"
    "$RUSTC" --edition 2021 -D warnings --extern rtf="$WORK/librtf.rlib" -o "$WORK/example" "$RTF_SOURCE/contrib/rust/examples/periodic.rs"
}

declares_attaches_changes_detaches_and_releases() {
    broker_start
    run as_alice "$WORK/example"
    [ "$status" -eq 0 ] || { echo "$output" >&2; false; }
    [[ ${lines[0]} =~ ^refused:\ [a-z-]+,\ nearest\ [1-9][0-9]*$ ]] || { echo "$output" >&2; false; }
    [ "${lines[1]}" = 'EDF: 10000 us in 100000 us, policy 6' ] || { echo "$output" >&2; false; }
    [ "${lines[2]}" = 'changed: 12000 us, policy 6' ]
    [ "${lines[3]}" = 'detached: policy 0' ]
    [ "${lines[4]}" = 'released: policy 0' ]
    nothing_is_left
    broker_stop TERM
    run as_alice "$WORK/example"
    [ "$status" -eq 75 ]
    [[ $output == *'no broker runs'* ]] || { echo "$output" >&2; false; }
}
sees_the_end() {
    broker_start
    as_alice "$WORK/example" wait >"$WORK/out" 2>&1 3>&- &
    local example=$!
    eventually grep -qx waits "$WORK/out"
    rm "$SPECS/$ALICE/camera.json"
    wait "$example" || { cat "$WORK/out" >&2; false; }
    grep -qx 'the spec was removed, has expired or was revoked, policy 0' "$WORK/out" || { cat "$WORK/out" >&2; false; }
    nothing_is_left
}

@test "Go: declare, attach, change, detach and release" {
    go_example
    declares_attaches_changes_detaches_and_releases
}

@test "Go: a program sees the end of its reservation" {
    go_example
    sees_the_end
}

@test "Rust: declare, attach, change, detach and release" {
    rust_example
    declares_attaches_changes_detaches_and_releases
}

@test "Rust: a program sees the end of its reservation" {
    rust_example
    sees_the_end
}

@test "Rust: JSON is read and written" {
    "$RUSTC" --edition 2021 -D warnings --test -o "$WORK/json" "$RTF_SOURCE/contrib/rust/src/lib.rs"
    "$WORK/json" >&2
}
