/* libexec/front/usage-periods.c against a thread under a copy of the kernel's rules for
 * SCHED_DEADLINE, with looks that are late; and the parsers of rtf-usage(1). Times are in ns. */
#include "front/usage-periods.h"

#include <stdlib.h>
#include <string.h>

#include "front/usage-marks.h"
#include "unit.h"

#define STEP    (INT64_C(50000))
#define RUNTIME (12 * MS)
#define PERIOD  (100 * MS)
/* the use in the period in which the measurement begins */
#define BEFORE (7 * MS)

/* A thread with a job in each period. */
static struct {
    int64_t now, release, deadline, left, work, throttled_at;
    int64_t apart; /* from one job to the next */
    int64_t tick;  /* the kernel looks at the runtime at each multiple of this time */
    bool is_throttled;
    uint64_t ran, waited, slept;
    int jobs;
    bool is_over; /* the present job was throttled */
    /* the truth */
    uint64_t throttles, overruns, throttled, most, ran_before;
} thread;

static struct periods periods;

/* A job needs 10 ms, and each tenth 30 % more. */
static int64_t needs_a_bit_more(int job)
{
    return job % 10 == 9 ? 13 * MS : 10 * MS;
}

static int64_t needs_three_runtimes(int job)
{
    return job % 10 == 9 ? 28 * MS : 2 * MS;
}

static int64_t needs_little(int job)
{
    return (1 + job % 6) * MS;
}

static int64_t never_ends(int job)
{
    (void)job;
    return INT64_MAX / 2;
}

static void throttle(void)
{
    thread.is_throttled = true;
    thread.throttled_at = thread.now;
    thread.throttles++;
    thread.overruns += !thread.is_over;
    if (thread.ran - thread.ran_before > thread.most)
        thread.most = thread.ran - thread.ran_before;
    thread.is_over = true;
}

static void replenish(void)
{
    for (; thread.left <= 0; thread.left += RUNTIME)
        thread.deadline += PERIOD;
    thread.is_throttled = false;
    thread.ran_before = thread.ran;
    thread.throttled += (uint64_t)(thread.now - thread.throttled_at);
    thread.waited += (uint64_t)(thread.now - thread.throttled_at);
}

static void wake(int64_t (*needs)(int job))
{
    if (thread.now >= thread.deadline) {
        thread.deadline = thread.now + PERIOD;
        thread.left = RUNTIME;
    }
    thread.is_over = false;
    thread.work = needs(thread.jobs++);
    thread.release += thread.apart;
}

static void run(void)
{
    thread.now += STEP;
    thread.ran += (uint64_t)STEP;
    thread.left -= STEP;
    thread.work -= STEP;
    if (thread.work <= 0 && thread.release > thread.now)
        thread.slept++;
    if (thread.left <= 0 && thread.now % thread.tick == 0 && thread.work > 0)
        throttle();
}

static void go_to(int64_t time, int64_t (*needs)(int job))
{
    while (thread.now < time) {
        if (thread.is_throttled && thread.now >= thread.deadline)
            replenish();
        if (thread.work <= 0 && thread.now >= thread.release)
            wake(needs);
        if (thread.work > 0 && !thread.is_throttled)
            run();
        else
            thread.now += STEP;
    }
}

static struct look look(void)
{
    return (struct look){.at = thread.now,
                         .ran = thread.ran,
                         .waited = thread.waited,
                         .deadline = (uint64_t)thread.deadline,
                         .left = thread.left,
                         .slept = thread.slept,
                         .has_left = thread.work <= 0 || thread.is_throttled,
                         .migrations = 0};
}

/* Looks twice a period, each time up to `late` too late, until `end`. */
static void measure_jobs(int64_t apart, int64_t tick, int64_t late, int64_t end,
                         int64_t (*needs)(int job))
{
    memset(&thread, 0, sizeof thread);
    thread.tick = tick;
    thread.apart = apart;
    thread.now = 1000 * MS;
    thread.release = thread.now + (int64_t)random_below(PERIOD / STEP) * STEP;
    thread.deadline = thread.now - 1;
    thread.left = RUNTIME - BEFORE;
    struct look first = look();
    periods_begin(&periods, RUNTIME, PERIOD, false, &first);
    for (int64_t at = thread.now; at < end; at += PERIOD / 2) {
        go_to(at + (int64_t)random_below((uint64_t)late + 1), needs);
        const struct look now = look();
        periods_take(&periods, &now);
    }
}

