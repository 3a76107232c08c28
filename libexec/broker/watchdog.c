#include "watchdog.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "loop.h"
#include "units.h"

static int manager = -1;
static int64_t each, next_at = INT64_MAX; /* ns */

/* It may be meant for who started us: WATCHDOG_PID says so. */
static uint64_t number_of(const char *variable)
{
    uint64_t number;
    const char *text = getenv(variable);
    return text != NULL && parse_number(text, INT64_MAX / 1000, &number) ? number : 0;
}

void watchdog_open(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* abstract */
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (manager >= 0 && connect(manager, (const struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))) != 0) {
        close(manager);
        manager = -1;
    }
    const uint64_t by = number_of("WATCHDOG_PID");
    if (manager >= 0 && (by == 0 || by == (uint64_t)getpid()))
        each = (int64_t)number_of("WATCHDOG_USEC") * 1000 / 2;
}

static void tell(const char *what)
{
    if (manager >= 0)
        (void)!write(manager, what, strlen(what));
}

void watchdog_ready(void)
{
    tell("READY=1");
    if (each > 0)
        next_at = monotonic_now() + each;
}

int64_t watchdog_deadline(void)
{
    return next_at;
}

void watchdog_expire(int64_t now)
{
    if (now < next_at)
        return;
    tell("WATCHDOG=1");
    next_at = now + each;
}
