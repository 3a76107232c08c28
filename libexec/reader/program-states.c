#include "program-states.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "held-reservations.h"
#include "messages.h"
#include "program-rows.h"
#include "program-verdict.h"

enum { VERDICT_MAX = 1 << 20 };

static const char *const states[] = {
    [LISTING] = "begins", [HOLDING] = "begins", [ATTACHING] = "begins", [STANDING] = "stands",
    [AWAY] = "away",      [OVER] = "over",      [REFUSING] = "refused", [REFUSED] = "refused"};

static void (*listed)(const char *program);

void program_states_begin(void (*call)(const char *program))
{
    listed = call;
}

void program_tell_listed(const struct program *program)
{
    listed(program->name);
}

/* ---- NAME.verdict ---- */

/* ns. rest_after: the pause after a verdict, if the next news are of single threads. A program may
 * begin and end threads without end, and each new file costs CPU time. On ext4 the cost grows with
 * the number of files that were removed in the last minutes. retry_after: the pause after a verdict
 * that could not be written. */
static const int64_t rest_after = 100000000, retry_after = INT64_C(1000000000);

void program_write_verdict(struct program *program)
{
    json_t *rows = program->refused != NULL ? json_incref(program->refused) : rows_json(program);
    const struct program_summary summary = {.request = program->is_change ? "change" : "create",
                                            .token = program->file->token,
                                            .spec = program->json.stamp,
                                            .tid = program->tid,
                                            .state = states[program->state],
                                            .process = program->process,
                                            .result = program->result,
                                            .reason = program->reason,
                                            .code = program->code};
    char *text = verdict_of_program(&summary, rows);
    const size_t length = strlen(text);
    program->has_news = verdict_put(program->name, text, length, 0) != 0;
    program->rests_until = monotonic_now() + (program->has_news ? retry_after : rest_after);
    file_touch(program->name); /* wakes a client that waits for the verdict */
    free(text);
    json_decref(rows);
}

/* Returns the verdict that an earlier reader has written about this version of the file; NULL:
 * there is none. The caller owns the object. */
static json_t *read_verdict(const struct program *program, char state[static 16])
{
    char file[NAME_MAX + 1];
    char *text = malloc(VERDICT_MAX);
    const int fd = open_plain(file_name(file, program->name, ".verdict"), O_RDONLY | O_NONBLOCK);
    const ssize_t length = fd < 0 || text == NULL ? -1 : pread(fd, text, VERDICT_MAX, 0);
    json_t *verdict =
        length <= 0 ? NULL : verdict_about(text, (size_t)length, &program->json.stamp, state);
    if (fd >= 0)
        close(fd);
    free(text);
    return verdict;
}

/* ---- states ---- */

void program_say(struct program *program, const char *result, const char *code, const char *reason)
{
    program_note_news_of_all(program);
    if (program->is_wrong)
        return;
    program->result = result;
    program->code = code;
    snprintf(program->reason, sizeof program->reason, "%s", reason);
}

void program_unwatch(const struct program *program)
{
    paragraph_add(messages_begin("unwatch"), "name", program->name);
    messages_end();
}

static void watch(const struct program *program)
{
    struct paragraph_output *output = messages_begin("watch");
    paragraph_add(output, "name", program->name);
    if (program->file->process != 0)
        paragraph_add_number(output, "process", (uint64_t)program->file->process);
    else if (program->file->path[0] != '\0')
        paragraph_add(output, "program", program->file->path);
    else
        paragraph_add(output, "cgroup", program->file->group);
    messages_end();
}

static void all_dirty(struct program *program)
{
    for (struct row *row = program->rows; row != NULL; row = row->hh.next)
        row_mark_dirty(program, row);
}

void program_go_to(struct program *program, enum state state)
{
    program->state = state;
    all_dirty(program);
    program_note_news_of_all(program);
}

static void end_file(struct program *program)
{
    if (program->file->ends)
        file_remove(program->name, ".json", &program->json.stamp);
}

void program_go_away(struct program *program)
{
    const bool is_process = program->file->process != 0, is_group = program->file->group[0] != '\0';
    if (program->state == REFUSING || program->state == REFUSED)
        return;
    program->process = 0;
    program->stood = true; /* the next process's threads are asked for one by one */
    rows_gone(program);
    program->state = is_process ? OVER : AWAY;
    program_say(program, "OK", NULL,
                is_process ? "the process has ended"
                : is_group ? "no process of yours is in the cgroup"
                           : "the program does not run");
    if (!is_process)
        return;
    program_unwatch(program);
    end_file(program);
}

/* ---- the beginning ---- */

/* Makes rows from an earlier reader's verdict, so that held reservations stay held, and each thread
 * keeps its reservation. */
static void take_up_rows(struct program *program, const json_t *verdict)
{
    struct row_of_verdict told;
    for (size_t i = 0; i < verdict_row_count(verdict); i++) {
        if (!verdict_row_at(verdict, i, &told))
            continue;
        if (told.rule >= program->file->rule_count || row_of_slot(program, told.slot) != NULL) {
            json_decref(told.row);
            continue;
        }
        struct row *row = row_new(program, told.slot);
        row->tid = told.tid;
        row->rule = told.rule;
        snprintf(row->comm, sizeof row->comm, "%s", told.comm);
        row->is_spare = told.is_held;
        row->told = told.is_held ? FORM_HOLD : FORM_ATTACH;
        row->verdict = row->verdict == NULL ? told.row : row->verdict;
        if (row->verdict != told.row)
            json_decref(told.row);
    }
}

void program_begin(struct program *program)
{
    char state[16];
    json_t *const verdict = read_verdict(program, state);
    const bool is_known = verdict != NULL;
    if (is_known && program->file->hold && strcmp(state, "refused") != 0)
        take_up_rows(program, verdict);
    json_decref(verdict);
    program->stood = is_known && strcmp(state, "refused") != 0;
    if (is_known && strcmp(state, "refused") == 0) {
        program->state = REFUSED; /* until the file is rewritten */
        program_tell_listed(program);
        return;
    }
    program->state = LISTING;
    watch(program);
}
