/* Spare capacity (desired-amounts.h): the broker shares out free capacity, and takes it back when a
 * need wants it.
 *
 * A reservation is lessened at once: no plugin can refuse this, the books change, and the helpers
 * hear of the lessened reservation before the one that gets more. For more, the broker asks as for
 * a change that the owner has written. Both are an update in the owner's verdict. A reservation
 * gets more, or gets less for an equally important one, at most once a second. For a need, capacity
 * is taken back at any time. */
#ifndef RTF_SPARE_CAPACITY_H
#define RTF_SPARE_CAPACITY_H

#include "request.h"

/* True if the books have changed since spare capacity was shared out. */
bool spare_capacity_is_due(void);

/* A plugin runs again: now it can be asked for spare capacity. */
void spare_capacity_look_again(void);

/* Shares the spare capacity out: lessens the reservations that shall have less, sets `raises` of the
 * reservations that shall have more, and queues these. */
void spare_capacity_share_out(void);

/* Makes request->spec: the owner's spec, with desired amounts as large as the aims. */
void spare_capacity_ask_for_more(struct request *request);

/* The request for more is answered. True if the grant has changed. */
bool spare_capacity_has_changed(const struct request *request);

/* A request for a need is refused. TAKEN: others have given up their surplus, or a trial begins;
 * the plugins are asked again. LATER: some of the others are being changed, and the request
 * waits. */
enum taken { TAKEN_NOTHING, TAKEN, TAKEN_LATER };
enum taken spare_capacity_take_back(struct request *request);

#endif
