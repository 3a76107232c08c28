#include "programs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "clock.h"
#include "messages.h"
#include "program-verdict.h"

/* The form in which the broker is told a thread. ABSENT: no file; HOLD: a spec without "attach";
 * ATTACH: a spec with "attach". */
enum form { FORM_ABSENT, FORM_HOLD, FORM_ATTACH };

/* A thread, and its reservation NAME+SLOT. The slot is the thread's id, except where the file says
 * "hold": there a thread takes over the reservation of an ended thread of its rule.
 *
 * is_spare: the thread has ended, and the reservation is held.
 *
 * is_leaving: the broker is told once that the row is absent; then the row is removed, or begins
 * anew if `comes_back`. */
struct row {
    pid_t slot, tid;
    char comm[THREAD_NAME_BYTES];
    int rule; /* -1: none; the rule may be to leave the thread alone */
    enum form told, answered;
    bool is_listed, is_leaving, comes_back, is_spare;
    bool is_ended; /* the broker has ended the reservation */
    bool is_dirty; /* the broker has not been told its news */
    json_t *verdict;
    UT_hash_handle hh; /* by slot */
    char name[RESERVATION_NAME_BYTES];
};

enum state { LISTING, HOLDING, ATTACHING, STANDING, AWAY, OVER, REFUSING, REFUSED };
static const char *const states[] = {
    [LISTING] = "begins", [HOLDING] = "begins", [ATTACHING] = "begins", [STANDING] = "stands",
    [AWAY] = "away",      [OVER] = "over",      [REFUSING] = "refused", [REFUSED] = "refused"};

struct program {
    enum state state;
    struct program_file *file;
    struct file json;
    int fd; /* the open NAME.json */
    pid_t process;
    bool stood;       /* the first reservation was made earlier */
    bool is_change;   /* the file was rewritten */
    bool has_news;    /* NAME.verdict is to be written */
    bool has_dirty;   /* some row is dirty */
    int64_t write_at; /* while has_news: when to write NAME.verdict */
    struct row *rows;
    /* what NAME.verdict says instead of the rows; NULL: the rows decide */
    const char *result, *code;
    json_t *refused; /* the rows at the time of the refusal; NULL: not refused */
    char reason[REASON_BYTES];
    UT_hash_handle hh;
    char name[NAME_BYTES];
};

/* A verdict about a thread that is not known yet: after a scan, a broker sends the verdicts of all
 * reservations in force. */
struct early {
    json_t *verdict;
    UT_hash_handle hh;
    char name[RESERVATION_NAME_BYTES];
};

static struct {
    struct program *table;
    struct early *early;
    void (*news)(const char *name);
    void (*listed)(const char *program);
} programs;

/* ns. write_after: the pause before a verdict is written, so that news of several threads are
 * written together. blur: as in the broker, a file may seem older than it is by this much. */
static const int64_t write_after = 20000000, blur = 20000000;
enum { VERDICT_MAX = 1 << 20, THREADS_APART = 1 << 16 };

