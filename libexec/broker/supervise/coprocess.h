/* A program beside the broker, which talks paragraphs with it: plugins and the account lookup over
 * two pipes, the attach helper over a socket. Writing never waits: the bytes that a pipe does not
 * take wait in memory until the pipe is ready. supervise.h says when a program is started and
 * ended. */
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
    int child; /* the launcher's number of the program */
    bool running;
    int in,
        out; /* the descriptors to read from and to write to; equal for a socket; -1: closed, or FED */
    bool writing; /* waits for the pipe to take more */
    struct paragraph_input input;
    struct paragraph_output output;
};

/* Starts the child. Its descriptor 0 is one end of a SOCK_SEQPACKET pair; or 0 and 1 are pipes; or
 * 0 is `input` and 1 is a pipe. keep_fd >= 0 stays open in the child. False with errno. */
bool coprocess_start(struct coprocess *coprocess, int child, enum coprocess_talk talk, int input,
                     int keep_fd);

/* Ends the program and all its children, and drops the bytes that were not sent or parsed. */
void coprocess_kill(struct coprocess *coprocess);

/* Sends coprocess->output. False: the program has ended or does not read. */
bool coprocess_flush(struct coprocess *coprocess);

/* Sets whether the loop has a turn when the pipe has room. */
void coprocess_wait_for_room(struct coprocess *coprocess, bool wanted);

/* Sends one datagram with these descriptors. Only for a socket. */
bool coprocess_send_fds(struct coprocess *coprocess, const void *bytes, size_t length,
                        const int *fds, int count);

/* Reads one datagram, if there is one, into coprocess->input. The caller gets the descriptor that
 * came with the datagram, or -1. Only for a socket. False at the end of the input. */
bool coprocess_receive(struct coprocess *coprocess, bool *received, int *fd);

/* Reads the bytes that are there. False at the end of the input. */
bool coprocess_read(struct coprocess *coprocess);

#endif
