/* The kernel follows the grant: which thread is changed, that the journal is written before the
 * system call, what the helper answers, and what is restored when the kernel refuses. */
#include "apply-grant.h"

#include <string.h>

#include "fakes.h"
#include "pipeline.h"
#include "reservations.h"
#include "unit.h"

/* A spec with claims on the network and on the disk, with CPU time or without. */
static struct spec with_shares(bool has_cpu_time, bool has_disk)
{
    struct spec spec = spec_with(RESOURCE_NETWORK, 1000);
    spec.claims->values[1] = SECOND;
    if (has_disk) {
        struct claim *claim = claims_push(&spec.claims, RESOURCE_DISK);
        claim->values[0] = 1000;
        claim->values[1] = SECOND;
        (void)claim_settle(claim);
    }
    if (has_cpu_time) {
        const struct spec tenth_of_edf = tenth("EDF");
        spec.runtime = tenth_of_edf.runtime;
        spec.period = tenth_of_edf.period;
        spec.plugin = tenth_of_edf.plugin;
    }
    return spec;
}

/* Takes a spec with claims to the step that makes its first share. */
static struct reservation *accepted(const char *name, struct spec spec)
{
    struct reservation *reservation = writes(name, spec);
    while (step_of(reservation) == STEP_CLAIM)
        plugin_answers(reservation, ANSWER_OK, 0, false);
    if (step_of(reservation) == STEP_ACCEPT)
        plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    return reservation;
}

static struct reservation *has_shares(const char *name, struct spec spec)
{
    struct reservation *reservation = accepted(name, spec);
    while (step_of(reservation) == STEP_SHARE)
        helper_answers(reservation, HELPER_OK, 0);
    is_granted(reservation);
    return reservation;
}

static void detaches(struct reservation *reservation)
{
    removes_tid(reservation);
    is_at(reservation, STEP_DETACH);
    helper_answers(reservation, HELPER_OK, 0);
    assert_null(reservation->attachment);
}

/* The owner asks for the same amount once more, and gets it on CPU 1. */
static void moves_to_another_cpu(struct reservation *reservation)
{
    (void)writes(reservation->name, tenth("EDF"));
    plugin_offers_on(reservation, ANSWER_OK, SECOND / 10, 1);
}

static void the_first_cpu_is_full(void)
{
    struct reservation *other = writes("other", spec_of("EDF", SECOND * 89 / 100, 0));
    plugin_offers(other, ANSWER_OK, SECOND * 89 / 100);
    is_granted(other);
}

static void is_not_attached(const struct reservation *reservation, enum why code, bool never)
{
    is_at(reservation, STEPS);
    assert_null(reservation->attachment);
    check(verdict.result == ATTACH_FAIL && verdict.refusal.code == code &&
              verdict.refusal.never == never,
          "%d: %s", (int)verdict.refusal.code, verdict.reason);
}

/* ---- attaching ---- */

static void a_thread_is_attached_and_let_go(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    assert_true(reservation->attachment->served);
    detaches(reservation);
    assert_int_equal(verdict.result, RESULT_OK);
    assert_non_null(reservation->grant);
}

static void nobody_gets_a_fresh_runtime_by_attaching_again(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    clock_to(clock_now + 100 * MS);
    detaches(reservation);
    (void)writes_tid("cam");
    is_at(reservation, STEP_DEBT);
    clock_to(reservation->zero_lag - 1);
    is_at(reservation, STEP_DEBT);
    clock_to(reservation->zero_lag);
    is_at(reservation, STEP_APPLY);
    helper_answers(reservation, HELPER_OK, 0);
}

static void another_thread_takes_the_place_of_the_first(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    thread.identity.tid = thread.identity.process = 4712;
    (void)writes_tid("cam");
    is_at(reservation, STEP_DETACH);
    assert_int_equal(reservation->attachment->tid, 4711);
    helper_answers(reservation, HELPER_OK, 0);
    is_at(reservation, STEP_DEBT);
    clock_to(reservation->zero_lag);
    is_at(reservation, STEP_APPLY);
    assert_int_equal(reservation->attachment->tid, 4712);
    helper_answers(reservation, HELPER_OK, 0);
}

