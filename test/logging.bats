# The writer of the log: whatever its disk does, users are answered, and the writer keeps as much of the log as possible.
load helper

cam='{"runtime": "1ms", "period": "10ms"}'

prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 all'
    configure_rules "$ALICE - max_utilization 100" "$BOB - max_utilization 100"
}

tidy() {
    fsfreeze -u "$SPOOL/log" 2>/dev/null || true
    if [ -n "$BROKER" ]; then broker_stop TERM; fi
    if mountpoint -q "$SPOOL/log"; then eventually umount "$SPOOL/log"; fi
}

# has_writer: the writer of the log runs. The broker may serve before the launcher has executed the program.
has_writer() { helpers rtf-logger >/dev/null; }
writer() {
    eventually has_writer
    helpers rtf-logger
}
names_in_log() { jq -r 'select(.stage == "verdict" and .request == "create") | .name' "$EVENTS" | paste -sd ' '; }
have_names() { [ "$(names_in_log)" = "$1" ]; }
told() { jq -r "select($1) | .reason" "$EVENTS"; }
is_told() { [ -n "$(told "$1")" ]; }

# on_disk: log/ is an ext4 file system of its own, which can be frozen
on_disk() {
    truncate -s 32M "$WORK/disk"
    mkfs.ext4 -q "$WORK/disk"
    mkdir -p "$SPOOL/log"
    mount -o loop "$WORK/disk" "$SPOOL/log"
}

# bats test_tags=turn:0
@test "while the disk of the log is frozen users are answered, and afterwards each line is there" {
    on_disk
    broker_start
    spec $ALICE before "$cam" >/dev/null
    eventually have_names before
    fsfreeze -f "$SPOOL/log"
    for name in one two three; do
        began=$(milliseconds)
        [ "$(field .result "$(spec $ALICE $name "$cam")")" = OK ]
        [ $(($(milliseconds) - began)) -lt $((5000 * PATIENCE)) ] # a broker that waits for the disk waits for ever
    done
    fsfreeze -u "$SPOOL/log"
    eventually have_names 'before one two three'
}

# bats test_tags=turn:1
@test "a broker ends beside a log that is frozen, and its last lines are written when that thaws" {
    on_disk
    broker_start
    fsfreeze -f "$SPOOL/log"
    spec $ALICE one "$cam" >/dev/null
    began=$(milliseconds)
    broker_stop TERM
    [ $(($(milliseconds) - began)) -lt $((5000 * PATIENCE)) ]
    fsfreeze -u "$SPOOL/log"
    eventually have_names one
    eventually is_told '.decision == "stopped"'
}

# bats test_tags=turn:2
@test "lines outlive a writer that dies, and a new writer is started" {
    broker_start
    spec $ALICE one "$cam" >/dev/null
    eventually have_names one
    first=$(writer)
    kill -STOP "$first"
    eventually is_stopped "$first"
    spec $ALICE two "$cam" >/dev/null
    spec $ALICE three "$cam" >/dev/null
    kill -KILL "$first"
    eventually have_names 'one two three'
    eventually is_told '.stage == "broker" and .decision == "error" and (.reason | test("writer of the log"))'
    [ "$(writer)" != "$first" ]
    spec $ALICE four "$cam" >/dev/null
    eventually have_names 'one two three four'
}

# bats test_tags=turn:0
@test "lines outlive a broker that is killed" {
    broker_start
    first=$(writer)
    kill -STOP "$first"
    eventually is_stopped "$first"
    spec $ALICE one "$cam" >/dev/null
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    BROKER=
    kill -CONT "$first"
    eventually have_names one
    eventually test ! -e "/proc/$first"
}

