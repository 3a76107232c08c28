#!/usr/bin/python3 -S
"""ask RTF-TASKS UID OTHER WHAT: asks rtf-tasks about processes of UID, as the broker does, and prints what it says.

WHAT: threads   a process whose threads appear, get names and end
      others    a process of OTHER's, and one that becomes OTHER's by its execve
      program   a program that starts, ends and starts again, and is OTHER's then
      storm     a process of OTHER's makes and names threads as fast as it can: how late UID's are told, and the helper's CPU time
      crowd     64 programs of OTHER's that do not run, while OTHER's processes call execve: what an execve costs the helper, against one such program
      search    a program of OTHER's that does not run, and 1000 processes of OTHER's: the helper's CPU time until UID's watch is answered
      lists     64 watches of a process of OTHER's with 3000 threads, and lost records: the helper's CPU time until UID's new thread is told
      full      a process and a program of OTHER's with more threads than may be watched: how often the program is told to end
      many      a process of OTHER's with 600 threads, in two watches: how many threads are told
      group     a cgroup (its directory is the argument) with processes of both, one of which makes another process without an execve
      idle      no watch, and then a process at rest: how often the helper wakes
"""
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time

program, uid, other, what = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
broker, socket_of_helper = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
helper = subprocess.Popen([program, "65534", "65534"], stdin=socket_of_helper)
socket_of_helper.close()

# A process that obeys lines: "+NAME" starts a thread with this name, "=OLD NEW" renames it, "-NAME" ends it, and "!PROGRAM" calls execve in a thread
# other than the first.
OBEDIENT = """
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
threads = {}
def run(name, cell):
    libc.prctl(15, name.encode(), 0, 0, 0)
    while True:
        cell['told'].wait()
        cell['told'].clear()
        order = cell['order']
        if order == '': return
        if order[0] == '/': os.execv(order, cell['argv'])
        libc.prctl(15, order.encode(), 0, 0, 0)
def tell(name, order, argv=None):
    threads[name].update(order=order, argv=argv)
    threads[name]['told'].set()
print('ready', flush=True)
for line in sys.stdin:
    word, rest = line[0], line[1:].rstrip('\\n').split(' ')
    if word == '+':
        threads[rest[0]] = {'told': threading.Event()}
        threading.Thread(target=run, args=(rest[0], threads[rest[0]]), daemon=True).start()
    elif word == '=':
        tell(rest[0], rest[1])
        threads[rest[1]] = threads.pop(rest[0])
    elif word == '-': tell(rest[0], '')
    elif word == '!': tell(rest[0], rest[1], rest[1:])
"""
STORM = """
import ctypes, threading
libc = ctypes.CDLL(None)
def name():
    while True: libc.prctl(15, b'a', 0, 0, 0)
threading.Thread(target=name, daemon=True).start()
print('ready', flush=True)
while True: threading.Thread(target=int).start()
"""


def process(owner, code, *arguments):
    return program_of(owner, "/usr/bin/python3", "-S", "-c", code, *arguments)


def program_of(owner, *argv):
    def become():
        os.setgroups([])
        os.setresgid(owner, owner, owner)
        os.setresuid(owner, owner, owner)
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=become, text=True,
                             bufsize=1)
    child.stdout.readline()
    return child


def tell(child, line):
    child.stdin.write(line + "\n")


def ask(**words):
    broker.send("".join(f"{key}={value}\n" for key, value in words.items()).encode() + b"\n")


heard = []


def hear(within=2.0):
    broker.settimeout(within)
    try:
        while not heard:
            heard.extend(broker.recv(8192).decode().split("\n\n")[:-1])
    except TimeoutError:
        return None
    said = heard.pop(0)
    return dict(line.split("=", 1) for line in said.splitlines() if line)


def until(event, **words):
    """The message of this kind, with these words; any others are dropped."""
    while (said := hear()) is not None:
        if said["event"] == event and all(said.get(key) == str(value) for key, value in words.items()):
            return said
    print("not told:", event, words)
    return None


def show(said):
    print(" ".join(f"{key}={value}" for key, value in said.items() if key in ("event", "id", "comm", "reason")))


def threads():
    child = process(uid, OBEDIENT)
    tell(child, "+camera-1")
    ask(op="watch", id=7, uid=uid, process=child.pid)
    assert int(until("process")["process"]) == child.pid
    until("listed")
    tell(child, "+camera-2")
    second = until("thread", comm="camera-2")
    show(second)
    tell(child, "=camera-2 audio\x07")
    renamed = until("thread", comm="audio?")
    assert renamed["tid"] == second["tid"]
    tell(child, "-audio\x07")
    until("gone", tid=second["tid"])
    tell(child, "+" + "n" * 20)
    show(until("thread", comm="n" * 15))
    child.kill()
    show(until("ended"))
    ask(op="watch", id=8, uid=uid, process=child.pid + (child.wait() and 0))
    show(hear())


