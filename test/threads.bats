# Threads: attached, changed, detached, ended; whose threads a user may attach; and the attributes in the kernel.
load helper

RESERVED='"runtime": "1ms", "period": "20ms"'
AS_RESERVED="deadline 0 nice=0 1000/20000/20000 cpus=$ALL_CPUS reset=1"

# FP has each CPU on its own line, with fixed priorities, so that the tests can state the kernel's view exactly.
prepare() {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'FP fp 11-20 1' 'RR rr 1-10 0'
    ROUNDS=0
}


# refuses_attach UID NAME RESULT TEXT: the broker refuses the attachment with this reason, and attaches nothing.
refuses_attach() {
    local answer
    answer=$(verdict "$1" "$2")
    [ "$(field .result "$answer")" = "$3" ] && [ "$(field .thread "$answer")" = null ] && [ "$(field .refusal.by "$answer")" != null ] &&
        [[ $(field .reason "$answer") == *"$4"* ]] || { echo "$1/$2: $answer" >&2; return 1; }
}

# reserve_cam: makes Alice's reservation cam, without a thread.
reserve_cam() { spec $ALICE cam "{$RESERVED}" >/dev/null; }

# bob_is_answered: waits for the answer to a spec of Bob's. All earlier requests are done then.
bob_is_answered() {
    ROUNDS=$((ROUNDS + 1))
    put $BOB "round$ROUNDS" '{"priority": 5, "plugin": "RR"}'
    says $BOB "round$ROUNDS" '.result == "OK"'
    rm "$SPECS/$BOB/round$ROUNDS.json"
}

# dead_tid: sets DEAD to the id of a thread that has ended.
dead_tid() {
    sleep 0 3>&- &
    DEAD=$!
    wait "$DEAD"
}

# end PID: ends the process, and waits until it is gone.
end() {
    kill -KILL "$1"
    eventually gone "$1"
}

gone() { ! kill -0 "$1" 2>/dev/null || [ "$(cut -d ' ' -f 3 "/proc/$1/stat" 2>/dev/null)" = Z ]; }

# of_three_threads: a process of Alice's with two threads besides its first; their ids in $FIRST $SECOND $THIRD.
# The process obeys the word in $WORK/order: "end" ends the second thread, "exec" makes the second thread call execve.
of_three_threads() {
    mkfifo "$WORK/order"
    chmod 666 "$WORK/order"
    cat >"$WORK/three.py" <<'END'
import os, sys, threading
ids, order = {}, None
told, ready = threading.Event(), threading.Barrier(3)
def second():
    ids[2] = threading.get_native_id()
    ready.wait()
    told.wait()
    if order == "exec":
        os.execv("/bin/sleep", ["sleep", "300"])
def third():
    ids[3] = threading.get_native_id()
    ready.wait()
    threading.Event().wait()
threading.Thread(target=second, daemon=True).start()
threading.Thread(target=third, daemon=True).start()
ready.wait()
print(os.getpid(), ids[2], ids[3], flush=True)
order = open(sys.argv[1]).read().strip()
told.set()
threading.Event().wait()
END
    become $ALICE /usr/bin/python3 -S "$WORK/three.py" "$WORK/order" >"$WORK/three" 2>"$WORK/three.err" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually tells_its_threads
    echo "$FIRST" >>"$WORK/pids"
}

tells_its_threads() { read -r FIRST SECOND THIRD <"$WORK/three"; }

# ---- attach ----

# bats test_tags=turn:0
@test "a thread is attached by NAME.tid, however it is written" {
    broker_start
    reserve_cam
    for write in 'echo "$1" >cam.tid' 'printf %s "$1" >.t && mv .t cam.tid' 'echo "$1" >.t && cp .t cam.tid' 'echo "$1" >.t && ln -f .t cam.tid'; do
        sleeper $ALICE
        as $ALICE sh -c "cd '$SPECS/$ALICE' && $write" sh "$SLEEPER"
        says $ALICE cam ".request == \"attach\" and .result == \"OK\" and .thread == {\"tid\": $SLEEPER, \"state\": \"attached\"}"
        shows "$SLEEPER" "$AS_RESERVED"
        as $ALICE rm "$SPECS/$ALICE/cam.tid"
        says $ALICE cam '.request == "detach" and .thread == null and .grant.runtime == 1000'
        shows "$SLEEPER" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
    done
}

# bats test_tags=turn:1
@test "a thread is attached by the key attach, with one verdict for both" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{$RESERVED, \"attach\": $SLEEPER, \"token\": \"one\"}" >/dev/null
    says $ALICE cam ".request == \"create\" and .result == \"OK\" and .token == \"one\" and .grant.runtime == 1000 and .thread.tid == $SLEEPER and .tid == null"
    shows "$SLEEPER" "$AS_RESERVED"
    bob_is_answered
    [ "$(jq -s '[.[] | select(.stage == "verdict" and .name == "cam")] | length' "$EVENTS")" = 1 ]
}

# bats test_tags=turn:2
@test "a rewrite without the key attach keeps the thread, and its lifetime; one with \"attach\": null lets it go, and says whom" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{$RESERVED, \"attach\": $SLEEPER, \"lifetime\": \"thread\"}" >/dev/null
    shows "$SLEEPER" "$AS_RESERVED"
    spec $ALICE cam '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    says $ALICE cam ".request == \"change\" and .grant.runtime == 2000 and .thread.tid == $SLEEPER"
    shows "$SLEEPER" "deadline 0 nice=0 2000/20000/20000 cpus=$ALL_CPUS reset=1"
    # After a restart the broker has the same spec, and the spec still ends with its thread.
    broker_stop INT
    broker_start
    spec $ALICE cam "{$RESERVED}" >/dev/null
    says $ALICE cam ".thread.tid == $SLEEPER"
    end "$SLEEPER"
    eventually test ! -e "$SPECS/$ALICE/cam.json"

    sleeper $ALICE
    spec $ALICE cam "{$RESERVED, \"attach\": $SLEEPER}" >/dev/null
    spec $ALICE cam "{$RESERVED, \"attach\": null}" >/dev/null
    says $ALICE cam ".request == \"change\" and .result == \"OK\" and .thread == null and (.reason | endswith(\"; thread $SLEEPER is detached\"))"
    shows "$SLEEPER" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
    spec $ALICE cam '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    says $ALICE cam '.thread == null'
}

