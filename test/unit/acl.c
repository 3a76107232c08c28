/* Access rules: every property below, at and above its bound, for every kind of domain; exact sums;
 * and the nearest value of a refusal. */
#include "acl.h"

#include <stdlib.h>
#include <string.h>

#include "plugin-lines.h"
#include "spec.h"
#include "../stubs.h"
#include "told.h"
#include "unit.h"
#include "units.h"

enum { EDF, FP, CAMERA, DISK, NET, TICK };
enum { ANN = 20021, BEN, CAT, TEAM = 20050, RTF = 20060 };

/* ann: in rtf and, as a supplementary group, rtfteam. ben: in rtf and, as the primary group,
 * rtfteam. cat: in rtf. The stranger has no account. */
static char ann_name[] = "rtfann", ben_name[] = "rtfben", cat_name[] = "rtfcat",
            root_name[] = "root", rtf[] = "rtf", team[] = "rtfteam";
static char *both[] = {rtf, team, NULL}, *one[] = {rtf, NULL}, *none[] = {NULL};
static gid_t both_gids[] = {RTF, TEAM}, one_gid[] = {RTF}, zero[] = {0};
static struct account ann = {.uid = ANN,
                             .state = ACCOUNT_KNOWN,
                             .name = ann_name,
                             .groups = both,
                             .gids = both_gids,
                             .gid_count = 2},
                      ben = {.uid = BEN,
                             .state = ACCOUNT_KNOWN,
                             .name = ben_name,
                             .groups = both,
                             .gids = both_gids,
                             .gid_count = 2},
                      cat = {.uid = CAT,
                             .state = ACCOUNT_KNOWN,
                             .name = cat_name,
                             .groups = one,
                             .gids = one_gid,
                             .gid_count = 1},
                      root = {.uid = 0,
                              .state = ACCOUNT_KNOWN,
                              .name = root_name,
                              .groups = none,
                              .gids = zero,
                              .gid_count = 1},
                      stranger = {.uid = 20099, .state = ACCOUNT_KNOWN};

static struct acl *rules_now;
static char reason[REASON_BYTES];
static struct refusal refusal;
static uint64_t least, ceiling;

/* Lines of plugins.conf, whose plugins have the names TICK0 and so on, and the number of threads
 * that the rule `max_user_threads tick` (acl.conf(5)) allows one user with each plugin. This is the
 * largest number beside which another user can still reserve 4 ms in 10 ms. */
static const struct {
    const char *words;
    uint64_t tick;
    int threads;
} tick_lines[] = {
    {"0 partition=global threshold=0.9", 4000, 1},
    {"0-1 partition=global threshold=0.9", 4000, 3},
    {"0-1 partition=global", 4000, 3},
    {"0-1 partition=global threshold=0.6", 4000, 2},
    {"0-3 partition=global threshold=0.9", 4000, 8},
    {"0-7 partition=global threshold=0.9", 4000, 17},
    {"0-1 partition=global threshold=0.9", 1000, 14},
    {"0-3 partition=global threshold=0.9", 10000, 3},
    {"0-3 partition=global threshold=0.9", 20000, 3},
    {"0-1 partition=global threshold=0.1", 4000, 1},
    {"0 partition=unthrottled threshold=0.95", 4000, 1},
    {"0-3 partition=unthrottled threshold=0.95", 4000, 7},
    {"0-3 partition=unthrottled threshold=0.4", 1000, 1},
};
enum { TICK_LINES = sizeof tick_lines / sizeof *tick_lines };

static int set_up(void **state)
{
    char text[2000];
    size_t length = (size_t)snprintf(
        text, sizeof text,
        "EDF sh - 0-1 partition=global threshold=0.9\nFP sh 1-60 0-1\nCAMERA sh - - resource=units capacity=4\n"
        "DISK sh - - resource=disk device=sda throughput=1MB\nNET sh - - resource=network interface=eth0 rate=100Mbit\n");
    (void)state;
    for (int i = 0; i < TICK_LINES; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "TICK%d sh - %s\n", i,
                                   tick_lines[i].words);
    plugins_are(text);
    return 0;
}

static void rules_are(const char *text)
{
    acl_free(rules_now);
    rules_now = acl_load(file_with(text), reason);
    check(rules_now != NULL, "%s", reason);
}

static int tear_down(void **state)
{
    (void)state;
    acl_free(rules_now);
    return 0;
}

/* The number of grants that a user can have here. */
enum { HOLDS = 64 };
static struct grant holds[HOLDS];
static int hold_count;

static bool ask_again(const struct account *who, int plugin, const struct spec *spec,
                      const struct grant *old, struct charge *hold)
{
    const struct grant *const own[2] = {old, NULL};
    reason[0] = '\0';
    refusal = (struct refusal){0};
    return acl_check(rules_now, who, plugin, plugin_line(plugin)->name, spec, own, hold, &least,
                     &ceiling, &refusal, reason);
}

/* Charges as the broker does: the asked amount while the plugin is asked, then the accepted amount.
 * NULL: refused. */
static struct grant *grant_to(const struct account *who, int plugin, struct spec spec,
                              struct grant *old)
{
    struct charge hold;
    if (!ask_again(who, plugin, &spec, old, &hold))
        return NULL;
    struct grant *grant = old;
    if (old != NULL)
        acl_release(&old->charge);
    else
        grant = &holds[hold_count++ % HOLDS];
    const uint64_t most = spec.desired_runtime != 0 ? spec.desired_runtime : spec.runtime;
    *grant = (struct grant){.plugin = plugin, .spec = spec, .charge = hold};
    grant->plan.runtime = most < ceiling ? most : ceiling;
    acl_settle(&grant->charge, acl_weight(&spec, grant->plan.runtime));
    return grant;
}

static struct grant *granted(const struct account *who, int plugin, struct spec spec)
{
    struct grant *grant = grant_to(who, plugin, spec, NULL);
    check(grant != NULL, "%s", reason);
    return grant;
}

static void denied(const struct account *who, int plugin, struct spec spec, const char *expected)
{
    struct charge hold;
    check(!ask_again(who, plugin, &spec, NULL, &hold) && strcmp(reason, expected) == 0,
          "\"%s\" instead of \"%s\"", reason, expected);
    assert_string_equal(refusal.by, "access");
    assert_int_equal(hold.count, 0);
}

static void gone(struct grant *grant)
{
    acl_release(&grant->charge);
}

static int uses;

static void count_use(const char *subject, uint64_t used)
{
    (void)subject;
    (void)used;
    uses++;
}

static void nothing_is_used(void)
{
    uses = 0;
    acl_each(rules_now, count_use);
    assert_int_equal(uses, 0);
}

/* A spec for this many millionths of a CPU. */
static struct spec share(uint64_t millionths)
{
    return (struct spec){.runtime = millionths, .period = 1000000, .priority = 20};
}

/* Checks the last refusal. Its `by` is always access. It also has what was asked, what is
 * available, the nearest runtime, and whether it can never be granted. */
static void refusal_is(const char *rule, const char *asked, const char *available, uint64_t nearest,
                       bool never)
{
    assert_string_equal(refusal.rule, rule);
    assert_string_equal(refusal.asked, asked);
    assert_string_equal(refusal.available, available);
    assert_int_equal(ceiling, nearest);
    assert_int_equal(refusal.never, never);
}

/* ---- each property, for each domain, with and without a plugin ---- */

static const struct bound {
    const char *rule;
    struct spec below, at, above;
    const char *said;
} bounds[] = {
    {"max_runtime 1ms", {.runtime = 999}, {.runtime = 1000}, {.runtime = 1001}, "1001us asked"},
    {"min_runtime 90us", {.runtime = 91}, {.runtime = 90}, {.runtime = 89}, "89us asked"},
    {"min_period 20ms",
     {.period = 20001, .deadline = 15000},
     {.period = 20000, .deadline = 15000},
     {.period = 19999, .deadline = 15000},
     "19999us asked"},
    {"max_period 100000",
     {.period = 99999},
     {.period = 100000},
     {.period = 100001},
     "100001us asked"},
    {"min_deadline 10000us",
     {.deadline = 10001},
     {.deadline = 10000},
     {.deadline = 9999},
     "9999us asked"},
    {"max_deadline 90ms",
     {.period = 100000, .deadline = 89999},
     {.period = 100000, .deadline = 90000},
     {.period = 100000, .deadline = 90001},
     "90001us asked"},
    {"min_priority 12", {.priority = 13}, {.priority = 12}, {.priority = 11}, "11 asked"},
    {"max_priority 30", {.priority = 29}, {.priority = 30}, {.priority = 31}, "31 asked"},
};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

