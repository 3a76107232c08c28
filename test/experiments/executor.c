/* executor - timers of several periods in one thread, as in an executor of ROS 2: the thread waits
 * for all timers at once, and calls what is due. Two other threads wait for messages that never
 * come. Until SIGTERM. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { TIMERS = 2, OTHERS = 2, NS_PER_S = 1000000000 };
#define NS_PER_MS 1000000L

static const struct {
    long period, work; /* ns */
} timers[TIMERS] = {{10 * NS_PER_MS, NS_PER_MS}, {50 * NS_PER_MS, 3 * NS_PER_MS}};

static int64_t used(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

static void call_back(long work)
{
    const int64_t end = used() + work;
    while (used() < end)
        ;
}

static void *wait_for_messages(void *unused)
{
    for (;;)
        pause();
    return unused;
}

int main(void)
{
    int fds[TIMERS];
    pthread_t other;
    struct epoll_event events[TIMERS];
    const int set = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < OTHERS; i++)
        pthread_create(&other, NULL, wait_for_messages, NULL);
    for (int i = 0; i < TIMERS; i++) {
        const struct timespec period = {.tv_nsec = timers[i].period};
        const struct itimerspec timer = {.it_value = period, .it_interval = period};
        struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = (uint32_t)i}};
        fds[i] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        timerfd_settime(fds[i], 0, &timer, NULL);
        epoll_ctl(set, EPOLL_CTL_ADD, fds[i], &event);
    }
    for (;;) {
        const int due = epoll_wait(set, events, TIMERS, -1);
        for (int i = 0; i < due; i++) {
            uint64_t times;
            const uint32_t timer = events[i].data.u32;
            if (read(fds[timer], &times, sizeof times) == (ssize_t)sizeof times)
                call_back(timers[timer].work);
        }
    }
}