# bats test_tags=turn:1
@test "the key attach is said once: a rewrite without it leaves the thread to NAME.tid, which may name it or another, and let it go" {
    broker_start
    sleeper $ALICE
    first=$SLEEPER
    spec $ALICE cam "{$RESERVED, \"attach\": $first}" >/dev/null
    spec $ALICE cam "{$RESERVED}" >/dev/null
    attach $ALICE cam "$first" >/dev/null
    says $ALICE cam ".result == \"OK\" and .thread.tid == $first"
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    says $ALICE cam ".result == \"OK\" and .thread == null and .reason == \"thread $first is detached\""
    spec $ALICE cam "{$RESERVED, \"attach\": $first}" >/dev/null
    spec $ALICE cam '{"runtime": "2ms", "period": "20ms"}' >/dev/null
    sleeper $ALICE
    attach $ALICE cam "$SLEEPER" >/dev/null
    says $ALICE cam ".result == \"OK\" and .thread.tid == $SLEEPER and (.reason | contains(\"thread $first is detached\"))"
    shows "$first" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
    # The lifetime "spec" ends such an attachment, too.
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    says $ALICE cam '.thread == null'
    spec $ALICE cam "{$RESERVED, \"attach\": $SLEEPER, \"lifetime\": \"thread\"}" >/dev/null
    spec $ALICE cam "{$RESERVED, \"lifetime\": \"spec\"}" >/dev/null
    end "$SLEEPER"
    says $ALICE cam '.request == "exit" and .thread == null and .grant.runtime == 1000'
}

# bats test_tags=turn:0
# bats test_tags=turn:0
@test "a rewrite of the spec keeps what NAME.tid has attached" {
    broker_start
    sleeper $ALICE
    reserve_cam
    attach $ALICE cam "$SLEEPER" >/dev/null
    spec $ALICE cam '{"runtime": "2ms", "period": "40ms"}' >/dev/null
    says $ALICE cam ".request == \"change\" and .result == \"OK\" and .thread.tid == $SLEEPER"
    shows "$SLEEPER" "deadline 0 nice=0 2000/40000/40000 cpus=$ALL_CPUS reset=1"
}

# bats test_tags=turn:1
@test "the key attach changed to another thread lets the first go and takes the second" {
    broker_start
    sleeper $ALICE
    first=$SLEEPER
    before=$(kernel "$first")
    sleeper $ALICE
    spec $ALICE cam "{$RESERVED, \"attach\": $first}" >/dev/null
    spec $ALICE cam "{$RESERVED, \"attach\": $SLEEPER}" >/dev/null
    says $ALICE cam ".request == \"change\" and .result == \"OK\" and .thread.tid == $SLEEPER"
    shows "$first" "$before"
    shows "$SLEEPER" "$AS_RESERVED"
    # The spec names the id of a dead thread instead of the second thread: the second thread is detached.
    dead_tid
    spec $ALICE cam "{$RESERVED, \"attach\": $DEAD}" >/dev/null
    refuses_attach $ALICE cam ATTACH_FAIL "there is no thread $DEAD"
    says $ALICE cam '.grant.runtime == 1000'
    shows "$SLEEPER" "$before"
}

# bats test_tags=turn:2
@test "NAME.tid rewritten to another thread lets the first go and takes the second" {
    broker_start
    reserve_cam
    sleeper $ALICE
    first=$SLEEPER
    before=$(kernel "$first")
    attach $ALICE cam "$first" >/dev/null
    sleeper $ALICE
    attach $ALICE cam "$SLEEPER" >/dev/null
    says $ALICE cam ".request == \"attach\" and .result == \"OK\" and .thread.tid == $SLEEPER"
    shows "$first" "$before"
    shows "$SLEEPER" "$AS_RESERVED"
    as $ALICE sh -c 'cd "$1" && echo "$2" >.t && mv .t cam.tid' sh "$SPECS/$ALICE" "$first"
    says $ALICE cam ".result == \"OK\" and .thread.tid == $first"
    shows "$SLEEPER" "$before"
    shows "$first" "$AS_RESERVED"
}

# bats test_tags=turn:0
@test "NAME.tid rewritten to the same thread keeps it attached" {
    broker_start
    reserve_cam
    sleeper $ALICE
    before=$(kernel "$SLEEPER")
    attach $ALICE cam "$SLEEPER" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    says $ALICE cam ".request == \"attach\" and .result == \"OK\" and .thread.tid == $SLEEPER"
    shows "$SLEEPER" "$AS_RESERVED"
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    says $ALICE cam '.thread == null'
    shows "$SLEEPER" "$before"
}

# bats test_tags=turn:1
@test "a NAME.tid that comes before NAME.json is obeyed when the grant is there" {
    broker_start
    sleeper $ALICE
    as $ALICE mkdir "$SPECS/$ALICE"
    attach $ALICE cam "$SLEEPER" >/dev/null
    refuses_attach $ALICE cam ATTACH_FAIL 'there is no cam.json beside cam.tid'
    says $ALICE cam '.spec == null and .grant == null'
    shows "$SLEEPER" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
    # The verdict of the grant does not claim to answer NAME.tid: a client waits for this answer, too.
    reserve_cam
    shows "$SLEEPER" "$AS_RESERVED"
    says $ALICE cam ".request == \"attach\" and .result == \"OK\" and .thread.tid == $SLEEPER"
}

# bats test_tags=turn:2
@test "a NAME.tid without a NAME.json leaves nothing behind when it goes" {
    broker_start
    sleeper $ALICE
    as $ALICE mkdir "$SPECS/$ALICE"
    attach $ALICE cam "$SLEEPER" >/dev/null
    refuses_attach $ALICE cam ATTACH_FAIL 'there is no cam.json beside cam.tid'
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    bob_is_answered
    [ -z "$(ls -A "$SPECS/$ALICE")" ]
}

# bats test_tags=turn:0
@test "a NAME.tid beside a refused spec is told to have no grant" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam '{"runtime": "1ms"}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    refuses_attach $ALICE cam ATTACH_FAIL 'cam.json has no grant to attach a thread to'
    shows "$SLEEPER" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
}

# ---- attributes in the kernel ----

# bats test_tags=turn:1
@test "an EDF grant of all CPUs is SCHED_DEADLINE with its runtime, deadline and period" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{\"runtime\": \"3ms\", \"deadline\": \"25ms\", \"period\": \"50ms\", \"attach\": $SLEEPER}" >/dev/null
    says $ALICE cam ".grant.policy == \"deadline\" and .grant.cpus == \"$ALL_CPUS\" and .grant.priority == null"
    shows "$SLEEPER" "deadline 0 nice=0 3000/25000/50000 cpus=$ALL_CPUS reset=1"
}

