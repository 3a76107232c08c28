#include "process-owner.h"

#include <stdio.h>

#include "thread.h"

const char *not_to_be_watched(pid_t pid, uid_t uid, int64_t *started)
{
#define OTHER_NAMESPACE \
    "; if the number is that of a pid namespace (a container), rtf attach, rtf-run and librtf in there find the right process"
    struct identity identity;
    if (!thread_identify(pid, &identity) || identity.process != pid || identity.ended)
        return "there is no such process";
    if (identity.kernel)
        return "the process is a kernel thread" OTHER_NAMESPACE;
    *started = thread_started(&identity);
    if (thread_is_of(&identity, uid))
        return NULL;
    return identity.real_uid == 0 ? "the process is not yours" OTHER_NAMESPACE
                                  : "the process is not yours";
}

/* Reads the owner of a process. A directory in /proc belongs to the user and group of the
 * process. */
bool look_at_owner(pid_t pid, struct stat *status)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return stat(path, status) == 0;
}
