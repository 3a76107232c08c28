# rtf preload: runs unchanged programs of Debian, as a user without any right. Their requests for real-time scheduling become reservations, and the
# kernel shows them.
load ../helper
load ../command
load front

prepare() {
    front_prepare
    configure_plugins "EDF edf - all partition=global threshold=$(nproc --all | awk '{ printf "%.9f", 0.9 / $1 }')" 'FP fp 11-20 all' 'RR rr 1-10 all'
    configure_rules "$ALICE - max_utilization 4"
    mkdir "$WORK/profiles" "$WORK/home"
    chown $ALICE "$WORK/home"
}

# preloaded OPTION... -- COMMAND: runs rtf preload as Alice, without rights.
preloaded() { as $ALICE env -u XDG_CONFIG_HOME HOME="$WORK/home" USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" preload "$@"; }
compiled() { cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -o "$WORK/$1" "$RTF_SOURCE/test/library/$1.c" -pthread; }
nothing_is_left() { eventually finds_nothing "$OWN" -name '*.json'; }

# threads PROCESS: prints the policies of its threads, one a line, from the kernel.
threads() { for task in /proc/"$1"/task/*; do kernel "${task##*/}" | cut -d ' ' -f 1,2; done | sort; }
has_threads() { [ "$(threads "$1" | grep -c "^$2")" -ge "$3" ]; }

@test "--help and --version; wrong usage is 125" {
    prints 0 rtf preload --version
    out 'rtf preload [0-9]*'
    prints 0 rtf preload --help
    out 'Usage: rtf preload *'
    diff <(awk '/^# / { inside = $0 == "# OPTIONS" } inside && /^\*-/' "$RTF_SOURCE/man/rtf-preload.1.scd" | sed 's/\\//g' | grep -oE '\*--?[a-zA-Z?][a-z-]*' | tr -d '*' | sort -u) \
        <(grep -E '^ {1,8}-' "$WORK/out" | grep -oE '(^|[ ,])--?[a-zA-Z?][a-z-]*' | tr -d ' ,' | sort -u) >&2
    fails 125 'rtf preload: -T 5: a time needs a unit (us, ms, s, min, h or d)*' rtf preload -T 5 -- true
    for wrong in 0 100; do fails 125 'rtf preload: --max-priority must be from 1 to 99*' rtf preload --max-priority $wrong -- true; done
    fails 127 'rtf preload: no-such-command: *' env PATH=/usr/bin:/bin "$RTF_BIN/rtf" preload -- no-such-command
    fails 126 'rtf preload: /etc/passwd: *' rtf preload -- /etc/passwd
    run -7 rtf preload -- sh -c 'exit 7'
}

@test "rtf preload answers each call of the kernel's interface with the codes that a program expects" {
    compiled calls
    broker_start
    preloaded -T 1ms -P 20ms -- "$WORK/calls" 2>"$WORK/err" || { cat "$WORK/err" >&2; false; }
    grep -q "^rtf-preload: calls ([0-9]*) does not get SCHED_DEADLINE: " "$WORK/err"
    nothing_is_left
}

@test "rtf preload works with chrt(1) itself, and with the program that it becomes" {
    broker_start
    [ "$(preloaded -T 1ms -P 20ms -- chrt -f 15 chrt -p 0 | sed -n 's/.*policy: //p')" = 'SCHED_FIFO|SCHED_RESET_ON_FORK' ]
    [ "$(preloaded -T 1ms -P 20ms -- chrt -r 5 chrt -p 0 | sed -n 's/.*policy: //p')" = 'SCHED_RR|SCHED_RESET_ON_FORK' ]
    preloaded -- chrt -d -T 1000000 -P 20000000 0 chrt -p 0 >"$WORK/out"
    grep -q 'SCHED_DEADLINE' "$WORK/out"
    grep -q '1000000/20000000/20000000' "$WORK/out"
    sleeper $ALICE
    preloaded -T 1ms -P 20ms -- chrt -f -p 12 "$SLEEPER"
    is_policy "$SLEEPER" fifo
    preloaded -- chrt -o -p 0 "$SLEEPER"
    is_policy "$SLEEPER" other
    nothing_is_left
}

@test "cyclictest: the threads are SCHED_FIFO in the kernel, and cyclictest reports" {
    command -v cyclictest >/dev/null || skip 'cyclictest is not here'
    broker_start
    become $ALICE env HOME="$WORK/home" USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" preload -T 1ms -P 20ms -- cyclictest -p 15 -t 2 -i 5000 -l 400 -q >"$WORK/out" 2>"$WORK/err" 3>&- &
    local pid=$!
    echo "$pid" >>"$WORK/pids"
    eventually has_threads "$pid" fifo 2
    [ "$(jq -s '[.[] | select(.grant.policy == "fifo" and .thread.state == "attached")] | length' "$OWN"/preload-*.verdict)" = 2 ]
    wait "$pid" || { cat "$WORK/err" >&2; false; }
    [ "$(grep -c '^T: ' "$WORK/out")" = 2 ]
    nothing_is_left
}

@test "rt-app gets its SCHED_FIFO and SCHED_DEADLINE sections" {
    command -v rt-app >/dev/null || skip 'rt-app is not here'
    broker_start
    cat >"$WORK/load.json" <<'END'
{"global": {"duration": 2, "calibration": 100, "default_policy": "SCHED_OTHER", "lock_pages": false, "logdir": "@HOME@", "log_size": "disable"},
 "tasks": {"fixed": {"policy": "SCHED_FIFO", "priority": 15, "loop": -1, "run": 500, "timer": {"ref": "unique", "period": 20000}},
           "dead": {"policy": "SCHED_DEADLINE", "dl-runtime": 2000, "dl-period": 20000, "dl-deadline": 20000, "loop": -1, "run": 500, "timer": {"ref": "unique", "period": 20000}}}}
END
    sed -i "s,@HOME@,$WORK/home," "$WORK/load.json"
    chmod 644 "$WORK/load.json"
    become $ALICE env HOME="$WORK/home" USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" preload -T 1ms -P 20ms -- rt-app "$WORK/load.json" >"$WORK/out" 2>&1 3>&- &
    local pid=$!
    echo "$pid" >>"$WORK/pids"
    eventually has_threads "$pid" fifo 1 || { cat "$WORK/out" >&2; false; }
    eventually has_threads "$pid" deadline 1 || { cat "$WORK/out" >&2; false; }
    wait "$pid" || { cat "$WORK/out" >&2; false; }
    nothing_is_left
}

# jackd_starts COMMAND...: starts JACK's server by this command, with the dummy driver and a real-time thread. $JACKD is its process; $WORK/out has its
# output.
jackd_starts() {
    become $ALICE env HOME="$WORK/home" USER=$ALICE JACK_NO_AUDIO_RESERVATION=1 "$@" jackd -n "rtf$ALICE" -R -P "${JACK_PRIORITY:-15}" -d dummy >"$WORK/out" 2>&1 3>&- &
    JACKD=$!
    echo "$JACKD" >>"$WORK/pids"
}
# A signal before jackd waits for signals can leave jackd waiting for ever. This also happens without rtf.
jackd_waits() { grep -q sigtimedwait "/proc/$JACKD/wchan"; }
jackd_ends() {
    eventually jackd_waits
    kill "$JACKD"
    eventually is_gone "$JACKD"
    wait "$JACKD" || true
    [ "$(tail -n 1 "$WORK/out")" = 'Jack main caught signal 15' ] || { cat "$WORK/out" >&2; false; }
}
# A killed server leaves its shared memory behind. Each server leaves the registry of shared memory, which may have existed before.
tidy() {
    [ -n "${JACKD:-}" ] || return 0
    pkill -KILL -u $ALICE -x jackd || true
    rm -rf /dev/shm/jack*"$ALICE"*
    [ -n "$had_registry" ] || rm -f /dev/shm/jack-shm-registry
}

@test "jackd -R with the dummy driver gets a reservation; refused, it runs on as without rights" {
    command -v jackd >/dev/null || skip 'jackd is not here'
    had_registry=$(find /dev/shm -name jack-shm-registry)
    broker_start
    jackd_starts "$RTF_BIN/rtf" --spool "$SPOOL" preload -T 1ms -P 20ms --
    eventually has_threads "$JACKD" 'fifo 15' 1 || { cat "$WORK/out" >&2; false; }
    [ "$(jq -c '[.grant.priority, .grant.runtime, .thread.state]' "$OWN"/preload-*.verdict)" = '[15,1000,"attached"]' ]
    [ "$(threads "$JACKD" | grep -vc '^fifo 15$')" -gt 0 ]
    jackd_ends
    nothing_is_left
    broker_stop TERM
    jackd_starts "$RTF_BIN/rtf" --spool "$SPOOL" preload -T 1ms -P 20ms --
    eventually grep -q '^AcquireSelfRealTime error' "$WORK/out"
    no has_threads "$JACKD" fifo 1
    ASKS=$JACKD
    doctor_of $ALICE >"$WORK/said" || true
    grep -q '^refused: thread [0-9]* (jackd) asked for SCHED_FIFO 15, and rtf preload refused it (EPERM): no broker is running' "$WORK/said"
    jackd_ends
    grep -q '^rtf-preload: jackd ([0-9]*) does not get SCHED_FIFO: no broker is running' "$WORK/out"
    grep -v '^rtf-preload' "$WORK/out" >"$WORK/refused"
    jackd_starts
    eventually grep -q '^AcquireSelfRealTime error' "$WORK/out"
    jackd_ends
    diff "$WORK/refused" "$WORK/out"
}

# asks: the program asks for SCHED_FIFO at its start, and at each SIGUSR1. Its process is in ASKS.
asks() {
    cat >"$WORK/asks.c" <<'END'
#include <sched.h>
#include <signal.h>
#include <unistd.h>
static void again(int number) { (void)number; }
int main(void)
{
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = again}, NULL);
    for (;;) {
        sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){15});
        pause();
    }
}
END
    cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -o "$WORK/asks" "$WORK/asks.c"
    become $ALICE env HOME="$WORK/home" USER=$ALICE "$RTF_BIN/rtf" --spool "$SPOOL" preload -T 1ms -P 20ms -- "$WORK/asks" 2>"$WORK/err" 3>&- &
    ASKS=$!
    echo "$ASKS" >>"$WORK/pids"
    eventually is_program "$ASKS" asks
}
doctor_of() { as "$1" env USER="$1" "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG" -p "$ASKS"; }
root_doctor() { "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG" -p "$ASKS" "$@"; }
is_refused() { # COMMAND...: this doctor tells so
    "$@" >"$WORK/said" || true
    grep -q "^refused: thread $ASKS (asks) asked for SCHED_FIFO 15, and rtf preload refused it (EPERM)" "$WORK/said"
}

