/* The ledger: even if a plugin lies, no CPU is promised above its line's threshold or more than
 * once. Sums are exact. */
#include "ledger.h"

#include <string.h>

#include "acl.h"
#include "resource-cpu.h"
#include "told.h"
#include "unit.h"
#include "units.h"
#include "reservations.h"

/* EDF's sums count densities, because its test is a sufficient one. EXACT and RM count rates. LIGHT
 * promises nothing, because it has no test. */
enum { EDF, EXACT, RM, GLOBAL, LIGHT, DOMAIN, CAMERA, SEAT };
static char reason[REASON_BYTES];

static int set_up(void **state)
{
    (void)state;
    plugins_are("EDF sh - 0-1 partition=unthrottled threshold=0.9\n"
                "EXACT sh - 2-3 partition=unthrottled threshold=0.8\n"
                "RM sh 21-40 0,2\n"
                "GLOBAL sh - 4-5 partition=global threshold=0.75\n"
                "LIGHT sh 1-20 0-5\n"
                "DOMAIN sh - 6-7 partition=unthrottled\n"
                "CAMERA sh - - resource=units capacity=4\n"
                "SEAT sh - - resource=units capacity=1000000000000\n");
    plugin_says("EDF", "sufficient", true, true);
    plugin_says("EXACT", "exact", true, true);
    plugin_says("RM", "exact", true, true);
    plugin_says("GLOBAL", "necessary", false, true);
    plugin_says("LIGHT", "none", false, false);
    return 0;
}

static struct grant grant_of(int plugin, const char *cpus, uint64_t runtime, uint64_t period,
                             uint64_t deadline)
{
    struct grant grant = {.plugin = plugin,
                          .spec = {.runtime = runtime, .period = period, .deadline = deadline}};
    grant.plan =
        (struct attributes){.policy = plugin_line(plugin)->deadline ? POLICY_DEADLINE : POLICY_FIFO,
                            .runtime = runtime,
                            .period = period,
                            .deadline = deadline != 0 ? deadline : period};
    grant.plan.priority = plugin_line(plugin)->deadline ? 0 : plugin_line(plugin)->lowest;
    assert_true(parse_cpus(cpus, &grant.plan.cpus));
    grant.utilization = cpu_utilization(&grant);
    return grant;
}

static struct {
    int plugin, cpu;
    uint64_t sum;
} sums[64];
static int sum_count;

static void note(const struct pool *pool)
{
    sums[sum_count].plugin = pool->plugin;
    sums[sum_count].cpu = pool->cpu;
    sums[sum_count++].sum = *pool->used;
}

static uint64_t sum_of(int plugin, int cpu)
{
    sum_count = 0;
    ledger_each(note);
    for (int i = 0; i < sum_count; i++)
        if (sums[i].plugin == plugin && sums[i].cpu == cpu)
            return sums[i].sum;
    return 0;
}

static void nothing_is_left(void)
{
    sum_count = 0;
    ledger_each(note);
    assert_int_equal(sum_count, 0);
}

/* ---- plans ---- */

static bool is_its_own(struct grant *grant, const char *expected)
{
    reason[0] = '\0';
    bool good = cpu_plan_is_its_own(grant->plugin, &grant->spec, UINT64_MAX, &grant->plan, reason);
    check(good == (expected == NULL) && (good || strstr(reason, expected) != NULL),
          "\"%s\" instead of \"%s\"", reason, expected == NULL ? "" : expected);
    return good;
}

static void a_plan_that_was_asked_for_is_taken(void **state)
{
    (void)state;
    struct grant edf = grant_of(EDF, "1", 1000, 10000, 0), rm = grant_of(RM, "0,2", 1000, 10000, 0),
                 global = grant_of(GLOBAL, "4-5", 1000, 10000, 5000);
    is_its_own(&edf, NULL);
    is_its_own(&rm, NULL);
    is_its_own(&global, NULL);
    edf.spec.desired_runtime = 2000;
    edf.plan.runtime = 2000;
    is_its_own(&edf, NULL);
    /* the bound in the rules */
    assert_false(cpu_plan_is_its_own(EDF, &edf.spec, 1999, &edf.plan, reason));
}

