#include "priority.h"

#include "units.h"

/* Maps a priority to the range up to `most`. The lower half of the allowed priorities stays as it
 * is. The upper half has room for all higher priorities: they move closer together, and keep their
 * order as far as they stay different. */
int priority_within(int priority, int most)
{
    const int kept = most / 2, above = PRIORITY_MAX - kept;
    if (priority <= kept)
        return priority;
    return kept + ((priority - kept) * (most - kept) + above - 1) / above;
}
