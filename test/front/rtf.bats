# rtf(1): finds the command, and helps a user who does not know its name.
load ../helper
load ../command
load front

prepare() { front_prepare; }

@test "rtf without a command lists the commands on standard error, and exits with 64" {
    run -64 --separate-stderr "$RTF_BIN/rtf"
    [ -z "$output" ]
    [[ $stderr == 'Usage: rtf '* ]]
    while read -r name _; do
        if [ -e "$RTF_LIBEXEC/front/rtf-$name" ] || [ -e "$RTF_BIN/rtf-$name" ]; then grep -qE "^  $name +[a-z]" <<<"$stderr"; fi
    done <"$RTF_LIBEXEC/front/commands"
}

@test "rtf has help, --help and --version" {
    for word in help --help '-?'; do
        prints 0 "$RTF_BIN/rtf" "$word"
        out 'Usage: rtf *declare*'
    done
    for word in --version -V; do
        prints 0 "$RTF_BIN/rtf" "$word"
        out "$("$RTF_BIN/rtf-run" --version | sed 's/rtf-run/rtf/')"
    done
}

@test "every command that is installed is listed, and has a page in its section" {
    for file in "$RTF_LIBEXEC"/front/rtf-* "$RTF_BIN"/rtf-*; do
        name=${file##*/rtf-}
        section=$(awk -v name="$name" '$1 == name { print $2 }' "$RTF_LIBEXEC/front/commands")
        [ -n "$section" ] || { echo "$name is not in commands" >&2; false; }
        [ -e "$RTF_SOURCE/man/rtf-$name.$section.scd" ] || { echo "$name has no page" >&2; false; }
    done
}

@test "rtf names the nearest command for an unknown command, if one is similar" {
    fails 64 "rtf: there is no command declaer; did you mean declare? ('rtf help' lists them)" "$RTF_BIN/rtf" declaer
    fails 64 "rtf: there is no command lst; did you mean ls? (*" "$RTF_BIN/rtf" lst
    fails 64 "rtf: there is no command realease; did you mean release? (*" "$RTF_BIN/rtf" realease x
    fails 64 "rtf: there is no command waht-if; did you mean what-if? (*" "$RTF_BIN/rtf" waht-if
    fails 64 "rtf: there is no command breakfast ('rtf help' lists them)" "$RTF_BIN/rtf" breakfast
    fails 64 "rtf: there is no command brokerd ('rtf help' lists them)" "$RTF_BIN/rtf" brokerd
    fails 64 "rtf: there is no command ../rtf-log (*" "$RTF_BIN/rtf" ../rtf-log
    fails 64 "rtf: there is no command ?[31m (*" "$RTF_BIN/rtf" $'\e[31m'
    fails 64 "rtf: there is no option --spoil *" "$RTF_BIN/rtf" --spoil
    fails 64 "rtf: --spool needs a directory" "$RTF_BIN/rtf" --spool
}

@test "run and wait are commands, too; --spool goes with any" {
    broker_start
    prints 0 as $ALICE "$RTF_BIN/rtf" --spool="$SPOOL" run -T 2ms -P 20ms -- chrt -p 0
    out '*SCHED_DEADLINE*'
    fails 66 'rtf-wait: there is no spec cam *' rtf wait cam
}

@test "help COMMAND opens the command's page from the installed place" {
    command -v man >/dev/null || skip 'man is not here'
    prints 0 env MANWIDTH=80 PAGER=cat "$RTF_BIN/rtf" help declare
    grep -q 'rtf-declare - reserve CPU time under a name' "$WORK/out"
    fails 64 "rtf: there is no command declaer; did you mean declare? (*" "$RTF_BIN/rtf" help declaer
    mkdir "$WORK/bin"
    for tool in sh readlink dirname awk cat; do ln -s "$(command -v $tool)" "$WORK/bin/$tool"; done
    fails 69 "rtf: man(1) is not installed; 'rtf declare --help' lists the options" env PATH="$WORK/bin" "$RTF_BIN/rtf" help declare
}

@test "rtf works through a link, with an empty environment, and in any directory" {
    ln -s "$RTF_BIN/rtf" "$WORK/link"
    cd /
    prints 0 env -i PATH=/usr/bin:/bin "$WORK/link" --version
    broker_start
    prints 0 as $ALICE env -i PATH=/usr/bin:/bin "$WORK/link" --spool "$SPOOL" what-if -T 2ms -P 20ms
}

@test "rtf prints the same in the C locale and in UTF-8, without a terminal and in a pipe" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms --comment 'grün'
    for locale in C C.UTF-8; do
        LC_ALL=$locale rtf ls --noheadings -o name,state | cat >"$WORK/list"
        [ "$(cat "$WORK/list")" = 'cam  granted' ]
        LC_ALL=$locale prints 0 rtf show cam
        grep -qF 'comment=gr\u00fcn' "$WORK/out"
        LC_ALL=$locale fails 64 'rtf show: gr??n: a name must be *' rtf show 'grün'
    done
    setsid --wait bash -c 'exec </dev/null >/dev/null 2>&1; exec "$@"' bash "$RTF_BIN/rtf" --spool "$SPOOL" ls
}

