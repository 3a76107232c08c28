/* The things that attached threads have beside CPU time, by the attach helper (extras.h): from the time when a
 * thread is attached until it is let go. A process's limit of locked memory is the largest that its
 * threads' reservations state. The kernel has one value of cpu_latency, the least of all. */
#ifndef RTF_GIVEN_EXTRAS_H
#define RTF_GIVEN_EXTRAS_H

#include "helper.h"
#include "reservation.h"

/* The grant gives its thread something beside CPU time and shares. */
bool extras_take_thread(const struct grant *grant);

/* Notes the former limit of the thread's process. Call this before the journal gets the record of
 * the thread. */
void extras_note_former(struct attachment *attachment);

/* extras_are_due: the helper has not had the order to give what is granted now. extras_give gives
 * the order, and returns the id of the answer. */
bool extras_are_due(const struct attachment *attachment);
uint64_t extras_give(struct attachment *attachment);

/* Takes back all that was given. Returns the id of the answer; 0: nothing was given. The process
 * keeps what other attached threads of it have. */
uint64_t extras_take_back(struct attachment *attachment);

/* The same for a thread that an earlier broker had attached, and that no reservation has any more. */
void extras_take_back_orphan(struct attachment *orphan, const struct extras *granted);

/* The answer to an order for which no request waited. */
void extras_answered(const struct helper_event *event);

/* Tells a helper that was started again. */
void extras_say_again(void);

#endif
