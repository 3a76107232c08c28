#include "budget-window.h"

/* Timers are late at times, and the host of a virtual machine stops its timers for milliseconds.
 * A thread that wakes late once, and in time after that, uses its runtime twice within less than
 * a period, and is no runaway. So the next window may begin early by this much, ns. `began`
 * itself is not moved, so the thread gains nothing for later windows. */
static int64_t tolerance(const struct window *window)
{
    return window->period / 4;
}

static int64_t later(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

int64_t window_used_up(struct window *window, int64_t now, int64_t waited, int64_t times)
{
    const int64_t most = waited < window->period ? waited : window->period;
    window->began =
        later(window->began + window->period, now - most) + (times - 1) * window->period;
    return window->began <= now + tolerance(window) ? 0 : window->began;
}
