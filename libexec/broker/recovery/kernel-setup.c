#include "kernel-setup.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "acl.h"
#include "attach.h"
#include "event.h"
#include "plugins.h"
#include "spool.h"
#include "tick.h"

/* Sets sched_rt_runtime_us; tries again for `patience` ns. The kernel answers EBUSY while it still
 * counts SCHED_DEADLINE threads that have just been demoted or have ended: until the end of their
 * period, at most 4.2 s. If a broker starts soon after another broker has ended, the kernel
 * sometimes answers EBUSY even to the value -1, which lifts the limit. */
static bool set_rt_limit(bool lifted, int64_t patience, char *reason)
{
    static const struct timespec pause = {.tv_nsec = 20000000};
    struct helper_event last = {.reason = "sched_rt_runtime_us: the attach helper does not answer"};
    for (int64_t until = monotonic_now() + patience;; (void)nanosleep(&pause, NULL)) {
        (void)attach_setting(SETTING_RT_LIMIT, lifted, spool.path);
        if (attach_drain(5, &last) && last.answer == HELPER_OK)
            return true;
        if (monotonic_now() >= until)
            break;
    }
    snprintf(reason, REASON_BYTES, "%.400s", last.reason);
    return false;
}

/* ns; the kernel counts demoted SCHED_DEADLINE threads no longer than this */
static const int64_t kernel_counts = INT64_C(5000000000);

static bool set_hrtick(bool on, char *reason)
{
    struct helper_event last = {.reason = "the attach helper does not answer"};
    (void)attach_setting(SETTING_HRTICK, on, spool.path);
    if (attach_drain(5, &last) && last.answer == HELPER_OK)
        return true;
    snprintf(reason, REASON_BYTES, "%.400s", last.reason);
    return false;
}

static bool set_domains(const cpu_set_t *cpus, char *reason)
{
    struct helper_event last = {.answer = HELPER_OK};
    (void)attach_domains(cpus, spool.path);
    if (attach_drain(10, &last) && last.answer == HELPER_OK)
        return true;
    snprintf(reason, REASON_BYTES, "scheduling domains: %.400s", last.reason);
    return false;
}

/* Makes a scheduling domain of each CPU of lines with partition=cpuset or confine=cpuset. */
static bool make_domains(char *reason)
{
    cpu_set_t cpus;
    plugins_domains(&cpus);
    return CPU_COUNT(&cpus) == 0 || set_domains(&cpus, reason);
}

/* Refuses partition=global if the CPUs of the line are not one scheduling domain: the kernel
 * would then refuse to make any thread of the line SCHED_DEADLINE. */
static bool probe_global(char *reason)
{
    struct helper_event last = {.answer = HELPER_OK};
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        if (!line->deadline || line->partition != PARTITION_GLOBAL)
            continue;
        (void)attach_probe(&line->cpus);
        if (attach_drain(5, &last) && last.answer == HELPER_OK)
            continue;
        snprintf(reason, REASON_BYTES, "plugins.conf:%d: %s cannot have partition=global: %.300s",
                 line->line, line->name, last.reason);
        return false;
    }
    return true;
}

bool kernel_setup_drop_domains(char reason[static REASON_BYTES])
{
    cpu_set_t none;
    CPU_ZERO(&none);
    return set_domains(&none, reason);
}

static bool wants_unthrottled(void)
{
    for (int i = 0; i < plugins_count(); i++)
        if (plugin_line(i)->deadline && plugin_line(i)->partition == PARTITION_UNTHROTTLED)
            return true;
    return false;
}

static bool settle_rt_limit(char *reason)
{
    const bool lifted = wants_unthrottled();
    if (set_rt_limit(lifted, lifted ? kernel_counts : 0, reason))
        return true;
    /* the kernel answers EBUSY while threads use more than the limit: the broker neither waits for
     * these threads nor refuses to serve */
    if (!lifted)
        event_broker("error", "%s", reason);
    return !lifted;
}

/* Sets the timer of hrtick=. Measures whether a timer ends runtimes, but only if a line has
 * hrtick=on, or if a rule depends on the tick: the measurement takes up to eight runtimes, some 10
 * ms. */
static bool settle_hrtick(char *reason)
{
    char why[REASON_BYTES];
    struct helper_event last;
    const struct plugin_line *asks = NULL, *deadline = NULL;
    for (int i = 0; i < plugins_count(); i++) {
        deadline = plugin_line(i)->deadline ? plugin_line(i) : deadline;
        asks = plugin_line(i)->hrtick ? plugin_line(i) : asks;
    }
    if (!set_hrtick(asks != NULL, why)) {
        snprintf(reason, REASON_BYTES, "plugins.conf:%d: %s cannot have hrtick=on: %.300s",
                 asks == NULL ? 0 : asks->line, asks == NULL ? "no plugin" : asks->name, why);
        if (asks != NULL)
            return false;
        event_broker("error", "%s", why);
    }
    if (deadline == NULL || (asks == NULL && !acl_has_tick(rules)))
        return true;
    (void)attach_tick();
    tick_know(attach_drain(5, &last) && last.answer == HELPER_OK);
    if (asks != NULL && !tick_is_not_awaited())
        event_broker("warning",
                     "hrtick=on has no effect: SCHED_DEADLINE runtimes still end at the tick");
    return true;
}

bool kernel_setup_restore(char reason[static REASON_BYTES])
{
    const bool good = set_rt_limit(false, kernel_counts, reason);
    return set_hrtick(false, reason) && good;
}

void kernel_setup_restore_or_tell(void)
{
    char reason[REASON_BYTES];
    if (!kernel_setup_restore(reason))
        event_broker("error", "%s", reason);
}

bool kernel_setup_limits(char reason[static REASON_BYTES])
{
    return settle_rt_limit(reason) && settle_hrtick(reason);
}

bool kernel_setup_domains(char reason[static REASON_BYTES])
{
    return make_domains(reason) && probe_global(reason);
}
