#include "watchdog.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "notify.h"
#include "timers.h"
#include "units.h"

static int manager = -1;
static int64_t each; /* ns */

/* The variable may be for the parent process: WATCHDOG_PID says which process it is for. */
static uint64_t number_of(const char *variable)
{
    uint64_t number;
    const char *text = getenv(variable);
    return text != NULL && parse_number(text, INT64_MAX / 1000, &number) ? number : 0;
}

void watchdog_open(void)
{
    manager = notify_connect(getenv("NOTIFY_SOCKET"));
    const uint64_t by = number_of("WATCHDOG_PID");
    if (manager >= 0 && (by == 0 || by == (uint64_t)getpid()))
        each = (int64_t)number_of("WATCHDOG_USEC") * 1000 / 2;
}

static void tell(const char *what)
{
    if (manager >= 0)
        (void)!write(manager, what, strlen(what));
}

static void is_alive(struct timer *timer)
{
    tell("WATCHDOG=1");
    timer_set(timer, monotonic_now() + each);
}

void watchdog_ready(void)
{
    static struct timer next = {.due = is_alive};
    tell("READY=1");
    if (each > 0)
        timer_set(&next, monotonic_now() + each);
}