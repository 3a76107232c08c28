/* execve(2) by a thread that does not lead its process: all other threads end, and the thread goes
 * on under the leader's id, as real-time as before. The attachments of both threads end, and the
 * broker makes the new program ordinary. An attached thread leaves its id in no other way. So the
 * broker looks for a real-time thread without an attachment only under the leader's id: it leaves
 * other real-time threads of a process alone.
 *
 * The thread under the leader's id counts as the attached one if it is real-time with
 * reset-on-fork: each grant sets this flag, an owner cannot clear it, and a leader that has the
 * flag from elsewhere cannot be attached. If the watch of the attached thread
 * (libexec/attach/task-events.h) saw the thread end without an execve, the thread under the
 * leader's id is another one. */
#ifndef RTF_EXECVE_H
#define RTF_EXECVE_H

#include "attach.h"
#include "reservation.h"

/* True: the leader of the thread's process is real-time with reset-on-fork, and not by a grant. So
 * after an execve(2) the broker could not tell the two threads apart. */
bool leader_is_alike(const struct identity *identity);

/* *former: the present attributes of a thread that is about to be attached. If the thread has them
 * from the grant of another attachment, which has not been noticed yet, *former becomes the
 * attributes before that grant. */
void execve_former(const struct identity *identity, struct attributes *former);

/* The attached thread's id has ended. True: the thread has become the first thread of its process,
 * by execve(2), and gets its former attributes back. */
bool execve_exec(const struct reservation *reservation);

/* The attached first thread has ended, and another thread of its process has its id. The new thread
 * gets former attributes back if it has the grant of either thread, or if the attach helper still
 * has the order to apply a grant to it (is_adjusted). */
void execve_replaced(const struct reservation *reservation, bool is_adjusted);

/* The thread belongs to no reservation any more: it gets its former attributes back, and the log
 * says so. */
void execve_put_back(const struct user *user, const char *name, struct attachment *attachment);

/* The helper has changed, or may have changed, a thread after the broker had detached it. If the
 * thread goes on under the leader's id, it gets its former attributes back. */
void execve_late(const struct user *user, const char *name, const struct attachment *ended);

/* At the broker's end, when all threads are ordinary: the same for a thread that has taken over the
 * leader's id since then. */
void execve_to_the_end(const struct user *user, const char *name, const struct attachment *ended);

/* The helper's answer to an order of this file. False: the answer belongs to another order. */
bool execve_answered(const struct helper_event *event);

/* helper_drain has taken and dropped all answers. */
void execve_drained(void);

#endif
