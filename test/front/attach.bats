# rtf-attach(1) and rtf-detach(1): one thread gets a reservation that exists; or each of several threads gets a reservation of its own, all of them or
# none.
load ../helper
load ../command
load front

prepare() { front_prepare; }

# threads NUMBER [NAME]: starts a process of Alice with this many threads besides the first, called worker-N; $MANY is its id.
threads() {
    cat >"$WORK/threads.py" <<'PYTHON'
import ctypes, sys, threading, time
def rest(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
    time.sleep(300)
for i in range(int(sys.argv[1])):
    threading.Thread(target=rest, args=("worker-%d" % i,), daemon=True).start()
print("ready", flush=True)
time.sleep(300)
PYTHON
    become $ALICE /usr/bin/python3 -S "$WORK/threads.py" "$1" >"$WORK/ready" 2>&1 3>&- &
    MANY=$!
    echo "$MANY" >>"$WORK/pids"
    eventually grep -q ready "$WORK/ready"
    all_named() { [ "$(cat "/proc/$MANY/task"/*/comm | grep -c worker)" -eq "$1" ]; }
    eventually all_named "$1"
}
policies() { for task in "/proc/$MANY/task"/*; do kernel "${task##*/}" | cut -d ' ' -f 1; done | sort | uniq -c | xargs; }

@test "rtf attach attaches a thread to an existing reservation, and replaces the thread; rtf detach detaches it" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    sleeper $ALICE
    first=$SLEEPER
    silent rtf attach cam "$first"
    is_policy "$first" deadline
    sleeper $ALICE
    fails 75 "rtf attach: thread $first has the reservation cam: 'rtf detach cam' lets it go, --replace puts another thread in its place" rtf attach cam "$SLEEPER"
    is_attached $ALICE cam "$first"
    silent rtf attach cam "$first" # the same thread again
    silent rtf attach --replace cam "$SLEEPER"
    is_policy "$SLEEPER" deadline
    is_policy "$first" other
    silent rtf detach cam
    is_policy "$SLEEPER" other
    holds cam '.grant.runtime == 2000 and .thread == null'
    silent rtf detach cam # a second detach has nothing to do
}

# bats test_tags=turn:1
@test "rtf detach detaches a thread that the spec itself names" {
    broker_start
    sleeper $ALICE
    silent rtf declare cam -T 2ms -P 20ms --attach "$SLEEPER"
    silent rtf detach cam
    is_policy "$SLEEPER" other
    holds cam '.grant.runtime == 2000 and .thread == null'
    # The spec named this thread before the spec was rewritten.
    silent rtf declare dog -T 2ms -P 20ms --attach "$SLEEPER"
    put $ALICE dog '{"runtime": "3ms", "period": "20ms"}'
    verdict $ALICE dog >"$WORK/verdict"
    is_policy "$SLEEPER" deadline
    silent rtf detach dog
    is_policy "$SLEEPER" other
    holds dog '.grant.runtime == 3000 and .thread == null'
    silent rtf attach dog "$SLEEPER"
    is_policy "$SLEEPER" deadline
    silent rtf detach dog
    silent rtf change dog runtime=2ms
    silent rtf attach dog "$SLEEPER"
    is_policy "$SLEEPER" deadline
}

# bats test_tags=turn:2
@test "a thread that is attached to a reservation takes the place of the thread that the spec names" {
    broker_start
    sleeper $ALICE
    first=$SLEEPER
    silent rtf declare cam -T 2ms -P 20ms --attach "$first"
    sleeper $ALICE
    silent rtf attach --replace cam "$SLEEPER"
    is_policy "$SLEEPER" deadline
    is_policy "$first" other
}