@test "rtf doctor -p tells that a call was refused, and why, until the call is granted" {
    configure_rules "$BOB - max_utilization 1"
    broker_start
    asks
    eventually is_refused doctor_of $ALICE
    grep -q '^refused: .*(EPERM): access refused: ' "$WORK/said" || { cat "$WORK/said" >&2; false; }
    lacks 'can set its own policy' "$WORK/said" # under rtf preload such a call does no harm
    is_refused root_doctor
    grep -q "^refused: .*(EPERM), as a file of uid $ALICE says: access refused: " "$WORK/said"
    run -1 root_doctor --json
    [ "$(jq -c '[.findings[] | select(.code == "refused").severity]' <<<"$output")" = '["error"]' ]
    no is_refused doctor_of $BOB
    configure_rules "$ALICE - max_utilization 1"
    kill -HUP "$BROKER"
    eventually grep -q '"decision":"reloaded"' "$EVENTS"
    kill -USR1 "$ASKS"
    eventually is_policy "$ASKS" fifo
    no is_refused doctor_of $ALICE
    no is_refused root_doctor
    kill "$ASKS"
}

@test "the notes of refused calls end with their process, and a user's file leads root's doctor nowhere" {
    configure_rules "$BOB - max_utilization 1"
    broker_start
    run -1 preloaded -- chrt -f 15 true
    [ -z "$(find "$OWN" -name '.refused-*')" ]
    asks
    eventually is_refused doctor_of $ALICE
    notes=$OWN/.refused-$ASKS
    # Notes about an earlier process with this id, and about calls that were granted later, do not count.
    start=$(awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$ASKS/stat")
    as $ALICE sh -c 'printf "%s\t$2\t1\tx\tSCHED_FIFO 15\tearlier\n%s\t$2\t0\t\t\t\n" 1 "$3" >"$1"' sh "$notes" "$ASKS" "$start"
    run -0 root_doctor
    # Only printable characters come through, and only a part of a long file.
    as $ALICE sh -c 'i=0; while i=$((i + 1)); [ $i -lt 400 ]; do printf "%s\t%s\t999\tn\tcall\t\033[2Jwords and words\n" "$2" $i; done >"$1"' sh "$notes" "$start"
    run -1 root_doctor
    [ "$(grep -c '^refused: .*(error 999).*\\u001b' <<<"$output")" = 20 ]
    no grep -q "$(printf '\033')" <<<"$output"
    as $ALICE sh -c 'rm "$1" && mkfifo "$1"' sh "$notes"
    run -0 timeout 10 "$RTF_LIBEXEC/front/rtf-doctor" --spool "$SPOOL" --config "$CONFIG" -p "$ASKS"
    # The next process removes what a killed one has left.
    kill -KILL "$ASKS"
    eventually is_gone "$ASKS"
    wait "$ASKS" || true
    [ -e "$notes" ]
    run -1 preloaded -- chrt -f 15 true
    [ -z "$(find "$OWN" -name '.refused-*')" ]
}

# The constructor of a library that a running program opens runs under the lock of the loader. The lookup of a user's name loads another library, which
# needs the same lock.
@test "a library's constructor creates a real-time thread, on a machine where another library looks up names of users" {
    cat >"$WORK/early.c" <<'END'
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
static void *begin(void *is_real_time)
{
    *(int *)is_real_time = (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO;
    return NULL;
}
__attribute__((constructor)) static void early(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int is_real_time = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &(struct sched_param){15});
    if (pthread_create(&thread, &attributes, begin, &is_real_time) != 0 || pthread_join(thread, NULL) != 0 || !is_real_time)
        _exit(1);
}
END
    cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -shared -fPIC -o "$WORK/early.so" "$WORK/early.c" -pthread
    printf '#include <dlfcn.h>\nint main(int argc, char **argv) { return dlopen(argv[argc - 1], RTLD_NOW) == 0; }\n' >"$WORK/late.c"
    cc -o "$WORK/late" "$WORK/late.c"
    broker_start
    echo 'passwd: compat' >"$WORK/nsswitch.conf"
    # rtf preload looks up no name if the user's name is right.
    unshare --mount --propagation private sh -c 'mount --bind "$1" /etc/nsswitch.conf && shift && exec "$@"' sh "$WORK/nsswitch.conf" \
        setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" -- env -u USER HOME="$WORK/home" timeout 20 "$RTF_BIN/rtf" --spool "$SPOOL" preload -T 1ms -P 20ms -- "$WORK/late" "$WORK/early.so"
    nothing_is_left
}

@test "a call that the rules refuse fails as without rights, with one line of the reason" {
    broker_start
    configure_rules "$BOB - max_utilization 1"
    kill -HUP "$BROKER"
    eventually grep -q '"decision":"reloaded"' "$EVENTS"
    run -1 preloaded -T 1ms -P 20ms -- chrt -f 15 true
    [ "$(grep -c '^rtf-preload: chrt ([0-9]*) does not get SCHED_FIFO: ' <<<"$output")" = 1 ]
    [[ $output == *'failed to set pid 0'*'Operation not permitted'* ]]
    run preloaded -T 1ms -P 20ms -- cyclictest -p 15 -l 10 -q
    [[ $status -ne 0 && $status -lt 128 ]]
    [[ $output == *'Unable to change scheduling policy'* ]]
    broker_stop TERM
    run -1 preloaded -- chrt -f 15 true
    [[ $output == *'no broker is running'* ]]
    nothing_is_left
}

@test "a call fails with EBUSY while another spec has the thread, or while a rule's sum is used up" {
    configure_rules "$ALICE - max_utilization 0.1"
    broker_start
    sleeper $ALICE
    rtf declare cam -T 1ms -P 20ms --attach "$SLEEPER"
    run -1 preloaded -T 1ms -P 20ms -- chrt -f -p 12 "$SLEEPER"
    [[ $output == *"rtf-preload: sleep ($SLEEPER) does not get SCHED_FIFO: "*'Device or resource busy'* ]]
    rtf declare arm -T 1ms -P 20ms
    run -1 preloaded -T 1ms -P 20ms -- chrt -f 15 true
    [[ $output == *'rtf-preload: chrt ('*') does not get SCHED_FIFO: '*'Device or resource busy'* ]]
    # The rule never allows this runtime.
    run -1 preloaded -T 10ms -P 20ms -- chrt -f 15 true
    [[ $output == *'Operation not permitted'* ]]
    rtf release cam arm
    preloaded -T 1ms -P 20ms -- chrt -f 15 true
    nothing_is_left
}

@test "profiles give budgets by program and thread; options override them; a wrong line causes a message" {
    broker_start
    mkdir -p "$WORK/home/.config/rtf/preload.d"
    printf '# budgets\nchrt other* runtime=7ms period=20ms\nchrt * runtime=3ms period=40ms plugin=FP\n* * runtime=9ms period=20ms\n' >"$WORK/home/.config/rtf/preload.d/own.conf"
    chmod -R a+rX "$WORK/home"
    sleeper $ALICE
    preloaded -- chrt -f -p 12 "$SLEEPER"
    jq -e '.grant.runtime == 3000 and .grant.period == 40000 and .grant.plugin == "FP"' "$OWN/preload-$SLEEPER.verdict" || { cat "$OWN/preload-$SLEEPER.verdict" >&2; false; }
    preloaded -T 4ms -- chrt -f -p 13 "$SLEEPER"
    jq -e '.grant.runtime == 4000 and .grant.period == 40000' "$OWN/preload-$SLEEPER.verdict" >/dev/null
    echo 'chrt * runtime=fast' >"$WORK/profiles/a.conf"
    chmod -R a+rX "$WORK/profiles"
    run -125 preloaded --profiles "$WORK/profiles" -- true
    [ "$output" = "rtf preload: $WORK/profiles/a.conf:1: a word is not one of runtime=TIME, period=TIME, plugin=NAME, max_priority=N" ]
}

# with_profile WORDS [VARIABLE=VALUE]: runs chrt on a sleeper with this line in /etc/rtf/preload.d, and prints the verdict.
with_profile() {
    mkdir -p "$WORK/above/rtf/preload.d"
    echo "$1" >"$WORK/above/rtf/preload.d/50-site.conf"
    sleeper $ALICE
    # shellcheck disable=SC2016 # the inner shell expands it
    unshare --mount sh -c 'mount -t overlay overlay -o "lowerdir=$1:/etc" /etc && shift && exec "$@"' sh "$WORK/above" \
        setpriv --reuid $ALICE --regid $ALICE --groups "$GROUP" env -u XDG_CONFIG_HOME HOME="$WORK/home" USER=$ALICE ${2:+"$2"} \
        "$RTF_BIN/rtf" --spool "$SPOOL" preload -- chrt -f -p 12 "$SLEEPER" && jq -c '[.grant.runtime, .grant.period]' "$OWN/preload-$SLEEPER.verdict"
}

@test "profiles of the system apply by the name of the thread, and profiles of the user come before them" {
    broker_start
    [ "$(with_profile 'chrt sl??p runtime=2ms period=20ms')" = '[2000,20000]' ]
    mkdir -p "$WORK/home/.config/rtf/preload.d" "$WORK/elsewhere/rtf/preload.d"
    echo 'chrt slee runtime=5ms period=50ms' >"$WORK/home/.config/rtf/preload.d/a.conf"
    [ "$(with_profile 'chrt sleep runtime=2ms period=20ms')" = '[2000,20000]' ]
    echo 'chrt sleep runtime=5ms period=50ms' >"$WORK/home/.config/rtf/preload.d/a.conf"
    [ "$(with_profile 'chrt sleep runtime=2ms period=20ms')" = '[5000,50000]' ]
    echo 'chrt sleep runtime=4ms period=40ms' >"$WORK/elsewhere/rtf/preload.d/a.conf"
    [ "$(with_profile 'chrt sleep runtime=2ms period=20ms' "XDG_CONFIG_HOME=$WORK/elsewhere")" = '[4000,40000]' ]
    run -125 with_profile 'chrt sleep runtime=2ms priority=9'
    [ "$output" = 'rtf preload: /etc/rtf/preload.d/50-site.conf:1: a word is not one of runtime=TIME, period=TIME, plugin=NAME, max_priority=N' ]
}

@test "a FIFO and a device are no profiles, and rtf preload does not wait for them" {
    mkfifo -m 644 "$WORK/profiles/a.conf"
    mknod -m 644 "$WORK/profiles/b.conf" c 1 5 # /dev/zero
    echo 'chrt * runtime=fast' >"$WORK/profiles/c.conf"
    run -125 timeout 20 "$RTF_BIN/rtf" --spool "$SPOOL" preload --profiles "$WORK/profiles" -- true
    [ "$output" = "rtf preload: $WORK/profiles/c.conf:1: a word is not one of runtime=TIME, period=TIME, plugin=NAME, max_priority=N" ]
}

@test "pthread_create is no cancellation point" {
    cat >"$WORK/cancelled.c" <<'END'
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
static int created;
static void *begin(void *unused) { return unused; }
static void *create(void *unused)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &(struct sched_param){15});
    pthread_cancel(pthread_self());
    created = pthread_create(&thread, &attributes, begin, NULL) == 0 ? 1 : 2;
    pthread_testcancel(); /* a cancellation point, which pthread_create is not */
    return unused;
}
int main(void)
{
    pthread_t thread;
    void *ended = NULL;
    pthread_create(&thread, NULL, create, NULL);
    pthread_join(thread, &ended);
    printf("%d %d\n", created, ended == PTHREAD_CANCELED);
}
END
    cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -o "$WORK/cancelled" "$WORK/cancelled.c" -pthread
    broker_start
    run -0 preloaded -T 1ms -P 20ms -- timeout 20 "$WORK/cancelled"
    [ "$output" = '1 1' ]
}