void programs_begin(void (*news)(const char *name), void (*listed)(const char *program))
{
    programs.news = news;
    programs.listed = listed;
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

/* The program of NAME+TID, and its row if there is one. */
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

/* ---- rows ---- */

static void note_news(struct program *program)
{
    if (!program->has_news)
        program->write_at = monotonic_now() + write_after;
    program->has_news = true;
}

static bool is_matched(const struct program *program, const struct row *row)
{
    return row->rule >= 0 && !program->file->rules[row->rule].leave;
}

/* The form in which the broker is to know this thread now. */
static enum form wanted(const struct program *program, const struct row *row)
{
    if (row->is_leaving || row->is_ended || !is_matched(program, row))
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

static void mark_dirty(struct program *program, struct row *row)
{
    row->is_dirty = true;
    program->has_dirty = true;
}

static void row_free(struct program *program, struct row *row)
{
    HASH_DEL(program->rows, row);
    json_decref(row->verdict);
    free(row);
}

/* Takes the early verdict about NAME+TID out of the table. NULL: there is none. */
static json_t *take_early(const char *name)
{
    struct early *early;
    HASH_FIND_STR(programs.early, name, early);
    if (early == NULL)
        return NULL;
    json_t *const verdict = early->verdict;
    HASH_DEL(programs.early, early);
    free(early);
    return verdict;
}

static void keep_early(const char *name, json_t *verdict)
{
    json_decref(take_early(name));
    struct early *early = calloc(1, sizeof *early);
    if (early == NULL)
        abort();
    snprintf(early->name, sizeof early->name, "%s", name);
    early->verdict = verdict;
    HASH_ADD_STR(programs.early, name, early);
}

static struct row *row_of_slot(const struct program *program, pid_t slot)
{
    struct row *row;
    HASH_FIND_INT(program->rows, &slot, row);
    return row;
}

static struct row *row_of_thread(const struct program *program, pid_t tid)
{
    struct row *row = row_of_slot(program, tid);
    if (row != NULL && row->tid == tid && !row->is_spare)
        return row;
    for (row = program->rows; row != NULL; row = row->hh.next)
        if (row->tid == tid && !row->is_spare)
            return row;
    return NULL;
}

/* The row of a held reservation of this rule; NULL: there is none. */
static struct row *row_to_spare(const struct program *program, int rule)
{
    struct row *row = program->rows;
    while (row != NULL && !(row->is_spare && !row->is_leaving && row->rule == rule))
        row = row->hh.next;
    return row;
}

/* Makes a row with the next free slot, because a held reservation may have the thread's id as its
 * slot. */
static struct row *row_new(struct program *program, pid_t tid)
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
    row->verdict = take_early(row->name);
    HASH_ADD_INT(program->rows, slot, row);
    return row;
}

/* Ends the reservation of the row. A row that the broker knows stays until the broker has answered
 * that it is absent. */
static void row_leave(struct program *program, struct row *row)
{
    note_news(program);
    if (row->told == FORM_ABSENT && !row->is_leaving) {
        row_free(program, row);
        return;
    }
    row->is_leaving = true;
    row->comes_back = false;
    mark_dirty(program, row);
}

/* The thread has ended: its reservation ends or is held. */
static void row_gone(struct program *program, struct row *row)
{
    const bool is_held = program->file->hold && row->told != FORM_ABSENT && !row->is_leaving &&
                         !row->is_ended && is_matched(program, row) &&
                         json_is_object(json_object_get(row->verdict, "grant"));
    if (!is_held) {
        row_leave(program, row);
        return;
    }
    row->is_spare = true;
    mark_dirty(program, row);
    note_news(program);
}

static void rows_gone(struct program *program)
{
    struct row *row, *next;
    HASH_ITER (hh, program->rows, row, next)
        if (!row->is_spare)
            row_gone(program, row);
}

static void rows_leave(struct program *program)
{
    struct row *row, *next;
    HASH_ITER (hh, program->rows, row, next)
        row_leave(program, row);
}

static bool is_answered(const struct program *program, const struct row *row)
{
    return row->is_dirty == false && row->answered == wanted(program, row);
}

static bool all_are_answered(const struct program *program)
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

/* ---- NAME.verdict ---- */

static json_t *rows_json(struct program *program)
{
    json_t *rows = json_array();
    HASH_SORT(program->rows, by_rule);
    for (struct row *row = program->rows; row != NULL; row = row->hh.next)
        if (!row->is_leaving && is_matched(program, row))
            (void)json_array_append_new(rows, verdict_row(row->comm, row->tid, row->rule, row->name,
                                                          row->is_spare, row->verdict));
    return rows;
}

static void write_verdict(struct program *program)
{
    json_t *rows = program->refused != NULL ? json_incref(program->refused) : rows_json(program);
    const struct program_summary summary = {.request = program->is_change ? "change" : "create",
                                            .token = program->file->token,
                                            .spec = program->json.stamp,
                                            .state = states[program->state],
                                            .process = program->process,
                                            .result = program->result,
                                            .reason = program->reason,
                                            .code = program->code};
    char *text = verdict_of_program(&summary, rows);
    const size_t length = strlen(text);
    program->has_news = verdict_put(program->name, text, length, 0) != 0;
    program->write_at = monotonic_now() + INT64_C(1000000000); /* if writing failed */
    file_touch(program->name);                                 /* tells the owner */
    free(text);
    json_decref(rows);
}

/* The verdict that an earlier reader has written about this version of the file; NULL: there is
 * none. The caller owns the object. */
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

static void say(struct program *program, const char *result, const char *code, const char *reason)
{
    program->result = result;
    program->code = code;
    snprintf(program->reason, sizeof program->reason, "%s", reason);
    note_news(program);
}

static void unwatch(const struct program *program)
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
    else
        paragraph_add(output, "program", program->file->path);
    messages_end();
}