static struct spec with_defaults(struct spec spec)
{
    spec.runtime = spec.runtime != 0 ? spec.runtime : 100;
    spec.period = spec.period != 0 ? spec.period : 50000;
    spec.deadline = spec.deadline != 0 ? spec.deadline : 40000;
    spec.priority = spec.priority != 0 ? spec.priority : 20;
    return spec;
}

static const struct domain {
    const char *name;
    bool binds[3]; /* for ann, ben and cat */
} domains[] = {
    {"rtfann", {true, false, false}},  {"20021", {true, false, false}},
    {"@rtfteam", {true, true, false}}, {"@20050", {true, true, false}},
    {"-", {true, true, true}},
};
enum { DOMAINS = sizeof domains / sizeof *domains };
static const struct account *const people[] = {&ann, &ben, &cat};

static void bound_binds(const struct bound *bound, const struct domain *domain, const char *on)
{
    char text[200], said_above[200];
    snprintf(text, sizeof text, "- - max_utilization 100\n%s %s %s\n", domain->name, on,
             bound->rule);
    snprintf(said_above, sizeof said_above, "acl.conf:2: %s %s %s: %s", domain->name, on,
             bound->rule, bound->said);
    rules_are(text);
    for (int i = 0; i < 3; i++)
        for (int plugin = EDF; plugin <= FP; plugin++) {
            gone(granted(people[i], plugin, with_defaults(bound->below)));
            gone(granted(people[i], plugin, with_defaults(bound->at)));
            if (domain->binds[i] && (plugin == FP || on[0] == '-'))
                denied(people[i], plugin, with_defaults(bound->above), said_above);
            else
                gone(granted(people[i], plugin, with_defaults(bound->above)));
        }
    nothing_is_used();
}

static void times_and_priorities_are_bounded_for_each_domain(void **state)
{
    (void)state;
    for (int i = 0; i < BOUNDS; i++)
        for (int j = 0; j < DOMAINS; j++) {
            bound_binds(&bounds[i], &domains[j], "-");
            bound_binds(&bounds[i], &domains[j], "FP");
        }
}

/* Half a CPU for the domain. A user outside the domain has a rule of their own that opens the
 * plugin. */
static void sum_binds(const char *property, const struct domain *domain, const char *on)
{
    char text[200], rule[100], full[200], much[200];
    const bool each = strcmp(property, "max_user_utilization") == 0, anywhere = on[0] == '-';
    snprintf(rule, sizeof rule, "%s %s %s 0.5", domain->name, on, property);
    snprintf(
        text, sizeof text,
        "%s\n- EDF max_utilization 0.5\n20023 - max_utilization 10\n20022 - max_utilization 10\n",
        rule);
    snprintf(full, sizeof full, "acl.conf:1: %s: 0.5 used, 0.000001 asked", rule);
    snprintf(much, sizeof much, "acl.conf:1: %s: 0.3 used, 0.200001 asked", rule);
    rules_are(text);
    struct grant *a = granted(&ann, FP, share(300000)), *c, *e = NULL;
    denied(&ann, FP, share(200001), much);
    c = granted(&ann, FP, share(200000));
    denied(&ann, FP, share(1), full);
    if (anywhere)
        denied(&ann, EDF, share(1), full);
    else
        e = granted(&ann, EDF, share(1));
    gone(c);
    denied(&ann, FP, share(200001), much);
    c = granted(&ann, FP, share(200000));
    for (int i = 1; i < 3; i++)
        if (domain->binds[i] && !each) { /* the user shares ann's sum */
            denied(people[i], FP, share(1), full);
        } else { /* the user has a sum of their own, or none */
            struct grant *own = granted(people[i], FP, share(500000));
            if (domain->binds[i])
                denied(people[i], FP, share(1), full);
            gone(own);
        }
    gone(a);
    gone(c);
    if (e != NULL)
        gone(e);
    nothing_is_used();
}

static void sums_are_bounded_for_each_domain(void **state)
{
    (void)state;
    for (int i = 0; i < DOMAINS; i++) {
        sum_binds("max_utilization", &domains[i], "-");
        sum_binds("max_utilization", &domains[i], "FP");
        sum_binds("max_user_utilization", &domains[i], "-");
        sum_binds("max_user_utilization", &domains[i], "FP");
    }
}

static void passing_over_the_test_needs_a_rule_that_says_true_and_none_that_says_false(void **state)
{
    const struct spec ignoring = {.runtime = 10,
                                  .period = 10000,
                                  .priority = 20,
                                  .ignore_admission = true};
    struct spec not_ignoring = ignoring;
    not_ignoring.ignore_admission = false;
    (void)state;
    rules_are("- - max_utilization 100\n");
    denied(&ann, FP, ignoring,
           "no rule in acl.conf allows ignore_adm_test for rtfann (uid 20021) on FP");
    for (int i = 0; i < 2 * DOMAINS; i++) {
        const struct domain *domain = &domains[i / 2];
        const char *on = i % 2 == 0 ? "-" : "FP";
        char text[200], deny[200];
        snprintf(text, sizeof text, "- - max_utilization 100\n%s %s ignore_adm_test true\n",
                 domain->name, on);
        rules_are(text);
        gone(granted(&ann, FP, ignoring));
        if (on[0] == '-')
            gone(granted(&ann, EDF, ignoring));
        else
            denied(&ann, EDF, ignoring,
                   "no rule in acl.conf allows ignore_adm_test for rtfann (uid 20021) on EDF");
        if (domain->binds[2])
            gone(granted(&cat, FP, ignoring));
        else
            denied(&cat, FP, ignoring,
                   "no rule in acl.conf allows ignore_adm_test for rtfcat (uid 20023) on FP");
        snprintf(text, sizeof text,
                 "- - max_utilization 100\n%s %s ignore_adm_test false\n- - ignore_adm_test true\n",
                 domain->name, on);
        snprintf(
            deny, sizeof deny,
            "acl.conf:2: %s %s ignore_adm_test false: the spec says \"ignore_admission\": true",
            domain->name, on);
        rules_are(text);
        denied(&ann, FP, ignoring, deny);
        gone(granted(&ann, FP, not_ignoring));
    }
}

static void reclaiming_needs_a_rule_that_says_true_and_none_that_says_false(void **state)
{
    struct spec reclaiming = {.runtime = 10, .period = 10000, .reclaim = true};
    (void)state;
    rules_are("- - max_utilization 100\n");
    denied(&ann, EDF, reclaiming,
           "no rule in acl.conf allows reclaim (reclaim true) for rtfann (uid 20021) on EDF");
    rules_are("- - max_utilization 100\nrtfann EDF reclaim true\n");
    gone(granted(&ann, EDF, reclaiming));
    denied(&ann, FP, reclaiming,
           "no rule in acl.conf allows reclaim (reclaim true) for rtfann (uid 20021) on FP");
    denied(&cat, EDF, reclaiming,
           "no rule in acl.conf allows reclaim (reclaim true) for rtfcat (uid 20023) on EDF");
    rules_are("- - max_utilization 100\n- - reclaim true\nrtfann EDF reclaim false\n");
    denied(&ann, EDF, reclaiming,
           "acl.conf:3: rtfann EDF reclaim false: the spec says \"reclaim\": true");
    gone(granted(&cat, EDF, reclaiming));
    reclaiming.reclaim = false;
    gone(granted(&ann, EDF, reclaiming));
    /* a permission opens no CPU time */
    rules_are("- - reclaim true\n");
    denied(
        &ann, EDF, reclaiming,
        "no rule in acl.conf opens anything (max_utilization or max_user_utilization) for rtfann (uid 20021) on EDF");
}

/* ---- how rules work together ---- */

