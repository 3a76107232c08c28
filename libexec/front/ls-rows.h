/* The rows of rtf-ls(1). The user's own reservations are read from the files in the user's directory,
 * and the reservations of other users from the broker's journal (read-journal.h). */
#ifndef RTF_LS_ROWS_H
#define RTF_LS_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "ls.h"

/* Which reservations the user asks for. */
struct ls_filter {
    const char *spool;
    const char *user; /* NULL: the caller */
    bool all;         /* all users */
    /* fnmatch(3) patterns for names, which end with NULL; no pattern: all names */
    char *const *patterns;
};

/* Returns the rows in no order. Exits with a message if the caller may not see these reservations. */
struct ls_row *ls_rows_read(const struct ls_filter *filter, size_t *count);

#endif
