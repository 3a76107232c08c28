/* What attached threads do by themselves: they end, wake, call execve, drift from what was granted. */
#ifndef RTF_THREADS_H
#define RTF_THREADS_H

#include "attach.h"
#include "wish.h"

/* What the helper has been told without a request, with its id: a thread has to follow what a plugin has moved (tell: its
 * owner hears of it when it has). And the helper's answer to that, and to threads_watch. */
void threads_expect(const struct wish *wish, uint64_t id, bool tell);
void threads_adjusted(const struct helper_event *event);

/* From the answer on, the end of the thread is told, and its execve, whatever it did before. */
void threads_watch(struct wish *wish);

/* Those that have drifted from their grants are put back to them. */
void threads_check(void);

/* What the guard says; and when it is a new one, which has to hear of all. */
struct guard_event;
void threads_guarded(const struct guard_event *event);
void threads_guard(void);

/* Nobody has an eye on what it uses, or lends, any more. */
void threads_guard_again(struct wish *wish);

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
