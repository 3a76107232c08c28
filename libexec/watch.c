#include "watch.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* perf_event_open(2) waits for an execve(2) of that process to be over, and its owner may be able to make that long. */
static const suseconds_t patience = 50000; /* us */

static void wake_up(int signal_number)
{
    (void)signal_number;
}

static void set_timer(suseconds_t microseconds)
{
    const struct itimerval timer = {.it_value.tv_usec = microseconds, .it_interval.tv_usec = microseconds}; /* again, should it come too early */
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

int watch_open(pid_t tid, bool execs)
{
    const struct sigaction interrupt = {.sa_handler = wake_up};
    struct perf_event_attr records = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof records,
        .config = PERF_COUNT_SW_DUMMY,
        .watermark = 1, /* each record wakes */
        .wakeup_watermark = 1,
        .comm = execs,
        .comm_exec = execs,
        .context_switch = !execs,
        .disabled = !execs,
    };
    (void)sigaction(SIGALRM, &interrupt, NULL);
    set_timer(patience);
    int watch = (int)syscall(SYS_perf_event_open, &records, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    set_timer(0);
    return watch;
}
