#include "loop.h"

#include <errno.h>
#include <stdlib.h>

#include "transient.h"

static int epoll_fd = -1;

void loop_start(void)
{
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0)
        abort();
}

bool loop_add(int fd, uint32_t events, struct source *source)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

void loop_change(int fd, uint32_t events, struct source *source)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    for (int tries = 0; epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0 &&
                        is_transient(errno) && tries < TRANSIENT_TRIES;
         tries++)
        ;
}

void loop_remove(int fd)
{
    (void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void call(const struct epoll_event *events, int count, bool first)
{
    for (int i = 0; i < count; i++) {
        struct source *source = events[i].data.ptr;
        if (source->is_first == first)
            source->ready(source, events[i].events);
    }
}

void loop_turn(bool busy)
{
    static const struct timespec at_once;
    struct epoll_event events[LOOP_EVENTS];
    struct timespec left;
    const int count =
        epoll_pwait2(epoll_fd, events, LOOP_EVENTS, busy ? &at_once : timers_left(&left), NULL);
    if (count < 0 && errno != EINTR)
        abort();
    call(events, count, true);
    call(events, count, false);
}
