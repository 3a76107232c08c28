/* Which disk something lies on. It looks with the rights of whoever calls: for a user's client and for an administrator's tool, and for no part of the
 * broker, where a path of a user's could lead anywhere. What comes of it is a name that the user could have written himself. */
#ifndef RTF_DISK_PLACE_H
#define RTF_DISK_PLACE_H

#include "disk.h"

enum { DISK_PLACE_REASON = 256 };

enum disk_place {
    DISK_PLACE_NONE,    /* none that this machine has, or not to be seen: *reason */
    DISK_PLACE_STACKED, /* dm or md, which hand on what they get: *disk, and *reason why it is no disk for a claim unless a line says so */
    DISK_PLACE_FOUND
};

/* A path of a file or device; or a name such as "sda1", which has no slash and does not begin with a point. */
enum disk_place disk_place(const char *word, char disk[static DISK_NAME_BYTES], char reason[static DISK_PLACE_REASON]);

/* The same by the kernel's list of devices in the directory `sys`, where `link` is the device: "dev/block/8:1" or "class/block/sda1". */
enum disk_place disk_place_of(const char *sys, const char *link, char disk[static DISK_NAME_BYTES], char reason[static DISK_PLACE_REASON]);

#endif
