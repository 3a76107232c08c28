/* libexec/learn: which bursts have a period, and how long their jobs take. Random numbers are the
 * same in each run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/behaviour.h"
#include "learn/bursts.h"
#include "learn/job-times.h"
#include "learn/rhythm.h"
#include "unit.h"

#define US INT64_C(1000) /* ns */

static struct bursts bursts;
static struct rhythm rhythm;
static struct job_times times;

static int forget(void **state)
{
    (void)state;
    bursts_free(&bursts);
    rhythm_free(&rhythm);
    srand48(7);
    return 0;
}

static void burst(int64_t begin, int64_t ran)
{
    const struct burst one = {.begin = begin, .end = begin + ran, .ran = ran};
    bursts_add(&bursts, &one);
}

static int64_t at_random(int64_t below)
{
    return (int64_t)(drand48() * (double)below);
}

static void expect_period(int64_t period, int64_t tolerance)
{
    assert_true(rhythm_find(&bursts, 0, &rhythm));
    if (llabs(rhythm.period - period) > tolerance)
        fail_msg("period %lld, expected %lld", (long long)rhythm.period, (long long)period);
    assert_true(job_times_measure(&bursts, &rhythm, &times));
}

static void expect_none(void)
{
    if (rhythm_find(&bursts, 0, &rhythm))
        fail_msg("period %lld of %zu bursts, confidence %u", (long long)rhythm.period, bursts.count,
                 rhythm.confidence);
}

/* One burst in each period, late by up to `jitter`. */
static void clocked(int64_t period, size_t count, int64_t jitter)
{
    for (size_t i = 0; i < count; i++)
        burst((int64_t)i * period + at_random(jitter + 1), period / 10);
}

static void test_one_burst_in_each_period(void **state)
{
    (void)state;
    clocked(10 * MS, 300, 100 * US);
    expect_period(10 * MS, 10 * US);
    assert_true(rhythm.confidence > 90);
    assert_int_equal(times.longest, MS);
    assert_in_range(times.jobs, 297, 299);
}

static void test_periods_from_100_us_to_1_s(void **state)
{
    static const int64_t periods[] = {100 * US, 333333, MS, 33333333, 250 * MS, 1000 * MS};
    (void)state;
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        clocked(periods[i], 30, periods[i] / 50);
        expect_period(periods[i], periods[i] / 1000);
        assert_int_equal(forget(NULL), 0);
    }
}

/* The times of poll(2) are relative, so each delay stays. */
static void test_timer_that_drifts(void **state)
{
    int64_t time = 0;
    (void)state;
    for (int i = 0; i < 800; i++) {
        burst(time, MS);
        time += 11 * MS + at_random(MS);
    }
    expect_period(time / 800, 20 * US);
}

/* Each second interval is much longer, so only pairs of bursts are regular. */
static void test_a_pair_of_equal_parts_is_two_periods(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 300; i++)
        burst(i * 20 * MS + (i % 2 == 0 ? 0 : 3 * MS) + at_random(MS), 2 * MS);
    expect_period(20 * MS, 50 * US);
    assert_int_equal(times.longest, 2 * MS);
}

static void test_several_bursts_are_one_job(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 200; i++) {
        burst(i * 40 * MS, MS);
        burst(i * 40 * MS + 4 * MS, 2 * MS);
        burst(i * 40 * MS + 9 * MS, 3 * MS);
    }
    expect_period(40 * MS, US);
    assert_int_equal(times.mean, 6 * MS);
    assert_int_equal(times.longest, 6 * MS);
}

/* The number of bursts changes from job to job. */
static void test_changing_number_of_bursts(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 400; i++) {
        const int64_t more = at_random(4);
        burst(i * 20 * MS, MS);
        for (int64_t k = 1; k <= more; k++)
            burst(i * 20 * MS + k * 2 * MS + at_random(MS), MS);
    }
    expect_period(20 * MS, 20 * US);
    assert_int_equal(times.longest, 4 * MS);
}

static void test_a_tenth_of_the_jobs_is_missing(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 300; i++)
        if (at_random(10) > 0)
            burst(i * 10 * MS, MS);
    expect_period(10 * MS, 10 * US);
    assert_int_equal(times.percentile_99, MS);
    assert_true(rhythm.confidence < 95);
}

/* A program reads its files before it begins. These bursts are no jobs. */
static void test_work_before_the_first_period(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 40; i++)
        burst(i * 3 * MS + at_random(2 * MS), 20 * MS);
    for (int64_t i = 0; i < 300; i++)
        burst(133 * MS + i * 10 * MS + at_random(50 * US), MS);
    expect_period(10 * MS, 10 * US);
    assert_int_equal(times.longest, MS);
}

/* A job that lasts longer than a period is late, and the next one follows without a sleep. */
static void test_late_jobs_are_divided(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 100; i++)
        if (i % 10 == 5)
            burst(i * 10 * MS, 14 * MS);
        else if (i % 10 != 6)
            burst(i * 10 * MS, 7 * MS);
    expect_period(10 * MS, 10 * US);
    assert_int_equal(times.longest, 7 * MS);
}

