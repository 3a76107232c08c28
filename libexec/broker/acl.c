#include "acl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "event.h"
#include "spec.h"
#include "units.h"

enum property {
    MAX_UTILIZATION, MAX_USER_UTILIZATION, MAX_RUNTIME, MIN_PERIOD, MAX_PERIOD, MIN_DEADLINE, MAX_DEADLINE,
    MIN_PRIORITY, MAX_PRIORITY, IGNORE_ADM_TEST, PROPERTIES
};
static const char *const property_names[PROPERTIES] = {
    [MAX_UTILIZATION] = "max_utilization", [MAX_USER_UTILIZATION] = "max_user_utilization", [MAX_RUNTIME] = "max_runtime",
    [MIN_PERIOD] = "min_period",           [MAX_PERIOD] = "max_period",                     [MIN_DEADLINE] = "min_deadline",
    [MAX_DEADLINE] = "max_deadline",       [MIN_PRIORITY] = "min_priority",                 [MAX_PRIORITY] = "max_priority",
    [IGNORE_ADM_TEST] = "ignore_adm_test",
};

enum domain { EVERYBODY, USER_NAME, USER_ID, GROUP_NAME, GROUP_ID };
enum { ANY_PLUGIN = -1 };

struct rule {
    int line;
    enum domain domain;
    char name[64]; /* as written, without the @ */
    uint32_t id;
    int plugin;
    enum property property;
    uint64_t value;
    char text[160]; /* the line, blanks folded */
    struct counter *counter; /* of the subject, for max_utilization */
};

/* What a subject, or (for_uid) one uid under one plugin, uses in all: billionths of a CPU. */
struct counter {
    char key[104];
    uint64_t used;
    UT_hash_handle hh;
};

struct acl {
    struct rule *rules;
    int count;
    struct counter *counters;
};

/* ---- reading the file ---- */

static bool parse_domain(const char *word, struct rule *rule, char *reason)
{
    uint64_t id;
    bool group = word[0] == '@';
    const char *name = group ? word + 1 : word;
    if (strcmp(word, "-") == 0) {
        rule->domain = EVERYBODY;
        return true;
    }
    if (*name == '\0' || strlen(name) >= sizeof rule->name)
        return conf_wrong(reason, "acl.conf", rule->line, "a domain is a user name, a uid, @group or -, not \"%.40s\"", word);
    snprintf(rule->name, sizeof rule->name, "%s", name);
    if (parse_number(name, UINT32_MAX - 1, &id)) {
        rule->domain = group ? GROUP_ID : USER_ID;
        rule->id = (uint32_t)id;
    } else
        rule->domain = group ? GROUP_NAME : USER_NAME;
    return true;
}

/* Times are microseconds as in the paper's file, or carry a unit. */
static bool parse_value(const char *word, struct rule *rule, char *reason)
{
    switch (rule->property) {
    case MAX_UTILIZATION:
    case MAX_USER_UTILIZATION:
        return parse_utilization(word, &rule->value) ||
               conf_wrong(reason, "acl.conf", rule->line, "%s takes CPUs in decimals, such as 0.5 or 2, not \"%.40s\"", property_names[rule->property], word);
    case MIN_PRIORITY:
    case MAX_PRIORITY:
        return (parse_number(word, 100, &rule->value) && rule->value > 0) ||
               conf_wrong(reason, "acl.conf", rule->line, "%s takes a priority from 1 to 100, not \"%.40s\"", property_names[rule->property], word);
    case IGNORE_ADM_TEST:
        rule->value = strcmp(word, "true") == 0;
        return rule->value == 1 || strcmp(word, "false") == 0 ||
               conf_wrong(reason, "acl.conf", rule->line, "ignore_adm_test takes true or false, not \"%.40s\"", word);
    default:
        return (parse_number(word, TIME_MAX, &rule->value) && rule->value > 0) || parse_time(word, &rule->value) ||
               conf_wrong(reason, "acl.conf", rule->line, "%s takes a time from 1us to 3600s, with us, ms or s or as bare microseconds, not \"%.40s\"",
                     property_names[rule->property], word);
    }
}

