/* Extras: the things that a grant gives its thread beside CPU time and shares (extras.h). The
 * attach helper gives them when the thread is attached, and takes them back when the thread is
 * detached. If several threads of a process have reservations, the largest of their limits of
 * locked memory counts for the process. The kernel has a single value of cpu_latency, so the least
 * value of all reservations counts. */
#ifndef RTF_GIVEN_EXTRAS_H
#define RTF_GIVEN_EXTRAS_H

#include "helper.h"
#include "reservation.h"

/* True: the grant gives its thread extras. */
bool extras_take_thread(const struct grant *grant);

/* Notes the former limit of locked memory of the thread's process. Call this before the thread is
 * recorded in the journal, because the record has this limit. */
void extras_note_former(struct attachment *attachment);

/* extras_are_due: the helper has not yet had the order to give the extras that are granted now.
 * extras_give sends the order, and returns the id that the answer will carry. */
bool extras_are_due(const struct attachment *attachment);
uint64_t extras_give(struct attachment *attachment);

/* Sends the order to take all extras of the thread back, except a limit of locked memory that other
 * attached threads of the process need. Returns the id that the answer will carry; 0: the thread
 * had no extras. */
uint64_t extras_take_back(struct attachment *attachment);

/* Like extras_take_back, for a thread that an earlier broker had attached, and that no reservation
 * has any more. */
void extras_take_back_orphan(struct attachment *orphan, const struct extras *granted);

/* Takes the answer to an order for extras. Call this if no request waits for the answer. */
void extras_answered(const struct helper_event *event);

/* Sends the orders again to an attach helper that was started again. */
void extras_say_again(void);

#endif
