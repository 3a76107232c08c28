/* Events of attached threads: what the broker concludes when a watch hangs up, what the answers of
 * the attach helper change, and what the guard's events change. */
#include "thread-events.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "adjustments.h"
#include "attachments.h"
#include "debts.h"
#include "fakes.h"
#include "guard.h"
#include "reservations.h"
#include "resource-cpu.h"
#include "../stubs.h"
#include "unit.h"

/* The calls that these events cause in the stages. */
static struct {
    int examined, recovered;
    enum kind kind;
    char reason[REASON_BYTES];
} called;

static void examine(struct reservation *reservation)
{
    (void)reservation;
    called.examined++;
}

static void recover(struct reservation *reservation, enum kind kind, const char *reason)
{
    (void)reservation;
    called.recovered++;
    called.kind = kind;
    snprintf(called.reason, sizeof called.reason, "%s", reason);
}

static int set_up(void **state)
{
    static const struct thread_events events = {.examine = examine, .recover = recover};
    const int result = fakes_set_up(state);
    thread_events_prepare(&events);
    return result;
}

static int begin(void **state)
{
    memset(&called, 0, sizeof called);
    written_count = said_count = 0;
    return fakes_begin(state);
}

static struct attributes as_granted(const struct reservation *reservation)
{
    struct attributes now = cpu_in_mode(reservation->grant);
    now.reset_on_fork = true;
    return now;
}

/* The owner has attached thread 4711 of process 4700, which is not the leader. */
static struct reservation *has_follower(const char *name)
{
    leader.is_there = true;
    thread.identity.process = leader.identity.tid;
    return has_thread(name);
}

/* The owner has attached both threads of process 4700, each to a reservation of its own. */
static void have_both(struct reservation **first, struct reservation **follower)
{
    const struct fake_thread second = thread;
    thread.identity.tid = thread.identity.process = leader.identity.tid;
    leader.is_there = true;
    *first = has_thread("first");
    leader.now = as_granted(*first);
    thread = second;
    *follower = has_follower("follower");
}

static void look(struct reservation *reservation)
{
    reservation->pending_changes |= THREAD_CHANGED;
    helper_op = NULL;
    thread_events_look(reservation);
    assert_int_equal(reservation->pending_changes & THREAD_CHANGED, 0);
}

static void is_kept(const struct reservation *reservation)
{
    assert_non_null(reservation->attachment);
    assert_int_equal(retold.count, 0);
    assert_null(helper_op);
}

static void is_let_go(const struct reservation *reservation, const char *sentence)
{
    assert_null(reservation->attachment);
    assert_non_null(reservation->grant);
    assert_int_equal(retold.count, 1);
    assert_int_equal(retold.kind, EXIT);
    assert_string_equal(retold.reason, sentence);
}

static void is_put_back(pid_t tid)
{
    assert_string_equal(helper_op, "restore");
    assert_int_equal(helper_order.tid, tid);
}

#define REPLACED_4711                                                                         \
    "another thread of process 4711 called execve and has taken over the id of the attached " \
    "thread: the process is ordinary, and not attached"

/* ---- what has become of the thread ---- */

static void a_thread_that_has_ended_is_detached_and_its_owner_told(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    const struct stamp tid = reservation->judged_tid;
    thread.is_there = false;
    records = 0;
    look(reservation);
    is_let_go(reservation, "thread 4711 has ended");
    assert_null(helper_op);
    assert_string_equal(removed, "tid");
    assert_int_equal(records, 1);
    assert_int_equal(reservation->leaving_tid.inode, tid.inode);
    assert_int_equal(reservation->judged_tid.inode, 0);
}

/* The thread may have used its whole runtime just before its end. */
static void the_use_of_a_thread_that_has_ended_counts_until_its_0_lag_time(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    clock_to(clock_now + 100 * MS);
    thread.is_there = false;
    look(reservation);
    assert_true(reservation->zero_lag > clock_now);
    assert_int_equal(debt_last_in_kernel(), reservation->zero_lag);
}

/* The thread ended before the broker started, and nothing watches it. */
static void a_thread_that_is_in_no_table_has_ended(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    const int pidfd = eventfd(0, EFD_CLOEXEC);
    reservation->attachment =
        attachment_new(reservation, &thread.identity, pidfd, true, &thread.now);
    thread.now = as_granted(reservation);
    look(reservation);
    is_let_go(reservation, "thread 4711 has ended");
}

