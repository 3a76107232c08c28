/* The start and the end of a broker: what is taken over from each record of the journal, which
 * thread gets its former attributes back, and what the kernel is asked, in which order. */
#include "recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../stubs.h"
#include "accounting.h"
#include "adjustments.h"
#include "attach.h"
#include "attachments.h"
#include "debts.h"
#include "directories.h"
#include "execve.h"
#include "expiry.h"
#include "fair-queue.h"
#include "fakes.h"
#include "journal.h"
#include "journal-rewrite.h"
#include "lay-down.h"
#include "ledger.h"
#include "plugin-lines.h"
#include "put-back.h"
#include "reconcile.h"
#include "reservations.h"
#include "resource-cpu.h"
#include "tasks.h"
#include "unit.h"
#include "wait-queue.h"

/* ---- the helper, the journal and the kernel ---- */

/* The orders in the order in which they were given, each as a word. */
static char orders[4096];

static uint64_t order(const char *word)
{
    static uint64_t id = 5000000;
    const size_t length = strlen(orders);
    snprintf(orders + length, sizeof orders - length, "%s%s", length == 0 ? "" : " ", word);
    return ++id;
}

/* The answers of the helper. limit_is_busy: the first so many answers about the limit are BUSY. */
static struct {
    bool drains;
    int silent; /* the number of the drain that gets no answer; the first is 1 */
    int drained;
    enum helper_answer domains, probe;
    int limit_is_busy;
    int64_t owed; /* the second result of attach_owed */
    int owed_asked;
    const char *asked;
} helper;

uint64_t attach_setting(enum which_setting which, bool needed, const char *by)
{
    (void)by;
    if (which == SETTING_HRTICK)
        return needed ? order("hrtick") : 1;
    return order(helper.asked = needed ? "lift" : "limit");
}

uint64_t attach_tick(void)
{
    return 1;
}

uint64_t attach_domains(const cpu_set_t *cpus, const char *by)
{
    (void)by;
    return order(helper.asked = CPU_COUNT(cpus) == 0 ? "no-domains" : "domains");
}

uint64_t attach_probe(const cpu_set_t *cpus)
{
    (void)cpus;
    return order(helper.asked = "probe");
}

static enum helper_answer present_answer(void)
{
    if (helper.asked == NULL)
        return HELPER_OK;
    if (strstr(helper.asked, "domains") != NULL)
        return helper.domains;
    return strcmp(helper.asked, "probe") == 0 ? helper.probe
           : helper.limit_is_busy-- > 0       ? HELPER_BUSY
                                              : HELPER_OK;
}

bool attach_drain(int seconds, struct helper_event *last)
{
    (void)seconds;
    const bool answers = helper.drains && ++helper.drained != helper.silent;
    if (answers) {
        last->answer = present_answer();
        snprintf(last->reason, sizeof last->reason, "EBUSY");
    }
    helper.asked = NULL;
    return answers;
}

int64_t attach_owed(void)
{
    (void)order("owed");
    return ++helper.owed_asked == 2 ? helper.owed : 0;
}

static struct {
    bool begins, takes, commits, behind, bloated, readable;
    int written;
    struct recorded_state state;
} journal;

bool journal_read(struct recorded_state *state, char reason[static REASON_BYTES])
{
    snprintf(reason, REASON_BYTES, "the journal cannot be read");
    *state = journal.state;
    return journal.readable;
}

void journal_free(struct recorded_state *state)
{
    (void)state;
}

bool journal_begin(char reason[static REASON_BYTES])
{
    snprintf(reason, REASON_BYTES, "journal.new: ENOSPC");
    journal.written = 0;
    (void)order("journal");
    return journal.begins;
}

bool journal_reservation(const struct reservation *reservation)
{
    (void)reservation;
    journal.written++;
    errno = ENOSPC;
    return journal.takes;
}

bool journal_commit(char reason[static REASON_BYTES])
{
    snprintf(reason, REASON_BYTES, "rename: EIO");
    return journal.commits;
}

void journal_abandon(void)
{
    (void)order("abandon");
}

void journal_clear(void)
{
    (void)order("clear");
}

bool journal_left(void)
{
    (void)order("left");
    return true;
}

bool journal_is_behind(void)
{
    return journal.behind;
}

bool journal_is_bloated(void)
{
    return journal.bloated;
}

/* The linker redirects calls of the real functions to these: --wrap in rules.mk. */
void fake_settle(void) __asm__("__wrap_allocators_settle");
void fake_end(void) __asm__("__wrap_allocators_end");
bool fake_put_back(allocators_path *path, char *reason) __asm__("__wrap_allocators_put_back");
void fake_know(pid_t tid, uint64_t started_by, int former) __asm__("__wrap_allocators_know_raised");
int fake_sleep(const struct timespec *pause, struct timespec *rest) __asm__("__wrap_nanosleep");

