/* rtf-ls(1): lists the user's own reservations, or the reservations of all users, as a table or as
 * JSON. */
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "command-line.h"
#include "ls-columns.h"
#include "ls-print.h"
#include "ls-rows.h"
#include "serving.h"

static struct {
    struct ls_filter filter;
    const char *columns;
    enum ls_column sort; /* LS_COLUMNS: by name */
    bool json, reverse;
    int color; /* -1: on a terminal; 0: never; 1: always */
} options = {.sort = LS_COLUMNS, .color = -1};

static struct ls_table table;

/* ---- columns ---- */

static void show_columns(const char *list)
{
    char *copy = strdup(list), *rest = copy;
    for (const char *word; (word = strsep(&rest, ",")) != NULL;) {
        if (table.column_count == LS_COLUMNS)
            command_wrong("-o %s: more columns than rtf ls has", command_typed(list));
        table.columns[table.column_count++] = ls_column_named("-o", list, word);
    }
    free(copy);
}

/* The column EXPIRES is shown if a reservation has a lease. */
static void show_usual_columns(const struct ls_row *rows, size_t count)
{
    static const enum ls_column usual[] = {LS_USER,    LS_NAME,   LS_STATE,    LS_PLUGIN,
                                           LS_RUNTIME, LS_PERIOD, LS_PRIORITY, LS_SHARE,
                                           LS_EXPIRES, LS_TID,    LS_COMMAND};
    bool any_expires = false;
    for (size_t row = 0; row < count; row++)
        any_expires |= rows[row].left >= 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if ((usual[i] != LS_USER || options.filter.all) && (usual[i] != LS_EXPIRES || any_expires))
            table.columns[table.column_count++] = usual[i];
}

/* ---- order ---- */

/* Rows without a number come last in both directions. */
static int compare_cells(const struct ls_row *a, const struct ls_row *b, enum ls_column column)
{
    char one[LS_CELL], two[LS_CELL];
    const json_int_t has = ls_amount(a, column), had = ls_amount(b, column);
    if ((has < 0) != (had < 0))
        return has < 0 ? 1 : -1;
    const int by = has < 0     ? strverscmp(ls_cell(a, column, one), ls_cell(b, column, two))
                   : has < had ? -1
                               : has > had;
    return options.reverse ? -by : by;
}

/* Compares rows by the column of --sort, then by user, then by name. Numbers in names count as
 * numbers: run-9 comes before run-10. */
static int compare_rows(const void *one, const void *two)
{
    const struct ls_row *a = one, *b = two;
    int by = options.sort == LS_COLUMNS ? 0 : compare_cells(a, b, options.sort);
    if (by == 0)
        by = strcmp(a->user, b->user);
    return by != 0 ? by : strverscmp(a->name, b->name);
}

static void sort_by(const char *text)
{
    options.reverse = text[0] == '-';
    options.sort = ls_column_named("--sort", text, text + options.reverse);
}

/* ---- output ---- */

static bool paints(void)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (options.color >= 0)
        return options.color > 0;
    return isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0') && terminal != NULL &&
           strcmp(terminal, "dumb") != 0;
}

static void print(const struct ls_row *rows, size_t count)
{
    if (options.columns == NULL)
        show_usual_columns(rows, count);
    table.painted = paints();
    if (options.json)
        ls_print_json(rows, count);
    else
        ls_print_table(&table, rows, count);
}

/* Without a broker, the list may be out of date. */
static void tell_no_broker(void)
{
    char text[CLIENT_WHY];
    const int root = open(options.filter.spool, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root >= 0 && serving(root) == NOT_SERVED)
        command_say("%s; the list shows what was in force when the last broker ended",
                    client_tell_no_broker(options.filter.spool, text));
    if (root >= 0)
        close(root);
}

/* ---- the command line ---- */

static const struct command_option option_table[] = {
    {0, "json", NULL, "Print one JSON object"},
    {'o', "output", "COLUMN,...", "Print these columns"},
    {0, "sort", "[-]COLUMN", "Sort by this column; with -, the largest first"},
    {0, "noheadings", NULL, "Leave the headings out"},
    {0, "all", NULL, "List the reservations of all users (root only)"},
    {0, "user", "USER", "List the reservations of this user (root only)"},
    {0, "color", "WHEN", "auto (the default), always or never"},
    {0}};

static int color_of(const char *text)
{
    static const char *const words[] = {"auto", "never", "always"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, words[i]) == 0)
            return i - 1;
    command_wrong("--color %s: this must be auto, always or never", command_typed(text));
}

static const char *user_of(const char *text)
{
    if (text[0] == '.' || strchr(text, '/') != NULL)
        command_wrong("--user %s: this is not the name of a user", command_typed(text));
    return text;
}

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "json") == 0)
        options.json = true;
    else if (strcmp(name, "output") == 0)
        options.columns = value;
    else if (strcmp(name, "sort") == 0)
        sort_by(value);
    else if (strcmp(name, "noheadings") == 0)
        table.no_headings = true;
    else if (strcmp(name, "all") == 0)
        options.filter.all = true;
    else if (strcmp(name, "user") == 0)
        options.filter.user = user_of(value);
    else if (strcmp(name, "color") == 0)
        options.color = color_of(value);
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "ls",
        .about =
            "List your own reservations. With patterns NAME, list only reservations with matching names.",
        .operands = "[OPTION...] [NAME...]",
        .options = option_table,
        .take = take};
    size_t count;
    setlocale(LC_ALL, "");
    options.filter.patterns = command_parse(&command, argc, argv, NULL);
    options.filter.spool = command_spool();
    if (options.columns != NULL)
        show_columns(options.columns);
    struct ls_row *rows = ls_rows_read(&options.filter, &count);
    if (count > 1)
        qsort(rows, count, sizeof *rows, compare_rows);
    print(rows, count);
    if (!command_is_written())
        command_unwritten();
    if (count > 0)
        tell_no_broker();
    return EX_OK;
}
