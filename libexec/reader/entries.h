/* The names in the directory that need work.
 *
 *     IDLE ──► NEWS ──► TOLD ──► IDLE      NEWS: to be looked at
 *                │ ▲                        TOLD: the broker was told the files, and will answer with a
 *                ▼ │                              verdict or with op=done
 *               BUSY                        BUSY: a writer has a file open, or NAME.json has two names
 *
 * While a name is TOLD, its files stay open, and the broker is only told that there is news.
 * Closing the files tells the owner that the answer is there. */
#ifndef RTF_READER_ENTRIES_H
#define RTF_READER_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A name is NAME, or NAME+TID: a thread of the program file NAME (programs.h). Call this before all
 * others. */
void entries_begin(void);

/* CHANGED: a file was written, moved or removed. MADE: a file was created, which open(2) may not
 * have written yet. */
enum hint { HINT_MADE, HINT_CHANGED };
void entry_hint(const char *name, enum hint what);

/* A file with a watch of its own has changed. False: no file has this watch. */
bool entry_hint_watch(int watch);

/* Requests of the broker. whole: tell the content again even if it was told before. */
void entry_look(const char *name, bool whole);
void entry_done(const char *name);

/* A verdict. answers: it answers what was told of the name. more: it answers only NAME.json, and
 * NAME.tid will get another verdict. A verdict that cannot be written is tried again until there is
 * a newer one or the name's files are removed. */
struct verdict {
    const char *text;
    size_t length;
    int64_t decided;
    const char *request; /* for the log, if the verdict cannot be written */
    bool answers, more;
};
void entry_verdict(const char *name, const struct verdict *verdict);
void entry_no_verdict(const char *name);

/* At the end of a scan: calls `tell` for every name that has news and a NAME.json. So the name has
 * its place, by its time, among the scanned names, and the broker asks for the names in that
 * order. */
void entries_join_scan(void (*tell)(const char *name));

/* Looks at names with news, while the broker has not too many unanswered ones. */
void entries_take_turn(void);

/* When the next name must be looked at without news; CLOCK_MONOTONIC, ns; INT64_MAX: none. */
int64_t entries_deadline(void);
void entries_expire(int64_t now);

/* True if no name needs work. */
bool entries_are_idle(void);

#endif
