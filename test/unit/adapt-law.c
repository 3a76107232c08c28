/* libexec/learn/adapt-law.c: which runtime a thread gets next. Periods are 40 ms. */
#include "learn/adapt-law.h"

#include <string.h>

#include "unit.h"

enum { PERIOD = 40000 }; /* us */

static struct adapt_law law;
static int64_t at; /* the time, ns */

static int begin(void **state)
{
    const struct adapt_limits limits = {.least = 100, .most = PERIOD, .margin = 10, .window = 12};
    (void)state;
    memset(&law, 0, sizeof law);
    at = 1000 * MS;
    law.runtime = 10000;
    law.period = PERIOD;
    adapt_law_begin(&law, &limits, at);
    return 0;
}

static void job(int64_t ran)
{
    const struct burst burst = {.begin = at, .end = at + ran, .ran = ran};
    adapt_law_take(&law, &burst);
    at += 40 * MS;
}

static void jobs(int count, int64_t ran)
{
    for (int i = 0; i < count; i++)
        job(ran);
}

static struct adapt_wish expect(enum adapt_reason reason, uint64_t runtime)
{
    const struct adapt_wish wish = adapt_law_wish(&law, at, 0);
    assert_string_equal(adapt_reason_name(wish.reason), adapt_reason_name(reason));
    assert_int_equal(wish.runtime, runtime);
    return wish;
}

static void grant(struct adapt_wish wish)
{
    adapt_law_granted(&law, &wish, wish.runtime, at);
}

static void the_longest_of_the_last_jobs_and_a_margin(void **state)
{
    (void)state;
    jobs(13, 6 * MS);
    grant(expect(ADAPT_SHORTER, 6600));
    job(12 * MS);
    grant(expect(ADAPT_LONGER, 13200));
    jobs(12, 6 * MS);
    expect(ADAPT_NOTHING, 0); /* the long job is still among the last twelve */
    jobs(2, 6 * MS);
    expect(ADAPT_SHORTER, 6600);
}

static void small_differences_change_nothing(void **state)
{
    (void)state;
    jobs(13, 9200000); /* 1.2 % more */
    expect(ADAPT_NOTHING, 0);
    jobs(13, 9273000); /* 2 % more, rounded up */
    expect(ADAPT_LONGER, 10201);
    jobs(13, 8190000); /* 9.9 % less */
    expect(ADAPT_NOTHING, 0);
    jobs(13, 8180000);
    expect(ADAPT_SHORTER, 8998);
}

static void too_few_jobs_change_nothing(void **state)
{
    (void)state;
    jobs(3, 20 * MS);
    expect(ADAPT_NOTHING, 0);
    job(20 * MS);
    expect(ADAPT_LONGER, 22000);
    assert_int_equal(begin(NULL), 0);
    jobs(12, 2 * MS);
    expect(ADAPT_NOTHING, 0);
}

static void one_change_in_a_period(void **state)
{
    (void)state;
    jobs(13, 12 * MS);
    grant(expect(ADAPT_LONGER, 13200));
    job(20 * MS);
    at -= 1;
    expect(ADAPT_NOTHING, 0);
    at += 1;
    expect(ADAPT_LONGER, 22000);
}

/* Jobs that were too long for the runtime are no measure of the need. */
static void no_end_of_a_job_for_two_periods(void **state)
{
    (void)state;
    jobs(13, 9 * MS);
    const int64_t open = at;
    at = open + 80 * MS - 1;
    assert_int_equal(adapt_law_wish(&law, at, open).reason, ADAPT_NOTHING);
    at = open + 80 * MS;
    const struct adapt_wish wish = adapt_law_wish(&law, at, open);
    assert_int_equal(wish.reason, ADAPT_SATURATED);
    assert_int_equal(wish.runtime, 15000);
    grant(wish);
    at += 80 * MS - 1;
    assert_int_equal(adapt_law_wish(&law, at, open).reason, ADAPT_NOTHING);
    at += 1;
    assert_int_equal(adapt_law_wish(&law, at, open).runtime, 22500);
    jobs(11, 2 * MS);
    expect(ADAPT_NOTHING, 0);
    jobs(2, 2 * MS);
    expect(ADAPT_SHORTER, 2200);
}

