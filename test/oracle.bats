# What the plugins admit, held against simulated schedules; `make oracle` does the same with more sets.
bats_require_minimum_version 1.5.0

setup_file() { # whatever the programs under test are built with, the oracle is built plainly
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$RTF_SOURCE" build/test/oracle </dev/null 3>&-
}

setup() {
    oracle=$RTF_SOURCE/build/test/oracle
    scratch=$(mktemp -d)
    ln -s "$BATS_TEST_DIRNAME/fixtures/plugins/over-admits" "$scratch/edf"
    ln -s "$BATS_TEST_DIRNAME/fixtures/plugins/over-admits" "$scratch/rm"
}

teardown() {
    rm -rf "$scratch"
}

@test "of 5,000 random task sets none is admitted that misses, and an exact test refuses none that never does" {
    "$oracle" --sets 5000 --seed 1 "$RTF_LIBEXEC/plugins" >"$scratch/table" || { cat "$scratch/table" >&2; false; }
    sed 's/^/# /' "$scratch/table" >&3
}

@test "a plugin that admits too much is found out, and what it admitted can be replayed" {
    run -1 --separate-stderr "$oracle" --sets 30 "$scratch"
    grep '^{' <<<"$output" >"$scratch/sets"
    for mode in 'edf density' 'rm hyperbolic'; do
        grep -q "\"mode\": \"$mode\", \"violation\": \"admitted, but misses\"" "$scratch/sets"
    done
    run -1 "$oracle" --replay "$scratch" <"$scratch/sets"
    [ "$(grep -c '^{' <<<"$output")" -eq "$(wc -l <"$scratch/sets")" ]
    run -0 "$oracle" --replay "$RTF_LIBEXEC/plugins" <"$scratch/sets"
}
