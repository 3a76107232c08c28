/* What the broker keeps of the reader of a user, as a part of struct user. Only readers.c changes it.
 *
 *     NONE ──► RUNS ──► ENDS ──► NONE     NONE: nothing to do; the inotify instance that the last one has left tells when that changes.
 *                │                        ENDS: it has said that it ends, and it had nothing to do.
 *                ▼                        KILLED: it did not answer, or talked nonsense; until its end is certain no other is started.
 *             KILLED ──► NONE
 */
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
    struct source source, wake; /* its socket; the inotify instance while it does not run */
    struct slot *slot;          /* readers.c; NULL */
    int socket, inotify;        /* -1 */
    unsigned life;              /* counts the readers of this user */
    bool writing, scan_owed;    /* writing: waits for the socket to take more; scan_owed: events may have been lost with the one before */
    bool has_last_word;         /* op=last has been said */
    int asked;                  /* questions that it has not answered */
    struct timer timer;         /* NONE: to be started then; RUNS: its time to answer */
    int64_t started, start_at, pause;
    struct paragraph_input input;
    struct paragraph_output output;
    bool unsent;
    TAILQ_ENTRY(user) of_unsent;
};

/* A user's file that his reader has open, too. While that lives, closing it here is nothing; after it, who closes it last may have to
 * wait for a file system, and that is left to the adopter. */
struct open_file {
    int fd; /* -1 */
    unsigned life;
};

#endif
