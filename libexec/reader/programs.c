#include "programs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "first-reservation.h"
#include "program-change.h"
#include "program-rows.h"
#include "program-states.h"
#include "program-tasks.h"
#include "whole-process.h"

static struct {
    struct program *table;
    void (*news)(const char *name);
} programs;

enum { THREADS_APART = 1 << 16 };

void programs_begin(void (*news)(const char *name), void (*listed)(const char *program))
{
    programs.news = news;
    program_states_begin(listed);
}

static struct program *find(const char *name)
{
    struct program *program;
    HASH_FIND_STR(programs.table, name, program);
    return program;
}

bool programs_have(const char *name)
{
    return find(name) != NULL;
}

bool programs_have_room(void)
{
    return HASH_COUNT(programs.table) < PROGRAMS_MAX;
}

/* Returns the program of NAME+TID, and its row if there is one. */
static struct program *find_row(const char *name, struct row **row)
{
    char of[NAME_BYTES];
    const size_t length = reservation_name_of_program(name);
    *row = NULL;
    if (length == 0 || length >= sizeof of)
        return NULL;
    memcpy(of, name, length);
    of[length] = '\0';
    struct program *program = find(of);
    const pid_t slot = (pid_t)strtol(name + length + 1, NULL, 10);
    if (program != NULL)
        HASH_FIND_INT(program->rows, &slot, *row);
    return program;
}

/* ---- the file ---- */

static void program_free_all(struct program *program)
{
    struct row *row, *next;
    HASH_ITER (hh, program->rows, row, next)
        row_free(program, row);
    HASH_DEL(programs.table, program);
    json_decref(program->refused);
    program_free(program->file);
    if (program->fd >= 0)
        close(program->fd);
    free(program);
}

void programs_take(const char *name, struct program_file *file, const struct file *json, int fd)
{
    struct program *program = find(name);
    if (program != NULL && !program->is_wrong && !file_is_another(json, &program->json.stamp)) {
        program_free(file);
        return;
    }
    if (program != NULL) {
        program_change(program, file, json, fd);
        return;
    }
    program = calloc(1, sizeof *program);
    if (program == NULL)
        abort();
    program->fd = -1;
    snprintf(program->name, sizeof program->name, "%s", name);
    HASH_ADD_STR(programs.table, name, program);
    program_use_file(program, file, json, fd);
    program_begin(program);
}

bool programs_keep(const char *name, struct snapshot *snapshot)
{
    struct program *program = find(name);
    return program != NULL && program_keep(program, snapshot);
}

void programs_drop(const char *name)
{
    struct program *program = find(name);
    struct row *row;
    if (program == NULL)
        return;
    program_unwatch(program);
    for (row = program->rows; row != NULL; row = row->hh.next)
        programs.news(row->name); /* the broker asks again, and finds the row absent */
    program_free_all(program);
}

/* ---- what the broker asks and answers ---- */

static char *copy_of(const char *text)
{
    char *copy = text == NULL ? NULL : strdup(text);
    if (text != NULL && copy == NULL)
        abort();
    return copy;
}

/* Makes a stamp that is different for each rule and each form, so that the broker judges a thread
 * again when its name matches another rule. The stamp is also different for each thread that takes
 * over a reservation. Stamps differ in the change time, by some ns. */
static struct stamp stamp_of(const struct program *program, const struct row *row, enum form form)
{
    enum { RULES = RULES_MAX + 1 }; /* the rules, and the rule -1 */
    struct stamp stamp = program->json.stamp;
    stamp.changed -= row->rule + (form == FORM_HOLD ? RULES : 0) + 1;
    if (program->file->hold)
        stamp.changed -= (int64_t)(row->tid % THREADS_APART) * 2 * RULES;
    return stamp;
}

static void make_spec(const struct program *program, const struct row *row, enum form form,
                      struct spec *spec)
{
    static const struct spec nothing;
    const struct spec *needs =
        rule_matches(program, row->rule) ? &program->file->rules[row->rule].spec : &nothing;
    *spec = spec_copy(needs);
    spec->plugin = copy_of(needs->plugin);
    claims_copy(&spec->claims, needs->claims);
    if (is_first_thread(row))
        whole_process_add(&program->file->whole, spec);
    spec->token = copy_of(program->file->token);
    spec->waits = program->file->waits && program->state == STANDING;
    if (form != FORM_ATTACH)
        return;
    spec->attach = row->tid;
    spec->lifetime_thread = !program->file->hold;
    spec->lifetime_spec = program->file->hold;
}

