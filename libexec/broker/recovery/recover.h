/* The start and the end of a broker: the start takes over the grants of the journal, and the end
 * gives threads their former attributes back. */
#ifndef RTF_RECOVER_H
#define RTF_RECOVER_H

#include <stdbool.h>

#include "allocators.h"
#include "reservation.h"

struct recorded_state;

/* Tells allocators.h the former I/O priorities of the journal's threads. Call this before
 * allocators_prepare. */
void recover_know_raised(const struct recorded_state *state);

/* Takes over the grants and threads of the earlier broker. Call this after the adopter has adopted
 * their owners' directories. False: *reason. */
bool recover(struct recorded_state *state, char reason[static REASON_BYTES]);

/* Call this at the end of each turn. Writes the journal anew if most of its records are superseded,
 * or if a record could not be appended. If this fails, tries again a second later. */
void journal_tidy(void);

/* lay_down, at SIGTERM: every thread gets its former attributes back, and the kernel gets its
 * settings back. Reservations and grants stay in the journal for the next start. leave_in_force, at
 * SIGINT: everything stays in force. */
void lay_down(void);
void leave_in_force(void);

/* rtf-brokerd --put-back: restores the kernel-wide settings of a broker that was killed. False:
 * *reason. */
bool put_back_kernel(allocators_path *path, char reason[static REASON_BYTES]);

/* Does the work of put_back_kernel for a spool that does not exist any more: restores only the
 * kernel's settings (kernel-setting.h). */
bool put_back_settings(char reason[static REASON_BYTES]);

#endif
