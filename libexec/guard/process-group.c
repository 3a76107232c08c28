#include "process-group.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cgroup.h"
#include "clock.h"
#include "process-budget.h"
#include "schedattr.h"
#include "suspension.h"
#include "thread-rank.h"

enum { PASSES = 1000 };
static const int64_t elsewhere = INT64_C(1000000); /* ns that members may use on other CPUs */

static int hierarchy = -1;

struct event {
    int fd;
    void *page;
};

struct process_group {
    pid_t process;
    char name[BUDGET_GROUP_BYTES];
    uid_t owner;
    int directory;
    int64_t size; /* the number of members when they were last listed */
    /* owned by this struct: the members at known_at (ns), in ascending order */
    pid_t *known;
    ssize_t known_count;
    int64_t known_at;
    /* owned by this struct: the members that process_group_lower has lowered from this priority */
    pid_t *lowered;
    ssize_t lowered_count;
    int lowered_from; /* 1 to 99 */
    bool has_new;     /* process_group_resume has found members that are not in `known` */
    struct attributes granted;
    struct event starts, *counters; /* counters: the members' CPU time on the other CPUs */
    int count;
};

int process_groups_open(void)
{
    hierarchy = budget_hierarchy_got();
    return hierarchy;
}

/* ---- events ---- */

/* Maps the event read-only: in a writable ring the kernel drops records that nobody reads, and a
 * dropped record wakes nobody. */
static struct event mapped(int fd)
{
    struct event event = {.fd = fd, .page = MAP_FAILED};
    if (fd >= 0)
        event.page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) * 2, PROT_READ, MAP_SHARED, fd, 0);
    return event;
}

static bool is_good(const struct event *event)
{
    return event->fd >= 0 && event->page != MAP_FAILED;
}

static void close_event(struct event *event)
{
    if (event->page != MAP_FAILED)
        (void)munmap(event->page, (size_t)sysconf(_SC_PAGESIZE) * 2);
    if (event->fd >= 0)
        close(event->fd);
}

static int own_cpu(const struct attributes *granted)
{
    int cpu = 0;
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET((size_t)cpu, &granted->cpus))
        cpu++;
    return cpu;
}

/* Opens a counter on each CPU except the first thread's CPU. Opens on the first thread's CPU the
 * event that records started threads. The first thread runs only on this CPU, so the event records
 * all its forks. */
static bool open_events(struct process_group *group, int64_t runtime)
{
    cpu_set_t online;
    const int own = own_cpu(&group->granted);
    bool good = true;
    online_cpus(&online);
    group->counters = calloc((size_t)CPU_COUNT(&online), sizeof *group->counters);
    if (group->counters == NULL)
        abort();
    for (int cpu = 0; good && cpu < CPU_SETSIZE; cpu++) {
        if (cpu == own || !CPU_ISSET((size_t)cpu, &online))
            continue;
        struct event *counter = &group->counters[group->count++];
        *counter =
            mapped(budget_counter_open(group->directory, cpu,
                                       (uint64_t)(runtime < elsewhere ? runtime : elsewhere)));
        good = is_good(counter);
    }
    group->starts = mapped(good ? budget_starts_open(group->directory, own) : -1);
    return good && is_good(&group->starts);
}

struct process_group *process_group_open(pid_t process, uint64_t started_by, uid_t owner,
                                         const struct attributes *granted, int64_t runtime)
{
    char name[BUDGET_GROUP_BYTES];
    budget_group_name(process, started_by, name);
    const int directory = budget_group_open(hierarchy, name);
    if (directory < 0)
        return NULL;
    struct process_group *group = calloc(1, sizeof *group);
    if (group == NULL)
        abort();
    *group = (struct process_group){.process = process,
                                    .owner = owner,
                                    .directory = directory,
                                    .granted = *granted};
    memcpy(group->name, name, sizeof name);
    if (open_events(group, runtime))
        return group;
    const int error = errno;
    process_group_close(group);
    errno = error;
    return NULL;
}

void process_group_close(struct process_group *group)
{
    if (group == NULL)
        return;
    for (int i = 0; i < group->count; i++)
        close_event(&group->counters[i]);
    close_event(&group->starts);
    free(group->counters);
    free(group->known);
    free(group->lowered);
    close(group->directory);
    free(group);
}

bool process_group_has(const struct process_group *group, pid_t tid)
{
    char path[GROUP_BYTES];
    return thread_group(CGROUPS_V1, "perf_event", tid, path) && path[0] == '/' &&
           strcmp(path + 1, group->name) == 0;
}

int64_t process_group_size(const struct process_group *group)
{
    return group->size;
}

bool process_group_wait(const struct process_group *group,
                        bool (*wait_on)(int fd, int64_t as, bool starts), int64_t as)
{
    bool good = wait_on(group->starts.fd, as, true);
    for (int i = 0; good && i < group->count; i++)
        good = wait_on(group->counters[i].fd, as, false);
    return good;
}