static bool allocators_work;

void fake_settle(void)
{
    (void)order("settle");
}

void fake_end(void)
{
    (void)order("end");
}

bool fake_put_back(allocators_path *path, char *reason)
{
    (void)path;
    (void)reason;
    (void)order("put-back");
    return allocators_work;
}

void fake_know(pid_t tid, uint64_t started_by, int former)
{
    char word[64];
    snprintf(word, sizeof word, "raised:%d:%d:%d", (int)tid, (int)started_by, former);
    (void)order(word);
}

int fake_sleep(const struct timespec *pause, struct timespec *rest)
{
    (void)rest;
    clock_now += pause->tv_sec * 1000 * MS + pause->tv_nsec;
    return 0;
}

void directory_adopt_for_now(struct user *user)
{
    user->state = DIRECTORY_ADOPTED;
    (void)order("adopt");
}

/* ---- records ---- */

static struct recorded_reservation recorded[4];
static char reason[REASON_BYTES];

static bool stays(struct reservation *reservation)
{
    (void)reservation;
    return false;
}

static int set_up(void **state)
{
    const int result = fakes_set_up(state);
    return expiry_prepare(stays) ? result : -1;
}

static int begin(void **state)
{
    const int result = fakes_begin(state);
    execve_drained();
    memset(recorded, 0, sizeof recorded);
    memset(&helper, 0, sizeof helper);
    helper.drains = journal.begins = journal.takes = journal.commits = journal.readable = true;
    journal.behind = journal.bloated = false;
    allocators_work = true;
    orders[0] = '\0';
    owner.state = DIRECTORY_ADOPTED;
    said_count = 0;
    helper_op = NULL;
    return result;
}

static int end(void **state)
{
    while (queue_next() != NULL)
        ;
    return fakes_end(state);
}

/* Puts a reservation into the journal of the earlier broker: 0.1 of CPU 0 by EDF. */
static struct recorded_reservation *has(int i, const char *name)
{
    struct recorded_reservation *one = &recorded[i];
    snprintf(one->user, sizeof one->user, "%s", owner.name);
    snprintf(one->name, sizeof one->name, "%s", name);
    snprintf(one->plugin, sizeof one->plugin, "EDF");
    one->task = 1000 + (uint64_t)i;
    one->granted = true;
    one->time = 77;
    one->judged.inode = 8;
    one->judged_tid.inode = 9;
    one->former_ioprio = -1;
    one->grant.spec = tenth(NULL);
    one->grant.plan = (struct attributes){.policy = POLICY_DEADLINE,
                                          .runtime = SECOND / 10,
                                          .period = SECOND,
                                          .deadline = SECOND};
    CPU_SET(0, &one->grant.plan.cpus);
    return one;
}

static struct recorded_reservation *has_attached(int i, const char *name)
{
    struct recorded_reservation *one = has(i, name);
    one->attached = one->by_file = true;
    one->tid = thread.identity.tid;
    one->process = thread.identity.process;
    one->started_by = thread.identity.started_by;
    one->former = (struct attributes){.nice = 11};
    return one;
}

static struct attributes as_granted(const struct recorded_reservation *one)
{
    struct attributes now = one->grant.plan;
    now.reset_on_fork = true;
    return now;
}

static bool starts(int count)
{
    struct recorded_state state = {.same_boot = true, .reservations = recorded, .count = count};
    return recover(&state, reason);
}

static void starts_after_a_reboot(int count)
{
    struct recorded_state state = {.reservations = recorded, .count = count};
    assert_true(recover(&state, reason));
}

static struct reservation *taken(const char *name)
{
    return reservation_find(&owner, name, false);
}

static void is_put_back(int nice)
{
    check(helper_op != NULL && strcmp(helper_op, "restore") == 0, "%s",
          helper_op == NULL ? "no order" : helper_op);
    assert_int_equal(helper_order.former.nice, nice);
}

static void is_asked_anew(const char *name)
{
    const struct reservation *reservation = taken(name);
    assert_non_null(reservation);
    assert_null(reservation->grant);
    assert_int_equal(reservation->state, RESERVATION_RECOVERED);
    assert_ptr_equal(reservation->queue, queue_of_old());
    assert_int_equal(reservation->judged.inode, 0);
}

/* A line of plugins.conf for one test. fakes.c reads the file only once. */
static struct plugin_line *line(int plugin)
{
    return (struct plugin_line *)plugin_line(plugin);
}

/* ---- taking over: the record ---- */

