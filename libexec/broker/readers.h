/* The readers: for each user of whom there is something to do, a process with his rights that looks after his directory (libexec/reader). What the
 * broker knows of files it knows from them, and what it has to say about files goes to them; it never touches one itself, and waits for none
 * of them: a reader that does not answer is its user's trouble.
 *
 *     NONE ──► RUNS ──► ENDS ──► NONE     NONE: nothing to do; the inotify instance that the last one has left tells when that changes.
 *                │                        ENDS: it has said that it ends, and it had nothing to do.
 *                ▼                        KILLED: it did not answer, or talked nonsense; until its end is certain no other is started.
 *             KILLED ──► NONE
 *
 * Times are CLOCK_MONOTONIC, ns. */
#ifndef RTF_READERS_H
#define RTF_READERS_H

#include <bsd/sys/tree.h>
#include <sys/queue.h>

#include "loop.h"
#include "paragraph.h"
#include "sighting.h"
#include "starter.h"

struct user;
struct wish;

enum reader_state { READER_NONE, READER_RUNS, READER_ENDS, READER_KILLED };

/* Part of struct user. */
struct reader {
    enum reader_state state;
    struct source source, wake; /* its socket; the inotify instance while it does not run */
    struct slot *slot;          /* readers.c; NULL */
    int socket, inotify;        /* -1 */
    unsigned life;              /* counts the readers of this user */
    bool writing, scan_owed;    /* writing: waits for the socket to take more; scan_owed: events may have been lost with the one before */
    int asked;                  /* questions that it has not answered */
    int64_t heard, started, start_at, pause;
    struct paragraph_input input;
    struct paragraph_output output;
    bool unsent, resting, owing;
    TAILQ_ENTRY(user) of_unsent, of_owing;
    RB_ENTRY(user) of_resting;
};

/* A user's file that his reader has open, too. While that lives, closing it here is nothing; after it, who closes it last may have to
 * wait for a file system, and that is left to the adopter. */
struct open_file {
    int fd; /* -1 */
    unsigned life;
};
void open_file_close(const struct user *user, struct open_file *file);

/* What they tell; called from reader_receive and readers_expire. */
struct reader_events {
    void (*files)(struct user *user, const char *name, struct sighting *sighting, struct open_file json); /* takes spec and file over */
    void (*news)(struct user *user, const char *name);
    void (*odd)(struct user *user, const char *name);
    void (*overflow)(struct user *user); /* events were lost: a scan follows */
    void (*unwritten)(struct user *user, const char *name, const char *request, const char *reason);
    void (*scanning)(struct user *user, int64_t since); /* what was decided before (CLOCK_REALTIME) had reached it */
    void (*seen_file)(struct user *user, const char *name, bool is_json, const struct stamp *stamp);
    void (*seen_verdict)(struct user *user, const char *name, int64_t decided);
    void (*scanned)(struct user *user);
    void (*lost)(struct user *user, const char *why); /* it has died; what it was told and asked is forgotten, and all is looked at again */
};

/* Before the starter is forked: tells it about the program, and whose uid it has. */
void readers_prepare(char *path, struct identity_to_run_as as, const struct reader_events *events);

/* Of a user who has just been made; and who is gone: all it has is let go. */
void reader_init(struct user *user);
void reader_leave(struct user *user);

/* Each starts a reader if there is none. */
void reader_scan(struct user *user);
void reader_look(struct user *user, const char *name, bool whole);

/* What is to be put at NAME.verdict, as one line of printable ASCII; decided (CLOCK_REALTIME, ns) becomes its modification time. */
struct told_verdict {
    const char *text;
    size_t length;
    int64_t decided;
    const char *request;
    bool answers, more; /* what has been told of the name; in part, and the rest will have another one */
};
void reader_verdict(struct user *user, const char *name, const struct told_verdict *verdict);

void reader_done(struct user *user, const char *name);

/* judged: only if the file is still so; NULL: whatever it is. file: "json", "tid" or "verdict". */
void reader_remove(struct user *user, const char *name, const char *file, const struct stamp *judged);

struct user *user_of_reader(struct source *source);
struct user *user_of_wake(struct source *source);

/* Its socket is ready: takes one datagram, so that nobody who says much has more of the broker's time than others. */
void reader_receive(struct user *user);

/* Something has happened in the directory of a user who has none. */
void reader_wake(struct user *user);

/* What it says makes no sense: it is killed, and another one started. */
void reader_fail(struct user *user, const char *why);

void readers_flush(void);
int64_t readers_deadline(void);
void readers_expire(int64_t now);

#endif
