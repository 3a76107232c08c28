#include "bursts.h"

#include <stdlib.h>
#include <string.h>

/* A thread that sleeps 20,000 times a second reaches this number in ten seconds. */
enum { BURSTS_MAX = 200000, FIRST_ROOM = 256 };

static bool make_room(struct bursts *bursts)
{
    if (bursts->count < bursts->room)
        return true;
    const size_t room = bursts->room == 0 ? FIRST_ROOM : 2 * bursts->room;
    struct burst *list =
        bursts->count >= BURSTS_MAX ? NULL : reallocarray(bursts->list, room, sizeof *list);
    if (list == NULL)
        return false;
    bursts->list = list;
    bursts->room = room;
    return true;
}

void bursts_add(struct bursts *bursts, const struct burst *burst)
{
    if (make_room(bursts))
        bursts->list[bursts->count++] = *burst;
    else
        bursts->overflowed = true;
}

void bursts_in(struct bursts *bursts, int64_t time)
{
    bursts->runs = true;
    bursts->since = time;
    if (bursts->is_open || !bursts->has_slept)
        return;
    bursts->is_open = true;
    bursts->open = (struct burst){.begin = time};
}

void bursts_out(struct bursts *bursts, int64_t time, bool sleeps)
{
    if (bursts->runs && bursts->is_open)
        bursts->open.ran += time - bursts->since;
    bursts->runs = false;
    if (!sleeps)
        return;
    bursts->has_slept = true;
    if (!bursts->is_open)
        return;
    bursts->open.end = time;
    bursts_add(bursts, &bursts->open);
    bursts->is_open = false;
}

void bursts_lose(struct bursts *bursts)
{
    bursts->has_slept = bursts->is_open = bursts->runs = false;
}

void bursts_correct(struct bursts *bursts, size_t first, int64_t ran)
{
    for (size_t i = first; i < bursts->count; i++) {
        const int64_t part = ran / (int64_t)(bursts->count - i);
        struct burst *burst = &bursts->list[i];
        burst->ran = burst->ran + part < 0 ? 0 : burst->ran + part;
        ran -= part;
    }
}

void bursts_forget(struct bursts *bursts, size_t count)
{
    if (count > bursts->count)
        count = bursts->count;
    bursts->count -= count;
    memmove(bursts->list, bursts->list + count, bursts->count * sizeof *bursts->list);
}

void bursts_free(struct bursts *bursts)
{
    free(bursts->list);
    *bursts = (struct bursts){0};
}
