# The broker, its plugins, and its spool.
# shellcheck shell=sh disable=SC2154 # files of the doctor share variables

# Reads status.json, and the lines of the configuration that are not in force (status-lines.c). Sets $is, $running, $pid_namespace, $healthy
# and $served, and writes the file $work/status.
collect_status() {
    is='' running='' pid_namespace='' healthy='' served=''
    status_lines ${option_config:+--config "$option_config"} | sed '/^force/,$d' >"$work/status"
    while IFS="$tab" read -r key value; do
        case $key in
        is) is=$value ;;
        running) running=$value ;;
        pid_namespace) pid_namespace=$value ;;
        healthy) healthy=$value ;;
        served) served=$value ;;
        esac
    done <"$work/status"
}

check_broker() {
    if [ ! -d "$spool" ]; then
        found no-spool "there is no spool at $spool" "start the broker as root with '$(starter)': it makes the spool; or name another spool with --spool"
        return
    fi
    [ -x "$spool" ] || return 0 # check_spool notes a spool that cannot be entered
    [ "$is" != serving ] || is_served=yes
    case $is in
    absent)
        was="no broker serves $spool"
        [ "$running" != true ] || was="$was: the last broker was killed, or the machine went down, and status.json still says that it runs"
        found no-broker "$was" "start the broker as root with '$(starter)'. If the broker does not start, the log of the system says why, or 'rtf-brokerd --foreground --spool $spool'"
        ;;
    starting)
        found broker-starting "the broker of $spool has been started and does not serve yet" "wait; after ten seconds look at 'journalctl -u rtf'"
        ;;
    esac
}

# Prints the processes that may be the broker of this spool. Root finds the process in the register. Only root may read the register, so a user looks for a
# process of root with the name and the spool of the broker. (This is a guess, because a user can give a process of root this name by a link to su.)
broker_processes() {
    if is_root; then
        broker_process
        return
    fi
    ps -C rtf-brokerd -o pid= -o ruid= -o euid= | while read -r process real effective; do
        if [ "$real:$effective" = 0:0 ] && [ "$(spool_of "$process")" = "$(readlink -f "$spool")" ]; then printf '%s\n' "$process"; fi
    done
}

# Prints the spool on a broker's command line, or the default one.
spool_of() { # PROCESS
    place=$(tr '\n\0' '?\n' 2>/dev/null <"$proc/$1/cmdline" | awk '
        next_is_spool { place = $0; next_is_spool = 0; next }
        $0 == "--spool" { next_is_spool = 1 }
        /^--spool=/ { place = substr($0, 9) }
        END { print place }')
    readlink -f "${place:-/var/spool/rtf}"
}

# A stopped broker (SIGSTOP) still has the spool's FIFO open, and so seems to serve. Sets $is_stopped. Root's doctor does not ask a stopped broker for its
# books, because the broker would not answer.
check_stopped() {
    is_stopped=no
    [ "$is" != absent ] || return 0
    for process in $(broker_processes); do
        case $(ps -o stat= -p "$process") in
        T*)
            is_stopped=yes
            found broker-stopped "the broker of $spool (process $process) is stopped: it answers no spec" "'kill -CONT $process' as root"
            ;;
        esac
    done
}

check_plugins() {
    while IFS="$tab" read -r what state plugin; do
        case $what.$state in
        plugin.off)
            found plugin "the plugin $plugin is off: its interface or disk cannot give the bandwidth that plugins.conf states" \
                "the log says why ('rtf log --stage broker'); remove the reason, and restart the broker"
            ;;
        plugin.restarting)
            found plugin "the plugin $plugin does not serve: the broker starts it again" "the log says why ('rtf log --stage plugin')"
            ;;
        esac
    done <"$work/status"
}

check_draining() {
    [ ! -e "$spool/draining" ] ||
        found draining "the administrator lets no new reservation begin: there is a file $spool/draining" "wait; root ends this with 'rtf resume'"
}

# Prints the process ids of the brokers, their launchers and all their helper processes.
parts() { # [SPOOL]
    "$libexec/rtf-brokers" ${1:+--spool "$1"} >"$work/brokers" # the id is 0 if the broker is in another pid namespace
    ps -e -o pid= -o ppid= | awk '
        NR == FNR { if ($1 > 0) broker[$1] = 1; next }
        { parent[$1] = $2 }
        END {
            for (id in parent) {
                up = id
                for (steps = 0; steps < 3 && !broker[up] && up in parent; steps++) up = parent[up]
                if (broker[up]) print id
            }
        }' "$work/brokers" -
}

