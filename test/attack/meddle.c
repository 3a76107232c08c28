/* meddle - a process that meddles with the threads of another process of its user
 *
 * usage: meddle stop|trace|schedule PROCESS
 *
 * Does this to all threads of PROCESS, again and again:
 *
 *     stop      SIGSTOP, and SIGCONT a millisecond later
 *     trace     ptrace(2): stops each thread, and lets it go on
 *     schedule  all calls that could make a thread real-time, keep it real-time, or move it: with the
 *               policies FIFO and RR, with and without reset-on-fork, and to all CPUs
 *
 * Ends when PROCESS has ended. */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HIGH = 15, THREADS_MAX = 256 };
static pid_t traced[THREADS_MAX];

static void stop(pid_t process)
{
    (void)kill(process, SIGSTOP);
    (void)usleep(1000);
    (void)kill(process, SIGCONT);
    (void)usleep(1000);
}

static void trace(pid_t tid, int place)
{
    if (traced[place] != tid && ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0)
        traced[place] = tid;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
        return;
    (void)waitpid(tid, NULL, __WALL);
    (void)ptrace(PTRACE_CONT, tid, NULL, NULL);
}

/* As in sched_setattr(2); the C library of Debian 12 lacks it. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
    uint32_t clamp_min, clamp_max;
};

static void schedule(pid_t tid)
{
    const struct sched_param high = {.sched_priority = HIGH}, low = {.sched_priority = 1};
    static const int policies[] = {SCHED_FIFO, SCHED_RR, SCHED_FIFO | SCHED_RESET_ON_FORK,
                                   SCHED_RR | SCHED_RESET_ON_FORK};
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        (void)sched_setscheduler(tid, policies[i], &high);
        (void)sched_setscheduler(tid, policies[i], &low);
    }
    (void)sched_setparam(tid, &high);
    for (uint64_t flags = 0; flags < 128; flags++) {
        const struct attributes attributes = {.size = sizeof attributes,
                                              .policy = SCHED_FIFO,
                                              .priority = HIGH,
                                              .flags = flags,
                                              .clamp_max = 1024};
        (void)syscall(SYS_sched_setattr, tid, &attributes, 0);
    }
    (void)sched_setaffinity(tid, sizeof all, &all);
}

static void meddle(const char *way, pid_t process)
{
    char path[48];
    int place = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    for (const struct dirent *one; threads != NULL && (one = readdir(threads)) != NULL;) {
        const pid_t tid = atoi(one->d_name);
        if (tid <= 0)
            continue;
        if (strcmp(way, "trace") == 0 && place < THREADS_MAX)
            trace(tid, place++);
        else if (strcmp(way, "schedule") == 0)
            schedule(tid);
    }
    if (threads != NULL)
        closedir(threads);
    if (strcmp(way, "stop") == 0)
        stop(process);
    (void)usleep(200);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 64;
    for (const pid_t process = atoi(argv[2]); kill(process, 0) == 0;)
        meddle(argv[1], process);
    return 0;
}