static void a_later_thread_with_the_id_is_another_thread(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    thread.identity.start = reservation->attachment->started_by + 1;
    thread.now = as_granted(reservation);
    look(reservation);
    is_let_go(reservation, "thread 4711 has ended");
    assert_null(helper_op);
}

static void the_end_of_a_process_is_the_end_of_its_first_thread(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    thread.is_over = true;
    thread.now = as_granted(reservation);
    look(reservation);
    is_let_go(reservation, "thread 4711 has ended");
}

static void a_thread_that_does_not_lead_its_process_keeps_its_grant_while_it_exists(void **state)
{
    (void)state;
    struct reservation *reservation = has_follower("cam");
    look(reservation);
    is_kept(reservation);
    thread.identity.ended = true;
    look(reservation);
    is_let_go(reservation, "thread 4711 has ended");
}

static void a_thread_that_took_over_the_id_of_its_process_is_put_back(void **state)
{
    (void)state;
    struct reservation *reservation = has_follower("cam");
    leader.now = as_granted(reservation);
    thread.is_there = false;
    look(reservation);
    is_put_back(4700);
    is_let_go(reservation, "thread 4711 called execve and has taken over the id of its process, "
                           "4700: the process is ordinary again, and not attached");
}

/* The last of the looks is 1.11 s after the first. */
static void a_zombie_is_looked_at_three_times_more(void **state)
{
    static const int64_t pauses[] = {10 * MS, 100 * MS, 1000 * MS};
    (void)state;
    struct reservation *reservation = has_thread("cam");
    clock_to(clock_now + 100 * MS); /* by now the broker has asked for the watch */
    thread.identity.ended = true;
    for (int i = 0; i < 3; i++) {
        look(reservation);
        is_kept(reservation);
        clock_to(clock_now + pauses[i] - 1);
        assert_int_equal(reservation->pending_changes & THREAD_CHANGED, 0);
        clock_to(clock_now + 1);
        assert_int_equal(reservation->pending_changes & THREAD_CHANGED, THREAD_CHANGED);
        assert_non_null(reservation->queue);
    }
    look(reservation);
    is_let_go(reservation, "thread 4711 has ended");
}

static void a_thread_that_takes_over_a_zombies_id_is_another_thread(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    thread.identity.ended = true;
    look(reservation);
    is_kept(reservation);
    thread.identity.ended = false;
    thread.now = as_granted(reservation);
    look(reservation);
    is_put_back(4711);
    assert_int_equal(called.recovered, 0);
    is_let_go(reservation, REPLACED_4711);
}

static void a_first_thread_that_still_has_reset_on_fork_is_the_attached_thread(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    thread.now.reset_on_fork = true; /* its owner may have made it ordinary */
    look(reservation);
    is_kept(reservation);
    assert_int_equal(called.recovered, 1);
    assert_int_equal(called.kind, UPDATE);
    assert_non_null(strstr(called.reason, "runs a program that its user cannot read"));
}

static void a_first_thread_without_reset_on_fork_is_another_thread(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    look(reservation);
    assert_null(helper_op); /* the new thread is already ordinary */
    is_let_go(reservation, REPLACED_4711);
}

static void a_first_thread_whose_attributes_cannot_be_read_is_another_thread(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    thread.now = as_granted(reservation);
    thread.is_readable = false;
    look(reservation);
    assert_int_equal(called.recovered, 0);
    is_let_go(reservation, REPLACED_4711);
}

/* The follower may have called execve, so the leader's id may be the follower's now. */
static void beside_a_follower_that_has_ended_nobody_can_be_recognized(void **state)
{
    struct reservation *first, *follower;
    (void)state;
    have_both(&first, &follower);
    thread.is_there = false;
    follower->attachment->former.nice = 7;
    look(first);
    is_put_back(4700);
    assert_int_equal(helper_order.former.nice, 7);
    assert_int_equal(called.recovered, 0);
    assert_null(first->attachment);
    assert_non_null(follower->attachment);
}