# bats test_tags=turn:1
@test "lines that neither the pipe nor the broker can hold are counted, and no request waits for them" {
    broker_start
    writer=$(writer)
    kill -STOP "$writer"
    eventually is_stopped "$writer"
    # Root writes the specs, because root's lines have no budget.
    /usr/bin/python3 -S - "$SPECS/root" <<'END'
import os, sys, time
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
for turn in range(6):
    for number in range(1000):
        with open(".new", "w") as file:
            file.write('{"runtime": "never", "token": "%064d"}' % turn)
        os.rename(".new", f"w{number}.json")
    until = time.time() + 20
    while True:
        try:
            with open("w999.verdict") as file:
                if '"%064d"' % turn in file.read():
                    break
        except FileNotFoundError:
            pass
        if time.time() > until:
            sys.exit("no answer")
        time.sleep(0.01)
END
    [ "$(field .result "$(spec $BOB other "$cam")")" = OK ]
    kill -CONT "$writer"
    eventually is_written "$writer"
    spec $BOB last "$cam" >/dev/null
    broker_stop TERM
    jq -e -n 'all(inputs; .schema == 1)' "$EVENTS" >/dev/null
    missing=$(told '.decision == "error"')
    echo "# $missing" >&3
    # A short line may fit after a long line did not: then the log reports missing lines twice.
    no grep -vxE 'the log could not be written for a time: [0-9]+ lines are missing' <<<"$missing"
    missing=$(grep -oE '[0-9]+' <<<"$missing" | awk '{ sum += $1 } END { print sum }')
    lines=$(jq -c 'select(.user == "root" and .stage == "verdict" or .stage == "spec")' "$EVENTS" | wc -l)
    all=$(jq -c 'select(.user == "root")' "$EVENTS" | wc -l)
    [ "$((all + missing))" -ge 6000 ]
    [ "$lines" -ge 2000 ] # a pipe and a buffer hold this many lines
}
is_written() { [ "$(awk '$1 == "State:" { print $2 }' "/proc/$1/status")" = S ]; }

# bats test_tags=turn:2
@test "one user has so much of the log in a time, the rest is counted, and others lose nothing" {
    broker_start
    as $ALICE /usr/bin/python3 -S - "$SPECS/$ALICE" <<'END'
import os, sys, time
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
for turn in range(8):
    for number in range(900):
        with open(".new", "w") as file:
            file.write('{"runtime": "never", "token": "%064d"}' % turn)
        os.rename(".new", f"w{number}.json")
    until = time.time() + 20
    while time.time() < until:
        try:
            with open("w899.verdict") as file:
                if '"%064d"' % turn in file.read():
                    break
        except FileNotFoundError:
            pass
        time.sleep(0.01)
END
    spec $BOB mine "$cam" >/dev/null
    eventually is_told ".user == \"$BOB\" and .name == \"mine\""
    [ "$(told ".user == \"$ALICE\" and .decision == \"warning\"" | sort -u)" = 'this user has caused more than 1024 KiB of lines in 10 s: further lines are left out and counted' ]
    # The first line of Alice's in the next window of 10 s says how many lines were left out.
    next_window() {
        spec $ALICE after '{"runtime": "no"}' >/dev/null
        [ "$(jq -r "select(.user == \"$ALICE\") | .left_out // 0" "$EVENTS" | sort -n | tail -n 1)" -gt 100 ]
    }
    for _ in 1 2 3; do if eventually next_window 2>/dev/null; then break; fi; done
    next_window
    windows=$(told ".user == \"$ALICE\" and .decision == \"warning\"" | wc -l)
    [ "$(told ".user == \"$ALICE\" and .left_out != null" | wc -l)" -le "$windows" ] # each number of left-out lines is told in one line only
    bytes=$(grep -c . "$EVENTS"; grep "\"user\":\"$ALICE\"" "$EVENTS" | wc -c)
    echo "# ${bytes//$'\n'/ lines, } bytes of the one user, in $windows windows that were full" >&3
    [ "$(grep "\"user\":\"$ALICE\"" "$EVENTS" | wc -c)" -le $(((windows + 1) * ((1 << 20) + 1000))) ]
}

# bats test_tags=turn:0
@test "a line of every kind is in the file when the broker has ended" {
    broker_start
    for n in $(seq 20); do put $ALICE "w$n" "$cam"; done
    broker_stop TERM
    [ "$(tail -n 1 "$EVENTS" | jq -r .decision)" = stopped ]
    jq -e -n 'all(inputs; .schema == 1)' "$EVENTS" >/dev/null
}
