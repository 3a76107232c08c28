/* A reader that its user has taken over. reader.bats links this file into the real reader, in place
 * of the first function that the reader calls after it has confined itself. The file .mode in the
 * user's directory names the attack and its arguments; without this file the reader is the real
 * one. The outcome of each attempt goes to standard error, as "taken NAME: OUTCOME". */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "send-fds.h"
#include "schedattr.h"

enum { SOCKET = 0, DIRECTORY = 3, CLAIMS = 400, TEXT = 4096 };

/* NOLINTBEGIN(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp): names that ld --wrap
 * wants */
void __real_files_begin(uid_t uid);
void __wrap_files_begin(uid_t uid);
/* NOLINTEND(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp) */

static void say(const char *what, long outcome)
{
    fprintf(stderr, "taken %s: %s\n", what, outcome < 0 ? strerrorname_np(errno) : "done");
}

static void send_text(int fd, const char *format, ...)
{
    static char text[TEXT];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)send_with_fd(SOCKET, text, (size_t)length, fd, MSG_NOSIGNAL);
}

static int open_own(const char *name)
{
    return openat(DIRECTORY, name, O_RDONLY | O_CLOEXEC);
}

/* Reads the broker's messages, and answers none. */
static void listen_only(void)
{
    static char bytes[65536];
    while (read(SOCKET, bytes, sizeof bytes) > 0)
        ;
    exit(0);
}

/* ---- messages to the broker ---- */

static const char files[] =
    "event=files\nname=%s\njson=read\njson_inode=%lu\njson_changed=1\npriority=%d\nplugin=RR\n\n";

/* Sends another message in each reader, because the broker ends a reader for each; `told` is the
 * number of earlier readers. */
static void talk_nonsense(int told)
{
    static char much[60000];
    int ends[2] = {-1, -1};
    memset(much, 'a', sizeof much);
    switch (told) {
    case 0: send_text(-1, "\1\2\3 = nonsense\n\n"); break;
    case 1: (void)send_with_fd(SOCKET, much, sizeof much, -1, MSG_NOSIGNAL); break;
    case 2: send_text(-1, files, "../20018/dog", 1UL, 5); break;
    case 3:
        (void)!pipe(ends);
        send_text(SOCKET, files, "passed", 2UL, 5); /* passes a socket instead of an open file */
        break;
    case 4:
        send_text(-1, files, "twice", 3UL, 5);
        send_text(-1, files, "twice", 3UL, 6);
        break;

    default:
        /* sends more after event=ended */
        send_text(
            -1,
            "event=scanned\n\nevent=ended\n\nevent=scanning\nsince=1\n\nevent=files\nname=ended\n\n");
    }
    listen_only();
}

/* Names no thread of a program file, in another way in each reader. */
static void misname(int told)
{
    switch (told) {
    case 0: send_text(-1, files, "cam+0", 3UL, 5); break;
    case 1: send_text(-1, files, "cam+7+8", 3UL, 5); break;
    case 2: send_text(-1, "event=watch\nname=cam+7\nprocess=7\n\n"); break;
    default: send_text(-1, "event=watch\nname=cam\nprocess=7\nprogram=/bin/sh\n\n");
    }
    listen_only();
}

/* Claims files that do not exist and exceed all that the user may have; another user's inode, token
 * and thread; and answers no question. */