static void a_thread_that_the_helper_may_yet_change_is_put_back(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    adjustments_expect(reservation, 1000000, NULL);
    thread.now.nice = 3;
    look(reservation);
    is_put_back(4711);
    assert_int_equal(helper_order.former.nice, 3); /* the attributes of the new thread itself */
    is_let_go(reservation, REPLACED_4711);
    thread_events_adjusted(
        &(struct helper_event){.id = 1000000, .answer = HELPER_GONE, .watch = -1});
}

static void a_thread_that_was_never_scheduled_has_nothing_to_put_back(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reservation->attachment->scheduled = false;
    look(reservation);
    is_kept(reservation);
    assert_int_equal(called.recovered, 0);
    reservation->attachment->looks = 1; /* it was a zombie when the broker last looked */
    look(reservation);
    assert_null(helper_op);
    is_let_go(reservation, "thread 4711 has ended");
}

static void without_an_attachment_there_is_nothing_to_look_at(void **state)
{
    (void)state;
    struct reservation *reservation = has_grant("cam");
    look(reservation);
    assert_int_equal(retold.count, 0);
}

/* In the state RESERVATION_WITHDRAWN root has revoked it, and the reason of its end is another
 * one. */
static void a_spec_with_the_lifetime_of_its_thread_ends_with_the_thread(void **state)
{
    (void)state;
    for (int withdrawn = 0; withdrawn < 2; withdrawn++) {
        struct spec spec = tenth("EDF");
        spec.lifetime_thread = true;
        struct reservation *reservation = writes(withdrawn ? "cam" : "mic", spec);
        plugin_offers(reservation, ANSWER_OK, SECOND / 10);
        (void)writes_tid(reservation->name);
        helper_answers(reservation, HELPER_OK, 0);
        if (withdrawn)
            reservation->state = RESERVATION_WITHDRAWN;
        thread.is_there = false;
        look(reservation);
        thread.is_there = true;
        assert_null(reservation->attachment);
        assert_int_equal(retold.count, withdrawn);
        assert_int_equal(reservation->state,
                         withdrawn ? RESERVATION_WITHDRAWN : RESERVATION_ENDING);
        assert_string_equal(removed, withdrawn ? "tid" : "json");
        assert_int_equal(reservation->ended, withdrawn ? ENDED_NOT : ENDED_THREAD);
    }
}

/* ---- what the helper answers ---- */

static void adjusted(enum helper_answer answer, int watch)
{
    thread_events_adjusted(&(struct helper_event){
        .id = helper_order.id, .answer = answer, .watch = watch, .reason = "EPERM"});
}

static void drifts(struct reservation *reservation)
{
    thread.now = (struct attributes){.reset_on_fork = true};
    helper_op = NULL;
    thread_events_check();
    assert_string_equal(helper_op, "apply again");
    assert_int_equal(reservation->attachment->state, ATTACHMENT_IN_FORCE);
}

static void only_a_thread_that_does_not_run_as_granted_is_corrected(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    thread.now = as_granted(reservation);
    helper_op = NULL;
    thread_events_check();
    assert_null(helper_op);
    (void)writes("cam", tenth("EDF"));
    is_at(reservation, STEP_ACCEPT);
    thread.now.priority = 1;
    thread.now.policy = POLICY_FIFO;
    thread_events_check();
    assert_null(helper_op); /* the request will correct the thread */
}

/* The guard may have ended the reclaiming of a thread that may reclaim. */
static void a_thread_with_other_flags_than_granted_is_corrected(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    thread.now = as_granted(reservation);
    reservation->grant->spec.reclaim = true;
    helper_op = NULL;
    thread_events_check();
    thread.now.reclaim = true;
    thread_events_check();
    assert_null(helper_op);
    thread.now.overrun_signal = true;
    thread_events_check();
    assert_string_equal(helper_op, "apply again");
    adjusted(HELPER_OK, -1);
    thread.now.overrun_signal = reservation->grant->spec.reclaim = false;
    helper_op = NULL;
    thread_events_check();
    assert_string_equal(helper_op, "apply again");
}

static void a_corrected_thread_is_guarded_again(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    drifts(reservation);
    const int before = guarded.count;
    adjusted(HELPER_OK, -1);
    assert_int_equal(guarded.count, before + 1);
    assert_true(guarded.again);
    assert_int_equal(reservation->attachment->state, ATTACHMENT_IN_FORCE);
    assert_int_equal(retold.count, 0);
    adjusted(HELPER_OK, -1); /* the answer to an order of no request */
    assert_int_equal(guarded.count, before + 1);
}