static void a_grant_of_this_boot_stays_in_force(void **state)
{
    (void)state;
    snprintf(has(0, "cam")->token, TOKEN_BYTES, "%s", "t1");
    recorded[0].lease = INT64_MAX / 2;
    assert_true(starts(1));
    const struct reservation *reservation = taken("cam");
    assert_non_null(reservation->grant);
    assert_int_equal(reservation->state, RESERVATION_OPEN);
    assert_int_equal(reservation->decided, 77);
    assert_int_equal(reservation->judged.inode, 8);
    assert_int_equal(reservation->judged_tid.inode, 9);
    assert_string_equal(reservation->token, "t1");
    assert_int_equal(expiry_end(reservation), INT64_MAX / 2);
    assert_ptr_equal(reservation->counted, &owner_account);
    assert_null(reservation->queue);
    assert_null(reservation->attachment);
    assert_null(helper_op);
    assert_string_equal(orders, "lift journal settle");
    assert_int_equal(journal.written, 1);
    assert_true(task_new() > 1000);
}

static void after_a_reboot_each_grant_is_asked_anew_and_no_thread_is_touched(void **state)
{
    (void)state;
    (void)has_attached(0, "cam");
    (void)has_attached(1, "mic");
    snprintf(recorded[1].user, sizeof recorded[1].user, "gone");
    starts_after_a_reboot(2);
    is_asked_anew("cam");
    assert_null(taken("cam")->attachment);
    assert_null(helper_op);
}

static void a_refusal_that_was_told_is_not_told_again(void **state)
{
    (void)state;
    has(0, "cam")->granted = false;
    assert_true(starts(1));
    assert_null(taken("cam")->grant);
    assert_int_equal(taken("cam")->judged.inode, 8);
    assert_null(taken("cam")->queue);
}

static void a_spec_that_waited_waits_on(void **state)
{
    (void)state;
    struct recorded_reservation *one = has(0, "cam");
    one->granted = false;
    one->waits = 55;
    assert_true(starts(1));
    assert_int_equal(waits_since(taken("cam")), 55);
    wait_queue_leave(taken("cam"));
}

static void a_spec_whose_end_had_begun_is_removed(void **state)
{
    (void)state;
    struct recorded_reservation *one = has(0, "cam");
    one->granted = false;
    one->ended = ENDED_LEASE;
    removed = NULL;
    assert_true(starts(1));
    assert_int_equal(taken("cam")->state, RESERVATION_ENDING);
    assert_int_equal(taken("cam")->ended, ENDED_LEASE);
    assert_string_equal(removed, "json");
}

static void of_two_records_with_a_name_the_first_counts(void **state)
{
    (void)state;
    (void)has(0, "cam");
    struct recorded_reservation *second = has_attached(1, "cam");
    second->grant.plan.runtime = second->grant.spec.runtime = SECOND / 5;
    assert_true(starts(2));
    assert_int_equal(taken("cam")->grant->plan.runtime, SECOND / 10);
    assert_null(taken("cam")->attachment);
    is_put_back(11);
}

/* ---- taking over: the owner ---- */

static void a_thread_whose_owner_has_no_directory_any_more_is_put_back(void **state)
{
    (void)state;
    snprintf(has_attached(0, "cam")->user, NAME_BYTES, "gone");
    assert_true(starts(1));
    is_put_back(11);
    assert_true(recorded[0].orphan);
    assert_null(taken("cam"));
}

static void a_thread_whose_owners_directory_is_not_adopted_is_put_back(void **state)
{
    (void)state;
    (void)has_attached(0, "cam");
    owner.state = DIRECTORY_FOUND;
    assert_true(starts(1));
    is_put_back(11);
    assert_null(taken("cam"));
}

static void a_directory_is_adopted_while_the_account_database_is_down(void **state)
{
    (void)state;
    (void)has(0, "cam");
    owner.state = DIRECTORY_FOUND;
    owner_account.state = ACCOUNT_FAILED;
    assert_true(starts(1));
    assert_non_null(taken("cam")->grant);
    assert_string_equal(orders, "adopt lift journal settle");
}

/* ---- orphans ---- */

static void is_no_orphan(void)
{
    snprintf(recorded[0].user, sizeof recorded[0].user, "gone");
    helper_op = NULL;
    assert_true(starts(1));
    assert_null(helper_op);
}

static void only_a_thread_that_is_still_as_granted_is_put_back(void **state)
{
    (void)state;
    has_attached(0, "cam")->attached = false;
    is_no_orphan();
    has_attached(0, "cam")->laid_down = true;
    is_no_orphan();
    recorded[0].laid_down = false;
    snprintf(has_attached(0, "cam")->plugin, PLUGIN_NAME_BYTES, NO_PLUGIN_NAME);
    is_no_orphan();
    has_attached(0, "cam")->started_by--; /* a later thread has the id now */
    is_no_orphan();
}