static void a_thread_that_sleeps_is_attached_when_it_wakes(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    (void)writes_tid("cam");
    helper_answers(reservation, HELPER_PENDING, 0);
    is_at(reservation, STEPS);
    assert_int_equal(reservation->attachment->state, ATTACHMENT_ASLEEP);
    assert_non_null(strstr(verdict.reason, "sleeps"));
    reservation->attachment->state = ATTACHMENT_AWAKE;
    is_looked_at(reservation);
    is_at(reservation, STEP_APPLY);
    helper_answers(reservation, HELPER_OK, 0);
    assert_int_equal(verdict.kind, UPDATE);
    assert_int_equal(reservation->attachment->state, ATTACHMENT_IN_FORCE);
}

static void a_thread_that_has_woken_meanwhile_is_tried_again(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    (void)writes_tid("cam");
    thread.identity.runnable = true;
    helper_answers(reservation, HELPER_PENDING, 0);
    is_at(reservation, STEP_APPLY);
    helper_answers(reservation, HELPER_PENDING, 0);
    helper_answers(reservation, HELPER_PENDING, 0);
    helper_answers(reservation, HELPER_PENDING, 0);
    is_at(reservation, STEP_DEBT); /* the thread has used up its runtime, so the request pauses */
    clock_to(clock_now + 1000 * MS);
    is_at(reservation, STEP_APPLY);
    helper_answers(reservation, HELPER_OK, 0);
}

static void a_thread_that_nothing_can_watch_is_let_go(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    (void)writes_tid("cam");
    thread.can_be_watched = false;
    helper_answers(reservation, HELPER_PENDING, 0);
    is_at(reservation, STEP_DETACH);
    helper_answers(reservation, HELPER_OK, 0);
    is_not_attached(reservation, WHY_KERNEL, false);
}

static void a_thread_that_the_kernel_still_counts_waits(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    (void)writes_tid("cam");
    helper_answers(reservation, HELPER_PENDING, 5 * MS);
    is_at(reservation, STEP_DEBT);
    clock_to(clock_now + 5 * MS);
    is_at(reservation, STEP_APPLY);
    helper_answers(reservation, HELPER_OK, 0);
}

static void a_thread_that_has_ended_is_not_attached(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    (void)writes_tid("cam");
    helper_answers(reservation, HELPER_GONE, 0);
    is_not_attached(reservation, WHY_NO_THREAD, true);
}

static void a_thread_that_ended_before_it_woke_is_looked_at_again(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reservation->attachment->state = ATTACHMENT_AWAKE;
    is_looked_at(reservation);
    helper_answers(reservation, HELPER_GONE, 0);
    is_at(reservation, STEPS);
    assert_int_equal(verdict.count, 0);
    assert_true((reservation->pending_changes & THREAD_CHANGED) != 0 && reservation->queue != NULL);
}

static void the_guard_gives_way_once_to_a_thread_for_which_the_kernel_has_no_room(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    (void)writes_tid("cam");
    helper_answers(reservation, HELPER_BUSY, 0);
    is_at(reservation, STEP_DEBT);
    clock_to(clock_now + 8 * MS);
    is_at(reservation, STEP_APPLY);
    helper_answers(reservation, HELPER_BUSY, 0);
    is_at(reservation, STEP_DETACH);
    helper_answers(reservation, HELPER_OK, 0);
    is_not_attached(reservation, WHY_KERNEL, false);
}

static void the_journal_knows_a_thread_before_the_kernel_is_asked(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    helper_op = NULL;
    journal_works = false;
    (void)writes_tid("cam");
    assert_null(helper_op);
    is_not_attached(reservation, WHY_BROKER_STATE, false);
    assert_non_null(reservation->grant);
}

static void what_the_journal_cannot_hold_is_not_granted(void **state)
{
    (void)state;
    struct reservation *reservation = writes("cam", tenth("EDF"));
    journal_works = false;
    plugin_offers(reservation, ANSWER_OK, SECOND / 10);
    is_refused(reservation, WHY_BROKER_STATE, false);
}

