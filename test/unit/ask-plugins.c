/* The search for a plugin: claim after claim, plugin after plugin, neighbours, other runtimes, and
 * the last tries when none is left. */
#include "ask-plugins.h"

#include <string.h>

#include "accounting.h"
#include "desired-amounts.h"
#include "fakes.h"
#include "grants.h"
#include "ledger.h"
#include "owner.h"
#include "pipeline.h"
#include "reservations.h"
#include "spare-capacity.h"
#include "told.h"
#include "unit.h"

/* An offer of LATE's plugin, whose plan NEXT judges. */
static struct reservation *offered_by_late(const char *name, struct spec spec, uint64_t runtime)
{
    struct reservation *reservation = writes(name, spec);
    is_at(reservation, STEP_ACCEPT);
    plugin_offers(reservation, ANSWER_OK, runtime);
    return reservation;
}

static struct reservation *granted_by(const char *name, const char *plugin, uint64_t runtime)
{
    struct reservation *reservation = writes(name, spec_of(plugin, runtime, 0));
    plugin_offers(reservation, ANSWER_OK, runtime);
    while (step_of(reservation) == STEP_JUDGE || step_of(reservation) == STEP_SCHEDULE)
        plugin_answers(reservation, ANSWER_OK, 0, false);
    is_granted(reservation);
    return reservation;
}

/* ---- claims ---- */

static void a_claim_is_held_and_granted_alone(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", spec_with(RESOURCE_UNITS, 3));
    is_at(reservation, STEP_CLAIM);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_granted(reservation);
    assert_int_equal(reservation->grant->plugin, NO_PLUGIN);
    assert_int_equal(reservation->grant->holdings->claim.values[0], 3);
}

static void a_claim_that_its_plugin_refuses_is_refused(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", spec_with(RESOURCE_UNITS, 3));
    plugin_answers(reservation, ANSWER_NO, 2, false);
    is_refused(reservation, WHY_FULL, false);
    assert_int_equal(verdict.refusal.nearest, 2);
    reservation = writes("cam", spec_with(RESOURCE_UNITS, 3));
    plugin_answers(reservation, ANSWER_NO, 0, true);
    is_refused(reservation, WHY_UNSUITABLE, true);
}

static void what_a_plugin_accepts_beyond_its_capacity_is_not_held(void **state)
{
    (void)state;
    rules_are("20021 UNITS max_amount 100\n");
    struct reservation *reservation = writes("cam", spec_with(RESOURCE_UNITS, 11));
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_refused(reservation, WHY_UNSUITABLE, true);
    assert_int_equal(verdict.refusal.nearest, 10);
}

static void what_was_held_is_let_go_when_the_next_claim_is_refused(void **state)
{
    (void)state;
    struct spec spec = spec_with(RESOURCE_UNITS, 10);
    spec.runtime = SECOND / 10;
    spec.period = SECOND;
    spec.plugin = strdup("EDF");
    struct reservation *reservation = writes("cam", spec);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_at(reservation, STEP_ACCEPT);
    plugin_answers(reservation, ANSWER_NO, 0, true);
    is_refused(reservation, WHY_UNSUITABLE, true);
    reservation = writes("all", spec_with(RESOURCE_UNITS, 10));
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_granted(reservation);
}

static void without_a_guarantee_nobody_is_asked(void **state)
{
    (void)state;
    struct spec spec = spec_with(RESOURCE_NETWORK, 0);
    spec.claims->background = true;
    is_granted(writes("cam", spec));
    spec = spec_with(RESOURCE_NETWORK, 0);
    spec.claims->background = true;
    strcpy(spec.claims->plugin, "NEVER");
    is_refused(writes("dog", spec), WHY_NO_PLUGIN, true);
}

/* ---- CPU time ---- */

static void the_first_plugin_that_agrees_grants(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", tenth(NULL));
    assert_int_equal(reservation->request->inquiry.plugin, EDF);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    assert_int_equal(reservation->request->inquiry.plugin, LOW);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    assert_int_equal(reservation->request->inquiry.plugin, LATE);
    plugin_answers(reservation, ANSWER_NO, 0, true);
    assert_int_equal(reservation->request->inquiry.plugin, NEXT);
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    is_at(reservation, STEP_JUDGE);
    assert_int_equal(reservation->request->hearing.judge, LATE);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_at(reservation, STEP_SCHEDULE);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_granted(reservation);
    assert_int_equal(reservation->grant->plugin, NEXT);
}

