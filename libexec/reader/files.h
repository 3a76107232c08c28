/* The files in one user's directory, handled with that user's rights.
 *
 * Attack surface: the files may be anything. Each file is opened beneath the directory, without
 * following links or mounts and without blocking, and then the open file is checked: a regular file
 * that belongs to the directory's owner, of at most 64 KiB, that no writer has open. A read lease
 * finds writers, and holds new ones off while the file is read. */
#ifndef RTF_READER_FILES_H
#define RTF_READER_FILES_H

#include <limits.h>
#include <stdint.h>

#include "snapshot.h"

/* Call this before the other functions. uid: the owner of the working directory. Finds out how fine
 * the timestamps of the file system are. */
void files_begin(uid_t uid);

/* name_without takes the reservation's name NAME from the file name NAME.ending; false: not a valid
 * name. file_name joins the two. */
bool name_without(const char *file, const char *ending, char name[static 256]);
const char *file_name(char joined[static NAME_MAX + 1], const char *name, const char *ending);

/* Opens a file beneath the directory without following links or mounts. Returns a descriptor, or
 * -1: errno says why. */
int open_plain(const char *file, uint64_t flags);

/* True for names of verdicts and of unfinished files, whose events are ignored. */
bool is_silent(const char *file);

/* DONE: *file has the state. BUSY: a writer has the file open; its close will cause an event.
 * UNSEEN: the reader could not look at the file for another reason (no memory, no descriptors, a
 * disk error): try again later. */
enum looked { LOOKED_DONE, LOOKED_BUSY, LOOKED_UNSEEN };

struct content {
    int fd;     /* open; -1: not open */
    char *text; /* FILE_READ: the bytes, which content_close frees; FILE_SAME: NULL */
    size_t length;
    bool has_two_names; /* the file has another hard link */
};

/* Looks at NAME.ending. known: the stamp of a content that was told before; a file that still has
 * this stamp is FILE_SAME; NULL: no content was told. Writes file->reason as "NAME.ending is
 * ...". */
enum looked file_look(const char *name, const char *ending, const struct stamp *known,
                      struct file *file, struct content *content);
void content_close(struct content *content);

/* Reads the stamp without opening the file. False: no such file. */
bool file_stamp(const char *name, const char *ending, struct stamp *stamp);

/* The time of the decision in NAME.verdict, which is the file's modification time, in ns; -1: no
 * such file. */
int64_t verdict_decided(const char *name);

/* Writes NAME.verdict in one atomic step. 0, or errno. */
int verdict_put(const char *name, const char *text, size_t length, int64_t decided);

/* Removes NAME.ending if it still has the stamp with which it was judged (NULL: in any case). A new
 * file that appears meanwhile is not lost. */
void file_remove(const char *name, const char *ending, const struct stamp *judged);

/* Opens and closes NAME.json, so that a client that watches the file looks at its verdict again. */
void file_touch(const char *name);

#endif
