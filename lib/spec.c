#include "spec.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "units.h"
#include "wire.h"

enum { TID_MAX = 4194304, COMMENT_MAX = 1024 }; /* PID_MAX_LIMIT of the kernel */

uint64_t spec_window(const struct spec *spec)
{
    if (spec->period == 0 || (spec->deadline != 0 && spec->deadline < spec->period))
        return spec->deadline;
    return spec->period;
}

int spec_weight(const struct spec *spec)
{
    return spec->weight == 0 ? 1 : spec->weight;
}

bool spec_claims_cpu(const struct spec *spec)
{
    return spec->claims == NULL || spec->runtime != 0 || spec->desired_runtime != 0 || spec->period != 0 || spec->deadline != 0 || spec->priority != 0 ||
           spec->plugin != NULL || spec->ignore_admission || CPU_COUNT(&spec->cpus) != 0;
}

uint64_t spec_least_runtime(const struct spec *spec)
{
    return spec->runtime_least != 0 ? spec->runtime_least : spec->runtime;
}

/* A value's fault; the caller puts key and line before it. */
#define fault(why, ...) fault_in(why, REASON_BYTES, __VA_ARGS__)

typedef bool take_value(const json_t *value, void *into, char *reason);

/* "1.5ms", 1000.0 and 1e3 can be said otherwise. */
static bool no_time(const json_t *value, char *reason)
{
    static const char allowed[] = "must be a whole number of microseconds, or a string such as \"8ms\" with us, ms or s, from 1us to 3600s";
    uint64_t meant;
    char *number = json_is_real(value) ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    const char *string = json_string_value(value), *quote = string == NULL ? "" : "\"";
    const bool is_known = number != NULL ? guess_time(number, 1, &meant) : string != NULL && guess_time(string, 0, &meant);
    free(number);
    if (!is_known)
        return fault(reason, "%s", allowed);
    return fault(reason, "%s; write %s%llu%s%s", allowed, quote, (unsigned long long)meant, string == NULL ? "" : "us", quote);
}

static bool take_time(const json_t *value, void *into, char *reason)
{
    uint64_t *time = into;
    if (json_is_integer(value) && json_integer_value(value) >= 1 && (uint64_t)json_integer_value(value) <= TIME_MAX) {
        *time = (uint64_t)json_integer_value(value);
        return true;
    }
    if (json_is_string(value) && parse_time(json_string_value(value), time))
        return true;
    return no_time(value, reason);
}

static bool take_integer(const json_t *value, json_int_t max, json_int_t *into, char *reason)
{
    if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > max)
        return fault(reason, "must be a whole number from 1 to %lld", (long long)max);
    *into = json_integer_value(value);
    return true;
}

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
    json_int_t number = 0;
    spec_of(into, offsetof(struct spec, attach))->attach_none = json_is_null(value);
    if (json_is_null(value))
        return true;
    if (!take_integer(value, TID_MAX, &number, reason))
        return false;
    *(pid_t *)into = (pid_t)number;
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

static bool take_on_refusal(const json_t *value, void *into, char *reason)
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

static bool take_name(const json_t *value, char **into, size_t max, char *reason)
{
    const char *text = json_string_value(value);
    if (text == NULL || !name_is_valid(text, json_string_length(value), max))
        return fault(reason, "must be a string of 1 to %zu characters [A-Za-z0-9_.@:-] that starts with [A-Za-z0-9_]", max);
    free(*into);
    *into = strdup(text);
    if (*into == NULL)
        abort(); /* state/ brings a new broker back to here */
    return true;
}

static bool take_plugin(const json_t *value, void *into, char *reason)
{
    return take_name(value, (char **)into, PLUGIN_NAME_BYTES - 1, reason);
}

