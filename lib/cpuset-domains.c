#include "cpuset-domains.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "reason.h"
#include "paragraph.h"
#include "thread.h"
#include "units.h"

static const char rest_name[] = "rtf-rest";

#define fault(why, ...) fault_in(why, DOMAINS_REASON, __VA_ARGS__)

const char *domain_name(char name[static DOMAIN_NAME], int cpu)
{
    snprintf(name, DOMAIN_NAME, "rtf-%d", cpu);
    return name;
}

static bool exists(const struct domains *domains, const char *name)
{
    return faccessat(domains->root, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- the record ---- */

static const char *maker_of(const struct domains *domains, int cpu)
{
    for (int i = 0; i < domains->maker_count; i++)
        if (domains->makers[i].cpu == cpu)
            return domains->makers[i].by;
    return "";
}

static void note_made(struct domains *domains, int cpu, const char *by)
{
    domains->makers =
        realloc(domains->makers, (size_t)(domains->maker_count + 1) * sizeof *domains->makers);
    if (domains->makers == NULL)
        abort();
    struct maker *maker = &domains->makers[domains->maker_count++];
    maker->cpu = cpu;
    snprintf(maker->by, sizeof maker->by, "%s", by);
    CPU_SET((size_t)cpu, &domains->made);
}

static void note_removed(struct domains *domains, int cpu)
{
    for (int i = 0; i < domains->maker_count; i++)
        if (domains->makers[i].cpu == cpu)
            domains->makers[i--] = domains->makers[--domains->maker_count];
    CPU_CLR((size_t)cpu, &domains->made);
}

static void take_record(struct domains *domains, const struct paragraph *record)
{
    char name[DOMAIN_NAME];
    uint64_t number;
    const char *by = paragraph_get(record, "by");
    if (paragraph_get_number(record, "was_balanced", 1, &number) == 1)
        domains->was_balanced = number == 1;
    if (paragraph_get_number(record, "had_controller", 1, &number) == 1)
        domains->had_controller = number == 1;
    /* A recorded domain that does not exist was made in an earlier boot, or was removed by hand. */
    if (by == NULL || paragraph_get_number(record, "cpu", CPU_SETSIZE - 1, &number) != 1 ||
        !exists(domains, domain_name(name, (int)number)))
        return;
    note_made(domains, (int)number, by);
}

/* Reads the root's settings. While no domain exists, these are the former settings to restore. */
static void read_root(struct domains *domains)
{
    char value[512] = "";
    if (domains->cgroups == CGROUPS_V1)
        domains->was_balanced =
            group_read(domains->root, ".", "cpuset.sched_load_balance", value, sizeof value) &&
            strcmp(value, "1") == 0;
    else
        domains->had_controller =
            group_read(domains->root, ".", "cgroup.subtree_control", value, sizeof value) &&
            strstr(value, "cpuset") != NULL;
}

static bool read_record(struct domains *domains, char *reason)
{
    struct paragraph_input input = {0};
    struct paragraph record;
    const char *why = "";
    int taken = 0, fd = open(DOMAINS_RECORD, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return fault(reason, "%s: %s", DOMAINS_RECORD, strerror(errno));
    while (fd >= 0 && taken >= 0 && paragraph_fill(&input, fd) > 0)
        while ((taken = paragraph_take(&input, &record, &why)) > 0)
            take_record(domains, &record);
    paragraph_input_free(&input);
    if (fd >= 0)
        close(fd);
    if (CPU_COUNT(&domains->made) == 0 && !exists(domains, rest_name))
        read_root(domains);
    return taken >= 0 || fault(reason, "%s is damaged: %s", DOMAINS_RECORD, why);
}

/* Records the domains that exist, and the domains of the CPUs `coming`, which `by` is about to
 * make. */
static bool write_record(const struct domains *domains, const cpu_set_t *coming, const char *by,
                         char *reason)
{
    struct paragraph_output output = {0};
    if (domains->cgroups == CGROUPS_V1)
        paragraph_add_format(&output, "was_balanced", "%d", domains->was_balanced);
    else
        paragraph_add_format(&output, "had_controller", "%d", domains->had_controller);
    paragraph_close(&output);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        bool made = CPU_ISSET((size_t)cpu, &domains->made);
        if (!made && !CPU_ISSET((size_t)cpu, coming))
            continue;
        paragraph_add_number(&output, "cpu", (uint64_t)cpu);
        paragraph_add(&output, "by", made ? maker_of(domains, cpu) : by);
        paragraph_close(&output);
    }
    int fd =
        open(DOMAINS_RECORD ".new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    bool good = fd >= 0 && write(fd, output.data, output.length) == (ssize_t)output.length;
    if (fd >= 0)
        close(fd);
    paragraph_output_free(&output);
    return (good && rename(DOMAINS_RECORD ".new", DOMAINS_RECORD) == 0) ||
           fault(reason, "%s: %s", DOMAINS_RECORD, strerror(errno));
}

bool domains_read(struct domains *domains, char reason[static DOMAINS_REASON])
{
    char mount[GROUP_BYTES];
    *domains = (struct domains){.root = -1, .cgroups = cgroups_find("cpuset", mount)};
    if (domains->cgroups == CGROUPS_NONE)
        return fault(reason, "this machine has no cgroups with the cpuset controller mounted");
    domains->root = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (domains->root < 0)
        return fault(reason, "%.200s: %s", mount, strerror(errno));
    if (read_record(domains, reason))
        return true;
    domains_free(domains);
    return false;
}

void domains_free(struct domains *domains)
{
    free(domains->makers);
    if (domains->root >= 0)
        close(domains->root);
    *domains = (struct domains){.root = -1};
}

/* ---- making ---- */

static bool put(const struct domains *domains, const char *group, const char *file,
                const char *value, char *reason)
{
    return group_write(domains->root, group, file, value) ||
           fault(reason, "cpuset group %s: %s cannot be set to %.100s: %s", group, file, value,
                 errno == EINVAL ? "another group has one of these CPUs exclusively"
                                 : strerror(errno));
}

static bool make_group(const struct domains *domains, const char *name, char *reason)
{
    return mkdirat(domains->root, name, 0755) == 0 || errno == EEXIST ||
           fault(reason, "cpuset group %s cannot be made: %s", name, strerror(errno));
}

/* Sets the CPUs of rtf-rest, on which the kernel balances ordinary threads: all CPUs that are not
 * in *taken. */
static bool set_rest(const struct domains *domains, const cpu_set_t *taken, char *reason)
{
    char list[CPU_LIST_TEXT], nodes[256];
    cpu_set_t rest;
    online_cpus(&rest);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, taken))
            CPU_CLR(cpu, &rest);
    return group_read(domains->root, ".", "cpuset.mems", nodes, sizeof nodes) &&
           make_group(domains, rest_name, reason) &&
           put(domains, rest_name, "cpuset.cpus", format_cpus(&rest, list), reason) &&
           put(domains, rest_name, "cpuset.mems", nodes, reason);
}

static bool make_v1(const struct domains *domains, const char *name, const char *cpu, char *reason)
{
    char nodes[256];
    return group_read(domains->root, ".", "cpuset.mems", nodes, sizeof nodes) &&
           put(domains, name, "cpuset.cpus", cpu, reason) &&
           put(domains, name, "cpuset.mems", nodes, reason) &&
           put(domains, name, "cpuset.cpu_exclusive", "1", reason);
}

/* Makes a domain with version 2. The controllers for memory and processes are turned on if the
 * machine has them, so that leaves (cpuset-leaf.h) can have such limits. */
static bool make_v2(const struct domains *domains, const char *name, const char *cpu, char *reason)
{
    char state[256];
    (void)group_write(domains->root, name, "cgroup.subtree_control", "+memory");
    (void)group_write(domains->root, name, "cgroup.subtree_control", "+pids");
    if (!put(domains, name, "cpuset.cpus", cpu, reason) ||
        !put(domains, name, "cpuset.cpus.partition", "root", reason))
        return false;
    return (group_read(domains->root, name, "cpuset.cpus.partition", state, sizeof state) &&
            strcmp(state, "root") == 0) ||
           fault(reason, "the kernel makes no domain of CPU %s: %s", cpu, state);
}

static bool make(struct domains *domains, int cpu, const char *by, char *reason)
{
    char name[DOMAIN_NAME], number[16];
    snprintf(number, sizeof number, "%d", cpu);
    domain_name(name, cpu);
    if (!make_group(domains, name, reason))
        return false;
    note_made(domains, cpu, by);
    return domains->cgroups == CGROUPS_V1 ? make_v1(domains, name, number, reason)
                                          : make_v2(domains, name, number, reason);
}

/* Checks whether each CPU of `cpus` can be a domain. *missing: the CPUs that have none yet. False:
 * *reason. */
static bool can_be_made(const struct domains *domains, const cpu_set_t *cpus,
                        const cpu_set_t *missing, char *reason)
{
    char name[DOMAIN_NAME], list[CPU_LIST_TEXT];
    cpu_set_t online, both;
    online_cpus(&online);
    CPU_AND(&both, cpus, &online);
    if (!CPU_EQUAL(&both, cpus))
        return fault(reason, "some of the CPUs %.200s are not online", format_cpus(cpus, list));
    CPU_OR(&both, &domains->made, cpus);
    if (CPU_EQUAL(&both, &online))
        return fault(reason,
                     "at least one CPU has to stay outside of all domains, for ordinary threads");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, missing) && exists(domains, domain_name(name, cpu)))
            return fault(reason, "the cpuset group %s exists, and rtf-partition has not made it",
                         name);
    return true;
}