static void the_owner_is_told_when_the_thread_has_followed(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    adjustments_expect(reservation, 1000001, "it has moved");
    helper_order.id = 1000001;
    adjusted(HELPER_OK, -1);
    assert_int_equal(retold.count, 1);
    assert_int_equal(retold.kind, UPDATE);
    assert_string_equal(retold.reason, "it has moved");
    adjustments_expect(reservation, 1000002, "it has moved");
    helper_order.id = 1000002;
    const uint64_t id = helper_order.id;
    (void)writes("cam", tenth("EDF"));
    helper_order.id = id;
    adjusted(HELPER_OK, -1);
    assert_int_equal(retold.count, 1); /* the request itself answers the owner */
}

static void a_correction_that_fails_is_left_to_a_request(void **state)
{
    static const enum helper_answer answers[] = {HELPER_NO, HELPER_BUSY, HELPER_PENDING};
    (void)state;
    struct reservation *reservation = has_thread("cam");
    for (int i = 0; i < 3; i++) {
        reservation->attachment->state = ATTACHMENT_IN_FORCE;
        drifts(reservation);
        said_count = 0;
        const int before = guarded.count;
        adjusted(answers[i], -1);
        assert_int_equal(guarded.count, before);
        assert_int_equal(said_count, answers[i] != HELPER_PENDING);
        assert_int_equal(reservation->attachment->state, ATTACHMENT_ASTRAY);
        assert_non_null(reservation->queue);
    }
}

static void a_correction_that_fails_while_the_thread_sleeps_waits_no_longer(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    drifts(reservation);
    reservation->attachment->state = ATTACHMENT_ASLEEP;
    adjusted(HELPER_NO, -1);
    assert_int_equal(reservation->attachment->state, ATTACHMENT_AWAKE);
}

static void a_correction_of_a_thread_that_has_ended_changes_nothing(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    drifts(reservation);
    adjusted(HELPER_GONE, -1);
    assert_int_equal(said_count, 0);
    assert_int_equal(reservation->attachment->state, ATTACHMENT_IN_FORCE);
}

static void an_answer_about_an_earlier_thread_is_not_about_the_present_one(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    drifts(reservation);
    reservation->attachment->started_by++;
    adjusted(HELPER_NO, -1);
    assert_int_equal(reservation->attachment->state, ATTACHMENT_IN_FORCE);
}

/* When the grant was taken away from the thread, its process did not yet show the grant's
 * attributes. */
static void a_thread_that_was_changed_after_it_was_let_go_is_put_back(void **state)
{
    (void)state;
    struct reservation *reservation = has_follower("cam");
    const struct attributes granted = as_granted(reservation);
    drifts(reservation);
    const uint64_t id = helper_order.id;
    thread.is_there = false;
    look(reservation);
    assert_null(helper_op);
    leader.now = granted;
    helper_order.id = id;
    adjusted(HELPER_OK, -1);
    is_put_back(4700);
    adjusted(HELPER_OK, -1);
}

static uint64_t asks_for_a_watch(void)
{
    helper_op = NULL;
    clock_to(clock_now + 10 * MS);
    assert_string_equal(helper_op, "watch");
    return helper_order.id;
}

static void a_thread_is_watched_ten_milliseconds_after_its_attachment(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    const int watch = eventfd(0, EFD_CLOEXEC);
    const int before = guarded.count;
    thread.now = as_granted(reservation);
    (void)asks_for_a_watch();
    adjusted(HELPER_OK, watch);
    assert_int_equal(guarded.count, before);
    assert_int_equal(reservation->pending_changes, 0);
    /* the attachment has not taken the descriptor, so the test can close it */
    assert_int_equal(close(watch), 0);
}

static void a_watch_that_nobody_needs_any_more_is_closed(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    const int watch = eventfd(0, EFD_CLOEXEC);
    (void)asks_for_a_watch();
    /* a sleeping thread has another kind of watch */
    reservation->attachment->state = ATTACHMENT_ASLEEP;
    adjusted(HELPER_OK, watch);
    assert_int_equal(close(watch), -1);
}

static void a_sleeping_thread_is_not_watched_for_its_end(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reservation->attachment->state = ATTACHMENT_ASLEEP;
    helper_op = NULL;
    clock_to(clock_now + 10 * MS);
    assert_null(helper_op);
}

