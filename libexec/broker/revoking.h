/* Orders of root's, for rtf revoke: what a user has reserved ends, whatever its owner does meanwhile. Nothing here looks at a user's files.
 *
 * state/current/orders is a SOCK_SEQPACKET socket in a directory that only root can enter. A connection is one order:
 *
 *   op=revoke user [uid] [name]   all that this user has, or one reservation; both may be patterns, as fnmatch(3) has them. uid: the
 *                                 directory may bear another name
 *
 * and is told, in as many messages as it takes,
 *
 *   event=unknown                 there is no such user; with a name: or no such reservation
 *   event=taken   count           so many are revoked
 *   event=revoked user name       its thread is ordinary, and nothing is charged any more
 *   event=done                    all are */
#ifndef RTF_REVOKING_H
#define RTF_REVOKING_H

#include "reservation.h"

/* Before privileges are given up. False: *reason. */
bool revoking_open(char reason[static REASON_BYTES]);

/* From now on orders are obeyed, also those that have come since. False with errno. */
bool revoking_start(void);

/* The reservation was RESERVATION_WITHDRAWN, and has nothing any more. */
void revoking_done(const struct reservation *reservation);

#endif