@test "a program with set-user-ID does not load rtf preload's library" {
    broker_start
    cp "$(command -v chrt)" "$WORK/chrt-root"
    chmod 4755 "$WORK/chrt-root"
    preloaded -T 1ms -P 20ms -- "$WORK/chrt-root" -f 15 true
    [ ! -d "$SPECS/root" ]
    lacks '"stage":"verdict"' "$EVENTS"
}

@test "the examples of rtf-preload(1) work under the configuration as shipped" {
    command -v cyclictest >/dev/null || skip 'cyclictest is not here'
    configure_as_shipped
    broker_start
    awk '/^# / { inside = $0 == "# EXAMPLES" } !inside { next } /^```/ { literal = !literal; next } literal' "$RTF_SOURCE/man/rtf-preload.1.scd" >"$WORK/script"
    mkdir "$WORK/bin"
    printf '#!/bin/sh\nexec %s --spool %s "$@"\n' "$RTF_BIN/rtf" "$SPOOL" >"$WORK/bin/rtf"
    chmod 755 "$WORK/bin/rtf"
    as $ALICE env HOME="$WORK/home" USER=$ALICE PATH="$WORK/bin:$PATH" sh -eu "$WORK/script" >"$WORK/out" 2>&1 || { cat "$WORK/out" >&2; false; }
    grep -q '^T: 0' "$WORK/out"
    grep -q 'SCHED_FIFO|SCHED_RESET_ON_FORK' "$WORK/out"
}

