#include "adjusting.h"

#include "attach.h"
#include "attachments.h"
#include "guard.h"
#include "memory.h"
#include "request.h"

static struct adjusting *adjustments;

static struct adjusting *expect(const struct wish *wish, uint64_t id)
{
    struct adjusting *adjusting = allocate(sizeof *adjusting);
    adjusting->id = id;
    adjusting->task = wish->task;
    adjusting->tid = wish->attachment->tid;
    adjusting->process = wish->attachment->process;
    adjusting->former = wish->attachment->former;
    adjusting->started_by = wish->attachment->started_by;
    HASH_ADD(hh, adjustments, id, sizeof adjusting->id, adjusting);
    return adjusting;
}

void adjusting_expect(const struct wish *wish, uint64_t id, bool tell)
{
    expect(wish, id)->tell = tell;
}

void adjusting_watch(struct wish *wish)
{
    attachment_watch_begun(wish->attachment);
    expect(wish, helper_watch(wish->attachment))->watch = true;
}

void adjusting_guard_again(struct wish *wish)
{
    if (wish->attachment == NULL || wish->grant == NULL || is_being_detached(wish) || wish->attachment->pending)
        return;
    if (guard_enforces(wish->grant))
        adjusting_expect(wish, helper_budget(wish->attachment, wish->grant), false);
    else
        guard_begin(wish->attachment, wish->grant, -1, true);
}

bool is_adjusted(const struct attachment *attachment)
{
    const struct adjusting *adjusting = adjustments;
    while (adjusting != NULL && (adjusting->watch || adjusting->tid != attachment->tid))
        adjusting = adjusting->hh.next;
    return adjusting != NULL;
}

struct adjusting *adjusting_take(uint64_t id)
{
    struct adjusting *adjusting;
    HASH_FIND(hh, adjustments, &id, sizeof id, adjusting);
    if (adjusting != NULL)
        HASH_DEL(adjustments, adjusting);
    return adjusting;
}
