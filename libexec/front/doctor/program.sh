# One program (-p): its owner, the calls that it makes, and its scheduling without a reservation.
# shellcheck shell=sh disable=SC2154 # files of the doctor share variables

check_program() { # PROCESS
    who="process $1 ($(content "$proc/$1/comm"))"
    owner=$(field "$proc/$1" Uid)
    ids=$(awk '$1 == "Uid:" { print $2, $3, $4, $5 }' "$proc/$1/status" 2>/dev/null || true)
    if [ "$(awk '{ sub(/.*\) /, ""); print int($7 / 2097152) % 2 }' "$proc/$1/stat" 2>/dev/null)" = 1 ]; then
        found kernel-thread "$who is a thread of the kernel" 'the kernel schedules its own threads: see chrt(1)'
        return
    fi
    # The broker attaches a process only if its real, effective, saved and file-system uid are the owner's.
    is_root || [ "$ids" = "$uid $uid $uid $uid" ] ||
        found not-yours "$who belongs to uid $owner$([ "$(echo "$ids" | tr ' ' '\n' | sort -u | wc -l)" = 1 ] || echo ', and has changed its ids')" \
            'only its owner can attach it, or root'
    check_group "$1" "$who"
    check_namespaces "$1" "$who"
    for task in "$proc/$1/task"/[0-9]*; do
        check_thread "$1" "${task##*/}"
    done
    calls_of "$1" | sort -u >"$work/calls"
    check_calls "$1" "$who"
    check_locks "$1" "$who"
    check_refused "$1"
}

check_thread() { # PROCESS TID
    directory=$proc/$1/task/$2
    comm=$(content "$directory/comm")
    check_affinity "$directory" "thread $2 ($comm)" "$2"
    policy=$(awk '{ sub(/.*\) /, ""); print $39 }' "$directory/stat" 2>/dev/null || true)
    case $policy in
    1 | 2 | 6)
        ! grep -qx "$2" "$work/granted" || return 0
        found own-policy "thread $2 ($comm) is real-time, and no reservation of yours has made it so" \
            "its program sets its own policy: switch that off in the program, and reserve with rtf-run, or with 'rtf adopt $2'"
        ;;
    esac
}

# Warns of calls by which the program can set its own policy: the kernel refuses the call, or the call undoes what a reservation has granted. Under rtf preload,
# such a call makes a reservation, so there is nothing to warn of.
check_calls() { # PROCESS WHO
    ! grep -qs '/rtf-preload\.so$' "$proc/$1/maps" || return 0
    calls=$(grep -v mlockall "$work/calls" | paste -sd , -) || calls=''
    [ -n "$calls" ] || return 0
    most=$(awk '/^Max realtime priority/ { print $4 }' "$proc/$1/limits" 2>/dev/null)
    case $owner=$most in
    0=*) refused='' ;;
    *=0) refused=', which the kernel refuses an ordinary user (EPERM)' ;;
    *) refused=", which the kernel refuses above priority $most (EPERM)" ;;
    esac
    found sets-policy "$2 can set its own policy ($calls)$refused; a thread with a reservation drifts by such a call, and the kernel lets no thread clear its reset-on-fork (EPERM)" \
        "switch this off in the program (options such as real-time, priority or rtprio), or start the program with 'rtf preload', which makes a reservation of each such call"
}

check_locks() { # PROCESS WHO
    grep -q mlockall "$work/calls" && [ "$owner" != 0 ] || return 0
    most=$(awk '/^Max locked memory/ { print $4 }' "$proc/$1/limits" 2>/dev/null) size=$(field "$proc/$1" VmSize)
    case $most$size in
    '' | *[!0-9]*) return 0 ;; # the limit is "unlimited"
    esac
    [ "$most" -lt $((size * 1024)) ] || return 0
    found memory-lock "$2 can lock its memory (mlockall), and may lock $((most / 1024)) KiB of $size KiB: the kernel refuses more (ENOMEM)" \
        "'prlimit --pid $1 --memlock=unlimited' as root, or LimitMEMLOCK=infinity in its unit, or \"lock_memory\" in its spec where acl.conf has max_lock_memory"
}

# ---- the calls that a program names ----

named_calls='sched_setscheduler|sched_setattr|sched_setparam|pthread_setschedparam|pthread_attr_setschedpolicy|mlockall'

# Prints the calls that the files of the program name, a line each. The files are the executable and the libraries, or the script. The process chooses the
# names of these files. So only regular files are opened. Root does not open them, because the owner can make a reader wait. Instead, a process of the
# owner reads them, within a timeout.
names_of_calls() { # PROCESS
    owner=$(field "$proc/$1" Uid)
    if is_interpreter "$1"; then scripts "$1"; else mapped "$1"; fi | sort -zu | head -c 60000 >"$work/mapped"
    # shellcheck disable=SC2016 # the inner shell expands these
    set -- xargs -0 -r sh -c 'exec find "$@" -maxdepth 0 -type f -size -262144k -exec grep -haoE "$0" {} +' "$named_calls"
    if is_root && [ "$owner" != 0 ]; then set -- "$libexec/rtf-as-user" --input --timeout 5s "$owner" "$@"; else set -- timeout -k 1 10 "$@"; fi
    "$@" <"$work/mapped" 2>/dev/null || true
}

# True if the executable is an interpreter. An interpreter names calls that its script may never make, so only the script counts.
is_interpreter() { # PROCESS
    case $(readlink "$proc/$1/exe" 2>/dev/null || true) in
    */python* | */perl* | */java | */ruby* | */node | */*sh) return 0 ;;
    esac
    return 1
}

# Prints the paths of the executable and the libraries, except libraries such as libc, which name such calls in every program. A zero byte ends each
# path.
mapped() { # PROCESS
    {
        readlink "$proc/$1/exe" 2>/dev/null || true
        awk '$2 ~ /x/ && $6 ~ /^\// && $6 !~ /\/(libc|libpthread|ld-linux[^\/]*|libstdc\+\+|libglib[^\/]*)[-.][^\/]*$/ { print $6 }' \
            "$proc/$1/maps" 2>/dev/null || true
    } | tr '\n' '\0'
}

# Prints the first three words of the command line that are no options, as paths: one of them may be the script. A zero byte ends each path. No path
# begins with -, because find(1) would take such a path for an option.
scripts() { # PROCESS
    where=$(readlink "$proc/$1/cwd" 2>/dev/null) || where=/
    head -c 60000 "$proc/$1/cmdline" 2>/dev/null | tr '\n\0' '?\n' |
        awk -v where="$where" 'NR > 1 && $0 != "" && !/^-/ && n++ < 3 { print $0 ~ /^\// ? $0 : where "/" $0 }' | tr '\n' '\0'
}

# Prints what names_of_calls prints. For an interpreter, also prints the calls that its command line names, because the command line may have a whole
# script.
calls_of() { # PROCESS
    names_of_calls "$1"
    ! is_interpreter "$1" || { head -c 60000 "$proc/$1/cmdline" 2>/dev/null | tr '\0' '\n' | grep -aoE "$named_calls"; } || true
}
