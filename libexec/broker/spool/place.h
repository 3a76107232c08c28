/* Where the journal is. No grant outlives its kernel, so it is in memory, where no disk is waited for: in a directory with a random
 * name beneath /run/rtf. The link state/current of the spool leads there, and stays: the next boot makes the same one again.
 * Where /run is on a disk, or cannot be written, it is in state/ itself, and the link says ".".
 *
 * In the directory, the file `spool` says which link it belongs to, by device, inode and path: so a copy of a spool, with a
 * copy of the link, gets a directory of its own, and one that was moved keeps its. It is locked for as long as its broker lives, and
 * who finds it unlocked, and its spool gone, removes it. */
#ifndef RTF_PLACE_H
#define RTF_PLACE_H

#include <stdbool.h>

#include "reason.h"

/* Sets spool.state, and spool.former where an older journal is to be read, which place_settle then removes. `parent` NULL: the default.
 * After the spool is locked. False: *reason. */
bool place_open(const char *parent, char reason[static REASON_BYTES]);

/* The new journal is complete. False: *reason. */
bool place_settle(char reason[static REASON_BYTES]);

/* Sets spool.state and nothing else: where the journal of a spool is that is not to be served. */
void place_find(void);

/* Nothing is in force, and nothing to be kept. */
void place_leave(void);

/* In the launcher, while the broker waits for its end; `directory` is what spool.state is: the broker may neither rename nor remove. */
void place_end(int directory);

/* "": there is nothing to remove, or to be allowed. */
const char *place_path(void);

/* Of spool.former, where that is not in the spool; "". */
const char *place_former_path(void);

/* Why it is not in memory; NULL: it is, or was not to be. */
const char *place_doubt(void);

#endif
