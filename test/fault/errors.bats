# bats file_tags=lane:disk
# Each system call fails in turn, with each error that it may have: the request is answered, if only with a refusal, journal, kernel and files agree, and
# the same request is granted afterwards.
load fault

ERRORS='ENOSPC EIO EINTR ENOMEM EMFILE EAGAIN'
CALLS=openat,openat2,pread64,rename,unlink,chmod,fchownat,read,write,pwrite64,newfstatat,fstat,statx,renameat,renameat2,unlinkat,fchown,fchmod,utimensat,fcntl,mmap,sendmsg,recvmsg,pidfd_open,epoll_ctl,inotify_add_watch,getdents64,sched_setattr,sched_setscheduler,sched_setaffinity,sched_getattr,perf_event_open,setsockopt,pidfd_getfd,readlinkat,mkdirat,faccessat,faccessat2,fgetxattr,fsetxattr,ioprio_get,ioprio_set

# If the fault has cost a plugin, the plugin is there again in a moment.
asked_again() { eventually ask "$1" || { cat "$SPECS/$ALICE/cam.verdict"; kernel "$SLEEPER"; tail -n 15 "$EVENTS"; return 1; }; }

# fail_at PROCESS OPERATION ERROR CALLS N: true if the call was made and failed, 2 if the operation did not end well
fail_at() {
    "before_$2" || return 2
    trace_part "$1" -e "trace=$4" -e "inject=$4:error=$3:when=$5" || return 2
    "do_$2"
    [[ $1 != reader && $1 != adopter ]] || bob_is_served || return 2
    ends_well_after_errors "$2" "$1" || { grep INJECTED "$WORK/trace"; return 2; }
    grep -q INJECTED "$WORK/trace"
}
# Free capacity is shared out after the verdict, so the trace has to go on until then.
has_come() { is_answered "$1" && { [ "$1" != raise ] || grep -q INJECTED "$WORK/trace" || is_raise; }; }
ends_well_after_errors() {
    eventually has_come "$1" || { echo "no answer to $1"; return 1; }
    untrace
    if is_gone "$BROKER"; then echo "the broker has ended"; return 1; fi
    eventually agree || return 1 # if the broker could not write its journal, it tries again after a second
    asked_again "$1" || return 1
    [ "$2" != reader ] || [ "$1" = release ] || eventually has_files "$(files_after "$1")" || { ls -la "$SPECS/$ALICE"; return 1; }
    cleans_up "$1"
}

# try PROCESS OPERATION ERROR CALLS N: calls fail_at, counts the faults, and prints the place of a failure
try() {
    local status=0
    fail_at "$@" || status=$?
    [ "$status" -ne 2 ] || echo "$1, $2: $3 at ${5}th $4"
    [ "$status" -ne 0 ] || faults=$((faults + 1))
    return "$status"
}