static void a_plan_of_what_is_not_its_own_is_a_lie(void **state)
{
    const struct grant edf = grant_of(EDF, "1", 1000, 10000, 0),
                       rm = grant_of(RM, "0", 1000, 10000, 0);
    struct grant lie;
    (void)state;
    lie = grant_of(EDF, "2", 1000, 10000, 0);
    is_its_own(&lie, "it offers CPU 2, which its line of plugins.conf does not have");
    lie = grant_of(EDF, "1-2", 1000, 10000, 0);
    is_its_own(&lie, "which its line of plugins.conf does not have");
    lie = grant_of(GLOBAL, "4", 1000, 10000, 0);
    is_its_own(&lie, "under partition=global a plan must have all CPUs of the line, not 4");
    lie = edf, lie.plan.policy = POLICY_FIFO;
    is_its_own(&lie, "which its line does not allow");
    lie = rm, lie.plan.policy = POLICY_DEADLINE;
    is_its_own(&lie, "which its line does not allow");
    lie = rm, lie.plan.policy = POLICY_OTHER;
    is_its_own(&lie, "which its line does not allow");
    lie = rm, lie.plan.priority = 20;
    is_its_own(&lie, "it offers priority 20, but its range is 21-40");
    lie = rm, lie.plan.priority = 41;
    is_its_own(&lie, "it offers priority 41, but its range is 21-40");
    lie = edf, lie.plan.priority = 1;
    is_its_own(&lie, "no priority");
    lie = edf, lie.plan.runtime = 0;
    is_its_own(&lie, "must have a runtime");
    lie = edf, lie.plan.period = 10001;
    is_its_own(&lie, "another period or deadline than the spec states");
    lie = edf, lie.plan.deadline = 9999;
    is_its_own(&lie, "another period or deadline than the spec states");
    lie = edf, lie.plan.runtime = 999;
    is_its_own(&lie, "it offers a runtime of 999us");
    lie = edf, lie.plan.runtime = 1001;
    is_its_own(&lie, "it offers a runtime of 1001us");
}

/* ---- sums ---- */

static bool fits(const struct grant *grant, const struct grant *old, const char *expected)
{
    reason[0] = '\0';
    bool good = ledger_fits(grant, old, reason);
    check(good == (expected == NULL) && (good || strstr(reason, expected) != NULL),
          "\"%s\" instead of \"%s\"", reason, expected == NULL ? "" : expected);
    return good;
}

static void a_cpu_is_not_promised_beyond_its_lines_threshold(void **state)
{
    (void)state;
    const struct grant half = grant_of(EDF, "0", 5000, 10000, 0),
                       rest = grant_of(EDF, "0", 4000, 10000, 0),
                       more = grant_of(EDF, "0", 4001, 10000, 0),
                       beside = grant_of(EDF, "1", 9000, 10000, 0);
    ledger_add(&half);
    fits(&rest, NULL, NULL);
    fits(&more, NULL, "CPU 0 would exceed its threshold of 0.9: 0.5 is promised");
    fits(&beside, NULL, NULL);
    ledger_remove(&half);
    fits(&more, NULL, NULL);
    nothing_is_left();
}

/* Rounding up each share may make the sum larger than a plugin's exact sum. A millionth more is no
 * lie, and anything above is one. */
static void what_rounding_adds_is_no_lie(void **state)
{
    (void)state;
    const struct grant full = grant_of(EDF, "0", 900000000, 1000000000, 0),
                       crumb = grant_of(EDF, "0", 1000, 1000000000, 0),
                       more = grant_of(EDF, "0", 1001, 1000000000, 0);
    ledger_add(&full);
    fits(&crumb, NULL, NULL);
    fits(&more, NULL, "threshold");
    ledger_remove(&full);
}

static void a_shared_cpu_is_promised_once(void **state)
{
    (void)state;
    const struct grant edf = grant_of(EDF, "0", 6000, 10000, 0),
                       rm = grant_of(RM, "0", 4000, 10000, 0),
                       more = grant_of(RM, "0", 4001, 10000, 0);
    ledger_add(&edf);
    fits(&rm, NULL, NULL);
    fits(&more, NULL,
         "CPU 0 would be promised more than once by the plugins that share it: 0.6 is");
    assert_true(ledger_fits_line(&more, NULL, reason)); /* the plugin itself cannot know this */
    ledger_remove(&edf);
}

