/* The books, state/current/books.json: the reservations, grants and sums that the broker has in
 * memory. The broker writes the file on SIGUSR1, for rtf-invariants(8), which compares it with the
 * users' files and the kernel. No broker reads the file. */
#ifndef RTF_BOOKS_H
#define RTF_BOOKS_H

#include <stdbool.h>

/* Writes the file. False: errno says why. */
bool books_write(void);

#endif
