# shellcheck shell=sh disable=SC2034 # who has this uses the names
# What scripts here share: a broker on a spool of its own in memory, $work/spool, with $work/etc, which is there before bed_start.
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
# child PATTERN: the process of the broker's whose command line has that
child() { pgrep -P "$launcher" -f "$1" || true; }
# other UID COMMAND...: as that user, in the background; in a session of its own, as who logs in has: the kernel shares CPUs out among these (sched_autogroup)
other() {
    uid=$1
    shift
    setsid setpriv --reuid "$uid" --regid "$uid" --groups "$group" -- "$@" &
    others="$others $!"
}