static void claim(const char *told)
{
    unsigned long inode = 0;
    long thread = 0;
    (void)sscanf(told, "%*s %lu %ld", &inode, &thread);
    const int own = open_own("cam.json");
    send_text(
        -1,
        "event=seen\nname=dog\nverdict=1\n\nevent=news\nname=dog\n\nevent=unwritten\nname=dog\nrequest=create\nreason=taken\n\n");
    send_text(
        -1,
        "event=files\nname=dog\njson=read\njson_inode=%lu\njson_changed=1\npriority=5\nplugin=RR\ntoken=theirs\n\n",
        inode);
    send_text(-1, files, "high", 7UL, 99);
    send_text(
        -1,
        "event=files\nname=much\njson=read\njson_inode=8\njson_changed=1\nruntime=9000\nperiod=10000\nplugin=EDF\n\n");
    send_text(
        own,
        "event=files\nname=thread\njson=read\njson_inode=9\njson_changed=1\npriority=5\nplugin=RR\nattach=%ld\n\n",
        thread);
    send_text(
        -1,
        "event=files\nname=alone\njson=read\njson_inode=10\njson_changed=1\ntid=read\ntid_inode=11\ntid_changed=1\nthread=%ld\npriority=5\nplugin=RR\n\n",
        thread);
    for (int i = 0; i < CLAIMS; i++) {
        char name[32];
        snprintf(name, sizeof name, "ghost%d", i);
        send_text(-1, files, name, 100UL + (unsigned long)i, 5);
    }
    say("claims", 0);
    listen_only();
}

/* Claims threads of program files that do not exist: another user's thread, more than the user may
 * have, ids that no thread has, one id for two programs; and watches of all processes. */
static void claim_threads(const char *told)
{
    long thread = 0;
    (void)sscanf(told, "%*s %ld", &thread);
    const int own = open_own("cam.json");
    send_text(
        own,
        "event=files\nname=dog+%ld\njson=read\njson_inode=9\njson_changed=1\npriority=5\nplugin=RR\nattach=%ld\n\n",
        thread, thread);
    send_text(-1, files, "cam+9999999", 10UL, 5);
    for (int i = 1; i <= CLAIMS; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s+%d", i % 2 == 0 ? "ghost" : "spirit", i / 2 + 1);
        send_text(-1, files, name, 100UL + (unsigned long)i, 5);
        send_text(-1, "event=watch\nname=ghost%d\nprogram=/usr/bin/sleep\n\n", i);
    }
    send_text(-1, "event=watch\nname=theirs\nprocess=%ld\n\nevent=unwatch\nname=dog\n\n", thread);
    send_text(-1, "event=watch\nname=first\nprocess=1\n\nevent=seen\nname=dog+1\nverdict=1\n\n");
    say("threads", 0);
    listen_only();
}

static void flood(void)
{
    say("flood", 0);
    for (;;)
        send_text(
            -1,
            "event=odd\nname=flood\n\nevent=news\nname=cam\n\nevent=idle\n\nevent=overflow\n\nevent=scanning\nsince=5\n\nevent=seen\nname=cam\njson_inode=5\njson_changed=5\n\nevent=scanned\n\n");
}

/* ---- attempts ---- */

static void try_to_open(const char *what, const char *path, int flags)
{
    const int fd = open(path, flags | O_CLOEXEC, 0600);
    say(what, fd);
    if (fd >= 0)
        close(fd);
}

static void try_processes(const char *whose, pid_t pid)
{
    char what[64], path[64];
    snprintf(what, sizeof what, "kill %s", whose);
    say(what, kill(pid, SIGSTOP));
    snprintf(what, sizeof what, "tgkill %s", whose);
    say(what, syscall(SYS_tgkill, pid, pid, SIGSTOP));
    snprintf(what, sizeof what, "trace %s", whose);
    say(what, ptrace(PTRACE_SEIZE, pid, NULL, NULL));
    snprintf(what, sizeof what, "pidfd %s", whose);
    const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    say(what, pidfd);
    snprintf(what, sizeof what, "signal %s by pidfd", whose);
    say(what, syscall(SYS_pidfd_send_signal, pidfd, SIGSTOP, NULL, 0));
    snprintf(what, sizeof what, "descriptor of %s", whose);
    say(what, syscall(SYS_pidfd_getfd, pidfd, 0, 0));
    snprintf(what, sizeof what, "schedule %s", whose);
    say(what, sched_setscheduler(pid, SCHED_OTHER, &(struct sched_param){0}));
    snprintf(what, sizeof what, "read %s", whose);
    char byte;
    const struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
    say(what, process_vm_readv(pid, &here, 1, &there, 1, 0));
    snprintf(what, sizeof what, "memory of %s", whose);
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    try_to_open(what, path, O_RDWR);
}

