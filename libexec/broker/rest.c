#include "rest.h"

#include "units.h"

static TAILQ_HEAD(, request) waiting = TAILQ_HEAD_INITIALIZER(waiting);
static int64_t earliest = INT64_MAX;

void rest_begin(struct wish *wish, const struct grant *grant)
{
    const struct attachment *attachment = wish->attachment;
    if (grant == NULL || grant->plan.policy != POLICY_DEADLINE || !attachment->served)
        return;
    int64_t now = monotonic_now();
    uint64_t used = (uint64_t)(now - attachment->since) / 1000; /* us, if it never slept */
    uint64_t paid_back = used < grant->plan.runtime ? used * grant->plan.period / grant->plan.runtime + 1 : grant->plan.period;
    wish->rests_until = now + (int64_t)paid_back * 1000;
}

static void wait_until(struct request *request, int64_t until, enum next rested)
{
    request->rested = rested;
    request->step = STEP_REST;
    request->rests_until = until;
    TAILQ_INSERT_TAIL(&waiting, request, of_rest);
    if (until < earliest)
        earliest = until;
}

bool rest_waits(struct request *request, enum next rested)
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

/* Nobody is to wait for crumbs, which a hostile user could spread all the time. */
bool rest_may_help(struct request *request)
{
    const struct request *other;
    uint64_t coming = 0;
    int64_t last = 0;
    if (request->patient || missing(request) == 0)
        return false;
    TAILQ_FOREACH(other, &waiting, of_rest)
        if (other->rested == RELEASED) {
            coming += other->wish->grant->utilization;
            last = other->rests_until > last ? other->rests_until : last;
        }
    if (coming < missing(request))
        return false;
    request->patient = true;
    wait_until(request, last, ASK);
    return true;
}

struct request *rest_over(int64_t now)
{
    struct request *request, *over = NULL;
    if (now < earliest)
        return NULL;
    earliest = INT64_MAX;
    TAILQ_FOREACH(request, &waiting, of_rest)
        if (over == NULL && request->rests_until <= now)
            over = request;
        else if (request->rests_until < earliest)
            earliest = request->rests_until;
    if (over != NULL)
        TAILQ_REMOVE(&waiting, over, of_rest);
    return over;
}

int64_t rest_deadline(void)
{
    return earliest;
}
