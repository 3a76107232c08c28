/* Opens the spool of --spool. */
#ifndef RTF_OPEN_SPOOL_H
#define RTF_OPEN_SPOOL_H

#include "client.h"

/* If the spool cannot be opened, ends the command with one sentence. */
void open_spool(struct client *client);

#endif
