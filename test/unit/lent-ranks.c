/* libexec/guard/lent-ranks.c: who can lend a rank, and the sum of boosts whose lender is unknown. */
#include "guard/lent-ranks.h"

#include "unit.h"

enum { FIFO_15 = 84, FIFO_12 = 87, DEADLINE = -1 };

static struct guarded thread_of(enum policy policy, int priority, int64_t runtime)
{
    return (struct guarded){.granted = {.policy = policy, .priority = priority},
                            .window = {.runtime = runtime * MS, .period = 100 * MS}};
}

static void a_thread_can_lend_each_rank_that_its_owner_can_lower_it_to(void **state)
{
    const struct guarded high = thread_of(POLICY_FIFO, 15, 2), low = thread_of(POLICY_RR, 12, 1),
                         deadline = thread_of(POLICY_DEADLINE, 0, 5);
    (void)state;
    assert_int_equal(rank_granted(&high), FIFO_15);
    assert_int_equal(rank_granted(&deadline), DEADLINE);
    assert_int_equal(rank_shortest_runtime(FIFO_15), 0);
    ranks_note(&high, true);
    assert_int_equal(rank_shortest_runtime(FIFO_15), 2 * MS);
    assert_int_equal(rank_shortest_runtime(FIFO_12), 2 * MS);
    assert_int_equal(rank_shortest_runtime(FIFO_15 - 1), 0);
    assert_int_equal(rank_shortest_runtime(DEADLINE), 0);
    assert_int_equal(rank_shortest_runtime(RT_PRIORITIES), 0);
    ranks_note(&low, true);
    assert_int_equal(rank_shortest_runtime(FIFO_12), 1 * MS);
    assert_int_equal(rank_shortest_runtime(FIFO_15), 2 * MS);
    ranks_note(&deadline, true);
    assert_int_equal(rank_shortest_runtime(DEADLINE), 5 * MS);
    assert_int_equal(rank_shortest_runtime(FIFO_12), 1 * MS);
    ranks_note(&low, false);
    assert_int_equal(rank_shortest_runtime(FIFO_12), 2 * MS);
    ranks_note(&high, false);
    ranks_note(&deadline, false);
    assert_int_equal(rank_shortest_runtime(FIFO_12), 0);
}

static void short_boosts_are_added_up_for_a_period(void **state)
{
    const struct guarded lender = thread_of(POLICY_FIFO, 15, 2);
    (void)state;
    ranks_note(&lender, true);
    rank_note_unknown(FIFO_15, 1 * MS, 1000 * MS);
    rank_note_unknown(FIFO_12, 1 * MS, 1010 * MS);
    rank_note_unknown(DEADLINE, 7 * MS, 1010 * MS);
    assert_int_equal(rank_unknown_time(FIFO_15, 1020 * MS), 2 * MS);
    assert_int_equal(rank_unknown_time(FIFO_15, 1100 * MS), 0);
    rank_note_unknown(FIFO_15, 1 * MS, 1101 * MS);
    assert_int_equal(rank_unknown_time(FIFO_15, 1102 * MS), 1 * MS);
    /* a report that was read late shows a boost that ended before it began */
    rank_note_unknown(FIFO_15, -5 * MS, 1103 * MS);
    assert_int_equal(rank_unknown_time(FIFO_15, 1104 * MS), 1 * MS);
    rank_forget_unknown(FIFO_12);
    assert_int_equal(rank_unknown_time(FIFO_15, 1105 * MS), 0);
    ranks_note(&lender, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_can_lend_each_rank_that_its_owner_can_lower_it_to),
        cmocka_unit_test(short_boosts_are_added_up_for_a_period),
    };
    return cmocka_run_group_tests_name("lent-ranks", tests, NULL, NULL);
}
