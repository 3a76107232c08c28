# Shared by the commands of rtf(1) that are written in sh. A command sets
#
#     about     a sentence: what the command does
#     operands  the words behind its name in the usage
#     table     its options, one a line: LETTER|LONG|ARGUMENT|HELP; LETTER is `-` for none, ARGUMENT is empty for an option without a value
#     take      a function, which is called with LONG and the value of each option on the command line
#
# and sources this file, which leaves the operands in "$@". --help is made from the table, and the completions read --help. Exit codes are those
# of sysexits(3). Data go to standard output, messages to standard error.
# shellcheck shell=sh disable=SC2034,SC2154,SC2016 # variables cross the two files; a jq program has $names, too

# Opens the standard descriptors that are closed, so that no other file or pipe gets their numbers. A closed standard output is opened for reading, so
# that writing to it still fails.
{ true 9<&0; } 2>/dev/null || exec </dev/null
{ true 9>&1; } 2>/dev/null || exec 1</dev/null
true 9>&2 || exec 2>/dev/null

LC_ALL=C # in patterns, [a-z] means ASCII letters only, as in names of reservations
export LC_ALL
umask 077

readonly front_version='@VERSION@'
front=${0%/*}
libexec=$front/..
command=${0##*/rtf-}
spool=/var/spool/rtf
own='' uid=$(id -u)

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

# Writes standard input to standard output, and ends with 74 if standard output cannot be written. If its reader has closed the pipe, SIGPIPE ends the
# command as usual.
write_out() {
    cat 2>/dev/null || front_unwritten $?
}

front_unwritten() { # STATUS
    [ "$1" -lt 128 ] || exit "$1"
    fail 74 'standard output cannot be written'
}

# Makes standard input safe for a terminal: each character other than printable ASCII becomes \uXXXX, as in client_printable and front.jq. A byte that is
# not UTF-8 becomes \u00XX.
front_escape() { # BYTE-THAT-PASSES...
    od -An -v -tu1 | awk -v passing=" $* " '
        { for (i = 1; i <= NF; i++) byte[++count] = $i }
        END {
            for (at = 1; at <= count; at += more + 1) {
                code = byte[at]
                more = code >= 240 ? 3 : code >= 224 ? 2 : code >= 194 ? 1 : 0
                if (more > 0) code %= more == 3 ? 8 : more == 2 ? 16 : 32
                for (i = 1; i <= more; i++) {
                    if (byte[at + i] < 128 || byte[at + i] > 191) { code = byte[at]; more = 0 } else code = code * 64 + byte[at + i] - 128
                }
                if ((code >= 32 && code <= 126) || index(passing, " " code " ")) printf "%c", code + 0
                else if (code <= 65535) printf "\\u%04x", code
                else printf "\\u%04x\\u%04x", 55232 + int(code / 1024), 56320 + code % 1024
            }
        }'
}

printable() { # TEXT
    case $1 in
    *[!\ -~]*) printf %s "$1" | front_escape ;;
    *) printf %s "$1" ;;
    esac
}

# --- Options

front_table() {
    cat <<TEXT
$table
-|spool|DIR|The spool (default: /var/spool/rtf)
?|help||Print this text
V|version||Print the version
TEXT
}

front_help() {
    printf 'Usage: rtf %s %s\n' "$command" "$operands"
    front_table | awk -F '|' -v about="$about" '
        # Prints a text, with line breaks between words, for a terminal of 80 columns, as lib/command-line.c does.
        function print_text(text, indent,    words, count, i, at) {
            count = split(text, words, " ")
            for (i = 1; i <= count; i++) {
                if (i > 1 && at + 1 + length(words[i]) > 79) { printf "\n%" indent "s", ""; at = indent } else if (i > 1) { printf " "; at++ } else at = indent
                printf "%s", words[i]
                at += length(words[i])
            }
            print ""
        }
        BEGIN { print_text(about, 0); print "" }
        NF >= 4 {
            left = ($1 == "-" ? "      " : "  -" $1 ", ") "--" $2 ($3 == "" ? "" : "=" $3)
            printf length(left) < 30 ? "%-31s" : "%s\n%31s", left, ""
            print_text($4, 31)
        }'
    printf "\n'rtf help %s' opens the manual page.\n" "$command"
}

# Looks up an option of the table: sets $front_long and $front_argument.
front_look_up() { # LETTER-OR-LONG
    while IFS='|' read -r front_letter front_long front_argument front_text; do
        if [ "$1" = "$front_long" ] || { [ "$1" = "$front_letter" ] && [ "$1" != - ]; }; then return; fi
    done <<TEXT
$front_lines
TEXT
}

# Prints the options as getopt(1) takes them: letters such as "n:v", a blank, long options such as "lines:,verbose". getopt(1) cannot take -?, so front_refuse
# handles it.
front_getopt_words() {
    printf '%s\n' "$front_lines" | awk -F '|' '
        NF < 4 { next }
        { sign = $3 == "" ? "" : ":"; longs = longs (longs == "" ? "" : ",") $2 sign }
        $1 !~ /[-?]/ { letters = letters $1 sign }
        END { print letters " " longs }'
}