# bats test_tags=turn:2
@test "the kernel has the desired runtime if it was accepted" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{\"runtime\": \"1ms\", \"desired_runtime\": \"2ms\", \"period\": \"20ms\", \"attach\": $SLEEPER}" >/dev/null
    says $ALICE cam '.grant.runtime == 1000 and .grant.desired_runtime == 2000 and .grant.accepted_runtime == 2000'
    shows "$SLEEPER" "deadline 0 nice=0 2000/20000/20000 cpus=$ALL_CPUS reset=1"
}

# bats test_tags=turn:0
@test "an FP grant is SCHED_FIFO at its priority, pinned to its CPU" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{\"priority\": 14, \"plugin\": \"FP\", \"attach\": $SLEEPER}" >/dev/null
    says $ALICE cam '.grant.policy == "fifo" and .grant.priority == 14 and .grant.cpus == "1"'
    shows "$SLEEPER" 'fifo 14 nice=0 0/0/0 cpus=1 reset=1'
}

# bats test_tags=turn:1
@test "an RR grant is SCHED_RR at its priority, pinned to its CPU" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{\"priority\": 4, \"plugin\": \"RR\", \"attach\": $SLEEPER}" >/dev/null
    says $ALICE cam '.grant.policy == "rr" and .grant.priority == 4 and .grant.cpus == "0"'
    shows "$SLEEPER" 'rr 4 nice=0 0/0/0 cpus=0 reset=1'
}

# bats test_tags=turn:2
@test "a change to another policy, priority or CPU is followed at once" {
    broker_start
    sleeper $ALICE
    reserve_cam
    attach $ALICE cam "$SLEEPER" >/dev/null
    changed() {
        spec $ALICE cam "$1" >/dev/null
        says $ALICE cam ".request == \"change\" and .result == \"OK\" and .thread.tid == $SLEEPER"
        shows "$SLEEPER" "$2"
    }
    changed '{"priority": 14, "plugin": "FP"}' 'fifo 14 nice=0 0/0/0 cpus=1 reset=1'
    changed '{"priority": 16, "plugin": "FP"}' 'fifo 16 nice=0 0/0/0 cpus=1 reset=1'
    changed '{"priority": 4, "plugin": "RR"}' 'rr 4 nice=0 0/0/0 cpus=0 reset=1'
    changed "{$RESERVED}" "$AS_RESERVED"
    changed '{"priority": 4, "plugin": "RR"}' 'rr 4 nice=0 0/0/0 cpus=0 reset=1'
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    says $ALICE cam '.thread == null'
    shows "$SLEEPER" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
}

# bats test_tags=turn:0
@test "the children of an attached thread are ordinary" {
    broker_start
    mkfifo "$WORK/go"
    chmod 666 "$WORK/go"
    for spec in '"priority": 14, "plugin": "FP"' '"priority": 4, "plugin": "RR"' "$RESERVED"; do
        : >"$WORK/parent"
        become $ALICE sh -c 'echo $$; read -r _ <"$1"; sleep 300 & echo $!; wait' sh "$WORK/go" >>"$WORK/parent" 3>&- &
        echo "$!" >>"$WORK/pids"
        eventually test -s "$WORK/parent"
        parent=$(head -n 1 "$WORK/parent")
        echo "$parent" >>"$WORK/pids"
        spec $ALICE cam "{$spec, \"attach\": $parent}" >/dev/null
        says $ALICE cam ".thread.tid == $parent"
        echo go >"$WORK/go"
        two_lines() { [ "$(wc -l <"$WORK/parent")" = 2 ]; }
        eventually two_lines
        child=$(tail -n 1 "$WORK/parent")
        echo "$child" >>"$WORK/pids"
        [[ $(kernel "$child") == 'other 0 nice=0 '*' reset=0' ]]
        no is_policy "$parent" other
    done
}

# bats test_tags=turn:1
@test "only the named thread of a process is attached" {
    broker_start
    of_three_threads
    reserve_cam
    attach $ALICE cam "$SECOND" >/dev/null
    says $ALICE cam ".thread.tid == $SECOND"
    shows "$SECOND" "$AS_RESERVED"
    shows "$FIRST" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
    shows "$THIRD" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
    # The two other threads can have reservations of their own.
    spec $ALICE radio "{\"priority\": 14, \"plugin\": \"FP\", \"attach\": $THIRD}" >/dev/null
    says $ALICE radio ".thread.tid == $THIRD"
    shows "$THIRD" 'fifo 14 nice=0 0/0/0 cpus=1 reset=1'
    shows "$FIRST" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
    # One of the threads ends, and the process goes on.
    echo end >"$WORK/order"
    eventually test ! -e "$SPECS/$ALICE/cam.tid"
    says $ALICE cam '.request == "exit" and .thread == null'
    kill -0 "$FIRST"
    shows "$THIRD" 'fifo 14 nice=0 0/0/0 cpus=1 reset=1'
}

