"""The experiments share this: a machine with a broker on a private spool and one unprivileged user, and a report.

Report: prints what counts as "holds" before any measurement; tables, plots and the judgement come after.
Machine: a broker, the specs of a user, and processes. At the end of its `with` block all of them are gone; this is checked.

From the environment: QUICK=1 for a short run, RTF_STAGE=DIR for an installed tree (else one is installed into a
scratch directory), LOCK=FILE to lock the file in turns with other programs that measure on this machine."""
import contextlib
import fcntl
import json
import os
import platform
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BED = f"{TOP}/contrib/bed"
OUT = f"{TOP}/build/experiments"
JOBS = f"{OUT}/jobs"
CPU = 1          # all measured programs run on this CPU
OTHER_CPU = 0    # the measuring programs run on this CPU
QUICK = bool(os.environ.get("QUICK"))
PATIENCE = 30    # s: how long to wait for the broker, and for processes to come and go
NICE = -20       # the nice value of the measuring programs
FOREVER = 10**9  # us of work; no test waits for its end


def now():
    """Returns us on CLOCK_MONOTONIC, as jobs and rt-app count."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def sleep_until(when):
    time.sleep(max(0, when - now()) / 1e6)


def wait_until(what, happened):
    deadline = time.monotonic() + PATIENCE
    while not (result := happened()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {PATIENCE} s in vain: {what}")
        time.sleep(0.005)
    return result


def read(path):
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()


def cpu_time(tid):
    """Returns the CPU time of a thread so far, in us."""
    return int(read(f"/proc/{tid}/schedstat").split()[0]) // 1000


def shares(pids, seconds):
    """Returns the share of a CPU that each process gets from now on."""
    begin, before = now(), [cpu_time(pid) for pid in pids]
    time.sleep(seconds)
    after, end = [cpu_time(pid) for pid in pids], now()
    return [(late - early) / (end - begin) for early, late in zip(before, after)]


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def mean(values):
    return sum(values) / len(values)


class Report:
    """Writes all output to stdout and to build/experiments/NAME.txt."""

    def __init__(self, name, title, criteria):
        self.name, self.criteria, self.lines, self.failed = name, criteria, [], False
        os.makedirs(OUT, exist_ok=True)
        self.say(title, "=" * len(title), f"{time.strftime('%Y-%m-%d')}, Linux {platform.release()}, "
                 f"{os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.2f}{', QUICK' if QUICK else ''}",
                 "", "Said before the run; these count as holding:")
        self.say(*(f"  {key}: {criterion}" for key, criterion in criteria.items()), "")

    def say(self, *lines):
        for line in lines:
            print(line, flush=True)
            self.lines.append(line)

    def table(self, head, rows):
        rows = [head] + [[cell if isinstance(cell, str) else f"{cell:.3f}" if isinstance(cell, float) else str(cell)
                          for cell in row] for row in rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        self.say(*("  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])])
                   for row in rows), "")

    def judge(self, key, holds, figures):
        self.failed |= not holds
        self.say(f"{'holds' if holds else 'does not hold'}: {key}: {figures}")

    def data(self, suffix, rows):
        """Writes rows for gnuplot; returns the path of the file."""
        path = f"{OUT}/{self.name}{suffix}.dat"
        with open(path, "w", encoding="ascii") as file:
            file.writelines(" ".join(map(str, row)) + "\n" for row in rows)
        return path

    def plot(self, suffix, width, height, commands):
        for kind, terminal in (("svg", "svg noenhanced font 'sans,12' background 'white'"),
                               ("png", "pngcairo noenhanced font 'sans,10'")):
            script = f"set terminal {terminal} size {width},{height}\nset output '{OUT}/{self.name}{suffix}.{kind}'\n{commands}"
            subprocess.run(["gnuplot"], input=script, text=True, check=True)

    def end(self):
        self.say(f"load average at the end {os.getloadavg()[0]:.2f}")
        with open(f"{OUT}/{self.name}.txt", "w", encoding="ascii") as file:
            file.writelines(line + "\n" for line in self.lines)
        sys.exit(self.failed)


def unused_uid():
    uid = 30000 + os.getpid() % 20000
    while uid_is_used(uid):
        uid += 1
    return uid


def uid_is_used(uid):
    with contextlib.suppress(KeyError):
        return bool(pwd.getpwuid(uid))
    return bool(processes_of(uid))


def processes_of(uid):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if os.stat(f"/proc/{pid}").st_uid == uid:
                found.append(int(pid))
    return found


def settings():
    """The kernel's settings that concern scheduling."""
    names = sorted(name for name in os.listdir("/proc/sys/kernel") if name.startswith("sched_"))
    return {name: read(f"/proc/sys/kernel/{name}").strip() for name in names}


