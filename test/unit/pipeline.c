/* The steps of a request: each edge of the drawing, and no other. */
#include "pipeline.h"

#include "fakes.h"
#include "unit.h"

static const struct edge {
    enum step from;
    enum step_result result;
    enum step to;
} edges[] = {
    {STEP_BEGUN, SPEC_IS_NEW, STEP_ACCOUNT},
    {STEP_BEGUN, MORE_IS_WANTED, STEP_CHOOSE},
    {STEP_BEGUN, THREAD_IS_NAMED, STEP_ENFORCE},
    {STEP_BEGUN, THREAD_IS_KNOWN, STEP_APPLY},
    {STEP_BEGUN, LET_GO, STEP_DETACH},
    {STEP_BEGUN, SPEC_IS_GONE, STEP_RELEASE},
    {STEP_BEGUN, DECIDED, STEP_ANSWER},
    {STEP_ACCOUNT, DONE, STEP_CHOOSE},
    {STEP_ACCOUNT, DECIDED, STEP_ANSWER},
    {STEP_CHOOSE, CLAIM_IS_NEXT, STEP_CLAIM},
    {STEP_CHOOSE, HELD, STEP_CHOOSE},
    {STEP_CHOOSE, CPU_IS_NEXT, STEP_ACCEPT},
    {STEP_CHOOSE, OTHER_RUNTIME, STEP_PROBE},
    {STEP_CHOOSE, PART_IS_LEFT, STEP_JUDGE},
    {STEP_CHOOSE, NOT_ITS_TURN, STEP_TURN},
    {STEP_CHOOSE, AGREED, STEP_SCHEDULE},
    {STEP_CHOOSE, GRANTED, STEP_ENFORCE},
    {STEP_CHOOSE, NO_PLUGIN_LEFT, STEP_REFUSED},
    {STEP_CHOOSE, DECIDED, STEP_ANSWER},
    {STEP_TURN, DONE, STEP_CHOOSE},
    {STEP_CLAIM, HELD, STEP_CHOOSE},
    {STEP_CLAIM, SAYS_NO, STEP_NEXT_PLUGIN},
    {STEP_ACCEPT, SAYS_NO, STEP_NEXT_PLUGIN},
    {STEP_ACCEPT, OFFERED_A_PART, STEP_NEXT_PLUGIN},
    {STEP_ACCEPT, CROSSED, STEP_CHOOSE},
    {STEP_ACCEPT, OTHER_RUNTIME, STEP_PROBE},
    {STEP_ACCEPT, OFFERED, STEP_JUDGE},
    {STEP_ACCEPT, GRANTED, STEP_ENFORCE},
    {STEP_PROBE, SAYS_NO, STEP_NEXT_PLUGIN},
    {STEP_PROBE, OTHER_RUNTIME, STEP_PROBE},
    {STEP_PROBE, OFFERED, STEP_JUDGE},
    {STEP_JUDGE, SAYS_NO, STEP_NEXT_PLUGIN},
    {STEP_JUDGE, CROSSED, STEP_CHOOSE},
    {STEP_JUDGE, LESS_IS_ENOUGH, STEP_ACCEPT},
    {STEP_JUDGE, OTHER_RUNTIME, STEP_PROBE},
    {STEP_JUDGE, AGREED, STEP_SCHEDULE},
    {STEP_NEXT_PLUGIN, DONE, STEP_CHOOSE},
    {STEP_SCHEDULE, GRANTED, STEP_ENFORCE},
    {STEP_SCHEDULE, TRIAL_IS_OVER, STEP_CHOOSE},
    {STEP_SCHEDULE, DECIDED, STEP_ANSWER},
    {STEP_REFUSED, CLAIM_AGAIN, STEP_CHOOSE},
    {STEP_REFUSED, TRIAL_IS_OVER, STEP_CHOOSE},
    {STEP_REFUSED, CAME_FREE, STEP_ROUND},
    {STEP_REFUSED, MUST_WAIT, STEP_ROOM},
    {STEP_REFUSED, DECIDED, STEP_ANSWER},
    {STEP_ROOM, DONE, STEP_ROUND},
    {STEP_ROUND, DONE, STEP_CHOOSE},
    {STEP_ENFORCE, SHARE_IS_DUE, STEP_SHARE},
    {STEP_ENFORCE, MUST_WAIT, STEP_DEBT},
    {STEP_ENFORCE, THREAD_IS_KNOWN, STEP_RECORD},
    {STEP_ENFORCE, LET_GO, STEP_DETACH},
    {STEP_ENFORCE, DECIDED, STEP_ANSWER},
    {STEP_SHARE, DONE, STEP_ENFORCE},
    {STEP_SHARE, LET_GO, STEP_DETACH},
    {STEP_SHARE, DECIDED, STEP_ANSWER},
    {STEP_DEBT, DONE, STEP_ENFORCE},
    {STEP_RECORD, DONE, STEP_APPLY},
    {STEP_RECORD, NO_CPU_TIME, STEP_BIND},
    {STEP_RECORD, LET_GO, STEP_DETACH},
    {STEP_RECORD, DECIDED, STEP_ANSWER},
    {STEP_APPLY, DONE, STEP_BIND},
    {STEP_APPLY, AWAKE, STEP_APPLY},
    {STEP_APPLY, MUST_WAIT, STEP_DEBT},
    {STEP_APPLY, LET_GO, STEP_DETACH},
    {STEP_APPLY, HAS_ENDED, STEP_LOOK_AGAIN},
    {STEP_APPLY, DECIDED, STEP_ANSWER},
    {STEP_BIND, SHARE_IS_DUE, STEP_BIND},
    {STEP_BIND, DONE, STEP_GIVE},
    {STEP_BIND, LET_GO, STEP_DETACH},
    {STEP_BIND, DECIDED, STEP_ANSWER},
    {STEP_GIVE, LET_GO, STEP_DETACH},
    {STEP_GIVE, DECIDED, STEP_ANSWER},
    {STEP_DETACH, MUST_WAIT, STEP_LEAVE},
    {STEP_DETACH, DONE, STEP_ENFORCE},
    {STEP_DETACH, SPEC_IS_GONE, STEP_RELEASE},
    {STEP_DETACH, DECIDED, STEP_ANSWER},
    {STEP_LEAVE, DONE, STEP_DETACH},
};
enum { EDGES = sizeof edges / sizeof *edges };

