/* A spec with the key "expires" has a lease. The reservation ends when the lease is over, unless
 * the owner renews the lease before. Times are CLOCK_BOOTTIME, ns, because no program can set this
 * clock, and because the clock counts the time that the machine sleeps. */
#ifndef RTF_EXPIRY_H
#define RTF_EXPIRY_H

#include "reservation.h"

/* `over` is called when a lease is over, and ends the reservation. `over` returns false if the
 * reservation cannot end yet; it is called again after expiry_go_on. expiry_prepare returns false
 * with errno if it cannot make a timer. */
bool expiry_prepare(bool (*over)(struct reservation *reservation));

/* Call this when a request of the reservation has ended. If the lease ran out during the request,
 * and the request did not renew the lease, the reservation ends now. */
void expiry_go_on(struct reservation *reservation);

/* The lease ends `length` ns from now; 0: there is no lease. modified: the mtime of the NAME.json
 * that states this length; granted: this file was granted. After a refused change, the owner may
 * restore the granted file with its mtime. The lease then keeps its former end, because a refused
 * change must not prolong the lease (rtf-change(1)). */
void expiry_for(struct reservation *reservation, uint64_t length, int64_t modified, bool granted);

/* Sets the end of the lease; 0: there is no lease. */
void expiry_until(struct reservation *reservation, int64_t until);

/* The time when the lease ends; 0: the spec has no lease. */
int64_t expiry_end(const struct reservation *reservation);

#endif