static bool make_missing(struct domains *domains, const cpu_set_t *missing, const char *by,
                         char *reason)
{
    cpu_set_t taken;
    CPU_OR(&taken, &domains->made, missing);
    if (!write_record(domains, missing, by, reason))
        return false;
    if (domains->cgroups == CGROUPS_V1
            ? !set_rest(domains, &taken, reason)
            : !put(domains, ".", "cgroup.subtree_control", "+cpuset", reason))
        return false;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, missing) && !make(domains, cpu, by, reason))
            return false;
    return domains->cgroups != CGROUPS_V1 ||
           put(domains, ".", "cpuset.sched_load_balance", "0", reason);
}

/* ---- removing ---- */

static bool is_real_time(pid_t tid)
{
    /* shows whether the thread has ended: a zombie keeps its policy, and does not count */
    struct identity identity;
    struct attributes attributes;
    return thread_identify(tid, &identity) && !identity.ended &&
           thread_attributes(tid, &attributes) && policy_is_real_time(attributes.policy);
}

bool domains_group_has_real_time(const struct domains *domains, const char *group, pid_t except)
{
    char path[GROUP_BYTES + 16];
    int tid;
    bool found = false;
    snprintf(path, sizeof path, "%s/%s", group,
             domains->cgroups == CGROUPS_V1 ? "tasks" : "cgroup.threads");
    int fd = openat(domains->root, path, O_RDONLY | O_CLOEXEC);
    FILE *members = fd < 0 ? NULL : fdopen(fd, "r");
    while (members != NULL && !found && fscanf(members, "%d", &tid) == 1)
        found = tid != except && is_real_time(tid);
    if (members != NULL)
        fclose(members);
    return found;
}

