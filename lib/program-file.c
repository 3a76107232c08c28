#include "program-file.h"

#include <stdlib.h>
#include <string.h>

#include "spec-keys.h"
#include "spec-modes.h"
#include "spec-values.h"

void program_free(struct program_file *file)
{
    if (file == NULL)
        return;
    for (int i = 0; i < file->rule_count; i++)
        spec_free(&file->rules[i].spec);
    spec_free(&file->whole);
    free(file->token);
    free(file->plugin);
    free(file);
}

static bool is_printable(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < 0x20 || text[i] > 0x7e)
            return false;
    return true;
}

/* ---- one rule ---- */

static bool take_glob(const json_t *value, void *into, char *why)
{
    const char *text = json_string_value(value);
    const size_t length = json_string_length(value);
    if (text == NULL || length == 0 || length >= GLOB_BYTES || !is_printable(text, length))
        return fault(
            why,
            "must be a string of 1 to %d printable ASCII characters, with * for any characters and ? for one",
            GLOB_BYTES - 1);
    memcpy(into, text, length + 1);
    return true;
}

static bool take_leave(const json_t *value, void *into, char *why)
{
    if (!json_is_boolean(value))
        return fault(why, "must be true or false");
    *(bool *)into = json_is_true(value);
    return true;
}

/* The keys of a spec that a rule may state. */
static const char *const of_spec[] = {"runtime",    "period",
                                      "deadline",   "desired_runtime",
                                      "blocking",   "priority",
                                      "importance", "weight",
                                      "plugin",     "ignore_admission",
                                      "reclaim",    "overrun_signal",
                                      "cpus",       "nice",
                                      "clamp",      "modes",
                                      "mode",       "units",
                                      "comment"};
enum { OF_SPEC = sizeof of_spec / sizeof *of_spec };

/* The keys of a spec that concern the whole process or the whole machine. A file states them beside
 * its rules. */
static const char *const of_whole[] = {"lock_memory", "cpu_latency", "network", "disk"};
enum { OF_WHOLE = sizeof of_whole / sizeof *of_whole };

