# rtf-as-user: root's commands that act as a user, and the attacks of the user on that process.
load ../helper
load ../command
load front

prepare() {
    front_prepare
    cat >"$WORK/attack.py" <<'END'
# attack.py PROCESS: prints the attacks that succeed on this process as the current user.
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
pid = int(sys.argv[1])
def tries(name, succeeded):
    if succeeded: print(name)
tries("ptrace", libc.ptrace(0x4206, pid, 0, 0) == 0)  # PTRACE_SEIZE
pidfd = libc.syscall(434, pid, 0)
tries("pidfd_getfd", pidfd >= 0 and any(libc.syscall(438, pidfd, fd, 0) >= 0 for fd in range(16)))
class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
room = ctypes.create_string_buffer(8)
address = int(open(f"/proc/{os.getpid()}/maps").readline().split("-")[0], 16)
try: address = int(open(f"/proc/{pid}/maps").readline().split("-")[0], 16); print("maps")
except (OSError, ValueError): pass
here, there = Iovec(ctypes.addressof(room), 8), Iovec(address, 8)
tries("read", libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) > 0)
for name in "fd", "environ", "mem", "cwd":
    try:
        if name == "fd": os.readlink(f"/proc/{pid}/fd/1"); os.close(os.open(f"/proc/{pid}/fd/1", os.O_WRONLY))
        elif name == "cwd": os.readlink(f"/proc/{pid}/cwd")
        else: os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
        print(name)
    except OSError: pass
tries("prlimit", libc.prlimit64(pid, 7, 0, ctypes.create_string_buffer(16)) == 0)
END
    chmod 644 "$WORK/attack.py"
}

tidy() { [ -z "$BROKER" ] || kill -CONT "$BROKER" 2>/dev/null || true; }

AS_USER=$RTF_LIBEXEC/rtf-as-user

# of UID PATTERN: prints the ids of this user's processes with a matching command line.
of() { pgrep -u "$1" -f "$2"; }

# The user's attacks on this process, with each of the groups that the user may have.
attack() { # UID PROCESS
    local group
    for group in "$1" "$GROUP"; do
        setpriv --reuid "$1" --regid "$group" --groups "$GROUP" /usr/bin/python3 -S "$WORK/attack.py" "$2"
    done
}

