# All faults share this: operations on one spec and its thread, each with its conditions before and after, whatever dies in between; and
# rtf-invariants(8), which must find nothing then.
#
# FAULT_STEP: tries only each so many-th fault, from FAULT_FIRST on, which changes each day; 1 tries all (make faults).
. "$BATS_TEST_DIRNAME/../helper.bash"

STEP=${FAULT_STEP:-41} FIRST=${FAULT_FIRST:-$((10#$(date +%j)))}
ORDINARY="other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
CAM='{"priority": 12, "plugin": "FP"}' OTHER='{"priority": 14, "plugin": "FP"}'

prepare() {
    configure_plugins 'FP fp 11-20 all' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 100"
}

# The spec claims more than CPU time: all claims are granted, or none.
is_a_transaction() {
    configure_plugins 'FP fp 11-20 all' 'RR rr 1-10 all' "CAMERA $RTF_SOURCE/contrib/plugins/units - - resource=units capacity=3"
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 100" "$ALICE CAMERA max_amount 3"
    CAM='{"priority": 12, "plugin": "FP", "units": {"count": 2}}' OTHER='{"priority": 14, "plugin": "FP", "units": {"count": 3}}'
}

# The spec also claims a kept resource: has_share sees each step there, too.
claims_more() { # PLUGIN RULE CLAIM OTHER
    configure_plugins 'FP fp 11-20 all' 'RR rr 1-10 all' "$1"
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 100" "$ALICE $2"
    CAM="{\"priority\": 12, \"plugin\": \"FP\", $3}" OTHER="{\"priority\": 14, \"plugin\": \"FP\", $4}"
}
# has_share [SHARE [attached]]: the kernel has the share of CAM (first), or of OTHER (second); attached: with its thread
has_share() { :; }
desired() { :; } # desired raised|lowered: true if the grant has all that the spec desires, or less; some specs replace this

# A claim on a network: the share is in the classes of a real interface.
is_on_a_wire() {
    . "$BATS_TEST_DIRNAME/../wire.bash"
    wire_make
    claims_more 'NET net - - resource=network interface=rtf0 rate=3553kbit' 'NET max_amount 1000000' '"network": {"bytes": 1024, "period": "20ms"}' '"network": {"bytes": 512, "period": "20ms"}'
    has_share() {
        case ${1:-} in
        first) [ "$(classes | cut -d ' ' -f 2)" = 426400bit ] ;;
        second) [ "$(classes | cut -d ' ' -f 2)" = 221600bit ] ;;
        *) has_classes 0 ;;
        esac
    }
}

# A claim on a disk: the share is in the groups of a real disk and their members.
is_on_a_disk() {
    . "$BATS_TEST_DIRNAME/../slow-disk.bash"
    truncate -s 64M "$WORK/image"
    disk_of "$WORK/image"
    tidy() { disk_tidy; }
    claims_more "DISK disk - - resource=disk device=$DISK throughput=5800kB" 'DISK max_bandwidth 100MB' '"disk": {"bytes": "32KiB", "period": "50ms", "block": "32KiB"}' \
        '"disk": {"bytes": "16KiB", "period": "50ms", "block": "16KiB"}'
    has_share() {
        [ "$(scheduler)" = bfq ] || return 1
        case ${1:-} in
        first) has_groups 1 && [ "$(bounds "$(groups_of_ours)")" = '819201 35 112' ] ;;
        second) has_groups 1 && [ "$(bounds "$(groups_of_ours)")" = '409601 35 56' ] ;;
        *) has_groups 0 ;;
        esac || return 1
        if [ "${2:-}" = attached ]; then [[ $(group_of "$SLEEPER") == /rtf-disk/c* ]]; else [ "$(group_of "$SLEEPER")" = "$(group_of $$)" ]; fi
    }
}

