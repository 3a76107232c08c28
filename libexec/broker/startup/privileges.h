/* The broker gives up its rights before it reads the first byte that comes from a user. */
#ifndef RTF_PRIVILEGES_H
#define RTF_PRIVILEGES_H

/* From here on the broker may open only its parts of the spool, and for reading the configuration,
 * /proc and /sys. The broker may run no program. Ends the broker if the kernel cannot restrict its
 * rights; without Landlock, the broker only warns that it may open other files. */
void privileges_drop(const char *path, const char *config);

/* Before the first request, the broker also gives up the right to rename and remove files, because
 * such a call waits while a user has the directory locked. */
void privileges_to_serve(void);

#endif
