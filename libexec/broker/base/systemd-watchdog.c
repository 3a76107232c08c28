#include "systemd-watchdog.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "notify.h"
#include "timers.h"
#include "units.h"

static void is_alive(struct timer *timer);

static struct {
    int manager;  /* the socket of the service manager; -1: none */
    int64_t each; /* the time between two messages to the service manager, ns */
    struct timer next;
} watchdog = {.manager = -1, .next = {.due = is_alive}};

/* Returns the number in the environment variable; 0: none. The variable WATCHDOG_USEC may be for
 * the parent process: WATCHDOG_PID says which process it is for. */
static uint64_t watchdog_number_of(const char *variable)
{
    uint64_t number;
    const char *text = getenv(variable);
    return text != NULL && parse_number(text, INT64_MAX / 1000, &number) ? number : 0;
}

void watchdog_open(void)
{
    watchdog.manager = notify_connect(getenv("NOTIFY_SOCKET"));
    const uint64_t by = watchdog_number_of("WATCHDOG_PID");
    if (watchdog.manager >= 0 && (by == 0 || by == (uint64_t)getpid()))
        watchdog.each = (int64_t)watchdog_number_of("WATCHDOG_USEC") * 1000 / 2;
}

static void watchdog_tell(const char *what)
{
    if (watchdog.manager >= 0)
        (void)!write(watchdog.manager, what, strlen(what));
}

static void is_alive(struct timer *timer)
{
    watchdog_tell("WATCHDOG=1");
    timer_set(timer, monotonic_now() + watchdog.each);
}

void watchdog_ready(void)
{
    watchdog_tell("READY=1");
    if (watchdog.each > 0)
        timer_set(&watchdog.next, monotonic_now() + watchdog.each);
}