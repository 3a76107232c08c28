#include <errno.h>
#include <time.h>

#include "rtf-own.h"

#define SECOND INT64_C(1000000000) /* ns */

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

enum rtf_result rtf_task_start(struct rtf_spec *spec)
{
    if (rtf_spec_get_period(spec) == 0)
        return RTF_ERROR;
    spec->own->activation = now();
    spec->own->missed = 0;
    return RTF_OK;
}

/* Sleeps to an absolute time, so that signals and late wake-ups do not shift later activations. */
static void sleep_until(int64_t time)
{
    const struct timespec until = {.tv_sec = time / SECOND, .tv_nsec = time % SECOND};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

uint64_t rtf_task_wait_period(struct rtf_spec *spec)
{
    const int64_t period = (int64_t)rtf_spec_get_period(spec) * 1000;
    if (period == 0)
        return 0;
    struct rtf_spec_own *own = spec->own;
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

uint64_t rtf_task_missed(const struct rtf_spec *spec)
{
    return spec->own == NULL ? 0 : spec->own->missed;
}

int64_t rtf_task_activation(const struct rtf_spec *spec)
{
    return spec->own == NULL ? 0 : spec->own->activation;
}
