# bats file_tags=lane:alone
# A process with one runtime for all its threads (test/process.bats) tries to have real-time threads beyond this runtime, or after its reservation.
load ../helper

prepare() {
    configure_plugins 'FP fp 11-20 1 enforce=process'
    compile_once "$RTF_SOURCE/test/attack/escape.c"
}

# escape WAY: starts the process, and attaches it. Its id is in PROCESS.
escape() {
    become $ALICE "$RTF_STAGE/escape" "$1" >/dev/null 3>&- &
    PROCESS=$!
    echo "$PROCESS" >>"$WORK/pids"
    eventually is_program "$PROCESS" escape
    told '.thread.state == "attached"' \
        "$(spec $ALICE cam "{\"plugin\": \"FP\", \"priority\": 15, \"runtime\": \"10ms\", \"period\": \"100ms\", \"budget\": \"process\", \"attach\": $PROCESS}")"
    eventually is_program "$PROCESS" escapes # a thread was real-time
}

# had_its_runtime_at_most PERIODS: the CPU time of all threads at a real-time priority. This may be none: the guard leaves a new thread ordinary for
# some milliseconds, and threads that end sooner are never real-time. One period in ten may have more, see test/process.bats.
had_its_runtime_at_most() {
    "$RTF_STAGE/group-times" "$(basename "/run/rtf/rtf-$PROCESS".*)" 10000 100000 "$1" 3>&- >"$WORK/times"
    awk '{ sum += $1; bound += $2; if ($1 > $2) more++ } END { printf "%d %d %d %d\n", NR, sum / NR, bound / NR, more }' "$WORK/times" >"$WORK/sums"
    read -r periods mean bound more <"$WORK/sums"
    echo "$periods periods: $mean us in the mean, $more of them had too much. Each had, and might have:"
    cat "$WORK/times"
    [ "$periods" -eq "$1" ]
    [ "$mean" -le "$bound" ]
    [ "$more" -le $(($1 / 10 + 1)) ]
}

# ordinary_after_release: no thread of Alice's is real-time for 0.2 s after the reservation has ended.
ordinary_after_release() {
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ -e "/proc/$PROCESS" ]
    for ((i = 0; i < 20; i++)); do
        ps -L -u $ALICE -o cls= >"$WORK/classes"
        no grep -v TS "$WORK/classes"
        sleep 0.01 # 20 looks in 0.2 s
    done
}

@test "threads that start one another and end at once have no more than the runtime, and are ordinary after the reservation" {
    broker_start
    escape comets
    had_its_runtime_at_most 20
    ordinary_after_release
}

@test "a child whose fork began in the runtime, and ends after it, is ordinary" {
    broker_start
    escape slow
    had_its_runtime_at_most 20
    ordinary_after_release
}
