#include "resting.h"

#include <bsd/sys/tree.h>

#include "clock.h"
#include "rest.h"
#include "units.h"

static int waits_less(const struct request *one, const struct request *other)
{
    if (one->rests_until != other->rests_until)
        return one->rests_until < other->rests_until ? -1 : 1;
    return one->wish->task < other->wish->task ? -1 : one->wish->task > other->wish->task; /* one request for a wish */
}

RB_HEAD(waiting_tree, request);
RB_PROTOTYPE(waiting_tree, request, of_rest, waits_less)
RB_GENERATE(waiting_tree, request, of_rest, waits_less)

static struct waiting_tree waiting = RB_INITIALIZER(&waiting);

/* Nobody else has to wait for his turn meanwhile. If the kernel then refuses a change that had one, the grant before comes back if
 * the sums hold, as for plugins that take no turns. */
static void wait_until(struct request *request, int64_t until, enum next rested)
{
    turn_end(request);
    request->rested = rested;
    request->step = STEP_REST;
    request->rests_until = until;
    RB_INSERT(waiting_tree, &waiting, request);
}

bool resting_waits(struct request *request, enum next rested)
{
    if (request->wish->rests_until <= monotonic_now())
        return false;
    wait_until(request, request->wish->rests_until, rested);
    return true;
}

/* At least: a density would be more. */
static uint64_t missing(const struct request *request)
{
    const struct spec *spec = &request->spec;
    uint64_t window = spec->period != 0 ? spec->period : spec->deadline;
    return window == 0 || spec->runtime <= request->nearest ? 0 : utilization(spec->runtime - request->nearest, window);
}

/* Not for less than is missing: a hostile user could give such small parts back all the time. */
bool resting_may_help(struct request *request)
{
    uint64_t needed = missing(request);
    bool by_quota = request->no_plugin < 0;
    if (request->patient || needed == 0 || rest_sum(by_quota) < needed)
        return false;
    request->patient = true;
    wait_until(request, rest_last(by_quota), ASK);
    return true;
}

bool resting_cancel(struct request *request)
{
    if (request->step != STEP_REST || request->rested == DETACH_ON || (request->rested != ASK && request->outcome.kind != ATTACH))
        return false;
    RB_REMOVE(waiting_tree, &waiting, request);
    request_drop(request);
    return true;
}

struct request *resting_over(int64_t now)
{
    struct request *request = RB_MIN(waiting_tree, &waiting);
    if (request == NULL || request->rests_until > now)
        return NULL;
    RB_REMOVE(waiting_tree, &waiting, request);
    return request;
}

int64_t resting_deadline(void)
{
    const struct request *request = RB_MIN(waiting_tree, &waiting);
    return request == NULL ? INT64_MAX : request->rests_until;
}
