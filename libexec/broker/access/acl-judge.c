#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "acl-rules.h"
#include "acl.h"
#include "max-user-threads.h"
#include "min-runtime.h"
#include "plugin-lines.h"
#include "spec.h"
#include "units.h"

bool rule_is_of(const struct rule *rule, const struct account *account)
{
    switch (rule->domain) {
    case EVERYBODY: return true;
    case USER_ID: return rule->id == account->uid;
    case USER_NAME: return account->name != NULL && strcmp(rule->name, account->name) == 0;
    case GROUP_ID: return account_has_gid(account, rule->id);
    case GROUP_NAME:
        for (char **group = account->groups; group != NULL && *group != NULL; group++)
            if (strcmp(*group, rule->name) == 0)
                return true;
        return false;
    }
    return false;
}

bool rule_is_of_amounts(const struct rule *rule)
{
    return rule->property == MAX_AMOUNT || rule->property == MAX_USER_AMOUNT;
}

/* Returns the name of the value that the rule bounds in claims: the block size or the period. NULL:
 * the rule bounds neither of the two. */
static const char *bounded_key(const struct rule *rule)
{
    const bool block = rule->property == MIN_BLOCK || rule->property == MAX_BLOCK;
    return block                                                          ? "block"
           : rule->property == MIN_PERIOD || rule->property == MAX_PERIOD ? "period"
                                                                          : NULL;
}

/* Returns the index of the value `name` in a claim on the resource; -1: the resource has no such
 * value. */
static int place_of_key(enum resource resource, const char *name)
{
    const struct claim_key *keys = resource_keys(resource);
    for (int i = 0; name != NULL && i < CLAIM_VALUES && keys[i].name != NULL; i++)
        if (strcmp(keys[i].name, name) == 0)
            return i;
    return -1;
}

bool rule_concerns(const struct rule *rule, enum resource resource)
{
    if (resource == RESOURCE_CPU)
        return !rule_is_of_amounts(rule) && rule->property != MIN_BLOCK &&
               rule->property != MAX_BLOCK;
    return rule_is_of_amounts(rule) || place_of_key(resource, bounded_key(rule)) >= 0;
}

bool rule_matches(const struct rule *rule, const struct account *account, int plugin)
{
    return (rule->plugin == plugin ||
            (rule->plugin == ANY_PLUGIN && plugin_line(plugin)->resource == RESOURCE_CPU)) &&
           rule_is_of(rule, account);
}

bool rule_is_of_each(const struct rule *rule)
{
    return rule->property == MAX_USER_UTILIZATION || rule->property == MAX_USER_AMOUNT ||
           rule->property == MAX_USER_THREADS;
}

struct counter *acl_user_counter(struct acl *acl, const struct rule *rule, uid_t uid)
{
    char key[104];
    const bool of_threads = rule->property == MAX_USER_THREADS;
    snprintf(key, sizeof key, "%s %u %d", of_threads ? "threads" : "uid", uid, rule->plugin);
    struct counter *counter = acl_counter(acl, key);
    counter->of_threads = of_threads;
    return counter;
}

struct counter *rule_counter(struct acl *acl, const struct rule *rule,
                             const struct account *account)
{
    if (rule->property == MAX_UTILIZATION || rule->property == MAX_AMOUNT)
        return rule->counter;
    return rule_is_of_each(rule) ? acl_user_counter(acl, rule, account->uid) : NULL;
}

bool rule_opens(const struct rule *rule)
{
    return rule->property == MAX_UTILIZATION || rule->property == MAX_USER_UTILIZATION ||
           rule_is_of_amounts(rule);
}

static uint64_t held_by(const struct grant *const own[2], const struct counter *counter)
{
    return (own[0] == NULL ? 0 : acl_charged(&own[0]->charge, counter)) +
           (own[1] == NULL ? 0 : acl_charged(&own[1]->charge, counter));
}

