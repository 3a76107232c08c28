/* state/current/books.json: all that the broker has in mind, written when somebody with the right to signal it asks (SIGUSR1), for
 * rtf-invariants(8) to compare with files and kernel. It is never read back. */
#ifndef RTF_BOOKS_H
#define RTF_BOOKS_H

#include <stdbool.h>

/* False with errno. */
bool books_write(void);

#endif
