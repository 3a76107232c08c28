/* The table of reservations. */
#ifndef RTF_RESERVATIONS_H
#define RTF_RESERVATIONS_H

#include "reservation.h"

extern int max_specs;

/* The account whose limits apply to the user: the user's own, or the common one of all users
 * without an account whose uids the rules do not name. */
struct account *user_bucket(const struct user *user);

/* Finds the reservation, or makes it with `create`. NULL: there is none. */
struct reservation *reservation_find(struct user *user, const char *name, bool create);
/* Keeps a reservation of an earlier broker: it counts, even above the limit. */
void reservation_keep(struct reservation *reservation);
/* Counts the reservation among its user's, or makes it RESERVATION_OVER_LIMIT. Call this when the
 * reservation is made, and when it is judged again, because others may have ended. A released
 * reservation does not count, even while its record exists. */
void reservation_count(struct reservation *reservation);
void reservation_uncount(struct reservation *reservation);
struct reservation *reservation_of_task(uint64_t task);
void reservation_forget(struct reservation *reservation);

/* The reservation is ENDING from here on. The caller has its NAME.json removed. */
void reservation_end(struct reservation *reservation, enum ended why);

/* The reader's last report has its answer, or has become void. */
void reservation_snapshot_end(struct reservation *reservation);

/* Queues the reservation for its turn. It is not looked at at once: inside an answer, a user could
 * drive the depth of the stack; inside a scan, others would wait for one user's thousands of
 * files. */
void reservation_queue(struct reservation *reservation);

/* Writes the present state of the reservation to the journal. False with errno. */
bool reservation_record(struct reservation *reservation);

/* All reservations in the order of their creation; NULL: no more. */
struct reservation *reservation_first(void);
struct reservation *reservation_next(const struct reservation *reservation);

#endif
