/* The requests of a reservation's files: each kind of request begins with the written files, and
 * later writes are looked at afterwards. */
#include "reconcile.h"

#include <stdlib.h>
#include <string.h>

#include "fakes.h"
#include "grants.h"
#include "owner.h"
#include "pipeline.h"
#include "reservations.h"
#include "told.h"
#include "unit.h"
#include "wait-queue.h"

/* ---- whose specs ---- */

static void a_spec_waits_for_its_owners_account(void **state)
{
    (void)state;
    account_is_known = false;
    struct reservation *reservation = writes("cam", tenth("EDF"));
    is_at(reservation, STEP_ACCOUNT);
    account_is_known = true;
    pipeline_account_known(&owner_account);
    is_at(reservation, STEP_ACCEPT);
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    is_granted(reservation);
}

static void a_spec_of_an_account_that_is_not_known_is_refused(void **state)
{
    (void)state;
    account_is_known = false;
    struct reservation *reservation = writes("cam", tenth("EDF"));
    owner_account.state = ACCOUNT_FAILED;
    pipeline_account_known(&owner_account);
    is_refused(reservation, WHY_NO_ACCOUNT, false);
}

static void while_draining_nothing_new_begins(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    owner_drain(true);
    is_refused(writes("dog", tenth("EDF")), WHY_DRAINING, false);
    reservation->state = RESERVATION_RECOVERED; /* an earlier broker has granted it */
    reservation = writes("cam", tenth("EDF"));
    is_at(reservation, STEP_ACCEPT);
    assert_int_equal(reservation->request->outcome.kind, RECOVER);
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    owner_drain(false);
    is_at(writes("dog", tenth("EDF")), STEP_ACCEPT);
    plugin_answers(reservation_find(&owner, "dog", false), ANSWER_NO, 0, true);
}

/* ---- NAME.json ---- */

static void a_spec_that_is_written_again_is_a_change_and_keeps_its_thread(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    (void)writes("cam", tenth("EDF"));
    assert_int_equal(reservation->request->outcome.kind, CHANGE);
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    is_at(reservation, STEP_APPLY);
    helper_answers(reservation, HELPER_OK, 0);
    is_granted(reservation);
    assert_int_equal(reservation->attachment->tid, 4711);
}

static void a_spec_that_lets_go_of_its_thread(void **state)
{
    (void)state;
    struct spec spec = tenth("EDF");
    spec.attach = 4711;
    struct reservation *reservation = writes("cam", spec);
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    helper_answers(reservation, HELPER_OK, 0);
    assert_non_null(reservation->attachment);
    spec = tenth("EDF");
    spec.attach_none = true;
    (void)writes("cam", spec);
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    is_at(reservation, STEP_DETACH);
    helper_answers(reservation, HELPER_OK, 0);
    is_granted(reservation);
    assert_null(reservation->attachment);
}

static void a_spec_without_cpu_time_does_not_take_it_from_an_attached_thread(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    (void)writes("cam", spec_with(RESOURCE_UNITS, 1));
    plugin_answers(reservation, ANSWER_OK, 0, false);
    is_at(reservation, STEPS);
    assert_int_equal(verdict.refusal.code, WHY_STILL_ATTACHED);
    assert_int_equal(reservation->grant->plugin, EDF);
}

static void what_is_no_spec_changes_nothing(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    (void)writes_nonsense("cam", "line 1 is no JSON");
    assert_true(verdict.result == BAD_SPEC && verdict.refusal.code == WHY_BAD_SPEC);
    assert_non_null(reservation->grant);
}

static void what_was_judged_has_no_second_answer(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    is_looked_at(reservation);
    assert_int_equal(verdict.count, 0);
    is_at(reservation, STEPS);
}

static void a_spec_that_is_removed_is_released_with_its_grant(void **state)
{
    (void)state;
    removes(has_grant("cam"));
    assert_int_equal(verdict.kind, RELEASE);
    assert_null(owner.reservations);
}

static void what_is_written_meanwhile_is_looked_at_after_the_answer(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", tenth("EDF"));
    reconcile_examine(reservation);
    is_at(reservation, STEP_ACCEPT);
    assert_true((reservation->pending_changes & FILES_CHANGED) != 0);
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    assert_non_null(reservation->queue);
    looks = 0;
    reconcile_examine(reservation);
    assert_int_equal(looks, 1);
}

static void a_spec_that_waits_and_is_written_again_begins_anew(void **state)
{
    (void)state;
    struct reservation *other = has_thread("dog");
    clock_to(clock_now + 100 * MS);
    removes(other);
    helper_answers(other, HELPER_OK, 0);
    struct reservation *reservation = writes("cam", tenth("EDF"));
    plugin_answers(reservation, ANSWER_NO, SECOND / 20, false);
    is_at(reservation, STEP_ROOM);
    looks = 0;
    reconcile_examine(reservation);
    is_at(reservation, STEPS);
    assert_int_equal(looks, 1);
    (void)writes("cam", tenth("EDF"));
    is_at(reservation, STEP_ACCEPT);
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
}

static void a_spec_that_waits_for_room_is_asked_for_again(void **state)
{
    (void)state;
    struct spec spec = tenth("EDF");
    spec.waits = true;
    struct reservation *reservation = writes("cam", spec);
    plugin_answers(reservation, ANSWER_NO, 0, false);
    assert_int_equal(verdict.result, RESULT_WAITING);
    wait_queue_kick();
    assert_ptr_equal(wait_queue_next(), reservation);
    looks = 0;
    reconcile_examine(reservation);
    /* the broker does not know the file's content any more */
    assert_true(looks == 1 && looks_for_the_whole);
    spec = tenth("EDF");
    spec.waits = true;
    (void)writes("cam", spec);
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    is_granted(reservation);
}

