#include "inherited-lock-limit.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uthash.h>

#include "clock.h"
#include "thread.h"
#include "units.h"

/* The processes with a limit that rtf has raised. sweep_all leaves these processes out. */
struct raised {
    pid_t process;
    uint64_t started_by;
    UT_hash_handle hh;
};
static struct raised *raised;

static struct raised *raised_find(pid_t process)
{
    struct raised *found;
    HASH_FIND_INT(raised, &process, found);
    return found;
}

static void raised_forget(struct raised *one)
{
    if (one == NULL)
        return;
    HASH_DEL(raised, one);
    free(one);
}

static void raised_note(const struct limited *limited)
{
    raised_forget(raised_find(limited->process));
    if (limited->limit.is == 0)
        return;
    struct raised *one = calloc(1, sizeof *one);
    if (one == NULL)
        abort();
    one->process = limited->process;
    one->started_by = limited->started_by;
    HASH_ADD_INT(raised, process, one);
}

static bool is_raised(pid_t process)
{
    const struct raised *one = raised_find(process);
    return one != NULL && thread_is(process, one->started_by);
}

/* Opens limited->process if the process started at the time limited->started_by or earlier. Returns
 * a pidfd, which is readable once the whole process has ended: the first thread may have ended
 * before. -1: errno says why; ESRCH: another process has the id. */
static int open_process(const struct limited *limited, struct identity *identity)
{
    const int pidfd = (int)syscall(SYS_pidfd_open, limited->process, 0);
    if (pidfd < 0)
        return -1;
    const bool seen = thread_identify(limited->process, identity);
    const int error = seen ? ESRCH : errno;
    if (seen && identity->start <= limited->started_by && !thread_has_ended(pidfd))
        return pidfd;
    close(pidfd);
    errno = error;
    return -1;
}

/* Changes the limit. If the user changes it at the same time, computes the next limit again, from
 * the limit that the user has set. */
static bool change(pid_t process, const struct lock_limit *limit, struct rlimit *before)
{
    enum { TRIES = 8 };
    struct rlimit now;
    bool good = prlimit(process, RLIMIT_MEMLOCK, NULL, &now) == 0;
    *before = now;
    for (int tries = 0; good && tries < TRIES; tries++) {
        const struct rlimit next = lock_limit_next(limit, &now);
        struct rlimit met;
        good = prlimit(process, RLIMIT_MEMLOCK, &next, &met) == 0;
        if (met.rlim_cur == now.rlim_cur && met.rlim_max == now.rlim_max)
            break;
        now = met;
    }
    return good;
}

static enum apply_result change_of(const struct limited *limited, struct identity *identity,
                                   char *reason)
{
    struct rlimit before;
    const int pidfd = open_process(limited, identity);
    if (pidfd < 0)
        return errno == ESRCH ? APPLY_GONE
                              : apply_refuse(reason, "the state of process %d cannot be read: %s",
                                             (int)limited->process, strerror(errno));
    enum apply_result done = APPLY_DONE;
    if (limited->limit.is > limited->limit.was && !thread_is_of(identity, limited->owner))
        done = apply_refuse(reason, "process %d runs as uid %u, the spec belongs to uid %u",
                            (int)limited->process, identity->real_uid, limited->owner);
    else if (!change(limited->process, &limited->limit, &before))
        done = errno == ESRCH
                   ? APPLY_GONE
                   : apply_refuse(reason, "lock_memory: the limit of process %d cannot be set: %s",
                                  (int)limited->process, strerror(errno));
    else if (thread_has_ended(pidfd)) {
        /* another process may have the id by now: gives that process its limit back */
        (void)prlimit(limited->process, RLIMIT_MEMLOCK, &before, NULL);
        done = APPLY_GONE;
    }
    close(pidfd);
    return done;
}

/* ---- processes that inherited the limit ---- */

struct sweep {
    const struct limited *limited;
    uid_t owner;
    struct rlimit above, most; /* a limit higher than `above`, up to `most`, was inherited */
    bool clean; /* the round met no process that had inherited the limit, and missed none */
};

/* True: the process is the owner's, began while the limit was raised, and has a limit that only the
 * raised limit allowed. This is also true of a service that root has started for this user
 * meanwhile with such a limit, because nothing distinguishes this service from a descendant. A
 * descendant whose real user is another one is left out: only a program with set-user-ID can have
 * started it (rtf-spec(5)). */
