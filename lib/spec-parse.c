#include "spec-parse.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "spec-claims.h"
#include "spec-extras.h"
#include "spec-keys.h"
#include "spec-modes.h"
#include "spec-values.h"
#include "units.h"

enum { COMMENT_MAX = 1024 };

typedef bool take_value(const json_t *value, void *into, char *reason);

static bool take_int(const json_t *value, int max, void *into, char *reason)
{
    json_int_t number = 0;
    if (!take_integer(value, max, &number, reason))
        return false;
    *(int *)into = (int)number;
    return true;
}

static bool take_priority(const json_t *value, void *into, char *reason)
{
    return take_int(value, PRIORITY_MAX, into, reason);
}

static bool take_importance(const json_t *value, void *into, char *reason)
{
    return take_int(value, IMPORTANCE_MAX, into, reason);
}

static bool take_weight(const json_t *value, void *into, char *reason)
{
    return take_int(value, WEIGHT_MAX, into, reason);
}

static struct spec *spec_of(void *into, size_t offset)
{
    return (struct spec *)(void *)((char *)into - offset);
}

static bool take_tid(const json_t *value, void *into, char *reason)
{
    json_int_t number = 0, inode = 0;
    struct spec *spec = spec_of(into, offsetof(struct spec, attach));
    const json_t *tid = json_is_object(value) ? json_object_get(value, "tid") : value;
    spec->attach_none = json_is_null(value);
    if (json_is_null(value))
        return true;
    if (json_is_object(value) &&
        (json_object_size(value) != 2 || !json_is_integer(tid) ||
         !take_integer(json_object_get(value, "inode"), INT64_MAX, &inode, reason)))
        return fault(
            reason,
            "must be a whole number from 1 to 4194304, or {\"tid\": NUMBER, \"inode\": NUMBER}");
    if (!take_integer(tid, TID_MAX, &number, reason))
        return false;
    spec->attach = (pid_t)number;
    spec->attach_inode = (uint64_t)inode;
    return true;
}

static bool take_flag(const json_t *value, void *into, char *reason)
{
    if (!json_is_boolean(value))
        return fault(reason, "must be true or false");
    *(bool *)into = json_is_true(value);
    return true;
}

static bool take_lifetime(const json_t *value, void *into, char *reason)
{
    const char *text = json_string_value(value);
    bool thread = text != NULL && strcmp(text, "thread") == 0;
    if (!thread && (text == NULL || strcmp(text, "spec") != 0))
        return fault(reason, "must be \"spec\" or \"thread\"");
    spec_of(into, offsetof(struct spec, lifetime_thread))->lifetime_spec = !thread;
    *(bool *)into = thread;
    return true;
}

bool spec_take_on_refusal(const json_t *value, void *into, char *reason)
{
    const char *text = json_string_value(value);
    const bool waits = text != NULL && strcmp(text, "wait") == 0;
    if (!waits && (text == NULL || strcmp(text, "end") != 0))
        return fault(reason, "must be \"wait\" or \"end\"");
    *(bool *)into = waits;
    return true;
}

static bool take_move(const json_t *value, void *into, char *reason)
{
    const char *text = json_string_value(value);
    bool process = text != NULL && strcmp(text, "process") == 0;
    if (!process && (text == NULL || strcmp(text, "thread") != 0))
        return fault(reason, "must be \"thread\" or \"process\"");
    *(bool *)into = process;
    return true;
}

static bool take_budget(const json_t *value, void *into, char *reason)
{
    const char *text = json_string_value(value);
    const bool process = text != NULL && strcmp(text, "process") == 0;
    if (!process && (text == NULL || strcmp(text, "thread") != 0))
        return fault(reason, "must be \"thread\" or \"process\"");
    *(bool *)into = process;
    return true;
}

static bool take_name(const json_t *value, char **into, size_t max, char *reason)
{
    const char *text = json_string_value(value);
    if (text == NULL || !name_is_valid(text, json_string_length(value), max))
        return fault(
            reason,
            "must be a string of 1 to %zu characters [A-Za-z0-9_.@:-] that starts with [A-Za-z0-9_]",
            max);
    free(*into);
    *into = strdup(text);
    if (*into == NULL)
        abort(); /* no memory: the broker is restarted, and continues from the journal */
    return true;
}

