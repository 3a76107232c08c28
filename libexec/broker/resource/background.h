/* Claims without a guarantee: a grant may use what a line's reservations leave. */
#ifndef RTF_BACKGROUND_H
#define RTF_BACKGROUND_H

#include "reservation.h"

/* The first line that admits the grant without a guarantee, and the next such line; NO_PLUGIN:
 * none. The last function returns the grant's claim on such a line. */
int grant_background(const struct grant *grant);
int grant_background_after(const struct grant *grant, int plugin);
struct claim grant_background_claim(int plugin);

#endif
