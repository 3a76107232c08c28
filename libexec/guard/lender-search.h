/* Searches for the unknown lenders of boosts (lending.h): the guard suspends the possible lenders one
 * by one until the boost ends. */
#ifndef RTF_LENDER_SEARCH_H
#define RTF_LENDER_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "boosts.h"
#include "guarded-threads.h"

/* Suspending a candidate takes some tens of us. So the guard tries at most so many at a time. */
enum { LENDER_TRIES_AT_ONCE = 16 };

void lender_search_open(void);

/* Returns a boost with an unknown lender that is due for a search; NULL: there is none. */
struct boost *lender_search_next(int64_t now);

/* Tries the next possible lenders. Returns the lender, which stays suspended; NULL: not found yet. */
struct guarded *lender_search(struct boost *boost, int64_t now);

/* Returns when the next search may begin, after one that began at `began`. A hostile user decides how
 * often a boost has an unknown lender, so the guard pauses after a search for 20 times as long as the
 * search took. */
int64_t lender_search_pause(int64_t began);

/* True: the thread does not notice a suspension for a moment, because it does not run. */
bool lender_search_unnoticed(struct guarded *guarded);

#endif