/* ---- changes ---- */

static void a_change_that_the_kernel_refuses_leaves_what_was_granted(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    moves_to_another_cpu(reservation);
    is_at(reservation, STEP_APPLY);
    helper_answers(reservation, HELPER_NO, 0);
    is_at(reservation, STEPS);
    check(verdict.result == ATTACH_FAIL && verdict.refusal.code == WHY_KERNEL &&
              verdict.refusal.never,
          "%s", verdict.reason);
    assert_non_null(reservation->attachment);
    assert_true(CPU_ISSET(0, &reservation->grant->plan.cpus));
}

static void a_change_whose_former_place_is_taken_loses_both(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    moves_to_another_cpu(reservation);
    is_at(reservation, STEP_APPLY);
    clock_to(clock_now + 3000 * MS);
    the_first_cpu_is_full();
    helper_answers(reservation, HELPER_NO, 0);
    is_at(reservation, STEP_DETACH);
    helper_answers(reservation, HELPER_OK, 0);
    is_at(reservation, STEPS);
    assert_null(reservation->grant);
    assert_non_null(strstr(verdict.reason, "have taken the capacity of the former grant"));
}

/* ---- shares of networks and disks ---- */

static void a_share_is_made_before_the_thread_and_bound_after_it(void **state)
{
    (void)state;
    struct reservation *reservation = has_shares("cam", with_shares(true, true));
    (void)writes_tid("cam");
    is_at(reservation, STEP_APPLY);
    helper_answers(reservation, HELPER_OK, 0);
    is_at(reservation, STEP_BIND);
    helper_answers(reservation, HELPER_OK, 0);
    is_at(reservation, STEP_BIND); /* the other helper makes the second share */
    helper_answers(reservation, HELPER_OK, 0);
    is_at(reservation, STEPS);
    assert_int_equal(verdict.result, RESULT_OK);
}

static void without_cpu_time_a_thread_is_only_bound(void **state)
{
    (void)state;
    struct reservation *reservation = has_shares("cam", with_shares(false, false));
    (void)writes_tid("cam");
    is_at(reservation, STEP_BIND);
    helper_answers(reservation, HELPER_OK, 0);
    assert_int_equal(verdict.result, RESULT_OK);
    assert_false(reservation->attachment->scheduled);
    removes_tid(reservation);
    is_at(reservation, STEPS); /* the request has nothing to undo */
    assert_null(reservation->attachment);
}

static void is_let_go_if_the_second_order_is_refused(struct reservation *reservation)
{
    (void)writes_tid("cam");
    helper_answers(reservation, HELPER_OK, 0);
    helper_answers(reservation, HELPER_NO, 0);
    is_at(reservation, STEP_DETACH);
    helper_answers(reservation, HELPER_OK, 0);
    is_not_attached(reservation, WHY_KERNEL, false);
}

static void a_thread_that_cannot_be_bound_is_let_go(void **state)
{
    (void)state;
    is_let_go_if_the_second_order_is_refused(has_shares("cam", with_shares(true, false)));
}

static void a_thread_may_end_before_it_is_bound(void **state)
{
    (void)state;
    struct reservation *reservation = has_shares("cam", with_shares(false, false));
    (void)writes_tid("cam");
    helper_answers(reservation, HELPER_GONE, 0);
    is_not_attached(reservation, WHY_NO_THREAD, true);
}

/* ---- beside CPU time ---- */

static struct spec with_nice(bool has_cpu_time)
{
    struct spec spec = has_cpu_time ? tenth("EDF") : (struct spec){0};
    rules_are("20021 - max_utilization 4\n20021 - min_nice -5\n20021 - min_cpu_latency 50us\n");
    spec.extras.nice = -5;
    return spec;
}

