/* One record of the journal at the start of a broker: its grant and its thread stay in force where
 * they fit plugins.conf, or the plugins are asked again. */
#ifndef RTF_TAKE_UP_H
#define RTF_TAKE_UP_H

#include <stdbool.h>

struct recorded_reservation;

/* Takes over one record. True: the kernel does not show the granted attributes, and the helper has
 * to apply the grant again. */
bool take_up(struct recorded_reservation *recorded, bool same_boot);

/* Goes on with a reservation that was taken over: watches its thread, and applies the grant again
 * if the kernel does not show it. */
void take_up_go_on(const struct recorded_reservation *recorded, bool apply);

#endif