# Prints the status for wrong usage: 125 for commands that become another command.
usage_status() { case $1 in run | every | preload) echo 125 ;; *) echo 64 ;; esac; }

# help_of COMMAND SECTION STATUS: the command answers --help, --version and an unknown option without a spool and without a terminal, and its page has the
# headings of all pages.
help_of() {
    local page=$RTF_SOURCE/man/rtf-$1.$2.scd
    prints 0 rtf "$1" --help && prints 0 rtf "$1" --version && [ "$(wc -l <"$WORK/out")" -eq 1 ] || return 1
    NO_COLOR=1 LC_ALL=C rtf "$1" --help </dev/null | cat >"$WORK/out"
    lacks "[^ -~]" "$WORK/out" && lacks '.\{80\}' "$WORK/out" && lacks 'Mandatory or optional' "$WORK/out" || return 1
    run rtf "$1" --no-such-option
    [ "$status" -eq "$3" ] || return 1
    [ "$1" = muse ] || [[ $output == rtf[\ -]"$1: there is no option --no-such-option ('rtf $1 --help' tells more)" ]] || return 1
    for heading in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do grep -qx "# $heading" "$page" || { echo "$page: $heading" >&2; return 1; }; done
}

# bats test_tags=turn:1
@test "each command has --help, --version, a sentence for a wrong option, and a page with its exit status and examples" {
    while read -r name section _; do
        help_of "$name" "$section" "$(usage_status "$name")" || { echo "rtf $name: $output" >&2; false; }
    done <"$RTF_LIBEXEC/front/commands"
}

# bats test_tags=turn:1
@test "commands in sh and in C take options in the same way, and refuse them in the same words" {
    for command in log release ls top wait; do # log is written in sh, the others in C
        fails 64 "rtf?$command: there is no option --nope *" rtf $command --nope=1
        fails 64 "rtf?$command: there is no option -x *" rtf $command -x
        fails 64 "rtf?$command: --spool needs a value *" rtf $command --spool
        fails 64 "rtf?$command: --help takes no value *" rtf $command --help=yes
        prints 0 rtf $command name --hel # the option stands behind an operand, and is abbreviated
        prints 0 rtf $command '-?'
        POSIXLY_CORRECT=1 prints 0 rtf $command name --help
    done
}

# unwritable COMMAND...: the command, run by root, says in one line that its output cannot be written, and exits with 74: on a full disk, and if standard output
# is closed.
unwritable() {
    local status=0
    "$RTF_BIN/rtf" --spool "$SPOOL" "$@" </dev/null >/dev/full 2>"$WORK/full" || status=$?
    [ "$status" -eq 74 ] || { echo "$* >/dev/full: $status, $(<"$WORK/full")" >&2; return 1; }
    status=0
    "$RTF_BIN/rtf" --spool "$SPOOL" "$@" </dev/null >&- 2>"$WORK/closed" || status=$?
    [ "$status" -eq 74 ] || { echo "$* >&-: $status, $(<"$WORK/closed")" >&2; return 1; }
    for file in "$WORK/full" "$WORK/closed"; do
        [ "$(<"$file")" = "rtf $1: standard output cannot be written" ] || { cat "$file" >&2; return 1; }
    done
}

# bats test_tags=turn:2
@test "a command in sh whose output cannot be written says so in one line, on a full disk and without a standard output" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    for json in '' --json; do
        # shellcheck disable=SC2086 # no word, or one
        {
            for what in check explain who; do unwritable acl --config "$CONFIG" $json $what; done
            unwritable history $json
            unwritable log $json
            unwritable doctor --config "$CONFIG" $json
        }
    done
    unwritable history --totals
    unwritable log --follow
    # Without any standard descriptor, no file gets their numbers: the log stays as it is.
    before=$(cksum <"$EVENTS")
    "$RTF_BIN/rtf" --spool "$SPOOL" history <&- >&- 2>&- || true
    [ "$(cksum <"$EVENTS")" = "$before" ]
}