static bool parse_rule(char *const words[], struct rule *rule, int (*plugin_index)(const char *), char *reason)
{
    if (!parse_domain(words[0], rule, reason))
        return false;
    rule->plugin = strcmp(words[1], "-") == 0 ? ANY_PLUGIN : plugin_index(words[1]);
    if (rule->plugin == -1 && strcmp(words[1], "-") != 0)
        return conf_wrong(reason, "acl.conf", rule->line, "plugins.conf has no plugin \"%.40s\"; - means any", words[1]);
    for (rule->property = 0; rule->property < PROPERTIES; rule->property++)
        if (strcmp(words[2], property_names[rule->property]) == 0)
            break;
    if (rule->property == PROPERTIES)
        return conf_wrong(reason, "acl.conf", rule->line, "unknown property \"%.40s\": max_utilization, max_user_utilization, max_runtime, min_period, "
                                         "max_period, min_deadline, max_deadline, min_priority, max_priority or ignore_adm_test", words[2]);
    snprintf(rule->text, sizeof rule->text, "%.40s %.32s %s %.24s", words[0], words[1], words[2], words[3]);
    return parse_value(words[3], rule, reason);
}

static bool add_line(struct acl *acl, const struct conf *conf, int (*plugin_index)(const char *), char *reason)
{
    if (conf->count != 4)
        return conf_wrong(reason, conf->name, conf->line, "a rule has four words, DOMAIN PLUGIN PROPERTY VALUE, here are %d", conf->count);
    struct rule *rules = realloc(acl->rules, (size_t)(acl->count + 1) * sizeof *rules);
    if (rules == NULL)
        abort();
    acl->rules = rules;
    struct rule *rule = &rules[acl->count];
    *rule = (struct rule){.line = conf->line};
    if (!parse_rule(conf->words, rule, plugin_index, reason))
        return false;
    acl->count++;
    return true;
}

static struct counter *counter_of(struct acl *acl, const char *key)
{
    struct counter *counter;
    HASH_FIND_STR(acl->counters, key, counter);
    if (counter != NULL)
        return counter;
    counter = calloc(1, sizeof *counter);
    if (counter == NULL)
        abort();
    snprintf(counter->key, sizeof counter->key, "%s", key);
    HASH_ADD_STR(acl->counters, key, counter);
    return counter;
}

static void name_subjects(struct acl *acl)
{
    for (int i = 0; i < acl->count; i++) {
        struct rule *rule = &acl->rules[i];
        char key[104];
        if (rule->property != MAX_UTILIZATION)
            continue;
        snprintf(key, sizeof key, "%d %s %d", (int)rule->domain, rule->name, rule->plugin);
        rule->counter = counter_of(acl, key);
    }
}

struct acl *acl_load(const char *path, int (*plugin_index)(const char *), char reason[static REASON_BYTES])
{
    struct conf conf;
    int got;
    if (!conf_open(&conf, path, reason))
        return NULL;
    struct acl *acl = calloc(1, sizeof *acl);
    if (acl == NULL)
        abort();
    while ((got = conf_next(&conf, reason)) == 1)
        if (!add_line(acl, &conf, plugin_index, reason)) {
            got = -1;
            break;
        }
    conf_close(&conf);
    if (got == 0) {
        name_subjects(acl);
        return acl;
    }
    acl_free(acl);
    return NULL;
}

void acl_free(struct acl *acl)
{
    if (acl == NULL)
        return;
    struct counter *counter = acl->counters;
    HASH_CLEAR(hh, acl->counters); /* the table; its elements stay linked in their order */
    for (struct counter *next; counter != NULL; counter = next) {
        next = counter->hh.next;
        free(counter);
    }
    free(acl->rules);
    free(acl);
}

void acl_names(const struct acl *acl, void (*each)(const char *))
{
    for (int i = 0; i < acl->count; i++) {
        char name[80];
        const struct rule *rule = &acl->rules[i];
        if (rule->domain != USER_NAME && rule->domain != GROUP_NAME)
            continue;
        snprintf(name, sizeof name, "%s%s", rule->domain == GROUP_NAME ? "@" : "", rule->name);
        each(name);
    }
}

bool acl_names_uid(const struct acl *acl, uid_t uid)
{
    for (int i = 0; i < acl->count; i++)
        if (acl->rules[i].domain == USER_ID && acl->rules[i].id == uid)
            return true;
    return false;
}

/* ---- judging ---- */

