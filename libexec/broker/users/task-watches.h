/* Watches of users' processes, for program files (rtf-spec(5)). A user's reader asks for a watch,
 * rtf-tasks (libexec/tasks) watches, and its news goes to that reader. The broker decides nothing
 * here: rtf-tasks itself looks at the owner of a process. */
#ifndef RTF_TASK_WATCHES_H
#define RTF_TASK_WATCHES_H

#include <stdbool.h>
#include <sys/types.h>

#include "child-kind.h"

struct user;

/* Tells the launcher about the program and its uid, before the launcher is forked. */
void task_watches_prepare(char *path, struct identity_to_run_as as);

/* False with errno. */
bool task_watches_start(void);

/* Watches the process, or the program if it is not NULL, for the program file of this name, instead
 * of what is watched for it now. */
void task_watch_begin(struct user *user, const char *name, pid_t process, const char *program);

/* name: NULL: all watches of the user. */
void task_watch_end(struct user *user, const char *name);

#endif
