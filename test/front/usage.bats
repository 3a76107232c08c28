# rtf-usage(1): what threads use in each period.
load ../helper
load ../command
load front

prepare() { front_prepare; }

# worker USE PERIOD [JOBS [MARKS [LIMIT]]]: a process of Alice that uses so many ms of CPU time in each period, on the clock of its thread, and in each tenth
# period 30 % more. It begins when `works` says so, ends after JOBS jobs, and marks its jobs in MARKS. $WORKER is its id. At its end $WORK/truth has the
# number of its jobs that used more than LIMIT ms, and how often the jobs used up LIMIT: where a hypervisor takes the CPU away, a job uses more than USE.
worker() {
    [ -p "$WORK/go" ] || mkfifo -m 644 "$WORK/go"
    become $ALICE /usr/bin/python3 -S -c '
import os, sys, time
use, period, jobs, marks = int(sys.argv[1]) / 1000, int(sys.argv[2]) / 1000, int(sys.argv[3]), sys.argv[4]
limit, used = int(sys.argv[5]) / 1000, []
open(sys.argv[6]).read()
due = time.monotonic()
last = time.thread_time()
for job in range(jobs):
    begin = time.thread_time()
    while time.thread_time() - begin < use * (1.3 if job % 10 == 9 else 1):
        pass
    if marks:
        try:
            file = os.open(marks, os.O_RDWR | os.O_NONBLOCK)
            os.write(file, b"%d %d\n" % (due * 1e6, time.monotonic_ns() // 1000))
            os.close(file)
        except OSError:
            pass
    due += period
    time.sleep(max(0, due - time.monotonic()))
    now = time.thread_time()
    used.append(now - last)
    last = now
print(sum(one > limit for one in used), sum(int(one / limit) for one in used), flush=True)
time.sleep(3 * period)' "$1" "$2" "${3:-1000000000}" "${4:-}" "${5:-1000}" "$WORK/go" >"$WORK/truth" 3>&- &
    WORKER=$!
    echo "$WORKER" >>"$WORK/pids"
    eventually is_program "$WORKER" python3
}
works() { timeout 10 sh -c 'echo >"$1"' sh "$WORK/go"; }

# is_measuring: rtf usage has looked at all threads, and waits for their periods to end. It has a descriptor of signals (signalfd(2)) from then on.
is_measuring() {
    local pid
    pid=$(pgrep -f "front/rtf-usage --spool $SPOOL") && grep -qs '^sigmask' "/proc/$pid/fdinfo/"*
}

# measures OPTION...: measures the worker, from before its first job to its end. $WORK/out has the output.
measures() {
    rtf usage "$@" >"$WORK/out" 2>"$WORK/err" 3>&- &
    local measuring=$!
    eventually is_measuring && works && wait "$measuring" && [ ! -s "$WORK/err" ] && return 0
    cat "$WORK/err" "$WORK/out" >&2
    return 1
}

# bats test_tags=turn:0
@test "of 50 jobs, each tenth overruns its runtime by 30 % and misses its deadline: exactly these are counted" {
    broker_start
    # The jobs are farther apart than the reservation's period, so each job begins a period, also if it is late by less than 50 ms.
    worker 10 150 50 "$OWN/.jobs/job" 12
    silent rtf declare job -T 12ms -P 100ms --attach "$WORKER"
    measures --json --for 1min job
    read -r overruns ends <"$WORK/truth"
    echo "$overruns jobs overran, and used up the runtime $ends times"
    [ "$overruns" -ge 5 ]
    says ".reservations[0] | .overruns == $overruns and .throttles == $ends and .saturated == $ends"
    says ".reservations[0] | .jobs == 50 and .misses >= $overruns and .misses < 2 * $overruns and .worst >= 100000 and .worst < 150000"
    says '.reservations[0] | .runtime == 12000 and .period == 100000 and .max >= 12000 and .max < 16100 and .p99 <= .max and .mean < 11000' # a tick more, if the kernel ends runtimes at ticks
    says ".reservations[0] | .throttled >= 400000 and .throttled < $overruns * 100000 and .periods >= 50 and .periods <= 60"
}

# bats test_tags=turn:1
@test "the mean is what the thread uses, and a hog is saturated in each period" {
    broker_start
    worker 8 100
    works
    hog $ALICE
    silent rtf declare job -T 30ms -P 100ms --attach "$WORKER"
    silent rtf declare hog -T 10ms -P 100ms --attach "$HOG"
    prints 0 rtf usage --json --for 3s
    says '.reservations | length == 2'
    says '.reservations[] | select(.name == "job") | .runtime == 30000 and .period == 100000 and .mean >= 7500 and .mean <= 10000 and .min <= .p99 and .p99 <= .max and .periods + .lost >= 28 and .periods + .lost <= 31 and .overruns == 0 and .throttled == 0 and .jobs == null and .misses == null'
    says '.reservations[] | select(.name == "hog") | .mean >= 8000 and .mean <= 12000 and .saturated > 0 and .saturated == .periods and .overruns <= 1 + .lost and .throttled > 0'
    prints 0 rtf usage --for 1s 'jo*'
    [ "$(wc -l <"$WORK/out")" -eq 2 ]
    out 'NAME *job *'
}

@test "a reservation without a thread, and a name that nobody has, are told" {
    broker_start
    fails 66 'rtf usage: no reservation has a thread and a period' rtf usage
    silent rtf declare cam -T 2ms -P 20ms
    fails 66 'rtf usage: no reservation of these names has a thread and a period: cam is granted' rtf usage cam dog
}

@test "the end of all threads ends the measurement" {
    broker_start
    worker 1 20
    silent rtf declare job -T 5ms -P 20ms --attach "$WORKER"
    works
    rtf usage --json --for 200s job >"$WORK/out" 3>&- &
    measuring=$!
    eventually is_measuring
    kill -KILL "$WORKER"
    wait "$measuring"
    says '.reservations[0].name == "job" and .reservations[0].tid > 0'
}

@test "page, --help and --version agree" { explains usage; }

# is_narrow: no line of the output is longer than 80 columns.
is_narrow() { lacks '.\{81\}' "$WORK/out"; }

# bats test_tags=turn:0
@test "the table fits into 80 columns for usual names, also with marked jobs" {
    broker_start
    worker 10 100 30 "$OWN/.jobs/camera-front" 12
    hog $ALICE
    silent rtf declare camera-front -T 12500us -P 100ms --attach "$WORKER"
    silent rtf declare "app-$HOG" -T 33333us -P 333333us --attach "$HOG"
    measures --for 1min 'camera-*'
    is_narrow
    head -n 1 "$WORK/out" | grep -qE '^NAME +BUDGET +MEAN +99% +MAX +PERIODS +FULL +OVER +THROT +MISSED$'
    grep -qE '^camera-front +12500us/100ms( +[0-9]+\.[0-9]{3}){3} +[0-9]+(/[0-9]+)?( +[0-9]+){3} +[0-9]+/30$' "$WORK/out"
    prints 0 rtf usage --for 2s
    is_narrow
    lacks MISSED "$WORK/out"
    grep -qE "^app-$HOG +33333us/333333us( +[0-9]+\.[0-9]{3}){3} +[0-9]+(/[0-9]+)?( +[0-9]+){3}$" "$WORK/out"
}

# bats test_tags=turn:2
@test "events are JSON lines, one a second at most, and their numbers are the numbers of the end" {
    broker_start
    hog $ALICE
    silent rtf declare hog -T 2ms -P 20ms --attach "$HOG"
    prints 0 rtf usage --events --json --for 3s
    jq -se '.[:-1] | length >= 3 and length <= 5 and all(.event == "overrun" or .event == "saturated")' "$WORK/out"
    jq -se '(.[:-1] | map(.saturated) | add) == .[-1].reservations[0].saturated and .[-1].reservations[0].saturated > 50' "$WORK/out"
    jq -se '[.[:-2][].time | sub("\\.[0-9]+Z$"; "Z") | fromdate] | . == (sort | unique)' "$WORK/out"
    prints 0 rtf usage --events --for 500ms
    no grep -q reservations "$WORK/out"
}

# bats test_tags=turn:1
@test "a thread with a fixed priority: its windows, and how often rtf-guard stopped it" {
    configure_plugins 'FP fp 11-20 1 enforce=runtime'
    broker_start
    hog $ALICE
    silent rtf declare hog -T 20ms -P 100ms --priority 15 --attach "$HOG"
    prints 0 rtf usage --json --for 3s
    says '.reservations[0] | .periods > 0 and .periods + .lost >= 27 and .periods + .lost <= 31 and .saturated == .periods and .throttles > 0 and .throttles <= .periods'
    says '.reservations[0] | .overruns == null and .throttled == null and .min >= 15000'
    prints 0 rtf usage --for 2s
    grep -qE '^hog .* +[0-9]+ +- +-$' "$WORK/out"
}

@test "marks: lines that are no marks are told; a FIFO that was there remains; two readers; old jobs do not count" {
    broker_start
    sleeper $ALICE
    silent rtf declare job -T 2ms -P 20ms --attach "$SLEEPER"
    as $ALICE mkdir -m 700 "$OWN/.jobs"
    as $ALICE mkfifo "$OWN/.jobs/job"
    rtf usage --json --for 1min job >"$WORK/out" 2>"$WORK/err" 3>&- &
    measuring=$!
    eventually is_measuring
    rtf usage --json --for 50ms job >"$WORK/second" 2>&1
    grep -q '^rtf usage: job: cannot read the times of its jobs (marks): another rtf usage or rtf why reads them$' "$WORK/second"
    # The times of CLOCK_MONOTONIC are those of /proc/uptime, but for a suspension.
    now=$(awk '{ printf "%d", $1 * 1000000 }' /proc/uptime)
    late=$((now + 1000000))
    # shellcheck disable=SC2016 # sh expands
    printf '%s\n' '1000 2000' "$late $((late + 20000))" "$late $((late + 20001))" "$late $((late + 70000)) 80000" "$late $late 1" \
        "$late $((late - 1))" "$late" 'a b' "-5 $late" "$late $late 1 1" "$(printf '%0100d' 1) $late" | as $ALICE sh -c 'cat 1<>"$1"' sh "$OWN/.jobs/job"
    kill -INT "$(pgrep -f "front/rtf-usage --spool $SPOOL")"
    wait "$measuring"
    grep -qx 'rtf usage: job: 6 lines in .jobs/job are not RELEASE END \[DEADLINE\]' "$WORK/err"
    says '.reservations[0] | .jobs == 4 and .misses == 1 and .worst == 70000'
    [ -p "$OWN/.jobs/job" ]
}

# marker COUNT: Alice's program marks so many jobs at once in the FIFO of the reservation "job", and prints how many marks were written.
marker() {
    as $ALICE timeout 10 /usr/bin/python3 -S -c '
import os, sys, time
count = 0
for i in range(int(sys.argv[1])):
    now = time.monotonic_ns() // 1000
    try:
        file = os.open(sys.argv[2], os.O_RDWR | os.O_NONBLOCK)
        count += os.write(file, b"%d %d\n" % (now, now)) > 0
        os.close(file)
    except OSError:
        pass
print(count)' "$1" "$OWN/.jobs/job"
}
usage_process() { pgrep -f "front/rtf-usage --spool $SPOOL"; }

@test "a program that marks jobs goes on if rtf usage is not there, is stopped, or is killed; the next one reads its marks" {
    broker_start
    sleeper $ALICE
    silent rtf declare job -T 2ms -P 20ms --attach "$SLEEPER"
    [ "$(marker 10)" = 0 ]
    rtf usage --json --for 1min job >"$WORK/out" 3>&- &
    measuring=$!
    eventually is_measuring
    kill -STOP "$(usage_process)"
    written=$(marker 10000)
    [ "$written" -gt 1000 ]
    [ "$written" -lt 5000 ]
    kill -CONT "$(usage_process)"
    kill -INT "$(usage_process)"
    wait "$measuring"
    says ".reservations[0].jobs == $written"
    [ -z "$(ls -A "$OWN/.jobs")" ]
    rtf usage --json --for 1min job >"$WORK/out" 3>&- &
    eventually is_measuring
    kill -KILL "$(usage_process)"
    wait $! || true
    [ "$(marker 10)" = 10 ]
    rtf usage --json --for 1min job >"$WORK/out" 2>"$WORK/err" 3>&- &
    measuring=$!
    eventually is_measuring
    [ "$(marker 10)" = 10 ]
    kill -INT "$(usage_process)"
    wait "$measuring"
    says '.reservations[0].jobs == 10 and .reservations[0].misses == 0'
    [ ! -s "$WORK/err" ]
}

# jobs_fail SENTENCE: rtf usage prints the figures without marks, and SENTENCE as an error.
jobs_fail() {
    rtf usage --json --for 50ms job >"$WORK/out" 2>"$WORK/err"
    [ "$(cat "$WORK/err")" = "rtf usage: $1" ] || { cat "$WORK/err" >&2; return 1; }
    says '.reservations[0] | .jobs == null and .misses == null and .periods > 0'
}

@test "something else in the place of the FIFO or of its directory is told, and is left alone" {
    broker_start
    hog $ALICE
    silent rtf declare job -T 2ms -P 10ms --attach "$HOG"
    as $ALICE touch "$OWN/.jobs"
    jobs_fail 'cannot read the times of jobs (marks): .jobs: Not a directory'
    as $ALICE sh -c 'rm "$1/.jobs" && ln -s "$2" "$1/.jobs"' sh "$OWN" "$WORK"
    jobs_fail 'cannot read the times of jobs (marks): .jobs: Not a directory'
    as $ALICE sh -c 'rm "$1/.jobs" && mkdir -p "$1/.jobs/job"' sh "$OWN"
    jobs_fail 'job: cannot read the times of its jobs (marks): Is a directory'
    as $ALICE sh -c 'rmdir "$1/.jobs/job" && echo keep >"$1/.jobs/job"' sh "$OWN"
    jobs_fail 'job: cannot read the times of its jobs (marks): the file is no FIFO'
    [ "$(cat "$OWN/.jobs/job")" = keep ]
    as $ALICE sh -c 'mkfifo "$1/other" && ln -sf "$1/other" "$1/.jobs/job"' sh "$OWN"
    jobs_fail 'job: cannot read the times of its jobs (marks): Too many levels of symbolic links'
}

@test "the name of a program file means all its threads, each with a FIFO of its own" {
    broker_start
    hog $ALICE
    silent rtf attach app -T 2ms -P 20ms -a -p "$HOG" --thread "*"
    rtf usage --json --for 1min app >"$WORK/out" 3>&- &
    measuring=$!
    eventually is_measuring
    [ -p "$OWN/.jobs/app+$HOG" ]
    kill -INT "$(usage_process)"
    wait "$measuring"
    says ".reservations | length == 1 and .[0].name == \"app+$HOG\" and .[0].tid == $HOG"
}

# bats test_tags=turn:2
@test "a runtime for a whole process: all its threads count" {
    configure_plugins 'FP fp 11-20 1 enforce=process'
    broker_start
    cc -std=c17 -D_GNU_SOURCE -O2 -pthread -o "$WORK/team" "$RTF_SOURCE/test/team.c"
    become $ALICE env USER=$ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" --whole --plugin FP --priority 15 -T 20ms -P 100ms -- nice -n 19 "$WORK/team" 4 3>&- &
    echo $! >>"$WORK/pids"
    is_team() { TEAM=$(pgrep -x team -u $ALICE) && [ "$(ls "/proc/$TEAM/task" | wc -l)" -eq 4 ]; }
    eventually is_team
    echo "$TEAM" >>"$WORK/pids"
    before=$(awk '{ print $14 + $15 }' "/proc/$TEAM/stat")
    prints 0 rtf usage --json --for 3s
    # In clock ticks of 10 ms. The command lasts a little longer than it measures.
    ticks=$(($(awk '{ print $14 + $15 }' "/proc/$TEAM/stat") - before))
    says ".reservations[0] | .tid == $TEAM and .mean * 30 > $ticks * 10000 * 0.8 and .mean * 30 < $ticks * 10000 * 1.1 and .mean >= 15000 and .overruns == null and .throttles > 0"
}
