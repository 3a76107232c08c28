/* rtf-tasks: tells the broker of the threads of users' processes: of all threads when a watch
 * begins, and then of each thread that appears, gets another name or ends. The broker starts
 * rtf-tasks with a SOCK_SEQPACKET socket as standard input. A datagram of the broker has one
 * paragraph (lib/paragraph.h). A datagram of rtf-tasks has one or several.
 *
 *     op=watch id uid process | program | cgroup   watch this process of the user, or the processes
 *                                           of the user that run this program, one at a time, or
 *                                           that are in this cgroup
 *     op=end   id                           end the watch
 *
 *     event=process id process started      a process is watched; its threads follow. started: ns of
 *                                           CLOCK_REALTIME. Both are 0 for a cgroup
 *     event=thread  id tid comm [first]     a thread has appeared, or has another name. first=1: the
 *                                           first thread of its process
 *     event=gone    id tid                  a thread has ended
 *     event=listed  id                      all threads that the process had have been told
 *     event=ended   id                      the process has ended, or is not the user's any more; or the
 *                                           program does not run when its watch begins; or the cgroup
 *                                           has no process of the user
 *     event=refused id reason               the process cannot be watched
 *
 * Attack surface: processes and names of all users. A user learns only of processes whose uids are
 * all the user's: rtf-tasks checks the uids itself. Users can make the kernel write many records.
 * So rtf-tasks rests four times as long as it has worked, and at least 1 ms after records, or 4 ms
 * if no record was about a watched process. rtf-tasks does the work for each user in parts: a user
 * with many threads or processes waits for the next part. A storm of one user costs at most a fifth
 * of a CPU, and delays other users by some ms. While nothing is watched, the kernel writes no
 * records. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "capabilities.h"
#include "clock.h"
#include "confine.h"
#include "links.h"
#include "lock-memory.h"
#include "paragraph.h"
#include "send-fds.h"
#include "transient.h"
#include "units.h"
#include "watched-processes.h"

/* FLUSHED_AT: bytes. Collected paragraphs of at most this length leave room in the datagram for the
 * longest paragraph. */
enum { POLLED = 1 + 1024, REST_FACTOR = 4, FLUSHED_AT = PARAGRAPH_BYTES - 1024 };
/* ns. The rest after records of watched processes, and after records of other processes only. */
static const int64_t rest_between = 1000000, rest_among_others = 4000000;

/* ---- to the broker ---- */

static struct paragraph_output said;

static void begin(const char *event, uint64_t id)
{
    paragraph_add(&said, "event", event);
    paragraph_add_number(&said, "id", id);
}

/* Sends all collected paragraphs. Waiting for room in the socket is short, because the broker
 * always reads. */
static void flush(void)
{
    while (said.length > 0 && !send_with_fd(STDIN_FILENO, said.data, said.length, -1, MSG_NOSIGNAL))
        if (!is_transient(errno))
            exit(EX_OK); /* the broker is gone */
    paragraph_drop(&said, said.length);
}

/* Ends a paragraph. Short paragraphs are collected, so that a datagram has many. */
static void finish(void)
{
    paragraph_close(&said);
    if (said.length > FLUSHED_AT)
        flush();
}

static void tell_process(uint64_t id, pid_t process, int64_t started)
{
    begin("process", id);
    paragraph_add_number(&said, "process", (uint64_t)process);
    paragraph_add_number(&said, "started", started < 0 ? 0 : (uint64_t)started);
    finish();
}

static void tell_thread(uint64_t id, pid_t tid, const char *name, bool first)
{
    begin("thread", id);
    paragraph_add_number(&said, "tid", (uint64_t)tid);
    paragraph_add(&said, "comm", name);
    paragraph_add_stated(&said, "first", first);
    finish();
}

static void tell_gone(uint64_t id, pid_t tid)
{
    begin("gone", id);
    paragraph_add_number(&said, "tid", (uint64_t)tid);
    finish();
}

static void tell_listed(uint64_t id)
{
    begin("listed", id);
    finish();
}

static void tell_ended(uint64_t id)
{
    begin("ended", id);
    finish();
}

static void tell_refused(uint64_t id, const char *reason)
{
    begin("refused", id);
    paragraph_add(&said, "reason", reason);
    finish();
}

/* ---- from the broker ---- */

/* Begins a watch. The records begin before the first look, so that no thread is missed in
 * between. */
static const char *watch(uint64_t id, uid_t uid, pid_t process, const char *program,
                         const char *group)
{
    if (!task_records_open())
        return "the kernel does not report the threads of processes: perf_event_open(2) failed";
    return program != NULL ? watch_program(id, uid, program)
           : group != NULL ? watch_group(id, uid, group)
                           : watch_process(id, uid, process);
}

static bool obey(const struct paragraph *request)
{
    const char *op = paragraph_get(request, "op"), *program = paragraph_get(request, "program"),
               *group = paragraph_get(request, "cgroup");
    uint64_t id, uid, process = 0;
    if (op == NULL || paragraph_get_number(request, "id", UINT64_MAX, &id) != 1)
        return false;
    if (strcmp(op, "end") == 0)
        watch_end(id);
    else if (strcmp(op, "watch") != 0 ||
             paragraph_get_number(request, "uid", UINT32_MAX - 1, &uid) != 1 ||
             paragraph_get_number(request, "process", INT32_MAX, &process) < 0 ||
             (process != 0) + (program != NULL) + (group != NULL) != 1)
        return false;
    else {
        const char *why = watch(id, (uid_t)uid, (pid_t)process, program, group);
        if (why != NULL)
            tell_refused(id, why);
        watched_look(false);
    }
    if (!watched_any())
        task_records_close();
    return true;
}