# is_first_on_a_disk: like is_on_a_disk, with an I/O priority, for which the kernel has no figures.
is_first_on_a_disk() {
    is_on_a_disk
    sed -i '/^DISK/s/$/ enforce=ioprio/' "$CONFIG/plugins.conf"
    ionice -c 2 -n 2 -p $$ $BASHPID # also for all processes that this shell starts
    has_share() {
        [ "$(scheduler)" = bfq ] && [ "$(ionice -p "$SLEEPER")" = "$([ "${2:-}" = attached ] && echo 'realtime: prio 7' || echo 'best-effort: prio 2')" ]
    }
}
# The spec has a minimum and desires more: it has all while no other spec needs it (raised), and less while Bob has NEED (lowered). has_share then looks
# at Alice's thread only.
desires_time() {
    configure_plugins 'EDF edf - 0 partition=unthrottled threshold=0.5' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 100"
    CAM='{"plugin": "EDF", "runtime": "2ms", "desired_runtime": "4ms", "period": "10ms"}' NEED='{"plugin": "EDF", "runtime": "3ms", "period": "10ms"}'
    desired() {
        case $1 in
        raised) [ "$(field .grant.accepted_runtime "$(cat "$SPECS/$ALICE/cam.verdict")")" = 4000 ] && [[ $(kernel "$SLEEPER") == 'deadline 0 nice=0 4000/10000/10000 '*' reset=1' ]] ;;
        lowered) [ "$(field .grant.accepted_runtime "$(cat "$SPECS/$ALICE/cam.verdict")")" = 2000 ] && [[ $(kernel "$SLEEPER") == 'deadline 0 nice=0 2000/10000/10000 '*' reset=1' ]] ;;
        esac
    }
}
desires_of_a_wire() {
    is_on_a_wire
    desires_more NET '"network": {"bytes": 1024, "period": "20ms", "desired_bytes": 8000}' '{"network": {"bytes": 5000, "period": "20ms"}}'
    desired() {
        case $1 in
        raised) has_bytes 8000 && [ "$(classes | cut -d ' ' -f 2)" = 3300Kbit ] ;;
        lowered) has_bytes 3322 && [ "$(classes | cut -d ' ' -f 2 | sort | paste -sd ' ')" = '1379Kbit 2067Kbit' ] ;;
        esac
    }
    has_share() { has_classes 0; }
}
desires_of_a_disk() {
    is_on_a_disk
    desires_more DISK '"disk": {"bytes": "32KiB", "period": "50ms", "block": "32KiB", "desired_bytes": "192KiB"}' '{"disk": {"bytes": "160KiB", "period": "50ms", "block": "32KiB"}}'
    desired() {
        case $1 in
        raised) has_bytes 196608 && has_groups 1 && [ "$(bounds "$(group_of "$SLEEPER")")" = '4915201 160 677' ] ;;
        lowered) has_bytes 65536 && has_groups 2 && [ "$(bounds "$(group_of "$SLEEPER")")" = '1638401 60 225' ] ;;
        esac
    }
    has_share() { has_groups 0; }
}
desires_more() { # LINE CLAIM NEED
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 100" "- $1 max_bandwidth 100MB"
    CAM="{\"priority\": 12, \"plugin\": \"FP\", $2}" NEED=$3
}
has_bytes() { [ "$(jq '.grant.claims[0].accepted_bytes' "$SPECS/$ALICE/cam.verdict")" = "$1" ]; }

# sample COUNT STEP: prints which of COUNT faults are tried, counted from 0. A sample has further faults, for the case that none of its faults comes: not
# every fault comes in every run.
sample() {
    local step=$2 first=$((FIRST - 1)) i
    if [ "$step" -gt "$1" ]; then step=$1; fi
    for ((i = 0; i < step && i < 6; i++)); do seq $(((first + i * 5) % step)) "$step" $(($1 - 1)); done
}

says() { [ "$(field "$3" "$(cat "$SPECS/$1/$2.verdict")" 2>/dev/null)" = true ]; }
kernel_says() { [ "$(kernel "$SLEEPER")" = "$1" ]; }

# Each operation: the state before, the action, and the condition after its answer.
before_create() { :; }
do_create() { put $ALICE cam "$CAM"; }
is_create() { says $ALICE cam '.result == "OK" and .grant.priority == 12' && has_share first; }

before_attach() { eventually ask create; }
do_attach() { as $ALICE sh -c 'echo "$2" >"$1/.tid" && mv "$1/.tid" "$1/cam.tid"' sh "$SPECS/$ALICE" "$SLEEPER"; }
is_attach() { says $ALICE cam ".result == \"OK\" and .thread.tid == $SLEEPER" && [[ $(kernel "$SLEEPER") == 'fifo 12 '*' reset=1' ]] && has_share first attached; }

before_change() { before_attach; eventually ask attach; }
do_change() { put $ALICE cam "$OTHER"; }
is_change() { says $ALICE cam ".result == \"OK\" and .grant.priority == 14 and .thread.tid == $SLEEPER" && [[ $(kernel "$SLEEPER") == 'fifo 14 '*' reset=1' ]] && has_share second attached; }

before_detach() { before_change; }
do_detach() { as $ALICE rm "$SPECS/$ALICE/cam.tid"; }
is_detach() { says $ALICE cam '.thread == null and .grant != null' && kernel_says "$ORDINARY" && has_share first; }

before_release() { before_change; }
do_release() { as $ALICE rm "$SPECS/$ALICE/cam.json"; }
is_release() { [ ! -e "$SPECS/$ALICE/cam.verdict" ] && kernel_says "$ORDINARY" && has_share; }

