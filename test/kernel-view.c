/* Prints the kernel's view of a thread, from sched_getattr(2) and sched_getaffinity(2), on one
 * line.
 *
 * kernel-view TID -> "deadline 0 nice=0 2000/10000/10000 cpus=0-1 reset=1" (times in us), with " reclaim"
 *     and " overrun" at the end if the thread has these flags of SCHED_DEADLINE.
 * kernel-view TID PATTERN: looks every 3 ms until the line matches the pattern of fnmatch(3). A
 *     thread may be real-time for a part of each period only. A shell that looks needs CPU time that
 *     it may get only when the thread is ordinary again.
 *
 * This program shares no code with rtf. It is in C, because tests call it thousands of times. */
#include <errno.h>
#include <fnmatch.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

struct view {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static void print_cpus(FILE *out, const cpu_set_t *cpus)
{
    const char *before = "";
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int last = cpu;
        if (!CPU_ISSET(cpu, cpus))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus))
            last++;
        fprintf(out, last > cpu ? "%s%d-%d" : "%s%d", before, cpu, last);
        before = ",";
        cpu = last;
    }
}

static bool write_view(pid_t tid, char *line, size_t size)
{
    static const char *const policies[] = {"other", "fifo", "rr", "batch", "?", "idle", "deadline"};
    struct view view = {.size = sizeof view};
    cpu_set_t cpus;
    if (syscall(SYS_sched_getattr, tid, &view, sizeof view, 0) != 0 ||
        sched_getaffinity(tid, sizeof cpus, &cpus) != 0) {
        fprintf(stderr, "kernel-view: %d: %s\n", (int)tid, strerror(errno));
        return false;
    }
    FILE *out = fmemopen(line, size, "w");
    if (out == NULL)
        return false;
    if (view.policy != 6)
        view.runtime = view.deadline = view.period = 0;
    fprintf(out,
            "%s %u nice=%d %llu/%llu/%llu cpus=", view.policy < 7 ? policies[view.policy] : "?",
            view.priority, view.nice, (unsigned long long)view.runtime / 1000,
            (unsigned long long)view.deadline / 1000, (unsigned long long)view.period / 1000);
    print_cpus(out, &cpus);
    fprintf(out, " reset=%d%s%s", (int)(view.flags & 1), (view.flags & 2) != 0 ? " reclaim" : "",
            (view.flags & 4) != 0 ? " overrun" : "");
    return fclose(out) == 0;
}

int main(int argc, char **argv)
{
    static const struct timespec interval = {.tv_nsec = 3000000};
    static char line[16384];
    const pid_t tid = argc == 2 || argc == 3 ? atoi(argv[1]) : 0;
    if (tid <= 0)
        return EX_USAGE;
    for (;;) {
        if (!write_view(tid, line, sizeof line))
            return EX_NOINPUT;
        if (argc == 2 || fnmatch(argv[2], line, 0) == 0)
            break;
        (void)nanosleep(&interval, NULL);
    }
    puts(line);
    return EX_OK;
}
