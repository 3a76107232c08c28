#include "learn-observe.h"

#include <poll.h>
#include <time.h>

#include "clock.h"

/* Returns the time of the next look at the threads, but no time after `end`. */
static int64_t next_look(const struct observer *observer, int64_t now, int64_t former, int64_t end)
{
    const int64_t next = former > now ? former : now + (int64_t)observer_interval(observer) * 1000;
    return next < end ? next : end;
}

bool learn_observe(struct observer *observer, const int interrupts[static 2], int64_t end,
                   bool is_exact)
{
    struct pollfd fds[2 + OBSERVER_THREADS] = {{.fd = interrupts[0], .events = POLLIN},
                                               {.fd = interrupts[1], .events = POLLIN}};
    int64_t now = monotonic_now(), next = now;
    while (now < end && fds[0].revents == 0 && fds[1].revents == 0) {
        next = next_look(observer, now, next, end);
        const size_t threads = is_exact ? observer_descriptors(observer, fds + 2) : 0;
        const struct timespec wait = {.tv_sec = (next - now) / 1000000000,
                                      .tv_nsec = (next - now) % 1000000000};
        if (ppoll(fds, 2 + threads, &wait, NULL) > 0)
            observer_drain(observer, fds + 2, threads);
        now = monotonic_now();
        if (now >= next)
            observer_take(observer, now);
    }
    return fds[0].revents == 0 && fds[1].revents == 0;
}