def others():
    child = process(other, OBEDIENT)
    ask(op="watch", id=1, uid=uid, process=child.pid)
    show(hear())
    ask(op="watch", id=2, uid=0, process=child.pid)
    until("listed", id=2)
    ask(op="watch", id=3, uid=uid, process=2)
    show(hear())
    child.kill()
    until("ended", id=2)
    child = process(uid, OBEDIENT)
    tell(child, "+t")
    ask(op="watch", id=4, uid=uid, process=child.pid)
    until("thread", id=4, comm="t")
    tell(child, f"!t {sys.argv[5]} 30")
    show(until("ended", id=4))
    child.kill()


def programs():
    sleeper = sys.argv[5]
    ask(op="watch", id=1, uid=uid, program=sleeper)
    show(hear())

    def start(owner):
        return subprocess.Popen([sleeper, "30"], user=owner, group=owner, extra_groups=[])
    for _ in range(2):
        child = start(uid)
        print(int(until("process")["process"]) == child.pid)
        until("listed")
        child.kill()
        show(until("ended"))
        child.wait()
    child = start(other)
    print(hear(0.3))
    child.kill()


def group():
    directory = sys.argv[5]

    def enter(owner, *code):
        def become():
            with open(directory + "/cgroup.procs", "w") as procs:
                procs.write("0")
            os.setgroups([])
            os.setresgid(owner, owner, owner)
            os.setresuid(owner, owner, owner)
        return subprocess.Popen(["/usr/bin/python3", "-S", "-c", *code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=become)
    fork = "import os, sys, time\nchild = os.fork()\nif child > 0: print(child, flush=True)\nos.read(0, 1)"
    ask(op="watch", id=2, uid=other, program="/usr/bin/none")  # so OTHER's processes are looked at, too
    until("ended", id=2)
    ask(op="watch", id=1, uid=uid, cgroup="/" + os.path.basename(directory))
    show(hear())
    show(hear())
    stranger = enter(other, fork)
    stranger.stdout.readline()
    print("of another user:", hear(0.3))
    child = enter(uid, fork)
    grandchild = int(child.stdout.readline())
    show(until("process"))
    told = [until("thread", comm="python3") for _ in range(2)]
    print(sorted(int(said["tid"]) for said in told) == sorted([child.pid, grandchild]), [said.get("first") for said in told])
    child.kill()
    show(until("gone", tid=child.pid))
    os.kill(grandchild, signal.SIGKILL)
    show(until("ended"))
    stranger.kill()


def cpu_time():
    with open(f"/proc/{helper.pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def storm():
    child = process(uid, OBEDIENT)
    ask(op="watch", id=1, uid=uid, process=child.pid)
    noise = process(other, STORM)
    ask(op="watch", id=2, uid=other, process=noise.pid)
    until("listed", id=2)
    late, before, began = [], cpu_time(), time.monotonic()
    for i in range(50):
        at = time.monotonic()
        tell(child, f"+t{i}")
        while (said := hear()) is not None and (said["id"], said.get("comm")) != ("1", f"t{i}"):
            pass
        late.append(time.monotonic() - at)
        time.sleep(0.01)
    share = (cpu_time() - before) / (time.monotonic() - began)
    late.sort()
    print(f"median {late[25] * 1e3:.1f} ms, most {late[-1] * 1e3:.1f} ms, share {share:.2f}", file=sys.stderr)
    print("all told", said is not None, "share below 0.4:", share < 0.4)
    noise.kill()
    child.kill()


def ran():
    """ns of the helper's CPU time. A rest follows that is four times as long."""
    with open(f"/proc/{helper.pid}/schedstat") as stat:
        return int(stat.read().split()[0])


def search_once():
    """The helper answers when it has looked at all processes."""
    ask(op="watch", id=201, uid=uid, program="/usr/bin/none")
    until("ended", id=201)
    ask(op="end", id=201)


def execve_cost():
    """ns of the helper's CPU time for 100 processes of OTHER's. They run until the helper has found a later process of UID's."""
    search_once()
    before = ran()
    crowd_of_processes = [subprocess.Popen(["/bin/sleep", "100"], user=other, group=other, extra_groups=[]) for _ in range(100)]
    last = process(uid, OBEDIENT)
    until("process", id=200)
    took = ran() - before
    for each in (*crowd_of_processes, last):
        each.kill()
        each.wait()
    until("ended", id=200)
    return took


def crowd():
    costs = []
    ask(op="watch", id=200, uid=uid, program=os.path.realpath("/usr/bin/python3"))
    until("ended", id=200)
    for first, last in ((0, 1), (1, 64)):
        for i in range(first, last):
            ask(op="watch", id=i, uid=other, program=f"/usr/bin/none-{i}")
            until("ended", id=i)
        costs.append(min(execve_cost() for _ in range(5)))
    print(f"1 program: {costs[0] / 1e5:.0f} us, 64: {costs[1] / 1e5:.0f} us for an execve", file=sys.stderr)
    print("64 cost less than twice as much as 1:", costs[1] < 2 * costs[0])


MANY = """
import os, sys, threading, time
for _ in range(int(sys.argv[1])):
    if sys.argv[2] == 'processes':
        if os.fork() == 0: time.sleep(100); os._exit(0)
    else:
        threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
print('ready', flush=True)
sys.stdin.read()
if sys.argv[2] == 'processes':
    import signal
    signal.signal(15, signal.SIG_IGN)
    os.kill(0, 15)
"""


def cost_of_an_answer():
    """The helper's CPU time, in us, until a watch of UID's is answered, which is asked for last."""
    child = process(uid, OBEDIENT)
    before = ran()
    ask(op="watch", id=100, uid=other, program="/usr/bin/none")
    ask(op="watch", id=101, uid=uid, process=child.pid)
    until("listed", id=101)
    took = (ran() - before) // 1000
    ask(op="end", id=100)
    ask(op="end", id=101)
    child.kill()
    return took


def search():
    quiet = min(cost_of_an_answer() for _ in range(3))
    crowd_of_processes = process(other, MANY, "1000", "processes")
    attacked = min(cost_of_an_answer() for _ in range(3))
    crowd_of_processes.stdin.close()
    print(f"{quiet} us of CPU time without the processes, {attacked} us beside them", file=sys.stderr)
    print("answered before the search has ended:", attacked < quiet + 3000)


def lists():
    wide = process(other, MANY, "3000", "threads")
    for i in range(200, 264):
        ask(op="watch", id=i, uid=other, process=wide.pid)
    until("listed", id=263)
    child = process(uid, OBEDIENT)
    ask(op="watch", id=1, uid=uid, process=child.pid)
    until("listed", id=1)
    noise = program_of(other, sys.argv[5], "2")
    costs = []
    for i in range(20):
        # The ring is full when the helper reads it.
        os.kill(helper.pid, signal.SIGSTOP)
        time.sleep(0.05)
        tell(child, f"+t{i}")
        time.sleep(0.05)
        os.kill(helper.pid, signal.SIGCONT)
        before = ran()
        while (said := hear()) is not None and (said["id"], said.get("comm")) != ("1", f"t{i}"):
            pass
        costs.append((ran() - before) // 1000)
    for each in (noise, wide, child):
        each.kill()
    costs.sort()
    print(f"us of CPU time until a new thread is told: median {costs[10]}, most {costs[-1]}", file=sys.stderr)
    print("told within 3 ms of CPU time:", said is not None and costs[10] < 3000)


def full():
    wide = process(other, MANY, "1100", "threads")
    ask(op="watch", id=1, uid=other, process=wide.pid)
    until("listed", id=1)
    ask(op="watch", id=2, uid=other, program=os.readlink(f"/proc/{wide.pid}/exe"))
    until("listed", id=2)
    for _ in range(5):
        ask(op="watch", id=3, uid=other, process=wide.pid)
        until("listed", id=3)
        subprocess.run(["/bin/true"], user=other, group=other, extra_groups=[], check=True)
    print("told to end:", len([1 for said in iter(lambda: hear(0.3), None) if said["event"] == "ended"]))
    wide.kill()
    print("ended:", until("ended", id=2) is not None)


def many():
    child = process(other, "import threading, time\nfor _ in range(600): threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\n"
                    "print('ready', flush=True)\ntime.sleep(100)")
    told = 0
    for i in (1, 2):
        ask(op="watch", id=i, uid=other, process=child.pid)
        while (said := hear()) is not None and said["event"] != "listed":
            told += said["event"] == "thread"
    print("threads:", told)
    child.kill()


def wakeups():
    with open(f"/proc/{helper.pid}/status") as status:
        return sum(int(line.split()[1]) for line in status if "ctxt_switches" in line)


def idle():
    ask(op="end", id=1)
    time.sleep(0.2)
    before = wakeups()
    subprocess.run(["/bin/true"])
    time.sleep(0.5)
    print("no watch:", wakeups() - before)


{"threads": threads, "others": others, "program": programs, "storm": storm, "crowd": crowd, "search": search, "lists": lists, "full": full, "many": many, "group": group, "idle": idle}[what]()
broker.close()
print("status", helper.wait())
