/* The wait queue: specs that were refused for want of room and wait for it ("on_refusal": "wait").
 * Users have turns; the specs of one user are asked in the order in which they came. Nothing polls:
 * a spec is asked again when the ledger gets room, after new rules, when a plugin is back, and when
 * the spec before it has gone. */
#ifndef RTF_WAIT_QUEUE_H
#define RTF_WAIT_QUEUE_H

#include "reservation.h"

/* Adds a spec that waits from then on (CLOCK_BOOTTIME, ns), for this reason. A spec that waits
 * already keeps its place. */
void wait_queue_add(struct reservation *reservation, int64_t since, enum why why);
void wait_queue_leave(struct reservation *reservation);

/* Since when the reservation waits; 0: it does not wait. */
int64_t waits_since(const struct reservation *reservation);

/* is_asked_again: the reservation waits, and the plugins are being asked again. waits_for: its last
 * refusal had this reason. */
bool is_asked_again(const struct reservation *reservation);
bool waits_for(const struct reservation *reservation, enum why why);

/* The reservation of the same user that comes before this one; NULL: none. */
const struct reservation *waits_behind(const struct reservation *reservation);

/* Something other than the ledger may have made room. */
void wait_queue_kick(void);

/* wait_queue_are_due: a spec can be asked again. wait_queue_next: the next one, each spec once per
 * occasion; NULL: none. */
bool wait_queue_are_due(void);
struct reservation *wait_queue_next(void);

#endif