static bool take_cpus(const json_t *value, void *into, char *reason)
{
    const char *text = json_string_value(value);
    if (text != NULL && strlen(text) == json_string_length(value) && parse_cpus(text, into))
        return true;
    return fault(reason, "must be a string with a list of CPUs, such as \"0-3,6\", each below %d", CPU_SETSIZE);
}

static bool take_token(const json_t *value, void *into, char *reason)
{
    return take_name(value, (char **)into, TOKEN_BYTES - 1, reason);
}

static bool take_comment(const json_t *value, void *into, char *reason)
{
    (void)into; /* for the owner's eyes: it goes nowhere */
    if (!json_is_string(value) || json_string_length(value) > COMMENT_MAX)
        return fault(reason, "must be a string of at most %d bytes", COMMENT_MAX);
    return true;
}

static bool take_bytes(const json_t *value, uint64_t *bytes, char *reason)
{
    if (json_is_integer(value) && json_integer_value(value) >= 1 && (uint64_t)json_integer_value(value) <= WIRE_BYTES_MAX) {
        *bytes = (uint64_t)json_integer_value(value);
        return true;
    }
    return (json_is_string(value) && parse_bytes(json_string_value(value), bytes)) ||
           fault(reason, "must be a whole number of bytes, or a string such as \"32KiB\" with B, kB, MB, KiB or MiB, from 1 to %lluB",
                 (unsigned long long)WIRE_BYTES_MAX);
}

/* A number of the claim, by its key. */
static bool take_claim_value(struct claim *claim, const char *name, const json_t *value, char *why)
{
    const struct claim_key *keys = resource_keys(claim->resource);
    json_int_t number = 0;
    for (int i = 0; i < CLAIM_VALUES && keys[i].name != NULL; i++)
        if (strcmp(keys[i].name, name) == 0) {
            if (keys[i].form == CLAIM_BYTES)
                return take_bytes(value, &claim->values[i], why) &&
                       (claim->values[i] <= keys[i].most || fault(why, "must be from 1B to %lluB", (unsigned long long)keys[i].most));
            if (keys[i].form == CLAIM_TIME)
                return take_time(value, &claim->values[i], why);
            if (!take_integer(value, (json_int_t)keys[i].most, &number, why))
                return false;
            claim->values[i] = (uint64_t)number;
            return true;
        }
    return fault(why, "is unknown there");
}

static bool take_claim_name(char *into, size_t size, const json_t *value, char *why)
{
    const char *text = json_string_value(value);
    if (text == NULL || !name_is_valid(text, json_string_length(value), size - 1))
        return fault(why, "must be a string of 1 to %zu characters [A-Za-z0-9_.@:-] that starts with [A-Za-z0-9_]", size - 1);
    snprintf(into, size, "%s", text);
    return true;
}

/* Not a path: it would have to be looked up with its user's rights, and no program of the broker's follows one of a user's. */
static bool take_where(struct claim *claim, const json_t *value, char *why)
{
    const char *text = json_string_value(value);
    if (claim->resource == RESOURCE_DISK && text != NULL && strncmp(text, "/dev/", 5) == 0)
        text += 5;
    if (claim->resource == RESOURCE_DISK && text != NULL && strchr(text, '/') != NULL)
        return fault(why, "must be the name of a whole disk, such as \"sda\", and no path: 'lsblk' shows which one a path is on");
    if (text == NULL || !where_is_valid(claim->resource, text, strlen(text)))
        return fault(why, "must be the name of %s", claim->resource == RESOURCE_DISK ? "a disk, such as \"sda\"" : "an interface, such as \"eth0\"");
    snprintf(claim->where, sizeof claim->where, "%s", text);
    return true;
}

/* Bytes a second: a number, a size, or a rate as links have it. */
static bool take_bandwidth(const json_t *value, uint64_t *bandwidth, char *why)
{
    uint64_t bits;
    if (json_is_string(value) && parse_rate(json_string_value(value), &bits) && bits / 8 < WIRE_BYTES_MAX) {
        *bandwidth = (bits + 7) / 8;
        return true;
    }
    return take_bytes(value, bandwidth, why) ||
           fault(why, "must be bytes a second, as a whole number or a string such as \"640kB\", or a rate such as \"10Mbit\", from 1B to %lluB",
                 (unsigned long long)WIRE_BYTES_MAX);
}

