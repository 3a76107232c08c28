/* What attached threads do by themselves: they end, wake, call execve, drift from what was granted. */
#ifndef RTF_THREAD_EVENTS_H
#define RTF_THREAD_EVENTS_H

#include "attach.h"
#include "reservation.h"

/* The helper's answer to what it has been told without a request (adjustments.h). */
void thread_events_adjusted(const struct helper_event *event);

/* Those that have drifted from their grants are put back to them. */
void thread_events_check(void);

/* What the guard says; and when it is a new one, which has to hear of all. */
struct guard_event;
void thread_events_guarded(const struct guard_event *event);
void thread_events_guard(void);

/* What has to be done then is somebody else's; before anything is attached. */
struct thread_events {
    void (*examine)(struct reservation *reservation); /* it has ended, or woken */
    void (*recover)(struct reservation *reservation, enum kind kind, const char *reason); /* it is to be made what was granted again, and its owner told why */
};
void thread_events_prepare(const struct thread_events *events);

/* THREAD_CHANGED: has it gone, or does it go on? */
void thread_events_look(struct reservation *reservation);

#endif
