/* What attached threads do by themselves: they end, wake, call execve, drift from what was granted. */
#ifndef RTF_THREADS_H
#define RTF_THREADS_H

#include "attach.h"
#include "wish.h"

/* The helper's answer to what it has been told without a request (adjusting.h). */
void threads_adjusted(const struct helper_event *event);

/* Those that have drifted from their grants are put back to them. */
void threads_check(void);

/* What the guard says; and when it is a new one, which has to hear of all. */
struct guard_event;
void threads_guarded(const struct guard_event *event);
void threads_guard(void);

/* What has to be done then is somebody else's; before anything is attached. */
struct thread_events {
    void (*examine)(struct wish *wish); /* it has ended, or woken */
    void (*recover)(struct wish *wish, enum kind kind, const char *reason); /* it is to be made what was granted again, and its owner told why */
};
void threads_prepare(const struct thread_events *events);

/* The task has ended. */
void threads_ended(struct attachment *attachment);

/* Its task has ended (hung_up), whoever has the id now; or it has woken, or called execve. */
void threads_watched(struct attachment *attachment, bool hung_up);

/* wish->exited: has it gone, or does it go on? */
void threads_look(struct wish *wish);

/* Those of which it cannot be told yet are looked at again. */
int64_t threads_deadline(void);
void threads_expire(int64_t now);

#endif