/* A late look may take two bursts for one. */
static void test_doubtful_bursts_do_not_count(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 100; i++) {
        burst(i * 10 * MS, i == 50 ? 4 * MS : 2 * MS);
        bursts.list[i].is_doubtful = i == 50;
    }
    expect_period(10 * MS, 10 * US);
    assert_int_equal(times.longest, 2 * MS);
    assert_int_equal(times.jobs, 97);
}

static void test_percentile(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 402; i++)
        burst(i * 10 * MS, i == 200 ? 5 * MS : i % 150 == 50 ? 3 * MS : 2 * MS);
    expect_period(10 * MS, 10 * US);
    assert_int_equal(times.percentile_99, 2 * MS);
    assert_int_equal(times.longest, 5 * MS);
}

static void test_bursts_at_random_have_no_period(void **state)
{
    static const size_t counts[] = {10, 30, 100, 300, 1000, 10000};
    (void)state;
    for (int seed = 0; seed < ROUNDS(40); seed++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            int64_t time = 0;
            assert_int_equal(forget(NULL), 0);
            srand48(seed);
            for (size_t k = 0; k < counts[i]; k++) {
                burst(time, MS);
                time += MS + (int64_t)(-log(1 - drand48()) * 10 * MS);
            }
            expect_none();
        }
}

static void test_few_bursts_have_no_period(void **state)
{
    (void)state;
    expect_none();
    clocked(10 * MS, 4, 0);
    expect_none();
}

/* No period is shorter than what the observer can see. */
static void test_shortest_period(void **state)
{
    (void)state;
    clocked(2 * MS, 300, 0);
    assert_false(rhythm_find(&bursts, 4 * MS - 1, &rhythm));
    assert_true(rhythm_find(&bursts, MS, &rhythm));
}

/* A preemption is no sleep. Nothing is known about the time before the first sleep. */
static void test_bursts_of_switches(void **state)
{
    (void)state;
    bursts_out(&bursts, 5, true);
    bursts_in(&bursts, 10);
    bursts_out(&bursts, 20, false);
    bursts_in(&bursts, 50);
    bursts_out(&bursts, 55, true);
    assert_int_equal(bursts.count, 1);
    assert_int_equal(bursts.list[0].begin, 10);
    assert_int_equal(bursts.list[0].end, 55);
    assert_int_equal(bursts.list[0].ran, 15);
    bursts_in(&bursts, 60);
    bursts_lose(&bursts);
    bursts_out(&bursts, 90, true);
    assert_int_equal(bursts.count, 1);
}

static void test_behaviour(void **state)
{
    struct observed seen = {.length = 1000 * MS, .ran = 950 * MS};
    (void)state;
    assert_int_equal(behaviour_of(&seen), BEHAVIOUR_HOG);
    seen.ran = 500 * MS;
    seen.waited = 450 * MS;
    assert_int_equal(behaviour_of(&seen), BEHAVIOUR_STARVED);
    seen.waited = 0;
    seen.looks = 10;
    seen.ready_looks = 9;
    assert_int_equal(behaviour_of(&seen), BEHAVIOUR_STARVED);
    seen.ready_looks = 5;
    assert_int_equal(behaviour_of(&seen), BEHAVIOUR_APERIODIC);
    seen.ran = MS;
    assert_int_equal(behaviour_of(&seen), BEHAVIOUR_SLEEPING);
    seen.wakeups = 100;
    seen.timed_sleeps = 5;
    assert_int_equal(behaviour_of(&seen), BEHAVIOUR_APERIODIC);
    seen.other_sleeps = 6;
    assert_int_equal(behaviour_of(&seen), BEHAVIOUR_EVENT_DRIVEN);
    seen.shortest_period = 11 * MS;
    assert_int_equal(behaviour_of(&seen), BEHAVIOUR_TOO_FAST);
    seen.has_period = true;
    assert_int_equal(behaviour_of(&seen), BEHAVIOUR_PERIODIC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, forget, forget)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_one_burst_in_each_period),
                                       TEST(test_periods_from_100_us_to_1_s),
                                       TEST(test_timer_that_drifts),
                                       TEST(test_a_pair_of_equal_parts_is_two_periods),
                                       TEST(test_several_bursts_are_one_job),
                                       TEST(test_changing_number_of_bursts),
                                       TEST(test_a_tenth_of_the_jobs_is_missing),
                                       TEST(test_work_before_the_first_period),
                                       TEST(test_late_jobs_are_divided),
                                       TEST(test_doubtful_bursts_do_not_count),
                                       TEST(test_percentile),
                                       TEST(test_bursts_at_random_have_no_period),
                                       TEST(test_few_bursts_have_no_period),
                                       TEST(test_shortest_period),
                                       TEST(test_bursts_of_switches),
                                       TEST(test_behaviour)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
