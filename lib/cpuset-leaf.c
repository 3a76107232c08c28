#include "cpuset-leaf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cpuset-domains.h"
#include "units.h"

/* ---- names ---- */

const char *leaf_of(char leaf[static LEAF_NAME], const struct identity *identity, int cpu)
{
    char name[DOMAIN_NAME];
    leaf[0] = '\0';
    if (cpu >= 0)
        snprintf(leaf, LEAF_NAME, "%s/t%d.%llu", domain_name(name, cpu), (int)identity->tid,
                 (unsigned long long)identity->started_by);
    return leaf;
}

void leaf_find(char leaf[static LEAF_NAME], pid_t tid)
{
    char mount[GROUP_BYTES], group[GROUP_BYTES];
    int cpu, length = 0;
    pid_t owner;
    unsigned long long start;
    leaf[0] = '\0';
    if (!thread_group(cgroups_find("cpuset", mount), "cpuset", tid, group) ||
        sscanf(group, "/rtf-%d/t%d.%llu%n", &cpu, &owner, &start, &length) != 3 ||
        group[length] != '\0' || length >= LEAF_NAME)
        return;
    snprintf(leaf, LEAF_NAME, "%.60s", group + 1);
}

/* ---- the processes that version 2 moves ---- */

static int each_thread(pid_t process, bool (*is_it)(pid_t, pid_t), pid_t tid, int *count)
{
    char path[64];
    const struct dirent *entry;
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    *count = 0;
    while (threads != NULL && (entry = readdir(threads)) != NULL) {
        pid_t one = (pid_t)atoi(entry->d_name);
        if (one <= 0)
            continue;
        (*count)++;
        if (is_it(one, tid))
            found = one;
    }
    if (threads != NULL)
        closedir(threads);
    return found;
}

static bool is_another_real_time(pid_t one, pid_t tid)
{
    struct attributes attributes;
    return one != tid && thread_attributes(one, &attributes) &&
           policy_is_real_time(attributes.policy);
}

/* True if the two threads run as different users. For example, a daemon may have threads with the
 * uids of its clients. False if `tid` runs as root. */
static bool is_of_another_user(pid_t one, pid_t tid)
{
    struct identity own, other;
    return thread_identify(tid, &own) && thread_identify(one, &other) && own.real_uid != 0 &&
           (other.real_uid != own.real_uid || other.effective_uid != own.effective_uid ||
            other.saved_uid != own.saved_uid);
}

static enum apply_result may_move(const struct identity *identity, bool whole_process, char *reason)
{
    int count;
    pid_t other = each_thread(identity->process, is_another_real_time, identity->tid, &count);
    if (count > 1 && !whole_process)
        return apply_refuse(
            reason,
            "process %d has %d threads, and cgroup version 2 can move only all of them to one CPU: \"move\": \"process\" in the spec allows the move of all of them",
            (int)identity->process, count);
    if (each_thread(identity->process, is_of_another_user, identity->tid, &count) != 0)
        return apply_refuse(
            reason, "process %d cannot be moved to one CPU: some of its threads run as other users",
            (int)identity->process);
    if (other != 0)
        return apply_refuse(
            reason, "process %d cannot be moved to one CPU: its thread %d is real-time, too",
            (int)identity->process, (int)other);
    return APPLY_DONE;
}

/* A process that moves to a domain and back loses the affinities of its other threads (measured on
 * Linux 6.1). So an extended attribute of the leaf keeps these affinities, in lines of TID START
 * CPUS. The attribute outlives this program, and ends with the leaf. */
static const char affinities_attribute[] = "user.rtf.affinities";
enum { AFFINITIES_BYTES = 32 * 1024 };