enum program_look programs_look(const char *name, struct snapshot *snapshot, struct content *json)
{
    struct row *row;
    const struct program *program = find_row(name, &row);
    *snapshot = (struct snapshot){0};
    if (program == NULL)
        return PROGRAM_UNKNOWN;
    if (program->state == LISTING && (row == NULL || !row->is_leaving))
        return PROGRAM_LATER;
    if (row == NULL)
        return PROGRAM_SEEN; /* absent */
    row->told = row_wanted(program, row);
    row->is_dirty = false;
    if (row->told == FORM_ABSENT)
        return PROGRAM_SEEN;
    snapshot->json = (struct file){.state = FILE_READ,
                                   .stamp = stamp_of(program, row, row->told),
                                   .modified = program->json.modified};
    make_spec(program, row, row->told, &snapshot->spec);
    if (row->told == FORM_ATTACH)
        json->fd = fcntl(program->fd, F_DUPFD_CLOEXEC, 0);
    return PROGRAM_SEEN;
}

void programs_verdict(const char *name, const char *text, size_t length, bool answers)
{
    struct row *row;
    struct program *program = find_row(name, &row);
    json_t *const verdict = json_loadb(text, length, 0, NULL);
    if (row == NULL) {
        early_keep(name, verdict);
        return;
    }
    json_decref(row->verdict);
    row->verdict = verdict;
    if (answers)
        row->answered = row->told;
    program_note_news(program);
    program_advance(program);
}

void programs_done(const char *name)
{
    struct row *row;
    struct program *program = find_row(name, &row);
    if (row == NULL) {
        json_decref(early_take(name)); /* the reservation has ended */
        return;
    }
    row->answered = row->told;
    if (row->is_leaving && row->told == FORM_ABSENT) {
        if (row->comes_back) {
            row->is_leaving = row->comes_back = row->is_ended = false;
            json_decref(row->verdict);
            row->verdict = NULL;
            row_mark_dirty(program, row);
        } else
            row_free(program, row);
    }
    program_note_news(program);
    program_advance(program);
}

/* Notes that the broker has ended the reservation of the row. If the thread has ended, rtf-tasks
 * will report the end, too. If root has revoked the reservation, the thread lives on, and gets no
 * other reservation before the file is rewritten. */
void programs_end_row(const char *name)
{
    struct row *row;
    struct program *program = find_row(name, &row);
    if (row == NULL) {
        programs.news(name);
        return;
    }
    row->is_ended = true;
    row_mark_dirty(program, row);
    program_note_news(program);
}

void programs_revoked(const char *name)
{
    struct row *row;
    const struct program *program = find_row(name, &row);
    if (program == NULL)
        return;
    for (row = program->rows; row != NULL; row = row->hh.next)
        if (row_is_matched(program, row) && !row->is_leaving && !row->is_ended)
            return;
    file_remove(program->name, ".json", &program->json.stamp);
}

bool programs_task(const char *name, const struct paragraph *said)
{
    return program_take_task(find(name), said);
}

/* ---- turns ---- */

/* Tells the broker the dirty rows in the order of the rules, so that a thread of an earlier rule is
 * granted first. */
static void tell_dirty(struct program *program)
{
    struct row *row, *next;
    if (!program->has_dirty || program->state == LISTING)
        return;
    program->has_dirty = false;
    rows_sort(program);
    HASH_ITER (hh, program->rows, row, next) {
        if (!row->is_dirty)
            continue;
        if (row->told == FORM_ABSENT && row_wanted(program, row) == FORM_ABSENT &&
            !row->is_leaving) {
            row->is_dirty = false; /* the broker does not know this row */
            row->answered = FORM_ABSENT;
        } else
            programs.news(row->name);
    }
    program_advance(program);
}

/* NAME.verdict is written only in a settled state, so that the reservation for all threads together
 * has one verdict. */
static bool has_verdict_to_write(const struct program *program)
{
    return program->has_news && (program->state == STANDING || program->state == AWAY ||
                                 program->state == OVER || program->state == REFUSED);
}

static bool is_to_be_written(const struct program *program, int64_t now)
{
    return has_verdict_to_write(program) && now >= program->rests_until &&
           (now >= program->write_at || rows_are_answered(program));
}

/* Returns when NAME.verdict is to be written at the latest. */
static int64_t verdict_due(const struct program *program)
{
    return program->write_at > program->rests_until ? program->write_at : program->rests_until;
}

void programs_take_turn(int64_t now)
{
    struct program *program, *next;
    HASH_ITER (hh, programs.table, program, next) {
        tell_dirty(program);
        if (is_to_be_written(program, now))
            program_write_verdict(program);
    }
}

int64_t programs_deadline(void)
{
    int64_t earliest = INT64_MAX;
    for (const struct program *program = programs.table; program != NULL;
         program = program->hh.next)
        if (program->has_dirty && program->state != LISTING)
            return 0;
        else if (has_verdict_to_write(program) && verdict_due(program) < earliest)
            earliest = verdict_due(program);
    return earliest;
}

bool programs_are_idle(void)
{
    for (const struct program *program = programs.table; program != NULL;
         program = program->hh.next)
        if (program->has_news || (program->state != REFUSED && program->state != OVER) ||
            program->rows != NULL)
            return false;
    return true;
}