# The kernel gives the process's id to the thread that calls execve. Without the broker, this thread would remain
# real-time.
# bats test_tags=turn:2
@test "an attached thread that execs is put back, under whatever id" {
    broker_start
    of_three_threads
    reserve_cam
    attach $ALICE cam "$SECOND" >/dev/null
    echo exec >"$WORK/order"
    eventually is_sleep "$FIRST"
    is_put_back() { [ "$(jq .thread "$SPECS/$ALICE/cam.verdict")" = null ] && shows "$FIRST" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"; }
    eventually is_put_back 2>/dev/null || { cat "$SPECS/$ALICE/cam.verdict"; kernel "$FIRST"; false; }
    says $ALICE cam '.request == "exit" and .result == "OK" and .grant.runtime == 1000'
    # The thread can be attached again: it has become a program that sleeps.
    attach $ALICE cam "$FIRST" >/dev/null
    says $ALICE cam ".request == \"attach\" and .result == \"OK\" and .thread.tid == $FIRST"
    rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    shows "$FIRST" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
}

# bats test_tags=turn:0
@test "the first thread of a process that execs stays attached" {
    broker_start
    reserve_cam
    mkfifo "$WORK/go"
    chmod 666 "$WORK/go"
    become $ALICE sh -c 'echo $$; read -r _ <"$1"; exec sleep 300' sh "$WORK/go" >"$WORK/self" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -s "$WORK/self"
    self=$(cat "$WORK/self")
    echo "$self" >>"$WORK/pids"
    attach $ALICE cam "$self" >/dev/null
    echo go >"$WORK/go"
    eventually is_sleep "$self"
    bob_is_answered
    says $ALICE cam ".thread.tid == $self"
    shows "$self" "$AS_RESERVED"
}

# hasty FILE: starts a process of Alice's, $FIRST. Its other thread, $SECOND, calls execve as soon as FILE says that a thread is attached.
hasty() {
    cat >"$WORK/hasty.py" <<'END'
import os, sys, threading, time
def second():
    print(os.getpid(), threading.get_native_id(), flush=True)
    until = time.time() + 20
    while time.time() < until:
        try:
            if '"state":"attached"' in open(sys.argv[1]).read():
                os.execv("/bin/sleep", ["sleep", "300"])
        except FileNotFoundError:
            pass
threading.Thread(target=second, daemon=True).start()
threading.Event().wait()
END
    become $ALICE /usr/bin/python3 -S "$WORK/hasty.py" "$1" >"$WORK/first" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -s "$WORK/first"
    read -r FIRST SECOND <"$WORK/first"
    echo "$FIRST" >>"$WORK/pids"
}

# bats test_tags=turn:1
@test "a thread that is replaced by another one's execve in the moment of its attachment is detached" {
    broker_start
    hasty "$SPECS/$ALICE/cam.verdict"
    spec $ALICE cam "{$RESERVED, \"attach\": $FIRST}" >/dev/null
    eventually says $ALICE cam ".reason == \"another thread of process $FIRST called execve and has taken over the id of the attached thread: the process is ordinary, and not attached\" and .thread == null"
    is_sleep "$FIRST"
    shows "$FIRST" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    shows "$FIRST" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
}

# bats test_tags=turn:2
@test "a thread that calls execve in the moment of its attachment is put back" {
    broker_start
    hasty "$SPECS/$ALICE/cam.verdict"
    spec $ALICE cam "{$RESERVED, \"attach\": $SECOND}" >/dev/null
    eventually says $ALICE cam ".reason == \"thread $SECOND called execve and has taken over the id of its process, $FIRST: the process is ordinary again, and not attached\" and .thread == null"
    is_sleep "$FIRST"
    eventually shows "$FIRST" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    shows "$FIRST" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
}

# bats test_tags=turn:0
@test "a thread is never real-time outside its CPUs, while it is attached, changed and detached" {
    broker_start
    # Spins on CPU 0 for a while. FP has CPU 1, and must not make the thread real-time on CPU 0.
    become $ALICE taskset -c 0 timeout 300 sh -c 'echo $$; while :; do :; done' >"$WORK/self" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -s "$WORK/self"
    self=$(cat "$WORK/self")
    echo "$self" >>"$WORK/pids"
    cat >"$WORK/sampler.py" <<'END'
import os, sys
tid, stop = sys.argv[1], sys.argv[2]
fd = os.open("/proc/%s/stat" % tid, os.O_RDONLY)
def sample():
    fields = os.pread(fd, 4096, 0).rsplit(b")", 1)[1].split()
    return int(fields[36]), int(fields[37]), int(fields[38])  # 39 processor, 40 rt_priority, 41 policy
samples = real_time = outside = 0
while not os.path.exists(stop):
    for _ in range(50):
        cpu, priority, policy = sample()
        samples += 1
        real_time += policy == 1
        # The three values are not read at one instant: a difference counts only if it is still there a moment later.
        if policy == 1 and cpu != 1 and sample() == (cpu, priority, policy):
            outside += 1
print("samples" if samples > 1000 else "too few", "seen" if real_time else "never real-time", outside)
END
    # The sampler runs on CPU 0. On CPU 1 the real-time thread would keep the sampler from running.
    taskset -c 0 /usr/bin/python3 -S "$WORK/sampler.py" "$self" "$WORK/stop" >"$WORK/samples" 2>&1 3>&- &
    sampler=$!
    echo "$sampler" >>"$WORK/pids"
    spec $ALICE cam '{"priority": 14, "plugin": "FP"}' >/dev/null
    for priority in 15 14 15 14 15 14 15 14; do
        attach $ALICE cam "$self" >/dev/null
        is_policy "$self" fifo
        spec $ALICE cam "{\"priority\": $priority, \"plugin\": \"FP\"}" >/dev/null
        shows "$self" "fifo $priority nice=0 0/0/0 cpus=1 reset=1"
        as $ALICE rm "$SPECS/$ALICE/cam.tid"
        says $ALICE cam '.thread == null'
        shows "$self" 'other 0 nice=0 0/0/0 cpus=0 reset=0'
    done
    touch "$WORK/stop"
    wait "$sampler"
    kill -KILL "$self"
    [ "$(cat "$WORK/samples")" = 'samples seen 0' ] || { cat "$WORK/samples"; false; }
}

# ---- former attributes ----

# comes_back COMMAND...: the thread that root has changed by COMMAND is as before after each policy, after detach and after release.
comes_back() {
    local spec
    broker_start
    sleeper $ALICE
    "$@" "$SLEEPER" >/dev/null
    before=$(kernel "$SLEEPER")
    echo "before: $before"
    for spec in "$RESERVED" '"priority": 14, "plugin": "FP"' '"priority": 4, "plugin": "RR"'; do
        spec $ALICE cam "{$spec}" >/dev/null
        attach $ALICE cam "$SLEEPER" >/dev/null
        says $ALICE cam ".thread.tid == $SLEEPER"
        no shows "$SLEEPER" "$before" 2>/dev/null
        as $ALICE rm "$SPECS/$ALICE/cam.tid"
        says $ALICE cam '.request == "detach" and .thread == null'
        shows "$SLEEPER" "$before"

        attach $ALICE cam "$SLEEPER" >/dev/null
        no shows "$SLEEPER" "$before" 2>/dev/null
        as $ALICE rm "$SPECS/$ALICE/cam.json"
        eventually test ! -e "$SPECS/$ALICE/cam.verdict"
        shows "$SLEEPER" "$before"
    done
    # One attachment goes through all three policies, and the end of the broker ends it.
    spec $ALICE cam "{$RESERVED, \"attach\": $SLEEPER}" >/dev/null
    spec $ALICE cam "{\"priority\": 14, \"plugin\": \"FP\", \"attach\": $SLEEPER}" >/dev/null
    spec $ALICE cam "{\"priority\": 4, \"plugin\": \"RR\", \"attach\": $SLEEPER}" >/dev/null
    shows "$SLEEPER" 'rr 4 nice=0 0/0/0 cpus=0 reset=1'
    broker_stop TERM
    shows "$SLEEPER" "$before"
}

# bats test_tags=turn:1
@test "a thread that root had reniced to -5 is so again" {
    comes_back renice -n -5 -p
    [ "$before" = "other 0 nice=-5 0/0/0 cpus=$ALL_CPUS reset=0" ]
}

# bats test_tags=turn:2
@test "a SCHED_BATCH thread is so again" {
    batch() { chrt -b -p 0 "$1" && renice -n 7 -p "$1"; }
    comes_back batch
    [ "$before" = "batch 0 nice=7 0/0/0 cpus=$ALL_CPUS reset=0" ]
}

# bats test_tags=turn:0
@test "a SCHED_IDLE thread is so again" {
    comes_back chrt -i -p 0
    [ "$before" = "idle 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0" ]
}

# bats test_tags=turn:1
@test "a thread that root had put under SCHED_FIFO is so again" {
    comes_back chrt -f -p 7
    [ "$before" = "fifo 7 nice=0 0/0/0 cpus=$ALL_CPUS reset=0" ]
}

# bats test_tags=turn:2
@test "a thread with reset-on-fork of its own under SCHED_RR is so again" {
    comes_back chrt -R -r -p 6
    [ "$before" = "rr 6 nice=0 0/0/0 cpus=$ALL_CPUS reset=1" ]
}

# bats test_tags=turn:0
@test "a thread with a narrowed affinity is so again" {
    comes_back taskset -pc 1
    [ "$before" = 'other 0 nice=0 0/0/0 cpus=1 reset=0' ]
}

# ---- the thread ends ----

# bats test_tags=turn:1
@test "when the attached thread ends its .tid goes, the verdict says exit, and the reservation stays" {
    configure_rules "$ALICE - max_utilization 0.05" "$BOB - max_utilization 2"
    broker_start
    reserve_cam
    sleeper $ALICE
    attach $ALICE cam "$SLEEPER" >/dev/null
    end "$SLEEPER"
    eventually test ! -e "$SPECS/$ALICE/cam.tid"
    says $ALICE cam ".request == \"exit\" and .result == \"OK\" and .grant.runtime == 1000 and .thread == null and (.reason | test(\"thread $SLEEPER has ended\"))"
    [ -e "$SPECS/$ALICE/cam.json" ]
    spec $ALICE more '{"runtime": 10, "period": "20ms"}' >/dev/null
    says $ALICE more '.result == "ACL_FAIL"'
    sleeper $ALICE
    attach $ALICE cam "$SLEEPER" >/dev/null
    says $ALICE cam ".request == \"attach\" and .result == \"OK\" and .thread.tid == $SLEEPER"
    shows "$SLEEPER" "$AS_RESERVED"
}

# bats test_tags=turn:2
@test "a thread named by the key attach ends: the reservation stays, and a rewrite can attach another" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{$RESERVED, \"attach\": $SLEEPER}" >/dev/null
    end "$SLEEPER"
    exited() { [ "$(jq -r .request "$SPECS/$ALICE/cam.verdict")" = exit ]; }
    eventually exited
    says $ALICE cam '.grant.runtime == 1000 and .thread == null'
    sleeper $ALICE
    spec $ALICE cam "{$RESERVED, \"attach\": $SLEEPER}" >/dev/null
    says $ALICE cam ".result == \"OK\" and .thread.tid == $SLEEPER"
    shows "$SLEEPER" "$AS_RESERVED"
}

# bats test_tags=turn:0
@test "a spec for the lifetime of its thread goes with it, files and capacity" {
    configure_rules "$ALICE - max_utilization 0.05" "$BOB - max_utilization 2"
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{$RESERVED, \"lifetime\": \"thread\", \"attach\": $SLEEPER}" >/dev/null
    shows "$SLEEPER" "$AS_RESERVED"
    end "$SLEEPER"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ -z "$(ls -A "$SPECS/$ALICE")" ]
    # The spec also ends with a thread that NAME.tid attached.
    sleeper $ALICE
    spec $ALICE cam "{$RESERVED, \"lifetime\": \"thread\"}" >/dev/null
    says $ALICE cam '.result == "OK" and .thread == null'
    attach $ALICE cam "$SLEEPER" >/dev/null
    shows "$SLEEPER" "$AS_RESERVED"
    end "$SLEEPER"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"
    [ -z "$(ls -A "$SPECS/$ALICE")" ]
    reserve_cam
    says $ALICE cam '.result == "OK"'
}

# bats test_tags=turn:1
@test "a spec for the lifetime of its thread that cannot be attached gives the grant back" {
    configure_rules "$ALICE - max_utilization 0.05" "$BOB - max_utilization 2"
    broker_start
    dead_tid
    spec $ALICE cam "{$RESERVED, \"lifetime\": \"thread\", \"attach\": $DEAD}" >/dev/null
    refuses_attach $ALICE cam ATTACH_FAIL "there is no thread $DEAD"
    says $ALICE cam '.grant == null'
    spec $ALICE radio "{$RESERVED}" >/dev/null
    says $ALICE radio '.result == "OK"'
    # Without the lifetime "thread" the spec stays.
    as $ALICE rm "$SPECS/$ALICE/radio.json"
    eventually test ! -e "$SPECS/$ALICE/radio.verdict"
    spec $ALICE cam "{$RESERVED, \"attach\": $DEAD}" >/dev/null
    refuses_attach $ALICE cam ATTACH_FAIL "there is no thread $DEAD"
    says $ALICE cam '.grant.runtime == 1000'
}

# bats test_tags=turn:2
@test "a thread that ends while the broker is away is noticed when it is back" {
    broker_start
    reserve_cam
    sleeper $ALICE
    attach $ALICE cam "$SLEEPER" >/dev/null
    ended=$SLEEPER
    sleeper $ALICE
    spec $ALICE radio "{$RESERVED, \"lifetime\": \"thread\", \"attach\": $SLEEPER}" >/dev/null
    broker_stop INT
    shows "$ended" "$AS_RESERVED"
    end "$ended"
    end "$SLEEPER"
    broker_start
    eventually test ! -e "$SPECS/$ALICE/cam.tid"
    says $ALICE cam '.request == "exit" and .grant.runtime == 1000 and .thread == null'
    eventually test ! -e "$SPECS/$ALICE/radio.verdict"
    [ ! -e "$SPECS/$ALICE/radio.json" ]
}

# ---- refused attachments ----

# refused_by_both TID RESULT TEXT: the broker refuses the thread in the key of a new spec, and in NAME.tid.
refused_by_both() {
    spec $ALICE key "{$RESERVED, \"attach\": $1}" >/dev/null
    refuses_attach $ALICE key "$2" "$3"
    as $ALICE rm "$SPECS/$ALICE/key.json"
    attach $ALICE cam "$1" >/dev/null
    refuses_attach $ALICE cam "$2" "$3"
    says $ALICE cam '.grant.runtime == 1000'
}

# bats test_tags=turn:0
@test "a thread that is dead, not yours, of the kernel, or process 1 is refused, and left alone" {
    broker_start
    reserve_cam
    dead_tid
    refused_by_both "$DEAD" ATTACH_FAIL "there is no thread $DEAD"
    sleeper $BOB
    bobs=$SLEEPER
    before=$(kernel "$bobs"; kernel 1; kernel 2)
    refused_by_both "$bobs" ATTACH_FAIL "thread $bobs is not yours: it runs as uid $BOB"
    refused_by_both 2 ATTACH_FAIL 'thread 2 is a kernel thread'
    refused_by_both 1 ATTACH_FAIL 'thread 1 is not yours: it runs as uid 0'
    [ "$(kernel "$bobs"; kernel 1; kernel 2)" = "$before" ]
    bob_is_answered
}

# bats test_tags=turn:1
@test "a thread with only its real, effective or saved uid from the owner is not the owner's" {
    broker_start
    reserve_cam
    cat >"$WORK/ids.py" <<'END'
import os, sys
os.setgroups([])
os.setresuid(*map(int, sys.argv[1:]))
print(os.getpid(), flush=True)
sys.stdin.read()
END
    mkfifo "$WORK/never"
    for ids in "$ALICE $ALICE $BOB" "$ALICE $BOB $ALICE" "$BOB $ALICE $ALICE" "$ALICE $ALICE 0"; do
        : >"$WORK/self"
        # shellcheck disable=SC2086 # three words
        /usr/bin/python3 -S "$WORK/ids.py" $ids <>"$WORK/never" >>"$WORK/self" 3>&- &
        self=$!
        echo "$self" >>"$WORK/pids"
        eventually test -s "$WORK/self"
        refused_by_both "$self" ATTACH_FAIL "thread $self is not yours"
        is_policy "$self" other
    done
}

# bats test_tags=turn:2
@test "a zombie is no thread any more" {
    broker_start
    reserve_cam
    # The shell must have become sleep before its child ends, or the shell reaps the child.
    become $ALICE sh -c '{ until grep -q sleep /proc/$$/comm; do sleep 0.01; done; } & echo $!; exec sleep 300' >"$WORK/zombie" 3>&- &
    echo "$!" >>"$WORK/pids"
    eventually test -s "$WORK/zombie"
    zombie=$(cat "$WORK/zombie")
    is_zombie() { [ "$(sed 's/.*) //' "/proc/$zombie/stat" | cut -c 1)" = Z ]; }
    eventually is_zombie
    refused_by_both "$zombie" ATTACH_FAIL "there is no thread $zombie"
}

# The reader is stopped while the files change, so the broker learns of both changes at once.
@test "a thread whose .tid goes and is written for another reservation at once is attached to that one" {
    broker_start
    reserve_cam
    spec $ALICE other '{"priority": 14, "plugin": "FP"}' >/dev/null
    sleeper $ALICE
    as $ALICE sh -c "echo $SLEEPER >'$SPECS/$ALICE/cam.tid'"
    says $ALICE cam ".thread.tid == $SLEEPER"
    reader=$(helpers rtf-reader)
    kill -STOP "$reader"
    as $ALICE sh -c "cd '$SPECS/$ALICE' && rm cam.tid && echo $SLEEPER >other.tid"
    kill -CONT "$reader"
    says $ALICE other ".thread.tid == $SLEEPER"
    says $ALICE cam '.thread == null'
    reader=$(helpers rtf-reader)
    kill -STOP "$reader"
    as $ALICE sh -c "cd '$SPECS/$ALICE' && rm other.json && echo '{$RESERVED, \"attach\": $SLEEPER}' >cam.new && mv cam.new cam.json"
    kill -CONT "$reader"
    says $ALICE cam ".thread.tid == $SLEEPER"
}

# bats test_tags=turn:0
@test "a thread can be attached to one reservation only" {
    broker_start
    reserve_cam
    sleeper $ALICE
    spec $ALICE first "{\"priority\": 14, \"plugin\": \"FP\", \"attach\": $SLEEPER}" >/dev/null
    says $ALICE first ".thread.tid == $SLEEPER"
    refused_by_both "$SLEEPER" ATTACH_FAIL "thread $SLEEPER is attached to another reservation already"
    shows "$SLEEPER" 'fifo 14 nice=0 0/0/0 cpus=1 reset=1'
    says $ALICE first ".thread.tid == $SLEEPER"
    # The same user attaches the thread again: it remains attached.
    as $ALICE touch "$SPECS/$ALICE/first.json"
    says $ALICE first ".request == \"change\" and .result == \"OK\" and .thread.tid == $SLEEPER"
    shows "$SLEEPER" 'fifo 14 nice=0 0/0/0 cpus=1 reset=1'
    # The thread is free again: the other spec can attach it.
    as $ALICE rm "$SPECS/$ALICE/first.json"
    eventually test ! -e "$SPECS/$ALICE/first.verdict"
    as $ALICE touch "$SPECS/$ALICE/cam.tid"
    says $ALICE cam ".result == \"OK\" and .thread.tid == $SLEEPER"
    shows "$SLEEPER" "$AS_RESERVED"
}

# bats test_tags=turn:1
@test "two specs that ask for one thread in the same moment: one has it" {
    broker_start
    sleeper $ALICE
    as $ALICE sh -c 'mkdir "$1" && cd "$1" && for name in 1 2 3 4 5 6 7 8; do echo "$2" >.$name; done
        for name in 1 2 3 4 5 6 7 8; do mv .$name $name.json; done' sh "$SPECS/$ALICE" "{\"runtime\": 100, \"period\": \"20ms\", \"attach\": $SLEEPER}"
    attached=0
    for name in 1 2 3 4 5 6 7 8; do
        answer=$(verdict $ALICE $name)
        case "$(field '"\(.result) \(.thread.tid)"' "$answer")" in
            "OK $SLEEPER") attached=$((attached + 1)) ;;
            'ATTACH_FAIL null') ;;
            *) echo "$answer"; false ;;
        esac
    done
    [ "$attached" = 1 ]
    shows "$SLEEPER" "deadline 0 nice=0 100/20000/20000 cpus=$ALL_CPUS reset=1"
}