static void a_thread_that_another_reservation_has_is_not_put_back(void **state)
{
    (void)state;
    (void)has_attached(0, "mic");
    thread.now = as_granted(&recorded[0]);
    (void)has_attached(1, "cam");
    snprintf(recorded[1].user, sizeof recorded[1].user, "gone");
    const uint64_t id = helper_order.id;
    assert_true(starts(2));
    assert_non_null(taken("mic")->attachment);
    assert_string_equal(helper_op, "watch");
    assert_int_equal(helper_order.id, id + 1);
}

static void an_orphan_that_called_execve_is_put_back_under_its_new_id(void **state)
{
    (void)state;
    leader.is_there = true;
    thread.identity.process = leader.identity.tid;
    (void)has_attached(0, "cam");
    snprintf(recorded[0].user, sizeof recorded[0].user, "gone");
    thread.is_there = false;
    leader.now = as_granted(&recorded[0]);
    recorded[0].laid_down = true;
    is_no_orphan();
    recorded[0].laid_down = false;
    assert_true(starts(1));
    is_put_back(11);
    assert_int_equal(helper_order.tid, 4700);
}

/* ---- taking over: the thread ---- */

static void a_thread_that_runs_as_granted_is_watched_and_guarded(void **state)
{
    (void)state;
    thread.now = as_granted(has_attached(0, "cam"));
    recorded[0].started_by += 5; /* the journal's time is later than the start of the thread */
    assert_true(starts(1));
    const struct attachment *attachment = taken("cam")->attachment;
    assert_string_equal(helper_op, "watch");
    assert_int_equal(guarded.count, 1);
    assert_true(attachment->scheduled && attachment->served && attachment->by_file);
    assert_int_equal(attachment->former.nice, 11);
    assert_int_equal(attachment->started_by, 105);
    assert_ptr_equal(attachment_find(4711), attachment);
    assert_null(taken("cam")->recovery);
    assert_null(taken("cam")->queue);
}

static void a_thread_that_does_not_run_as_granted_is_attached_again(void **state)
{
    (void)state;
    (void)has_attached(0, "cam");
    thread.now.nice = 4;
    assert_true(starts(1));
    assert_null(helper_op);
    assert_non_null(taken("cam")->recovery);
    assert_non_null(taken("cam")->queue);
    assert_int_equal(taken("cam")->attachment->former.nice, 11);
}

/* The owner may have changed the thread after the grant was taken away. */
static void a_thread_that_was_laid_down_has_its_present_attributes_as_the_former(void **state)
{
    (void)state;
    has_attached(0, "cam")->laid_down = true;
    thread.now.nice = 4;
    assert_true(starts(1));
    assert_non_null(taken("cam")->recovery);
    assert_int_equal(taken("cam")->attachment->former.nice, 4);
    assert_false(taken("cam")->attachment->served);
    assert_int_equal(taken("cam")->attachment->state, ATTACHMENT_IN_FORCE);
}

static void with_domains_each_thread_is_attached_again(void **state)
{
    (void)state;
    thread.now = as_granted(has_attached(0, "cam"));
    line(EDF)->domains = true;
    assert_true(starts(1));
    line(EDF)->domains = false;
    assert_non_null(taken("cam")->recovery);
    assert_string_equal(taken("cam")->attachment->group, "/");
    assert_string_equal(orders, "lift journal domains settle");
}

static void a_thread_that_has_ended_is_looked_at_first(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        const char *const name = i == 0 ? "gone" : i == 1 ? "reused" : "laid";
        has_attached(0, name)->laid_down = i == 2;
        thread.is_there = i == 1;
        thread.identity.start = i == 1 ? 101 : 100;
        assert_true(starts(1));
        const struct reservation *reservation = taken(name);
        assert_int_equal(reservation->pending_changes & THREAD_CHANGED, THREAD_CHANGED);
        assert_ptr_equal(reservation->queue, queue_of_old());
        assert_int_equal(reservation->attachment->pidfd, -1);
        assert_int_equal(reservation->attachment->state,
                         i == 2 ? ATTACHMENT_LAID_DOWN : ATTACHMENT_IN_FORCE);
        assert_null(reservation->recovery);
    }
}

static void a_thread_that_cannot_be_watched_is_looked_at_first(void **state)
{
    (void)state;
    thread.now = as_granted(has_attached(0, "cam"));
    thread.can_be_watched = false;
    assert_true(starts(1));
    assert_int_equal(taken("cam")->pending_changes & THREAD_CHANGED, THREAD_CHANGED);
}

/* ---- taking over: the grant ---- */

static void does_not_fit(const char *why)
{
    said[0] = '\0';
    assert_true(starts(1));
    check(strstr(said, why) != NULL, "%s", said);
    is_asked_anew(recorded[0].name);
    is_put_back(11);
}

