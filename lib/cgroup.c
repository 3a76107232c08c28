#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mntent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "thread.h"
#include "units.h"

void online_cpus(cpu_set_t *cpus)
{
    char text[CPU_LIST_TEXT];
    FILE *file = fopen("/sys/devices/system/cpu/online", "re");
    CPU_ZERO(cpus);
    CPU_SET(0, cpus);
    if (file != NULL && fgets(text, sizeof text, file) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        (void)parse_cpus(text, cpus);
    }
    if (file != NULL)
        fclose(file);
}

/* True if the mount shows the whole hierarchy; a bind mount may show only a part. In version 2
 * every group except the root has cgroup.events; in version 1 only the root has release_agent. */
static bool is_whole(const char *mount, enum cgroups cgroups)
{
    char path[GROUP_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", mount,
             cgroups == CGROUPS_V2 ? "cgroup.events" : "release_agent");
    return (access(path, F_OK) == 0) == (cgroups == CGROUPS_V1);
}

static bool is_among(const char *word, char *words, const char *separator)
{
    for (char *rest = words, *one; (one = strsep(&rest, separator)) != NULL;)
        if (strcmp(one, word) == 0)
            return true;
    return false;
}

static bool has_controller(const char *mount, const char *controller)
{
    char path[GROUP_BYTES + 32], line[256] = "";
    snprintf(path, sizeof path, "%s/cgroup.controllers", mount);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    const bool found = fgets(line, sizeof line, file) != NULL &&
                       is_among(strcmp(controller, "blkio") == 0 ? "io" : controller, line, " \n");
    fclose(file);
    return found;
}

enum cgroups cgroups_find(const char *controller, char mount[static GROUP_BYTES])
{
    enum cgroups found = CGROUPS_NONE;
    const struct mntent *entry;
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    while (mounts != NULL && found == CGROUPS_NONE && (entry = getmntent(mounts)) != NULL) {
        if (strlen(entry->mnt_dir) >= GROUP_BYTES)
            continue;
        if (strcmp(entry->mnt_type, "cgroup") == 0 && hasmntopt(entry, controller) != NULL)
            found = CGROUPS_V1;
        else if (strcmp(entry->mnt_type, "cgroup2") == 0 &&
                 has_controller(entry->mnt_dir, controller))
            found = CGROUPS_V2;
        if (found != CGROUPS_NONE && !is_whole(entry->mnt_dir, found))
            found = CGROUPS_NONE;
        if (found != CGROUPS_NONE)
            snprintf(mount, GROUP_BYTES, "%s", entry->mnt_dir);
    }
    if (mounts != NULL)
        endmntent(mounts);
    return found;
}

/* Returns the path in a line of /proc/TID/cgroup. The line is "3:cpuset:/path" or
 * "2:cpu,cpuset:/path", or in version 2 "0::/path". NULL: the line belongs to another hierarchy. */
static const char *path_of(enum cgroups cgroups, const char *controller, char *line)
{
    char *controllers = strchr(line, ':');
    char *path = controllers == NULL ? NULL : strchr(++controllers, ':');
    if (path == NULL)
        return NULL;
    *path++ = '\0';
    if (cgroups == CGROUPS_V2)
        return *controllers == '\0' ? path : NULL;
    return is_among(controller, controllers, ",") ? path : NULL;
}

static bool can_be_written_down(const char *path)
{
    for (; *path != '\0'; path++)
        if (*path < 0x20 || *path > 0x7e) {
            errno = EILSEQ;
            return false;
        }
    return true;
}

bool thread_group(enum cgroups cgroups, const char *controller, pid_t tid,
                  char group[static GROUP_BYTES])
{
    char name[64], *line = NULL;
    const char *path = NULL;
    size_t room = 0;
    snprintf(name, sizeof name, "/proc/%d/cgroup", (int)tid);
    FILE *file = fopen(name, "re");
    if (file == NULL)
        return false;
    errno = 0;
    while (path == NULL && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        path = path_of(cgroups, controller, line);
    }
    /* if the thread has ended, the file is empty, and getline sets no errno */
    const int unread = errno != 0 ? errno : ESRCH;
    fclose(file);
    errno = path == NULL ? unread : ENAMETOOLONG;
    bool good = path != NULL && strlen(path) < GROUP_BYTES && can_be_written_down(path);
    if (good)
        snprintf(group, GROUP_BYTES, "%s", path);
    free(line);
    return good;
}

static int open_file(int root, const char *path, const char *file, int flags)
{
    char name[GROUP_BYTES + 64];
    snprintf(name, sizeof name, "%s/%s", path, file);
    return openat(root, name, flags | O_NOFOLLOW | O_CLOEXEC);
}

bool group_read(int root, const char *path, const char *file, char *value, size_t size)
{
    int fd = open_file(root, path, file, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, value, size - 1);
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return false;
    value[got] = '\0';
    value[strcspn(value, "\n")] = '\0';
    return true;
}

