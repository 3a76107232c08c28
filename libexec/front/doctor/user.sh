# Checks the group of the user who runs the doctor, and the user's own directory in the spool.
# shellcheck shell=sh disable=SC2154 # files of the doctor share variables

check_member() {
    [ -d "$spool/specs" ] || return 0
    [ "$uid" -ne 0 ] || return 0
    group=$(getent group "$spool_group") || group=''
    group=${group%%:*}
    group=${group:-$spool_group}
    known=$(id -G "$account" 2>/dev/null || true)
    in_database=no
    case " $known " in *" $spool_group "*) in_database=yes ;; esac
    [ "$rule_names_user" != yes ] || in_database=named
    case " $(id -G) " in
    *" $spool_group "*)
        [ "$in_database" != no ] ||
            found not-member "this process has the group $group, but uid $uid is no member of the group, and acl.conf does not name the user" \
                "ask an administrator for 'usermod -a -G $group $account'"
        ;;
    *)
        if [ "$in_database" = yes ]; then
            found login "you became a member of the group $group after you logged in" "log in again, or 'newgrp $group'"
        else
            found not-member "you are not in the group $group, which may use $spool" \
                "ask an administrator for 'usermod -a -G $group $account'; then log in again"
        fi
        ;;
    esac
}

check_directory() {
    [ -n "$own" ] || return 0
    is=$(stat -c '%u %a' "$own")
    if [ "$is" != "$uid 2700" ] && [ "$is_served" = yes ]; then
        found directory "$own has the mode ${is#* }, not 2700: the broker has not seen it yet, or somebody has changed the mode" "'chmod 2700 $own'"
    fi
}

# Prints the files in the user's own directory that the broker ignores: DIRECTORY and NAME, with a tab between. Root does not look into the
# directory of a user, because its owner could make a process wait there.
ignored() {
    [ -n "$own" ] && [ -d "$own" ] || return 0
    find "$own" -mindepth 1 -maxdepth 1 -regextype posix-extended -not -name '.*' \
        -not -regex '.*/[A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63}\.(json|tid|verdict|ignored|events)' -not -name '*.ignored' \
        '(' -type d -name new -prune -o -not -type d -printf '%h\t%f\0' ')' 2>/dev/null | tr '\n\0' '?\n' | harmless
}

check_ignored() {
    ignored | LC_ALL=C sort | awk -F '\t' '
        { count[$1]++; if (count[$1] <= 3) names[$1] = names[$1] (names[$1] == "" ? "" : ", ") "\"" substr($2, 1, 64) "\"" }
        END { for (d in count) print d "\t" names[d] (count[d] > 3 ? " and " count[d] - 3 " more" : "") }' >"$work/ignored"
    while IFS="$tab" read -r where names; do
        found ignored "in $where the broker ignores $names" \
            'rename the file: a name must be [A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63} followed by .json or .tid, in small letters'
    done <"$work/ignored"
}

# Finds a file whose change time is in the future, because the clock was set back. Until the clock reaches this time, the broker cannot tell which
# change is newer.
check_future() {
    [ -n "$own" ] || return 0
    future=$(find "$own" -maxdepth 1 -newerct '5 seconds' -not -name '.*' -printf '%f\n' 2>/dev/null | harmless | head -n 1)
    [ -z "$future" ] ||
        found clock "$own/$future was changed in the future: the clock has been set back" \
            "'touch $own/$future' when the clock is right ('timedatectl')"
}

# Finds out whether the user's processes have used up the inotify instances of the user. The kernel does not show how many are in use, so inotifywait tries to
# get one. Root skips this check, because root's own instances tell nothing about other users.
check_instances() {
    most=$(of_machine "$proc/sys/fs/inotify/max_user_instances")
    if [ -z "$most" ] || is_root; then return 0; fi
    case $(inotifywait -t 1 "$work/none" 2>&1 || true) in
    *'initialize inotify'*'oo many'*) ;;
    *) return 0 ;;
    esac
    found instances "your programs have all $most inotify instances of a user: rtf top, inotifywait and rtf_fd(3) get none" \
        "'sysctl fs.inotify.max_user_instances=$((most * 4))'"
}
