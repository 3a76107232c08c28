# bats file_tags=lane:alone
# The kernel ends a SCHED_DEADLINE runtime at a tick only, so that each of many tiny runtimes takes a whole tick. Under the shipped rules, a victim who
# keeps to the own runtime is in time beside all threads that another user can have.
load attack

# The shipped rules, with uids in place of the group, because a group would need accounts.
prepare() {
    local uid
    grep '^[A-Z]' "$RTF_SOURCE/etc/plugins.conf" >"$CONFIG/plugins.conf"
    for uid in $ALICE $BOB; do sed -n "s/^@rtf /$uid /p" "$RTF_SOURCE/etc/acl.conf"; done >"$CONFIG/acl.conf"
    sed -i '/ max_user_threads /!b; w '"$CONFIG/threads"'
d' "$CONFIG/acl.conf" # moves these rules into a file, which the last test adds again
    TICK=$(/usr/bin/python3 -S -c 'import time; print(round(time.clock_getres(6) * 1000000))')
    RUNTIME=$((TICK > 4000 ? TICK : 4000)) # the runtime of the victim, in us; the period is two and a half times as long
    ATTACKERS=()
    compile_once "$RTF_SOURCE/test/experiments/jobs.c"
    cat >"$WORK/crumbs.c" <<'END_OF_C'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void sleep_until(double seconds)
{
    struct timespec then = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (time_t)seconds) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) != 0)
        ;
}

/* COUNT S EARLIER: so many children, who wake so many seconds before S, sleep until S (CLOCK_MONOTONIC) and spin: one interrupt of the timer wakes
 * all of a CPU. The first time they wake, they get their absolute deadlines. */
int main(int argc, char **argv)
{
    for (int left = argc < 4 ? 0 : atoi(argv[1]); left > 0; left--)
        if (fork() == 0) {
            sleep_until(atof(argv[2]) - atof(argv[3]));
            sleep_until(atof(argv[2]));
            for (volatile int spins = 1; spins;)
                ;
        }
    for (;;)
        pause();
}
END_OF_C
    compile_once "$WORK/crumbs.c"
    # The victim leaves room for so many ticks in one period.
    ROOM=$((($(nproc) * 900 - 400) * RUNTIME * 5 / 2 / TICK / 1000))
}

have_come() { [ "$(pgrep -cP "$1")" = "$2" ]; }
are_decided() { [ "$(cat "$SPECS/$ALICE"/*.verdict | jq -r '.result != "WAITING"' | grep -c true)" = "$1" ]; }
are_deadline() { [ "$(ps -o cls= --ppid "$1" | grep -c DLN)" = "$2" ]; }

# victim_starts SHOT: starts Bob's thread, which works from a little before the second SHOT (CLOCK_MONOTONIC) on. The times of its jobs go to $WORK/done.
victim_starts() {
    become $BOB "$RTF_BIN/rtf-run" --spool "$SPOOL" --plugin EDF -T ${RUNTIME}us -P $((RUNTIME * 5 / 2))us -- \
        "$RTF_STAGE/jobs" $(($1 * 1000000 - RUNTIME * 50)) $((RUNTIME * 5 / 2)) 150 0:$((RUNTIME * 17 / 20)) >"$WORK/done" 2>"$WORK/refused" 3>&- &
    VICTIM=$!
    echo "$VICTIM" >>"$WORK/pids"
}

# crumbs_come COUNT SHOT EARLIER JSON: starts COUNT threads of Alice's, children of PARENT, and a reservation JSON for each. They spin from the second SHOT on;
# see crumbs.c above for EARLIER.
crumbs_come() {
    become $ALICE "$RTF_STAGE/crumbs" "$1" "$2" "$3" >/dev/null 2>&1 3>&- &
    PARENT=$!
    echo "$PARENT" >>"$WORK/pids"
    eventually have_come "$PARENT" "$1"
    pgrep -P "$PARENT" | tee -a "$WORK/pids" | as $ALICE sh -c 'mkdir -p "$1" && cd "$1" && rm -f ./* && n=0 && while read -r tid; do
        n=$((n + 1)); echo "{$2, \"attach\": $tid}" >.new; mv .new "c$n.json"; done' sh "$SPECS/$ALICE" "$4"
    eventually are_decided "$1" # some threads wait until the bandwidth of earlier threads is free
}

