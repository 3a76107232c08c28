/* Claims without a guarantee: a grant may use the capacity of a line of plugins.conf that the
 * line's reservations leave unused. */
#ifndef RTF_BACKGROUND_H
#define RTF_BACKGROUND_H

#include "reservation.h"

/* grant_background returns the first line that admits the grant without a guarantee.
 * grant_background_after returns the next such line after `plugin`. NO_PLUGIN: there is no such
 * line. grant_background_claim returns the claim of the grant on such a line. */
int grant_background(const struct grant *grant);
int grant_background_after(const struct grant *grant, int plugin);
struct claim grant_background_claim(int plugin);

#endif
