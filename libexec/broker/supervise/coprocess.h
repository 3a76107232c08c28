/* A coprocess is a program that the broker has started and exchanges paragraphs (lib/paragraph.h)
 * with. Plugins and the account lookup use two pipes, and the attach helper uses a socket. The
 * broker never waits for a coprocess to read: bytes for which the pipe has no room stay in memory
 * until it has room. supervise.h says when a program is started and ended. */
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
    int child; /* the number by which the launcher knows the program */
    bool running;
    /* the descriptors to read from and to write to; equal for a socket; -1: closed, or `out` of a
     * COPROCESS_FED program */
    int in, out;
    bool writing; /* the loop reports when the pipe or socket has room */
    struct paragraph_input input;
    struct paragraph_output output;
};

/* Starts the child. COPROCESS_SOCKET: the child's descriptor 0 is one end of a SOCK_SEQPACKET pair.
 * COPROCESS_PIPES: its descriptors 0 and 1 are pipes. COPROCESS_FED: 0 is `input`, and 1 is a pipe.
 * A keep_fd >= 0 stays open in the child. False: errno says why. */
bool coprocess_start(struct coprocess *coprocess, int child, enum coprocess_talk talk, int input,
                     int keep_fd);

/* Kills the program and all its children, and drops the bytes that were not yet sent or handled. */
void coprocess_kill(struct coprocess *coprocess);

/* Sends coprocess->output. False: the program has ended or does not read. */
bool coprocess_flush(struct coprocess *coprocess);

/* wanted: the loop calls the source when the pipe or socket has room. */
void coprocess_wait_for_room(struct coprocess *coprocess, bool wanted);

/* Sends one datagram with these descriptors, without waiting. Only for a socket. False: errno says
 * why. */
bool coprocess_send_fds(struct coprocess *coprocess, const void *bytes, size_t length,
                        const int *fds, int count);

/* Reads one datagram, if there is one, into coprocess->input. The caller gets the descriptor that
 * came with the datagram, or -1. *received: there was a datagram. Only for a socket. False: the
 * program has closed the socket. */
bool coprocess_receive(struct coprocess *coprocess, bool *received, int *fd);

/* Reads the bytes that have come, without waiting. False: the program has closed the pipe. */
bool coprocess_read(struct coprocess *coprocess);

#endif
