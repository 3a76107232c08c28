# A system call that fails, each in its turn and with each error that it may have: the request is answered, if only with a no,
# all agree, and when it is asked again it is granted.
load fault

ERRORS='ENOSPC EIO EINTR ENOMEM EMFILE EAGAIN'
CALLS=openat,openat2,read,write,pwrite64,newfstatat,fstat,statx,renameat,renameat2,unlinkat,fchown,fchmod,utimensat,fcntl,mmap,sendmsg,recvmsg,pidfd_open,epoll_ctl,inotify_add_watch,getdents64,sched_setattr,sched_setscheduler,sched_setaffinity,sched_getattr,perf_event_open

# Nobody has to wait for ever, and nothing is half done.
is_answered() {
    case $1 in
    release) [ ! -e "$SPECS/$ALICE/cam.verdict" ] ;;
    *) [ -n "$(as $ALICE env USER=$ALICE timeout 5 "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 3s cam 2>/dev/null)" ] ;;
    esac
}

# Once, and until the plugin that was lost over it is there again.
ask() {
    local deadline=$((SECONDS + 2))
    case $1 in
    create | change) as $ALICE touch "$SPECS/$ALICE/cam.json" ;;
    attach) do_attach ;;
    detach) if ! is_detach; then do_attach; do_detach; fi ;;
    esac
    until "is_$1"; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.01
    done
}
asked_again() { eventually ask "$1" || { cat "$SPECS/$ALICE/cam.verdict"; kernel "$SLEEPER"; tail -n 15 "$EVENTS"; return 1; }; }

# fail_at PROCESS OPERATION ERROR N: true if it came to that
fail_at() {
    local process pid
    "before_$2"
    process=$(process_of "$1")
    : >"$WORK/injected"
    strace -qq -o "$WORK/injected" -p "$process" -e "trace=$CALLS" -e "inject=$CALLS:error=$3:when=$4" 2>"$WORK/strace" 3>&- &
    TRACER=$!
    echo "$TRACER" >>"$WORK/pids"
    eventually is_traced "$process"
    "do_$2"
    eventually is_answered "$2" || { echo "no answer to $2"; grep INJECTED "$WORK/injected"; return 2; }
    untrace
    if is_gone "$BROKER"; then
        echo "the broker has ended"
        grep INJECTED "$WORK/injected"
        return 2
    fi
    agree || { grep INJECTED "$WORK/injected"; return 2; }
    asked_again "$2" || { grep INJECTED "$WORK/injected"; return 2; }
    as $ALICE rm -f "$SPECS/$ALICE/cam.json"
    eventually is_release || { ls -la "$SPECS/$ALICE"; kernel "$SLEEPER"; tail -n 9 "$EVENTS"; cat "$WORK/injected"; return 2; }
    grep -q INJECTED "$WORK/injected"
}

fails_everywhere() { # PROCESS OPERATION
    local n error faults=0 status
    broker_start
    sleeper $ALICE
    for error in $ERRORS; do
        for ((n = FIRST; n < 1000; n += STEP)); do
            status=0
            fail_at "$1" "$2" "$error" "$n" || status=$?
            [ "$status" -ne 2 ] || { echo "$1, $2, $error at call $n"; return 1; }
            [ "$status" -eq 0 ] || break
            faults=$((faults + 1))
        done
    done
    echo "# $faults calls of the $1 failed while it served $2: $ERRORS, at every ${STEP}th call from the ${FIRST}th on" >&3
}

@test "calls of the broker fail while it creates" { fails_everywhere broker create; }
@test "calls of the broker fail while it attaches" { fails_everywhere broker attach; }
@test "calls of the broker fail while it changes" { fails_everywhere broker change; }
@test "calls of the broker fail while it detaches" { fails_everywhere broker detach; }
@test "calls of the broker fail while it releases" { fails_everywhere broker release; }
@test "calls of the helper fail while it attaches" { fails_everywhere helper attach; }
@test "calls of the helper fail while it changes" { fails_everywhere helper change; }
@test "calls of the helper fail while it detaches" { fails_everywhere helper detach; }
