#include "program-rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "program-verdict.h"
#include "whole-process.h"

/* A verdict about a thread that is not known yet: after a scan, a broker sends the verdicts of all
 * reservations in force. */
struct early {
    json_t *verdict;
    UT_hash_handle hh;
    char name[RESERVATION_NAME_BYTES];
};

static struct early *early_verdicts;

/* ns. The pause before a verdict is written, so that news of several threads are written
 * together. */
static const int64_t write_after = 20000000;

void program_note_news(struct program *program)
{
    if (!program->has_news)
        program->write_at = monotonic_now() + write_after;
    program->has_news = true;
}

void program_note_news_of_all(struct program *program)
{
    if (program->rests_until != 0)
        /* computes write_at anew below, because news of single threads may have set a time that is
         * past */
        program->has_news = false;
    program_note_news(program);
    program->rests_until = 0;
}

bool rule_matches(const struct program *program, int rule)
{
    return rule >= 0 && !program->file->rules[rule].leave;
}

bool row_is_matched(const struct program *program, const struct row *row)
{
    return rule_matches(program, row->rule) ||
           (is_first_thread(row) && program_states_whole(program->file));
}

enum form row_wanted(const struct program *program, const struct row *row)
{
    if (row->is_leaving || row->is_ended || !row_is_matched(program, row))
        return FORM_ABSENT;
    switch (program->state) {
    case HOLDING: return FORM_HOLD;
    case ATTACHING:
    case STANDING:
    case AWAY: return row->is_spare ? FORM_HOLD : FORM_ATTACH;
    case LISTING:
    case OVER:
    case REFUSING:
    case REFUSED: break;
    }
    return FORM_ABSENT;
}

void row_mark_dirty(struct program *program, struct row *row)
{
    row->is_dirty = true;
    program->has_dirty = true;
}

void row_free(struct program *program, struct row *row)
{
    HASH_DEL(program->rows, row);
    json_decref(row->verdict);
    free(row);
}

json_t *early_take(const char *name)
{
    struct early *early;
    HASH_FIND_STR(early_verdicts, name, early);
    if (early == NULL)
        return NULL;
    json_t *const verdict = early->verdict;
    HASH_DEL(early_verdicts, early);
    free(early);
    return verdict;
}

void early_keep(const char *name, json_t *verdict)
{
    json_decref(early_take(name));
    struct early *early = calloc(1, sizeof *early);
    if (early == NULL)
        abort();
    snprintf(early->name, sizeof early->name, "%s", name);
    early->verdict = verdict;
    HASH_ADD_STR(early_verdicts, name, early);
}

struct row *row_of_slot(const struct program *program, pid_t slot)
{
    struct row *row;
    HASH_FIND_INT(program->rows, &slot, row);
    return row;
}

struct row *row_of_thread(const struct program *program, pid_t tid)
{
    struct row *row = row_of_slot(program, tid);
    if (row != NULL && row->tid == tid && !row->is_spare)
        return row;
    for (row = program->rows; row != NULL; row = row->hh.next)
        if (row->tid == tid && !row->is_spare)
            return row;
    return NULL;
}

/* Makes a row with the next free slot, because a held reservation may have the thread's id as its
 * slot. */
struct row *row_new(struct program *program, pid_t tid)
{
    pid_t slot = tid;
    while (row_of_slot(program, slot) != NULL)
        slot = slot == TID_MAX ? 1 : slot + 1;
    struct row *row = calloc(1, sizeof *row);
    if (row == NULL)
        abort(); /* the broker starts another reader, which scans the whole directory */
    row->tid = tid;
    row->slot = slot;
    row->rule = -1;
    snprintf(row->name, sizeof row->name, "%.64s+%d", program->name, (int)slot);
    row->verdict = early_take(row->name);
    HASH_ADD_INT(program->rows, slot, row);
    return row;
}

/* Ends the reservation of the row. A row that the broker knows stays until the broker has answered
 * that it is absent. */
void row_leave(struct program *program, struct row *row)
{
    program_note_news(program);
    if (row->told == FORM_ABSENT && !row->is_leaving) {
        row_free(program, row);
        return;
    }
    row->is_leaving = true;
    row->comes_back = false;
    row_mark_dirty(program, row);
}

void rows_leave(struct program *program)
{
    struct row *row, *next;
    HASH_ITER (hh, program->rows, row, next)
        row_leave(program, row);
}

static bool is_answered(const struct program *program, const struct row *row)
{
    return row->is_dirty == false && row->answered == row_wanted(program, row);
}

bool rows_are_answered(const struct program *program)
{
    for (const struct row *row = program->rows; row != NULL; row = row->hh.next)
        if (!is_answered(program, row))
            return false;
    return true;
}

static int by_rule(const struct row *one, const struct row *other)
{
    return one->rule != other->rule ? one->rule - other->rule : one->tid - other->tid;
}

void rows_sort(struct program *program)
{
    HASH_SORT(program->rows, by_rule);
}

json_t *rows_json(struct program *program)
{
    json_t *rows = json_array();
    rows_sort(program);
    for (struct row *row = program->rows; row != NULL; row = row->hh.next)
        if (!row->is_leaving && row_is_matched(program, row))
            (void)json_array_append_new(rows, verdict_row(row->comm, row->tid, row->rule, row->name,
                                                          row->is_spare, row->verdict));
    return rows;
}

/* True: the verdict about the thread is a refusal. A thread that has just ended does not count as
 * refused: rtf-tasks will tell of its end. */
static bool is_refused(const struct row *row)
{
    const char *result = json_string_value(json_object_get(row->verdict, "result")),
               *code = json_string_value(
                   json_object_get(json_object_get(row->verdict, "refusal"), "code"));
    return result != NULL && strcmp(result, "OK") != 0 &&
           (code == NULL || strcmp(code, "no-thread") != 0);
}

bool rows_have_refused(const struct program *program)
{
    for (const struct row *row = program->rows; row != NULL; row = row->hh.next)
        if (!row->is_leaving && row_is_matched(program, row) && is_answered(program, row) &&
            is_refused(row))
            return true;
    return false;
}

/* True: the broker gives the final answer later, when runtime that others have used does not count
 * any more. */
static bool waits(const struct row *row)
{
    const char *result = json_string_value(json_object_get(row->verdict, "result"));
    return result != NULL && strcmp(result, "WAITING") == 0;
}

bool rows_only_wait(const struct program *program)
{
    for (const struct row *row = program->rows; row != NULL; row = row->hh.next)
        if (!is_answered(program, row) && !(waits(row) && !row->is_dirty))
            return false;
    return true;
}

bool rows_have_matched(const struct program *program)
{
    for (const struct row *row = program->rows; row != NULL; row = row->hh.next)
        if (!row->is_leaving && row_is_matched(program, row))
            return true;
    return false;
}
