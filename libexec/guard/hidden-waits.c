#include "hidden-waits.h"

#include <stdlib.h>
#include <uthash.h>

enum { HOLDERS_MAX = 4096 };

struct holder {
    pid_t tid;
    UT_hash_handle hh;
};
static struct holder *holders;
static bool too_many;

static struct holder *find(pid_t tid)
{
    struct holder *holder;
    HASH_FIND(hh, holders, &tid, sizeof tid, holder);
    return holder;
}

void hidden_wait_note(pid_t holder)
{
    if (find(holder) != NULL)
        return;
    struct holder *one = HASH_COUNT(holders) < HOLDERS_MAX ? malloc(sizeof *one) : NULL;
    too_many |= one == NULL;
    if (one == NULL)
        return;
    one->tid = holder;
    HASH_ADD(hh, holders, tid, sizeof one->tid, one);
}

bool hidden_wait_is_noted(pid_t tid)
{
    return too_many || find(tid) != NULL;
}

void hidden_wait_forget(pid_t tid)
{
    struct holder *holder = find(tid);
    if (holder == NULL)
        return;
    HASH_DEL(holders, holder);
    free(holder);
}

void hidden_waits_lost(void)
{
    too_many = true;
}
