/* A program beside the broker, which talks paragraphs with it: plugins and the account lookup over
 * two pipes, the attach helper over a socket. Writing never waits: what a pipe does not take is
 * kept until the pipe is ready. supervise.h says when a program is started and ended. */
#ifndef RTF_COPROCESS_H
#define RTF_COPROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop.h"
#include "paragraph.h"

/* FED: the standard input of the program is a descriptor of the caller, and the broker only reads
 * from the program. */
enum coprocess_talk { COPROCESS_PIPES, COPROCESS_SOCKET, COPROCESS_FED };

struct coprocess {
    struct source source;
    int child; /* the launcher's number for it */
    bool running;
    int in, out;  /* read from, write to; the same for a socket; -1: closed, or FED */
    bool writing; /* waits for the pipe to take more */
    struct paragraph_input input;
    struct paragraph_output output;
};

/* Starts that child. Its descriptor 0 is one end of a SOCK_SEQPACKET pair, or 0 and 1 are pipes, or
 * 0 is `input` and 1 a pipe. keep_fd >= 0 is left open in it. False with errno. */
bool coprocess_start(struct coprocess *coprocess, int child, enum coprocess_talk talk, int input,
                     int keep_fd);

/* Ends it with everything it started, and forgets what was not sent or parsed. */
void coprocess_kill(struct coprocess *coprocess);

/* Sends what has been added to coprocess->output. False: it is gone or not reading. */
bool coprocess_flush(struct coprocess *coprocess);

/* Whether the loop has a turn when there is room. */
void coprocess_wait_for_room(struct coprocess *coprocess, bool wanted);

/* One datagram, with these descriptors. Only for a socket. */
bool coprocess_send_fds(struct coprocess *coprocess, const void *bytes, size_t length,
                        const int *fds, int count);

/* One datagram, if there is one, to coprocess->input; the descriptor that came with it, or -1, is
 * the caller's. Only for a socket. False at its end. */
bool coprocess_receive(struct coprocess *coprocess, bool *received, int *fd);

/* Reads what is there. False at its end. */
bool coprocess_read(struct coprocess *coprocess);

#endif