static void without_an_opening_nobody_but_root_has_anything(void **state)
{
    (void)state;
    rules_are("# nothing but words\n");
    denied(
        &ann, FP, share(1),
        "no rule in acl.conf opens anything (max_utilization or max_user_utilization) for rtfann (uid 20021) on FP");
    refusal_is("", "", "", 0, true);
    denied(
        &stranger, EDF, share(1),
        "no rule in acl.conf opens anything (max_utilization or max_user_utilization) for a user without account (uid 20099) on EDF");
    gone(granted(&root, FP, share(300000)));
    /* A bound alone does not open a plugin, and a rule that opens another plugin does not
     * either. */
    rules_are(
        "- - max_runtime 10ms\nrtfann - min_period 1ms\n@rtf FP max_priority 50\n- - ignore_adm_test true\nrtfann EDF max_utilization 0.5\n");
    denied(
        &ann, FP, share(1),
        "no rule in acl.conf opens anything (max_utilization or max_user_utilization) for rtfann (uid 20021) on FP");
    gone(granted(&ann, EDF, share(1)));
}

static void all_rules_that_match_must_hold(void **state)
{
    (void)state;
    rules_are(
        "rtfann - max_utilization 0.4\n@rtfteam - max_utilization 0.6\n- - max_utilization 0.9\n");
    denied(&ann, FP, share(600001),
           "acl.conf:1: rtfann - max_utilization 0.4: 0 used, 0.600001 asked");
    struct grant *first = granted(&ann, FP, share(400000)),
                 *second = granted(&ben, FP, share(200000));
    denied(&ann, FP, share(1),
           "acl.conf:1: rtfann - max_utilization 0.4: 0.4 used, 0.000001 asked");
    denied(&ben, FP, share(1),
           "acl.conf:2: @rtfteam - max_utilization 0.6: 0.6 used, 0.000001 asked");
    gone(first);
    gone(second);
    rules_are(
        "@rtfteam - max_runtime 2ms\nrtfann - max_utilization 0.9\nrtfann - max_runtime 3ms\n- - max_runtime 1ms\n");
    denied(&ann, FP, (struct spec){.runtime = 4000, .period = 100000},
           "acl.conf:1: @rtfteam - max_runtime 2ms: 4000us asked");
    /* the runtime that all rules allow */
    refusal_is("acl.conf:1: @rtfteam - max_runtime 2ms", "4000us", "2000us", 1000, true);
}

static void the_papers_example(void **state)
{
    (void)state;
    rules_are("rtfann - max_utilization 0.5\n- FP max_utilization 0.3\n");
    denied(&ann, FP, share(300001), "acl.conf:2: - FP max_utilization 0.3: 0 used, 0.300001 asked");
    struct grant *on_fp = granted(&ann, FP, share(300000)), *on_edf;
    denied(&ann, EDF, share(200001),
           "acl.conf:1: rtfann - max_utilization 0.5: 0.3 used, 0.200001 asked");
    on_edf = granted(&ann, EDF, share(200000));
    denied(&ann, FP, share(1),
           "acl.conf:1: rtfann - max_utilization 0.5: 0.5 used, 0.000001 asked");
    denied(&cat, FP, share(1), "acl.conf:2: - FP max_utilization 0.3: 0.3 used, 0.000001 asked");
    denied(
        &cat, EDF, share(1),
        "no rule in acl.conf opens anything (max_utilization or max_user_utilization) for rtfcat (uid 20023) on EDF");
    gone(on_fp);
    struct grant *of_cat = granted(&cat, FP, share(200000));
    denied(&ann, FP, share(100001),
           "acl.conf:2: - FP max_utilization 0.3: 0.2 used, 0.100001 asked");
    gone(granted(&ann, FP, share(100000)));
    gone(on_edf);
    gone(of_cat);
    nothing_is_used();
}

static void what_states_no_runtime_or_no_window_weighs_a_cpu(void **state)
{
    const struct spec no_runtime = {.period = 10000}, no_period = {.runtime = 10},
                      window = {.runtime = 10, .deadline = 100};
    (void)state;
    rules_are(
        "rtfann - max_utilization 0.999999999\nrtfben - max_utilization 1\nrtfcat - max_utilization 1\n");
    denied(
        &ann, FP, no_runtime,
        "acl.conf:1: rtfann - max_utilization 0.999999999: 0 used, 1 asked (a spec without runtime weighs a whole CPU)");
    refusal_is("acl.conf:1: rtfann - max_utilization 0.999999999", "1", "0.999999999", 0, true);
    denied(
        &ann, FP, no_period,
        "acl.conf:1: rtfann - max_utilization 0.999999999: 0 used, 1 asked (a spec without period weighs a whole CPU)");
    refusal_is("acl.conf:1: rtfann - max_utilization 0.999999999", "1", "0.999999999", 0, true);
    struct grant *whole = granted(&ben, FP, no_runtime);
    denied(&ben, FP, share(1), "acl.conf:2: rtfben - max_utilization 1: 1 used, 0.000001 asked");
    gone(whole);
    whole = granted(&cat, FP, window); /* a deadline is a window of the same length */
    denied(
        &cat, FP, no_period,
        "acl.conf:3: rtfcat - max_utilization 1: 0.1 used, 1 asked (a spec without period weighs a whole CPU)");
    refusal_is("acl.conf:3: rtfcat - max_utilization 1", "1", "0.9", 0, false);
    gone(whole);
    nothing_is_used();
}

/* The spec counts as a whole CPU whatever its runtime is. Another rule bounds runtimes, but no
 * runtime within this bound would be granted. */
static void no_runtime_is_nearest_where_none_would_help(void **state)
{
    (void)state;
    rules_are("- - max_utilization 1\n- - max_runtime 2ms\n");
    struct grant *tenth = granted(&cat, FP, share(1000));
    denied(
        &ann, FP, (struct spec){.runtime = 1000},
        "acl.conf:1: - - max_utilization 1: 0.001 used, 1 asked (a spec without period weighs a whole CPU)");
    refusal_is("acl.conf:1: - - max_utilization 1", "1", "0.999", 0, false);
    denied(
        &ann, FP, (struct spec){.runtime = 3000},
        "acl.conf:1: - - max_utilization 1: 0.001 used, 1 asked (a spec without period weighs a whole CPU)");
    refusal_is("acl.conf:1: - - max_utilization 1", "1", "0.999", 0, true);
    gone(tenth);
    rules_are(
        "- - max_utilization 10\n- - max_runtime 2ms\n- - max_period 10ms\n- - max_priority 30\n");
    denied(&ann, FP, (struct spec){.runtime = 3000, .period = 10001},
           "acl.conf:2: - - max_runtime 2ms: 3000us asked");
    assert_int_equal(ceiling, 0);
    denied(&ann, FP, (struct spec){.runtime = 3000, .period = 10000, .priority = 31},
           "acl.conf:2: - - max_runtime 2ms: 3000us asked");
    assert_int_equal(ceiling, 0);
    denied(&ann, FP, (struct spec){.runtime = 3000, .period = 10000, .ignore_admission = true},
           "acl.conf:2: - - max_runtime 2ms: 3000us asked");
    assert_int_equal(ceiling, 0);
    assert_true(refusal.never);
    rules_are("- - max_utilization 0.5\n- - min_runtime 2ms\n- - max_runtime 1ms\n");
    denied(&ann, EDF, (struct spec){.runtime = 1500, .period = 10000},
           "acl.conf:2: - - min_runtime 2ms: 1500us asked");
    assert_int_equal(ceiling, 0);
}

static void what_is_not_stated_passes_its_bounds_but_for_runtimes(void **state)
{
    (void)state;
    rules_are(
        "- - max_utilization 10\n- - max_runtime 3600s\n- - min_period 10ms\n- - max_period 20ms\n- - min_deadline 9ms\n- - max_deadline 20ms\n"
        "- - min_priority 9\n- - max_priority 9\n");
    denied(&ann, FP, (struct spec){.period = 10000, .priority = 9},
           "acl.conf:2: - - max_runtime 3600s: the spec states no runtime");
    refusal_is("acl.conf:2: - - max_runtime 3600s", "", "", 0, true);
    gone(granted(&ann, FP, (struct spec){.runtime = 10, .priority = 9}));
    gone(granted(&ann, EDF, (struct spec){.runtime = 10, .period = 10000}));
    rules_are(
        "- - max_utilization 10\n- - max_deadline 20ms\n- - min_deadline 9ms\n- - min_runtime 500us\n");
    /* without a period, the deadline counts as the period */
    denied(&ann, EDF, (struct spec){.runtime = 500, .period = 20001},
           "acl.conf:2: - - max_deadline 20ms: 20001us asked");
    denied(&ann, EDF, (struct spec){.runtime = 500, .period = 8999},
           "acl.conf:3: - - min_deadline 9ms: 8999us asked");
    gone(granted(&ann, EDF, (struct spec){.runtime = 500, .period = 20001, .deadline = 20000}));
    denied(&ann, FP, (struct spec){.period = 10000},
           "acl.conf:4: - - min_runtime 500us: the spec states no runtime");
    /* The runtime counts, however much more is desired, because the plugin may accept no more than
     * the runtime. */
    denied(&ann, EDF, (struct spec){.runtime = 499, .desired_runtime = 5000, .period = 10000},
           "acl.conf:4: - - min_runtime 500us: 499us asked");
}

