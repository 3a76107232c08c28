#include "cpu-latency.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int device = -1;

static void let_go(void)
{
    if (device >= 0)
        close(device);
    device = -1;
}

bool cpu_latency_hold(uint64_t microseconds, char reason[static APPLY_REASON])
{
    const int32_t value = (int32_t)microseconds;
    if (microseconds == 0) {
        let_go();
        return true;
    }
    if (device < 0)
        device = open(CPU_LATENCY_DEVICE, O_WRONLY | O_CLOEXEC);
    if (device >= 0 && write(device, &value, sizeof value) == (ssize_t)sizeof value)
        return true;
    snprintf(reason, APPLY_REASON, "cpu_latency cannot be kept: %s: %s", CPU_LATENCY_DEVICE,
             strerror(errno));
    return false;
}
