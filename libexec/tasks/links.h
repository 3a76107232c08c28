/* Reads the link /proc/PID/exe, as the user of the process sees it.
 *
 * The kernel shows the link only to a process that may trace process PID. A process under Landlock
 * may not trace processes outside its own Landlock domain. So a child process without Landlock
 * reads the links: this child takes the uid and gid of the user for file access (setfsuid(2)), and
 * can open no file at all. */
#ifndef RTF_LINKS_H
#define RTF_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Starts the child, which becomes this user. Call this while this process has all its rights.
 * False: errno says why. */
bool links_start(uid_t uid, gid_t gid);

/* Writes the text of the link into `exe`, without a NUL, and returns its length; 0: the user does
 * not see the link, or the text is longer than `size`. */
size_t links_program_of(pid_t process, uid_t uid, gid_t gid, char *exe, size_t size);

#endif
