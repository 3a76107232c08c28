#include "amounts.h"

#include <stdlib.h>
#define uthash_fatal(message) plugin_out_of_memory()
#include <uthash.h>

struct amount {
    uint64_t task, is;
    UT_hash_handle hh;
};

static struct amount *amounts;
static uint64_t promised;

static struct amount *find(uint64_t task)
{
    struct amount *amount;
    HASH_FIND(hh, amounts, &task, sizeof task, amount);
    return amount;
}

uint64_t amounts_left(uint64_t capacity, uint64_t task)
{
    const struct amount *own = find(task);
    const uint64_t others = promised - (own == NULL ? 0 : own->is);
    return others < capacity ? capacity - others : 0;
}

static void clear(uint64_t task)
{
    struct amount *gone = find(task);
    if (gone == NULL)
        return;
    promised -= gone->is;
    HASH_DEL(amounts, gone);
    free(gone);
}

void amounts_set(uint64_t task, uint64_t is)
{
    clear(task);
    struct amount *amount = plugin_allocate(1, sizeof *amount);
    amount->task = task;
    amount->is = is;
    HASH_ADD(hh, amounts, task, sizeof amount->task, amount);
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
