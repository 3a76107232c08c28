# bats file_tags=long
# A used SCHED_DEADLINE reservation, or its part of the CPU, can be used again only after the used runtime is paid back. A user gains nothing who
# creates, uses and destroys a reservation again and again.
load helper

prepare() {
    configure_plugins 'EDF edf - 1 partition=unthrottled' 'LOW fp 1-10 1'
    configure_rules "$ALICE - max_utilization 1" "$BOB - max_utilization 1"
}

is_attached() { [ "$(field .thread.tid "$(cat "$SPECS/$1/$2.verdict")")" = "$3" ]; }

# used_by NAME SPEC MILLISECONDS: makes a spec of Alice's, and returns when its thread $HOG has used so much CPU time since this function first looked at
# it. The thread was attached after the time `attached_at`, and had already used some runtime at the first look. So a whole runtime more is used up only
# in the second period. This runtime is paid back at the end of the second period, two periods after `attached_at`, however late a test looks. Tests ask for one and
# a half runtimes.
used_by() {
    hog $ALICE
    spec $ALICE "$1" "$2" >/dev/null
    attached_at=$(milliseconds)
    attach $ALICE "$1" "$HOG"
    is_policy "$HOG" deadline
    eventually has_consumed "$HOG" $(($(consumed "$HOG") + $3))
}

# is_ordinary_and_ends TID: the thread is ordinary; then it is killed. It loops, and would take CPU time from the tests beside this one.
is_ordinary_and_ends() {
    eventually is_policy "$1" other
    kill -KILL "$1"
}

# bats test_tags=turn:0
@test "the next thread of a reservation is attached when what the last one used is paid back" {
    broker_start
    used_by cam '{"runtime": "50ms", "period": "4s", "plugin": "EDF"}' 50
    sleeper $ALICE
    as $ALICE sh -c 'echo "$2" >"$1"' sh "$SPECS/$ALICE/cam.tid" "$SLEEPER"
    is_ordinary_and_ends "$HOG" # at once
    is_policy "$SLEEPER" other
    verdict $ALICE cam >/dev/null
    is_attached $ALICE cam "$SLEEPER"
    is_policy "$SLEEPER" deadline
    [ $(($(milliseconds) - attached_at)) -ge 6000 ]
}

