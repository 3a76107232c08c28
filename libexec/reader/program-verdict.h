/* Makes NAME.verdict of a program file (rtf-verdict(5)) from the broker's verdicts about the
 * program's threads. */
#ifndef RTF_READER_PROGRAM_VERDICT_H
#define RTF_READER_PROGRAM_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "snapshot.h"

/* Makes the row of one thread with this reservation. told: the broker's verdict about the thread;
 * NULL: none yet. */
json_t *verdict_row(const char *comm, pid_t tid, int rule, const char *reservation, bool is_held,
                    json_t *told);

/* The keys of a program's verdict beside its rows. */
struct program_summary {
    const char *request, *token; /* token: NULL: none */
    struct stamp spec, tid;      /* tid: of a NAME.tid that is refused; inode 0: none */
    const char *state;           /* a word of rtf-verdict(5) */
    pid_t process;               /* 0: none runs */
    const char *result, *reason; /* NULL: the rows decide */
    const char *code;            /* of the refusal, if `result` is refused */
};

/* Returns the text of NAME.verdict, one line with its newline; the caller owns it. rows: an
 * array. */
char *verdict_of_program(const struct program_summary *summary, json_t *rows);

/* Reads the verdict in this text, and the state of its program. NULL: the verdict is about another
 * version of the program file than `spec`. The caller owns the object. */
json_t *verdict_about(const char *text, size_t length, const struct stamp *spec,
                      char state[static 16]);

/* Reads the i-th row. False: the row has no grant. slot: the number in the name of the reservation
 * (program.h). The caller owns row->row. The user may have forged the verdict. */
size_t verdict_row_count(const json_t *verdict);
struct row_of_verdict {
    pid_t slot, tid;
    int rule;
    bool is_held;
    char comm[16];
    json_t *row;
};
bool verdict_row_at(const json_t *verdict, size_t i, struct row_of_verdict *row);

#endif
