/* libexec/front/followed.c: which thread gets a keeper, and when. No process is started: these
 * functions stand in for the keepers. */
#include "front/followed.h"

#include <stdlib.h>

#include "unit.h"

#define SECOND INT64_C(1000000000)
enum { THREAD = 42 };

static struct followed followed;
static struct keeper_order asked; /* the last order */
static size_t starts, kills;
static bool is_granted, has_ended;
static int status;

pid_t fake_keeper_start(const struct keeper_order *order,
                        int grants) __asm__("__wrap_keeper_start");
pid_t fake_keeper_granted(int grants) __asm__("__wrap_keeper_granted");
bool fake_keeper_has_ended(pid_t keeper, int *stored) __asm__("__wrap_keeper_has_ended");
void fake_keeper_end(pid_t keeper) __asm__("__wrap_keeper_end");

pid_t fake_keeper_start(const struct keeper_order *order, int grants)
{
    (void)grants;
    asked = *order;
    starts++;
    return 1;
}

pid_t fake_keeper_granted(int grants)
{
    const bool was_granted = is_granted;
    (void)grants;
    is_granted = false;
    return was_granted ? THREAD : 0;
}

bool fake_keeper_has_ended(pid_t keeper, int *stored)
{
    const bool is_over = has_ended;
    (void)keeper;
    *stored = status << 8;
    has_ended = false;
    return is_over;
}

void fake_keeper_end(pid_t keeper)
{
    (void)keeper;
    kills++;
}

/* ---- what an observation says ---- */

static void see(struct learned_thread *thread, bool is_short)
{
    const struct thread_watch watch = {.tid = THREAD, .name = "video"};
    const struct learned learned = {.threads = thread, .count = 1};
    thread->watch = &watch;
    (void)learned_reservation(thread->times.longest, thread->period, &thread->reserved);
    followed_take(&followed, &learned, is_short);
}

static void see_period(int64_t period, int64_t longest)
{
    struct learned_thread thread = {.behaviour = BEHAVIOUR_PERIODIC,
                                    .period = period,
                                    .observed = {.length = SECOND},
                                    .times = {.percentile_99 = longest, .longest = longest}};
    see(&thread, false);
}

static void see_behaviour(enum behaviour behaviour, int64_t waited)
{
    struct learned_thread thread = {.behaviour = behaviour,
                                    .times = {.longest = 1},
                                    .observed = {.length = SECOND, .waited = waited}};
    see(&thread, false);
}

static void grant(int64_t now)
{
    is_granted = true;
    (void)followed_serve(&followed, now);
}

static int64_t end_keeper(int code, int64_t now)
{
    status = code;
    has_ended = true;
    return followed_serve(&followed, now);
}

static int begin(void **state)
{
    (void)state;
    free(followed.threads);
    followed = (struct followed){.process = THREAD};
    starts = kills = 0;
    is_granted = has_ended = false;
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(followed.threads);
    followed.threads = NULL;
    return 0;
}

/* ---- tests ---- */

static void a_thread_with_a_period_gets_one_keeper(void **state)
{
    (void)state;
    see_period(40 * MS, 10 * MS);
    assert_int_equal(followed_serve(&followed, 0), INT64_MAX);
    assert_int_equal(starts, 1);
    assert_int_equal(asked.thread, THREAD);
    assert_int_equal(asked.wish.runtime, 11000);
    assert_int_equal(asked.wish.period, 40000);
    assert_int_equal(asked.least, 10001);
    assert_int_equal(asked.trial, 0);
    grant(SECOND);
    see_period(40 * MS, 12 * MS); /* the keeper follows the jobs by itself */
    (void)followed_serve(&followed, 2 * SECOND);
    assert_int_equal(starts + kills, 1);
}

static void a_refused_thread_is_asked_for_again_later_and_silently(void **state)
{
    (void)state;
    see_period(40 * MS, 10 * MS);
    (void)followed_serve(&followed, 0);
    assert_false(asked.is_silent);
    assert_int_equal(end_keeper(69, 0), SECOND);
    assert_int_equal(followed_serve(&followed, SECOND), INT64_MAX);
    assert_int_equal(starts, 2);
    assert_true(asked.is_silent);
    assert_int_equal(end_keeper(69, SECOND), 3 * SECOND);
    (void)followed_serve(&followed, 3 * SECOND - 1);
    assert_int_equal(starts, 2);
}

