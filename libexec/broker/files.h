/* The files in users' directories.
 *
 * Every file is a stranger's. It is opened beneath its user's directory without following links or mounts
 * and without waiting, and judged by what was opened: a regular file of the directory's owner, at most 64
 * KiB, that no writer has open. A read lease tells the last and holds writers off while it is read. */
#ifndef RTF_FILES_H
#define RTF_FILES_H

#include <dirent.h>
#include <sys/stat.h>

#include "wish.h"

enum { FILE_BYTES_MAX = 64 * 1024 };

/* Before the first file is read: learns how finely this file system tells times. */
void files_begin(void);

/* ---- names ---- */

/* NAME.ending, as a wish may be called: its name. */
bool wish_of_name(const char *name, const char *ending, char stripped[static 256]);

/* Names that only the broker's own answers and unfinished writing have. */
bool is_silent(const char *name);

const char *file_name(char joined[static NAME_MAX + 1], const char *name, const char *ending);

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
struct stamp spool_stamp(const struct user *user, const char *name, const char *ending, bool *has_other_names); /* NULL: not asked */

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

/* Calls `each` with the next so many names (-1: all): those of wishes' files and answers with their endings taken off, and others
 * that are neither. A name with several files comes several times. False: there are no more, or, with an errno that is not 0, it
 * broke off. */
enum listed { LISTED_JSON, LISTED_TID, LISTED_VERDICT, LISTED_OTHER };
bool spool_list_wishes(struct user *user, DIR *listing, int names, void (*each)(struct user *user, const char *name, enum listed what));
bool spool_list_directories(DIR *listing, int names, void (*each)(const char *name));

/* Opens what is beneath the directory, without following links or mounts. */
int spool_open_plain(int directory, const char *name, uint64_t flags);

#endif