static void a_tick_bounds_deadline_plugins_only(void **state)
{
    (void)state;
    tick_is = 4000;
    rules_are("- - max_utilization 10\n- - min_runtime tick\n");
    denied(&ann, EDF, (struct spec){.runtime = 3999, .period = 100000},
           "acl.conf:2: - - min_runtime tick: 3999us asked, a tick is 4000us");
    refusal_is("acl.conf:2: - - min_runtime tick", "3999us", "4000us", 1000000, true);
    gone(granted(&ann, EDF, (struct spec){.runtime = 4000, .period = 100000}));
    gone(granted(&ann, FP, (struct spec){.runtime = 1, .period = 10000}));
    gone(granted(&ann, FP, (struct spec){.priority = 9}));
}

/* ---- sums ---- */

static void a_release_gives_back_exactly_what_was_charged(void **state)
{
    (void)state;
    rules_are("@rtf - max_utilization 1\n");
    struct grant *a = granted(&ann, FP, (struct spec){.runtime = 1, .period = 3}),
                 *b = granted(&ben, FP, (struct spec){.runtime = 1, .period = 3}),
                 *c = granted(&ann, FP, (struct spec){.runtime = 1, .period = 7}),
                 *d = granted(&cat, FP, (struct spec){.runtime = 1, .period = 10007});
    /* each utilization is rounded up to a billionth */
    denied(&ann, FP, (struct spec){.runtime = 1, .period = 5},
           "acl.conf:1: @rtf - max_utilization 1: 0.809623742 used, 0.2 asked");
    gone(a);
    assert_non_null(grant_to(&cat, FP, (struct spec){.runtime = 2, .period = 10007}, d));
    a = granted(&ann, FP, (struct spec){.runtime = 1, .period = 3});
    denied(&ben, FP, (struct spec){.runtime = 1, .period = 5},
           "acl.conf:1: @rtf - max_utilization 1: 0.809723672 used, 0.2 asked");
    gone(a);
    gone(b);
    gone(c);
    gone(d);
    nothing_is_used();
}

static void a_change_does_not_count_against_itself(void **state)
{
    (void)state;
    rules_are("rtfann - max_utilization 0.5\n- EDF max_runtime 400ms\n- FP max_utilization 0.5\n");
    struct grant *own = granted(&ann, EDF, share(300000)),
                 *other = granted(&ann, FP, share(200000));
    assert_null(grant_to(&ann, EDF, share(300001), own));
    assert_string_equal(reason,
                        "acl.conf:1: rtfann - max_utilization 0.5: 0.2 used, 0.300001 asked");
    assert_int_equal(ceiling, 300000);
    gone(other);
    assert_non_null(grant_to(&ann, EDF, share(400000), own));
    assert_null(grant_to(&ann, EDF, share(400001), own));
    assert_int_equal(own->plan.runtime, 400000);
    assert_non_null(grant_to(&ann, FP, share(500000), own)); /* the change takes its charge along */
    denied(&ann, FP, share(1),
           "acl.conf:1: rtfann - max_utilization 0.5: 0.5 used, 0.000001 asked");
    assert_non_null(grant_to(&ann, FP, share(100000), own)); /* the change gives back the rest */
    other = granted(&ann, FP, share(400000));
    gone(own);
    gone(other);
    nothing_is_used();
}

/* The asked amount is held while the plugin is asked, so two specs that each fit cannot both get
 * the last capacity. */
static void what_is_asked_for_is_charged_before_the_answer(void **state)
{
    struct charge first, second;
    const struct spec most = {.runtime = 1000, .desired_runtime = 400000, .period = 1000000};
    (void)state;
    rules_are("rtfann - max_utilization 0.5\n");
    assert_true(ask_again(&ann, EDF, &most, NULL, &first));
    assert_int_equal(ceiling, 500000);
    assert_true(ask_again(&ann, EDF, &most, NULL, &second));
    assert_int_equal(ceiling, 100000); /* the desired runtime is cut to this amount */
    denied(&ann, EDF, share(1),
           "acl.conf:1: rtfann - max_utilization 0.5: 0.5 used, 0.000001 asked");
    acl_settle(&first, acl_weight(&most, 1000)); /* the plugin accepted this much */
    acl_release(&second);
    struct grant *rest = granted(&ann, EDF, share(499000));
    acl_release(&first);
    gone(rest);
    nothing_is_used();
}

static void threads_are_counted_for_each_user_and_plugin(void **state)
{
    struct charge rest;
    (void)state;
    rules_are("- - max_utilization 2\n@rtfteam EDF max_user_threads 2\n- FP max_user_threads 0\n");
    struct grant *a = granted(&ann, EDF, share(1)), *b = granted(&ann, EDF, share(400000)), *other;
    denied(&ann, EDF, share(1), "acl.conf:2: @rtfteam EDF max_user_threads 2: 2 used, 1 asked");
    assert_true(refusal.code == WHY_RULE_USED_UP && !refusal.never && ceiling == 0);
    assert_string_equal(refusal.asked, "1");
    assert_string_equal(refusal.available, "0");
    other = granted(&ben, EDF, share(1)); /* ben has another counter */
    denied(&ann, FP, share(1), "acl.conf:3: - FP max_user_threads 0: 0 used, 1 asked");
    assert_true(refusal.code == WHY_BEYOND_RULE && refusal.never);
    a = grant_to(&ann, EDF, share(7), a); /* a change adds no thread */
    assert_non_null(a);
    denied(&ann, EDF, share(1), "acl.conf:2: @rtfteam EDF max_user_threads 2: 2 used, 1 asked");
    gone(a);
    /* The thread of b has ended, but a part of its capacity is still in use, so the thread still
     * counts. Capacity that a change has given up does not count as a thread. */
    acl_settle(&b->charge, 1);
    a = granted(&ann, EDF, share(1));
    denied(&ann, EDF, share(1), "acl.conf:2: @rtfteam EDF max_user_threads 2: 2 used, 1 asked");
    rest = b->charge;
    acl_settle_rest(&rest, 5);
    b = granted(&ann, EDF, share(1));
    acl_join(&rest, &b->charge);
    denied(&ann, EDF, share(1), "acl.conf:2: @rtfteam EDF max_user_threads 2: 2 used, 1 asked");
    acl_release(&rest);
    gone(a);
    gone(other);
    nothing_is_used();
}

static void a_tick_is_a_number_of_threads(void **state)
{
    (void)state;
    for (int i = 0; i < TICK_LINES; i++) {
        struct grant *own[20];
        char text[128], sentence[128];
        int count = 0;
        snprintf(text, sizeof text, "- - max_utilization 2\n- TICK%d max_user_threads tick\n", i);
        tick_is = tick_lines[i].tick;
        rules_are(text);
        while ((own[count] = grant_to(&ann, TICK + i, share(1), NULL)) != NULL)
            assert_in_range(count++, 0, 17);
        snprintf(sentence, sizeof sentence,
                 "acl.conf:2: - TICK%d max_user_threads tick: %d used, 1 asked, tick allows %d", i,
                 count, count);
        denied(&ann, TICK + i, share(1), sentence);
        check(count == tick_lines[i].threads, "%s: %d", tick_lines[i].words, count);
        while (count > 0)
            gone(own[--count]);
        assert_false(acl_has_tick(rules_now)); /* nothing has to be measured */
    }
    tick_is = 4000;
    rules_are("- EDF max_user_threads tick\n- - max_runtime 2\n");
    json_t *list = acl_as_json(rules_now);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "threads")), 3);
    assert_null(json_object_get(json_array_get(list, 1), "threads"));
    json_decref(list);
}