static void no_plugin_of_that_name(void **state)
{
    (void)state;
    is_refused(writes("cam", tenth("edf")), WHY_NO_PLUGIN, true);
    assert_non_null(strstr(verdict.reason, "did you mean EDF?"));
}

static void a_plugin_that_restarts_may_say_yes_later(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", tenth("EDF"));
    plugin_answers(reservation, ANSWER_RESTARTING, 0, false);
    is_refused(reservation, WHY_RESTARTING, false);
}

static void a_part_is_taken_when_nobody_offers_all(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", spec_of("LATE", SECOND / 10, SECOND / 2));
    plugin_offers(reservation, ANSWER_PARTIAL, SECOND / 5);
    is_at(reservation, STEP_JUDGE);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_granted(reservation);
    assert_int_equal(reservation->grant->plan.runtime, SECOND / 5);
}

static void a_part_that_a_neighbour_cannot_bear_is_not_taken(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", spec_of("LATE", SECOND / 10, SECOND / 2));
    plugin_offers(reservation, ANSWER_PARTIAL, SECOND / 5);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    is_refused(reservation, WHY_NEIGHBOUR, false);
}

static void an_offer_that_crossed_with_another_task_is_asked_for_again_once(void **state)
{
    (void)state;
    (void)has_grant("dog");
    struct reservation *reservation = writes("cam", spec_of("EDF", SECOND * 85 / 100, 0));
    plugin_offers(reservation, ANSWER_OK, SECOND * 85 / 100); /* on the CPU of `dog` */
    is_at(reservation, STEP_ACCEPT);
    assert_int_equal(reservation->request->inquiry.plugin, EDF);
    assert_int_equal(told_lies, 0);
    may_lie = true;
    plugin_offers(reservation, ANSWER_OK, SECOND * 85 / 100);
    assert_int_equal(told_lies, 1);
    is_refused(reservation, WHY_RESTARTING, false);
}

static void a_plan_that_is_not_the_plugins_own_ends_the_plugin(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", tenth("EDF"));
    may_lie = true;
    plugin_offers(reservation, ANSWER_OK, SECOND);
    assert_int_equal(told_lies, 1);
    is_refused(reservation, WHY_RESTARTING, false);
}

static void a_plan_on_other_cpus_than_the_spec_states_is_no_plan(void **state)
{
    (void)state;
    struct spec spec = tenth("EDF");
    assert_true(spec_take_cpus(&spec, "1"));
    struct reservation *reservation = writes("cam", spec);
    plugin_offers(reservation, ANSWER_OK, SECOND / 10); /* CPU 0 */
    is_refused(reservation, WHY_UNSUITABLE, true);
}

/* ---- neighbours ---- */

static void a_neighbour_that_cannot_bear_the_offer_refuses(void **state)
{
    (void)state;
    struct reservation *reservation = offered_by_late("cam", tenth("LATE"), SECOND / 10);
    is_at(reservation, STEP_JUDGE);
    plugin_answers(reservation, ANSWER_NO, 0, true);
    is_refused(reservation, WHY_NEIGHBOUR, true);
    assert_string_equal(verdict.refusal.by, "NEXT");
}

static void less_than_is_desired_is_enough(void **state)
{
    (void)state;
    struct reservation *reservation =
        offered_by_late("cam", spec_of("LATE", SECOND / 10, SECOND / 2), SECOND / 2);
    plugin_answers(reservation, ANSWER_NO, SECOND / 5, false);
    is_at(reservation, STEP_ACCEPT);
    assert_int_equal(reservation->request->inquiry.ceiling, SECOND / 5);
    plugin_offers(reservation, ANSWER_OK, SECOND / 5);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_granted(reservation);
}

static void the_sum_of_all_lines_may_have_crossed_with_the_offer(void **state)
{
    (void)state;
    (void)granted_by("dog", "NEXT", SECOND * 95 / 100);
    struct reservation *reservation = offered_by_late("cam", tenth("LATE"), SECOND / 10);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_at(reservation, STEP_ACCEPT); /* LATE is asked once more */
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_at(reservation, STEP_PROBE); /* LATE is asked for the runtime that is left beside dog */
    /* the kernel rounds times */
    assert_in_range(reservation->request->inquiry.probed, SECOND / 20, SECOND / 20 + 1);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    is_refused(reservation, WHY_FULL, false);
    assert_int_equal(verdict.refusal.nearest, 0);
}

