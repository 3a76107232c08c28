/* A reader's look through its directory finds new, changed and removed files, and no others, in the
 * order in which they came. */
#include "scans.h"

#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "memory.h"
#include "snapshot.h"
#include "fair-queue.h"
#include "unit.h"
#include "verdict.h"
#include "reservations.h"

static struct account account = {.uid = 20021, .state = ACCOUNT_KNOWN},
                      other_account = {.uid = 20022, .state = ACCOUNT_KNOWN};
static struct user user = {.name = "20021", .uid = 20021, .account = &account},
                   other = {.name = "20022", .uid = 20022, .account = &other_account};

/* ---- in the place of verdict.c ---- */

static char answered[64], queue[256]; /* names, each with a blank behind it */

static void append(char *names, size_t size, const struct reservation *reservation)
{
    const size_t length = strlen(names);
    snprintf(names + length, size - length, "%s ", reservation->name);
}

void verdict_again(struct reservation *reservation, enum kind kind, const char *reason)
{
    (void)kind;
    (void)reason;
    append(answered, sizeof answered, reservation);
}

/* The names that are to be looked at, in the order of the queue. */
static const char *take_queue(void)
{
    queue[0] = '\0';
    for (struct reservation *reservation; (reservation = queue_next()) != NULL;)
        append(queue, sizeof queue, reservation);
    return queue;
}

static void queued(const char *names)
{
    assert_string_equal(take_queue(), names);
}

static int set_up(void **state)
{
    char reason[REASON_BYTES];
    (void)state;
    rules = acl_load(file_with("20021 - max_utilization 1\n20022 - max_utilization 1\n"), reason);
    assert_non_null(rules);
    queue_init(&account.queue, false);
    queue_init(&other_account.queue, false);
    return 0;
}

static void forget(struct user *of)
{
    for (struct reservation *reservation = of->reservations, *next; reservation != NULL;
         reservation = next) {
        next = reservation->hh.next;
        queue_leave(reservation);
        free(reservation->grant);
        reservation->grant = NULL;
        reservation->judged = reservation->judged_tid = (struct stamp){0};
        reservation_forget(reservation);
    }
}

static int after_each(void **state)
{
    (void)state;
    forget(&user);
    forget(&other);
    max_specs = 1000;
    answered[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    acl_free(rules);
    return 0;
}

static struct reservation *judged(struct user *of, const char *name, uint64_t inode,
                                  int64_t changed)
{
    struct reservation *reservation = reservation_find(of, name, true);
    reservation->judged = (struct stamp){.inode = inode, .changed = changed};
    return reservation;
}

static void found(struct user *of, const char *name, uint64_t inode, int64_t changed)
{
    scan_file(of, name, true, &(struct stamp){.inode = inode, .changed = changed});
}

/* ---- the tests ---- */

static void what_is_new_is_looked_at_in_the_order_of_its_times(void **state)
{
    (void)state;
    scan_begin(&user, 0);
    found(&user, "c", 3, 30);
    found(&user, "a", 1, 10);
    found(&user, "b", 2, 20);
    queued("");
    scan_end(&user);
    queued("a b c ");
    assert_true(user.scanned);
    assert_null(user.scan);
}

static void what_is_as_it_was_judged_is_left_alone(void **state)
{
    (void)state;
    judged(&user, "same", 1, 10);
    judged(&user, "written", 2, 20);
    judged(&user, "replaced", 3, 30);
    /* another file can have the same time, so the text has to decide */
    judged(&user, "fresh", 4, 40)->judged.fresh = true;
    judged(&user, "busy", 5, 50)->pending_changes = FILES_CHANGED;
    scan_begin(&user, 0);
    found(&user, "new", 9, 5);
    found(&user, "same", 1, 10);
    found(&user, "written", 2, 21);
    found(&user, "replaced", 6, 30);
    found(&user, "fresh", 4, 40);
    found(&user, "busy", 5, 50);
    scan_end(&user);
    /* Known specs come first, because a new one can have the capacity that they give up. */
    (void)take_queue();
    assert_non_null(strstr(queue, "written "));
    assert_non_null(strstr(queue, "replaced "));
    assert_non_null(strstr(queue, "fresh "));
    assert_non_null(strstr(queue, "busy "));
    assert_null(strstr(queue, "same "));
    assert_string_equal(queue + strlen(queue) - 4, "new ");
}

static void what_has_gone_is_looked_at(void **state)
{
    (void)state;
    judged(&user, "gone", 1, 10);
    judged(&user, "here", 2, 10);
    struct reservation *detached = judged(&user, "detached", 3, 10);
    detached->judged_tid = (struct stamp){.inode = 4, .changed = 10};
    scan_begin(&user, 0);
    found(&user, "here", 2, 10);
    found(&user, "detached", 3, 10);
    scan_end(&user);
    queued("gone detached ");
}

static void a_thread_file_is_looked_at_by_itself(void **state)
{
    (void)state;
    struct reservation *reservation = judged(&user, "cam", 1, 10);
    scan_begin(&user, 0);
    found(&user, "cam", 1, 10);
    scan_file(&user, "cam", false, &(struct stamp){.inode = 2, .changed = 10});
    scan_end(&user);
    queued("cam ");
    reservation->judged_tid = (struct stamp){.inode = 2, .changed = 10};
    scan_begin(&user, 0);
    found(&user, "cam", 1, 10);
    scan_file(&user, "cam", false, &(struct stamp){.inode = 2, .changed = 10});
    scan_end(&user);
    queued("");
}

/* A decision was in the journal, but a process ended before the owner got the verdict. */
static void a_verdict_that_was_lost_is_told_again(void **state)
{
    (void)state;
    struct reservation *told = judged(&user, "told", 1, 10), *lost = judged(&user, "lost", 2, 10),
                       *refused = judged(&user, "refused", 3, 10),
                       *late = judged(&user, "late", 4, 10);
    told->grant = allocate(sizeof *told->grant);
    lost->grant = allocate(sizeof *lost->grant);
    late->grant = allocate(sizeof *late->grant);
    told->decided = lost->decided = refused->decided = 50;
    late->decided = 150; /* decided after the scan began, so its verdict is on its way */
    scan_begin(&user, 100);
    found(&user, "told", 1, 10);
    found(&user, "lost", 2, 10);
    found(&user, "refused", 3, 10);
    found(&user, "late", 4, 10);
    scan_verdict(&user, "told", 50);
    scan_verdict(&user, "lost", 40); /* the verdict is an earlier one */
    scan_end(&user);
    assert_string_equal(answered, "lost ");
    /* the reason for the refusal is not known any more, so the spec is asked again */
    queued("refused ");
}

static void a_verdict_of_nothing_is_looked_at(void **state)
{
    (void)state;
    scan_begin(&user, 0);
    scan_verdict(&user, "old", 5);
    scan_end(&user);
    queued("old ");
}

static void beyond_the_limit_one_is_told_and_the_rest_is_not_kept(void **state)
{
    char name[16];
    (void)state;
    max_specs = 3;
    scan_begin(&user, 0);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "n%d", i);
        found(&user, name, (uint64_t)i + 1, i);
    }
    scan_end(&user);
    queued("n0 n1 n2 n3 ");
    assert_int_equal(HASH_CNT(hh, user.reservations), 4);
    assert_int_equal(reservation_find(&user, "n3", false)->state, RESERVATION_OVER_LIMIT);
}

