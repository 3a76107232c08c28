#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>

#include "moment.h"

static int epoll_fd = -1, timer_fd = -1;
static int64_t alarm_at = INT64_MAX;

void loop_start(void)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET}; /* no pointer: told from sources by that; an edge: never read */
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (epoll_fd < 0 || timer_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &event) != 0)
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
    for (int tries = 0; epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0 && is_of_the_moment(errno) && tries < MOMENT_TRIES; tries++)
        ;
}

void loop_remove(int fd)
{
    (void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* A timeout that is the next thing to happen programs the clock twice in each wait, which a virtual machine leaves to its host
 * (13 us measured): what has to be done at some time is left to an alarm, which is only set when that time comes nearer. */
static bool set_alarm(int64_t due)
{
    const struct itimerspec time = {.it_value = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000}};
    if (due >= alarm_at)
        return true;
    if (timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &time, NULL) != 0)
        return false;
    alarm_at = due;
    return true;
}

/* In ms, up: never early, never a busy loop. */
static int milliseconds_until(int64_t time)
{
    int64_t left = time - monotonic_now();
    if (left <= 0)
        return 0;
    return left > 60000000000 ? 60000 : (int)((left + 999999) / 1000000);
}

static int timeout_until(int64_t limit, int64_t due)
{
    if (limit == INT64_MAX && due == INT64_MAX)
        return -1;
    if (limit < due)
        return milliseconds_until(limit);
    int milliseconds = milliseconds_until(due);
    return milliseconds > 0 && set_alarm(due) ? -1 : milliseconds;
}

static int without_alarm(struct epoll_event *events, int count)
{
    for (int i = 0; i < count; i++)
        if (events[i].data.ptr == NULL) {
            alarm_at = INT64_MAX;
            events[i] = events[count - 1];
            return count - 1;
        }
    return count;
}

int loop_wait(struct epoll_event events[static LOOP_EVENTS], int64_t limit, int64_t due)
{
    int count = epoll_wait(epoll_fd, events, LOOP_EVENTS, timeout_until(limit, due));
    if (count < 0 && errno != EINTR)
        abort();
    return count < 0 ? 0 : without_alarm(events, count);
}
