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

enum {
    WEIGHT_MOST = 1000,
    WEIGHT_REST = 1,
    PATH_BYTES = 64,
    VALUE_BYTES = 160,
    ROUNDS = 16,
    TRIES = 2,
    THREADS_MOST = 4096
};

/* The kernel applies a limit to slices of a tenth of a second, and allows only whole blocks in each
 * slice. So the rounding may lose one block in each slice. The limit has SLICES more blocks per
 * second to make up for this. */
enum { SLICES = 10 };

/* The names of groups, and of notes on groups. A note is an extended attribute. `former` names the
 * group from which the first process came. The other notes say that rtf turned on the controller,
 * and that the group is to be removed. */
static const char top[] = "rtf-disk", rest[] = "rtf-disk-rest", former[] = "user.rtf.former",
                  enabled[] = "user.rtf.enabled", leaving[] = "user.rtf.leaving";
static enum cgroups version;
static int root = -1;

/* Returns the first process of a group; 0: this process is outside of our pid namespace; -1: the
 * group has no process. */
static pid_t process_in(const char *group)
{
    char member[16];
    return group_read(root, group, "cgroup.procs", member, sizeof member) && member[0] != '\0'
               ? (pid_t)atoi(member)
               : -1;
}

static bool no(char *reason, const char *what)
{
    const int error = errno;
    if (error == EINPROGRESS)
        snprintf(reason, SERVE_REASON,
                 "cgroup %s: process %d is ending but does not end, and the group stays until then",
                 what, (int)process_in(what));
    else
        snprintf(reason, SERVE_REASON, "cgroup %s: %s", what,
                 error == ETIMEDOUT
                     ? "its processes fork faster than rtf can move them, and stay in the group"
                     : strerror(error));
    errno = error;
    return false;
}

bool groups_open(char mount[static GROUP_BYTES], char reason[static SERVE_REASON])
{
    version = cgroups_find("blkio", mount);
    root = version == CGROUPS_NONE ? -1 : open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        snprintf(reason, SERVE_REASON,
                 "no cgroup hierarchy for disks is mounted (blkio, or io with version 2)");
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

/* Reads a note. -1: errno says why. ENODATA: the group has no such note. ENOENT: there is no such
 * group. Another error: the note cannot be read. */
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

/* Finds the next line "DEVICE WEIGHT" of a weight file, such as "8:0 100". Such a line has the
 * weight for one disk. False: there is no further line. */
static bool next_weight(FILE *file, char device[static 32], unsigned *weight)
{
    char line[64];
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%31s %u", device, weight) == 2 && strchr(device, ':') != NULL)
            return true;
    return false;
}

/* Returns the group's own weight for this disk; 0: the group has no weight of its own. */
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

/* Gives the group the lowest weight, because its reservation has ended. The limits of the group
 * stay: if this group is the only reservation's group, its weight limits nothing. */
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

static bool put_limits(const char *group, const char *number, uint64_t bytes, uint64_t blocks,
                       char *reason)
{
    char value[VALUE_BYTES];
    if (version == CGROUPS_V2) {
        snprintf(value, sizeof value,
                 "%s rbps=%" PRIu64 " wbps=%" PRIu64 " riops=%" PRIu64 " wiops=%" PRIu64, number,
                 bytes, bytes, blocks, blocks);
        return put(group, "io.max", value, reason);
    }
    static const char *const of_bytes[] = {"blkio.throttle.read_bps_device",
                                           "blkio.throttle.write_bps_device"};
    static const char *const of_blocks[] = {"blkio.throttle.read_iops_device",
                                            "blkio.throttle.write_iops_device"};
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

/* Calls do_with for every group in the root that is not rtf's, with the group's own weight on this
 * disk (0: the group has no weight of its own). False: errno says why. */
static bool each_rival(const char *number,
                       void (*do_with)(const char *group, const char *number, unsigned weight))
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

/* Moves processes from the root to the group rtf-disk-rest. Returns how many processes moved.
 * Kernel threads, and processes that cannot be moved, stay. */
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
    if (version == CGROUPS_V2 &&
        (!group_read(root, ".", "cgroup.subtree_control", value, sizeof value) ||
         strstr(value, "io") == NULL) &&
        ((!set_note(top, enabled, "1") && !no(reason, top)) ||
         !put(".", "cgroup.subtree_control", "+io", reason)))
        return false;
    return (version != CGROUPS_V2 || put(top, "cgroup.subtree_control", "+io", reason)) &&
           make(rest, reason);
}

static bool begin(const char *number, char reason[static SERVE_REASON])
{
    if (!make_top(reason) || !put_weight(top, number, WEIGHT_MOST, reason) ||
        !each_rival(number, step_back))
        return false;
    for (int i = 0; i < ROUNDS && move_from_root() > 0; i++)
        ; /* repeats, because processes may have been started meanwhile */
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

/* Moves all processes of the group (a process may have started others) to the group from which the
 * first process came. If this former group is unknown or gone, the processes move to the group
 * rtf-disk-rest. */
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
    return group_return(version, root, path, group) ||
           (errno == ENOENT && group_empty(version, root, path, rest));
}

/* Removes the group. Tries to remove it even if emptying the group failed with EINPROGRESS, because
 * only the kernel knows whether a process that is ending still keeps the group. */
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

/* The classes whose groups could not be emptied. sweep removes a group when its processes have
 * ended. A group that does not fit into the array is removed by the next settle. */
static uint16_t left[64];
static unsigned left_count;

static void sweep(void)
{
    char path[PATH_BYTES], note[GROUP_BYTES];
    for (unsigned i = left_count; i-- > 0;)
        if (get_note(path_of(left[i], path), leaving, note) < 0 ||
            unlinkat(root, path, AT_REMOVEDIR) == 0)
            left[i] = left[--left_count];
}

static bool drop(uint16_t class, char reason[static SERVE_REASON])
{
    char path[PATH_BYTES];
    sweep();
    if (!is_there(path_of(class, path)) ||
        (set_note(path, leaving, "1") && remove_group(path, empty(path))))
        return true;
    const int error = errno;
    belittle(path);
    if (left_count < sizeof left / sizeof *left)
        left[left_count++] = class;
    errno = error;
    return no(reason, path);
}

/* Makes the group of the class. A group that was to be removed is emptied first, because no
 * reservation may share a group with processes of an earlier reservation. */
static bool make_class(uint16_t class, const char *path, char *reason)
{
    char note[GROUP_BYTES];
    if (get_note(path, leaving, note) >= 0)
        return drop(class, reason) && make(path, reason);
    return errno == ENODATA || errno == ENOENT ? make(path, reason) : no(reason, path);
}

static bool add(uint16_t class, const char *number, uint64_t rate, uint64_t block, uint64_t share,
                char reason[static SERVE_REASON])
{
    char path[PATH_BYTES];
    const uint64_t bytes = rate + rate / 4 + 1, blocks = bytes / block + SLICES,
                   weight = share / (ONE_CPU / WEIGHT_MOST);
    sweep();
    /* groups that have appeared since begin() get the weight 1, too */
    (void)each_rival(number, step_back);
    return make_class(class, path_of(class, path), reason) &&
           put_limits(path, number, bytes, blocks, reason) &&
           put_weight(path, number,
                      weight == 0            ? 1
                      : weight > WEIGHT_MOST ? WEIGHT_MOST
                                             : (unsigned)weight,
                      reason);
}

/* True if a group stays because a process in the group does not end. For example, a process that
 * waits for its own FUSE file system may never end. Such a group has the lowest weight, a message
 * names the process, and rtf-disk ends nevertheless. */
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
        if (entry->d_name[0] == 'c' && parse_number(entry->d_name + 1, CLASS_MOST, &class) &&
            (keep == NULL || !keep((uint16_t) class)))
            good = (drop((uint16_t) class, reason) || (keep == NULL && may_stay(reason))) && good;
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

/* Removes the group rtf-disk-rest. A process that is ending can no longer be moved, and stays a
 * member until it has ended. To end, the process needs CPU time, and may get it late (for example
 * if it is SCHED_IDLE beside endless loops). So remove_rest waits MOMENTS times; the broker waits
 * at most 5 s for an answer. A process that is ending and asks for no CPU may never end, so
 * remove_rest waits only BLOCKED times for such a process. It does not wait less, because an ending
 * process may also sleep for a moment, for reads of a slow disk or for an RCU grace period. */
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
    good = (unlinkat(root, top, AT_REMOVEDIR) == 0 || errno == ENOENT || top_stays || !good ||
            no(reason, top)) &&
           good;
    /* if another program uses the controller, this write fails without harm */
    if (was_enabled)
        (void)group_write(root, ".", "cgroup.subtree_control", "-io");
    return good;
}

