/* Where the journal is: the directory /run/rtf/DEVICE-INODE, by the device and inode number
 * (hexadecimal) of the spool. No grant outlives its kernel, so the journal is in memory, where the
 * broker waits for no disk. Only root can enter the directory.
 *
 * The spool's state/current is a link to that directory, for root's tools. It is also the proof
 * that the journal is the spool's own: the inode number of a spool that was removed is given to
 * another directory sooner or later. Without the link, the broker removes what it finds. */
#ifndef RTF_PLACE_H
#define RTF_PLACE_H

#include <stdbool.h>

#include "reason.h"

/* The names of the journal, and of a new journal until it is whole. They are constants: seccomp
 * allows the broker to rename the new one to the other, and nothing else. */
extern const char place_journal[], place_journal_new[];

/* Makes the directory and the link, locks the directory, and sets spool.state. Call this after the
 * spool is locked. False: *reason. */
bool place_open(char reason[static REASON_BYTES]);

/* Sets spool.state to the directory of a spool that this process does not serve, if the spool has
 * one. */
void place_find(void);

/* Removes the files that only a running broker needs; and the directory, if the journal is empty.
 * The launcher calls this while the broker waits for the launcher's end, because the broker may not
 * remove files. `directory` is a descriptor of spool.state. */
void place_end(int directory);

/* The directory's path; "" before place_open. */
const char *place_path(void);

/* A warning for the administrator about the directory; NULL: none. */
const char *place_doubt(void);

#endif
