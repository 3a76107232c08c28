/* The readers. While a user has files to look at, the user has a reader: a process with the user's
 * rights in the user's directory (libexec/reader). The reader reports the files to the broker, and
 * writes the broker's verdicts. The broker never touches a user's file and never waits for a
 * reader, so that a reader that does not answer delays only its own user.
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

/* A reader asks for a watch of a process, a program or a cgroup. The member for this kind of watch
 * is set, and the other members are 0 or NULL. program: the processes of the user that run the
 * program with this path, one at a time. group: the processes of the user in the cgroup with this
 * path. */
struct watch_of {
    pid_t process;
    const char *program, *group;
};

/* The functions that take the reports of readers. */
struct reader_events {
    /* the files of the reservation `name`; the callee owns *snapshot and `json` */
    void (*files)(struct user *user, const char *name, struct snapshot *snapshot,
                  struct open_file json);
    void (*news)(struct user *user, const char *name);
    void (*odd)(struct user *user, const char *name);
    /* the reader has lost events, so a scan of the directory has to follow */
    void (*overflow)(struct user *user);
    void (*unwritten)(struct user *user, const char *name, const char *request, const char *reason);
    /* a scan begins; since (CLOCK_REALTIME): the reader has written all verdicts that were decided
     * before this time */
    void (*scanning)(struct user *user, int64_t since);
    void (*seen_file)(struct user *user, const char *name, bool is_json, const struct stamp *stamp);
    void (*seen_verdict)(struct user *user, const char *name, int64_t decided);
    void (*scanned)(struct user *user);
    /* the reader asks for a watch for the program file `name` (task-watches.h) */
    void (*watch)(struct user *user, const char *name, const struct watch_of *of);
    /* the reader no longer asks for the watch for `name`; name == NULL: the reader no longer asks
     * for any watch */
    void (*unwatch)(struct user *user, const char *name);
    void (*dispose)(int fd); /* has a descriptor closed by a process that may wait */
    /* the reader has ended without an order or was killed: orders and questions that it has not
     * answered are void, and the next reader begins with a scan */
    void (*lost)(struct user *user, const char *why);
};

/* Tells the launcher about the program of readers, and its uid. Call this before the launcher is
 * forked. */
void readers_prepare(char *path, struct identity_to_run_as as, const struct reader_events *events);

/* reader_init sets up the struct reader of a new user. reader_leave ends the reader of a removed
 * user. */
void reader_init(struct user *user);
void reader_leave(struct user *user);

/* reader_scan has the reader report all files. reader_look has the reader report the files of the
 * reservation `name`; with `whole`, also the content of unchanged files. Both functions start a
 * reader if the user has none. */
void reader_scan(struct user *user);
void reader_look(struct user *user, const char *name, bool whole);

/* The verdict for the reader to write. text: the content of NAME.verdict, one line of printable
 * ASCII. decided (CLOCK_REALTIME, ns): the modification time that the file gets. */
struct told_verdict {
    const char *text;
    size_t length;
    int64_t decided;
    const char *request;
    /* answers: the verdict answers the files that the reader has reported; more: the verdict
     * answers only some of these files, and another verdict follows */
    bool answers, more;
};
void reader_verdict(struct user *user, const char *name, const struct told_verdict *verdict);

/* Passes a message of rtf-tasks about the program file `name` on to the reader. */
void reader_task(struct user *user, const char *name, const struct paragraph *said);

void reader_done(struct user *user, const char *name);

/* Has the reader remove a file of the reservation; file: "json", "tid" or "verdict". judged: the
 * file is removed only if it is still in this state; NULL: in any state. */
void reader_remove(struct user *user, const char *name, const char *file,
                   const struct stamp *judged);

/* The reservation has ended: has the reader remove the verdict. The owner may have removed the
 * verdict already. */
void reader_release(struct user *user, const char *name, const char *why);

/* Kills the reader because of the fault `why`. Another reader starts when this reader has ended. */
void reader_fail(struct user *user, const char *why);

void readers_flush(void);

/* For a broker that stops: sends the remaining orders and op=last. Call this until it returns
 * false: then the reader has carried out all orders, or has ended. */
bool reader_finish(struct user *user);

#endif
