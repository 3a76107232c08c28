#include "process-budget.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cgroup.h"
#include "thread.h"

enum { OPTIONS = 256, DEPTH = 16, GROUPS_MOST = 4096 };

static const char controller[] = "perf_event";

/* Writes the mount options of the hierarchy that has the controller, such as "perf_event,name=x".
 * Another mount namespace may have mounted this hierarchy with further controllers, and then the
 * controller cannot be mounted alone. If no hierarchy has the controller, writes the name of the
 * controller alone. */
static void find_options(char options[static OPTIONS])
{
    char line[OPTIONS + 64], copy[OPTIONS + 64];
    FILE *file = fopen("/proc/self/cgroup", "re");
    snprintf(options, OPTIONS, "%s", controller);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *rest = line, *words = strsep(&rest, ":") == NULL ? NULL : strsep(&rest, ":");
        if (words == NULL || strlen(words) >= OPTIONS)
            continue;
        snprintf(copy, sizeof copy, "%s", words);
        char *left = copy;
        for (const char *word; (word = strsep(&left, ",")) != NULL;)
            if (strcmp(word, controller) == 0)
                snprintf(options, OPTIONS, "%s", words);
    }
    if (file != NULL)
        fclose(file);
}

static bool set_option(int context, char *word)
{
    char *value = strchr(word, '=');
    if (value == NULL)
        return syscall(SYS_fsconfig, context, FSCONFIG_SET_FLAG, word, NULL, 0) == 0;
    *value++ = '\0';
    return syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, word, value, 0) == 0;
}

static bool set_options(int context)
{
    char options[OPTIONS], *left = options;
    bool good = true;
    find_options(options);
    for (char *word; good && (word = strsep(&left, ",")) != NULL;)
        good = set_option(context, word);
    return good;
}