fails_everywhere() { # PROCESS OPERATION
    local i call n error calls at step faults=0 tried=0
    broker_start
    sleeper $ALICE
    as $ALICE sh -c 'mkdir -p "$1" && : >"$1/$2"' sh "$SPECS/$ALICE" "$NOTES"
    calls_of "$1" "$2" | grep -wE "^(${CALLS//,/|})" >"$WORK/calls"
    for error in $ERRORS; do sed "s/$/ $error/" "$WORK/calls"; done >"$WORK/faults"
    mapfile -t calls <"$WORK/faults"
    # If there are few calls, at least every second call is tried, because the process does not make each call in every run.
    step=$((STEP < ${#calls[@]} / 2 ? STEP : ${#calls[@]} / 2 + 1))
    mapfile -t at < <(sample "${#calls[@]}" "$step")
    for i in "${at[@]}"; do
        # The calls after the sample are tried only if the process made no call of the sample.
        if [ "$faults" -gt 0 ] && [ "$tried" -ge $(((${#calls[@]} + step - 1) / step)) ]; then break; fi
        tried=$((tried + 1))
        read -r call n error <<<"${calls[i]}"
        try "$1" "$2" "$error" "$call" "$n" || [ $? -eq 1 ]
    done
    echo "# $faults calls of the $1 failed while it served $2: of ${#calls[@]} ($ERRORS) one in $step; number $FIRST of today" >&3
    [ "$faults" -gt 0 ]
}

# fails_at_once: in each run of the operation the n-th call of each kind fails, for n from 1 on.
fails_at_once() { # PROCESS OPERATION ERROR...
    local error n faults=0 status
    broker_start
    sleeper $ALICE
    for error in "${@:3}"; do
        for ((n = 1; n < 1000; n += STEP > 1 ? 3 : 1)); do
            status=0
            try "$1" "$2" "$error" "$CALLS" "$n" || status=$?
            [ "$status" -ne 2 ]
            [ "$status" -eq 0 ] || break
        done
    done
    echo "# $faults times calls of the $1 failed at once while it served $2: ${*:3}" >&3
    [ "$faults" -gt 0 ]
}

# bats test_tags=turn:0
@test "calls of the broker fail while it creates" { fails_everywhere broker create; }
# bats test_tags=turn:1
@test "calls of the broker fail while it attaches" { fails_everywhere broker attach; }
# bats test_tags=turn:2
@test "calls of the broker fail while it changes" { fails_everywhere broker change; }
# bats test_tags=turn:0
@test "calls of the broker fail while it detaches" { fails_everywhere broker detach; }
# bats test_tags=turn:1
@test "calls of the broker fail while it releases" { fails_everywhere broker release; }
# bats test_tags=turn:2
@test "calls of the broker fail while it creates with two claims" { is_a_transaction; fails_everywhere broker create; }
# bats test_tags=turn:0
@test "calls of the broker fail while it changes with two claims" { is_a_transaction; fails_everywhere broker change; }
# bats test_tags=turn:1
@test "calls of the plugin fail while it creates" { fails_everywhere plugin create; }
# bats test_tags=turn:0
@test "calls of the plugin fail while it changes" { fails_everywhere plugin change; }
# bats test_tags=turn:1
@test "calls of the plugin fail while it releases" { fails_everywhere plugin release; }
# bats test_tags=turn:2
@test "calls of the helper fail while it attaches" { fails_everywhere helper attach; }
# bats test_tags=turn:0
@test "calls of the helper fail while it changes" { fails_everywhere helper change; }
# bats test_tags=turn:1
@test "calls of the helper fail while it detaches" { fails_everywhere helper detach; }
# bats test_tags=turn:0
@test "calls of rtf-net fail while it creates" { is_on_a_wire; fails_everywhere net create; }
# bats test_tags=turn:1
@test "calls of rtf-net fail while it attaches" { is_on_a_wire; fails_everywhere net attach; }
# bats test_tags=turn:2
@test "calls of rtf-net fail while it changes" { is_on_a_wire; fails_everywhere net change; }
# bats test_tags=turn:0
@test "calls of rtf-net fail while it detaches" { is_on_a_wire; fails_everywhere net detach; }
# bats test_tags=turn:1
@test "calls of rtf-net fail while it releases" { is_on_a_wire; fails_everywhere net release; }
# bats test_tags=turn:2
@test "calls of rtf-disk fail while it creates" { is_on_a_disk; fails_everywhere disk create; }
# bats test_tags=turn:0
@test "calls of rtf-disk fail while it attaches" { is_on_a_disk; fails_everywhere disk attach; }
# If rtf-disk cannot read a thread's owner or group, it must not report that the thread has ended: otherwise the thread would never be made ordinary.
@test "each read of rtf-disk fails while it attaches" {
    is_on_a_disk
    broker_start
    sleeper $ALICE
    local n faults=0
    for n in 1 2 3 4 5 6; do try disk attach ENOMEM read $n || [ $? -eq 1 ]; done
    [ "$faults" -ge 4 ]
}
# bats test_tags=turn:1
@test "calls of rtf-disk fail while it changes" { is_on_a_disk; fails_everywhere disk change; }
# bats test_tags=turn:2
@test "calls of rtf-disk fail while it detaches" { is_on_a_disk; fails_everywhere disk detach; }
# bats test_tags=turn:0
@test "calls of rtf-disk fail while it releases" { is_on_a_disk; fails_everywhere disk release; }
# bats test_tags=turn:0
@test "calls of rtf-disk --ioprio fail while it attaches" { is_first_on_a_disk; fails_everywhere disk attach; }
# bats test_tags=turn:1
@test "calls of rtf-disk --ioprio fail while it changes" { is_first_on_a_disk; fails_everywhere disk change; }
# bats test_tags=turn:2
@test "calls of rtf-disk --ioprio fail while it detaches" { is_first_on_a_disk; fails_everywhere disk detach; }
# bats test_tags=turn:0
@test "calls of rtf-disk --ioprio fail while it releases" { is_first_on_a_disk; fails_everywhere disk release; }
# bats test_tags=turn:1
@test "calls of the broker fail while a spec is given more of CPU time" { desires_time; fails_everywhere broker raise; }
# bats test_tags=turn:2
@test "calls of the broker fail while a spec is left less of CPU time" { desires_time; fails_everywhere broker lower; }
# bats test_tags=turn:0
@test "calls of the helper fail while a spec is given more of CPU time" { desires_time; fails_everywhere helper raise; }
# bats test_tags=turn:1
@test "calls of the helper fail while a spec is left less of CPU time" { desires_time; fails_everywhere helper lower; }
# bats test_tags=turn:2
@test "calls of the plugin fail while a spec is given more of CPU time" { desires_time; fails_everywhere edf raise; }
# bats test_tags=turn:0
@test "calls of the plugin fail while a spec is left less of CPU time" { desires_time; fails_everywhere edf lower; }
# bats test_tags=turn:1
@test "calls of the broker fail while a spec is given more of an interface" { desires_of_a_wire; fails_everywhere broker raise; }
# bats test_tags=turn:2
@test "calls of the broker fail while a spec is left less of an interface" { desires_of_a_wire; fails_everywhere broker lower; }
# bats test_tags=turn:0
@test "calls of rtf-net fail while a spec is given more of an interface" { desires_of_a_wire; fails_everywhere net raise; }
# bats test_tags=turn:1
@test "calls of rtf-net fail while a spec is left less of an interface" { desires_of_a_wire; fails_everywhere net lower; }
# bats test_tags=turn:2
@test "calls of the broker fail while a spec is given more of a disk" { desires_of_a_disk; fails_everywhere broker raise; }
# bats test_tags=turn:0
@test "calls of the broker fail while a spec is left less of a disk" { desires_of_a_disk; fails_everywhere broker lower; }
# bats test_tags=turn:1
@test "calls of rtf-disk fail while a spec is given more of a disk" { desires_of_a_disk; fails_everywhere disk raise; }
# bats test_tags=turn:2
@test "calls of rtf-disk fail while a spec is left less of a disk" { desires_of_a_disk; fails_everywhere disk lower; }
# bats test_tags=turn:2
@test "calls of the reader fail while it creates" { fails_everywhere reader create; }
# bats test_tags=turn:0
@test "calls of the reader fail while it attaches" { fails_everywhere reader attach; }
# bats test_tags=turn:1
@test "calls of the reader fail while it changes" { fails_everywhere reader change; }
# bats test_tags=turn:2
@test "calls of the reader fail while it detaches" { fails_everywhere reader detach; }
# bats test_tags=turn:0
@test "calls of the reader fail while it releases" { fails_everywhere reader release; }
# bats test_tags=turn:1
@test "calls of the adopter fail for a new directory" { fails_everywhere adopter adopt; }
# bats test_tags=turn:2
@test "calls of the adopter fail for a directory that goes" { fails_everywhere adopter move; }
# bats test_tags=turn:0
@test "calls of the adopter fail for a directory of a wrong name" { fails_everywhere adopter aside; }

# bats test_tags=turn:2
@test "calls of the publisher fail for a create that is told" { fails_everywhere publisher tell; }

# only some errors, because all errors would take too long
SOME=$([ "$STEP" -gt 1 ] && echo EMFILE || echo "$ERRORS")
# bats test_tags=turn:1
@test "calls of each kind fail at once while the broker creates" { fails_at_once broker create $SOME; }
# bats test_tags=turn:2
@test "calls of each kind fail at once while the broker attaches" { fails_at_once broker attach $SOME; }
# bats test_tags=turn:0
@test "calls of each kind fail at once while the broker changes" { fails_at_once broker change $SOME; }
# bats test_tags=turn:1
@test "calls of each kind fail at once while the broker detaches" { fails_at_once broker detach $SOME; }
# bats test_tags=turn:2
@test "calls of each kind fail at once while the broker releases" { fails_at_once broker release $SOME; }
# bats test_tags=turn:0
@test "calls of each kind fail at once while the helper changes" { fails_at_once helper change $SOME; }
