/* Room for a spec: asked by dry runs, once at the beginning and once whenever what is reserved has changed. */
#ifndef RTF_ROOM_H
#define RTF_ROOM_H

#include "client.h"

/* Until the spec NAME of one's own would be granted if it were asked for now, or never will be: CLIENT_OK, with the verdict of the last dry run. The
 * client is connected and has entered. Signals that would end us are held back while a dry run is in the spool, and end us then. */
enum client_outcome client_wait_for_room(struct client *client, const char *name, int64_t until, struct client_verdict *verdict);

#endif
