#include "acl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl-rules.h"
#include "config-lines.h"
#include "event.h"
#include "nearest-word.h"
#include "plugin-lines.h"
#include "spec.h"
#include "max-user-threads.h"
#include "tick.h"
#include "units.h"
#include "wire.h"

struct acl *rules;

static const char *const property_names[PROPERTIES] = {
    [MAX_UTILIZATION] = "max_utilization",
    [MAX_USER_UTILIZATION] = "max_user_utilization",
    [MAX_USER_THREADS] = "max_user_threads",
    [MIN_RUNTIME] = "min_runtime",
    [MAX_RUNTIME] = "max_runtime",
    [MIN_PERIOD] = "min_period",
    [MAX_PERIOD] = "max_period",
    [MIN_DEADLINE] = "min_deadline",
    [MAX_DEADLINE] = "max_deadline",
    [MIN_PRIORITY] = "min_priority",
    [MAX_PRIORITY] = "max_priority",
    [IGNORE_ADM_TEST] = "ignore_adm_test",
    [RECLAIM] = "reclaim",
    [MAX_AMOUNT] = "max_amount",
    [MAX_USER_AMOUNT] = "max_user_amount",
    [MAX_IMPORTANCE] = "max_importance",
    [MIN_BLOCK] = "min_block",
    [MAX_BLOCK] = "max_block",
    [MAX_LOCK_MEMORY] = "max_lock_memory",
    [MAX_USER_LOCK_MEMORY] = "max_user_lock_memory",
    [MIN_CPU_LATENCY] = "min_cpu_latency",
    [MIN_NICE] = "min_nice",
    [MAX_CLAMP] = "max_clamp",
    [TRACE] = "trace",
};

/* The amount of a network is a rate in bytes a second. */
static const char *const bandwidth_names[PROPERTIES] = {
    [MAX_AMOUNT] = "max_bandwidth", [MAX_USER_AMOUNT] = "max_user_bandwidth"};

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
        return config_lines_wrong(
            reason, "acl.conf", rule->line,
            "the first word must be a user name, a uid, @group or -, not \"%.40s\"", word);
    snprintf(rule->name, sizeof rule->name, "%s", name);
    if (parse_number(name, UINT32_MAX - 1, &id)) {
        rule->domain = group ? GROUP_ID : USER_ID;
        rule->id = (uint32_t)id;
    } else
        rule->domain = group ? GROUP_NAME : USER_NAME;
    return true;
}

static bool parse_least_runtime(const char *word, struct rule *rule)
{
    rule->tick = strcmp(word, "tick") == 0;
    if (rule->tick)
        rule->value = tick_length();
    return rule->tick || (parse_number(word, TIME_MAX, &rule->value) && rule->value > 0) ||
           parse_time(word, &rule->value);
}

static bool parse_threads(const char *word, struct rule *rule)
{
    rule->tick = strcmp(word, "tick") == 0;
    if (!rule->tick)
        return parse_number(word, UINT32_MAX, &rule->value);
    if (rule->plugin == ANY_PLUGIN || !plugin_line(rule->plugin)->deadline)
        return false;
    rule->value = tick_threads(plugin_line(rule->plugin));
    return true;
}

/* Rounds down, so that a rule allows no more than the administrator has written. */
static bool parse_bandwidth(const char *word, uint64_t *bytes)
{
    uint64_t bits;
    if (!parse_rate(word, &bits))
        return parse_bytes(word, bytes);
    *bytes = bits / 8;
    return true;
}

/* The value 0 allows no locked memory. */
static bool parse_lock_memory(const char *word, uint64_t *bytes)
{
    return parse_number(word, 0, bytes) || parse_memory(word, bytes);
}

