#include "window.h"

/* To be a moment early is not worth two switches of policy: timers are late by that much, and what is the next window's is charged to it. */
static int64_t tolerance(const struct window *window)
{
    return window->period / 100;
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
