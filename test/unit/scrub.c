/* The part of the kernel's events that a user may see: libexec/tracer/scrub.c. */
#include "unit.h"

#include <string.h>
#include <sys/syscall.h>

#include "tracer/scrub.h"

enum { CAM = 100, MIC = 110, OTHER = 200, ANOTHER = 210, SLEEPING = 1, DEAD = 0x10 };
#define TIMER       UINT64_C(0xffff888100001234)
#define OTHER_TIMER UINT64_C(0xffff888100005678)

static struct scrub_thread threads[2];
static struct scrub scrub;
static struct record seen;

static int set_up(void **state)
{
    (void)state;
    threads[0] = (struct scrub_thread){.tid = MIC};
    threads[1] = (struct scrub_thread){.tid = CAM};
    scrub = (struct scrub){.threads = threads, .count = 2};
    scrub_sort(&scrub);
    return 0;
}

static bool take(struct record record)
{
    memset(&seen, 0xff, sizeof seen);
    return scrub_take(&scrub, &record, &seen);
}

static bool change(int64_t time, pid_t thread, int state, pid_t next)
{
    return take((struct record){.time = time,
                                .kind = RECORD_SWITCH,
                                .cpu = 3,
                                .state = (uint16_t)state,
                                .priority = (int16_t)(thread == OTHER ? 70 : -1),
                                .next_priority = (int16_t)(next == OTHER ? 70 : -1),
                                .thread = thread,
                                .next = next});
}

static bool start(int64_t time, pid_t thread, uint64_t timer, int64_t expires)
{
    return take((struct record){.time = time,
                                .kind = RECORD_THROTTLE,
                                .thread = thread,
                                .timer = timer,
                                .expires = expires});
}

static bool expire(int64_t time, uint64_t timer)
{
    return take((struct record){.time = time, .kind = RECORD_REPLENISH, .timer = timer});
}

static void a_change_to_another_thread_says_only_that_the_own_thread_leaves(void **state)
{
    (void)state;
    assert_true(change(5, CAM, SLEEPING, OTHER));
    assert_int_equal(seen.time, 5);
    assert_int_equal(seen.cpu, 3);
    assert_int_equal(seen.thread, CAM);
    assert_int_equal(seen.state, SLEEPING);
    assert_int_equal(seen.priority, -1);
    assert_int_equal(seen.next, 0);
    assert_int_equal(seen.next_priority, 120);
    assert_true(change(6, OTHER, SLEEPING, CAM));
    assert_int_equal(seen.thread, 0);
    assert_int_equal(seen.state, 0);
    assert_int_equal(seen.priority, 120);
    assert_int_equal(seen.next, CAM);
    assert_int_equal(seen.timer, 0);
    assert_int_equal(seen.expires, 0);
    assert_true(change(7, CAM, 0, MIC));
    assert_int_equal(seen.thread, CAM);
    assert_int_equal(seen.next, MIC);
}

static void nothing_leaves_of_events_of_other_threads(void **state)
{
    (void)state;
    assert_false(change(5, OTHER, 0, ANOTHER));
    assert_false(change(5, OTHER, 0, 0));
    assert_false(change(5, 0, 0, 0));
    assert_false(take((struct record){.kind = RECORD_WAKING, .thread = OTHER}));
    assert_false(take((struct record){.kind = RECORD_MIGRATE, .thread = OTHER}));
    assert_false(take((struct record){.kind = RECORD_WAKING, .thread = 0}));
    assert_false(start(5, OTHER, OTHER_TIMER, 9));
    assert_false(expire(9, OTHER_TIMER));
    assert_false(expire(9, 0));
    assert_false(take((struct record){.kind = 77, .thread = CAM}));
    assert_true(take((struct record){.kind = RECORD_WAKING, .thread = CAM, .next = OTHER}));
    assert_int_equal(seen.next, 0);
    assert_true(take((struct record){.kind = RECORD_MIGRATE, .thread = MIC, .to_cpu = 2}));
    assert_int_equal(seen.to_cpu, 2);
}