static void measure(int64_t tick, int64_t late, int64_t end, int64_t (*needs)(int job))
{
    measure_jobs(PERIOD, tick, late, end, needs);
}

/* The last period is not closed when the measurement ends. */
static void check_counts(void)
{
    check(periods.lost == 0, "%d periods are lost", (int)periods.lost);
    check(periods.throttles <= thread.throttles && periods.throttles + 1 >= thread.throttles,
          "%d throttles, and not %d", (int)periods.throttles, (int)thread.throttles);
    check(periods.overruns <= thread.overruns && periods.overruns + 1 >= thread.overruns,
          "%d overruns, and not %d", (int)periods.overruns, (int)thread.overruns);
    assert_true(periods.throttled <= thread.throttled &&
                periods.throttled + PERIOD >= thread.throttled);
}

static void each_tenth_job(void **state)
{
    (void)state;
    random_from(1);
    for (int i = 0; i < ROUNDS(40); i++) {
        measure(STEP, 45 * MS, 21700 * MS, needs_a_bit_more);
        check_counts();
        assert_int_equal(periods.saturated, 20);
        assert_int_equal(periods.overruns, 20);
        assert_true(periods.most == RUNTIME && periods.least == BEFORE);
        periods_end(&periods);
    }
}

static void a_job_of_three_runtimes(void **state)
{
    (void)state;
    random_from(2);
    for (int i = 0; i < ROUNDS(40); i++) {
        measure(STEP, 45 * MS, 21700 * MS, needs_three_runtimes);
        check_counts();
        assert_int_equal(periods.overruns, 20);
        assert_int_equal(periods.throttles, 40);
        periods_end(&periods);
    }
}

/* The thread runs up to 20 ms longer than its runtime, so it skips periods. */
static void ticks(void **state)
{
    (void)state;
    random_from(3);
    for (int i = 0; i < ROUNDS(40); i++) {
        measure(20 * MS, 10 * MS, 21700 * MS, never_ends);
        check_counts();
        assert_int_equal(periods.overruns, 1);
        assert_int_equal(periods.saturated + 1, periods.count);
        check(periods.most == thread.most, "%d us, and not %d", (int)(periods.most / 1000),
              (int)(thread.most / 1000));
        const uint64_t mean = periods_mean(&periods);
        assert_true(mean + MS / 5 > RUNTIME && mean < RUNTIME + MS / 5);
        periods_end(&periods);
    }
}

/* While the thread sleeps, no period is lost, even if no look is in time. */
static void sleeper(void **state)
{
    (void)state;
    random_from(5);
    for (int i = 0; i < ROUNDS(40); i++) {
        measure_jobs(15 * PERIOD, STEP, 240 * MS, 60000 * MS, needs_little);
        assert_int_equal(periods.lost, 0);
        assert_true(periods.count >= 39 && periods.count <= 40 && periods.saturated == 0);
        assert_true(periods.most == 7 * MS);
        periods_end(&periods);
    }
}

/* A reader that does not look for several periods tells that periods are lost, and counts none of
 * them. */
static void lost(void **state)
{
    (void)state;
    random_from(4);
    measure(STEP, 0, 3000 * MS, needs_a_bit_more);
    const uint64_t count = periods.count, saturated = periods.saturated;
    go_to(6040 * MS, needs_a_bit_more);
    const struct look late = look();
    periods_take(&periods, &late);
    assert_true(periods.lost >= 29 && periods.lost <= 32);
    assert_true(periods.count == count && periods.saturated == saturated);
    periods_end(&periods);
}

