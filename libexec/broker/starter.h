/* Starts and ends the broker's parts: attach helper, account lookup, plugins.
 *
 * A broker that could start them by itself would need every privilege that one of them needs. So a child of it, forked
 * before it gives its own privileges up, keeps them, and does nothing else: it knows from then on what there is to start,
 * and hears no more than "start part 3, with these descriptors" and "end part 3". Nothing from anybody else reaches it.
 * It ends with the broker, by whatever the broker ends. */
#ifndef RTF_STARTER_H
#define RTF_STARTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "loop.h"

struct identity_to_run_as {
    uid_t uid;
    gid_t gid;
};

enum part_kind {
    PART_HELPER, /* root, to confine itself; takes its end by end-of-file, for it may be in the middle of a step */
    PART_LOOKUP, /* unprivileged: a library that is part of the system, and may have to connect to a server */
    PART_PLUGIN, /* unprivileged: anybody's program */
};

/* argv[0] is an absolute path; all is copied. Before starter_fork. Returns the part's number. */
int starter_add(enum part_kind kind, char *const argv[], struct identity_to_run_as as);

/* With `silent`, what parts say on standard error goes nowhere: the caller has his terminal back. When the starter has
 * ended, `source` becomes ready, and nothing can be started any more. False with errno. */
bool starter_fork(bool silent, struct source *source);

/* Starts the part with these as its standard input and output, `keep` >= 0 as its descriptor 3. What cannot be started ends
 * at once: its descriptors are closed. False with errno: the starter is gone. */
bool starter_start(int part, int in, int out, int keep);

/* Ends it, with all that it has started. */
void starter_end(int part);

/* Has the broker and all parts run on this CPU, those too that are started later; -1: wherever the broker might run when the starter
 * was forked. Soon after; does nothing if that was said before. */
void starter_place(int cpu);

/* Ends everything, the starter included; when it returns they have ended, or are about to. */
void starter_stop(void);

#endif
