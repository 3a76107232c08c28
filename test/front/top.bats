# rtf top: the tests compare its screen with what a terminal shows.
load ../helper
load ../command
load front

prepare() {
    front_prepare
    command -v tmux >/dev/null || skip 'there is no tmux'
    configure_rules "$ALICE - max_utilization 200" "$BOB - max_utilization 0.5"
    LONG=$(printf 'n%.0s' $(seq 64))
    export TMUX_TMPDIR=$WORK
}
tidy() { TMUX_TMPDIR=$WORK tmux -L rtf kill-server 2>/dev/null || true; }

# screen COLUMNSxLINES COMMAND...: runs the command in a terminal of this size.
screen() {
    local size=$1
    shift
    tmux -L rtf -f /dev/null new-session -d -s top -x "${size%x*}" -y "${size#*x}" "$(printf '%q ' env TERM=screen-256color "$@"); echo ended with \$?; sleep 100" 3>&-
}
seen() { tmux -L rtf capture-pane -t top -p; }
sees() { seen | grep -qE -- "$1"; }
sees_not() { ! sees "$1"; }
type_key() { tmux -L rtf send-keys -t top "$1"; }
seen_in_red() { tmux -L rtf capture-pane -t top -p -e | grep "$(printf '\033')\[31m" | sed "s/$(printf '\033')\[[0-9;]*m//g" | grep -qE "$1"; }
row() { seen | grep -nE "^$1" | cut -d : -f 1; }
top_of_alice() { setpriv --reuid $ALICE --regid $ALICE --groups $GROUP env USER=$ALICE "$@"; }
top() { screen "$1" "$RTF_BIN/rtf" --spool "$SPOOL" top; }

@test "top shows CPUs, pools, reservations with their grants and use, and the keys, in 80x24" {
    broker_start
    hog $ALICE
    spec $ALICE cam "{\"runtime\": \"10ms\", \"period\": \"100ms\", \"attach\": $HOG}" >/dev/null
    spec $ALICE "$LONG" '{"runtime": "2ms", "period": "100ms"}' >/dev/null
    spec $BOB arm '{"priority": 15, "runtime": "1ms", "period": "10ms", "plugin": "FP"}' >/dev/null
    spec $BOB bad '{"runtime": 0}' >/dev/null
    top 80x24
    eventually sees '^cam '
    [ "$(seen | awk 'length > 80' | wc -l)" -eq 0 ]
    eventually sees '^rtf top [0-9:]{8}  3 reservations, 1 attached  plugins EDF FP RR'
    sees 'CPU 0 +\[.*%\]'
    sees 'EDF on all its CPUs \[.*0\.12 of [0-9.]+\]'
    sees '^NAME +USER +STATE +BUDGET +SHARE +USED +%GRNT +WAIT +OVER +TID$'
    sees "^nnnnnnnnnn+~ +$ALICE +granted +2ms/100ms +0.020 +- +- +- +- +-$"
    sees "^arm +$BOB +granted +1ms/10ms +0.100 "
    sees "^bad +$BOB +refused +- +- "
    # The thread has a tenth of a CPU and uses all of it, within a tick. It is throttled or ready for the rest of the time.
    eventually sees "^cam +$ALICE +attached +10ms/100ms +0.100 +0\.(0[5-9]|1[0-9])[0-9] +[0-9]+ +0\.(7[5-9]|[89][0-9])[0-9] +[0-9]+ +$HOG$"
    seen | tail -n 1 | grep -q '^q quit  d detach  a attached '
    type_key q
    eventually sees '^ended with 0'
}

# in_lines_of_their_own: the name is at the beginning of exactly one line, and a blank or the edge of the screen follows the name.
in_lines_of_their_own() { [ "$(seen | grep -cE 'nnnn')" -eq 1 ] && sees '^nnnn+~?( |$)'; }

