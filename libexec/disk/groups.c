#include "groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "group-limits.h"
#include "thread.h"
#include "units.h"

enum { WEIGHT_MOST = 1000, WEIGHT_REST = 1, PATH_BYTES = 64, VALUE_BYTES = 160, ROUNDS = 16, TRIES = 2, THREADS_MOST = 4096 };

/* The kernel counts in slices of a tenth of a second and allows whole blocks in each: so much more, or what is left of one is lost in each of them. */
enum { SLICES = 10 };

/* Notes on groups are extended attributes: where its first process came from; that its controller is there because of us; that it is to go. */
static const char top[] = "rtf-disk", rest[] = "rtf-disk-rest", former[] = "user.rtf.former", enabled[] = "user.rtf.enabled", leaving[] = "user.rtf.leaving";
static enum cgroups version;
static int root = -1;

/* The first process of a group; 0: it is outside of our pid namespace; -1: there is none. */
static pid_t process_in(const char *group)
{
    char member[16];
    return group_read(root, group, "cgroup.procs", member, sizeof member) && member[0] != '\0' ? (pid_t)atoi(member) : -1;
}

static bool no(char *reason, const char *what)
{
    const int error = errno;
    if (error == EINPROGRESS)
        snprintf(reason, SERVE_REASON, "cgroup %s: process %d does not come to its end, and the group stays until it does", what, (int)process_in(what));
    else
        snprintf(reason, SERVE_REASON, "cgroup %s: %s", what,
                 error == ETIMEDOUT ? "its processes multiply faster than they can be moved, and stay" : strerror(error));
    errno = error;
    return false;
}

bool groups_open(char mount[static GROUP_BYTES], char reason[static SERVE_REASON])
{
    version = cgroups_find("blkio", mount);
    root = version == CGROUPS_NONE ? -1 : open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        snprintf(reason, SERVE_REASON, "this machine has no cgroups for disks mounted (blkio, or io with version 2)");
    return root >= 0;
}

bool groups_are_cpusets(void)
{
    return version == CGROUPS_V2;
}

static bool hold(char reason[static SERVE_REASON])
{
    return way_hold(".groups", reason);
}

/* ---- notes ---- */

