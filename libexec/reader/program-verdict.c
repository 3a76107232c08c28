#include "program-verdict.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "reason.h"
#include "units.h"

static json_t *copy_or_null(json_t *from, const char *key)
{
    json_t *value = json_object_get(from, key);
    return value == NULL ? json_null() : json_incref(value);
}

json_t *verdict_row(const char *comm, pid_t tid, int rule, const char *reservation, bool is_held,
                    json_t *told)
{
    static const char *const keys[] = {"result",  "reason", "sentence",
                                       "refusal", "grant",  "thread"};
    json_t *row = json_pack("{s:s, s:i, s:i, s:s, s:b}", "name", comm, "tid", (int)tid, "rule",
                            rule + 1, "reservation", reservation, "held", is_held);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        (void)json_object_set_new(row, keys[i], copy_or_null(told, keys[i]));
    return row;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static bool has_result(const json_t *row, const char *result)
{
    return strcmp(text_of(row, "result"), result) == 0;
}

/* Returns the row that decides the result of the verdict: the first refused row, or else the first
 * waiting row. */
static json_t *row_of_refusal(json_t *rows)
{
    json_t *row, *waits = NULL;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        if (has_result(row, "OK") || has_result(row, ""))
            continue;
        if (!has_result(row, "WAITING"))
            return row;
        waits = waits == NULL ? row : waits;
    }
    return waits;
}

/* Returns a sentence of the row, such as "thread camera-1 (4243), rule 1: ...". */
static json_t *about_thread(const json_t *row, const char *key)
{
    char text[2 * REASON_BYTES];
    if (!json_is_string(json_object_get(row, key)))
        return json_null();
    snprintf(text, sizeof text, "thread %.16s (%d), rule %d: %.900s", text_of(row, "name"),
             (int)json_integer_value(json_object_get(row, "tid")),
             (int)json_integer_value(json_object_get(row, "rule")), text_of(row, key));
    return json_string(text);
}

static int count_granted(json_t *rows)
{
    json_t *row;
    size_t i;
    int count = 0;
    json_array_foreach(rows, i, row) count += json_is_object(json_object_get(row, "grant"));
    return count;
}

static json_t *now_text(void)
{
    char text[40];
    const int64_t now = realtime_now();
    const time_t seconds = (time_t)(now / 1000000000);
    struct tm utc;
    const size_t length =
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &utc));
    snprintf(text + length, sizeof text - length, ".%06dZ", (int)(now % 1000000000 / 1000));
    return json_string(text);
}

static json_t *stamp_json(const struct stamp *stamp)
{
    char changed[SECONDS_TEXT];
    return json_pack("{s:I, s:s}", "inode", (json_int_t)stamp->inode, "changed",
                     format_seconds(stamp->changed, changed));
}

static json_t *own_refusal(const struct program_summary *summary)
{
    if (summary->code == NULL)
        return json_null();
    return json_pack("{s:s, s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:s}", "code", summary->code,
                     "by", strcmp(summary->result, "BAD_SPEC") == 0 ? "spec" : "broker", "rule",
                     "asked", "available", "nearest", "nearest_minimum", "nearest_of", "nearest_is",
                     "retry", "never");
}

/* Sets the result and reason that the summary states, instead of those of the rows. */
static void set_own(json_t *verdict, const struct program_summary *summary)
{
    const bool is_refused = summary->code != NULL;
    (void)json_object_set_new(verdict, "result", json_string(summary->result));
    (void)json_object_set_new(verdict, "reason", json_string(summary->reason));
    (void)json_object_set_new(verdict, "sentence",
                              is_refused ? json_string(summary->reason) : json_null());
    (void)json_object_set_new(verdict, "refusal", own_refusal(summary));
}