static void another_period_replaces_the_keeper(void **state)
{
    (void)state;
    see_period(40 * MS, 10 * MS);
    (void)followed_serve(&followed, 0);
    grant(0);
    see_period(40 * MS + MS / 2, 10 * MS); /* fits the reserved one */
    assert_int_equal(kills, 0);
    see_period(20 * MS, 5 * MS);
    assert_int_equal(kills, 1);
    (void)followed_serve(&followed, SECOND);
    assert_int_equal(asked.wish.period, 20000);
    assert_int_equal(asked.wish.runtime, 5500);
}

static void a_released_reservation_is_not_asked_for_again(void **state)
{
    (void)state;
    see_period(40 * MS, 10 * MS);
    (void)followed_serve(&followed, 0);
    grant(0);
    assert_int_equal(end_keeper(66, SECOND), INT64_MAX);
    see_period(40 * MS, 10 * MS);
    assert_int_equal(followed_serve(&followed, 100 * SECOND), INT64_MAX);
    assert_int_equal(starts, 1);
}

static void a_thread_that_waits_for_cpus_gets_one_trial(void **state)
{
    (void)state;
    see_behaviour(BEHAVIOUR_STARVED, SECOND / 2);
    (void)followed_serve(&followed, 0);
    assert_int_equal(asked.trial, 8000000);
    assert_int_equal(asked.wish.period, 10000);
    grant(0);
    (void)end_keeper(0, 0);
    see_behaviour(BEHAVIOUR_STARVED, SECOND / 2);
    (void)followed_serve(&followed, 10 * SECOND);
    assert_int_equal(starts, 1);
    see_period(40 * MS, 10 * MS);
    (void)followed_serve(&followed, 11 * SECOND);
    assert_int_equal(starts, 2);
    assert_int_equal(asked.trial, 0);
}

static void threads_without_a_period_get_nothing(void **state)
{
    (void)state;
    see_behaviour(BEHAVIOUR_SLEEPING, SECOND / 2);
    see_behaviour(BEHAVIOUR_HOG, 0);
    see_behaviour(BEHAVIOUR_APERIODIC, SECOND / 100);
    assert_int_equal(followed_serve(&followed, SECOND), INT64_MAX);
    assert_int_equal(starts, 0);
}

static void the_longest_job_counts_but_not_those_of_the_start(void **state)
{
    (void)state;
    see_period(40 * MS, 30 * MS);
    assert_int_equal(followed.threads[0].reservation.runtime, 33000);
    see_period(40 * MS, 10 * MS);
    assert_int_equal(followed.threads[0].reservation.runtime, 11000);
    see_period(40 * MS, 12 * MS);
    see_period(40 * MS, 8 * MS);
    assert_int_equal(followed.threads[0].reservation.runtime, 13200);
    struct learned_thread last = {.period = 5 * MS,
                                  .observed = {.length = SECOND},
                                  .times = {.longest = 4 * MS}};
    see(&last, true);
    assert_int_equal(followed.threads[0].reservation.period, 40000);
}

static void a_short_observation_corrects_the_first(void **state)
{
    struct learned_thread last = {.period = 40 * MS,
                                  .observed = {.length = SECOND},
                                  .times = {.longest = 10 * MS}};
    (void)state;
    see_period(40 * MS, 30 * MS);
    see(&last, true);
    assert_int_equal(followed.threads[0].reservation.runtime, 11000);
    last.times.longest = 20 * MS;
    see(&last, true);
    assert_int_equal(followed.threads[0].reservation.runtime, 11000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_thread_with_a_period_gets_one_keeper, begin),
        cmocka_unit_test_setup(a_refused_thread_is_asked_for_again_later_and_silently, begin),
        cmocka_unit_test_setup(another_period_replaces_the_keeper, begin),
        cmocka_unit_test_setup(a_released_reservation_is_not_asked_for_again, begin),
        cmocka_unit_test_setup(a_thread_that_waits_for_cpus_gets_one_trial, begin),
        cmocka_unit_test_setup(threads_without_a_period_get_nothing, begin),
        cmocka_unit_test_setup(a_short_observation_corrects_the_first, begin),
        cmocka_unit_test_setup_teardown(the_longest_job_counts_but_not_those_of_the_start, begin,
                                        end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
