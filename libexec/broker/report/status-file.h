/* status.json in the spool, for programs that watch a machine: the broker, its plugins, and how
 * much of each pool is in use (rtf-status(5)). All values are sums, so that the file does not tell
 * which user has which reservation.
 *
 * rtf-publisher, a process of its own, writes the file, so that a slow disk does not delay the
 * broker. After each turn of the loop, the broker looks whether the sums have changed since the
 * last text, and sends a new text at most once a second. While nothing changes, no timer is set. */
#ifndef RTF_STATUS_FILE_H
#define RTF_STATUS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Tells the launcher about the program of the writer. Call this before the launcher is forked.
 * Members of `group` may read the file. The file names `directory`, where plugins.conf and acl.conf
 * are. */
void status_prepare(const char *program, gid_t group, const char *directory);

/* Starts the writer, and sends the first text. False: the writer cannot be started, because the
 * launcher has ended. */
bool status_start(void);

/* True: the writer has answered all texts that the broker has sent. */
bool status_is_settled(void);

/* Call this when a request was refused because there was no room. rtf-wait(1) repeats the request
 * when status.json is written next. So the broker writes the file when room comes free, even if the
 * text has not changed. */
void status_refused(void);

/* Call this after each turn of the loop, before the broker waits for events. */
void status_notice(void);

/* Call this when the access rules were read again: the text is sent at once, because the
 * administrator is about to look at status.json. */
void status_hurry(void);

/* Call this when the broker ends: sends the last text, and waits at most a second for the
 * writer. */
void status_end(void);

#endif
