/* The names in the directory that need work.
 *
 *     IDLE ──► NEWS ──► TOLD ──► IDLE      NEWS: to be looked at
 *                │ ▲                        TOLD: the broker was told the files, and will answer
 *                ▼ │                              with a verdict or with op=done
 *               BUSY                        BUSY: a writer has a file open, or NAME.json has two names
 *
 * While a name is TOLD, its files stay open. If they change meanwhile, the broker is only told that
 * there is news of the name. When the broker has answered, the reader closes the files, which tells
 * their owner that the verdict is there. */
#ifndef RTF_READER_ENTRIES_H
#define RTF_READER_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "owed-verdicts.h"

/* A name is NAME, or NAME+TID: a thread of the program file NAME (programs.h). Call entries_begin
 * before the other functions. */
void entries_begin(void);

/* HINT_CHANGED: a file was written, or moved to this name. HINT_MADE: a file was created or
 * removed; a new file may not be written yet. */
enum hint { HINT_MADE, HINT_CHANGED };
void entry_hint(const char *name, enum hint what);

/* Called when the file with this watch of its own has changed. False: no file has this watch. */
bool entry_hint_watch(int watch);

/* Requests of the broker: to look at a name and tell its files, or to end TOLD without a verdict.
 * whole: tell the content again even if it was told before. */
void entry_look(const char *name, bool whole);
void entry_done(const char *name);

/* A verdict of the broker. answers: the verdict answers the files that were told. more: the verdict
 * answers only NAME.json, and NAME.tid will get another verdict. If a verdict cannot be written,
 * the reader tries again until there is a newer verdict, or until the broker no longer wants a
 * verdict (entry_no_verdict). */
void entry_verdict(const char *name, const struct verdict *verdict);
void entry_no_verdict(const char *name);

/* Called at the end of a scan. Calls `tell` for every name that has news and a NAME.json, so that
 * the broker learns the time of this name, too, and asks for all names in the order of their
 * times. */
void entries_join_scan(void (*tell)(const char *name));

/* Looks at names with news, as long as the broker has not too many unanswered names. */
void entries_take_turn(void);

/* When the next name must be looked at without news; CLOCK_MONOTONIC, ns; INT64_MAX: none. */
int64_t entries_deadline(void);
void entries_expire(int64_t now);

/* True if no name needs work. */
bool entries_are_idle(void);

#endif
