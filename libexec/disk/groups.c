#include "groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "thread.h"
#include "units.h"

enum { WEIGHT_MOST = 1000, WEIGHT_REST = 1, PATH_BYTES = 64, VALUE_BYTES = 160, ROUNDS = 16 };

/* The kernel counts in slices of a tenth of a second and allows whole blocks in each: so much more, or what is left of one is lost in each of them. */
enum { SLICES = 10 };

static const char top[] = "rtf-disk", rest[] = "rtf-disk-rest", former[] = "user.rtf.former", enabled[] = "user.rtf.enabled";
static enum cgroups version;
static int root = -1;

static bool no(char *reason, const char *what)
{
    snprintf(reason, GROUPS_REASON, "cgroup %s: %s", what, strerror(errno));
    return false;
}

bool groups_open(char mount[static GROUP_BYTES], char reason[static GROUPS_REASON])
{
    version = cgroups_find("blkio", mount);
    root = version == CGROUPS_NONE ? -1 : open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        snprintf(reason, GROUPS_REASON, "this machine has no cgroups for disks mounted (blkio, or io with version 2)");
    return root >= 0;
}

/* ---- values ---- */

static const char *weight_file(void)
{
    return version == CGROUPS_V1 ? "blkio.bfq.weight_device" : "io.bfq.weight";
}

static bool put(const char *group, const char *file, const char *value, char *reason)
{
    char what[VALUE_BYTES];
    snprintf(what, sizeof what, "%s/%s=%s", group, file, value);
    return group_write(root, group, file, value) || no(reason, what);
}

static bool put_weight(const char *group, const char *number, unsigned weight, char *reason)
{
    char value[VALUE_BYTES];
    snprintf(value, sizeof value, "%s %u", number, weight);
    return put(group, weight_file(), value, reason);
}

static void clear_weight(const char *group, const char *number)
{
    char value[VALUE_BYTES];
    snprintf(value, sizeof value, "%s default", number);
    (void)group_write(root, group, weight_file(), value);
}

/* The group's own for this disk; 0: none. */
static unsigned weight_of(const char *group, const char *number)
{
    char name[PATH_BYTES + 256], device[32], line[64];
    unsigned weight, found = 0;
    snprintf(name, sizeof name, "%s/%s", group, weight_file());
    const int fd = openat(root, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%31s %u", device, &weight) == 2 && strcmp(device, number) == 0)
            found = weight;
    if (file != NULL)
        fclose(file);
    return found;
}

static bool put_limits(const char *group, const char *number, uint64_t bytes, uint64_t blocks, char *reason)
{
    char value[VALUE_BYTES];
    if (version == CGROUPS_V2) {
        snprintf(value, sizeof value, "%s rbps=%" PRIu64 " wbps=%" PRIu64 " riops=%" PRIu64 " wiops=%" PRIu64, number, bytes, bytes, blocks, blocks);
        return put(group, "io.max", value, reason);
    }
    static const char *const of_bytes[] = {"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"};
    static const char *const of_blocks[] = {"blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"};
    for (int i = 0; i < 2; i++) {
        snprintf(value, sizeof value, "%s %" PRIu64, number, bytes);
        if (!put(group, of_bytes[i], value, reason))
            return false;
        snprintf(value, sizeof value, "%s %" PRIu64, number, blocks);
        if (!put(group, of_blocks[i], value, reason))
            return false;
    }
    return true;
}

/* ---- the rest of the machine ---- */

static bool make(const char *group, char *reason)
{
    return mkdirat(root, group, 0755) == 0 || errno == EEXIST || no(reason, group);
}

/* All groups beside ours that have no weight of their own there. */
static bool each_rival(const char *number, void (*do_with)(const char *group, const char *number, unsigned weight))
{
    const int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL)
        return false;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && strcmp(entry->d_name, top) != 0)
            do_with(entry->d_name, number, weight_of(entry->d_name, number));
    closedir(directory);
    return true;
}

