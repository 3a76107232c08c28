/* Allocates memory without which the broker cannot go on. */
#ifndef RTF_MEMORY_H
#define RTF_MEMORY_H

#include <stddef.h>

/* Returns zeroed memory. If no memory is left, the broker ends, and the next broker continues from
 * the journal. */
void *allocate(size_t size);

#endif
