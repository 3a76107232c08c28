/* The budget of the log: one user causes at most LOG_BYTES in LOG_WINDOW, so that no user fills the
 * disk of the log, or hides the lines of other users. Root and the broker have no bound. All uids
 * without an account share one budget. */
#ifndef RTF_LOG_BUDGET_H
#define RTF_LOG_BUDGET_H

#include <stddef.h>

#include "reservation.h"

enum { LOG_BYTES = 1 << 20 };
#define LOG_WINDOW INT64_C(10000000000) /* ns */

/* LOG_SPENT: the first line for which the budget has no room. LOG_LEFT_OUT: a further such line,
 * which is counted. */
enum log_room { LOG_HAS_ROOM, LOG_SPENT, LOG_LEFT_OUT };

/* Looks whether the budget of the user has room for a line. NULL: the line is about no user, and
 * always has room. At the beginning of a new window, adds the number of lines that were left out in
 * the last window to *left_out. */
enum log_room log_budget_look(const struct user *user, uint64_t *left_out);

/* Call this when the line was written. Adds its bytes to the bytes that the user has caused. */
void log_budget_charge(const struct user *user, size_t bytes);

#endif
