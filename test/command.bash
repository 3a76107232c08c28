# The output of a command of rtf, and its speed: for the tests of programs that users call.

# fails STATUS PATTERN COMMAND...: the command exits with the status, prints one line on standard error that matches the pattern, and nothing else.
fails() {
    local expected=$1 pattern=$2 status=0
    shift 2
    "$@" </dev/null >"$WORK/out" 2>"$WORK/err" || status=$?
    # shellcheck disable=SC2053 # the sentence is a pattern
    [ "$status" -eq "$expected" ] && [ ! -s "$WORK/out" ] && [ "$(wc -l <"$WORK/err")" -eq 1 ] &&
        [[ $(<"$WORK/err") == $pattern ]] && return 0
    printf 'status %s, expected %s; said: %s\n' "$status" "$expected" "$(cat "$WORK/out" "$WORK/err")" >&2
    return 1
}

# takes MIN MAX COMMAND...: the command takes so many milliseconds.
takes() {
    local min=$1 max=$2 begin=${EPOCHREALTIME/./}
    shift 2
    "$@" || return 1
    TOOK=$(((${EPOCHREALTIME/./} - begin) / 1000))
    [ "$TOOK" -ge "$min" ] && [ "$TOOK" -lt $((max * PATIENCE)) ]
}

# at_once COMMAND...: the command ends in half a second, in one of five tries. Other load of the machine only makes the command slower.
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