static void a_grant_that_does_not_fit_plugins_conf_is_asked_anew(void **state)
{
    (void)state;
    snprintf(has_attached(0, "a")->plugin, PLUGIN_NAME_BYTES, "GONE");
    does_not_fit("there is no plugin GONE");
    snprintf(has_attached(0, "b")->plugin, PLUGIN_NAME_BYTES, "NET");
    does_not_fit("there is no plugin NET");
    CPU_SET(3, &has_attached(0, "c")->grant.plan.cpus);
    does_not_fit("which its line of plugins.conf does not have");
    has_attached(0, "d")->grant.plan.runtime = SECOND * 95 / 100;
    recorded[0].grant.spec.runtime = SECOND * 95 / 100;
    does_not_fit("would exceed its threshold");
}

/* A claim of 1000 B/s on the network. The reservation has no CPU time unless the test sets it. */
static struct claim *has_claim(int i, const char *name)
{
    struct recorded_reservation *one = has(i, name);
    snprintf(one->plugin, sizeof one->plugin, NO_PLUGIN_NAME);
    one->grant.spec = (struct spec){0};
    one->grant.plan = (struct attributes){0};
    struct claim *claim = claims_push(&one->claims, RESOURCE_NETWORK);
    claim->values[0] = 1000;
    claim->values[1] = SECOND;
    (void)claim_settle(claim);
    snprintf(claim->plugin, sizeof claim->plugin, "NET");
    return claim;
}

static void claims_are_held_again(void **state)
{
    (void)state;
    (void)has_claim(0, "cam");
    assert_true(starts(1));
    const struct grant *grant = taken("cam")->grant;
    assert_non_null(grant);
    assert_int_equal(grant->plugin, NO_PLUGIN);
    assert_non_null(grant->holdings);
    assert_int_equal(grant->holdings->plugin, NET);
    assert_string_equal(helper_op, "allocator"); /* the allocator makes the share again */
    claims_free(&recorded[0].claims);
}

static void a_thread_without_cpu_time_is_watched_and_not_guarded(void **state)
{
    (void)state;
    (void)has_claim(0, "cam");
    recorded[0].attached = true;
    recorded[0].tid = recorded[0].process = thread.identity.tid;
    recorded[0].started_by = thread.identity.started_by;
    assert_true(starts(1));
    assert_false(taken("cam")->attachment->scheduled);
    assert_string_equal(helper_op, "watch");
    assert_int_equal(guarded.count, 0);
    assert_null(taken("cam")->recovery);
    claims_free(&recorded[0].claims);
}

static void a_claim_without_a_guarantee_is_held_by_nobody(void **state)
{
    (void)state;
    has_claim(0, "cam")->background = true;
    assert_true(starts(1));
    assert_null(taken("cam")->grant->holdings);
    assert_int_equal(taken("cam")->grant->background, UINT64_C(1) << NET);
    claims_free(&recorded[0].claims);
}

static void claim_does_not_fit(const char *why)
{
    said[0] = '\0';
    assert_true(starts(1));
    check(strstr(said, why) != NULL, "%s", said);
    is_asked_anew(recorded[0].name);
    claims_free(&recorded[0].claims);
}

static void a_claim_that_does_not_fit_plugins_conf_is_asked_anew(void **state)
{
    (void)state;
    struct claim *claim = has_claim(0, "a");
    snprintf(claim->plugin, sizeof claim->plugin, "GONE");
    claim_does_not_fit("there is no plugin GONE");
    claim = has_claim(0, "b");
    snprintf(claim->plugin, sizeof claim->plugin, "IO");
    claim_does_not_fit("there is no plugin IO"); /* this plugin has another resource */
    (void)has_claim(0, "c");
    snprintf(line(NET)->off, sizeof line(NET)->off, "no such interface");
    claim_does_not_fit("NET is off: no such interface");
    line(NET)->off[0] = '\0';
    (void)has_claim(0, "d");
    claims_free(&recorded[0].claims);
    claim_does_not_fit("that the journal names"); /* the reservation claims nothing */
}

/* ---- the start: the kernel ---- */

static void the_limit_is_lifted_as_soon_as_the_kernel_counts_no_thread_any_more(void **state)
{
    (void)state;
    helper.limit_is_busy = 3;
    const int64_t began = clock_now;
    assert_true(starts(0));
    assert_string_equal(orders, "lift lift lift lift journal settle");
    assert_int_equal(clock_now - began, 60 * MS);
}

static void a_broker_that_cannot_lift_the_limit_does_not_start(void **state)
{
    (void)state;
    helper.limit_is_busy = 251; /* one try in each 20 ms, for 5 s */
    int64_t began = clock_now;
    assert_false(starts(0));
    assert_int_equal(clock_now - began, 5000 * MS);
    assert_int_equal(said_count, 0); /* the reason is printed when the program ends */
    assert_string_equal(reason, "EBUSY");
    assert_null(strstr(orders, "journal"));
    const size_t length = strlen(orders);
    check(length > 17 && strcmp(orders + length - 17, " limit no-domains") == 0, "%s", orders);
    helper.limit_is_busy = 1000000;
    began = clock_now;
    assert_false(starts(0));
    /* 5 s to lift the limit, and 5 s to restore it */
    assert_int_equal(clock_now - began, 10000 * MS);
}

