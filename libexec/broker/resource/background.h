/* Where a grant is let in without a guarantee. */
#ifndef RTF_BACKGROUND_H
#define RTF_BACKGROUND_H

#include "reservation.h"

/* The first line that lets it in without a guarantee, and the next one; NO_PLUGIN: none. And its claim on that one. */
int grant_background(const struct grant *grant);
int grant_background_after(const struct grant *grant, int plugin);
struct claim grant_background_claim(int plugin);

#endif
