/* Threads whose reads and writes come before others': I/O priority class RT, level 7. The kernel lets whoever starts others hand it on, and bounds
 * nothing.
 *
 * A thread is named by its id and a time at which it had that: somebody else who has the id is never touched. */
#ifndef RTF_RAISED_H
#define RTF_RAISED_H

#include "way.h"

enum done raised_raise(const struct member *member, char reason[static SERVE_REASON]);

/* Gives it its former priority back. One that has set another one meanwhile keeps that. *uid, if it has not ended: whose it is. */
enum done raised_lower(const struct member *member, uid_t *uid, char reason[static SERVE_REASON]);

/* Whoever of this user, or of all but root, is raised and not held gets that priority: it came to him from one who was. False: *reason,
 * and ETIMEDOUT if they multiply faster than they can be found. */
enum { EVERYBODY = 0 };
bool raised_sweep(uid_t uid, int ioprio, bool (*is_held)(pid_t tid), char reason[static SERVE_REASON]);

#endif
