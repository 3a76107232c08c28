/* Replaces libc's calls with which a program reads policies, priorities and limits (LD_PRELOAD). */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "asked.h"
#include "libc.h"

/* True: the thread has a reservation, and the program asked for *policy and *priority. So a program
 * that compares finds the values that it asked for; chrt(1) shows the kernel's values. */
static bool reads_back(pid_t thread, int *policy, int *priority)
{
    const int now = policy_of(thread);
    return now >= 0 && is_fixed(now) && (now & SCHED_RESET_ON_FORK) != 0 &&
           asked_recall(thread, policy, priority);
}

int sched_getscheduler(pid_t pid)
{
    const int before = errno;
    int policy, priority;
    if (pid >= 0 && reads_back(id_of(pid), &policy, &priority))
        return policy;
    errno = before;
    return policy_of(pid);
}

int sched_getparam(pid_t pid, struct sched_param *param)
{
    const int before = errno;
    int policy, priority;
    if (pid >= 0 && param != NULL && reads_back(id_of(pid), &policy, &priority)) {
        param->sched_priority = priority;
        return 0;
    }
    errno = before;
    return LIBC(sched_getparam)(pid, param);
}

/* Asks the kernel, because libc returns the values that it was told last, and knows nothing of
 * reservations. */
int pthread_getschedparam(pthread_t target_thread, int *policy, struct sched_param *param)
{
    const pid_t id = id_of_pthread(target_thread);
    const int before = errno;
    if (id <= 0)
        return ESRCH;
    const int now = sched_getscheduler(id);
    const bool known = now >= 0 && sched_getparam(id, param) == 0;
    errno = before;
    if (!known)
        return LIBC(pthread_getschedparam)(target_thread, policy, param);
    *policy = now;
    return 0;
}

/* Reports no limit of priorities, because some programs ask for no priority above RLIMIT_RTPRIO.
 * Here the rules of rtf decide, and not this limit. */
int getrlimit(__rlimit_resource_t resource, struct rlimit *rlimits)
{
    const int result = LIBC(getrlimit)(resource, rlimits);
    if (result == 0 && resource == RLIMIT_RTPRIO)
        rlimits->rlim_cur = rlimits->rlim_max = HIGHEST;
    return result;
}

int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *rlimits)
{
    const int result = LIBC(getrlimit64)(resource, rlimits);
    if (result == 0 && resource == RLIMIT_RTPRIO)
        rlimits->rlim_cur = rlimits->rlim_max = HIGHEST;
    return result;
}