# bats test_tags=turn:2
@test "the key attach and NAME.tid together are refused, whichever comes first" {
    broker_start
    sleeper $ALICE
    both='key "attach" and the file cam.tid both name a thread: remove one of them'
    as $ALICE mkdir "$SPECS/$ALICE"
    as $ALICE sh -c 'echo "$2" >"$1/cam.tid"' sh "$SPECS/$ALICE" "$SLEEPER"
    put $ALICE cam "{$RESERVED, \"attach\": $SLEEPER}"
    refuses_attach $ALICE cam BAD_SPEC "$both"
    says $ALICE cam '.grant == null'
    shows "$SLEEPER" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
    as $ALICE rm "$SPECS/$ALICE/cam.tid" "$SPECS/$ALICE/cam.json"
    eventually test ! -e "$SPECS/$ALICE/cam.verdict"

    # A thread that the spec's key has attached remains attached by the key, and no verdict claims that it was detached.
    spec $ALICE cam "{$RESERVED, \"attach\": $SLEEPER}" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    says $ALICE cam ".result == \"BAD_SPEC\" and .request == \"attach\" and .thread.tid == $SLEEPER and (.reason | test(\"remove one of them\"))"
    as $ALICE rm "$SPECS/$ALICE/cam.tid"
    says $ALICE cam ".result == \"OK\" and .thread.tid == $SLEEPER and .reason != \"detached\""
    shows "$SLEEPER" "$AS_RESERVED"

    # A thread that NAME.tid has attached: the change is refused, and the old grant and the thread remain.
    spec $ALICE cam "{$RESERVED}" >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    spec $ALICE cam "{\"runtime\": \"2ms\", \"period\": \"20ms\", \"attach\": $SLEEPER}" >/dev/null
    says $ALICE cam ".request == \"change\" and .result == \"BAD_SPEC\" and .grant.runtime == 1000 and .thread.tid == $SLEEPER"
    shows "$SLEEPER" "$AS_RESERVED"
}