static void try_all(const char *told)
{
    char theirs[TEXT], path[TEXT + 64];
    pid_t bob = 0, broker = 0, alice = 0;
    if (sscanf(told, "%*s %4000s %d %d %d", theirs, &bob, &broker, &alice) != 4)
        exit(1);
    say("own file", open_own("cam.json"));
    snprintf(path, sizeof path, "%s/dog.json", theirs);
    try_to_open("their file", path, O_RDONLY);
    snprintf(path, sizeof path, "../%s/dog.json", strrchr(theirs, '/') + 1);
    try_to_open("their file from here", path, O_RDONLY);
    snprintf(path, sizeof path, "%s/new.json", theirs);
    try_to_open("new file of theirs", path, O_WRONLY | O_CREAT);
    say("rename to them", renameat(DIRECTORY, "cam.json", AT_FDCWD, path));
    say("watch them", inotify_add_watch(4, theirs, IN_MODIFY));
    try_to_open("directory above", "..", O_RDONLY | O_DIRECTORY);
    try_to_open("passwords", "/etc/passwd", O_RDONLY);
    try_to_open("own memory", "/proc/self/mem", O_RDWR);
    try_to_open("device", "/dev/null", O_WRONLY);
    try_to_open("log", "/proc/self/fd/2", O_WRONLY);
    try_processes("Bob", bob);
    try_processes("broker", broker);
    try_processes("Alice", alice);
    say("kill all", kill(-1, SIGSTOP));
    say("be a network", socket(AF_INET, SOCK_STREAM, 0));
    say("be a socket", socket(AF_UNIX, SOCK_STREAM, 0));
    snprintf(path, sizeof path, "%s/socket", theirs);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
    say("connect", connect(SOCKET, (const struct sockaddr *)&address, sizeof address));
    say("run", execl("/bin/sh", "sh", "-c", "true", NULL));
    say("fork", fork());
    say("be fifo", sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 99}));
    const struct kernel_sched_attr deadline = {.size = sizeof deadline,
                                               .policy = 6,
                                               .runtime = 5000000,
                                               .deadline = 10000000,
                                               .period = 10000000};
    say("be deadline", sched_setattr_of(0, &deadline));
    say("be first", setpriority(PRIO_PROCESS, 0, -20));
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    say("be anywhere", sched_setaffinity(0, sizeof all, &all));
    say("be root", setresuid(0, 0, 0));
    say("be root for files", setfsuid(0) >= 0 && (uid_t)setfsuid((uid_t)-1) == 0 ? 0 : -1);
    say("mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL));
    say("new name space", unshare(CLONE_NEWUSER));
    say("give away", fchownat(DIRECTORY, "cam.json", 0, 0, 0));
    say("set-user-ID", fchmodat(DIRECTORY, "cam.json", 04777, 0));
    say("lift a limit", setrlimit(RLIMIT_NOFILE, &(struct rlimit){1000000, 1000000}));
    say("all", 0);
    listen_only();
}

void __wrap_files_begin(uid_t uid)
{
    static char told[TEXT];
    const int mode = open_own(".mode"),
              count = mode < 0 ? -1
                               : openat(DIRECTORY, ".count",
                                        O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct stat before;
    const ssize_t got = mode < 0 ? 0 : read(mode, told, sizeof told - 1);
    if (got <= 0 || count < 0 || fstat(count, &before) != 0 || write(count, "+", 1) != 1) {
        __real_files_begin(uid);
        return;
    }
    close(mode);
    close(count);
    if (strncmp(told, "nonsense", 8) == 0)
        talk_nonsense((int)before.st_size);
    if (strncmp(told, "misnames", 8) == 0)
        misname((int)before.st_size);
    if (strncmp(told, "claims", 6) == 0)
        claim(told);
    if (strncmp(told, "threads", 7) == 0)
        claim_threads(told);
    if (strncmp(told, "flood", 5) == 0)
        flood();
    if (strncmp(told, "tries", 5) == 0)
        try_all(told);
    if (strncmp(told, "silence", 7) == 0)
        for (;;)
            (void)poll(NULL, 0, -1);
    exit(1);
}
