#include "affinity.h"

#include <string.h>

#include "command-line.h"
#include "units.h"

/* True if the thread is real-time with reset-on-fork, as the broker makes each attached thread. */
static bool is_granted(pid_t thread)
{
    const int policy = sched_getscheduler(thread);
    return policy >= 0 && (policy & SCHED_RESET_ON_FORK) != 0 &&
           (policy & ~SCHED_RESET_ON_FORK) != SCHED_OTHER;
}

static bool is_within(const cpu_set_t *part, const cpu_set_t *whole)
{
    cpu_set_t both;
    CPU_AND(&both, part, whole);
    return CPU_EQUAL(&both, part);
}

struct affinity affinity_of(pid_t thread)
{
    struct affinity now = {.is_pinned = false};
    cpu_set_t usual;
    if (sched_getaffinity(thread, sizeof now.cpus, &now.cpus) == 0 &&
        sched_getaffinity(1, sizeof usual, &usual) == 0)
        now.is_pinned =
            is_within(&now.cpus, &usual) && !CPU_EQUAL(&now.cpus, &usual) && !is_granted(thread);
    return now;
}

void affinity_tell(pid_t thread, const struct affinity *before)
{
    char was[CPU_LIST_TEXT], is[CPU_LIST_TEXT];
    cpu_set_t now;
    if (!before->is_pinned || sched_getaffinity(thread, sizeof now, &now) != 0 ||
        is_within(&now, &before->cpus))
        return;
    command_say(
        "thread %d was pinned to CPU %s, and may now run on CPU %s; --cpus=%s keeps the thread pinned",
        (int)thread, format_cpus(&before->cpus, was), format_cpus(&now, is), was);
}
