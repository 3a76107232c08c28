/* The table of wishes. */
#ifndef RTF_WISHES_H
#define RTF_WISHES_H

#include "wish.h"

extern int max_wishes;

/* Whose limits a user has: his account's, or those of all who have none and are not named in the rules. */
struct account *user_bucket(const struct user *user);

/* NULL when `create` is false and there is none. */
struct wish *wish_find(struct user *user, const char *name, bool create);
/* It has been granted before: whatever the limit is now, it stays, and counts. */
void wish_keep(struct wish *wish);
/* Counts it among its user's, or sets wish->over_limit; when it is made, and again when it is judged, for others may have gone
 * since. A released one is not counted, though it is still known for a moment. */
void wish_count(struct wish *wish);
void wish_uncount(struct wish *wish);
struct wish *wish_of_task(uint64_t task);
void wish_forget(struct wish *wish);

/* What its reader has told of its files has been answered, or has become nothing. */
void wish_sighting_end(struct wish *wish);

/* It is looked at in turn: from within an answer a user could drive the depth of the stack, and from within a scan one user's thousands of files
 * would keep all others waiting. */
void wish_queue(struct wish *wish);

/* Writes down what holds for the wish from now on. False with errno. */
bool wish_record(struct wish *wish);

/* All wishes in the order of their making: this, and then wish->hh_task.next. */
struct wish *wish_first(void);

#endif
