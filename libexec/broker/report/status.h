/* status.json in the spool, for whoever watches a machine: what the broker is, its plugins, what of each pool is used (rtf-status(5)). Of all
 * together: nothing in it tells who has something.
 *
 * It is written by a process of its own, rtf-publisher, for the broker opens no file there, and no disk keeps it waiting. Who changes the books does
 * no more than that: once in a turn it is looked whether they are as they were told, and at most once in a second they are told anew. While
 * nothing changes no timer is set. */
#ifndef RTF_STATUS_H
#define RTF_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Before the launcher is forked: tells it about the program. Members of the group may read the file. It names `directory`, which has
 * plugins.conf and acl.conf. */
void status_prepare(const char *program, gid_t group, const char *directory);

/* Starts it, and tells what is true now. False: the launcher is gone. */
bool status_start(void);

/* Nothing that was told waits to be written. */
bool status_is_settled(void);

/* Somebody was told that there is no room now. Who waits for room (rtf-wait(1)) asks again at the next file: room that came since is told of, even if
 * all is as the last file has it. */
void status_refused(void);

/* To be called before the broker waits. */
void status_notice(void);

/* Rules were read again: the file tells them at once, because the administrator is about to ask. */
void status_hurry(void);

/* The broker ends: waits, but not for long, until the file says so. */
void status_end(void);

#endif