# bats test_tags=turn:0
@test "a value that is no thread id is refused: 0, below, text, two, huge, signs, blanks" {
    broker_start
    reserve_cam
    for text in 0 -1 +5 4194305 99999999999999999999999 1e3 0x10 cam '' ' 12' '12 ' '12 13' '1.0'; do
        attach $ALICE cam "$text" >/dev/null
        refuses_attach $ALICE cam BAD_SPEC 'cam.tid must hold one thread id in decimal, from 1 to 4194304'
    done
    as $ALICE sh -c 'printf "12\n13\n" >"$1/cam.tid"' sh "$SPECS/$ALICE"
    refuses_attach $ALICE cam BAD_SPEC 'cam.tid must hold one thread id in decimal'
    as $ALICE sh -c 'printf "12\0" >"$1/cam.tid"' sh "$SPECS/$ALICE"
    refuses_attach $ALICE cam BAD_SPEC 'cam.tid must hold one thread id in decimal'
    for value in 0 -1 4194305 99999999999999999999999 '"12"' 1.0 '[12]' true; do
        spec $ALICE key "{$RESERVED, \"attach\": $value}" >/dev/null
        says $ALICE key '.result == "BAD_SPEC" and .grant == null and (.reason | startswith("key.json"))'
    done
    spec $ALICE key "{$RESERVED, \"attach\": 0}" >/dev/null
    refuses_attach $ALICE key BAD_SPEC 'key "attach" (line 1) must be a whole number from 1 to 4194304'
    bob_is_answered
}

