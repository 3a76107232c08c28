#include "behaviour.h"

enum {
    /* a thread that runs or waits for a CPU for so much of the time hardly sleeps */
    BUSY_PERCENT = 85,
    /* a busy thread that ran for so much of the time is a hog; another busy thread is starved */
    RAN_PERCENT = 80,
    RARE = 8, /* wake-ups; fewer wake-ups show no pattern */
    /* a thread with few wake-ups that was ready for at most so much of the time is sleeping */
    HARDLY_PERMILLE = 20,
};

/* True if the thread hardly sleeps. The kernel counts how long a thread has waited for a CPU only
 * when the wait is over. So a thread that waits all the time is found by the looks that saw it
 * ready. */
static bool is_busy(const struct observed *observed)
{
    return (observed->ran + observed->waited) * 100 >= observed->length * BUSY_PERCENT ||
           (observed->wakeups < RARE && observed->looks > 0 &&
            observed->ready_looks * 100 >= observed->looks * BUSY_PERCENT);
}

enum behaviour behaviour_of(const struct observed *observed)
{
    const int64_t ready = observed->ran + observed->waited;
    if (observed->has_period)
        return BEHAVIOUR_PERIODIC;
    if (is_busy(observed))
        return observed->ran * 100 >= observed->length * RAN_PERCENT ? BEHAVIOUR_HOG
                                                                     : BEHAVIOUR_STARVED;
    if (observed->wakeups < RARE && ready * 1000 <= observed->length * HARDLY_PERMILLE)
        return BEHAVIOUR_SLEEPING;
    if (observed->shortest_period > 0 &&
        (int64_t)observed->wakeups > observed->length / observed->shortest_period)
        return BEHAVIOUR_TOO_FAST;
    return observed->other_sleeps > observed->timed_sleeps ? BEHAVIOUR_EVENT_DRIVEN
                                                           : BEHAVIOUR_APERIODIC;
}

const char *behaviour_name(enum behaviour behaviour)
{
    static const char *const names[] = {
        [BEHAVIOUR_PERIODIC] = "periodic",         [BEHAVIOUR_APERIODIC] = "aperiodic",
        [BEHAVIOUR_EVENT_DRIVEN] = "event-driven", [BEHAVIOUR_HOG] = "hog",
        [BEHAVIOUR_STARVED] = "starved",           [BEHAVIOUR_SLEEPING] = "sleeping",
        [BEHAVIOUR_TOO_FAST] = "too-fast"};
    return names[behaviour];
}
