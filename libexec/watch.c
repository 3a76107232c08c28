#include "watch.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int watch_open(pid_t tid)
{
    struct perf_event_attr counter = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof counter,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = 10000, /* ns, the least that the kernel takes */
        .wakeup_events = 1,
        .disabled = 1,
        .exclude_hv = 1,
    };
    return (int)syscall(SYS_perf_event_open, &counter, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}
