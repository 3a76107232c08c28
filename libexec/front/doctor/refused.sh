# Calls of a program under rtf-preload(1) that were refused. The library of rtf preload notes them in a file of the user (libexec/preload/refusals.h). The
# user can write anything into this file. So root does not read it, but lets a process of the user do so. Only a bounded part counts, and the doctor takes
# no cure from the file. shellcheck shell=sh disable=SC2154 # files of the doctor share variables

# Prints the lines of the file about PROCESS, which belongs to $owner.
refusals() { # PROCESS
    note=.refused-$(awk '$1 == "NSpid:" { print $NF }' "$proc/$1/status" 2>/dev/null)
    if is_root; then
        name=$(getent passwd "$owner") || name=$owner
        specs=$(readlink -f "$spool")/specs
        set -- "$libexec/rtf-as-user" --spool "$spool" --timeout 5s "$owner" find "$specs/${name%%:*}/$note" "$specs/$owner/$note"
    elif [ -n "$own" ] && [ "$owner" = "$uid" ]; then
        set -- timeout -k 1 5 find "$own/$note"
    else
        return 0
    fi
    "$@" -maxdepth 0 -type f -exec head -q -c 20000 '{}' ';' 2>/dev/null || true
}

# Prints THREAD, ERROR, NAME, CALL and REASON of each thread whose last call was refused, at most 20.
last_refusals() { # PROCESS
    start=$(awk '{ sub(/.*\) /, ""); print $20 }' "$proc/$1/stat" 2>/dev/null)
    refusals "$1" | awk -F '\t' -v OFS='\t' -v start="$start" '
        BEGIN { names[1] = "EPERM"; names[3] = "ESRCH"; names[16] = "EBUSY"; names[22] = "EINVAL" }
        NF == 6 && $1 == start && $2 ~ /^[0-9]+$/ && $3 ~ /^[0-9]+$/ { last[$2] = $3 + 0 == 0 ? "" : $2 OFS ($3 in names ? names[$3] : "error " $3) OFS $4 OFS $5 OFS $6 }
        END { for (thread in last) if (last[thread] != "" && count++ < 20) print last[thread] }' | sort -n
}

check_refused() { # PROCESS
    says=''
    ! is_root || [ "$owner" = 0 ] || says=", as a file of uid $owner says"
    last_refusals "$1" >"$work/refused"
    while IFS="$tab" read -r thread error name call reason; do
        found refused "thread $thread ($name) asked for $call, and rtf preload refused it ($error)$says: $reason" \
            "remove the cause, and start the program again; 'rtf what-if' asks whether a reservation would be granted"
    done <"$work/refused"
}
