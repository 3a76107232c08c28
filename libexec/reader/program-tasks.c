#include "program-tasks.h"

#include <stdio.h>
#include <string.h>

#include "first-reservation.h"
#include "held-reservations.h"
#include "matching-rule.h"
#include "program-rows.h"
#include "program-states.h"

/* ns. File systems stamp changes with a coarse clock, so a file may be newer than its change time
 * says, by up to `blur` (as in the broker's stale-thread-id.c). */
static const int64_t blur = 20000000;

static void take_process(struct program *program, pid_t process, int64_t started)
{
    if (program->state == REFUSING || program->state == REFUSED)
        return;
    if (program->file->process != 0 && !program->stood &&
        program->json.stamp.changed + blur < started) {
        program_unwatch(program);
        program->state = REFUSED;
        program_say(
            program, "ATTACH_FAIL", "stale",
            "the file is older than the process with this id: write the file again if you mean this process");
        program_tell_listed(program);
        return;
    }
    program->process = process;
    program->state = LISTING;
    if (!program->is_wrong)
        program->result = program->code = NULL;
    for (struct row *row = program->rows; row != NULL; row = row->hh.next)
        row->is_listed = false;
}

/* Takes a thread that has appeared, or has a new name. If the row with this id is still leaving,
 * the row was for an earlier thread, and begins anew for this thread. */
static void take_thread(struct program *program, pid_t tid, const char *comm, bool first)
{
    const int rule = program_rule_for(program->file, comm);
    struct row *row = row_for_thread(program, tid, rule);
    if (row->is_leaving)
        row->comes_back = true;
    row->is_listed = true;
    row->is_first = first;
    snprintf(row->comm, sizeof row->comm, "%s", comm);
    row->rule = rule;
    row_mark_dirty(program, row);
    program_note_news(program);
}

static void take_listed(struct program *program)
{
    struct row *row, *next;
    if (program->state != LISTING)
        return;
    HASH_ITER (hh, program->rows, row, next)
        if (!row->is_listed && !row->is_spare)
            row_gone(program, row);
    program_go_to(program, program->stood || !rows_have_matched(program) ? STANDING : HOLDING);
    program_tell_listed(program);
}

static void take_gone(struct program *program, pid_t tid)
{
    struct row *row = row_of_thread(program, tid);
    if (row != NULL)
        row_gone(program, row);
    program_advance(program);
}

/* Writes the sentence about a process that the owner names by its number in another pid
 * namespace. */
static void say_unseen(struct program *program)
{
    char reason[REASON_BYTES];
    snprintf(
        reason, sizeof reason,
        "process %d of the pid namespace of its owner is not found: it has ended, or this kernel cannot find it (before Linux 6.14)",
        (int)program->file->process_unseen);
    program_say(program, "ATTACH_FAIL", "no-thread", reason);
}

static void take_refused(struct program *program, const char *reason)
{
    if (program->stood) {
        program_go_away(program);
        program_tell_listed(program);
        return;
    }
    rows_leave(program);
    program->state = REFUSED;
    if (program->file->process_unseen != 0)
        say_unseen(program);
    else
        program_say(program, "ATTACH_FAIL",
                    strstr(reason, "yours") != NULL ? "not-yours" : "no-thread", reason);
    program_tell_listed(program);
}

bool program_take_task(struct program *program, const struct paragraph *said)
{
    const char *event = paragraph_get(said, "event"), *comm = paragraph_get(said, "comm"),
               *reason = paragraph_get(said, "reason");
    uint64_t tid = 0, process = 0, started = 0;
    if (event == NULL || paragraph_get_number(said, "tid", INT32_MAX, &tid) < 0 ||
        paragraph_get_number(said, "process", INT32_MAX, &process) < 0 ||
        paragraph_get_number(said, "started", INT64_MAX, &started) < 0)
        return false;
    if (program == NULL)
        return true; /* the watch has just been ended */
    if (strcmp(event, "process") == 0)
        take_process(program, (pid_t)process, (int64_t)started);
    else if (strcmp(event, "thread") == 0 && comm != NULL)
        take_thread(program, (pid_t)tid, comm, paragraph_get(said, "first") != NULL);
    else if (strcmp(event, "gone") == 0)
        take_gone(program, (pid_t)tid);
    else if (strcmp(event, "listed") == 0)
        take_listed(program);
    else if (strcmp(event, "ended") == 0) {
        program_go_away(program);
        program_tell_listed(program);
    } else if (strcmp(event, "refused") == 0 && reason != NULL)
        take_refused(program, reason);
    else
        return false;
    return true;
}
