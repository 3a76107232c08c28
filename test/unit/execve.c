/* execve(2) by a thread that is not the leader of its process: which thread has the grant
 * afterwards, and which attributes that thread gets back. */
#include "execve.h"

#include <stdlib.h>
#include <string.h>

#include "../stubs.h"
#include "accounting.h"
#include "adjustments.h"
#include "attachments.h"
#include "fakes.h"
#include "reservations.h"
#include "resource-cpu.h"
#include "unit.h"

static int begin(void **state)
{
    const int result = fakes_begin(state);
    execve_drained();
    written_count = said_count = 0;
    helper_op = NULL;
    return result;
}

static struct attributes as_granted(const struct reservation *reservation)
{
    struct attributes now = cpu_in_mode(reservation->grant);
    now.reset_on_fork = true;
    return now;
}

static const struct attributes marked = {.policy = POLICY_FIFO,
                                         .priority = 1,
                                         .reset_on_fork = true};

/* The owner has attached thread 4711 of process 4700, which is not the leader. */
static struct reservation *has_follower(const char *name)
{
    leader.is_there = true;
    thread.identity.process = leader.identity.tid;
    struct reservation *reservation = has_thread(name);
    reservation->attachment->former.nice = 11;
    helper_op = NULL;
    written_count = 0;
    return reservation;
}

/* The owner has attached both threads of process 4700, each to a reservation of its own. */
static void have_both(struct reservation **first, struct reservation **follower)
{
    const struct fake_thread second = thread;
    thread.identity.tid = thread.identity.process = leader.identity.tid;
    leader.is_there = true;
    *first = has_thread("first");
    (*first)->attachment->former.nice = 1;
    leader.now = as_granted(*first);
    thread = second;
    *follower = has_follower("follower");
}

static void nothing_is_put_back(void)
{
    assert_null(helper_op);
    assert_int_equal(written_count, 0);
}

static void is_put_back(pid_t tid, int nice)
{
    check(helper_op != NULL && strcmp(helper_op, "restore") == 0, "%s",
          helper_op == NULL ? "no order" : helper_op);
    assert_int_equal(helper_order.tid, tid);
    assert_int_equal(helper_order.former.nice, nice);
}

static bool answers(uint64_t id, enum helper_answer answer)
{
    return execve_answered(
        &(struct helper_event){.id = id, .answer = answer, .watch = -1, .reason = "EPERM"});
}

/* ---- before an attachment ---- */

static bool cannot_be_told_apart(void)
{
    const struct identity identity = {.tid = 4711, .process = leader.identity.tid};
    return leader_is_alike(&identity);
}

static void a_first_thread_is_never_taken_for_another(void **state)
{
    (void)state;
    leader.is_there = true;
    leader.now = marked;
    assert_false(leader_is_alike(&leader.identity));
}

static void a_thread_is_like_its_leader_if_the_leader_is_marked(void **state)
{
    (void)state;
    leader.is_there = true;
    assert_false(cannot_be_told_apart());
    leader.now = marked;
    assert_true(cannot_be_told_apart());
    leader.now.reset_on_fork = false;
    assert_false(cannot_be_told_apart());
    leader.now = (struct attributes){.reset_on_fork = true};
    assert_false(cannot_be_told_apart()); /* an ordinary thread */
    leader.now = marked;
    leader.identity.ended = true;
    assert_false(cannot_be_told_apart()); /* the thread is a zombie */
}

static void an_attached_leader_counts_with_its_former_attributes(void **state)
{
    struct reservation *first, *follower;
    (void)state;
    have_both(&first, &follower);
    assert_false(cannot_be_told_apart()); /* the grant has marked the thread */
    first->attachment->former = marked;
    assert_true(cannot_be_told_apart());
}

static void attributes_are_read_again_after_a_transient_error(void **state)
{
    (void)state;
    leader.is_there = true;
    leader.now = marked;
    leader.transient = 2;
    assert_true(cannot_be_told_apart());
    leader.transient = 3;
    assert_false(cannot_be_told_apart());
    leader.transient = 0;
    leader.is_readable = false;
    assert_false(cannot_be_told_apart());
}

/* ---- the former attributes of a thread that is about to be attached ---- */

static struct attributes former_of_leader(struct attributes shown)
{
    execve_former(&leader.identity, &shown);
    return shown;
}

static void a_thread_has_the_attributes_that_it_shows(void **state)
{
    (void)state;
    struct reservation *reservation = has_follower("cam");
    assert_int_equal(former_of_leader(marked).priority, 1);
    thread.is_over = true;
    assert_int_equal(former_of_leader((struct attributes){.nice = 5}).nice, 5); /* no mark */
    struct attributes shown = marked;
    execve_former(&thread.identity, &shown); /* the thread is not the leader of its process */
    assert_int_equal(shown.priority, 1);
    assert_non_null(reservation->attachment);
}

static void a_thread_that_has_another_ones_grant_has_the_others_former_attributes(void **state)
{
    (void)state;
    (void)has_follower("cam");
    thread.is_over = true;
    const struct attributes former = former_of_leader(marked);
    assert_int_equal(former.nice, 11);
    assert_int_equal(former.policy, POLICY_OTHER);
}

