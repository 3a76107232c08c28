#include "shared-runtime.h"

#include <stdio.h>

#include "attachments.h"
#include "cgroup.h"
#include "grants.h"
#include "plugin-lines.h"
#include "target-thread.h"

/* Returns the process whose group has the thread as a member; 0: there is none. *started_by: of the
 * process (thread.h). */
static pid_t group_of(pid_t tid, unsigned long long *started_by)
{
    char path[GROUP_BYTES];
    pid_t process = 0;
    int length = 0;
    return plugins_have_processes() && thread_group(CGROUPS_V1, "perf_event", tid, path) &&
                   sscanf(path, "/rtf-%d.%llu%n", &process, started_by, &length) == 2 &&
                   path[length] == '\0'
               ? process
               : 0;
}

/* Returns the process with which the thread shares a runtime; 0: there is none. *with: the
 * attachment of this process; NULL: it has just ended, and the helper is about to empty the group.
 * The helper may not have made the group yet. */
static pid_t sharing_with(const struct identity *identity, const struct attachment **with)
{
    unsigned long long started_by = 0;
    const struct attachment *own = attachment_find(identity->process);
    if (own != NULL && own->whole && identity->tid != identity->process) {
        *with = own;
        return identity->process;
    }
    const pid_t process = group_of(identity->tid, &started_by);
    const struct attachment *found = process == 0 ? NULL : attachment_find(process);
    *with = found != NULL && found->started_by == started_by && found->whole ? found : NULL;
    return process;
}

static bool is_fixed_priority(const struct reservation *reservation)
{
    return reservation->grant != NULL && grant_schedules(reservation->grant) &&
           reservation->grant->plan.policy != POLICY_DEADLINE;
}

static bool refuse(struct request *request, pid_t tid, pid_t process, const char *which)
{
    refuse_thread(request, WHY_ATTACHED_ELSEWHERE,
                  "thread %d shares the runtime of process %d (\"budget\": \"process\"), %s",
                  (int)tid, (int)process, which);
    return false;
}

static bool process_is_free(struct request *request, pid_t process)
{
    const struct attachment *other = attachment_within(process, is_fixed_priority);
    if (other == NULL || other->reservation == request->reservation)
        return true;
    refuse_thread(request, WHY_ATTACHED_ELSEWHERE,
                  "thread %d of process %d is attached to another reservation already: with "
                  "\"budget\": \"process\" a thread has one of its own only under SCHED_DEADLINE",
                  (int)other->tid, (int)process);
    return false;
}

bool shared_runtime_allows(struct request *request, const struct identity *identity,
                           struct attributes *former)
{
    const struct reservation *reservation = request->reservation;
    const struct attachment *with;
    const pid_t tid = identity->tid, process = sharing_with(identity, &with);
    if (process != 0 && with == NULL)
        return refuse(request, tid, process, "whose reservation has just ended");
    if (process != 0 && with->reservation != reservation && is_fixed_priority(reservation))
        return refuse(request, tid, process,
                      "which has another reservation: the thread can have its own only under "
                      "SCHED_DEADLINE");
    if (process != 0) {
        const struct attributes now = *former;
        *former = with->former;
        former->nice = now.nice;
        former->reset_on_fork = now.reset_on_fork;
    }
    return !reservation->grant->spec.budget_process || process_is_free(request, identity->process);
}
