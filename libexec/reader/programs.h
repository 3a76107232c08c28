/* The program files of the user (rtf-spec(5)), and the threads of their programs.
 *
 * For each thread that a rule matches, the reader tells the broker a spec as if there were a file
 * NAME+TID.json. So the broker treats these reservations like all others, and a user who takes the
 * reader over can ask for nothing that the user could not ask for with files. NAME.json itself is
 * absent for the broker. The reader writes NAME.verdict from the answers about the threads.
 *
 * The first reservation is all or none: all threads are first told without "attach", which reserves
 * and changes no thread. When all are granted, they are told with "attach".
 *
 *     LISTING ──► HOLDING ──► ATTACHING ──► STANDING     LISTING: which threads are there?
 *        │           │            │                      STANDING: each thread is a request of its own
 *        │           └────────────┴──► REFUSING ──► REFUSED
 *        └──► AWAY, OVER                                 AWAY: the program does not run
 *                                                        OVER: the process has ended */
#ifndef RTF_READER_PROGRAMS_H
#define RTF_READER_PROGRAMS_H

#include "files.h"
#include "spec-program.h"

/* `news`: there is news of the reservation NAME+TID; `listed`: it is known from here on which
 * threads the program NAME has. */
void programs_begin(void (*news)(const char *name), void (*listed)(const char *program));

/* NAME.json is this program file, in this state. Takes `file` over; the descriptor stays the
 * caller's. */
void programs_take(const char *name, struct program_file *file, const struct file *json, int fd);

/* NAME.json is wrong. True: the rules of before stand, and NAME.verdict says so. */
bool programs_keep(const char *name, const struct file *json);

/* NAME.json is no program file. */
void programs_drop(const char *name);

bool programs_have(const char *name);

/* Fills in *snapshot, for NAME+TID, with a descriptor in *json. LATER: `listed` will be called.
 * UNKNOWN: there is no such program file. The caller frees snapshot->spec. */
enum program_look { PROGRAM_UNKNOWN, PROGRAM_LATER, PROGRAM_SEEN };
enum program_look programs_look(const char *name, struct snapshot *snapshot, struct content *json);

/* Answers of the broker about NAME+TID: a verdict; no verdict is needed. */
void programs_verdict(const char *name, const char *text, size_t length, bool answers);
void programs_done(const char *name);

/* The broker ends the reservation NAME+TID: as if its file was removed. */
void programs_end_row(const char *name);

/* Root has revoked the reservation NAME+TID. When nothing is left to any thread, NAME.json goes, as
 * that of another revoked reservation does. */
void programs_revoked(const char *name);

/* Takes news of a thread or process: op=task. False: a fault. */
bool programs_task(const char *name, const struct paragraph *said);

/* Tells and writes what has changed. */
void programs_take_turn(int64_t now);

/* When programs_take_turn must be called without news; CLOCK_MONOTONIC, ns; INT64_MAX: never. */
int64_t programs_deadline(void);

/* True if no program file needs the reader. */
bool programs_are_idle(void);

#endif
