#include "overrun-window.h"

/* Timers are late at times, and the host of a virtual machine stops its timers for milliseconds. A
 * thread that wakes late once, and in time after that, uses its runtime twice within less than a
 * period, and is no runaway. So the next window may begin this many ns early. `began` itself is not
 * moved, so the thread gains nothing for later windows. */
static int64_t tolerance(const struct window *window)
{
    return window->period / 4;
}

static int64_t later(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* ns. Within the time `over`, the average distance between suspensions is at least `apart`. Each
 * further thread that is suspended with the first one adds apart_each to `apart`, twenty times the
 * CPU time that the guard needs for it, and takes over_each from `over`. */
static const int64_t apart = INT64_C(4000000), over = INT64_C(1000000000);
static const int64_t apart_each = INT64_C(250000), over_each = INT64_C(2000000);

int64_t window_suspend(struct window *window, int64_t now, int64_t until)
{
    const int64_t earliest = window->paid_until - later(over - window->others * over_each, 0);
    window->paid_until = later(now, window->paid_until) + apart + window->others * apart_each;
    return later(until, earliest);
}

int64_t window_used_up(struct window *window, int64_t now, int64_t waited, int64_t times)
{
    const int64_t most = waited < window->period ? waited : window->period;
    window->began =
        later(window->began + window->period, now - most) + (times - 1) * window->period;
    if (window->began <= now + tolerance(window))
        return 0;
    return window->began = window_suspend(window, now, window->began);
}
