#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

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
    (void)epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

void loop_remove(int fd)
{
    (void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static int64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t monotonic_now(void)
{
    return now(CLOCK_MONOTONIC);
}

int64_t realtime_now(void)
{
    return now(CLOCK_REALTIME);
}

int loop_wait(struct epoll_event events[static LOOP_EVENTS], int64_t deadline)
{
    int timeout = -1;
    if (deadline != INT64_MAX) {
        int64_t left = deadline - monotonic_now();
        int64_t milliseconds = left <= 0 ? 0 : (left + 999999) / 1000000; /* up: never early, never a busy loop */
        timeout = milliseconds > 60000 ? 60000 : (int)milliseconds;
    }
    int count = epoll_wait(epoll_fd, events, LOOP_EVENTS, timeout);
    if (count < 0 && errno != EINTR)
        abort();
    return count < 0 ? 0 : count;
}
