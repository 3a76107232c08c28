#include "ls-print.h"

#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "client.h"
#include "command-line.h"

/* ---- as JSON ---- */

static json_t *value_of(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return value == NULL ? json_null() : json_incref(value);
}

static json_t *row_as_json(const struct ls_row *row)
{
    static const char *const of_grant[] = {"plugin",      "policy",           "cpus",   "priority",
                                           "runtime",     "accepted_runtime", "period", "deadline",
                                           "utilization", "expires",          "claims"};
    const json_t *grant = json_object_get(row->verdict, "grant");
    json_t *object = json_pack("{s:s, s:s, s:s}", "user", row->user, "name", row->name, "state",
                               state_name(row->state));
    for (size_t i = 0; i < sizeof of_grant / sizeof *of_grant; i++)
        json_object_set_new(object, of_grant[i], value_of(grant, of_grant[i]));
    json_object_set_new(object, "expires_in",
                        row->left < 0 ? json_null() : json_integer((json_int_t)row->left));
    json_object_set_new(object, "tid", value_of(json_object_get(row->verdict, "thread"), "tid"));
    json_t *comm = row->comm[0] == '\0' ? NULL : json_string(row->comm);
    json_object_set_new(object, "command", comm == NULL ? json_null() : comm);
    json_object_set_new(object, "result", value_of(row->verdict, "result"));
    json_object_set_new(object, "reason", value_of(row->verdict, "reason"));
    json_object_set_new(object, "refusal", value_of(row->verdict, "refusal"));
    json_object_set_new(object, "answered", value_of(row->verdict, "time"));
    return object;
}

void ls_print_json(const struct ls_row *rows, size_t count)
{
    fputs("{\"reservations\":[", stdout);
    for (size_t i = 0; i < count; i++) {
        json_t *object = row_as_json(&rows[i]);
        fputs(i == 0 ? "\n" : ",\n", stdout);
        json_dumpf(object, stdout, JSON_COMPACT);
        json_decref(object);
    }
    fputs(count == 0 ? "]}\n" : "\n]}\n", stdout);
}

/* ---- as a table ---- */

/* The colour of each state, as an escape sequence or as the numbers of one; NULL: no colour. */
static const char *const colours[STATES] = {
    [ASKED] = "\033[33m", [WAITING] = "\033[33m", [REFUSED] = "\033[31m",  [DRY_RUN] = "\033[36m",
    [GRANTED] = NULL,     [PENDING] = "\033[33m", [ATTACHED] = "\033[32m", [DRIFTED] = "31;1"};

/* Sets the text of a cell. Another user or a program may have written the text. So each control
 * character becomes \uXXXX, as in JSON, and never controls the terminal. */
static void set_text(struct libscols_line *line, int column, const char *text)
{
    char *safe;
    size_t size;
    FILE *stream = open_memstream(&safe, &size);
    while (stream != NULL && *text != '\0') {
        char piece[CLIENT_PIECE];
        (void)client_escape(&text, piece);
        fputs(piece, stream);
    }
    if (stream == NULL || fclose(stream) != 0 ||
        scols_line_refer_data(line, (size_t)column, safe) != 0)
        command_fail(EX_OSERR, "no memory");
}

static struct libscols_table *begin_table(const struct ls_table *form)
{
    struct libscols_table *table = scols_new_table();
    if (table == NULL || scols_table_enable_noheadings(table, form->no_headings) != 0 ||
        scols_table_enable_noencoding(table, 1) != 0 ||
        scols_table_enable_colors(table, form->painted) != 0 ||
        scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER) != 0 ||
        scols_table_set_column_separator(table, "  ") != 0)
        command_fail(EX_OSERR, "no memory");
    for (int i = 0; i < form->column_count; i++) {
        struct libscols_column *column =
            scols_table_new_column(table, form->no_headings ? "" : ls_heading(form->columns[i]), 0,
                                   0);
        if (column == NULL ||
            (form->painted &&
             scols_cell_set_color(scols_column_get_header(column), "\033[1m") != 0))
            command_fail(EX_OSERR, "no memory");
    }
    return table;
}

void ls_print_table(const struct ls_table *form, const struct ls_row *rows, size_t count)
{
    char text[LS_CELL];
    if (count == 0)
        return;
    struct libscols_table *table = begin_table(form);
    for (size_t row = 0; row < count; row++) {
        struct libscols_line *line = scols_table_new_line(table, NULL);
        for (int i = 0; line != NULL && i < form->column_count; i++) {
            set_text(line, i, ls_cell(&rows[row], form->columns[i], text));
            if (form->painted && form->columns[i] == LS_STATE && colours[rows[row].state] != NULL)
                scols_cell_set_color(scols_line_get_cell(line, (size_t)i),
                                     colours[rows[row].state]);
        }
    }
    if (scols_print_table(table) != 0)
        command_fail(EX_OSERR, "no memory");
    scols_unref_table(table);
}