static void new_rules_count_the_threads_that_are_there(void **state)
{
    (void)state;
    rules_are("- EDF max_user_threads 3\n- - max_utilization 1\n");
    struct grant *a = granted(&ann, EDF, share(1)), *b = granted(&ann, EDF, share(200000));
    struct acl *former = rules_now;
    rules_now = NULL;
    rules_are("- EDF max_user_threads 1\n- - max_utilization 0.1\n");
    acl_charge_again(rules_now, &ann, EDF, &a->charge);
    acl_charge_again(rules_now, &ann, EDF, &b->charge);
    acl_free(former);
    said_count = 0;
    acl_report_exceeded_by(rules_now, &ann);
    assert_int_equal(said_count, 1);
    assert_string_equal(
        said,
        "acl.conf:1: - EDF max_user_threads 1: 2 is in use by older grants of uid 20021, which stay");
    acl_report_exceeded(rules_now);
    assert_string_equal(
        said,
        "acl.conf:2: - - max_utilization 0.1: 0.200001 is in use by older grants, which stay");
    gone(a);
    gone(b);
    nothing_is_used();
}

static void root_is_neither_restricted_nor_counted(void **state)
{
    (void)state;
    rules_are(
        "- - max_utilization 0.1\nroot - max_utilization 0.1\n0 - max_runtime 1us\n- - max_priority 1\n- - max_period 1ms\n");
    (void)granted(&root, FP,
                  (struct spec){.runtime = 500000,
                                .period = 1000000,
                                .priority = 60,
                                .ignore_admission = true});
    (void)granted(&root, FP, (struct spec){.priority = 60});
    assert_int_equal(ceiling, UINT64_MAX);
    assert_true(acl_priority_passes(rules_now, &root, FP, 60, &refusal, reason));
    nothing_is_used();
}

static void a_stranger_is_known_by_his_uid_only(void **state)
{
    (void)state;
    rules_are(
        "20099 - max_utilization 0.3\n@20060 - max_utilization 0.1\n@rtf - max_runtime 1us\n");
    denied(&stranger, FP, share(300001),
           "acl.conf:1: 20099 - max_utilization 0.3: 0 used, 0.300001 asked");
    gone(granted(&stranger, FP, share(300000)));
    assert_true(acl_names_uid(rules_now, 20099));
    assert_false(acl_names_uid(rules_now, 20060)); /* 20060 is the id of a group */
}

static void new_rules_charge_what_is_held_and_tell_who_is_over(void **state)
{
    (void)state;
    rules_are("- - max_utilization 1\n");
    struct grant *a = granted(&ann, FP, share(200000)), *b = granted(&cat, FP, share(100000));
    struct acl *former = rules_now;
    rules_now = NULL;
    rules_are(
        "@rtf - max_utilization 0.25\nrtfcat FP max_utilization 0.1\n@rtf - max_user_utilization 0.1\n");
    acl_charge_again(rules_now, &ann, FP, &a->charge);
    acl_charge_again(rules_now, &cat, FP, &b->charge);
    acl_free(former);
    said_count = 0;
    acl_report_exceeded(rules_now);
    assert_int_equal(said_count, 1); /* a full sum is not above the bound */
    assert_string_equal(
        said, "acl.conf:1: @rtf - max_utilization 0.25: 0.3 is in use by older grants, which stay");
    acl_report_exceeded_by(rules_now, &cat);
    assert_int_equal(said_count, 1);
    acl_report_exceeded_by(rules_now, &ann);
    assert_string_equal(
        said,
        "acl.conf:3: @rtf - max_user_utilization 0.1: 0.2 is in use by older grants of uid 20021, which stay");
    denied(&ann, FP, share(1), "acl.conf:1: @rtf - max_utilization 0.25: 0.3 used, 0.000001 asked");
    gone(a);
    gone(granted(&ann, FP, share(100000)));
    gone(b);
    nothing_is_used();
}

static void planned_priorities_are_bounded_too(void **state)
{
    (void)state;
    rules_are("- - max_utilization 1\n@rtf FP max_priority 30\n- - min_priority 20\n");
    refusal = (struct refusal){0};
    assert_true(acl_priority_passes(rules_now, &ann, FP, 30, &refusal, reason) &&
                acl_priority_passes(rules_now, &ann, FP, 20, &refusal, reason));
    assert_true(acl_priority_passes(rules_now, &ann, EDF, 31, &refusal, reason));
    assert_false(acl_priority_passes(rules_now, &ann, FP, 31, &refusal, reason));
    assert_string_equal(reason, "acl.conf:2: @rtf FP max_priority 30: 31 planned");
    assert_true(refusal.never);
    assert_false(acl_priority_passes(rules_now, &stranger, FP, 19, &refusal, reason));
    assert_string_equal(reason, "acl.conf:3: - - min_priority 20: 19 planned");
}

/* ---- the file ---- */

static void each_wrong_line_is_named_with_what_is_allowed(void **state)
{
#define TIMES " takes a time from 1us to 3600s such as 500us, not "
#define THREADS \
    "max_user_threads takes a number of threads, or the word tick for a plugin that uses SCHED_DEADLINE, not "
#define CPUS  " takes CPUs in decimals, such as 0.5 or 2, not "
#define WORDS "a rule must have four words, DOMAIN PLUGIN PROPERTY VALUE: this line has "
    static const struct {
        const char *line, *sentence;
    } wrong[] = {
        {"@rtf - max_runtime", WORDS "3"},
        {"@rtf - max_runtime 20 ms", WORDS "5"},
        {"@ - max_runtime 20ms",
         "the first word must be a user name, a uid, @group or -, not \"@\""},
        {"@rtf edf max_runtime 20ms",
         "plugins.conf has no plugin \"edf\"; did you mean EDF? - means any"},
        {"@rtf - max_period 0", "max_period" TIMES "\"0\""},
        {"@rtf - max_runtime -5", "max_runtime" TIMES "\"-5\""},
        {"@rtf - min_period 1.5ms", "min_period" TIMES "\"1.5ms\""},
        {"@rtf - min_deadline 3601s", "min_deadline" TIMES "\"3601s\""},
        {"@rtf - max_deadline 20m", "max_deadline" TIMES "\"20m\""},
        {"@rtf - min_runtime a tick", WORDS "5"},
        {"@rtf - min_runtime tock",
         "min_runtime takes the word tick, or a time from 1us to 3600s such as 500us, not \"tock\""},
        {"@rtf - max_period tick", "max_period" TIMES "\"tick\""},
        {"@rtf - max_utilization 50%", "max_utilization" CPUS "\"50%\""},
        {"@rtf - max_utilization 0.1234567891", "max_utilization" CPUS "\"0.1234567891\""},
        {"@rtf - max_utilization -1", "max_utilization" CPUS "\"-1\""},
        {"@rtf - max_user_utilization 0,5", "max_user_utilization" CPUS "\"0,5\""},
        {"- EDF max_user_threads 0.5", THREADS "\"0.5\""},
        {"- - max_user_threads tick", THREADS "\"tick\""},
        {"- FP max_user_threads tick", THREADS "\"tick\""},
        {"@rtf - max_priority 0", "max_priority takes a priority from 1 to 100, not \"0\""},
        {"@rtf - min_priority 101", "min_priority takes a priority from 1 to 100, not \"101\""},
        {"@rtf - ignore_adm_test yes", "ignore_adm_test takes true or false, not \"yes\""},
        {"@rtf - trace 1", "trace takes true or false, not \"1\""},
        {"@rtf EDF trace true", "trace limits no plugin: write - in place of \"EDF\""},
        {"@rtf - max_utilisation 1",
         "unknown property \"max_utilisation\"; did you mean max_utilization?"},
        {"@rtf - Max-Runtime 1", "unknown property \"Max-Runtime\"; did you mean max_runtime?"},
        {"@rtf NET max_bandwith 1",
         "unknown property \"max_bandwith\"; did you mean max_bandwidth?"},
        {"@rtf - share 1", "unknown property \"share\": acl.conf(5) lists them"},
        {"@rtf Edf max_runtime 1",
         "plugins.conf has no plugin \"Edf\"; did you mean EDF? - means any"},
        {"@rtf CAMRA max_amount 1",
         "plugins.conf has no plugin \"CAMRA\"; did you mean CAMERA? - means any"},
        {"@rtf ROBOT max_amount 1", "plugins.conf has no plugin \"ROBOT\"; - means any"},
        {"@rtf EDF max_amount 1",
         "max_amount needs a plugin with another resource than cpu, network and disk: \"EDF\" is not such a plugin"},
        {"@rtf CAMERA max_utilization 1",
         "max_utilization limits CPU time, but the plugin CAMERA has another resource: use max_amount or max_user_amount"},
        {"@rtf CAMERA min_period 1ms",
         "min_period limits CPU time, but the plugin CAMERA has another resource: use max_amount or max_user_amount"},
        {"@rtf DISK max_runtime 1ms",
         "max_runtime limits CPU time, but the plugin DISK has another resource: use max_amount or max_user_amount"},
        {"@rtf DISK min_deadline 1ms",
         "min_deadline limits CPU time, but the plugin DISK has another resource: use max_amount or max_user_amount"},
        {"@rtf NET min_block 4KiB",
         "min_block needs a plugin with resource=disk: \"NET\" is not such a plugin"},
        {"@rtf EDF max_block 4KiB",
         "max_block needs a plugin with resource=disk: \"EDF\" is not such a plugin"},
        {"- - max_block 4KiB",
         "max_block needs a plugin with resource=disk: \"-\" is not such a plugin"},
        {"@rtf DISK max_block 17MiB",
         "max_block takes a size from 1B to 16MiB, such as 32KiB, not \"17MiB\""},
        {"@rtf DISK min_block 0",
         "min_block takes a size from 1B to 16MiB, such as 32KiB, not \"0\""},
        {"@rtf DISK max_period 0", "max_period" TIMES "\"0\""},
        {"@rtf CAMERA max_amount few",
         "max_amount takes a whole number in the unit of the plugin's resource, not \"few\""},
    };
    char text[200], expected[400];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "# a comment\n%s\n", wrong[i].line);
        assert_null(acl_load(file_with(text), reason));
        const char *behind_file = strchr(reason, ':'); /* the file has a name of its own here */
        snprintf(expected, sizeof expected, ":2: %s", wrong[i].sentence);
        check(behind_file != NULL && strcmp(behind_file, expected) == 0, "%s: \"%s\"",
              wrong[i].line, reason);
    }
    rules_are(
        "@rtf - max_priority 100\n\t@rtf\tEDF max_period 3600s# all of it\n\n- - max_utilization 0\n");
}

