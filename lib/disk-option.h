/* Parses --disk [DISK:]SIZE[/TIME][,block=SIZE] or --disk [DISK:]background into a claim of a spec.
 * DISK is a name, or the path of a file on the disk. The path is looked up here, with the rights of
 * the calling user. The broker checks sizes, times and names, as in all specs. */
#ifndef RTF_DISK_OPTION_H
#define RTF_DISK_OPTION_H

#include <jansson.h>

#include "disk-place.h"

enum { DISK_OPTION_WHY = DISK_PLACE_REASON + 64 };

/* Returns the value of the key "disk"; the caller frees it. NULL: *why says what is wrong. The
 * spool's status.json says which dm and md devices may be claimed. */
json_t *disk_option(const char *text, const char *spool, char why[static DISK_OPTION_WHY]);

#endif
