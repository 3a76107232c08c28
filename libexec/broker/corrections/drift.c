#include "drift.h"

#include <stdio.h>

#include "account.h"
#include "attachments.h"
#include "event.h"
#include "plugin-lines.h"
#include "request.h"
#include "resource-cpu.h"
#include "units.h"

enum enforcement attachment_enforcement(const struct attachment *attachment,
                                        const struct attributes *now)
{
    const struct grant *grant = attachment->reservation->grant;
    if (!attachment->guarded || grant == NULL)
        return NOT_ENFORCED;
    const bool can_be = grant->plan.policy != POLICY_DEADLINE || attachment->has_lent;
    return can_be && !policy_is_real_time(now->policy) && now->reset_on_fork ? SUSPENDED : IN_FORCE;
}

bool has_drifted(const struct reservation *reservation)
{
    struct attributes now;
    char cpus[CPU_LIST_TEXT], reason[REASON_BYTES];
    const struct attachment *attachment = reservation->attachment;
    if (!attachment->scheduled || attachment_is_pending(attachment) ||
        (reservation->pending_changes & THREAD_CHANGED) != 0 || request_is_detaching(reservation) ||
        reservation->grant == NULL || !thread_attributes(attachment->tid, &now) ||
        cpu_is_shown(reservation->grant, &now) ||
        attachment_enforcement(attachment, &now) == SUSPENDED)
        return false;
    snprintf(reason, sizeof reason,
             "thread %d does not run as granted: it has %s, priority %d and CPUs %.200s",
             (int)attachment->tid, policy_name(now.policy), now.priority,
             format_cpus(&now.cpus, cpus));
    struct event event = {.stage = "attach",
                          .user = reservation->user,
                          .name = reservation->name,
                          .decision = "warning",
                          .reason = reason,
                          .plugin = plugin_line(reservation->grant->plugin)->name,
                          .tid = attachment->tid,
                          .microseconds = -1};
    (void)event_write_rarely(&event, &reservation->user->account->rare_window,
                             &reservation->user->account->rare_count);
    return true;
}