/* Bytes a second, as the claim says them; 0: it does not. */
struct bandwidths {
    uint64_t needed, desired;
};

static bool take_claim_key(struct claim *claim, const char *key, const json_t *value, struct bandwidths *bandwidths, char *why)
{
    const char *where = resource_where(claim->resource);
    if (strcmp(key, "bandwidth") == 0 && where != NULL)
        return take_bandwidth(value, &bandwidths->needed, why);
    if (strcmp(key, "desired_bandwidth") == 0 && where != NULL)
        return take_bandwidth(value, &bandwidths->desired, why);
    if (strcmp(key, "plugin") == 0)
        return take_claim_name(claim->plugin, sizeof claim->plugin, value, why);
    if (where != NULL && strcmp(key, where) == 0)
        return take_where(claim, value, why);
    return take_claim_value(claim, key, value, why);
}

static const uint64_t second = 1000000; /* us */

static bool bytes_in_period(const struct claim *claim, uint64_t bandwidth, uint64_t *bytes, char *why)
{
    const unsigned __int128 all = ((unsigned __int128)bandwidth * claim->values[1] + second - 1) / second;
    *bytes = all > WIRE_BYTES_MAX ? 0 : (uint64_t)all;
    return *bytes != 0 || fault(why, "has a bandwidth that is more than %lluB in a period", (unsigned long long)WIRE_BYTES_MAX);
}

/* So many bytes in each period; without one, in each second. */
static bool settle_bandwidths(struct claim *claim, const struct bandwidths *bandwidths, char *why)
{
    uint64_t *const desired = claim_desired_value(claim);
    if (bandwidths->needed != 0 && claim->values[0] != 0)
        return fault(why, "has the key \"bandwidth\" beside \"bytes\": either says how much");
    if (bandwidths->desired != 0 && *desired != 0)
        return fault(why, "has the key \"desired_bandwidth\" beside \"desired_bytes\": either says how much");
    if (claim->values[1] == 0 && (bandwidths->needed != 0 || bandwidths->desired != 0))
        claim->values[1] = second;
    return (bandwidths->needed == 0 || bytes_in_period(claim, bandwidths->needed, &claim->values[0], why)) &&
           (bandwidths->desired == 0 || bytes_in_period(claim, bandwidths->desired, desired, why));
}

static bool take_claim(enum resource resource, const json_t *value, struct claim **claims, char *why)
{
    char wrong[REASON_BYTES];
    const char *key;
    json_t *member;
    const char *amount = resource_keys(resource)[0].name;
    if (!json_is_object(value))
        return fault(why, "must be an object, such as {\"%s\": 1}", amount);
    struct claim *claim = claims_push(claims, resource);
    struct bandwidths bandwidths = {0};
    json_object_foreach((json_t *)value, key, member) {
        if (!take_claim_key(claim, key, member, &bandwidths, wrong))
            return fault(why, "has the key \"%s\", which %.300s", name_is_valid(key, strlen(key), NAME_BYTES - 1) ? key : "?", wrong);
    }
    if (!settle_bandwidths(claim, &bandwidths, why))
        return false;
    const char *lacks = claim_settle(claim);
    if (lacks != NULL)
        return fault(why, "lacks the key \"%s\"", lacks);
    return claim_desired(claim) == 0 || claim_desired(claim) >= claim->values[0] || fault(why, "desires less than it needs");
}

