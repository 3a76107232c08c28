/* Spare capacity in force: free capacity is shared out. A spec gets less at once, and gets more
 * only after its plugin was asked, at most once a second. */
#include "spare-capacity.h"

#include "accounting.h"
#include "fakes.h"
#include "reservations.h"
#include "unit.h"

static int begin(void **state)
{
    (void)fakes_begin(state);
    rules_are(
        "20021 - max_utilization 100\n20021 - max_importance 10\n20021 UNITS max_amount 100\n");
    return 0;
}

/* A spec that EDF grants on CPU 0, and that desires more. */
static struct reservation *desires(const char *name, int importance, uint64_t needed,
                                   uint64_t desired, uint64_t offered)
{
    struct spec spec = spec_of("EDF", needed, desired);
    spec.importance = importance;
    struct reservation *reservation = writes(name, spec);
    plugin_offers(reservation, ANSWER_OK, offered);
    is_granted(reservation);
    return reservation;
}

/* Compares with the rounding of the kernel. */
static void has(const struct reservation *reservation, uint64_t runtime)
{
    assert_in_range(reservation->grant->plan.runtime, runtime - 1, runtime + 1);
}

static void without_desires_nothing_is_shared_out(void **state)
{
    (void)state;
    (void)has_grant("cam");
    assert_false(spare_capacity_is_due());
}

static void what_is_free_is_asked_for(void **state)
{
    (void)state;
    struct reservation *reservation = desires("cam", 0, SECOND / 10, SECOND / 2, SECOND / 10);
    assert_true(spare_capacity_is_due());
    spare_capacity_share_out();
    assert_true(reservation->raises && reservation->queue != NULL);
    has(reservation, SECOND / 10);
    is_looked_at(reservation);
    is_at(reservation, STEP_ACCEPT);
    plugin_offers(reservation, ANSWER_OK, SECOND / 2);
    has(reservation, SECOND / 2);
    assert_int_equal(verdict.kind, UPDATE);
}

static void what_the_plugin_does_not_grant_is_no_news(void **state)
{
    (void)state;
    struct reservation *reservation = desires("cam", 0, SECOND / 10, SECOND / 2, SECOND / 10);
    spare_capacity_share_out();
    is_looked_at(reservation);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    is_at(reservation, STEPS);
    assert_int_equal(verdict.count, 0);
    has(reservation, SECOND / 10);
}

static void the_more_important_comes_first_and_the_other_has_less_at_once(void **state)
{
    (void)state;
    struct reservation *lesser =
        desires("lesser", 0, SECOND / 10, SECOND * 8 / 10, SECOND * 8 / 10);
    struct reservation *more = desires("more", 5, SECOND / 20, SECOND * 8 / 10, SECOND / 20);
    spare_capacity_share_out();
    has(lesser, SECOND / 10);
    assert_true(more->raises);
    has(more, SECOND / 20); /* for more, the plugin has to be asked */
    is_looked_at(more);
    plugin_offers(more, ANSWER_OK, SECOND * 8 / 10);
    has(more, SECOND * 8 / 10);
}

static void a_reservation_is_changed_at_most_once_a_second(void **state)
{
    (void)state;
    struct reservation *reservation = desires("cam", 0, SECOND / 10, SECOND * 8 / 10, SECOND / 10);
    spare_capacity_share_out();
    is_looked_at(reservation);
    plugin_offers(reservation, ANSWER_OK, SECOND / 2);
    clock_to(clock_now + 100 * MS);
    assert_true(spare_capacity_is_due());
    spare_capacity_share_out();
    assert_false(reservation->raises);
    assert_false(spare_capacity_is_due()); /* not before its second is over */
    clock_to(clock_now + 900 * MS);
    assert_true(spare_capacity_is_due());
    spare_capacity_share_out();
    assert_true(reservation->raises);
}

static void what_is_needed_is_taken_back_at_any_time(void **state)
{
    (void)state;
    struct reservation *rich = desires("rich", 0, SECOND / 10, SECOND * 8 / 10, SECOND * 8 / 10),
                       *poor = writes("poor", spec_of("EDF", SECOND / 2, 0));
    rich->shared_out = clock_now;
    plugin_answers(poor, ANSWER_NO, 0, false);
    /* a trial: the plugin is asked what it would grant if others had less */
    plugin_offers(poor, ANSWER_OK, SECOND / 2);
    plugin_answers(poor, ANSWER_NO, 0, false);
    has(rich, SECOND * 4 / 10);
    plugin_offers(poor, ANSWER_OK, SECOND / 2);
    is_granted(poor);
}

static void the_thread_of_who_gives_hears_of_it_before_the_other_is_granted(void **state)
{
    (void)state;
    struct reservation *rich = desires("rich", 0, SECOND / 10, SECOND * 8 / 10, SECOND * 8 / 10);
    (void)writes_tid("rich");
    helper_answers(rich, HELPER_OK, 0);
    struct reservation *poor = writes("poor", spec_of("EDF", SECOND / 2, 0));
    plugin_answers(poor, ANSWER_NO, 0, false);
    plugin_offers(poor, ANSWER_OK, SECOND / 2);
    helper_op = NULL;
    plugin_answers(poor, ANSWER_NO, 0, false);
    assert_string_equal(helper_op, "apply again");
    is_at(poor, STEP_ACCEPT);
    plugin_answers(poor, ANSWER_NO, 0, true);
}

static void one_that_is_being_changed_is_waited_for(void **state)
{
    (void)state;
    struct reservation *rich = desires("rich", 0, SECOND / 10, SECOND * 8 / 10, SECOND * 8 / 10),
                       *poor = writes("poor", spec_of("EDF", SECOND / 2, 0));
    plugin_answers(poor, ANSWER_NO, 0, false);
    plugin_offers(poor, ANSWER_OK, SECOND / 2);
    (void)writes("rich", spec_of("EDF", SECOND / 10, SECOND * 8 / 10));
    plugin_answers(poor, ANSWER_NO, 0, false);
    is_at(poor, STEP_ROOM);
    has(rich, SECOND * 8 / 10);
    plugin_offers(rich, ANSWER_OK, SECOND * 8 / 10);
    clock_to(clock_now + 10 * MS);
    is_at(poor, STEP_ACCEPT);
    plugin_answers(poor, ANSWER_NO, 0, false);
    has(rich, SECOND * 4 / 10);
    plugin_offers(poor, ANSWER_OK, SECOND / 2);
    is_granted(poor);
}

#define with_fakes(test) cmocka_unit_test_setup_teardown(test, begin, fakes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fakes(without_desires_nothing_is_shared_out),
        with_fakes(what_is_free_is_asked_for),
        with_fakes(what_the_plugin_does_not_grant_is_no_news),
        with_fakes(the_more_important_comes_first_and_the_other_has_less_at_once),
        with_fakes(a_reservation_is_changed_at_most_once_a_second),
        with_fakes(what_is_needed_is_taken_back_at_any_time),
        with_fakes(the_thread_of_who_gives_hears_of_it_before_the_other_is_granted),
        with_fakes(one_that_is_being_changed_is_waited_for),
    };
    return cmocka_run_group_tests(tests, fakes_set_up, fakes_tear_down);
}
