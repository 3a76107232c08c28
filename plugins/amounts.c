#include "amounts.h"

#include <stdlib.h>

struct amount {
    struct amount *next;
    uint64_t task, is;
};

static struct amount *amounts;
static uint64_t promised;

/* Where the task is linked, or would be. */
static struct amount **place_of(uint64_t task)
{
    struct amount **place = &amounts;
    while (*place != NULL && (*place)->task != task)
        place = &(*place)->next;
    return place;
}

uint64_t amounts_left(uint64_t capacity, uint64_t task)
{
    const struct amount *own = *place_of(task);
    const uint64_t others = promised - (own == NULL ? 0 : own->is);
    return others < capacity ? capacity - others : 0;
}

static void clear(uint64_t task)
{
    struct amount **place = place_of(task), *gone = *place;
    if (gone == NULL)
        return;
    promised -= gone->is;
    *place = gone->next;
    free(gone);
}

void amounts_set(uint64_t task, uint64_t is)
{
    clear(task);
    struct amount *amount = plugin_allocate(1, sizeof *amount);
    *amount = (struct amount){amounts, task, is};
    amounts = amount;
    promised += is;
}

const char *amounts_release(const struct request *request, struct paragraph_output *out)
{
    (void)out;
    clear(request->task);
    return NULL;
}

const char *amounts_load(const struct request *request)
{
    (void)request;
    return NULL;
}

const char *amounts_take_resource(const char *value)
{
    (void)value;
    return NULL;
}
