/* The broker shares out spare capacity (desired-amounts.h), and takes it back when the need of a
 * spec requires the capacity.
 *
 * To lessen a reservation, the broker replaces its grant by a smaller grant at once: no plugin can
 * refuse this. The helpers get the order to lessen a reservation before the order to give another
 * reservation more. To give a reservation more, the broker asks the plugins, as for a change that
 * the owner has written. In both cases the owner's verdict says "update". A reservation gets more,
 * or is lessened for an equally important reservation, at most once a second. If a spec needs the
 * capacity, a reservation is lessened at any time. */
#ifndef RTF_SPARE_CAPACITY_H
#define RTF_SPARE_CAPACITY_H

#include "request.h"

/* True: the books have changed since spare capacity was shared out. */
bool spare_capacity_is_due(void);

/* Call this when a plugin runs again: the plugin can now be asked for spare capacity. */
void spare_capacity_look_again(void);

/* Shares the spare capacity out. Lessens the reservations that shall have less. Sets `raises` of
 * the reservations that shall have more, and queues these reservations. */
void spare_capacity_share_out(void);

/* Makes the broker's request for more: request->spec is the owner's spec, with the aims
 * (desired-amounts.h) as the largest amounts. request->spare.most is the largest runtime. */
void spare_capacity_ask_for_more(struct request *request);

/* Call this when the broker's request for more is answered. True: the grant has changed. */
bool spare_capacity_has_changed(const struct request *request);

/* Call this when a request for a need is refused. TAKEN: other reservations have given up spare
 * capacity, or a trial (trial.h) begins; in both cases the plugins are asked again. LATER: some of
 * these other reservations are being changed, so the request waits. */
enum taken { TAKEN_NOTHING, TAKEN, TAKEN_LATER };
enum taken spare_capacity_take_back(struct request *request);

#endif