/* Calls `visit` for each leaf of a domain until `visit` returns false. */
static bool each_leaf(const struct domains *domains, const char *name,
                      bool (*visit)(const struct domains *, const char *, char *), char *reason)
{
    char leaf[DOMAIN_NAME + 260];
    const struct dirent *entry;
    bool good = true;
    int fd = openat(domains->root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    while (listing != NULL && good && (entry = readdir(listing)) != NULL) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        snprintf(leaf, sizeof leaf, "%s/%s", name, entry->d_name);
        good = visit(domains, leaf, reason);
    }
    if (listing != NULL)
        closedir(listing);
    return good;
}

static bool has_none(const struct domains *domains, const char *leaf, char *reason)
{
    return !domains_group_has_real_time(domains, leaf, 0) ||
           fault(reason, "cpuset group %s cannot be removed, because it has real-time threads",
                 leaf);
}

static const char group_attribute[] = "user.rtf.group";

bool domains_note_group(int root, const char *leaf, const char *group)
{
    int fd = openat(root, leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool noted = fd >= 0 && fsetxattr(fd, group_attribute, group, strlen(group), 0) == 0;
    if (fd >= 0)
        close(fd);
    return noted;
}

static const char *noted_group(const struct domains *domains, const char *leaf,
                               char group[static GROUP_BYTES])
{
    int fd = openat(domains->root, leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : fgetxattr(fd, group_attribute, group, GROUP_BYTES - 1);
    if (fd >= 0)
        close(fd);
    if (got > 0)
        group[got] = '\0';
    else
        snprintf(group, GROUP_BYTES, "/");
    return group;
}

/* The thread of a leaf has ended. Moves the other members out of the leaf, and removes the leaf. With
 * version 1 the members go to the root, because cpusets limit nothing but CPUs. */
static bool empty(const struct domains *domains, const char *leaf, char *reason)
{
    char group[GROUP_BYTES];
    return (group_return(domains->cgroups, domains->root, leaf,
                         noted_group(domains, leaf, group)) &&
            unlinkat(domains->root, leaf, AT_REMOVEDIR) == 0) ||
           fault(reason, "cpuset group %s cannot be removed: %s", leaf, strerror(errno));
}

static bool remove_one(struct domains *domains, int cpu, char *reason)
{
    char name[DOMAIN_NAME];
    domain_name(name, cpu);
    if (!each_leaf(domains, name, has_none, reason) || !each_leaf(domains, name, empty, reason))
        return false;
    if (unlinkat(domains->root, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return fault(reason, "cpuset group %s cannot be removed: %s", name, strerror(errno));
    note_removed(domains, cpu);
    return true;
}

/* Restores the root's settings. Called after the last domain is removed. */
static bool put_root_back(const struct domains *domains, char *reason)
{
    if (domains->cgroups == CGROUPS_V1) {
        if (domains->was_balanced && !put(domains, ".", "cpuset.sched_load_balance", "1", reason))
            return false;
        if (unlinkat(domains->root, rest_name, AT_REMOVEDIR) != 0 && errno != ENOENT)
            return fault(reason, "cpuset group %s cannot be removed: %s", rest_name,
                         strerror(errno));
    } else if (!domains->had_controller)
        /* fails, without harm, if another program uses the controller by now */
        (void)group_write(domains->root, ".", "cgroup.subtree_control", "-cpuset");
    return unlink(DOMAINS_RECORD) == 0 || errno == ENOENT ||
           fault(reason, "%s: %s", DOMAINS_RECORD, strerror(errno));
}

static bool remove_some(struct domains *domains, const cpu_set_t *surplus, char *reason)
{
    cpu_set_t none;
    CPU_ZERO(&none);
    bool good = true;
    for (int cpu = 0; good && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, surplus))
            good = remove_one(domains, cpu, reason);
    if (CPU_COUNT(&domains->made) == 0)
        return put_root_back(domains, reason) && good;
    bool recorded = write_record(domains, &none, "", reason);
    return (domains->cgroups != CGROUPS_V1 || set_rest(domains, &domains->made, reason)) &&
           recorded && good;
}

/* ---- showing, making and removing ---- */

static int count_members(const struct domains *domains, int cpu)
{
    char name[DOMAIN_NAME], leaf[DOMAIN_NAME + 260], path[sizeof leaf + 32];
    const struct dirent *entry;
    int count = 0, tid;
    int fd = openat(domains->root, domain_name(name, cpu), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        if (entry->d_type != DT_DIR || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(leaf, sizeof leaf, "%s/%s", name, entry->d_name);
        snprintf(path, sizeof path, "%s/%s", leaf,
                 domains->cgroups == CGROUPS_V1 ? "tasks" : "cgroup.threads");
        int members_fd = openat(domains->root, path, O_RDONLY | O_CLOEXEC);
        FILE *members = members_fd < 0 ? NULL : fdopen(members_fd, "r");
        while (members != NULL && fscanf(members, "%d", &tid) == 1)
            count++;
        if (members != NULL)
            fclose(members);
    }
    if (listing != NULL)
        closedir(listing);
    return count;
}

bool domains_show(FILE *output, char reason[static DOMAINS_REASON])
{
    struct domains domains;
    if (!domains_read(&domains, reason))
        return false;
    if (CPU_COUNT(&domains.made) > 0)
        fprintf(output, "%-5s %-8s %s\n", "CPU", "THREADS", "MADE BY");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &domains.made))
            fprintf(output, "%-5d %-8d %s\n", cpu, count_members(&domains, cpu),
                    maker_of(&domains, cpu));
    domains_free(&domains);
    return fflush(output) == 0 || fault(reason, "standard output: %s", strerror(errno));
}

bool domains_make(const cpu_set_t *cpus, const char *by, char reason[static DOMAINS_REASON])
{
    struct domains domains;
    cpu_set_t missing, both;
    if (!domains_read(&domains, reason))
        return false;
    CPU_AND(&both, cpus, &domains.made);
    CPU_XOR(&missing, cpus, &both);
    bool good = CPU_COUNT(&missing) == 0 || can_be_made(&domains, cpus, &missing, reason);
    if (good && CPU_COUNT(&missing) > 0 && !make_missing(&domains, &missing, by, reason)) {
        char ignored[DOMAINS_REASON];
        good = false;
        (void)remove_some(&domains, &missing, ignored);
    }
    domains_free(&domains);
    return good;
}

bool domains_drop(const char *by, char reason[static DOMAINS_REASON])
{
    struct domains domains;
    cpu_set_t dropped;
    if (!domains_read(&domains, reason))
        /* if `by` is stated, this is no failure: the usual cause is a machine without cpusets, and
         * there `by` has made no domain */
        return by != NULL;
    CPU_ZERO(&dropped);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &domains.made) &&
            (by == NULL || strcmp(maker_of(&domains, (int)cpu), by) == 0))
            CPU_SET(cpu, &dropped);
    bool good = CPU_COUNT(&dropped) == 0 || remove_some(&domains, &dropped, reason);
    domains_free(&domains);
    return good;
}
