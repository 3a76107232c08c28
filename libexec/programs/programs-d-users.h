/* Orders to put, remove or keep one file in the directory of one user. When all orders are carried
 * out, each user's directory has the files that programs.d states for the user. */
#ifndef RTF_PROGRAMS_D_USERS_H
#define RTF_PROGRAMS_D_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "programs-d-parse.h"

#define NO_GROUP ((gid_t)65534)

enum what { PUT, REMOVE, KEEP };

struct order {
    enum what what;
    uid_t uid;
    gid_t gid;     /* the primary group of the user; NO_GROUP: the user has no account */
    char *account; /* NULL: the user has no account */
    char name[NAME_BYTES];
    const char *text; /* PUT: the text of the file, borrowed */
};

struct orders {
    struct order *list; /* sorted by uid */
    size_t count;
};

/* Called with a sentence about what cannot be done. */
typedef void say(const char *decision, const char *sentence);

/* Adds an order to put each file for each user whom the file is for. Calls `tell` about an unknown
 * name. */
void orders_for(struct orders *orders, const struct given *list, say *tell);

/* Adds an order for each file that was given before (record_read) and is not given any more:
 * REMOVE, or KEEP if the file in programs.d is wrong now. */
void orders_compare(struct orders *orders, const struct orders *before, const struct given *list);

/* Looks up the account of each user, for the first order of this user: a worker cannot do so. */
void orders_look_up(struct orders *orders);

/* Read and write the record of the given files, in this directory. False: errno says why. removed:
 * the orders REMOVE have been carried out, and the record leaves these files out. */
bool record_read(int directory, struct orders *before);
bool record_write(int directory, const struct orders *orders, bool removed);

void orders_free(struct orders *orders);

#endif
