/* The wait queue has the specs that were refused because there was no room, and that wait for room
 * ("on_refusal": "wait"). The broker asks the plugins again about a spec of one user, then about a
 * spec of the next user. The specs of one user come in the order in which they began to wait. The
 * broker does not poll. It asks the plugins again when the ledger gets room, when the access rules
 * are new, when a plugin runs again, and when another spec of the same user has left the queue. */
#ifndef RTF_WAIT_QUEUE_H
#define RTF_WAIT_QUEUE_H

#include "reservation.h"

/* Adds a spec that has waited since `since` (CLOCK_BOOTTIME, ns), because it was refused for the
 * reason `why`. A spec that waits already keeps its place in the queue. */
void wait_queue_add(struct reservation *reservation, int64_t since, enum why why);
void wait_queue_leave(struct reservation *reservation);

/* The time when the reservation began to wait; 0: the reservation does not wait. */
int64_t waits_since(const struct reservation *reservation);

/* is_asked_again: the reservation waits, and the plugins are being asked again. waits_for: the
 * reservation waits, and its last refusal had the reason `why`. */
bool is_asked_again(const struct reservation *reservation);
bool waits_for(const struct reservation *reservation, enum why why);

/* The first waiting reservation of the user, behind which `reservation` waits; NULL: no reservation
 * comes before `reservation`. */
const struct reservation *waits_behind(const struct reservation *reservation);

/* Call this when something other than the ledger may have made room. */
void wait_queue_kick(void);

/* wait_queue_are_due: true if the plugins can be asked again about a spec. wait_queue_next returns
 * the reservation of this spec. Whenever something may have made room, the function returns the
 * first waiting spec of each user once. NULL: there is no such spec now. */
bool wait_queue_are_due(void);
struct reservation *wait_queue_next(void);

#endif