static bool in_domain(const struct rule *rule, const struct account *account)
{
    switch (rule->domain) {
    case EVERYBODY:
        return true;
    case USER_ID:
        return rule->id == account->uid;
    case USER_NAME:
        return account->name != NULL && strcmp(rule->name, account->name) == 0;
    case GROUP_ID:
        return account_has_gid(account, rule->id);
    case GROUP_NAME:
        for (char **group = account->groups; group != NULL && *group != NULL; group++)
            if (strcmp(*group, rule->name) == 0)
                return true;
        return false;
    }
    return false;
}

static bool matches(const struct rule *rule, const struct account *account, int plugin)
{
    return (rule->plugin == ANY_PLUGIN || rule->plugin == plugin) && in_domain(rule, account);
}

static struct counter *user_counter(struct acl *acl, uid_t uid, int plugin)
{
    char key[104];
    snprintf(key, sizeof key, "uid %u %d", uid, plugin);
    return counter_of(acl, key);
}

static struct counter *counter_for(struct acl *acl, const struct rule *rule, const struct account *account)
{
    if (rule->property == MAX_UTILIZATION)
        return rule->counter;
    return rule->property == MAX_USER_UTILIZATION ? user_counter(acl, account->uid, rule->plugin) : NULL;
}

uint64_t acl_weight(const struct spec *spec, uint64_t runtime)
{
    uint64_t window = spec_window(spec);
    return runtime == 0 || window == 0 ? ONE_CPU : utilization(runtime, window);
}

static uint64_t part_of(const struct charge *charge, const struct counter *counter)
{
    for (int i = 0; i < charge->count; i++)
        if (charge->parts[i].counter == counter)
            return charge->parts[i].amount;
    return 0;
}

static uint64_t held_by(const struct grant *const own[2], const struct counter *counter)
{
    return (own[0] == NULL ? 0 : part_of(&own[0]->charge, counter)) + (own[1] == NULL ? 0 : part_of(&own[1]->charge, counter));
}

struct question {
    struct acl *acl;
    const struct account *account;
    int plugin;
    const struct spec *spec;
    const struct grant *const *own;
    uint64_t ceiling;
    struct refusal *refusal;
    char *reason;
    bool denied, never;
    bool denied_for_good; /* no runtime, however small, would pass */
};

/* The first rule that refuses is the one that is told. */
enum remedy { WHEN_FREED, SMALLER_RUNTIME, NONE };
static void deny(struct question *question, const struct rule *rule, enum remedy remedy, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void deny(struct question *question, const struct rule *rule, enum remedy remedy, const char *format, ...)
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
    snprintf(question->refusal->by, sizeof question->refusal->by, "access");
    snprintf(question->refusal->rule, sizeof question->refusal->rule, "acl.conf:%d: %s", rule->line, rule->text);
    snprintf(question->reason, REASON_BYTES, "acl.conf:%d: %s: %s", rule->line, rule->text, why);
}

static void tell_priority(struct refusal *refusal, int asked, uint64_t available)
{
    if (refusal->asked[0] != '\0')
        return;
    snprintf(refusal->asked, sizeof refusal->asked, "%d", asked);
    snprintf(refusal->available, sizeof refusal->available, "%llu", (unsigned long long)available);
}

static void tell_time(struct refusal *refusal, uint64_t asked, uint64_t available)
{
    if (refusal->asked[0] != '\0')
        return;
    snprintf(refusal->asked, sizeof refusal->asked, "%lluus", (unsigned long long)asked);
    snprintf(refusal->available, sizeof refusal->available, "%lluus", (unsigned long long)available);
}

static void judge_utilization(struct question *question, const struct rule *rule)
{
    const struct counter *counter = counter_for(question->acl, rule, question->account);
    uint64_t used = counter->used - held_by(question->own, counter);
    uint64_t left = used >= rule->value ? 0 : rule->value - used;
    uint64_t asked = acl_weight(question->spec, question->spec->runtime), window = spec_window(question->spec);
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
    deny(question, rule, asked <= rule->value ? WHEN_FREED : fixed ? NONE : SMALLER_RUNTIME, "%s used, %s asked%s",
         format_utilization(used, used_text), format_utilization(asked, asked_text),
         question->spec->runtime == 0 ? " (a wish without runtime weighs a whole CPU)"
         : window == 0                ? " (a wish without period weighs a whole CPU)"
                                      : "");
    if (first) {
        snprintf(question->refusal->asked, sizeof question->refusal->asked, "%s", asked_text);
        snprintf(question->refusal->available, sizeof question->refusal->available, "%s", format_utilization(left, left_text));
    }
}

