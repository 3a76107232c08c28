/* The part of the kernel's events that a user may see: libexec/tracer/scrub.c. */
#include "unit.h"

#include <string.h>

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
        cmocka_unit_test_setup(no_threads_means_no_records, set_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
