/* Shares out spare capacity among the reservations. The need of a spec is its runtime or amount.
 * Admission grants the whole need, or refuses the spec. A spec may desire more than its need
 * (desired_runtime, desired_bytes). Spare capacity is the free capacity beyond all needs. The
 * broker gives it to the most important specs first. Equally important specs share it in proportion
 * to their weights. No spec gets more than it desires.
 *
 * Paper 002, section 3.6, gives contracts with several budgets "the highest possible at all times".
 * The paper has no formula for this, so the formula here is rtf's own. The broker takes spare
 * capacity back when a need requires the capacity (spare-capacity.h). */
#ifndef RTF_DESIRED_AMOUNTS_H
#define RTF_DESIRED_AMOUNTS_H

#include "reservation.h"

/* An amount that a reservation desires. Values have the unit of the pool (pools.h). The spec needs
 * `least` and desires `most`; the reservation has `now`, and shall have `aim`. */
struct desire {
    struct reservation *reservation;
    enum resource resource; /* RESOURCE_CPU, or the resource of the holding */
    const uint64_t *pool;   /* points to the sum of the pool, and identifies the pool */
    uint64_t room;          /* the free capacity of the pool */
    uint64_t least, most, now, aim;
    uint64_t importance, weight;
};

/* Call this when the reservation has got another grant. Adds the reservation to the list of
 * reservations that desire more, or removes it from the list. */
void desired_amounts_follow(struct reservation *reservation);

/* The first reservation that desires more than it needs; NULL: none. The next such reservation is
 * linked by its member of_desires. */
struct reservation *desired_amounts_first(void);

/* The number of reservations that desire more than they need. */
size_t desired_amounts_count(void);

/* True: the grant desires more CPU time than its spec needs; the holding desires more of its
 * resource than its spec needs. */
bool desired_amounts_cpu_time(const struct grant *grant);
bool desired_amounts_more_of(const struct holding *holding);

/* Returns the holding that desires more; NULL: the desire is for CPU time. */
struct holding *desire_holding(const struct desire *desire);

/* Lists all desires, in no order. The caller frees *desires. */
size_t desired_amounts_list(struct desire **desires);

/* Sorts the desires, and sets the aim of each. Shares out the free capacity of the pools, and what
 * reservations have beyond their needs. */
void desired_amounts_share_out(struct desire *desires, size_t count);

#endif
