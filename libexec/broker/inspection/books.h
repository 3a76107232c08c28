/* state/current/books.json: all that the broker has in memory. The broker writes it on SIGUSR1, for
 * rtf-invariants(8), which compares it with files and kernel. No broker reads it. */
#ifndef RTF_BOOKS_H
#define RTF_BOOKS_H

#include <stdbool.h>

/* False with errno. */
bool books_write(void);

#endif
