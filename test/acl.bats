# Who may reserve how much: acl.conf(5). Wishes of real uids, with and without accounts.
#
# The broker, and it alone, sees another account database: copies of /etc/passwd and /etc/group with these
# users, mounted over the files in a mount namespace of its own. Users act by number all the same.
load helper

ANN=20021 # rtfann: rtf and, as a supplementary group, rtfteam
BEN=20022 # rtfben: rtf and, as his primary group, rtfteam
CAT=20023 # rtfcat: rtf
DAN=20024 # rtfdan: not in rtf
TEAM=20050

prepare() {
    ACCOUNTS=$WORK/accounts
    mkdir "$ACCOUNTS"
    cp /etc/passwd /etc/group "$ACCOUNTS"
    printf '%s::/:/bin/sh\n' rtfann:x:$ANN:$ANN rtfben:x:$BEN:$TEAM rtfcat:x:$CAT:$CAT rtfdan:x:$DAN:$DAN >>"$ACCOUNTS/passwd"
    printf '%s\n' "rtf:x:$GROUP:rtfann,rtfben,rtfcat" "rtfteam:x:$TEAM:rtfann" >>"$ACCOUNTS/group"
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 1-60 all'
}

# broker [OPTION...]: helper.bash's broker_start with those accounts. exec keeps the pid.
broker() {
    # shellcheck disable=SC2016
    unshare --mount --propagation private sh -c '
        mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/group" /etc/group && shift && exec "$@"' sh "$ACCOUNTS" \
        "$RTF_LIBEXEC/rtf-brokerd" --foreground --spool "$SPOOL" --config "$CONFIG" --group "$GROUP" "$@" >>"$WORK/broker.out" 2>&1 3>&- &
    BROKER=$!
    echo "$BROKER" >>"$WORK/pids"
    eventually broker_serves || { cat "$WORK/broker.out" >&2; return 1; }
}

@test "10,000 random operations are answered as a model says, and leave every sum exact" {
    configure_plugins 'EDF edf - 0 partition=global threshold=0.9' 'RM rm 1-90 1 admission=necessary' 'FP fp 1-90 2' 'RR rr 1-90 3'
    broker
    "$RTF_SOURCE/test/acl-storm" --spool "$SPOOL" --config "$CONFIG" --etc "$ACCOUNTS" --broker "$BROKER" --steps 10000
}
