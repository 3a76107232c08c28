#include "memory.h"

#include <stdlib.h>

void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL)
        abort(); /* the next broker continues from the journal */
    return memory;
}
