/* The names in the directory of which something has to be done.
 *
 *     IDLE ──► NEWS ──► TOLD ──► IDLE      NEWS: to be looked at; TOLD: the broker has been told what is there, and
 *                │ ▲                        will say a verdict, or that nothing follows; BUSY: a writer has a file of it open, or
 *                ▼ │                        NAME.json has two names
 *               BUSY
 *
 * While one is TOLD its files stay open, and nothing more is told of it but that there is news: their closing tells the owner
 * that the answer is there. */
#ifndef RTF_READER_ENTRIES_H
#define RTF_READER_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CHANGED: written, moved or removed. MADE: only that a file of this name came into being, which open(2) may not have written yet. */
enum hint { HINT_MADE, HINT_CHANGED };
void entry_hint(const char *name, enum hint what);

/* A file that is watched itself has changed. False: there is none with this watch. */
bool entry_hint_watch(int watch);

/* What the broker says. `whole`: even what has been told must be told again, with its content. */
void entry_look(const char *name, bool whole);
void entry_done(const char *name);

/* `answers` what it has been told of the name; `more`: in part, and the rest will have another verdict. One that cannot be written is tried
 * again, until there is another or the name's files go. */
struct verdict {
    const char *text;
    size_t length;
    int64_t decided;
    const char *request; /* for the log, if it cannot be written */
    bool answers, more;
};
void entry_verdict(const char *name, const struct verdict *verdict);
void entry_no_verdict(const char *name);

/* At the end of a scan: `tell` is called for what has news and NAME.json, which so has its place among what was found, by its time; the broker will ask for
 * it in that order. */
void entries_join_scan(void (*tell)(const char *name));

/* Looks at what has news, as far as the broker is not told too much at once. */
void entries_take_turn(void);

/* When one of them is to be looked at without news; CLOCK_MONOTONIC, ns; INT64_MAX: none. */
int64_t entries_deadline(void);
void entries_expire(int64_t now);

/* Nothing is to be done. */
bool entries_are_idle(void);

#endif
