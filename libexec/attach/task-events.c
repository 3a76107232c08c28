#include "task-events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* us. The longest wait for perf_event_open(2), which waits for the end of a running execve(2) of
 * the process: the process's owner may be able to make the execve(2) take long. */
static const suseconds_t patience = 50000;

static void wake_up(int signal_number)
{
    (void)signal_number;
}

static void set_timer(suseconds_t microseconds)
{
    /* The timer repeats, in case its first signal comes before perf_event_open(2) waits. */
    const struct itimerval timer = {.it_value.tv_usec = microseconds,
                                    .it_interval.tv_usec = microseconds};
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

static int event_open(const struct perf_event_attr *records, pid_t tid)
{
    return (int)syscall(SYS_perf_event_open, records, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Opens an event of the helper itself, so that later events open fast. When the first event of any
 * task is opened, the kernel begins to look for such events at each context switch, and waits until
 * all CPUs know: 8 to 16 ms (Linux 6.18). It waits again when no such event has existed for a
 * second. The helper's event records nothing, and is opened with the first attachment. */
static void keep_ready(void)
{
    static int own = -1;
    const struct perf_event_attr nothing = {.type = PERF_TYPE_SOFTWARE,
                                            .size = sizeof nothing,
                                            .config = PERF_COUNT_SW_DUMMY,
                                            .disabled = 1};
    if (own < 0)
        own = event_open(&nothing, 0);
}

static int open_within_patience(const struct perf_event_attr *event, pid_t tid)
{
    const struct sigaction interrupt = {.sa_handler = wake_up};
    (void)sigaction(SIGALRM, &interrupt, NULL);
    set_timer(patience);
    int fd = event_open(event, tid);
    int error = errno;
    set_timer(0);
    if (fd >= 0)
        keep_ready();
    errno = error;
    return fd;
}

int task_events_open(pid_t tid, bool execs)
{
    struct perf_event_attr records = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof records,
        .config = PERF_COUNT_SW_DUMMY,
        .watermark = 1, /* each record makes the descriptor readable */
        .wakeup_watermark = 1,
        .comm = execs,
        .comm_exec = execs,
        .context_switch = !execs,
        .disabled = !execs,
    };
    return open_within_patience(&records, tid);
}

int cpu_budget_open(pid_t tid, uint64_t microseconds)
{
    const struct perf_event_attr budget = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof budget,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = microseconds * 1000,
        .wakeup_events = 1, /* each overflow makes the descriptor readable */
        .disabled = 1,
    };
    return open_within_patience(&budget, tid);
}