/* -1: there is none (ENODATA), no group (ENOENT), or it cannot be read. */
static ssize_t get_note(const char *group, const char *name, char value[static GROUP_BYTES])
{
    const int fd = openat(root, group, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : fgetxattr(fd, name, value, GROUP_BYTES - 1);
    const int error = errno;
    if (fd >= 0)
        close(fd);
    value[got < 0 ? 0 : got] = '\0';
    errno = error;
    return got;
}

static bool set_note(const char *group, const char *name, const char *value)
{
    const int fd = openat(root, group, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const bool good = fd >= 0 && fsetxattr(fd, name, value, strlen(value), 0) == 0;
    const int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return good;
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

static FILE *open_to_read(const char *group, const char *name)
{
    char path[GROUP_BYTES + 256];
    snprintf(path, sizeof path, "%s/%s", group, name);
    const int fd = openat(root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (file == NULL && fd >= 0)
        close(fd);
    return file;
}

static DIR *open_to_list(const char *group)
{
    const int fd = openat(root, group, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL && fd >= 0)
        close(fd);
    return directory;
}

/* The next that is of one disk alone. */
static bool next_weight(FILE *file, char device[static 32], unsigned *weight)
{
    char line[64];
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%31s %u", device, weight) == 2 && strchr(device, ':') != NULL)
            return true;
    return false;
}

/* The group's own for this disk; 0: none. */
static unsigned weight_of(const char *group, const char *number)
{
    char device[32];
    unsigned weight, found = 0;
    FILE *file = open_to_read(group, weight_file());
    while (next_weight(file, device, &weight))
        if (strcmp(device, number) == 0)
            found = weight;
    if (file != NULL)
        fclose(file);
    return found;
}

/* Nobody is promised anything by it any more. The bounds stay: beneath the group of weight 1000 there may be nobody else just now. */
static void belittle(const char *group)
{
    char device[32], ignored[SERVE_REASON];
    unsigned weight;
    FILE *file = open_to_read(group, weight_file());
    while (next_weight(file, device, &weight))
        (void)put_weight(group, device, WEIGHT_REST, ignored);
    if (file != NULL)
        fclose(file);
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
    DIR *directory = open_to_list(".");
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
    char ignored[SERVE_REASON];
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
    FILE *members = open_to_read(".", "cgroup.procs");
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
    if (!make(top, reason))
        return false;
    if (version == CGROUPS_V2 && (!group_read(root, ".", "cgroup.subtree_control", value, sizeof value) || strstr(value, "io") == NULL) &&
        ((!set_note(top, enabled, "1") && !no(reason, top)) || !put(".", "cgroup.subtree_control", "+io", reason)))
        return false;
    return (version != CGROUPS_V2 || put(top, "cgroup.subtree_control", "+io", reason)) && make(rest, reason);
}

static bool begin(const char *number, char reason[static SERVE_REASON])
{
    if (!make_top(reason) || !put_weight(top, number, WEIGHT_MOST, reason) || !each_rival(number, step_back))
        return false;
    for (int i = 0; i < ROUNDS && move_from_root() > 0; i++)
        ; /* those that were started meanwhile */
    return true;
}

static void end(const char *number)
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

/* A process starts others: it is let go with them, to where it came from. If that is unknown or gone, they go to the group of
 * everything else. */
static bool empty(const char *path)
{
    char group[GROUP_BYTES];
    if (get_note(path, former, group) <= 0)
        return errno == ENODATA && group_empty(version, root, path, rest);
    const char *to = group[1] == '\0' ? "." : group + 1;
    for (int i = 0; i < TRIES; i++) {
        if (group_empty(version, root, path, to))
            return true;
        if (errno == ETIMEDOUT || errno == EINPROGRESS)
            return false;
    }
    return group_return(version, root, path, group) || (errno == ENOENT && group_empty(version, root, path, rest));
}

/* Only the kernel knows whether a process that is ending still keeps the group. */
static bool remove_group(const char *path, bool is_empty)
{
    const int error = errno;
    if ((is_empty || error == EINPROGRESS) && unlinkat(root, path, AT_REMOVEDIR) == 0)
        return true;
    if (!is_empty)
        errno = error;
    return false;
}

static bool is_there(const char *path)
{
    return faccessat(root, path, F_OK, 0) == 0 || errno != ENOENT;
}

/* Those that could not be emptied: they go when their processes have ended. Further ones go with the next settlement. */
static uint16_t left[64];
static unsigned left_count;

static void sweep(void)
{
    char path[PATH_BYTES], note[GROUP_BYTES];
    for (unsigned i = left_count; i-- > 0;)
        if (get_note(path_of(left[i], path), leaving, note) < 0 || unlinkat(root, path, AT_REMOVEDIR) == 0)
            left[i] = left[--left_count];
}

static bool drop(uint16_t class, char reason[static SERVE_REASON])
{
    char path[PATH_BYTES];
    sweep();
    if (!is_there(path_of(class, path)) || (set_note(path, leaving, "1") && remove_group(path, empty(path))))
        return true;
    const int error = errno;
    belittle(path);
    if (left_count < sizeof left / sizeof *left)
        left[left_count++] = class;
    errno = error;
    return no(reason, path);
}

/* Nobody may have one with somebody else still in it. */
static bool make_class(uint16_t class, const char *path, char *reason)
{
    char note[GROUP_BYTES];
    if (get_note(path, leaving, note) >= 0)
        return drop(class, reason) && make(path, reason);
    return errno == ENODATA || errno == ENOENT ? make(path, reason) : no(reason, path);
}

static bool add(uint16_t class, const char *number, uint64_t rate, uint64_t block, uint64_t share, char reason[static SERVE_REASON])
{
    char path[PATH_BYTES];
    const uint64_t bytes = rate + rate / 4 + 1, blocks = bytes / block + SLICES, weight = share / (ONE_CPU / WEIGHT_MOST);
    sweep();
    (void)each_rival(number, step_back); /* there may be new ones */
    return make_class(class, path_of(class, path), reason) && put_limits(path, number, bytes, blocks, reason) &&
           put_weight(path, number, weight == 0 ? 1 : weight > WEIGHT_MOST ? WEIGHT_MOST : (unsigned)weight, reason);
}

/* A process may never end, such as one that waits for its own FUSE file system. It has no weight any more, the message names it, and its group does not keep
 * rtf-disk from ending. */
static bool stays;

static bool may_stay(char *reason)
{
    if (errno != EINPROGRESS)
        return false;
    fprintf(stderr, "rtf-disk: %s\n", reason);
    stays = true;
    return true;
}

static bool settle(bool (*keep)(uint16_t class), char reason[static SERVE_REASON])
{
    bool good = true;
    const struct dirent *entry;
    DIR *directory = open_to_list(top);
    if (directory == NULL)
        return errno == ENOENT || no(reason, top);
    while (errno = 0, (entry = readdir(directory)) != NULL) {
        uint64_t class;
        if (entry->d_name[0] == 'c' && parse_number(entry->d_name + 1, CLASS_MOST, &class) && (keep == NULL || !keep((uint16_t)class)))
            good = (drop((uint16_t)class, reason) || (keep == NULL && may_stay(reason))) && good;
    }
    good = (errno == 0 || no(reason, top)) && good;
    closedir(directory);
    return good;
}

static bool is_blocked(const char *group)
{
    struct identity identity;
    const pid_t process = process_in(group);
    return process > 0 && thread_look(process, &identity) && !identity.runnable;
}

/* A process that is ending is not moved any more, and counts until it has ended, which takes as long as it takes to get CPU time for that: SCHED_IDLE
 * beside endless loops, say. Moments are left for it; the broker does not wait longer than 5 s for an answer. A process that needs no CPU may never end.
 * rtf-disk waits BLOCKED moments for one: a process that ends may wait without a CPU for a moment, too, for reads of a slow disk or a grace period of RCU. */
static bool remove_rest(void)
{
    enum { MOMENTS = 10, BLOCKED = 6, MOMENT = 50 /* ms */ };
    int error = EINPROGRESS;
    for (int i = 0, blocked = 0; i < MOMENTS && blocked < BLOCKED; i++) {
        if (i > 0)
            (void)poll(NULL, 0, MOMENT);
        if (remove_group(rest, group_empty(version, root, rest, ".")))
            return true;
        error = errno;
        if (error != ETIMEDOUT && error != EBUSY && error != EINPROGRESS)
            return false;
        blocked = error == EINPROGRESS && is_blocked(rest) ? blocked + 1 : 0;
    }
    errno = error;
    return false;
}

static bool dissolve(char reason[static SERVE_REASON])
{
    char note[GROUP_BYTES];
    const bool was_enabled = get_note(top, enabled, note) > 0;
    stays = false;
    bool good = settle(NULL, reason);
    const bool top_stays = stays;
    if (is_there(rest))
        good = (remove_rest() || no(reason, rest) || may_stay(reason)) && good;
    good = (unlinkat(root, top, AT_REMOVEDIR) == 0 || errno == ENOENT || top_stays || !good || no(reason, top)) && good;
    if (was_enabled)
        (void)group_write(root, ".", "cgroup.subtree_control", "-io"); /* others may use it by now */
    return good;
}

/* ---- processes ---- */

/* What stands on an empty group is of one who has gone. A process of another reservation comes from where that one's came from. */
static bool note_former(const char *path, const char *now)
{
    char member[16], there[GROUP_BYTES], prefix[PATH_BYTES];
    if (!group_read(root, path, "cgroup.procs", member, sizeof member))
        return false;
    if (member[0] != '\0' && (get_note(path, former, there) > 0 || errno != ENODATA))
        return there[0] != '\0';
    const int length = snprintf(prefix, sizeof prefix, "/%s/c", top);
    if (strncmp(now, prefix, (size_t)length) != 0)
        return set_note(path, former, now);
    if (get_note(now + 1, former, there) <= 0 && errno != ENODATA)
        return false;
    return set_note(path, former, there[0] != '\0' ? there : "/rtf-disk-rest");
}

/* A process moves as a whole, and a thread of it may be somebody else's: a server's that works for this user, say. */
static enum done check_threads(pid_t process, uid_t owner, char *reason)
{
    char path[32];
    enum done all = DONE;
    unsigned looked = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    if (threads == NULL)
        return way_failed(reason, path);
    for (const struct dirent *entry; all == DONE && (entry = readdir(threads)) != NULL;) {
        struct identity identity = {0};
        uint64_t tid;
        if (!parse_number(entry->d_name, INT32_MAX, &tid))
            continue;
        if (looked++ == THREADS_MOST)
            all = refuse(reason, "its process has more threads than are looked at (4096)");
        else if (!thread_owner(-1, (pid_t)tid, &identity))
            all = errno == ESRCH || errno == ENOENT ? DONE : way_failed(reason, path); /* it ended meanwhile */
        else if (!thread_is_of(&identity, owner))
            all = refuse(reason, "its process has a thread that is not its user's own");
    }
    closedir(threads);
    return all;
}

/* Outside of the frozen group the process would run. */
static bool is_frozen(const char *now)
{
    char line[64];
    unsigned frozen = 0;
    FILE *events = version == CGROUPS_V1 ? NULL : open_to_read(now[1] == '\0' ? "." : now + 1, "cgroup.events");
    while (events != NULL && fgets(line, sizeof line, events) != NULL)
        (void)sscanf(line, "frozen %u", &frozen);
    if (events != NULL)
        fclose(events);
    return frozen != 0;
}

static enum done move(const char *path, const char *now, pid_t process, char *reason)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)process);
    if (version == CGROUPS_V2 && !limits_copy(root, top, path, now, process_in(path) < 0, reason))
        return REFUSED;
    if (!note_former(path, now) || !group_write(root, path, "cgroup.procs", text))
        return errno == ENOENT ? refuse(reason, "its group is gone") : way_failed(reason, path);
    return DONE;
}

static enum done bind(const struct member *member, char reason[static SERVE_REASON])
{
    char path[PATH_BYTES], now[GROUP_BYTES], own[PATH_BYTES + 1];
    struct identity identity;
    enum done done = way_identify(member, true, &identity, reason);
    if (done != DONE)
        return done;
    snprintf(own, sizeof own, "/%s", path_of(member->class, path));
    if (!thread_group(version, "blkio", identity.process, now))
        return way_failed(reason, "cgroup of the process");
    if (strcmp(now, own) == 0)
        return DONE;
    if (member->owner != 0)
        done = check_threads(identity.process, member->owner, reason);
    if (done == DONE && is_frozen(now))
        done = refuse(reason, "its cgroup is frozen");
    if (done == DONE)
        done = move(path, now, identity.process, reason);
    if (done != DONE || thread_is(member->tid, member->started_by))
        return done;
    done = way_failed(reason, "the thread cannot be looked at");
    (void)empty(path); /* the id may be somebody else's by now */
    return done;
}

static enum done unbind(const struct member *member, char reason[static SERVE_REASON])
{
    char path[PATH_BYTES];
    if (!is_there(path_of(member->class, path)) || empty(path))
        return DONE;
    (void)no(reason, path);
    return REFUSED;
}

static const char *const calls[] = {"mkdirat", "unlinkat", "fgetxattr", "fsetxattr", NULL};

/* No power but over the files of cgroups that are their users' own, where processes come from and go back to. */
const struct way by_groups = {.hold = hold, .begin = begin, .end = end, .add = add, .drop = drop, .settle = settle, .dissolve = dissolve, .bind = bind,
                              .unbind = unbind, .power = CAP_DAC_OVERRIDE, .calls = calls};
