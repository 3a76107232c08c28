#include "process-attach.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "paragraph.h"
#include "process-budget.h"
#include "run-directory.h"
#include "thread.h"

/* PASSES: how often the members are listed at most, because they may start threads meanwhile. A
 * fork storm ends when no member is real-time, because a thread that an ordinary thread starts is
 * ordinary. PASSES_OF_CPUS: how many of the passes also restore the CPUs of ordinary members, which
 * can choose other CPUs without end: the helper serves no other user meanwhile. */
enum {
    PASSES = 200,
    PASSES_OF_CPUS = 4,
    RECORD_PATH = sizeof RUN_DIRECTORY + BUDGET_GROUP_BYTES + 16
};

static struct {
    int hierarchy;
    int error; /* errno: why the hierarchy is not open */
} own = {.hierarchy = -1, .error = ENOSYS};

/* ---- the record ---- */

static void record_path(const char *name, char path[static RECORD_PATH])
{
    snprintf(path, RECORD_PATH, RUN_DIRECTORY "/%s", name);
}

/* Records the attributes of a thread, but not of a thread that is real-time with reset-on-fork: it
 * may have a reservation of its own. That reservation may end first, and then restored attributes
 * would make the thread real-time without a reservation. */
static void add_thread(struct paragraph_output *output, pid_t tid)
{
    struct identity identity;
    struct attributes former;
    if (!thread_look(tid, &identity) || !thread_attributes(tid, &former))
        return; /* the thread has ended */
    if (policy_is_real_time(former.policy) && former.reset_on_fork)
        return;
    paragraph_add_number(output, "tid", (uint64_t)tid);
    paragraph_add_number(output, "start", identity.start);
    attributes_add(output, "", &former);
    paragraph_close(output);
}

/* Writes the record under another name first, so that a killed helper leaves a whole record or
 * none. */
static bool write_record(const char *path, const struct paragraph_output *output)
{
    char fresh[RECORD_PATH + 8];
    snprintf(fresh, sizeof fresh, "%s.new", path);
    const int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool good = fd >= 0 && write(fd, output->data, output->length) == (ssize_t)output->length;
    if (fd >= 0)
        close(fd);
    return good && rename(fresh, path) == 0;
}

/* True: a record of the process exists, so an earlier attachment has moved the process into its
 * group. The process may have started threads since. */
static bool is_recorded(const char *name)
{
    char path[RECORD_PATH];
    record_path(name, path);
    return access(path, F_OK) == 0;
}

/* Records the members before any of them is changed. A thread that is started later needs no
 * record. It has no former attributes of its own, because it begins with the attributes of the
 * thread that starts it. False: an error that errno names; E2BIG: the process has too many
 * threads. */
static bool record_members(const char *name, int group)
{
    pid_t *tids = NULL;
    struct paragraph_output output = {0};
    char path[RECORD_PATH];
    record_path(name, path);
    if (is_recorded(name))
        return true;
    const ssize_t count = budget_group_members(group, &tids);
    for (ssize_t i = 0; i < count && count <= PROCESS_MEMBERS_MAX; i++)
        add_thread(&output, tids[i]);
    const bool few = count <= PROCESS_MEMBERS_MAX;
    const bool good = count > 0 && few && write_record(path, &output);
    paragraph_output_free(&output);
    free(tids);
    if (!few)
        errno = E2BIG;
    return good;
}

struct former {
    pid_t tid;
    uint64_t start;
    struct attributes attributes;
};

static bool take_former(const struct paragraph *said, struct former *former)
{
    uint64_t tid;
    const bool good = paragraph_get_number(said, "tid", INT32_MAX, &tid) == 1 &&
                      paragraph_get_number(said, "start", UINT64_MAX, &former->start) == 1 &&
                      attributes_get(said, "", &former->attributes);
    former->tid = (pid_t)tid;
    return good;
}

/* Reads the record of the former attributes of the threads. Returns an array of *count, which the
 * caller frees; NULL: no record. */
static struct former *read_record(const char *name, int *count)
{
    static struct paragraph_input input;
    struct paragraph said;
    struct former *all = NULL, one;
    const char *why;
    char path[RECORD_PATH];
    int taken;
    record_path(name, path);
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    input = (struct paragraph_input){0};
    *count = 0;
    while (fd >= 0 && ((taken = paragraph_take(&input, &said, &why)) == 1 ||
                       (taken == 0 && paragraph_fill(&input, fd) > 0))) {
        if (taken != 1 || !take_former(&said, &one))
            continue;
        all = realloc(all, (size_t)(*count + 1) * sizeof *all);
        if (all == NULL)
            abort();
        all[(*count)++] = one;
    }
    if (fd >= 0)
        close(fd);
    return all;
}

static void remove_record(const char *name)
{
    char path[RECORD_PATH];
    record_path(name, path);
    (void)unlink(path);
}

/* ---- into the group ---- */

int process_attach_open(bool wanted)
{
    if (!wanted)
        return -1;
    own.hierarchy = budget_hierarchy_got();
    own.error = errno;
    if (own.hierarchy >= 0)
        budget_groups_sweep(own.hierarchy, remove_record);
    return own.hierarchy;
}

static int refuse(enum apply_result *done, char *reason, const char *what)
{
    const int error = errno;
    *done = error == ESRCH
                ? APPLY_GONE
                : apply_refuse(
                      reason,
                      "the runtime of a process cannot be enforced, because %s cannot be used: %s",
                      what, strerror(error));
    return -1;
}