/* A time without a unit is a number of microseconds, as in the ReTiF paper. */
static bool parse_value(const char *word, struct rule *rule, char *reason)
{
    switch (rule->property) {
    case MAX_UTILIZATION:
    case MAX_USER_UTILIZATION:
        return parse_utilization(word, &rule->value) ||
               config_lines_wrong(reason, "acl.conf", rule->line,
                                  "%s takes CPUs in decimals, such as 0.5 or 2, not \"%.40s\"",
                                  property_names[rule->property], word);
    case MAX_USER_THREADS:
        return parse_threads(word, rule) ||
               config_lines_wrong(
                   reason, "acl.conf", rule->line,
                   "max_user_threads takes a number of threads, or the word tick for a plugin that uses SCHED_DEADLINE, not \"%.40s\"",
                   word);
    case MIN_PRIORITY:
    case MAX_PRIORITY:
        return (parse_number(word, 100, &rule->value) && rule->value > 0) ||
               config_lines_wrong(reason, "acl.conf", rule->line,
                                  "%s takes a priority from 1 to 100, not \"%.40s\"",
                                  property_names[rule->property], word);
    case MIN_RUNTIME:
        return parse_least_runtime(word, rule) ||
               config_lines_wrong(
                   reason, "acl.conf", rule->line,
                   "min_runtime takes the word tick, or a time from 1us to 3600s such as 500us, not \"%.40s\"",
                   word);
    case MAX_AMOUNT:
    case MAX_USER_AMOUNT:
        if (rule->bandwidth)
            return parse_bandwidth(word, &rule->value) ||
                   config_lines_wrong(
                       reason, "acl.conf", rule->line,
                       "%s takes a rate such as 10Mbit or bytes a second such as 640kB, not \"%.40s\"",
                       bandwidth_names[rule->property], word);
        return parse_number(word, INT64_MAX, &rule->value) ||
               config_lines_wrong(
                   reason, "acl.conf", rule->line,
                   "%s takes a whole number in the unit of the plugin's resource, not \"%.40s\"",
                   property_names[rule->property], word);
    case MAX_IMPORTANCE:
        return (parse_number(word, IMPORTANCE_MAX, &rule->value) && rule->value > 0) ||
               config_lines_wrong(reason, "acl.conf", rule->line,
                                  "max_importance takes a number from 1 to %d, not \"%.40s\"",
                                  IMPORTANCE_MAX, word);
    case MIN_BLOCK:
    case MAX_BLOCK:
        return (parse_bytes(word, &rule->value) && rule->value <= DISK_BLOCK_MAX) ||
               config_lines_wrong(reason, "acl.conf", rule->line,
                                  "%s takes a size from 1B to 16MiB, such as 32KiB, not \"%.40s\"",
                                  property_names[rule->property], word);
    case MAX_LOCK_MEMORY:
    case MAX_USER_LOCK_MEMORY:
        return parse_lock_memory(word, &rule->value) ||
               config_lines_wrong(
                   reason, "acl.conf", rule->line,
                   "%s takes a size from 1B to 1024GiB, such as 256MiB, or 0, not \"%.40s\"",
                   property_names[rule->property], word);
    case MIN_NICE:
        return (word[0] == '-' && parse_number(word + 1, -NICE_LEAST, &rule->value)) ||
               parse_number(word, 0, &rule->value) ||
               config_lines_wrong(
                   reason, "acl.conf", rule->line,
                   "min_nice takes a nice value from %d to -1, or 0 for none, not \"%.40s\"",
                   NICE_LEAST, word);
    case MAX_CLAMP:
        return parse_number(word, CLAMP_MAX, &rule->value) ||
               config_lines_wrong(reason, "acl.conf", rule->line,
                                  "max_clamp takes a number from 0 to %d, not \"%.40s\"", CLAMP_MAX,
                                  word);
    case IGNORE_ADM_TEST:
    case RECLAIM:
    case TRACE:
        rule->value = strcmp(word, "true") == 0;
        return rule->value == 1 || strcmp(word, "false") == 0 ||
               config_lines_wrong(reason, "acl.conf", rule->line,
                                  "%s takes true or false, not \"%.40s\"",
                                  property_names[rule->property], word);
    case MAX_RUNTIME:
    case MIN_PERIOD:
    case MAX_PERIOD:
    case MIN_DEADLINE:
    case MAX_DEADLINE:
    case MIN_CPU_LATENCY:
    case PROPERTIES: break;
    }
    return (parse_number(word, TIME_MAX, &rule->value) && rule->value > 0) ||
           parse_time(word, &rule->value) ||
           config_lines_wrong(reason, "acl.conf", rule->line,
                              "%s takes a time from 1us to 3600s such as 500us, not \"%.40s\"",
                              property_names[rule->property], word);
}

static enum property find_property(const char *const names[PROPERTIES], const char *word)
{
    enum property property = 0;
    while (property < PROPERTIES && (names[property] == NULL || strcmp(word, names[property]) != 0))
        property++;
    return property;
}

static bool acl_is_elsewhere(char *const words[], const struct rule *rule, char *reason)
{
    return config_lines_wrong(
        reason, "acl.conf", rule->line,
        rule->property == MIN_BLOCK || rule->property == MAX_BLOCK
            ? "%s needs a plugin with resource=disk: \"%.40s\" is not such a plugin"
        : rule_is_of_amounts(rule)
            ? "%s needs a plugin with another resource than cpu, network and disk: \"%.40s\" is not such a plugin"
            : "%s limits CPU time, but the plugin %.40s has another resource: use max_amount or max_user_amount",
        words[2], words[1]);
}

static bool is_unknown(const char *word, int line, char *reason)
{
    struct nearest_word guess = nearest_word_begin(word);
    for (enum property property = 0; property < PROPERTIES; property++) {
        nearest_word_try(&guess, property_names[property]);
        if (bandwidth_names[property] != NULL)
            nearest_word_try(&guess, bandwidth_names[property]);
    }
    if (guess.word != NULL)
        return config_lines_wrong(reason, "acl.conf", line,
                                  "unknown property \"%.40s\"; did you mean %s?", word, guess.word);
    return config_lines_wrong(reason, "acl.conf", line,
                              "unknown property \"%.40s\": acl.conf(5) lists them", word);
}

