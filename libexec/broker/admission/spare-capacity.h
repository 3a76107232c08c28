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

/* A plugin runs again: it may grant spare capacity for which it could not be asked. */
void spare_capacity_look_again(void);

/* Shares the spare capacity out: lessens the reservations that shall have less, sets `raises` of the
 * reservations that shall have more, and queues these. */
void spare_capacity_share_out(void);

/* Makes request->spec: what the owner has asked for, with as much of the desired amounts as the
 * aims say. */
void spare_capacity_ask_for_more(struct request *request);

/* The request that asked for more is answered. True if the reservation has something else than
 * before. */
bool spare_capacity_has_changed(const struct request *request);

/* A request for what is needed is refused. TAKEN: others have given up what they do not need, or a
 * trial begins; the request is asked again. LATER: some of the others are being changed, and the
 * request waits. */
enum taken { TAKEN_NOTHING, TAKEN, TAKEN_LATER };
enum taken spare_capacity_take_back(struct request *request);

#endif
