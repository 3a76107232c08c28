/* Supply bound functions from measured separations, and their linear bounds (paper 004, section
 * 3.1).
 *
 * A point's time is in ns times the maximum rate m. So the work of a ramp of rate m grows by the
 * same number as its time, and all values are integers. m = 1 for a thread; m = min(threads, CPUs)
 * for a set of threads. */
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

/* One bound function. corners: the points (R(W), W) of equations (15) or (16) of paper 004 that no
 * other corner makes superfluous. Between two corners the function has a level and a ramp of rate
 * m: the lower function first the level, the upper function first the ramp. */
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

/* The points at which the function changes its slope: the corners and the points between them.
 * False: out of memory. */
bool supply_lower_turns(const struct supply *supply, struct points *turns);
bool supply_upper_turns(const struct supply *supply, struct points *turns);

/* Returns the longest time without any supply, ns * m: sup{t: slbf(t) = 0}, where slbf is the lower
 * function. */
int64_t supply_blackout(const struct supply *supply);

/* supply_lower_bound: the line below the lower function with the largest area over [delta,
 * horizon]. supply_upper_bound: the line above the upper function with the smallest area over [0,
 * horizon]. If the longest blackout is not shorter than the horizon, the lower bound has alpha = 0
 * and the blackout as delta. horizon: in ns; if it is longer than the measured time, the measured
 * time counts. */
struct linear supply_lower_bound(const struct supply *supply, double horizon);
struct linear supply_upper_bound(const struct supply *supply, double horizon);

/* Finds two parallel lines with the smallest distance: a line below the lower function and a line
 * above the upper function. Their slope is alpha. */
struct joint supply_joint_bound(const struct supply *supply);

void supply_free(struct supply *supply);
void points_free(struct points *points);

#endif
