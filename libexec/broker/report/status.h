/* status.json in the spool, for programs that watch a machine: the broker, its plugins, and how
 * much of each pool is in use (rtf-status(5)). All values are sums: the file does not tell which
 * user has something.
 *
 * rtf-publisher, a process of its own, writes the file: the broker opens no file there, and no disk
 * delays it. After each turn of the loop, the broker compares the books with the last text, and
 * sends a new text at most once a second. While nothing changes, no timer is set. */
#ifndef RTF_STATUS_H
#define RTF_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Tells the launcher about the program, before the launcher is forked. Members of the group may
 * read the file. The file names `directory`, which has plugins.conf and acl.conf. */
void status_prepare(const char *program, gid_t group, const char *directory);

/* Starts the writer, and sends the first text. False: the launcher is gone. */
bool status_start(void);

/* True: the writer has written all texts. */
bool status_is_settled(void);

/* A request was refused for want of room. rtf-wait(1) asks again at the next file, so the next room
 * is reported even if the text is the same as before. */
void status_refused(void);

/* Call it before the broker waits. */
void status_notice(void);

/* The rules were read again: the text goes out at once, because the administrator is about to
 * ask. */
void status_hurry(void);

/* The broker ends: sends the last text and waits for the writer, for a bounded time. */
void status_end(void);

#endif
