/* The state of one reservation's files, NAME.json and NAME.tid, as a user's reader (rtf-reader)
 * reports it to the broker.
 *
 * The reader has the user's rights, and the user may have taken the reader over. So snapshot_get
 * checks everything that snapshot_add writes; after a fault the broker ends the reader. Times are
 * ns of CLOCK_REALTIME. */
#ifndef RTF_SNAPSHOT_H
#define RTF_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "paragraph.h"
#include "spec.h"

/* Identifies one state of one file; inode 0: no file. fresh: the file was read so soon after its
 * change that a later change can have the same time. Then only the digest of the text shows whether
 * the file has changed. */
struct stamp {
    uint64_t inode;
    int64_t changed;
    unsigned digest;
    bool fresh;
};

/* Compares inode and change time. */
bool stamp_equal(const struct stamp *one, const struct stamp *other);

/* SAME: the file is unchanged since the reader last reported its content. BAD: the file is
 * unreadable or invalid; `reason` is a sentence that says what is wrong and what is allowed. */
enum file_state { FILE_ABSENT, FILE_BAD, FILE_SAME, FILE_READ };

struct file {
    enum file_state state;
    struct stamp stamp;
    int64_t modified; /* the modification time of a NAME.json that was READ; 0: not reported */
    char reason[REASON_BYTES];
};

/* True if the file has changed since the state `judged` was recorded. If the change times are
 * equal, the digest decides. */
bool file_is_another(const struct file *file, const struct stamp *judged);

struct snapshot {
    struct file json, tid;
    /* the spec in NAME.json, if the state of NAME.json is READ; if BAD, only the token is set */
    struct spec spec;
    pid_t thread; /* the thread in NAME.tid, if the state of NAME.tid is READ */
    /* the id in NAME.tid if the reader cannot find the thread with this id (then `thread` is
     * TID_MAX, which no thread has); else 0 */
    pid_t thread_unseen;
};

void snapshot_add(struct paragraph_output *output, const struct snapshot *snapshot);

/* The caller frees snapshot->spec with spec_free, whatever the result. */
bool snapshot_get(const struct paragraph *paragraph, struct snapshot *snapshot);

/* stamp_add writes one stamp, and stamp_get reads it. The lines have the keys KEY_inode and
 * KEY_changed, and also KEY_digest and KEY_fresh if these members are set. */
void stamp_add(struct paragraph_output *output, const char *key, const struct stamp *stamp);
bool stamp_get(const struct paragraph *paragraph, const char *key, struct stamp *stamp);

#endif