# The statuses are those of chrt and sleep.
# bats test_tags=turn:2
@test "a help or a version that cannot be written causes a message and a failure" {
    unwritten() { # STATUS PROGRAM...
        status=0
        "${@:2}" >/dev/full 2>"$WORK/err" || status=$?
        [ "$status" -eq "$1" ] && grep -qE "^${2##*/}: (write error: No space left on device|standard output cannot be written)$" "$WORK/err" || { echo "${*:2}: $status, $(<"$WORK/err")"; return 1; }
    }
    for option in --help --version; do
        unwritten 125 "$RTF_BIN/rtf-run" $option
        unwritten 74 "$RTF_BIN/rtf-wait" $option
    done
    for part in brokerd attach detach partition rtkit; do unwritten 74 "$RTF_LIBEXEC/rtf-$part" --help; done
    for file in "$RTF_LIBEXEC"/front/rtf-*; do
        no "$RTF_BIN/rtf" "${file##*/rtf-}" --help >/dev/full 2>"$WORK/err"
        [ -s "$WORK/err" ]
    done
}

# bats test_tags=turn:1
@test "JSON is the same in a pipe, in any locale, with and without colours, for no spec and for names of 64 characters" {
    broker_start
    long=$(printf 'n%.0s' $(seq 64))
    as $ALICE mkdir "$OWN"
    for round in nothing something; do
        if [ "$round" = something ]; then
            silent rtf declare "$long" -T 2ms -P 20ms --comment 'grün'
            prints 0 rtf show "$long" --json
            says ".name == \"$long\" and .spec.comment == \"grün\""
        fi
        for command in ls plugins history log 'what-if -T 2ms -P 20ms' "acl --config $CONFIG explain" "acl --config $CONFIG who" "acl --config $CONFIG check" "doctor --config $CONFIG"; do
            # shellcheck disable=SC2086 # words
            for locale in C C.UTF-8; do
                for colour in '' 1; do
                    LC_ALL=$locale NO_COLOR=$colour rtf $command --json </dev/null 2>"$WORK/err" | cat >"$WORK/out"
                    jq -e . "$WORK/out" >/dev/null || [ ! -s "$WORK/out" ] || { echo "rtf $command: $(<"$WORK/out")" >&2; false; }
                    if grep -vE '^rtf (log|history): from now on, .* keeps the answers' "$WORK/err" >&2; then false; fi
                done
            done
        done
    done
    prints 0 rtf ls --json
    says ".reservations[0].name == \"$long\""
    prints 0 rtf history --json
    says ".name == \"$long\""
}

@test "page, --help and --version agree" {
    page=$(awk '/^# / { inside = $0 == "# OPTIONS" } inside && /^\*-/' "$RTF_SOURCE/man/rtf.1.scd" | grep -oE '\*--?[a-zA-Z?][a-z-]*' | tr -d '*' | sort -u)
    help=$("$RTF_BIN/rtf" --help | grep -E '^ {1,8}-' | grep -oE '(^|[ ,])--?[a-zA-Z?][a-z-]*' | tr -d ' ,' | sort -u)
    [ "$page" = "$help" ] || { diff <(echo "$page") <(echo "$help") >&2; false; }
    # The page names each command.
    while read -r name section _; do grep -q "^\*rtf-$name\*($section)$" "$RTF_SOURCE/man/rtf.1.scd" || { echo "$name" >&2; false; }; done <"$RTF_LIBEXEC/front/commands"
}

@test "each program that a user may start has --help and --version" {
    for program in "$RTF_BIN"/rtf "$RTF_BIN"/rtf-run "$RTF_BIN"/rtf-wait \
        "$RTF_LIBEXEC"/rtf-{brokers,invariants,lint,net,disk,probe,names,threads,brokerd,attach,detach,partition,rtkit} "$RTF_LIBEXEC"/muse/{sweep,report,supply-word,run} "$RTF_LIBEXEC"/front/rtf-[a-z]*; do
        for option in -h --help; do
            run --separate-stderr "$program" $option
            [[ $status -eq 0 && $output == [Uu]sage:* ]] || { echo "$program $option: $status $output $stderr" >&2; return 1; }
        done
        case $program in */muse/sweep | */muse/report | */muse/supply-word) continue ;; esac # these are parts of rtf muse
        run -0 --separate-stderr "$program" --version
        [[ $output =~ ^rtf.*[0-9]$ ]] || { echo "$program --version: $output" >&2; return 1; }
    done
    run -64 --separate-stderr "$RTF_LIBEXEC/rtf-threads" 1
    run -74 chrt -r 1 sh -c "'$RTF_LIBEXEC/rtf-threads' >/dev/full" # chrt makes rtf-threads itself real-time, so that it has a thread to print
    [[ $output == 'rtf-threads: standard output cannot be written: '* ]]
}
