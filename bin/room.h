/* Waits until the broker would grant a spec. Asks the broker with a dry run, at the beginning and
 * after each change of the broker's reservations. */
#ifndef RTF_ROOM_H
#define RTF_ROOM_H

#include "client.h"

/* Waits until the broker would grant the user's spec `name` now, or would refuse it even if all
 * capacity were free. Returns CLIENT_OK with the verdict of the last dry run, which
 * client_free_verdict frees. `until` is a time of client_until. The client is connected
 * (client_connect) and has entered (client_enter). SIGINT, SIGTERM and SIGHUP end this process only
 * after the dry run is removed from the spool. */
enum client_outcome client_wait_for_room(struct client *client, const char *name, int64_t until,
                                         struct client_verdict *verdict);

#endif
