/* The table of all reservations, and their number per user, which --max-specs limits. */
#ifndef RTF_RESERVATIONS_H
#define RTF_RESERVATIONS_H

#include "reservation.h"

extern int max_specs;

/* The account whose limits apply to the user. This is the user's own account; or, if the account
 * database does not know the user's uid and no rule names this uid, the common account of all such
 * users. */
struct account *user_bucket(const struct user *user);

/* Finds the reservation. If there is no such reservation, makes it with `create`, and returns NULL
 * without `create`. */
struct reservation *reservation_find(struct user *user, const char *name, bool create);
/* Keeps a reservation of an earlier broker, even if its user then has more than --max-specs
 * reservations. */
void reservation_keep(struct reservation *reservation);
/* Counts the reservation among its user's reservations; or, if the user has --max-specs
 * reservations already, sets the state RESERVATION_OVER_LIMIT. Call this when the reservation is
 * made, and when it is judged again, because other reservations of the user may have ended. A
 * released reservation does not count, even while its struct exists. */
void reservation_count(struct reservation *reservation);
void reservation_uncount(struct reservation *reservation);
struct reservation *reservation_of_task(uint64_t task);
void reservation_forget(struct reservation *reservation);

/* Sets the state RESERVATION_ENDING. The caller has the reader remove NAME.json. */
void reservation_end(struct reservation *reservation, enum ended why);

/* Frees the reader's last report of the files, because the report has its answer or no longer
 * holds. */
void reservation_snapshot_end(struct reservation *reservation);

/* Queues the reservation, so that the broker looks at it in a later turn of its user. The broker
 * does not look at once, for two reasons. A user could make the broker's stack grow without bound
 * while the broker handles an answer. And during a scan, all users would wait for the thousands of
 * files of one user. */
void reservation_queue(struct reservation *reservation);

/* Call reservation_await_thread when the files name a thread that is just leaving another
 * reservation of the user. Call reservations_go_on when a request of the user is over: it queues
 * the reservations that await a thread. */
void reservation_await_thread(struct reservation *reservation);
void reservations_go_on(struct user *user);

/* Appends the present state of the reservation to the journal. False: errno says why. */
bool reservation_record(struct reservation *reservation);

/* These functions go through all reservations in the order of their creation. NULL: there are no
 * more. */
struct reservation *reservation_first(void);
struct reservation *reservation_next(const struct reservation *reservation);

#endif