static void all_dirty(struct program *program)
{
    for (struct row *row = program->rows; row != NULL; row = row->hh.next)
        mark_dirty(program, row);
}

static void go_to(struct program *program, enum state state)
{
    program->state = state;
    all_dirty(program);
    note_news(program);
}

/* Ends all reservations after a refusal. The verdict is written only when nothing is reserved any
 * more. */
static void take_back(struct program *program)
{
    size_t i;
    json_t *row;
    program->refused = rows_json(program);
    json_array_foreach(program->refused, i, row)
    {
        (void)json_object_set_new(row, "grant", json_null());
        (void)json_object_set_new(row, "thread", json_null());
    }
    unwatch(program);
    program->state = REFUSING;
    rows_leave(program);
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

static bool any_is_refused(const struct program *program)
{
    for (const struct row *row = program->rows; row != NULL; row = row->hh.next)
        if (!row->is_leaving && is_matched(program, row) && is_refused(row))
            return true;
    return false;
}

static bool any_is_matched(const struct program *program)
{
    for (const struct row *row = program->rows; row != NULL; row = row->hh.next)
        if (!row->is_leaving && is_matched(program, row))
            return true;
    return false;
}

/* Takes the next step of the first reservation once the broker has answered for all rows. */
static void advance(struct program *program)
{
    if (!all_are_answered(program))
        return;
    if ((program->state == HOLDING || program->state == ATTACHING) && any_is_refused(program))
        take_back(program);
    else if (program->state == HOLDING)
        go_to(program, ATTACHING);
    else if (program->state == ATTACHING)
        go_to(program, STANDING);
    if (program->state == REFUSING && program->rows == NULL)
        program->state = REFUSED;
}

static void end_file(struct program *program)
{
    if (program->file->ends)
        file_remove(program->name, ".json", &program->json.stamp);
}

/* The process has ended. */
static void go_away(struct program *program)
{
    const bool is_process = program->file->process != 0;
    if (program->state == REFUSING || program->state == REFUSED)
        return;
    program->process = 0;
    program->stood = true; /* the next process's threads are asked for one by one */
    rows_gone(program);
    program->state = is_process ? OVER : AWAY;
    say(program, "OK", NULL, is_process ? "the process has ended" : "the program does not run");
    if (!is_process)
        return;
    unwatch(program);
    end_file(program);
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

static void use_file(struct program *program, struct program_file *file, const struct file *json,
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
}

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

static void begin(struct program *program)
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
        programs.listed(program->name);
        return;
    }
    program->state = LISTING;
    watch(program);
}

/* True: the new file is about the same program, so the threads keep their rows, and the broker is
 * asked for each of them under the new rules. */
static bool is_same_program(const struct program *program, const struct program_file *file)
{
    return program->state == STANDING && program->file->process == file->process &&
           strcmp(program->file->path, file->path) == 0;
}

static void change(struct program *program, struct program_file *file, const struct file *json,
                   int fd)
{
    const bool stays = is_same_program(program, file);
    if (!stays)
        rows_leave(program);
    use_file(program, file, json, fd);
    program->is_change = stays;
    for (struct row *row = program->rows; row != NULL; row = row->hh.next)
        if (!row->is_leaving) {
            row->is_ended = false;
            row->rule = program_rule_for(program->file, row->comm);
        }
    if (stays)
        go_to(program, STANDING);
    else
        begin(program);
}

