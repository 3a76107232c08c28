/* libexec/guard/overrun-window.c: when a guarded thread has how much of its runtime. Times are in ms
 * here. */
#include "guard/overrun-window.h"

#include "unit.h"

static void who_uses_it_up_at_once_waits_for_the_next_window(void **state)
{
    struct window window = {.began = 1000 * MS, .runtime = 2 * MS, .period = 10 * MS};
    (void)state;
    assert_int_equal(window_used_up(&window, 1002 * MS, 0, 1), 1010 * MS);
    assert_int_equal(window_used_up(&window, 1012 * MS, 0, 1), 1020 * MS);
    /* the runtime is used up late: the next window has begun */
    assert_int_equal(window_used_up(&window, 1029 * MS, 0, 1), 0);
    assert_int_equal(window.began, 1030 * MS);
    /* no runtime is saved up while the thread sleeps */
    assert_int_equal(window_used_up(&window, 1200 * MS, 0, 1), 0);
    assert_int_equal(window.began, 1200 * MS);
    assert_int_equal(window_used_up(&window, 1202 * MS, 0, 1), 1210 * MS);
}

static void several_at_once_take_as_many_periods(void **state)
{
    struct window window = {.began = 1000 * MS, .runtime = 2 * MS, .period = 10 * MS};
    (void)state;
    assert_int_equal(window_used_up(&window, 1006 * MS, 0, 3), 1030 * MS);
}

static void what_a_thread_waited_is_made_up_for_a_period_at_most(void **state)
{
    struct window window = {.began = 1000 * MS, .runtime = 2 * MS, .period = 10 * MS};
    (void)state;
    (void)window_used_up(&window, 1050 * MS, 6 * MS, 1);
    assert_int_equal(window.began, 1044 * MS);
    (void)window_used_up(&window, 1100 * MS, 80 * MS, 1);
    assert_int_equal(window.began, 1090 * MS);
    /* the next window begins when the last one is over, and no earlier */
    (void)window_used_up(&window, 1101 * MS, 50 * MS, 1);
    assert_int_equal(window.began, 1100 * MS);
}

/* Timers are late, so no thread is suspended for the first quarter of a period that it is early. A
 * thread gains nothing from this in later windows. */
static void a_quarter_too_early_is_no_runaway(void **state)
{
    struct window window = {.began = 1000 * MS, .runtime = 2 * MS, .period = 8 * MS};
    (void)state;
    assert_int_equal(window_used_up(&window, 1006 * MS, 0, 1), 0);
    assert_int_equal(window.began, 1008 * MS);
    assert_int_equal(window_used_up(&window, 1006 * MS + 2 * MS, 0, 1), 1016 * MS);
    window = (struct window){.began = 1000 * MS, .runtime = 2 * MS, .period = 8 * MS};
    assert_int_equal(window_used_up(&window, 1006 * MS - 1, 0, 1), 1008 * MS);
}

static int suspended_times(struct window *window, int64_t now, int64_t until)
{
    int suspended = 0;
    window->began = now;
    while (now < until) {
        now += MS / 10;
        const int64_t on = window_used_up(window, now, 0, 1);
        suspended += on != 0;
        now = on > now ? on : now;
    }
    return suspended;
}

/* The guard needs CPU time for each suspension. So it suspends a thread with a short period for
 * longer if the thread never keeps to its runtime. A thread that only catches up gets no longer
 * pauses. */
static void suspensions_are_four_ms_apart_on_average(void **state)
{
    struct window window = {.began = 1000 * MS, .runtime = MS / 10, .period = MS};
    (void)state;
    assert_in_range(suspended_times(&window, 1000 * MS, 1200 * MS), 199, 201);
    (void)suspended_times(&window, 1200 * MS, 3000 * MS);
    assert_in_range(suspended_times(&window, 3000 * MS, 7000 * MS), 990, 1010);
    /* the unused time is saved up, but only up to a second */
    assert_in_range(suspended_times(&window, 9000 * MS, 12000 * MS), 990, 1010);
}

/* The guard suspends the threads of a process together, and needs CPU time for each thread. */
static void suspensions_of_many_threads_are_farther_apart(void **state)
{
    struct window window = {.runtime = MS, .period = 10 * MS, .others = 63};
    (void)state;
    (void)suspended_times(&window, 1000 * MS, 3000 * MS);
    assert_in_range(suspended_times(&window, 3000 * MS, 7000 * MS), 190, 215);
    /* 500 threads have saved up nothing, and lose nothing with a long period */
    window = (struct window){.runtime = MS, .period = 10 * MS, .others = 499};
    assert_in_range(suspended_times(&window, 9000 * MS, 10000 * MS), 7, 9);
    window = (struct window){.runtime = 20 * MS, .period = 200 * MS, .others = 499};
    assert_in_range(suspended_times(&window, 11000 * MS, 13000 * MS), 9, 10);
}

/* The thread runs as it likes, and others keep it waiting at random. From the end of one runtime, n
 * more runtimes take at least n - 1 periods, less a quarter of a period and the time that the thread
 * waited. */
enum { USES = 60 };

static void n_runtimes_take_n_less_one_periods(void **state)
{
    int suspended = 0;
    (void)state;
    random_from(9);
    for (int round = 0; round < 4000; round++) {
        const int64_t period = (int64_t)random_within(1, 100) * MS,
                      runtime = (int64_t)random_within(1, (uint64_t)period);
        const bool waits = random_below(2) == 0, greedy = random_below(2) == 0;
        struct window window = {.began = 0, .runtime = runtime, .period = period};
        int64_t used_at[USES], waited[USES], now = 0;
        for (int i = 0; i < USES; i++) {
            waited[i] = waits ? (int64_t)random_below((uint64_t)(2 * period)) : 0;
            now +=
                runtime + waited[i] + (greedy ? 0 : (int64_t)random_below((uint64_t)(2 * period)));
            used_at[i] = now;
            const int64_t until = window_used_up(&window, now, waited[i], 1);
            suspended += until != 0;
            check(until == 0 || until > now, "%lld is over at %lld", (long long)until,
                  (long long)now);
            now = until > now ? until : now;
        }
        for (int i = 0; i < USES; i++)
            for (int j = i + 1; j < USES; j++) {
                const int64_t made_up = waited[i] < period ? waited[i] : period;
                check(used_at[j] - used_at[i] + period / 4 + made_up >= (j - i - 1) * period,
                      "%d in %lld ns, period %lld", j - i, (long long)(used_at[j] - used_at[i]),
                      (long long)period);
            }
    }
    assert_true(suspended > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_uses_it_up_at_once_waits_for_the_next_window),
        cmocka_unit_test(several_at_once_take_as_many_periods),
        cmocka_unit_test(what_a_thread_waited_is_made_up_for_a_period_at_most),
        cmocka_unit_test(a_quarter_too_early_is_no_runaway),
        cmocka_unit_test(suspensions_are_four_ms_apart_on_average),
        cmocka_unit_test(suspensions_of_many_threads_are_farther_apart),
        cmocka_unit_test(n_runtimes_take_n_less_one_periods),
    };
    return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
