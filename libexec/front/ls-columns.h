/* The columns of rtf-ls(1): their names, the text of each cell, and the number that rows are sorted
 * by. */
#ifndef RTF_LS_COLUMNS_H
#define RTF_LS_COLUMNS_H

#include "ls.h"

enum { LS_CELL = 32 };

enum ls_column {
    LS_USER,
    LS_NAME,
    LS_STATE,
    LS_PLUGIN,
    LS_POLICY,
    LS_CPUS,
    LS_PRIORITY,
    LS_RUNTIME,
    LS_PERIOD,
    LS_DEADLINE,
    LS_SHARE,
    LS_EXPIRES,
    LS_TID,
    LS_COMMAND,
    LS_RESULT,
    LS_ANSWERED,
    LS_REASON,
    LS_COLUMNS
};

const char *ls_heading(enum ls_column column);

/* Returns the column of this heading, in capital or small letters. Exits with a message about
 * `option` and its argument `text` if no column has the heading `word`. */
enum ls_column ls_column_named(const char *option, const char *text, const char *word);

/* Returns the text of a cell; "-": the cell is empty. The returned text may be in the buffer
 * `text`. */
const char *ls_cell(const struct ls_row *row, enum ls_column column, char text[static LS_CELL]);

/* Returns the number that a column is sorted by; -1: the cell has no number, or the column has
 * texts. */
json_int_t ls_amount(const struct ls_row *row, enum ls_column column);

#endif
