/* 0-lag times: used runtime counts in all books until it is paid back, and no longer. No waiting
 * request is forgotten. */
#include "debts.h"

#include <stdlib.h>
#include <string.h>

#include "accounting.h"
#include "acl.h"
#include "grants.h"
#include "resource-cpu.h"
#include "ledger.h"
#include "memory.h"
#include "plugin-lines.h"
#include "zero-lag-wait.h"
#include "told.h"
#include "fair-queue.h"
#include "unit.h"
#include "units.h"
#include "reservations.h"

enum { EDF, LOW, GUARDED, DENSE };
#define S UINT64_C(1000000) /* us */
enum { CPUS = 2 };
static struct account account = {.uid = 20021, .state = ACCOUNT_KNOWN},
                      other_account = {.uid = 20022, .state = ACCOUNT_KNOWN};
static struct user user = {.name = "20021", .uid = 20021, .account = &account},
                   other_user = {.name = "20022", .uid = 20022, .account = &other_account};
static char reason[REASON_BYTES];

static struct request *has_waited; /* the last request that has waited */

static void note(struct request *request)
{
    has_waited = request;
}

static int set_up(void **state)
{
    (void)state;
    plugins_are(
        "EDF sh - 0-1 partition=unthrottled threshold=0.9\nLOW sh 1-10 0-1\nGUARDED sh 11-20 0-1 enforce=runtime\nDENSE sh - 2-3 partition=unthrottled\n");
    plugin_says("EDF", "exact", true, true);
    plugin_says("LOW", "none", false, false);
    plugin_says("GUARDED", "exact", true, true);
    plugin_says("DENSE", "sufficient", true, true);
    rules =
        acl_load(file_with("20021 - max_utilization 100\n20022 - max_utilization 100\n"), reason);
    assert_non_null(rules);
    zero_lag_wait_prepare(note);
    queue_init(&account.queue, false);
    queue_init(&other_account.queue, false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    acl_free(rules);
    return 0;
}

/* ---- the broker's operations on a reservation ---- */

static struct grant *new_grant(int plugin, int cpu, uint64_t runtime, uint64_t period,
                               uint64_t deadline)
{
    struct grant *grant = allocate(sizeof *grant);
    grant->plugin = plugin;
    grant->spec = (struct spec){.runtime = runtime, .period = period, .deadline = deadline};
    grant->plan =
        (struct attributes){.policy = plugin_line(plugin)->deadline ? POLICY_DEADLINE : POLICY_FIFO,
                            .runtime = runtime,
                            .period = period,
                            .deadline = deadline != 0 ? deadline : period};
    CPU_SET((size_t)cpu, &grant->plan.cpus);
    grant->utilization = cpu_utilization(grant);
    return grant;
}

static struct reservation *granted(struct user *of, const char *name, struct grant *grant)
{
    struct reservation *reservation = reservation_find(of, name, true);
    grant_book(reservation, grant);
    return reservation;
}

static void attached(struct reservation *reservation)
{
    reservation->attachment = allocate(sizeof *reservation->attachment);
    reservation->attachment->served = true;
    reservation->attachment->since = clock_now;
}

static void detached(struct reservation *reservation)
{
    debt_begin(reservation, reservation->grant);
    free(reservation->attachment);
    reservation->attachment = NULL;
}

static void released(struct reservation *reservation)
{
    if (reservation->attachment != NULL)
        detached(reservation);
    grant_unbook(reservation, true);
    reservation_forget(reservation);
}

/* Commits a change as ask-plugins.c does. Returns the number of the debt. The debt is open until
 * the kernel has taken the change. */
static uint64_t changed(struct reservation *reservation, struct grant *grant)
{
    uint64_t debt;
    /* The new grant is charged by now. It has no weight of its own here yet. */
    acl_charge(rules, reservation->user->account, grant->plugin, 0, &grant->charge);
    grant_free(grant_rebook(reservation, grant, &debt));
    if (reservation->attachment != NULL)
        reservation->attachment->since = clock_now;
    return debt;
}

/* ---- the books ---- */

static uint64_t sum, sums;
static int sum_plugin, sum_cpu;

static void add_sum(const struct pool *pool)
{
    sums++;
    if (pool->plugin == sum_plugin && pool->cpu == sum_cpu)
        sum = *pool->used;
}

static uint64_t on_cpu(int cpu)
{
    sum = sums = 0;
    sum_plugin = -1;
    sum_cpu = cpu;
    ledger_each(add_sum);
    return sum;
}

static uint64_t charged;

static void add_charge(const char *subject, uint64_t used)
{
    (void)subject;
    charged += used;
}

static uint64_t of_all_users(void)
{
    charged = 0;
    acl_each(rules, add_charge);
    return charged;
}

/* The time of the next event. 0: there is none. */
static int64_t next_time(void)
{
    return timers_first() == NULL ? 0 : timers_first()->at;
}

static int rests_seen;
static struct grant last_rest;

static void count_rest(uint64_t task, const struct grant *grant)
{
    (void)task;
    rests_seen++;
    last_rest = *grant;
}

static int rests_now(void)
{
    rests_seen = 0;
    debt_each(count_rest);
    return rests_seen;
}

/* Lets all debts be paid back. Fails unless no book has an entry then. */
static void all_is_paid_back(void)
{
    clock_to(clock_now + 5000 * MS);
    (void)on_cpu(0);
    assert_int_equal(sums, 0);
    assert_int_equal(of_all_users(), 0);
    assert_int_equal(rests_now(), 0);
    assert_null(timers_first());
}

/* ---- how long a debt lasts ---- */

/* A thread that has used u of its Q in each T gets nothing more for u T/Q. u is at most Q and a
 * tick. */
static void use_is_paid_back_at_the_rate_of_the_reservation(void **state)
{
    static const struct {
        uint64_t runtime, period, attached_for, tick, rests; /* us */
    } cases[] = {
        {S, 4 * S, 200000, 4000, 800001}, /* it has used a fifth of a runtime */
        /* It has used all of it and a tick. This would be 4.32 s, but it is not longer than the
         * kernel's longest period. */
        {50000, 4 * S, S, 4000, 4200000},
        {600000, S, 600000, 4000, 1000001},
        {600000, S, S, 4000, 1006667},       /* it has used a runtime and a tick */
        {100, 100000, 50000, 1000, 1100001}, /* a tick beyond the runtime is paid back, too */
        {100, 100000, 50000, 10000, 4200000},
        {10, 8 * S, S, 4000, 8 * S}, /* if its own period is longer, this is the bound */
        {1000, 10000, 0, 4000, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reservation *reservation =
            granted(&user, "cam", new_grant(EDF, 0, cases[i].runtime, cases[i].period, 0));
        tick_is = cases[i].tick;
        attached(reservation);
        clock_now += (int64_t)cases[i].attached_for * 1000;
        debt_begin(reservation, reservation->grant);
        check(reservation->zero_lag - clock_now == (int64_t)cases[i].rests * 1000, "case %zu: %lld",
              i, (long long)(reservation->zero_lag - clock_now));
        const int64_t before = reservation->zero_lag;
        reservation->attachment->since = clock_now;
        /* nothing more was used, which is no reason for an earlier time */
        debt_begin(reservation, reservation->grant);
        assert_int_equal(reservation->zero_lag, before);
        clock_now += 10000 * MS;
        /* what it has used since then does not matter here */
        reservation->attachment->served = false;
        released(reservation);
        all_is_paid_back();
    }
    tick_is = 4000;
}

static void what_was_never_used_is_free_at_once(void **state)
{
    (void)state;
    struct reservation *reservation = granted(&user, "cam", new_grant(EDF, 0, 800000, S, 0));
    assert_int_equal(on_cpu(0), 800000000);
    released(reservation);
    assert_int_equal(on_cpu(0), 0);
    reservation = granted(&user, "cam", new_grant(EDF, 0, 800000, S, 0));
    attached(reservation);
    reservation->attachment->served = false; /* the thread never became real-time */
    clock_now += 1000 * MS;
    released(reservation);
    assert_int_equal(on_cpu(0), 0);
    /* under fixed priorities the kernel ends no runtime, so nothing has to be paid back */
    reservation = granted(&user, "cam", new_grant(LOW, 0, 800000, S, 0));
    attached(reservation);
    clock_now += 1000 * MS;
    released(reservation);
    assert_int_equal(rests_now(), 0);
    /* a spec without a runtime has none that could be used up */
    reservation = granted(&user, "cam", new_grant(LOW, 0, 0, 0, 0));
    attached(reservation);
    debt_settle(changed(reservation, new_grant(LOW, 0, 10, 0, 0)));
    debt_settle(changed(reservation, new_grant(LOW, 0, 5, 0, 0)));
    debt_settle(changed(reservation, new_grant(LOW, 0, 0, 0, 0)));
    released(reservation);
    assert_int_equal(rests_now(), 0);
    all_is_paid_back();
}

static void what_was_released_counts_until_it_is_paid_back(void **state)
{
    (void)state;
    struct reservation *reservation = granted(&user, "cam", new_grant(EDF, 0, 600000, S, 0));
    attached(reservation);
    clock_now += 600 * MS;
    const int64_t until = clock_now + 1000 * MS;
    told_count = 0;
    released(reservation);
    assert_int_equal(on_cpu(0), 600000000);
    assert_int_equal(of_all_users(), 600000000);
    assert_int_equal(rests_now(), 1);
    /* Its plugin counts the debt as another task, and neighbours on the CPU count it as another
     * load. */
    assert_true(told[0].what == TOLD_RELEASE && told[0].plugin == EDF);
    uint64_t debt = 0;
    for (int i = 0; i < told_count; i++)
        if (told[i].what == TOLD_SCHEDULE && told[i].plugin == EDF &&
            told[i].task != told[0].task && told[i].plan.runtime == 600000)
            debt = told[i].task;
    assert_true(debt != 0);
    assert_true(next_time() >= until && next_time() <= until + (int64_t)tick_is * 2000);
    clock_to(until - 1);
    assert_int_equal(on_cpu(0), 600000000);
    told_count = 0;
    clock_to(next_time());
    assert_true(told_count > 0 && told[0].what == TOLD_RELEASE && told[0].plugin == EDF &&
                told[0].task == debt);
    assert_int_equal(on_cpu(0), 0);
    all_is_paid_back();
}

static void a_change_to_less_gives_up_the_difference(void **state)
{
    (void)state;
    struct reservation *reservation = granted(&user, "cam", new_grant(EDF, 0, 800000, S, 0));
    attached(reservation);
    clock_now += 800 * MS;
    debt_settle(changed(reservation, new_grant(EDF, 0, 100000, S, 0)));
    assert_int_equal(on_cpu(0), 800000000);
    assert_int_equal(last_rest.plan.runtime * (unsigned)rests_now(), last_rest.plan.runtime);
    assert_int_equal(last_rest.plan.runtime, 700000);
    /* more than before: this gives up nothing */
    debt_settle(changed(reservation, new_grant(EDF, 0, 200000, S, 0)));
    assert_int_equal(rests_now(), 1);
    assert_int_equal(on_cpu(0), 900000000);
    /* on another CPU: this gives up all of it */
    debt_settle(changed(reservation, new_grant(EDF, 1, 200000, S, 0)));
    assert_int_equal(on_cpu(0), 900000000);
    assert_int_equal(on_cpu(1), 200000000);
    debt_settle(changed(reservation, new_grant(LOW, 1, 0, 0, 0)));
    assert_int_equal(on_cpu(1), 200000000);
    clock_to(clock_now + 4300 * MS);
    assert_int_equal(on_cpu(0) + on_cpu(1), 0);
    released(reservation);
    all_is_paid_back();
}

/* The new grant on the other plugin is charged besides the debt here. */
static void a_change_to_another_plugin_gives_up_all_of_it(void **state)
{
    (void)state;
    struct reservation *reservation = granted(&user, "cam", new_grant(EDF, 0, 600000, S, 0));
    attached(reservation);
    clock_now += 600 * MS;
    debt_settle(changed(reservation, new_grant(LOW, 0, 200000, S, 0)));
    assert_int_equal(on_cpu(0), 600000000); /* LOW promises no capacity */
    assert_int_equal(of_all_users(), 800000000);
    clock_to(next_time());
    assert_int_equal(of_all_users(), 200000000);
    clock_now += 5000 * MS;
    released(reservation);
    all_is_paid_back();
}

static void what_was_not_given_up_after_all_is_taken_back(void **state)
{
    (void)state;
    struct reservation *reservation = granted(&user, "cam", new_grant(EDF, 0, 800000, S, 0));
    attached(reservation);
    clock_now += 800 * MS;
    uint64_t rest = changed(reservation, new_grant(EDF, 0, 100000, S, 0));
    debt_drop(rest); /* the kernel has refused the change */
    assert_int_equal(on_cpu(0), 100000000);
    assert_int_equal(rests_now(), 0);
    rest = changed(reservation, new_grant(EDF, 0, 50000, S, 0));
    debt_settle(rest);
    debt_drop(rest); /* too late, because the debt is settled */
    assert_int_equal(rests_now(), 1);
    assert_int_equal(on_cpu(0), 100000000);
    clock_now += 4300 * MS;
    released(reservation);
    all_is_paid_back();
}

static void a_runtime_that_is_lowered_again_and_again_leaves_one_record(void **state)
{
    (void)state;
    struct reservation *reservation = granted(&user, "cam", new_grant(EDF, 0, S, 4 * S, 0));
    attached(reservation);
    clock_now += 1000 * MS;
    for (uint64_t runtime = 999999; runtime >= 999850; runtime--) {
        debt_settle(changed(reservation, new_grant(EDF, 0, runtime, 4 * S, 0)));
        assert_int_equal(rests_now(), 1);
        assert_int_equal(on_cpu(0), 250000000);
    }
    assert_int_equal(last_rest.plan.runtime, 150);
    assert_int_equal(of_all_users(), 250000000);
    clock_now += 4300 * MS;
    released(reservation);
    all_is_paid_back();
}

/* Two reservations have two records, and so have two CPUs of one reservation. */
static void records_are_of_one_reservation_on_one_plugins_cpus(void **state)
{
    (void)state;
    struct reservation *one = granted(&user, "one", new_grant(EDF, 0, 300000, S, 0)),
                       *two = granted(&user, "two", new_grant(EDF, 0, 300000, S, 0));
    attached(one);
    attached(two);
    clock_now += 300 * MS;
    debt_settle(changed(one, new_grant(EDF, 0, 200000, S, 0)));
    debt_settle(changed(two, new_grant(EDF, 0, 200000, S, 0)));
    assert_int_equal(rests_now(), 2);
    debt_settle(changed(one, new_grant(EDF, 1, 100000, S, 0)));
    assert_int_equal(rests_now(), 2); /* on CPU 0 the reservation already has a record */
    assert_int_equal(on_cpu(0), 600000000);
    clock_now += 300 * MS;
    debt_settle(changed(one, new_grant(EDF, 1, 50000, S, 0)));
    assert_int_equal(rests_now(), 3);
    released(one);
    released(two);
    /* the rest of each reservation is added to its earlier debt on the CPU */
    assert_int_equal(rests_now(), 3);
    assert_int_equal(on_cpu(0), 600000000);
    assert_int_equal(on_cpu(1), 100000000);
    all_is_paid_back();
}

/* A spec that rtf-guard enforces may state a deadline and no period. The deadline is its window
 * then. */
static void a_guarded_reservation_without_a_period_rests_in_its_deadline(void **state)
{
    (void)state;
    struct reservation *reservation = granted(&user, "cam", new_grant(GUARDED, 0, 200000, 0, S));
    assert_int_equal(on_cpu(0), 200000000);
    attached(reservation);
    clock_now += 100 * MS;
    debt_begin(reservation, reservation->grant);
    assert_int_equal(reservation->zero_lag - clock_now, 500 * MS + 1000);
    released(reservation);
    assert_int_equal(on_cpu(0), 200000000);
    assert_int_equal(of_all_users(), 200000000);
    clock_to(next_time());
    assert_int_equal(on_cpu(0), 0);
    all_is_paid_back();
}

static void the_kernels_last_is_remembered(void **state)
{
    (void)state;
    struct reservation *reservation = granted(&user, "cam", new_grant(EDF, 0, 100000, S, 0));
    attached(reservation);
    clock_now += 100 * MS;
    debt_begin(reservation, reservation->grant);
    debt_of_thread(reservation);
    assert_int_equal(debt_last_in_kernel(), reservation->zero_lag);
    debt_in_kernel(reservation->zero_lag - 1);
    assert_int_equal(debt_last_in_kernel(), reservation->zero_lag);
    clock_now += 5000 * MS;
    released(reservation);
    all_is_paid_back();
}

/* ---- waiting requests ---- */

static void requests_wait_and_come_back_in_the_order_of_their_times(void **state)
{
    (void)state;
    has_waited = NULL;
    struct reservation *one = granted(&user, "one", new_grant(EDF, 0, 400000, 2 * S, 0)),
                       *two = granted(&user, "two", new_grant(EDF, 0, 400000, S, 0));
    struct request *first = request_begin(one, ATTACH), *second = request_begin(two, ATTACH);
    assert_false(zero_lag_wait_begin(first));
    attached(one);
    attached(two);
    clock_now += 400 * MS;
    detached(one);
    detached(two);
    assert_true(zero_lag_wait_begin(first));
    assert_true(zero_lag_wait_begin(second));
    assert_int_equal(next_time(), two->zero_lag);
    clock_to(two->zero_lag - 1);
    assert_null(has_waited);
    clock_to(two->zero_lag);
    assert_ptr_equal(has_waited, second);
    clock_to(one->zero_lag - 1);
    assert_ptr_equal(has_waited, second);
    clock_to(one->zero_lag);
    assert_ptr_equal(has_waited, first);
    assert_false(zero_lag_wait_begin(first));
    request_drop(first);
    request_drop(second);
    released(one);
    released(two);
    all_is_paid_back();
}

static void who_changes_his_mind_while_he_waits_is_not_kept(void **state)
{
    (void)state;
    has_waited = NULL;
    struct reservation *reservation = granted(&user, "cam", new_grant(EDF, 0, 400000, 2 * S, 0));
    attached(reservation);
    clock_now += 400 * MS;
    detached(reservation);
    struct request *request = request_begin(reservation, ATTACH);
    assert_false(zero_lag_wait_cancel(request));
    assert_true(zero_lag_wait_begin(request));
    request->step = STEP_DEBT;
    assert_true(zero_lag_wait_cancel(request));
    assert_null(timers_first());
    /* the request is already decided: its grant is in the books */
    request = request_begin(reservation, CHANGE);
    assert_true(zero_lag_wait_begin(request));
    request->step = STEP_DEBT;
    assert_false(zero_lag_wait_cancel(request));
    clock_to(reservation->zero_lag);
    assert_ptr_equal(has_waited, request);
    request_drop(request);
    clock_now += 5000 * MS;
    released(reservation);
    all_is_paid_back();
}

static void owe_a_share(void)
{
    struct reservation *reservation = granted(&user, "cam", new_grant(EDF, 0, 300000, S, 0));
    attached(reservation);
    clock_now += 300 * MS;
    released(reservation); /* 0.3 of a CPU become free */
}

static void a_refusal_waits_for_the_first_debts_that_are_enough(void **state)
{
    (void)state;
    struct reservation *big = reservation_find(&other_user, "big", true),
                       *soon = granted(&user, "soon", new_grant(EDF, 1, 20000, 100000, 0));
    has_waited = NULL;
    attached(soon);
    owe_a_share();  /* 0.3 of CPU 0, for a second */
    released(soon); /* 0.2 of CPU 1, for 0.1 s */
    struct request *request = request_begin(big, CREATE);
    request->refusals.no.plugin = EDF;
    request->spec = (struct spec){.runtime = 200000, .period = S};
    const int64_t last = debt_last(false), first = debt_enough(false, 200000000);
    assert_true(first <= clock_now + 200 * MS);
    assert_int_equal(debt_enough(false, 200000001), last);
    assert_true(zero_lag_wait_may_help(request));
    clock_to(first + 1);
    assert_ptr_equal(has_waited, request);
    /* the plugin refuses again, because CPU 0 is the CPU that matters */
    has_waited = NULL;
    assert_true(zero_lag_wait_may_help(request));
    clock_to(last);
    assert_null(has_waited);
    clock_to(last + 1);
    assert_ptr_equal(has_waited, request);
    owe_a_share();
    assert_false(zero_lag_wait_may_help(request));
    request_drop(request);
    clock_to(clock_now + 5000 * MS);
    reservation_forget(big);
    all_is_paid_back();
}

static void a_refusal_waits_once_and_only_for_what_would_be_enough(void **state)
{
    (void)state;
    has_waited = NULL;
    struct reservation *big = reservation_find(&other_user, "big", true);
    owe_a_share();
    struct request *request = request_begin(big, CREATE);
    request->refusals.no.plugin = EDF;
    request->spec = (struct spec){.runtime = 500000, .period = S};
    request->refusals.nearest = 199999; /* the request lacks a little more */
    assert_false(zero_lag_wait_may_help(request));
    request->refusals.nearest = 200000;
    assert_true(zero_lag_wait_may_help(request));
    clock_to(debt_last(false));
    assert_int_equal(debt_sum(false), 0); /* the waiting request finds the paid-back bandwidth */
    assert_ptr_not_equal(has_waited, request);
    clock_to(clock_now + 1);
    assert_ptr_equal(has_waited, request);
    owe_a_share();
    assert_false(zero_lag_wait_may_help(request)); /* the request has waited */
    request->wait.patient = false;
    request->wait.debts_until = 0;
    /* the quotas of all users: the debt is charged to them, too */
    request->refusals.no.plugin = -1;
    assert_true(zero_lag_wait_may_help(request));
    request->step = STEP_ROOM;
    assert_true(zero_lag_wait_cancel(request));
    clock_to(clock_now + 5000 * MS);
    request = request_begin(big, CREATE);
    request->spec = (struct spec){.runtime = 1, .period = S};
    assert_false(zero_lag_wait_may_help(request)); /* no debt is left that could become free */
    request_drop(request);
    reservation_forget(big);
    all_is_paid_back();
}

static void new_rules_forget_what_rests_in_quotas_and_nothing_else(void **state)
{
    (void)state;
    struct reservation *reservation = granted(&user, "cam", new_grant(EDF, 0, 300000, S, 0));
    attached(reservation);
    clock_now += 300 * MS;
    released(reservation);
    assert_int_equal(of_all_users(), 300000000);
    debt_uncharge();
    struct acl *fresh =
        acl_load(file_with("20021 - max_utilization 100\n20022 - max_utilization 100\n"), reason);
    acl_free(rules);
    rules = fresh;
    assert_int_equal(of_all_users(), 0);
    assert_int_equal(on_cpu(0), 300000000);
    all_is_paid_back();
}

static void a_restarted_plugin_hears_of_what_rests(void **state)
{
    (void)state;
    struct reservation *reservation = granted(&user, "cam", new_grant(EDF, 0, 300000, S, 0));
    attached(reservation);
    clock_now += 300 * MS;
    released(reservation);
    told_count = 0;
    debt_feed(EDF);
    assert_true(told_count == 1 && told[0].what == TOLD_SCHEDULE && told[0].plan.runtime == 300000);
    assert_non_null(debt_grant(told[0].task));
    debt_feed(LOW);
    assert_true(told_count == 2 && told[1].what == TOLD_LOAD);
    debt_feed(DENSE); /* debts on other CPUs */
    assert_int_equal(told_count, 2);
    all_is_paid_back();
    assert_null(debt_grant(told[0].task));
}

/* ---- random changes ---- */

/* Threads use all that they can. Reservations are made, changed, attached, detached and released,
 * and the kernel refuses some changes. The books of a CPU and of a user count the capacity that a
 * reservation has given up there, until this capacity is paid back. When all is paid back, the
 * books are empty. */
enum { RESERVATIONS = 6, DEBTS = 4096 };
static struct reservation *walkers[RESERVATIONS];
static struct debt {
    int64_t until;
    int cpu;
    uint64_t rate;
} debts[DEBTS];
static int debts_made;

/* Adds to the model's debts: the most that can have been used of `grant` since its thread was
 * attached, or before if it is not paid back. `kept` is the part of the grant that the change
 * keeps. */
static void owe(const struct reservation *reservation, const struct grant *given_up,
                const struct grant *kept)
{
    const uint64_t rate = utilization(given_up->plan.runtime, given_up->plan.period);
    const bool same = kept != NULL && kept->plugin == given_up->plugin &&
                      CPU_EQUAL(&kept->plan.cpus, &given_up->plan.cpus);
    const uint64_t goes_on = same ? utilization(kept->plan.runtime, kept->plan.period) : 0;
    if (debt_applies(given_up) && reservation->zero_lag > clock_now && goes_on < rate &&
        debts_made < DEBTS)
        debts[debts_made++] =
            (struct debt){reservation->zero_lag, cpu_from(&given_up->plan.cpus, 0), rate - goes_on};
}

static uint64_t owed_on(int cpu)
{
    uint64_t owed = 0;
    for (int i = 0; i < debts_made; i++)
        if (debts[i].until > clock_now && debts[i].cpu == cpu)
            owed += debts[i].rate;
    for (int i = 0; i < RESERVATIONS; i++)
        if (walkers[i] != NULL && CPU_ISSET((size_t)cpu, &walkers[i]->grant->plan.cpus))
            owed += cpu_rate(walkers[i]->grant);
    return owed;
}

static struct grant *random_grant(bool with_deadlines)
{
    static const uint64_t periods[] = {10000, 40000, 41000, 100000, 400000, 1000000};
    const uint64_t period = periods[random_below(6)],
                   deadline = with_deadlines && random_below(2) == 0
                                  ? random_within(period / 2, period)
                                  : 0;
    return new_grant(with_deadlines ? DENSE : EDF,
                     (int)random_below(CPUS) + (with_deadlines ? 2 : 0),
                     random_within(1, period / 8), period, deadline);
}

static void walk(int which, bool with_deadlines)
{
    struct reservation **walker = &walkers[which];
    char name[NUMBER_TEXT];
    if (*walker == NULL) {
        snprintf(name, sizeof name, "w%d", which);
        *walker = granted(which % 2 == 0 ? &user : &other_user, name, random_grant(with_deadlines));
        return;
    }
    struct reservation *reservation = *walker;
    switch (random_below(5)) {
    case 0:
        if (reservation->attachment == NULL && reservation->zero_lag <= clock_now)
            attached(reservation);
        break;
    case 1:
        if (reservation->attachment != NULL)
            detached(reservation);
        break;
    case 2:
        if (reservation->attachment != NULL)
            detached(reservation);
        owe(reservation, reservation->grant, NULL);
        released(reservation);
        *walker = NULL;
        break;
    default: {
        struct grant former = *reservation->grant, *new = random_grant(with_deadlines);
        if (random_below(2) == 0) { /* the same with a slightly smaller runtime */
            free(new);
            new = new_grant(former.plugin, cpu_from(&former.plan.cpus, 0),
                            former.plan.runtime - former.plan.runtime / 9, former.plan.period,
                            former.spec.deadline);
        }
        const uint64_t rest = changed(reservation, new);
        if (random_below(4) == 0) { /* the kernel refuses the change: nothing was given up */
            debt_drop(rest);
            struct grant *back =
                new_grant(former.plugin, cpu_from(&former.plan.cpus, 0), former.plan.runtime,
                          former.plan.period, former.spec.deadline);
            ledger_remove(reservation->grant);
            acl_release(&reservation->grant->charge);
            free(reservation->grant);
            acl_charge(rules, reservation->user->account, back->plugin,
                       acl_weight(&back->spec, back->plan.runtime), &back->charge);
            reservation->grant = back;
            ledger_add(back);
        } else {
            owe(reservation, &former, reservation->grant);
            debt_settle(rest);
        }
    }
    }
}

static void walk_for(int steps, bool with_deadlines)
{
    debts_made = 0;
    for (int step = 0; step < steps; step++) {
        clock_to(clock_now + (int64_t)random_below(60) * MS);
        walk((int)random_below(RESERVATIONS), with_deadlines);
        for (int cpu = with_deadlines ? 2 : 0; cpu < (with_deadlines ? 4 : 2); cpu++)
            check(on_cpu(cpu) >= owed_on(cpu), "step %d, CPU %d: %llu counted, %llu owed", step,
                  cpu, (unsigned long long)on_cpu(cpu), (unsigned long long)owed_on(cpu));
        assert_true(rests_now() <= RESERVATIONS * CPUS * 16);
    }
    assert_true(debts_made > steps / 10);
    for (int i = 0; i < RESERVATIONS; i++)
        if (walkers[i] != NULL) {
            released(walkers[i]);
            walkers[i] = NULL;
        }
    all_is_paid_back();
}

static void no_less_is_charged_than_is_not_paid_back_and_in_the_end_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS(40); seed++) {
        random_from(seed);
        walk_for(1000, false);
    }
}