/* They are about all the others, and are taken after these. */
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
    {"priority", take_priority, offsetof(struct spec, priority)},
    {"importance", take_importance, offsetof(struct spec, importance)},
    {"weight", take_weight, offsetof(struct spec, weight)},
    {"plugin", take_plugin, offsetof(struct spec, plugin)},
    {"ignore_admission", take_flag, offsetof(struct spec, ignore_admission)},
    {"attach", take_tid, offsetof(struct spec, attach)},
    {"lifetime", take_lifetime, offsetof(struct spec, lifetime_thread)},
    {"move", take_move, offsetof(struct spec, move_process)},
    {"cpus", take_cpus, offsetof(struct spec, cpus)},
    {"expires", take_time, offsetof(struct spec, expires)},
    {"on_refusal", take_on_refusal, offsetof(struct spec, waits)},
    {"dry_run", take_flag, offsetof(struct spec, dry_run)},
    {"token", take_token, offsetof(struct spec, token)},
    {"comment", take_comment, 0},
    {"modes", take_later, 0},
    {"mode", take_later, 0},
};
enum { KEYS = sizeof keys / sizeof *keys };

/* jansson keeps no places, but it keeps the keys' order: the n-th key that it hands out is the n-th string at
 * depth 1 with a colon behind it. The text is known to be one good JSON object. */
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

/* A key is shown only when it is plain: a user's control characters have no place in a log. */
static void name_key(const char *text, size_t length, const char *key, int number, char shown[static 112])
{
    const char *plain = name_is_valid(key, strlen(key), NAME_BYTES - 1) ? key : "?";
    snprintf(shown, 112, "key \"%s\" (line %d)", plain, line_of_key(text, length, number));
}

static bool take_key(const char *key, const json_t *value, struct spec *spec, char *why)
{
    for (int i = 0; i < KEYS; i++)
        if (strcmp(keys[i].key, key) == 0)
            return keys[i].take(value, (char *)spec + keys[i].offset, why);
    enum resource resource;
    if (resource_from_name(key, &resource) && resource != RESOURCE_CPU)
        return take_claim(resource, value, &spec->claims, why);
    return fault(why, "is unknown: the keys are runtime, period, deadline, desired_runtime, priority, plugin, "
                         "ignore_admission, attach, lifetime, move, units, network, disk, importance, weight, cpus, expires, on_refusal, modes, mode, dry_run, token and comment");
}

/* What follows from the definitions of Q, Qd, D and T, and of a dry run, whatever plugin is asked. NULL, or the key that is
 * wrong beside the others, and why. */
static const char *check_relations(const struct spec *spec, char *why)
{
    uint64_t window = spec_window(spec);
    const char *bound = window == spec->deadline && window != 0 ? "deadline" : "period";
    if (spec->deadline != 0 && spec->period != 0 && spec->deadline > spec->period) {
        fault(why, "must not exceed the period: %lluus against %lluus", (unsigned long long)spec->deadline, (unsigned long long)spec->period);
        return "deadline";
    }
    if (window != 0 && spec->runtime > window) {
        fault(why, "must not exceed the %s: %lluus against %lluus", bound, (unsigned long long)spec->runtime, (unsigned long long)window);
        return "runtime";
    }
    if (spec->dry_run && spec->attach != 0) {
        fault(why, "cannot stand beside the key \"attach\": a dry run holds nothing that a thread could be attached to");
        return "dry_run";
    }
    if (spec->attach != 0 && !spec_claims_cpu(spec) && !claims_have(spec->claims, RESOURCE_NETWORK) && !claims_have(spec->claims, RESOURCE_DISK)) {
        fault(why, "needs a claim on CPU time beside it, such as runtime and period, or on a network or disk");
        return "attach";
    }
    if (spec->desired_runtime == 0)
        return NULL;
    if (spec->runtime == 0)
        fault(why, "needs the key \"runtime\" beside it");
    else if (spec->desired_runtime < spec->runtime)
        fault(why, "must not be below the runtime: %lluus against %lluus", (unsigned long long)spec->desired_runtime,
              (unsigned long long)spec->runtime);
    else if (window != 0 && spec->desired_runtime > window)
        fault(why, "must not exceed the %s: %lluus against %lluus", bound, (unsigned long long)spec->desired_runtime,
              (unsigned long long)window);
    else
        return NULL;
    return "desired_runtime";
}