static bool has_inherited(const struct sweep *sweep, pid_t process)
{
    struct rlimit now;
    struct identity identity;
    return prlimit(process, RLIMIT_MEMLOCK, NULL, &now) == 0 &&
           now.rlim_max > sweep->above.rlim_max && now.rlim_max <= sweep->most.rlim_max &&
           process != sweep->limited->process && !is_raised(process) &&
           thread_identify(process, &identity) && identity.real_uid == sweep->owner &&
           identity.start >= sweep->limited->since;
}

/* Lowers the limit of the process if it was inherited. For most processes one call of prlimit(2)
 * shows that the limit was not inherited. */
static void sweep_process(struct sweep *sweep, pid_t process)
{
    struct rlimit before;
    if (!has_inherited(sweep, process))
        return;
    const int pidfd = (int)syscall(SYS_pidfd_open, process, 0);
    if (pidfd < 0)
        return;
    if (has_inherited(sweep, process)) {
        sweep->clean = false;
        if (change(process, &sweep->limited->limit, &before) && thread_has_ended(pidfd))
            (void)prlimit(process, RLIMIT_MEMLOCK, &before, NULL);
    }
    close(pidfd);
}

/* Returns the process id that the kernel has given last; -1: unknown. */
static int last_id(void)
{
    int id;
    FILE *file = fopen("/proc/loadavg", "re");
    if (file == NULL || fscanf(file, "%*s %*s %*s %*s %d", &id) != 1)
        id = -1;
    if (file != NULL)
        (void)fclose(file);
    return id;
}

/* Makes one round: lowers the limit of each process that has inherited it. The kernel lists
 * processes in the order of their ids, and gives each new process a higher id, until the ids wrap
 * around. So a process that is started meanwhile is listed, too, and at the end of a clean round no
 * process of the owner has the limit. If the ids wrap around, the round may miss a process. */
static void sweep_once(struct sweep *sweep)
{
    uint64_t id;
    const struct dirent *entry;
    const int first = last_id();
    DIR *directory = opendir("/proc");
    sweep->clean = true;
    while (directory != NULL && (errno = 0, entry = readdir(directory)) != NULL)
        if (parse_number(entry->d_name, INT32_MAX, &id) && id != 0)
            sweep_process(sweep, (pid_t)id);
    /* errno is set if /proc cannot be read to its end */
    if (errno != 0 || last_id() < first)
        sweep->clean = false;
    if (directory != NULL)
        closedir(directory);
}

/* ns. The longest time of a sweep. The time is bounded, because the helper serves no other user
 * meanwhile. */
static const int64_t sweep_most = INT64_C(200000000);

/* Looks at all processes in rounds until two rounds are clean. If this takes longer than
 * sweep_most, returns a failure, and the broker sends the request again later. */
static enum apply_result sweep_all(const struct limited *limited, uid_t owner, char *reason)
{
    const int64_t until = monotonic_now() + sweep_most;
    const struct lock_limit *limit = &limited->limit, none = {.former = limit->former},
                            before = {.former = limit->former, .is = limit->was},
                            after = {.former = limit->former, .is = limit->is};
    struct sweep sweep = {.limited = limited,
                          .owner = owner,
                          .above = lock_limit_next(&after, &none.former),
                          .most = lock_limit_next(&before, &none.former)};
    for (int clean = 0; monotonic_now() < until;) {
        sweep_once(&sweep);
        clean = sweep.clean ? clean + 1 : 0;
        if (clean == 2)
            return APPLY_DONE;
    }
    return apply_refuse(
        reason,
        "processes that inherited the limit of locked memory of process %d start faster than rtf can find them",
        (int)limited->process);
}

enum apply_result lock_memory_limit(const struct limited *limited, char reason[static APPLY_REASON])
{
    struct identity identity = {0};
    const enum apply_result done = change_of(limited, &identity, reason);
    const bool knows_owner = limited->has_owner || done == APPLY_DONE;
    const uid_t owner = limited->has_owner ? limited->owner : identity.real_uid;
    if (done != APPLY_REFUSED)
        raised_note(limited);
    if (done == APPLY_REFUSED || limited->limit.is >= limited->limit.was || !knows_owner ||
        owner == 0)
        return done;
    const enum apply_result swept = sweep_all(limited, owner, reason);
    return swept == APPLY_DONE ? done : swept;
}