/* A line with a sufficient test sums densities. The sum of a CPU over all lines counts
 * utilizations. */
static void a_short_deadline_weighs_in_its_own_line_alone(void **state)
{
    (void)state;
    const struct grant edf = grant_of(EDF, "0", 1000, 10000, 2000),
                       exact = grant_of(EXACT, "2", 1000, 10000, 2000);
    assert_int_equal(cpu_weight(&edf), 500000000);
    assert_int_equal(cpu_rate(&edf), 100000000);
    assert_int_equal(cpu_weight(&exact), 100000000);
    ledger_add(&edf);
    assert_int_equal(sum_of(EDF, 0), 500000000);
    assert_int_equal(sum_of(-1, 0), 100000000);
    const struct grant rm = grant_of(RM, "0", 9000, 10000, 0),
                       own = grant_of(EDF, "0", 4001, 10000, 0);
    fits(&rm, NULL, NULL);
    fits(&own, NULL, "threshold");
    ledger_remove(&edf);
    nothing_is_left();
}

static void a_plan_on_several_cpus_weighs_fully_on_each(void **state)
{
    (void)state;
    const struct grant both = grant_of(EDF, "0-1", 5000, 10000, 0),
                       more = grant_of(EDF, "1", 4001, 10000, 0);
    ledger_add(&both);
    assert_int_equal(sum_of(EDF, 0), 500000000);
    assert_int_equal(sum_of(EDF, 1), 500000000);
    fits(&more, NULL, "CPU 1 would exceed");
    ledger_remove(&both);
    nothing_is_left();
}

static void global_edf_has_one_sum_over_its_cpus(void **state)
{
    (void)state;
    const struct grant one = grant_of(GLOBAL, "4-5", 10000, 10000, 0),
                       rest = grant_of(GLOBAL, "4-5", 5000, 10000, 0),
                       more = grant_of(GLOBAL, "4-5", 5001, 10000, 0);
    ledger_add(&one);
    assert_int_equal(sum_of(GLOBAL, -1), ONE_CPU);
    assert_int_equal(sum_of(GLOBAL, 4), 0);
    fits(&rest, NULL, NULL); /* 1.5 = 2 * 0.75 */
    fits(&more, NULL, "all its CPUs together would exceed their threshold of 1.5: 1 is promised");
    ledger_remove(&one);
    nothing_is_left();
}

static void what_is_not_promised_weighs_nothing(void **state)
{
    (void)state;
    const struct grant light = grant_of(LIGHT, "0", 10000, 10000, 0),
                       without = grant_of(RM, "0", 0, 10000, 0),
                       full = grant_of(RM, "0", 10000, 10000, 0);
    struct grant untested = grant_of(RM, "0", 10000, 10000, 0);
    ledger_add(&light);
    ledger_add(&without);
    nothing_is_left();
    ledger_add(&full);
    fits(&light, NULL, NULL);
    fits(&without, NULL, NULL);
    fits(&untested, NULL, "threshold");
    untested.spec.ignore_admission = true; /* its owner takes the risk, but it counts */
    fits(&untested, NULL, NULL);
    ledger_add(&untested);
    assert_int_equal(sum_of(RM, 0), 2 * ONE_CPU);
    ledger_remove(&untested);
    ledger_remove(&full);
    ledger_remove(&light);
    ledger_remove(&without);
    nothing_is_left();
}

static void a_change_does_not_count_against_itself(void **state)
{
    (void)state;
    const struct grant old = grant_of(EDF, "0", 6000, 10000, 0),
                       more = grant_of(EDF, "0", 9000, 10000, 0),
                       too_much = grant_of(EDF, "0", 9001, 10000, 0),
                       moved = grant_of(EDF, "1", 9000, 10000, 0),
                       other_line = grant_of(RM, "0", 10000, 10000, 0),
                       global = grant_of(GLOBAL, "4-5", 9000, 10000, 0),
                       global_more = grant_of(GLOBAL, "4-5", 15000, 10000, 0);
    ledger_add(&old);
    fits(&more, &old, NULL);
    fits(&too_much, &old, "0 is promised");
    fits(&moved, &old, NULL);
    fits(&other_line, &old, NULL);
    fits(&other_line, NULL, "promised more than once");
    ledger_add(&global);
    fits(&global_more, &global, NULL);
    /* a grant that is given up makes no room on CPUs that are not its own */
    fits(&global_more, &old, "all its CPUs together would exceed");
    fits(&more, &global, "threshold");
    ledger_remove(&old);
    ledger_remove(&global);
    nothing_is_left();
}