static void a_thread_that_is_being_put_back_has_the_attributes_that_it_gets_back(void **state)
{
    (void)state;
    struct reservation *reservation = has_follower("cam");
    struct attachment first = {.tid = leader.identity.tid, .former.nice = 13};
    execve_put_back(&owner, "cam", &first);
    const uint64_t id = helper_order.id;
    assert_int_equal(former_of_leader(marked).nice, 13);
    assert_true(answers(id, HELPER_OK));
    assert_int_equal(former_of_leader(marked).priority, 1);
    assert_non_null(reservation->attachment);
}

/* ---- the attached thread's id has ended ---- */

static void a_thread_that_goes_on_under_its_leaders_id_is_put_back(void **state)
{
    (void)state;
    const struct reservation *reservation = has_follower("cam");
    leader.now = as_granted(reservation);
    assert_true(execve_exec(reservation));
    is_put_back(4700, 11);
    assert_int_equal(written_count, 1);
    assert_non_null(strstr(written, "thread 4700 runs under the grant of another thread"));
}

static void a_thread_that_has_ended_leaves_its_leader_alone(void **state)
{
    (void)state;
    struct reservation *reservation = has_follower("cam");
    assert_false(execve_exec(reservation)); /* the leader is an ordinary thread */
    leader.now = as_granted(reservation);
    reservation->attachment->died = true; /* the watch has reported its end */
    assert_false(execve_exec(reservation));
    reservation->attachment->died = false;
    /* the thread was ordinary when it ended */
    reservation->attachment->state = ATTACHMENT_LAID_DOWN;
    assert_false(execve_exec(reservation));
    reservation->attachment->state = ATTACHMENT_IN_FORCE;
    reservation->attachment->scheduled = false;
    assert_false(execve_exec(reservation));
    nothing_is_put_back();
}

static void a_first_thread_does_not_go_on_under_another_id(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    helper_op = NULL;
    written_count = 0;
    thread.now = marked;
    assert_false(execve_exec(reservation));
    nothing_is_put_back();
}

static void what_runs_under_an_attached_leaders_id_is_held_to_the_leaders_grant(void **state)
{
    struct reservation *first, *follower;
    (void)state;
    have_both(&first, &follower);
    assert_false(execve_exec(follower));
    nothing_is_put_back(); /* both grants are the same */
    leader.now.runtime *= 2;
    assert_false(execve_exec(follower));
    assert_string_equal(helper_op, "apply again");
    assert_int_equal(helper_order.tid, 4700);
    free(adjustments_take(helper_order.id));
    helper_op = NULL;
    first->attachment->scheduled = false;
    assert_false(execve_exec(follower));
    nothing_is_put_back();
}

static void a_leader_without_a_grant_is_put_back(void **state)
{
    struct reservation *first, *follower;
    (void)state;
    have_both(&first, &follower);
    grant_unbook(first, true);
    assert_false(execve_exec(follower));
    is_put_back(4700, 1);
}

static void a_leader_that_is_being_detached_is_put_back_once_more(void **state)
{
    struct reservation *first, *follower;
    (void)state;
    have_both(&first, &follower);
    const struct fake_thread second = thread;
    thread = leader;
    removes_tid(first);
    is_at(first, STEP_DETACH);
    thread = second;
    helper_op = NULL;
    assert_false(execve_exec(follower));
    is_put_back(4700, 1);
}

/* ---- another thread has the attached first thread's id ---- */

static struct reservation *has_first(void)
{
    struct reservation *reservation = has_thread("cam");
    reservation->attachment->former.nice = 1;
    thread.now.nice = 4; /* the nice value of the new thread */
    helper_op = NULL;
    written_count = 0;
    return reservation;
}

static void a_new_thread_without_a_grant_is_left_alone(void **state)
{
    (void)state;
    execve_replaced(has_first(), false);
    nothing_is_put_back();
}

static void a_new_thread_that_will_get_the_grant_gets_its_own_attributes_back(void **state)
{
    (void)state;
    execve_replaced(has_first(), true);
    is_put_back(4711, 4);
}

static void a_new_thread_with_the_grant_gets_the_former_attributes(void **state)
{
    (void)state;
    struct reservation *reservation = has_first();
    thread.now = as_granted(reservation);
    execve_replaced(reservation, false);
    is_put_back(4711, 1);
}

static void a_new_thread_with_anothers_grant_gets_the_others_former_attributes(void **state)
{
    struct reservation *first, *follower;
    (void)state;
    have_both(&first, &follower);
    thread.is_over = true;
    execve_replaced(first, false);
    is_put_back(4700, 11);
}

static void a_new_thread_that_cannot_be_read_gets_the_former_attributes(void **state)
{
    (void)state;
    struct reservation *reservation = has_first();
    thread.is_there = false;
    thread.now.nice = 0; /* thread_attributes does not set what it cannot read */
    execve_replaced(reservation, true);
    assert_string_equal(helper_op, "restore");
}

/* ---- orders and answers ---- */