int process_group_starts(const struct process_group *group)
{
    return group->starts.fd;
}

int64_t process_group_used(const struct process_group *group)
{
    int64_t sum = 0, one;
    for (int i = 0; i < group->count; i++)
        if (read(group->counters[i].fd, &one, sizeof one) == (ssize_t)sizeof one)
            sum += one;
    return sum;
}

void process_group_count(const struct process_group *group, bool on)
{
    const unsigned long order = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
    for (int i = 0; i < group->count; i++)
        (void)ioctl(group->counters[i].fd, order, 0);
}

/* ---- members ---- */

static bool is_of_others(const struct process_group *group, pid_t tid)
{
    struct identity identity;
    return thread_owner_of(tid, &identity) && !thread_is_of(&identity, group->owner);
}

/* True: the owner of the group may have given the member this policy and priority. The owner may
 * lower the granted priority, also of a program with set-user-ID that the owner has started. */
static bool may_be_granted(const struct process_group *group, pid_t tid, int policy)
{
    struct sched_param now;
    return policy == suspend_kernel_policy(group->granted.policy) &&
           sched_getparam(tid, &now) == 0 && now.sched_priority <= group->granted.priority;
}

static bool make_member_ordinary(const struct process_group *group, pid_t tid)
{
    const struct sched_param none = {0};
    const int policy = sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;
    return (policy == SCHED_FIFO || policy == SCHED_RR) &&
           (may_be_granted(group, tid, policy) || !is_of_others(group, tid)) &&
           sched_setscheduler(tid, SCHED_OTHER, &none) == 0;
}

/* Moves the guard to the members' CPU: while the guard runs there, no member runs, so no member
 * starts a thread. */
static void go_to(const struct process_group *group, cpu_set_t *former)
{
    if (sched_getaffinity(0, sizeof *former, former) != 0)
        CPU_ZERO(former);
    (void)sched_setaffinity(0, sizeof group->granted.cpus, &group->granted.cpus);
}

static void go_back(const cpu_set_t *former)
{
    if (CPU_COUNT(former) > 0)
        (void)sched_setaffinity(0, sizeof *former, former);
}

void process_group_suspend(struct process_group *group, void (*suspended)(pid_t tid))
{
    cpu_set_t former;
    bool changed = true;
    pid_t *tids = NULL;
    ssize_t count = 0;
    go_to(group, &former);
    for (int pass = 0; changed && pass < PASSES; pass++) {
        free(tids);
        count = budget_group_members(group->directory, &tids);
        group->size = count > 0 ? count : 0;
        changed = false;
        for (ssize_t i = 0; i < count; i++)
            if (tids[i] != group->process)
                changed |= make_member_ordinary(group, tids[i]);
    }
    go_back(&former);
    for (ssize_t i = 0; suspended != NULL && i < count; i++)
        if (tids[i] != group->process)
            suspended(tids[i]);
    free(tids);
}

/* Makes a member real-time with reset-on-fork, so that its children are ordinary until the guard
 * makes them real-time. Without this flag, a child whose fork takes longer than the rest of the
 * runtime would be real-time while all listed members are ordinary. The same holds for threads that
 * start one another and end faster than the guard lists them. Both kinds would stay real-time after
 * the end of the reservation. */
static bool make_member_real_time(const struct process_group *group, pid_t tid)
{
    const struct sched_param param = {.sched_priority = group->granted.priority};
    const int policy = suspend_kernel_policy(group->granted.policy) | SCHED_RESET_ON_FORK;
    const int has = sched_getscheduler(tid);
    struct sched_param now;
    if (has == policy && sched_getparam(tid, &now) == 0 &&
        now.sched_priority == param.sched_priority)
        return false;
    if ((has & ~SCHED_RESET_ON_FORK) == SCHED_DEADLINE || is_of_others(group, tid))
        return false;
    (void)sched_setaffinity(tid, sizeof group->granted.cpus, &group->granted.cpus);
    return sched_setscheduler(tid, policy, &param) == 0;
}

/* Gives a member this priority; 0: makes the member ordinary. */
static bool set_member_priority(const struct process_group *group, pid_t tid, int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    const int policy = priority > 0 ? suspend_kernel_policy(group->granted.policy) : SCHED_OTHER;
    return sched_setscheduler(tid, policy | SCHED_RESET_ON_FORK, &param) == 0;
}