# bats test_tags=turn:0
@test "in 200x50, and resized, top shows names of 64 characters whole if there is room, and else keeps each on its line" {
    broker_start
    spec $ALICE "$LONG" '{"priority": 15, "runtime": "2ms", "period": "100ms"}' >/dev/null
    top 200x50
    eventually sees "^$LONG +$ALICE +granted +(EDF|FP) +(15)? "
    sees '^NAME +USER +STATE +PLUGIN +PR +BUDGET +SHARE +USED +%GRNT +WAIT +OVER +TID +COMMAND'
    for size in 80x24 71x24 60x12 40x10 24x8 12x8 12x4 1x1 120x30 200x50; do
        tmux -L rtf resize-window -t top -x "${size%x*}" -y "${size#*x}"
        if [ "${size#*x}" -ge 8 ]; then eventually in_lines_of_their_own; fi
    done
    eventually sees "^$LONG +$ALICE "
    type_key q
    eventually sees '^ended with 0'
}

# bats test_tags=turn:1
@test "top shows a user the time in which a thread waited or was throttled, as rtf show does, in 80x24" {
    broker_start
    hog $ALICE
    sleeper $ALICE
    spec $ALICE cam "{\"runtime\": \"10ms\", \"period\": \"100ms\", \"attach\": $HOG}" >/dev/null
    spec $ALICE still "{\"runtime\": \"10ms\", \"period\": \"100ms\", \"attach\": $SLEEPER}" >/dev/null
    screen 80x24 setpriv --reuid $ALICE --regid $ALICE --groups $GROUP env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" top
    eventually sees '^NAME +STATE +PLUGIN +PR +BUDGET +SHARE +USED +%GRNT +WAIT +OVER +TID$'
    [ "$(seen | awk 'length > 80' | wc -l)" -eq 0 ]
    eventually sees "^still +attached +EDF +- +10ms/100ms +0.100 +0.000 +0 +0.000 +0 +$SLEEPER$"
    # The two columns are of the same second: the thread waits in the rest of the time.
    adds_up() { seen | awk '$1 == "cam" && $7 > 0.05 && $9 > 0.5 && $7 + $9 > 0.9 && $7 + $9 < 1.1 { found = 1 } END { exit !found }'; }
    eventually adds_up
    prints 0 rtf show --json cam
    says '.kernel.waited > 500000'
    type_key q
    eventually sees '^ended with 0'
}

# bats test_tags=turn:1
@test "top shows reservations that begin, change and end" {
    broker_start
    top 100x24
    eventually sees '^There are no reservations\.'
    spec $ALICE cam '{"runtime": "2ms", "period": "100ms"}' >/dev/null
    eventually sees '^cam .* 2ms/100ms '
    spec $ALICE cam '{"runtime": "4ms", "period": "100ms"}' >/dev/null
    eventually sees '^cam .* 4ms/100ms '
    spec $BOB arm '{"runtime": "2ms", "period": "100ms"}' >/dev/null
    eventually sees '^arm '
    rm "$SPECS/$ALICE/cam.json"
    eventually sees_not '^cam '
    mv "$SPECS/$BOB" "$WORK/away"
    eventually sees_not '^arm '
    broker_stop TERM
    eventually sees 'NO BROKER'
    broker_start
    eventually sees_not 'NO BROKER'
}

# bats test_tags=turn:2
@test "keys sort, reverse, show only reservations with a thread, and move; top ignores an unknown key" {
    broker_start
    sleeper $ALICE
    spec $ALICE a1 '{"runtime": "2ms", "period": "100ms"}' >/dev/null
    spec $ALICE a2 "{\"runtime\": \"8ms\", \"period\": \"100ms\", \"attach\": $SLEEPER}" >/dev/null
    spec $ALICE a3 '{"runtime": "4ms", "period": "100ms"}' >/dev/null
    top 80x24
    in_order() { [ "$(seen | grep -oE '^a[123] ' | tr -d ' \n')" = "$1" ]; }
    eventually in_order a1a2a3
    type_key S
    eventually in_order a2a3a1
    sees 'sort: share'
    type_key S
    eventually in_order a1a3a2
    type_key N
    eventually in_order a1a2a3
    type_key r
    eventually in_order a3a2a1
    type_key '>'
    eventually sees 'sort: user'
    type_key a
    eventually in_order a2
    type_key a
    type_key x
    for key in G g Down Up NPage PPage End Home; do type_key "$key"; done
    type_key C-c
    eventually sees '^ended with 0'
}