static void set_result(json_t *verdict, const struct program_summary *summary, json_t *rows)
{
    char reason[80];
    json_t *row = row_of_refusal(rows);
    const int granted = count_granted(rows);
    snprintf(reason, sizeof reason, "%d thread%s a reservation", granted,
             granted == 1 ? " has" : "s have");
    if (summary->result != NULL)
        set_own(verdict, summary);
    else if (row == NULL)
        set_own(verdict, &(struct program_summary){.result = "OK", .reason = reason});
    else {
        (void)json_object_set_new(verdict, "result", copy_or_null(row, "result"));
        (void)json_object_set_new(verdict, "reason", about_thread(row, "reason"));
        (void)json_object_set_new(verdict, "sentence", about_thread(row, "sentence"));
        (void)json_object_set_new(verdict, "refusal", copy_or_null(row, "refusal"));
    }
    (void)json_object_set_new(verdict, "replies", json_array());
    (void)json_object_set_new(verdict, "grant",
                              granted == 0 ? json_null() : json_pack("{s:i}", "threads", granted));
}

static json_t *program_json(const struct program_summary *summary)
{
    return json_pack("{s:o, s:s}", "process",
                     summary->process == 0 ? json_null() : json_integer(summary->process), "state",
                     summary->state);
}

char *verdict_of_program(const struct program_summary *summary, json_t *rows)
{
    json_t *verdict = json_object();
    (void)json_object_set_new(verdict, "request", json_string(summary->request));
    (void)json_object_set_new(verdict, "token",
                              summary->token == NULL ? json_null() : json_string(summary->token));
    (void)json_object_set_new(verdict, "spec", stamp_json(&summary->spec));
    (void)json_object_set_new(verdict, "tid",
                              summary->tid.inode == 0 ? json_null() : stamp_json(&summary->tid));
    set_result(verdict, summary, rows);
    (void)json_object_set_new(verdict, "thread", json_null());
    (void)json_object_set_new(verdict, "time", now_text());
    (void)json_object_set_new(verdict, "ended", json_null());
    (void)json_object_set_new(verdict, "program", program_json(summary));
    (void)json_object_set(verdict, "threads", rows);
    char *text = json_dumps(verdict, JSON_COMPACT);
    const size_t length = text == NULL ? 0 : strlen(text);
    char *line = text == NULL ? NULL : realloc(text, length + 2);
    json_decref(verdict);
    if (line == NULL)
        abort(); /* the broker starts another reader, which scans the whole directory */
    memcpy(line + length, "\n", 2);
    return line;
}

json_t *verdict_about(const char *text, size_t length, const struct stamp *spec,
                      char state[static 16])
{
    char changed[SECONDS_TEXT];
    json_t *verdict = json_loadb(text, length, 0, NULL);
    const json_t *of = json_object_get(verdict, "spec"),
                 *program = json_object_get(verdict, "program");
    const bool is_it = (uint64_t)json_integer_value(json_object_get(of, "inode")) == spec->inode &&
                       strcmp(text_of(of, "changed"), format_seconds(spec->changed, changed)) == 0;
    snprintf(state, 16, "%.15s", text_of(program, "state"));
    if (is_it && state[0] != '\0')
        return verdict;
    json_decref(verdict);
    return NULL;
}

static bool number_of(const json_t *row, const char *key, int max, int *number)
{
    const json_int_t value = json_integer_value(json_object_get(row, key));
    *number = (int)value;
    return value >= 1 && value <= max;
}

size_t verdict_row_count(const json_t *verdict)
{
    return json_array_size(json_object_get(verdict, "threads"));
}

bool verdict_row_at(const json_t *verdict, size_t i, struct row_of_verdict *row)
{
    json_t *const rows = json_object_get(verdict, "threads"), *found = json_array_get(rows, i);
    const char *plus = strchr(text_of(found, "reservation"), '+');
    uint64_t slot = 0;
    int tid = 0, rule = 0;
    if (found == NULL || plus == NULL || !parse_number(plus + 1, TID_MAX, &slot) || slot == 0 ||
        !number_of(found, "tid", TID_MAX, &tid) || !number_of(found, "rule", INT_MAX, &rule) ||
        !json_is_object(json_object_get(found, "grant")))
        return false;
    *row = (struct row_of_verdict){.slot = (pid_t)slot,
                                   .tid = tid,
                                   .rule = rule - 1,
                                   .is_held = json_is_true(json_object_get(found, "held")),
                                   .row = json_incref(found)};
    snprintf(row->comm, sizeof row->comm, "%.15s", text_of(found, "name"));
    return true;
}
