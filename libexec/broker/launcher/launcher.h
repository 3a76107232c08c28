/* Starts and ends the broker's children: attach helper, guard, adopter, readers, log writer, writer of status.json, account lookup, plugins.
 *
 * A broker that could start them by itself would need every privilege that one of them needs. So a child of it, forked
 * before it gives its own privileges up, keeps them, and does nothing else: it knows from then on what there is to start,
 * and hears no more than "start child 3, with these descriptors" and "end child 3". Nothing from anybody else reaches it.
 * It ends with the broker, by whatever the broker ends. */
#ifndef RTF_LAUNCHER_H
#define RTF_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop.h"
#include "child-kind.h"

/* argv[0] is an absolute path; all is copied. Before launcher_fork. Returns the child's number. */
int launcher_add(enum child_kind kind, char *const argv[], struct identity_to_run_as as);

/* With `silent`, what children say on standard error goes nowhere: the caller has his terminal back. `source` becomes ready when there
 * is something to hear. False with errno. */
bool launcher_fork(bool silent, struct source *source);

/* Starts the child with these as its standard input and output, `keep` >= 0 as its descriptor 3. What cannot be started ends
 * at once: its descriptors are closed. False with errno: the launcher is gone. */
bool launcher_start(int child, int in, int out, int keep);

/* 1: *used; 0: nothing more now; -1: the launcher has ended, and nothing can be started any more. */
int launcher_hear(struct child_used *used);

/* Ends it, with all that it has started. */
void launcher_end(int child);

/* Starts the CHILD_READER in this slot, from 0 up to READERS_MAX, for a user's directory, with an inotify instance or -1. The slot is free
 * again after launcher_end_reader. False with errno: the launcher is gone. */
bool launcher_start_reader(int slot, uid_t uid, int socket, int directory, int inotify);
void launcher_end_reader(int slot);

/* Has the broker and all children run on this CPU, those too that are started later; -1: wherever the broker might run when the launcher
 * was forked. Soon after; does nothing if that was said before. */
void launcher_place(int cpu);

/* Ends everything, the launcher included; when it returns they have ended, or are about to. */
void launcher_stop(void);

#endif
