/* Specs that end unless they are renewed in time. What time it is a clock tells that nobody sets and that goes on while the machine sleeps
 * (CLOCK_BOOTTIME): it starts anew with the kernel, as all that is in force does. */
#ifndef RTF_EXPIRY_H
#define RTF_EXPIRY_H

#include "reservation.h"

/* `over` ends a reservation whose lease is over. `over` returns false if the reservation cannot end yet; expiry_go_on calls it again. expiry_prepare: false with
 * errno. */
bool expiry_prepare(bool (*over)(struct reservation *reservation));

/* A request about NAME.json has ended: a lease that could not end meanwhile ends now, unless it was renewed. */
void expiry_go_on(struct reservation *reservation);

/* The lease ends `length` ns from now; 0: there is no lease. modified: the mtime of the NAME.json that says so; granted: whether that file was granted. If the
 * owner puts the granted file back after a refused change, with its mtime, nothing is renewed: a refused change leaves all as it was (rtf-change(1)). */
void expiry_for(struct reservation *reservation, uint64_t length, int64_t modified, bool granted);

/* Instead of that: when it has been said to end before; 0: never. */
void expiry_until(struct reservation *reservation, int64_t until);

/* When it ends; 0: not for want of renewal. */
int64_t expiry_end(const struct reservation *reservation);

#endif
