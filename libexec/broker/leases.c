#include "leases.h"

#include <bsd/sys/tree.h>
#include <sys/timerfd.h>
#include <unistd.h>

static RB_HEAD(leases, reservation) leases = RB_INITIALIZER(&leases);
static int timer = -1;
static void (*end)(struct reservation *reservation);

static int compare(const struct reservation *one, const struct reservation *other)
{
    if (one->lease != other->lease)
        return one->lease < other->lease ? -1 : 1;
    return one->task < other->task ? -1 : one->task > other->task;
}

RB_PROTOTYPE(leases, reservation, of_lease, compare)
RB_GENERATE(leases, reservation, of_lease, compare)

static void set_timer(void)
{
    const struct reservation *first = RB_MIN(leases, &leases);
    const int64_t at = first == NULL ? 0 : first->lease, second = 1000000000;
    const struct itimerspec time = {.it_value = {.tv_sec = at / second, .tv_nsec = at % second}};
    if (timer >= 0)
        (void)timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL);
}

void lease_until(struct reservation *reservation, int64_t until)
{
    if (until == reservation->lease)
        return;
    if (reservation->lease != 0)
        RB_REMOVE(leases, &leases, reservation);
    reservation->lease = until;
    if (until != 0)
        RB_INSERT(leases, &leases, reservation);
    set_timer();
}

void lease_for(struct reservation *reservation, uint64_t length)
{
    if (length != 0 || reservation->lease != 0)
        lease_until(reservation, length == 0 ? 0 : boottime_now() + (int64_t)length);
}

static void due(struct source *source, uint32_t events)
{
    struct reservation *first;
    uint64_t expired;
    const int64_t now = boottime_now();
    (void)source;
    (void)events;
    (void)!read(timer, &expired, sizeof expired);
    while ((first = RB_MIN(leases, &leases)) != NULL && first->lease <= now) {
        lease_until(first, 0);
        end(first);
    }
    set_timer();
}

bool leases_prepare(void (*over)(struct reservation *reservation))
{
    static struct source source = {.ready = due};
    end = over;
    timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    return timer >= 0 && loop_add(timer, EPOLLIN, &source);
}
