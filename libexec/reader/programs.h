/* The program files of the user (rtf-spec(5)), and the threads of their programs.
 *
 * For each thread that a rule matches, the reader tells the broker a spec as if there were a file
 * NAME+TID.json. So the broker treats these reservations like all others, and a user who takes the
 * reader over can ask for nothing that the user could not ask for with files. The broker is told
 * that NAME.json itself is absent. The reader writes NAME.verdict from the broker's answers about
 * the threads.
 *
 * The first reservation is for all threads or for none: the reader first tells the broker all
 * threads without "attach", so that the broker reserves for them but changes no thread. When all
 * threads are granted, the reader tells them with "attach".
 *
 *     LISTING ──► HOLDING ──► ATTACHING ──► STANDING     LISTING: which threads are there?
 *        │           │            │                      STANDING: each thread is a request of its own
 *        │           └────────────┴──► REFUSING ──► REFUSED
 *        └──► AWAY, OVER                                 AWAY: the program does not run
 *                                                        OVER: the process has ended */
#ifndef RTF_READER_PROGRAMS_H
#define RTF_READER_PROGRAMS_H

#include "files.h"
#include "program-file.h"

/* `news` is called when there is news of the reservation NAME+TID; `listed` when it is known which
 * threads the program NAME has. */
void programs_begin(void (*news)(const char *name), void (*listed)(const char *program));

/* Called when NAME.json is this program file, in this state. Takes over `file`; the caller still
 * owns the descriptor. */
void programs_take(const char *name, struct program_file *file, const struct file *json, int fd);

/* Called when NAME.json is wrong. True: the rules of the earlier version stay in force, and
 * NAME.verdict says so. Then takes the token of the snapshot over. */
bool programs_keep(const char *name, struct snapshot *snapshot);

/* Called when NAME.json is no program file, or no program file any more. Forgets the program. */
void programs_drop(const char *name);

bool programs_have(const char *name);

/* False: the reader has PROGRAMS_MAX program files, and takes no further file. The broker refuses
 * to watch so many programs, but a refused file takes the reader's memory, too. */
enum { PROGRAMS_MAX = 256 };
bool programs_have_room(void);

/* Fills in *snapshot with the state of NAME+TID, and *json with a descriptor of NAME.json.
 * PROGRAM_LATER: the state is known when `listed` is called. PROGRAM_UNKNOWN: there is no such
 * program file. The caller frees snapshot->spec. */
enum program_look { PROGRAM_UNKNOWN, PROGRAM_LATER, PROGRAM_SEEN };
enum program_look programs_look(const char *name, struct snapshot *snapshot, struct content *json);

/* Take the broker's answer about NAME+TID: a verdict (answers: about the state that was told), or
 * that no verdict is needed. */
void programs_verdict(const char *name, const char *text, size_t length, bool answers);
void programs_done(const char *name);

/* Called when the broker ends the reservation NAME+TID. Acts as if its file were removed. */
void programs_end_row(const char *name);

/* Called when root has revoked the reservation NAME+TID. If no thread of the program has a
 * reservation any more, removes NAME.json, as for any revoked reservation. */
void programs_revoked(const char *name);

/* Takes news of a thread or process (op=task). False: the request is malformed. */
bool programs_task(const char *name, const struct paragraph *said);

/* Tells the broker what has changed, and writes changed verdicts. */
void programs_take_turn(int64_t now);

/* When programs_take_turn must be called without news; CLOCK_MONOTONIC, ns; INT64_MAX: never. */
int64_t programs_deadline(void);

/* True if no program file needs the reader. */
bool programs_are_idle(void);

#endif
