#include "program-change.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "matching-rule.h"
#include "program-rows.h"
#include "program-states.h"

void program_use_file(struct program *program, struct program_file *file, const struct file *json,
                      int fd)
{
    program_free(program->file);
    if (program->fd >= 0)
        close(program->fd);
    program->file = file;
    program->json = *json;
    program->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    json_decref(program->refused);
    program->refused = NULL;
    program->result = program->code = NULL;
    program->is_wrong = false;
    program->tid = (struct stamp){0};
}

/* True: the new file is about the same program, so the threads keep their rows, and the broker is
 * asked for each of them under the new rules. */
static bool is_same_program(const struct program *program, const struct program_file *file)
{
    return program->state == STANDING && program->file->process == file->process &&
           strcmp(program->file->path, file->path) == 0 &&
           strcmp(program->file->group, file->group) == 0;
}

void program_change(struct program *program, struct program_file *file, const struct file *json,
                    int fd)
{
    const bool stays = is_same_program(program, file);
    if (!stays)
        rows_leave(program);
    program_use_file(program, file, json, fd);
    program->is_change = stays;
    for (struct row *row = program->rows; row != NULL; row = row->hh.next)
        if (!row->is_leaving) {
            row->is_ended = false;
            row->answered = FORM_UNANSWERED;
            row->rule = program_rule_for(program->file, row->comm);
        }
    if (stays)
        program_go_to(program, STANDING);
    else
        program_begin(program);
}

bool program_keep(struct program *program, struct snapshot *snapshot)
{
    if (program->state == REFUSED || program->state == REFUSING)
        return false;
    program->json.stamp = snapshot->json.stamp;
    program->tid = snapshot->tid.stamp;
    free(program->file->token);
    program->file->token = snapshot->spec.token;
    snapshot->spec.token = NULL;
    program->is_change = true;
    program->is_wrong = false;
    program_say(program, "BAD_SPEC", "bad-spec", snapshot->json.reason);
    program->is_wrong = true;
    return true;
}