/* ---- modes ---- */

/* What one mode needs: what it does not say is as in the spec. */
struct needs {
    uint64_t runtime, amounts[RESOURCES]; /* the first value of each claim */
};

static struct claim *claim_on(struct claim *claims, enum resource resource)
{
    while (claims != NULL && claims->resource != resource)
        claims = claims->next;
    return claims;
}

/* {"bytes": 512}: nothing else of a claim changes from mode to mode. */
static bool take_amount(const struct claim *claim, const json_t *value, uint64_t *amount, char *why)
{
    struct claim other = *claim;
    struct bandwidths bandwidths = {0};
    const char *first = resource_keys(claim->resource)[0].name;
    const json_t *bandwidth = json_object_get(value, "bandwidth"), *given = json_object_get(value, first);
    other.values[0] = 0;
    if (json_object_size(value) != 1 || (given == NULL && (bandwidth == NULL || resource_where(claim->resource) == NULL)))
        return fault(why, "must be an object with the key \"%s\" alone%s", first, resource_where(claim->resource) == NULL ? "" : ", or \"bandwidth\"");
    if (given != NULL ? !take_claim_value(&other, first, given, why) : !take_bandwidth(bandwidth, &bandwidths.needed, why) || !settle_bandwidths(&other, &bandwidths, why))
        return false;
    *amount = other.values[0];
    return true;
}

static bool take_need(const struct spec *spec, const char *key, const json_t *value, struct needs *needs, char *why)
{
    enum resource resource;
    if (strcmp(key, "runtime") == 0)
        return take_time(value, &needs->runtime, why);
    if (!resource_from_name(key, &resource) || resource == RESOURCE_CPU)
        return fault(why, "is unknown there: a mode has a runtime, and of each claim how much");
    const struct claim *claim = claim_on(spec->claims, resource);
    return claim != NULL ? take_amount(claim, value, &needs->amounts[resource], why) : fault(why, "needs a claim beside the modes");
}

static bool take_mode(const struct spec *spec, const char *name, const json_t *mode, struct needs *needs, char *why)
{
    char wrong[REASON_BYTES];
    const char *key;
    json_t *value;
    if (!name_is_valid(name, strlen(name), MODE_BYTES - 1))
        return fault(why, "must have names of 1 to %d characters [A-Za-z0-9_.@:-] that start with [A-Za-z0-9_]", MODE_BYTES - 1);
    if (!json_is_object(mode))
        return fault(why, "must have objects as modes, such as {\"sd\": {\"runtime\": \"2ms\"}}");
    json_object_foreach((json_t *)mode, key, value)
        if (!take_need(spec, key, value, needs, wrong))
            return fault(why, "has the mode \"%s\" with the key \"%s\", which %.300s", name, name_is_valid(key, strlen(key), NAME_BYTES - 1) ? key : "?", wrong);
    return true;
}

static void widen(struct needs *most, const struct needs *needs)
{
    most->runtime = needs->runtime > most->runtime ? needs->runtime : most->runtime;
    for (int i = 0; i < RESOURCES; i++)
        most->amounts[i] = needs->amounts[i] > most->amounts[i] ? needs->amounts[i] : most->amounts[i];
}

/* Admitted is the most that any of them needs, of each resource; kept is what the one that is on needs. */
static void settle_modes(struct spec *spec, const struct needs *most, const struct needs *on, uint64_t least)
{
    spec->runtime = most->runtime;
    spec->runtime_in_mode = on->runtime < most->runtime ? on->runtime : 0;
    spec->runtime_least = least < most->runtime ? least : 0;
    for (struct claim *claim = spec->claims; claim != NULL; claim = claim->next) {
        claim->values[0] = most->amounts[claim->resource];
        claim->in_mode = on->amounts[claim->resource] < most->amounts[claim->resource] ? on->amounts[claim->resource] : 0;
    }
}

