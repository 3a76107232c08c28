#include "wait-queue.h"

#include <stdlib.h>

#include "account.h"
#include "ledger.h"
#include "memory.h"
#include "timers.h"

struct waiter {
    struct reservation *reservation;
    int64_t since; /* when the wait began: CLOCK_BOOTTIME, ns */
    uint64_t asked_at;
    bool is_asked_again;
    enum why why;
    TAILQ_ENTRY(waiter) of_account;
};

enum { NEVER = 0 };

static struct {
    /* the accounts with waiting specs; the account that got the latest grant is at the end */
    TAILQ_HEAD(, account) ring;
    uint64_t kicks;
    /* the occasion (wait_queue_occasion) for which the plugins have been asked about all specs */
    uint64_t passed;
    int64_t taken;
    struct timer pause;
    struct waiter *asked;
    struct timer awaited;
} wait_queue = {.ring = TAILQ_HEAD_INITIALIZER(wait_queue.ring)};

/* A user who creates and releases reservations in a loop makes room again and again. Each time, the
 * plugins are asked again about the waiting specs of other users. To bound the broker's time for
 * these specs, a pause of each_takes (ns) for each spec follows after each round. */
static const int64_t each_takes = 10000000;

/* The longest time for which the broker waits for the answer about one spec before it asks about
 * the next spec. It asks about one spec at a time, because otherwise the user with the quickest
 * reader would come first. The wait is bounded, so that a slow reader delays other users little. */
static const int64_t patience = 100000000; /* ns */

static bool is_awaited(void)
{
    if (wait_queue.asked != NULL &&
        (!wait_queue.asked->is_asked_again || wait_queue.awaited.at == 0)) {
        wait_queue.asked = NULL;
        timer_end(&wait_queue.awaited);
    }
    return wait_queue.asked != NULL;
}

/* A number that grows when something may have made room. */
static uint64_t wait_queue_occasion(void)
{
    return 1 + ledger_removals() + wait_queue.kicks;
}

void wait_queue_kick(void)
{
    wait_queue.kicks++;
}

static void insert(struct account *account, struct waiter *waiter)
{
    struct waiter *before = TAILQ_LAST(&account->waiters, waiter_list);
    while (before != NULL && before->since > waiter->since)
        before = TAILQ_PREV(before, waiter_list, of_account);
    if (before == NULL)
        TAILQ_INSERT_HEAD(&account->waiters, waiter, of_account);
    else
        TAILQ_INSERT_AFTER(&account->waiters, before, waiter, of_account);
}

static void wait_queue_begin(struct reservation *reservation, int64_t since)
{
    struct account *account = reservation->user->account;
    struct waiter *waiter = allocate(sizeof *waiter);
    if (account->waiters.tqh_last == NULL)
        TAILQ_INIT(&account->waiters);
    *waiter =
        (struct waiter){.reservation = reservation,
                        .since = since,
                        .asked_at = TAILQ_EMPTY(&account->waiters) ? wait_queue_occasion() : NEVER};
    if (TAILQ_EMPTY(&account->waiters))
        TAILQ_INSERT_TAIL(&wait_queue.ring, account, of_waiters);
    insert(account, waiter);
    reservation->waiter = waiter;
}

void wait_queue_add(struct reservation *reservation, int64_t since, enum why why)
{
    if (reservation->waiter == NULL)
        wait_queue_begin(reservation, since);
    else
        reservation->waiter->asked_at = wait_queue_occasion();
    reservation->waiter->is_asked_again = false;
    reservation->waiter->why = why;
}

int64_t waits_since(const struct reservation *reservation)
{
    return reservation->waiter == NULL ? 0 : reservation->waiter->since;
}

bool is_asked_again(const struct reservation *reservation)
{
    return reservation->waiter != NULL && reservation->waiter->is_asked_again;
}

bool waits_for(const struct reservation *reservation, enum why why)
{
    return reservation->waiter != NULL && reservation->waiter->why == why;
}

void wait_queue_leave(struct reservation *reservation)
{
    struct account *account = reservation->user->account;
    if (reservation->waiter == NULL)
        return;
    TAILQ_REMOVE(&account->waiters, reservation->waiter, of_account);
    reservation->waiter->is_asked_again = false;
    wait_queue.passed = NEVER;
    (void)is_awaited();
    free(reservation->waiter);
    reservation->waiter = NULL;
    if (TAILQ_EMPTY(&account->waiters)) {
        TAILQ_REMOVE(&wait_queue.ring, account, of_waiters);
        return;
    }
    TAILQ_FIRST(&account->waiters)->asked_at = NEVER;
    /* The account goes to the end of the ring only after a grant. After a refusal the account keeps
     * its place, because otherwise the order of users would depend on the number of refusals. */
    if (reservation->grant != NULL) {
        TAILQ_REMOVE(&wait_queue.ring, account, of_waiters);
        TAILQ_INSERT_TAIL(&wait_queue.ring, account, of_waiters);
    }
}

const struct reservation *waits_behind(const struct reservation *reservation)
{
    const struct waiter *first = TAILQ_FIRST(&reservation->user->account->waiters);
    return first == NULL || first == reservation->waiter ? NULL : first->reservation;
}

bool wait_queue_are_due(void)
{
    return !TAILQ_EMPTY(&wait_queue.ring) && wait_queue.passed != wait_queue_occasion() &&
           wait_queue.pause.at == 0 && !is_awaited();
}

static void round_is_over(uint64_t now)
{
    wait_queue.passed = now;
    if (wait_queue.taken != 0)
        timer_set(&wait_queue.pause, monotonic_now() + wait_queue.taken);
    wait_queue.taken = 0;
}

struct reservation *wait_queue_next(void)
{
    struct account *account;
    const uint64_t now = wait_queue_occasion();
    if (!wait_queue_are_due())
        return NULL;
    TAILQ_FOREACH (account, &wait_queue.ring, of_waiters) {
        struct waiter *first = TAILQ_FIRST(&account->waiters);
        if (first->is_asked_again || first->asked_at == now)
            continue;
        first->is_asked_again = true;
        first->asked_at = now;
        wait_queue.taken += each_takes;
        wait_queue.asked = first;
        timer_set(&wait_queue.awaited, monotonic_now() + patience);
        return first->reservation;
    }
    round_is_over(now);
    return NULL;
}
