# The limits of the kernel for real-time threads, and the machine's clock.
# shellcheck shell=sh disable=SC2154 # files of the doctor share variables

check_periods() {
    min=$(of_machine "$proc/sys/kernel/sched_deadline_period_min_us") max=$(of_machine "$proc/sys/kernel/sched_deadline_period_max_us")
    [ -n "$min" ] && [ -n "$max" ] || return 0
    [ "$min" -le "${least:-100}" ] ||
        found periods "the kernel takes no SCHED_DEADLINE period below ${min}us, and the rules allow ${least:-100}us" \
            "'sysctl kernel.sched_deadline_period_min_us=${least:-100}', or raise min_period in acl.conf"
    [ "$max" -ge "${most:-4194304}" ] ||
        found periods "the kernel takes no SCHED_DEADLINE period above ${max}us, and the rules allow ${most:-4194304}us" \
            "'sysctl kernel.sched_deadline_period_max_us=${most:-4194304}', or lower max_period in acl.conf"
}

check_rt_runtime() {
    runtime=$(of_machine "$proc/sys/kernel/sched_rt_runtime_us") period=$(of_machine "$proc/sys/kernel/sched_rt_period_us")
    usual="'sysctl kernel.sched_rt_runtime_us=950000'"
    [ -n "$runtime" ] || return 0
    if [ "$runtime" = 0 ]; then
        found rt-runtime 'the kernel gives real-time threads no time at all (sched_rt_runtime_us is 0)' "$usual"
    elif [ "$runtime" = -1 ]; then
        check_unthrottled
    elif [ $((runtime * 100)) -lt $((period * 90)) ]; then
        found rt-runtime "real-time threads have $((runtime * 100 / period)) % of each CPU (sched_rt_runtime_us is $runtime of $period)" "$usual"
    fi
}

# Call this if sched_rt_runtime_us is -1. The value -1 is a finding unless plugins.conf of the broker has partition=unthrottled, which sets this value. Only
# root may read which broker has set the value.
check_unthrottled() {
    [ "$is_served" != yes ] || ! are_files || ! grep -q '^[^#]*partition=unthrottled' "$option_config/plugins.conf" || return 0
    other=$(content "$option_root/run/rtf/throttle" | sed -n 's/^by=//p' | head -n 1)
    what='sched_rt_runtime_us is -1: the kernel stops no runaway thread and tests no SCHED_DEADLINE thread, and no line of plugins.conf asks for that'
    if [ -n "$other" ]; then
        found rt-runtime "$what; the broker of $other does" "'rtf-brokerd --put-back --spool $other', if that broker was killed"
    else
        found rt-runtime "$what" "$usual, or 'rtf-brokerd --put-back' if a broker that was killed has left it"
    fi
}

# Finds bandwidth that the kernel still counts for SCHED_DEADLINE threads that have ended. The kernel counts in 2^-20 of a CPU. On kernels with fair
# servers, the total also has 0.05 of each CPU for its fair server. A difference below 0.002 of each CPU is rounding.
check_bandwidth() {
    [ -r "$sys/kernel/debug/sched/debug" ] || return 0
    awk '
        /dl_bw->bw/ && !bw { bw = $NF }
        /dl_bw->total_bw/ { if ($NF > total) total = $NF }
        /dl_server|fair_server/ { server = 52428 }
        END { if (bw) print total + 0, server + 0 }' "$sys/kernel/debug/sched/debug" >"$work/books" 2>/dev/null || return 0
    [ -s "$work/books" ] || return 0
    read -r taken servers <"$work/books"
    [ ! -d "$sys/kernel/debug/sched/fair_server" ] || servers=52428
    cpus=$(of_machine "$sys/devices/system/cpu/online" | each_cpu | wc -l)
    awk -F '\t' -v taken="$taken" -v cpus="$cpus" -v server="$servers" '
        $5 == "deadline" && $9 > 0 { share = int($8 * 1048576 / $9); known += share + (share * $9 < $8 * 1048576) }
        END { lost = taken - cpus * server - known; if (lost > 2048 * cpus) print int(lost * 1000 / 1048576) / 1000 }' "$work/threads" >"$work/leaked"
    [ ! -s "$work/leaked" ] ||
        found leaked "the kernel counts $(cat "$work/leaked") of a CPU for SCHED_DEADLINE threads that have ended" \
            "stop the broker, run 'sysctl kernel.sched_rt_runtime_us=950000', and reboot if that does not help; do not demote such threads with chrt while they sleep"
}

check_clock() {
    source=$(of_machine "$sys/devices/system/clocksource/clocksource0/current_clocksource")
    case $source in
    '' | tsc | kvm-clock | arch_sys_counter | xen | hyperv_clocksource* | vmware* | timebase | riscv_clocksource | tod) ;;
    *)
        found clock "the kernel's clock is $source, which takes a microsecond and more to read" \
            'boot with tsc=reliable if the processor has an invariant TSC; dmesg says why the kernel does not use it'
        ;;
    esac
    resolution=''
    [ ! -r "$proc/timer_list" ] || resolution=$(awk '/resolution:/ { print $2; exit }' "$proc/timer_list" 2>/dev/null || true)
    [ "${resolution:-1}" = 1 ] ||
        found clock "timers have a resolution of ${resolution}ns: the kernel does not use high-resolution timers" 'boot without highres=off and nohz=off'
    slept=$(of_machine "$sys/power/suspend_stats/success")
    [ "${slept:-0}" = 0 ] ||
        found suspend "the machine was suspended $slept times since boot, and threads missed every deadline of that time" \
            "'systemctl mask sleep.target suspend.target'"
}
