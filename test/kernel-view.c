/* Prints the kernel's view of a thread, from sched_getattr(2) and sched_getaffinity(2), on one
 * line.
 *
 * kernel-view TID -> "deadline 0 nice=0 2000/10000/10000 cpus=0-1 reset=1" (times in us).
 *
 * This program shares no code with rtf. It is in C, because tests call it thousands of times. */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <unistd.h>

struct view {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static void print_cpus(const cpu_set_t *cpus)
{
    const char *before = "";
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int last = cpu;
        if (!CPU_ISSET(cpu, cpus))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus))
            last++;
        printf(last > cpu ? "%s%d-%d" : "%s%d", before, cpu, last);
        before = ",";
        cpu = last;
    }
}

int main(int argc, char **argv)
{
    static const char *const policies[] = {"other", "fifo", "rr", "batch", "?", "idle", "deadline"};
    struct view view = {.size = sizeof view};
    cpu_set_t cpus;
    const pid_t tid = argc == 2 ? atoi(argv[1]) : 0;
    if (tid <= 0)
        return EX_USAGE;
    if (syscall(SYS_sched_getattr, tid, &view, sizeof view, 0) != 0 ||
        sched_getaffinity(tid, sizeof cpus, &cpus) != 0) {
        fprintf(stderr, "kernel-view: %d: %s\n", (int)tid, strerror(errno));
        return EX_NOINPUT;
    }
    if (view.policy != 6)
        view.runtime = view.deadline = view.period = 0;
    printf("%s %u nice=%d %llu/%llu/%llu cpus=", view.policy < 7 ? policies[view.policy] : "?",
           view.priority, view.nice, (unsigned long long)view.runtime / 1000,
           (unsigned long long)view.deadline / 1000, (unsigned long long)view.period / 1000);
    print_cpus(&cpus);
    printf(" reset=%d\n", (int)(view.flags & 1));
    return EX_OK;
}
