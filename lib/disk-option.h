/* --disk [DISK:]SIZE[/TIME][,block=SIZE] or [DISK:]background, as commands take it: a claim on a disk, as a spec has it. DISK is a name, or a path of something on it, which is
 * looked up here, with the rights of who types it; sizes, times and names are judged where all specs are. */
#ifndef RTF_DISK_OPTION_H
#define RTF_DISK_OPTION_H

#include <jansson.h>

#include "disk-place.h"

enum { DISK_OPTION_WHY = DISK_PLACE_REASON + 64 };

/* The object behind "disk", the caller's; NULL: *why. In status.json of the spool stands which dm and md may be claimed. */
json_t *disk_option(const char *text, const char *spool, char why[static DISK_OPTION_WHY]);

#endif
