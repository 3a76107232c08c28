# bats file_tags=lane:alone
# The guard frees a process of rtf that loops in the kernel (libexec/guard/kernel-loop.h).
load helper

watch() { # WHAT: test/kernel-loop/watch.py
    /usr/bin/python3 -S "$RTF_SOURCE/test/kernel-loop/watch.py" "$RTF_LIBEXEC/rtf-attach" "$RTF_LIBEXEC/rtf-guard" "$1"
}

@test "a process that never sleeps lets another one of its priority run, and is FIFO again" {
    [ "$(watch loops)" = $'ok True\nthe other one ran early\nthen fifo\ntold loop' ]
}

# bats test_tags=turn:2
@test "a process that sleeps in between stays as it is" {
    [ "$(watch pauses)" = $'ok True\ntold' ]
}

@test "the attach helper gives an event on itself" {
    [ "$(watch helper)" = 'ok True' ]
}

@test "the guard has events on the broker and on the attach helper, also after each of them, and the guard, was killed" {
    broker_start
    sleeper $ALICE
    spec $ALICE cam "{\"priority\": 15, \"attach\": $SLEEPER}" >/dev/null
    eventually has_events 2
    kill -KILL "$(helpers rtf-guard)"
    eventually has_events 2
    kill -KILL "$(helpers rtf-attach)"
    eventually has_events 2
}
# While no runtime of a thread is enforced, the guard has one more perf event for each CPU, for priority inheritance.
has_events() {
    local guard
    guard=$(helpers rtf-guard) && [ "$(ls -l "/proc/$guard/fd" | grep -c 'anon_inode:\[perf_event\]')" -eq $(($1 + $(nproc))) ]
}