void rule_denies(struct question *question, const struct rule *rule, enum remedy remedy,
                 const char *format, ...)
{
    char why[200];
    va_list arguments;
    question->never |= remedy != WHEN_FREED;
    question->denied_for_good |= remedy == NONE;
    if (question->denied)
        return;
    question->denied = true;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    question->refusal->code = remedy == WHEN_FREED ? WHY_RULE_USED_UP : WHY_BEYOND_RULE;
    snprintf(question->refusal->by, sizeof question->refusal->by, "access");
    snprintf(question->refusal->rule, sizeof question->refusal->rule, "acl.conf:%d: %s", rule->line,
             rule->text);
    snprintf(question->reason, REASON_BYTES, "acl.conf:%d: %s: %s", rule->line, rule->text, why);
}

static void tell_priority(struct refusal *refusal, int asked, uint64_t available)
{
    if (refusal->asked[0] != '\0')
        return;
    snprintf(refusal->asked, sizeof refusal->asked, "%d", asked);
    snprintf(refusal->available, sizeof refusal->available, "%llu", (unsigned long long)available);
}

void refusal_tell_time(struct refusal *refusal, uint64_t asked, uint64_t available)
{
    if (refusal->asked[0] != '\0')
        return;
    snprintf(refusal->asked, sizeof refusal->asked, "%lluus", (unsigned long long)asked);
    snprintf(refusal->available, sizeof refusal->available, "%lluus",
             (unsigned long long)available);
}

uint64_t rule_used(const struct question *question, const struct rule *rule)
{
    const struct counter *counter = rule_counter(question->acl, rule, question->account);
    return counter->used - held_by(question->own, counter);
}

static void judge_utilization(struct question *question, const struct rule *rule)
{
    uint64_t used = rule_used(question, rule);
    uint64_t left = used >= rule->value ? 0 : rule->value - used;
    uint64_t asked = acl_weight(question->spec, question->spec->runtime),
             window = spec_window(question->spec);
    char asked_text[UTILIZATION_TEXT], used_text[UTILIZATION_TEXT], left_text[UTILIZATION_TEXT];
    if (question->spec->runtime != 0 && window != 0) {
        uint64_t most = runtime_within(left, window);
        if (most < question->ceiling)
            question->ceiling = most;
    }
    if (asked <= left)
        return;
    bool first = !question->denied;
    bool fixed = question->spec->runtime == 0 || window == 0;
    /* a spec without a runtime, or without a period and a deadline, counts as a whole CPU: no
     * runtime passes this rule */
    if (fixed)
        question->ceiling = 0;
    rule_denies(question, rule,
                asked <= rule->value ? WHEN_FREED
                : fixed              ? NONE
                                     : OTHER_RUNTIME,
                "%s used, %s asked%s", format_utilization(used, used_text),
                format_utilization(asked, asked_text),
                question->spec->runtime == 0 ? " (a spec without runtime weighs a whole CPU)"
                : window == 0                ? " (a spec without period weighs a whole CPU)"
                                             : "");
    if (first) {
        question->refusal->counter = rule_counter(question->acl, rule, question->account);
        question->refusal->lacks = asked - left;
        snprintf(question->refusal->asked, sizeof question->refusal->asked, "%s", asked_text);
        snprintf(question->refusal->available, sizeof question->refusal->available, "%s",
                 format_utilization(left, left_text));
    }
}

static void judge_runtime(struct question *question, const struct rule *rule)
{
    uint64_t asked = question->spec->runtime;
    if (asked == 0) {
        rule_denies(question, rule, NONE, "the spec states no runtime");
        return;
    }
    if (rule->value < question->ceiling)
        question->ceiling = rule->value;
    if (asked > rule->value) {
        rule_denies(question, rule, OTHER_RUNTIME, "%lluus asked", (unsigned long long)asked);
        refusal_tell_time(question->refusal, asked, rule->value);
    }
}

static void judge_time(struct question *question, const struct rule *rule, uint64_t stated,
                       bool least)
{
    if (stated == 0 || (least ? stated >= rule->value : stated <= rule->value))
        return;
    rule_denies(question, rule, NONE, "%lluus asked", (unsigned long long)stated);
    refusal_tell_time(question->refusal, stated, rule->value);
}

