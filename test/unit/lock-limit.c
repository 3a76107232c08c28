/* libexec/attach/lock-limit.c: it raises a limit, the user may change the limit meanwhile, and it
 * takes back what is left of the raise. */
#include "attach/lock-limit.h"

#include "unit.h"

static const struct rlimit former = {.rlim_cur = 1, .rlim_max = 8};

static void becomes(struct rlimit limit, uint64_t was, uint64_t is, struct rlimit now, rlim_t soft,
                    rlim_t hard)
{
    const struct lock_limit limits = {.former = limit, .was = was, .is = is};
    const struct rlimit next = lock_limit_next(&limits, &now);
    check(next.rlim_cur == soft && next.rlim_max == hard, "%llu:%llu",
          (unsigned long long)next.rlim_cur, (unsigned long long)next.rlim_max);
}

static struct rlimit limit_of(rlim_t soft, rlim_t hard)
{
    return (struct rlimit){.rlim_cur = soft, .rlim_max = hard};
}

static void a_limit_is_raised_and_taken_back(void **state)
{
    (void)state;
    becomes(former, 0, 32, former, 32, 32);
    becomes(former, 32, 0, limit_of(32, 32), 1, 8);
    becomes(former, 0, 4, former, 4, 8); /* a hard limit that is higher remains */
    becomes(former, 4, 0, limit_of(4, 8), 1, 8);
    becomes(limit_of(1, RLIM_INFINITY), 0, 32, limit_of(1, RLIM_INFINITY), 32, RLIM_INFINITY);
    becomes(limit_of(1, RLIM_INFINITY), 32, 0, limit_of(32, RLIM_INFINITY), 1, RLIM_INFINITY);
}

static void of_several_the_largest_counts(void **state)
{
    (void)state;
    becomes(former, 32, 64, limit_of(32, 32), 64, 64);
    becomes(former, 64, 32, limit_of(64, 64), 32, 32);
    becomes(former, 64, 64, limit_of(64, 64), 64, 64);
}

static void what_the_user_lowers_stays_lowered(void **state)
{
    (void)state;
    becomes(former, 32, 0, limit_of(4, 32), 4, 8);
    becomes(former, 32, 0, limit_of(16, 32), 8, 8);
    becomes(former, 32, 0, limit_of(2, 4), 2, 4);
    becomes(former, 32, 0, limit_of(0, 0), 0, 0);
    becomes(former, 32, 64, limit_of(2, 4), 2, 4);
    becomes(former, 32, 32, limit_of(2, 4), 2, 4);
}

/* Whatever a user sets, no limit is above the former hard limit afterwards. */
static void nobody_keeps_more_than_before(void **state)
{
    (void)state;
    for (uint64_t was = 0; was < 20; was++)
        for (rlim_t hard = 0; hard < 24; hard++)
            for (rlim_t soft = 0; soft <= hard; soft++) {
                const struct lock_limit limits = {.former = former, .was = was};
                const struct rlimit now = {.rlim_cur = soft, .rlim_max = hard},
                                    next = lock_limit_next(&limits, &now);
                assert_true(next.rlim_cur <= next.rlim_max && next.rlim_max <= 8);
                assert_true(next.rlim_max <= hard || hard < 8);
            }
}

/* The journal has the former limit. It is not known whether the helper has raised the limit. */
static void after_a_crash_both_are_possible(void **state)
{
    (void)state;
    becomes(former, 32, 32, former, 32, 32);
    becomes(former, 32, 32, limit_of(32, 32), 32, 32);
    becomes(former, 0, 32, limit_of(32, 32), 32, 32);
    becomes(former, 0, 0, limit_of(32, 32), 8, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_raised_and_taken_back),
        cmocka_unit_test(of_several_the_largest_counts),
        cmocka_unit_test(what_the_user_lowers_stays_lowered),
        cmocka_unit_test(nobody_keeps_more_than_before),
        cmocka_unit_test(after_a_crash_both_are_possible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
