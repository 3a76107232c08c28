/* Acts on events of attached threads: a thread ends, wakes, calls execve, or no longer runs as
 * granted. */
#ifndef RTF_THREAD_EVENTS_H
#define RTF_THREAD_EVENTS_H

#include "attach.h"
#include "reservation.h"

/* Takes the helper's answer to an order that belongs to no request (adjustments.h). */
void thread_events_adjusted(const struct helper_event *event);

/* Corrects the threads that no longer run as granted. */
void thread_events_check(void);

/* thread_events_guarded takes an event of the guard. thread_events_guard tells a new guard about
 * all threads that it has to guard. */
struct guard_event;
void thread_events_guarded(const struct guard_event *event);
void thread_events_guard(void);

/* The functions that are called for these events. Call thread_events_prepare before any thread is
 * attached. */
struct thread_events {
    void (*examine)(struct reservation *reservation); /* the thread has ended, or woken */
    /* the grant has to be applied to the thread again; `reason` is a sentence for the owner */
    void (*recover)(struct reservation *reservation, enum kind kind, const char *reason);
};
void thread_events_prepare(const struct thread_events *events);

/* Call this after THREAD_CHANGED. Finds out whether the attached thread has ended, and ends its
 * attachment if so. */
void thread_events_look(struct reservation *reservation);

#endif