static bool is_no_plugin(const char *word, int line, char *reason)
{
    struct nearest_word guess = nearest_word_begin(word);
    for (int i = 0; i < plugins_count(); i++)
        nearest_word_try(&guess, plugin_line(i)->name);
    if (guess.word != NULL)
        return config_lines_wrong(
            reason, "acl.conf", line,
            "plugins.conf has no plugin \"%.40s\"; did you mean %s? - means any", word, guess.word);
    return config_lines_wrong(reason, "acl.conf", line,
                              "plugins.conf has no plugin \"%.40s\"; - means any", word);
}

static bool parse_rule(char *const words[], struct rule *rule, char *reason)
{
    if (!parse_domain(words[0], rule, reason))
        return false;
    rule->plugin = strcmp(words[1], "-") == 0 ? ANY_PLUGIN : plugin_index(words[1]);
    if (rule->plugin == -1 && strcmp(words[1], "-") != 0)
        return is_no_plugin(words[1], rule->line, reason);
    rule->property = find_property(property_names, words[2]);
    if (rule->property == PROPERTIES) {
        rule->property = find_property(bandwidth_names, words[2]);
        rule->bandwidth = rule->property != PROPERTIES;
    }
    if (rule->property == PROPERTIES)
        return is_unknown(words[2], rule->line, reason);
    if ((rule->property == MAX_IMPORTANCE || rule->property == TRACE || rule_is_of_extras(rule)) &&
        rule->plugin != ANY_PLUGIN)
        return config_lines_wrong(reason, "acl.conf", rule->line,
                                  "%s limits no plugin: write - in place of \"%.40s\"", words[2],
                                  words[1]);
    if (!rule_concerns(rule, rule->plugin == ANY_PLUGIN ? RESOURCE_CPU
                                                        : plugin_line(rule->plugin)->resource))
        return acl_is_elsewhere(words, rule, reason);
    if (rule->bandwidth && resource_where(plugin_line(rule->plugin)->resource) == NULL)
        return config_lines_wrong(
            reason, "acl.conf", rule->line,
            "%s needs a plugin with resource=network or resource=disk: \"%.40s\" is not such a plugin",
            words[2], words[1]);
    snprintf(rule->text, sizeof rule->text, "%.65s %.32s %s %.64s", words[0], words[1], words[2],
             words[3]);
    return parse_value(words[3], rule, reason);
}

static bool acl_add_line(struct acl *acl, const struct config_lines *conf, char *reason)
{
    if (conf->count != 4)
        return config_lines_wrong(
            reason, conf->name, conf->line,
            "a rule must have four words, DOMAIN PLUGIN PROPERTY VALUE: this line has %d",
            conf->count);
    struct rule *grown = realloc(acl->rules, (size_t)(acl->count + 1) * sizeof *grown);
    if (grown == NULL)
        abort();
    acl->rules = grown;
    struct rule *rule = &grown[acl->count];
    *rule = (struct rule){.line = conf->line};
    if (!parse_rule(conf->words, rule, reason))
        return false;
    acl->count++;
    return true;
}

static void name_subjects(struct acl *acl)
{
    for (int i = 0; i < acl->count; i++) {
        struct rule *rule = &acl->rules[i];
        char key[104];
        if (rule->property != MAX_UTILIZATION && rule->property != MAX_AMOUNT)
            continue;
        snprintf(key, sizeof key, "%d %s %d", (int)rule->domain, rule->name, rule->plugin);
        rule->counter = acl_counter(acl, key);
        rule->counter->held++;
    }
}

struct acl *acl_load(const char *path, char reason[static REASON_BYTES])
{
    struct config_lines conf;
    int got;
    if (!config_lines_open(&conf, path, reason))
        return NULL;
    struct acl *acl = calloc(1, sizeof *acl);
    if (acl == NULL)
        abort();
    acl->number = rules == NULL ? 0 : rules->number + 1;
    while ((got = config_lines_next(&conf, reason)) == 1)
        if (!acl_add_line(acl, &conf, reason)) {
            got = -1;
            break;
        }
    config_lines_close(&conf);
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
    /* this frees only the table; the counters stay linked in their order */
    HASH_CLEAR(hh, acl->counters);
    for (struct counter *next; counter != NULL; counter = next) {
        next = counter->hh.next;
        free(counter);
    }
    free(acl->rules);
    free(acl);
}

unsigned acl_number(const struct acl *acl)
{
    return acl->number;
}

json_t *acl_as_json(const struct acl *acl)
{
    if (acl->count > ACL_TOLD)
        return json_null();
    json_t *list = json_array();
    for (int i = 0; i < acl->count; i++) {
        const struct rule *rule = &acl->rules[i];
        json_t *told = json_pack("{s:i, s:s}", "line", rule->line, "text", rule->text);
        if (rule->tick && rule->property == MAX_USER_THREADS)
            json_object_set_new(told, "threads", json_integer((json_int_t)rule->value));
        json_array_append_new(list, told);
    }
    return list;
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

bool acl_has_tick(const struct acl *acl)
{
    for (int i = 0; i < acl->count; i++)
        if (acl->rules[i].tick && acl->rules[i].property == MIN_RUNTIME)
            return true;
    return false;
}
