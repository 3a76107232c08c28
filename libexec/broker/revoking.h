/* Orders of root, for rtf revoke: a user's reservations end, whatever the owner does meanwhile,
 * because the broker looks at no file of the user.
 *
 * state/current/orders is a SOCK_SEQPACKET socket in a directory that only root can enter. A
 * connection is one order:
 *
 *   op=revoke user [uid] [name]   all reservations of this user, or one; user and name may be patterns of fnmatch(3). uid: for a
 *                                 user whose directory has another name
 *
 * and the broker answers with one or more messages:
 *
 *   event=unknown                 there is no such user; with a name: or no such reservation
 *   event=taken   count           this number of reservations is revoked
 *   event=revoked user name       the thread of this reservation is ordinary, and the reservation is charged to no rule any more
 *   event=done                    all are revoked */
#ifndef RTF_REVOKING_H
#define RTF_REVOKING_H

#include "reservation.h"

/* Call this before the broker gives privileges up. False: *reason. */
bool revoking_open(char reason[static REASON_BYTES]);

/* From now on the broker obeys orders, including orders since revoking_open. False with errno. */
bool revoking_start(void);

/* Tells the orders that the reservation, which was in the state RESERVATION_WITHDRAWN, has no grant
 * any more. */
void revoking_done(const struct reservation *reservation);

#endif
