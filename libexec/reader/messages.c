#include "messages.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "transient.h"
#include "send-fds.h"

static struct paragraph_output said;
static size_t begun; /* offset of the last paragraph */

static void send_said(size_t length, int fd)
{
    while (!send_with_fd(STDIN_FILENO, said.data, length, fd, MSG_NOSIGNAL))
        if (!is_transient(errno))
            exit(EX_OK); /* the broker is gone */
    paragraph_drop(&said, length);
}

struct paragraph_output *messages_begin(const char *event)
{
    begun = said.length;
    paragraph_add(&said, "event", event);
    return &said;
}

/* Ends the paragraph. If the buffer is longer than a datagram now, sends the paragraphs before this
 * one, because a datagram holds only complete paragraphs. */
void messages_end(void)
{
    paragraph_close(&said);
    if (begun > 0 && said.length > DATAGRAM_BYTES)
        send_said(begun, -1);
}

void messages_end_with(int fd)
{
    paragraph_close(&said);
    if (begun > 0)
        send_said(begun, -1);
    send_said(said.length, fd);
}

void messages_flush(void)
{
    if (said.length > 0)
        send_said(said.length, -1);
}
