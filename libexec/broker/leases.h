/* Specs that end unless they are renewed in time. What time it is a clock tells that nobody sets and that goes on while the machine sleeps
 * (CLOCK_BOOTTIME): it starts anew with the kernel, as all that is in force does. */
#ifndef RTF_LEASES_H
#define RTF_LEASES_H

#include "reservation.h"

/* over: ends a reservation whose time is over. It returns false if the reservation cannot end yet: it is called again after a second. False with errno. */
bool leases_prepare(bool (*over)(struct reservation *reservation));

/* It ends so long from now, ns; 0: not for want of renewal. modified: of the file that says so, which is granted or not. The granted file that comes back
 * after a refused one, with its modification time, renews nothing: a refused change leaves all as it was (rtf-change(1)). */
void lease_for(struct reservation *reservation, uint64_t length, int64_t modified, bool granted);

/* Instead of that: when it has been said to end before; 0: never. */
void lease_until(struct reservation *reservation, int64_t until);

/* When it ends; 0: not for want of renewal. */
int64_t lease_end(const struct reservation *reservation);

#endif