bool spec_take_plugin(const json_t *value, void *into, char *reason)
{
    return take_name(value, (char **)into, PLUGIN_NAME_BYTES - 1, reason);
}

static bool take_cpus(const json_t *value, void *into, char *reason)
{
    const char *text = json_string_value(value);
    if (text != NULL && strlen(text) == json_string_length(value) && spec_take_cpus(into, text))
        return true;
    return fault(reason, "must be a string with a list of CPUs, such as \"0-3,6\", each below %d",
                 CPU_SETSIZE);
}

bool spec_take_token(const json_t *value, void *into, char *reason)
{
    return take_name(value, (char **)into, TOKEN_BYTES - 1, reason);
}

bool spec_take_comment(const json_t *value, void *into, char *reason)
{
    (void)into; /* a comment is only for the owner */
    if (!json_is_string(value) || json_string_length(value) > COMMENT_MAX)
        return fault(reason, "must be a string of at most %d bytes", COMMENT_MAX);
    return true;
}

/* Skips the keys "modes" and "mode". They refer to all other keys, so take_modes parses them at the
 * end. */
static bool take_later(const json_t *value, void *into, char *reason)
{
    (void)value;
    (void)into;
    (void)reason;
    return true;
}

static const struct {
    const char *key;
    take_value *take;
    size_t offset;
} keys[] = {
    {"runtime", take_time, offsetof(struct spec, runtime)},
    {"period", take_time, offsetof(struct spec, period)},
    {"deadline", take_time, offsetof(struct spec, deadline)},
    {"desired_runtime", take_time, offsetof(struct spec, desired_runtime)},
    {"blocking", take_time, offsetof(struct spec, blocking)},
    {"priority", take_priority, offsetof(struct spec, priority)},
    {"importance", take_importance, offsetof(struct spec, importance)},
    {"weight", take_weight, offsetof(struct spec, weight)},
    {"lock_memory", take_lock_memory, offsetof(struct spec, extras)},
    {"cpu_latency", take_cpu_latency, offsetof(struct spec, extras)},
    {"nice", take_nice, offsetof(struct spec, extras)},
    {"clamp", take_clamp, offsetof(struct spec, extras)},
    {"plugin", spec_take_plugin, offsetof(struct spec, plugin)},
    {"ignore_admission", take_flag, offsetof(struct spec, ignore_admission)},
    {"reclaim", take_flag, offsetof(struct spec, reclaim)},
    {"overrun_signal", take_flag, offsetof(struct spec, overrun_signal)},
    {"attach", take_tid, offsetof(struct spec, attach)},
    {"lifetime", take_lifetime, offsetof(struct spec, lifetime_thread)},
    {"budget", take_budget, offsetof(struct spec, budget_process)},
    {"move", take_move, offsetof(struct spec, move_process)},
    {"cpus", take_cpus, 0},
    {"expires", take_time, offsetof(struct spec, expires)},
    {"on_refusal", spec_take_on_refusal, offsetof(struct spec, waits)},
    {"dry_run", take_flag, offsetof(struct spec, dry_run)},
    {"token", spec_take_token, offsetof(struct spec, token)},
    {"comment", spec_take_comment, 0},
    {"modes", take_later, 0},
    {"mode", take_later, 0},
};
enum { KEYS = sizeof keys / sizeof *keys };

/* Finds the line of a key. jansson keeps no positions, but keeps the order of keys: the n-th key is
 * the n-th string at depth 1 before a colon. The text is a valid JSON object. */
static int line_of_key(const char *text, size_t length, int number)
{
    int line = 1, depth = 0, line_of_string = 1;
    for (const char *at = text; at < text + length; at++) {
        if (*at == '"') {
            line_of_string = line;
            while (*++at != '"')
                at += *at == '\\';
        } else if (*at == ':' && depth == 1 && number-- == 0)
            return line_of_string;
        line += *at == '\n';
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
    }
    return line;
}

/* Shows the key only if its characters are valid, because control characters of a user must not
 * reach a log. */