void programs_take(const char *name, struct program_file *file, const struct file *json, int fd)
{
    struct program *program = find(name);
    if (program != NULL && !file_is_another(json, &program->json.stamp)) {
        program_free(file);
        return;
    }
    if (program != NULL) {
        change(program, file, json, fd);
        return;
    }
    program = calloc(1, sizeof *program);
    if (program == NULL)
        abort();
    program->fd = -1;
    snprintf(program->name, sizeof program->name, "%s", name);
    HASH_ADD_STR(programs.table, name, program);
    use_file(program, file, json, fd);
    begin(program);
}

bool programs_keep(const char *name, const struct file *json)
{
    struct program *program = find(name);
    if (program == NULL || program->state == REFUSED || program->state == REFUSING)
        return false;
    program->json.stamp = json->stamp;
    program->is_change = true;
    say(program, "BAD_SPEC", "bad-spec", json->reason);
    return true;
}

void programs_drop(const char *name)
{
    struct program *program = find(name);
    struct row *row;
    if (program == NULL)
        return;
    unwatch(program);
    for (row = program->rows; row != NULL; row = row->hh.next)
        programs.news(row->name); /* the row is absent from here on */
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
    struct stamp stamp = program->json.stamp;
    stamp.changed -= row->rule + (form == FORM_HOLD ? RULES_MAX : 0) + 1;
    if (program->file->hold)
        stamp.changed -= (int64_t)(row->tid % THREADS_APART) * 2 * RULES_MAX;
    return stamp;
}

static void make_spec(const struct program *program, const struct row *row, enum form form,
                      struct spec *spec)
{
    const struct rule *rule = &program->file->rules[row->rule];
    *spec = spec_copy(&rule->spec);
    spec->plugin = copy_of(rule->spec.plugin);
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
    row->told = wanted(program, row);
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
        keep_early(name, verdict);
        return;
    }
    json_decref(row->verdict);
    row->verdict = verdict;
    if (answers)
        row->answered = row->told;
    note_news(program);
    advance(program);
}

void programs_done(const char *name)
{
    struct row *row;
    struct program *program = find_row(name, &row);
    if (row == NULL) {
        json_decref(take_early(name)); /* the reservation has ended */
        return;
    }
    row->answered = row->told;
    if (row->is_leaving && row->told == FORM_ABSENT) {
        if (row->comes_back) {
            row->is_leaving = row->comes_back = row->is_ended = false;
            json_decref(row->verdict);
            row->verdict = NULL;
            mark_dirty(program, row);
        } else
            row_free(program, row);
    }
    note_news(program);
    advance(program);
}

/* If the thread has ended, rtf-tasks will tell so, too. If root has revoked the reservation, the
 * thread lives on, and gets no other reservation before the file is rewritten. */
void programs_end_row(const char *name)
{
    struct row *row;
    struct program *program = find_row(name, &row);
    if (row == NULL) {
        programs.news(name);
        return;
    }
    row->is_ended = true;
    mark_dirty(program, row);
    note_news(program);
}

void programs_revoked(const char *name)
{
    struct row *row;
    const struct program *program = find_row(name, &row);
    if (program == NULL)
        return;
    for (row = program->rows; row != NULL; row = row->hh.next)
        if (is_matched(program, row) && !row->is_leaving && !row->is_ended)
            return;
    file_remove(program->name, ".json", &program->json.stamp);
}

/* ---- what rtf-tasks tells ---- */

static void take_process(struct program *program, pid_t process, int64_t started)
{
    if (program->state == REFUSING || program->state == REFUSED)
        return;
    if (program->file->process != 0 && !program->stood &&
        program->json.stamp.changed + blur < started) {
        unwatch(program);
        program->state = REFUSED;
        say(program, "ATTACH_FAIL", "stale",
            "the file is older than the process: it means another one that had this id");
        programs.listed(program->name);
        return;
    }
    program->process = process;
    program->state = LISTING;
    program->result = program->code = NULL;
    for (struct row *row = program->rows; row != NULL; row = row->hh.next)
        row->is_listed = false;
}

