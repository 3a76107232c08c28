/* Opens a file of the configuration, which only root may write (acl.conf(5), rtf-programs(5)). */
#ifndef RTF_ROOTS_FILE_H
#define RTF_ROOTS_FILE_H

#include "reason.h"

struct stat;

/* True: the file or directory belongs to root, or to the user of this process, and nobody else can
 * write it. */
bool only_root_writes(const struct stat *status);

/* Returns a descriptor; -1: *reason is a sentence with the path. The function never waits, because
 * a FIFO at this path must not hold up a program of root. */
int roots_file_open(const char *path, char reason[static REASON_BYTES]);

#endif
