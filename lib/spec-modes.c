#include "spec-modes.h"

#include <stdio.h>
#include <string.h>

#include "spec-claims.h"
#include "spec-values.h"

/* The needs of one mode. If the mode does not state a value, the value of the spec is here. */
struct needs {
    uint64_t runtime, amounts[RESOURCES]; /* amounts: the first value of each claim */
};

static struct claim *claim_on(struct claim *claims, enum resource resource)
{
    while (claims != NULL && claims->resource != resource)
        claims = claims->next;
    return claims;
}

/* Parses the amount that a mode states for a claim: an object such as {"bytes": 512}. The object
 * has only an amount, because a mode may change nothing else of a claim. */
static bool take_amount(const struct claim *claim, const json_t *value, uint64_t *amount, char *why)
{
    struct claim other = *claim;
    struct bandwidths bandwidths = {0};
    const char *first = resource_keys(claim->resource)[0].name;
    const json_t *bandwidth = json_object_get(value, "bandwidth"),
                 *given = json_object_get(value, first);
    other.values[0] = 0;
    if (claim->background)
        return fault(why,
                     "is a claim without a guarantee (\"background\"), which no mode can change");
    if (json_object_size(value) != 1 ||
        (given == NULL && (bandwidth == NULL || resource_where(claim->resource) == NULL)))
        return fault(why, "must be an object with the key \"%s\" alone%s", first,
                     resource_where(claim->resource) == NULL ? "" : ", or \"bandwidth\"");
    if (given != NULL ? !take_claim_value(&other, first, given, why)
                      : !take_bandwidth(bandwidth, &bandwidths.needed, why) ||
                            !settle_bandwidths(&other, &bandwidths, why))
        return false;
    *amount = other.values[0];
    return true;
}

static bool take_need(const struct spec *spec, const char *key, const json_t *value,
                      struct needs *needs, char *why)
{
    enum resource resource;
    if (strcmp(key, "runtime") == 0)
        return take_time(value, &needs->runtime, why);
    if (!resource_from_name(key, &resource) || resource == RESOURCE_CPU)
        return fault(why,
                     "is unknown there: a mode may state a runtime, and the amount of each claim");
    const struct claim *claim = claim_on(spec->claims, resource);
    return claim != NULL ? take_amount(claim, value, &needs->amounts[resource], why)
                         : fault(why, "needs a claim on this resource beside \"modes\"");
}

static bool take_mode(const struct spec *spec, const char *name, const json_t *mode,
                      struct needs *needs, char *why)
{
    char wrong[REASON_BYTES];
    const char *key;
    json_t *value;
    if (!name_is_valid(name, strlen(name), MODE_BYTES - 1))
        return fault(
            why,
            "must have names of 1 to %d characters [A-Za-z0-9_.@:-] that start with [A-Za-z0-9_]",
            MODE_BYTES - 1);
    if (!json_is_object(mode))
        return fault(why, "must have objects as modes, such as {\"sd\": {\"runtime\": \"2ms\"}}");
    json_object_foreach((json_t *)mode, key, value) if (
        !take_need(spec, key, value, needs,
                   wrong)) return fault(why,
                                        "has the mode \"%s\" with the key \"%s\", which %.300s",
                                        name,
                                        name_is_valid(key, strlen(key), NAME_BYTES - 1) ? key : "?",
                                        wrong);
    return true;
}

static void widen(struct needs *most, const struct needs *needs)
{
    most->runtime = needs->runtime > most->runtime ? needs->runtime : most->runtime;
    for (int i = 0; i < RESOURCES; i++)
        most->amounts[i] =
            needs->amounts[i] > most->amounts[i] ? needs->amounts[i] : most->amounts[i];
}

/* Sets the amounts of the spec. The broker admits the maximum over all modes of each resource, and
 * enforces the needs of the current mode. */
static void settle_modes(struct spec *spec, const char *name, const struct needs *most,
                         const struct needs *on, uint64_t least)
{
    struct mode mode = {.runtime = on->runtime < most->runtime ? on->runtime : 0,
                        .runtime_least = least < most->runtime ? least : 0};
    snprintf(mode.name, sizeof mode.name, "%s", name);
    spec_take_mode(spec, &mode);
    spec->runtime = most->runtime;
    for (struct claim *claim = spec->claims; claim != NULL; claim = claim->next) {
        claim->values[0] = most->amounts[claim->resource];
        claim->in_mode = on->amounts[claim->resource] < most->amounts[claim->resource]
                             ? on->amounts[claim->resource]
                             : 0;
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
    if (!json_is_object(modes) || json_object_size(modes) == 0 ||
        json_object_size(modes) > MODES_MAX)
        return fault(
            why, "must be an object with 1 to %d modes, such as {\"sd\": {\"runtime\": \"2ms\"}}",
            MODES_MAX);
    if (desires_more(spec))
        return fault(why,
                     "cannot stand beside a desired runtime or amount: modes state only needs");
    for (const struct claim *claim = spec->claims; claim != NULL; claim = claim->next)
        base.amounts[claim->resource] = claim->values[0];
    json_object_foreach((json_t *)modes, name, mode)
    {
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
        return fault(
            why,
            "lacks a runtime in some modes: the spec itself has no runtime, so state a runtime in each mode, or in no mode");
    settle_modes(spec, chosen, &most, &on, least);
    return true;
}

/* Takes the keys modes and mode of a spec. NULL: valid; else the wrong key, and *why says what is
 * wrong. */
const char *take_modes(const json_t *object, struct spec *spec, char *why)
{
    const json_t *modes = json_object_get(object, "modes"), *mode = json_object_get(object, "mode");
    const char *name = json_string_value(mode);
    const bool is_name =
        name != NULL && name_is_valid(name, json_string_length(mode), MODE_BYTES - 1);
    if (modes == NULL && mode == NULL)
        return NULL;
    if (modes != NULL && !take_all_modes(modes, is_name ? name : "", spec, why))
        return "modes";
    if (mode == NULL) {
        fault(why, "needs the key \"mode\" beside it, the name of the current mode");
        return "modes";
    }
    if (!is_name || json_object_get(modes, name) == NULL) {
        fault(why, "must be the name of one of the modes");
        return "mode";
    }
    return NULL;
}
