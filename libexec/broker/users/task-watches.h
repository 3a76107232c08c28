/* Watches of users' processes, for program files (rtf-spec(5)). A user's reader asks for a watch.
 * rtf-tasks (libexec/tasks) watches the processes, and its messages go to this reader. The broker
 * only passes messages on: rtf-tasks itself checks that a watched process belongs to the user. */
#ifndef RTF_TASK_WATCHES_H
#define RTF_TASK_WATCHES_H

#include <stdbool.h>
#include <sys/types.h>

#include "child-kind.h"

struct user;
struct watch_of;

/* Tells the launcher about rtf-tasks, and its uid. Call this before the launcher is forked. */
void task_watches_prepare(char *path, struct identity_to_run_as as);

/* Starts rtf-tasks. False: errno says why. */
bool task_watches_start(void);

/* Begins a watch for the program file `name`, which replaces the present watch for this file. */
void task_watch_begin(struct user *user, const char *name, const struct watch_of *of);

/* Ends the watch for the program file `name`; name == NULL: all watches of the user. */
void task_watch_end(struct user *user, const char *name);

#endif