# bats test_tags=turn:1
@test "a change that the kernel refuses to the attached thread leaves the old grant and the thread as they were" {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'OFF fp 11-20 1023' # a CPU that is not there
    broker_start
    sleeper $ALICE
    before=$(kernel "$SLEEPER")
    spec $ALICE cam "{$RESERVED, \"attach\": $SLEEPER}" >/dev/null
    shows "$SLEEPER" "$AS_RESERVED"
    spec $ALICE cam "{\"priority\": 14, \"plugin\": \"OFF\", \"attach\": $SLEEPER}" >/dev/null
    says $ALICE cam ".request == \"change\" and .result == \"ATTACH_FAIL\" and .refusal.by == \"kernel\" and .grant.plugin == \"EDF\" and .thread.tid == $SLEEPER"
    shows "$SLEEPER" "$AS_RESERVED"
    as $ALICE rm "$SPECS/$ALICE/cam.json"
    eventually shows "$SLEEPER" "$before" 2>/dev/null
}

# bats test_tags=turn:2
@test "a change to another thread that the kernel refuses claims no thread that is not so in the kernel" {
    configure_plugins 'EDF edf - all partition=global threshold=0.9' 'OFF fp 11-20 1023'
    broker_start
    sleeper $ALICE
    first=$SLEEPER
    before=$(kernel "$first")
    sleeper $ALICE
    spec $ALICE cam "{$RESERVED, \"attach\": $first}" >/dev/null
    spec $ALICE cam "{\"priority\": 14, \"plugin\": \"OFF\", \"attach\": $SLEEPER}" >/dev/null
    says $ALICE cam '.request == "change" and .result == "ATTACH_FAIL" and .refusal.by == "kernel"'
    shows "$SLEEPER" "$before"
    if [ "$(field .thread.tid "$(verdict $ALICE cam)")" = "$first" ]; then
        says $ALICE cam '.grant.plugin == "EDF"'
        shows "$first" "$AS_RESERVED"
    else
        says $ALICE cam '.thread == null'
        shows "$first" "$before"
    fi
    # The thread is free: another reservation can attach it.
    spec $ALICE radio "{$RESERVED, \"attach\": $SLEEPER}" >/dev/null
    says $ALICE radio ".result == \"OK\" and .thread.tid == $SLEEPER"
}

# bats test_tags=turn:0
@test "an attach that the kernel refuses says why, and the reservation stays" {
    configure_plugins 'OFF fp 11-20 1023'
    broker_start
    sleeper $ALICE
    before=$(kernel "$SLEEPER")
    spec $ALICE cam '{"priority": 14}' >/dev/null
    attach $ALICE cam "$SLEEPER" >/dev/null
    refuses_attach $ALICE cam ATTACH_FAIL "thread $SLEEPER may not run on CPU 1023"
    says $ALICE cam '.grant.plugin == "OFF" and .refusal.by == "kernel"'
    shows "$SLEEPER" "$before"
}

# bats test_tags=turn:1
@test "a NAME.tid is never read before it is written, however often it is rewritten" {
    broker_start
    reserve_cam
    cat >"$WORK/writer.py" <<'END'
import json, os, time
for number in range(150):
    with open("cam.tid", "w") as tid:
        tid.write("1\n")
    deadline = time.monotonic() + 3
    while json.load(open("cam.verdict"))["tid"] != {"inode": os.stat("cam.tid").st_ino,
                                                    "changed": "%d.%09d" % divmod(os.stat("cam.tid").st_ctime_ns, 10**9)}:
        if time.monotonic() > deadline:
            raise SystemExit("rewrite %d is not answered" % number)
    if number % 2:
        os.unlink("cam.tid")
END
    as $ALICE sh -c 'cd "$1" && exec /usr/bin/python3 -S "$2"' sh "$SPECS/$ALICE" "$WORK/writer.py"
    [ "$(jq -s '[.[] | select(.stage == "verdict" and .name == "cam" and (.reason | test("must hold")))] | length' "$EVENTS")" = 0 ]
}

