/* The broker's data about the reader process of a user, a part of struct user. Only readers.c
 * changes it.
 *
 *     NONE ──► RUNS ──► ENDS ──► NONE     NONE: no reader runs. The inotify instance that the last reader left wakes the broker when files change.
 *                │                        ENDS: the reader had nothing to do and has said that it ends.
 *                ▼                        KILLED: the reader did not answer, or broke the protocol. The next reader starts when the killed reader has ended.
 *             KILLED ──► NONE
 *
 * Readers have a state machine of their own, because supervise.h would need a flag for each of
 * these differences: a reader that has nothing to do ends without a fault; an event in the
 * directory starts a reader; the launcher knows a reader by a slot, which changes; and after a
 * kill, the next reader starts only when the killed reader has certainly ended. */
#ifndef RTF_READER_H
#define RTF_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "loop.h"
#include "paragraph.h"

struct user;

enum reader_state { READER_NONE, READER_RUNS, READER_ENDS, READER_KILLED };

/* Part of struct user. */
struct reader {
    enum reader_state state;
    /* source: the socket; wake: the inotify instance while no reader runs */
    struct source source, wake;
    struct slot *slot;   /* the reader's place in readers.c; NULL: no reader runs */
    int socket, inotify; /* -1: none */
    unsigned life;       /* counts the readers of this user */
    /* writing: the socket is full; scan_owed: the last reader may have lost events */
    bool writing, scan_owed;
    bool has_last_word; /* the broker has sent op=last, because the broker stops */
    int asked;          /* questions without an answer */
    /* in NONE: the time when the next reader starts; in RUNS: the time when an answer is late */
    struct timer timer;
    int64_t started, start_at, pause;
    struct paragraph_input input;
    struct paragraph_output output;
    bool unsent;
    TAILQ_ENTRY(user) of_unsent;
};

/* A file of a user, which the user's reader has open, too. The last close(2) of a file may wait for
 * a file system (FUSE, NFS). While the reader lives, the broker's close(2) is not the last
 * close(2), and does not wait. Afterwards the broker passes the descriptor to the adopter, which
 * may wait. */
struct open_file {
    int fd;        /* -1: none */
    unsigned life; /* the `life` (struct reader) of the reader that has the file open, too */
};

#endif
