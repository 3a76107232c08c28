/* /run/rtf, for what need not outlive this kernel: the record of scheduling domains, for one.
 *
 * Whoever needs it makes it, and whoever leaves it last takes it away, if nothing is in it. Several brokers may use it at once, and
 * Landlock's rules hold for an inode: under a broker's rules, one that is taken away and made anew would be another. So all who use it
 * have a lock on it. A directory that somebody else has made, such as systemd-tmpfiles(8), stays. */
#ifndef RTF_RUN_DIRECTORY_H
#define RTF_RUN_DIRECTORY_H

#include <sys/stat.h>

#define RUN_DIRECTORY "/run/rtf"

/* The sticky bit says that it is ours, whoever of us made it, and even if that one was killed; it means nothing else where only root
 * can write. And only root can read it: who can, could keep all others from locking it. */
#define RUN_DIRECTORY_MODE (S_ISVTX | 0711)

/* Makes it if need be, and keeps the others from taking it away. A descriptor, or -1 with errno. */
int run_directory_hold(void);

/* The descriptor may be -1. */
void run_directory_leave(int held);

#endif