@test "jackd -P 70, cyclictest -p 80 and PipeWire run unchanged and without options under the configuration as shipped" {
    for program in jackd cyclictest pipewire; do command -v $program >/dev/null || skip "$program is not here"; done
    had_registry=$(find /dev/shm -name jack-shm-registry)
    configure_as_shipped
    broker_start
    JACK_PRIORITY=70
    jackd_starts "$RTF_BIN/rtf" --spool "$SPOOL" preload
    eventually has_threads "$JACKD" fifo 1 || { cat "$WORK/out" >&2; false; }
    [ "$(jq -c '[.grant.runtime, .grant.period, .grant.plugin]' "$OWN"/preload-*.verdict)" = '[1000,10000,"FP"]' ]
    jackd_ends
    lacks 'does not get' "$WORK/out"
    preloaded -- cyclictest -p 80 -t 2 -l 50 -q >"$WORK/out" 2>&1
    [ "$(grep -c '^T: ' "$WORK/out")" = 2 ]
    lacks 'does not get' "$WORK/out"
    install -d -o $ALICE -m 700 "$WORK/run"
    # With another nice value than its own, PipeWire 0.3 asks for a policy by RealtimeKit alone.
    install -d "$WORK/home/.config/pipewire/pipewire.conf.d"
    echo 'context.modules = [ { name = libpipewire-module-rt args = { nice.level = 20 } } ]' >"$WORK/home/.config/pipewire/pipewire.conf.d/nice.conf"
    become $ALICE env -u XDG_CONFIG_HOME DISABLE_RTKIT=1 XDG_RUNTIME_DIR="$WORK/run" HOME="$WORK/home" USER=$ALICE \
        "$RTF_BIN/rtf" --spool "$SPOOL" preload -- pipewire -v >"$WORK/out" 2>&1 3>&- &
    local pid=$!
    echo "$pid" >>"$WORK/pids"
    eventually has_threads "$pid" fifo 1 || { cat "$WORK/out" >&2; false; }
    lacks 'does not get' "$WORK/out"
    # At its start PipeWire makes itself SCHED_FIFO for a moment, to see whether it may. Then it asks for priority 88, for which rtf preload asks for 46
    # (PRIORITIES in rtf-preload(1)).
    loop_is_real_time() { [ "$(cat "$OWN"/preload-*.json 2>/dev/null | jq .priority)" = 46 ] && has_threads "$pid" fifo 1; }
    eventually loop_is_real_time
    kill "$pid"
    wait "$pid" || true
    nothing_is_left
}

