/* The files of programs.d that each user's directory shall have. */
#ifndef RTF_ORDERS_H
#define RTF_ORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "given.h"

enum what { PUT, REMOVE, KEEP };

struct order {
    enum what what;
    uid_t uid;
    char name[NAME_BYTES];
    const char *text; /* PUT: of the file, borrowed */
};

struct orders {
    struct order *list; /* sorted by uid */
    size_t count;
};

/* Called with a sentence about what cannot be done. */
typedef void say(const char *decision, const char *sentence);

/* The users that the files are for. An unknown name is told. */
void orders_for(struct orders *orders, const struct given *list, say *tell);

/* Adds an order for each file that was given before (record_read) and is not any more: the file is
 * removed, or stays as it was if its original is wrong now. */
void orders_compare(struct orders *orders, const struct orders *before, const struct given *list);

/* The record of what was given, in this directory. False with errno. removed: the removals have been
 * done, and leave the record. */
bool record_read(int directory, struct orders *before);
bool record_write(int directory, const struct orders *orders, bool removed);

void orders_free(struct orders *orders);

#endif
