/* What the reader tells the broker: paragraphs in datagrams over a SOCK_SEQPACKET socket, its standard input. It waits for the
 * broker to take them: who is told more than he can take is not this user's concern. */
#ifndef RTF_READER_TALK_H
#define RTF_READER_TALK_H

#include "paragraph.h"

enum { DATAGRAM_BYTES = 8192 };

/* Begins a paragraph event=EVENT; messages_end closes it. */
struct paragraph_output *messages_begin(const char *event);
void messages_end(void);

/* The same, with a descriptor that stays the caller's; goes out at once. */
void messages_end_with(int fd);

/* Sends what has been said. Without a broker the reader ends. */
void messages_flush(void);

#endif
