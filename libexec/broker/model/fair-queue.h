/* Whose reservation is looked at next: users in turn, however much one of them has piled up. Uids without an account are one user
 * here as they are for the limit on reservations: who can make up uids (user namespaces) does not have more turns for it.
 *
 * A user has so many requests under way and no more, root excepted: each holds a file of his open. His next reservation waits. */
#ifndef RTF_FAIR_QUEUE_H
#define RTF_FAIR_QUEUE_H

#include "reservation.h"

/* What waits of one user; part of struct account. */
struct queue {
    TAILQ_HEAD(reservation_list, reservation) reservations;
    TAILQ_ENTRY(queue) of_ring;
    bool in_ring, unlimited;
    int under_way;
};

void queue_init(struct queue *queue, bool unlimited);

/* Behind what else waits of the same queue; nothing if it waits already. */
void queue_add(struct reservation *reservation, struct queue *queue);

/* The queue of what was there when the broker started: those are taken in the order of their times, whosever they are. */
struct queue *queue_of_old(void);

void queue_leave(struct reservation *reservation);

/* Takes the next one out; NULL: there is none that may begin. */
struct reservation *queue_next(void);
bool queue_is_due(void);

/* A request of this queue begins, or is over. */
void queue_begin(struct queue *queue);
void queue_end(struct queue *queue);

#endif
