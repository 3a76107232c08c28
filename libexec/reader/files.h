/* The files in one user's directory, handled with his rights.
 *
 * They are his, and may be anything. Each is opened beneath the directory without following links or mounts
 * and without waiting, and judged by what was opened: a regular file of the directory's owner, at most 64
 * KiB, that no writer has open. A read lease tells the last and holds writers off while it is read. */
#ifndef RTF_READER_FILES_H
#define RTF_READER_FILES_H

#include <limits.h>
#include <stdint.h>

#include "snapshot.h"

/* The directory is the working directory. Whose it is. Before the first file: learns how finely its file system tells times. */
void files_begin(uid_t uid);

/* NAME.ending, as a reservation may be called: its name. */
bool name_without(const char *file, const char *ending, char name[static 256]);
const char *file_name(char joined[static NAME_MAX + 1], const char *name, const char *ending);

/* Beneath the directory, without following links or mounts; -1. */
int open_plain(const char *file, uint64_t flags);

/* Names that only answers and unfinished writing have. */
bool is_silent(const char *file);

/* DONE: *file says what is there. BUSY: a writer has it open, and its closing will be an event. UNSEEN: for a reason that has nothing to do with
 * it (no memory, no descriptors, a bad disk): to be looked at again. */
enum looked { LOOKED_DONE, LOOKED_BUSY, LOOKED_UNSEEN };

struct content {
    int fd;       /* open; -1 */
    char *text;   /* READ: its bytes, for the caller to free; NULL when it is SAME */
    size_t length;
    bool has_two_names; /* hard links */
};

/* known: a stamp whose content has been told (state SAME); NULL: none. Writes file->reason as "NAME.ending is ...". */
enum looked file_look(const char *name, const char *ending, const struct stamp *known, struct file *file, struct content *content);
void content_close(struct content *content);

/* Without opening it for reading. False: there is none. */
bool file_stamp(const char *name, const char *ending, struct stamp *stamp);

/* The decision that NAME.verdict tells: its modification time, ns; -1 when there is none. */
int64_t verdict_decided(const char *name);

/* Puts the text at NAME.verdict in one instant. 0, or errno. */
int verdict_put(const char *name, const char *text, size_t length, int64_t decided);

/* Removes NAME.ending if it still is as it was judged (NULL: whatever it is), without a race against a new one. */
void file_remove(const char *name, const char *ending, const struct stamp *judged);

/* Opens and closes NAME.json: whoever watches it looks at his verdict again. */
void file_touch(const char *name);

#endif
