# shellcheck shell=sh disable=SC2034 # the scripts that include this file use the names
# Scripts here share this: a broker on a private spool in memory, $work/spool. The script writes the configuration to $work/etc before bed_start.
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build}
work=$(mktemp -d /dev/shm/rtf-bench.XXXXXX)
specs=$work/spool/specs
group=20000
broker='' others=''

others_end() {
    for pid in $others; do kill -KILL "$pid" 2>/dev/null || true; done
    for pid in $others; do wait "$pid" 2>/dev/null || true; done
    others=''
}
bed_ends() {
    others_end
    [ -z "$broker" ] || { kill "$broker" && wait "$broker"; } || true
    rm -rf "$work"
}
trap bed_ends EXIT
trap 'exit 130' INT TERM
chmod 755 "$work"
mkdir "$work/etc"

bed_serves() { [ -p "$work/spool/alive" ] && dd if=/dev/null of="$work/spool/alive" oflag=nonblock conv=notrunc status=none 2>/dev/null; }
bed_start() {
    "$build/libexec/rtf-brokerd" --foreground --spool "$work/spool" --config "$work/etc" --group "$group" 2>"$work/broker.err" &
    broker=$!
    until bed_serves; do
        kill -0 "$broker" || { cat "$work/broker.err" >&2; exit 70; }
        sleep 0.05
    done
    launcher=$(pgrep -P "$broker")
}
# child PATTERN: the broker's helper whose command line matches
child() { pgrep -P "$launcher" -f "$1" || true; }
# other UID COMMAND...: runs in the background as that user, in a session of its own, as after a login: the kernel shares CPUs among sessions (sched_autogroup)
other() {
    uid=$1
    shift
    setsid setpriv --reuid "$uid" --regid "$uid" --groups "$group" -- "$@" &
    others="$others $!"
}