# Refuses a wrong command line: prints the sentence of lib/command-line.c instead of the sentence of getopt(1).
front_refuse() { # SENTENCE-OF-GETOPT
    case $1 in
    *"invalid option -- '?'" | *"invalid option -- 'h'") front_take help '' ;;
    esac
    wrong_usage "$(printable "$(printf '%s\n' "$1" | sed -n "1 {
        s/^[^:]*: //
        s/^unrecognized option '\([^=]*\).*'\$/there is no option \1/
        s/^invalid option -- '\(.*\)'\$/there is no option -\1/
        s/^option requires an argument -- '\(.*\)'\$/-\1 needs a value/
        s/^option '\(.*\)' requires an argument\$/\1 needs a value/
        s/^option '\(.*\)' doesn't allow an argument\$/\1 takes no value/
        p
    }")")"
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

# --- Checks of the command line

# Sets $name to NAME. The text is NAME, or NAME.json as a shell completes it.
take_name() { # TEXT
    name=${1%.json}
    case $name in
    '' | [!A-Za-z0-9_]* | *[!A-Za-z0-9_.@:-]*) front_bad=yes ;;
    *) front_bad='' ;;
    esac
    if [ -n "$front_bad" ] || [ "${#name}" -gt 64 ]; then
        fail 64 "$(printable "$1"): a name must be 1 to 64 of A-Z a-z 0-9 _ . @ : - and start with a letter, a digit or _"
    fi
}

is_number() { # TEXT
    case $1 in
    '' | *[!0-9]*) return 1 ;;
    esac
    [ "${#1}" -le 15 ]
}

# Prints the time that the user may have meant: 1500us for "1.5ms". Prints nothing if the text is no time.
guess_time() { # TEXT
    printf '%s\n' "$1" | awk '/^[ +]*([0-9]+\.?[0-9]*|\.[0-9]+)([eE]\+?[0-9])? *[uUmM]?[sS]$/ {
        unit = tolower($0)
        sub(/^[ +0-9.]*(e\+?[0-9])? */, "", unit)
        us = ($0 + 0) * (unit == "us" ? 1 : unit == "ms" ? 1000 : 1000000)
        if (us >= 1 && us <= 3600000000 && us % 1 == 0) printf "%.0fus", us }'
}

# A time is a whole number and a unit. A number without a unit is refused: chrt(1) takes it for ns, systemd for seconds.
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
    if is_number "$front_number"; then return; fi
    front_guess=$(guess_time "$2")
    fail 64 "$1 $(printable "$2"): a time must be a whole number and a unit (us, ms, s, min, h or d), ${front_guess:+such as }${front_guess:-1us to 366d}"
}

check_number() { # OPTION TEXT
    is_number "$2" || fail 64 "$1 $(printable "$2"): this takes a whole number"
}

# Without jq, a command that reads JSON would give a wrong reason for its failure.
need_jq() {
    command -v jq >/dev/null || fail 69 'jq is not installed: install the package jq'
}

# Runs jq with the definitions of front.jq.
query() { # FILTER OPTION...
    front_filter=$1
    shift
    jq -L "$front" "$@" "include \"front\"; $front_filter"
}

# Prints fields, which tabs separate, as a table. Each column but the last is as wide as its widest field.
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

open_spool() {
    [ -d "$spool/specs" ] || {
        [ ! -d "$spool" ] || [ -x "$spool" ] || fail 77 "$spool: permission denied (rtf doctor says why)"
        fail 69 "no broker has made a spool at $spool ('$(starter)', as root, makes it)"
    }
}

# Prints the command that starts a broker of this spool on this machine.
starter() {
    "$front/status-lines" --spool "$spool" | sed -n 's/^start\t//p'
}

front_is_own() { # DIRECTORY
    [ -d "$1" ] && [ ! -L "$1" ] && [ "$(stat -c %u "$1")" = "$uid" ]
}

# Sets $own to the user's own directory; empty: there is none. Its name is $USER, the decimal uid or the account's name, as in client_enter.
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

# True if a broker serves the spool. A broker has the FIFO `alive` open for reading while it serves.
broker_serves() {
    [ -p "$spool/alive" ] && dd if=/dev/null of="$spool/alive" oflag=nonblock conv=notrunc status=none 2>/dev/null
}

# --- The command line: options go to `take`, wherever they stand; operands stay in "$@".

unset POSIXLY_CORRECT # if it is set, getopt(1) takes no option behind an operand
front_lines=$(front_table)
front_words=$(front_getopt_words)
front_said=$(getopt -Q -n rtf -o "${front_words% *}" -l "${front_words#* }" -- "$@" 2>&1) || front_refuse "$front_said"
eval "set -- $(getopt -n rtf -o "${front_words% *}" -l "${front_words#* }" -- "$@")"
while [ "$1" != -- ]; do
    front_word=${1#-}
    front_look_up "${front_word#-}"
    shift
    if [ -n "$front_argument" ]; then
        front_take "$front_long" "$1"
        shift
    else
        front_take "$front_long" ''
    fi
done
shift
case $command in
acl | doctor | drain | history | restart) need_jq ;;
esac