/* ---- processes ---- */

/* Notes the group from which the process comes. If the group `path` is empty, its note belongs to
 * an earlier process, and is replaced. If the process comes from another reservation's group, the
 * note of that group is copied. */
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

/* Checks that all threads of the process belong to the user, because the whole process moves. A
 * server, for example, may have threads that work for different users. */
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
            all = refuse(reason, "the process of this thread has more than 4096 threads");
        /* the thread may have ended meanwhile; then it does not count */
        else if (!thread_owner(-1, (pid_t)tid, &identity))
            all = errno == ESRCH || errno == ENOENT ? DONE : way_failed(reason, path);
        else if (!thread_is_of(&identity, owner))
            all = refuse(reason,
                         "the process of this thread has a thread that the user does not own");
    }
    closedir(threads);
    return all;
}

/* True if the group of the process is frozen. A move out of a frozen group would make the process
 * run again. */
static bool is_frozen(const char *now)
{
    char line[64];
    unsigned frozen = 0;
    FILE *events = version == CGROUPS_V1
                       ? NULL
                       : open_to_read(now[1] == '\0' ? "." : now + 1, "cgroup.events");
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
        return errno == ENOENT ? refuse(reason, "the reservation's group is gone")
                               : way_failed(reason, path);
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
        done = refuse(reason, "the cgroup of the process is frozen");
    if (done == DONE)
        done = move(path, now, identity.process, reason);
    if (done != DONE || thread_is(member->tid, member->started_by))
        return done;
    done = way_failed(reason, "the thread's state cannot be read");
    /* moves the processes back, because the id may belong to another thread by now */
    (void)empty(path);
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

/* rtf-disk needs CAP_DAC_OVERRIDE to write the files of users' own cgroups, from which processes
 * come and to which they return. */
const struct way by_groups = {.hold = hold,
                              .begin = begin,
                              .end = end,
                              .add = add,
                              .drop = drop,
                              .settle = settle,
                              .dissolve = dissolve,
                              .bind = bind,
                              .unbind = unbind,
                              .power = CAP_DAC_OVERRIDE,
                              .calls = "mkdirat unlinkat fgetxattr fsetxattr"};
