# What the commands of rtf share. A command sets
#
#     about     what it does, in one sentence
#     operands  what follows its name in the usage
#     table     its options, one a line: LETTER|LONG|ARGUMENT|HELP; `-` for no letter, ARGUMENT empty for a flag; the line `needs` stands for
#               the options of rtf-run(1) that say what a thread needs
#     take      a function that is called with LONG and the value of each option that was given
#
# and sources this file, which leaves the operands in "$@". --help, and the completions that read it, come from the table. Exit codes are those
# of sysexits(3), and 76 where a thread cannot be attached; data goes to standard output, talk to standard error.
# shellcheck shell=sh disable=SC2034,SC2154,SC2016 # the command uses what is set here, and sets others; jq has $names, too

LC_ALL=C # ranges such as [a-z] mean letters of the alphabet of names
export LC_ALL
umask 077

readonly front_version='@VERSION@'
front=${0%/*}
libexec=$front/..
bin=$front/@BIN@
command=${0##*/rtf-}
spool=/var/spool/rtf
own='' uid=$(id -u) answer_within=30s

fail() { # EXIT-CODE SENTENCE
    printf 'rtf %s: %s\n' "$command" "$2" >&2
    exit "$1"
}

say() { # SENTENCE
    printf 'rtf %s: %s\n' "$command" "$1" >&2
}

wrong_usage() { # SENTENCE
    fail 64 "$1 ('rtf $command --help' tells more)"
}

# What goes to standard output, to the end: who reads no further ends us as ever.
write_out() {
    cat 2>/dev/null || front_unwritten $?
}

front_unwritten() { # STATUS
    [ "$1" -lt 128 ] || exit "$1"
    fail 74 'standard output cannot be written'
}

# The answer, where --json asks for it; false: it cannot be written.
print_verdict() {
    if [ -n "$json" ] && [ -n "$verdict" ]; then printf '%s\n' "$verdict" 2>/dev/null; fi
}

# Anything for a terminal: what is no printable ASCII is a question mark.
printable() { # TEXT
    printf %s "$1" | tr -c ' -~' '?'
}

# Colours, where somebody looks who has not asked for none (no-color.org): else empty.
paint() {
    bold='' dim='' red='' green='' yellow='' plain=''
    if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
        escape=$(printf '\033')
        bold="${escape}[1m" dim="${escape}[2m" red="${escape}[31m" green="${escape}[32m" yellow="${escape}[33m" plain="${escape}[0m"
    fi
}

# --- Options

front_table() {
    printf '%s\n' "$table" | while IFS= read -r front_line; do
        if [ "$front_line" = needs ]; then printf '%s\n' "$needs_table"; else printf '%s\n' "$front_line"; fi
    done
    cat <<'TEXT'
-|spool|DIR|The spool (default: /var/spool/rtf)
?|help||Print this text
V|version||Print the version
TEXT
}

front_help() {
    printf 'Usage: rtf %s %s\n%s\n\n' "$command" "$operands" "$about"
    front_table | awk -F '|' '
        NF >= 4 {
            left = ($1 == "-" ? "      " : "  -" $1 ", ") "--" $2 ($3 == "" ? "" : "=" $3)
            printf length(left) < 30 ? "%-30s %s\n" : "%s\n" sprintf("%31s", "") "%s\n", left, $4
        }'
    printf "\n'rtf help %s' opens the manual page.\n" "$command"
}

# The line of the table for -X or --LONG: front_long and front_argument.
front_look_up() { # LETTER-OR-LONG WORD
    [ "$1" != h ] || set -- '?' "$2"
    while IFS='|' read -r front_letter front_long front_argument front_text; do
        if [ "$1" = "$front_long" ] || { [ "$1" = "$front_letter" ] && [ "$1" != - ]; }; then return; fi
    done <<TEXT
$front_lines
TEXT
    wrong_usage "there is no option $(printable "$2")"
}

front_take() { # LONG VALUE
    case $1 in
    spool) spool=$2 ;;
    help)
        front_help | write_out
        exit
        ;;
    version)
        printf 'rtf %s %s\n' "$command" "$front_version" | write_out
        exit
        ;;
    *) take "$1" "$2" ;;
    esac
}

# --- Checks of what was typed