/* True: the process has few enough threads. Call this before the process is moved into its group,
 * because the kernel takes long to move many threads. */
static bool has_few_threads(pid_t process)
{
    char path[48], line[256];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL &&
           sscanf(line, "Threads: %d", &count) != 1)
        ;
    if (file != NULL)
        (void)fclose(file);
    return count <= PROCESS_MEMBERS_MAX;
}

static int refuse_many(enum apply_result *done, char *reason)
{
    *done = apply_refuse(reason, "the process has more than %d threads", PROCESS_MEMBERS_MAX);
    return -1;
}

int process_attach(const struct target *target, const struct process_budget *budget,
                   enum apply_result *done, char reason[static APPLY_REASON])
{
    char name[BUDGET_GROUP_BYTES];
    int counter = -1;
    *done = APPLY_DONE;
    errno = own.error;
    if (own.hierarchy < 0)
        return refuse(done, reason, "the perf_event hierarchy of cgroup version 1");
    if (!thread_is(target->tid, target->started_by))
        return refuse(done, reason, "/proc");
    if (!budget_hierarchy_is_roots(own.hierarchy)) {
        *done = apply_refuse(reason,
                             "the runtime of a process cannot be enforced: a user has a group in "
                             "the perf_event hierarchy of cgroup version 1, and could move threads "
                             "there");
        return -1;
    }
    budget_groups_sweep(own.hierarchy, remove_record);
    budget_group_name(target->tid, target->started_by, name);
    if (!is_recorded(name) && !has_few_threads(target->tid))
        return refuse_many(done, reason);
    const int group = budget_group_make(own.hierarchy, name, target->tid);
    if (group < 0)
        return refuse(done, reason, "its cgroup");
    const bool recorded = record_members(name, group);
    if (!recorded)
        (void)(errno == E2BIG ? refuse_many(done, reason) : refuse(done, reason, RUN_DIRECTORY));
    /* Checks the thread after the move, because the id may have been another process's. */
    errno = ESRCH;
    const bool is_it = target->pidfd < 0 ? thread_is(target->tid, target->started_by)
                                         : !thread_has_ended(target->pidfd);
    const bool is_bound = is_it && recorded && budget_group_bound(group, budget, &counter);
    const int error = errno;
    close(group);
    errno = error;
    if (!is_bound && recorded)
        (void)refuse(done, reason, "a perf event of its cgroup");
    if (!recorded)
        (void)budget_group_remove(own.hierarchy, name);
    return counter;
}

/* ---- out of the group ---- */

static const struct attributes *former_of(const struct former *all, int count, pid_t tid,
                                          uint64_t start, const struct attributes *first)
{
    for (int i = 0; i < count; i++)
        if (all[i].tid == tid && all[i].start == start)
            return &all[i].attributes;
    return first;
}

static bool is_as(const struct attributes *one, const struct attributes *other)
{
    return one->policy == other->policy && CPU_EQUAL(&one->cpus, &other->cpus) &&
           one->priority == other->priority;
}

/* Gives the thread its recorded former attributes, except the nice value. Does not change a thread
 * with SCHED_DEADLINE, because such a thread has a reservation of its own. cpus = false: does not
 * change an ordinary thread either, so it keeps its CPUs. True: the thread was changed. */
static bool restore_thread(pid_t tid, const struct former *all, int count, pid_t first_tid,
                           const struct attributes *first, bool cpus)
{
    char ignored[APPLY_REASON];
    struct identity identity;
    struct attributes now, former;
    const int policy = sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;
    if (!cpus && policy != SCHED_FIFO && policy != SCHED_RR)
        return false;
    if (!thread_look(tid, &identity) || identity.ended || !thread_attributes(tid, &now))
        return false;
    if (now.policy == POLICY_DEADLINE)
        return false;
    former = tid == first_tid ? *first : *former_of(all, count, tid, identity.start, first);
    if (is_as(&now, &former))
        return false;
    former.nice = now.nice;
    return scheduling_restore(&(struct target){tid, identity.start, -1}, &former,
                              &(struct placement){0}, ignored) == APPLY_DONE;
}

void process_restore(const struct target *target, const struct attributes *first, bool with_first)
{
    char name[BUDGET_GROUP_BYTES];
    int count = 0;
    budget_group_name(target->tid, target->started_by, name);
    const int group = own.hierarchy < 0 ? -1 : budget_group_open(own.hierarchy, name);
    struct former *all = read_record(name, &count);
    bool changed = group >= 0;
    for (int pass = 0; changed && pass < PASSES; pass++) {
        pid_t *tids;
        const ssize_t members = budget_group_members(group, &tids);
        const bool cpus = pass < PASSES_OF_CPUS && members <= PROCESS_MEMBERS_MAX;
        changed = false;
        for (ssize_t i = 0; i < members; i++)
            if (with_first || tids[i] != target->tid)
                changed |= restore_thread(tids[i], all, count, target->tid, first, cpus);
        free(tids);
    }
    free(all);
    if (group >= 0)
        close(group);
}

void process_remove(const struct target *target)
{
    char name[BUDGET_GROUP_BYTES];
    if (own.hierarchy < 0)
        return;
    budget_group_name(target->tid, target->started_by, name);
    if (budget_group_remove(own.hierarchy, name) || errno == ENOENT)
        remove_record(name);
}