@test "higher priorities are asked for in their order, none above --max-priority, and a program reads back what it asked for" {
    configure_as_shipped
    cat >"$WORK/reads.c" <<'END'
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    struct sched_param wanted = {atoi(argv[argc - 1])}, got = {0};
    int policy = -1;
    if (pthread_getschedparam(pthread_self(), &policy, &got) != 0 || policy != SCHED_OTHER)
        return 2; /* libc keeps this answer */
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted) != 0)
        return 3;
    pthread_getschedparam(pthread_self(), &policy, &got);
    printf("%d %d ", policy == SCHED_FIFO, got.sched_priority);
    fflush(stdout);
    sched_getparam(0, &got);
    printf("%d %d ", sched_getscheduler(0) == SCHED_FIFO, got.sched_priority);
    fflush(stdout);
    return system("jq -j .grant.priority,.grant.policy \"$OWN/preload-$PPID.verdict\" && jq .priority \"$OWN/preload-$PPID.json\"");
}
END
    cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -o "$WORK/reads" "$WORK/reads.c" -pthread
    broker_start
    export OWN
    # asked FOR MAX: the priority in the spec. The lower half of 1 to MAX stays.
    asked() { preloaded ${2:+--max-priority "$2"} -- "$WORK/reads" "$1" | sed -n "s/^1 $1 1 $1 [12][0-9]fifo//p"; }
    for pair in 15:15 24:24 50:33 70:40 88:46 99:49; do [ "$(asked ${pair%:*})" = "${pair#*:}" ] || { echo "$pair: $(asked ${pair%:*})" >&2; false; }; done
    [ "$(asked 99 20)" = 20 ]
    [ "$(asked 70 20)" = 17 ]
    [ "$(asked 10 20)" = 10 ]
    run -1 preloaded --max-priority 99 -- chrt -f 70 true
    [[ $output == *'does not get SCHED_FIFO: '*'max_priority 49'* ]]
    # Another program sees what the kernel has.
    sleeper $ALICE
    preloaded -- chrt -f -p 70 "$SLEEPER"
    kernel "$SLEEPER" | grep -Eq '^fifo (1[1-9]|20) '
}

@test "a policy in attributes that libc ignores gets one line for each process" {
    cat >"$WORK/forgets.c" <<'END'
#include <pthread.h>
#include <sched.h>
static void *begin(void *unused) { return unused; }
int main(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
        pthread_attr_setschedparam(&attributes, &(struct sched_param){15});
        if (pthread_create(&thread, &attributes, begin, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return 1;
    }
}
END
    cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -o "$WORK/forgets" "$WORK/forgets.c" -pthread
    broker_start
    run -0 preloaded -- "$WORK/forgets"
    [[ $output == 'rtf-preload: forgets ('*') creates a thread with SCHED_FIFO in its attributes, which libc ignores: the program does not set PTHREAD_EXPLICIT_SCHED' ]]
    nothing_is_left
}
