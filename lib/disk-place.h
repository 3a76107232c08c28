/* Finds the disk of a file. The lookup uses the rights of the caller, so only clients of users and
 * tools of administrators call these functions. The broker's programs must not call them, because a
 * user's path could lead them anywhere. The result is a name that the user could also have
 * typed. */
#ifndef RTF_DISK_PLACE_H
#define RTF_DISK_PLACE_H

#include "disk.h"

enum { DISK_PLACE_REASON = 256 };

enum disk_place {
    /* the file is on no disk of this machine, or the caller may not look; *reason says which */
    DISK_PLACE_NONE,
    /* a device of device mapper or md, which passes data on to other disks: *disk has its name, and
     * *reason says why a claim needs a line in plugins.conf for this device */
    DISK_PLACE_STACKED,
    DISK_PLACE_FOUND
};

/* Finds the disk that the user means. word: the path of a file or device; or a device name such as
 * "sda1", which has no slash and no leading point. */
enum disk_place disk_place(const char *word, char disk[static DISK_NAME_BYTES],
                           char reason[static DISK_PLACE_REASON]);

/* Like disk_place, but finds the disk of a link in /sys, where the kernel lists its devices. sys:
 * the path of /sys. link: "dev/block/8:1" or "class/block/sda1". */
enum disk_place disk_place_of(const char *sys, const char *link, char disk[static DISK_NAME_BYTES],
                              char reason[static DISK_PLACE_REASON]);

#endif
