/* Spare capacity: the amounts that specs desire beyond their needs (desired_runtime,
 * desired_bytes), and how free capacity is shared out: to the most important specs first, among
 * equally important specs in proportion to their weights, and to no spec more than it desires.
 *
 * Paper 002, section 3.6, gives contracts with several budgets "the highest possible at all times",
 * without a formula; this formula is rtf's own. Only admission grants needs. The broker takes
 * shared-out capacity back when a need requires it (spare-capacity.h). */
#ifndef RTF_DESIRED_AMOUNTS_H
#define RTF_DESIRED_AMOUNTS_H

#include "reservation.h"

/* An amount that a reservation desires. Values have the unit of the pool (pools.h). */
struct desire {
    struct reservation *reservation;
    enum resource resource; /* RESOURCE_CPU, or the resource of the holding */
    const uint64_t *pool;   /* the sum of the pool: identifies the pool */
    uint64_t room;          /* the free capacity of the pool */
    uint64_t least, most, now, aim;
    uint64_t importance, weight;
};

/* Call it when the reservation has another grant. */
void desired_amounts_follow(struct reservation *reservation);

/* The first reservation that desires something; NULL: none. The next one is its of_desires. */
struct reservation *desired_amounts_first(void);

/* The number of these reservations. */
size_t desired_amounts_count(void);

/* Does the grant desire more CPU time? Does the holding desire more of its resource? */
bool desired_amounts_cpu_time(const struct grant *grant);
bool desired_amounts_more_of(const struct holding *holding);

/* The holding of the desire; NULL: CPU time. */
struct holding *desire_holding(const struct desire *desire);

/* Lists all desires, in no order. The caller frees *desires. */
size_t desired_amounts_list(struct desire **desires);

/* Sets the aim of each desire, from the amounts beyond the needs and the free capacity of the
 * pools. Sorts the desires. */
void desired_amounts_share_out(struct desire *desires, size_t count);

#endif