@test "STATE is that of rtf ls: waiting, refused, drifted" {
    configure_plugins 'EDF edf - all partition=global threshold=0.1'
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{\"runtime\": \"8ms\", \"period\": \"100ms\", \"attach\": $SLEEPER}" >/dev/null
    eventually is_policy "$SLEEPER" deadline
    put $ALICE queue '{"runtime": "15ms", "period": "100ms", "on_refusal": "wait"}'
    spec $ALICE huge '{"runtime": "50ms", "period": "100ms"}' >/dev/null
    for owner in root alice; do
        if [ $owner = root ]; then top 80x24; else screen 80x24 setpriv --reuid $ALICE --regid $ALICE --groups $GROUP env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" top; fi
        eventually sees '^cam .* attached '
        eventually sees '^queue .* waiting '
        eventually sees '^huge .* refused '
        chrt --other -p 0 "$SLEEPER"
        eventually sees '^cam .* drifted '
        type_key q
        eventually sees '^ended with 0'
        tmux -L rtf kill-server
        spec $ALICE cam "{\"runtime\": \"$([ $owner = root ] && echo 7 || echo 6)ms\", \"period\": \"100ms\", \"attach\": $SLEEPER}" >/dev/null
        eventually is_policy "$SLEEPER" deadline
    done
}

@test "top shows a suspended thread that uses idle time with more than 100 %, and not in red" {
    configure_plugins 'RR rr 1-10 all enforce=runtime' 'FP fp 11-20 all'
    broker_start
    hog $ALICE
    spec $ALICE cam "{\"priority\": 5, \"runtime\": \"10ms\", \"period\": \"100ms\", \"plugin\": \"RR\", \"attach\": $HOG}" >/dev/null
    top 120x24
    eventually sees '^cam .* attached +RR .* >100 .* 0 +'"$HOG"' '
    # The row stays as it is after some more refreshes.
    eventually sees '^cam .* >100 '
    run ! seen_in_red '^cam '
    tmux -L rtf kill-server
}

# bats test_tags=turn:0
@test "d detaches the selected thread after a confirmation; root may detach threads of other users" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam '{"runtime": "2ms", "period": "100ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    eventually is_policy "$SLEEPER" deadline
    top 100x24
    eventually sees "^cam .* $SLEEPER( |$)"
    type_key d
    eventually sees "^Detach thread $SLEEPER\? \(y/n\) $ALICE/cam"
    type_key n
    eventually sees '^q quit'
    is_policy "$SLEEPER" deadline
    type_key d
    eventually sees '^Detach thread'
    type_key y
    eventually sees "^$ALICE/cam: detached"
    eventually is_policy "$SLEEPER" other
    eventually sees '^cam .* -$|^cam .* - +-$'
    type_key d
    eventually sees '^This reservation has no thread\.'
}

