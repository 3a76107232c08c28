/* Supply bound functions from measured separations, and the linear bounds to them (paper 004, section 3.1).
 *
 * A point's time is in ns times the largest rate m, so that a ramp of rate m climbs as much as it goes, and everything stays an integer:
 * m = 1 for a thread, min(threads, CPUs) for a set of them. */
#ifndef RTF_MUSE_SUPPLY_H
#define RTF_MUSE_SUPPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "separations.h"

struct point {
    int64_t time; /* ns * m */
    int64_t work; /* ns of a CPU */
};

struct points {
    struct point *at;
    size_t count;
};

/* One function. The corners are those (R(W), W) of (15) or (16) that no other one makes superfluous; between two of them the function is a
 * ramp of rate m and a level, for the lower one with the level first, for the upper one with the ramp first. */
struct function {
    struct points corners;
    struct points hull; /* the lower function's convex one from below, the upper function's concave one from above */
};

struct supply {
    int rate; /* m */
    struct function lower, upper;
};

/* alpha * (t - delta), of which (18) and (19) speak. */
struct linear {
    double alpha;
    double delta; /* ns */
};

struct joint {
    double alpha;
    double delta_lower, delta_upper; /* ns */
};

/* From k jobs of `nominal` ns each; they must have at least one k above 0. False: out of memory. */
bool supply_compute(const struct separations *separations, int64_t nominal, int rate, struct supply *supply);

/* Where the function turns: the corners with what is between them. False: out of memory. */
bool supply_lower_turns(const struct supply *supply, struct points *turns);
bool supply_upper_turns(const struct supply *supply, struct points *turns);

/* sup{t: slbf(t) = 0}, ns * m. */
int64_t supply_blackout(const struct supply *supply);

/* The line under the lower function with the largest area below it over [delta, horizon], and the one over the upper function with the
 * smallest over [0, horizon]. Lower: alpha 0 and the longest blackout as delta, if that is not shorter than the horizon. A horizon that is
 * longer than what was measured counts as that. */
struct linear supply_lower_bound(const struct supply *supply, double horizon);
struct linear supply_upper_bound(const struct supply *supply, double horizon);

/* One alpha for a line under the one and a line over the other which are as near to each other as can be. */
struct joint supply_joint_bound(const struct supply *supply);

void supply_free(struct supply *supply);
void points_free(struct points *points);

#endif
