/* Computes supply bound functions from measured separations (separations.h), and linear bounds of
 * these functions (paper 004, section 3.1). A supply bound function tells how much CPU time a
 * thread gets in any interval of a length: at least (lower) or at most (upper).
 *
 * The time of a point is in ns, multiplied by the maximum rate m. So on a ramp of rate m, work and
 * time grow by the same number, and all values are integers. For one thread m is 1. For a set of
 * threads m is the smaller of the number of threads and the number of CPUs. */
#ifndef RTF_MUSE_SUPPLY_H
#define RTF_MUSE_SUPPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "separations.h"

struct point {
    int64_t time; /* ns * m */
    int64_t work; /* CPU time, ns */
};

struct points {
    struct point *at;
    size_t count;
};

/* One bound function. corners: the points (R(W), W) of equation (15) or (16) of paper 004, without
 * the points that do not change the function. Between two corners the function is level in one part
 * and a ramp of rate m in the other. In the lower function the level part comes first, in the upper
 * function the ramp. */
struct function {
    struct points corners;
    /* the convex hull below the lower function, or the concave hull above the upper function */
    struct points hull;
};

struct supply {
    int rate; /* m */
    struct function lower, upper;
};

/* The line alpha * (t - delta) of equations (18) and (19) of paper 004. */
struct linear {
    double alpha;
    double delta; /* ns */
};

struct joint {
    double alpha;
    double delta_lower, delta_upper; /* ns */
};

/* Computes the functions from the separations, for jobs of `nominal` ns each. Requires at least one
 * k above 0. False: out of memory. */
bool supply_compute(const struct separations *separations, int64_t nominal, int rate,
                    struct supply *supply);

/* These functions return the points at which a function changes its slope: the corners, and one
 * point between two corners. False: out of memory. */
bool supply_lower_turns(const struct supply *supply, struct points *turns);
bool supply_upper_turns(const struct supply *supply, struct points *turns);

/* Returns the longest time without any CPU time, in ns * m: sup{t: slbf(t) = 0}, where slbf is the
 * lower function. */
int64_t supply_blackout(const struct supply *supply);

/* supply_lower_bound returns the line below the lower function with the largest area over [delta,
 * horizon]. supply_upper_bound returns the line above the upper function with the smallest area
 * over [0, horizon]. If the longest blackout is not shorter than the horizon, the lower bound has
 * alpha = 0 and the blackout as delta. horizon: in ns; if it is longer than the measured time, the
 * measured time counts. */
struct linear supply_lower_bound(const struct supply *supply, double horizon);
struct linear supply_upper_bound(const struct supply *supply, double horizon);

/* Finds two parallel lines with the smallest distance: a line below the lower function and a line
 * above the upper function. Their slope is alpha. */
struct joint supply_joint_bound(const struct supply *supply);

void supply_free(struct supply *supply);
void points_free(struct points *points);

#endif