# Another user's action changes the grant: Bob gives up the need, or comes to have it. No request asks for the update.
before_raise() { bob_needs && put $ALICE cam "$CAM" && eventually is_granted && do_attach && eventually is_lowered; }
do_raise() { as $BOB rm "$SPECS/$BOB/more.json"; }
is_raise() { no bob_has && desired raised && says $ALICE cam ".result == \"OK\" and .thread.tid == $SLEEPER"; }

before_lower() { put $ALICE cam "$CAM" && eventually is_granted && do_attach && eventually desired raised; }
do_lower() { put $BOB more "$NEED"; }
is_lower() { bob_has && is_lowered && says $ALICE cam ".result == \"OK\" and .thread.tid == $SLEEPER"; }

bob_needs() { put $BOB more "$NEED" && eventually bob_has; }
bob_has() { says $BOB more '.result == "OK" and .grant != null'; }
is_granted() { says $ALICE cam '.result == "OK" and .grant != null'; }
is_lowered() { desired lowered; }

# The publisher's operation.
before_tell() { eventually is_told 0; }
do_tell() { do_create; }
is_tell() { is_create && is_told 1; }
is_told() { told ".reservations == $1" "$(cat "$SPOOL/status.json")"; }

# The adopter's operations: a new directory, a directory that is moved away with its grants, a directory with a wrong name.
before_adopt() { as $ALICE rm -rf "$SPECS/$ALICE" && eventually has_no_reader; }
do_adopt() { put $ALICE cam "$CAM"; }
is_adopt() { is_create && [ "$(stat -c '%a %g' "$SPECS/$ALICE")" = "2700 $GROUP" ]; }
has_no_reader() { [ -z "$(helpers "rtf-reader.* $ALICE ")" ]; }

before_move() { install -d -o $ALICE "$WORK/elsewhere" && before_attach && eventually ask attach; }
do_move() { as $ALICE mv "$SPECS/$ALICE" "$WORK/elsewhere/kept"; }
is_move() { [ -e "$WORK/elsewhere/kept/cam.json" ] && kernel_says "$ORDINARY"; }

before_aside() { before_attach && as $ALICE sh -c 'rm -rf "$1"/.aside-*-wrong' sh "$SPECS"; }
do_aside() { as $ALICE mkdir "$SPECS/wrong"; }
is_aside() { is_create && [ ! -e "$SPECS/wrong" ] && compgen -G "$SPECS/.aside-$ALICE-*-wrong" >/dev/null; }

# The files in Alice's directory, without hidden ones. `notes` is no file of rtf's.
NOTES=notes
files_after() {
    case $1 in
    create | tell | adopt | detach | aside) echo "cam.json cam.verdict" ;;
    attach | change | move | raise | lower) echo "cam.json cam.tid cam.verdict" ;;
    esac
}
has_files() { [ "$(cd "$SPECS/$ALICE" && ls | tr '\n' ' ')" = "${1:+$1 }$(ls "$SPECS/$ALICE/$NOTES" >/dev/null 2>&1 && echo "$NOTES ")" ]; }

# is_answered: no request waits for ever, and no request is half done.
is_answered() {
    case $1 in
    release) [ ! -e "$SPECS/$ALICE/cam.verdict" ] ;;
    move | aside | tell) eventually "is_$1" ;;
    raise) [ ! -e "$SPECS/$BOB/more.verdict" ] ;;
    lower) [ -n "$(as $BOB env USER=$BOB timeout 5 "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 3s more 2>/dev/null)" ] ;;
    *) [ -n "$(as $ALICE env USER=$ALICE timeout 5 "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 3s cam 2>/dev/null)" ] ;;
    esac
}

# ask OPERATION: asks once; true unless a plugin that is being restarted has caused a refusal
ask() {
    local deadline=$((SECONDS + 2))
    case $1 in
    detach) if is_detach; then return; fi; do_attach ;;
    release | adopt | move | aside) if "is_$1"; then return; fi ;;
    raise) if is_raise; then return; fi; bob_is_served && eventually is_raise; return ;; # the capacity comes at the next occasion
    lower) if is_lower; then return; fi ;;
    esac
    "do_$1"
    until "is_$1"; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.01
    done
}

agree() {
    run invariants
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
}


process_of() {
    case $1 in
    broker) echo "$BROKER" ;;
    helper) helpers rtf-attach ;;
    plugin) helpers ' name=FP ' ;;
    edf) helpers ' name=EDF ' ;;
    counter) helpers ' name=CAMERA ' ;;
    reader)
        as $ALICE sh -c 'mkdir -p "$1" && : >"$1/.wakes"' sh "$SPECS/$ALICE"
        eventually has_reader
        helpers "rtf-reader.* $ALICE "
        ;;
    *) helpers "rtf-$1" ;;
    esac
}
has_reader() { ! has_no_reader; }