/* ---- random rules and grants ---- */

/* Rules and grants, judged by the simplest reading of acl.conf(5). */
enum { MODEL_RULES = 8, MODEL_PEOPLE = 5 };
static const struct account *const all_people[MODEL_PEOPLE] = {&ann, &ben, &cat, &stranger, &root};
static const char *const domain_words[] = {"-",      "rtfann", "20022", "@rtfteam",
                                           "@20060", "20099",  "rtfcat"};
static const bool domain_has[7][MODEL_PEOPLE] = {{true, true, true, true, true},
                                                 {true},
                                                 {false, true},
                                                 {true, true},
                                                 {true, true, true},
                                                 {false, false, false, true},
                                                 {false, false, true}};
static const char *const words[] = {"max_utilization", "max_user_utilization", "max_runtime",
                                    "min_runtime",     "max_period",           "max_priority",
                                    "max_user_threads"};

static struct model_rule {
    int domain, plugin, property;
    uint64_t value;
} model[MODEL_RULES];
static struct model_hold {
    bool is;
    int who;
    uint64_t weight;
    struct grant grant;
} model_holds[HOLDS];

static void random_rules(void)
{
    char text[MODEL_RULES * 80], *end = text, share_text[UTILIZATION_TEXT];
    for (int i = 0; i < MODEL_RULES; i++) {
        struct model_rule *rule = &model[i];
        *rule = (struct model_rule){(int)random_below(7), (int)random_below(3) - 1,
                                    i == 0 ? (int)random_below(2) : (int)random_below(7), 0};
        rule->value = rule->property < 2    ? random_below(2 * ONE_CPU)
                      : rule->property == 5 ? random_within(1, 40)
                      : rule->property == 6 ? random_below(12)
                                            : random_within(1, 20000);
        if (rule->property == 3) /* a least runtime is short */
            rule->value = random_within(1, 500);
        end += sprintf(end, "%s %s %s ", domain_words[rule->domain],
                       rule->plugin < 0      ? "-"
                       : rule->plugin == EDF ? "EDF"
                                             : "FP",
                       words[rule->property]);
        end += rule->property < 2
                   ? sprintf(end, "%s\n", format_utilization(rule->value, share_text))
                   : sprintf(end, "%llu\n", (unsigned long long)rule->value);
    }
    rules_are(text);
}

static uint64_t model_used(const struct model_rule *rule, int who, const struct model_hold *but)
{
    uint64_t used = 0;
    for (const struct model_hold *hold = model_holds; hold < model_holds + HOLDS; hold++) {
        bool counts = rule->property == 0 ? domain_has[rule->domain][hold->who] : hold->who == who;
        if (hold->is && hold != but && all_people[hold->who]->uid != 0 && counts &&
            (rule->plugin < 0 || rule->plugin == hold->grant.plugin))
            used += rule->property == 6 ? 1 : hold->weight;
    }
    return used;
}

static bool model_passes(int who, int plugin, const struct spec *spec, const struct model_hold *but)
{
    bool opens = false;
    const uint64_t weight = acl_weight(spec, spec->runtime);
    if (all_people[who]->uid == 0)
        return true;
    for (int i = 0; i < MODEL_RULES; i++) {
        const struct model_rule *rule = &model[i];
        if (!domain_has[rule->domain][who] || (rule->plugin >= 0 && rule->plugin != plugin))
            continue;
        opens |= rule->property < 2;
        if ((rule->property < 2 && model_used(rule, who, but) + weight > rule->value) ||
            (rule->property == 2 && (spec->runtime == 0 || spec->runtime > rule->value)) ||
            (rule->property == 3 && spec->runtime < rule->value) ||
            (rule->property == 4 && spec->period > rule->value) ||
            (rule->property == 6 && model_used(rule, who, but) >= rule->value) ||
            (rule->property == 5 && spec->priority > 0 && (uint64_t)spec->priority > rule->value))
            return false;
    }
    return opens;
}

static struct spec random_spec(void)
{
    struct spec spec = {.period = random_below(6) == 0 ? 0 : random_within(10, 20000),
                        .priority = (int)random_below(41)};
    spec.deadline = random_below(3) != 0 ? 0
                    : spec.period == 0   ? random_within(10, 20000)
                                         : random_within(spec.period / 2 + 1, spec.period);
    const uint64_t window = spec_window(&spec);
    spec.runtime = random_below(12) == 0 ? 0 : random_within(1, window == 0 ? 20000 : window);
    return spec;
}

static int some_nearest, none_nearest;

/* The largest runtime that the rules allow passes, and a microsecond more does not. If they allow
 * none, none passes. */
static void the_ceiling_is_exact(int who, int plugin, const struct spec *asked,
                                 const struct model_hold *own, uint64_t said_ceiling, bool passes)
{
    struct spec spec = *asked;
    if (asked->runtime == 0) {
        check(passes || said_ceiling == 0, "%llu for who states no runtime",
              (unsigned long long)said_ceiling);
        return;
    }
    if (said_ceiling == 0) {
        none_nearest++;
        assert_false(passes);
        for (spec.runtime = 1; spec.runtime < 20000; spec.runtime += 1 + spec.runtime / 7)
            check(!model_passes(who, plugin, &spec, own), "%llu would pass",
                  (unsigned long long)spec.runtime);
        return;
    }
    some_nearest++;
    spec.runtime = said_ceiling > TIME_MAX ? TIME_MAX : said_ceiling;
    check(model_passes(who, plugin, &spec, own),
          "%llu would not pass: period %llu, deadline %llu; %s", (unsigned long long)spec.runtime,
          (unsigned long long)spec.period, (unsigned long long)spec.deadline, reason);
    spec.runtime++;
    check(said_ceiling == UINT64_MAX || !model_passes(who, plugin, &spec, own),
          "%llu would pass, too", (unsigned long long)spec.runtime);
}