bool process_group_lower(struct process_group *group, int priority, bool awake)
{
    pid_t *tids;
    const ssize_t count = budget_group_members(group->directory, &tids);
    (void)process_group_raise(group);
    group->lowered = tids;
    group->lowered_from = RT_PRIORITIES - 1 - priority;
    for (ssize_t i = 0; i < count; i++)
        if (tids[i] != group->process && rank_is(tids[i], priority) &&
            may_be_granted(group, tids[i], sched_getscheduler(tids[i]) & ~SCHED_RESET_ON_FORK) &&
            (awake || thread_sleeps(tids[i])) &&
            set_member_priority(group, tids[i], group->lowered_from - 1))
            tids[group->lowered_count++] = tids[i];
    return group->lowered_count > 0;
}

/* True: the member is as set_member_priority has left it. */
static bool has_priority(const struct process_group *group, pid_t tid, int priority)
{
    const int policy = priority > 0 ? suspend_kernel_policy(group->granted.policy) : SCHED_OTHER;
    struct sched_param now;
    return sched_getscheduler(tid) == (policy | SCHED_RESET_ON_FORK) &&
           sched_getparam(tid, &now) == 0 && now.sched_priority == priority;
}

bool process_group_raise(struct process_group *group)
{
    const ssize_t count = group->lowered_count;
    for (ssize_t i = 0; i < count; i++)
        if (process_group_has(group, group->lowered[i]) &&
            has_priority(group, group->lowered[i], group->lowered_from - 1))
            (void)set_member_priority(group, group->lowered[i], group->lowered_from);
    free(group->lowered);
    group->lowered = NULL;
    group->lowered_count = 0;
    return count > 0;
}

bool process_group_try(const struct process_group *group, int priority, bool awake,
                       bool (*is_over)(pid_t), pid_t about)
{
    pid_t *tids;
    const ssize_t count = budget_group_members(group->directory, &tids);
    bool over = false;
    for (ssize_t i = 0; !over && i < count; i++) {
        if (tids[i] == group->process || !rank_is(tids[i], priority) ||
            (!awake && !thread_sleeps(tids[i])) || !make_member_ordinary(group, tids[i]))
            continue;
        over = is_over(about);
        (void)make_member_real_time(group, tids[i]);
    }
    free(tids);
    return over;
}

static int by_id(const void *one, const void *other)
{
    const pid_t first = *(const pid_t *)one, second = *(const pid_t *)other;
    return (first > second) - (first < second);
}

static bool is_listed(const pid_t *tids, ssize_t count, pid_t tid)
{
    return count > 0 && bsearch(&tid, tids, (size_t)count, sizeof tid, by_id) != NULL;
}

/* Lists the members in ascending order. -1: the list cannot be read. */
static ssize_t list_in_order(const struct process_group *group, pid_t **tids)
{
    const ssize_t count = budget_group_members(group->directory, tids);
    if (count > 0)
        qsort(*tids, (size_t)count, sizeof **tids, by_id);
    return count;
}

/* Since the members were listed, an id may have passed to a thread that is no member. Makes that
 * thread ordinary, because it is unknown whether the thread was real-time before. */
static void take_back(const struct process_group *group, const pid_t *made, ssize_t count)
{
    pid_t *tids;
    const ssize_t now = list_in_order(group, &tids);
    for (ssize_t i = 0; i < count && now >= 0; i++)
        if (!is_listed(tids, now, made[i]))
            (void)make_member_ordinary(group, made[i]);
    free(tids);
}

/* ns. The guard makes a new member real-time only after this time. pthread_create(3) with
 * PTHREAD_EXPLICIT_SCHED first makes the thread, and then sets its policy. If the thread had
 * reset-on-fork by then, the second step would fail, because a user cannot take reset-on-fork from
 * a thread. The creating thread may be suspended between the two steps; then this time counts from
 * the beginning of its next period. */
static const int64_t least_age = INT64_C(8000000);

static bool is_due(struct process_group *group, pid_t tid)
{
    const bool known = is_listed(group->known, group->known_count, tid);
    group->has_new |= !known;
    return known && tid != group->process;
}

/* Makes the list the known members, unless the present known members are younger than least_age.
 * Takes over the list. */
static void know(struct process_group *group, pid_t *tids, ssize_t count)
{
    const int64_t now = monotonic_now();
    if (now < group->known_at + least_age) {
        free(tids);
        return;
    }
    free(group->known);
    group->known = tids;
    group->known_count = count;
    group->known_at = now;
}

bool process_group_resume(struct process_group *group)
{
    pid_t *tids, made[PROCESS_MEMBERS_MAX];
    const ssize_t count = list_in_order(group, &tids);
    const bool few = count <= PROCESS_MEMBERS_MAX;
    ssize_t made_count = 0;
    group->size = count > 0 ? count : 0;
    group->has_new = false;
    for (ssize_t i = 0; i < count && few; i++)
        if (is_due(group, tids[i]) && make_member_real_time(group, tids[i]))
            made[made_count++] = tids[i];
    if (made_count > 0)
        take_back(group, made, made_count);
    know(group, tids, count);
    return few;
}

bool process_group_has_new(const struct process_group *group)
{
    return group->has_new;
}
