/* execve(2) by a thread that does not lead its process: all other threads end, and it goes on under the leader's id, as real-time as
 * it was. With that its attachment ends, and the leader's, if there is one: what the process has become is made ordinary. It is
 * the only way in which a thread of ours leaves its id, so what may be in nobody's books is looked for there and
 * nowhere else: other threads of a process that are real-time are somebody else's, and are left alone.
 *
 * Whoever has the leader's id then is taken for ours if he is real-time and marked reset-on-fork: every grant carries that mark, an owner
 * cannot take it off, and a leader that has it from somebody else was reason not to attach. He is not, where the watch of the thread
 * that we had (libexec/attach/task-events.h) has seen that it ended without an execve. */
#ifndef RTF_EXECVE_H
#define RTF_EXECVE_H

#include "attach.h"
#include "reservation.h"

/* After an execve(2) of this thread it could not be told from the leader of its process, which lives, and is real-time and marked
 * reset-on-fork by others' doing. */
bool leader_is_alike(const struct identity *identity);

/* *former is what a thread shows that somebody wants to have attached. If that is what another attachment has given it, and nobody has
 * noticed yet, what it was before that. */
void execve_former(const struct identity *identity, struct attributes *former);

/* The attached thread's id has ended. True: the thread itself went on as its process's first, and is put back. */
bool execve_exec(const struct reservation *reservation);

/* The attached first thread has ended, and another of its process has its id. If that has what was granted to either, or has been made so
 * meanwhile (is_adjusted: the helper has been told to), it is put back. */
void execve_replaced(const struct reservation *reservation, bool is_adjusted);

/* Nobody answers for the attached thread any more: it gets its former attributes back, and the log says so. */
void execve_put_back(const struct user *user, const char *name, struct attachment *attachment);

/* The helper has changed a thread that had been let go meanwhile, or may have: should it have gone on under the leader's id, it is put back. */
void execve_late(const struct user *user, const char *name, const struct attachment *ended);

/* At the broker's end, when all have been put back: and who went on under another's id since then. */
void execve_to_the_end(const struct user *user, const char *name, const struct attachment *ended);

/* The helper's answer to one of these. False: it is about something else. */
bool execve_answered(const struct helper_event *event);

/* All answers have come, and been dropped (helper_drain). */
void execve_drained(void);

#endif
