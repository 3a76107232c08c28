/* The two ends of the broker's life: taking up what state/ says was in force, and laying it down. */
#ifndef RTF_RECOVER_H
#define RTF_RECOVER_H

#include <stdbool.h>

#include "allocators.h"
#include "reservation.h"

/* Before allocators_prepare: what they need to know of this. */
struct recorded_state;
void recover_know_raised(const struct recorded_state *state);

/* Takes up the grants and threads of the broker before; the directories of their owners have been adopted. False: *reason. */
bool recover(struct recorded_state *state, char reason[static REASON_BYTES]);

/* At the end of each turn: writes the journal anew, without what has been superseded, when it has grown too much of
 * that, and with what it lacks when a record could not be appended; if that fails, again a second later. */
void journal_tidy(void);

/* SIGTERM: every thread gets its former attributes back, and the kernel its settings; reservations and grants stay
 * in state/ for the next start. SIGINT: all stays in force. */
void lay_down(void);
void leave_in_force(void);

/* Only the kernel-wide setting, after a broker that did not come to it: rtf-brokerd --put-back. */
bool put_back_kernel(allocators_path *path, char reason[static REASON_BYTES]);

/* Of a spool that is not there any more: what the machine's record says of the limit (rt-limit.h). */
bool put_back_limit(char reason[static REASON_BYTES]);

#endif