bool group_write(int root, const char *path, const char *file, const char *value)
{
    int fd = open_file(root, path, file, O_WRONLY);
    ssize_t put = fd < 0 ? -1 : write(fd, value, strlen(value));
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return put >= 0;
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* The members counted in one pass over a group. Ending members are counted apart: the kernel
 * reports no error for the move of a process that is ending, but leaves the process in its
 * group. */
struct members {
    /* running: how many of the ending processes run or wait for a CPU */
    int moved, ending, running;
};

static void count(struct members *members, pid_t id, bool look)
{
    struct identity identity;
    if (!look || !thread_look(id, &identity) || !identity.ended) {
        members->moved++;
        return;
    }
    members->ending++;
    members->running += identity.runnable;
}

/* Moves each member once. False with the errno of the first member that could not be moved, or with
 * ETIMEDOUT after `until`. look = true: asks /proc which members are ending, which takes longer
 * than a move. */
static bool move_members(FILE *from, int root, const char *to, const char *file, bool look,
                         int64_t until, struct members *members)
{
    char text[16];
    for (int id; fscanf(from, "%d", &id) == 1;) {
        snprintf(text, sizeof text, "%d", id);
        /* the id 0 stands for a process outside of our pid namespace; it must not be written to the
         * file, because there 0 means the writer */
        errno = ESRCH;
        if (id <= 0 || (!group_write(root, to, file, text) && errno != ESRCH))
            return false;
        count(members, id, look);
        errno = ETIMEDOUT;
        if (members->moved > 0 && now() > until)
            return false;
    }
    return true;
}

static bool move_once(int root, const char *path, const char *file, const char *to, bool look,
                      int64_t until, struct members *members)
{
    const int fd = open_file(root, path, file, O_RDONLY);
    FILE *from = fd < 0 ? NULL : fdopen(fd, "r");
    *members = (struct members){0};
    if (from == NULL)
        return false;
    const bool good = move_members(from, root, to, file, look, until, members);
    const int error = errno;
    fclose(from);
    errno = error;
    return good;
}

bool group_empty_within(enum cgroups cgroups, int root, const char *path, const char *to,
                        int64_t patience)
{
    enum { BLOCKED = 4, PAUSE = 10 /* ms */ };
    const char *file = cgroups == CGROUPS_V1 ? "tasks" : "cgroup.procs";
    const int64_t until = now() + patience;
    struct members members;
    for (int round = 0, blocked = 0;; round++) {
        if (!move_once(root, path, file, to, round > 0, until, &members))
            return false;
        if (members.moved > 0)
            continue;
        if (members.ending == 0)
            return true;
        blocked = members.running == 0 ? blocked + 1 : 0;
        errno = EINPROGRESS;
        if (blocked == BLOCKED || now() > until)
            return false;
        (void)poll(NULL, 0, PAUSE);
    }
}

bool group_empty(enum cgroups cgroups, int root, const char *path, const char *to)
{
    static const int64_t patience = INT64_C(300000000); /* ns */
    return group_empty_within(cgroups, root, path, to, patience);
}

/* Makes a child group that root owns. The child gets an unusual name if the owner of `to` has made
 * a child with the usual name. */
static bool make_child(int root, const char *to, char child[static GROUP_BYTES + 64])
{
    struct stat status;
    snprintf(child, GROUP_BYTES + 64, "%s/rtf-returned", to);
    if (mkdirat(root, child, 0755) == 0)
        return true;
    if (errno != EEXIST || fstatat(root, child, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    if (status.st_uid == 0)
        return true;
    snprintf(child, GROUP_BYTES + 64, "%s/rtf-returned-%" PRId64, to, now());
    return mkdirat(root, child, 0755) == 0;
}

static bool empty_into(enum cgroups cgroups, int root, const char *path, const char *to)
{
    char child[GROUP_BYTES + 64];
    if (group_empty(cgroups, root, path, to))
        return true;
    if (cgroups != CGROUPS_V2 || (errno != EBUSY && errno != EOPNOTSUPP))
        return false;
    return make_child(root, to, child) && group_empty(cgroups, root, path, child);
}

/* Cuts the path to the parent's path. False: the parent is the root. */
static bool go_up(char *group)
{
    char *slash = strrchr(group, '/');
    const bool can = slash != group + 1;
    if (can)
        *slash = '\0';
    return can;
}

/* True if one user (not root) owns both the group and its parent. Then this user may move processes
 * between the two groups anyway, and rtf may do the same. */
static bool is_inner(int root, const char *group)
{
    char above[GROUP_BYTES + 1];
    struct stat own, parent;
    snprintf(above, sizeof above, "%s", group);
    return go_up(above) && fstatat(root, group, &own, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(root, above, &parent, AT_SYMLINK_NOFOLLOW) == 0 && own.st_uid != 0 &&
           own.st_uid == parent.st_uid;
}

bool group_return(enum cgroups cgroups, int root, const char *path, const char *group)
{
    char to[GROUP_BYTES + 1];
    if (strcmp(group, "/") == 0)
        return group_empty(cgroups, root, path, ".");
    snprintf(to, sizeof to, ".%s", group);
    for (;;) {
        const bool there = faccessat(root, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        if (there && empty_into(cgroups, root, path, to))
            return true;
        const int error = there ? errno : ENOENT;
        if (there && (error == ETIMEDOUT || error == EINPROGRESS || !is_inner(root, to))) {
            errno = error;
            return false;
        }
        if (!go_up(to)) {
            errno = ENOENT;
            return false;
        }
    }
}