def nice_value(nice):
    """Returns the last prefix of a measured program. The measuring program, and those that start programs, do not wait behind other load."""
    return ["nice", "-n", nice - NICE]


def end_on_signal(number, _):
    sys.exit(128 + number)


class Machine:
    """A broker with these plugins, and a user; as a context manager."""

    def __init__(self, *plugins, rules=(), options=(), opens=True):
        self.rules = rules    # "PLUGIN PROPERTY VALUE", beside those that open the CPUs
        self.opens = opens    # False: the rules are all there are
        self.options = options    # the options of the broker
        self.plugins, self.processes, self.starting, self.broker = plugins, [], [], None

    def __enter__(self):
        for number in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, end_on_signal)
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
        with contextlib.ExitStack() as stack:
            if "LOCK" in os.environ:
                stack.callback(time.sleep, 1)    # another measurement that waits for the lock comes first
                lock = stack.enter_context(open(os.environ["LOCK"], "w", encoding="ascii"))
                fcntl.flock(lock, fcntl.LOCK_EX)
            self.settings, self.user = settings(), unused_uid()
            self.scratch = tempfile.mkdtemp(prefix="rtf-experiment.")
            stack.callback(self.check)
            stack.callback(shutil.rmtree, self.scratch)
            os.chmod(self.scratch, 0o755)
            stack.callback(self.stop)
            self.start()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    # --- the broker ---

    def start(self):
        stage = os.environ.get("RTF_STAGE") or self.install()
        self.bin = f"{stage}/usr/bin"
        self.spool, self.work = f"{self.scratch}/spool", f"{self.scratch}/work"
        self.specs = f"{self.spool}/specs/{self.user}"
        self.program = f"{self.scratch}/jobs"    # the user may not be able to enter the tree
        if os.path.exists(JOBS):
            shutil.copy(JOBS, self.program)
        for directory in (self.work, self.spool, f"{self.scratch}/etc"):
            os.mkdir(directory)
        os.chown(self.work, self.user, self.user)
        for file, lines in (("plugins", self.plugins),
                            ("acl", [f"{self.user} {rule}" for rule in
                                     [*(("- max_utilization 4", "- ignore_adm_test true") if self.opens else ()), *self.rules]])):
            with open(f"{self.scratch}/etc/{file}.conf", "w", encoding="ascii") as conf:
                conf.writelines(line + "\n" for line in lines)
        with open(f"{self.scratch}/broker.log", "wb") as log:
            self.broker = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", f"{stage}/usr/libexec/rtf/rtf-brokerd", "--foreground", "--spool", self.spool,
                 "--config", f"{self.scratch}/etc", "--group", str(self.user), *map(str, self.options)], stderr=log)
        wait_until("the broker opens its spool", self.broker_serves)
        self.as_user("mkdir", self.specs)

    def install(self):
        stage = f"{self.scratch}/root"
        subprocess.run(["make", "-s", "-C", TOP, "install", f"DESTDIR={stage}", "PREFIX=/usr"], check=True)
        return stage

    def broker_serves(self):
        if self.broker.poll() is not None:
            raise RuntimeError(f"the broker ended: {read(f'{self.scratch}/broker.log')}")
        with contextlib.suppress(OSError):
            os.close(os.open(f"{self.spool}/alive", os.O_WRONLY | os.O_NONBLOCK))
            return True
        return False

    def stop(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        if self.broker and self.broker.poll() is None:
            self.broker.send_signal(signal.SIGTERM)
            self.broker.wait(PATIENCE)

    def check(self):
        left = [f"process {pid}" for pid in processes_of(self.user)]
        left += [f"{name}: {self.settings[name]} before, {value} now" for name, value in settings().items()
                 if value != self.settings[name]]
        left += [self.scratch] if os.path.exists(self.scratch) else []
        if left:
            raise RuntimeError(f"left behind: {', '.join(left)}")

    # --- the user ---

    def become(self, *command):
        return ["setpriv", "--reuid", str(self.user), "--regid", str(self.user), "--clear-groups", "--pdeathsig", "KILL",
                *map(str, command)]

    def as_user(self, *command, text=None, check=True):
        return subprocess.run(self.become(*command), input=text, text=True, check=check, stdout=subprocess.PIPE).stdout

    def spawn(self, *command, out=subprocess.DEVNULL):
        with open(f"{self.scratch}/errors.log", "ab") as log:
            process = subprocess.Popen(self.become(*command), stdout=out, stderr=log, cwd=self.work)
        self.processes.append(process)
        return process

    def jobs(self, *arguments, prefix=(), out=subprocess.DEVNULL, nice=0):
        """Starts the program jobs on the measured CPU. The prefix may be rtf-run; then the grant chooses the CPU."""
        on_cpu = prefix or ("taskset", "-c", CPU)
        process = self.spawn(*on_cpu, *nice_value(nice), self.program, *arguments, out=out)
        self.starting.append(process)
        return process

    def started(self):
        """Waits until each process belongs to the user and executes jobs."""
        wait_until("the jobs start", lambda: all(process.poll() is not None or read(f"/proc/{process.pid}/comm") == "jobs\n"
                                                 for process in self.starting))
        self.starting.clear()

    def reserved(self, runtime, period):
        """Returns the prefix that runs a command under a reservation."""
        return [f"{self.bin}/rtf-run", "--spool", self.spool, "-T", runtime, "-P", period, "--"]

    def hogs(self, number):
        for _ in range(number):
            self.jobs(0, 1, 1, f"0:{FOREVER}")

    def keep_awake(self):
        """Starts a SCHED_IDLE loop on each CPU, because a CPU that is never idle does not change its speed in the middle of a job."""
        for cpu in range(os.cpu_count()):
            self.spawn("taskset", "-c", cpu, "chrt", "--idle", 0, *nice_value(0), self.program, 0, 1, 1, f"0:{FOREVER}")

    def end(self, processes, how=signal.SIGKILL):
        for process in processes:
            process.send_signal(how)
        for process in processes:
            process.wait(PATIENCE)
            self.processes.remove(process)

    # --- the spool ---

    def spec(self, specs):
        """Writes the specs in {name: spec} and waits for the verdicts. All must be granted, and all threads attached."""
        self.started()
        text = "".join(f"{name} {json.dumps(spec)}\n" for name, spec in specs.items())
        self.as_user("sh", "-c", f"cd '{self.specs}' && while read -r name spec; do"
                     " printf '%s\\n' \"$spec\" >\".$name\" && mv \".$name\" \"$name.json\"; done", text=text)
        for name, spec in specs.items():
            verdict = json.loads(self.as_user(f"{self.bin}/rtf-wait", "--spool", self.spool, "--timeout", f"{PATIENCE}s", name,
                                              check=False))
            if not verdict["grant"] or ("attach" in spec and (verdict["thread"] or {}).get("state") != "attached"):
                raise RuntimeError(f"{name}: {verdict['reason']}")

    def release(self):
        """Ends all specs; their threads are ordinary again when this function returns."""
        self.as_user("sh", "-c", f"rm -f '{self.specs}'/*.json")
        wait_until("all specs have ended", lambda: not os.listdir(self.specs))
