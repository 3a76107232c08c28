/* The sockets `trace` and `why` of the spool, by which users ask for events of their own threads
 * (lib/watch-stream.h). The kernel tells the uid of the process that connects. The broker reads
 * nothing from the process: it refuses with one sentence, or passes the connection on to
 * rtf-watch. */
#ifndef RTF_TRACE_DOOR_H
#define RTF_TRACE_DOOR_H

#include <stdbool.h>

#include "account.h"
#include "reason.h"

/* Call this before the broker gives up privileges. False: *reason says why. */
bool trace_door_open(char reason[static REASON_BYTES]);

/* From now on the broker answers connections, including connections that were made since
 * trace_door_open. False: errno says why. */
bool trace_door_start(void);

/* Call this when the account is known: answers the connections that wait for this account. */
void trace_door_account_known(const struct account *account);

#endif
