/* The table of reservations. */
#ifndef RTF_RESERVATIONS_H
#define RTF_RESERVATIONS_H

#include "reservation.h"

extern int max_specs;

/* Whose limits a user has: his account's, or those of all who have none and are not named in the rules. */
struct account *user_bucket(const struct user *user);

/* NULL when `create` is false and there is none. */
struct reservation *reservation_find(struct user *user, const char *name, bool create);
/* It has been granted before: whatever the limit is now, it stays, and counts. */
void reservation_keep(struct reservation *reservation);
/* Counts it among its user's, or makes it RESERVATION_OVER_LIMIT; when it is made, and again when it is judged, for others may have gone
 * since. A released one is not counted, though it is still known for a moment. */
void reservation_count(struct reservation *reservation);
void reservation_uncount(struct reservation *reservation);
struct reservation *reservation_of_task(uint64_t task);
void reservation_forget(struct reservation *reservation);

/* The reservation is ENDING from here on, for this reason. The caller has its NAME.json removed. */
void reservation_end(struct reservation *reservation, enum ended why);

/* What its reader has told of its files has been answered, or has become nothing. */
void reservation_snapshot_end(struct reservation *reservation);

/* It is looked at in turn: from within an answer a user could drive the depth of the stack, and from within a scan one user's thousands of files
 * would keep all others waiting. */
void reservation_queue(struct reservation *reservation);

/* Writes down what holds for the reservation from now on. False with errno. */
bool reservation_record(struct reservation *reservation);

/* All reservations in the order of their making; NULL: there is none, or no more. */
struct reservation *reservation_first(void);
struct reservation *reservation_next(const struct reservation *reservation);

#endif
