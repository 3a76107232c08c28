#include "supply.h"

#include <math.h>
#include <stdlib.h>

static bool reserve(struct points *points, size_t count)
{
    *points = (struct points){.at = malloc(count * sizeof *points->at)};
    return points->at != NULL;
}

static void push(struct points *points, int64_t time, int64_t work)
{
    points->at[points->count++] = (struct point){time, work};
}

static const struct point *last_of(const struct points *points)
{
    return &points->at[points->count - 1];
}

/* Returns how far a corner of a function (struct function) is above the line work = time, which is
 * full rate. The true value is at most 0, because no platform is faster than full rate: see (5) of
 * paper 004. The result is above 0 if k jobs seem to be faster than full rate. This happens if the
 * nominal length is longer than a real job, or if marks of several threads coincide. Then
 * upper_corner counts the k jobs as work at full rate. */
static int64_t lead(struct point corner)
{
    return corner.work - corner.time;
}

static struct point upper_corner(const struct separations *s, size_t i, int64_t nominal, int rate)
{
    struct point corner = {s->shortest[i] * rate, s->jobs[i] * nominal};
    if (lead(corner) > 0)
        corner.time = corner.work;
    return corner;
}

/* Returns a corner of the lower function. The longest time of k jobs is at least the shortest time
 * of l jobs plus the time of k - l jobs at full rate. For jobs of one thread with a correct nominal
 * length this is always true. For marks of several threads this function makes it true, so that the
 * lower function stays below the upper function. */
static struct point lower_corner(const struct separations *s, size_t i, int64_t nominal, int rate,
                                 int64_t *least_lead)
{
    const int64_t above = lead(upper_corner(s, i, nominal, rate));
    struct point corner = {s->longest[i] * rate, s->jobs[i] * nominal};
    *least_lead = above < *least_lead ? above : *least_lead;
    if (lead(corner) > *least_lead)
        corner.time = corner.work - *least_lead;
    return corner;
}

/* Makes the corners of the lower function, by equation (15) of paper 004. Drops each corner whose
 * lead is not larger than the lead of a later corner, because the ramp to the later corner covers
 * it. */
static bool lower_corners(const struct separations *s, int64_t nominal, int rate,
                          struct points *corners)
{
    int64_t least_lead = 0;
    if (!reserve(corners, s->count))
        return false;
    push(corners, 0, 0);
    for (size_t i = 1; i < s->count; i++) {
        const struct point next = lower_corner(s, i, nominal, rate, &least_lead);
        while (corners->count > 1 && lead(*last_of(corners)) <= lead(next))
            corners->count--;
        push(corners, next.time, next.work);
    }
    return true;
}

/* Makes the corners of the upper function, by equation (16) of paper 004. Drops each corner whose
 * lead is not smaller than the lead of an earlier corner, because the ramp from the earlier corner
 * covers it. The function ends at the last corner. */
static bool upper_corners(const struct separations *s, int64_t nominal, int rate,
                          struct points *corners)
{
    if (!reserve(corners, s->count))
        return false;
    push(corners, 0, 0);
    for (size_t i = 1; i < s->count; i++) {
        const struct point before = *last_of(corners);
        const struct point next = upper_corner(s, i, nominal, rate);
        if (lead(next) < lead(before))
            push(corners, next.time, next.work);
        else if (i == s->count - 1 && next.time > before.time)
            push(corners, next.time, before.work + (next.time - before.time));
    }
    return true;
}

bool supply_lower_turns(const struct supply *supply, struct points *turns)
{
    const struct points *corners = &supply->lower.corners;
    if (!reserve(turns, 2 * corners->count))
        return false;
    push(turns, 0, 0);
    for (size_t i = 1; i < corners->count; i++) {
        const struct point *from = &corners->at[i - 1], *to = &corners->at[i];
        push(turns, to->time - (to->work - from->work), from->work);
        push(turns, to->time, to->work);
    }
    return true;
}

bool supply_upper_turns(const struct supply *supply, struct points *turns)
{
    const struct points *corners = &supply->upper.corners;
    if (!reserve(turns, 2 * corners->count))
        return false;
    push(turns, 0, 0);
    for (size_t i = 1; i < corners->count; i++) {
        const struct point *from = &corners->at[i - 1], *to = &corners->at[i];
        push(turns, from->time + (to->work - from->work), to->work);
        push(turns, to->time, to->work);
    }
    return true;
}

/* The result is above 0 if the path from a over b to c turns left. The result is exact, because
 * times and works are below 2^60. */
static int turn(struct point a, struct point b, struct point c)
{
    __int128 cross = (__int128)(b.time - a.time) * (c.work - a.work) -
                     (__int128)(b.work - a.work) * (c.time - a.time);
    return (cross > 0) - (cross < 0);
}

/* Makes the convex hull of points with ascending times, from below (side 1) or from above (side
 * -1). */
static bool make_hull(const struct points *points, int side, struct points *hull)
{
    if (!reserve(hull, points->count))
        return false;
    for (size_t i = 0; i < points->count; i++) {
        const struct point *next = &points->at[i];
        while (hull->count > 1 &&
               side * turn(hull->at[hull->count - 2], *last_of(hull), *next) <= 0)
            hull->count--;
        if (hull->count != 1 || next->time != hull->at[0].time || next->work != hull->at[0].work)
            push(hull, next->time, next->work);
    }
    return true;
}

static bool make_hulls(struct supply *supply)
{
    struct points lower = {0}, upper = {0};
    bool good = supply_lower_turns(supply, &lower) && supply_upper_turns(supply, &upper) &&
                make_hull(&lower, 1, &supply->lower.hull) &&
                make_hull(&upper, -1, &supply->upper.hull);
    points_free(&lower);
    points_free(&upper);
    return good;
}