/* The row of this thread, whose name matches this rule. A new thread may get the row of a held
 * reservation. */
static struct row *row_for(struct program *program, pid_t tid, int rule)
{
    struct row *row = row_of_thread(program, tid);
    const bool is_matched_now = rule >= 0 && !program->file->rules[rule].leave;
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

/* A leaving row with this id was an earlier thread's: it begins anew for this thread. */
static void take_thread(struct program *program, pid_t tid, const char *comm)
{
    const int rule = program_rule_for(program->file, comm);
    struct row *row = row_for(program, tid, rule);
    if (row->is_leaving)
        row->comes_back = true;
    row->is_listed = true;
    snprintf(row->comm, sizeof row->comm, "%s", comm);
    row->rule = rule;
    mark_dirty(program, row);
    note_news(program);
}

static void take_listed(struct program *program)
{
    struct row *row, *next;
    if (program->state != LISTING)
        return;
    HASH_ITER (hh, program->rows, row, next)
        if (!row->is_listed && !row->is_spare)
            row_gone(program, row);
    go_to(program, program->stood || !any_is_matched(program) ? STANDING : HOLDING);
    programs.listed(program->name);
}

static void take_gone(struct program *program, pid_t tid)
{
    struct row *row = row_of_thread(program, tid);
    if (row != NULL)
        row_gone(program, row);
    advance(program);
}

static void take_refused(struct program *program, const char *reason)
{
    if (program->stood) {
        go_away(program);
        programs.listed(program->name);
        return;
    }
    rows_leave(program);
    program->state = REFUSED;
    say(program, "ATTACH_FAIL", strstr(reason, "yours") != NULL ? "not-yours" : "no-thread",
        reason);
    programs.listed(program->name);
}

bool programs_task(const char *name, const struct paragraph *said)
{
    struct program *program = find(name);
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
        take_thread(program, (pid_t)tid, comm);
    else if (strcmp(event, "gone") == 0)
        take_gone(program, (pid_t)tid);
    else if (strcmp(event, "listed") == 0)
        take_listed(program);
    else if (strcmp(event, "ended") == 0) {
        go_away(program);
        programs.listed(name);
    } else if (strcmp(event, "refused") == 0 && reason != NULL)
        take_refused(program, reason);
    else
        return false;
    return true;
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
    HASH_SORT(program->rows, by_rule);
    HASH_ITER (hh, program->rows, row, next) {
        if (!row->is_dirty)
            continue;
        if (row->told == FORM_ABSENT && wanted(program, row) == FORM_ABSENT && !row->is_leaving) {
            row->is_dirty = false; /* the broker does not know this row */
            row->answered = FORM_ABSENT;
        } else
            programs.news(row->name);
    }
    advance(program);
}

/* True only in a settled state, so that the first reservation has one verdict, about all
 * threads. */
static bool is_to_be_written(const struct program *program, int64_t now)
{
    const bool is_settled = program->state == STANDING || program->state == AWAY ||
                            program->state == OVER || program->state == REFUSED;
    return program->has_news && is_settled &&
           (now >= program->write_at || all_are_answered(program));
}

void programs_take_turn(int64_t now)
{
    struct program *program, *next;
    HASH_ITER (hh, programs.table, program, next) {
        tell_dirty(program);
        if (is_to_be_written(program, now))
            write_verdict(program);
    }
}

int64_t programs_deadline(void)
{
    int64_t earliest = INT64_MAX;
    for (const struct program *program = programs.table; program != NULL;
         program = program->hh.next)
        if (program->has_dirty && program->state != LISTING)
            return 0;
        else if (program->has_news && program->write_at < earliest &&
                 (program->state == STANDING || program->state == AWAY || program->state == OVER ||
                  program->state == REFUSED))
            earliest = program->write_at;
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
