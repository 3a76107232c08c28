#include "thread-rank.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "thread.h"

bool rank_is(pid_t tid, int priority)
{
    struct sched_param now;
    return priority < 0 ||
           (sched_getparam(tid, &now) == 0 && RT_PRIORITIES - 1 - now.sched_priority == priority);
}

int rank_in_force(pid_t tid)
{
    char path[64], text[512] = "";
    int priority = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
    FILE *file = fopen(path, "re");
    if (file != NULL && fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    if (file != NULL)
        fclose(file);
    const char *rest = strrchr(text, ')');
    if (rest == NULL ||
        sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %d",
               &priority) != 1)
        return RT_PRIORITIES;
    return priority + RT_PRIORITIES;
}

bool rank_is_boosted(pid_t tid)
{
    struct attributes now;
    const int priority = rank_in_force(tid);
    if (priority >= RT_PRIORITIES || !thread_attributes(tid, &now))
        return false;
    const int own = now.policy == POLICY_DEADLINE     ? -1
                    : policy_is_real_time(now.policy) ? RT_PRIORITIES - 1 - now.priority
                                                      : RT_PRIORITIES;
    return priority < own;
}