/* ---- random grants ---- */

enum { GRANTS = 40 };
static struct grant held[GRANTS];
static bool is_held[GRANTS];

static struct grant random_grant(void)
{
    static const char *const cpus[] = {
        [EDF] = "0,1,0-1", [EXACT] = "2,3,2-3", [RM] = "0,2,2",
        [GLOBAL] = "4-5",  [LIGHT] = "0-5",     [DOMAIN] = "6,7,6-7"};
    const int plugin = (int)random_below(6);
    const uint64_t period = random_within(10, TIME_MAX >> random_below(28)),
                   deadline = random_below(2) == 0 ? 0 : random_within((period + 1) / 2, period);
    char list[16];
    snprintf(list, sizeof list, "%s", cpus[plugin]);
    if (strchr(list, ',') != NULL) { /* the list has three choices */
        char *choice = list;
        for (uint64_t skip = random_below(3); skip > 0; skip--)
            choice = strchr(choice, ',') + 1;
        choice[strcspn(choice, ",")] = '\0';
        memmove(list, choice, strlen(choice) + 1);
    }
    return grant_of(plugin, list,
                    random_below(10) == 0
                        ? 0
                        : random_within(1, (deadline == 0 ? period : deadline) / 3),
                    period, deadline);
}

/* The sum as the header describes it, in the simplest way. */
static uint64_t model_sum(int plugin, int cpu)
{
    uint64_t sum = 0;
    for (int i = 0; i < GRANTS; i++) {
        const struct grant *grant = &held[i];
        if (!is_held[i] || (plugin >= 0 && grant->plugin != plugin) ||
            (grant->plugin == GLOBAL) != (cpu < 0) || grant->plugin == LIGHT)
            continue;
        if (grant->plan.runtime != 0 && (cpu < 0 || CPU_ISSET((size_t)cpu, &grant->plan.cpus)))
            sum += plugin < 0 || grant->plugin == EXACT || grant->plugin == RM ||
                           grant->plugin == GLOBAL
                       ? utilization(grant->plan.runtime, grant->plan.period)
                       : utilization(grant->plan.runtime, grant->plan.deadline);
    }
    return sum;
}

static void sums_are_those_of_what_is_held(void)
{
    for (int plugin = -1; plugin <= DOMAIN; plugin++)
        for (int cpu = plugin == GLOBAL ? -1 : 0; cpu < (plugin == GLOBAL ? 0 : 8); cpu++)
            check(sum_of(plugin, cpu) == model_sum(plugin, cpu),
                  "plugin %d, CPU %d: %llu, not %llu", plugin, cpu,
                  (unsigned long long)sum_of(plugin, cpu),
                  (unsigned long long)model_sum(plugin, cpu));
}

static void sums_are_exact_whatever_comes_and_goes(void **state)
{
    (void)state;
    plugin_says("DOMAIN", "sufficient", true, true);
    random_from(5);
    for (int round = 0; round < ROUNDS(20000); round++) {
        const uint64_t i = random_below(GRANTS);
        if (is_held[i]) {
            ledger_remove(&held[i]);
        } else {
            held[i] = random_grant();
            ledger_add(&held[i]);
        }
        is_held[i] = !is_held[i];
        if (round % 50 == 0)
            sums_are_those_of_what_is_held();
    }
    for (int i = 0; i < GRANTS; i++)
        if (is_held[i])
            ledger_remove(&held[i]);
    nothing_is_left();
}