static bool desires_more(const struct spec *spec)
{
    const struct claim *claim = spec->claims;
    while (claim != NULL && claim_desired(claim) == 0)
        claim = claim->next;
    return claim != NULL || spec->desired_runtime != 0;
}

static bool take_all_modes(const json_t *modes, const char *chosen, struct spec *spec, char *why)
{
    struct needs base = {.runtime = spec->runtime}, most = {0}, on = {0};
    const char *name;
    json_t *mode;
    uint64_t least = UINT64_MAX;
    size_t with_runtime = 0;
    if (!json_is_object(modes) || json_object_size(modes) == 0 || json_object_size(modes) > MODES_MAX)
        return fault(why, "must be an object with 1 to %d modes, such as {\"sd\": {\"runtime\": \"2ms\"}}", MODES_MAX);
    if (desires_more(spec))
        return fault(why, "cannot stand beside what the spec would rather have: a mode is what is needed");
    for (const struct claim *claim = spec->claims; claim != NULL; claim = claim->next)
        base.amounts[claim->resource] = claim->values[0];
    json_object_foreach((json_t *)modes, name, mode) {
        struct needs needs = base;
        if (!take_mode(spec, name, mode, &needs, why))
            return false;
        widen(&most, &needs);
        with_runtime += needs.runtime != 0;
        least = needs.runtime < least ? needs.runtime : least;
        if (strcmp(chosen, name) == 0)
            on = needs;
    }
    if (with_runtime != 0 && with_runtime != json_object_size(modes))
        return fault(why, "must have a runtime in each, or in none, where the spec has none beside them");
    settle_modes(spec, &most, &on, least);
    return true;
}

/* NULL, or the key that is wrong and why. */
static const char *take_modes(const json_t *object, struct spec *spec, char *why)
{
    const json_t *modes = json_object_get(object, "modes"), *mode = json_object_get(object, "mode");
    const char *name = json_string_value(mode);
    const bool is_name = name != NULL && name_is_valid(name, json_string_length(mode), MODE_BYTES - 1);
    if (modes == NULL && mode == NULL)
        return NULL;
    if (modes != NULL && !take_all_modes(modes, is_name ? name : "", spec, why))
        return "modes";
    if (mode == NULL) {
        fault(why, "need the key \"mode\" beside them, which names the one that is on");
        return "modes";
    }
    if (!is_name || json_object_get(modes, name) == NULL) {
        fault(why, "must be the name of one of the modes");
        return "mode";
    }
    snprintf(spec->mode, sizeof spec->mode, "%s", name);
    return NULL;
}

static json_t *parse_object(const char *text, size_t length, char *reason)
{
    json_error_t error;
    if (length > SPEC_BYTES_MAX) {
        fault(reason, "is longer than %d bytes", SPEC_BYTES_MAX);
        return NULL;
    }
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (object == NULL && json_error_code(&error) == json_error_numeric_overflow)
        fault(reason, "line %d: a number is too big: no key takes more than %llu", error.line, (unsigned long long)TIME_MAX);
    else if (object == NULL) {
        paragraph_clean(error.text); /* jansson quotes the offending text */
        fault(reason, "is not one JSON object: line %d, column %d: %.120s", error.line, error.column, error.text);
    } else if (!json_is_object(object)) {
        fault(reason, "must be one JSON object, such as {\"runtime\": \"8ms\", \"period\": \"40ms\"}");
        json_decref(object);
        object = NULL;
    }
    return object;
}