/* A broker does start, but with partition=unthrottled it would not (see above). */
static void a_limit_that_cannot_be_restored_is_an_error_and_no_more(void **state)
{
    static const int plugins[] = {EDF, LATE, NEXT};
    (void)state;
    for (int i = 0; i < 3; i++)
        line(plugins[i])->partition = PARTITION_CPUSET;
    helper.limit_is_busy = 1;
    assert_true(starts(0));
    assert_string_equal(orders, "limit journal settle");
    assert_int_equal(said_count, 1);
    for (int i = 0; i < 3; i++)
        line(plugins[i])->partition = PARTITION_UNTHROTTLED;
}

static void a_helper_that_does_not_answer_stops_the_start(void **state)
{
    (void)state;
    helper.drains = false;
    assert_false(starts(0));
    assert_string_equal(reason, "sched_rt_runtime_us: the attach helper does not answer");
}

static void a_journal_that_cannot_be_written_stops_the_start(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        (void)has(0, i == 0 ? "a" : i == 1 ? "b" : "c");
        orders[0] = '\0';
        journal.begins = i != 0;
        journal.takes = i != 1;
        journal.commits = i != 2;
        assert_false(starts(1));
        assert_string_equal(orders, "lift journal abandon limit no-domains");
        assert_non_null(strstr(reason, i == 2 ? "EIO" : i == 0 ? "ENOSPC" : "/journal: "));
    }
}

static void domains_that_cannot_be_made_stop_the_start(void **state)
{
    (void)state;
    line(EDF)->domains = true;
    helper.domains = HELPER_NO;
    assert_false(starts(0));
    line(EDF)->domains = false;
    assert_string_equal(reason, "scheduling domains: EBUSY");
    assert_string_equal(orders, "lift journal domains limit no-domains");
}

static void a_global_line_is_tried_out(void **state)
{
    (void)state;
    line(EDF)->partition = PARTITION_GLOBAL;
    assert_true(starts(0));
    assert_string_equal(orders, "lift journal probe settle");
    helper.probe = HELPER_NO;
    assert_false(starts(0));
    line(EDF)->partition = PARTITION_UNTHROTTLED;
    assert_string_equal(reason, "plugins.conf:1: EDF cannot have partition=global: EBUSY");
}

/* ---- the journal is written anew ---- */

static void a_journal_of_superseded_records_is_written_anew(void **state)
{
    (void)state;
    (void)has_grant("cam");
    struct reservation *beyond = writes("mic", tenth("EDF"));
    beyond->state = RESERVATION_OVER_LIMIT; /* it is forgotten after its verdict */
    orders[0] = '\0';
    journal_rewrite_if_due();
    assert_string_equal(orders, "");
    journal.bloated = true;
    journal_rewrite_if_due();
    assert_string_equal(orders, "journal");
    assert_int_equal(journal.written, 1);
}

static void a_journal_that_is_behind_is_tried_each_second_and_told_once(void **state)
{
    (void)state;
    journal.behind = true;
    journal.begins = false;
    said_count = 0;
    journal_rewrite_if_due();
    assert_int_equal(said_count, 1);
    journal_rewrite_if_due(); /* in the next turn of the loop */
    assert_string_equal(orders, "journal abandon");
    clock_to(clock_now + 1000 * MS - 1);
    assert_string_equal(orders, "journal abandon");
    clock_to(clock_now + 1);
    assert_string_equal(orders, "journal abandon journal abandon");
    assert_int_equal(said_count, 1);
    journal.begins = true;
    clock_to(clock_now + 1000 * MS);
    assert_int_equal(said_count, 2);
    assert_string_equal(said, "state/current/journal can be written again");
    clock_to(clock_now + 5000 * MS);
    assert_int_equal(said_count, 2);
}

static void a_bloated_journal_is_not_tried_again_by_the_clock(void **state)
{
    (void)state;
    journal.bloated = true;
    journal.commits = false;
    journal_rewrite_if_due();
    orders[0] = '\0';
    clock_to(clock_now + 5000 * MS);
    assert_string_equal(orders, "");
}

static void a_retry_that_is_not_needed_any_more_is_the_last(void **state)
{
    (void)state;
    journal.behind = true;
    journal.begins = false;
    journal_rewrite_if_due();
    journal.behind = false;
    clock_to(clock_now + 1000 * MS);
    orders[0] = '\0';
    clock_to(clock_now + 5000 * MS);
    assert_string_equal(orders, "");
}

/* ---- the end of the broker ---- */

