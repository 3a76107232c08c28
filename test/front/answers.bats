# contrib/answers.md: complaints of users of other tools, and the tests that keep the answers true. Tests without a better place are here.
load ../helper
load ../command
load front

prepare() { front_prepare; }

@test "every test that an answer names exists, and there are twenty answers" {
    cd "$RTF_SOURCE"
    [ "$(grep -cE '^\*\*[0-9]+\. ' contrib/answers.md)" -eq 20 ]
    count=0
    while IFS= read -r line; do
        file=${line%%: *} title=${line#*: }
        grep -qF "@test \"$title\" {" "$file" || { echo "$file has no test: $title" >&2; false; }
        count=$((count + 1))
    done < <(sed -n 's/^    \(test\/.*\.bats: .*\)/\1/p' contrib/answers.md)
    [ "$count" -ge 30 ]
}

@test "a user without real-time limits, who may gain no privileges, gets a reservation all the same" {
    broker_start
    # With the limits of a session or of a user's unit: RLIMIT_RTPRIO and RLIMIT_NICE 0, RLIMIT_RTTIME 0.
    run as $ALICE setpriv --no-new-privs --inh-caps=-all --bounding-set=-all prlimit --rtprio=0 --nice=0 --rttime=0 \
        "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 5ms -P 50ms -- chrt -p 0
    [ "$status" -eq 0 ]
    [[ $output == *SCHED_DEADLINE* ]]
    # Without rtf the user has no real-time scheduling.
    run as $ALICE prlimit --rtprio=0 chrt -f 5 true
    [ "$status" -ne 0 ]
}

@test "no installed file has capabilities, or is set-user-ID or set-group-ID" {
    [ -z "$(find "$RTF_STAGE/usr" -perm /6000)" ]
    command -v getcap >/dev/null || skip 'getcap is not here'
    [ -z "$(getcap -r "$RTF_STAGE/usr" 2>&1)" ]
}
