/* The readers: for each user of whom there is something to do, a process with his rights that looks after his directory (libexec/reader). What the
 * broker knows of files it knows from them, and what it has to say about files goes to them; it never touches one itself, and waits for none
 * of them: a reader that does not answer is its user's trouble.
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

/* What they tell. */
struct reader_events {
    void (*files)(struct user *user, const char *name, struct snapshot *snapshot, struct open_file json); /* takes spec and file over */
    void (*news)(struct user *user, const char *name);
    void (*odd)(struct user *user, const char *name);
    void (*overflow)(struct user *user); /* events were lost: a scan follows */
    void (*unwritten)(struct user *user, const char *name, const char *request, const char *reason);
    void (*scanning)(struct user *user, int64_t since); /* what was decided before (CLOCK_REALTIME) had reached it */
    void (*seen_file)(struct user *user, const char *name, bool is_json, const struct stamp *stamp);
    void (*seen_verdict)(struct user *user, const char *name, int64_t decided);
    void (*scanned)(struct user *user);
    void (*dispose)(int fd);             /* to be closed where nobody waits for that */
    void (*lost)(struct user *user, const char *why); /* it has died; what it was told and asked is forgotten, and all is looked at again */
};

/* Before the launcher is forked: tells it about the program, and whose uid it has. */
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

/* What it held has ended, and so does its verdict; whether the owner has removed that already or not. */
void reader_release(struct user *user, const char *name, const char *why);

/* What it says makes no sense: it is killed, and another one started. */
void reader_fail(struct user *user, const char *why);

void readers_flush(void);

/* When the broker stops: sends what is left, and op=last. False: the reader has done all of it, or is gone. */
bool reader_finish(struct user *user);

#endif
