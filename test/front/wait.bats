# rtf wait --for: waits until a spec is granted, has ended, or would have room.
load ../helper
load ../command
load front

prepare() { front_prepare; }
tidy() { [ -z "$BROKER" ] || kill -CONT "$BROKER" 2>/dev/null || true; }

# waiting OPTION...: starts rtf wait as Alice in the background. $PID is its id. $WORK/out has its output when it has ended.
waiting() {
    become "$ALICE" "$RTF_BIN/rtf" --spool "$SPOOL" wait "$@" </dev/null >"$WORK/said" 2>"$WORK/told" 3>&- &
    PID=$!
    echo "$PID" >>"$WORK/pids"
    eventually is_asleep
}
is_asleep() { [[ $(cat "/proc/$PID/comm" "/proc/$PID/wchan") == rtf-wait*poll* ]]; }
waits_still() { kill -0 "$PID"; }
ended_with() {
    local status=0
    wait "$PID" || status=$?
    cp "$WORK/said" "$WORK/out"
    [ "$status" -eq "$1" ] || { echo "status $status: $(cat "$WORK/said" "$WORK/told")" >&2; return 1; }
}
full() {
    silent rtf declare big -T 17ms -P 20ms
    silent rtf declare two -T 17ms -P 20ms
}

@test "granted: rtf wait ends at once, or when a refused spec is granted at last" {
    broker_start
    full
    rtf declare cam -T 10ms -P 20ms --keep 2>"$WORK/err" || true
    waiting --for=granted cam
    put $ALICE cam '{"runtime": "11ms", "period": "20ms"}'
    verdict $ALICE cam >"$WORK/verdict"
    waits_still
    put $ALICE cam '{"runtime": "1ms", "period": "20ms"}'
    ended_with 0
    says '.grant.runtime == 1000'
    prints 0 rtf wait --for=granted cam
    # A refused change leaves the reservation.
    rtf change cam runtime=19ms --keep 2>"$WORK/err" || true
    prints 0 rtf wait --for=granted cam
    says '.grant.runtime == 1000'
    fails 66 'rtf-wait: there is no spec dog *' rtf wait --for=granted dog
    put $ALICE dog '{"runtime": "19ms", "period": "20ms"}'
    fails 75 'rtf-wait: dog has not been granted within the time allowed' rtf wait --for=granted dog --timeout 200ms
}

# bats test_tags=turn:2
@test "ended: rtf wait ends if the owner ends the spec, if its thread ends, or if there is no spec" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    waiting --for=ended cam
    as $ALICE rm "$OWN/cam.json"
    ended_with 0
    [ ! -s "$WORK/out" ]
    sleeper $ALICE
    silent rtf attach app -T 2ms -P 20ms "$SLEEPER"
    waiting --for=ended "app-$SLEEPER"
    kill "$SLEEPER"
    ended_with 0
    silent rtf wait --for=ended cam
    silent rtf_of $CAROL wait --for=ended cam
}

# bats test_tags=turn:0
@test "ended: rtf wait exits with 75 after its time, and with 69 when the broker ends" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    fails 75 'rtf-wait: cam has not ended within the time allowed' rtf wait --for=ended cam --timeout 200ms
    waiting --for=ended cam
    broker_stop INT
    ended_with 69
}

