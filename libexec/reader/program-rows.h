/* The threads of a program, each with its reservation NAME+SLOT. */
#ifndef RTF_READER_PROGRAM_ROWS_H
#define RTF_READER_PROGRAM_ROWS_H

#include "program.h"

/* Notes that NAME.verdict is to be written. */
void program_note_news(struct program *program);

/* Like program_note_news, for news of the whole file: the verdict does not wait for the end of the
 * pause after the last verdict. */
void program_note_news_of_all(struct program *program);

/* early_keep keeps a verdict about NAME+TID while there is no such row, and owns the verdict.
 * early_take removes and returns it, and the caller owns it; NULL: there is none. */
void early_keep(const char *name, json_t *verdict);
json_t *early_take(const char *name);

/* rule_matches: true for a rule that gives its threads reservations; false for -1 (no rule) and for
 * a rule with "leave". row_is_matched: the row's rule is such a rule, or the row is of the first
 * thread of a process, and the file states something for the whole process. */
bool rule_matches(const struct program *program, int rule);
bool row_is_matched(const struct program *program, const struct row *row);

/* Returns the form in which the broker is to know this thread now. */
enum form row_wanted(const struct program *program, const struct row *row);

void row_mark_dirty(struct program *program, struct row *row);

/* Makes a row with the next free slot from the thread's id on. */
struct row *row_new(struct program *program, pid_t tid);
void row_free(struct program *program, struct row *row);

/* Return the row with this slot, and the row of this thread. NULL: there is none. */
struct row *row_of_slot(const struct program *program, pid_t slot);
struct row *row_of_thread(const struct program *program, pid_t tid);

/* row_leave ends the reservation of the row, rows_leave ends all reservations. These functions may
 * free rows. */
void row_leave(struct program *program, struct row *row);
void rows_leave(struct program *program);

/* rows_are_answered: the broker has answered for all rows. rows_only_wait: the broker has answered
 * for each row, or has said that the row is WAITING. */
bool rows_are_answered(const struct program *program);
bool rows_only_wait(const struct program *program);

/* rows_have_matched: some row is matched, and is not leaving. rows_have_refused: the broker has
 * refused such a row. */
bool rows_have_matched(const struct program *program);
bool rows_have_refused(const struct program *program);

/* Sorts the rows by their rules, and rows of one rule by thread id. */
void rows_sort(struct program *program);

/* Returns the rows of NAME.verdict. The caller owns the array. */
json_t *rows_json(struct program *program);

#endif
