#include "resource.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"
#include "wire.h"

enum { UNITS_MAX = 1000000000 };

static const struct {
    const char *name, *where;
    size_t where_bytes; /* the size of the member `where`, with the final zero */
    struct claim_key keys[CLAIM_VALUES];
} resources[RESOURCES] = {
    [RESOURCE_CPU] = {.name = "cpu"},
    [RESOURCE_UNITS] = {.name = "units",
                        .keys = {{.name = "count", .most = UNITS_MAX},
                                 {.name = "desired_count", .most = UNITS_MAX, .desired = true}}},
    [RESOURCE_NETWORK] = {.name = "network",
                          .where = "interface",
                          .where_bytes = INTERFACE_BYTES,
                          .keys = {{.name = "bytes", .most = WIRE_BYTES_MAX, .form = CLAIM_BYTES},
                                   {.name = "period", .most = TIME_MAX, .form = CLAIM_TIME},
                                   {.name = "desired_bytes",
                                    .most = WIRE_BYTES_MAX,
                                    .form = CLAIM_BYTES,
                                    .desired = true}}},
    [RESOURCE_DISK] = {.name = "disk",
                       .where = "device",
                       .where_bytes = DISK_NAME_BYTES,
                       .keys = {{.name = "bytes", .most = WIRE_BYTES_MAX, .form = CLAIM_BYTES},
                                {.name = "period", .most = TIME_MAX, .form = CLAIM_TIME},
                                {.name = "block",
                                 .most = DISK_BLOCK_MAX,
                                 .form = CLAIM_BYTES,
                                 .preset = DISK_BLOCK},
                                {.name = "desired_bytes",
                                 .most = WIRE_BYTES_MAX,
                                 .form = CLAIM_BYTES,
                                 .desired = true}}},
};

const char *resource_name(enum resource resource)
{
    return resources[resource].name;
}

bool resource_from_name(const char *name, enum resource *resource)
{
    for (int i = 0; i < RESOURCES; i++)
        if (strcmp(resources[i].name, name) == 0) {
            *resource = (enum resource)i;
            return true;
        }
    return false;
}

const struct claim_key *resource_keys(enum resource resource)
{
    return resources[resource].keys;
}

const char *resource_where(enum resource resource)
{
    return resources[resource].where;
}

bool where_is_valid(enum resource resource, const char *name, size_t length)
{
    return resources[resource].where != NULL &&
           name_is_valid(name, length, resources[resource].where_bytes - 1);
}

uint64_t claim_amount(const struct claim *claim)
{
    if (claim->resource == RESOURCE_NETWORK)
        return wire_rate(claim->values[0], claim->values[1]);
    return claim->resource == RESOURCE_DISK ? disk_bandwidth(claim->values[0], claim->values[1])
                                            : claim->values[0];
}

uint64_t claim_within(const struct claim *claim, uint64_t amount)
{
    if (claim->resource == RESOURCE_NETWORK)
        return wire_bytes_within(amount, claim->values[1]);
    return claim->resource == RESOURCE_DISK ? disk_bytes_at(amount, claim->values[1]) : amount;
}

uint64_t claim_weight(const struct claim *claim, const struct disk_rates *rates)
{
    return claim->resource == RESOURCE_DISK
               ? disk_share(rates, claim->values[0], claim->values[1], claim->values[2])
               : claim_amount(claim);
}

uint64_t claim_within_weight(const struct claim *claim, uint64_t weight,
                             const struct disk_rates *rates)
{
    return claim->resource == RESOURCE_DISK
               ? disk_bytes_within(rates, weight, claim->values[1], claim->values[2])
               : claim_within(claim, weight);
}

struct claim claim_in_mode(const struct claim *claim)
{
    struct claim kept = *claim;
    if (claim->in_mode != 0)
        kept.values[0] = claim->in_mode;
    return kept;
}

uint64_t claim_least(const struct claim *claim)
{
    return claim->least != 0 ? claim->least : claim->values[0];
}

static int desired_key(enum resource resource)
{
    int i = 0;
    while (!resources[resource].keys[i].desired)
        i++;
    return i;
}

uint64_t claim_desired(const struct claim *claim)
{
    return claim->values[desired_key(claim->resource)];
}

uint64_t *claim_desired_value(struct claim *claim)
{
    return &claim->values[desired_key(claim->resource)];
}

const char *claim_settle(struct claim *claim)
{
    const struct claim_key *keys = resources[claim->resource].keys;
    for (int i = 0; i < CLAIM_VALUES && keys[i].name != NULL; i++) {
        if (claim->values[i] == 0)
            claim->values[i] = keys[i].preset;
        if (claim->values[i] == 0 && !keys[i].desired)
            return keys[i].name;
    }
    return NULL;
}

struct claim *claims_push(struct claim **claims, enum resource resource)
{
    struct claim *claim = calloc(1, sizeof *claim);
    if (claim == NULL)
        abort(); /* no memory: the broker is restarted, and continues from the journal */
    claim->resource = resource;
    while (*claims != NULL && (*claims)->resource < resource)
        claims = &(*claims)->next;
    claim->next = *claims;
    *claims = claim;
    return claim;
}