# bats test_tags=turn:0
@test "rtf attach gives each of several threads a reservation of its own, which ends with the thread" {
    broker_start
    sleeper $ALICE
    first=$SLEEPER
    sleeper $ALICE
    silent rtf attach work -T 2ms -P 20ms "$first" "$SLEEPER"
    is_policy "$first" deadline
    is_policy "$SLEEPER" deadline
    holds "work-$first" '.grant.runtime == 2000'
    kill "$first"
    gone() { [ ! -e "$OWN/work-$first.json" ]; }
    eventually gone
}

# bats test_tags=turn:1
@test "rtf attach takes all threads of a process, or its threads with a name" {
    broker_start
    threads 4
    rtf attach app -T 1ms -P 20ms -a -p "$MANY" --thread 'worker-[12]' >"$WORK/out" 2>"$WORK/err"
    [ ! -s "$WORK/out" ]
    [ "$(<"$WORK/err")" = "rtf attach: 2 threads of process $MANY are attached; a thread that the process starts from now on is ordinary" ]
    [ "$(policies)" = '2 deadline 3 other' ]
    rtf attach app -f - -a -p "$MANY" --thread 'worker-[03]' -v <<<'{"runtime": "1ms", "period": "20ms"}' 2>"$WORK/err"
    [ "$(grep -c '^rtf attach: app-[0-9]*: EDF grants 1ms of each 20ms on CPUs ' "$WORK/err")" -eq 2 ]
    prints 0 rtf attach main --priority 3 --plugin FP -p "$MANY" --json
    says '.grant.policy == "fifo"'
    [ "$(policies)" = '4 deadline 1 fifo' ]
}

@test "rtf attach -a is one program file: threads that come later are taken, too, and the end of the process ends it" {
    broker_start
    threads 4
    silent rtf attach app -T 1ms -P 20ms -a -p "$MANY" --thread 'worker-?'
    [ "$(policies)" = '4 deadline 1 other' ]
    holds app ".grant.threads == 4 and .program.process == $MANY"
    [ "$(jq -c '[.threads[].name, .lifetime]' "$OWN/app.json")" = '["worker-?","process"]' ]
    kill "$MANY"
    gone() { [ ! -e "$OWN/app.json" ] && [ ! -e "$OWN/app.verdict" ]; }
    eventually gone
}

@test "rtf attach -f takes rules for the threads of a process, and -v says what each thread gets" {
    broker_start
    threads 3
    cat >"$WORK/rules" <<'JSON'
{"threads": [{"name": "worker-0", "runtime": "1ms", "period": "20ms"},
    {"name": "worker-1", "priority": 15, "plugin": "FP", "runtime": "1ms", "period": "10ms"},
    {"name": "*", "leave": true}]}
JSON
    chmod 644 "$WORK/rules"
    rtf attach app -f "$WORK/rules" -p "$MANY" -v 2>"$WORK/err"
    [ "$(policies)" = '1 deadline 1 fifo 2 other' ]
    grep -q '^rtf attach: app+[0-9]* (worker-0): EDF grants 1ms of each 20ms on CPUs ' "$WORK/err"
    grep -q '^rtf attach: app+[0-9]* (worker-1): FP grants 1ms of each 10ms at fifo priority ' "$WORK/err"
    fails 73 'rtf attach: app exists already: *' rtf attach app -f "$WORK/rules" -p "$MANY"
    silent rtf release app
    [ "$(policies)" = '4 other' ]
    nothing_in "$OWN"
    printf '{"threads": [{"name": "worker-?", "runtime": "19ms", "period": "20ms"}]}' >"$WORK/rules"
    fails 75 'rtf attach: app: thread worker-* (*), rule 1: EDF refused: *' rtf attach app -f "$WORK/rules" -p "$MANY"
    eventually nothing_in "$OWN"
    printf '{"threads": [{"name": "worker-2", "runtime": "19ms", "perid": "20ms"}]}' >"$WORK/rules"
    fails 65 'rtf attach: app: *key "threads" (line 1) rule 1: key "perid" is unknown; did you mean "period"?' rtf attach app -f "$WORK/rules" -p "$MANY"
}