/* The named room fits, and a microsecond more does not, unless the room is the whole window. */
static void room_is_exact(void **state)
{
    int bounded = 0;
    (void)state;
    random_from(6);
    for (int round = 0; round < ROUNDS(20000); round++) {
        struct grant first = random_grant(), second = random_grant(), asked = random_grant();
        if (asked.plugin == GLOBAL || asked.plugin == LIGHT)
            continue;
        const bool is_change = random_below(3) == 0;
        ledger_add(&first);
        ledger_add(&second);
        const uint64_t room = cpu_room(&asked, is_change ? &second : NULL);
        asked.plan.runtime = asked.spec.runtime = room;
        asked.utilization = cpu_utilization(&asked);
        check(room == 0 || ledger_fits(&asked, is_change ? &second : NULL, reason), "%llu: %s",
              (unsigned long long)room, reason);
        asked.plan.runtime = asked.spec.runtime = room + 1;
        asked.utilization = cpu_utilization(&asked);
        check(room >= asked.plan.deadline ||
                  !ledger_fits(&asked, is_change ? &second : NULL, reason),
              "%llu and more of plugin %d, %llu in %llu, change %d of %d", (unsigned long long)room,
              asked.plugin, (unsigned long long)asked.plan.deadline,
              (unsigned long long)asked.plan.period, is_change, second.plugin);
        bounded += room < asked.plan.deadline;
        ledger_remove(&first);
        ledger_remove(&second);
    }
    assert_true(bounded > 1000);
    nothing_is_left();
}

static struct pool pools[64];
static int pool_count;

static void note_pool(const struct pool *pool)
{
    pools[pool_count++] = *pool;
}

/* The capacity of a pool, and its used part. Both are 0 if the pool does not exist. */
static struct pool pool_of(int plugin, int cpu)
{
    pool_count = 0;
    ledger_pools(note_pool);
    for (int i = 0; i < pool_count; i++)
        if (pools[i].plugin == plugin && pools[i].cpu == cpu)
            return pools[i];
    return (struct pool){0};
}

static void each_bound_is_a_pool(void **state)
{
    const struct grant edf = grant_of(EDF, "1", 1000, 10000, 5000),
                       global = grant_of(GLOBAL, "4-5", 3000, 10000, 0),
                       light = grant_of(LIGHT, "1", 1000, 10000, 0);
    const struct pool before = pool_of(EDF, 1);
    (void)state;
    /* a pool for each line except LIGHT, which promises nothing, and for CPUs that are not
     * GLOBAL's */
    assert_int_equal(pool_count, 2 + 2 + 2 + 1 + 2 + 1 + 1 + 6);
    assert_int_equal(before.capacity, 900000000);
    assert_int_equal(*before.used, 0);
    assert_int_equal(pool_of(GLOBAL, -1).capacity, 1500000000);
    assert_int_equal(pool_of(-1, 1).capacity, ONE_CPU);
    assert_int_equal(pool_of(LIGHT, 1).capacity, 0);
    assert_int_equal(pool_of(-1, 4).capacity, 0);
    const uint64_t changes = ledger_additions() + ledger_removals();
    ledger_add(&edf);
    ledger_add(&global);
    ledger_add(&light);
    assert_int_equal(*pool_of(EDF, 1).used, 200000000); /* a density */
    assert_int_equal(*pool_of(-1, 1).used, 100000000);
    assert_int_equal(*pool_of(EDF, 0).used, 0);
    assert_int_equal(*pool_of(GLOBAL, -1).used, 300000000);
    ledger_remove(&edf);
    ledger_remove(&global);
    ledger_remove(&light);
    assert_int_equal(ledger_additions() + ledger_removals(), changes + 6);
    assert_int_equal(ledger_additions(), ledger_removals());
    nothing_is_left();
}

/* ---- other resources ---- */

static struct holding holding_of(int plugin, uint64_t count)
{
    return (struct holding){.plugin = plugin,
                            .claim = {.resource = RESOURCE_UNITS, .values = {count}}};
}

