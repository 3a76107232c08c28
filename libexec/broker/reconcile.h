/* Finds the request that a reservation's files ask for: a new grant, a change, an attachment, a
 * release, or nothing new (pipeline.h). If the files change during a request, the broker looks at
 * them after the request. */
#ifndef RTF_RECONCILE_H
#define RTF_RECONCILE_H

#include "reservation.h"

/* Looks at the reservation's files and begins the next request that they ask for. Frees a
 * reservation without files, grant and thread. */
void reconcile_examine(struct reservation *reservation);

/* Call this when the thread does not run as granted, or when the broker cannot be sure that it
 * does. When the reader has reported the owner's file, the helper applies the grant again. The
 * verdict gives `reason`. */
void reconcile_recover(struct reservation *reservation, enum kind kind, const char *reason);

#endif
