/* Each code of a refusal, with what the owner has done: rtf-verdict(5). */
#include "refusals.h"

#include <string.h>

#include "fakes.h"
#include "owner.h"
#include "pipeline.h"
#include "reservations.h"
#include "told.h"
#include "unit.h"

static void is_told(enum why code, bool never)
{
    check(verdict.count == 1 && verdict.refusal.code == code && verdict.refusal.never == never,
          "%d, never %d: %s", (int)verdict.refusal.code, verdict.refusal.never, verdict.reason);
}

/* ---- by the broker, before any plugin is asked ---- */

static void what_is_no_spec(void **state)
{
    (void)state;
    (void)writes_nonsense("cam", "line 1 is no JSON");
    is_told(WHY_BAD_SPEC, true);
    assert_string_equal(verdict.refusal.by, "spec");
}

static void a_thread_that_is_named_twice(void **state)
{
    (void)state;
    struct spec spec = tenth("EDF");
    spec.attach = 4711;
    struct reservation *reservation = writes("cam", spec);
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    helper_answers(reservation, HELPER_OK, 0);
    (void)writes_tid("cam");
    is_told(WHY_BAD_SPEC, true);
}

static void a_user_who_is_no_member(void **state)
{
    (void)state;
    rules_are("20022 - max_utilization 1\n");
    (void)writes("cam", tenth("EDF"));
    is_told(WHY_NOT_A_MEMBER, true);
}

static void an_account_that_is_not_known(void **state)
{
    (void)state;
    owner_account.state = ACCOUNT_FAILED;
    (void)writes("cam", tenth("EDF"));
    is_told(WHY_NO_ACCOUNT, false);
}

static void one_spec_too_many(void **state)
{
    (void)state;
    const int most = max_specs;
    max_specs = 1;
    (void)has_grant("cam");
    assert_null(writes("dog", tenth("EDF"))); /* the owner is told, and the spec is forgotten */
    max_specs = most;
    is_told(WHY_TOO_MANY_SPECS, false);
}

static void while_draining(void **state)
{
    (void)state;
    owner_drain(true);
    (void)writes("cam", tenth("EDF"));
    owner_drain(false);
    is_told(WHY_DRAINING, false);
}

static void behind_another_that_waits(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct spec spec = tenth("EDF");
        spec.waits = true;
        struct reservation *reservation = writes(i == 0 ? "cam" : "dog", spec);
        if (i == 0)
            plugin_answers(reservation, ANSWER_NO, 0, false);
    }
    is_told(WHY_BEHIND, false);
    assert_int_equal(verdict.result, RESULT_WAITING);
}

/* ---- by the rules ---- */

static void what_no_rule_opens(void **state)
{
    (void)state;
    rules_are("20021 NET max_bandwidth 1Mbit\n");
    (void)writes("cam", tenth("EDF"));
    is_told(WHY_NOT_OPENED, true);
}

static void what_a_rule_does_not_allow(void **state)
{
    (void)state;
    rules_are("20021 - max_utilization 1\n20021 EDF max_period 500ms\n");
    (void)writes("cam", tenth("EDF"));
    is_told(WHY_BEYOND_RULE, true);
}

static void what_others_have_used_up(void **state)
{
    (void)state;
    rules_are("20021 - max_utilization 0.1\n");
    (void)has_grant("dog");
    (void)writes("cam", tenth("EDF"));
    is_told(WHY_RULE_USED_UP, false);
}

/* ---- by plugins ---- */

static void a_plugin_that_is_not_there(void **state)
{
    (void)state;
    (void)writes("cam", tenth("NEVER"));
    is_told(WHY_NO_PLUGIN, true);
}

static void a_plugin_says(enum answer answer, bool never)
{
    struct reservation *reservation = writes("cam", tenth("EDF"));
    plugin_answers(reservation, answer, 0, never);
    is_refused(reservation, verdict.refusal.code, never);
}

static void what_a_plugin_never_grants(void **state)
{
    (void)state;
    a_plugin_says(ANSWER_NO, true);
    is_told(WHY_UNSUITABLE, true);
}

static void what_is_full(void **state)
{
    (void)state;
    a_plugin_says(ANSWER_NO, false);
    is_told(WHY_FULL, false);
}

static void a_plugin_that_restarts(void **state)
{
    (void)state;
    a_plugin_says(ANSWER_RESTARTING, false);
    is_told(WHY_RESTARTING, false);
}

static void what_a_neighbour_cannot_bear(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", tenth("LATE"));
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    is_told(WHY_NEIGHBOUR, false);
}

/* The plugin LOW tests nothing, but cannot take the spec, either. The owner also learns what LOW
 * lacks. */
static void what_a_plugin_that_tests_nothing_lacks(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", tenth(NULL));
    for (int plugin = EDF; plugin <= NEXT; plugin++)
        plugin_answers(reservation, ANSWER_NO, 0, plugin != EDF);
    is_told(WHY_FULL, false);
    assert_string_equal(verdict.refusal.by, "EDF");
    assert_string_equal(verdict.refusal.other,
                        "LOW, which makes no schedulability test, refused: so it says");
    (void)writes("dog", tenth("NEVER"));
    assert_string_equal(verdict.refusal.other, "");
}