static bool is_looked_at_after_the_watch(struct reservation *reservation)
{
    reservation->pending_changes = 0;
    adjustments_watch(reservation);
    adjusted(HELPER_OK, -1);
    return (reservation->pending_changes & THREAD_CHANGED) != 0;
}

static void what_happened_before_the_watch_is_noticed(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    thread.now = as_granted(reservation);
    assert_false(is_looked_at_after_the_watch(reservation));
    thread.is_over = true;
    assert_true(is_looked_at_after_the_watch(reservation));
    thread.is_over = false;
    thread.identity.ended = true;
    assert_true(is_looked_at_after_the_watch(reservation));
    thread.identity.ended = false;
    thread.now = (struct attributes){.reset_on_fork = true};
    assert_false(is_looked_at_after_the_watch(reservation)); /* its owner has made it ordinary */
    thread.now = (struct attributes){.policy = POLICY_FIFO};
    assert_false(is_looked_at_after_the_watch(reservation)); /* its owner has made it real-time */
    thread.now.policy = POLICY_OTHER;
    /* another thread of its process has called execve */
    assert_true(is_looked_at_after_the_watch(reservation));
    reservation->attachment->scheduled = false;
    assert_false(is_looked_at_after_the_watch(reservation));
}

/* ---- what the guard says ---- */

static void says(enum guard_news news, pid_t tid, uint64_t started_by)
{
    thread_events_guarded(
        &(struct guard_event){.news = news, .tid = tid, .started_by = started_by, .times = 3});
}

static void the_guard_tells_of_a_suspended_thread_in_the_log(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    written_count = 0;
    says(GUARD_SUSPENDED, 4711, 100);
    assert_int_equal(written_count, 0); /* the thread is not guarded */
    reservation->attachment->guarded = true;
    says(GUARD_SUSPENDED, 4711, 99); /* an event about an earlier thread */
    says(GUARD_SUSPENDED, 4710, 100);
    assert_int_equal(written_count, 0);
    says(GUARD_SUSPENDED, 4711, 100);
    assert_int_equal(written_count, 1);
    assert_non_null(
        strstr(written, "used up its 100000us of runtime before its period of 1000000us was over"));
    assert_int_equal(retold.count, 0);
}

static void the_owner_is_told_of_a_loan_unless_an_answer_is_under_way(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reservation->attachment->guarded = true;
    says(GUARD_LENT, 4711, 100);
    assert_true(reservation->attachment->has_lent);
    assert_int_equal(retold.count, 1);
    assert_int_equal(retold.kind, UPDATE);
    (void)writes("cam", tenth("EDF"));
    says(GUARD_LENT, 4711, 100);
    assert_int_equal(retold.count, 1);
}

static void a_thread_that_the_guard_lost_is_guarded_again(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    const int before = guarded.count;
    reservation->attachment->guarded = true;
    says(GUARD_LOST, 4711, 100);
    assert_int_equal(guarded.count, before + 1);
    reservation->attachment->state = ATTACHMENT_ASLEEP;
    says(GUARD_LOST, 4711, 100);
    assert_int_equal(guarded.count, before + 1);
}

static void the_cpu_time_of_a_deadline_thread_that_holds_a_lock_is_counted(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    const int before = guarded.count;
    reservation->attachment->guarded = true;
    reservation->grant->plan.policy = POLICY_FIFO;
    says(GUARD_HOLDS, 4711, 100);
    assert_string_equal(helper_op, "apply");
    reservation->grant->plan.policy = POLICY_DEADLINE;
    says(GUARD_HOLDS, 4711, 100);
    assert_string_equal(helper_op, "count");
    const struct helper_event event = {.id = helper_order.id, .answer = HELPER_OK, .watch = 77};
    thread_events_adjusted(&event);
    assert_int_equal(guarded.count, before + 1);
    assert_int_equal(guarded.event, 77);
    assert_true(guarded.again);
    /* without an event, nobody asks again, and the thread is not attached anew */
    says(GUARD_HOLDS, 4711, 100);
    const struct helper_event refused = {.id = helper_order.id,
                                         .answer = HELPER_NO,
                                         .watch = -1,
                                         .reason = "no event"};
    thread_events_adjusted(&refused);
    assert_int_equal(guarded.count, before + 1);
    assert_int_equal(reservation->attachment->state, ATTACHMENT_IN_FORCE);
    assert_null(reservation->queue);
    assert_false(reservation->attachment->has_lent);
}