static bool priority_passes(const struct rule *rule, int priority)
{
    return rule->property == MIN_PRIORITY ? (uint64_t)priority >= rule->value
                                          : (uint64_t)priority <= rule->value;
}

void rule_judge(struct question *question, const struct rule *rule)
{
    const struct spec *spec = question->spec;
    switch (rule->property) {
    case MAX_UTILIZATION:
    case MAX_USER_UTILIZATION: judge_utilization(question, rule); break;
    case MAX_USER_THREADS: judge_threads(question, rule); break;
    case MIN_RUNTIME: judge_least_runtime(question, rule); break;
    case MAX_RUNTIME: judge_runtime(question, rule); break;
    case MIN_PERIOD:
    case MAX_PERIOD: judge_time(question, rule, spec->period, rule->property == MIN_PERIOD); break;
    case MIN_DEADLINE:
    case MAX_DEADLINE:
        judge_time(question, rule, spec->deadline != 0 ? spec->deadline : spec->period,
                   rule->property == MIN_DEADLINE);
        break;
    case MIN_PRIORITY:
    case MAX_PRIORITY:
        if (spec->priority == 0 || priority_passes(rule, spec->priority))
            break;
        rule_denies(question, rule, NONE, "%d asked", spec->priority);
        tell_priority(question->refusal, spec->priority, rule->value);
        break;
    case IGNORE_ADM_TEST:
        if (spec->ignore_admission && rule->value == 0)
            rule_denies(question, rule, NONE, "the spec says \"ignore_admission\": true");
        break;
    case RECLAIM:
        if (spec->reclaim && rule->value == 0)
            rule_denies(question, rule, NONE, "the spec says \"reclaim\": true");
        break;
    case MAX_AMOUNT: /* acl_check_claim judges this property */
    case MAX_USER_AMOUNT:
    case MAX_IMPORTANCE:  /* acl_importance_passes judges this property */
    case MAX_LOCK_MEMORY: /* acl_extras_pass judges these properties */
    case MAX_USER_LOCK_MEMORY:
    case MIN_CPU_LATENCY:
    case MIN_NICE:
    case MAX_CLAMP:
    case TRACE:     /* acl_may_trace judges this property */
    case MIN_BLOCK: /* acl_check_claim judges these properties */
    case MAX_BLOCK:
    case PROPERTIES: break;
    }
}

void deny_by_default(struct question *question, const char *plugin_name, const char *what)
{
    question->never = question->denied_for_good = true;
    if (question->denied)
        return;
    question->denied = true;
    question->refusal->code = WHY_NOT_OPENED;
    snprintf(question->refusal->by, sizeof question->refusal->by, "access");
    snprintf(question->reason, REASON_BYTES, "no rule in acl.conf %s for %s (uid %u) on %s", what,
             question->account->name == NULL ? "a user without account" : question->account->name,
             question->account->uid, plugin_name);
}

/* Subtracts from the charge `hold` of the request the charges that the reservation has already:
 * `own`, of its grant, and `other`, of the offer of another plugin. If `hold` kept its whole
 * amount, two users who rewrite their specs at the same time could cause each other's refusal. */
static void leave_out(struct charge *hold, const struct charge *own, const struct charge *other)
{
    for (int i = 0; i < hold->count; i++) {
        struct charged *part = &hold->parts[i];
        uint64_t held = (own == NULL ? 0 : acl_charged(own, part->counter)) +
                        (other == NULL ? 0 : acl_charged(other, part->counter));
        uint64_t less = held < part->amount ? held : part->amount;
        part->counter->used -= less;
        part->amount -= less;
    }
}

