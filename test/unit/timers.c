/* One queue of all timers: which is called when, and in which order. */
#include "timers.h"

#include "unit.h"

enum { TIMERS = 6 };
static struct timer timers[TIMERS];
static char called[64]; /* a letter for each timer, in the order of the calls */
static int calls;

static void note(struct timer *timer)
{
    assert_int_equal(timer->at, 0);
    called[calls++] = (char)('a' + (timer - timers));
    called[calls] = '\0';
}

static int set_up(void **state)
{
    (void)state;
    calls = 0;
    called[0] = '\0';
    for (int i = 0; i < TIMERS; i++)
        timers[i] = (struct timer){.due = note};
    return 0;
}

static int64_t nanoseconds(const struct timespec *time)
{
    assert_non_null(time);
    return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

static void none_is_called_before_its_time(void **state)
{
    (void)state;
    const int64_t now = clock_now;
    struct timespec left;
    assert_null(timers_left(&left));
    timer_set(&timers[0], now + 2 * MS);
    assert_int_equal(nanoseconds(timers_left(&left)), 2 * MS);
    clock_now = now + 2 * MS - 1;
    timers_run();
    assert_string_equal(called, "");
    assert_int_equal(nanoseconds(timers_left(&left)), 1);
    clock_now += 2;
    assert_int_equal(nanoseconds(timers_left(&left)), 0); /* the timer is already late */
    timers_run();
    timers_run();
    assert_string_equal(called, "a");
    assert_null(timers_first());
}

static void the_order_is_that_of_the_times_and_then_of_setting(void **state)
{
    (void)state;
    const int64_t at = clock_now + MS;
    timer_set(&timers[0], at + 1);
    timer_set(&timers[1], at);
    timer_set(&timers[2], at);
    timer_set(&timers[3], at - 1);
    timer_set(&timers[4], at);
    timer_set(&timers[1], at); /* the timer is set again, so it is the last with this time */
    clock_to(at + MS);
    assert_string_equal(called, "dceba");
}

static void what_is_ended_or_moved_is_not_called_at_its_time(void **state)
{
    (void)state;
    const int64_t now = clock_now;
    for (int i = 0; i < TIMERS; i++)
        timer_set(&timers[i], now + MS);
    timer_end(&timers[0]);
    timer_end(&timers[0]);
    timer_set(&timers[1], INT64_MAX); /* never */
    timer_set(&timers[2], now + 2 * MS);
    timer_set(&timers[3], now + 1);
    clock_to(now + MS);
    assert_string_equal(called, "def");
    clock_to(now + 2 * MS);
    assert_string_equal(called, "defc");
    assert_null(timers_first());
}

static void set_again(struct timer *timer)
{
    note(timer);
    if (timer == &timers[0])
        timer_set(timer, clock_now + MS);
    timer_end(&timers[2]);
}

static void who_is_called_may_set_and_end_any(void **state)
{
    (void)state;
    const int64_t now = clock_now;
    for (int i = 0; i < 3; i++) {
        timers[i].due = set_again;
        timer_set(&timers[i], now + MS);
    }
    clock_to(now + 3 * MS);
    assert_string_equal(called, "abaa");
    timer_end(&timers[0]);
    assert_null(timers_first());
}

static void who_has_no_call_is_ended_alone(void **state)
{
    (void)state;
    timers[0].due = NULL;
    timer_set(&timers[0], clock_now + MS);
    clock_to(clock_now + MS);
    assert_int_equal(timers[0].at, 0);
    assert_null(timers_first());
}

/* A timer that is not set has the time 0. */
static void what_was_due_at_the_beginning_of_time_is_called_once(void **state)
{
    (void)state;
    static const int64_t past[] = {0, -1, INT64_MIN};
    for (size_t i = 0; i < sizeof past / sizeof *past; i++) {
        timer_set(&timers[i], past[i]);
        timer_end(&timers[i]);
        assert_null(timers_first());
    }
    for (size_t i = 0; i < sizeof past / sizeof *past; i++)
        timer_set(&timers[i], past[i]);
    timers_run();
    timers_run();
    assert_string_equal(called, "abc");
    assert_null(timers_first());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(none_is_called_before_its_time, set_up),
        cmocka_unit_test_setup(the_order_is_that_of_the_times_and_then_of_setting, set_up),
        cmocka_unit_test_setup(what_is_ended_or_moved_is_not_called_at_its_time, set_up),
        cmocka_unit_test_setup(who_is_called_may_set_and_end_any, set_up),
        cmocka_unit_test_setup(who_has_no_call_is_ended_alone, set_up),
        cmocka_unit_test_setup(what_was_due_at_the_beginning_of_time_is_called_once, set_up),
    };
    return cmocka_run_group_tests_name("timers", tests, NULL, NULL);
}
