#include "budget-window.h"

/* Who wakes late once, and in time then, has used its runtime twice within less than a period: timers are late, and the host of a virtual machine
 * stops that for ms. That is no runaway, so the next window may have begun by that much too early; it is not moved, so that nothing is gained by
 * it for the windows after. */
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
    window->began = later(window->began + window->period, now - most) + (times - 1) * window->period;
    return window->began <= now + tolerance(window) ? 0 : window->began;
}