static void an_address_of_the_kernel_becomes_a_number_and_one_end_of_a_start_is_seen(void **state)
{
    (void)state;
    assert_true(start(5, CAM, TIMER, 9));
    const uint64_t number = seen.timer;
    assert_int_equal(seen.thread, CAM);
    assert_int_equal(seen.expires, 9);
    assert_true(number != TIMER && number >> 8 == CAM);
    assert_false(expire(8, TIMER)); /* of an earlier start, in the context of another thread */
    assert_true(expire(9, TIMER));
    assert_int_equal(seen.timer, number);
    assert_int_equal(seen.thread, 0);
    assert_false(expire(20, TIMER));
    assert_true(start(21, CAM, OTHER_TIMER, 30));
    assert_true(seen.timer != number);
    assert_true(start(22, CAM, TIMER, 30));
    assert_int_equal(seen.timer, number);
    assert_true(start(23, CAM, 3, 30));
    assert_true(start(24, CAM, 4, 30));
    assert_false(start(25, CAM, 5, 30)); /* a thread has at most 4 timers */
    assert_true(start(26, MIC, TIMER, 30));
    assert_true(seen.timer != number);
}

static void after_its_end_a_thread_is_another_one(void **state)
{
    (void)state;
    assert_true(start(5, CAM, TIMER, 9));
    assert_true(change(6, CAM, DEAD, MIC));
    assert_int_equal(seen.state, DEAD);
    assert_false(change(7, OTHER, 0, CAM));
    assert_false(take((struct record){.kind = RECORD_WAKING, .thread = CAM}));
    assert_false(start(8, CAM, TIMER, 9));
    assert_false(expire(9, TIMER));
    assert_true(change(10, CAM, 0, MIC));
    assert_int_equal(seen.thread, 0);
    assert_null(scrub_find(&scrub, CAM));
    assert_non_null(scrub_find(&scrub, MIC));
}

/* ---- causes ---- */

enum { RELATIVE = 120 };

static int relatives_asked;

static bool is_relative(void *context, pid_t tid, pid_t other)
{
    (void)context;
    relatives_asked++;
    return tid == CAM && other == RELATIVE;
}

static int ask_causes(void **state)
{
    set_up(state);
    scrub.occupancy = occupancy_new(4);
    scrub.is_relative = is_relative;
    relatives_asked = 0;
    return scrub.occupancy == NULL;
}

static int forget_causes(void **state)
{
    (void)state;
    occupancy_free(scrub.occupancy);
    return 0;
}

static bool cause(enum record_kind kind, pid_t thread)
{
    return take((struct record){.kind = (uint8_t)kind,
                                .cpu = 3,
                                .thread = thread,
                                .next = OTHER,
                                .state = INTERRUPT_OF_TIMER,
                                .call = 17,
                                .timer = TIMER,
                                .expires = 5,
                                .wait = WAIT_OTHERS,
                                .others = 9});
}

static void without_a_wish_for_causes_nothing_tells_them(void **state)
{
    (void)state;
    for (enum record_kind kind = RECORD_CALL; kind <= RECORD_RESUME; kind++)
        assert_false(cause(kind, CAM));
    assert_true(take((struct record){
        .kind = RECORD_WAKING, .thread = CAM, .next = MIC, .state = WOKEN_BY_INTERRUPT}));
    assert_int_equal(seen.next, 0);
    assert_int_equal(seen.state, 0);
    assert_true(change(5, OTHER, 0, CAM));
    assert_int_equal(seen.wait, 0);
    assert_int_equal(seen.others, 0);
}

static void calls_faults_and_interrupts_of_own_threads_are_told_and_no_others(void **state)
{
    (void)state;
    for (enum record_kind kind = RECORD_CALL; kind <= RECORD_RESUME; kind++) {
        assert_false(cause(kind, OTHER));
        assert_false(cause(kind, 0));
        assert_true(cause(kind, MIC));
        assert_int_equal(seen.thread, MIC);
        assert_int_equal(seen.next, 0);
        assert_int_equal(seen.timer, 0);
        assert_int_equal(seen.expires, 0);
        assert_int_equal(seen.wait, 0);
        assert_int_equal(seen.others, 0);
        assert_int_equal(seen.call, kind == RECORD_CALL || kind == RECORD_RETURN ? 17 : 0);
        assert_int_equal(seen.state, kind == RECORD_INTERRUPT ? INTERRUPT_OF_TIMER : 0);
    }
}

static bool woken_by(pid_t waker)
{
    return take((struct record){.kind = RECORD_WAKING, .thread = CAM, .next = waker});
}

