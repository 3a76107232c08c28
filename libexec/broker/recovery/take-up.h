/* Takes over the records of the journal at the start of a broker, one at a time. If the grant of a
 * record still fits plugins.conf, the grant and its thread stay in force. Otherwise the plugins are
 * asked again. */
#ifndef RTF_TAKE_UP_H
#define RTF_TAKE_UP_H

#include <stdbool.h>

struct recorded_reservation;

/* Takes over one record. True: the thread does not have the granted attributes in the kernel, so
 * the helper has to apply the grant again. */
bool take_up(struct recorded_reservation *recorded, bool same_boot);

/* Goes on with a reservation that was taken over: watches its thread. apply: also applies the grant
 * to the thread again. */
void take_up_go_on(const struct recorded_reservation *recorded, bool apply);

#endif
