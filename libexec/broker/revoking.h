/* Obeys the orders of root that rtf revoke sends: a user's reservations end. The owner cannot
 * prevent this, because the broker looks at no file of the owner meanwhile.
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

/* Call this before the broker gives up privileges. False: *reason says why. */
bool revoking_open(char reason[static REASON_BYTES]);

/* From now on the broker obeys orders, including orders that have come since revoking_open. False:
 * errno says why. */
bool revoking_start(void);

/* Call this when a reservation in the state RESERVATION_WITHDRAWN has lost its grant. Sends
 * event=revoked to the connections whose orders are about this reservation. */
void revoking_done(const struct reservation *reservation);

#endif
