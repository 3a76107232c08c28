#include "hold.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "alone.h"
#include "raised.h"

struct held {
    pid_t tid;
    uint64_t started_by;
    int former;
    bool is_said; /* by the broker, to this process */
    UT_hash_handle hh;
};
static struct held *all;

/* The lock is on what all disks are beneath. */
bool hold_alone(char reason[static SERVE_REASON])
{
    static int disks = -1;
    if (disks < 0)
        disks = open("/sys/block", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return alone_with(disks, reason);
}

static struct held *find(pid_t tid)
{
    struct held *held;
    HASH_FIND_INT(all, &tid, held);
    return held;
}

static bool is_held(pid_t tid)
{
    return find(tid) != NULL;
}

static struct held *add(pid_t tid, uint64_t started_by, int former)
{
    struct held *held = find(tid);
    if (held == NULL) {
        held = calloc(1, sizeof *held);
        if (held == NULL)
            abort();
        held->tid = tid;
        HASH_ADD_INT(all, tid, held);
    }
    held->started_by = started_by;
    held->former = former;
    return held;
}

static void forget(struct held *held)
{
    HASH_DEL(all, held);
    free(held);
}

bool hold_know(const char *word)
{
    int tid, former, length = 0;
    uint64_t started_by;
    if (sscanf(word, "%d,%" SCNu64 ",%d%n", &tid, &started_by, &former, &length) != 3 || word[length] != '\0' || tid <= 0 || former < 0)
        return false;
    (void)add(tid, started_by, former);
    return true;
}

enum done hold_bind(pid_t tid, uint64_t started_by, uid_t owner, int former, char reason[static SERVE_REASON])
{
    const enum done done = raised_raise(tid, started_by, owner, reason);
    if (done == DONE)
        add(tid, started_by, former)->is_said = true;
    return done;
}

/* Those who have it from this one had what it had before, unless it had given them something else. */
enum done hold_unbind(pid_t tid, uint64_t started_by, uid_t owner, int former, char reason[static SERVE_REASON])
{
    struct held *held = find(tid);
    uid_t uid = owner;
    if (held != NULL && held->started_by == started_by)
        forget(held);
    const bool good = raised_lower(tid, started_by, former, &uid, reason) != REFUSED;
    return (uid == 0 || raised_sweep(uid, former, is_held, reason)) && good ? DONE : REFUSED;
}

static bool let_go(bool all_of_them, char *reason)
{
    struct held *held, *next;
    bool good = true;
    uid_t ignored;
    HASH_ITER(hh, all, held, next) {
        if (held->is_said && !all_of_them)
            continue;
        if (raised_lower(held->tid, held->started_by, held->former, &ignored, reason) == REFUSED)
            good = false;
        else
            forget(held);
    }
    return raised_sweep(EVERYBODY, 0, is_held, reason) && good;
}

bool hold_settle(char reason[static SERVE_REASON])
{
    return let_go(false, reason);
}

bool hold_end(char reason[static SERVE_REASON])
{
    return let_go(true, reason);
}