static int mount_once(void)
{
    int root = -1;
    const int context = (int)syscall(SYS_fsopen, "cgroup", FSOPEN_CLOEXEC);
    if (context >= 0 && set_options(context) &&
        syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        root = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
    const int error = errno;
    if (context >= 0)
        close(context);
    errno = error;
    return root;
}

/* Shortly after the last user of a hierarchy has ended, the kernel still removes the hierarchy. Then
 * cgroup1_get_tree restarts the system call, and fsconfig(2) refuses the restarted call with EBUSY. So a
 * broker that starts when another one has just ended tries again. */
static int mount_own(void)
{
    enum { TRIES = 50 };
    static const struct timespec moment = {.tv_nsec = 10000000};
    int root = mount_once();
    for (int i = 1; root < 0 && errno == EBUSY && i < TRIES; i++) {
        (void)nanosleep(&moment, NULL);
        root = mount_once();
    }
    return root;
}

/* If the administrator has mounted a hierarchy with perf_event, opens that hierarchy: it may have
 * further controllers, and then perf_event cannot be mounted alone. Otherwise mounts a
 * hierarchy. */
int budget_hierarchy_open(void)
{
    char mount[GROUP_BYTES];
    return cgroups_find(controller, mount) == CGROUPS_V1
               ? open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
               : mount_own();
}

int budget_hierarchy_got(void)
{
    return fcntl(BUDGET_HIERARCHY, F_SETFD, FD_CLOEXEC) == 0 ? BUDGET_HIERARCHY : -1;
}

static bool is_open_to_users(int directory, const char *file)
{
    struct stat status;
    return fstatat(directory, file, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           (status.st_uid != 0 || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0);
}

static bool is_roots(int group, int depth, int *left);

/* Looks at the owner of the group before it opens the group. A user can hold the lock of their own
 * directory for long, and a process that opens the directory waits for this lock. */
static bool child_is_roots(int group, const char *name, int depth, int *left)
{
    if (depth == 0 || --*left < 0 || is_open_to_users(group, name))
        return false;
    const int child = openat(group, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (child < 0)
        return errno == ENOENT;
    const bool good = is_roots(child, depth - 1, left);
    close(child);
    return good;
}

static bool is_roots(int group, int depth, int *left)
{
    const int copy = openat(group, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *file;
    bool good = files != NULL && !is_open_to_users(group, "tasks") &&
                !is_open_to_users(group, "cgroup.procs");
    while (good && (file = readdir(files)) != NULL)
        good = file->d_type != DT_DIR || file->d_name[0] == '.' ||
               child_is_roots(group, file->d_name, depth, left);
    if (files != NULL)
        (void)closedir(files);
    else if (copy >= 0)
        close(copy);
    return good;
}

bool budget_hierarchy_is_roots(int hierarchy)
{
    int left = GROUPS_MOST;
    return is_roots(hierarchy, DEPTH, &left);
}

bool budget_record_is_left(void)
{
    glob_t found;
    const bool left = glob(BUDGET_RECORDS "*", GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    return left;
}

void budget_group_name(pid_t process, uint64_t started_by, char name[static BUDGET_GROUP_BYTES])
{
    snprintf(name, BUDGET_GROUP_BYTES, "rtf-%d.%llu", (int)process, (unsigned long long)started_by);
}

static bool move_to(int group, pid_t process)
{
    char number[24];
    snprintf(number, sizeof number, "%d", (int)process);
    return group_write(group, ".", "cgroup.procs", number);
}

int budget_group_open(int hierarchy, const char *name)
{
    return openat(hierarchy, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int budget_group_make(int hierarchy, const char *name, pid_t process)
{
    if (mkdirat(hierarchy, name, S_IRWXU) != 0 && errno != EEXIST)
        return -1;
    const int group = budget_group_open(hierarchy, name);
    if (group >= 0 && move_to(group, process))
        return group;
    const int error = errno;
    if (group >= 0)
        close(group);
    (void)unlinkat(hierarchy, name, AT_REMOVEDIR); /* fails if the group has members */
    errno = error;
    return -1;
}

/* Returns the whole text of the file `tasks`. The file is opened anew each time, because a
 * descriptor that is read again may show an older list (cgroup_pidlist_start). */
static char *read_tasks(int group)
{
    enum { AT_ONCE = 16384 };
    size_t has = 0, room = 0;
    ssize_t got = -1;
    char *text = NULL;
    const int fd = openat(group, "tasks", O_RDONLY | O_CLOEXEC);
    while (fd >= 0) {
        if (room - has < AT_ONCE) {
            room += 4 * (size_t)AT_ONCE;
            char *more = realloc(text, room);
            if (more == NULL)
                abort();
            text = more;
        }
        got = read(fd, text + has, room - has - 1);
        if (got <= 0)
            break;
        has += (size_t)got;
    }
    if (text != NULL)
        text[has] = '\0';
    if (fd >= 0)
        close(fd);
    if (got == 0)
        return text;
    free(text);
    return NULL;
}

ssize_t budget_group_members(int group, pid_t **tids)
{
    char *text = read_tasks(group), *rest = text;
    ssize_t count = 0;
    *tids = NULL;
    if (text == NULL)
        return -1;
    /* each line has at least two bytes */
    *tids = malloc((strlen(text) / 2 + 1) * sizeof **tids);
    if (*tids == NULL)
        abort();
    for (long tid; (tid = strtol(rest, &rest, 10)) > 0;)
        (*tids)[count++] = (pid_t)tid;
    free(text);
    return count;
}

/* How long budget_group_remove moves members, in ns. Moving tens of thousands of members would keep
 * the attach helper from all other users, so the time is short. Members that are left are ordinary
 * threads; budget_groups_sweep removes their group when their process has ended. If there are few
 * members, the time is longer, because on a busy machine members need a while to end. */
static const int64_t patience = INT64_C(40000000);
static const int64_t patience_with_few = INT64_C(300000000);

static bool has_few_members(int hierarchy, const char *name)
{
    pid_t *tids = NULL;
    const int group = budget_group_open(hierarchy, name);
    const ssize_t count = group < 0 ? 0 : budget_group_members(group, &tids);
    free(tids);
    if (group >= 0)
        close(group);
    return count <= PROCESS_MEMBERS_MAX;
}

bool budget_group_remove(int hierarchy, const char *name)
{
    const int64_t within = has_few_members(hierarchy, name) ? patience_with_few : patience;
    return (group_empty_within(CGROUPS_V1, hierarchy, name, ".", within) || errno == EINPROGRESS) &&
           unlinkat(hierarchy, name, AT_REMOVEDIR) == 0;
}

/* True if this is the name of the group of a process (budget_group_name), and the process has
 * ended. */
static bool is_of_ended(const char *name)
{
    int process, length = 0;
    unsigned long long started_by;
    return sscanf(name, "rtf-%d.%llu%n", &process, &started_by, &length) == 2 &&
           name[length] == '\0' && !thread_is(process, started_by) && errno == ESRCH;
}

void budget_groups_sweep(int hierarchy, void (*gone)(const char *name))
{
    const int copy = openat(hierarchy, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *file;
    while (files != NULL && (file = readdir(files)) != NULL)
        if (is_of_ended(file->d_name) && unlinkat(hierarchy, file->d_name, AT_REMOVEDIR) == 0)
            gone(file->d_name);
    if (files != NULL)
        (void)closedir(files);
    else if (copy >= 0)
        close(copy);
}

static int event_open(const struct perf_event_attr *event, int group, int cpu)
{
    return (int)syscall(SYS_perf_event_open, event, group, cpu, -1,
                        PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
}

int budget_counter_open(int group, int cpu, uint64_t nanoseconds)
{
    const struct perf_event_attr counter = {.type = PERF_TYPE_SOFTWARE,
                                            .size = sizeof counter,
                                            .config = PERF_COUNT_SW_TASK_CLOCK,
                                            .sample_period = nanoseconds,
                                            .wakeup_events = 1,
                                            .disabled = 1};
    return event_open(&counter, group, cpu);
}

/* The counter only counts the runtime. The guard keeps the period (op=begin of rtf-guard.c). */
bool budget_group_bound(int group, const struct process_budget *budget, int *counter)
{
    *counter = budget_counter_open(group, budget->cpu, budget->runtime * 1000);
    return *counter >= 0;
}

int budget_starts_open(int group, int cpu)
{
    const struct perf_event_attr starts = {.type = PERF_TYPE_SOFTWARE,
                                           .size = sizeof starts,
                                           .config = PERF_COUNT_SW_DUMMY,
                                           .watermark = 1,
                                           .wakeup_watermark = 1,
                                           .task = 1};
    return event_open(&starts, group, cpu);
}
