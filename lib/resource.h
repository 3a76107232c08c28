/* Resources, and claims on those other than CPU time: what a spec may say of each (rtf-spec(5)), and what of it is weighed.
 *
 * A new one is an entry here, a plugin that admits (resource= in plugins.conf(5)), and, where the kernel has something to enforce, a
 * helper. CPU time is claimed by the flat keys of a spec, and has more to it than amounts: struct spec. */
#ifndef RTF_RESOURCE_H
#define RTF_RESOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "disk.h"
#include "name.h"
#include "paragraph.h"

enum resource { RESOURCE_CPU, RESOURCE_UNITS, RESOURCE_NETWORK, RESOURCE_DISK, RESOURCES };
enum { CLAIM_VALUES = 4, WHERE_BYTES = DISK_NAME_BYTES, INTERFACE_BYTES = 16 };

/* What the value behind a key of the claim may be: a whole number from 1 to `most`, or a string that says one in a unit of bytes or of time.
 * The first key of each resource is the one that a refusal names another value for. */
enum claim_form { CLAIM_NUMBER, CLAIM_BYTES, CLAIM_TIME };
struct claim_key {
    const char *name;
    uint64_t most;
    enum claim_form form;
    uint64_t preset; /* where a claim does not state it; 0: it must */
    bool desired;    /* how much of the first key's it would rather have; need not be stated, and no plugin is asked for it */
};

struct claim {
    struct claim *next;
    enum resource resource;
    char plugin[PLUGIN_NAME_BYTES]; /* the only one that may be asked; "": any */
    char where[WHERE_BYTES];        /* the interface of a network, the device of a disk; "": any */
    uint64_t values[CLAIM_VALUES];  /* in the order of the keys; 0: not stated */
    uint64_t least;                 /* of what is granted: the first value that was asked for, where more is; 0: that is it */
    uint64_t in_mode;               /* the first value in the mode that is on, where another one needs more; 0: that is it */
    bool background;                /* it asks for no guarantee: no value is stated, and nothing is held */
};

/* "cpu", "units": a key of specs, and the value of resource=. */
const char *resource_name(enum resource resource);
bool resource_from_name(const char *name, enum resource *resource);

/* CLAIM_VALUES of them; those after the last have no name. */
const struct claim_key *resource_keys(enum resource resource);

/* The key that says which one of several is meant, "interface" or "device", and how long a name may be; NULL: there is none. */
const char *resource_where(enum resource resource);
bool where_is_valid(enum resource resource, const char *name, size_t length);

/* What access rules bound: a count, or bytes a second; those on a wire with their headers. And the largest first value with which it would be no
 * more than that, all else equal. */
uint64_t claim_amount(const struct claim *claim);
uint64_t claim_within(const struct claim *claim, uint64_t amount);

/* What it takes of a pool: of a disk billionths of its time, of all else its amount. `rates` are those of the disk. */
uint64_t claim_weight(const struct claim *claim, const struct disk_rates *rates);
uint64_t claim_within_weight(const struct claim *claim, uint64_t weight, const struct disk_rates *rates);

/* As it is kept: with the first value of the mode that is on. */
struct claim claim_in_mode(const struct claim *claim);

/* The first value that its owner needs, and the one that he would rather have: 0, he has not said so. */
uint64_t claim_least(const struct claim *claim);
uint64_t claim_desired(const struct claim *claim);
uint64_t *claim_desired_value(struct claim *claim);

/* Presets what is not stated and can be. Returns the first key that it lacks; NULL: none. */
const char *claim_settle(struct claim *claim);

/* The values alone, as a plugin is asked for them: count=2. */
void claim_add_values(struct paragraph_output *output, const struct claim *claim);

/* All of a list, as lines of a paragraph of more than this: units_count=2, units_plugin=CAMERA. And back: false when a value cannot be;
 * claims_free in any case. */
void claims_add(struct paragraph_output *output, const struct claim *claims);
bool claims_get(const struct paragraph *paragraph, struct claim **claims);

/* A new one of that resource; they are kept in the order of the resources. */
struct claim *claims_push(struct claim **claims, enum resource resource);
void claims_free(struct claim **claims);
bool claims_have(const struct claim *claims, enum resource resource);

#endif
