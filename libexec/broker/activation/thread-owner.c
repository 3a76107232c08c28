#include "thread-owner.h"

/* A hint for users who write a thread's number into a spec by hand, in a container. */
#define OTHER_NAMESPACE \
    "; if the number is that of a pid namespace (a container), rtf attach, rtf-run and librtf in there find the right thread"

bool thread_is_anothers(struct request *request, pid_t tid, const struct identity *identity)
{
    const uid_t uid = request->reservation->user->uid;
    if (identity->kernel)
        refuse_thread(request, WHY_NO_USER_THREAD, "thread %d is a kernel thread" OTHER_NAMESPACE,
                      (int)tid);
    else if (!thread_is_of(identity, uid))
        refuse_thread(
            request, WHY_NOT_YOURS,
            "thread %d is not yours: it runs as uid %u (effective %u, saved %u, for files %u), you are %u%s",
            (int)tid, identity->real_uid, identity->effective_uid, identity->saved_uid,
            identity->files_uid, uid, identity->real_uid == 0 ? OTHER_NAMESPACE : "");
    else
        return false;
    return true;
}
