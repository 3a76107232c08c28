#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "rtf-own.h"
#include "units.h"

/* Returns the parameters that a public struct rtf_params holds. For programs, the public struct is
 * only an array of bytes. */
struct own_params own_params(const struct rtf_params *params)
{
    struct own_params own;
    memcpy(&own, params->own, sizeof own);
    return own;
}

void own_keep_params(struct rtf_params *params, const struct own_params *own)
{
    memcpy(params->own, own, sizeof *own);
}

#define SETTER(setter, type, value, field)             \
    void setter(struct rtf_params *params, type value) \
    {                                                  \
        struct own_params own = own_params(params);    \
        own.field = value;                             \
        own_keep_params(params, &own);                 \
    }

#define NUMBER(setter, getter, type, value, field) \
    SETTER(setter, type, value, field)             \
    type getter(const struct rtf_params *params)   \
    {                                              \
        return own_params(params).field;           \
    }

NUMBER(rtf_params_set_period, rtf_params_get_period, uint64_t, microseconds, period)
NUMBER(rtf_params_set_runtime, rtf_params_get_runtime, uint64_t, microseconds, runtime)
NUMBER(rtf_params_set_des_runtime, rtf_params_get_des_runtime, uint64_t, microseconds,
       desired_runtime)
NUMBER(rtf_params_set_deadline, rtf_params_get_deadline, uint64_t, microseconds, deadline)
NUMBER(rtf_params_set_priority, rtf_params_get_priority, unsigned, priority, priority)

SETTER(rtf_params_ignore_admission, bool, ignore, ignore_admission)
SETTER(rtf_params_set_lasting, bool, lasting, lasting)
SETTER(rtf_params_set_expires, uint64_t, microseconds, expires)
SETTER(rtf_params_set_wait, bool, wait, waits)
SETTER(rtf_params_set_importance, unsigned, importance, importance)
SETTER(rtf_params_set_weight, unsigned, weight, weight)
SETTER(rtf_params_set_dry_run, bool, dry_run, dry_run)

/* Copies the text into a field of the parameters. Empty text and NULL both unset the field. False:
 * the text is too long or not valid, and the field is unchanged. */
static bool keep_text(char *field, size_t size, const char *text, bool (*is_valid)(const char *))
{
    const size_t length = text == NULL ? 0 : strlen(text);
    if (length >= size || (length > 0 && !is_valid(text)))
        return false;
    memset(field, 0, size);
    memcpy(field, length == 0 ? "" : text, length);
    return true;
}

static bool any_text_ok(const char *text)
{
    (void)text;
    return true;
}

static bool cpus_ok(const char *text)
{
    cpu_set_t cpus;
    return parse_cpus(text, &cpus);
}

#define TEXT(setter, type, value, field, is_valid)                    \
    enum rtf_result setter(struct rtf_params *params, type value)     \
    {                                                                 \
        struct own_params own = own_params(params);                   \
        if (!keep_text(own.field, sizeof own.field, value, is_valid)) \
            return RTF_BAD_SPEC;                                      \
        own_keep_params(params, &own);                                \
        return RTF_OK;                                                \
    }

TEXT(rtf_params_set_scheduler, const char *, plugin, plugin, any_text_ok)
TEXT(rtf_params_set_mode, const char *, mode, mode, any_text_ok)
TEXT(rtf_params_set_name, const char *, name, name, client_name_ok)
TEXT(rtf_params_set_cpus, const char *, cpus, cpus, cpus_ok)

const char *rtf_params_get_scheduler(const struct rtf_params *params)
{
    return (const char *)params->own + offsetof(struct own_params, plugin);
}

/* Keeps a pointer to the caller's text, and no copy, because struct rtf_params has no room for a
 * copy, and no call frees such a struct. Checks that the text is one JSON value, because a text
 * such as "1, \"nice\": -5" would add a key to the spec file. */
static enum rtf_result keep_json(struct rtf_params *params, int text, const char *json)
{
    struct own_params own = own_params(params);
    json_t *value = json == NULL ? NULL : json_loads(json, 0, NULL);
    const bool is_taken = json == NULL || value != NULL;
    json_decref(value);
    if (!is_taken || text < 0)
        return RTF_BAD_SPEC;
    own.texts[text] = json;
    own_keep_params(params, &own);
    return RTF_OK;
}

enum rtf_result rtf_params_set_modes(struct rtf_params *params, const char *json)
{
    return keep_json(params, OWN_MODES, json);
}

enum rtf_result rtf_params_set_threads(struct rtf_params *params, const char *json)
{
    return keep_json(params, OWN_THREADS, json);
}

enum rtf_result rtf_params_set_keys(struct rtf_params *params, const char *json)
{
    json_t *value = client_parse_object(json);
    const bool is_object = json == NULL || value != NULL, is_empty = json_object_size(value) == 0;
    json_decref(value);
    return is_object ? keep_json(params, OWN_REST, is_empty ? NULL : json) : RTF_BAD_SPEC;
}

enum rtf_result rtf_params_set_claim(struct rtf_params *params, const char *resource,
                                     const char *json)
{
    const int text = resource == NULL ? -1 : own_text_of(resource);
    return keep_json(params, text >= OWN_UNITS && text <= OWN_DISK ? text : -1, json);
}