/* ---- NAME.tid ---- */

static void a_thread_is_named_and_no_more(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    (void)writes_tid("cam");
    assert_int_equal(reservation->request->outcome.kind, ATTACH);
    helper_answers(reservation, HELPER_OK, 0);
    assert_true(reservation->attachment->by_file);
    removes_tid(reservation);
    assert_int_equal(reservation->request->outcome.kind, DETACH);
    helper_answers(reservation, HELPER_OK, 0);
    assert_int_equal(verdict.kind, DETACH);
}

static void what_was_never_attached_is_detached_by_a_word(void **state)
{
    (void)state;
    thread.is_there = false;
    struct reservation *reservation = has_grant("cam");
    (void)writes_tid("cam");
    assert_int_equal(verdict.result, ATTACH_FAIL);
    removes_tid(reservation);
    is_at(reservation, STEPS);
    assert_true(verdict.kind == DETACH && verdict.result == RESULT_OK);
}

/* ---- requests that no file asks for ---- */

static void a_thread_that_has_woken_is_attached(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reservation->attachment->state = ATTACHMENT_AWAKE;
    is_looked_at(reservation);
    is_at(reservation, STEP_APPLY);
    assert_int_equal(reservation->request->outcome.kind, UPDATE);
    helper_answers(reservation, HELPER_OK, 0);
}

static void a_thread_that_is_to_be_made_as_granted_again_says_why(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reconcile_recover(reservation, RECOVER, "the thread is attached again");
    assert_non_null(reservation->queue);
    reservation->attachment->state = ATTACHMENT_ASTRAY;
    is_looked_at(reservation);
    is_at(reservation, STEP_APPLY);
    helper_answers(reservation, HELPER_OK, 0);
    assert_int_equal(verdict.kind, RECOVER);
    assert_string_equal(verdict.reason, "the thread is attached again");
}

static void more_than_is_needed_is_asked_for_without_a_word_from_the_owner(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", spec_of("EDF", SECOND / 10, SECOND / 2));
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    is_granted(reservation);
    reservation->grant->aim = SECOND / 5;
    reservation->raises = true;
    is_looked_at(reservation);
    is_at(reservation, STEP_ACCEPT);
    assert_true(reservation->request->spare.for_more);
    assert_int_equal(reservation->request->inquiry.ceiling, SECOND / 5);
    plugin_offers(reservation, ANSWER_OK, SECOND / 5);
    is_granted(reservation);
    assert_int_equal(verdict.kind, UPDATE);
    assert_int_equal(reservation->grant->plan.runtime, SECOND / 5);
}

static void what_root_revokes_is_taken_back_and_ends(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reservation->state = RESERVATION_WITHDRAWN;
    is_looked_at(reservation);
    is_at(reservation, STEP_DETACH);
    helper_answers(reservation, HELPER_OK, 0);
    assert_int_equal(verdict.refusal.code, WHY_REVOKED);
    assert_int_equal(verdict.ended, ENDED_REVOKE);
    assert_null(reservation->grant);
    assert_int_equal(reservation->state, RESERVATION_ENDING);
}

static void who_is_no_member_any_more_has_nothing_and_keeps_the_file(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    reservation->state = RESERVATION_REVOKED;
    is_looked_at(reservation);
    assert_int_equal(verdict.refusal.code, WHY_NOT_A_MEMBER);
    assert_null(reservation->grant);
    assert_int_equal(reservation->state, RESERVATION_OPEN);
}

static void the_tests_have_passed_each_edge(void **state)
{
    static const enum step steps[] = {STEP_BEGUN, STEP_ACCOUNT};
    (void)state;
    all_edges_are_passed(steps, sizeof steps / sizeof *steps);
}

#define with_fakes(test) cmocka_unit_test_setup_teardown(test, fakes_begin, fakes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fakes(a_spec_waits_for_its_owners_account),
        with_fakes(a_spec_of_an_account_that_is_not_known_is_refused),
        with_fakes(while_draining_nothing_new_begins),
        with_fakes(a_spec_that_is_written_again_is_a_change_and_keeps_its_thread),
        with_fakes(a_spec_that_lets_go_of_its_thread),
        with_fakes(a_spec_without_cpu_time_does_not_take_it_from_an_attached_thread),
        with_fakes(what_is_no_spec_changes_nothing),
        with_fakes(what_was_judged_has_no_second_answer),
        with_fakes(a_spec_that_is_removed_is_released_with_its_grant),
        with_fakes(what_is_written_meanwhile_is_looked_at_after_the_answer),
        with_fakes(a_spec_that_waits_and_is_written_again_begins_anew),
        with_fakes(a_spec_that_waits_for_room_is_asked_for_again),
        with_fakes(a_thread_is_named_and_no_more),
        with_fakes(what_was_never_attached_is_detached_by_a_word),
        with_fakes(a_thread_that_has_woken_is_attached),
        with_fakes(a_thread_that_is_to_be_made_as_granted_again_says_why),
        with_fakes(more_than_is_needed_is_asked_for_without_a_word_from_the_owner),
        with_fakes(what_root_revokes_is_taken_back_and_ends),
        with_fakes(who_is_no_member_any_more_has_nothing_and_keeps_the_file),
        cmocka_unit_test(the_tests_have_passed_each_edge),
    };
    return cmocka_run_group_tests(tests, fakes_set_up, fakes_tear_down);
}
