# plugins.conf and acl.conf: errors, rules that do nothing, and lines that the broker has not read.
# shellcheck shell=sh disable=SC2154 # files of the doctor share variables

# True if plugins.conf and acl.conf are regular files that this process may read. A FIFO or a device could make a reader wait without end.
are_files() {
    for conf in plugins.conf acl.conf; do
        { [ -f "$option_config/$conf" ] && [ -r "$option_config/$conf" ]; } || return 1
    done
}

# Begins the broker's own check of the configuration, in the background. cd / prevents a message that the shell prints if its directory was
# removed.
begin_config() {
    { is_mapped self && are_files; } || return 0
    where=$(readlink -f "$option_config")
    (cd / && exec "$libexec/rtf-brokerd" --check --config "$where") >"$work/said" 2>&1 &
    check=$!
}

# The directory of the configuration, or one of its files, is missing. A user needs no configuration, unless the user has named one.
check_config_directory() {
    if [ -d "$option_config" ]; then
        found config "$option_config/plugins.conf or acl.conf cannot be read" 'both files must exist, with mode 644'
    elif [ -n "$named_config" ] || is_root; then
        found config "there is no $option_config" 'make install makes plugins.conf and acl.conf there; or name another directory with --config'
    fi
}

check_config() {
    is_mapped self || return 0
    if ! are_files; then
        check_config_directory
        return 0
    fi
    [ -n "$check" ] || return 0
    status=0
    wait "$check" || status=$?
    check=''
    while read -r line; do check_said "$status" "$line"; done <"$work/said"
}

# Notes one line of the broker's check. Exit status 69 means that a line of plugins.conf would be off. Any other status than 0 and 69 means an error.
check_said() { # EXIT-STATUS LINE
    case $1.$2 in
    '69.plugins.conf:'*'would be off: '*)
        off=${2#plugins.conf:*: }
        grep -qxF "plugin${tab}off$tab${off%% *}" "$work/status" ||
            found kept "after a restart, $2" 'make the interface or disk available before the next restart, or remove the line from plugins.conf'
        ;;
    0.* | 69.*) found rule "$2" 'change the line, or ignore this finding; see rtf-lint(8)' ;;
    *) found config "${2#rtf-brokerd: }" "correct the line, and check it with 'rtf-brokerd --check --config $option_config'" ;;
    esac
}

check_in_force() {
    while IFS="$tab" read -r key what line; do
        case $key.$what in
        unread.rules) found unread "$line" "run 'rtf reload' as root, or undo the edit" ;;
        unread.plugins) found unread "$line" "run 'rtf restart' as root: all grants stay in force; or undo the edit" ;;
        esac
    done <"$work/status"
}

# Reads from acl.conf the least and the largest period that a rule allows, us, and whether a rule names this user. Sets $least, $most and
# $rule_names_user.
collect_rules() {
    least='' most='' rule_names_user=''
    are_files || return 0
    awk -v uid="$uid" '{ sub(/#.*/, ""); gsub(/\r/, " ") }
        $1 == uid { named = "yes" }
        $3 == "min_period" || $3 == "max_period" {
            us = $4 + 0
            us *= $4 ~ /ms$/ ? 1000 : $4 ~ /[0-9]s$/ ? 1000000 : $4 ~ /min$/ ? 60000000 : $4 ~ /h$/ ? 3600000000 : 1
            if ($3 == "min_period" && (least == "" || us < least)) least = us
            if ($3 == "max_period" && us > most) most = us
        }
        END { print least; print most; print named }' "$option_config/acl.conf" >"$work/bounds" 2>/dev/null || true
    { read -r least; read -r most; read -r rule_names_user; } <"$work/bounds" || true
}