# bats test_tags=turn:1
@test "a thread that has used half of a runtime waits for half of a period" {
    broker_start
    hog $ALICE
    spec $ALICE cam '{"runtime": "2s", "period": "4s", "plugin": "EDF"}' >/dev/null
    attach $ALICE cam "$HOG" >/dev/null
    eventually has_consumed "$HOG" $(($(consumed "$HOG") + 200))
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    verdict $ALICE cam >/dev/null
    attach $ALICE cam "$HOG" >/dev/null
    is_policy "$HOG" deadline
    # The times come from the broker's log. The shell itself waits for the CPU, because the thread has half of it.
    read -r used waited < <(jq -rs 'def at: .time | (.[:19] + "Z" | fromdate * 1000) + (.[20:23] | tonumber);
        map(select(.name == "cam" and .stage == "verdict")) | "\(.[1].us / 1000 + (.[2] | at) - (.[1] | at) | floor) \(.[3].us / 1000 | floor)"' "$EVENTS")
    echo "used $used ms at most, waited $waited ms"
    [ "$waited" -ge 300 ] # the used 200 ms of half a CPU are paid back in 400 ms, and part of this time passes before the second attach
    [ "$waited" -lt $((2 * used + 500 * PATIENCE)) ]
}

# bats test_tags=turn:2
@test "a released reservation is granted to the next spec when its use is paid back, and that spec waits until then" {
    broker_start
    used_by cam '{"runtime": "600ms", "period": "1s", "plugin": "EDF"}' 600
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_policy "$HOG" other
    [ "$(spec $BOB mine '{"runtime": "600ms", "period": "1s", "plugin": "EDF"}' | jq -r .result)" = OK ]
    [ $(($(milliseconds) - attached_at)) -ge 1500 ]
    [ ! -e "$SPECS/$ALICE/cam.verdict" ]
}

# bats test_tags=turn:1
@test "a spec that waits for bandwidth to be paid back is granted nothing any more when root revokes it" {
    broker_start
    spec $BOB mine '{"runtime": "900ms", "period": "1s", "plugin": "EDF"}' >/dev/null
    used_by cam '{"runtime": "200ms", "period": "4s", "plugin": "EDF"}' 150
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    is_ordinary_and_ends "$HOG"
    put $ALICE next '{"runtime": "200ms", "period": "4s", "plugin": "EDF"}'
    eventually test -e "$SPECS/$ALICE/next.verdict" # the verdict says that next waits
    "$RTF_BIN/rtf" --spool "$SPOOL" revoke $ALICE/next
    eventually test ! -e "$SPECS/$ALICE/next.json"
    logged 1 '.name == "next" and .reason == "an administrator has revoked the reservation"'
}

# bats test_tags=turn:0
@test "two specs wait for room for one: one is granted, and the other is refused then" {
    broker_start
    spec $BOB mine '{"runtime": "500ms", "period": "1s", "plugin": "EDF"}' >/dev/null
    used_by cam '{"runtime": "300ms", "period": "1s", "plugin": "EDF"}' 300
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    put $ALICE one '{"runtime": "400ms", "period": "1s", "plugin": "EDF"}'
    put $ALICE two '{"runtime": "400ms", "period": "1s", "plugin": "EDF"}'
    verdicts=$(verdict $ALICE one; verdict $ALICE two)
    [ "$(jq -r .result <<<"$verdicts" | sort | paste -sd ' ')" = 'OK SCHEDULE_FAIL' ]
    [ "$(jq -r 'select(.result != "OK") | .reason' <<<"$verdicts")" = 'EDF refused: CPU 1 has 0.05 of 0.95 left, 0.4 asked' ]
    [ "$(jq -r '.replies | length' <<<"$verdicts" | paste -sd ' ')" = '1 1' ]
}

# bats test_tags=turn:1
@test "a refusal does not wait for what would not be enough" {
    broker_start
    spec $BOB mine '{"runtime": "500ms", "period": "1s", "plugin": "EDF"}' >/dev/null
    used_by cam '{"runtime": "2ms", "period": "4s", "plugin": "EDF"}' 0 # a thread on an emulated CPU would use up a runtime of 100us before the first look
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    # The sums still count the debt.
    [ "$(spec $ALICE big '{"runtime": "600ms", "period": "1s", "plugin": "EDF"}' | jq -r '.reason | sub("; .*"; "")')" = 'EDF refused: CPU 1 has 0.4495 of 0.95 left, 0.6 asked' ]
}

# bats test_tags=turn:2
@test "a spec that no freed capacity would admit is refused at once" {
    broker_start
    used_by cam '{"runtime": "1900ms", "period": "4s", "plugin": "EDF"}' 1900
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    from=$(milliseconds)
    is_ordinary_and_ends "$HOG"
    [ "$(spec $ALICE big '{"runtime": "10us", "period": "50us", "plugin": "EDF"}' | jq -r '.result + " " + .refusal.retry')" = 'SCHEDULE_FAIL never' ]
    [ $(($(milliseconds) - from)) -lt 3000 ]
    [ "$(spec $ALICE next '{"runtime": "3600ms", "period": "4s", "plugin": "EDF"}' | jq -r .result)" = OK ]
    [ $(($(milliseconds) - from)) -ge 2500 ]
}

# bats test_tags=turn:0
@test "bandwidth that a change gives up is free when it is paid back" {
    broker_start
    used_by cam '{"runtime": "600ms", "period": "1s", "plugin": "EDF"}' 600
    spec $ALICE cam '{"priority": 3, "plugin": "LOW"}' >/dev/null
    is_policy "$HOG" fifo
    [ "$(spec $BOB mine '{"runtime": "600ms", "period": "1s", "plugin": "EDF"}' | jq -r .result)" = OK ]
    [ $(($(milliseconds) - attached_at)) -ge 1500 ]
}

# bats test_tags=turn:1
@test "a change to less gives the difference back when it is paid back" {
    broker_start
    used_by cam '{"runtime": "800ms", "period": "1s", "plugin": "EDF"}' 800
    from=$(milliseconds)
    [ "$(spec $ALICE cam '{"runtime": "100ms", "period": "1s", "plugin": "EDF"}' | jq -r .result)" = OK ]
    is_policy "$HOG" deadline
    [ $(($(milliseconds) - from)) -lt 900 ] || [ "$PATIENCE" -gt 1 ]
    [ "$(spec $BOB mine '{"runtime": "800ms", "period": "1s", "plugin": "EDF"}' | jq -r .result)" = OK ]
    [ $(($(milliseconds) - from)) -ge 500 ]
}

# bats test_tags=turn:2
@test "a used reservation with a shortened period is owed as long as before" {
    broker_start
    used_by cam '{"runtime": "400ms", "period": "2s", "plugin": "EDF"}' 400
    [ "$(spec $ALICE cam '{"runtime": "2ms", "period": "10ms", "plugin": "EDF"}' | jq -r .result)" = OK ]
    hog $ALICE
    attach $ALICE cam "$HOG" >/dev/null
    is_policy "$HOG" deadline
    [ $(($(milliseconds) - attached_at)) -ge 3000 ]
}

# bats test_tags=turn:0
@test "a tick that was overrun is paid back, too" {
    broker_start
    hog $ALICE
    spec $ALICE cam '{"runtime": "100us", "period": "100ms", "plugin": "EDF"}' >/dev/null
    attach $ALICE cam "$HOG" >/dev/null
    is_policy "$HOG" deadline
    from=$(milliseconds)
    sleeper $ALICE
    as $ALICE sh -c 'echo "$2" >"$1"' sh "$SPECS/$ALICE/cam.tid" "$SLEEPER"
    is_ordinary_and_ends "$HOG"
    verdict $ALICE cam >/dev/null
    is_policy "$SLEEPER" deadline
    [ $(($(milliseconds) - from)) -ge 900 ] # a debt of one runtime would be paid back after 100 ms
}

# bats test_tags=turn:1
@test "the thread that replaces an attached one by execve has no fresh runtime" {
    broker_start
    replaceable $ALICE
    spec $ALICE cam '{"runtime": "10ms", "period": "2s", "plugin": "EDF"}' >/dev/null
    attach $ALICE cam "$HOG" >/dev/null
    is_policy "$HOG" deadline
    from=$(milliseconds)
    touch "$WORK/go"
    eventually is_sh "$HOG"
    eventually has_reason "another thread of process $HOG called execve and has taken over the id of the attached thread: the process is ordinary, and not attached"
    is_policy "$HOG" other
    attach $ALICE cam "$HOG" >/dev/null
    is_policy "$HOG" deadline
    [ $(($(milliseconds) - from)) -ge 1950 ]
}
has_reason() { [ "$(field .reason "$(cat "$SPECS/$ALICE/cam.verdict")")" = "$1" ]; }

# bats test_tags=turn:2
@test "a quota is free again when its use is paid back, whatever the CPU" {
    configure_plugins 'EDF edf - 0-1 partition=unthrottled'
    configure_rules "$ALICE - max_utilization 0.5"
    broker_start
    used_by cam '{"runtime": "500ms", "period": "1s", "plugin": "EDF"}' 500
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    [ "$(spec $ALICE next '{"runtime": "500ms", "period": "1s", "plugin": "EDF"}' | jq -r .result)" = OK ]
    [ $(($(milliseconds) - attached_at)) -ge 1500 ]
    as $ALICE rm "$SPECS/$ALICE/next.json"
    eventually test ! -e "$SPECS/$ALICE/next.verdict"
    [ "$(spec $ALICE cam '{"runtime": "501ms", "period": "1s", "plugin": "EDF"}' | jq -r .result)" = ACL_FAIL ]
}

# bats test_tags=turn:0
@test "a user who changes a request that waits is answered about the new request" {
    broker_start
    used_by cam '{"runtime": "50ms", "period": "4s", "plugin": "EDF"}' 50
    sleeper $ALICE
    from=$(milliseconds)
    as $ALICE sh -c 'echo "$2" >"$1"' sh "$SPECS/$ALICE/cam.tid" "$SLEEPER"
    is_ordinary_and_ends "$HOG"
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    eventually has_reason detached
    [ $(($(milliseconds) - from)) -lt 3500 ]
    is_policy "$SLEEPER" other
}

# bats test_tags=turn:1
@test "a reservation that was never used is free at once" {
    broker_start
    spec $ALICE cam '{"runtime": "3s", "period": "4s", "plugin": "EDF"}' >/dev/null
    from=$(milliseconds)
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    [ "$(spec $BOB mine '{"runtime": "3s", "period": "4s", "plugin": "EDF"}' | jq -r .result)" = OK ]
    [ $(($(milliseconds) - from)) -lt 3500 ]
}

# bats test_tags=turn:2
@test "a thread that is attached under another policy meanwhile has no fresh runtime either" {
    broker_start
    used_by cam '{"runtime": "50ms", "period": "2s", "plugin": "EDF"}' 50
    first=$HOG
    spec $ALICE cam '{"priority": 3, "plugin": "LOW"}' >/dev/null
    is_policy "$first" fifo
    hog $ALICE
    attach $ALICE cam "$HOG" >/dev/null
    is_policy "$HOG" fifo
    [ "$(spec $ALICE cam '{"runtime": "50ms", "period": "2s", "plugin": "EDF"}' | jq -r .result)" = OK ]
    is_policy "$HOG" deadline
    [ $(($(milliseconds) - attached_at)) -ge 3000 ]
}

# bats test_tags=turn:0
@test "a spec with a reservation that is not paid back yet is released, with its quota, and can be made anew" {
    configure_rules "$ALICE - max_utilization 0.5"
    broker_start
    used_by cam '{"runtime": "500ms", "period": "1s", "plugin": "EDF"}' 500
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    [ "$(spec $ALICE next '{"runtime": "500ms", "period": "1s", "plugin": "EDF"}' | jq -r .result)" = OK ]
    [ "$(spec $ALICE cam '{"runtime": "1ms", "period": "1s", "plugin": "EDF"}' | jq -r .result)" = ACL_FAIL ]
    as $ALICE rm "$SPECS/$ALICE/next.json"
    eventually test ! -e "$SPECS/$ALICE/next.verdict"
    [ "$(spec $ALICE cam '{"runtime": "500ms", "period": "1s", "plugin": "EDF"}' | jq -r .result)" = OK ]
}

# bats test_tags=turn:1
@test "rtf-run after rtf-run is not refused what the one before has used" {
    broker_start
    for _ in 1 2 3 4 5; do
        as $ALICE "$RTF_BIN/rtf-run" --spool "$SPOOL" -T 80ms -P 100ms -- sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'
    done
}

# bats test_tags=turn:2
@test "a broker that is killed while a released reservation is not paid back comes back without it" {
    broker_start
    used_by cam '{"runtime": "100ms", "period": "4s", "plugin": "EDF"}' 100
    from=$(milliseconds)
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    is_ordinary_and_ends "$HOG"
    kill -KILL "$BROKER"
    wait "$BROKER" || true
    broker_start
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ "$(spec $BOB mine '{"runtime": "3800ms", "period": "4s", "plugin": "EDF"}' | jq -r .result)" = OK ]
    [ $(($(milliseconds) - from)) -lt 4000 ] || [ "$PATIENCE" -gt 1 ]
}

