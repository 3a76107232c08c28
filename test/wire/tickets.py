#!/usr/bin/python3 -S
"""tickets RTF-NET UID WHAT: speaks to rtf-net as the broker does, about a class of rtf0 and a thread of that user, and prints what the class has sent.
The class's number is the same all the time: so it comes round at once.

WHAT: kept      a socket that another process has from the thread, while the class is there, after its end, and when the number is another's
      accepted  a connection that a marked socket has accepted, and one that was accepted before the number was another's
      refused   a socket that another process has from the thread of a class that could not be dropped, for the interface was somebody else's: when the
                number is another's
      changed   root's thread is attached and becomes that user: the marks of a socket opened before, and of one opened after
"""
import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import time

program, uid, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
FAR, CLASS, MARK = ("10.78.0.2", 9), 16, 36  # SO_MARK

if what == "refused":
    subprocess.run("tc qdisc add dev rtf0 root handle 7: pfifo".split(), check=True)
broker, helper = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
child = subprocess.Popen([program, "--serve", "rtf0=12500000"], stdin=helper)
helper.close()


def ask(op, expected="ok", **words):
    broker.send("".join(f"{key}={value}\n" for key, value in {"op": op, "id": 1, **words}.items()).encode() + b"\n")
    answer = broker.recv(8192).decode()
    assert f"answer={expected}" in answer, (op, words, answer)


def bind(of, owner):
    with open(f"/proc/{of}/stat") as stat:
        words = {"class": CLASS, "tid": of, "started_by": int(stat.read().rpartition(")")[2].split()[19])}
    ask("bind", owner=owner, **words)
    return words


def sent(name):
    """By a class: packets that have left it, and that wait in it."""
    text = subprocess.run(["tc", "-s", "class", "show", "dev", "rtf0", "classid", f"5254:{name:x}"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"Sent \d+ bytes (\d+) pkt.*?backlog \S+ (\d+)p", text, re.S)
    return sum(map(int, found.groups())) if found else 0


def begin():
    ask("class", interface="rtf0", rate=100000, **{"class": CLASS})


def end():
    ask("drop", interface="rtf0", **{"class": CLASS})


def send(sock):
    for _ in range(5):
        sock.sendto(b"five", FAR)


def user():
    """A process of that user that does what it is told: "open" a socket and pass it on, "close" it."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        here.close()
        broker.close()
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG; a change of uids would clear it
        there.send(b"ready")
        while word := there.recv(100):
            if word == b"open":
                mine = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            elif word == b"listen":
                mine = socket.create_server(("10.77.0.1", 0))
            else:
                mine.close()
                there.send(b"closed")
                continue
            socket.send_fds(there, [b"one"], [mine.fileno()])
        os._exit(0)
    there.close()
    here.recv(100)
    return pid, here


def told(to, word):
    to.send(word)
    if word == b"close":
        to.recv(100)
        return None
    return socket.socket(fileno=socket.recv_fds(to, 100, 1)[1][0])


def warm():
    """The neighbour is known: from now on what is sent is in a class at once."""
    plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    before = sent(2)
    plain.sendto(b"one", FAR)
    while sent(2) <= before or "lladdr" not in subprocess.run(["ip", "neigh", "show", "dev", "rtf0"], capture_output=True, text=True).stdout:
        time.sleep(0.02)


def kept():
    pid, there = user()
    begin()
    words = bind(pid, uid)
    passed = told(there, b"open")
    told(there, b"close")
    send(passed)
    print("in force:", sent(CLASS))
    ask("unbind", **words)
    end()
    send(passed)
    begin()
    send(passed)
    print("a number that came round:", sent(CLASS), f"{passed.getsockopt(socket.SOL_SOCKET, MARK):x}")
    bind(pid, uid)
    send(passed)
    fresh = told(there, b"open")
    fresh.sendto(b"one", FAR)
    print("somebody has it:", sent(CLASS))


def accepted():
    pid, there = user()
    begin()
    words = bind(pid, uid)
    listener = told(there, b"listen")
    far = subprocess.Popen(["nsenter", f"--net={sys.argv[4]}", sys.executable, "-S", "-c", "import socket, sys\n"
                            "one = socket.create_connection((sys.argv[1], int(sys.argv[2])))\nwhile data := one.recv(9999): print(len(data), flush=True)",
                            *map(str, listener.getsockname())], stdout=subprocess.PIPE)
    connection, _ = listener.accept()
    before = sent(CLASS)
    connection.send(b"1")
    far.stdout.readline()
    print("accepted:", sent(CLASS) > before, f"{connection.getsockopt(socket.SOL_SOCKET, MARK):x}")
    listener.close()
    told(there, b"close")
    ask("unbind", **words)
    end()
    begin()
    connection.send(b"22")
    far.stdout.readline()
    print("a number that came round:", sent(CLASS))
    connection.close()
    far.wait()


def refused():
    pid, there = user()
    words = bind(pid, uid)
    passed = told(there, b"open")
    told(there, b"close")
    ask("unbind", **words)
    ask("drop", "no", interface="rtf0", **{"class": CLASS})
    subprocess.run("tc qdisc del dev rtf0 root".split(), check=True)
    begin()
    warm()
    send(passed)
    print("a number that came round:", sent(CLASS), f"{passed.getsockopt(socket.SOL_SOCKET, MARK):x}")


def changed():
    begin()
    bind(os.getpid(), 0)
    marks = [socket.socket()]
    os.setresuid(uid, uid, 0)
    marks.append(socket.socket())
    print(*(f"{one.getsockopt(socket.SOL_SOCKET, MARK):x}" for one in marks))
    os.setresuid(0, 0, 0)


if what != "refused":
    warm()
{"kept": kept, "accepted": accepted, "refused": refused, "changed": changed}[what]()
ask("end", interface="rtf0")
broker.close()
sys.exit(child.wait())
