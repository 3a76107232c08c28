# Functions for all parts of rtf-doctor(1). They note findings, and read files of the machine.
# shellcheck shell=sh disable=SC2154 # files of the doctor share variables

# Makes a text one line without tabs, in printable ASCII.
one_line() { # TEXT
    printf '%s' "$1" | tr '\n\t' '  ' | harmless
}

# Notes a finding. Starts a process only if a text has other bytes than printable ASCII, because there may be a finding for each of a hundred rules.
found() { # CODE SENTENCE CURE
    case $2$3 in
    *[!\ -~]*) set -- "$1" "$(one_line "$2")" "$(one_line "$3")" ;;
    esac
    printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$work/found"
}

content() { cat "$1" 2>/dev/null || true; } # FILE

tab=$(printf '\t')
line_feed='
'

# Reads the files about the whole machine, all with one process. Sets $machine to lines FILE:LINE.
collect_machine() {
    machine=$(grep -sH '' "$proc/sys/kernel"/sched_deadline_period_m??_us "$proc/sys/kernel"/sched_rt_*_us \
        "$proc/sys/fs/inotify/max_user_instances" "$proc/self/cpuset" "$sys/devices/system/cpu/online" \
        "$sys/devices/system/clocksource/clocksource0/current_clocksource" "$sys/power/suspend_stats/success") || true
}

# Prints the rest of the first line in TEXT that begins with PREFIX.
behind() { # PREFIX TEXT
    case $line_feed$2 in
    *"$line_feed$1"*)
        behind_rest=$line_feed$2
        behind_rest=${behind_rest#*"$line_feed$1"}
        printf '%s\n' "${behind_rest%%"$line_feed"*}"
        ;;
    esac
}

of_machine() { behind "$1:" "$machine"; } # FILE

is_root() { [ "$uid" -eq 0 ]; }

# True if the user namespace of PROCESS has the same uids as the host. In any other user namespace, the files and processes of other users seem to belong
# to nobody.
is_mapped() { # PROCESS
    { read -r inside outside count <"$proc/$1/uid_map"; } 2>/dev/null || return 0
    [ "$inside" = 0 ] && [ "$outside" = 0 ] && [ "$count" -gt 65536 ]
}

field() { awk -v key="$2:" '$1 == key { print $2; exit }' "$1/status" 2>/dev/null || true; } # DIRECTORY KEY

# Turns "0-1,4" into single numbers, a line each.
each_cpu() { tr ',' '\n' | awk -F - 'NF { for (cpu = $1; cpu <= $NF; cpu++) print cpu }'; }

# Prints the CPUs of the first list that are not in the second.
without() { # LIST LIST
    printf '%s\n' "$2" | each_cpu >"$work/cpus"
    printf '%s\n' "$1" | each_cpu | { grep -vxF -f "$work/cpus" || true; } | paste -sd , -
}
