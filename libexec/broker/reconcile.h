/* What a reservation's files ask for: a new grant, a change, an attachment, a release, or nothing that has not been answered. Each begins a request
 * (pipeline.h). What the files do while one is under way is looked at afterwards. */
#ifndef RTF_RECONCILE_H
#define RTF_RECONCILE_H

#include "reservation.h"

/* Looks at the reservation's files and begins the next thing that they ask for. Frees a reservation of which nothing is left. */
void reconcile_examine(struct reservation *reservation);

/* The kernel does not show, or may not, what the grant says: the call is made again, when the owner's file has been seen, and he is told why. */
void reconcile_recover(struct reservation *reservation, enum kind kind, const char *reason);

#endif
