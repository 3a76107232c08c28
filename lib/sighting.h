/* What is there of one reservation's files, NAME.json and NAME.tid, as the reader of their owner's directory tells the broker.
 *
 * The reader has that user's rights and may have been taken over by him: sighting_get checks all that sighting_add has written,
 * and what is wrong there is the end of that reader. Times are ns of CLOCK_REALTIME. */
#ifndef RTF_SIGHTING_H
#define RTF_SIGHTING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "paragraph.h"
#include "spec.h"

/* One state of one file; inode 0 is "no file". fresh: it was read so early that another one can come to have the same time;
 * then the digest of its text tells. */
struct stamp {
    uint64_t inode;
    int64_t changed;
    unsigned digest;
    bool fresh;
};

/* Inode and change time. */
bool stamp_equal(const struct stamp *one, const struct stamp *other);

/* SAME: as it was when its content was told last. BAD: not to be read, or not what it must be; `reason` says what and what is allowed, in a
 * sentence. */
enum file_state { FILE_ABSENT, FILE_BAD, FILE_SAME, FILE_READ };

struct file {
    enum file_state state;
    struct stamp stamp;
    int64_t modified; /* of a NAME.json that was READ: its mtime, ns; 0: not told */
    char reason[REASON_BYTES];
};

/* It is not the state of it that was judged: another one may have come since, and only a digest tells where the times do not. */
bool file_is_another(const struct file *file, const struct stamp *judged);

struct sighting {
    struct file json, tid;
    struct spec spec; /* json READ; its token also when it is BAD */
    pid_t thread;     /* tid READ */
};

void sighting_add(struct paragraph_output *output, const struct sighting *sighting);

/* Whatever it returns, spec_free of sighting->spec is to be called. */
bool sighting_get(const struct paragraph *paragraph, struct sighting *sighting);

/* A stamp alone: KEY_inode, KEY_changed and what else there is of it. */
void stamp_add(struct paragraph_output *output, const char *key, const struct stamp *stamp);
bool stamp_get(const struct paragraph *paragraph, const char *key, struct stamp *stamp);

#endif