static void judge_runtime(struct question *question, const struct rule *rule)
{
    uint64_t asked = question->spec->runtime;
    if (asked == 0) {
        deny(question, rule, NONE, "the wish states no runtime");
        return;
    }
    if (rule->value < question->ceiling)
        question->ceiling = rule->value;
    if (asked > rule->value) {
        deny(question, rule, SMALLER_RUNTIME, "%lluus asked", (unsigned long long)asked);
        tell_time(question->refusal, asked, rule->value);
    }
}

static void judge_time(struct question *question, const struct rule *rule, uint64_t stated, bool least)
{
    if (stated == 0 || (least ? stated >= rule->value : stated <= rule->value))
        return;
    deny(question, rule, NONE, "%lluus asked", (unsigned long long)stated);
    tell_time(question->refusal, stated, rule->value);
}

static bool priority_passes(const struct rule *rule, int priority)
{
    return rule->property == MIN_PRIORITY ? (uint64_t)priority >= rule->value : (uint64_t)priority <= rule->value;
}

static void judge_rule(struct question *question, const struct rule *rule)
{
    const struct spec *spec = question->spec;
    switch (rule->property) {
    case MAX_UTILIZATION:
    case MAX_USER_UTILIZATION:
        judge_utilization(question, rule);
        break;
    case MAX_RUNTIME:
        judge_runtime(question, rule);
        break;
    case MIN_PERIOD:
    case MAX_PERIOD:
        judge_time(question, rule, spec->period, rule->property == MIN_PERIOD);
        break;
    case MIN_DEADLINE:
    case MAX_DEADLINE:
        judge_time(question, rule, spec->deadline != 0 ? spec->deadline : spec->period, rule->property == MIN_DEADLINE);
        break;
    case MIN_PRIORITY:
    case MAX_PRIORITY:
        if (spec->priority == 0 || priority_passes(rule, spec->priority))
            break;
        deny(question, rule, NONE, "%d asked", spec->priority);
        tell_priority(question->refusal, spec->priority, rule->value);
        break;
    case IGNORE_ADM_TEST:
        if (spec->ignore_admission && rule->value == 0)
            deny(question, rule, NONE, "the wish asks to pass over the admission test");
        break;
    case PROPERTIES:
        break;
    }
}

static void deny_by_default(struct question *question, const char *plugin_name, const char *what)
{
    question->never = question->denied_for_good = true;
    if (question->denied)
        return;
    question->denied = true;
    snprintf(question->refusal->by, sizeof question->refusal->by, "access");
    snprintf(question->reason, REASON_BYTES, "no rule in acl.conf %s for %s (uid %u) on %s", what,
             question->account->name == NULL ? "a user without account" : question->account->name, question->account->uid, plugin_name);
}

bool acl_check(struct acl *acl, const struct account *account, int plugin, const char *plugin_name, const struct spec *spec,
               const struct grant *const own[2], struct charge *hold, uint64_t *ceiling, struct refusal *refusal,
               char reason[static REASON_BYTES])
{
    struct question question = {.acl = acl, .account = account, .plugin = plugin, .spec = spec, .own = own,
                                .ceiling = UINT64_MAX, .refusal = refusal, .reason = reason};
    bool opens = false, may_ignore = false;
    *ceiling = UINT64_MAX;
    *hold = (struct charge){0};
    if (account->uid == 0)
        return true;
    *refusal = (struct refusal){0};
    for (int i = 0; i < acl->count; i++) {
        const struct rule *rule = &acl->rules[i];
        if (!matches(rule, account, plugin))
            continue;
        opens |= rule->property == MAX_UTILIZATION || rule->property == MAX_USER_UTILIZATION;
        may_ignore |= rule->property == IGNORE_ADM_TEST && rule->value == 1;
        judge_rule(&question, rule);
    }
    if (!opens)
        deny_by_default(&question, plugin_name, "opens anything (max_utilization or max_user_utilization)");
    else if (spec->ignore_admission && !may_ignore)
        deny_by_default(&question, plugin_name, "allows ignore_adm_test");
    *ceiling = question.denied_for_good ? 0 : question.ceiling;
    refusal->never = question.never;
    if (question.denied)
        return false;
    uint64_t most = spec->desired_runtime == 0 ? spec->runtime : spec->desired_runtime;
    acl_charge(acl, account, plugin, acl_weight(spec, most < *ceiling ? most : *ceiling), hold);
    for (int i = 0; i < hold->count; i++) { /* only what is new, or rewriting two wishes at once would refuse one */
        uint64_t held = held_by(own, hold->parts[i].counter), *amount = &hold->parts[i].amount;
        uint64_t less = held < *amount ? held : *amount;
        hold->parts[i].counter->used -= less;
        *amount -= less;
    }
    return true;
}

