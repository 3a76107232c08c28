/* What the broker can still do when it reads its first byte from a user. */
#ifndef RTF_PRIVILEGES_H
#define RTF_PRIVILEGES_H

/* Keeps of root's powers what the files of users need, and can open nothing but the spool, the configuration, /proc and
 * /sys, the last two for reading; it can run nothing. Ends the program if that is not to be had. */
void privileges_drop(const char *spool, const char *config);

#endif