/* The guard may make such a thread ordinary for a period, which is no drift. */
static void a_thread_that_reclaims_no_more_may_be_ordinary_for_a_period(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reservation->attachment->guarded = true;
    reservation->grant->plan.policy = POLICY_DEADLINE;
    reservation->grant->spec.reclaim = true;
    says(GUARD_HOLDS, 4711, 100);
    assert_string_equal(helper_op, "count");
    assert_true(reservation->attachment->has_lent);
}

static void a_thread_that_sleeps_before_the_guard_could_wake_it_is_attached_anew(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reservation->attachment->guarded = true;
    reservation->attachment->state = ATTACHMENT_ASLEEP;
    says(GUARD_ASLEEP, 4711, 100);
    assert_false(reservation->attachment->only_awake);
    reservation->attachment->state = ATTACHMENT_IN_FORCE;
    says(GUARD_ASLEEP, 4711, 100);
    assert_true(reservation->attachment->only_awake);
    assert_int_equal(reservation->attachment->state, ATTACHMENT_ASTRAY);
    assert_non_null(reservation->queue);
}

static void a_thread_that_is_being_detached_is_not_attached_anew(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reservation->attachment->guarded = true;
    removes_tid(reservation);
    is_at(reservation, STEP_DETACH);
    says(GUARD_ASLEEP, 4711, 100);
    assert_int_equal(reservation->attachment->state, ATTACHMENT_IN_FORCE);
}

static void a_new_guard_hears_of_each_attached_thread(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    const int before = guarded.count;
    (void)has_grant("idle");
    reservation->attachment->guarded = true;
    thread_events_guard();
    assert_false(reservation->attachment->guarded);
    assert_int_equal(guarded.count, before + 1);
}

/* ---- what the loop says ---- */

static void comes(struct source *source, uint32_t events)
{
    source->ready(source, events);
}

static void the_end_of_a_thread_is_looked_at_at_once_or_after_the_request(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    comes(&reservation->attachment->source, EPOLLIN);
    assert_int_equal(called.examined, 1);
    assert_int_equal(reservation->pending_changes & THREAD_CHANGED, THREAD_CHANGED);
    reservation->pending_changes = 0;
    (void)writes("cam", tenth("EDF"));
    comes(&reservation->attachment->source, EPOLLIN);
    assert_int_equal(called.examined, 1);
    assert_int_equal(reservation->pending_changes & THREAD_CHANGED, THREAD_CHANGED);
}

static void a_watch_that_hangs_up_is_looked_at_at_once_or_after_the_request(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reservation->attachment->watch = eventfd(0, EFD_CLOEXEC);
    comes(&reservation->attachment->watch_source, EPOLLIN | EPOLLHUP);
    assert_int_equal(reservation->attachment->watch, -1);
    assert_int_equal(called.examined, 1);
    reservation->pending_changes = 0;
    (void)writes("cam", tenth("EDF"));
    comes(&reservation->attachment->watch_source, EPOLLHUP);
    assert_int_equal(called.examined, 1);
    assert_int_equal(reservation->pending_changes & THREAD_CHANGED, THREAD_CHANGED);
}

static void a_thread_that_wakes_is_attached(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reservation->attachment->state = ATTACHMENT_ASLEEP;
    comes(&reservation->attachment->watch_source, EPOLLIN);
    assert_int_equal(reservation->attachment->state, ATTACHMENT_AWAKE);
    assert_int_equal(called.examined, 1);
    assert_int_equal(reservation->pending_changes, 0);
}

static void an_execve_ends_only_an_attachment_of_a_thread_that_does_not_lead(void **state)
{
    struct reservation *first, *follower;
    (void)state;
    have_both(&first, &follower);
    comes(&first->attachment->watch_source, EPOLLIN);
    assert_int_equal(called.examined, 0);
    assert_int_equal(first->pending_changes, 0);
    comes(&follower->attachment->watch_source, EPOLLIN);
    assert_int_equal(called.examined, 1);
    assert_int_equal(follower->pending_changes & THREAD_CHANGED, THREAD_CHANGED);
}

