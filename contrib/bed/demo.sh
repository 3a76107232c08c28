# Functions shared by the demos: messages, users, a broker, and the comparison of the machine before
# and after. A script sets `me` and `top`, has a function clean_up, and calls `begin` first.
# shellcheck shell=sh
# shellcheck disable=SC2034 # the scripts that read this file use these variables

scratch='' root='' broker='' users='' within='' failed=0

# --- Messages -------------------------------------------------------------------------------------

say() {
    printf '%s: %s\n' "$me" "$*" >&2
}

fail() {
    say "$*"
    exit 1
}

title() {
    printf '\n%s\n' "$*"
}

check() { # SENTENCE FOUND EXPECTED
    if [ "$2" = "$3" ]; then
        printf '  ok      %s%s\n' "$1" "${2:+: $2}"
    else
        printf '  FAILED  %s\n          found:    %s\n          expected: %s\n' "$1" "$2" "$3"
        failed=$((failed + 1))
    fi
}

wait_until() { # SENTENCE COMMAND...: waits until the command succeeds, at most five seconds
    sentence=$1
    shift
    for _ in $(seq 100); do
        ! "$@" || return 0
        sleep 0.05
    done
    fail "after five seconds this is not true: $sentence"
}

# --- Users: numbers without an account and without privileges -------------------------------------

unused_id() { # FROM
    id=$1
    while getent passwd "$id" || getent group "$id" || pgrep -u "$id"; do
        id=$((id + 1))
    done >/dev/null
    echo "$id"
}

# Executes the command as the user: after `become CMD &`, $! is CMD's own pid.
become() {
    become_one "$user" "$@"
}

become_one() { # UID COMMAND...
    id=$1
    shift
    exec setpriv --reuid "$id" --regid "$id" --clear-groups --pdeathsig TERM "$@"
}

as_user() (
    become "$@"
)

# --- The broker: installed into a scratch directory, with a spool and rules of its own ------------

install_rtf() {
    if [ -z "$root" ]; then
        root=$scratch/root
        say "installing into a scratch directory"
        make --no-print-directory --directory="$top" install DESTDIR="$root" PREFIX=/usr >&2
    fi
    PATH=$root/usr/bin:$PATH
}

start_broker() { # requires the configuration; $within: a command that runs the broker, or empty
    say "starting the broker"
    mkdir "$spool"
    # shellcheck disable=SC2086 # words
    $within setpriv --pdeathsig TERM "$root/usr/libexec/rtf/rtf-brokerd" --foreground --spool "$spool" \
        --config "$scratch/config" --group "$user" 2>"$scratch/broker.log" &
    broker=$!
    wait_until 'the broker opens its spool' broker_answers
}

# `alive` can be opened for writing only while a broker holds it open for reading.
broker_answers() {
    if ! kill -0 "$broker" 2>/dev/null; then
        cat "$scratch/broker.log" >&2
        fail 'the broker has ended: see above'
    fi
    dd if=/dev/null of="$spool/alive" oflag=nonblock conv=notrunc,nocreat 2>/dev/null
}

user_types() { # COMMAND: runs in the user's own directory of the spool
    as_user sh -c "cd '$specs' && $1"
}

# --- Comparison of the machine before and after ---------------------------------------------------

# Lists every process, file, mount, cgroup and kernel setting that the demo could leave behind. Leaves
# out what other programs make meanwhile, for example another broker.
snapshot() {
    list_traces 2>/dev/null | sort -u
}

list_traces() (
    set +e # some of these files and directories do not exist on every machine
    ours=${scratch:-/nonexistent}
    find "$ours" -maxdepth 0 -printf 'file %p\n'
    # Skips directories in which everybody may choose names.
    find /etc /run /usr /var /var/spool -xdev -maxdepth 4 \( -type d -perm -0002 -prune \) -o -name '*rtf*' -print -prune |
        grep -vx /run/rtf | sed 's/^/file /'
    others_use_run_rtf || find /run/rtf -xdev -printf 'file %p\n'
    for one in $users; do
        find /dev/shm /etc /run /usr /var /var/spool /var/tmp /tmp "${TMPDIR:-/tmp}" -xdev -maxdepth 4 \
            \( -uid "$one" -o -gid "$one" \) -printf 'file %p\n'
        pgrep -u "$one" | sed 's/^/process /'
    done
    find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$ours/*" -printf 'process %h %l\n'
    awk -v ours="$ours/" 'index($5, ours) == 1 { print "mount", $5 }' /proc/self/mountinfo
    grep -l "^$ours/" /sys/block/loop*/loop/backing_file | sed 's/^/loop device /'
    # Leaves out the groups of rtf-disk if the demo manages no disk, because these belong to another broker.
    find /sys/fs/cgroup -type d -name '*rtf*' -printf 'cgroup %p\n' |
        grep -Ev "(\.(service|scope|slice|mount|socket|swap)${others_groups:+|$others_groups})(/|\$)"
    grep -r '' /proc/sys/kernel/sched_* /sys/fs/cgroup/cpuset.sched_load_balance \
        /sys/fs/cgroup/*/cpuset.sched_load_balance /sys/fs/cgroup/*/cpu.rt_runtime_us | sed 's/^/setting /'
)

# True if another program holds a lock on /run/rtf. Our own broker holds none, because it has always ended when this function is called.
others_use_run_rtf() {
    stat --format='%Hd %Ld %i' /run/rtf | {
        read -r major minor inode && grep -q "FLOCK .* $(printf '%02x:%02x:%d' "$major" "$minor" "$inode") " /proc/locks
    }
}

stop() { # PID...: ends the remaining processes, and waits for their ends
    [ $# -gt 0 ] || return 0
    kill "$@" 2>/dev/null || :
    wait "$@" 2>/dev/null || :
}

# Ends the demo. Compares the machine before and after, but not the settings if another broker runs now or ran at the beginning.
end() {
    clean_up
    left=$(printf '%s\n' "$machine" "$(snapshot)" | sort | uniq -u)
    if [ "$were_others" = yes ] || others_use_run_rtf 2>/dev/null; then
        left=$(printf '%s' "$left" | sed '/^setting /d')
    fi
    check 'no process, file, mount, cgroup or kernel setting was left behind or changed' "$left" ''
    [ "$failed" -eq 0 ] || fail "$failed of the checks failed"
}

# --- Start ----------------------------------------------------------------------------------------

begin() { # TOOL...: the tools that the demo needs
    [ "$(id -u)" -eq 0 ] || {
        say 'only root may start a broker: run it as root'
        exit 77
    }
    for tool; do
        command -v "$tool" >/dev/null || fail "$tool is missing: contrib/bootstrap $me installs it"
    done
    user=$(unused_id $((30000 + $$ % 20000))) # a different number each time, so that two demos at the same time do not count each other's processes
    rival=$(unused_id $((user + 1)))
    users="$user $rival"
    were_others=no
    ! others_use_run_rtf 2>/dev/null || were_others=yes
    machine=$(snapshot)
    trap clean_up EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/rtf-$me.XXXXXX")
    chmod 755 "$scratch"
    mkdir "$scratch/config"
    install -d -o "$user" -g "$user" "$scratch/run"
    spool=$scratch/spool
    specs=$spool/specs/$user
}
