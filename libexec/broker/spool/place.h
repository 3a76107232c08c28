/* Where the journal is: the directory /run/rtf/DEVICE-INODE, by the device and inode number (hexadecimal) of the spool. No grant outlives its
 * kernel, so the journal is in memory, where the broker waits for no disk. Only root can enter the directory.
 *
 * The spool's state/current is a link to that directory, for root's tools. It is also the proof that the journal is the spool's own: the
 * inode number of a spool that was removed is given to another directory sooner or later. Without the link, the broker removes what it finds. */
#ifndef RTF_PLACE_H
#define RTF_PLACE_H

#include <stdbool.h>

#include "reason.h"

/* The journal, and the one that is being written anew. Constant, so that seccomp can allow the broker to rename the one to the other and nothing else. */
extern const char place_journal[], place_journal_new[];

/* Makes the directory and the link, locks the directory, and sets spool.state. After the spool is locked. False: *reason. */
bool place_open(char reason[static REASON_BYTES]);

/* Sets spool.state to the directory of a spool that is not to be served, if the spool has one. */
void place_find(void);

/* In the launcher, while the broker waits for its end, for the broker may not remove files. `directory` is a descriptor of spool.state. Removes
 * what only a running broker needs, and all if the journal is empty. */
void place_end(int directory);

/* The directory's path; "" before place_open. */
const char *place_path(void);

/* What the administrator should know of the place; NULL: nothing. */
const char *place_doubt(void);

#endif
