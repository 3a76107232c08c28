/* Memory that the broker cannot do without. */
#ifndef RTF_MEMORY_H
#define RTF_MEMORY_H

#include <stddef.h>

/* Returns zeroed memory. Without memory the broker ends: the next broker continues from the
 * journal. */
void *allocate(size_t size);

#endif
