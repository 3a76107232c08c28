#include "second-reservation.h"

#include <stdio.h>

#include "attachments.h"
#include "cgroup.h"
#include "grants.h"
#include "plugin-lines.h"

/* Returns the process whose group (lib/process-budget.h) has the thread as a member; 0: there is no
 * such process. *started_by: the process began at this time or earlier (thread.h). */
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

bool second_reservation_is_shared(pid_t tid)
{
    unsigned long long started_by = 0;
    const pid_t process = group_of(tid, &started_by);
    const struct attachment *found = process == 0 ? NULL : attachment_find(process);
    return found != NULL && found->started_by == started_by && found->whole;
}

/* Returns the process with which the thread shares a runtime; 0: there is no such process. Sets
 * *with to the attachment of this process; NULL: the attachment has just ended, and the helper is
 * about to empty the process's group. Looks at the table of attachments first, because the helper
 * may not have made the group yet. */
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

static bool process_is_free(const struct reservation *reservation, pid_t process,
                            char reason[static REASON_BYTES])
{
    const struct attachment *other = attachment_within(process, is_fixed_priority);
    if (other == NULL || other->reservation == reservation)
        return true;
    snprintf(reason, REASON_BYTES,
             "thread %d of process %d is attached to another reservation already: with \"budget\": "
             "\"process\" only a SCHED_DEADLINE thread can have its own reservation",
             (int)other->tid, (int)process);
    return false;
}

bool second_reservation_allows(const struct reservation *reservation,
                               const struct identity *identity, struct attributes *former,
                               char reason[static REASON_BYTES])
{
    const struct attachment *with;
    const pid_t process = sharing_with(identity, &with);
    const bool is_others = process != 0 && with != NULL && with->reservation != reservation;
    if ((process != 0 && with == NULL) || (is_others && is_fixed_priority(reservation))) {
        snprintf(reason, REASON_BYTES,
                 "thread %d shares the runtime of process %d (\"budget\": \"process\"), %s",
                 (int)identity->tid, (int)process,
                 with == NULL ? "whose reservation has just ended"
                              : "which has another reservation: the thread can have its own only "
                                "under SCHED_DEADLINE");
        return false;
    }
    if (process != 0) {
        const int nice = former->nice;
        *former = with->former;
        former->nice = nice;
    }
    return !reservation->grant->spec.budget_process ||
           process_is_free(reservation, identity->process, reason);
}