static void what_is_counted_is_not_promised_twice(void **state)
{
    struct holding three = holding_of(CAMERA, 3), two = holding_of(CAMERA, 2);
    const struct grant former = {.plugin = NO_PLUGIN, .holdings = &three},
                       other = {.plugin = NO_PLUGIN, .holdings = &two};
    uint64_t left = 0;
    (void)state;
    assert_true(ledger_fits(&former, NULL, reason));
    ledger_add(&former);
    assert_int_equal(*pool_of(CAMERA, -1).used, 3);
    assert_int_equal(pool_of(CAMERA, -1).capacity, 4);
    /* these amounts are not rounded, so there is no slack */
    assert_false(ledger_fits(&other, NULL, reason));
    assert_string_equal(reason, "CAMERA has a capacity of 4, and 3 are promised already");
    assert_true(ledger_fits(&other, &former, reason));
    assert_false(ledger_hold(&two, NULL, &left, reason));
    assert_int_equal(left, 1);
    ledger_remove(&former);
    nothing_is_left();
}

static void what_is_held_goes_beyond_what_is_had(void **state)
{
    struct holding three = holding_of(CAMERA, 3), four = holding_of(CAMERA, 4),
                   five = holding_of(CAMERA, 5), one = holding_of(CAMERA, 1);
    const struct grant former = {.plugin = NO_PLUGIN, .holdings = &three};
    uint64_t left = 0;
    (void)state;
    ledger_add(&former);
    assert_true(ledger_hold(&four, &former, &left, reason));
    assert_int_equal(*pool_of(CAMERA, -1).used, 4);
    assert_false(ledger_hold(&one, NULL, &left, reason));
    assert_int_equal(left, 0);
    ledger_let_go(&four);
    ledger_let_go(&four); /* a second call changes nothing */
    assert_int_equal(*pool_of(CAMERA, -1).used, 3);
    /* The spec's own charge does not count against it, and the sentence does not include it. */
    assert_false(ledger_hold(&five, &former, &left, reason));
    assert_int_equal(left, 4);
    assert_non_null(strstr(reason, "CAMERA has a capacity of 4, and 0 are promised already"));
    /* The change asks for less than the grant. The old grant is kept until the new one is
     * granted. */
    assert_true(ledger_hold(&one, &former, &left, reason));
    assert_int_equal(*pool_of(CAMERA, -1).used, 3);
    ledger_let_go(&one);
    ledger_remove(&former);
    nothing_is_left();
}

/* A grant can have CPUs and units. A spec that may skip the test of CPUs may not take units that do
 * not exist. */
static void a_grant_can_hold_both(void **state)
{
    struct holding five = holding_of(CAMERA, 5), many = holding_of(SEAT, 999999999999);
    struct grant grant = grant_of(EDF, "1", 20000, 10000, 0);
    (void)state;
    grant.spec.ignore_admission = true;
    assert_true(ledger_fits(&grant, NULL, reason));
    grant.holdings = &five;
    assert_false(ledger_fits(&grant, NULL, reason));
    grant = grant_of(EDF, "1", 5000, 10000, 0);
    grant.holdings = &many;
    ledger_add(&grant);
    assert_int_equal(*pool_of(EDF, 1).used, 500000000);
    assert_int_equal(*pool_of(SEAT, -1).used, 999999999999);
    ledger_remove(&grant);
    nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_that_was_asked_for_is_taken),
        cmocka_unit_test(a_plan_of_what_is_not_its_own_is_a_lie),
        cmocka_unit_test(a_cpu_is_not_promised_beyond_its_lines_threshold),
        cmocka_unit_test(what_rounding_adds_is_no_lie),
        cmocka_unit_test(a_shared_cpu_is_promised_once),
        cmocka_unit_test(a_short_deadline_weighs_in_its_own_line_alone),
        cmocka_unit_test(a_plan_on_several_cpus_weighs_fully_on_each),
        cmocka_unit_test(global_edf_has_one_sum_over_its_cpus),
        cmocka_unit_test(what_is_not_promised_weighs_nothing),
        cmocka_unit_test(a_change_does_not_count_against_itself),
        cmocka_unit_test(sums_are_exact_whatever_comes_and_goes),
        cmocka_unit_test(room_is_exact),
        cmocka_unit_test(each_bound_is_a_pool),
        cmocka_unit_test(what_is_counted_is_not_promised_twice),
        cmocka_unit_test(what_is_held_goes_beyond_what_is_had),
        cmocka_unit_test(a_grant_can_hold_both),
    };
    return cmocka_run_group_tests_name("ledger", tests, set_up, NULL);
}