bool acl_check(struct acl *acl, const struct account *account, int plugin, const char *plugin_name,
               const struct spec *spec, const struct grant *const own[2], struct charge *hold,
               uint64_t *least, uint64_t *ceiling, struct refusal *refusal,
               char reason[static REASON_BYTES])
{
    struct question question = {.acl = acl,
                                .account = account,
                                .plugin = plugin,
                                .spec = spec,
                                .own = own,
                                .ceiling = UINT64_MAX,
                                .refusal = refusal,
                                .reason = reason};
    bool opens = false, may_ignore = false, may_reclaim = false;
    *ceiling = UINT64_MAX;
    *least = 0;
    *hold = (struct charge){0};
    if (account->uid == 0)
        return true;
    *refusal = (struct refusal){0};
    for (int i = 0; i < acl->count; i++) {
        const struct rule *rule = &acl->rules[i];
        if (!rule_matches(rule, account, plugin))
            continue;
        opens |= rule_opens(rule);
        may_ignore |= rule->property == IGNORE_ADM_TEST && rule->value == 1;
        may_reclaim |= rule->property == RECLAIM && rule->value == 1;
        rule_judge(&question, rule);
    }
    if (!opens)
        deny_by_default(&question, plugin_name,
                        "opens anything (max_utilization or max_user_utilization)");
    else if (spec->ignore_admission && !may_ignore)
        deny_by_default(&question, plugin_name, "allows ignore_adm_test");
    else if (spec->reclaim && !may_reclaim)
        deny_by_default(&question, plugin_name, "allows reclaim (reclaim true)");
    *least = question.least;
    *ceiling = question.denied_for_good || question.ceiling < question.least ? 0 : question.ceiling;
    refusal->never = question.never;
    if (question.denied)
        return false;
    uint64_t most = spec->desired_runtime == 0 ? spec->runtime : spec->desired_runtime;
    acl_charge(acl, account, plugin, acl_weight(spec, most < *ceiling ? most : *ceiling), hold);
    leave_out(hold, own[0] == NULL ? NULL : &own[0]->charge,
              own[1] == NULL ? NULL : &own[1]->charge);
    return true;
}

/* ---- amounts of other resources ---- */

static void judge_amount(struct question *question, const struct rule *rule, uint64_t asked,
                         uint64_t used, uint64_t *left)
{
    const uint64_t room = used >= rule->value ? 0 : rule->value - used;
    *left = room < *left ? room : *left;
    if (asked <= room)
        return;
    const bool first = !question->denied;
    rule_denies(question, rule, asked <= rule->value ? WHEN_FREED : NONE, "%llu used, %llu asked",
                (unsigned long long)used, (unsigned long long)asked);
    if (first) {
        question->refusal->counter = rule_counter(question->acl, rule, question->account);
        snprintf(question->refusal->asked, sizeof question->refusal->asked, "%llu",
                 (unsigned long long)asked);
        snprintf(question->refusal->available, sizeof question->refusal->available, "%llu",
                 (unsigned long long)room);
    }
}

/* Judges the period or the block size of a claim. */
static bool judge_value(struct question *question, const struct rule *rule,
                        const struct claim *claim)
{
    const bool least = rule->property == MIN_PERIOD || rule->property == MIN_BLOCK,
               period = rule->property == MIN_PERIOD || rule->property == MAX_PERIOD;
    const uint64_t asked = claim->values[place_of_key(claim->resource, bounded_key(rule))];
    if (least ? asked >= rule->value : asked <= rule->value)
        return true;
    const bool first = !question->denied;
    rule_denies(question, rule, NONE, "%llu%s asked", (unsigned long long)asked,
                period ? "us" : "B");
    if (first) {
        snprintf(question->refusal->asked, sizeof question->refusal->asked, "%llu%s",
                 (unsigned long long)asked, period ? "us" : "B");
        snprintf(question->refusal->available, sizeof question->refusal->available, "%llu%s",
                 (unsigned long long)rule->value, period ? "us" : "B");
    }
    return false;
}

