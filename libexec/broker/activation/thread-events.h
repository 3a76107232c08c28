/* Events of attached threads: a thread ends, wakes, calls execve, or drifts from its grant. */
#ifndef RTF_THREAD_EVENTS_H
#define RTF_THREAD_EVENTS_H

#include "attach.h"
#include "reservation.h"

/* The helper's answer to an order that no request has given (adjustments.h). */
void thread_events_adjusted(const struct helper_event *event);

/* Corrects the threads that have drifted from their grants. */
void thread_events_check(void);

/* An event of the guard; and the start of a new guard, which has to hear of all guarded threads. */
struct guard_event;
void thread_events_guarded(const struct guard_event *event);
void thread_events_guard(void);

/* The stages that act on these events. Call it before any thread is attached. */
struct thread_events {
    void (*examine)(struct reservation *reservation); /* the thread has ended, or woken */
    /* the grant has to be applied to the thread again; `reason` is for the owner */
    void (*recover)(struct reservation *reservation, enum kind kind, const char *reason);
};
void thread_events_prepare(const struct thread_events *events);

/* After THREAD_CHANGED: finds out whether the attached thread has ended. */
void thread_events_look(struct reservation *reservation);

#endif
