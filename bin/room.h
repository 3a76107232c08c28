/* Waits until there is room for a spec. A dry run asks the broker at the beginning, and again
 * whenever the broker's reservations have changed. */
#ifndef RTF_ROOM_H
#define RTF_ROOM_H

#include "client.h"

/* Waits until the broker would grant the user's spec NAME now, or would refuse it whatever capacity
 * becomes free. Returns CLIENT_OK with the verdict of the last dry run, which client_free_verdict
 * frees. `until` is a time of client_until. The client is connected (client_connect) and has
 * entered (client_enter). SIGINT, SIGTERM and SIGHUP end this process only after the dry run is out
 * of the spool. */
enum client_outcome client_wait_for_room(struct client *client, const char *name, int64_t until,
                                         struct client_verdict *verdict);

#endif