static void a_place_that_was_taken_meanwhile_is_refused(void **state)
{
    (void)state;
    struct reservation *reservation = offered_by_late("cam", tenth("LATE"), SECOND / 10);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_at(reservation, STEP_SCHEDULE);
    plugin_answers(reservation, ANSWER_RESTARTING, 0, false);
    is_refused(reservation, WHY_RESTARTING, false);
}

/* ---- other runtimes ---- */

static void the_nearest_runtime_is_one_that_all_have_agreed_to(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", tenth("LATE"));
    plugin_answers(reservation, ANSWER_NO, SECOND / 20, false);
    is_at(reservation, STEP_PROBE);
    plugin_answers(reservation, ANSWER_NO, SECOND / 25, false);
    is_at(reservation, STEP_PROBE);
    plugin_offers(reservation, ANSWER_OK, SECOND / 25);
    is_at(reservation, STEP_JUDGE);
    plugin_answers(reservation, ANSWER_NO, SECOND / 50, false);
    is_at(reservation, STEP_PROBE);
    plugin_offers(reservation, ANSWER_OK, SECOND / 50);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_refused(reservation, WHY_FULL, false);
    assert_int_equal(verdict.refusal.nearest, SECOND / 50);
}

static void what_a_rule_allows_is_probed(void **state)
{
    (void)state;
    rules_are("20021 - max_utilization 100\n20021 LATE max_runtime 50ms\n");
    struct reservation *reservation = writes("cam", tenth("LATE"));
    is_at(reservation, STEP_PROBE);
    assert_int_equal(reservation->request->inquiry.probed, 50000);
    plugin_offers(reservation, ANSWER_OK, 50000);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_refused(reservation, WHY_BEYOND_RULE, true);
    assert_int_equal(verdict.refusal.nearest, 50000);
}

static void is_refused_within(const struct reservation *reservation, enum why why, uint64_t least,
                              uint64_t most)
{
    is_refused(reservation, why, true);
    assert_int_equal(verdict.refusal.nearest_minimum, least);
    assert_int_equal(verdict.refusal.nearest, most);
}

static void is_asked_for(const struct reservation *reservation, uint64_t runtime)
{
    is_at(reservation, STEP_PROBE);
    assert_int_equal(reservation->request->inquiry.probed, runtime);
}

/* The plugin grants what it is asked for, and the neighbours agree. */
static void is_offered(const struct reservation *reservation, uint64_t runtime)
{
    is_asked_for(reservation, runtime);
    plugin_offers(reservation, ANSWER_OK, runtime);
    if (step_of(reservation) == STEP_JUDGE)
        plugin_answers(reservation, ANSWER_OK, 0, false);
}

static void a_plugin_that_wants_more_is_asked_for_the_least_and_the_largest(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", tenth("EDF"));
    plugin_wants_more(reservation, SECOND / 5, SECOND / 2);
    is_asked_for(reservation, SECOND / 5);
    plugin_wants_more(reservation, SECOND / 4, SECOND / 2);
    is_offered(reservation, SECOND / 4);
    is_asked_for(reservation, SECOND);
    plugin_answers(reservation, ANSWER_NO, SECOND / 2, false);
    is_offered(reservation, SECOND / 2);
    is_refused_within(reservation, WHY_UNSUITABLE, SECOND / 4, SECOND / 2);
}

static void a_least_runtime_of_the_rules_is_asked_for(void **state)
{
    (void)state;
    rules_are("20021 - max_utilization 100\n20021 LATE min_runtime 200ms\n");
    struct reservation *reservation = writes("cam", tenth("LATE"));
    is_offered(reservation, SECOND / 5);
    is_asked_for(reservation, SECOND);
    plugin_answers(reservation, ANSWER_NO, SECOND / 2, false);
    is_asked_for(reservation, SECOND / 2);
    plugin_offers(reservation, ANSWER_OK, SECOND / 2);
    plugin_answers(reservation, ANSWER_NO, SECOND / 4, false); /* NEXT bears less */
    is_offered(reservation, SECOND / 4);
    is_refused_within(reservation, WHY_BEYOND_RULE, SECOND / 5, SECOND / 4);
}

