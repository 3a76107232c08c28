/* The readers. Each user with files to look at has a reader: a process with the user's rights in
 * the user's directory (libexec/reader). The broker learns of files from the reader, and the reader
 * writes the broker's answers. The broker never touches a user's file and never waits for a reader:
 * a reader that does not answer delays its own user only.
 *
 * Times are CLOCK_MONOTONIC, ns. */
#ifndef RTF_READERS_H
#define RTF_READERS_H

#include "reader.h"
#include "snapshot.h"
#include "launcher.h"

struct user;
struct reservation;

void open_file_close(const struct user *user, struct open_file *file);

/* The reports of readers. The broker's stages take them. */
struct reader_events {
    /* the callee owns *snapshot and the file */
    void (*files)(struct user *user, const char *name, struct snapshot *snapshot,
                  struct open_file json);
    void (*news)(struct user *user, const char *name);
    void (*odd)(struct user *user, const char *name);
    void (*overflow)(struct user *user); /* the reader has lost events: a scan follows */
    void (*unwritten)(struct user *user, const char *name, const char *request, const char *reason);
    /* since (CLOCK_REALTIME): the reader has written all verdicts that were decided before */
    void (*scanning)(struct user *user, int64_t since);
    void (*seen_file)(struct user *user, const char *name, bool is_json, const struct stamp *stamp);
    void (*seen_verdict)(struct user *user, const char *name, int64_t decided);
    void (*scanned)(struct user *user);
    /* of a program file NAME.json: the reader wants to hear of the threads of this process of the
     * user, or of this program (task-watches.h) */
    void (*watch)(struct user *user, const char *name, pid_t process, const char *program);
    /* name: NULL: all of them */
    void (*unwatch)(struct user *user, const char *name);
    void (*dispose)(int fd); /* closes a descriptor in a process that may wait */
    /* the reader has died: its orders and questions are forgotten, and the next reader looks at
     * everything */
    void (*lost)(struct user *user, const char *why);
};

/* Tells the launcher about the program and its uid, before the launcher is forked. */
void readers_prepare(char *path, struct identity_to_run_as as, const struct reader_events *events);

/* Sets up the reader of a new user; and frees the reader of a removed user. */
void reader_init(struct user *user);
void reader_leave(struct user *user);

/* Each of these starts a reader if none runs. */
void reader_scan(struct user *user);
void reader_look(struct user *user, const char *name, bool whole);

/* The text of NAME.verdict, one line of printable ASCII. `decided` (CLOCK_REALTIME, ns) becomes its
 * modification time. */
struct told_verdict {
    const char *text;
    size_t length;
    int64_t decided;
    const char *request;
    /* answers: the verdict answers the reported files; more: it answers a part of them, and another
     * verdict follows */
    bool answers, more;
};
void reader_verdict(struct user *user, const char *name, const struct told_verdict *verdict);

/* Passes news of rtf-tasks on, about a program file. */
void reader_task(struct user *user, const char *name, const struct paragraph *said);

void reader_done(struct user *user, const char *name);

/* Has a file removed: "json", "tid" or "verdict". judged: only a file in this state; NULL: in any
 * state. */
void reader_remove(struct user *user, const char *name, const char *file,
                   const struct stamp *judged);

/* The reservation has ended: the verdict goes, even if the owner has removed it already. */
void reader_release(struct user *user, const char *name, const char *why);

/* The reader breaks the protocol: it is killed, and another one starts. */
void reader_fail(struct user *user, const char *why);

void readers_flush(void);

/* Sends the rest and op=last, when the broker stops. False: the reader has done everything, or is
 * gone. */
bool reader_finish(struct user *user);

#endif