static void each_thread_is_put_back_and_stays_in_the_journal(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    orders[0] = '\0';
    lay_down();
    is_put_back(0);
    assert_int_equal(reservation->attachment->state, ATTACHMENT_LAID_DOWN);
    assert_non_null(reservation->grant);
    assert_string_equal(orders, "owed owed limit end no-domains journal");
    assert_int_equal(journal.written, 1);
}

static void with_nothing_in_force_the_journal_is_cleared(void **state)
{
    (void)state;
    lay_down();
    assert_string_equal(orders, "owed owed limit end no-domains clear");
}

static void a_thread_that_was_never_scheduled_is_not_put_back(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    reservation->attachment->scheduled = false;
    helper_op = NULL;
    lay_down();
    assert_null(helper_op);
    assert_int_equal(reservation->attachment->state, ATTACHMENT_IN_FORCE);
}

/* The kernel counts a thread's bandwidth until the thread's 0-lag time. */
static void the_end_waits_until_the_kernel_has_forgotten_a_thread_that_ended(void **state)
{
    (void)state;
    struct reservation *reservation = has_thread("cam");
    clock_to(clock_now + 100 * MS);
    thread.is_over = true;
    const int64_t began = clock_now;
    lay_down();
    assert_true(reservation->zero_lag > began);
    assert_int_equal(clock_now, debt_last_in_kernel());
    check(clock_now - began <= 1001 * MS, "%lld ms", (long long)((clock_now - began) / MS));
}

static void a_thread_that_cannot_leave_its_domain_yet_is_told_again(void **state)
{
    (void)state;
    (void)has_thread("cam");
    const uint64_t id = helper_order.id;
    const int64_t began = clock_now;
    lay_down();
    assert_int_equal(helper_order.id, id + 1);
    assert_int_equal(clock_now, began);
    helper.owed = 7 * MS;
    helper.owed_asked = 0;
    lay_down();
    assert_int_equal(helper_order.id, id + 3);
    assert_int_equal(clock_now, began + 7 * MS);
}

static void a_thread_that_went_on_after_its_execve_is_put_back(void **state)
{
    (void)state;
    leader.is_there = true;
    thread.identity.process = leader.identity.tid;
    struct reservation *reservation = has_thread("cam");
    leader.now = cpu_in_mode(reservation->grant);
    leader.now.reset_on_fork = true;
    thread.is_there = false;
    lay_down();
    is_put_back(0);
    assert_int_equal(helper_order.tid, 4700);
}

static void what_fails_at_the_end_is_an_error_in_the_log(void **state)
{
    (void)state;
    (void)has_thread("cam");
    said_count = 0;
    helper.drains = false;
    journal.commits = false;
    lay_down();
    assert_int_equal(said_count, 4); /* about the threads, the limit, the domains and the journal */
    assert_non_null(strstr(orders, "abandon"));
}

/* The three drains wait for the orders under way, for the threads, and for the threads that called
 * execve. */
static void a_helper_that_was_silent_about_a_thread_is_an_error(void **state)
{
    (void)state;
    (void)has_thread("cam");
    for (int drain = 1; drain <= 3; drain++) {
        helper.silent = drain;
        helper.drained = said_count = 0;
        lay_down();
        assert_int_equal(said_count, drain != 1);
    }
}

static void at_sigint_all_stays_in_force(void **state)
{
    (void)state;
    (void)has_thread("cam");
    helper_op = NULL;
    orders[0] = '\0';
    leave_in_force();
    assert_null(helper_op);
    assert_string_equal(orders, "left");
}

/* ---- --put-back ---- */

static bool puts_back(bool left_in_force)
{
    orders[0] = '\0';
    journal.state = (struct recorded_state){.same_boot = true,
                                            .left_in_force = left_in_force,
                                            .reservations = recorded,
                                            .count = 1};
    return put_back_kernel(NULL, reason);
}

static void the_settings_of_a_killed_broker_are_restored(void **state)
{
    (void)state;
    has_attached(0, "cam")->former_ioprio = 5;
    assert_true(puts_back(false));
    assert_string_equal(orders, "raised:4711:100:5 limit no-domains put-back");
    assert_true(puts_back(true)); /* while grants are in force, the settings of the kernel stay */
    assert_string_equal(orders, "raised:4711:100:5");
    journal.readable = false;
    assert_false(puts_back(false));
    assert_string_equal(reason, "the journal cannot be read");
    assert_string_equal(orders, "");
}

static void each_setting_is_tried_whatever_fails(void **state)
{
    (void)state;
    (void)has(0, "cam");
    helper.limit_is_busy = 1000;
    assert_false(puts_back(false));
    assert_non_null(strstr(orders, "no-domains put-back"));
    helper.limit_is_busy = 0;
    allocators_work = false;
    assert_false(puts_back(false));
    assert_string_equal(orders, "limit no-domains put-back");
    allocators_work = true;
    helper.domains = HELPER_NO;
    assert_false(puts_back(false));
    assert_string_equal(reason, "scheduling domains: EBUSY");
}