@test "a thread that was pinned is said to run elsewhere now, unless --cpus says where" {
    broker_start
    pinned() {
        sleeper $ALICE
        taskset -pc "$ONE" "$SLEEPER" >/dev/null
    }
    ONE=${ALL_CPUS%%[-,]*}
    [ "$ONE" != "$ALL_CPUS" ] || skip 'there is one CPU'
    silent rtf declare cam -T 2ms -P 20ms
    pinned
    rtf attach cam "$SLEEPER" 2>"$WORK/err"
    [ "$(<"$WORK/err")" = "rtf attach: thread $SLEEPER was pinned to CPU $ONE, and may now run on CPU $ALL_CPUS; --cpus=$ONE keeps the thread pinned" ]
    silent rtf attach cam "$SLEEPER" # the grant's own CPUs are no pin
    pinned
    rtf attach app -T 2ms -P 20ms "$SLEEPER" 2>"$WORK/err"
    [ "$(<"$WORK/err")" = "rtf attach: thread $SLEEPER was pinned to CPU $ONE, and may now run on CPU $ALL_CPUS; --cpus=$ONE keeps the thread pinned" ]
    pinned
    silent rtf attach arm -T 2ms -P 20ms --cpus "$ALL_CPUS" "$SLEEPER"
    silent rtf declare low --priority 3 --plugin FP # the thread runs on one CPU
    ONE=$(jq -r .grant.cpus "$OWN/low.verdict")
    pinned
    silent rtf attach low "$SLEEPER"
    pinned
    fails 65 'rtf attach: dog-*' rtf attach dog -T 30ms -P 20ms "$SLEEPER"
}

# Alone: where other tests have SCHED_DEADLINE threads, too, the kernel may refuse before EDF does.
# bats test_tags=turn:2,machine
@test "all or none: if one thread does not fit, none is attached and no file stays" {
    broker_start
    threads 4
    fails 75 'rtf attach: app: thread worker-* (*), rule 1: EDF refused: *' rtf attach app -T 8ms -P 20ms -a -p "$MANY"
    eventually nothing_in "$OWN"
    none_deadline() { [ "$(policies)" = '5 other' ]; }
    eventually none_deadline
}

# bats test_tags=turn:0
@test "rtf attach refuses another user's thread, a thread that does not exist, and a name without a spec" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    sleeper $BOB
    fails 76 'rtf attach: cam: *' rtf attach cam "$SLEEPER"
    fails 76 'rtf attach: cam: *' rtf attach cam 4194304
    [ ! -e "$OWN/cam.tid" ]
    fails 76 'rtf attach: app-*: *' rtf attach app -T 1ms -P 20ms "$SLEEPER"
    gone() { [ ! -e "$OWN/app-$SLEEPER.json" ] && [ ! -e "$OWN/app-$SLEEPER.verdict" ]; }
    eventually gone
    fails 66 "rtf attach: there is no spec dog in $OWN" rtf attach dog "$SLEEPER"
    fails 66 "rtf detach: there is no spec dog in $OWN" rtf detach dog
    fails 66 'rtf attach: there is no process 4194304' rtf attach app -T 1ms -P 20ms -p 4194304
    hog $ALICE
    fails 66 "rtf attach: process $HOG has no thread whose name matches" rtf attach app -T 1ms -P 20ms -a -p "$HOG" --thread 'nobody*'
}

# bats test_tags=turn:1
@test "rtf attach exits with 69 without a broker" {
    broker_start
    silent rtf declare cam -T 2ms -P 20ms
    broker_stop INT
    sleeper $ALICE
    fails 69 'rtf attach: cam: no broker is running on *' rtf attach cam "$SLEEPER" --timeout 300ms
    fails 69 'rtf attach: app-*: no broker is running on *' rtf attach app -T 1ms -P 20ms "$SLEEPER" --timeout 300ms
    [ ! -e "$OWN/app-$SLEEPER.json" ]
}