static void step_back(const char *group, const char *number, unsigned weight)
{
    char ignored[GROUPS_REASON];
    if (weight == 0)
        (void)put_weight(group, number, WEIGHT_REST, ignored);
}

static void step_forth(const char *group, const char *number, unsigned weight)
{
    if (weight == WEIGHT_REST)
        clear_weight(group, number);
}

/* How many have been moved: the kernel's own threads stay, and so does who cannot be. */
static int move_from_root(void)
{
    const int fd = openat(root, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    FILE *members = fd < 0 ? NULL : fdopen(fd, "r");
    char text[16];
    int id, moved = 0;
    while (members != NULL && fscanf(members, "%d", &id) == 1) {
        struct identity identity;
        if (id <= 0 || !thread_look((pid_t)id, &identity) || identity.kernel)
            continue;
        snprintf(text, sizeof text, "%d", id);
        moved += group_write(root, rest, "cgroup.procs", text);
    }
    if (members != NULL)
        fclose(members);
    return moved;
}

static bool make_top(char *reason)
{
    char value[VALUE_BYTES];
    if (version == CGROUPS_V2 && (!group_read(root, ".", "cgroup.subtree_control", value, sizeof value) || strstr(value, "io") == NULL)) {
        if (!put(".", "cgroup.subtree_control", "+io", reason) || !make(top, reason))
            return false;
        const int fd = openat(root, top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)fsetxattr(fd, enabled, "1", 1, 0);
        close(fd);
    }
    return make(top, reason) && (version != CGROUPS_V2 || put(top, "cgroup.subtree_control", "+io", reason)) && make(rest, reason);
}

bool groups_begin(const char *number, char reason[static GROUPS_REASON])
{
    if (!make_top(reason) || !put_weight(top, number, WEIGHT_MOST, reason) || !each_rival(number, step_back))
        return false;
    for (int i = 0; i < ROUNDS && move_from_root() > 0; i++)
        ; /* those that were started meanwhile */
    return true;
}

void groups_end(const char *number)
{
    (void)each_rival(number, step_forth);
    clear_weight(top, number);
}

/* ---- reservations ---- */

static char *path_of(uint16_t class, char path[static PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/c%u", top, class);
    return path;
}

bool groups_class(uint16_t class, const char *number, uint64_t rate, uint64_t block, uint64_t share, char reason[static GROUPS_REASON])
{
    char path[PATH_BYTES];
    const uint64_t bytes = rate + rate / 4 + 1, blocks = bytes / block + SLICES, weight = share / (ONE_CPU / WEIGHT_MOST);
    (void)each_rival(number, step_back); /* there may be new ones */
    return make(path_of(class, path), reason) && put_limits(path, number, bytes, blocks, reason) &&
           put_weight(path, number, weight == 0 ? 1 : weight > WEIGHT_MOST ? WEIGHT_MOST : (unsigned)weight, reason);
}

static bool get_former(const char *path, char group[static GROUP_BYTES])
{
    const int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : fgetxattr(fd, former, group, GROUP_BYTES - 1);
    if (fd >= 0)
        close(fd);
    group[got < 0 ? 0 : got] = '\0';
    return got > 0;
}

static bool set_former(const char *path, const char *group)
{
    const int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const bool good = fd >= 0 && fsetxattr(fd, former, group, strlen(group), 0) == 0;
    const int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return good;
}

/* Whoever came from nowhere that is known is one of everything else. */
static bool empty(const char *path)
{
    char group[GROUP_BYTES];
    if (get_former(path, group) && group_return(version, root, path, group))
        return true;
    return group_empty(version, root, path, rest);
}

static bool drop(const char *path, char *reason)
{
    if (faccessat(root, path, F_OK, 0) != 0 && errno == ENOENT)
        return true;
    return (empty(path) && unlinkat(root, path, AT_REMOVEDIR) == 0) || no(reason, path);
}

bool groups_drop(uint16_t class, char reason[static GROUPS_REASON])
{
    char path[PATH_BYTES];
    return drop(path_of(class, path), reason);
}

bool groups_settle(bool (*keep)(uint16_t class), char reason[static GROUPS_REASON])
{
    bool good = true;
    const int fd = openat(root, top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL)
        return errno == ENOENT || no(reason, top);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        uint64_t class;
        if (entry->d_name[0] == 'c' && parse_number(entry->d_name + 1, CLASS_MOST, &class) && (keep == NULL || !keep((uint16_t)class)))
            good = groups_drop((uint16_t)class, reason) && good;
    }
    closedir(directory);
    return good;
}

bool groups_dissolve(char reason[static GROUPS_REASON])
{
    const int fd = openat(root, top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char value[4];
    const bool was_enabled = fd >= 0 && fgetxattr(fd, enabled, value, sizeof value) > 0;
    if (fd >= 0)
        close(fd);
    bool good = groups_settle(NULL, reason);
    if (faccessat(root, rest, F_OK, 0) == 0)
        good = ((group_empty(version, root, rest, ".") && unlinkat(root, rest, AT_REMOVEDIR) == 0) || no(reason, rest)) && good;
    good = (unlinkat(root, top, AT_REMOVEDIR) == 0 || errno == ENOENT || no(reason, top)) && good;
    if (was_enabled)
        (void)group_write(root, ".", "cgroup.subtree_control", "-io"); /* others may use it by now */
    return good;
}

/* ---- processes ---- */

/* A process of another reservation comes from where that one's came from. */
static bool note_former(const char *path, const char *now)
{
    char there[GROUP_BYTES], prefix[PATH_BYTES];
    if (get_former(path, there))
        return true;
    const int length = snprintf(prefix, sizeof prefix, "/%s/c", top);
    if (strncmp(now, prefix, (size_t)length) == 0)
        return set_former(path, get_former(now + 1, there) ? there : "/rtf-disk-rest");
    return set_former(path, now);
}

enum binding groups_bind(uint16_t class, pid_t tid, uint64_t started_by, uid_t owner, char reason[static GROUPS_REASON])
{
    char path[PATH_BYTES], now[GROUP_BYTES], own[PATH_BYTES + 1], text[16];
    struct identity identity;
    if (!thread_identify(tid, &identity) || identity.ended || !thread_is(tid, started_by))
        return BINDING_GONE;
    if (identity.kernel || identity.real_uid != owner || identity.effective_uid != owner || identity.saved_uid != owner) {
        snprintf(reason, GROUPS_REASON, "thread %d is not its user's own", (int)tid);
        return BINDING_REFUSED;
    }
    snprintf(own, sizeof own, "/%s", path_of(class, path));
    if (!thread_group(version, "blkio", identity.process, now)) {
        if (errno == ESRCH || errno == ENOENT)
            return BINDING_GONE;
        (void)no(reason, "of the process");
        return BINDING_REFUSED;
    }
    if (strcmp(now, own) == 0)
        return BOUND;
    snprintf(text, sizeof text, "%d", (int)identity.process);
    if (!note_former(path, now) || !group_write(root, path, "cgroup.procs", text)) {
        if (errno == ESRCH)
            return BINDING_GONE;
        (void)no(reason, path);
        return BINDING_REFUSED;
    }
    if (thread_is(tid, started_by))
        return BOUND;
    (void)empty(path); /* the id may be somebody else's by now */
    return BINDING_GONE;
}

enum binding groups_unbind(uint16_t class, char reason[static GROUPS_REASON])
{
    char path[PATH_BYTES];
    if (faccessat(root, path_of(class, path), F_OK, 0) != 0)
        return BOUND;
    if (!empty(path)) {
        (void)no(reason, path);
        return BINDING_REFUSED;
    }
    const int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        (void)fremovexattr(fd, former);
        close(fd);
    }
    return BOUND;
}
