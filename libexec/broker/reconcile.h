/* From a reservation's files to a request: a new grant, a change, an attachment, a release, or
 * nothing new (pipeline.h). Changes of the files during a request are looked at afterwards. */
#ifndef RTF_RECONCILE_H
#define RTF_RECONCILE_H

#include "reservation.h"

/* Looks at the reservation's files and begins the next request that they ask for. Frees a
 * reservation without files, grant and thread. */
void reconcile_examine(struct reservation *reservation);

/* The thread does not run as granted, or may not: after a look at the owner's file, the helper
 * applies the grant again. The owner is told `reason`. */
void reconcile_recover(struct reservation *reservation, enum kind kind, const char *reason);

#endif