static void a_scan_that_is_forgotten_leaves_nothing(void **state)
{
    (void)state;
    judged(&user, "cam", 1, 10);
    scan_begin(&user, 0);
    found(&user, "cam", 2, 20);
    scan_forget(&user);
    found(&user, "cam", 2, 20); /* found by a reader that has ended */
    scan_verdict(&user, "cam", 5);
    scan_end(&user);
    queued("");
    scan_begin(&user, 0);
    scan_end(&user);
    queued("cam "); /* the file is gone, although the former reader found it */
}

/* The oldest file is asked first, whoever its owner is. */
static void at_the_start_all_are_taken_in_the_order_of_their_times(void **state)
{
    (void)state;
    scans_gather();
    scan_begin(&user, 0);
    scan_begin(&other, 0);
    found(&user, "third", 1, 30);
    found(&user, "first", 2, 10);
    found(&other, "second", 1, 20);
    found(&other, "fourth", 2, 40);
    scan_end(&user);
    scan_end(&other);
    assert_false(queue_is_due());
    scans_gathered();
    assert_string_equal(queue_next()->name, "first");
    assert_string_equal(queue_next()->name, "second");
    assert_string_equal(queue_next()->name, "third");
    assert_string_equal(queue_next()->name, "fourth");
    assert_false(queue_is_due());
}

#define SCAN_TEST(function) cmocka_unit_test_teardown(function, after_each)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCAN_TEST(what_is_new_is_looked_at_in_the_order_of_its_times),
        SCAN_TEST(what_is_as_it_was_judged_is_left_alone),
        SCAN_TEST(what_has_gone_is_looked_at),
        SCAN_TEST(a_thread_file_is_looked_at_by_itself),
        SCAN_TEST(a_verdict_that_was_lost_is_told_again),
        SCAN_TEST(a_verdict_of_nothing_is_looked_at),
        SCAN_TEST(beyond_the_limit_one_is_told_and_the_rest_is_not_kept),
        SCAN_TEST(a_scan_that_is_forgotten_leaves_nothing),
        SCAN_TEST(at_the_start_all_are_taken_in_the_order_of_their_times),
    };
    return cmocka_run_group_tests_name("scans", tests, set_up, tear_down);
}
