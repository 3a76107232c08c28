/* Makes and removes /run/rtf, the directory for files that are valid only until the next boot, such
 * as the record of scheduling domains.
 *
 * The first program that uses the directory makes it, and the last program removes it if it is
 * empty. Several brokers may use it at once. A Landlock rule belongs to an inode, so a directory
 * that is removed and made anew would be outside of a running broker's rules. Therefore every
 * program that uses the directory holds a lock on it. A directory made by another program, such as
 * systemd-tmpfiles(8), stays. */
#ifndef RTF_RUN_DIRECTORY_H
#define RTF_RUN_DIRECTORY_H

#include <sys/stat.h>

#define RUN_DIRECTORY "/run/rtf"

/* The sticky bit marks a directory made by rtf, also after the process that made it was killed. In
 * a directory that only root can write, the sticky bit has no other meaning. Only root can read the
 * directory, because a user who could open the directory could also lock it. */
#define RUN_DIRECTORY_MODE (S_ISVTX | 0711)

/* Makes the directory if it is missing, and keeps other programs from removing it. Returns a
 * descriptor; -1: errno says why. */
int run_directory_hold(void);

/* Ends the use of the directory, and removes it if it is empty and nobody else uses it. held: from
 * run_directory_hold; may be -1. */
void run_directory_leave(int held);

#endif