static void and_no_less_where_densities_count(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS(40); seed++) {
        random_from(100 + seed);
        walk_for(1000, true);
    }
}

/* As ask-plugins.c does when the kernel refuses a change. */
static void a_change_that_is_rolled_back_leaves_the_books_as_they_were(void **state)
{
    (void)state;
    struct grant *more = new_grant(EDF, 0, 400000, S, 0);
    uint64_t debt;
    struct reservation *reservation = granted(&user, "cam", new_grant(EDF, 0, 200000, S, 0));
    const uint64_t before = on_cpu(0);
    acl_charge(rules, &account, EDF, 0, &more->charge);
    struct grant *old = grant_rebook(reservation, more, &debt);
    assert_int_equal(on_cpu(0), 2 * before);
    assert_true(grant_roll_back(reservation, old, debt));
    assert_ptr_equal(reservation->grant, old);
    assert_int_equal(on_cpu(0), before);
    released(reservation);
    all_is_paid_back();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(use_is_paid_back_at_the_rate_of_the_reservation),
        cmocka_unit_test(a_change_that_is_rolled_back_leaves_the_books_as_they_were),
        cmocka_unit_test(what_was_never_used_is_free_at_once),
        cmocka_unit_test(what_was_released_counts_until_it_is_paid_back),
        cmocka_unit_test(a_change_to_less_gives_up_the_difference),
        cmocka_unit_test(a_change_to_another_plugin_gives_up_all_of_it),
        cmocka_unit_test(what_was_not_given_up_after_all_is_taken_back),
        cmocka_unit_test(a_runtime_that_is_lowered_again_and_again_leaves_one_record),
        cmocka_unit_test(records_are_of_one_reservation_on_one_plugins_cpus),
        cmocka_unit_test(a_guarded_reservation_without_a_period_rests_in_its_deadline),
        cmocka_unit_test(the_kernels_last_is_remembered),
        cmocka_unit_test(requests_wait_and_come_back_in_the_order_of_their_times),
        cmocka_unit_test(who_changes_his_mind_while_he_waits_is_not_kept),
        cmocka_unit_test(a_refusal_waits_for_the_first_debts_that_are_enough),
        cmocka_unit_test(a_refusal_waits_once_and_only_for_what_would_be_enough),
        cmocka_unit_test(new_rules_forget_what_rests_in_quotas_and_nothing_else),
        cmocka_unit_test(a_restarted_plugin_hears_of_what_rests),
        cmocka_unit_test(no_less_is_charged_than_is_not_paid_back_and_in_the_end_nothing),
        cmocka_unit_test(and_no_less_where_densities_count),
    };
    return cmocka_run_group_tests_name("rest", tests, set_up, tear_down);
}
