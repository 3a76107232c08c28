#include "open-spool.h"

#include "command-line.h"

void open_spool(struct client *client)
{
    const enum client_outcome outcome = client_open(client, command_spool());
    if (outcome != CLIENT_OK)
        command_fail(client_status_of_outcome(outcome), "%s", client->why);
}