/* Late jobs do not sleep, and are one burst. */
static void a_burst_of_several_periods_is_several_jobs(void **state)
{
    const struct burst late = {.begin = 1000 * MS, .end = 1121 * MS, .ran = 30 * MS};
    (void)state;
    adapt_law_take(&law, &late);
    assert_int_equal(adapt_law_longest(&law), 10 * MS);
}

static void bursts_of_one_period_are_one_job(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 13; i++) {
        const int64_t late = i % 3 * 5 * MS; /* the thread gets its CPU late */
        const struct burst first = {.begin = at + i * 40 * MS + late,
                                    .end = at + i * 40 * MS + late + MS,
                                    .ran = MS};
        const struct burst second = {.begin = first.begin + 12 * MS,
                                     .end = first.begin + 14 * MS,
                                     .ran = 2 * MS};
        adapt_law_take(&law, &first);
        adapt_law_take(&law, &second);
    }
    assert_int_equal(law.count, 12);
    assert_int_equal(adapt_law_longest(&law), 3 * MS);
}

static void a_refusal_offers_and_then_waits_longer_and_longer(void **state)
{
    (void)state;
    jobs(13, 30 * MS);
    struct adapt_wish wish = expect(ADAPT_LONGER, 33000);
    adapt_law_refused(&law, &wish, 16000, 0, at);
    expect(ADAPT_NOTHING, 0);
    at += 40 * MS;
    grant(expect(ADAPT_OFFER, 16000));
    for (int64_t seconds = 1; seconds <= 64; seconds *= 2) {
        const int64_t from = seconds == 1 ? at - 40 * MS : at;
        at = from + (seconds > 32 ? 32 : seconds) * 1000 * MS - 1;
        expect(ADAPT_NOTHING, 0);
        at++;
        wish = expect(ADAPT_LONGER, 33000);
        adapt_law_refused(&law, &wish, 16000, 0, at);
    }
    at += 32000 * MS;
    grant(expect(ADAPT_LONGER, 33000));
    jobs(13, 36 * MS);
    wish = expect(ADAPT_LONGER, 39600);
    adapt_law_refused(&law, &wish, 0, 0, at);
    at += 1000 * MS;
    expect(ADAPT_LONGER, 39600);
}

static void the_runtime_stays_within_its_limits(void **state)
{
    (void)state;
    law.limits.least = 5000;
    law.limits.most = 12000;
    jobs(13, MS);
    struct adapt_wish wish = expect(ADAPT_SHORTER, 5000);
    law.runtime = 14000;
    expect(ADAPT_LIMIT, 12000);
    law.runtime = 4000;
    expect(ADAPT_LIMIT, 5000);
    law.runtime = 10000;
    adapt_law_refused(&law, &wish, 0, 7000, at);
    at += 40 * MS;
    grant(expect(ADAPT_SHORTER, 7000));
    jobs(13, 30 * MS);
    grant(expect(ADAPT_LONGER, 12000));
    assert_int_equal(adapt_law_wish(&law, at + 200 * MS, at).reason, ADAPT_NOTHING);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(the_longest_of_the_last_jobs_and_a_margin),
                                       TEST(small_differences_change_nothing),
                                       TEST(too_few_jobs_change_nothing),
                                       TEST(one_change_in_a_period),
                                       TEST(no_end_of_a_job_for_two_periods),
                                       TEST(a_burst_of_several_periods_is_several_jobs),
                                       TEST(bursts_of_one_period_are_one_job),
                                       TEST(a_refusal_offers_and_then_waits_longer_and_longer),
                                       TEST(the_runtime_stays_within_its_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
