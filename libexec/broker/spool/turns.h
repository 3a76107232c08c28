/* Whose reservation is looked at next: users in turn, however much one of them has piled up. Uids without an account are one user
 * here as they are for the limit on reservations: who can make up uids (user namespaces) does not have more turns for it.
 *
 * A user has so many requests under way and no more, root excepted: each holds a file of his open. His next reservation waits. */
#ifndef RTF_TURNS_H
#define RTF_TURNS_H

#include "reservation.h"

/* What waits of one user; part of struct account. */
struct line {
    TAILQ_HEAD(reservation_list, reservation) reservations;
    TAILQ_ENTRY(line) of_ring;
    bool in_ring, unlimited;
    int under_way;
};

void line_init(struct line *line, bool unlimited);

/* Behind what else waits of the same line; nothing if it waits already. */
void turns_add(struct reservation *reservation, struct line *line);

/* The line of what was there when the broker started: those are taken in the order of their times, whosever they are. */
struct line *turns_of_old(void);

void turns_leave(struct reservation *reservation);

/* Takes the next one out; NULL: there is none that may begin. */
struct reservation *turns_next(void);
bool turns_are_due(void);

/* A request of this line begins, or is over. */
void turns_begin(struct line *line);
void turns_end(struct line *line);

#endif
