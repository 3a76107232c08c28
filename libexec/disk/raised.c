#include "raised.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "ioprio.h"
#include "thread.h"
#include "units.h"

enum { ROUNDS = 16 };
#define SWEEP_MOST INT64_C(1000000000) /* ns: others wait meanwhile */

static enum done not_had(char *reason, const char *what)
{
    if (errno == ESRCH || errno == ENOENT)
        return GONE;
    snprintf(reason, SERVE_REASON, "%s: %s", what, strerror(errno));
    return REFUSED;
}

/* Who it is now, if it is that one still. */
static enum done identify(pid_t tid, uint64_t started_by, struct identity *identity, char *reason)
{
    if (!thread_identify(tid, identity))
        return not_had(reason, "the thread cannot be looked at");
    return identity->ended || identity->start > started_by ? GONE : DONE;
}

enum done raised_raise(pid_t tid, uint64_t started_by, uid_t owner, char reason[static SERVE_REASON])
{
    struct identity identity;
    const enum done done = identify(tid, started_by, &identity, reason);
    if (done != DONE)
        return done;
    if (identity.kernel || !thread_is_of(&identity, owner))
        return refuse(reason, "the thread is not its user's own");
    const int before = ioprio_of(tid);
    if (before < 0 || (before != IOPRIO_RAISED && ioprio_give(tid, IOPRIO_RAISED) != 0))
        return not_had(reason, "its I/O priority cannot be set");
    if (thread_is(tid, started_by))
        return DONE;
    (void)ioprio_give(tid, before); /* the id may be somebody else's by now */
    return GONE;
}

enum done raised_lower(pid_t tid, uint64_t started_by, int former, uid_t *uid, char reason[static SERVE_REASON])
{
    struct identity identity;
    const enum done done = identify(tid, started_by, &identity, reason);
    if (done != DONE)
        return done;
    *uid = identity.real_uid;
    const int now = ioprio_of(tid);
    return now >= 0 && (now != IOPRIO_RAISED || ioprio_give(tid, former) == 0) ? DONE : not_had(reason, "its I/O priority cannot be put back");
}

/* ---- those that nobody has raised ---- */

struct sweep {
    uid_t uid;
    int ioprio;
    bool (*is_held)(pid_t tid);
    char *reason;
    unsigned found;
    bool failed;
};

static void fail(struct sweep *sweep, const char *what)
{
    sweep->failed |= not_had(sweep->reason, what) == REFUSED;
}

static void sweep_thread(struct sweep *sweep, pid_t tid)
{
    struct identity identity;
    if (ioprio_of(tid) != IOPRIO_RAISED || sweep->is_held(tid))
        return;
    if (!thread_identify(tid, &identity))
        fail(sweep, "a thread cannot be looked at");
    else if (identity.ended || identity.kernel || identity.real_uid == 0 || (sweep->uid != EVERYBODY && sweep->uid != identity.real_uid))
        return;
    else if (ioprio_give(tid, sweep->ioprio) == 0)
        sweep->found++;
    else
        fail(sweep, "a thread's I/O priority cannot be put back");
}

static void each_in(const char *path, void (*visit)(struct sweep *sweep, pid_t id), struct sweep *sweep)
{
    uint64_t id;
    const struct dirent *entry;
    DIR *directory = opendir(path);
    if (directory == NULL) {
        fail(sweep, path);
        return;
    }
    while (errno = 0, (entry = readdir(directory)) != NULL)
        if (parse_number(entry->d_name, INT32_MAX, &id) && id > 0)
            visit(sweep, (pid_t)id);
    if (errno != 0)
        fail(sweep, path);
    closedir(directory);
}

static void sweep_process(struct sweep *sweep, pid_t process)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    each_in(path, sweep_thread, sweep);
}

/* The best that any thread of his has: of most users nobody has to be looked for. */
static bool is_sure_to_find_none(uid_t uid)
{
    const int best = uid == EVERYBODY ? -1 : (int)syscall(SYS_ioprio_get, IOPRIO_WHO_USER, uid);
    return best >= 0 && IOPRIO_PRIO_CLASS(best) != IOPRIO_CLASS_RT;
}

/* Those that were started meanwhile come with the next round. */
bool raised_sweep(uid_t uid, int ioprio, bool (*is_held)(pid_t tid), char reason[static SERVE_REASON])
{
    const int64_t until = monotonic_now() + SWEEP_MOST;
    for (int i = 0; i < ROUNDS && (i == 0 || monotonic_now() < until); i++) {
        struct sweep sweep = {.uid = uid, .ioprio = ioprio, .is_held = is_held, .reason = reason};
        if (is_sure_to_find_none(uid))
            return true;
        each_in("/proc", sweep_process, &sweep);
        if (sweep.found == 0)
            return !sweep.failed;
    }
    snprintf(reason, SERVE_REASON, "threads with the I/O priority of one that was attached multiply faster than they can be found, and keep it");
    errno = ETIMEDOUT;
    return false;
}
