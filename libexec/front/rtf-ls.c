/* rtf-ls(1): lists the user's own reservations, or the reservations of all users, as a table or as
 * JSON. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "ls-columns.h"
#include "ls-print.h"
#include "ls-rows.h"
#include "options.h"
#include "serving.h"

enum { PATTERNS = 64 };
enum { KEY_JSON = 256, KEY_ALL, KEY_USER, KEY_NO_HEADINGS, KEY_SPOOL, KEY_COLOR, KEY_SORT };

static struct {
    struct ls_filter filter;
    const char *patterns[PATTERNS];
    const char *columns;
    enum ls_column sort; /* LS_COLUMNS: by name */
    bool json, reverse;
    int color; /* -1: on a terminal; 0: never; 1: always */
} options = {.filter = {.spool = RTF_SPOOL}, .sort = LS_COLUMNS, .color = -1};

static struct ls_table table;

/* ---- columns ---- */

static void show_columns(const char *list)
{
    char *copy = strdup(list), *rest = copy;
    for (const char *word; (word = strsep(&rest, ",")) != NULL;) {
        if (table.column_count == LS_COLUMNS)
            ls_die(EX_USAGE, "-o %s: more columns than rtf ls has", list);
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

/* By the column of --sort, then by user, then by name: run-9 before run-10. */
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
        fprintf(stderr, "rtf ls: %s; the list shows what was in force when the last broker ended\n",
                client_tell_no_broker(options.filter.spool, text));
    if (root >= 0)
        close(root);
}

/* ---- the command line ---- */

static const struct argp_option option_table[] = {
    {"json", KEY_JSON, NULL, 0, "Print one JSON object", 0},
    {"output", 'o', "COLUMN,...", 0, "Print these columns", 0},
    {"sort", KEY_SORT, "[-]COLUMN", 0, "Sort by this column; with -, the largest first", 0},
    {"noheadings", KEY_NO_HEADINGS, NULL, 0, "Leave the headings out", 0},
    {"all", KEY_ALL, NULL, 0, "List the reservations of all users (root only)", 0},
    {"user", KEY_USER, "USER", 0, "List the reservations of this user (root only)", 0},
    {"color", KEY_COLOR, "WHEN", 0, "auto (the default), always or never", 0},
    {"spool", KEY_SPOOL, "DIR", 0, "The spool (default: " RTF_SPOOL ")", 0},
    {0}};

static int take_color(const char *text)
{
    static const char *const words[] = {"auto", "never", "always"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, words[i]) == 0)
            return i - 1;
    ls_die(EX_USAGE, "--color %s: this must be auto, always or never", text);
}

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case KEY_JSON: options.json = true; break;
    case 'o': options.columns = argument; break;
    case KEY_NO_HEADINGS: table.no_headings = true; break;
    case KEY_ALL: options.filter.all = true; break;
    case KEY_SORT: sort_by(argument); break;
    case KEY_USER: options.filter.user = argument; break;
    case KEY_COLOR: options.color = take_color(argument); break;
    case KEY_SPOOL: options.filter.spool = argument; break;
    case ARGP_KEY_ARG:
        if (options.filter.pattern_count == PATTERNS)
            argp_failure(state, EX_USAGE, 0, "no more than %d names", PATTERNS);
        options.patterns[options.filter.pattern_count++] = argument;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const char *argp_program_version = "rtf ls " RTF_VERSION;

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = take_option,
        .args_doc = "[NAME...]",
        .doc =
            "List your own reservations: all, or the reservations whose names match the patterns NAME."};
    static char name[] = "rtf ls";
    size_t count;
    argv[0] = name;
    setlocale(LC_ALL, "");
    client_hold_standard_fds();
    if (parse_options(&argp, argc, argv, 0, NULL, EX_USAGE, EX_IOERR) != 0)
        return EX_USAGE;
    if (options.filter.user != NULL &&
        (options.filter.user[0] == '.' || strchr(options.filter.user, '/') != NULL))
        ls_die(EX_USAGE, "--user %s: this is not the name of a user", options.filter.user);
    if (options.columns != NULL)
        show_columns(options.columns);
    options.filter.patterns = options.patterns;
    struct ls_row *rows = ls_rows_read(&options.filter, &count);
    if (count > 1)
        qsort(rows, count, sizeof *rows, compare_rows);
    print(rows, count);
    if (fflush(stdout) != 0 || ferror(stdout) != 0)
        ls_die(EX_IOERR, "cannot print the list: %s", strerror(errno));
    if (count > 0)
        tell_no_broker();
    return EX_OK;
}