bool spec_parse(const char *text, size_t length, struct spec *spec, char reason[static REASON_BYTES])
{
    char shown[112], why[REASON_BYTES];
    const char *key, *wrong = NULL;
    json_t *value;
    int number = 0;
    bool good = true;
    *spec = (struct spec){0};
    json_t *object = parse_object(text, length, reason);
    if (object == NULL)
        return false;
    /* First, so that even the answer to a spec that is wrong elsewhere can be told from others. */
    (void)take_token(json_object_get(object, "token"), &spec->token, why);
    json_object_foreach(object, key, value) {
        wrong = take_key(key, value, spec, why) ? NULL : key;
        if (wrong != NULL)
            break;
    }
    if (wrong == NULL)
        wrong = take_modes(object, spec, why);
    if (wrong == NULL)
        wrong = check_relations(spec, why);
    if (wrong != NULL)
        json_object_foreach(object, key, value) {
            name_key(text, length, key, number++, shown);
            if (strcmp(key, wrong) == 0)
                good = fault(reason, "%s %.300s", shown, why);
        }
    json_decref(object);
    return good;
}

void spec_free(struct spec *spec)
{
    free(spec->plugin);
    free(spec->token);
    spec->plugin = spec->token = NULL;
    claims_free(&spec->claims);
}

/* ---- as lines of a paragraph ---- */

void spec_add_mode(struct paragraph_output *output, const struct spec *spec)
{
    if (spec->mode[0] == '\0')
        return;
    paragraph_add(output, "mode", spec->mode);
    paragraph_add_stated(output, "runtime_in_mode", spec->runtime_in_mode);
    paragraph_add_stated(output, "runtime_least", spec->runtime_least);
}

void spec_add(struct paragraph_output *output, const struct spec *spec)
{
    char cpus[CPU_LIST_TEXT];
    paragraph_add_stated(output, "runtime", spec->runtime);
    paragraph_add_stated(output, "desired_runtime", spec->desired_runtime);
    spec_add_mode(output, spec);
    paragraph_add_stated(output, "period", spec->period);
    paragraph_add_stated(output, "deadline", spec->deadline);
    paragraph_add_stated(output, "priority", (uint64_t)spec->priority);
    paragraph_add_stated(output, "importance", (uint64_t)spec->importance);
    paragraph_add_stated(output, "weight", (uint64_t)spec->weight);
    paragraph_add_stated(output, "attach", (uint64_t)spec->attach);
    paragraph_add_stated(output, "ignore_admission", spec->ignore_admission);
    paragraph_add_stated(output, "lifetime_thread", spec->lifetime_thread);
    paragraph_add_stated(output, "attach_none", spec->attach_none);
    paragraph_add_stated(output, "lifetime_spec", spec->lifetime_spec);
    paragraph_add_stated(output, "move_process", spec->move_process);
    if (CPU_COUNT(&spec->cpus) != 0)
        paragraph_add(output, "cpus", format_cpus(&spec->cpus, cpus));
    paragraph_add_stated(output, "expires", spec->expires);
    paragraph_add_stated(output, "waits", spec->waits);
    paragraph_add_stated(output, "dry_run", spec->dry_run);
    if (spec->plugin != NULL)
        paragraph_add(output, "plugin", spec->plugin);
    if (spec->token != NULL)
        paragraph_add(output, "token", spec->token);
    claims_add(output, spec->claims);
}

static bool get_number(const struct paragraph *paragraph, const char *key, uint64_t max, uint64_t *into)
{
    *into = 0;
    return paragraph_get_number(paragraph, key, max, into) >= 0;
}

static bool get_name(const struct paragraph *paragraph, const char *key, size_t max, char **into)
{
    const char *text = paragraph_get(paragraph, key);
    if (text == NULL)
        return true;
    if (!name_is_valid(text, strlen(text), max))
        return false;
    *into = strdup(text);
    if (*into == NULL)
        abort();
    return true;
}

