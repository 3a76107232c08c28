/* The start of a broker: takes over the grants and threads of the journal. */
#ifndef RTF_RECOVER_H
#define RTF_RECOVER_H

#include <stdbool.h>

#include "reason.h"

struct recorded_state;

/* Tells allocators.h the former I/O priorities of the journal's threads. Call this before
 * allocators_prepare. */
void recover_know_raised(const struct recorded_state *state);

/* Takes over the grants and threads of the earlier broker. Call this after the adopter has adopted
 * their owners' directories. False: *reason says why. */
bool recover(struct recorded_state *state, char reason[static REASON_BYTES]);

#endif
