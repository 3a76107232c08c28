#include "orphans.h"

#include <errno.h>
#include <string.h>

#include "attach.h"
#include "attachments.h"
#include "execve.h"
#include "given-extras.h"
#include "journal.h"
#include "thread.h"

static struct attachment recorded_attachment(const struct recorded_reservation *recorded)
{
    return (struct attachment){.tid = recorded->tid,
                               .process = recorded->process,
                               .started_by = recorded->started_by,
                               .former = recorded->former,
                               .group = recorded->group,
                               .former_lock = recorded->former_lock,
                               .whole = recorded->grant.spec.budget_process,
                               .pidfd = -1,
                               .watch = -1};
}

/* Takes back the extras that the thread of a record has beside CPU time. */
static void take_back_from_orphan(const struct recorded_reservation *recorded)
{
    struct helper_event last;
    struct attachment orphan = recorded_attachment(recorded);
    if (!recorded->attached || recorded->laid_down || !extras_any(&recorded->grant.spec.extras))
        return;
    orphan.scheduled = strcmp(recorded->plugin, NO_PLUGIN_NAME) != 0;
    extras_take_back_orphan(&orphan, &recorded->grant.spec.extras);
    (void)attach_drain(5, &last);
}

void orphan_restore(struct recorded_reservation *recorded)
{
    struct helper_event last;
    struct attachment orphan = recorded_attachment(recorded);
    take_back_from_orphan(recorded);
    recorded->orphan =
        recorded->attached && !recorded->laid_down && strcmp(recorded->plugin, NO_PLUGIN_NAME) != 0;
    if (!recorded->orphan || attachment_find(recorded->tid) != NULL)
        return;
    if (thread_is(recorded->tid, recorded->started_by) || errno != ESRCH)
        (void)attach_restore(&orphan);
    else if (orphan.whole)
        /* processes that the thread has started may still be real-time */
        (void)attach_sweep(&orphan);
    else
        return;
    /* the broker can wait for the answer here: the journal still has the thread, and no reservation
     * of another user has asked for the thread yet */
    (void)attach_drain(5, &last);
}

void orphans_follow(const struct recorded_state *state)
{
    struct helper_event last;
    for (int i = 0; i < state->count; i++) {
        struct attachment orphan = recorded_attachment(&state->reservations[i]);
        if (state->reservations[i].orphan && orphan.tid != orphan.process &&
            attachment_is_over(&orphan))
            execve_late(NULL, NULL, &orphan);
    }
    (void)attach_drain(5, &last);
    execve_drained();
}
