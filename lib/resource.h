/* The resources of a machine, and the claims of a spec on resources other than CPU time. A claim
 * has keys (rtf-spec(5)); from their values the functions below compute the amount that a plugin
 * has to admit.
 *
 * A new resource needs an entry here, a plugin that admits its claims (resource= in
 * plugins.conf(5)), and a helper if the kernel can enforce the claims. A spec claims CPU time with
 * its top-level keys. Such a claim has no struct here, because it is more than an amount: see
 * struct spec. */
#ifndef RTF_RESOURCE_H
#define RTF_RESOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "disk.h"
#include "name.h"
#include "paragraph.h"

enum resource { RESOURCE_CPU, RESOURCE_UNITS, RESOURCE_NETWORK, RESOURCE_DISK, RESOURCES };
enum { CLAIM_VALUES = 4, WHERE_BYTES = DISK_NAME_BYTES, INTERFACE_BYTES = 16 };

/* The value of a claim's key: a whole number from 1 to `most`, or a string with a unit of bytes or
 * of time. A refusal suggests another value for the first key of the resource ("nearest" in
 * rtf-verdict(5)). */
enum claim_form { CLAIM_NUMBER, CLAIM_BYTES, CLAIM_TIME };
struct claim_key {
    const char *name;
    uint64_t most;
    enum claim_form form;
    uint64_t preset; /* the default; 0: the key is required */
    /* true: the key states a desired amount, which is larger than the needed amount of the first
     * key. Such a key is optional, and no request to a plugin has its value */
    bool desired;
};

struct claim {
    struct claim *next;
    enum resource resource;
    char plugin[PLUGIN_NAME_BYTES]; /* the only plugin to ask; "": any */
    /* the interface of a network or the device of a disk; "": any */
    char where[WHERE_BYTES];
    uint64_t values[CLAIM_VALUES]; /* in the order of the keys; 0: not stated */
    /* in a grant: the first value that the spec asked for, if the broker granted a larger one; 0:
     * the same as values[0] */
    uint64_t least;
    /* the first value in the current mode, if another mode needs more; 0: the same as values[0] */
    uint64_t in_mode;
    bool background; /* no guarantee: no value is stated, and nothing is reserved */
};

/* Returns the name of the resource, such as "cpu" or "units". The name is a key of specs, and a
 * value of resource=. */
const char *resource_name(enum resource resource);
bool resource_from_name(const char *name, enum resource *resource);

/* Returns an array of CLAIM_VALUES keys. Unused entries at the end have no name. */
const struct claim_key *resource_keys(enum resource resource);

/* resource_where returns the key of a claim that names the device: "interface" or "device". NULL:
 * the resource has no such key. where_is_valid checks a value of this key. */
const char *resource_where(enum resource resource);
bool where_is_valid(enum resource resource, const char *name, size_t length);

/* claim_amount returns the amount that access rules bound: a count, or bytes per second (with
 * headers on a network). claim_within returns the largest first value for which claim_amount is at
 * most `amount`, if all other values stay. */
uint64_t claim_amount(const struct claim *claim);
uint64_t claim_within(const struct claim *claim, uint64_t amount);

/* claim_weight returns the part of a plugin's capacity that the claim needs: for a disk, billionths
 * of the disk's time; for all other resources, claim_amount. rates: the rates of the disk.
 * claim_within_weight is the inverse of claim_weight, like claim_within. */
uint64_t claim_weight(const struct claim *claim, const struct disk_rates *rates);
uint64_t claim_within_weight(const struct claim *claim, uint64_t weight,
                             const struct disk_rates *rates);

/* Returns a copy of the claim with the first value of the current mode. */
struct claim claim_in_mode(const struct claim *claim);

/* claim_least returns the needed amount, and claim_desired the desired amount; 0: not stated. Both
 * are values of the first key. claim_desired_value returns a pointer to the desired amount. */
uint64_t claim_least(const struct claim *claim);
uint64_t claim_desired(const struct claim *claim);
uint64_t *claim_desired_value(struct claim *claim);

/* Fills in the defaults. Returns the first required key that is missing; NULL: no key is
 * missing. */
const char *claim_settle(struct claim *claim);

/* Adds only the values, in the form of a request to a plugin: count=2. */
void claim_add_values(struct paragraph_output *output, const struct claim *claim);

/* Adds all claims of a list to a paragraph that also has other keys. Each key begins with the
 * resource: units_count=2, units_plugin=CAMERA. claims_get reads them back: false when a value is
 * invalid; call claims_free in any case. */
void claims_add(struct paragraph_output *output, const struct claim *claims);
bool claims_get(const struct paragraph *paragraph, struct claim **claims);

/* Adds a new claim. The list is in the order of enum resource. */
struct claim *claims_push(struct claim **claims, enum resource resource);
void claims_free(struct claim **claims);
/* Appends a copy of each claim in `others`. */
void claims_copy(struct claim **claims, const struct claim *others);
bool claims_have(const struct claim *claims, enum resource resource);

#endif
