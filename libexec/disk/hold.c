#include "hold.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "raised.h"

struct held {
    struct member member;
    bool is_said; /* the broker has named the thread since this process started */
    UT_hash_handle hh;
};
static struct held *all;

static bool hold(char reason[static SERVE_REASON])
{
    return way_hold(".priorities", reason);
}

static struct held *find(pid_t tid)
{
    struct held *held;
    HASH_FIND(hh, all, &tid, sizeof tid, held);
    return held;
}

static bool is_held(pid_t tid)
{
    return find(tid) != NULL;
}

static struct held *remember(const struct member *member)
{
    struct held *held = find(member->tid);
    if (held == NULL) {
        held = calloc(1, sizeof *held);
        if (held == NULL)
            abort();
        held->member.tid = member->tid;
        HASH_ADD(hh, all, member.tid, sizeof held->member.tid, held);
    }
    held->member = *member;
    return held;
}

static void forget(struct held *held)
{
    HASH_DEL(all, held);
    free(held);
}

bool hold_know(const char *word)
{
    struct member member = {0};
    int length = 0;
    if (sscanf(word, "%d,%" SCNu64 ",%d%n", &member.tid, &member.started_by, &member.former,
               &length) != 3 ||
        word[length] != '\0' || member.tid <= 0 || member.former < 0)
        return false;
    (void)remember(&member);
    return true;
}

static enum done bind(const struct member *member, char reason[static SERVE_REASON])
{
    if (member->former < 0)
        return refuse(reason, "no former=");
    const enum done done = raised_raise(member, reason);
    if (done == DONE)
        remember(member)->is_said = true;
    return done;
}

/* Lowers the thread, and all raised threads of the same user that inherited the raised priority.
 * All these threads get the former priority of the thread. */
static enum done unbind(const struct member *member, char reason[static SERVE_REASON])
{
    struct held *held = find(member->tid);
    uid_t uid = member->owner;
    if (member->former < 0)
        return refuse(reason, "no former=");
    if (held != NULL && held->member.started_by == member->started_by)
        forget(held);
    const bool good = raised_lower(member, &uid, reason) != REFUSED;
    return (uid == 0 || raised_sweep(uid, member->former, is_held, reason)) && good ? DONE
                                                                                    : REFUSED;
}

static bool let_go(bool all_of_them, char *reason)
{
    struct held *held, *next;
    bool good = true;
    uid_t ignored;
    HASH_ITER (hh, all, held, next) {
        if (held->is_said && !all_of_them)
            continue;
        if (raised_lower(&held->member, &ignored, reason) == REFUSED)
            good = false;
        else
            forget(held);
    }
    return raised_sweep(EVERYBODY, 0, is_held, reason) && good;
}

static bool settle(bool (*keep)(uint16_t class), char reason[static SERVE_REASON])
{
    (void)keep;
    return let_go(false, reason);
}

static bool dissolve(char reason[static SERVE_REASON])
{
    return let_go(true, reason);
}

/* ---- no groups exist ---- */

static bool begin(const char *number, char reason[static SERVE_REASON])
{
    (void)number, (void)reason;
    return true;
}

static void end(const char *number)
{
    (void)number;
}

static bool add(uint16_t class, const char *number, uint64_t rate, uint64_t block, uint64_t share,
                char reason[static SERVE_REASON])
{
    (void)class, (void)number, (void)rate, (void)block, (void)share, (void)reason;
    return true;
}

static bool drop(uint16_t class, char reason[static SERVE_REASON])
{
    (void)class, (void)reason;
    return true;
}

/* Raising threads needs CAP_SYS_NICE, to change other users' threads, and to set the class RT. */
const struct way by_priority = {.hold = hold,
                                .begin = begin,
                                .end = end,
                                .add = add,
                                .drop = drop,
                                .settle = settle,
                                .dissolve = dissolve,
                                .bind = bind,
                                .unbind = unbind,
                                .power = CAP_SYS_NICE,
                                .calls = "ioprio_get ioprio_set"};
