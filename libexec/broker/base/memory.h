/* Memory for what flows through the broker. */
#ifndef RTF_MEMORY_H
#define RTF_MEMORY_H

#include <stddef.h>

/* Zeroed; ends the broker when there is none, for state/ brings it back to here. */
void *allocate(size_t size);

#endif
