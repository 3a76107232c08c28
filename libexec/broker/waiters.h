/* Specs that were refused for want of room and are to be asked again when there may be some ("on_refusal": "wait"). Each user's in the order in
 * which they came: who is behind is not asked before; users in turn. Nothing polls: what is given back to the ledger, new rules and plugins that
 * are back, and the end of who was before, are what can make room. */
#ifndef RTF_WAITERS_H
#define RTF_WAITERS_H

#include "reservation.h"

struct waiter {
    struct reservation *reservation;
    int64_t since; /* CLOCK_BOOTTIME */
    uint64_t asked_at;
    bool is_asked_again;
    enum why why;
    TAILQ_ENTRY(waiter) of_account;
};

/* It waits from then on (CLOCK_BOOTTIME), or still does: then in its old place. For what it was refused. */
void waiters_add(struct reservation *reservation, int64_t since, enum why why);
void waiters_leave(struct reservation *reservation);

/* Since when; 0: it does not. Is it being asked again? */
int64_t waits_since(const struct reservation *reservation);
bool waits_and_is_asked(const struct reservation *reservation);

/* Who of the same user waits before it, or before whatever comes now; NULL: nobody. */
const struct reservation *waits_behind(const struct reservation *reservation);

/* Something other than the ledger may have made room. */
void waiters_kick(void);

/* Whether somebody is to be asked again; who, once for each time that there may be room: NULL, nobody. */
bool waiters_are_due(void);
struct reservation *waiters_next(void);

#endif
