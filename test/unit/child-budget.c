/* When a child loses its real-time rank: if it uses its budget within a short time, but not if it
 * takes longer. */
#include "child-budget.h"

#include <signal.h>
#include <unistd.h>

#include "unit.h"

static const int64_t SPAN = 250000000; /* ns */
static struct budget budget;

/* The budget of this process. The tests say when it is used up, not the kernel. */
static int set_up(void **state)
{
    (void)state;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGRTMIN);
    assert_int_equal(sigprocmask(SIG_BLOCK, &signals, NULL), 0);
    budget_begin(&budget, getpid(), 0);
    assert_true(budget.is_timed);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    budget_end(&budget);
    return 0;
}

static bool used_up_after(int64_t span)
{
    clock_to(clock_now + span);
    budget_used_up(&budget);
    return budget.ordinary.at != 0;
}

static void who_uses_it_up_within_the_span_is_ordinary(void **state)
{
    (void)state;
    assert_true(used_up_after(SPAN - 1));
}

static void who_takes_longer_keeps_its_rank_each_time(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_false(used_up_after(SPAN));
    /* the span counts from the last time, not from the first */
    assert_true(used_up_after(SPAN - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_uses_it_up_within_the_span_is_ordinary, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(who_takes_longer_keeps_its_rank_each_time, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("child-budget", tests, NULL, NULL);
}
