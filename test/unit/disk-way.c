/* rtf-disk checks a thread's owner: the test's own thread, for a reservation of its user and for
 * one of another user. */
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#include "disk/way.h"
#include "register.h"

static char said[SERVE_REASON];

/* ---- in the place of helper-loop.c and register.c ---- */

enum done refuse(char reason[static SERVE_REASON], const char *sentence)
{
    snprintf(reason, SERVE_REASON, "%s", sentence);
    return REFUSED;
}

int register_lock(const char *name)
{
    (void)name;
    return -1;
}

/* ---- owners ---- */

static enum done identified(uid_t owner, uint64_t started_by, bool bind)
{
    const struct member member = {.tid = getpid(), .started_by = started_by, .owner = owner};
    struct identity identity;
    return way_identify(&member, bind, &identity, said);
}

static void only_a_thread_of_its_user_is_bound(void **state)
{
    (void)state;
    assert_int_equal(identified(getuid(), UINT64_MAX, true), DONE);
    assert_int_equal(identified(getuid() + 1, UINT64_MAX, true), REFUSED);
    assert_string_equal(said, "the thread does not belong to the user");
}

static void a_thread_that_is_another_users_by_now_is_let_go(void **state)
{
    (void)state;
    assert_int_equal(identified(getuid() + 1, UINT64_MAX, false), DONE);
}

static void a_later_thread_with_the_same_id_is_another_one(void **state)
{
    (void)state;
    assert_int_equal(identified(getuid(), 0, true), GONE);
    assert_int_equal(identified(getuid(), 0, false), GONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_thread_of_its_user_is_bound),
        cmocka_unit_test(a_thread_that_is_another_users_by_now_is_let_go),
        cmocka_unit_test(a_later_thread_with_the_same_id_is_another_one),
    };
    return cmocka_run_group_tests_name("disk-way", tests, NULL, NULL);
}