static void ask_at_random(void)
{
    struct model_hold *hold = &model_holds[random_below(HOLDS)];
    const bool is_change = hold->is && random_below(2) == 0;
    if (hold->is && !is_change) {
        gone(&hold->grant);
        hold->is = false;
        return;
    }
    const int plugin = (int)random_below(2),
              who = is_change ? hold->who : (int)random_below(MODEL_PEOPLE);
    const struct spec spec = random_spec();
    struct charge charge;
    const bool passes =
        ask_again(all_people[who], plugin, &spec, is_change ? &hold->grant : NULL, &charge);
    check(passes == model_passes(who, plugin, &spec, is_change ? hold : NULL), "%s", reason);
    const uint64_t said_ceiling = ceiling;
    if (all_people[who]->uid != 0) {
        if (passes) /* takes out the charge of this spec */
            acl_release(&charge);
        the_ceiling_is_exact(who, plugin, &spec, is_change ? hold : NULL, said_ceiling, passes);
        if (passes)
            assert_true(ask_again(all_people[who], plugin, &spec, is_change ? &hold->grant : NULL,
                                  &charge));
    }
    if (!passes)
        return;
    if (is_change)
        gone(&hold->grant);
    *hold = (struct model_hold){.is = true,
                                .who = who,
                                .weight = acl_weight(&spec, spec.runtime),
                                .grant = {.plugin = plugin, .spec = spec, .charge = charge}};
    acl_settle(&hold->grant.charge, hold->weight);
}

static void whatever_is_asked_is_answered_as_the_rules_say_and_nearest_is_exact(void **state)
{
    (void)state;
    random_from(7);
    for (int round = 0; round < ROUNDS(600); round++) {
        random_rules();
        for (int step = 0; step < 150; step++)
            ask_at_random();
        for (int i = 0; i < HOLDS; i++)
            if (model_holds[i].is)
                gone(&model_holds[i].grant);
        memset(model_holds, 0, sizeof model_holds);
        nothing_is_used();
    }
    assert_true(some_nearest > 5000 && none_nearest > 5000);
}

/* ---- amounts of another resource ---- */

static bool claim(const struct account *who, uint64_t count, const struct charge *own,
                  struct charge *hold, uint64_t *left)
{
    const struct claim units = {.resource = RESOURCE_UNITS, .values = {count}};
    reason[0] = '\0';
    refusal = (struct refusal){0};
    return acl_check_claim(rules_now, who, CAMERA, &units, own, hold, left, &refusal, reason);
}

static void claim_denied(const struct account *who, uint64_t count, const struct charge *own,
                         uint64_t nearest, bool never, const char *expected)
{
    struct charge hold;
    uint64_t left;
    check(!claim(who, count, own, &hold, &left) && strcmp(reason, expected) == 0,
          "\"%s\" instead of \"%s\"", reason, expected);
    assert_int_equal(left, nearest);
    assert_int_equal(refusal.never, never);
    assert_int_equal(hold.count, 0);
}

static void amounts_are_bounded_for_all_and_for_each(void **state)
{
    struct charge anns, bens, more;
    uint64_t left;
    (void)state;
    rules_are("- - max_utilization 1\n@rtf CAMERA max_amount 3\n- CAMERA max_user_amount 2\n");
    claim_denied(&ann, 3, NULL, 2, true, "acl.conf:3: - CAMERA max_user_amount 2: 0 used, 3 asked");
    assert_true(claim(&ann, 2, NULL, &anns, &left));
    claim_denied(&ann, 1, NULL, 0, false,
                 "acl.conf:3: - CAMERA max_user_amount 2: 2 used, 1 asked");
    claim_denied(&ben, 2, NULL, 1, false, "acl.conf:2: @rtf CAMERA max_amount 3: 2 used, 2 asked");
    assert_true(claim(&ben, 1, NULL, &bens, &left));
    /* a change is charged with its grant alone */
    assert_true(claim(&ann, 1, &anns, &more, &left));
    assert_int_equal(left, 2);
    acl_release(&more);
    acl_release(&anns);
    acl_release(&bens);
    uses = 0;
    acl_each(rules_now, count_use);
    assert_int_equal(uses, 0);
}

/* A rule that opens CPU time opens nothing else, and a rule that bounds CPU time bounds nothing
 * else. */
static void amounts_are_closed_by_default(void **state)
{
    struct charge hold;
    uint64_t left;
    (void)state;
    rules_are("- - max_utilization 1\n- - max_user_utilization 1\n");
    claim_denied(
        &cat, 1, NULL, 0, true,
        "no rule in acl.conf opens anything (max_amount or max_user_amount) for rtfcat (uid 20023) on CAMERA");
    rules_are("- - max_runtime 1\n- - min_period 1s\nrtfcat CAMERA max_amount 0\n");
    claim_denied(&cat, 1, NULL, 0, true, "acl.conf:3: rtfcat CAMERA max_amount 0: 0 used, 1 asked");
    assert_true(claim(&root, 1000, NULL, &hold, &left));
    assert_int_equal(hold.count, 0);
    rules_are("rtfcat CAMERA max_amount 9\n");
    assert_true(claim(&cat, 9, NULL, &hold, &left));
    assert_int_equal(left, 9);
    acl_release(&hold);
    denied(
        &cat, EDF, (struct spec){.runtime = 1, .period = 1000},
        "no rule in acl.conf opens anything (max_utilization or max_user_utilization) for rtfcat (uid 20023) on EDF");
}

/* ---- periods and blocks of claims ---- */

static bool claims(const struct account *who, const struct claim *claim, uint64_t *left)
{
    struct charge hold;
    reason[0] = '\0';
    refusal = (struct refusal){0};
    const bool may = acl_check_claim(rules_now, who, claim->resource == RESOURCE_DISK ? DISK : NET,
                                     claim, NULL, &hold, left, &refusal, reason);
    if (may)
        acl_release(&hold);
    return may;
}

static const struct value_bound {
    const char *rule;
    struct claim below, at, above;
    const char *asked, *available;
} value_bounds[] = {
    {"DISK min_block 4KiB",
     {.resource = RESOURCE_DISK, .values = {8192, 50000, 4097}},
     {.resource = RESOURCE_DISK, .values = {8192, 50000, 4096}},
     {.resource = RESOURCE_DISK, .values = {8192, 50000, 4095}},
     "4095B",
     "4096B"},
    {"DISK max_block 128KiB",
     {.resource = RESOURCE_DISK, .values = {8192, 50000, 131071}},
     {.resource = RESOURCE_DISK, .values = {8192, 50000, 131072}},
     {.resource = RESOURCE_DISK, .values = {8192, 50000, 131073}},
     "131073B",
     "131072B"},
    {"DISK min_period 20ms",
     {.resource = RESOURCE_DISK, .values = {1, 20001, 4096}},
     {.resource = RESOURCE_DISK, .values = {1, 20000, 4096}},
     {.resource = RESOURCE_DISK, .values = {1, 19999, 4096}},
     "19999us",
     "20000us"},
    {"DISK max_period 1s",
     {.resource = RESOURCE_DISK, .values = {1, 999999, 4096}},
     {.resource = RESOURCE_DISK, .values = {1, 1000000, 4096}},
     {.resource = RESOURCE_DISK, .values = {1, 1000001, 4096}},
     "1000001us",
     "1000000us"},
    {"NET min_period 5000",
     {.resource = RESOURCE_NETWORK, .values = {1, 5001}},
     {.resource = RESOURCE_NETWORK, .values = {1, 5000}},
     {.resource = RESOURCE_NETWORK, .values = {1, 4999}},
     "4999us",
     "5000us"},
    {"NET max_period 2s",
     {.resource = RESOURCE_NETWORK, .values = {1, 1999999}},
     {.resource = RESOURCE_NETWORK, .values = {1, 2000000}},
     {.resource = RESOURCE_NETWORK, .values = {1, 2000001}},
     "2000001us",
     "2000000us"},
};