static bool is_among(const char *key, const char *const *keys, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

bool rule_may_state(const char *key)
{
    return is_among(key, of_spec, OF_SPEC);
}

bool program_may_state(const char *key)
{
    return is_among(key, of_whole, OF_WHOLE);
}

bool program_states_whole(const struct program_file *file)
{
    return extras_any(&file->whole.extras) || file->whole.claims != NULL;
}

/* True if a spec or a program file may have this key. */
static bool is_of_spec(const char *key, const json_t *value)
{
    char why[REASON_BYTES];
    static const char *const others[] = {"threads", "process", "program", "cgroup", "hold"};
    struct spec none = {0};
    const bool is_known = spec_take_key(key, value, &none, why);
    spec_free(&none);
    return is_known || is_among(key, others, (int)(sizeof others / sizeof *others));
}

static bool rule_key_is_unknown(const char *key, const json_t *value, char *why)
{
    if (program_may_state(key))
        return fault(why, "is for the whole process: state it beside \"threads\", not in a rule");
    if (is_of_spec(key, value))
        return fault(why, "cannot stand in a rule");

    struct nearest_word guess = nearest_word_begin(key);
    nearest_word_try(&guess, "name");
    nearest_word_try(&guess, "leave");
    for (int i = 0; i < OF_SPEC; i++)
        nearest_word_try(&guess, of_spec[i]);
    return spec_unknown_key(&guess, why);
}

static bool take_rule_key(const char *key, const json_t *value, struct rule *rule, char *why)
{
    if (strcmp(key, "name") == 0)
        return take_glob(value, rule->name, why);
    if (strcmp(key, "leave") == 0)
        return take_leave(value, &rule->leave, why);
    return rule_may_state(key) ? spec_take_key(key, value, &rule->spec, why)
                               : rule_key_is_unknown(key, value, why);
}

static bool states_needs(const json_t *rule)
{
    for (int i = 0; i < OF_SPEC; i++)
        if (strcmp(of_spec[i], "comment") != 0 && json_object_get(rule, of_spec[i]) != NULL)
            return true;
    return false;
}

/* Checks whether the needs of a rule fit together. NULL: they do; else the wrong key. */
static const char *needs_relations(const json_t *object, struct spec *spec, char *why)
{
    const char *wrong = take_modes(object, spec, why);
    if (wrong == NULL)
        wrong = spec_relations(spec, why);
    if (wrong != NULL || spec->claims == NULL || spec_claims_cpu(spec) || extras_any(&spec->extras))
        return wrong;
    (void)fault(why, "needs a claim on CPU time beside it, such as runtime and period");
    return "units";
}

/* Checks whether the keys of a whole rule fit together. NULL: they do; else the wrong key. */
static const char *rule_relations(const json_t *object, struct rule *rule, char *why)
{
    const bool needs = states_needs(object);
    if (rule->name[0] == '\0')
        (void)fault(why, "is missing");
    else if (rule->leave && needs)
        (void)fault(why, "is true, so the rule must not state needs, such as runtime and period");
    else if (!rule->leave && !needs)
        (void)fault(why, "must be true in a rule that states no needs, such as runtime and period");
    else
        return needs_relations(object, &rule->spec, why);
    return rule->name[0] == '\0' ? "name" : "leave";
}

static bool take_rule(const json_t *object, struct rule *rule, char *why)
{
    char detail[REASON_BYTES];
    const char *key, *wrong = NULL;
    json_t *value;
    if (!json_is_object(object))
        return fault(why, "must be an object, such as {\"name\": \"audio\", \"priority\": 30}");
    json_object_foreach((json_t *)object, key, value)
    {
        wrong = take_rule_key(key, value, rule, detail) ? NULL : key;
        if (wrong != NULL)
            break;
    }
    if (wrong == NULL)
        wrong = rule_relations(object, rule, detail);
    return wrong == NULL ||
           fault(why, "key \"%.64s\" %.300s",
                 name_is_valid(wrong, strlen(wrong), NAME_BYTES - 1) ? wrong : "?", detail);
}

static bool take_rules(const json_t *value, struct program_file *file, char *why)
{
    char detail[REASON_BYTES];
    const size_t count = json_array_size(value);
    if (!json_is_array(value) || count == 0 || count > RULES_MAX)
        return fault(why, "must be an array of 1 to %d rules", RULES_MAX);
    for (size_t i = 0; i < count; i++) {
        file->rule_count++;
        if (!take_rule(json_array_get(value, i), &file->rules[i], detail))
            return fault(why, "rule %zu: %.400s", i + 1, detail);
    }
    return true;
}

/* ---- the file ---- */

static bool take_process(const json_t *value, struct program_file *file, char *why)
{
    struct spec named = {0};
    if (json_is_null(value))
        return fault(why, "must be a whole number from 1 to %d", TID_MAX);
    if (!spec_take_key("attach", value, &named, why))
        return false;
    file->process = named.attach;
    file->process_inode = named.attach_inode;
    return true;
}

static bool take_path_of(const char *what, const json_t *value, char path[PROGRAM_PATH_BYTES],
                         char *why)
{
    const char *text = json_string_value(value);
    const size_t length = json_string_length(value);
    if (text == NULL || text[0] != '/' || length >= PROGRAM_PATH_BYTES ||
        !is_printable(text, length))
        return fault(why,
                     "must be the absolute path of a %s, of at most %d printable ASCII characters",
                     what, PROGRAM_PATH_BYTES - 1);
    memcpy(path, text, length + 1);
    return true;
}

static bool take_path(const json_t *value, struct program_file *file, char *why)
{
    return take_path_of("program", value, file->path, why);
}

/* Parses the path of a cgroup. The root is refused, because every process of the machine is in the
 * root or below the root. */
static bool take_group(const json_t *value, struct program_file *file, char *why)
{
    if (!take_path_of("cgroup", value, file->group, why))
        return false;
    return file->group[strlen(file->group) - 1] != '/' ||
           fault(why, "must be the path of a cgroup below the root, and end without a slash");
}

static bool take_hold(const json_t *value, struct program_file *file, char *why)
{
    return take_leave(value, &file->hold, why);
}

static bool take_lifetime(const json_t *value, struct program_file *file, char *why)
{
    const char *text = json_string_value(value);
    file->ends = text != NULL && strcmp(text, "process") == 0;
    return file->ends || (text != NULL && strcmp(text, "spec") == 0) ||
           fault(why, "must be \"spec\" or \"process\"");
}

static bool take_waits(const json_t *value, struct program_file *file, char *why)
{
    return spec_take_on_refusal(value, &file->waits, why);
}

static bool take_plugin(const json_t *value, struct program_file *file, char *why)
{
    return spec_take_plugin(value, &file->plugin, why);
}

static bool take_token(const json_t *value, struct program_file *file, char *why)
{
    return spec_take_token(value, &file->token, why);
}

static bool take_comment(const json_t *value, struct program_file *file, char *why)
{
    return spec_take_comment(value, file, why);
}

static const struct {
    const char *key;
    bool (*take)(const json_t *value, struct program_file *file, char *why);
} keys[] = {{"threads", take_rules},  {"process", take_process},   {"program", take_path},
            {"cgroup", take_group},   {"hold", take_hold},         {"on_refusal", take_waits},
            {"plugin", take_plugin},  {"lifetime", take_lifetime}, {"token", take_token},
            {"comment", take_comment}};
enum { KEYS = sizeof keys / sizeof *keys };

static bool take_key(const char *key, const json_t *value, struct program_file *file, char *why)
{
    struct nearest_word guess = nearest_word_begin(key);
    for (int i = 0; i < KEYS; i++) {
        if (strcmp(key, keys[i].key) == 0)
            return keys[i].take(value, file, why);
        nearest_word_try(&guess, keys[i].key);
    }
    if (program_may_state(key))
        return spec_take_key(key, value, &file->whole, why);
    if (rule_may_state(key))
        return fault(why, "cannot stand beside \"threads\": state it in each rule that needs it");
    for (int i = 0; i < OF_WHOLE; i++)
        nearest_word_try(&guess, of_whole[i]);
    return is_of_spec(key, value) ? fault(why, "cannot stand beside \"threads\"")
                                  : spec_unknown_key(&guess, why);
}

/* Checks whether the keys beside the rules fit together. NULL: they do; else the wrong key. */
static const char *relations(const struct program_file *file, char *why)
{
    const int stated = (file->process != 0) + (file->path[0] != '\0') + (file->group[0] != '\0');
    if (stated == 0)
        (void)fault(why, "needs the key \"process\", \"program\" or \"cgroup\" beside it");
    else if (stated > 1)
        (void)fault(
            why, "needs one of the keys \"process\", \"program\" and \"cgroup\" beside it, not %s",
            stated == 2 ? "two" : "all");
    else if (file->hold && file->process != 0) {
        (void)fault(why, "needs the key \"program\" or \"cgroup\" beside it");
        return "hold";
    } else if (file->ends && file->process == 0) {
        (void)fault(why, "may be \"process\" only if the file also has the key \"process\"");
        return "lifetime";
    } else
        return NULL;
    return "threads";
}

/* Sets the plugin of the file in each rule that states no plugin. A rule that claims no CPU time
 * asks no plugin. */
static void share_plugin(struct program_file *file)
{
    for (int i = 0; file->plugin != NULL && i < file->rule_count; i++) {
        struct spec *spec = &file->rules[i].spec;
        if (spec->plugin != NULL || !spec_claims_cpu(spec) || file->rules[i].leave)
            continue;
        spec->plugin = strdup(file->plugin);
        if (spec->plugin == NULL)
            abort();
    }
}

static bool take_object(json_t *object, const char *text, size_t length, struct program_file *file,
                        char reason[static REASON_BYTES])
{
    char shown[112], why[REASON_BYTES];
    const char *key, *wrong = NULL;
    json_t *value;
    int number = 0;
    (void)take_token(json_object_get(object, "token"), file, why);
    json_object_foreach(object, key, value)
    {
        wrong = take_key(key, value, file, why) ? NULL : key;
        if (wrong != NULL)
            break;
    }
    if (wrong == NULL)
        wrong = relations(file, why);
    share_plugin(file);
    if (wrong == NULL)
        return true;
    json_object_foreach(object, key, value)
    {
        spec_name_key(text, length, key, number++, shown);
        if (strcmp(key, wrong) == 0)
            break;
    }
    return fault(reason, "%s %.390s", shown, why);
}

enum program_parsed program_parse(const char *text, size_t length, struct program_file **file,
                                  char reason[static REASON_BYTES])
{
    static const char word[] = "\"threads\"";
    *file = NULL;
    /* a text without the word "threads" is no program file; this test saves parsing each spec
     * twice */
    if (memmem(text, length, word, sizeof word - 1) == NULL)
        return PROGRAM_NOT;
    json_t *object = spec_object(text, length, reason);
    enum program_parsed parsed = PROGRAM_NOT;
    if (json_object_get(object, "threads") != NULL) {
        *file = calloc(1, sizeof **file);
        if (*file == NULL)
            abort();
        parsed = take_object(object, text, length, *file, reason) ? PROGRAM_GOOD : PROGRAM_BAD;
    }
    json_decref(object);
    return parsed;
}
