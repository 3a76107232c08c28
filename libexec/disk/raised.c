#include "raised.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "ioprio.h"
#include "thread.h"
#include "units.h"

enum { ROUNDS_LEAST = 3, ROUNDS = 16 };
/* ns: the longest time of a sweep. A sweep must be short, because rtf-disk runs at a higher
 * priority than all granted threads */
#define SWEEP_MOST INT64_C(100000000)

enum done raised_raise(const struct member *member, char reason[static SERVE_REASON])
{
    struct identity identity;
    enum done done = way_identify(member, true, &identity, reason);
    if (done != DONE)
        return done;
    const int before = ioprio_of(member->tid);
    if (before < 0 || (before != IOPRIO_RAISED && ioprio_give(member->tid, IOPRIO_RAISED) != 0))
        return way_failed(reason, "the thread's I/O priority cannot be set");
    if (thread_is(member->tid, member->started_by))
        return DONE;
    done = way_failed(reason, "the thread's state cannot be read");
    /* gives the former priority back, because the id may belong to another thread by now */
    (void)ioprio_give(member->tid, before);
    return done;
}

enum done raised_lower(const struct member *member, uid_t *uid, char reason[static SERVE_REASON])
{
    struct identity identity;
    const enum done done = way_identify(member, false, &identity, reason);
    if (done != DONE)
        return done;
    *uid = identity.real_uid;
    const int now = ioprio_of(member->tid);
    return now >= 0 && (now != IOPRIO_RAISED || ioprio_give(member->tid, member->former) == 0)
               ? DONE
               : way_failed(reason, "the thread's I/O priority cannot be restored");
}

/* ---- threads that inherited the priority ---- */

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
    sweep->failed |= way_failed(sweep->reason, what) == REFUSED;
}

static void sweep_thread(struct sweep *sweep, pid_t tid)
{
    struct identity identity;
    if (ioprio_of(tid) != IOPRIO_RAISED || sweep->is_held(tid))
        return;
    if (!thread_identify(tid, &identity))
        fail(sweep, "a thread's state cannot be read");
    else if (identity.ended || identity.kernel || identity.real_uid == 0 ||
             (sweep->uid != EVERYBODY && sweep->uid != identity.real_uid))
        return;
    else if (ioprio_give(tid, sweep->ioprio) == 0)
        sweep->found++;
    else
        fail(sweep, "a thread's I/O priority cannot be restored");
}

static void each_in(const char *path, void (*visit)(struct sweep *sweep, pid_t id),
                    struct sweep *sweep)
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

/* True if no thread of the user has the class RT. For most users this test saves the sweep, because
 * one system call returns the best priority of all threads of the user. */
static bool is_sure_to_find_none(uid_t uid)
{
    const int best = uid == EVERYBODY ? -1 : (int)syscall(SYS_ioprio_get, IOPRIO_WHO_USER, uid);
    return best >= 0 && IOPRIO_PRIO_CLASS(best) != IOPRIO_CLASS_RT;
}

/* Lowers threads in rounds over all threads, until two rounds in a row find no thread to lower.
 * Threads started during a round are found in the next round. One round is not enough: when the
 * kernel's ids wrap around, a new thread may get an id that the round has already passed. */
bool raised_sweep(uid_t uid, int ioprio, bool (*is_held)(pid_t tid),
                  char reason[static SERVE_REASON])
{
    const int64_t until = monotonic_now() + SWEEP_MOST;
    bool found_none = false;
    for (int i = 0; i < ROUNDS && (i < ROUNDS_LEAST || monotonic_now() < until); i++) {
        struct sweep sweep = {.uid = uid, .ioprio = ioprio, .is_held = is_held, .reason = reason};
        if (is_sure_to_find_none(uid))
            return true;
        each_in("/proc", sweep_process, &sweep);
        if (sweep.found == 0 && found_none)
            return !sweep.failed;
        found_none = sweep.found == 0;
    }
    snprintf(
        reason, SERVE_REASON,
        "threads that inherited the I/O priority of an attached thread fork faster than rtf can find them, and keep this priority");
    errno = ETIMEDOUT;
    return false;
}
