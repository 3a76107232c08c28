# What a command of ours says, and how fast: for the tests of programs that people call.

# fails STATUS PATTERN COMMAND...: with exactly one line on standard error, like the pattern, and no output.
fails() {
    local expected=$1 pattern=$2 status=0
    shift 2
    "$@" </dev/null >"$WORK/out" 2>"$WORK/err" || status=$?
    # shellcheck disable=SC2053 # it is a pattern
    [ "$status" -eq "$expected" ] && [ ! -s "$WORK/out" ] && [ "$(wc -l <"$WORK/err")" -eq 1 ] &&
        [[ $(<"$WORK/err") == $pattern ]] && return 0
    printf 'status %s, expected %s; said: %s\n' "$status" "$expected" "$(cat "$WORK/out" "$WORK/err")" >&2
    return 1
}

# takes MIN MAX COMMAND...: milliseconds.
takes() {
    local min=$1 max=$2 begin=${EPOCHREALTIME/./}
    shift 2
    "$@" || return 1
    TOOK=$(((${EPOCHREALTIME/./} - begin) / 1000))
    [ "$TOOK" -ge "$min" ] && [ "$TOOK" -lt $((max * PATIENCE)) ]
}

# at_once COMMAND...: in half a second. Other load of the machine can only make it slower: one of five will do.
at_once() {
    local try
    for try in 1 2 3 4 5; do
        TOOK=
        ! takes 0 500 "$@" || return 0
        [ -n "$TOOK" ] || return 1
    done
    echo "took $TOOK ms, the ${try}th time: $*" >&2
    return 1
}
