/* Opens a file of the configuration, which only root may write (acl.conf(5), rtf-programs(5)). */
#ifndef RTF_ROOTS_FILE_H
#define RTF_ROOTS_FILE_H

#include "reason.h"

/* Returns a descriptor; -1: *reason is a sentence with the path. The file may be a FIFO, which must
 * not keep root waiting. */
int roots_file_open(const char *path, char reason[static REASON_BYTES]);

#endif