static void a_least_runtime_that_does_not_fit_is_not_named(void **state)
{
    (void)state;
    rules_are("20021 - max_utilization 100\n20021 LATE min_runtime 200ms\n");
    struct reservation *reservation = writes("cam", tenth("LATE"));
    plugin_answers(reservation, ANSWER_NO, SECOND / 8, false);
    is_refused_within(reservation, WHY_BEYOND_RULE, 0, 0);
    reservation = writes("dog", tenth("LATE"));
    plugin_offers(reservation, ANSWER_OK, SECOND / 5);
    plugin_answers(reservation, ANSWER_NO, SECOND / 8, false);
    is_refused_within(reservation, WHY_BEYOND_RULE, 0, 0);
}

static void a_least_runtime_of_the_guard_is_asked_for(void **state)
{
    (void)state;
    guarded_from = SECOND / 5;
    struct reservation *reservation = writes("cam", tenth("EDF"));
    is_offered(reservation, SECOND / 5);
    plugin_answers(reservation, ANSWER_NO, SECOND / 5, false);
    is_offered(reservation, SECOND / 5);
    is_refused_within(reservation, WHY_UNSUITABLE, SECOND / 5, SECOND / 5);
    reservation = writes("dog", spec_of("EDF", SECOND / 2, 0));
    plugin_answers(reservation, ANSWER_NO, SECOND / 10, false);
    is_refused(reservation, WHY_FULL, false);
    assert_int_equal(verdict.refusal.nearest, 0); /* less than the guard can enforce */
    guarded_from = 0;
}

static void values_that_cannot_be_are_not_believed(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", tenth("EDF"));
    plugin_wants_more(reservation, SECOND + 1, SECOND * 2); /* more than the period */
    is_refused_within(reservation, WHY_UNSUITABLE, 0, 0);
    reservation = writes("dog", tenth("EDF"));
    /* the asked runtime, which the plugin refuses */
    plugin_wants_more(reservation, SECOND / 10, 0);
    is_refused_within(reservation, WHY_UNSUITABLE, 0, 0);
    reservation = writes("cat", tenth("EDF"));
    /* says that the runtime is too small, but names no least one */
    plugin_answers(reservation, ANSWER_NO, SECOND / 5, true);
    is_refused_within(reservation, WHY_UNSUITABLE, 0, 0);
    reservation = writes("ant", tenth("EDF"));
    plugin_wants_more(reservation, SECOND / 5, 0);
    for (uint64_t more = 1; step_of(reservation) == STEP_PROBE; more++)
        /* the plugin refuses each runtime that it has named */
        plugin_wants_more(reservation, SECOND / 5 + more, 0);
    is_refused_within(reservation, WHY_UNSUITABLE, 0, 0);
    reservation = writes("bee", spec_with(RESOURCE_UNITS, 3));
    plugin_answers(reservation, ANSWER_NO, 4, true);
    is_refused_within(reservation, WHY_UNSUITABLE, 0, 0);
}

/* Alice asks for 0.1 s: EDF grants more, and LOW grants less. */
static void is_refused_on_both_sides(const char *name, uint64_t less, uint64_t more)
{
    struct reservation *reservation = writes(name, tenth(NULL));
    plugin_wants_more(reservation, more, SECOND / 2);
    is_offered(reservation, more);
    plugin_answers(reservation, ANSWER_NO, SECOND / 2, false);
    is_offered(reservation, SECOND / 2);
    plugin_answers(reservation, ANSWER_NO, less, true);
    if (step_of(reservation) == STEP_PROBE)
        is_offered(reservation, less);
    for (int others = 0; others < 2; others++)
        plugin_answers(reservation, ANSWER_NO, 0, true);
}

static void the_least_change_is_named_where_less_and_more_would_be_granted(void **state)
{
    (void)state;
    is_refused_on_both_sides("cam", SECOND / 11, SECOND / 5);
    assert_int_equal(verdict.refusal.nearest, SECOND / 11);
    assert_int_equal(verdict.refusal.nearest_minimum, 0);
    is_refused_on_both_sides("dog", SECOND / 100, SECOND / 5 - SECOND / 20);
    assert_int_equal(verdict.refusal.nearest, SECOND / 2);
    assert_int_equal(verdict.refusal.nearest_minimum, SECOND / 5 - SECOND / 20);
}

/* ---- turns ---- */