# NAME or NAME.json, as a shell completes it: to $name.
take_name() { # TEXT
    name=${1%.json}
    case $name in
    '' | [!A-Za-z0-9_]* | *[!A-Za-z0-9_.@:-]*) front_bad=yes ;;
    *) front_bad='' ;;
    esac
    if [ -n "$front_bad" ] || [ "${#name}" -gt 64 ]; then
        fail 64 "$(printable "$1"): a name is 1 to 64 of A-Z a-z 0-9 _ . @ : - and starts with a letter, a digit or _"
    fi
}

is_number() { # TEXT
    case $1 in
    '' | *[!0-9]*) return 1 ;;
    esac
    [ "${#1}" -le 15 ]
}

# "1.5ms" is 1500us, perhaps; nothing where nobody can tell.
guess_time() { # TEXT
    printf '%s\n' "$1" | awk '/^[ +]*([0-9]+\.?[0-9]*|\.[0-9]+)([eE]\+?[0-9])? *[uUmM]?[sS]$/ {
        unit = tolower($0)
        sub(/^[ +0-9.]*(e\+?[0-9])? */, "", unit)
        us = ($0 + 0) * (unit == "us" ? 1 : unit == "ms" ? 1000 : 1000000)
        if (us >= 1 && us <= 3600000000 && us % 1 == 0) printf "%.0fus", us }'
}

# Above an hour a time is a typing error, but for how long to wait.
is_no_longer() { # OPTION NUMBER UNIT
    case $1=$3 in
    --timeout=*) ;;
    *=min) [ "$2" -le 60 ] ;;
    *=h) [ "$2" -le 1 ] ;;
    *=d) return 1 ;;
    esac
}

# A whole number and a unit. chrt(1) means ns by a bare number, systemd seconds: nobody knows.
check_time() { # OPTION TEXT
    if is_number "$2"; then fail 64 "$1 $2: a time needs a unit (us, ms, s, min, h or d)"; fi
    front_number=${2%s}
    case $2 in
    *us) front_number=${2%us} ;;
    *ms) front_number=${2%ms} ;;
    *s) ;;
    *min) front_number=${2%min} ;;
    *h) front_number=${2%h} ;;
    *d) front_number=${2%d} ;;
    *) front_number='' ;;
    esac
    if is_number "$front_number" && is_no_longer "$1" "$front_number" "${2#"$front_number"}"; then return; fi
    front_guess=$(guess_time "$2")
    fail 64 "$1 $(printable "$2"): a time is a whole number and a unit (us, ms, s, min, h or d), ${front_guess:+such as }${front_guess:-1us to 1h}"
}

check_number() { # OPTION TEXT
    is_number "$2" || fail 64 "$1 $(printable "$2"): this takes a whole number"
}

# --- What a thread needs: the options of rtf-run(1), and any key of rtf-spec(5)

needs_table='T|runtime|TIME|CPU time that is used in each period
P|period|TIME|Time from one activation to the next
D|deadline|TIME|Time within which the runtime must be had (default: the period)
-|desired-runtime|TIME|Take up to this much runtime if there is room
-|priority|N|Priority, 1 to 99; higher runs first
-|plugin|NAME|Ask only this plugin
-|ignore-admission||Ask to be admitted even if the test fails
-|cpus|LIST|Only on CPUs of this list: 0-3,6
-|net|[INTERFACE:]SIZE[/TIME]|What is sent: so much in each period, or a rate such as 10Mbit; or eth0:background
-|disk|[DISK:]SIZE[/TIME][,block=SIZE]|What is read and written: so much in each period, or a second; or sda:background
-|expires|TIME|End unless it is renewed in time, by touch or a change
-|comment|TEXT|A note to put into the spec
-|set|KEY=VALUE|Any key of rtf-spec(5)'
needs='' # a line for each: KEY=VALUE
disk=''  # what --disk says

add_need() { # KEY VALUE
    needs="$needs$1=$2
"
}

# A value of a key, as typed: times with a unit; nothing that ends a line.
check_value() { # KEY VALUE
    case $1 in
    '' | *[!a-z_]*) fail 64 "$(printable "$1=$2"): this must be KEY=VALUE, with a key of rtf-spec(5)" ;;
    esac
    case $2 in
    *'
'*) fail 64 "$1: the value is more than one line" ;;
    esac
    case $1=$2 in
    *= | *=null) ;;
    runtime=* | period=* | deadline=* | desired_runtime=* | expires=*) check_time "$1" "$2" ;;
    priority=* | attach=*) check_number "$1" "$2" ;;
    esac
}

