/* Prints the results of rtf-usage(1): a table or a JSON object at the end, and events in between. */
#ifndef RTF_USAGE_PRINT_H
#define RTF_USAGE_PRINT_H

#include "usage-threads.h"

void usage_print_table(struct usage *threads, size_t count);
void usage_print_json(struct usage *threads, size_t count);

/* Prints a line if something has happened since the last line: a missed deadline, an overrun, or a
 * period whose whole runtime was used. A reservation gets at most one line a second. is_last: the
 * line is printed at once, because no other line follows. */
void usage_print_event(struct usage *usage, bool is_last);

#endif