bool acl_priority_passes(struct acl *acl, const struct account *account, int plugin, int priority, struct refusal *refusal,
                         char reason[static REASON_BYTES])
{
    struct question question = {.acl = acl, .account = account, .plugin = plugin, .refusal = refusal, .reason = reason};
    for (int i = 0; account->uid != 0 && i < acl->count; i++) {
        const struct rule *rule = &acl->rules[i];
        if ((rule->property == MIN_PRIORITY || rule->property == MAX_PRIORITY) && matches(rule, account, plugin) &&
            !priority_passes(rule, priority)) {
            deny(&question, rule, NONE, "%d planned", priority);
            tell_priority(refusal, priority, rule->value);
            refusal->never = true;
        }
    }
    return !question.denied;
}

/* ---- charging ---- */

static void add_part(struct charge *charge, struct counter *counter, uint64_t amount)
{
    for (int i = 0; i < charge->count; i++)
        if (charge->parts[i].counter == counter)
            return; /* two rules of one subject share its sum */
    struct charged *parts = realloc(charge->parts, (size_t)(charge->count + 1) * sizeof *parts);
    if (parts == NULL)
        abort();
    parts[charge->count++] = (struct charged){counter, amount};
    charge->parts = parts;
    counter->used += amount;
}

void acl_charge(struct acl *acl, const struct account *account, int plugin, uint64_t amount, struct charge *charge)
{
    *charge = (struct charge){0};
    for (int i = 0; account->uid != 0 && i < acl->count; i++)
        if (matches(&acl->rules[i], account, plugin)) {
            struct counter *counter = counter_for(acl, &acl->rules[i], account);
            if (counter != NULL)
                add_part(charge, counter, amount);
        }
}

void acl_charge_again(struct acl *acl, const struct account *account, int plugin, struct charge *charge)
{
    uint64_t amount = charge->count == 0 ? 0 : charge->parts[0].amount;
    struct charge again;
    acl_charge(acl, account, plugin, amount, &again);
    free(charge->parts);
    *charge = again;
}

void acl_release(struct charge *charge)
{
    acl_settle(charge, 0);
    free(charge->parts);
    *charge = (struct charge){0};
}

void acl_settle(struct charge *charge, uint64_t amount)
{
    for (int i = 0; i < charge->count; i++) {
        charge->parts[i].counter->used += amount - charge->parts[i].amount; /* unsigned: wraps to the difference either way */
        charge->parts[i].amount = amount;
    }
}

static void report_overdrawn(const struct rule *rule, uint64_t used, const char *whose)
{
    char text[UTILIZATION_TEXT];
    if (used > rule->value)
        event_broker("warning", "acl.conf:%d: %s: %s is in use by older grants%s, which stay", rule->line, rule->text,
                     format_utilization(used, text), whose);
}

void acl_report_overdrawn(const struct acl *acl)
{
    for (int i = 0; i < acl->count; i++)
        if (acl->rules[i].property == MAX_UTILIZATION)
            report_overdrawn(&acl->rules[i], acl->rules[i].counter->used, "");
}

void acl_report_overdrawn_by(struct acl *acl, const struct account *account)
{
    char whose[32];
    snprintf(whose, sizeof whose, " of uid %u", account->uid);
    for (int i = 0; account->uid != 0 && i < acl->count; i++)
        if (acl->rules[i].property == MAX_USER_UTILIZATION && in_domain(&acl->rules[i], account))
            report_overdrawn(&acl->rules[i], user_counter(acl, account->uid, acl->rules[i].plugin)->used, whose);
}

const char *acl_subject(const struct counter *counter)
{
    return counter->key;
}

void acl_each(const struct acl *acl, void (*each)(const char *subject, uint64_t used))
{
    for (const struct counter *counter = acl->counters; counter != NULL; counter = counter->hh.next)
        if (counter->used != 0)
            each(counter->key, counter->used);
}
