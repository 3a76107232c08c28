#!/usr/bin/python3 -S
"""watch RTF-ATTACH RTF-GUARD WHAT: has the guard watch a FIFO process for a loop in the kernel, as the broker does, and prints what comes of it.

WHAT: loops    the process never sleeps; another FIFO process of the same priority waits for the same CPU
      pauses   the process sleeps for 300 ms after each 200 ms of CPU time
      helper   the process is rtf-attach itself
"""
import os
import select
import signal
import socket
import sys
import time

attach, guard, what = sys.argv[1:4]
PRIORITY, LONGEST = 40, 5  # s
children = []

def serve(program, *words):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        os.dup2(theirs.fileno(), 0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY + 1))
        os.execv(program, [program, "--serve", *words])
    theirs.close()
    children.append(pid)
    return ours, pid

def say(to, fds=(), **words):
    socket.send_fds(to, ["".join(f"{key}={value}\n" for key, value in words.items()).encode() + b"\n"], list(fds))

def words_of(text):
    return dict(line.split("=", 1) for line in text.decode().splitlines() if line)

def spin_until(end):
    while time.monotonic() < end:
        pass

def fifo(work):
    """A FIFO process on the last CPU."""
    go, started = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(go, 1)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        os.sched_setaffinity(0, {max(all_cpus)})  # last: it waits for this CPU if another one of its priority has it
        work()
        os._exit(0)
    children.append(pid)
    return pid, lambda: os.write(started, b"1")

def pauses():
    end = time.monotonic() + 3.5
    while time.monotonic() < end:
        spin_until(time.monotonic() + 0.2)
        time.sleep(0.3)

def event_on(helper, tid=None):
    words = {}
    if tid is not None:
        with open(f"/proc/{tid}/stat") as stat:
            words = {"tid": tid, "started_by": int(stat.read().rpartition(")")[2].split()[19])}
    say(helper, op="loop", id=1, budget=1000000, **words)
    text, fds, _, _ = socket.recv_fds(helper, 8192, 1)
    answer = words_of(text)
    return answer["answer"], int(answer["pid"]), fds[0]

os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY + 2))
all_cpus = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(all_cpus)})

helper, helper_pid = serve(attach)
watcher, _ = serve(guard, "", "")
if what == "helper":
    answer, pid, event = event_on(helper)
    print(answer, pid == helper_pid)
else:
    pid, begin = fifo(lambda: spin_until(time.monotonic() + LONGEST) if what == "loops" else pauses())
    answer, watched, event = event_on(helper, pid)
    print(answer, watched == pid)
    say(watcher, [event], op="loop", id=2, tid=watched)
    began = time.monotonic()
    begin()
    if what == "loops":
        while os.sched_getscheduler(pid) != os.SCHED_FIFO or os.sched_getaffinity(pid) != {max(all_cpus)}:
            time.sleep(0.001)
        other, begin_other = fifo(lambda: None)
        begin_other()
        os.waitpid(other, 0)
        children.remove(other)
        print("the other one ran", "early" if time.monotonic() - began < LONGEST - 1 else "late")
        time.sleep(0.05)
        print("then fifo" if os.sched_getscheduler(pid) == os.SCHED_FIFO and os.sched_getparam(pid).sched_priority == PRIORITY else "not fifo")
    else:
        os.waitpid(pid, 0)
        children.remove(pid)
    told = []
    while select.select([watcher], [], [], 0)[0]:
        told.append(words_of(watcher.recv(8192)).get("event"))
    print("told", *[event for event in told if event != "blind"])  # blind: this guard has no tracepoint
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
