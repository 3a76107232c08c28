/* Threads that call execve(2). If a thread that does not lead its process calls execve(2), all
 * other threads of the process end. The calling thread gets the leader's id, and is as real-time as
 * before. The attachments of both threads end, and the broker makes the thread that runs the new
 * program ordinary.
 *
 * This is the only way in which an attached thread loses its id. So the broker looks for a
 * real-time thread without an attachment only under the leader's id, and leaves other real-time
 * threads of a process alone. Each grant sets the flag reset-on-fork, which an owner cannot clear.
 * So if the thread under the leader's id is real-time with this flag, the broker takes it for the
 * attached thread. A leader that has these attributes without a grant would be mistaken for the
 * attached thread. So the broker attaches no thread of a process with such a leader
 * (leader_is_alike). If the watch of the attached thread (libexec/attach/task-events.h) saw the
 * thread end without an execve, the thread under the leader's id is another thread. */
#ifndef RTF_EXECVE_H
#define RTF_EXECVE_H

#include "attach.h"
#include "reservation.h"

/* True: the leader of the thread's process is real-time with reset-on-fork, and not by a grant.
 * After an execve(2) the broker could not tell the leader from the thread, so the thread must not
 * be attached. */
bool leader_is_alike(const struct identity *identity);

/* Call this with *former: the present attributes of a thread that is about to be attached. The
 * thread may have these attributes from the grant of another attachment, whose end the broker has
 * not noticed yet. Then *former becomes the attributes before that grant. */
void execve_former(const struct identity *identity, struct attributes *former);

/* Call this when no thread has the attached thread's id any more. True: by execve(2) the thread has
 * got the leader's id, and gets its former attributes back. False: the thread has ended, or the
 * thread under the leader's id is attached. */
bool execve_exec(const struct reservation *reservation);

/* Call this when the attached first thread of a process has ended, and another thread of the
 * process has its id. This other thread gets former attributes back if it has the grant of either
 * thread, or if the attach helper still has the order to apply a grant to it (is_adjusted). */
void execve_replaced(const struct reservation *reservation, bool is_adjusted);

/* Restores the former attributes of a thread that no longer belongs to any reservation, and logs a
 * warning. */
void execve_put_back(const struct user *user, const char *name, struct attachment *attachment);

/* Call this when the helper may have changed a thread after the broker had detached the thread. If
 * the thread has got the leader's id by execve(2), it gets its former attributes back. */
void execve_late(const struct user *user, const char *name, const struct attachment *ended);

/* Like execve_late, at the broker's end: for a thread that has got the leader's id after the broker
 * had made all threads ordinary. */
void execve_to_the_end(const struct user *user, const char *name, const struct attachment *ended);

/* Takes the helper's answer to an order of this file. False: the answer belongs to another
 * order. */
bool execve_answered(const struct helper_event *event);

/* Call this after helper_drain, which has taken and dropped the answers to all orders. */
void execve_drained(void);

#endif