# False: the option is none of these.
take_need() { # LONG VALUE
    case $1 in
    runtime | period | deadline | desired-runtime | expires)
        check_time "--$1" "$2"
        add_need "$(printf %s "$1" | tr - _)" "$2"
        ;;
    priority)
        check_number --priority "$2"
        add_need priority "$2"
        ;;
    plugin | comment | cpus)
        check_value "$1" "$2"
        add_need "$1" "$2"
        ;;
    ignore-admission) add_need ignore_admission true ;;
    net)
        check_value net "$2"
        add_need network "$(query 'network($net)' -nc --arg net "$2")"
        ;;
    disk)
        check_value disk "$2"
        disk=$2
        ;;
    set)
        case $2 in
        *=*) ;;
        *) fail 64 "--set $(printable "$2"): this must be KEY=VALUE, with a key of rtf-spec(5)" ;;
        esac
        check_value "${2%%=*}" "${2#*=}"
        add_need "${2%%=*}" "${2#*=}"
        ;;
    *) return 1 ;;
    esac
}

# A path is looked up with the rights of who has typed it. After all options: the spool is one of them.
add_disk() {
    claim=$("$libexec/rtf-claim" "$spool" "$disk" 2>&1) || fail 64 "--disk $(printable "$disk"): $claim"
    add_need disk "$claim"
}

# jq with our definitions.
query() { # FILTER OPTION...
    front_filter=$1
    shift
    jq -L "$front" "$@" "include \"front\"; $front_filter"
}

# $spec with the needs laid over it, and this token.
lay_over() { # TOKEN
    spec=$(printf '%s\n' "$spec" | query 'lay_over($needs) | .token = $token' -c --arg needs "$needs" --arg token "$1")
}

# Fields between tabs in columns, as wide as their widest; a last one of any width.
columns() {
    awk -F '\t' '
        { for (i = 1; i <= NF; i++) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) }; fields = NF }
        END {
            for (n = 1; n <= NR; n++) {
                for (i = 1; i < fields; i++) printf "%-" width[i] "s  ", cell[n, i]
                print cell[n, fields]
            }
        }' | write_out
}

# --- The spool

front_denied() {
    group=$(stat -c %G "$spool/specs")
    case " $(id -Gn 2>/dev/null) $(id -G) " in
    *" $group "* | *" $(stat -c %g "$spool/specs") "*) fail 77 "$spool/specs: permission denied" ;;
    esac
    fail 77 "you are not in group $group, which may use $spool (a new member must log in again)"
}

open_spool() {
    [ -d "$spool/specs" ] || fail 69 "no broker has made a spool at $spool"
}

front_is_own() { # DIRECTORY
    [ -d "$1" ] && [ ! -L "$1" ] && [ "$(stat -c %u "$1")" = "$uid" ]
}

# One's own directory: $USER, else the decimal uid, else the account's name; as rtf-run finds it. To $own, which is empty if there is none.
find_own() {
    own=''
    open_spool
    account=$(id -un 2>/dev/null) || account=$uid
    for front_user in "${USER:-}" "$uid" "$account"; do
        case $front_user in
        '' | .* | */*) continue ;;
        esac
        if front_is_own "$spool/specs/$front_user"; then
            own=$spool/specs/$front_user
            return
        fi
    done
}

# The same; it is made if it is missing.
enter_own() {
    find_own
    [ -z "$own" ] || return 0
    own=$spool/specs/$account
    if mkdir -m 700 "$own" 2>/dev/null || front_is_own "$own"; then return; fi
    if [ -e "$own" ] || [ -L "$own" ]; then fail 71 "$own belongs to somebody else"; fi
    [ -w "$spool/specs" ] || front_denied
    fail 71 "cannot make $own"
}

make_token() {
    od -An -N8 -tx8 /dev/urandom | tr -d ' \n'
}

inode() { # FILE
    stat -c %i "$1" 2>/dev/null || :
}

# NAME.json appears in one instant, and never over another one: false if there is one.
put_new() { # NAME TOKEN TEXT
    aside=$own/.$1.json.$2
    { printf '%s\n' "$3" >"$aside"; } 2>/dev/null || front_full "$aside" # the shell would tell its own line of the script
    mv -n "$aside" "$own/$1.json" 2>/dev/null || :
    [ -e "$aside" ] || return 0
    rm -f "$aside"
    return 1
}

front_full() { # FILE
    rm -f "$1"
    fail 74 "cannot write $1"
}

# Takes a spec back, if it is still the one that was put there.
withdraw() { # NAME INODE
    if [ -n "$2" ] && [ "$(inode "$own/$1.json")" = "$2" ]; then rm -f "$own/$1.json"; fi
}

# Waits for the answer to the spec with this token: to $verdict, or a sentence why there is none to $trouble; its status is rtf-wait's.
await() { # NAME TOKEN
    verdict='' trouble='' status=0
    verdict=$(USER=${own##*/} "$bin/rtf-wait" --spool "$spool" --timeout "$answer_within" ${2:+--token "$2"} "$1" 2>&1) || status=$?
    case $verdict in
    '{'*) ;;
    *)
        trouble=${verdict#rtf-wait: }
        verdict=''
        ;;
    esac
    return "$status"
}

