/* Expiry: a spec with the key "expires" ends unless its owner renews it in time. The clock is
 * CLOCK_BOOTTIME, which no program sets and which counts the time that the machine sleeps. */
#ifndef RTF_EXPIRY_H
#define RTF_EXPIRY_H

#include "reservation.h"

/* `over` ends a reservation whose lease is over. `over` returns false if the reservation cannot end
 * yet; expiry_go_on calls it again. expiry_prepare: false with errno. */
bool expiry_prepare(bool (*over)(struct reservation *reservation));

/* A request about NAME.json has ended: a lease that could not end meanwhile ends now, unless it was
 * renewed. */
void expiry_go_on(struct reservation *reservation);

/* The lease ends `length` ns from now; 0: there is no lease. modified: the mtime of the NAME.json
 * that says so; granted: whether that file was granted. If the owner puts the granted file back
 * after a refused change, with its mtime, nothing is renewed: a refused change leaves all as it was
 * (rtf-change(1)). */
void expiry_for(struct reservation *reservation, uint64_t length, int64_t modified, bool granted);

/* Sets the end of the lease; 0: there is no lease. */
void expiry_until(struct reservation *reservation, int64_t until);

/* When the lease ends; 0: the spec has no lease. */
int64_t expiry_end(const struct reservation *reservation);

#endif
