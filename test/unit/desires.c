/* Spare capacity: each spec gets at least its need and at most its desire, nothing is promised
 * twice, and spare capacity is shared out first by importance, then by weight. */
#include "desired-amounts.h"

#include <string.h>

#include "account.h"
#include "trial-cost.h"
#include "unit.h"

enum { MOST = 12 };

static const uint64_t pools[3];

static struct desire desire(unsigned pool, uint64_t room, uint64_t least, uint64_t most,
                            uint64_t importance, uint64_t weight)
{
    return (struct desire){.pool = &pools[pool],
                           .room = room,
                           .least = least,
                           .most = most,
                           .now = least,
                           .importance = importance,
                           .weight = weight};
}

static void weights(void **state)
{
    struct desire two[] = {desire(0, 10000, 5000, 20000, 0, 1),
                           desire(0, 10000, 5000, 20000, 0, 3)};
    (void)state;
    desired_amounts_share_out(two, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(two[i].aim, two[i].weight == 1 ? 7500 : 12500);
}

static void what_one_does_not_want_goes_to_the_others(void **state)
{
    struct desire three[] = {desire(0, 90, 10, 20, 0, 1), desire(0, 90, 0, 1000, 0, 1),
                             desire(0, 90, 0, 1000, 0, 1)};
    (void)state;
    desired_amounts_share_out(three, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(three[i].aim, three[i].most == 20 ? 20 : 40);
}

static void importance_comes_first(void **state)
{
    struct desire two[] = {desire(0, 50, 1, 1000, 1, 100), desire(0, 50, 1, 31, 2, 1)};
    (void)state;
    desired_amounts_share_out(two, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(two[i].aim, two[i].importance == 2 ? 31 : 21);
}

static void what_some_have_already_is_shared_out_anew(void **state)
{
    struct desire two[] = {desire(0, 0, 10, 100, 0, 1), desire(0, 0, 10, 100, 0, 1)};
    (void)state;
    two[0].now = 90;
    desired_amounts_share_out(two, 2);
    assert_int_equal(two[0].aim, 50);
    assert_int_equal(two[1].aim, 50);
}

static void pools_are_apart(void **state)
{
    struct desire two[] = {desire(1, 7, 0, 100, 0, 1), desire(2, 9, 0, 100, 0, 1)};
    (void)state;
    desired_amounts_share_out(two, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(two[i].aim, two[i].pool == &pools[1] ? 7 : 9);
}

/* Trials are paid for: there can be a few at once, and later a tenth of the time is for trials. */
static void trials_are_paid_for(void **state)
{
    const int64_t second = 1000000000;
    struct account account = {0};
    int burst = 0, later = 0;
    (void)state;
    while (trial_is_affordable(&account, 9, second))
        burst++;
    while (trial_is_affordable(&account, 9, 2 * second))
        later++;
    assert_int_equal(burst, 101);
    assert_int_equal(later, 100);
    assert_true(trial_is_affordable(&account, 5000, 100 * second));
    assert_false(trial_is_affordable(&account, 0, 101 * second));
}

static uint64_t surplus(const struct desire *one)
{
    return one->aim - one->least;
}

/* A desire that is not met has, by weight, at most a rounding less than an equally important one.
 * While a desire is not met, no less important one gets more than its need. */
static void check_order(const struct desire *one, const struct desire *other)
{
    if (one->pool != other->pool || one->aim == one->most || surplus(other) == 0)
        return;
    check(one->importance <= other->importance,
          "one of less importance has something that another one desires");
    if (one->importance == other->importance)
        check(surplus(one) * other->weight + MOST * (one->weight + other->weight) >=
                  surplus(other) * one->weight,
              "weights %llu and %llu", (unsigned long long)one->weight,
              (unsigned long long)other->weight);
}

static void check_pool(const struct desire *desires, size_t count, const uint64_t *pool)
{
    uint64_t given = 0, was = 0, room = 0;
    bool all_content = true;
    for (size_t i = 0; i < count; i++)
        if (desires[i].pool == pool) {
            check(desires[i].aim >= desires[i].least && desires[i].aim <= desires[i].most,
                  "not within what is needed and desired");
            given += desires[i].aim;
            was += desires[i].now;
            room = desires[i].room;
            all_content &= desires[i].aim == desires[i].most;
        }
    check(given <= was + room, "more is given than there is");
    check(all_content || was + room - given < MOST, "%llu are left",
          (unsigned long long)(was + room - given));
}

static void at_random(void **state)
{
    (void)state;
    random_from(20);
    for (int turn = 0; turn < 20000; turn++) {
        struct desire desires[MOST];
        const size_t count = 1 + random_below(MOST);
        const uint64_t rooms[3] = {random_below(2000), random_below(UINT64_C(1) << 40), 0},
                       scale = random_below(2) == 0 ? 500 : UINT64_C(1) << 40;
        for (size_t i = 0; i < count; i++) {
            const unsigned pool = (unsigned)random_below(3);
            const uint64_t least = random_below(scale), most = least + random_below(scale);
            desires[i] =
                desire(pool, rooms[pool], least, most, random_below(3), random_within(1, 100));
            desires[i].now = random_within(least, most);
        }
        desired_amounts_share_out(desires, count);
        for (size_t i = 0; i < 3; i++)
            check_pool(desires, count, &pools[i]);
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < count; j++)
                check_order(&desires[i], &desires[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_are_paid_for),
        cmocka_unit_test(weights),
        cmocka_unit_test(what_one_does_not_want_goes_to_the_others),
        cmocka_unit_test(importance_comes_first),
        cmocka_unit_test(what_some_have_already_is_shared_out_anew),
        cmocka_unit_test(pools_are_apart),
        cmocka_unit_test(at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
