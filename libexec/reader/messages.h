/* Sends events to the broker: paragraphs in datagrams over a SOCK_SEQPACKET socket, which is
 * standard input. Sending may block until the broker reads; this delays only the reader's own
 * user. */
#ifndef RTF_READER_TALK_H
#define RTF_READER_TALK_H

#include "paragraph.h"

enum { DATAGRAM_BYTES = 8192 };

/* Begins a paragraph with event=EVENT. The caller adds lines; messages_end closes the paragraph. */
struct paragraph_output *messages_begin(const char *event);
void messages_end(void);

/* Like messages_end, but sends at once, together with a descriptor, which the caller still owns. */
void messages_end_with(int fd);

/* Sends everything that is buffered. If the broker is gone, the reader exits. */
void messages_flush(void);

#endif
