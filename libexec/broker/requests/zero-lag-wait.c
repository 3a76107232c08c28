#include "zero-lag-wait.h"

#include "debts.h"
#include "units.h"

static void (*go_on)(struct request *request);

void zero_lag_wait_prepare(void (*whom)(struct request *request))
{
    go_on = whom;
}

static void over(struct timer *timer)
{
    struct request *request = container_of(timer, struct request, wait.timer);
    go_on(request);
}

/* Ends the request's turn, so that other requests need not wait meanwhile. If the kernel then
 * refuses the change, the former grant is in force again only if the sums still have room for
 * it. */
static void wait_until(struct request *request, int64_t until)
{
    turn_end(request);
    request->wait.timer.due = over;
    timer_set(&request->wait.timer, until);
}

bool zero_lag_wait_begin(struct request *request)
{
    if (request->reservation->zero_lag <= monotonic_now())
        return false;
    wait_until(request, request->reservation->zero_lag);
    return true;
}

/* Returns the least utilization that the request lacks for a grant. If the sums have densities, the
 * request lacks more. */
static uint64_t missing(const struct request *request)
{
    const struct spec *spec = &request->spec;
    uint64_t window = spec->period != 0 ? spec->period : spec->deadline;
    return window == 0 || spec->runtime <= request->refusals.nearest
               ? 0
               : utilization(spec->runtime - request->refusals.nearest, window);
}

/* The request waits only if the debts cover all utilization that the request lacks. Otherwise a
 * hostile user could delay the request again and again by giving back small parts. */
bool zero_lag_wait_may_help(struct request *request)
{
    struct wait *wait = &request->wait;
    uint64_t needed = missing(request);
    bool by_quota = request->refusals.no.plugin < 0;
    if (wait->patient || needed == 0 || debt_sum(by_quota) < needed)
        return false;
    /* + 1: the timer that ends the debt must come first */
    const int64_t soonest = debt_enough(by_quota, needed) + 1;
    const bool is_first = wait->debts_until == 0;
    if (is_first)
        wait->debts_until = debt_last(by_quota) + 1;
    wait->patient = !is_first || soonest >= wait->debts_until;
    if (wait->debts_until <= monotonic_now())
        return false;
    wait_until(request, wait->patient ? wait->debts_until : soonest);
    return true;
}

bool zero_lag_wait_for_a_moment(struct request *request)
{
    enum { MOMENTS = 100 };
    const int64_t moment = 10000000; /* ns */
    if (request->wait.moments++ >= MOMENTS)
        return false;
    wait_until(request, monotonic_now() + moment);
    return true;
}

/* The owner is not told of a shorter wait, because people do not notice it. */
bool zero_lag_wait_is_to_be_told(struct request *request)
{
    const int64_t long_enough = 100000000; /* ns */
    if (request->wait.has_said_so || request->wait.timer.at < monotonic_now() + long_enough)
        return false;
    request->wait.has_said_so = true;
    return true;
}

bool zero_lag_wait_cancel(struct request *request)
{
    if (request->step != STEP_ROOM &&
        (request->step != STEP_DEBT || request->outcome.kind != ATTACH))
        return false;
    timer_end(&request->wait.timer);
    request_drop(request);
    return true;
}
