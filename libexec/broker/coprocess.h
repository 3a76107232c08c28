/* A program that the broker keeps running beside itself and talks paragraphs with: plugins and the account
 * lookup over two pipes, the attach helper over a socket. Writing never waits: what a pipe does not take is
 * kept until it is ready. */
#ifndef RTF_COPROCESS_H
#define RTF_COPROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop.h"
#include "paragraph.h"

struct coprocess {
    struct source source;
    int child;              /* the launcher's number for it */
    bool running;
    int in, out;           /* read from, write to; the same for a socket; -1: closed */
    bool socket, writing;  /* writing: waits for the pipe to take more */
    struct paragraph_input input;
    struct paragraph_output output;
};

/* Starts that child. With `socket` its descriptor 0 is one end of a SOCK_SEQPACKET pair, else 0 and 1 are pipes. keep_fd >= 0
 * is left open in it. False with errno. */
bool coprocess_start(struct coprocess *coprocess, int child, bool socket, int keep_fd);

/* Ends it with everything it started, and forgets what was not sent or parsed. */
void coprocess_kill(struct coprocess *coprocess);

/* Sends what has been added to coprocess->output. False: it is gone or not reading. */
bool coprocess_flush(struct coprocess *coprocess);

/* One datagram, with the descriptor fd. Only for a socket. */
bool coprocess_send_fds(struct coprocess *coprocess, const void *bytes, size_t length, const int *fds, int count);

/* One datagram, if there is one, to coprocess->input; the descriptor that came with it, or -1, is the caller's. Only for a
 * socket. False at its end. */
bool coprocess_receive(struct coprocess *coprocess, bool *received, int *fd);

/* Reads what is there. False at its end. */
bool coprocess_read(struct coprocess *coprocess);

#endif