static void an_event_of_an_attachment_that_is_over_is_about_nobody(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    struct attachment *attachment = reservation->attachment;
    thread.is_there = false;
    look(reservation);
    comes(&attachment->source, EPOLLIN);
    comes(&attachment->watch_source, EPOLLHUP);
    assert_int_equal(called.examined, 0);
    assert_int_equal(reservation->pending_changes, 0);
}

#define with_fakes(test) cmocka_unit_test_setup_teardown(test, begin, fakes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fakes(a_thread_that_has_ended_is_detached_and_its_owner_told),
        with_fakes(the_use_of_a_thread_that_has_ended_counts_until_its_0_lag_time),
        with_fakes(a_thread_that_is_in_no_table_has_ended),
        with_fakes(a_later_thread_with_the_id_is_another_thread),
        with_fakes(the_end_of_a_process_is_the_end_of_its_first_thread),
        with_fakes(a_thread_that_does_not_lead_its_process_keeps_its_grant_while_it_exists),
        with_fakes(a_thread_that_took_over_the_id_of_its_process_is_put_back),
        with_fakes(a_zombie_is_looked_at_three_times_more),
        with_fakes(a_thread_that_takes_over_a_zombies_id_is_another_thread),
        with_fakes(a_first_thread_that_still_has_reset_on_fork_is_the_attached_thread),
        with_fakes(a_first_thread_without_reset_on_fork_is_another_thread),
        with_fakes(a_first_thread_whose_attributes_cannot_be_read_is_another_thread),
        with_fakes(beside_a_follower_that_has_ended_nobody_can_be_recognized),
        with_fakes(a_thread_that_the_helper_may_yet_change_is_put_back),
        with_fakes(a_thread_that_was_never_scheduled_has_nothing_to_put_back),
        with_fakes(without_an_attachment_there_is_nothing_to_look_at),
        with_fakes(a_spec_with_the_lifetime_of_its_thread_ends_with_the_thread),
        with_fakes(only_a_thread_that_does_not_run_as_granted_is_corrected),
        with_fakes(a_thread_with_other_flags_than_granted_is_corrected),
        with_fakes(a_corrected_thread_is_guarded_again),
        with_fakes(the_owner_is_told_when_the_thread_has_followed),
        with_fakes(a_correction_that_fails_is_left_to_a_request),
        with_fakes(a_correction_that_fails_while_the_thread_sleeps_waits_no_longer),
        with_fakes(a_correction_of_a_thread_that_has_ended_changes_nothing),
        with_fakes(an_answer_about_an_earlier_thread_is_not_about_the_present_one),
        with_fakes(a_thread_that_was_changed_after_it_was_let_go_is_put_back),
        with_fakes(a_thread_is_watched_ten_milliseconds_after_its_attachment),
        with_fakes(a_watch_that_nobody_needs_any_more_is_closed),
        with_fakes(a_sleeping_thread_is_not_watched_for_its_end),
        with_fakes(what_happened_before_the_watch_is_noticed),
        with_fakes(the_guard_tells_of_a_suspended_thread_in_the_log),
        with_fakes(the_owner_is_told_of_a_loan_unless_an_answer_is_under_way),
        with_fakes(a_thread_that_the_guard_lost_is_guarded_again),
        with_fakes(the_cpu_time_of_a_deadline_thread_that_holds_a_lock_is_counted),
        with_fakes(a_thread_that_reclaims_no_more_may_be_ordinary_for_a_period),
        with_fakes(a_thread_that_sleeps_before_the_guard_could_wake_it_is_attached_anew),
        with_fakes(a_thread_that_is_being_detached_is_not_attached_anew),
        with_fakes(a_new_guard_hears_of_each_attached_thread),
        with_fakes(the_end_of_a_thread_is_looked_at_at_once_or_after_the_request),
        with_fakes(a_watch_that_hangs_up_is_looked_at_at_once_or_after_the_request),
        with_fakes(a_thread_that_wakes_is_attached),
        with_fakes(an_execve_ends_only_an_attachment_of_a_thread_that_does_not_lead),
        with_fakes(an_event_of_an_attachment_that_is_over_is_about_nobody),
    };
    return cmocka_run_group_tests(tests, set_up, fakes_tear_down);
}
