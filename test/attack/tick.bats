# bats file_tags=lane:alone
# The kernel ends a SCHED_DEADLINE runtime at a tick only, so that each of many tiny runtimes takes a whole tick. Under the shipped rules, a victim who
# keeps to the own runtime is in time beside all specs that the rules allow.
load attack

# The shipped rules, with uids in place of the group, because a group would need accounts.
prepare() {
    local uid
    grep '^[A-Z]' "$RTF_SOURCE/etc/plugins.conf" >"$CONFIG/plugins.conf"
    for uid in $ALICE $BOB; do sed -n "s/^@rtf /$uid /p" "$RTF_SOURCE/etc/acl.conf"; done >"$CONFIG/acl.conf"
    TICK=$(/usr/bin/python3 -S -c 'import time; print(round(time.clock_getres(6) * 1000000))')
    RUNTIME=$((TICK > 4000 ? TICK : 4000)) # of the victim, in us; the period is two and a half times as long
    ATTACKERS=()
    cc -O2 -o "$WORK/jobs" "$RTF_SOURCE/test/experiments/jobs.c"
    cat >"$WORK/crumbs.c" <<'END_OF_C'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* COUNT S: so many children, who sleep until then (CLOCK_MONOTONIC) and spin: one interrupt of the timer wakes all of a CPU. */
int main(int argc, char **argv)
{
    for (int left = argc < 3 ? 0 : atoi(argv[1]); left > 0; left--)
        if (fork() == 0) {
            struct timespec then = {.tv_sec = atoi(argv[2])};
            while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) != 0)
                ;
            for (volatile int spins = 1; spins;)
                ;
        }
    for (;;)
        pause();
}
END_OF_C
    cc -O1 -o "$WORK/crumbs" "$WORK/crumbs.c"
}

have_come() { [ "$(pgrep -cP "$1")" = "$2" ]; }
are_decided() { [ "$(cat "$SPECS/$ALICE"/*.verdict | jq -r '.result != "WAITING"' | grep -c true)" = "$1" ]; }
are_deadline() { [ "$(ps -o cls= --ppid "$1" | grep -c DLN)" = "$2" ]; }

# in_time COUNT GRANTED JSON: COUNT threads of Alice, each with this spec, spin at once in Bob's first second of work; GRANTED of them are real-time.
# True if none of Bob's jobs is late. Jobs are also late if the host stops the machine meanwhile.
in_time() {
    local parent shot late
    shot=$(awk -v lead=$((4 * PATIENCE)) '{ printf "%d\n", $1 + lead }' /proc/uptime)
    become $ALICE "$WORK/crumbs" "$1" "$shot" >/dev/null 2>&1 3>&- &
    parent=$!
    echo "$parent" >>"$WORK/pids"
    eventually have_come "$parent" "$1"
    pgrep -P "$parent" | tee -a "$WORK/pids" | as $ALICE sh -c 'mkdir -p "$1" && cd "$1" && rm -f ./* && n=0 && while read -r tid; do
        n=$((n + 1)); echo "{$2, \"attach\": $tid}" >.new; mv .new "c$n.json"; done' sh "$SPECS/$ALICE" "$3"
    eventually are_decided "$1" # some wait until the bandwidth of earlier threads is free
    are_deadline "$parent" "$2"
    become $BOB "$RTF_BIN/rtf-run" --spool "$SPOOL" --plugin EDF -T ${RUNTIME}us -P $((RUNTIME * 5 / 2))us -- \
        "$WORK/jobs" $((shot * 1000000 - RUNTIME * 50)) $((RUNTIME * 5 / 2)) 150 0:$((RUNTIME * 17 / 20)) >"$WORK/done" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually is_policy "$!" deadline
    [ "$(awk '{ printf "%d\n", $1 }' /proc/uptime)" -lt "$shot" ] # all is ready in time
    wait "$!"
    xargs -a <(pgrep -P "$parent"; echo "$parent") kill -KILL
    wait "$parent" || true
    read -r late < <(awk -v period=$((RUNTIME * 5 / 2)) '{ by = $3 - $1 - period; late += by > 0; if (by > worst) worst = by }
        END { print late + 0, "of", NR, "jobs late, worst by", worst + 0, "us" }' "$WORK/done")
    echo "# $1 with {$3}: $late" >&3
    [ "${late%% *}" = 0 ]
}


# bats test_tags=turn:2
@test "160 runtimes of 2 us in 1 s leave a victim's EDF reservation of 4 ms in 10 in time" {
    broker_start
    once_of 6 in_time 160 0 '"runtime": "2us", "period": "1s", "deadline": "1ms", "plugin": "EDF"'
}

# bats test_tags=turn:0
@test "the shortest deadlines that the rules let pass, all overrun at once: the victim is in time" {
    broker_start
    once_of 6 in_time 2 2 "\"runtime\": $TICK, \"period\": \"1s\", \"deadline\": $((TICK * 4)), \"plugin\": \"EDF\""
    once_of 6 in_time 10 10 "\"runtime\": $TICK, \"period\": \"1s\", \"deadline\": $((TICK * 20)), \"plugin\": \"EDF\""
    once_of 6 in_time 120 120 "\"runtime\": $TICK, \"period\": \"1s\", \"plugin\": \"EDF\""
}
