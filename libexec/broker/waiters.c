#include "waiters.h"

#include "account.h"
#include "ledger.h"
#include "timers.h"

static TAILQ_HEAD(, account) ring = TAILQ_HEAD_INITIALIZER(ring); /* of those who have some; who was granted something last comes last */
static uint64_t kicks;
static uint64_t passed; /* then nobody was left to be asked */
enum { NEVER = 0 };

/* Whoever creates and releases something in a loop makes room all the time, and has others' specs asked again each time: of the broker's time
 * that may take a part that is known beforehand. ns for each that was asked; then there is a pause of as many. */
static const int64_t each_takes = 10000000;
static int64_t taken;
static struct timer pause;

/* One at a time, or whose reader is quicker would come first. A reader that does not answer in time holds up its own user alone. */
static const int64_t patience = 100000000; /* ns */
static struct reservation *asked;
static struct timer awaited;

static bool is_awaited(void)
{
    if (asked != NULL && (!asked->is_asked_again || awaited.at == 0)) {
        asked = NULL;
        timer_end(&awaited);
    }
    return asked != NULL;
}

/* What has happened that may have made room. */
static uint64_t occasion(void)
{
    return 1 + ledger_removals() + kicks;
}

void waiters_kick(void)
{
    kicks++;
}

static void insert(struct account *account, struct reservation *reservation)
{
    struct reservation *before = TAILQ_LAST(&account->waiters, waiter_list);
    while (before != NULL && before->waits > reservation->waits)
        before = TAILQ_PREV(before, waiter_list, of_waiters);
    if (before == NULL)
        TAILQ_INSERT_HEAD(&account->waiters, reservation, of_waiters);
    else
        TAILQ_INSERT_AFTER(&account->waiters, before, reservation, of_waiters);
}

void waiters_add(struct reservation *reservation, int64_t since)
{
    struct account *account = reservation->user->account;
    const bool is_new = reservation->waits == 0;
    reservation->asked_at = is_new && since != 0 && TAILQ_FIRST(&account->waiters) != NULL ? NEVER : occasion();
    reservation->is_asked_again = false;
    if (!is_new)
        return;
    if (account->waiters.tqh_last == NULL)
        TAILQ_INIT(&account->waiters);
    if (TAILQ_EMPTY(&account->waiters))
        TAILQ_INSERT_TAIL(&ring, account, of_waiters);
    reservation->waits = since;
    insert(account, reservation);
}

void waiters_leave(struct reservation *reservation)
{
    struct account *account = reservation->user->account;
    if (reservation->waits == 0)
        return;
    TAILQ_REMOVE(&account->waiters, reservation, of_waiters);
    reservation->waits = 0;
    reservation->is_asked_again = false;
    passed = NEVER;
    (void)is_awaited();
    if (TAILQ_EMPTY(&account->waiters)) {
        TAILQ_REMOVE(&ring, account, of_waiters);
        return;
    }
    TAILQ_FIRST(&account->waiters)->asked_at = NEVER;
    /* Who was asked in vain keeps his place: else who comes next would depend on how many were asked in between. */
    if (reservation->grant != NULL) {
        TAILQ_REMOVE(&ring, account, of_waiters);
        TAILQ_INSERT_TAIL(&ring, account, of_waiters);
    }
}

const struct reservation *waits_behind(const struct reservation *reservation)
{
    const struct reservation *first = TAILQ_FIRST(&reservation->user->account->waiters);
    return first == reservation ? NULL : first;
}

bool waiters_are_due(void)
{
    return !TAILQ_EMPTY(&ring) && passed != occasion() && pause.at == 0 && !is_awaited();
}

static void round_is_over(uint64_t now)
{
    passed = now;
    if (taken != 0)
        timer_set(&pause, monotonic_now() + taken);
    taken = 0;
}

struct reservation *waiters_next(void)
{
    struct account *account;
    const uint64_t now = occasion();
    if (!waiters_are_due())
        return NULL;
    TAILQ_FOREACH(account, &ring, of_waiters) {
        struct reservation *first = TAILQ_FIRST(&account->waiters);
        if (first->is_asked_again || first->asked_at == now)
            continue;
        first->is_asked_again = true;
        first->asked_at = now;
        taken += each_takes;
        asked = first;
        timer_set(&awaited, monotonic_now() + patience);
        return first;
    }
    round_is_over(now);
    return NULL;
}