void spec_name_key(const char *text, size_t length, const char *key, int number,
                   char shown[static 112])
{
    const char *plain = name_is_valid(key, strlen(key), NAME_BYTES - 1) ? key : "?";
    snprintf(shown, 112, "key \"%s\" (line %d)", plain, line_of_key(text, length, number));
}

bool spec_unknown_key(const struct nearest_word *guess, char *why)
{
    return guess->word != NULL ? fault(why, "is unknown; did you mean \"%s\"?", guess->word)
                               : fault(why, "is unknown: rtf-spec(5) lists the keys");
}

static bool is_unknown(const char *key, char *why)
{
    struct nearest_word guess = nearest_word_begin(key);
    for (int i = 0; i < KEYS; i++)
        nearest_word_try(&guess, keys[i].key);
    for (enum resource resource = RESOURCE_CPU + 1; resource < RESOURCES; resource++)
        nearest_word_try(&guess, resource_name(resource));
    return spec_unknown_key(&guess, why);
}

bool spec_take_key(const char *key, const json_t *value, struct spec *spec, char *why)
{
    for (int i = 0; i < KEYS; i++)
        if (strcmp(keys[i].key, key) == 0)
            return keys[i].take(value, (char *)spec + keys[i].offset, why);
    enum resource resource;
    if (resource_from_name(key, &resource) && resource != RESOURCE_CPU)
        return take_claim(resource, value, &spec->claims, why);
    return is_unknown(key, why);
}

json_t *spec_object(const char *text, size_t length, char reason[static REASON_BYTES])
{
    json_error_t error;
    if (length > SPEC_BYTES_MAX) {
        fault(reason, "is longer than %d bytes", SPEC_BYTES_MAX);
        return NULL;
    }
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (object == NULL && json_error_code(&error) == json_error_numeric_overflow)
        fault(reason, "line %d: a number is too big: no key takes more than %llu", error.line,
              (unsigned long long)TIME_MAX);
    else if (object == NULL) {
        paragraph_clean(error.text); /* jansson quotes the faulty text */
        fault(reason, "is not one JSON object: line %d, column %d: %.120s", error.line,
              error.column, error.text);
    } else if (!json_is_object(object)) {
        fault(reason,
              "must be one JSON object, such as {\"runtime\": \"8ms\", \"period\": \"40ms\"}");
        json_decref(object);
        object = NULL;
    }
    return object;
}

bool spec_parse(const char *text, size_t length, struct spec *spec,
                char reason[static REASON_BYTES])
{
    char shown[112], why[REASON_BYTES];
    const char *key, *wrong = NULL;
    json_t *value;
    int number = 0;
    bool good = true;
    *spec = (struct spec){0};
    json_t *object = spec_object(text, length, reason);
    if (object == NULL)
        return false;
    /* The token is parsed first, so that the broker's answer to an invalid spec has the token,
     * too. */
    (void)spec_take_token(json_object_get(object, "token"), &spec->token, why);
    json_object_foreach(object, key, value)
    {
        wrong = spec_take_key(key, value, spec, why) ? NULL : key;
        if (wrong != NULL)
            break;
    }
    if (wrong == NULL)
        wrong = take_modes(object, spec, why);
    if (wrong == NULL)
        wrong = spec_relations(spec, why);
    if (wrong != NULL)
        json_object_foreach(object, key, value)
        {
            spec_name_key(text, length, key, number++, shown);
            if (strcmp(key, wrong) == 0)
                good = fault(reason, "%s %.300s", shown, why);
        }
    json_decref(object);
    return good;
}

bool spec_parse_tid(const char *text, size_t length, pid_t *tid, uint64_t *inode)
{
    char digits[48];
    uint64_t number;
    if (length > 0 && text[length - 1] == '\n')
        length--;
    if (length == 0 || length >= sizeof digits || memchr(text, '\0', length) != NULL)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    char *of_pidfd = strstr(digits, " inode=");
    *inode = 0;
    if (of_pidfd != NULL) {
        *of_pidfd = '\0';
        if (!parse_number(of_pidfd + 7, INT64_MAX, inode) || *inode == 0)
            return false;
    }
    if (!parse_number(digits, TID_MAX, &number) || number == 0)
        return false;
    *tid = (pid_t)number;
    return true;
}
