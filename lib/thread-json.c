#include "thread-json.h"

#include <unistd.h>

#include "units.h"

bool thread_look_at(pid_t tid, struct identity *identity, struct attributes *attributes)
{
    return thread_identify(tid, identity) && !identity->kernel && !identity->ended &&
           thread_attributes(tid, attributes);
}

json_t *thread_as_json(const struct identity *identity, const struct attributes *attributes)
{
    char cpus[CPU_LIST_TEXT];
    return json_pack("{s:i, s:i, s:i, s:I, s:I, s:s, s:b, s:i, s:i, s:I, s:I, s:I, s:b, s:b, s:s}",
                     "tid", (int)identity->tid, "process", (int)identity->process, "session",
                     (int)getsid(identity->process), "start", (json_int_t)identity->start, "uid",
                     (json_int_t)identity->real_uid, "policy", policy_name(attributes->policy),
                     "reset_on_fork", attributes->reset_on_fork, "priority", attributes->priority,
                     "nice", attributes->nice, "runtime", (json_int_t)attributes->runtime,
                     "deadline", (json_int_t)attributes->deadline, "period",
                     (json_int_t)attributes->period, "reclaim", attributes->reclaim,
                     "overrun_signal", attributes->overrun_signal, "cpus",
                     format_cpus(&attributes->cpus, cpus));
}
