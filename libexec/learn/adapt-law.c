#include "adapt-law.h"

enum {
    FEWEST_JOBS = 3, /* jobs; the runtime grows only after so many */
    HIGHER_PERCENT = 2,
    LOWER_PERCENT = 10, /* a smaller difference changes nothing */
    SATURATED_AFTER = 2 /* periods in which no job has ended */
};
#define FIRST_BACK_OFF INT64_C(1000000000) /* ns */
#define LAST_BACK_OFF  INT64_C(32000000000)

static int64_t period_of(const struct adapt_law *law)
{
    return (int64_t)law->period * 1000;
}

void adapt_law_begin(struct adapt_law *law, const struct adapt_limits *limits, int64_t now)
{
    law->limits = *limits;
    law->changed = now;
    law->back_off = FIRST_BACK_OFF;
}

/* Returns the CPU time of one job in the last burst. A late job does not sleep before the next job,
 * so a burst that lasts several periods has several jobs. */
static int64_t ran_in_a_period(const struct adapt_law *law)
{
    const int64_t period = period_of(law);
    const int64_t periods = (law->job.end - law->job.begin + period / 2) / period;
    return periods > 1 ? law->job.ran / periods : law->job.ran;
}

static void end_job(struct adapt_law *law)
{
    law->jobs[law->next] = ran_in_a_period(law);
    law->next = (law->next + 1) % law->limits.window;
    if (law->count < law->limits.window)
        law->count++;
}

/* Sets the expected time of the present activation: a whole number of periods after the last
 * activation. A thread may get its CPU late, but never early. So an early beginning corrects the
 * expected time at once, and a late beginning corrects it only by an eighth. */
static void expect_activation(struct adapt_law *law, int64_t begin)
{
    const int64_t period = period_of(law);
    const int64_t periods = (begin - law->activation + period / 2) / period;
    const int64_t expected = law->activation + periods * period;
    law->activation = begin < expected ? begin : expected + (begin - expected) / 8;
}

void adapt_law_take(struct adapt_law *law, const struct burst *burst)
{
    if (law->has_job && burst->begin < law->activation + period_of(law) / 8 * 7) {
        law->job.end = burst->end;
        law->job.ran += burst->ran;
        return;
    }
    if (law->has_job) {
        end_job(law);
        expect_activation(law, burst->begin);
    } else
        law->activation = burst->begin;
    law->has_job = true;
    law->job = *burst;
}

int64_t adapt_law_longest(const struct adapt_law *law)
{
    int64_t longest = law->has_job ? ran_in_a_period(law) : 0;
    for (size_t i = 0; i < law->count; i++)
        if (law->jobs[i] > longest)
            longest = law->jobs[i];
    return longest;
}

static uint64_t clamp(const struct adapt_law *law, uint64_t runtime)
{
    if (runtime < law->limits.least)
        runtime = law->limits.least;
    return runtime > law->limits.most ? law->limits.most : runtime;
}

static bool is_saturated(const struct adapt_law *law, int64_t now, int64_t awake_since)
{
    const int64_t wait = SATURATED_AFTER * period_of(law);
    return awake_since != 0 && now - awake_since >= wait && now - law->changed >= wait;
}

/* Returns the runtime that the law gives. The caller compares this runtime with the runtime in
 * force. */
static struct adapt_wish ideal(const struct adapt_law *law, int64_t now, int64_t awake_since)
{
    if (is_saturated(law, now, awake_since))
        return (struct adapt_wish){ADAPT_SATURATED, clamp(law, law->runtime * 3 / 2)};
    const uint64_t longest = (uint64_t)adapt_law_longest(law);
    const uint64_t with_margin = longest + longest * law->limits.margin / 100;
    return (struct adapt_wish){ADAPT_LONGER, clamp(law, (with_margin + 999) / 1000)};
}

static struct adapt_wish grow(const struct adapt_law *law, struct adapt_wish wish, int64_t now)
{
    static const struct adapt_wish nothing = {ADAPT_NOTHING, 0};
    if (wish.runtime * 100 < law->runtime * (100 + HIGHER_PERCENT) || law->count < FEWEST_JOBS)
        if (wish.reason != ADAPT_SATURATED || wish.runtime <= law->runtime)
            return nothing;
    if (law->offer > law->runtime)
        return (struct adapt_wish){ADAPT_OFFER,
                                   law->offer < wish.runtime ? law->offer : wish.runtime};
    return now < law->grow_from ? nothing : wish;
}

struct adapt_wish adapt_law_wish(const struct adapt_law *law, int64_t now, int64_t awake_since)
{
    struct adapt_wish wish = ideal(law, now, awake_since);
    if (now - law->changed < period_of(law))
        return (struct adapt_wish){ADAPT_NOTHING, 0};
    const uint64_t allowed = clamp(law, law->runtime);
    if (allowed < law->runtime || (allowed > law->runtime && now >= law->grow_from))
        return (struct adapt_wish){ADAPT_LIMIT, allowed};
    if (wish.runtime > law->runtime)
        return grow(law, wish, now);
    if (wish.reason == ADAPT_SATURATED || law->count < law->limits.window ||
        wish.runtime * 100 > law->runtime * (100 - LOWER_PERCENT))
        return (struct adapt_wish){ADAPT_NOTHING, 0};
    wish.reason = ADAPT_SHORTER;
    return wish;
}

/* Forgets all jobs, because jobs that had too little runtime do not show how much they need. */
static void forget_jobs(struct adapt_law *law)
{
    law->count = law->next = 0;
    law->has_job = false;
}

void adapt_law_granted(struct adapt_law *law, const struct adapt_wish *wish, uint64_t runtime,
                       int64_t now)
{
    law->runtime = runtime;
    law->changed = now;
    law->offer = 0;
    if (wish->reason == ADAPT_SATURATED)
        forget_jobs(law);
    if (wish->reason == ADAPT_SATURATED || wish->reason == ADAPT_LONGER)
        law->back_off = FIRST_BACK_OFF;
}

void adapt_law_refused(struct adapt_law *law, const struct adapt_wish *wish, uint64_t nearest,
                       uint64_t nearest_minimum, int64_t now)
{
    law->changed = now;
    law->offer = 0;
    if (nearest_minimum > law->limits.least && nearest_minimum <= law->limits.most)
        law->limits.least = nearest_minimum;
    if (wish->runtime < law->runtime)
        return;
    if (wish->reason != ADAPT_OFFER && nearest * 100 >= law->runtime * (100 + HIGHER_PERCENT))
        law->offer = nearest < law->limits.most ? nearest : law->limits.most;
    law->grow_from = now + law->back_off;
    law->back_off = law->back_off * 2 < LAST_BACK_OFF ? law->back_off * 2 : LAST_BACK_OFF;
}

const char *adapt_reason_name(enum adapt_reason reason)
{
    static const char *const names[] = {
        [ADAPT_NOTHING] = "nothing",     [ADAPT_LONGER] = "longer", [ADAPT_SHORTER] = "shorter",
        [ADAPT_SATURATED] = "saturated", [ADAPT_OFFER] = "offer",   [ADAPT_LIMIT] = "limit"};
    return names[reason];
}
