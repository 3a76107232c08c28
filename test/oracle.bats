# bats file_tags=lane:compute
# The plugins' admission, compared with simulated schedules; `make oracle` does the same with more
# sets.
bats_require_minimum_version 1.5.0

setup_file() { # the oracle is built without sanitizers, even if the tested programs have them
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$RTF_SOURCE" build/test/oracle </dev/null 3>&-
}

setup() {
    oracle=$RTF_SOURCE/build/test/oracle
    scratch=$(mktemp -d)
    ln -s "$BATS_TEST_DIRNAME/fixtures/plugins/always" "$scratch/edf"
    ln -s "$BATS_TEST_DIRNAME/fixtures/plugins/always" "$scratch/rm"
}

teardown() {
    rm -rf "$scratch"
}

# finds ANSWER VIOLATION MODE...: plugins that always give this answer are found in these modes and in no others, and a
# replay of the output finds the same
finds() {
    local answer=$1 violation=$2
    shift 2
    ANSWER=$answer run -1 --separate-stderr "$oracle" --sets 100 "$scratch"
    grep '^{' <<<"$output" >"$scratch/sets"
    [ "$(jq -r .mode "$scratch/sets" | sort -u)" = "$(printf '%s\n' "$@" | sort)" ]
    [ "$(jq -r .violation "$scratch/sets" | sort -u)" = "$violation" ]
    ANSWER=$answer run -1 "$oracle" --replay "$scratch" <"$scratch/sets"
    diff <(grep '^{' <<<"$output" | jq -c '{mode, violation, miss}') <(jq -c '{mode, violation, miss}' "$scratch/sets")
    run -0 "$oracle" --replay "$RTF_LIBEXEC/plugins" <"$scratch/sets"
}

exact=('edf demand' 'rm rta' 'edf demand + rm rta' 'edf demand + rm rta + rm rta' 'edf demand, supply' 'rm rta, supply' 'edf demand + rm rta, supply'
    'edf demand, blocking' 'rm rta, blocking' 'edf demand + rm rta, blocking' 'edf demand, blocking, supply' 'rm rta, blocking, supply')
sufficient=('edf density' 'edf demand, 2 CPUs' 'edf gfb, 2 CPUs' 'edf gfb, 4 CPUs' 'rm liu-layland' 'rm hyperbolic'
    'rm rta, 3 levels' 'rm rta, 2 CPUs' 'edf density, overruns' 'edf demand, overruns' 'edf demand, 2 CPUs, overruns'
    'edf gfb, 2 CPUs, overruns' 'edf gfb, 4 CPUs, overruns' 'edf demand, gaps in supply' 'rm rta, gaps in supply' 'edf + rm, gaps in supply')

# bats test_tags=turn:0
@test "of 5,000 random task sets, no admitted set misses a deadline, and an exact test refuses no set that never misses" {
    "$oracle" --sets 5000 --seed 1 "$RTF_LIBEXEC/plugins" >"$scratch/table" || { cat "$scratch/table" >&2; false; }
    sed 's/^/# /' "$scratch/table" >&3
}

@test "a plugin that admits too much is found out" {
    finds ok 'admitted, but misses' "${exact[@]}" "${sufficient[@]}"
}

@test "an exact plugin that admits too little is found out" {
    finds no 'never misses, but refused' "${exact[@]}"
}