void claims_copy(struct claim **claims, const struct claim *others)
{
    for (; others != NULL; others = others->next) {
        struct claim *claim = claims_push(claims, others->resource), *next = claim->next;
        *claim = *others;
        claim->next = next;
    }
}

void claims_free(struct claim **claims)
{
    while (*claims != NULL) {
        struct claim *claim = *claims;
        *claims = claim->next;
        free(claim);
    }
}

void claim_add_values(struct paragraph_output *output, const struct claim *claim)
{
    const struct claim_key *keys = resources[claim->resource].keys;
    for (int i = 0; i < CLAIM_VALUES && keys[i].name != NULL; i++)
        if (claim->values[i] != 0 && !keys[i].desired)
            paragraph_add_number(output, keys[i].name, claim->values[i]);
}

static const char *key_of(char joined[static KEY_BYTES], enum resource resource, const char *what)
{
    return paragraph_key(joined, resources[resource].name, what);
}

void claims_add(struct paragraph_output *output, const struct claim *claims)
{
    char key[KEY_BYTES];
    for (const struct claim *claim = claims; claim != NULL; claim = claim->next) {
        const struct claim_key *keys = resources[claim->resource].keys;
        if (claim->background)
            paragraph_add_number(output, key_of(key, claim->resource, "background"), 1);
        for (int i = 0; i < CLAIM_VALUES && keys[i].name != NULL; i++)
            if (claim->values[i] != 0)
                paragraph_add_number(output, key_of(key, claim->resource, keys[i].name),
                                     claim->values[i]);
        if (claim->least != 0)
            paragraph_add_number(output, key_of(key, claim->resource, "least"), claim->least);
        if (claim->in_mode != 0)
            paragraph_add_number(output, key_of(key, claim->resource, "in_mode"), claim->in_mode);
        if (claim->plugin[0] != '\0')
            paragraph_add(output, key_of(key, claim->resource, "plugin"), claim->plugin);
        if (claim->where[0] != '\0')
            paragraph_add(output, key_of(key, claim->resource, resource_where(claim->resource)),
                          claim->where);
    }
}

/* Reads the values of a claim. A claim without a guarantee must state no values. */
static bool get_values(const struct paragraph *paragraph, struct claim *claim)
{
    char key[KEY_BYTES];
    const struct claim_key *keys = resources[claim->resource].keys;
    bool states_any = false;
    for (int i = 0; i < CLAIM_VALUES && keys[i].name != NULL; i++) {
        const int got = paragraph_get_number(paragraph, key_of(key, claim->resource, keys[i].name),
                                             keys[i].most, &claim->values[i]);
        if (got < 0)
            return false;
        states_any |= got > 0;
    }
    if (paragraph_get_number(paragraph, key_of(key, claim->resource, "least"), claim->values[0],
                             &claim->least) < 0 ||
        paragraph_get_number(paragraph, key_of(key, claim->resource, "in_mode"), claim->values[0],
                             &claim->in_mode) < 0)
        return false;
    if (claim->background)
        return !states_any;
    return (claim_desired(claim) == 0 || claim_desired(claim) >= claim->values[0]) &&
           claim_settle(claim) == NULL;
}

static bool get_claim(const struct paragraph *paragraph, struct claim *claim)
{
    char key[KEY_BYTES];
    uint64_t background = 0;
    if (paragraph_get_number(paragraph, key_of(key, claim->resource, "background"),
                             resource_where(claim->resource) != NULL, &background) < 0)
        return false;
    claim->background = background != 0;
    if (!get_values(paragraph, claim))
        return false;
    const char *plugin = paragraph_get(paragraph, key_of(key, claim->resource, "plugin"));
    if (plugin != NULL && !name_is_valid(plugin, strlen(plugin), PLUGIN_NAME_BYTES - 1))
        return false;
    snprintf(claim->plugin, sizeof claim->plugin, "%s", plugin == NULL ? "" : plugin);
    const char *key_where = resource_where(claim->resource);
    const char *where = key_where == NULL
                            ? NULL
                            : paragraph_get(paragraph, key_of(key, claim->resource, key_where));
    if (where != NULL && !where_is_valid(claim->resource, where, strlen(where)))
        return false;
    snprintf(claim->where, sizeof claim->where, "%s", where == NULL ? "" : where);
    return true;
}

static bool is_claimed(const struct paragraph *paragraph, enum resource resource)
{
    char key[KEY_BYTES];
    return paragraph_get(paragraph, key_of(key, resource, resources[resource].keys[0].name)) !=
               NULL ||
           paragraph_get(paragraph, key_of(key, resource, "background")) != NULL;
}

bool claims_get(const struct paragraph *paragraph, struct claim **claims)
{
    *claims = NULL;
    for (int i = RESOURCE_CPU + 1; i < RESOURCES; i++)
        if (is_claimed(paragraph, (enum resource)i) &&
            !get_claim(paragraph, claims_push(claims, (enum resource)i)))
            return false;
    return true;
}

bool claims_have(const struct claim *claims, enum resource resource)
{
    while (claims != NULL && claims->resource != resource)
        claims = claims->next;
    return claims != NULL;
}