# Finds programs that still run, although an upgrade has put new files in their places. The register names the brokers, and `parts` finds the brokers'
# other processes by their parents.
check_replaced() {
    if ! is_root || [ "$is_served" != yes ]; then return 0; fi
    parts "$spool" | while read -r process; do
        program=$(readlink "$proc/$process/exe" 2>/dev/null) || continue
        case $program in
        *' (deleted)') printf '%s\n' "${program% (deleted)}" ;;
        esac
    done | sed 's,.*/,,' | sort -u | paste -sd , - | sed 's/,/, /g' >"$work/replaced"
    replaced=$(cat "$work/replaced")
    [ -z "$replaced" ] ||
        found replaced "an upgrade has replaced the files of programs that still run: $replaced" \
            "run 'rtf restart' as root: all grants stay in force"
}

# ---- the spool ----

# Reads owner, group and mode of the spool's files. Sets $paths to a line for each file, and $spool_group to the group of the spool.
collect_paths() {
    [ -d "$spool/specs" ] || return 0
    paths=$(cd "$spool" && stat -c '%n: %F %a %u %g' . alive starting specs status.json log state 2>/dev/null) || true
    spool_group=$(behind 'specs: ' "$paths")
    spool_group=${spool_group##* }
}

# Compares a file of the spool with what the broker makes (spool/manifest).
check_path() { # PATH TYPE MODE GROUP
    path=$spool/$1
    is=$(behind "$1: " "$paths")
    if [ -z "$is" ]; then
        [ "$is_served" != yes ] || found spool "$path is missing" 'restart the broker: it makes the file'
        return 0
    fi
    is_group=${is##* } is=${is% *}
    is_owner=${is##* } is=${is% *}
    is_mode=${is##* } is=${is% *}
    if [ "$is" != "$2" ]; then
        found spool "$path is a $is, not a $2" 'remove it and restart the broker: it makes the file'
    elif [ "$is_owner" != 0 ]; then
        found spool "$path belongs to uid $is_owner, not to root" "'chown root $path'"
    elif [ "$is_group" != "$4" ] && [ "$4" != - ]; then
        found spool "$path has the group $is_group, not $4" "'chgrp $4 $path'"
    elif [ "$is_mode" != "$3" ]; then
        found spool "$path has the mode $is_mode, not $3" "'chmod $3 $path'"
    fi
}

check_spool() {
    if [ ! -x "$spool" ]; then
        found spool "$spool has the mode $(stat -c %a "$spool"), not 755: you may not enter it" \
            "as root, 'chmod 755 $spool' and 'rtf reload': the broker corrects the modes of the files in it"
        return
    fi
    [ -d "$spool/specs" ] || return 0
    is_mapped self || return 0
    check_path . directory 755 0
    check_path alive fifo 620 "$spool_group"
    check_path starting fifo 620 "$spool_group"
    check_path specs directory 3730 "$spool_group"
    check_path status.json 'regular file' 640 "$spool_group"
    check_path log directory 2750 -
    check_path state directory 700 -
    check_log
    check_full
    [ "$spool_group" != 0 ] ||
        found spool "$spool/specs has the group root: only root can use it" \
            "make a group ('groupadd --system rtf'), and start the broker with --group"
}

# Finds a log without its current file. Only root and the group adm may look into the directory of the log, so for other users there is no check.
check_log() {
    [ "$is_served" = yes ] && [ -x "$spool/log" ] && [ ! -e "$spool/log/events.ndjson" ] || return 0
    found log "the log $spool/log/events.ndjson does not exist: the file was removed, or rotated without SIGHUP, and new events cannot be read" \
        "send the broker SIGHUP ('rtf reload'): it makes a new file"
}

# Finds a full file system of the spool. On a full file system verdicts and messages say ENOSPC, or are not written at all.
check_full() {
    df --output=target,avail,itotal,iavail "$spool/." "$spool/specs" "$spool/log" 2>/dev/null | awk '
        NR == 1 || seen[$0]++ { next }
        { target = $1; for (i = 2; i <= NF - 3; i++) target = target " " $i }
        $(NF - 2) < 8 { print target "\troom" } $(NF - 1) > 0 && $NF == 0 { print target "\tinodes" }' >"$work/full"
    while IFS="$tab" read -r target what; do
        found full "the file system $target of $spool is full (No space left on device): it has no $what for specs, verdicts and the log" \
            "remove files there; 'du -s $spool/specs/* $spool/log', as root, prints the size of each user's"
    done <"$work/full"
}