static void value_binds(const struct value_bound *bound, const struct domain *domain)
{
    char text[300], rule[100], expected[200];
    uint64_t left;
    snprintf(rule, sizeof rule, "%s %s", domain->name, bound->rule);
    snprintf(text, sizeof text, "- DISK max_bandwidth 1MB\n- NET max_bandwidth 1MB\n%s\n", rule);
    snprintf(expected, sizeof expected, "acl.conf:3: %s: %s asked", rule, bound->asked);
    rules_are(text);
    for (int i = 0; i < 3; i++) {
        assert_true(claims(people[i], &bound->below, &left) &&
                    claims(people[i], &bound->at, &left));
        assert_int_equal(left, 1000000);
        if (!domain->binds[i]) {
            assert_true(claims(people[i], &bound->above, &left));
            continue;
        }
        check(!claims(people[i], &bound->above, &left) && strcmp(reason, expected) == 0,
              "\"%s\" instead of \"%s\"", reason, expected);
        assert_string_equal(refusal.asked, bound->asked);
        assert_string_equal(refusal.available, bound->available);
        assert_true(refusal.never);
        assert_int_equal(left, 0); /* no other amount would be granted */
    }
    assert_true(claims(&root, &bound->above, &left));
}

static void periods_and_blocks_of_claims_are_bounded_for_each_domain(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof value_bounds / sizeof *value_bounds; i++)
        for (int j = 0; j < DOMAINS; j++)
            value_binds(&value_bounds[i], &domains[j]);
}

/* A bound of claims opens nothing, and bounds only claims of that line. */
static void bounds_of_claims_open_nothing(void **state)
{
    const struct claim small = {.resource = RESOURCE_DISK, .values = {1, 1000, 512}};
    uint64_t left;
    (void)state;
    rules_are("- - max_utilization 1\n- DISK min_block 1B\n- DISK max_period 1s\n");
    assert_false(claims(&ann, &small, &left));
    assert_string_equal(
        reason,
        "no rule in acl.conf opens anything (max_amount or max_user_amount) for rtfann (uid 20021) on DISK");
    rules_are(
        "- - max_utilization 1\n- - min_period 10ms\n- DISK max_amount 1000000\n- NET max_amount 1\n- NET min_period 1s\n");
    assert_true(claims(&ann, &small, &left));
    gone(granted(&ann, EDF, (struct spec){.runtime = 100, .period = 10000}));
}

/* Fails unless the first word of *asked is refused. NULL: fails unless all words pass. */
static void extras_are_judged(struct extras extras, uint64_t locked, const char *why)
{
    refusal = (struct refusal){0};
    reason[0] = '\0';
    const bool passes = acl_extras_pass(rules_now, &ann, &extras, locked, &refusal, reason);
    check(passes == (why == NULL) && (passes || strstr(reason, why) != NULL), "%s", reason);
}

static void extras_are_closed_by_default_and_each_rule_bounds_its_key(void **state)
{
    (void)state;
    const struct extras all = {
        .lock_memory = 10, .cpu_latency = 10, .nice = -5, .clamp_min = 101, .clamp_max = 201};
    rules_are("- - max_utilization 1\n");
    extras_are_judged((struct extras){0}, 0, NULL);
    extras_are_judged((struct extras){.lock_memory = 1}, 0, "allows lock_memory");
    extras_are_judged((struct extras){.cpu_latency = 1000000}, 0, "allows cpu_latency");
    extras_are_judged((struct extras){.nice = -1}, 0, "allows nice");
    extras_are_judged((struct extras){.clamp_max = 1}, 0, "allows clamp");
    assert_int_equal(refusal.code, WHY_NOT_OPENED);
    rules_are(
        "rtfann - max_lock_memory 10\n@rtf - max_user_lock_memory 20B\n- - min_cpu_latency 10\n"
        "@rtfteam - min_nice -5\n20021 - max_clamp 100\n");
    extras_are_judged(all, 10, NULL);
    extras_are_judged((struct extras){.lock_memory = 11}, 0, "lock_memory 11B asked");
    assert_true(refusal.code == WHY_BEYOND_RULE && refusal.never);
    extras_are_judged((struct extras){.lock_memory = 10}, 11, "lock_memory 10B asked, 11B used");
    assert_true(refusal.code == WHY_RULE_USED_UP && !refusal.never);
    assert_string_equal(refusal.available, "9B");
    extras_are_judged((struct extras){.cpu_latency = 9}, 0, "cpu_latency 9us asked");
    extras_are_judged((struct extras){.nice = -6}, 0, "nice -6 asked");
    assert_string_equal(refusal.available, "-5");
    extras_are_judged((struct extras){.clamp_min = 102}, 0, "clamp min 101 asked");
    extras_are_judged((struct extras){.clamp_max = 1025}, 0, NULL);
    rules_are("- - max_lock_memory 0\n- - min_nice 0\nrtfben - min_cpu_latency 1\n");
    extras_are_judged((struct extras){.lock_memory = 1}, 0, "max_lock_memory 0");
    extras_are_judged((struct extras){.nice = -1}, 0, "min_nice 0");
    extras_are_judged((struct extras){.cpu_latency = 5}, 0, "allows cpu_latency");
}

static bool may_trace(const struct account *account, const char *why)
{
    reason[0] = '\0';
    const bool may = acl_may_trace(rules_now, account, reason);
    if (!may)
        assert_string_equal(reason, why);
    return may;
}

static void a_trace_needs_a_rule_that_says_true_and_none_that_says_false(void **state)
{
    static const char closed[] = "no rule in acl.conf allows you to trace (trace true)";
    (void)state;
    rules_are("- - max_utilization 1\n");
    assert_false(may_trace(&ann, closed));
    assert_true(may_trace(&root, NULL));
    rules_are("@rtf - trace true\nrtfben - trace  false\n@rtf - trace true\n");
    assert_true(may_trace(&ann, NULL));
    assert_false(may_trace(&ben, "acl.conf:2: rtfben - trace false"));
    assert_false(may_trace(&stranger, closed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_and_priorities_are_bounded_for_each_domain),
        cmocka_unit_test(sums_are_bounded_for_each_domain),
        cmocka_unit_test(
            passing_over_the_test_needs_a_rule_that_says_true_and_none_that_says_false),
        cmocka_unit_test(reclaiming_needs_a_rule_that_says_true_and_none_that_says_false),
        cmocka_unit_test(without_an_opening_nobody_but_root_has_anything),
        cmocka_unit_test(all_rules_that_match_must_hold),
        cmocka_unit_test(the_papers_example),
        cmocka_unit_test(what_states_no_runtime_or_no_window_weighs_a_cpu),
        cmocka_unit_test(no_runtime_is_nearest_where_none_would_help),
        cmocka_unit_test(what_is_not_stated_passes_its_bounds_but_for_runtimes),
        cmocka_unit_test(a_tick_bounds_deadline_plugins_only),
        cmocka_unit_test(a_release_gives_back_exactly_what_was_charged),
        cmocka_unit_test(a_change_does_not_count_against_itself),
        cmocka_unit_test(what_is_asked_for_is_charged_before_the_answer),
        cmocka_unit_test(threads_are_counted_for_each_user_and_plugin),
        cmocka_unit_test(a_tick_is_a_number_of_threads),
        cmocka_unit_test(new_rules_count_the_threads_that_are_there),
        cmocka_unit_test(root_is_neither_restricted_nor_counted),
        cmocka_unit_test(a_stranger_is_known_by_his_uid_only),
        cmocka_unit_test(new_rules_charge_what_is_held_and_tell_who_is_over),
        cmocka_unit_test(planned_priorities_are_bounded_too),
        cmocka_unit_test(each_wrong_line_is_named_with_what_is_allowed),
        cmocka_unit_test(amounts_are_bounded_for_all_and_for_each),
        cmocka_unit_test(amounts_are_closed_by_default),
        cmocka_unit_test(extras_are_closed_by_default_and_each_rule_bounds_its_key),
        cmocka_unit_test(a_trace_needs_a_rule_that_says_true_and_none_that_says_false),
        cmocka_unit_test(periods_and_blocks_of_claims_are_bounded_for_each_domain),
        cmocka_unit_test(bounds_of_claims_open_nothing),
        cmocka_unit_test(whatever_is_asked_is_answered_as_the_rules_say_and_nearest_is_exact),
    };
    return cmocka_run_group_tests_name("acl", tests, set_up, tear_down);
}
