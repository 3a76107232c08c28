/* execve(2) by a thread that does not lead its process: all other threads end, and the thread goes
 * on under the leader's id, as real-time as before. Its attachment ends, and the leader's, too; the
 * new program is made ordinary. An attached thread leaves its id in no other way. So the broker
 * looks for real-time threads that are in no books there only: other real-time threads of a process
 * are left alone.
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

/* True: after an execve(2), this thread could not be told from the leader of its process, which is
 * real-time with reset-on-fork by other means than a grant. */
bool leader_is_alike(const struct identity *identity);

/* *former is what a thread shows that somebody wants to have attached. If that is what another
 * attachment has given it, and nobody has noticed yet, what it was before that. */
void execve_former(const struct identity *identity, struct attributes *former);

/* The attached thread's id has ended. True: the thread has become the first one of its process, by
 * execve(2), and is put back. */
bool execve_exec(const struct reservation *reservation);

/* The attached first thread has ended, and another thread of its process has its id. The new
 * thread is put back if it has the grant of either thread, or if the attach helper has an order to
 * give it one (is_adjusted). */
void execve_replaced(const struct reservation *reservation, bool is_adjusted);

/* The thread belongs to no reservation any more: it gets its former attributes back, and the log
 * says so. */
void execve_put_back(const struct user *user, const char *name, struct attachment *attachment);

/* The helper has changed a thread that had been let go meanwhile, or may have: should it have gone
 * on under the leader's id, it is put back. */
void execve_late(const struct user *user, const char *name, const struct attachment *ended);

/* At the broker's end, when all have been put back: and who went on under another's id since
 * then. */
void execve_to_the_end(const struct user *user, const char *name, const struct attachment *ended);

/* The helper's answer to one of these. False: it is about something else. */
bool execve_answered(const struct helper_event *event);

/* All answers have come, and been dropped (helper_drain). */
void execve_drained(void);

#endif
