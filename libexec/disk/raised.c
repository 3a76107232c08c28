#include "raised.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ioprio.h"
#include "thread.h"
#include "units.h"

enum { ROUNDS = 16 };

static enum done not_had(char *reason, const char *what)
{
    if (errno == ESRCH || errno == ENOENT)
        return GONE;
    snprintf(reason, SERVE_REASON, "%s: %s", what, strerror(errno));
    return REFUSED;
}

enum done raised_raise(pid_t tid, uint64_t started_by, uid_t owner, uid_t *uid, char reason[static SERVE_REASON])
{
    struct identity identity;
    if (!thread_identify(tid, &identity))
        return not_had(reason, "the thread cannot be looked at");
    if (identity.ended || identity.start > started_by)
        return GONE;
    if (identity.kernel || !thread_is_of(&identity, owner))
        return refuse(reason, "the thread is not its user's own");
    *uid = identity.real_uid;
    const int before = ioprio_of(tid);
    if (before < 0 || (before != IOPRIO_RAISED && ioprio_give(tid, IOPRIO_RAISED) != 0))
        return not_had(reason, "its I/O priority cannot be set");
    if (thread_is(tid, started_by))
        return DONE;
    (void)ioprio_give(tid, before); /* the id may be somebody else's by now */
    return GONE;
}

void raised_lower(pid_t tid, uint64_t started_by, int former)
{
    if (thread_is(tid, started_by) && ioprio_of(tid) == IOPRIO_RAISED)
        (void)ioprio_give(tid, former);
}

/* ---- those that nobody has raised ---- */

struct sweep {
    uid_t uid;
    int ioprio;
    bool (*is_held)(pid_t tid);
    unsigned found;
};

static void sweep_thread(struct sweep *sweep, pid_t tid)
{
    struct identity identity;
    if (ioprio_of(tid) != IOPRIO_RAISED || sweep->is_held(tid) || !thread_identify(tid, &identity) || identity.ended || identity.kernel)
        return;
    if (identity.real_uid != 0 && (sweep->uid == EVERYBODY || sweep->uid == identity.real_uid))
        sweep->found += ioprio_give(tid, sweep->ioprio) == 0;
}

static void each_in(const char *path, void (*visit)(struct sweep *sweep, pid_t id), struct sweep *sweep)
{
    uint64_t id;
    DIR *directory = opendir(path);
    if (directory == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (parse_number(entry->d_name, INT32_MAX, &id) && id > 0)
            visit(sweep, (pid_t)id);
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
bool raised_sweep(uid_t uid, int ioprio, bool (*is_held)(pid_t tid))
{
    for (int i = 0; i < ROUNDS; i++) {
        struct sweep sweep = {.uid = uid, .ioprio = ioprio, .is_held = is_held};
        if (is_sure_to_find_none(uid))
            return true;
        each_in("/proc", sweep_process, &sweep);
        if (sweep.found == 0)
            return true;
    }
    return false;
}
