# Tells which program enforces the runtimes of whole processes ("budget": "process"), and which budgets the
# kernel has itself. shellcheck shell=sh disable=SC2154 # variables cross the files

# True if a line of plugins.conf grants runtimes of whole processes.
bounds_processes() { are_files && grep -q '^[^#]*[[:space:]]enforce=process\([[:space:]]\|$\)' "$option_config/plugins.conf"; }

# Prints the names of the kernel's own budgets for cgroups, a line each. RT_GROUP_SCHED has a file in the cpu controller of version 1. HCBS has a file in
# groups of version 2, but perhaps not in the root group.
kernel_budgets() {
    awk '$3 == "cgroup" && ("," $4 ",") ~ /,cpu,/ { print "1 " $2 } $3 == "cgroup2" { print "2 " $2 }' "$proc/self/mounts" 2>/dev/null |
        while read -r version where; do
            where=$option_root$where
            case $version in
            1) [ ! -e "$where/cpu.rt_runtime_us" ] || echo 'RT_GROUP_SCHED (cpu.rt_runtime_us)' ;;
            2)
                for file in "$where/cpu.rt.max" "$where"/*/cpu.rt.max; do
                    [ ! -e "$file" ] || echo 'HCBS (cpu.rt.max)'
                done
                ;;
            esac
        done | sort -u
}

# The groups of rtf-guard are in the perf_event hierarchy of version 1. The command line of the kernel can switch off the controller, or version 1.
check_process_budget() {
    bounds_processes || return 0
    content "$proc/cmdline" | tr ' ' '\n' | grep -q '^cgroup_\(no_v1\|disable\)=\(.*,\)\{0,1\}\(all\|perf_event\)\(,\|$\)' || return 0
    found process-budget 'the kernel was booted without the perf_event hierarchy of cgroup version 1: no runtime of a whole process can be enforced' \
        'boot without cgroup_no_v1= or cgroup_disable= for perf_event, or remove enforce=process from plugins.conf'
}

# Sets $bounds to yes if the broker grants runtimes of whole processes, and then $kernel to the lines of kernel_budgets.
collect_process_budget() {
    bounds_processes || return 0
    bounds=yes
    kernel=$(kernel_budgets)
}

# Prints a line that only informs the user, and is no finding.
say_process_budget() {
    printf 'Runtimes of whole processes (enforce=process): rtf-guard enforces them, by a perf event on a cgroup. '
    if [ -n "$kernel" ]; then
        printf 'This kernel could enforce them itself, by %s; rtf does not use that.\n' "$(printf '%s\n' "$kernel" | paste -sd , - | sed 's/,/ and /g')"
    else
        printf 'This kernel cannot itself bound the real-time CPU time of a cgroup.\n'
    fi
}
