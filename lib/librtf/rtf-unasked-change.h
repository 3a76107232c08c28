/* Notices changes of a reservation that this program has not asked for with the handle. */
#ifndef RTF_OWN_REFRESH_H
#define RTF_OWN_REFRESH_H

#include "rtf-own.h"

/* Reads changes of the reservation that no call with this handle has asked for. If nothing has
 * changed, the function makes one system call and takes no lock. */
void own_refresh(struct rtf_spec_own *spec);

/* Reads the verdict if it is newer than the verdict that was read last. The caller holds the spec's
 * lock. */
void own_look_for_changes(struct rtf_spec_own *spec, struct client *client);

#endif