static void the_one_who_wakes_is_told_only_at_a_lock_and_only_if_it_is_own(void **state)
{
    (void)state;
    assert_true(woken_by(MIC));
    assert_int_equal(seen.next, 0); /* not in futex(2) */
    assert_true(
        take((struct record){.kind = RECORD_CALL, .thread = CAM, .call = (uint16_t)SYS_futex}));
    assert_true(woken_by(MIC));
    assert_int_equal(seen.next, MIC);
    assert_int_equal(relatives_asked, 0);
    assert_true(woken_by(RELATIVE));
    assert_int_equal(seen.next, RELATIVE);
    assert_true(woken_by(OTHER));
    assert_int_equal(seen.next, 0);
    assert_int_equal(relatives_asked, 2);
    assert_true(woken_by(0));
    assert_int_equal(relatives_asked, 2);
    assert_true(take((struct record){.kind = RECORD_RETURN, .thread = CAM}));
    assert_true(woken_by(RELATIVE));
    assert_int_equal(seen.next, 0);
    assert_true(
        take((struct record){.kind = RECORD_WAKING, .thread = CAM, .state = WOKEN_BY_INTERRUPT}));
    assert_int_equal(seen.state, WOKEN_BY_INTERRUPT);
}

static bool gets_cpu(int64_t time, pid_t from, int priority)
{
    return take((struct record){.time = time,
                                .kind = RECORD_SWITCH,
                                .cpu = 3,
                                .thread = from,
                                .priority = 70,
                                .next = CAM,
                                .next_priority = (int16_t)priority});
}

static void other_threads_are_counted_after_a_wait_and_not_named(void **state)
{
    (void)state;
    assert_true(change(10, CAM, 0, OTHER));
    assert_int_equal(seen.others, 0);
    assert_false(change(20, OTHER, 0, ANOTHER));
    assert_true(gets_cpu(30, ANOTHER, 80));
    assert_int_equal(seen.wait, WAIT_OTHERS);
    assert_int_equal(seen.others, 2);
    assert_int_equal(seen.thread, 0);
    assert_int_equal(seen.priority, 120);
    assert_int_equal(seen.expires, 0);
    assert_int_equal(seen.timer, 0);
    /* a wait after a sleep begins when the thread is woken */
    assert_true(change(40, CAM, SLEEPING, OTHER));
    assert_false(change(45, OTHER, 0, 0));
    assert_true(take((struct record){.time = 50, .kind = RECORD_WAKING, .thread = CAM}));
    assert_true(gets_cpu(60, 0, 80));
    assert_int_equal(seen.wait, WAIT_NONE);
    assert_int_equal(seen.others, 0);
}

static void an_ordinary_thread_is_told_nothing_about_its_waits(void **state)
{
    (void)state;
    assert_true(change(10, CAM, 0, OTHER));
    assert_true(gets_cpu(30, OTHER, 120));
    assert_int_equal(seen.wait, WAIT_NOT_TOLD);
    assert_int_equal(seen.others, 0);
}

static void no_threads_means_no_records(void **state)
{
    (void)state;
    scrub = (struct scrub){0};
    scrub_sort(&scrub);
    assert_false(change(5, CAM, 0, 0));
    assert_false(change(5, 0, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_change_to_another_thread_says_only_that_the_own_thread_leaves,
                               set_up),
        cmocka_unit_test_setup(nothing_leaves_of_events_of_other_threads, set_up),
        cmocka_unit_test_setup(
            an_address_of_the_kernel_becomes_a_number_and_one_end_of_a_start_is_seen, set_up),
        cmocka_unit_test_setup(after_its_end_a_thread_is_another_one, set_up),
        cmocka_unit_test_setup(no_threads_means_no_records, set_up),
        cmocka_unit_test_setup(without_a_wish_for_causes_nothing_tells_them, set_up),
        cmocka_unit_test_setup_teardown(
            calls_faults_and_interrupts_of_own_threads_are_told_and_no_others, ask_causes,
            forget_causes),
        cmocka_unit_test_setup_teardown(
            the_one_who_wakes_is_told_only_at_a_lock_and_only_if_it_is_own, ask_causes,
            forget_causes),
        cmocka_unit_test_setup_teardown(other_threads_are_counted_after_a_wait_and_not_named,
                                        ask_causes, forget_causes),
        cmocka_unit_test_setup_teardown(an_ordinary_thread_is_told_nothing_about_its_waits,
                                        ask_causes, forget_causes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
