/* From a reservation's files to a request: a new grant, a change, an attachment, a release, or
 * nothing new (pipeline.h). Changes of the files during a request are looked at afterwards. */
#ifndef RTF_RECONCILE_H
#define RTF_RECONCILE_H

#include "reservation.h"

/* Looks at the reservation's files and begins the next thing that they ask for. Frees a reservation
 * of which nothing is left. */
void reconcile_examine(struct reservation *reservation);

/* The kernel does not show the grant, or may not: the call is made again, after a look at the
 * owner's file, and the owner is told why. */
void reconcile_recover(struct reservation *reservation, enum kind kind, const char *reason);

#endif
