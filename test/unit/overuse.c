/* libexec/guard/overuse.c: how much more CPU time a SCHED_DEADLINE thread has had than granted. The
 * thread has 2 ms in 10 ms, and the tick is 4 ms. Times are in ms here. */
#include "guard/overuse.h"

#include "unit.h"

static const int64_t runtime = 2 * MS, period = 10 * MS, tick = 4 * MS;
static struct overuse overuse;
static int64_t now, ran;

static void counts_from_now(void)
{
    now = 1000 * MS;
    ran = 500 * MS;
    overuse_begin(&overuse, now, ran);
}

static int64_t over_after(int64_t time, int64_t used)
{
    now += time;
    ran += used;
    overuse_count(&overuse, now, ran, runtime, period);
    return overuse_take(&overuse, runtime, tick, 0);
}

static void a_thread_that_uses_its_whole_grant_uses_no_more(void **state)
{
    (void)state;
    counts_from_now();
    for (int i = 0; i < 1000; i++)
        assert_int_equal(over_after(period, runtime), 0);
    /* two runtimes side by side, and a tick too long, which the kernel makes up for */
    assert_int_equal(over_after(2 * runtime + tick, 2 * runtime + tick), 0);
}

static void what_a_thread_has_beyond_its_grant_is_found(void **state)
{
    (void)state;
    counts_from_now();
    assert_int_equal(over_after(12 * MS, 12 * MS), 0);
    assert_int_equal(over_after(6 * MS, 6 * MS), 18 * MS - 18 * MS / 5);
    /* and counts once */
    assert_int_equal(over_after(1 * MS, 1 * MS), 0);
}

static void a_little_more_in_each_period_adds_up(void **state)
{
    int64_t over = 0;
    (void)state;
    counts_from_now();
    for (int i = 0; i < 20 && over == 0; i++)
        over = over_after(period, runtime + MS);
    assert_int_equal(over, 13 * MS);
}

static void nothing_is_saved_up_while_a_thread_sleeps(void **state)
{
    (void)state;
    counts_from_now();
    assert_int_equal(over_after(INT64_C(1000000) * period, 0), 0);
    assert_true(over_after(20 * MS, 20 * MS) > 0);
}

static void what_a_known_lender_pays_for_is_no_overuse(void **state)
{
    (void)state;
    counts_from_now();
    now += 20 * MS;
    ran += 20 * MS;
    overuse_count(&overuse, now, ran, runtime, period);
    assert_int_equal(overuse_take(&overuse, runtime, tick, 10 * MS), 0);
    overuse_pay(&overuse, 10 * MS);
    assert_int_equal(overuse_take(&overuse, runtime, tick, 0), 0);
    assert_true(over_after(10 * MS, 10 * MS) > 0);
}

static void the_time_of_an_ordinary_thread_does_not_count(void **state)
{
    (void)state;
    counts_from_now();
    ran += 100 * MS;
    overuse_skip(&overuse, ran);
    overuse_skip(&overuse, -1);
    assert_int_equal(over_after(10 * MS, 2 * MS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_uses_its_whole_grant_uses_no_more),
        cmocka_unit_test(what_a_thread_has_beyond_its_grant_is_found),
        cmocka_unit_test(a_little_more_in_each_period_adds_up),
        cmocka_unit_test(nothing_is_saved_up_while_a_thread_sleeps),
        cmocka_unit_test(what_a_known_lender_pays_for_is_no_overuse),
        cmocka_unit_test(the_time_of_an_ordinary_thread_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