# bats test_tags=turn:0
@test "a restart before the 0-lag time of a reservation leaves the thread that it was taken from ordinary" {
    broker_start
    used_by cam '{"runtime": "100ms", "period": "4s", "plugin": "EDF"}' 100
    sleeper $ALICE
    as $ALICE sh -c 'echo "$2" >"$1"' sh "$SPECS/$ALICE/cam.tid" "$SLEEPER"
    eventually is_policy "$HOG" other
    is_policy "$SLEEPER" other
    broker_stop INT
    broker_start
    eventually is_policy "$SLEEPER" deadline
    is_policy "$HOG" other
    eventually is_attached $ALICE cam "$SLEEPER"
}

# bats test_tags=turn:1
@test "SIGTERM before the 0-lag time of a reservation leaves everything as it was" {
    broker_start
    used_by cam '{"runtime": "100ms", "period": "4s", "plugin": "EDF"}' 100
    sleeper $ALICE
    as $ALICE sh -c 'echo "$2" >"$1"' sh "$SPECS/$ALICE/cam.tid" "$SLEEPER"
    eventually is_policy "$HOG" other
    is_policy "$SLEEPER" other
    broker_stop TERM
    is_policy "$SLEEPER" other
    is_policy "$HOG" other
    broker_start
    eventually is_policy "$SLEEPER" deadline
    eventually is_attached $ALICE cam "$SLEEPER"
}