static void the_log_says_once_that_a_thread_is_put_back(void **state)
{
    (void)state;
    struct attachment first = {.tid = 4700};
    struct attachment other = {.tid = 4701};
    execve_put_back(&owner, "cam", &first);
    const uint64_t id = helper_order.id;
    execve_put_back(&owner, "cam", &first);
    assert_int_equal(written_count, 1);
    execve_put_back(&owner, "cam", &other);
    assert_int_equal(written_count, 2);
    assert_true(answers(id, HELPER_OK));
    assert_false(answers(id, HELPER_OK)); /* the helper's order was answered */
}

static void a_thread_that_cannot_be_put_back_is_an_error(void **state)
{
    static const enum helper_answer all[] = {HELPER_OK, HELPER_PENDING, HELPER_GONE, HELPER_NO,
                                             HELPER_BUSY};
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct attachment first = {.tid = 4700};
        execve_put_back(&owner, "cam", &first);
        said_count = 0;
        assert_true(answers(helper_order.id, all[i]));
        assert_int_equal(said_count, all[i] == HELPER_NO || all[i] == HELPER_BUSY);
    }
    assert_string_equal(said, "thread 4700 could not get its former attributes back: EPERM");
}

static void answers_that_were_drained_are_forgotten(void **state)
{
    (void)state;
    struct attachment first = {.tid = 4700};
    execve_put_back(&owner, "cam", &first);
    execve_put_back(&owner, "cam", &first);
    execve_drained();
    assert_false(answers(helper_order.id, HELPER_OK));
    written_count = 0;
    execve_put_back(&owner, "cam", &first);
    assert_int_equal(written_count, 1);
}

/* ---- a thread that was let go before the helper's call had its effect ---- */

static void a_thread_that_goes_on_is_put_back_late(void **state)
{
    (void)state;
    struct reservation *reservation = has_follower("cam");
    const struct attachment *ended = reservation->attachment;
    execve_late(&owner, "cam", ended);
    nothing_is_put_back();
    leader.now = marked;
    reservation->attachment->died = true;
    execve_late(&owner, "cam", ended);
    nothing_is_put_back();
    reservation->attachment->died = false;
    execve_late(&owner, "cam", ended);
    is_put_back(4700, 11);
}

static void late_and_at_the_end_an_attached_leader_differs(void **state)
{
    struct reservation *first, *follower;
    (void)state;
    have_both(&first, &follower);
    execve_late(&owner, "follower", follower->attachment);
    nothing_is_put_back(); /* the leader's own reservation handles it */
    execve_to_the_end(&owner, "follower", follower->attachment);
    is_put_back(4700, 1); /* no reservation handles it any more */
}

static void at_the_end_a_thread_that_goes_on_is_put_back(void **state)
{
    (void)state;
    const struct reservation *reservation = has_follower("cam");
    execve_to_the_end(&owner, "cam", reservation->attachment);
    nothing_is_put_back();
    leader.now = marked;
    execve_to_the_end(&owner, "cam", reservation->attachment);
    is_put_back(4700, 11);
}

#define with_fakes(test) cmocka_unit_test_setup_teardown(test, begin, fakes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fakes(a_first_thread_is_never_taken_for_another),
        with_fakes(a_thread_is_like_its_leader_if_the_leader_is_marked),
        with_fakes(an_attached_leader_counts_with_its_former_attributes),
        with_fakes(attributes_are_read_again_after_a_transient_error),
        with_fakes(a_thread_has_the_attributes_that_it_shows),
        with_fakes(a_thread_that_has_another_ones_grant_has_the_others_former_attributes),
        with_fakes(a_thread_that_is_being_put_back_has_the_attributes_that_it_gets_back),
        with_fakes(a_thread_that_goes_on_under_its_leaders_id_is_put_back),
        with_fakes(a_thread_that_has_ended_leaves_its_leader_alone),
        with_fakes(a_first_thread_does_not_go_on_under_another_id),
        with_fakes(what_runs_under_an_attached_leaders_id_is_held_to_the_leaders_grant),
        with_fakes(a_leader_without_a_grant_is_put_back),
        with_fakes(a_leader_that_is_being_detached_is_put_back_once_more),
        with_fakes(a_new_thread_without_a_grant_is_left_alone),
        with_fakes(a_new_thread_that_will_get_the_grant_gets_its_own_attributes_back),
        with_fakes(a_new_thread_with_the_grant_gets_the_former_attributes),
        with_fakes(a_new_thread_with_anothers_grant_gets_the_others_former_attributes),
        with_fakes(a_new_thread_that_cannot_be_read_gets_the_former_attributes),
        with_fakes(the_log_says_once_that_a_thread_is_put_back),
        with_fakes(a_thread_that_cannot_be_put_back_is_an_error),
        with_fakes(answers_that_were_drained_are_forgotten),
        with_fakes(a_thread_that_goes_on_is_put_back_late),
        with_fakes(late_and_at_the_end_an_attached_leader_differs),
        with_fakes(at_the_end_a_thread_that_goes_on_is_put_back),
    };
    return cmocka_run_group_tests(tests, fakes_set_up, fakes_tear_down);
}