static void extras_are_given_last_and_taken_back_first(void **state)
{
    (void)state;
    struct reservation *reservation = accepted("cam", with_nice(true));
    is_granted(reservation);
    (void)writes_tid("cam");
    is_at(reservation, STEP_APPLY);
    helper_answers(reservation, HELPER_OK, 0);
    is_at(reservation, STEP_GIVE);
    assert_string_equal(helper_op, "give");
    assert_int_equal(reservation->attachment->given.nice, -5);
    helper_answers(reservation, HELPER_OK, 0);
    is_at(reservation, STEPS);
    assert_int_equal(verdict.result, RESULT_OK);
    removes_tid(reservation);
    is_at(reservation, STEP_DETACH);
    assert_string_equal(helper_op, "restore");
    assert_int_equal(reservation->attachment->given.nice, 0);
    helper_answers(reservation, HELPER_OK, 0);
    assert_null(reservation->attachment);
}

static void without_cpu_time_a_thread_only_has_extras(void **state)
{
    (void)state;
    struct reservation *reservation = accepted("cam", with_nice(false));
    is_granted(reservation);
    assert_int_equal(reservation->grant->plugin, NO_PLUGIN);
    (void)writes_tid("cam");
    is_at(reservation, STEP_GIVE);
    helper_answers(reservation, HELPER_OK, 0);
    assert_int_equal(verdict.result, RESULT_OK);
    removes_tid(reservation);
    is_at(reservation, STEP_DETACH);
    assert_string_equal(helper_op,
                        /* the order to take a share back is answered before the share is
                         * forgotten */
                        "give");
    helper_answers(reservation, HELPER_OK, 0);
    assert_null(reservation->attachment);
}

static void a_thread_that_cannot_have_its_extras_is_let_go(void **state)
{
    (void)state;
    is_let_go_if_the_second_order_is_refused(accepted("cam", with_nice(true)));
}

static void a_change_gives_other_extras(void **state)
{
    (void)state;
    struct reservation *reservation = accepted("cam", with_nice(false));
    (void)writes_tid("cam");
    helper_answers(reservation, HELPER_OK, 0);
    struct spec spec = with_nice(false);
    spec.extras.nice = 0;
    spec.extras.cpu_latency = 50;
    (void)writes("cam", spec);
    is_at(reservation, STEP_GIVE);
    assert_true(reservation->attachment->given.nice == 0 &&
                reservation->attachment->given.cpu_latency == 50);
    helper_answers(reservation, HELPER_GONE, 0);
    is_not_attached(reservation, WHY_NO_THREAD, true);
}

static void what_cannot_be_kept_is_not_granted(void **state)
{
    (void)state;
    struct reservation *reservation = accepted("cam", with_shares(true, false));
    is_at(reservation, STEP_SHARE);
    helper_answers(reservation, HELPER_NO, 0);
    is_refused(reservation, WHY_KERNEL, false);
}

static void a_share_that_cannot_be_kept_leaves_what_was_granted_or_loses_both(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    for (int taken = 0; taken < 2; taken++) {
        (void)writes("cam", with_shares(true, false));
        plugin_answers(reservation, ANSWER_OK, 0, false);
        plugin_offers_on(reservation, ANSWER_OK, SECOND / 10, 1);
        is_at(reservation, STEP_SHARE);
        if (taken == 1) {
            clock_to(clock_now + 3000 * MS);
            the_first_cpu_is_full();
        }
        helper_answers(reservation, HELPER_NO, 0);
        is_at(reservation, taken == 1 ? STEP_DETACH : STEPS);
        assert_int_equal(reservation->grant != NULL, taken == 0);
    }
    helper_answers(reservation, HELPER_OK, 0);
    is_at(reservation, STEPS);
    assert_null(reservation->attachment);
}

/* While the share is made, another spec takes the former place, so the old grant cannot come back
 * when the journal cannot be written. */
