/* Opens a file of the configuration, which only root may write (acl.conf(5), rtf-programs(5)). */
#ifndef RTF_ROOTS_FILE_H
#define RTF_ROOTS_FILE_H

#include "reason.h"

/* Returns a descriptor; -1: *reason is a sentence with the path. The function never waits, because
 * a FIFO at this path must not hold up a program of root. */
int roots_file_open(const char *path, char reason[static REASON_BYTES]);

#endif
