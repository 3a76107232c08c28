# The assumptions of the admission tests about the CPUs: they are always there, and always as fast.
# shellcheck shell=sh disable=SC2154 # files of the doctor share variables

# Sets $stolen to the time that a hypervisor has taken since boot, in ms. The kernel counts it in hundredths of a second.
read_stolen() {
    stolen=0
    { read -r _ _ _ _ _ _ _ _ steal _ <"$proc/stat"; } 2>/dev/null || return 0
    case $steal in '' | *[!0-9]*) ;; *) stolen=$((steal * 10)) ;; esac
}

# Prints the names of the lines of plugins.conf that guarantee deadlines as if they had whole CPUs: they have a test for that, and no supply=.
assuming_lines() {
    are_files || return 0
    awk '{ sub(/#.*/, ""); gsub(/\r/, " "); sub(/.*\//, "", $2); $1 = $1 }
        / supply=/ { next }
        $2 == "edf" && (/ admission=(density|demand|gfb)( |$)/ || (/ partition=(unthrottled|cpuset)( |$)/ && !/ admission=/)) { print $1 }
        $2 == "rm" && !/ admission=necessary( |$)/ { print $1 }' "$option_config/plugins.conf" | harmless | paste -sd , - | sed 's/,/, /g'
}

is_virtual() {
    [ "$stolen" -gt 0 ] || [ -e "$sys/hypervisor/type" ] || grep -qsE '^flags[[:space:]]*:.* hypervisor( |$)' "$proc/cpuinfo"
}

check_hypervisor() { # LINES
    stolen_first=$stolen
    read_stolen
    is_virtual || return 0
    found hypervisor "a hypervisor can take this machine's CPUs away (since boot for $((stolen / 1000)) s, while rtf doctor looked for $((stolen - stolen_first)) ms), \
and then threads of $1 can miss deadlines that plugins.conf guarantees" \
        "write the supply= that 'rtf muse supply' measures into these lines of plugins.conf, or supply=1,0us if this machine alone has the CPUs"
}

# Finds CPUs whose speed the kernel changes: the governor is not performance, and the lowest and highest frequency differ.
check_frequency() { # LINES
    grep -sH '' "$sys"/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor "$sys"/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_m??_freq >"$work/speeds" || [ -s "$work/speeds" ] || return 0
    changing=$(sed -n 's|.*/cpu\([0-9]*\)/cpufreq/scaling_\([a-z]*\)[_a-z]*:|\1 \2 |p' "$work/speeds" | sort -n | awk '
        { value[$1, $2] = $3; if ($1 != last || NR == 1) cpu[++count] = last = $1 }
        END {
            for (i = 1; i <= count; i++) {
                own = value[cpu[i], "governor"]
                if (own == "" || own == "performance" || (value[cpu[i], "min"] != "" && value[cpu[i], "min"] == value[cpu[i], "max"])) continue
                list = list (list == "" ? "" : ",") cpu[i]
                if (!seen[own]++) governors = governors (governors == "" ? "" : ", ") own
            }
            if (list != "") print list " (governor " governors ")"
        }')
    [ -z "$changing" ] || found frequency "the kernel changes the speed of CPU $changing, and below the speed at which runtimes were measured, threads of $1 can \
miss deadlines that plugins.conf guarantees" \
        "'cpupower frequency-set --governor performance', or write the supply= that 'rtf muse supply' measures into these lines of plugins.conf"
}

check_supply() {
    assuming=$(assuming_lines)
    [ -n "$assuming" ] || return 0
    check_hypervisor "$assuming"
    check_frequency "$assuming"
}