static void those_that_neighbours_judge_are_decided_one_at_a_time(void **state)
{
    (void)state;
    struct reservation *first = writes("cam", tenth("LATE")),
                       *second = writes("dog", tenth("NEXT"));
    is_at(first, STEP_ACCEPT);
    is_at(second, STEP_TURN);
    assert_null(turn_next());
    plugin_answers(first, ANSWER_NO, 0, true);
    is_at(second, STEP_TURN);
    assert_ptr_equal(turn_next(), second->request);
    pipeline_turn_has_come(second->request);
    is_at(second, STEP_ACCEPT);
    assert_int_equal(second->request->inquiry.plugin, NEXT);
    plugin_answers(second, ANSWER_NO, 0, true);
}

/* ---- dry runs ---- */

static void a_dry_run_holds_nothing(void **state)
{
    (void)state;
    struct spec spec = spec_with(RESOURCE_UNITS, 10);
    spec.dry_run = true;
    struct reservation *reservation = writes("cam", spec);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    assert_true(verdict.result == RESULT_OK && verdict.would_grant);
    assert_null(reservation->grant);
    spec = tenth("LATE");
    spec.dry_run = true;
    reservation = offered_by_late("dog", spec, SECOND / 10);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    assert_true(verdict.result == RESULT_OK && verdict.would_grant);
    assert_null(reservation->grant);
}

/* ---- when no plugin is left ---- */

static void what_came_free_meanwhile_is_asked_for_again(void **state)
{
    (void)state;
    struct reservation *other = has_grant("dog"), *reservation = writes("cam", tenth("EDF"));
    grant_unbook(other, true);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    is_at(reservation, STEP_ACCEPT);
    assert_int_equal(reservation->request->inquiry.rounds, 1);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    is_refused(reservation, WHY_FULL, false);
}

static void what_is_owed_is_waited_for_once(void **state)
{
    (void)state;
    struct reservation *other = has_thread("dog");
    clock_to(clock_now + 100 * MS);
    removes(other);
    helper_answers(other, HELPER_OK, 0);
    assert_null(other->grant);
    struct reservation *reservation = writes("cam", tenth("EDF"));
    plugin_answers(reservation, ANSWER_NO, SECOND / 20, false);
    is_at(reservation, STEP_ROOM);
    /* the search takes more than a tenth of a second */
    assert_int_equal(verdict.result, RESULT_WAITING);
    clock_to(clock_now + 2000 * MS);
    is_at(reservation, STEP_ACCEPT);
    plugin_answers(reservation, ANSWER_NO, SECOND / 20, false);
    is_refused(reservation, WHY_FULL, false);
}

static struct reservation *has_more_than_it_needs(void)
{
    struct reservation *rich = writes("rich", spec_of("EDF", SECOND / 10, SECOND * 8 / 10));
    plugin_offers(rich, ANSWER_OK, SECOND * 8 / 10);
    is_granted(rich);
    return rich;
}

static void what_others_do_not_need_is_taken_back_after_a_trial(void **state)
{
    (void)state;
    struct reservation *rich = has_more_than_it_needs(),
                       *reservation = writes("cam", spec_of("EDF", SECOND / 2, 0));
    plugin_answers(reservation, ANSWER_NO, 0, false);
    is_at(reservation, STEP_ACCEPT);
    assert_int_equal(reservation->request->spare.trial, TRIAL_RUNS);
    assert_int_equal(rich->grant->plan.runtime, SECOND * 8 / 10);
    plugin_offers(reservation, ANSWER_OK, SECOND / 2);
    is_at(reservation, STEP_ACCEPT);
    assert_int_equal(reservation->request->spare.trial, TRIAL_PASSED);
    assert_int_equal(rich->grant->plan.runtime, SECOND * 8 / 10);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    is_at(reservation, STEP_ACCEPT);
    /* the kernel rounds times */
    assert_in_range(rich->grant->plan.runtime, SECOND * 4 / 10, SECOND * 4 / 10 + 1);
    plugin_offers(reservation, ANSWER_OK, SECOND / 2);
    is_granted(reservation);
}

static void a_trial_that_fails_takes_nothing(void **state)
{
    (void)state;
    struct reservation *rich = has_more_than_it_needs(),
                       *reservation = writes("cam", spec_of("EDF", SECOND / 2, 0));
    plugin_answers(reservation, ANSWER_NO, 0, false);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    is_at(reservation, STEP_ACCEPT);
    assert_int_equal(reservation->request->spare.trial, TRIAL_FAILED);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    is_refused(reservation, WHY_FULL, false);
    assert_int_equal(rich->grant->plan.runtime, SECOND * 8 / 10);
}

