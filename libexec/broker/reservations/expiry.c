#include "expiry.h"

#include <bsd/sys/tree.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "memory.h"

/* The lease as it was when a file was granted last. */
struct begun {
    int64_t modified, until;
    uint64_t length;
};

struct lease {
    struct reservation *reservation;
    int64_t until;
    struct begun granted;
    bool refused; /* the broker has not granted the last file */
    /* the lease is over, but the reservation could not end yet: the lease is not in the tree until
     * expiry_go_on */
    bool waits;
    RB_ENTRY(lease) entry;
};

static void expiry_due(struct source *source, uint32_t events);

static struct {
    RB_HEAD(leases, lease) leases;
    struct source source;
    int timer;
    bool (*end)(struct reservation *reservation);
} expiry = {.source.ready = expiry_due, .timer = -1};

static int expiry_compare(const struct lease *one, const struct lease *other)
{
    if (one->until != other->until)
        return one->until < other->until ? -1 : 1;
    return one->reservation->task < other->reservation->task
               ? -1
               : one->reservation->task > other->reservation->task;
}

RB_PROTOTYPE(leases, lease, entry, expiry_compare)
RB_GENERATE(leases, lease, entry, expiry_compare)

static void set_timer(void)
{
    const struct lease *first = RB_MIN(leases, &expiry.leases);
    const int64_t at = first == NULL ? 0 : first->until, second = 1000000000;
    const struct itimerspec time = {.it_value = {.tv_sec = at / second, .tv_nsec = at % second}};
    if (expiry.timer >= 0)
        (void)timerfd_settime(expiry.timer, TFD_TIMER_ABSTIME, &time, NULL);
}

int64_t expiry_end(const struct reservation *reservation)
{
    return reservation->lease == NULL ? 0 : reservation->lease->until;
}

static void forget(struct reservation *reservation)
{
    if (reservation->lease != NULL && !reservation->lease->waits)
        RB_REMOVE(leases, &expiry.leases, reservation->lease);
    free(reservation->lease);
    reservation->lease = NULL;
}

void expiry_until(struct reservation *reservation, int64_t until)
{
    if (until == expiry_end(reservation))
        return;
    forget(reservation);
    if (until != 0) {
        reservation->lease = allocate(sizeof *reservation->lease);
        *reservation->lease = (struct lease){.reservation = reservation, .until = until};
        RB_INSERT(leases, &expiry.leases, reservation->lease);
    }
    set_timer();
}

static bool is_back(const struct lease *lease, uint64_t length, int64_t modified)
{
    return lease != NULL && lease->refused && modified != 0 &&
           lease->granted.modified == modified && lease->granted.length == length;
}

void expiry_for(struct reservation *reservation, uint64_t length, int64_t modified, bool granted)
{
    const struct begun former =
        reservation->lease == NULL ? (struct begun){0} : reservation->lease->granted;
    const int64_t until = length == 0 ? 0
                          : is_back(reservation->lease, length, modified)
                              ? former.until
                              : boottime_now() + (int64_t)length;
    expiry_until(reservation, until);
    if (reservation->lease == NULL)
        return;
    reservation->lease->granted =
        granted ? (struct begun){.modified = modified, .until = until, .length = length} : former;
    reservation->lease->refused = !granted;
}

void expiry_go_on(struct reservation *reservation)
{
    if (reservation->lease == NULL || !reservation->lease->waits)
        return;
    reservation->lease->waits = false;
    RB_INSERT(leases, &expiry.leases, reservation->lease);
    set_timer();
}

static void expiry_due(struct source *source, uint32_t events)
{
    struct lease *first;
    uint64_t expired;
    const int64_t now = boottime_now();
    (void)source;
    (void)events;
    (void)!read(expiry.timer, &expired, sizeof expired);
    while ((first = RB_MIN(leases, &expiry.leases)) != NULL && first->until <= now) {
        struct reservation *reservation = first->reservation;
        if (expiry.end(reservation)) {
            expiry_until(reservation, 0);
            continue;
        }
        RB_REMOVE(leases, &expiry.leases, first);
        first->waits = true;
    }
    set_timer();
}

bool expiry_prepare(bool (*over)(struct reservation *reservation))
{
    expiry.end = over;
    expiry.timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    return expiry.timer >= 0 && loop_add(expiry.timer, EPOLLIN, &expiry.source);
}
