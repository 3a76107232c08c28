/* Spare capacity in force (desired-amounts.h): what has come free is shared out, and what somebody needs is taken back.
 *
 * Less is had at once: nobody can refuse it, the books say so, and helpers are told before they hear of whoever is granted it. More is asked for
 * like a change that the owner has written. Each of both is an update in the owner's verdict. A reservation is given more, or less in favour of an
 * equal, at most once a second; for what is needed it is taken back at any time. */
#ifndef RTF_SPARE_CAPACITY_H
#define RTF_SPARE_CAPACITY_H

#include "request.h"

/* Something has changed in the books since all was shared out. */
bool spare_capacity_is_due(void);

/* A plugin is back: what it could not be asked for then may be had now. */
void spare_capacity_look_again(void);

/* Takes back what others are to have instead, and calls reservation_queue for those that are to have more: reservation->raises. */
void spare_capacity_share_out(void);

/* What its owner has asked for, with as much of it as is to be had now, into request->spec. */
void spare_capacity_ask_for_more(struct request *request);

/* The request that asked for more has been answered: has the reservation got anything else than it had? */
bool spare_capacity_has_changed(const struct request *request);

/* What is needed is refused. TAKEN: others have given up for it what they do not need, and it is to be asked again. LATER: the same, but some of them
 * are being changed right now, and the request waits. */
enum taken { TAKEN_NOTHING, TAKEN, TAKEN_LATER };
enum taken spare_capacity_take_back(struct request *request);

#endif
