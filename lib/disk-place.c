#include "disk-place.h"

#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "reason.h"
#include "name.h"

enum { PATH_BYTES = 4096, NAMES_BYTES = 96 };

#define no(reason, ...) ((void)fault_in(reason, DISK_PLACE_REASON, __VA_ARGS__), DISK_PLACE_NONE)

/* ---- devices in /sys ---- */

static bool has(const char *sys, const char *device, const char *what)
{
    char path[PATH_BYTES];
    return snprintf(path, sizeof path, "%s/%s/%s", sys, device, what) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

/* Writes the names of the disk's parts, such as "sda2 and sdb1", as many as fit. */
static void name_parts(const char *sys, const char *disk, char names[static NAMES_BYTES])
{
    char path[PATH_BYTES];
    size_t length = 0;
    snprintf(path, sizeof path, "%s/class/block/%s/slaves", sys, disk);
    DIR *directory = opendir(path);
    names[0] = '\0';
    for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.' &&
            length + strlen(entry->d_name) + sizeof " and " < NAMES_BYTES)
            length += (size_t)snprintf(names + length, NAMES_BYTES - length, "%s%s",
                                       length == 0 ? "" : " and ", entry->d_name);
    if (directory != NULL)
        closedir(directory);
}

static enum disk_place stacked(const char *sys, const char *disk, char *reason)
{
    char names[NAMES_BYTES];
    name_parts(sys, disk, names);
    (void)no(
        reason,
        "this is on %s, which passes its data on to other disks%s%s: name one of them, or give %s a line in plugins.conf",
        disk, names[0] == '\0' ? "" : ", such as ", names, disk);
    return DISK_PLACE_STACKED;
}

/* Reads the link of the device in /sys. The target of the link ends in the name of the disk,
 * block/sda, or for a partition in block/sda/sda1. */
enum disk_place disk_place_of(const char *sys, const char *link, char disk[static DISK_NAME_BYTES],
                              char reason[static DISK_PLACE_REASON])
{
    char path[PATH_BYTES], target[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", sys, link);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return no(reason, "the kernel lists no such device (%s)", path);
    target[length] = '\0';
    char *name = strrchr(target, '/');
    if (name != NULL && has(sys, link, "partition")) {
        *name = '\0';
        name = strrchr(target, '/');
    }
    name = name == NULL ? target : name + 1;
    if (!name_is_valid(name, strlen(name), DISK_NAME_BYTES - 1))
        return no(reason, "the name of its disk is not valid in a claim");
    snprintf(disk, DISK_NAME_BYTES, "%.31s", name);
    snprintf(path, sizeof path, "class/block/%s", disk);
    return has(sys, path, "dm") || has(sys, path, "md") ? stacked(sys, disk, reason)
                                                        : DISK_PLACE_FOUND;
}

/* ---- paths ---- */

/* Returns the end of a sentence that says where a file system is that is on no disk of this
 * machine. */
static const char *where_instead(long type)
{
    static const char far[] = "on a network file system, whose disk is in another machine";
    static const struct {
        unsigned long type;
        const char *sentence;
    } kinds[] = {
        {NFS_SUPER_MAGIC, far},
        {SMB_SUPER_MAGIC, far},
        {CIFS_SUPER_MAGIC, far},
        {SMB2_SUPER_MAGIC, far},
        {CEPH_SUPER_MAGIC, far},
        {AFS_SUPER_MAGIC, far},
        {AFS_FS_MAGIC, far},
        {CODA_SUPER_MAGIC, far},
        {V9FS_MAGIC, far},
        {TMPFS_MAGIC, "in memory (tmpfs), not on a disk"},
        {RAMFS_MAGIC, "in memory (ramfs), not on a disk"},
        {FUSE_SUPER_MAGIC, "on the file system of a program (FUSE), which has no disk"},
        {BTRFS_SUPER_MAGIC, "on btrfs, which may have several disks: name the disk"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == (unsigned long)type)
            return kinds[i].sentence;
    return "on a file system that has no disk";
}

static enum disk_place place_of_number(dev_t number, char *disk, char *reason)
{
    char link[64];
    snprintf(link, sizeof link, "dev/block/%u:%u", major(number), minor(number));
    return disk_place_of("/sys", link, disk, reason);
}

static enum disk_place place_of_path(const char *path, char *disk, char *reason)
{
    struct stat status;
    struct statfs system;
    if (stat(path, &status) != 0)
        return no(reason, "%s", strerror(errno));
    if (S_ISBLK(status.st_mode))
        return place_of_number(status.st_rdev, disk, reason);
    if (S_ISCHR(status.st_mode))
        return no(reason, "this is a device, but no disk");
    if (statfs(path, &system) != 0)
        return no(reason, "%s", strerror(errno));
    /* The device number of a file on an overlay is refused, because the device may belong to a
     * layer that takes no writes. */
    if (system.f_type == OVERLAYFS_SUPER_MAGIC)
        return no(reason,
                  "this is on an overlay, whose layers may be on several disks: name the disk");
    return major(status.st_dev) == 0 ? no(reason, "this is %s", where_instead(system.f_type))
                                     : place_of_number(status.st_dev, disk, reason);
}

enum disk_place disk_place(const char *word, char disk[static DISK_NAME_BYTES],
                           char reason[static DISK_PLACE_REASON])
{
    char link[64];
    if (word[0] == '.' || strchr(word, '/') != NULL)
        return place_of_path(word, disk, reason);
    if (!name_is_valid(word, strlen(word), DISK_NAME_BYTES - 1))
        return no(reason, "this is neither the name of a disk, such as sda, nor a path");
    snprintf(link, sizeof link, "class/block/%s", word);
    return has("/sys", "class/block", word) ? disk_place_of("/sys", link, disk, reason)
                                            : no(reason, "there is no disk of that name");
}
