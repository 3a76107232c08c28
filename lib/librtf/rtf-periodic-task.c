#include <errno.h>
#include <sched.h>
#include <time.h>

#include "rtf-unasked-change.h"

#define SECOND INT64_C(1000000000) /* ns */
enum { SHORT_PERIOD = 20000 };     /* us */

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

/* Sleeps until the calling thread has a whole runtime. The work of the thread before this call has
 * used a part of the runtime, or more than the runtime (an overrun). sched_yield(2) makes a
 * SCHED_DEADLINE thread sleep until its next period. After an overrun, the next period has only a
 * part of a runtime, and the period after the next has a whole runtime. If the period is long, the
 * used part is small, and the thread does not sleep. */
static void await_runtime(uint64_t period)
{
    if (period > SHORT_PERIOD || (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_DEADLINE)
        return;
    (void)sched_yield();
    (void)sched_yield();
}

enum rtf_result rtf_task_start(struct rtf_spec *spec)
{
    const uint64_t period = rtf_spec_get_period(spec);
    if (period == 0 || !spec->own->granted)
        return RTF_ERROR;
    /* own_refresh opens the verdict now, so that the caller's periodic loop spends no time on
     * this. */
    own_refresh(spec->own);
    await_runtime(period);
    spec->own->pace = period;
    spec->own->activation = now();
    spec->own->missed = 0;
    return RTF_OK;
}

/* Sleeps until an absolute time, so that signals and late wake-ups do not shift later
 * activations. */
static void sleep_until(int64_t time)
{
    const struct timespec until = {.tv_sec = time / SECOND, .tv_nsec = time % SECOND};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

/* Sleeps until the next activation. If nothing is granted any more, activations keep the period of
 * the last grant, because the caller's loop must not become a busy loop when its reservation ends.
 * Returns the number of missed activations. */
static uint64_t wait_period(struct rtf_spec_own *own, int64_t period)
{
    if (own->activation == 0)
        own->activation = now();
    const int64_t next = own->activation + period, late = now() - next;
    if (late < 0) {
        sleep_until(next);
        own->activation = next;
        return 0;
    }
    const int64_t missed = late / period;
    own->activation = next + missed * period;
    own->missed += (uint64_t)missed;
    return (uint64_t)missed;
}

static enum rtf_result standing(struct rtf_spec_own *own)
{
    if (!own->granted)
        return RTF_GONE;
    if (!own->served || own->thread != 0)
        return RTF_OK;
    pthread_mutex_lock(&own->lock);
    const bool has_stopped = own->result == RTF_CONNECTION_ERR;
    pthread_mutex_unlock(&own->lock);
    return has_stopped ? RTF_CONNECTION_ERR : RTF_ATTACH_FAIL;
}

enum rtf_result rtf_task_wait(struct rtf_spec *spec, uint64_t *missed)
{
    const uint64_t granted = rtf_spec_get_period(spec);
    struct rtf_spec_own *own = spec->own;
    uint64_t unwanted;
    missed = missed == NULL ? &unwanted : missed;
    *missed = 0;
    if (own == NULL || (granted == 0 && own->pace == 0))
        return RTF_ERROR;
    own->pace = granted != 0 ? granted : own->pace;
    *missed = wait_period(own, (int64_t)own->pace * 1000);
    own_refresh(own);
    return standing(own);
}

uint64_t rtf_task_wait_period(struct rtf_spec *spec)
{
    uint64_t missed;
    (void)rtf_task_wait(spec, &missed);
    return missed;
}

uint64_t rtf_task_missed(const struct rtf_spec *spec)
{
    return spec->own == NULL ? 0 : spec->own->missed;
}

int64_t rtf_task_activation(const struct rtf_spec *spec)
{
    return spec->own == NULL ? 0 : spec->own->activation;
}
