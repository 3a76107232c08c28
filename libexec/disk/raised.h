/* Raises threads. A raised thread has the I/O priority class RT, level 7: its I/O comes before the
 * I/O of other threads. Children inherit the priority, and the kernel does not limit the number of
 * children.
 *
 * A thread is identified by its id and a time at which it had this id. So the functions never
 * change another thread that has got the id. */
#ifndef RTF_RAISED_H
#define RTF_RAISED_H

#include "way.h"

/* Raises the thread. GONE: the thread has ended. REFUSED: *reason. */
enum done raised_raise(const struct member *member, char reason[static SERVE_REASON]);

/* Gives the thread its former priority back, unless the thread has set another priority meanwhile.
 * *uid: the thread's real uid; not set if the thread has ended. */
enum done raised_lower(const struct member *member, uid_t *uid, char reason[static SERVE_REASON]);

/* Gives `ioprio` to every thread of this user that is raised and not held, because such a thread
 * has inherited the raised priority. uid EVERYBODY: the threads of all users but root. False:
 * *reason, with errno ETIMEDOUT if the threads fork faster than they can be found. */
enum { EVERYBODY = 0 };
bool raised_sweep(uid_t uid, int ioprio, bool (*is_held)(pid_t tid),
                  char reason[static SERVE_REASON]);

#endif
