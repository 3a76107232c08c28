# Attacks of a user with an own cgroup freezer (version 1, where a user may move each process with the user's own uid).
load attack

FREEZER=/sys/fs/cgroup/freezer

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all enforce=runtime' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 1" "$BOB - max_utilization 0.5"
    ATTACKERS=()
    GROUP_OF_ICE=$FREEZER/rtf-test-$$
    [ -e "$FREEZER/cgroup.procs" ] || skip 'no freezer of version 1'
    mkdir "$GROUP_OF_ICE" 2>/dev/null || skip 'no group can be made in the freezer'
    chown $ALICE "$GROUP_OF_ICE" "$GROUP_OF_ICE"/*
}

tidy() {
    [ -d "$GROUP_OF_ICE" ] || return 0
    thaw
    if [ -n "$BROKER" ]; then broker_stop TERM; fi
    local pid
    while read -r pid; do echo "$pid" >"$FREEZER/cgroup.procs" || true; done <"$GROUP_OF_ICE/cgroup.procs"
    eventually rmdir "$GROUP_OF_ICE" 2>/dev/null
}

puts_on_ice() { as $ALICE sh -c 'echo "$2" >"$1/cgroup.procs"' sh "$GROUP_OF_ICE" "$1"; }
freeze() { as $ALICE sh -c 'echo FROZEN >"$1/freezer.state"' sh "$GROUP_OF_ICE"; eventually is_frozen; }
is_frozen() { [ "$(cat "$GROUP_OF_ICE/freezer.state")" = FROZEN ]; }
thaw() { echo THAWED >"$GROUP_OF_ICE/freezer.state"; }

@test "a frozen thread is attached and detached as any other, also one that spins" {
    broker_start
    sleeper $ALICE
    hog $ALICE
    for one in "$SLEEPER" "$HOG"; do
        puts_on_ice "$one"
        freeze
        spec $ALICE cam "{\"runtime\": \"2ms\", \"period\": \"20ms\", \"plugin\": \"EDF\", \"attach\": $one}" >/dev/null
        eventually is_policy "$one" deadline
        as $ALICE rm "$SPECS/$ALICE/cam.json"
        eventually is_policy "$one" other
        thaw
        spec $ALICE cam "{\"runtime\": \"2ms\", \"period\": \"20ms\", \"plugin\": \"FP\", \"priority\": 15, \"attach\": $one}" >/dev/null
        eventually is_policy "$one" fifo
        freeze
        "$RTF_BIN/rtf" --spool "$SPOOL" revoke $ALICE
        is_policy "$one" other
        thaw
    done
}

@test "a reader cannot be put on ice by its user" {
    broker_start
    spec $ALICE cam '{"priority": 2, "plugin": "RR"}' >/dev/null
    no puts_on_ice "$(helpers rtf-reader)" 2>/dev/null # the reader has the user's uid only for access to files
    [ ! -s "$GROUP_OF_ICE/cgroup.procs" ]
}