/* ---- about threads ---- */

static void a_thread_without_a_grant(void **state)
{
    (void)state;
    (void)writes_tid("cam");
    is_told(WHY_NO_GRANT, true);
}

static void a_thread_without_cpu_time(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", spec_with(RESOURCE_UNITS, 1));
    plugin_answers(reservation, ANSWER_OK, 0, false);
    (void)writes_tid("cam");
    is_told(WHY_NO_CPU_CLAIM, true);
}

static void attaching_is_refused(enum why code, bool never)
{
    const struct reservation *reservation = has_grant("cam");
    (void)writes_tid("cam");
    is_told(code, never);
    assert_null(reservation->attachment);
}

static void a_thread_that_is_not_there(void **state)
{
    (void)state;
    thread.is_there = false;
    attaching_is_refused(WHY_NO_THREAD, true);
}

static void a_thread_of_another_user(void **state)
{
    (void)state;
    thread.identity.saved_uid = 20022;
    attaching_is_refused(WHY_NOT_YOURS, true);
}

static void a_thread_of_the_kernel(void **state)
{
    (void)state;
    thread.identity.kernel = true;
    attaching_is_refused(WHY_NO_USER_THREAD, true);
}

static void a_thread_that_is_younger_than_the_file(void **state)
{
    (void)state;
    thread.identity.start = (uint64_t)INT64_MAX;
    attaching_is_refused(WHY_STALE, true);
}

static void a_thread_of_another_reservation(void **state)
{
    (void)state;
    (void)has_thread("dog");
    attaching_is_refused(WHY_ATTACHED_ELSEWHERE, false);
}

static void a_thread_that_could_not_be_told_from_its_process(void **state)
{
    (void)state;
    thread.is_real_time_by_others = true;
    attaching_is_refused(WHY_UNCLEAR_THREAD, false);
}

static void a_thread_whose_attributes_cannot_be_read(void **state)
{
    (void)state;
    thread.is_readable = false;
    attaching_is_refused(WHY_UNCLEAR_THREAD, true);
}

static void a_thread_that_cannot_be_watched(void **state)
{
    (void)state;
    thread.can_be_watched = false;
    attaching_is_refused(WHY_UNCLEAR_THREAD, false);
}

static void what_would_leave_a_thread_without_cpu_time(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    (void)writes("cam", spec_with(RESOURCE_UNITS, 1));
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_told(WHY_STILL_ATTACHED, true);
}

static void what_the_kernel_refuses(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    (void)writes_tid("cam");
    helper_answers(reservation, HELPER_NO, 0);
    helper_answers(reservation, HELPER_OK, 0);
    is_told(WHY_KERNEL, true);
}

static void what_the_journal_cannot_hold(void **state)
{
    (void)state;
    (void)has_grant("cam");
    journal_works = false;
    (void)writes_tid("cam");
    is_told(WHY_BROKER_STATE, false);
}

static void what_root_has_revoked(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    reservation->state = RESERVATION_WITHDRAWN;
    is_looked_at(reservation);
    is_told(WHY_REVOKED, false);
}

static void the_tests_have_met_each_code(void **state)
{
    (void)state;
    for (int code = 0; code <= WHY_REVOKED; code++)
        check((codes_told >> code & 1) != 0, "no test is refused with code %d", code);
}

#define with_fakes(test) cmocka_unit_test_setup_teardown(test, fakes_begin, fakes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fakes(what_is_no_spec),
        with_fakes(a_thread_that_is_named_twice),
        with_fakes(a_user_who_is_no_member),
        with_fakes(an_account_that_is_not_known),
        with_fakes(one_spec_too_many),
        with_fakes(while_draining),
        with_fakes(behind_another_that_waits),
        with_fakes(what_no_rule_opens),
        with_fakes(what_a_rule_does_not_allow),
        with_fakes(what_others_have_used_up),
        with_fakes(a_plugin_that_is_not_there),
        with_fakes(what_a_plugin_never_grants),
        with_fakes(what_is_full),
        with_fakes(a_plugin_that_restarts),
        with_fakes(what_a_neighbour_cannot_bear),
        with_fakes(what_a_plugin_that_tests_nothing_lacks),
        with_fakes(a_thread_without_a_grant),
        with_fakes(a_thread_without_cpu_time),
        with_fakes(a_thread_that_is_not_there),
        with_fakes(a_thread_of_another_user),
        with_fakes(a_thread_of_the_kernel),
        with_fakes(a_thread_that_is_younger_than_the_file),
        with_fakes(a_thread_of_another_reservation),
        with_fakes(a_thread_that_could_not_be_told_from_its_process),
        with_fakes(a_thread_whose_attributes_cannot_be_read),
        with_fakes(a_thread_that_cannot_be_watched),
        with_fakes(what_would_leave_a_thread_without_cpu_time),
        with_fakes(what_the_kernel_refuses),
        with_fakes(what_the_journal_cannot_hold),
        with_fakes(what_root_has_revoked),
        cmocka_unit_test(the_tests_have_met_each_code),
    };
    return cmocka_run_group_tests(tests, fakes_set_up, fakes_tear_down);
}
