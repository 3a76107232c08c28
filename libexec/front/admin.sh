# Shared by the commands of rtf(1) in sh that read the log or talk to a broker. Goes before front.sh.
# shellcheck shell=sh

# Makes lines with fields between tabs safe for a terminal: other users choose names, and may put escape sequences into them.
harmless() {
    front_escape 9 10
}

need_root() { # TO DO WHAT
    [ "$uid" -eq 0 ] || fail 77 "only root may $1"
}

# --- The log

# Sets $moment to a time in the format of the log. "10min" is ten minutes ago, "today" is midnight, "yesterday 14:00" and "15:30" are local time. Other texts
# are passed to date(1), except time zones of one letter: date(1) would take "3m" for a time in zone M.
take_moment() { # OPTION TEXT
    front_when=$(printf '%s\n' "$2" | sed -n '
        /^[0-9][0-9]*$/d
        s/^[0-9]\{1,9\}[um]s$/now/; s/^\([0-9]\{1,9\}\)s$/\1 seconds ago/; s/^\([0-9]\{1,9\}\)min$/\1 minutes ago/; s/^\([0-9]\{1,9\}\)h$/\1 hours ago/; s/^\([0-9]\{1,9\}\)d$/\1 days ago/
        s/^\(today\|yesterday\)$/\1 00:00/
        h
        s/\([0-9]\)T\([0-9]\)/\1 \2/; s/\([0-9]\)Z$/\1/
        /[0-9][A-Za-z]/d
        /\(^\|[^A-Za-z]\)[A-Za-z]\($\|[^A-Za-z]\)/d
        g; p')
    moment=''
    [ -z "$front_when" ] || moment=$(date -d "$front_when" +%s.%6N 2>/dev/null) || moment=''
    [ -n "$moment" ] || fail 64 "$1 $(printable "$2"): write a time such as 10min, 2h, 15:30, today, yesterday 14:00, 2026-11-23 or 2026-11-23T15:30:00Z"
    moment=$(date -u -d "@$moment" +%Y-%m-%dT%H:%M:%S.%6NZ)
}

# If the log begins after MOMENT, says when the log begins, so that nobody takes the missing lines before for a time when nothing happened.
say_beginning() { # MOMENT
    [ -n "$1" ] || return 0
    front_first=$({ log_since 1970-01-01 | head -n 1 | jq -r '.time // empty'; } 2>/dev/null) || :
    if [ -n "$front_first" ] && expr "$1" '<' "$front_first" >/dev/null; then say "the log begins at $front_first"; fi
}

# Sets $log to a log that the user may read: the broker's log, or the user's own file .events. The broker adds lines to .events if the file exists.
find_log() {
    [ -d "$spool" ] || fail 69 "no broker has made a spool at $spool ('$(starter)', as root, makes it)"
    log=$spool/log/events.ndjson
    [ ! -r "$log" ] || return 0
    if [ -x "$spool/log" ] && [ ! -e "$log" ]; then
        [ -n "$(log_files 1970-01-01)" ] || fail 66 "there is no $log"
        say "there is no $log: these lines are from the rotated files; the broker makes a new file at SIGHUP ('rtf reload')"
        return 0
    fi
    find_own
    [ -n "$own" ] || fail 77 "only root and the group adm may read $spool/log, and you have no directory in $spool/specs"
    log=$own/.events
    [ -e "$log" ] || [ -L "$log" ] || keep_own
}

# Makes the user's own log. Its first lines are the last verdicts, one for each reservation.
keep_own() {
    find "$own" -maxdepth 1 -type f -name '[A-Za-z0-9_]*.verdict' -size -65k -print0 |
        xargs -0 -r jq -c '{name: (input_filename | sub(".*/"; "") | sub("\\.verdict$"; "")), verdict: .}' 2>/dev/null |
        jq -c -s 'sort_by(.verdict.time)[]' >"$own/.events.new" || :
    mv -n "$own/.events.new" "$log" 2>/dev/null || fail 74 "cannot write $log"
    say "from now on, $log keeps the answers to your specs"
}

# Turns lines of the user's own log into lines as in the broker's log. Lines of the broker's log stay as they are.
as_events() {
    if [ "$log" = "$spool/log/events.ndjson" ]; then
        cat
        return
    fi
    "$front/log-lines" --json --own "${own##*/}"
}

# Prints the paths of the log and of the rotated files that were written after MOMENT, the oldest first.
log_files() { # MOMENT
    find "${log%/*}" -maxdepth 1 -type f -name "${log##*/}*" -newermt "$1" -printf '%T@ %p\n' | sort -n | cut -d ' ' -f 2-
}

# Prints the current file of the log, or the newest rotated file if the current one does not exist.
newest_log() {
    if [ -e "$log" ]; then
        cat -- "$log"
    else
        unpacked "$(log_files 1970-01-01 | tail -n 1)"
    fi
}

unpacked() { # FILE
    case $1 in
    *.gz) gzip -dc -- "$1" ;;
    *.xz) xz -dc -- "$1" ;;
    *.zst) zstd -dcq -- "$1" ;;
    *.bz2) bzip2 -dc -- "$1" ;;
    *) cat -- "$1" ;;
    esac
}