/* What is granted beyond what was asked for no spec can say. */
static bool claims_are_asked(const struct claim *claims)
{
    while (claims != NULL && claims->least == 0)
        claims = claims->next;
    return claims == NULL;
}

bool spec_get_mode(const struct paragraph *paragraph, struct spec *spec)
{
    const char *mode = paragraph_get(paragraph, "mode");
    if (mode != NULL && !name_is_valid(mode, strlen(mode), MODE_BYTES - 1))
        return false;
    snprintf(spec->mode, sizeof spec->mode, "%s", mode == NULL ? "" : mode);
    if (!get_number(paragraph, "runtime_in_mode", spec->runtime, &spec->runtime_in_mode) || !get_number(paragraph, "runtime_least", spec->runtime, &spec->runtime_least))
        return false;
    /* The rule on the least runtime looks at that one. */
    return spec->runtime_in_mode == 0 || (spec->runtime_least != 0 && spec->runtime_least <= spec->runtime_in_mode);
}

bool spec_get(const struct paragraph *paragraph, struct spec *spec)
{
    char why[REASON_BYTES];
    uint64_t priority, importance, weight, attach, none, ignore, thread, life, process, waits, dry;
    const char *cpus = paragraph_get(paragraph, "cpus");
    *spec = (struct spec){0};
    /* The token first, as above: it belongs to the answer even if the rest is wrong. */
    if (!get_name(paragraph, "token", TOKEN_BYTES - 1, &spec->token) || !get_name(paragraph, "plugin", PLUGIN_NAME_BYTES - 1, &spec->plugin) ||
        !get_number(paragraph, "runtime", TIME_MAX, &spec->runtime) || !get_number(paragraph, "desired_runtime", TIME_MAX, &spec->desired_runtime) ||
        !spec_get_mode(paragraph, spec) ||
        !get_number(paragraph, "period", TIME_MAX, &spec->period) || !get_number(paragraph, "deadline", TIME_MAX, &spec->deadline) ||
        (cpus != NULL && !parse_cpus(cpus, &spec->cpus)) || !get_number(paragraph, "expires", TIME_MAX, &spec->expires) || !get_number(paragraph, "priority", PRIORITY_MAX, &priority) || !get_number(paragraph, "attach", TID_MAX, &attach) ||
        !get_number(paragraph, "importance", IMPORTANCE_MAX, &importance) || !get_number(paragraph, "weight", WEIGHT_MAX, &weight) || !get_number(paragraph, "ignore_admission", 1, &ignore) || !get_number(paragraph, "lifetime_thread", 1, &thread) ||
        !get_number(paragraph, "attach_none", 1, &none) || !get_number(paragraph, "lifetime_spec", 1, &life) ||
        !get_number(paragraph, "move_process", 1, &process) || !get_number(paragraph, "waits", 1, &waits) || !get_number(paragraph, "dry_run", 1, &dry) ||
        !claims_get(paragraph, &spec->claims))
        return false;
    spec->priority = (int)priority;
    spec->importance = (int)importance;
    spec->weight = (int)weight;
    spec->attach = (pid_t)attach;
    spec->ignore_admission = ignore != 0;
    spec->lifetime_thread = thread != 0;
    spec->attach_none = none != 0;
    spec->lifetime_spec = life != 0;
    if ((none != 0 && attach != 0) || (life != 0 && thread != 0))
        return false;
    spec->move_process = process != 0;
    spec->waits = waits != 0;
    spec->dry_run = dry != 0;
    return claims_are_asked(spec->claims) && check_relations(spec, why) == NULL;
}

bool spec_parse_tid(const char *text, size_t length, pid_t *tid)
{
    char digits[16];
    uint64_t number;
    if (length > 0 && text[length - 1] == '\n')
        length--;
    if (length == 0 || length >= sizeof digits || memchr(text, '\0', length) != NULL)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (!parse_number(digits, TID_MAX, &number) || number == 0)
        return false;
    *tid = (pid_t)number;
    return true;
}
