/* Starts and ends the broker's children: attach helper, guard, adopter, readers, log writer, writer
 * of status.json, account lookup, plugins.
 *
 * A broker that started its children itself would need each privilege that a child needs. So the
 * broker forks the launcher before the broker gives up its privileges. The launcher keeps the
 * privileges. It knows the programs of all children, and obeys only orders such as "start child 3,
 * with these descriptors" and "end child 3". Only the broker can talk to the launcher. The launcher
 * ends with the broker, however the broker ends. */
#ifndef RTF_LAUNCHER_H
#define RTF_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop.h"
#include "child-kind.h"

/* Adds a program that can be a child. Call this before launcher_fork. argv[0] is an absolute path;
 * all words are copied. Returns the child's number. */
int launcher_add(enum child_kind kind, char *const argv[], struct identity_to_run_as as);

/* Forks the launcher. With `silent`, the children's standard error goes to /dev/null, because the
 * broker's caller uses its terminal again. `source` becomes ready when launcher_hear has something.
 * False: errno says why. */
bool launcher_fork(bool silent, struct source *source);

/* Starts the child with `in` and `out` as standard input and output, and `keep` >= 0 as descriptor
 * 3. If the child cannot be started, its descriptors are closed at once. False with errno: the
 * launcher is gone. */
bool launcher_start(int child, int in, int out, int keep);

/* Takes a report of the launcher. 1: the report is in *used; 0: no report is there now; -1: the
 * launcher has ended, and no child can be started any more. */
int launcher_hear(struct child_used *used);

/* Ends the child, with all processes that it has started. */
void launcher_end(int child);

/* Starts a reader for a user's directory in this slot, 0 to READERS_MAX - 1, with an inotify
 * instance or -1. The slot is free again after launcher_end_reader. False with errno: the launcher
 * is gone. */
bool launcher_start_reader(int slot, uid_t uid, int socket, int directory, int inotify);
void launcher_end_reader(int slot);

/* Has the broker and all children except the guard run on this CPU, also children that start later;
 * -1: on the CPUs that the broker had at the fork. The launcher does this soon after the call. A
 * call with the same CPU again does nothing. */
void launcher_place(int cpu);

/* Ends all children and the launcher. On return they have ended, or are about to end. */
void launcher_stop(void);

#endif
