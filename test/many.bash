# Many specs at once, because one by one they would take a thousand processes.

# put_all UID NAME JSON [NAME JSON]...: puts the specs in place, in this order.
put_all() {
    local uid=$1
    shift
    as "$uid" sh -c 'mkdir -p "$1" && cd "$1" && shift && while [ $# -gt 0 ]; do
        printf "%s\n" "$2" >.new && mv .new "$1.json" && shift 2 || exit; done' sh "$SPECS/$uid" "$@"
}

# verdicts UID NAME...: prints each verdict on one line, as `verdict` does.
verdicts() {
    local uid=$1
    shift
    as "$uid" env USER="$uid" sh -c 'wait=$1 spool=$2 && shift 2 && for name; do
        "$wait" --spool "$spool" --timeout 10s "$name" || true; done' sh "$RTF_BIN/rtf-wait" "$SPOOL" "$@"
}

# take_back UID NAME...: removes these specs, and returns when they are released.
take_back() {
    local uid=$1 name
    shift
    for name; do rm "$SPECS/$uid/$name.json"; done
    for name; do eventually test ! -e "$SPECS/$uid/$name.verdict"; done
}
