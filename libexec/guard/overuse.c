#include "overuse.h"

void overuse_begin(struct overuse *overuse, int64_t now, int64_t ran)
{
    *overuse = (struct overuse){.at = now, .ran = ran};
}

/* Returns the CPU time that was granted for the time, without an overflow for long times. */
static int64_t granted_for(int64_t time, int64_t runtime, int64_t period)
{
    return time / period * runtime + time % period * runtime / period;
}

static void lower(struct overuse *overuse, int64_t time)
{
    overuse->level = overuse->level > time ? overuse->level - time : 0;
}

void overuse_count(struct overuse *overuse, int64_t now, int64_t ran, int64_t runtime,
                   int64_t period)
{
    if (now <= overuse->at || ran < overuse->ran)
        return;
    overuse->level += ran - overuse->ran;
    lower(overuse, granted_for(now - overuse->at, runtime, period));
    overuse->at = now;
    overuse->ran = ran;
}

void overuse_skip(struct overuse *overuse, int64_t ran)
{
    if (ran >= 0)
        overuse->ran = ran;
}

void overuse_pay(struct overuse *overuse, int64_t time)
{
    lower(overuse, time);
}

int64_t overuse_take(struct overuse *overuse, int64_t runtime, int64_t tick, int64_t lent)
{
    const int64_t over = overuse->level - lent;
    if (over <= 2 * runtime + 2 * tick)
        return 0;
    overuse->level = lent;
    return over;
}