static void so_does_one_that_the_journal_cannot_hold(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    (void)writes("cam", with_shares(true, false));
    plugin_answers(reservation, ANSWER_OK, 0, false);
    plugin_offers_on(reservation, ANSWER_OK, SECOND / 10, 1);
    is_at(reservation, STEP_SHARE);
    clock_to(clock_now + 3000 * MS);
    the_first_cpu_is_full();
    journal_works = false;
    helper_answers(reservation, HELPER_OK, 0);
    is_at(reservation, STEP_DETACH);
    helper_answers(reservation, HELPER_OK, 0);
    is_at(reservation, STEPS);
    assert_null(reservation->grant);
    assert_int_equal(verdict.refusal.code, WHY_BROKER_STATE);
}

/* ---- letting go ---- */

static void a_thread_that_cannot_leave_its_domain_yet_is_told_again(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    removes_tid(reservation);
    helper_answers(reservation, HELPER_PENDING, 5 * MS);
    is_at(reservation, STEP_LEAVE);
    assert_true(request_is_detaching(reservation));
    clock_to(reservation->zero_lag);
    is_at(reservation, STEP_DETACH);
    assert_true(request_is_detaching(reservation));
    helper_answers(reservation, HELPER_OK, 0);
    assert_null(reservation->attachment);
}

static void the_end_of_a_spec_ends_the_attachment_first(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    removes(reservation);
    is_at(reservation, STEP_DETACH);
    assert_non_null(reservation->grant);
    helper_answers(reservation, HELPER_OK, 0);
    assert_int_equal(verdict.kind, RELEASE);
    assert_null(reservation->grant);
}

static void the_tests_have_passed_each_edge(void **state)
{
    static const enum step steps[] = {STEP_ENFORCE, STEP_SHARE,  STEP_DEBT,
                                      STEP_RECORD,  STEP_APPLY,  STEP_BIND,
                                      STEP_GIVE,    STEP_DETACH, STEP_LEAVE};
    (void)state;
    all_edges_are_passed(steps, sizeof steps / sizeof *steps);
}

#define with_fakes(test) cmocka_unit_test_setup_teardown(test, fakes_begin, fakes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fakes(a_thread_is_attached_and_let_go),
        with_fakes(nobody_gets_a_fresh_runtime_by_attaching_again),
        with_fakes(another_thread_takes_the_place_of_the_first),
        with_fakes(a_thread_that_sleeps_is_attached_when_it_wakes),
        with_fakes(a_thread_that_has_woken_meanwhile_is_tried_again),
        with_fakes(a_thread_that_nothing_can_watch_is_let_go),
        with_fakes(a_thread_that_the_kernel_still_counts_waits),
        with_fakes(a_thread_that_has_ended_is_not_attached),
        with_fakes(a_thread_that_ended_before_it_woke_is_looked_at_again),
        with_fakes(the_guard_gives_way_once_to_a_thread_for_which_the_kernel_has_no_room),
        with_fakes(the_journal_knows_a_thread_before_the_kernel_is_asked),
        with_fakes(what_the_journal_cannot_hold_is_not_granted),
        with_fakes(a_change_that_the_kernel_refuses_leaves_what_was_granted),
        with_fakes(a_change_whose_former_place_is_taken_loses_both),
        with_fakes(a_share_is_made_before_the_thread_and_bound_after_it),
        with_fakes(without_cpu_time_a_thread_is_only_bound),
        with_fakes(a_thread_that_cannot_be_bound_is_let_go),
        with_fakes(a_thread_may_end_before_it_is_bound),
        with_fakes(extras_are_given_last_and_taken_back_first),
        with_fakes(without_cpu_time_a_thread_only_has_extras),
        with_fakes(a_thread_that_cannot_have_its_extras_is_let_go),
        with_fakes(a_change_gives_other_extras),
        with_fakes(what_cannot_be_kept_is_not_granted),
        with_fakes(a_share_that_cannot_be_kept_leaves_what_was_granted_or_loses_both),
        with_fakes(so_does_one_that_the_journal_cannot_hold),
        with_fakes(a_thread_that_cannot_leave_its_domain_yet_is_told_again),
        with_fakes(the_end_of_a_spec_ends_the_attachment_first),
        cmocka_unit_test(the_tests_have_passed_each_edge),
    };
    return cmocka_run_group_tests(tests, fakes_set_up, fakes_tear_down);
}
