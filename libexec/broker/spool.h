/* The spool: users' directories and what is in them. Events are hints, the directories are the truth.
 *
 * Every file is a stranger's. It is opened beneath its user's directory without following links or mounts
 * and without waiting, and judged by what was opened: a regular file of the directory's owner, at most 64
 * KiB, that no writer has open. A read lease tells the last and holds writers off while it is read. */
#ifndef RTF_SPOOL_H
#define RTF_SPOOL_H

#include <dirent.h>
#include <sys/stat.h>

#include "wish.h"

enum { FILE_BYTES_MAX = 64 * 1024 };

/* The open directories of the spool. */
struct spool {
    char path[200]; /* as far as it is printable: for people, and to tell one broker from another */
    int root, specs, log, state, stage, alive;
    gid_t group;
};

extern struct spool spool;

/* Makes what is missing, with its owners and modes (spool/manifest), opens it, and locks state/ against a
 * second broker. False: *reason. The lock's descriptor is returned for the helper, which shares it: the next
 * broker starts when both are gone. */
bool spool_open(const char *path, gid_t group, int *lock, char reason[static REASON_BYTES]);

/* Only state/, of a spool that is there, with the lock. 1; 0: there is none; -1: *reason. */
int spool_open_state(const char *path, int *lock, char reason[static REASON_BYTES]);

/* Only now can clients see that a broker is there. */
bool spool_announce(char reason[static REASON_BYTES]);

/* Whenever events are taken from the kernel, `noise` is told first how many of a user's directory there are. */
bool spool_watch(struct source *source, void (*noise)(struct user *user, unsigned events));

/* SPOOL_NOTHING: means nothing, but took its time. */
enum spool_event_kind { SPOOL_DIRECTORY, SPOOL_WISH, SPOOL_OTHER_NAME, SPOOL_NOTHING, SPOOL_OVERFLOW };

struct spool_event {
    enum spool_event_kind kind;
    char name[256];     /* DIRECTORY: something of this name in specs/ came, went or changed; OTHER_NAME; WISH: the wish's, without
                         * its ending */
    struct user *user;  /* WISH, OTHER_NAME, NOTHING */
    struct wish *wish;  /* WISH: set when a writer closed a file that was found busy; else NULL */
    bool newborn;       /* WISH: if there is an empty file, open(2) may not have got to its writing yet */
    unsigned closed;    /* WISH: a writer has closed this one; OF_JSON or OF_TID, or neither */
};

/* The next event; false when there is none for now. A file may be awaited under several names (hard links):
 * each gets its event. */
bool spool_next(struct spool_event *event);

/* ---- directories ---- */

/* Opens specs/NAME. NULL: it is not a directory, or not there; *uid is the owner of what is there and
 * *is_directory what it is; !*exists with another errno than ENOENT: it could not be looked at. The user is watched and
 * entered, not adopted. */
struct user *spool_user_open(const char *name, uid_t *uid, bool *is_directory, bool *exists);
struct user *spool_user_find(const char *name);
void spool_user_close(struct user *user);

/* Whatever happens in its directory is no event until it is watched again. False: it cannot be. */
void spool_user_unwatch(struct user *user);
bool spool_user_watch(struct user *user);

/* Its directory is gone or moved away: nothing is in it any more. It is closed when its wishes are. */
void spool_user_leave(struct user *user);
struct user *spool_users(void);

/* Mode 2700 and the spool's group, whatever it was. */
void spool_user_adopt(struct user *user);

/* Renames what stands in specs/ under a name that is not its owner's, so that it keeps nobody out. */
bool spool_move_aside(const char *name, uid_t uid);

/* ---- files ---- */

/* UNSEEN: for a reason that has nothing to do with it: no memory, no descriptors, a bad disk. */
enum file_state { FILE_ABSENT, FILE_BUSY, FILE_UNSEEN, FILE_BAD, FILE_READ };

struct file {
    enum file_state state;
    int fd;             /* open while the request lasts; -1 */
    struct stamp stamp;
    bool linked;        /* it has another name somewhere, and whatever happens to that changes this stamp */
    char *text;         /* READ: its bytes, for the caller to free */
    size_t length;
    char reason[160];   /* BAD: what it is and what is allowed */
};

/* known: a stamp that need not be read again (state READ, text NULL). */
void spool_file_open(const struct user *user, const char *name, const char *ending, const struct stamp *known, struct file *file);
void spool_file_close(struct file *file);

/* As fstatat without following links; but that would ask a file system that a user has mounted on the name (FUSE), and wait
 * for its answer for ever: this is false with errno EXDEV. Only with ENOENT is it certain that there is nothing. */
bool spool_look(int directory, const char *name, struct stat *status);

/* Inode and change time. */
bool stamp_equal(const struct stamp *one, const struct stamp *other);
struct stamp spool_stamp(const struct user *user, const char *name, const char *ending);

/* The file is BUSY, a writer has it open: its closing will be a SPOOL_WISH event of `wish`. Or it is UNSEEN: it will be looked
 * at until it is not. */
void spool_watch_busy(struct wish *wish, const char *ending, enum file_state state);
void spool_forget_busy(struct wish *wish);

/* The wish itself is going. */
void spool_forget(struct wish *wish);

/* A link to NAME.json that comes or goes elsewhere changes its stamp without an event of the directory: the
 * file itself is watched. False: its stamp is not wish->judged any more. */
bool spool_watch_links(struct wish *wish);

/* The kernel tells of a close before it has taken the writer's right away, so a file may look busy to whoever
 * comes at once, with no event to follow. Such a wish is looked at again after 1, 2, 4 ... 512 ms; then only
 * an event counts, or each 512 ms does, if there can be none. The earliest time, and the next wish that is due. */
int64_t spool_busy_deadline(void);
struct wish *spool_busy_due(int64_t now);

/* Opens and closes NAME.json: whoever watches it looks at his verdict again. */
void spool_touch(const struct user *user, const char *name);

/* Removes user's NAME.ending if it still is as it was judged (NULL: whatever it is), without a race against a
 * new one. */
void spool_remove(const struct user *user, const char *name, const char *ending, const struct stamp *judged);

/* Puts `text` at NAME.verdict, atomically, owned by the user. Its modification time is `decided` (ns), so that a
 * restart can tell whether the last decision was told. False with errno. */
bool spool_put_verdict(const struct user *user, const char *name, const char *text, size_t length, int64_t decided);

/* The decision that NAME.verdict tells, in ns; -1 when there is none. */
int64_t spool_verdict_decided(const struct user *user, const char *name);

/* A directory to be read, for the caller to close; NULL: it cannot be. */
DIR *spool_list(int directory);

/* Calls `each` with the next so many names (-1: all) that may be a wish's, with their endings taken off; a name with several
 * files comes several times, and one of which only the answer is left comes as well. False: there are no more, or, with
 * an errno that is not 0, it broke off. */
bool spool_list_wishes(struct user *user, DIR *listing, int names, void (*each)(struct user *user, const char *name, bool other));
bool spool_list_directories(DIR *listing, int names, void (*each)(const char *name));

#endif
