/* Prints the list of rtf-ls(1), as a table or as JSON. No control character of a file is printed. */
#ifndef RTF_LS_PRINT_H
#define RTF_LS_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "ls-columns.h"

struct ls_table {
    enum ls_column columns[LS_COLUMNS];
    int column_count;
    bool no_headings, painted;
};

void ls_print_table(const struct ls_table *form, const struct ls_row *rows, size_t count);
void ls_print_json(const struct ls_row *rows, size_t count);

#endif