@test "the user can neither trace what runs as the user for root, nor look into it, nor take a descriptor" {
    local process
    sleeper $ALICE # without rtf-as-user the attack works, as far as ptrace_scope allows
    run -0 attack $ALICE "$SLEEPER"
    [[ $output == *environ* && $output == *fd* && $output == *prlimit* ]]
    [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" != 0 ] || [[ $output == *ptrace*read* ]] # a container may refuse pidfd_getfd(2) to all programs
    "$AS_USER" $ALICE sleep 777 3>&- &
    echo $! >>"$WORK/pids"
    eventually of $ALICE '^sleep 777'
    process=$(of $ALICE '^sleep 777')
    run -0 attack $ALICE "$process"
    [ "$output" = '' ]
}

@test "no user reaches root's terminal while rtf what-if --for waits for an answer" {
    local process terminal seen=0
    broker_start
    kill -STOP "$BROKER"
    script -qec "$RTF_BIN/rtf --spool $SPOOL what-if --for $BOB -T 2ms -P 20ms" /dev/null </dev/null >"$WORK/out" 3>&- &
    terminal=$!
    echo "$terminal" >>"$WORK/pids"
    asks() { [ -n "$(find "$SPECS/$BOB" -name 'what-if-*.json' 2>/dev/null)" ]; }
    eventually asks
    for process in $(of $BOB front/rtf-what-if); do
        run -0 attack $BOB "$process"
        [ "$output" = '' ]
        [ "$(awk '{ sub(/.*\) /, ""); print $5 }' "/proc/$process/stat")" = 0 ] # no terminal
        [ -z "$(find "/proc/$process/fd" -type l -lname '/dev/*')" ]
        seen=$((seen + 1))
    done
    [ "$seen" -ge 1 ]
    kill -CONT "$BROKER"
    wait "$terminal"
    [[ $(<"$WORK/out") == 'EDF would grant '* ]]
}

@test "a command as a user has three pipes, a session, a group of its own, no capability and a clean environment" {
    exec 8</etc/passwd
    run -0 env SECRET=1 TERM=xterm "$AS_USER" $ALICE sh -c 'exec 2>&1; for fd in /proc/$$/fd/*; do readlink "$fd"; done; id -u; id -g; id -G; ps -o tty= $$; env; pwd
        grep -E "^(NSsid|CapBnd|CapPrm|NoNewPrivs):" /proc/$$/status; echo $$' 3>&-
    exec 8<&-
    local said=$output
    echo "$said"
    [ "$(grep -c '^pipe:' <<<"$said")" = 3 ]
    run ! grep -E '^/dev|SECRET|TERM' <<<"$said"
    grep -qx "$ALICE" <<<"$said"
    run ! grep -qx "$ALICE.$ALICE" <<<"$(tr '\n' . <<<"$said")"
    grep -qx $'CapBnd:\t0000000000000000' <<<"$said"
    grep -qx $'NoNewPrivs:\t1' <<<"$said"
    [ "$(awk '/^NSsid/ { print $2 }' <<<"$said")" = "$(tail -n 1 <<<"$said")" ]
    grep -qx USER=$ALICE <<<"$said"
}

@test "the input, the output and the time of a command as a user are bounded" {
    run -0 "$AS_USER" --input $ALICE cat <<<'hello'
    [ "$output" = hello ]
    run -0 "$AS_USER" $ALICE cat <<<'hello' # without --input
    [ "$output" = '' ]
    run -65 bash -c 'head -c 70000 /dev/zero | "$@"' bash "$AS_USER" --input $ALICE cat
    run -65 --separate-stderr "$AS_USER" --bytes 1000 $ALICE yes
    [ "${#output}" -eq 999 ] # bash removes the last newline
    [ "$stderr" = "rtf-as-user: yes: more output than --bytes allows, as user $ALICE" ]
    run -75 "$AS_USER" --timeout 1us $ALICE sh -c 'trap "" TERM; echo begun; while :; do sleep 1; done'
    [ "$output" = "begun
rtf-as-user: sh: ran longer than --timeout allows, as user $ALICE" ]
    run -3 "$AS_USER" $ALICE sh -c 'exit 3'
    run -0 timeout 20 "$AS_USER" $ALICE sh -c 'sleep 778 & echo done' # the background process keeps the pipe open
    [ "$output" = done ]
    eventually no of $ALICE '^sleep 778'
}

@test "a signal that ends rtf-as-user ends the command; the users root and nobody are refused" {
    "$AS_USER" $ALICE sleep 779 3>&- &
    echo $! >>"$WORK/pids"
    eventually of $ALICE '^sleep 779'
    local act=$! status=0
    kill -TERM "$act"
    wait "$act" || status=$?
    [ "$status" -eq 143 ]
    run ! of $ALICE '^sleep 779'
    run -64 "$AS_USER" root true
    run -64 "$AS_USER" 0 true
    run -64 "$AS_USER" $ALICE
    run -67 "$AS_USER" nobody-here true
    run -77 as $ALICE "$AS_USER" $BOB true
}

@test "the group of a command as a user belongs to no account with this uid, and to no range that a user may take" {
    local last
    last=$("$AS_USER" $ALICE id -g)
    among() { unshare --mount sh -c 'mount --bind "$1/$2" "/etc/$2" && shift 2 && exec "$@"' sh "$WORK" "$@"; }
    { cat /etc/passwd; printf 'one:x:%s:%s::/:/bin/sh\ntwo:x:%s:%s::/:/bin/sh\n' $ALICE $ALICE $ALICE "$last"; } >"$WORK/passwd"
    run -0 among passwd "$AS_USER" one id -g
    [ "$output" = $((last - 1)) ]
    { cat /etc/group; echo "three:x:$last:one"; } >"$WORK/group"
    run -0 among group "$AS_USER" $ALICE id -g
    [ "$output" = $((last - 1)) ]
    echo "one:$((last - 9)):65536" >"$WORK/subgid"
    [ -e /etc/subgid ] || skip 'there is no /etc/subgid to mount over'
    run -0 among subgid "$AS_USER" $ALICE id -g
    [ "$output" = $((last - 10)) ]
}
