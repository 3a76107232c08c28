#!/usr/bin/python3 -S
"""ask RTF-ATTACH UID OTHER WHAT: asks rtf-attach as a broker does that was misled, about a thread of UID and a spec of UID; prints the answers, and what the
thread is then.

WHAT: ids      one of the thread's four uids is OTHER's
      none     all four are UID's
      reused   the id of the thread was another's at the time that the request names
      passed   the request has a pidfd of another thread, which has ended
      fork     the request does not say reset-on-fork
      between  the thread becomes OTHER's between the check and the call
"""
import ctypes
import os
import platform
import select
import signal
import socket
import sys
import tempfile

program, uid, other, what = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long

broker, socket_of_helper = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
helper = os.fork()
if helper == 0:
    os.dup2(socket_of_helper.fileno(), 0)
    os.execv(program, [program, "--serve"])
socket_of_helper.close()
spec = tempfile.TemporaryFile()
os.fchown(spec.fileno(), uid, uid)
children = []


def thread(real, effective, saved, files):
    """A process with these uids; it goes on being able to change them, and becomes OTHER's when it is told."""
    asked, ask_it = os.pipe()
    said, say = os.pipe()
    pid = os.fork()
    if pid == 0:
        broker.close()
        os.close(ask_it)
        libc.prctl(28, 4, 0, 0, 0)  # PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP
        os.setgroups([])
        os.setresuid(real, effective, saved)
        libc.setfsuid(files)
        libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG, which a change of uids clears
        os.write(say, b"1")
        os.read(asked, 1)
        os.setresuid(other, other, other)
        os.write(say, b"1")
        os.read(asked, 1)
    children.append(pid)
    os.read(said, 1)
    return pid, ask_it, said


def request(tid, pidfd=None, before=0, **words):
    with open(f"/proc/{tid}/stat") as stat:
        start = int(stat.read().rpartition(")")[2].split()[19])
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(tid))))
    words = {"op": "apply", "id": 1, "tid": tid, "started_by": start - before, "cpus": cpus, **words}
    text = "".join(f"{key}={value}\n" for key, value in words.items()).encode() + b"\n"
    socket.send_fds(broker, [text], [spec.fileno()] + ([] if pidfd is None else [pidfd]))


def answer():
    words = dict(line.split("=", 1) for line in broker.recv(8192).decode().splitlines() if line)
    return words["answer"]


def now(tid):
    policy = os.sched_getscheduler(tid)
    names = {os.SCHED_OTHER: "other", os.SCHED_FIFO: "fifo", os.SCHED_RR: "rr"}
    return names[policy & ~os.SCHED_RESET_ON_FORK] + (" reset" if policy & os.SCHED_RESET_ON_FORK else "")


fifo = {"policy": "fifo", "priority": 1, "reset_on_fork": 1}


def ids(foreign):
    for which in foreign:
        tid, _, _ = thread(*(other if place == which else uid for place in range(4)))
        request(tid, **fifo)
        print(answer(), now(tid))


def reused():
    tid, _, _ = thread(*4 * [uid])
    request(tid, before=1, **fifo)
    print(answer(), now(tid))


def passed():
    tid, _, _ = thread(*4 * [uid])
    gone, ask_it, said = thread(*4 * [uid])
    pidfd = os.pidfd_open(gone)
    os.kill(gone, signal.SIGKILL)
    select.select([pidfd], [], [])
    request(tid, pidfd=pidfd, **fifo)
    print(answer(), now(tid))


def fork():
    for words in ({"policy": "fifo", "priority": 1}, {"policy": "rr", "priority": 1}):
        tid, _, _ = thread(*4 * [uid])
        request(tid, **words)
        print(answer(), now(tid))


def trace(call, *words):
    if libc.ptrace(call, helper, *words) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {call}")


def enters(number):
    """The helper, stopped, is about to make that system call."""
    info = (ctypes.c_uint64 * 11)()
    trace(0x420E, ctypes.sizeof(info), ctypes.addressof(info))  # PTRACE_GET_SYSCALL_INFO
    return info[0] & 0xFF == 1 and info[3] == number  # PTRACE_SYSCALL_INFO_ENTRY


def between():
    tid, ask_it, said = thread(*4 * [uid])
    sched_setattr = 314 if platform.machine() == "x86_64" else 274
    trace(0x4206, 0, 1)  # PTRACE_SEIZE, PTRACE_O_TRACESYSGOOD
    trace(0x4207, 0, 0)  # PTRACE_INTERRUPT
    os.waitpid(helper, 0x40000000)  # __WALL
    request(tid, **fifo)
    while True:
        trace(24, 0, 0)  # PTRACE_SYSCALL
        _, status = os.waitpid(helper, 0x40000000)
        assert os.WIFSTOPPED(status), status
        if os.WSTOPSIG(status) == signal.SIGTRAP | 0x80 and enters(sched_setattr):
            break
    os.write(ask_it, b"1")
    os.read(said, 1)
    trace(17, 0, 0)  # PTRACE_DETACH
    print(answer(), now(tid))


{"ids": lambda: ids(range(4)), "none": lambda: ids([4]), "reused": reused, "passed": passed, "fork": fork, "between": between}[what]()
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
broker.close()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(helper, 0)[1]))
