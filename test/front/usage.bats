# rtf-usage(1): what threads use in each period.
load ../helper
load ../command
load front

prepare() { front_prepare; }

# worker MS PERIOD: a process of Alice that uses so much CPU time in each period, on the clock of its thread. $WORKER is its id.
worker() {
    become $ALICE /usr/bin/python3 -S -c '
import sys, time
use, period = int(sys.argv[1]) / 1000, int(sys.argv[2]) / 1000
due = time.monotonic()
while True:
    begin = time.thread_time()
    while time.thread_time() - begin < use:
        pass
    due += period
    time.sleep(max(0, due - time.monotonic()))' "$1" "$2" 3>&- &
    WORKER=$!
    echo "$WORKER" >>"$WORK/pids"
    eventually is_program "$WORKER" python3
}

# is_measuring: rtf usage has looked at all threads, and waits for their periods to end: its descriptor of signals is there.
is_measuring() {
    local pid
    pid=$(pgrep -f "front/rtf-usage --spool $SPOOL") && grep -qs '^sigmask' "/proc/$pid/fdinfo/"*
}

# bats test_tags=turn:0
@test "the mean is what the thread uses, a hog is saturated, and windows and lost windows are all windows" {
    broker_start
    worker 8 100
    hog $ALICE
    silent rtf declare job -T 30ms -P 100ms --attach "$WORKER"
    silent rtf declare hog -T 10ms -P 100ms --attach "$HOG"
    prints 0 rtf usage --json --for 3s
    says '.reservations | length == 2'
    says '.reservations[] | select(.name == "job") | .runtime == 30000 and .period == 100000 and .mean >= 7500 and .mean <= 10000 and .min <= .p99 and .p99 <= .max and .periods + .lost >= 28 and .periods + .lost <= 31'
    says '.reservations[] | select(.name == "hog") | .mean >= 8000 and .mean <= 12000 and .saturated > 0 and .saturated <= .periods'
    prints 0 rtf usage --for 500ms 'jo*'
    [ "$(wc -l <"$WORK/out")" -eq 2 ]
    out 'NAME *job *'
}

@test "a reservation without a thread, and a name that nobody has, are told" {
    broker_start
    fails 66 'rtf usage: no reservation has a thread and a period' rtf usage
    silent rtf declare cam -T 2ms -P 20ms
    fails 66 'rtf usage: no reservation of these names has a thread and a period' rtf usage cam dog
}

@test "the end of all threads ends the measurement" {
    broker_start
    worker 1 20
    silent rtf declare job -T 5ms -P 20ms --attach "$WORKER"
    rtf usage --json --for 200s job >"$WORK/out" 3>&- &
    measuring=$!
    eventually is_measuring
    kill -KILL "$WORKER"
    wait "$measuring"
    says '.reservations[0].name == "job" and .reservations[0].migrations == null'
}

@test "page, --help and --version agree" { explains usage; }
