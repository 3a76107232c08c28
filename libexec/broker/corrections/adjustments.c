#include "adjustments.h"

#include "attach.h"
#include "attachments.h"
#include "grants.h"
#include "guard.h"
#include "memory.h"
#include "request.h"

static struct adjustment *adjustments;

static struct adjustment *expect(const struct reservation *reservation, uint64_t id)
{
    struct adjustment *adjusting = allocate(sizeof *adjusting);
    adjusting->id = id;
    adjusting->task = reservation->task;
    adjusting->tid = reservation->attachment->tid;
    adjusting->process = reservation->attachment->process;
    adjusting->former = reservation->attachment->former;
    adjusting->started_by = reservation->attachment->started_by;
    HASH_ADD(hh, adjustments, id, sizeof adjusting->id, adjusting);
    return adjusting;
}

void adjustments_expect(const struct reservation *reservation, uint64_t id, const char *told)
{
    expect(reservation, id)->told = told;
}

void adjustments_watch(struct reservation *reservation)
{
    timer_end(&reservation->attachment->to_watch);
    expect(reservation, attach_watch(reservation->attachment))->watch = true;
}

void adjustments_guard_again(struct reservation *reservation)
{
    if (reservation->attachment == NULL || reservation->grant == NULL ||
        request_is_detaching(reservation) || attachment_is_pending(reservation->attachment))
        return;
    if (grant_is_enforced(reservation->grant))
        adjustments_expect(reservation, attach_budget(reservation->attachment, reservation->grant),
                           NULL);
    else
        guard_begin(reservation->attachment, reservation->grant, -1, true);
}

void adjustments_count(struct reservation *reservation)
{
    if (!request_is_detaching(reservation) && !attachment_is_pending(reservation->attachment) &&
        reservation->grant->plan.policy == POLICY_DEADLINE)
        expect(reservation, attach_count(reservation->attachment, reservation->grant))->count =
            true;
}

bool is_adjusted(const struct attachment *attachment)
{
    const struct adjustment *adjusting = adjustments;
    while (adjusting != NULL &&
           (adjusting->watch || adjusting->count || adjusting->tid != attachment->tid))
        adjusting = adjusting->hh.next;
    return adjusting != NULL;
}

struct adjustment *adjustments_take(uint64_t id)
{
    struct adjustment *adjusting;
    HASH_FIND(hh, adjustments, &id, sizeof id, adjusting);
    if (adjusting != NULL)
        HASH_DEL(adjustments, adjusting);
    return adjusting;
}
