/* The wait queue: specs that were refused for want of room and wait for it ("on_refusal": "wait").
 * The plugins are asked again about one user's spec after another's; the specs of one user come in
 * the order in which they began to wait. Nothing polls: the plugins are asked again when the ledger
 * gets room, after new access rules, when a plugin runs again, and when the user's spec before has
 * left the queue. */
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

/* wait_queue_are_due: the plugins can be asked again about a spec. wait_queue_next: the next spec
 * to ask about, each spec once each time that something may have made room; NULL: there is no such
 * spec now. */
bool wait_queue_are_due(void);
struct reservation *wait_queue_next(void);

#endif
