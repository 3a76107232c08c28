/* Spare capacity: what reservations would rather have beyond what they need (desired_runtime, desired_bytes), and how what nobody needs is shared
 * out among them: to the most important first, among those in proportion to their weights, to nobody more than he desires.
 *
 * Paper 002, section 3.6, has contracts with several budgets get "the highest possible at all times", and no formula; this one is ours. What is
 * needed is granted by admission alone. What is shared out is taken back for whoever needs it (spare-capacity.h). */
#ifndef RTF_DESIRED_AMOUNTS_H
#define RTF_DESIRED_AMOUNTS_H

#include "reservation.h"

/* One of what a reservation would rather have more of. Values are those of its pool (pools.h). */
struct desire {
    struct reservation *reservation;
    enum resource resource;  /* of which: CPU time, or that of a holding */
    const uint64_t *pool;    /* the sum that it is part of: which pool it is */
    uint64_t room;           /* what nothing is promised of there */
    uint64_t least, most, now, aim;
    uint64_t importance, weight;
};

/* The reservation's grant is another one. */
void desired_amounts_follow(struct reservation *reservation);

/* The first of those that desire something; NULL: nobody does. The next is its of_desires. */
struct reservation *desired_amounts_first(void);

/* How many reservations that is. */
size_t desired_amounts_count(void);

/* Would the grant rather have more CPU time, or its holding more of its resource? */
bool desired_amounts_cpu_time(const struct grant *grant);
bool desired_amounts_more_of(const struct holding *holding);

/* What is held of it; NULL: CPU time. */
struct holding *desire_holding(const struct desire *desire);

/* All of them, in no order. The caller frees *desires. */
size_t desired_amounts_list(struct desire **desires);

/* What each of them is to have, from what they have beyond their least and what is left of their pools: sets aim, and sorts them. */
void desired_amounts_share_out(struct desire *desires, size_t count);

#endif
