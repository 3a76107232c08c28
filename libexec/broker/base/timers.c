#include "timers.h"

/* Of two timers with the same time, the one that was set first comes first. */
static int timer_by_time(const struct timer *fresh, const struct timer *other)
{
    return fresh->at < other->at ? -1 : 1;
}

static RB_HEAD(timer_queue, timer) queue = RB_INITIALIZER(&queue);
RB_PROTOTYPE(timer_queue, timer, of_time, timer_by_time)
RB_GENERATE(timer_queue, timer, of_time, timer_by_time)

void timer_end(struct timer *timer)
{
    if (timer->at != 0)
        RB_REMOVE(timer_queue, &queue, timer);
    timer->at = 0;
}

void timer_set(struct timer *timer, int64_t at)
{
    timer_end(timer);
    if (at == INT64_MAX)
        return;
    timer->at = at > 0 ? at : 1;
    RB_INSERT(timer_queue, &queue, timer);
}

const struct timer *timers_first(void)
{
    return RB_MIN(timer_queue, &queue);
}

const struct timespec *timers_left(struct timespec *left)
{
    const struct timer *first = timers_first();
    if (first == NULL)
        return NULL;
    const int64_t nanoseconds = first->at - monotonic_now(),
                  wait = nanoseconds < 0 ? 0 : nanoseconds;
    *left = (struct timespec){.tv_sec = wait / 1000000000, .tv_nsec = wait % 1000000000};
    return left;
}

void timers_run(void)
{
    const int64_t now = monotonic_now();
    struct timer *timer;
    while ((timer = RB_MIN(timer_queue, &queue)) != NULL && timer->at <= now) {
        timer_end(timer);
        if (timer->due != NULL)
            timer->due(timer);
    }
}
