/* Verdicts that could not be written yet, for example because the disk is full. The reader tries
 * again, after pauses that double. */
#ifndef RTF_READER_OWED_VERDICTS_H
#define RTF_READER_OWED_VERDICTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* answers, more: see entry_verdict (entries.h). */
struct verdict {
    const char *text;
    size_t length;
    int64_t decided;
    const char *request; /* for the log, if the verdict cannot be written */
    bool answers, more;
};

struct owed;

/* Keeps a copy of the verdict about `name` in *place, and tells the broker that the verdict is not
 * written, because of `error`. *place becomes NULL when the verdict is written. The caller keeps
 * `place` and `name` until then. */
void owed_add(struct owed **place, const char *name, const struct verdict *verdict, int error);

/* Forgets the verdict in *place; NULL: there is none. */
void owed_forget(struct owed **place);

/* Tries again to write the verdicts that are due. owed_deadline returns when the next one is
 * due. */
void owed_try(int64_t now);
int64_t owed_deadline(void);
bool owed_any(void);

#endif
