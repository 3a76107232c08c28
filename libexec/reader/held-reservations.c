#include "held-reservations.h"

#include "program-rows.h"

/* Returns the row of a held reservation of this rule; NULL: there is none. */
static struct row *row_to_spare(const struct program *program, int rule)
{
    struct row *row = program->rows;
    while (row != NULL && !(row->is_spare && !row->is_leaving && row->rule == rule))
        row = row->hh.next;
    return row;
}

struct row *row_for_thread(struct program *program, pid_t tid, int rule)
{
    struct row *row = row_of_thread(program, tid);
    const bool is_matched_now = rule_matches(program, rule);
    if (row != NULL && (row->told != FORM_ABSENT || row->is_leaving || !is_matched_now))
        return row;
    struct row *spare = is_matched_now ? row_to_spare(program, rule) : NULL;
    if (spare == NULL)
        return row != NULL ? row : row_new(program, tid);
    if (row != NULL)
        row_free(program, row);
    spare->tid = tid;
    spare->is_spare = false;
    return spare;
}

void row_gone(struct program *program, struct row *row)
{
    const bool is_held = program->file->hold && row->told != FORM_ABSENT && !row->is_leaving &&
                         !row->is_ended && rule_matches(program, row->rule) &&
                         json_is_object(json_object_get(row->verdict, "grant"));
    if (!is_held) {
        row_leave(program, row);
        return;
    }
    row->is_spare = true;
    row_mark_dirty(program, row);
    program_note_news(program);
}

void rows_gone(struct program *program)
{
    struct row *row, *next;
    HASH_ITER (hh, program->rows, row, next)
        if (!row->is_spare)
            row_gone(program, row);
}