/* Without the kernel's deadlines there are windows. */
static void windows(void **state)
{
    struct look now = {.at = MS, .migrations = -1};
    (void)state;
    periods_begin(&periods, RUNTIME, PERIOD, false, &now);
    for (int i = 1; i <= 10; i++) {
        now.at += PERIOD / 2;
        now.ran += i == 7 || i == 8 ? 6 * MS : 5 * MS;
        now.is_ordinary = i == 7;
        periods_take(&periods, &now);
    }
    assert_int_equal(periods.count, 5);
    assert_int_equal(periods.saturated, 1);
    assert_int_equal(periods.throttles, 1);
    assert_int_equal(periods.most, 12 * MS);
    assert_false(periods.knows_kernel);
    now.at += PERIOD * 3 / 2;
    periods_take(&periods, &now);
    assert_true(periods.lost == 1 && periods.count == 5);
    now.at += PERIOD * 3 / 2; /* with the rest of the window before */
    periods_take(&periods, &now);
    assert_true(periods.lost == 3 && periods.count == 5);
    assert_int_equal(periods_99(&periods), 10 * MS);
    periods_end(&periods);
}

/* With a deadline shorter than the period, the kernel's rest of the runtime is not believed. */
static void constrained(void **state)
{
    struct look now = {.at = MS, .left = 3 * MS, .deadline = 50 * MS};
    (void)state;
    periods_begin(&periods, RUNTIME, PERIOD, true, &now);
    now.deadline += PERIOD;
    now.at += PERIOD;
    periods_take(&periods, &now);
    assert_true(periods.count == 1 && periods.most == 0 && !periods.knows_kernel);
    periods_end(&periods);
}

static void kept(void **state)
{
    struct look now = {.at = MS};
    (void)state;
    periods_begin(&periods, RUNTIME, PERIOD, false, &now);
    for (int i = 0; i < PERIODS_KEPT + 1000; i++) {
        now.at += PERIOD;
        now.ran += i < 1000 ? 9 * MS : MS;
        periods_take(&periods, &now);
    }
    assert_int_equal(periods.count, PERIODS_KEPT + 1000);
    assert_int_equal(periods_99(&periods), MS);
    assert_int_equal(periods.most, 9 * MS);
    periods_end(&periods);
}

static void texts(void **state)
{
    struct look look = {.migrations = -1};
    (void)state;
    look_parse(
        "cat (1, #threads: 1)\n---\nse.sum_exec_runtime   :     59.711127\nse.nr_migrations : "
        "  3\nnr_voluntary_switches : 11\nnr_involuntary_switches : 1\npolicy : 6\nprio : "
        "-1\ndl.runtime : -48\ndl.deadline : 37463353929916\n",
        &look);
    assert_int_equal(look.ran, 59711127);
    assert_int_equal(look.migrations, 3);
    assert_int_equal(look.slept, 11);
    assert_int_equal(look.left, -48);
    assert_int_equal(look.deadline, 37463353929916);
    assert_false(look.is_ordinary);
    look = (struct look){.ran = 7, .migrations = -1};
    look_parse("x (1)\nse.sum_exec_runtime : 59.71112\n", &look);
    assert_true(look.ran == 7 && look.migrations == -1);
    /* A thread may have any name. */
    look_parse("policy : 6 (1)\nse.sum_exec_runtime : 1.000000\npolicy : 0\n", &look);
    assert_true(look.ran == 1000000 && look.deadline == 0);
}

static void marks_in_pieces(void **state)
{
    struct marks marks = {.fifo = -1, .since = 1000, .deadline = 100};
    const char text[] = "900 999\n1000 1100\n1000 1101\n1000 1500 500\nx\n1 2 3 4\n";
    (void)state;
    for (size_t i = 0; i < sizeof text - 1; i++)
        marks_take(&marks, text + i, 1);
    assert_true(marks.jobs == 3 && marks.missed == 1 && marks.worst == 500 && marks.wrong == 2);
    for (int i = 0; i < 1000; i++)
        marks_take(&marks, "1000 1001 ", 10);
    marks_take(&marks, "\n1000 1001\n", 11);
    assert_true(marks.jobs == 4 && marks.wrong == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_tenth_job), cmocka_unit_test(a_job_of_three_runtimes),
        cmocka_unit_test(ticks),          cmocka_unit_test(lost),
        cmocka_unit_test(sleeper),        cmocka_unit_test(windows),
        cmocka_unit_test(constrained),    cmocka_unit_test(kept),
        cmocka_unit_test(texts),          cmocka_unit_test(marks_in_pieces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
