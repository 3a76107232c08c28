# The tests of rtf's commands share this file: rtf runs as a user types it.
bats_require_minimum_version 1.5.0
# shellcheck shell=bash disable=SC2034

front_prepare() {
    configure_rules "$ALICE - max_utilization 4" "$BOB - max_utilization 0.5"
    OWN=$SPECS/$ALICE
}

# rtf COMMAND...: runs rtf as Alice, on the spool of this test. rtf_of UID COMMAND...: runs rtf as this user.
rtf_of() {
    local uid=$1
    shift
    as "$uid" env -u XDG_RUNTIME_DIR USER="$uid" "$RTF_BIN/rtf" --spool "$SPOOL" "$@"
}
rtf() { rtf_of "$ALICE" "$@"; }

# silent COMMAND...: the command succeeds and prints nothing.
silent() {
    local status=0
    "$@" </dev/null >"$WORK/out" 2>"$WORK/err" || status=$?
    [ "$status" -eq 0 ] && [ ! -s "$WORK/out" ] && [ ! -s "$WORK/err" ] && return 0
    printf 'status %s; said: %s\n' "$status" "$(cat "$WORK/out" "$WORK/err")" >&2
    return 1
}

# prints STATUS COMMAND...: the command exits with the status and prints only to standard output. $WORK/out has the output.
prints() {
    local expected=$1 status=0
    shift
    "$@" </dev/null >"$WORK/out" 2>"$WORK/err" || status=$?
    [ "$status" -eq "$expected" ] && [ -s "$WORK/out" ] && [ ! -s "$WORK/err" ] && return 0
    printf 'status %s, expected %s; said: %s\n' "$status" "$expected" "$(cat "$WORK/out" "$WORK/err")" >&2
    return 1
}

# out PATTERN: the output in $WORK/out matches the pattern.
out() {
    # shellcheck disable=SC2053 # the sentence is a pattern
    [[ $(<"$WORK/out") == $1 ]] || { printf 'printed: %s\n' "$(<"$WORK/out")" >&2; return 1; }
}

# lacks PATTERN FILE: no line of the file matches.
lacks() { ! grep -q -e "$1" "$2" || { cat "$2" >&2; return 1; }; }

# says EXPRESSION: the expression is true of the JSON output.
says() { jq -e "$1" "$WORK/out" >/dev/null || { cat "$WORK/out" >&2; return 1; }; }

# holds NAME EXPRESSION: the expression is true of this verdict of Alice's.
holds() { jq -e "$2" "$OWN/$1.verdict" >/dev/null || { cat "$OWN/$1.verdict" >&2; return 1; }; }
nothing_in() { [ -z "$(find "$1" -mindepth 1)" ]; }

# explains COMMAND: the command of rtf has --help and --version, and each option of its page.
explains() {
    local command=$1 section page
    section=$(awk -v name="$command" '$1 == name { print $2 }' "$RTF_LIBEXEC/front/commands")
    page=$RTF_SOURCE/man/rtf-$command.$section.scd
    prints 0 rtf "$command" --version
    out "rtf?$command [0-9]*"
    prints 0 rtf "$command" --help
    out "Usage: rtf?$command *"
    diff <(awk '/^# / { inside = $0 == "# OPTIONS" } inside && /^\*-/' "$page" | sed 's/\\//g' | grep -oE '\*--?[a-zA-Z?][a-z-]*' | tr -d '*' | sort -u) \
        <(grep -E '^ {1,8}-' "$WORK/out" | grep -oE '(^|[ ,])--?[a-zA-Z?][a-z-]*' | tr -d ' ,' | sort -u) >"$WORK/diff" ||
        { echo "< only on the page, > only in --help" >&2; cat "$WORK/diff" >&2; return 1; }
    run -64 rtf "$command" --no-such-option
    [[ $output == rtf?"$command: "*--no-such-option* ]]
}