# bats test_tags=turn:1
@test "the tick that an ended thread can have overrun counts against other users until its use is paid back" {
    configure_plugins 'EDF edf - 1 partition=unthrottled overrun=4ms'
    local quick='"runtime": "1ms", "period": "4ms", "plugin": "EDF"'
    broker_start
    used_by cam '{"runtime": "50ms", "period": "4s", "plugin": "EDF"}' 50
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    is_ordinary_and_ends "$HOG"
    put $BOB quick "{$quick, \"on_refusal\": \"wait\"}"
    eventually jq -e '.result == "WAITING"' "$SPECS/$BOB/quick.verdict"
    reason=$(field .reason "$(<"$SPECS/$BOB/quick.verdict")")
    [[ $reason == *" has 0 of 0.95 left when other users' threads overrun (1 times up to 4000us in 4000us, "*'), 0.25 asked; 0.0125 of the used share belongs to ended reservations, and comes free in '*ms* ]] || { echo "$reason" >&2; false; }
    [ "$(spec $ALICE own "{$quick}" | jq -r .result)" = OK ] # the user's own ticks do not count
    as $ALICE rm "$SPECS/$ALICE/own.json"
    eventually test ! -e "$SPECS/$ALICE/own.verdict"
    eventually jq -e '.result == "OK"' "$SPECS/$BOB/quick.verdict"
    [ $(($(milliseconds) - attached_at)) -ge 6000 ]
}