# Prints the lines of the log since MOMENT, and some lines before.
log_since() { # MOMENT
    log_files "$1" | while IFS= read -r front_file; do unpacked "$front_file"; done | as_events
}

# Prints a regular expression that matches the same whole words as the shell's pattern.
pattern() { # GLOB
    printf %s "$1" | sed -e 's/[].[^$+(){}|\\]/\\&/g' -e 's/\*/.*/g' -e 's/?/./g' -e 's/.*/^(?:&)$/'
}

# --- The broker

# Prints the process id of the broker that serves this spool, for root.
broker_process() {
    "$libexec/rtf-brokers" --spool "$spool" | cut -f 1
}

# Sets $process, $config and $brokerd. Root takes them from the register of brokers that root has started, so that a spool that a user has made cannot name a
# program that root then runs.
find_broker() {
    open_spool
    spool=$(readlink -f "$spool")
    process=$(broker_process)
    [ -n "$process" ] || fail 69 "no broker that root has started serves $spool"
    brokerd=$(readlink -f "$libexec/rtf-brokerd")
    config=$(printf %b "$("$libexec/rtf-brokers" --spool "$spool" | cut -f 3)")
}

# Prints the options that the broker was started with, quoted for eval, without --foreground: the new broker returns when it serves.
broker_words() { # PROCESS
    tr '\n\0' '\001\n' <"/proc/$1/cmdline" | sed '1d; /^--foreground$/d; /^-f$/d' | sed "s/'/'\\\\''/g; s/.*/'&'/" | tr '\n\001' ' \n'
}

# Prints the facts in status.json and in the files of the configuration: see status-lines.c.
status_lines() { # [--config DIRECTORY]
    "$front/status-lines" --spool "$spool" "$@"
}

# Checks the configuration. If a broker would not start with this configuration, says why and ends with the broker's exit status. Sets $would_be_off
# to the lines of plugins.conf that a start would turn off.
check_words() { # OPTION...
    front_status=0 would_be_off=''
    front_said=$(cd / && exec "$brokerd" --check=faults "$@" 2>&1) || front_status=$?
    case $front_status in
    0) ;;
    69) would_be_off=$(printf '%s\n' "$front_said" | grep '^plugins\.conf:.* would be off: ' | harmless) ;;
    *) fail "$front_status" "$(printf '%s\n' "${front_said#rtf-brokerd: }" | harmless | head -n 1); the broker goes on as before" ;;
    esac
}

# Waits until status.json has the new rules, because the broker writes status.json a moment after it has read the rules.
await_status() { # DIRECTORY
    for _ in 1 2 3; do
        status_lines --config "$1" | grep -q '^unread.rules' || return 0
        inotifywait -qq -t 1 -e moved_to "$spool" || :
    done
}

# Sends the broker SIGHUP, and waits for the line in the log with the result. If the broker refuses the rules, says why and returns 78; even then the broker
# does the rest of a reload.
reload_broker() {
    front_log=$spool/log/events.ndjson
    front_size=$(stat -c %s "$front_log" 2>/dev/null) || front_size=0
    front_process=$(broker_process)
    [ -n "$front_process" ] || fail 69 "the broker of $spool is not among the processes here: it may run in another pid namespace"
    kill -HUP "$front_process" || fail 71 "the broker ($front_process) cannot be signalled"
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        front_said=$(tail -c "+$((front_size + 1))" "$front_log" 2>/dev/null | grep -E '"decision":"reloaded"|the rules in force stay' | head -n 1) || :
        case $front_said in
        *'"decision":"reloaded"'*)
            await_status "${config:-}"
            return 0
            ;;
        ?*)
            say "$(printf '%s\n' "$front_said" | jq -r .reason)"
            return 78
            ;;
        esac
        inotifywait -qq -t 1 -e modify,create "$spool/log" || :
    done
    fail 70 "the broker has not answered for ten seconds: 'rtf log --stage broker' may say why"
}

# Has the broker write its books (SIGUSR1), waits until the file is closed, and moves it to FILE, for root. The broker closes the file when it is complete
# and has its name.
books() { # PROCESS FILE
    front_current=$spool/state/current
    rm -f "$front_current/books.json"
    mkfifo "$2.watching"
    inotifywait --timeout 10 --event close_write --exclude /journal "$front_current/" >/dev/null 2>"$2.watching" &
    exec 9<"$2.watching"
    while read -r front_line <&9; do
        case $front_line in
        *established*) break ;;
        esac
    done
    kill -USR1 "$1"
    wait $! || :
    exec 9<&-
    rm "$2.watching"
    [ -e "$front_current/books.json" ] || fail 69 'the broker has not written its books within 10 s'
    mv "$front_current/books.json" "$2"
}