static void the_limit_alone_can_be_restored(void **state)
{
    (void)state;
    assert_true(put_back_settings(reason));
    assert_string_equal(orders, "limit");
    helper.limit_is_busy = 1000;
    assert_false(put_back_settings(reason));
}

static void only_threads_of_this_boot_were_raised(void **state)
{
    (void)state;
    struct recorded_state all = {.reservations = recorded, .count = 3};
    has_attached(0, "a")->former_ioprio = 5;
    (void)has_attached(1, "b"); /* the limit of this thread was never raised */
    has_attached(2, "c")->former_ioprio = 0;
    recorded[2].attached = false;
    recover_know_raised(&all);
    assert_string_equal(orders, "");
    all.same_boot = true;
    recover_know_raised(&all);
    assert_string_equal(orders, "raised:4711:100:5");
}

#define with_fakes(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fakes(a_grant_of_this_boot_stays_in_force),
        with_fakes(after_a_reboot_each_grant_is_asked_anew_and_no_thread_is_touched),
        with_fakes(a_refusal_that_was_told_is_not_told_again),
        with_fakes(a_spec_that_waited_waits_on),
        with_fakes(a_spec_whose_end_had_begun_is_removed),
        with_fakes(of_two_records_with_a_name_the_first_counts),
        with_fakes(a_thread_whose_owner_has_no_directory_any_more_is_put_back),
        with_fakes(a_thread_whose_owners_directory_is_not_adopted_is_put_back),
        with_fakes(a_directory_is_adopted_while_the_account_database_is_down),
        with_fakes(only_a_thread_that_is_still_as_granted_is_put_back),
        with_fakes(a_thread_that_another_reservation_has_is_not_put_back),
        with_fakes(an_orphan_that_called_execve_is_put_back_under_its_new_id),
        with_fakes(a_thread_that_runs_as_granted_is_watched_and_guarded),
        with_fakes(a_thread_that_does_not_run_as_granted_is_attached_again),
        with_fakes(a_thread_that_was_laid_down_has_its_present_attributes_as_the_former),
        with_fakes(with_domains_each_thread_is_attached_again),
        with_fakes(a_thread_that_has_ended_is_looked_at_first),
        with_fakes(a_thread_that_cannot_be_watched_is_looked_at_first),
        with_fakes(a_grant_that_does_not_fit_plugins_conf_is_asked_anew),
        with_fakes(claims_are_held_again),
        with_fakes(a_thread_without_cpu_time_is_watched_and_not_guarded),
        with_fakes(a_claim_without_a_guarantee_is_held_by_nobody),
        with_fakes(a_claim_that_does_not_fit_plugins_conf_is_asked_anew),
        with_fakes(the_limit_is_lifted_as_soon_as_the_kernel_counts_no_thread_any_more),
        with_fakes(a_broker_that_cannot_lift_the_limit_does_not_start),
        with_fakes(a_limit_that_cannot_be_restored_is_an_error_and_no_more),
        with_fakes(a_helper_that_does_not_answer_stops_the_start),
        with_fakes(a_journal_that_cannot_be_written_stops_the_start),
        with_fakes(domains_that_cannot_be_made_stop_the_start),
        with_fakes(a_global_line_is_tried_out),
        with_fakes(a_journal_of_superseded_records_is_written_anew),
        with_fakes(a_journal_that_is_behind_is_tried_each_second_and_told_once),
        with_fakes(a_bloated_journal_is_not_tried_again_by_the_clock),
        with_fakes(a_retry_that_is_not_needed_any_more_is_the_last),
        with_fakes(each_thread_is_put_back_and_stays_in_the_journal),
        with_fakes(with_nothing_in_force_the_journal_is_cleared),
        with_fakes(a_thread_that_was_never_scheduled_is_not_put_back),
        with_fakes(the_end_waits_until_the_kernel_has_forgotten_a_thread_that_ended),
        with_fakes(a_thread_that_cannot_leave_its_domain_yet_is_told_again),
        with_fakes(a_thread_that_went_on_after_its_execve_is_put_back),
        with_fakes(what_fails_at_the_end_is_an_error_in_the_log),
        with_fakes(a_helper_that_was_silent_about_a_thread_is_an_error),
        with_fakes(at_sigint_all_stays_in_force),
        with_fakes(the_settings_of_a_killed_broker_are_restored),
        with_fakes(each_setting_is_tried_whatever_fails),
        with_fakes(the_limit_alone_can_be_restored),
        with_fakes(only_threads_of_this_boot_were_raised),
    };
    return cmocka_run_group_tests(tests, set_up, fakes_tear_down);
}