# test/unit/debts.c does thousands of such steps, and checks that a reservation leaves one record however often it is lowered. This test uses real threads.
# bats test_tags=turn:0
@test "of all that two users give up, the bandwidth that is not paid back stays charged, and in the end nothing" {
    configure_rules "$ALICE - max_utilization 0.6" "$BOB - max_utilization 0.6"
    broker_start
    : >"$WORK/loops"
    for user in $ALICE $ALICE $BOB $BOB; do
        hog "$user"
        echo "$user $HOG" >>"$WORK/loops"
    done
    for seed in ${DEBT_SEEDS:-1}; do # `make faults` takes more seeds
        "$RTF_SOURCE/test/zero-lag-storm" $seed "${DEBT_SECONDS:-4}" "$SPOOL" "$BROKER" "$WORK/loops" $ALICE $BOB >"$WORK/said" 2>&1 || { cat "$WORK/said"; return 1; }
        echo "# seed $seed: $(<"$WORK/said")" >&3
        invariants
    done
}

# bats test_tags=turn:0
@test "a refusal tells how much of the used bandwidth has ended and still counts, and for how long" {
    broker_start
    spec $ALICE keep '{"runtime": "300ms", "period": "1s", "plugin": "EDF"}' >/dev/null
    used_by cam '{"runtime": "500ms", "period": "1s", "plugin": "EDF"}' 100
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_policy "$HOG" other
    reason=$(field .reason "$(spec $ALICE big '{"runtime": "1s", "period": "1s", "plugin": "EDF"}')")
    [[ $reason =~ ': 0.8 used, 1 asked; 0.5 of the used share belongs to ended reservations, and comes free in '([0-9]+)'ms'$ ]] || { echo "$reason" >&2; return 1; }
    [[ ${BASH_REMATCH[1]} -ge 1 && ${BASH_REMATCH[1]} -le 1300 ]]
    configure_rules "$ALICE - max_utilization 9"
    kill -HUP "$BROKER"
    used_by cam '{"runtime": "500ms", "period": "1s", "plugin": "EDF"}' 100
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually is_policy "$HOG" other
    reason=$(field .reason "$(spec $ALICE big '{"runtime": "900ms", "period": "1s", "plugin": "EDF"}')")
    [[ $reason == 'EDF refused: '*'; 0.5 of the used share belongs to ended reservations, and comes free in '*'ms' ]] || { echo "$reason" >&2; return 1; }
}

# On a virtual machine, some threads use up their runtime between the two system calls that suspend them. So 16 of 20 threads are enough on such a machine.
@test "runtime that was used since the kernel's last tick is counted, too, and a thread that then falls asleep is not lost" {
    [ "$("$RTF_STAGE/overrun" 20)" -ge $((PATIENCE > 1 ? 16 : 20)) ]
}
