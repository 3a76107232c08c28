/* Parses the claims of a spec on resources other than CPU time, from jansson values. False: *why
 * says what is wrong. */
#ifndef RTF_SPEC_CLAIMS_H
#define RTF_SPEC_CLAIMS_H

#include <jansson.h>

#include "resource.h"

/* Bytes per second, as stated in the claim; 0: not stated. */
struct bandwidths {
    uint64_t needed, desired;
};

/* Parses one claim and puts it into *claims. */
bool take_claim(enum resource resource, const json_t *value, struct claim **claims, char *why);

/* Parses one value of the claim, by its key. */
bool take_claim_value(struct claim *claim, const char *name, const json_t *value, char *why);

/* Parses a bandwidth: a number, a size, or a bit rate. settle_bandwidths converts the bandwidths to
 * bytes per period of the claim; if the claim has no period, to bytes per second. */
bool take_bandwidth(const json_t *value, uint64_t *bandwidth, char *why);
bool settle_bandwidths(struct claim *claim, const struct bandwidths *bandwidths, char *why);

#endif