# bats test_tags=turn:1
@test "top shows a user their own threads, obeys NO_COLOR, and sends no control characters of other programs' names to the terminal" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{\"runtime\": \"2ms\", \"period\": \"100ms\", \"attach\": $SLEEPER}" >/dev/null
    spec $BOB arm '{"runtime": "2ms", "period": "100ms"}' >/dev/null
    as $ALICE sh -c 'cd "$1" && printf %s "$2" >fake.verdict' sh "$SPECS/$ALICE" '{"grant": {"plugin": "\u001b[2J", "utilization": -1, "period": 1e99}, "thread": {"tid": 99999999999, "state": "attached"}}'
    screen 100x24 setpriv --reuid $ALICE --regid $ALICE --groups $GROUP env USER=$ALICE NO_COLOR=1 LC_ALL=C "$RTF_BIN/rtf" --spool "$SPOOL" top
    eventually sees '^cam '
    sees_not '^arm '
    sees '^fake .* .u001b\[2J|^fake .* .u001~'
    [ "$(tmux -L rtf capture-pane -t top -p -e | grep -c "$(printf '\033')\[3[0-8]m")" -eq 0 ]
    type_key q
    eventually sees '^ended with 0'
}

# bats test_tags=machine
# The manual promises 5000 threads (TOP_THREADS=5000, make faults); this test alone uses 1000.
@test "many reservations, each with a thread, take no more than 2 % of a CPU" {
    local threads=${TOP_THREADS:-1000}
    # On a busy machine, or when its host stops it, a plugin's answer takes 100 ms. The broker then kills the plugin, and refuses specs until it runs again.
    configure_plugins 'RR rr 1-10 all timeout=9s'
    broker_start --max-specs 10000
    cat >"$WORK/threads.py" <<'END'
import os, sys, threading, time
threading.stack_size(65536)
tids = []
def work():
    tids.append(threading.get_native_id())
    time.sleep(1000)
for _ in range(int(sys.argv[2])):
    threading.Thread(target=work, daemon=True).start()
while len(tids) < int(sys.argv[2]):
    time.sleep(0.01)
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
for number, tid in enumerate(tids):
    with open(".new", "w") as file:
        file.write('{"priority": 5, "runtime": "1ms", "period": "100ms", "attach": %d}' % tid)
    os.rename(".new", "r%04d.json" % number)
time.sleep(1000)
END
    python3 "$WORK/threads.py" "$SPECS/root" "$threads" 3>&- &
    echo $! >>"$WORK/pids"
    all_attached() { jq -e --argjson threads "$threads" '.attached == $threads' "$SPOOL/status.json" >/dev/null; }
    PATIENCE=$((PATIENCE * 18)) eventually all_attached || { jq -c . "$SPOOL/status.json"; tail -n 3 "$EVENTS"; ls "$SPECS/root" | wc -l; false; }
    top 80x24
    eventually sees "$threads reservations, $threads attached"
    eventually sees '^r0000 '
    process=$(pgrep -P "$(tmux -L rtf list-panes -t top -F '#{pane_pid}')" -x rtf-top || pgrep -n -x rtf-top)
    used() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$process/stat"; }
    cheap() {
        local before
        before=$(used)
        sleep 5
        took=$(($(used) - before))
        echo "# $took of 500 ticks" >&3
        [ "$took" -le 10 ]
    }
    once_of 3 cheap
}

# bats test_tags=turn:2
@test "the threads of a program have a row each, which goes with the thread" {
    broker_start
    mkfifo "$WORK/orders"
    become $ALICE /usr/bin/python3 -S "$RTF_SOURCE/test/fixtures/threads" camera-1 camera-2 <>"$WORK/orders" >"$WORK/said" 3>&- &
    local process=$!
    echo "$process" >>"$WORK/pids"
    eventually grep -q ready "$WORK/said"
    spec $ALICE app '{"process": '"$process"', "threads": [{"name": "camera*", "runtime": "1ms", "period": "20ms"}]}' >/dev/null
    screen 100x24 setpriv --reuid $ALICE --regid $ALICE --groups $GROUP env USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" top
    has_rows() { [ "$(seen | grep -cE '^app[+][0-9]+ +attached +EDF ')" -eq "$1" ]; }
    eventually has_rows 2
    echo -camera-1 >"$WORK/orders"
    eventually has_rows 1
}

@test "rtf top refuses wrong usage" {
    fails 69 'rtf top: *' rtf top
    broker_start
    fails 64 "rtf top: this needs a terminal; 'rtf ls' prints a list*" rtf top
    fails 77 "rtf top: only root sees the reservations of all users" rtf top --all
    fails 64 "rtf top: the command takes no operand, but got operand ('rtf top --help' tells more)" rtf top operand
    explains top
    screen 80x24 env TERM=dumb "$RTF_BIN/rtf" --spool "$SPOOL" top
    eventually sees '^ended with 64'
    tmux -L rtf kill-session -t top
    screen 80x24 setpriv --reuid $BOB --regid $BOB --clear-groups "$RTF_BIN/rtf" --spool "$SPOOL" top
    eventually sees 'you are not in group'
    eventually sees '^ended with 77'
}