# trace_part PROCESS [STRACE-OPTION...]: as trace; $TRACED is the process's id. A reader may just be ending, because it had nothing to do. Other processes
# are killed at once if the kill comes at the call in which they wait.
trace_part() {
    local try
    for try in 1 2 3; do
        TRACED=$(process_of "$1")
        if trace "$TRACED" "${@:2}" || [ "$1" != reader ]; then return; fi
    done
    return 1
}

# trace PID [STRACE-OPTION...]: injects a fault into this process from here on, or records its calls
trace() {
    local process=$1
    shift
    : >"$WORK/trace"
    strace -qq -o "$WORK/trace" -p "$process" "$@" 2>"$WORK/strace" 3>&- &
    TRACER=$!
    echo "$TRACER" >>"$WORK/pids"
    eventually is_traced_or_gone "$process" && ! is_gone "$process"
}
is_traced_or_gone() { is_traced "$1" || is_gone "$1"; }

# calls_of PROCESS OPERATION: prints the system calls of the process for the operation, in their order, as NAME N. restart_syscall is the call in which
# the process waits when the trace begins
calls_of() {
    "before_$2" || return 1
    trace_part "$1" || return 1
    "do_$2"
    eventually "is_$2" || return 1
    untrace
    cleans_up "$2" || return 1
    calls_traced
}
calls_traced() { awk -F '(' '/^[a-z0-9_]+\(/ && $1 != "restart_syscall" { print $1, ++calls[$1] }' "$WORK/trace"; }

untrace() {
    kill "$TRACER" 2>/dev/null || true
    wait "$TRACER" 2>/dev/null || true
}

# cleans_up: at the end nothing is left. A directory that was moved away is put back before, and its specs are granted again.
cleans_up() {
    if [ "$1" = move ]; then
        if [ ! -e "$SPECS/$ALICE" ]; then as $ALICE mv "$WORK/elsewhere/kept" "$SPECS/$ALICE"; fi
        eventually is_attach || return 1
    fi
    as $BOB rm -f "$SPECS/$BOB/more.json"
    as $ALICE rm -f "$SPECS/$ALICE/cam.json"
    eventually is_release
}

# Other users are served while something of Alice's is wrong.
bob_is_served() {
    [ "$(field .result "$(spec $BOB his '{"priority": 5, "plugin": "RR"}')")" = OK ] || { echo 'Bob was not served'; return 1; }
    as $BOB rm "$SPECS/$BOB/his.json"
}

# answers OPERATION: how many answers to the operation the log has, from line $LOGGED on
answers() { tail -n "+$((LOGGED + 1))" "$EVENTS" | jq -c "select(.name == \"cam\" and .request == \"$1\" and (.stage == \"verdict\" or .stage == \"release\"))" | wc -l; }

# held PROGRAM: replaces the program by a script. If $WORK/hold exists, the script stops first, so that a trace sees the program from its beginning.
held() {
    mkdir "$WORK/programs"
    cp -a "$RTF_LIBEXEC/." "$WORK/programs"
    RTF_LIBEXEC=$WORK/programs
    mv "$RTF_LIBEXEC/$1" "$RTF_LIBEXEC/$1.real"
    printf '#!/bin/sh\nif rm "%s" 2>/dev/null; then kill -STOP $$; fi\nexec "%s" "$@"\n' "$WORK/hold" "$RTF_LIBEXEC/$1.real" >"$RTF_LIBEXEC/$1"
    chmod 755 "$RTF_LIBEXEC/$1"
}
is_stopped() { [ ! -e "$WORK/hold" ] && [[ $(cat "/proc/$(helpers "$1")/stat" 2>/dev/null) == *') T '* ]]; }

# begin_traced PROCESS [STRACE-OPTION...]: the process is started anew, and goes on when it is traced
begin_traced() {
    local pattern="rtf-$1"
    [ "$1" != reader ] || pattern="rtf-reader.* $ALICE "
    process_of "$1" >/dev/null
    : >"$WORK/hold"
    kill -KILL "$(helpers "$pattern")"
    eventually is_stopped "$pattern" || return 1
    TRACED=$(helpers "$pattern")
    trace "$TRACED" "${@:2}" || return 1
    kill -CONT "$TRACED"
}

broker_is_back() {
    wait "$BROKER" 2>/dev/null || true
    BROKER=
    broker_start
}

# ends_well OPERATION (also where errors do not end the shell): the operation is answered, journal, kernel and files agree, and the thread has its former
# attributes
ends_well() {
    if is_gone "$BROKER"; then broker_is_back || return 1; fi
    eventually "is_$1" || { echo "no answer to $1"; cat "$SPECS/$ALICE/cam.verdict" 2>/dev/null; tail -n 5 "$EVENTS"; return 1; }
    agree || return 1
    cleans_up "$1"
}
