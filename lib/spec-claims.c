#include "spec-claims.h"

#include <stdio.h>
#include <string.h>

#include "nearest-word.h"
#include "spec-values.h"
#include "units.h"
#include "wire.h"

static bool is_unknown(enum resource resource, const char *name, char *why)
{
    /* keys of claims on a network or a disk */
    static const char *const placed[] = {"bandwidth", "desired_bandwidth", "background"};
    const struct claim_key *keys = resource_keys(resource);
    struct nearest_word guess = nearest_word_begin(name);
    for (int i = 0; i < CLAIM_VALUES && keys[i].name != NULL; i++)
        nearest_word_try(&guess, keys[i].name);
    nearest_word_try(&guess, "plugin");
    if (resource_where(resource) != NULL)
        nearest_word_try(&guess, resource_where(resource));
    for (size_t i = 0; resource_where(resource) != NULL && i < sizeof placed / sizeof *placed; i++)
        nearest_word_try(&guess, placed[i]);
    return guess.word != NULL ? fault(why, "is unknown there; did you mean \"%s\"?", guess.word)
                              : fault(why, "is unknown there");
}

bool take_claim_value(struct claim *claim, const char *name, const json_t *value, char *why)
{
    const struct claim_key *keys = resource_keys(claim->resource);
    json_int_t number = 0;
    for (int i = 0; i < CLAIM_VALUES && keys[i].name != NULL; i++)
        if (strcmp(keys[i].name, name) == 0) {
            if (keys[i].form == CLAIM_BYTES)
                return take_bytes(value, &claim->values[i], why) &&
                       (claim->values[i] <= keys[i].most ||
                        fault(why, "must be from 1B to %lluB", (unsigned long long)keys[i].most));
            if (keys[i].form == CLAIM_TIME)
                return take_time(value, &claim->values[i], why);
            if (!take_integer(value, (json_int_t)keys[i].most, &number, why))
                return false;
            claim->values[i] = (uint64_t)number;
            return true;
        }
    return is_unknown(claim->resource, name, why);
}

static bool take_claim_name(char *into, size_t size, const json_t *value, char *why)
{
    const char *text = json_string_value(value);
    if (text == NULL || !name_is_valid(text, json_string_length(value), size - 1))
        return fault(
            why,
            "must be a string of 1 to %zu characters [A-Za-z0-9_.@:-] that starts with [A-Za-z0-9_]",
            size - 1);
    snprintf(into, size, "%s", text);
    return true;
}

/* Parses the name of a device. A path is refused: it would have to be looked up with the user's
 * rights, and no program of the broker follows a user's path. */
static bool take_where(struct claim *claim, const json_t *value, char *why)
{
    const char *text = json_string_value(value);
    if (claim->resource == RESOURCE_DISK && text != NULL && strncmp(text, "/dev/", 5) == 0)
        text += 5;
    if (claim->resource == RESOURCE_DISK && text != NULL && strchr(text, '/') != NULL)
        return fault(
            why,
            "must be the name of a whole disk, such as \"sda\", and not a path: 'lsblk' shows which disk a path is on");
    if (text == NULL || !where_is_valid(claim->resource, text, strlen(text)))
        return fault(why, "must be the name of %s",
                     claim->resource == RESOURCE_DISK ? "a disk, such as \"sda\""
                                                      : "an interface, such as \"eth0\"");
    snprintf(claim->where, sizeof claim->where, "%s", text);
    return true;
}

/* Parses bytes per second: a number, a size, or a bit rate such as "10Mbit". */
bool take_bandwidth(const json_t *value, uint64_t *bandwidth, char *why)
{
    uint64_t bits;
    if (json_is_string(value) && parse_rate(json_string_value(value), &bits) &&
        bits / 8 < WIRE_BYTES_MAX) {
        *bandwidth = (bits + 7) / 8;
        return true;
    }
    return take_bytes(value, bandwidth, why) ||
           fault(
               why,
               "must be bytes a second, as a whole number or a string such as \"640kB\", or a rate such as \"10Mbit\", from 1B to %lluB",
               (unsigned long long)WIRE_BYTES_MAX);
}

static bool take_claim_key(struct claim *claim, const char *key, const json_t *value,
                           struct bandwidths *bandwidths, char *why)
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
    if (where != NULL && strcmp(key, "background") == 0) {
        claim->background = json_is_true(value);
        return json_is_boolean(value) || fault(why, "must be true or false");
    }
    return take_claim_value(claim, key, value, why);
}

static const uint64_t second = 1000000; /* us */

static bool bytes_in_period(const struct claim *claim, uint64_t bandwidth, uint64_t *bytes,
                            char *why)
{
    const unsigned __int128 all =
        ((unsigned __int128)bandwidth * claim->values[1] + second - 1) / second;
    *bytes = all > WIRE_BYTES_MAX ? 0 : (uint64_t)all;
    return *bytes != 0 || fault(why, "has a bandwidth that is more than %lluB in a period",
                                (unsigned long long)WIRE_BYTES_MAX);
}

/* Converts a bandwidth to bytes per period; without a period, to bytes per second. */
bool settle_bandwidths(struct claim *claim, const struct bandwidths *bandwidths, char *why)
{
    uint64_t *const desired = claim_desired_value(claim);
    if (bandwidths->needed != 0 && claim->values[0] != 0)
        return fault(why, "has both keys \"bandwidth\" and \"bytes\": state only one");
    if (bandwidths->desired != 0 && *desired != 0)
        return fault(why,
                     "has both keys \"desired_bandwidth\" and \"desired_bytes\": state only one");
    if (claim->values[1] == 0 && (bandwidths->needed != 0 || bandwidths->desired != 0))
        claim->values[1] = second;
    return (bandwidths->needed == 0 ||
            bytes_in_period(claim, bandwidths->needed, &claim->values[0], why)) &&
           (bandwidths->desired == 0 || bytes_in_period(claim, bandwidths->desired, desired, why));
}

/* For a claim without a guarantee ("background"), which has no amount: true if the claim states
 * only a device and a plugin. */
static bool says_only_where(const struct claim *claim, const json_t *value, char *why)
{
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)value, key, member) if (
        strcmp(key, "background") != 0 && strcmp(key, "plugin") != 0 &&
        strcmp(key, resource_where(claim->resource)) !=
            0) return fault(why,
                            "has the key \"%s\" beside \"background\": a claim without a guarantee states only %s and plugin",
                            key, resource_where(claim->resource));
    return true;
}

bool take_claim(enum resource resource, const json_t *value, struct claim **claims, char *why)
{
    char wrong[REASON_BYTES];
    const char *key;
    json_t *member;
    const char *amount = resource_keys(resource)[0].name;
    if (!json_is_object(value))
        return fault(why, "must be an object, such as {\"%s\": 1}", amount);
    struct claim *claim = claims_push(claims, resource);
    struct bandwidths bandwidths = {0};
    json_object_foreach((json_t *)value, key, member)
    {
        if (!take_claim_key(claim, key, member, &bandwidths, wrong))
            return fault(why, "has the key \"%s\", which %.300s",
                         name_is_valid(key, strlen(key), NAME_BYTES - 1) ? key : "?", wrong);
    }
    if (claim->background)
        return says_only_where(claim, value, why);
    if (!settle_bandwidths(claim, &bandwidths, why))
        return false;
    const char *lacks = claim_settle(claim);
    if (lacks != NULL)
        return fault(why, "lacks the key \"%s\"", lacks);
    return claim_desired(claim) == 0 || claim_desired(claim) >= claim->values[0] ||
           fault(why, "has a desired amount that is smaller than the needed amount");
}