static bool keep_affinities(int root, const struct identity *identity, const char *leaf)
{
    char path[64], cpus[CPU_LIST_TEXT], text[AFFINITIES_BYTES];
    const struct dirent *entry;
    struct identity other;
    cpu_set_t now;
    size_t length = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)identity->process);
    DIR *threads = opendir(path);
    while (threads != NULL && length < sizeof text && (entry = readdir(threads)) != NULL) {
        pid_t one = (pid_t)atoi(entry->d_name);
        if (one > 0 && one != identity->tid && thread_identify(one, &other) &&
            sched_getaffinity(one, sizeof now, &now) == 0)
            length +=
                (size_t)snprintf(text + length, sizeof text - length, "%d %llu %s\n", (int)one,
                                 (unsigned long long)other.start, format_cpus(&now, cpus));
    }
    if (threads != NULL)
        closedir(threads);
    errno = E2BIG;
    int fd = openat(root, leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool kept = length == 0 || (length < sizeof text && fd >= 0 &&
                                fsetxattr(fd, affinities_attribute, text, length, 0) == 0);
    if (fd >= 0)
        close(fd);
    return kept;
}

static void put_back_affinities(const char *text)
{
    char cpus[CPU_LIST_TEXT];
    struct identity identity;
    unsigned long long start;
    int tid, length = 0;
    cpu_set_t former;
    for (; sscanf(text, "%d %llu %4095s\n%n", &tid, &start, cpus, &length) == 3; text += length)
        if (parse_cpus(cpus, &former) && thread_identify(tid, &identity) && identity.start == start)
            (void)sched_setaffinity(tid, sizeof former, &former);
}

