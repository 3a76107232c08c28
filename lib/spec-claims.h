/* The claims of a spec on other resources than CPU time, as jansson has them. False: *why. */
#ifndef RTF_SPEC_CLAIMS_H
#define RTF_SPEC_CLAIMS_H

#include <jansson.h>

#include "resource.h"

/* Bytes a second, as the claim says them; 0: it does not. */
struct bandwidths {
    uint64_t needed, desired;
};

/* One claim, into its place in *claims. */
bool take_claim(enum resource resource, const json_t *value, struct claim **claims, char *why);

/* A number of the claim, by its key. */
bool take_claim_value(struct claim *claim, const char *name, const json_t *value, char *why);

/* A number, a size, or a rate as links have it; and so many bytes in each period of the claim, or in each second where it has none. */
bool take_bandwidth(const json_t *value, uint64_t *bandwidth, char *why);
bool settle_bandwidths(struct claim *claim, const struct bandwidths *bandwidths, char *why);

#endif