# Whether a broker holds the other end.
broker_serves() {
    [ -p "$spool/alive" ] && dd if=/dev/null of="$spool/alive" oflag=nonblock conv=notrunc status=none 2>/dev/null
}

# "EDF refused: CPU 1 has 0.12 of 0.95 left, 0.2 asked; a runtime of at most 1200us would fit", or why there is no answer.
refusal() {
    if [ -n "$trouble" ]; then printf '%s\n' "$trouble"; else printf '%s\n' "$verdict" | query refusal -r; fi
}

# What is granted, or would be, in a sentence.
grant_text() {
    printf '%s\n' "$verdict" | query '.grant // .would_grant | granted | printable' -r
}

# $spec under $name, to the end of the command: what is refused is taken back, unless it is to be kept ($keep). Without $wait nobody waits; $json
# prints the answer, $verbose says what is granted.
declare_spec() { # TOKEN
    front_placed=''
    enter_own
    trap 'withdraw "$name" "$front_placed"; exit 130' INT
    trap 'withdraw "$name" "$front_placed"; exit 143' HUP TERM
    put_new "$name" "$1" "$spec" || fail 73 "$name exists already: 'rtf change $name' changes it, 'rtf release $name' ends it"
    front_placed=$(inode "$own/$name.json")
    [ -n "$wait" ] || exit 0
    if await "$name" "$1"; then
        [ -z "$verbose" ] || say "$name: $(grant_text)"
    else
        [ -n "$keep" ] || withdraw "$name" "$front_placed"
        say "$name: $(refusal)"
    fi
    print_verdict || {
        withdraw "$name" "$front_placed"
        front_unwritten 1
    }
    exit "$status"
}

# --- The command line: options go to `take`, wherever they stand; operands stay.

front_lines=$(front_table)
set -- "$@" # none is "$@" too
front_left=$#
while [ "$front_left" -gt 0 ]; do
    front_word=$1
    front_left=$((front_left - 1))
    shift
    case $front_word in
    --)
        while [ "$front_left" -gt 0 ]; do
            front_word=$1
            shift
            set -- "$@" "$front_word"
            front_left=$((front_left - 1))
        done
        break
        ;;
    --*=*)
        front_key=${front_word%%=*}
        front_look_up "${front_key#--}" "$front_key"
        [ -n "$front_argument" ] || wrong_usage "$front_key takes no value"
        front_take "$front_long" "${front_word#*=}"
        ;;
    --*)
        front_look_up "${front_word#--}" "$front_word"
        if [ -z "$front_argument" ]; then
            front_take "$front_long" ''
            continue
        fi
        [ "$front_left" -gt 0 ] || wrong_usage "$front_word needs a value"
        front_left=$((front_left - 1))
        front_value=$1
        shift
        front_take "$front_long" "$front_value"
        ;;
    -?*)
        front_rest=${front_word#-}
        while [ -n "$front_rest" ]; do
            front_letter=${front_rest%"${front_rest#?}"}
            front_rest=${front_rest#?}
            front_look_up "$front_letter" "-$front_letter"
            if [ -z "$front_argument" ]; then
                front_take "$front_long" ''
                continue
            fi
            if [ -z "$front_rest" ]; then
                [ "$front_left" -gt 0 ] || wrong_usage "-$front_letter needs a value"
                front_left=$((front_left - 1))
                front_rest=$1
                shift
            fi
            front_take "$front_long" "$front_rest"
            front_rest=''
        done
        ;;
    *) set -- "$@" "$front_word" ;;
    esac
done
[ -z "$disk" ] || add_disk