static enum step drawn(enum step from, enum step_result result)
{
    for (int i = 0; i < EDGES; i++)
        if (edges[i].from == from && edges[i].result == result)
            return edges[i].to;
    return STEP_BEGUN; /* no edge has this result */
}

static void each_edge_is_there_and_no_other(void **state)
{
    (void)state;
    for (int from = 0; from < STEPS; from++)
        for (int result = 0; result < STEP_RESULTS; result++) {
            const enum step to = pipeline_follows((enum step)from, (enum step_result)result);
            check(to == drawn((enum step)from, (enum step_result)result), "%s, result %d: to %s",
                  step_name((enum step)from), result, step_name(to));
        }
}

static void nothing_follows_an_end_and_nothing_leads_back_to_the_beginning(void **state)
{
    (void)state;
    for (int i = 0; i < EDGES; i++) {
        assert_true(edges[i].from < STEP_ANSWER);
        assert_int_not_equal(edges[i].to, STEP_BEGUN);
    }
}

/* When the kernel is asked, the grant is in the books. No plugin is asked again. */
static void the_kernel_comes_after_the_plugins(void **state)
{
    (void)state;
    for (int i = 0; i < EDGES; i++)
        assert_false(edges[i].from >= STEP_ENFORCE && edges[i].to < STEP_ENFORCE);
}

/* Only RECORD leads to APPLY or BIND, and so to GIVE, unless the thread is already in the
 * journal. */
static void the_journal_comes_before_the_kernel(void **state)
{
    (void)state;
    for (int i = 0; i < EDGES; i++)
        if (edges[i].to == STEP_APPLY || edges[i].to == STEP_BIND || edges[i].to == STEP_GIVE)
            assert_true(edges[i].from == STEP_RECORD || edges[i].from == STEP_APPLY ||
                        edges[i].from == STEP_BIND ||
                        (edges[i].from == STEP_BEGUN && edges[i].result == THREAD_IS_KNOWN));
}

static void a_spec_becomes_a_grant_and_a_thread_real_time_and_both_end(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    assert_int_equal(verdict.kind, ATTACH);
    assert_int_equal(verdict.result, RESULT_OK);
    removes_tid(reservation);
    assert_int_equal(step_of(reservation), STEP_DETACH);
    assert_string_equal(helper_op, "restore");
    helper_answers(reservation, HELPER_OK, 0);
    assert_null(reservation->attachment);
    assert_int_equal(verdict.kind, DETACH);
    removes(reservation);
    assert_int_equal(verdict.kind, RELEASE);
    assert_null(owner.reservations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_edge_is_there_and_no_other),
        cmocka_unit_test(nothing_follows_an_end_and_nothing_leads_back_to_the_beginning),
        cmocka_unit_test(the_kernel_comes_after_the_plugins),
        cmocka_unit_test(the_journal_comes_before_the_kernel),
        cmocka_unit_test_setup_teardown(a_spec_becomes_a_grant_and_a_thread_real_time_and_both_end,
                                        fakes_begin, fakes_end),
    };
    return cmocka_run_group_tests(tests, fakes_set_up, fakes_tear_down);
}