bool supply_compute(const struct separations *separations, int64_t nominal, int rate,
                    struct supply *supply)
{
    *supply = (struct supply){.rate = rate};
    return lower_corners(separations, nominal, rate, &supply->lower.corners) &&
           upper_corners(separations, nominal, rate, &supply->upper.corners) && make_hulls(supply);
}

int64_t supply_blackout(const struct supply *supply)
{
    const struct point *first = &supply->lower.corners.at[1];
    return first->time - first->work;
}

/* The line through an edge of a hull: its slope, and the time at which the line is 0. Times are in
 * ns * m. */
struct line {
    long double slope, zero;
};

static struct line line_through(const struct point *from, const struct point *to)
{
    long double slope = (long double)(to->work - from->work) / (long double)(to->time - from->time);
    return (struct line){slope, (long double)from->time - (long double)from->work / slope};
}

static bool is_level(const struct points *hull, size_t edge)
{
    return hull->at[edge + 1].work <= hull->at[edge].work;
}

/* Returns the horizon, but at most the measured time, because after the measured time there is no
 * data to compare a line with. */
static long double scaled_horizon(const struct points *hull, double horizon, int rate)
{
    long double scaled = (long double)horizon * rate, measured = (long double)last_of(hull)->time;
    return scaled < measured ? scaled : measured;
}

static struct linear unscaled(struct line line, int rate)
{
    return (struct linear){(double)(line.slope * rate), (double)(line.zero / rate)};
}

/* The area below a line, alpha * (H - delta)^2 / 2, is convex in (alpha, alpha * delta). In these
 * coordinates, the lines below the function form a polyhedron. So the largest area is at a vertex
 * of the polyhedron, and each vertex stands for an edge of the hull. */
struct linear supply_lower_bound(const struct supply *supply, double horizon)
{
    const struct points *hull = &supply->lower.hull;
    const long double end = scaled_horizon(hull, horizon, supply->rate);
    struct line best = {0, (long double)supply_blackout(supply)};
    long double largest = 0;
    for (size_t i = 0; i + 1 < hull->count; i++) {
        if (is_level(hull, i))
            continue;
        struct line line = line_through(&hull->at[i], &hull->at[i + 1]);
        long double room = end - line.zero, area = line.slope * room * room;
        if (room > 0 && area > largest) {
            largest = area;
            best = line;
        }
    }
    return unscaled(best, supply->rate);
}

/* The area below a line over [0, H] is H times the height of the line at H / 2. So the line through
 * the hull's edge at H / 2 has the smallest area. */
struct linear supply_upper_bound(const struct supply *supply, double horizon)
{
    const struct points *hull = &supply->upper.hull;
    const long double middle = scaled_horizon(hull, horizon, supply->rate) / 2;
    size_t edge = 0;
    while (edge + 2 < hull->count && (long double)hull->at[edge + 1].time < middle &&
           !is_level(hull, edge + 1))
        edge++;
    return unscaled(line_through(&hull->at[edge], &hull->at[edge + 1]), supply->rate);
}

/* Returns the point at which a line of this slope touches a hull. Edges before this point are
 * flatter (side 1) or steeper (side -1). */
static struct point touch(const struct points *hull, long double slope, int side)
{
    size_t low = 0, high = hull->count - 1;
    while (low < high) {
        size_t edge = low + (high - low) / 2;
        const struct point *from = &hull->at[edge], *to = from + 1;
        long double rise =
            (long double)(to->work - from->work) - slope * (long double)(to->time - from->time);
        if (side * rise < 0)
            low = edge + 1;
        else
            high = edge;
    }
    return hull->at[low];
}

struct nearest {
    long double distance;
    struct joint joint;
};

/* Computes the distance of the two lines with this slope, and notes the lines if they are the
 * nearest until now. */
static void try_slope(const struct supply *supply, long double slope, struct nearest *nearest)
{
    struct point below = touch(&supply->lower.hull, slope, 1),
                 above = touch(&supply->upper.hull, slope, -1);
    long double low = (long double)below.work - slope * (long double)below.time,
                high = (long double)above.work - slope * (long double)above.time;
    long double alpha = slope * supply->rate, distance = (high - low) / sqrtl(1 + alpha * alpha);
    if (distance < nearest->distance)
        *nearest =
            (struct nearest){distance,
                             {(double)alpha, (double)(-low / alpha), (double)(-high / alpha)}};
}

static void try_edges(const struct supply *supply, const struct points *hull,
                      struct nearest *nearest)
{
    for (size_t i = 0; i + 1 < hull->count; i++)
        if (!is_level(hull, i))
            try_slope(supply, line_through(&hull->at[i], &hull->at[i + 1]).slope, nearest);
}

/* Tries only the slopes of edges: between the slopes of two neighbouring edges the distance is (a +
 * b * alpha) / sqrt(1 + alpha^2), which has no minimum inside. */
struct joint supply_joint_bound(const struct supply *supply)
{
    struct nearest nearest = {.distance = HUGE_VALL};
    try_edges(supply, &supply->lower.hull, &nearest);
    try_edges(supply, &supply->upper.hull, &nearest);
    return nearest.joint;
}

void points_free(struct points *points)
{
    free(points->at);
    *points = (struct points){0};
}

void supply_free(struct supply *supply)
{
    points_free(&supply->lower.corners);
    points_free(&supply->lower.hull);
    points_free(&supply->upper.corners);
    points_free(&supply->upper.hull);
}
