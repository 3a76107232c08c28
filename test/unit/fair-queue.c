/* The order in which the broker looks at users' reservations. */
#include "fair-queue.h"

#include <stdlib.h>

#include "unit.h"
#include "reservations.h"

enum { QUEUES = 3, MANY = 600 };
static struct queue queues[QUEUES];
static struct reservation *reservations[QUEUES][MANY];

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < QUEUES; i++) {
        queue_init(&queues[i], i == 2); /* the last queue is root's */
        for (int j = 0; j < MANY; j++)
            reservations[i][j] = calloc(1, sizeof **reservations[i] + 1);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < QUEUES; i++)
        for (int j = 0; j < MANY; j++)
            free(reservations[i][j]);
    return 0;
}

static void next_is(struct reservation *reservation)
{
    assert_true(queue_is_due());
    assert_ptr_equal(queue_next(), reservation);
    assert_null(reservation->queue);
}

static void nobody_is_next(void)
{
    assert_false(queue_is_due());
    assert_null(queue_next());
}

static void users_have_their_turns_however_much_one_has_piled_up(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        queue_add(reservations[0][i], &queues[0]);
    queue_add(reservations[0][1], &queues[0]); /* the reservation is in the queue already */
    queue_add(reservations[1][0], &queues[1]);
    queue_add(reservations[1][1], &queues[1]);
    next_is(reservations[0][0]);
    next_is(reservations[1][0]);
    next_is(reservations[0][1]);
    /* the user's reservation comes last, but only the other two users are before it */
    queue_add(reservations[2][0], &queues[2]);
    next_is(reservations[1][1]);
    next_is(reservations[0][2]);
    next_is(reservations[2][0]);
    nobody_is_next();
}

static void who_leaves_is_not_looked_at(void **state)
{
    (void)state;
    queue_add(reservations[0][0], &queues[0]);
    queue_add(reservations[0][1], &queues[0]);
    queue_leave(reservations[0][0]);
    queue_leave(reservations[0][0]);
    next_is(reservations[0][1]);
    nobody_is_next();
    queue_add(reservations[0][0], &queues[0]);
    queue_leave(reservations[0][0]);
    nobody_is_next();
}

static void a_user_has_so_many_under_way_and_root_any_number(void **state)
{
    int begun = 0;
    (void)state;
    for (int i = 0; i < MANY; i++)
        queue_add(reservations[0][i], &queues[0]);
    for (; queue_is_due(); begun++) {
        next_is(reservations[0][begun]);
        queue_begin(&queues[0]);
    }
    assert_int_equal(begun, 256);
    queue_add(reservations[1][0], &queues[1]); /* this one belongs to user 1 alone */
    next_is(reservations[1][0]);
    queue_end(&queues[0]);
    next_is(reservations[0][begun]);
    queue_begin(&queues[0]);
    nobody_is_next();
    for (int i = 0; i < 256; i++)
        queue_end(&queues[0]);
    while (queue_is_due())
        assert_non_null(queue_next());
    for (int i = 0; i < MANY; i++)
        queue_add(reservations[2][i], &queues[2]);
    for (begun = 0; queue_is_due(); begun++) {
        next_is(reservations[2][begun]);
        queue_begin(&queues[2]);
    }
    assert_int_equal(begun, MANY);
    for (int i = 0; i < MANY; i++)
        queue_end(&queues[2]);
}

static void what_was_there_at_the_start_is_one_line(void **state)
{
    (void)state;
    queue_add(reservations[1][0], queue_of_old());
    queue_add(reservations[0][0], queue_of_old());
    queue_add(reservations[1][1], queue_of_old());
    queue_add(reservations[0][1], &queues[0]);
    next_is(reservations[1][0]);
    next_is(reservations[0][1]);
    next_is(reservations[0][0]);
    next_is(reservations[1][1]);
    nobody_is_next();
}

/* Requests come, leave and are looked at at random. While a user waits, each other user is served
 * at most once before this user is. */
static void who_waits_is_passed_once_by_each_of_the_others(void **state)
{
    int passed[QUEUES][QUEUES] = {0}, looked_at = 0;
    (void)state;
    random_from(10);
    for (int step = 0; step < 200000; step++) {
        const int i = (int)random_below(QUEUES);
        struct reservation *reservation = reservations[i][random_below(40)];
        if (random_below(2) == 0)
            queue_add(reservation, &queues[i]);
        else if (random_below(3) == 0)
            queue_leave(reservation);
        else if ((reservation = queue_next()) != NULL) {
            int whose = 0;
            for (int j = 0; j < QUEUES * 40; j++)
                whose = reservations[j / 40][j % 40] == reservation ? j / 40 : whose;
            for (int j = 0; j < QUEUES; j++) {
                passed[whose][j] = 0; /* it was this user's turn */
                check(j == whose || TAILQ_EMPTY(&queues[j].reservations) || ++passed[j][whose] <= 1,
                      "queue %d by %d", j, whose);
            }
            looked_at++;
        }
        for (int j = 0; j < QUEUES; j++)
            for (int by = 0; TAILQ_EMPTY(&queues[j].reservations) && by < QUEUES; by++)
                passed[j][by] = 0; /* a user without a request does not wait */
    }
    assert_true(looked_at > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_have_their_turns_however_much_one_has_piled_up),
        cmocka_unit_test(who_leaves_is_not_looked_at),
        cmocka_unit_test(a_user_has_so_many_under_way_and_root_any_number),
        cmocka_unit_test(what_was_there_at_the_start_is_one_line),
        cmocka_unit_test(who_waits_is_passed_once_by_each_of_the_others),
    };
    return cmocka_run_group_tests_name("fair queue", tests, set_up, tear_down);
}
