/* What plugins for counted resources have promised, as one amount a task. */
#ifndef RTF_AMOUNTS_H
#define RTF_AMOUNTS_H

#include <stdint.h>

/* Of `capacity`, what is left beside all tasks but this one. */
uint64_t amounts_left(uint64_t capacity, uint64_t task);

/* The task has this from now on, instead of what it had; or nothing. */
void amounts_set(uint64_t task, uint64_t is);
void amounts_clear(uint64_t task);

#endif