static void of_a_claim_it_is_the_same(void **state)
{
    (void)state;
    rules_are("20021 UNITS max_amount 100\n");
    struct reservation *rich = writes("rich", spec_with(RESOURCE_UNITS, 2));
    plugin_answers(rich, ANSWER_OK, 0, false);
    is_granted(rich);
    rich->grant->holdings->claim.least = 1; /* the spec needs one unit and desires two */
    *claim_desired_value(&rich->grant->holdings->claim) = 2;
    desired_amounts_follow(rich);
    struct reservation *reservation = writes("cam", spec_with(RESOURCE_UNITS, 9));
    plugin_answers(reservation, ANSWER_NO, 0, false);
    is_at(reservation, STEP_CLAIM);
    assert_int_equal(reservation->request->spare.trial, TRIAL_RUNS);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_at(reservation, STEP_CLAIM);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    assert_int_equal(rich->grant->holdings->claim.values[0], 1);
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_granted(reservation);
}

/* ---- the edges of the diagram ---- */

static void the_tests_have_passed_each_edge(void **state)
{
    static const enum step steps[] = {STEP_CHOOSE,  STEP_TURN,  STEP_CLAIM,       STEP_ACCEPT,
                                      STEP_PROBE,   STEP_JUDGE, STEP_NEXT_PLUGIN, STEP_SCHEDULE,
                                      STEP_REFUSED, STEP_ROOM,  STEP_ROUND};
    (void)state;
    all_edges_are_passed(steps, sizeof steps / sizeof *steps);
}

#define with_fakes(test) cmocka_unit_test_setup_teardown(test, fakes_begin, fakes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fakes(a_claim_is_held_and_granted_alone),
        with_fakes(a_claim_that_its_plugin_refuses_is_refused),
        with_fakes(what_a_plugin_accepts_beyond_its_capacity_is_not_held),
        with_fakes(what_was_held_is_let_go_when_the_next_claim_is_refused),
        with_fakes(without_a_guarantee_nobody_is_asked),
        with_fakes(the_first_plugin_that_agrees_grants),
        with_fakes(no_plugin_of_that_name),
        with_fakes(a_plugin_that_restarts_may_say_yes_later),
        with_fakes(a_part_is_taken_when_nobody_offers_all),
        with_fakes(a_part_that_a_neighbour_cannot_bear_is_not_taken),
        with_fakes(an_offer_that_crossed_with_another_task_is_asked_for_again_once),
        with_fakes(a_plan_that_is_not_the_plugins_own_ends_the_plugin),
        with_fakes(a_plan_on_other_cpus_than_the_spec_states_is_no_plan),
        with_fakes(a_neighbour_that_cannot_bear_the_offer_refuses),
        with_fakes(less_than_is_desired_is_enough),
        with_fakes(the_sum_of_all_lines_may_have_crossed_with_the_offer),
        with_fakes(a_place_that_was_taken_meanwhile_is_refused),
        with_fakes(the_nearest_runtime_is_one_that_all_have_agreed_to),
        with_fakes(a_plugin_that_wants_more_is_asked_for_the_least_and_the_largest),
        with_fakes(a_least_runtime_of_the_rules_is_asked_for),
        with_fakes(a_least_runtime_that_does_not_fit_is_not_named),
        with_fakes(a_least_runtime_of_the_guard_is_asked_for),
        with_fakes(values_that_cannot_be_are_not_believed),
        with_fakes(the_least_change_is_named_where_less_and_more_would_be_granted),
        with_fakes(what_a_rule_allows_is_probed),
        with_fakes(those_that_neighbours_judge_are_decided_one_at_a_time),
        with_fakes(a_dry_run_holds_nothing),
        with_fakes(what_came_free_meanwhile_is_asked_for_again),
        with_fakes(what_is_owed_is_waited_for_once),
        with_fakes(what_others_do_not_need_is_taken_back_after_a_trial),
        with_fakes(a_trial_that_fails_takes_nothing),
        with_fakes(of_a_claim_it_is_the_same),
        cmocka_unit_test(the_tests_have_passed_each_edge),
    };
    return cmocka_run_group_tests(tests, fakes_set_up, fakes_tear_down);
}