static ssize_t read_affinities(int root, const char *leaf, char text[static AFFINITIES_BYTES])
{
    int fd = openat(root, leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : fgetxattr(fd, affinities_attribute, text, AFFINITIES_BYTES - 1);
    if (fd >= 0)
        close(fd);
    text[got < 0 ? 0 : got] = '\0';
    return got;
}

/* ---- limits of the cgroup that the process leaves, with version 2 ---- */

/* Cuts `path` to the path of the parent group. False: the parent is the root, which has no
 * limits. */
static bool next_above(char path[static GROUP_BYTES + 1])
{
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return strchr(path, '/') != NULL;
}

/* Finds the lowest limit in `file` of the group and of all groups above it. The leaf needs this
 * limit, because a process that leaves the group would otherwise escape the limit. */
static void tightest(int root, const char *group, const char *file, char value[static 32])
{
    char path[GROUP_BYTES + 1], text[32];
    snprintf(value, 32, "max");
    snprintf(path, sizeof path, ".%s", group);
    do {
        if (group_read(root, path, file, text, sizeof text) && strcmp(text, "max") != 0 &&
            (strcmp(value, "max") == 0 || strtoull(text, NULL, 10) < strtoull(value, NULL, 10)))
            snprintf(value, 32, "%s", text);
    } while (next_above(path));
}

/* Copies pids.max to the leaf. A copy is good enough: the limit pids.max stops a process that forks
 * without end, and a copy in each leaf stops such a process, too. */
static bool copy_limits(int root, const char *group, const char *leaf, char *reason)
{
    char value[32];
    tightest(root, group, "pids.max", value);
    if (strcmp(value, "max") == 0 || group_write(root, leaf, "pids.max", value))
        return true;
    (void)apply_refuse(reason, "the limit pids.max of %s cannot be copied to the group %s: %s",
                       value, leaf, strerror(errno));
    return false;
}

/* True for memory.max, memory.high, cpu.max, io.max, hugetlb.2MB.max and others. False for
 * misc.max, because this file also lists resources without a limit, and for pids.max (see
 * copy_limits). */
static bool is_a_limit(const char *file)
{
    const char *ending = strrchr(file, '.');
    return ending != NULL && (strcmp(ending, ".max") == 0 || strcmp(ending, ".high") == 0) &&
           strcmp(file, "pids.max") != 0 && strcmp(file, "misc.max") != 0;
}

/* True for "max" or "max 100000", for an empty text (io.max), and for "mlx5_0 hca_handle=max
 * hca_object=max" (rdma.max). */
static bool limits_nothing(const char *text)
{
    if (text[0] == '\0' || strncmp(text, "max", 3) == 0)
        return true;
    bool pairs = strchr(text, '=') != NULL;
    for (const char *at = text; pairs && (at = strchr(at, '=')) != NULL; at++)
        if (at[1] >= '0' && at[1] <= '9')
            return false;
    return pairs;
}

/* Looks for a limit that the group sets for all its processes together. False: there is such a
 * limit, and *reason names it. Then rtf refuses to move the process: a copy of the limit in each
 * leaf would multiply the limit, and without a copy there would be no limit. */
static bool is_unlimited_at(int root, const char *path, char *reason)
{
    char text[256];
    const struct dirent *entry;
    int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *files = fd < 0 ? NULL : fdopendir(fd);
    bool unlimited = true;
    if (files == NULL && fd >= 0)
        close(fd);
    while (files != NULL && unlimited && (entry = readdir(files)) != NULL)
        if (is_a_limit(entry->d_name) && group_read(root, path, entry->d_name, text, sizeof text) &&
            !limits_nothing(text)) {
            (void)apply_refuse(
                reason,
                "the thread's cgroup %.120s has the limit %.40s of %.60s, which would not hold in the domain of a CPU",
                path + 1, entry->d_name, text);
            unlimited = false;
        }
    if (files != NULL)
        closedir(files);
    return unlimited;
}

static bool is_unlimited(int root, const char *group, char *reason)
{
    char path[GROUP_BYTES + 1];
    snprintf(path, sizeof path, ".%s", strcmp(group, "/") == 0 ? "" : group);
    do {
        if (!is_unlimited_at(root, path, reason))
            return false;
    } while (next_above(path));
    return true;
}

/* ---- entering ---- */

/* Sets up the new cgroup of the leaf. Turns off the load balancing of the leaf before it writes the
 * CPUs of the leaf: otherwise the kernel would rebuild all scheduling domains for each new leaf. */
static bool prepare_v1(int root, const char *leaf, int cpu)
{
    char number[16], nodes[256];
    snprintf(number, sizeof number, "%d", cpu);
    return group_read(root, ".", "cpuset.mems", nodes, sizeof nodes) &&
           group_write(root, leaf, "cpuset.sched_load_balance", "0") &&
           group_write(root, leaf, "cpuset.cpus", number) &&
           group_write(root, leaf, "cpuset.mems", nodes);
}

static enum apply_result enter(const struct domains *domains, const struct identity *identity,
                               const char *leaf, int cpu, char *reason)
{
    char group[GROUP_BYTES], id[16];
    bool alone = domains->cgroups == CGROUPS_V1;
    snprintf(id, sizeof id, "%d", (int)(alone ? identity->tid : identity->process));
    if (!thread_group(domains->cgroups, "cpuset", identity->tid, group))
        return errno == ESRCH ? APPLY_GONE
                              : apply_refuse(reason, "the cgroup of thread %d cannot be read: %s",
                                             (int)identity->tid, strerror(errno));
    if (!alone && !is_unlimited(domains->root, group, reason))
        return APPLY_REFUSED;
    if (mkdirat(domains->root, leaf, 0755) != 0 && errno != EEXIST)
        return apply_refuse(reason, "cpuset group %s cannot be made: %s", leaf, strerror(errno));
    enum apply_result done = APPLY_DONE;
    if (alone && !prepare_v1(domains->root, leaf, cpu))
        done = apply_refuse(reason, "cpuset group %s cannot be set up: %s", leaf, strerror(errno));
    else if (!alone && !copy_limits(domains->root, group, leaf, reason))
        done = APPLY_REFUSED;
    else if (!alone && !domains_note_group(domains->root, leaf, group))
        done = apply_refuse(reason, "the thread's former cpuset group cannot be recorded: %s",
                            strerror(errno));
    else if (!alone && !keep_affinities(domains->root, identity, leaf))
        done = apply_refuse(reason,
                            "the affinities of the threads of process %d cannot be recorded: %s",
                            (int)identity->process, strerror(errno));
    else if (!thread_is(identity->tid, identity->started_by))
        done = errno == ESRCH ? APPLY_GONE
                              : apply_refuse(reason, "the state of thread %d cannot be read: %s",
                                             (int)identity->tid, strerror(errno));
    else if (!group_write(domains->root, leaf, alone ? "tasks" : "cgroup.procs", id))
        done = errno == ESRCH
                   ? APPLY_GONE
                   : apply_refuse(reason, "thread %d cannot be moved to the cpuset group %s: %s",
                                  (int)identity->tid, leaf, strerror(errno));
    if (done != APPLY_DONE)
        (void)unlinkat(domains->root, leaf, AT_REMOVEDIR);
    return done;
}

enum apply_result leaf_enter(const struct identity *identity, int cpu, bool whole_process,
                             char reason[static APPLY_REASON])
{
    struct domains domains;
    char leaf[LEAF_NAME];
    if (!domains_read(&domains, reason))
        return APPLY_REFUSED;
    enum apply_result done = APPLY_DONE;
    if (!CPU_ISSET((size_t)cpu, &domains.made))
        done = apply_refuse(reason, "rtf-partition has made no domain of CPU %d", cpu);
    else if (domains.cgroups == CGROUPS_V2)
        done = may_move(identity, whole_process, reason);
    if (done == APPLY_DONE)
        done = enter(&domains, identity, leaf_of(leaf, identity, cpu), cpu, reason);
    domains_free(&domains);
    return done;
}

/* ---- leaving ---- */

static bool empty(const struct domains *domains, const char *leaf, const char *group)
{
    char affinities[AFFINITIES_BYTES];
    ssize_t others = read_affinities(domains->root, leaf, affinities);
    if (!group_return(domains->cgroups, domains->root, leaf, group))
        return false;
    if (others > 0)
        put_back_affinities(affinities);
    return unlinkat(domains->root, leaf, AT_REMOVEDIR) == 0;
}

/* Moves only this thread out of the leaf (with version 2: only the thread's process). The leaf
 * stays, because it has another real-time thread, for example the thread that started this
 * thread. */
static enum apply_result leave_alone(const struct domains *domains, const struct identity *identity,
                                     const char *group, bool whole_process, char *reason)
{
    char to[GROUP_BYTES + 1], id[16];
    bool alone = domains->cgroups == CGROUPS_V1;
    enum apply_result may = alone ? APPLY_DONE : may_move(identity, whole_process, reason);
    if (may != APPLY_DONE)
        return may;
    snprintf(to, sizeof to, ".%s", strcmp(group, "/") == 0 ? "" : group);
    snprintf(id, sizeof id, "%d", (int)(alone ? identity->tid : identity->process));
    return group_write(domains->root, to, alone ? "tasks" : "cgroup.procs", id)
               ? APPLY_DONE
               : apply_refuse(reason, "thread %d cannot be moved to its cpuset group: %s",
                              (int)identity->tid, strerror(errno));
}

enum apply_result leaf_leave(const struct identity *identity, const char *leaf, const char *group,
                             bool whole_process, char reason[static APPLY_REASON])
{
    struct domains domains;
    if (!domains_read(&domains, reason))
        return APPLY_REFUSED;
    enum apply_result done = APPLY_DONE;
    if (domains_group_has_real_time(&domains, leaf, identity->tid))
        done = leave_alone(&domains, identity, group, whole_process, reason);
    else if (!empty(&domains, leaf, group))
        done = apply_refuse(reason, "the cpuset group %s cannot be emptied: %s", leaf,
                            strerror(errno));
    domains_free(&domains);
    return done;
}

void leaf_sweep(const struct identity *identity, const char *group)
{
    struct domains domains;
    char leaf[LEAF_NAME], reason[APPLY_REASON];
    if (!domains_read(&domains, reason))
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &domains.made) &&
            faccessat(domains.root, leaf_of(leaf, identity, cpu), F_OK, 0) == 0)
            (void)empty(&domains, leaf, group);
    domains_free(&domains);
}
