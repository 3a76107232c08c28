# Attached threads that do not run as granted, and real-time threads that no reservation accounts for.
# shellcheck shell=sh disable=SC2154 # files of the doctor share variables

# Lists threads in files of $work: attached (see own_attached), granted (ids), threads (see threads), and earlier and later (ids of the brokers' own
# processes, which may end, or start, while the doctor reads the other lists).
collect_threads() {
    own_attached >"$work/attached"
    : >"$work/earlier"
    : >"$work/later"
    guards_and_parts >"$work/earlier"
    granted_threads >"$work/granted"
    threads >"$work/threads"
}

# Prints TID, PROCESS, SESSION, UID, POLICY, RESET-ON-FORK, PRIORITY, RUNTIME, PERIOD and CPUS of each thread that is real-time or has reset-on-fork,
# with tabs between.
threads() {
    "$libexec/rtf-threads" | awk '{
        gsub(/[{}"]/, "")
        for (i = split($0, pairs, ","); i > 0; i--) {
            at = index(pairs[i], ":")
            if (at > 0) of[substr(pairs[i], 1, at - 1)] = substr(pairs[i], at + 1) list
            list = at > 0 ? "" : "," pairs[i] list # a list of CPUs has commas, too
        }
        print of["tid"] "\t" of["process"] "\t" of["session"] "\t" of["uid"] "\t" of["policy"] "\t" of["reset_on_fork"] "\t" \
            of["priority"] "\t" of["runtime"] "\t" of["period"] "\t" of["cpus"]
    }'
}

# ---- threads that do not run as granted ----

# Prints TID, NAME, STATE, POLICY, PRIORITY, RUNTIME, PERIOD and CPUS of each thread in the user's own verdicts, with tabs between. Root does not trust
# the verdicts of users, and uses rtf-invariants.
own_attached() {
    [ -n "$own" ] || return 0
    find "$own" -maxdepth 1 -type f -name '*.verdict' -not -name '.*' -size -65k -print0 |
        xargs -0 -r jq -r 'select(type == "object" and .thread != null and .grant != null)
            | [.thread.tid, (input_filename | sub(".*/"; "") | sub("\\.verdict$"; "")), .thread.state,
               .grant.policy, .grant.priority, .grant.accepted_runtime, .grant.period, .grant.cpus]
            | map(. // "-") | @tsv' 2>/dev/null || true
}

# Prints the name of the spec to which the thread is attached.
attached_to() { # TID
    awk -F '\t' -v tid="$1" '$1 == tid { print $2 }' "$work/attached"
}

# Prints NAME, TID and the difference of each thread that does not run as granted, with tabs between.
drifted() {
    awk -F '\t' '
        FILENAME ~ /\/threads$/ { policy[$1] = $5; priority[$1] = $7; runtime[$1] = $8; period[$1] = $9; cpus[$1] = $10; next }
        $3 == "attached" {
            is = $1 in policy ? policy[$1] : "other"
            says = ""
            if (is != $4) says = "runs under " is (priority[$1] > 0 ? " " priority[$1] : "") ", and is granted " $4
            else if (is != "deadline" && priority[$1] != $5) says = "has priority " priority[$1] ", and is granted " $5
            else if (is == "deadline" && (runtime[$1] != $6 || period[$1] != $7))
                says = "has " runtime[$1] "us in " period[$1] "us, and is granted " $6 "us in " $7 "us"
            else if (cpus[$1] != $8 && $8 != "-") says = "may run on CPUs " cpus[$1] ", and is granted CPUs " $8
            if (says != "") print $2 "\t" $1 "\t" says
        }' "$work/threads" "$work/attached" | LC_ALL=C sort
}

# A thread that has used up its runtime is ordinary until its next period. So a thread counts as drifted only if it differs in each of five readings.
check_drift() {
    [ -s "$work/attached" ] || return 0
    drifted >"$work/drifted"
    for _ in 1 2 3 4; do
        [ -s "$work/drifted" ] || return 0
        sleep 0.25
        own_attached >"$work/attached"
        threads >"$work/threads"
        drifted >"$work/now"
        comm -12 "$work/drifted" "$work/now" >"$work/both"
        mv "$work/both" "$work/drifted"
    done
    while IFS="$tab" read -r name thread what; do
        if [ -d "$proc/$thread" ]; then
            found drifted "thread $thread, attached to $name, $what" \
                "the thread or its program has set that itself; 'touch $own/$name.json' puts it back; 'rtf doctor -p $thread' tells whether the program sets its own policy"
        else
            found drifted "thread $thread, attached to $name, does not exist" "the broker has not noticed its end; 'rm $own/$name.tid'"
        fi
    done <"$work/drifted"
}

# Begins the comparison of the broker's books, its journal, files and kernel, for root, in the background. It takes as long as all other checks
# together.
begin_invariants() {
    [ "$is_served$is_stopped" = yesno ] && is_root || return 0
    "$libexec/rtf-invariants" --spool "$spool" >"$work/differs" 2>/dev/null &
    invariants=$!
}

check_invariants() {
    [ -n "$invariants" ] || return 0
    wait "$invariants" || true
    invariants=''
    while read -r line; do
        found drifted "$line" 'when the spec is touched, the broker sets the thread as granted; keep a program that sets its own policy from that; see rtf-invariants(8)'
    done <"$work/differs"
}

# ---- threads that no reservation accounts for ----

# Prints the lines of $work/threads of real-time threads outside of rtf. For a user, prints the user's own threads, and all SCHED_DEADLINE threads, because
# all users share their bandwidth. A user cannot know whether another user's thread has a reservation. But the broker gives reset-on-fork to each thread with
# a reservation, and most of root's own threads do not have it.
foreign() {
    awk -F '\t' -v me="$uid" '
        FILENAME ~ /\/granted$/ { ours[$1] = 1; next }
        FILENAME !~ /\/threads$/ { part[$1] = 1; next }
        $5 != "fifo" && $5 != "rr" && $5 != "deadline" { next }
        $1 in ours || $2 in part || $3 in part { next }
        me == 0 || $4 == me || ($5 == "deadline" && $6 != "true")' "$work/granted" "$work/later" "$work/earlier" "$work/threads"
}

# Prints the ids of the processes of brokers that may have real-time threads. A user cannot read which brokers run. But the only SCHED_DEADLINE thread of a broker
# belongs to rtf-guard, which runs as root.
guards_and_parts() {
    if is_root; then
        parts
    else
        ps -C rtf-guard -o pid= -o euid= | awk '$2 == 0 { print $1 }'
    fi
}

# Prints the journal of a broker that was killed, because its grants are still in force.
left_journal() {
    if [ "$is_served" = yes ] || [ -L "$spool/state" ] || [ "$(stat -c '%u %a' "$spool/state" 2>/dev/null)" != '0 700' ]; then return; fi
    ! cat "$spool/state/current/journal" 2>/dev/null || printf '\036'
}

# Prints the ids of the attached threads. Root reads them from the journals of all brokers, where the last record of a reservation counts.
granted_threads() {
    if ! is_root; then
        cut -f 1 "$work/attached"
        return
    fi
    { "$libexec/rtf-brokers" --journals; left_journal; } | LC_ALL=C sed 's/\x1e/\n\n\x1e\n\n/g' | awk -F = 'BEGIN { RS = "" }
        function tell() { for (task in attached) if (attached[task] > 0) print attached[task]; split("", attached) }
        $0 == "\036" { tell(); next }
        { record = task = tid = ""
          for (n = split($0, lines, "\n"); n > 0; n--) {
              key = value = lines[n]; sub(/=.*/, "", key); sub(/^[^=]*=/, "", value)
              if (key == "record") record = value; else if (key == "task") task = value; else if (key == "tid") tid = value
          }
          if (record == "reservation") attached[task] = tid; else if (record == "gone") delete attached[task] }'
}

# Notes all SCHED_DEADLINE threads of $work/foreign in one finding.
check_foreign_deadline() {
    awk -F '\t' '
        $5 == "deadline" && $9 > 0 { share += $8 * 1000 / $9; if (++count <= 5) which = which (count > 1 ? ", " : "") $1 }
        END { if (count) print count "\t" int(share) / 1000 "\t" which }' "$work/foreign" |
        while IFS="$tab" read -r count share which; do
            found taken "SCHED_DEADLINE threads outside of rtf have $share of a CPU ($count: $which): the kernel may refuse what the broker grants" \
                "end them, or lower threshold= in plugins.conf by as much"
        done
}

# Notes the other threads of $work/foreign, in a finding for each process.
check_foreign_processes() {
    awk -F '\t' '
        $5 == "deadline" { next }
        !count[$2]++ { policy[$2] = $5; owner[$2] = $4 }
        $7 > priority[$2] + 0 { priority[$2] = $7 }
        END { for (process in count) print process "\t" count[process] "\t" priority[process] "\t" policy[process] "\t" owner[process] }' "$work/foreign" |
        sort -n | while IFS="$tab" read -r process count priority policy owner; do
            comm=$(content "$proc/$process/comm")
            [ -n "$comm" ] || continue # the process has ended
            found foreign "process $process ($comm), of uid $owner, has $count $policy thread$([ "$count" = 1 ] || echo s) (priority $priority) outside of rtf" \
                'no test of admission counts it: give it a reservation, or leave it if it runs briefly and rarely'
        done
}

# The lists that were read first explain all real-time threads, except the threads of a broker, a helper process or a grant that began meanwhile. So these
# lists are read again.
check_foreign() {
    is_mapped self || return 0
    foreign >"$work/foreign"
    [ -s "$work/foreign" ] || return 0
    guards_and_parts >"$work/later"
    granted_threads >>"$work/granted"
    foreign >"$work/foreign"
    check_foreign_deadline
    check_foreign_processes
}