/* Takes a request of the broker. False: the broker has ended, or has sent nonsense. */
static bool take_request(void)
{
    static struct paragraph_input input;
    char bytes[PARAGRAPH_BYTES];
    struct paragraph request;
    const char *why;
    int fd;
    const ssize_t got = receive_with_fd(STDIN_FILENO, bytes, sizeof bytes, &fd);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return got < 0 && is_transient(errno);
    return paragraph_feed(&input, bytes, (size_t)got) &&
           paragraph_take(&input, &request, &why) == 1 && obey(&request);
}

/* ---- the loop ---- */

/* Returns how long the helper has waited, ns. */
static int64_t wait_until(int64_t time)
{
    const int64_t left = time - monotonic_now();
    const struct timespec pause = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    if (left <= 0)
        return 0;
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    return left;
}

/* The broker hears of a thread only when the thread is 2 ms old. pthread_create(3) with
 * PTHREAD_EXPLICIT_SCHED sets the policy of a thread after the kernel has made the thread. If rtf
 * attached the thread between these two steps, pthread_create would fail, because a user cannot
 * clear reset-on-fork. Records are taken in the order of their times, so many new threads wait no
 * longer than one. */
static const int64_t least_age = 2000000; /* ns */
/* ns that the helper has waited in this turn: waiting is no work, and needs no rest */
static int64_t waited;

static void take_record(const struct task_record *record)
{
    if (record->what == TASK_FORKED)
        waited += wait_until((int64_t)record->time + least_age);
    watched_take(record);
}

static bool turn(void)
{
    static struct pollfd wanted[POLLED];
    wanted[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    const int count = 1 + task_records_poll(wanted + 1, POLLED - 1);
    if (poll(wanted, (nfds_t)count, watched_has_more() ? 0 : -1) < 0)
        return errno == EINTR;
    const int64_t began = monotonic_now();
    bool good = true, records = false;
    int taken = 0;
    waited = 0;
    for (int i = 1; i < count; i++)
        records |= wanted[i].revents != 0;
    if (records || watched_has_more())
        watched_look(!task_records_take(&taken, watched_wants, take_record));
    if (wanted[0].revents != 0)
        good = take_request();
    flush();
    const int64_t now = monotonic_now(), rest = (now - began - waited) * REST_FACTOR,
                  least = !records    ? 0
                          : taken > 0 ? rest_between
                                      : rest_among_others;
    (void)wait_until(now + (rest < least ? least : rest));
    return good;
}

/* Takes from rtf-tasks all rights that it does not need. rtf-tasks reads processes and threads in
 * /proc, and the CPUs in /sys (sysconf(3)). On a kernel without Landlock, rtf-tasks at least runs
 * as a user who owns no files. */
static bool confine(uid_t uid, gid_t gid)
{
    enum { END_OF_LIST = -1 };
    const bool is_hidden = confine_proc_is_hidden();
    const int powers[] = {capability_for_perf(), CAP_IPC_LOCK,
                          is_hidden ? CAP_SYS_PTRACE : END_OF_LIST, END_OF_LIST};
    static const struct confine_path files[] = {{"/proc", MAY_READ},
                                                {"/sys/devices/system/cpu", MAY_READ},
                                                {NULL, MAY_READ}};
    static const char *const calls[] = {"perf_event_open",
                                        "recvmsg",
                                        "sendmsg",
                                        "read",
                                        "getdents64",
                                        "stat",
                                        "statx",
                                        "close",
                                        "fstat",
                                        "newfstatat",
                                        "lseek",
                                        "poll",
                                        "ppoll",
                                        "clock_gettime",
                                        "clock_nanosleep",
                                        "restart_syscall",
                                        "rt_sigreturn",
                                        "rt_sigprocmask",
                                        "brk",
                                        "mmap",
                                        "munmap",
                                        "mremap",
                                        "madvise",
                                        "futex",
                                        "getpid",
                                        "gettid",
                                        "sched_getaffinity",
                                        "sysinfo",
                                        "exit",
                                        "exit_group",
                                        NULL};
    enum { FLAGS_ARGUMENT = 2 };
    static const struct confine_exact exact[] = {
        {"openat", 1, {{FLAGS_ARGUMENT, O_RDONLY | O_CLOEXEC}}},
        {"openat", 1, {{FLAGS_ARGUMENT, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NONBLOCK}}},
        {0}};
    if (!confine_for_good() || !capabilities_keep_as(uid, gid, powers))
        return false;
    if (!is_hidden)
        (void)confine_files(files); /* the broker reports a kernel without Landlock */
    return confine_calls_exactly(calls, exact);
}

int main(int argc, char **argv)
{
    static const struct watched_events events = {tell_process, tell_thread, tell_gone, tell_listed,
                                                 tell_ended};
    uint64_t uid, gid;
    if (argc != 3 || !parse_number(argv[1], UINT32_MAX - 1, &uid) ||
        !parse_number(argv[2], UINT32_MAX - 1, &gid)) {
        fprintf(stderr, "rtf-tasks: only the broker starts this program, as rtf-tasks UID GID\n");
        return EX_USAGE;
    }
    (void)memory_lock(0);
    if (!links_start((uid_t)uid, (gid_t)gid) || !confine((uid_t)uid, (gid_t)gid)) {
        fprintf(stderr, "rtf-tasks: cannot drop unneeded privileges: %s\n", strerror(errno));
        return EX_OSERR;
    }
    watched_begin(&events);
    while (turn())
        ;
    /* no atexit(3): sanitizers would look for leaks with calls that the filter refuses */
    _exit(EX_OK);
}