# bats test_tags=turn:2
@test "rtf attach and rtf detach exit with 64 for wrong usage" {
    broker_start
    fails 64 'rtf attach: the name of the reservation is missing *' rtf attach
    fails 64 'rtf attach: a thread id or -p PID is missing *' rtf attach cam
    fails 64 'rtf attach: x is not a thread id *' rtf attach cam x
    fails 64 'rtf attach: -a needs -p PID *' rtf attach cam -a 5
    fails 64 'rtf attach: --thread needs -a *' rtf attach cam --thread x -p $$
    fails 64 'rtf attach: -p and thread ids exclude each other *' rtf attach cam -T 1ms -p $$ 5
    fails 64 'rtf attach: say what each thread needs: *' rtf attach cam -a -p $$
    fails 64 'rtf attach: say what each thread needs: *' rtf attach cam 5 6
    fails 64 'rtf detach: the names of reservations are missing *' rtf detach
}

# bats test_tags=turn:0
@test "page, --help and --version agree" {
    explains attach
    explains detach
}

@test "rules for threads say whose threads they are only on the command line, and what these need only in the file" {
    broker_start
    printf '{"threads": [{"name": "worker-*", "runtime": "1ms", "period": "20ms"}]}' >"$WORK/rules"
    chmod 644 "$WORK/rules"
    sleeper $ALICE
    fails 64 'rtf attach: a file with rules for threads needs -p PID*' rtf attach app -f "$WORK/rules" "$SLEEPER"
    fails 64 'rtf attach: --thread and options for needs, such as -T, cannot stand beside a file with rules for threads: the rules state all needs*' \
        rtf attach app -f "$WORK/rules" -p "$SLEEPER" -T 2ms
    printf '{"process": 1, "threads": []}' >"$WORK/rules"
    fails 65 'rtf attach: -f: leave out the key "process": the command line already says which process the rules are for' \
        rtf attach app -f "$WORK/rules" -p "$SLEEPER"
    nothing_in "$OWN" || [ ! -e "$OWN" ]
}

@test "lists show the threads of a program as NAME+TID; commands for one reservation say that a program is one" {
    broker_start
    threads 2
    silent rtf attach app -T 1ms -P 20ms -a -p "$MANY" --thread 'worker-?'
    prints 0 rtf ls --noheadings -o NAME,STATE,COMMAND
    [ "$(sed -E 's/\+[0-9]+/+TID/; s/ +/ /g' "$WORK/out")" = $'app granted -\napp+TID attached worker-0\napp+TID attached worker-1' ]
    prints 0 rtf ls --noheadings -o NAME app
    [ "$(wc -l <"$WORK/out")" -eq 3 ]
    prints 0 "$RTF_BIN/rtf" --spool "$SPOOL" ls --all --noheadings -o NAME app
    [ "$(wc -l <"$WORK/out")" -eq 2 ]
    prints 0 rtf show app
    [ "$(grep -c '^kernel *deadline, 1ms of each 20ms' "$WORK/out")" -eq 2 ]
    prints 0 rtf show --json app
    says '(.kernel | length) == 2 and all(.kernel[]; .policy == "deadline")'
    for command in release show 'change runtime=2ms' 'attach 1' detach; do
        # shellcheck disable=SC2086 # words
        set -- $command
        fails 64 "rtf $1: app+$MANY is a thread of the program app: use the name app, which stands for all its threads" rtf "$1" "app+$MANY" "${@:2}"
    done
    fails 64 'rtf change: app is a program file: *' rtf change app -T 2ms
    fails 64 'rtf attach: app is a program file: *' rtf attach app "$MANY"
    fails 64 'rtf detach: app is a program file: *' rtf detach app
    [ "$(policies)" = '2 deadline 1 other' ]
    prints 0 rtf wait app
}
