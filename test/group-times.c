/* group-times - the CPU time of all real-time threads of a process in each period
 *
 * usage: group-times GROUP RUNTIME PERIOD COUNT      (times in us)
 *
 * GROUP is the name of a group (lib/process-budget.h). Prints `USED MOST` for each of
 * COUNT periods, in us: the time that all its members used on all CPUs, and the most that they may
 * use. MOST is RUNTIME, one tick, one slice (a tick) of members that are ordinary, and the time by
 * which this program looked too late.
 *
 * The kernel counts the time of the members whatever their policy is. So an ordinary thread of nice
 * -20 spins on each CPU meanwhile, and leaves members that are ordinary and have nice 19 one slice
 * in some periods. A FIFO thread must not spin beside: the kernel's fair server then gives ordinary
 * threads 50 ms once a second, and a trace of sched_switch showed that members got most of it. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "process-budget.h"
#include "tick.h"

enum { CPUS = 64, OWN_PRIORITY = 50 };
static const uint64_t never = UINT64_C(1000000000000000);
static const int64_t second = INT64_C(1000000000);
static int counters[CPUS];

static void real_time(int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    if (sched_setscheduler(0, SCHED_FIFO, &param) != 0)
        exit(EX_OSERR);
}

static void on_cpu(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        exit(EX_OSERR);
}

/* Each process of this program ends after this much CPU time, also if the program hangs. */
static void limit_time(int64_t microseconds)
{
    const rlim_t most = 5 + 2 * (rlim_t)(microseconds * 1000 / second);
    if (setrlimit(RLIMIT_CPU, &(struct rlimit){most, most}) != 0)
        exit(EX_OSERR);
}

/* With autogroups, nice values count within a session only. */
static void weigh_most(void)
{
    const int fd = setsid() < 0 ? -1 : open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    (void)setpriority(PRIO_PROCESS, 0, -20);
    if (fd < 0)
        return;
    (void)!write(fd, "-20", 3);
    close(fd);
}

/* The spinning process ends with this program. */
static void spin_on(int cpu)
{
    if (fork() != 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    weigh_most();
    on_cpu(cpu);
    for (volatile int i = 0;; i++)
        ;
}

static int64_t used(int cpus)
{
    int64_t sum = 0, one;
    for (int cpu = 0; cpu < cpus; cpu++) {
        if (read(counters[cpu], &one, sizeof one) != (ssize_t)sizeof one) {
            fprintf(stderr, "group-times: a counter cannot be read: %m\n");
            exit(EX_IOERR);
        }
        sum += one;
    }
    return sum;
}

static void sleep_until(int64_t when)
{
    const struct timespec time = {.tv_sec = when / second, .tv_nsec = when % second};
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void measure(int cpus, int64_t runtime, int64_t period, int count)
{
    int64_t before = used(cpus), began = monotonic_now();
    const int64_t first = began;
    for (int i = 1; i <= count; i++) {
        sleep_until(first + i * period);
        const int64_t has = used(cpus), now = monotonic_now();
        const int64_t late = now - began > period ? now - began - period : 0;
        printf("%lld %lld\n", (long long)(has - before) / 1000,
               (long long)(runtime + late) / 1000 + 2 * (long long)tick_length());
        before = has;
        began = now;
    }
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return EX_USAGE;
    const int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
              group = budget_group_open(budget_hierarchy_open(), argv[1]);
    for (int cpu = 0; cpu < cpus && cpu < CPUS; cpu++) {
        counters[cpu] = budget_counter_open(group, cpu, never);
        if (counters[cpu] < 0 || ioctl(counters[cpu], PERF_EVENT_IOC_ENABLE, 0) != 0) {
            fprintf(stderr, "group-times: the group %s cannot be counted: %m\n", argv[1]);
            return EX_OSERR;
        }
    }
    limit_time(atoll(argv[3]) * atoi(argv[4]));
    for (int cpu = 0; cpu < cpus && cpu < CPUS; cpu++)
        spin_on(cpu);
    real_time(OWN_PRIORITY);
    sleep_until(monotonic_now() + atoll(argv[3]) * 1000);
    measure(cpus, atoll(argv[2]) * 1000, atoll(argv[3]) * 1000, atoi(argv[4]));
    return EX_OK;
}