# bats test_tags=turn:1
@test "room: rtf wait ends when bandwidth is freed, and not before; it holds nothing and leaves no file" {
    broker_start
    full
    rtf declare cam -T 10ms -P 20ms --keep 2>"$WORK/err" || true
    waiting --for=room cam
    silent rtf_of $BOB declare dog -T 1ms -P 20ms # this change frees nothing
    asked_twice() { [ "$(grep -c '"name":"room-' "$EVENTS")" -ge 4 ]; }
    eventually asked_twice
    eventually is_asleep
    silent rtf release big
    ended_with 0
    says '.dry_run and .would_grant.runtime == 10000'
    [ -z "$(find "$OWN" -name 'room-*')" ]
    as $ALICE touch "$OWN/cam.json"
    prints 0 rtf wait cam
    says '.grant.runtime == 10000'
}

# bats test_tags=turn:2
@test "room: rtf wait ends at once if there is room, or if there never will be" {
    broker_start
    as $ALICE mkdir "$OWN"
    as $ALICE sh -c 'echo "{\"runtime\": \"2ms\", \"period\": \"20ms\"}" >"$1/cam.json"; echo "{}" >"$1/none.json"; echo "{" >"$1/bad.json"' sh "$OWN"
    prints 0 rtf wait --for=room cam
    prints 65 rtf wait --for=room none
    says '.refusal.retry == "never"'
    fails 66 'rtf-wait: there is no spec bad that can be read' rtf wait --for=room bad
    fails 66 'rtf-wait: there is no spec dog that can be read' rtf wait --for=room dog
}

@test "room: rtf wait ignores a spec's keys about its thread, its end and a refusal" {
    broker_start
    as $ALICE mkdir "$OWN"
    for key in '"attach": 1' '"lifetime": "thread", "attach": 1' '"on_refusal": "wait"' '"expires": "1h"'; do
        as $ALICE sh -c 'echo "{\"runtime\": \"2ms\", \"period\": \"20ms\", $2}" >"$1/.cam" && mv "$1/.cam" "$1/cam.json"' sh "$OWN" "$key"
        prints 0 rtf wait --for=room cam
        says '.would_grant.runtime == 2000 and .dry_run'
    done
}

# bats test_tags=turn:0
@test "room: rtf wait exits with 75 after its time, and with 69 without a broker; a signal ends it" {
    broker_start
    full
    rtf declare cam -T 10ms -P 20ms --keep 2>"$WORK/err" || true
    fails 75 'rtf-wait: no room for cam within the time allowed' rtf wait --for=room cam --timeout 300ms
    waiting --for=room cam
    kill -TERM "$PID"
    ended_with 143
    [ -z "$(find "$OWN" -name 'room-*')" ]
    waiting --for=room cam
    broker_stop INT
    ended_with 69
}

# bats test_tags=turn:1
@test "rtf wait --for=room does not wake while nothing changes" {
    broker_start
    full
    rtf declare cam -T 10ms -P 20ms --keep 2>"$WORK/err" || true
    waiting --for=room cam
    sleeps() { awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$PID/status"; }
    settled() { before=$(sleeps); sleep 1.5; [ "$(sleeps)" = "$before" ]; }
    eventually settled
    before=$(sleeps)
    sleep 3
    [ "$(sleeps)" -eq "$before" ]
}

# bats test_tags=turn:2
@test "64: rtf wait refuses an unknown condition" {
    fails 64 'rtf-wait: --for lunch: must be answer, granted, ended or room' rtf wait --for=lunch cam
}

# no_instances: Alice has no inotify instance left, as on a desktop whose programs have taken all of them.
no_instances() {
    local most
    most=$(cat /proc/sys/fs/inotify/max_user_instances)
    [ $((most + 64)) -le "$(ulimit -H -n)" ] || skip "a user may have $most inotify instances here, and a process fewer descriptors"
    install -m 666 /dev/null "$WORK/full"
    become $ALICE prlimit --nofile=$((most + 64)) /usr/bin/python3 -S -c '
import ctypes, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
while libc.inotify_init1(0) >= 0:
    pass
open(sys.argv[1], "w").write("%d\n" % ctypes.get_errno())
signal.pause()' "$WORK/full" </dev/null 3>&- &
    echo $! >>"$WORK/pids"
    eventually test -s "$WORK/full"
    [ "$(cat "$WORK/full")" = 24 ] # EMFILE
}

@test "rtf wait works for a user who has no inotify instance left" {
    broker_start
    silent rtf declare cam -T 1ms -P 20ms
    kill -STOP "$BROKER"
    put $ALICE cam '{"runtime": "2ms", "period": "20ms"}'
    no_instances
    fails 75 'rtf-wait: no answer to cam within the time allowed*' rtf wait cam --timeout 1500ms
}
