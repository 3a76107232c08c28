/* Specs that were refused for want of room and are to be asked again when there may be some ("on_refusal": "wait"). Each user's in the order in
 * which they came: who is behind is not asked before; users in turn. Nothing polls: what is given back to the ledger, new rules and plugins that
 * are back, and the end of who was before, are what can make room. */
#ifndef RTF_WAIT_QUEUE_H
#define RTF_WAIT_QUEUE_H

#include "reservation.h"

/* It waits from then on (CLOCK_BOOTTIME), or still does: then in its old place. For what it was refused. */
void wait_queue_add(struct reservation *reservation, int64_t since, enum why why);
void wait_queue_leave(struct reservation *reservation);

/* Since when; 0: it does not. */
int64_t waits_since(const struct reservation *reservation);

/* It waits and is being asked again; and that it was refused for this before. */
bool is_asked_again(const struct reservation *reservation);
bool waits_for(const struct reservation *reservation, enum why why);

/* Who of the same user waits before it, or before whatever comes now; NULL: nobody. */
const struct reservation *waits_behind(const struct reservation *reservation);

/* Something other than the ledger may have made room. */
void wait_queue_kick(void);

/* Whether somebody is to be asked again; who, once for each time that there may be room: NULL, nobody. */
bool wait_queue_are_due(void);
struct reservation *wait_queue_next(void);

#endif
