# Checks the properties of a process that stem from its start: its cgroup, affinity and namespaces. Checks the
# doctor's own process, and with -p a program. shellcheck shell=sh disable=SC2154 # files of the doctor share
# variables

# Prints the directory of PROCESS's cgroup in the cpu controller of version 1; nothing with version 2, or for the root cgroup.
cpu_group() { # PROCESS
    { cat "$proc/self/mounts" && echo - && cat "$proc/$1/cgroup"; } 2>/dev/null | awk '
        $0 == "-" { FS = ":"; groups = 1; next }
        !groups && where == "" && $3 == "cgroup" && ("," $4 ",") ~ /,cpu,/ { where = $2 }
        groups && ("," $2 ",") ~ /,cpu,/ { path = substr($0, length($1 $2) + 3); exit }
        END { if (where != "" && path != "" && path != "/") print where path }'
}

check_group() { # PROCESS WHO
    group=$(cpu_group "$1")
    [ -n "$group" ] || return 0
    [ "$(content "$group/cpu.rt_runtime_us")" != 0 ] ||
        found rt-group "$2 is in the cpu cgroup $group, which has no real-time runtime: no thread of it can be SCHED_FIFO or SCHED_RR" \
            "'echo 10000 > $group/cpu.rt_runtime_us', or boot with rt_group_sched=0; SCHED_DEADLINE needs neither"
}

check_affinity() { # DIRECTORY-IN-PROC WHO TID
    all=$(of_machine "$sys/devices/system/cpu/online") may=$(field "$1" Cpus_allowed_list)
    [ -n "$all" ] && [ -n "$may" ] && [ "$all" != "$may" ] || return 0
    missing=$(without "$all" "$may")
    [ -n "$missing" ] || return 0
    [ -z "$(attached_to "$3")" ] || return 0 # the broker has set the affinity of an attached process
    group=$(content "$1/cpuset")
    if [ "${group:-/}" != / ]; then
        found affinity "$2 may run on CPU $may only, not on $missing, and is in the cpuset $group" \
            "move it to a cpuset with all CPUs of the plugin that is to serve it, or add these CPUs to the cpuset"
    else
        found affinity "$2 may run on CPU $may only, not on $missing; SCHED_DEADLINE over all CPUs needs all of them" \
            "'taskset -pc $all $3', unless this is intended"
    fi
}

check_namespaces() { # PROCESS WHO
    pids=$(readlink "$proc/$1/ns/pid" 2>/dev/null || true)
    theirs=$pid_namespace
    if [ -n "$pids" ] && [ -n "$theirs" ] && [ "$pids" != "pid:[$theirs]" ]; then
        found namespace "$2 is in another pid namespace than the broker: a thread has another id there" \
            'use rtf-run or rtf attach in there, which name a thread so that the broker finds it (Linux 6.14), or write the id on the host into NAME.tid (the first number behind NSpid: in /proc/TID/status on the host), or share the namespace (--pid=host)'
    fi
    is_mapped "$1" ||
        found namespace "$2 is in a user namespace: its uids are other uids on the host" \
            'name the uid on the host in acl.conf: this uid owns the spec'
}
