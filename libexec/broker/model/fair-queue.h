/* The order in which the broker goes on with reservations. Users take turns, however many
 * reservations one user has queued. All uids without an account are one user here, as for the limit
 * on reservations: a user with a range of uids (user_namespaces(7)) gains no turns.
 *
 * A user other than root has a limited number of requests under way, because each request holds a
 * file of the user open. The next reservation waits. */
#ifndef RTF_FAIR_QUEUE_H
#define RTF_FAIR_QUEUE_H

#include "reservation.h"

/* The reservations of one user that wait for their turn; part of struct account. */
struct queue {
    TAILQ_HEAD(reservation_list, reservation) reservations;
    TAILQ_ENTRY(queue) of_ring;
    bool in_ring, unlimited;
    int under_way;
};

void queue_init(struct queue *queue, bool unlimited);

/* Appends the reservation to the queue. A reservation that is already in a queue keeps its
 * place. */
void queue_add(struct reservation *reservation, struct queue *queue);

/* The queue of the reservations that existed when the broker started. Reservations that the earlier
 * broker had judged come first. The other reservations follow in the order of the change times of
 * their spec files. The order does not depend on the owners. */
struct queue *queue_of_old(void);

void queue_leave(struct reservation *reservation);

/* Takes out the reservation that has the next turn; NULL: no reservation may begin now. */
struct reservation *queue_next(void);
bool queue_is_due(void);

/* queue_begin: a request of this queue begins. queue_end: a request of this queue is over. */
void queue_begin(struct queue *queue);
void queue_end(struct queue *queue);

#endif