# ---- an id that has had another owner ----

# reuse TID UID: starts a thread with this id, later than the files in Alice's directory.
reuse() {
    cat >"$WORK/reuse.py" <<'END'
import ctypes, os, struct, sys, time
tid, uid, directory = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
newest = max(os.stat(os.path.join(directory, name)).st_ctime for name in os.listdir(directory))
while time.time() < newest + 0.1:  # the kernel counts a thread's age in ticks of 10 ms
    time.sleep(0.01)
ids = (ctypes.c_int * 1)(tid)
SIGCHLD, CLONE3 = 17, 435
arguments = ctypes.create_string_buffer(struct.pack("<10Q", 0, 0, 0, 0, SIGCHLD, 0, 0, 0, ctypes.addressof(ids), 1))
libc = ctypes.CDLL(None, use_errno=True)
got = libc.syscall(CLONE3, arguments, 80)
if got < 0:
    sys.exit("clone3: " + os.strerror(ctypes.get_errno()))
if got == 0:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.execv("/bin/sleep", ["sleep", "300"])
END
    /usr/bin/python3 -S "$WORK/reuse.py" "$1" "$2" "$SPECS/$ALICE" >/dev/null 3>&-
    echo "$1" >>"$WORK/pids"
    eventually is_sleep "$1"
}

# bats test_tags=turn:2
@test "a NAME.tid that is older than the thread it names is removed, never obeyed" {
    broker_start
    dead_tid
    as $ALICE mkdir "$SPECS/$ALICE"
    attach $ALICE cam "$DEAD" >/dev/null
    refuses_attach $ALICE cam ATTACH_FAIL 'there is no cam.json'
    reuse "$DEAD" $ALICE
    # A modification time that the user sets does not make the file seem newer.
    reserve_cam
    eventually test ! -e "$SPECS/$ALICE/cam.tid"
    refuses_attach $ALICE cam ATTACH_FAIL "cam.tid is older than thread $DEAD"
    says $ALICE cam '.grant.runtime == 1000'
    shows "$DEAD" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
    # After another write the file means the thread that has the id now.
    attach $ALICE cam "$DEAD" >/dev/null
    says $ALICE cam ".result == \"OK\" and .thread.tid == $DEAD"
    shows "$DEAD" "$AS_RESERVED"
}

# bats test_tags=turn:0
@test "a key attach that is older than the thread it names is not obeyed" {
    broker_start
    broker_stop TERM
    dead_tid
    put $ALICE cam "{$RESERVED, \"attach\": $DEAD}"
    reuse "$DEAD" $ALICE
    broker_start
    refuses_attach $ALICE cam ATTACH_FAIL "cam.json is older than thread $DEAD"
    shows "$DEAD" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
}

# bats test_tags=turn:1
@test "after a reboot a NAME.tid is not obeyed, its spec is granted again" {
    broker_start
    reserve_cam
    sleeper $ALICE
    attach $ALICE cam "$SLEEPER" >/dev/null
    broker_stop TERM
    # This is like a start after a reboot: the journal has another boot id, and the id belongs to another thread.
    sed -i 's/^boot=.*/boot=00000000-0000-0000-0000-000000000000/' "$SPOOL/state/current/journal"
    end "$SLEEPER"
    wait "$SLEEPER" || true
    reuse "$SLEEPER" $ALICE
    broker_start
    eventually test ! -e "$SPECS/$ALICE/cam.tid"
    says $ALICE cam '.grant.runtime == 1000 and .thread == null'
    shows "$SLEEPER" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
}

# bats test_tags=turn:2
@test "a thread that took over the id of an attached thread while the broker was away is not that thread" {
    broker_start
    reserve_cam
    sleeper $ALICE
    attach $ALICE cam "$SLEEPER" >/dev/null
    broker_stop INT
    end "$SLEEPER"
    wait "$SLEEPER" || true
    reuse "$SLEEPER" $ALICE
    broker_start
    eventually test ! -e "$SPECS/$ALICE/cam.tid"
    says $ALICE cam '.request == "exit" and .grant.runtime == 1000 and .thread == null'
    shows "$SLEEPER" "other 0 nice=0 0/0/0 cpus=$ALL_CPUS reset=0"
}

# ---- root ----

# bats test_tags=turn:0
@test "root's spec may attach anybody's thread, but none of the kernel's" {
    broker_start
    for directory in 0 root; do
        sleeper $BOB
        mkdir "$SPECS/$directory"
        echo "{\"priority\": 14, \"plugin\": \"FP\", \"attach\": $SLEEPER}" >"$SPECS/$directory/cam.json"
        USER=$directory "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 10s cam
        [ "$(jq .thread.tid "$SPECS/$directory/cam.verdict")" = "$SLEEPER" ]
        shows "$SLEEPER" 'fifo 14 nice=0 0/0/0 cpus=1 reset=1'
        [ "$(stat -c '%u %a' "$SPECS/$directory" "$SPECS/$directory/cam.verdict" | paste -sd ' ')" = '0 2700 0 600' ]
        before=$(kernel 2)
        echo '{"priority": 14, "plugin": "FP", "attach": 2}' >"$SPECS/$directory/kernel.json"
        run env USER=$directory "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 10s kernel
        [[ $(field .reason "$output") == 'thread 2 is a kernel thread'* ]]
        [ "$(kernel 2)" = "$before" ]
        rm "$SPECS/$directory/"*.json
        eventually rmdir "$SPECS/$directory" 2>/dev/null
        is_policy "$SLEEPER" other
    done
}

# bats test_tags=turn:1
@test "the owner of a thread that root has attached cannot attach it, and gets it back as it was" {
    broker_start
    sleeper $ALICE
    before=$(kernel "$SLEEPER")
    mkdir "$SPECS/0"
    echo "{\"priority\": 14, \"plugin\": \"FP\", \"attach\": $SLEEPER}" >"$SPECS/0/cam.json"
    USER=0 "$RTF_BIN/rtf-wait" --spool "$SPOOL" --timeout 10s cam
    reserve_cam
    refused_by_both "$SLEEPER" ATTACH_FAIL "thread $SLEEPER is attached to another reservation already"
    shows "$SLEEPER" 'fifo 14 nice=0 0/0/0 cpus=1 reset=1'
    rm "$SPECS/0/cam.json"
    eventually shows "$SLEEPER" "$before" 2>/dev/null
}
