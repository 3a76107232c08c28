#include "max-user-threads.h"

#include "tick.h"
#include "units.h"

/* us: another user may still reserve RUNTIME in each WINDOW */
enum { WINDOW = 10000, RUNTIME = 4000 };
static const uint64_t most = ONE_CPU / 10 * 9; /* the part of a CPU that the kernel grants */

/* All threads together may take the capacity less `kept`. With partition=global, all CPUs are one
 * pool. Otherwise, `kept` has to be free on one CPU only: the user can make all CPUs but one too
 * full for `kept`, and has one thread too few for the last CPU. */
uint64_t tick_threads(const struct plugin_line *line)
{
    const uint64_t cpus = (uint64_t)CPU_COUNT(&line->cpus), tick = tick_length(),
                   overrun = utilization(tick < WINDOW ? tick : WINDOW, WINDOW),
                   kept = utilization(RUNTIME, WINDOW),
                   capacity = line->threshold < most ? line->threshold : most;
    uint64_t count = 0;
    if (line->partition == PARTITION_GLOBAL)
        count = capacity * cpus > kept ? (capacity * cpus - kept) / overrun : 0;
    else if (capacity > kept)
        count = ((capacity - kept) / overrun + 1) * cpus - 1;
    return count > 0 ? count : 1;
}