# A thread that has used up its runtime ignores SIGKILL: its reservation ends first.
crumbs_go() {
    as $ALICE find "$SPECS/$ALICE" -name '*.json' -delete
    eventually are_deadline "$PARENT" 0
    xargs -a <(pgrep -P "$PARENT"; echo "$PARENT") kill -KILL
    wait "$PARENT" || true
}

# in_time ORDER COUNT GRANTED EARLIER JSON: COUNT threads of Alice, each with this spec, spin at once in Bob's first second of work; GRANTED of them are
# real-time. ORDER says when Bob's reservation comes: first or second. True if none of Bob's jobs is late. Jobs are also late if the host stops the
# machine meanwhile.
in_time() {
    local shot late
    shot=$(awk -v lead=$((5 * PATIENCE)) '{ printf "%d\n", $1 + lead }' /proc/uptime)
    if [ "$1" = first ]; then
        victim_starts "$shot"
        eventually is_policy "$VICTIM" deadline
    fi
    crumbs_come "$2" "$shot" "$4" "$5"
    are_deadline "$PARENT" "$3"
    if [ "$1" = second ]; then
        victim_starts "$shot"
        eventually is_policy "$VICTIM" deadline
    fi
    awk -v shot="$shot" -v earlier="$4" '{ exit $1 >= shot - earlier }' /proc/uptime # everything was ready before the victim's first second
    wait "$VICTIM"
    crumbs_go
    read -r late < <(awk -v period=$((RUNTIME * 5 / 2)) '{ by = $3 - $1 - period; late += by > 0; if (by > worst) worst = by }
        END { print late + 0, "of", NR, "jobs late, worst by", worst + 0, "us" }' "$WORK/done")
    echo "# $1, beside $2 with {$5}: $late" >&3
    [ "${late%% *}" = 0 ]
}

# bats test_tags=turn:2
@test "160 runtimes of 2 us in 1 s leave a victim's EDF reservation of 4 ms in 10 in time" {
    broker_start
    once_of 6 in_time first 160 "$ROOM" 0 '"runtime": "2us", "period": "1s", "deadline": "1ms", "plugin": "EDF"'
    once_of 6 in_time second "$ROOM" "$ROOM" 0 '"runtime": "2us", "period": "1s", "deadline": "10ms", "plugin": "EDF"'
}

# bats test_tags=turn:0
# bats test_tags=turn:1
@test "threads that sleep until shortly before their deadlines and overrun at once: the victim is in time" {
    broker_start
    once_of 6 in_time first 120 "$ROOM" 0.994 "\"runtime\": $TICK, \"period\": \"1s\", \"deadline\": \"999ms\", \"plugin\": \"EDF\""
    once_of 6 in_time second "$ROOM" "$ROOM" 0.994 "\"runtime\": $TICK, \"period\": \"1s\", \"deadline\": \"999ms\", \"plugin\": \"EDF\""
}

@test "beside 160 threads of another user a victim gets no promise that these could break" {
    broker_start
    crumbs_come 160 99999999 0 '"runtime": "2us", "period": "1s", "plugin": "EDF"'
    are_deadline "$PARENT" 160
    victim_starts 0
    status=0
    wait "$VICTIM" || status=$?
    [ "$status" = 125 ]
    grep -q "left when other users' threads overrun (160 times up to ${TICK}us in $((RUNTIME * 5 / 2))us" "$WORK/refused"
    crumbs_go
}

@test "as shipped, a user with 160 short runtimes has some threads with EDF, the rest with FP or nothing, and another user gets 4 ms in 10" {
    local most=$((($(nproc) * 900 - 400) * 10 / (TICK < 10000 ? TICK : 10000)))
    [ "$most" -gt 0 ] || most=1
    cat "$CONFIG/threads" >>"$CONFIG/acl.conf"
    broker_start
    crumbs_come 160 99999999 0 '"runtime": "100us", "period": "1s", "priority": 15'
    are_deadline "$PARENT" "$most"
    [ "$(cat "$SPECS/$ALICE"/*.verdict | jq -r .grant.plugin | sort | uniq -c | xargs)" = "$most EDF $((160 - most)) FP" ]
    [ "$(field .reason "$(spec $ALICE one '{"runtime": "2us", "period": "1s"}')" | grep -c "max_user_threads tick: $most used, 1 asked, tick allows $most$")" = 1 ]
    victim_starts 1
    wait "$VICTIM"
    [ "$(wc -l <"$WORK/done")" = 150 ]
    crumbs_go
}