bool acl_check_claim(struct acl *acl, const struct account *account, int plugin,
                     const struct claim *claim, const struct charge *own, struct charge *hold,
                     uint64_t *left, struct refusal *refusal, char reason[static REASON_BYTES])
{
    struct question question = {
        .acl = acl, .account = account, .plugin = plugin, .refusal = refusal, .reason = reason};
    const uint64_t asked = claim_amount(claim);
    bool opens = false, holds = true;
    *left = UINT64_MAX;
    *hold = (struct charge){0};
    if (account->uid == 0)
        return true;
    for (int i = 0; i < acl->count; i++) {
        const struct rule *rule = &acl->rules[i];
        if (!rule_matches(rule, account, plugin))
            continue;
        if (!rule_is_of_amounts(rule)) {
            holds &= judge_value(&question, rule, claim);
            continue;
        }
        const struct counter *counter = rule_counter(acl, rule, account);
        opens = true;
        judge_amount(&question, rule, asked,
                     counter->used - (own == NULL ? 0 : acl_charged(own, counter)), left);
    }
    if (!opens)
        deny_by_default(&question, plugin_line(plugin)->name,
                        "opens anything (max_amount or max_user_amount)");
    /* no amount passes while the period or the block size breaks a rule */
    *left = opens && holds ? *left : 0;
    refusal->never = question.never;
    if (question.denied)
        return false;
    acl_charge(acl, account, plugin, asked, hold);
    leave_out(hold, own, NULL);
    return true;
}

/* A claim without a guarantee needs a rule on the plugin's sum with a bound above 0. The claim
 * passes even if the sum is used up, because the claim takes nothing from the sum. */
bool acl_check_background(struct acl *acl, const struct account *account, int plugin,
                          struct refusal *refusal, char reason[static REASON_BYTES])
{
    struct question question = {
        .acl = acl, .account = account, .plugin = plugin, .refusal = refusal, .reason = reason};
    bool opens = account->uid == 0;
    for (int i = 0; account->uid != 0 && i < acl->count; i++) {
        const struct rule *rule = &acl->rules[i];
        if (!rule_is_of_amounts(rule) || !rule_matches(rule, account, plugin))
            continue;
        opens = true;
        if (rule->value == 0)
            rule_denies(&question, rule, NONE,
                        "the bound 0 forbids this plugin, also for claims without a guarantee");
    }
    if (!opens)
        deny_by_default(&question, plugin_line(plugin)->name,
                        "opens anything (max_amount or max_user_amount)");
    refusal->never = question.never;
    return !question.denied;
}

bool acl_importance_passes(struct acl *acl, const struct account *account, int importance,
                           struct refusal *refusal, char reason[static REASON_BYTES])
{
    struct question question = {.acl = acl,
                                .account = account,
                                .refusal = refusal,
                                .reason = reason};
    bool opens = account->uid == 0;
    for (int i = 0; account->uid != 0 && i < acl->count; i++) {
        const struct rule *rule = &acl->rules[i];
        if (rule->property != MAX_IMPORTANCE || !rule_is_of(rule, account))
            continue;
        opens = true;
        if ((uint64_t)importance > rule->value)
            rule_denies(&question, rule, NONE, "%d asked", importance);
    }
    if (!opens)
        deny_by_default(&question, "any plugin", "allows an importance (max_importance)");
    refusal->never = question.never;
    return !question.denied;
}

bool acl_priority_passes(struct acl *acl, const struct account *account, int plugin, int priority,
                         struct refusal *refusal, char reason[static REASON_BYTES])
{
    struct question question = {
        .acl = acl, .account = account, .plugin = plugin, .refusal = refusal, .reason = reason};
    for (int i = 0; account->uid != 0 && i < acl->count; i++) {
        const struct rule *rule = &acl->rules[i];
        if ((rule->property == MIN_PRIORITY || rule->property == MAX_PRIORITY) &&
            rule_matches(rule, account, plugin) && !priority_passes(rule, priority)) {
            rule_denies(&question, rule, NONE, "%d planned", priority);
            tell_priority(refusal, priority, rule->value);
            refusal->never = true;
        }
    }
    return !question.denied;
}
