#include "home.h"

#include <sched.h>

#include "ledger.h"
#include "loop.h"
#include "plugins.h"
#include "starter.h"

static int home = -1;      /* -1: there is no choice */
static bool home_is_quiet; /* no SCHED_DEADLINE thread can come there */
static int64_t busy_since = INT64_MAX, apart_until; /* CLOCK_MONOTONIC, ns */

static void clear_deadline_cpus(cpu_set_t *cpus, bool of_global)
{
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (line->deadline && (line->partition == PARTITION_GLOBAL) == of_global && CPU_ISSET(cpu, &line->cpus))
                CPU_CLR(cpu, cpus);
    }
}

static int plugins_on(size_t cpu)
{
    int count = 0;
    for (int i = 0; i < plugins_count(); i++)
        count += CPU_ISSET(cpu, &plugin_line(i)->cpus) ? 1 : 0;
    return count;
}

static int quietest(const cpu_set_t *cpus)
{
    int found = -1;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, cpus) && (found < 0 || plugins_on(cpu) < plugins_on((size_t)found)))
            found = (int)cpu;
    return found;
}

/* Priority does not help against SCHED_DEADLINE, which comes first, and the kernel does not move a FIFO thread elsewhere
 * because of it: the helper would wait on its CPU while the thread that it has just attached there uses up its runtime. */
void home_choose(void)
{
    cpu_set_t cpus, quiet;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return;
    quiet = cpus;
    clear_deadline_cpus(&quiet, false);
    if (CPU_COUNT(&quiet) > 0 && sched_setaffinity(0, sizeof quiet, &quiet) == 0)
        cpus = quiet;
    clear_deadline_cpus(&quiet, true);
    home_is_quiet = CPU_COUNT(&quiet) > 0;
    if (CPU_COUNT(&cpus) > 1)
        home = quietest(home_is_quiet ? &quiet : &cpus);
}

/* While the broker does not come to sleep the plugins are better off elsewhere; and then for a while, for more may come. */
static const int64_t patience = INT64_C(2000000), pause = INT64_C(1000000000); /* ns */

static bool is_no_place(void)
{
    return !home_is_quiet && ledger_of_deadline() > 0;
}

void home_leave(void)
{
    if (home >= 0 && is_no_place())
        starter_place(-1);
}

void home_keep(bool busy)
{
    if (home < 0)
        return;
    const int64_t now = monotonic_now();
    busy_since = !busy ? INT64_MAX : busy_since == INT64_MAX ? now : busy_since;
    if ((busy && now - busy_since > patience) || plugins_waited(now) > patience)
        apart_until = now + pause;
    starter_place(is_no_place() || now < apart_until ? -1 : home);
}

int64_t home_deadline(void)
{
    return !is_no_place() && apart_until > monotonic_now() ? apart_until : INT64_MAX;
}
