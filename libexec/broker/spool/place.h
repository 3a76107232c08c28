/* The directory of the journal: /run/rtf/DEVICE-INODE, named by the device and inode number
 * (hexadecimal) of the spool. No grant outlives a reboot, so the journal is in memory, where the
 * broker waits for no disk. Only root can enter the directory.
 *
 * The spool's state/current is a link to this directory, for root's tools. The link also proves
 * that the journal belongs to this spool: after a spool is removed, another spool may get its inode
 * number. If the link is missing, the directory may belong to an earlier spool, so the broker
 * removes all files in the directory. */
#ifndef RTF_PLACE_H
#define RTF_PLACE_H

#include <stdbool.h>

#include "reason.h"

/* place_journal is the name of the journal. place_journal_new is the name of a new journal until it
 * is complete. The names are constants, because seccomp allows the broker to rename
 * place_journal_new to place_journal, and no other file. */
extern const char place_journal[], place_journal_new[];

/* Makes the directory and the link, locks the directory, and sets spool.state. Call this when the
 * spool is locked. False: *reason says why. */
bool place_open(char reason[static REASON_BYTES]);

/* For a process that does not serve the spool: sets spool.state to the spool's directory, if there
 * is one. */
void place_find(void);

/* Removes the files that only a running broker needs; and the directory, if the journal is empty.
 * The launcher calls this at the end of the broker, because the broker itself may not remove files.
 * `directory` is the launcher's descriptor of the directory. */
void place_end(int directory);

/* Returns the directory's path; "" before place_open. */
const char *place_path(void);

/* A warning for the administrator about the directory; NULL: there is no warning. */
const char *place_doubt(void);

#endif
