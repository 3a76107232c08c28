/* The rights of the broker when it reads the first byte of a user. */
#ifndef RTF_PRIVILEGES_H
#define RTF_PRIVILEGES_H

/* The broker may open its parts of the spool, the configuration, and /proc and /sys for reading,
 * and nothing else. It may run no program. Ends the program if the kernel cannot enforce this. */
void privileges_drop(const char *path, const char *config);

/* Before the first request, the broker also gives up renaming, removing, and making directories: a
 * user who has a directory locked would make it wait. */
void privileges_to_serve(void);

#endif
