/* The states of a program file (programs.h), and its verdict. */
#ifndef RTF_READER_PROGRAM_STATES_H
#define RTF_READER_PROGRAM_STATES_H

#include "program.h"

/* program_tell_listed calls `call`. Call program_tell_listed when it is known which threads the
 * program has. */
void program_states_begin(void (*call)(const char *program));
void program_tell_listed(const struct program *program);

/* Begins with a program file that is new, or is about another program than before. */
void program_begin(struct program *program);

/* Enters the state, and tells the broker all rows again. */
void program_go_to(struct program *program, enum state state);

/* Call this when the process has ended. */
void program_go_away(struct program *program);

/* Sets the result, code and reason that NAME.verdict states instead of what the rows say. code: the
 * code of a refusal; NULL: no refusal. */
void program_say(struct program *program, const char *result, const char *code, const char *reason);

/* Ends the watch of the program. */
void program_unwatch(const struct program *program);

/* Writes NAME.verdict. */
void program_write_verdict(struct program *program);

#endif
