/* Makes a claim of a spec from the option --disk [DISK:]SIZE[/TIME][,block=SIZE] or --disk
 * [DISK:]background. DISK is a name, or the path of a file on the disk. The path is looked up here,
 * with the rights of the calling user. The broker checks sizes, times and names, as in all
 * specs. */
#ifndef RTF_DISK_OPTION_H
#define RTF_DISK_OPTION_H

#include <jansson.h>

#include "disk-place.h"

enum { DISK_OPTION_WHY = DISK_PLACE_REASON + 64 };

/* Returns the value of the key "disk"; the caller frees it. NULL: *why says what is wrong. spool:
 * the spool whose status.json says which dm and md devices a claim may name. */
json_t *disk_option(const char *text, const char *spool, char why[static DISK_OPTION_WHY]);

#endif
