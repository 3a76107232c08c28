/* Notices changes of a reservation that no call with its handle has asked for. */
#ifndef RTF_OWN_REFRESH_H
#define RTF_OWN_REFRESH_H

#include "rtf-own.h"

/* Reads changes that this handle has not asked for. If nothing has changed, makes one system call
 * and takes no lock. */
void own_refresh(struct rtf_spec_own *spec);

/* Reads the verdict if it is newer than the last one. The caller holds the spec's lock. */
void own_look_for_changes(struct rtf_spec_own *spec, struct client *client);

#endif
