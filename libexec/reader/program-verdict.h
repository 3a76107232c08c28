/* NAME.verdict of a program file (rtf-verdict(5)), from the broker's verdicts about its threads. */
#ifndef RTF_READER_PROGRAM_VERDICT_H
#define RTF_READER_PROGRAM_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "snapshot.h"

/* The row of one thread. told: the broker's verdict about the thread; NULL: none yet. */
json_t *verdict_row(const char *comm, pid_t tid, int rule, json_t *told);

/* True if the row has this result. */
bool verdict_row_is(const json_t *row, const char *result);

/* The keys of a program's verdict beside its rows. */
struct program_summary {
    const char *request, *token; /* token: NULL: none */
    struct stamp spec;
    const char *state;           /* a word of rtf-verdict(5) */
    pid_t process;               /* 0: none runs */
    const char *result, *reason; /* NULL: the rows say this */
    const char *code;            /* of the refusal, if `result` is refused */
};

/* The caller owns the text, one line with its newline. rows: an array. */
char *verdict_of_program(const struct program_summary *summary, json_t *rows);

/* The state of the program in this text of a verdict, if the verdict is about this version of the
 * file. False: it is not. */
bool verdict_state(const char *text, size_t length, const struct stamp *spec,
                   char state[static 16]);

#endif
