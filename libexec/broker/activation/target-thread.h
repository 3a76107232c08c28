/* The thread that a spec or a NAME.tid names: whether it is the thread that the owner means, and
 * whether the owner may have it attached. */
#ifndef RTF_TARGET_THREAD_H
#define RTF_TARGET_THREAD_H

#include "request.h"

/* Why a thread cannot be attached. */
#define refuse_thread(request, why, ...)                \
    (request_answer(request, ATTACH_FAIL, __VA_ARGS__), \
     (void)((request)->outcome.refusal.code = (why)))

/* Returns the thread `tid`, to be attached; NULL: the answer says why it cannot be attached. The
 * thread must belong to the owner of the directory. It must not be younger than the file that names
 * it: such a file means an earlier thread with this id, which has ended. */
struct attachment *target_thread(struct request *request, pid_t tid, bool by_file);

/* A NAME.tid of another boot, or of a thread that has ended, could only name a wrong thread later.
 * The reader removes the file. */
void target_is_outlived(struct request *request, bool by_file);

/* *group: the cpuset group to which the thread would be put back, allocated; NULL if no line uses
 * domains. False with errno. */
bool target_group(pid_t tid, char **group);

#endif
