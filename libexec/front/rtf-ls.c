/* rtf-ls(1): lists the user's own reservations, or the reservations of all users, as a table or as
 * JSON.
 *
 * The user's own reservations are read from the files in the user's directory, and the reservations
 * of other users from the broker's journal (read-journal.h). No control character of a file is
 * printed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "name.h"
#include "read-journal.h"
#include "options.h"
#include "serving.h"
#include "states.h"
#include "units.h"

enum { PATTERNS = 64, CELL = 32 };
enum { KEY_JSON = 256, KEY_ALL, KEY_USER, KEY_NO_HEADINGS, KEY_SPOOL, KEY_COLOR, KEY_SORT };

static const char *const colours[STATES] = {
    [ASKED] = "\033[33m", [WAITING] = "\033[33m", [REFUSED] = "\033[31m",  [DRY_RUN] = "\033[36m",
    [GRANTED] = NULL,     [PENDING] = "\033[33m", [ATTACHED] = "\033[32m", [DRIFTED] = "31;1"};

struct row {
    char *user, *name;
    enum state state;
    json_t *verdict;
    int64_t left; /* us until the lease ends; -1: there is no lease */
    char comm[64];
};

enum column {
    USER,
    NAME,
    STATE,
    PLUGIN,
    POLICY,
    CPUS,
    PRIORITY,
    RUNTIME,
    PERIOD,
    DEADLINE,
    SHARE,
    EXPIRES,
    TID,
    COMMAND,
    RESULT,
    ANSWERED,
    REASON,
    COLUMNS
};
static const char *const headings[COLUMNS] = {
    [USER] = "USER",     [NAME] = "NAME",         [STATE] = "STATE",       [PLUGIN] = "PLUGIN",
    [POLICY] = "POLICY", [CPUS] = "CPUS",         [PRIORITY] = "PRIORITY", [RUNTIME] = "RUNTIME",
    [PERIOD] = "PERIOD", [DEADLINE] = "DEADLINE", [SHARE] = "SHARE",       [EXPIRES] = "EXPIRES",
    [TID] = "TID",       [COMMAND] = "COMMAND",   [RESULT] = "RESULT",     [ANSWERED] = "ANSWERED",
    [REASON] = "REASON"};

struct options {
    const char *spool, *user, *columns;
    const char *patterns[PATTERNS];
    int pattern_count;
    enum column sort; /* COLUMNS: by name */
    bool json, all, no_headings, reverse;
    int color; /* -1: on a terminal; 0: never; 1: always */
};

static struct options options = {.spool = RTF_SPOOL, .sort = COLUMNS, .color = -1};
static struct row *rows;
static size_t row_count;

__attribute__((format(printf, 2, 3), noreturn)) static void die(int status, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("rtf ls: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    exit(status);
}

/* ---- the user's own, from files ---- */

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static bool is_null(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value == NULL || json_is_null(value);
}

static void read_comm(pid_t tid, char comm[static 64])
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, comm, 63);
    if (fd >= 0)
        close(fd);
    comm[length > 0 && comm[length - 1] == '\n' ? length - 1 : length > 0 ? length : 0] = '\0';
}

/* The name of a program stands for its threads NAME+TID, too. */
static bool is_wanted(const char *name)
{
    char program[NAME_MAX + 1];
    const size_t length = reservation_name_of_program(name);
    snprintf(program, sizeof program, "%.*s", (int)length, name);
    for (int i = 0; i < options.pattern_count; i++)
        if (fnmatch(options.patterns[i], name, 0) == 0 ||
            (length > 0 && fnmatch(options.patterns[i], program, 0) == 0))
            return true;
    return options.pattern_count == 0;
}

static struct row *new_row(const char *user, const char *name)
{
    static size_t size;
    if (row_count == size) {
        size = size == 0 ? 256 : size * 2;
        rows = realloc(rows, size * sizeof *rows);
        if (rows == NULL)
            die(EX_OSERR, "no memory");
    }
    struct row *row = &rows[row_count++];
    *row = (struct row){.user = strdup(user), .name = strdup(name), .left = -1};
    return row;
}

static void take_verdict(struct row *row, json_t *verdict, bool is_current)
{
    row->verdict = verdict;
    row->state = state_of(verdict, is_current);
    if (row->state >= PENDING)
        read_comm((pid_t)number(json_object_get(verdict, "thread"), "tid"), row->comm);
}

static int64_t now_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Returns the rest of the lease, us; -1: there is none. A lease begins when the spec is written or
 * touched. */
static int64_t left_since(const struct row *row, const struct stat *spec)
{
    const json_int_t expires = number(json_object_get(row->verdict, "grant"), "expires");
    const int64_t written = (int64_t)spec->st_ctim.tv_sec * 1000000 + spec->st_ctim.tv_nsec / 1000;
    /* there is no lease; or the owner has written the verdict, not the broker */
    if (expires <= 0 || expires > INT64_MAX / 2)
        return -1;
    const int64_t left = written + expires - now_of(CLOCK_REALTIME);
    return left < 0 ? 0 : left;
}

/* Adds a row NAME+TID for each thread of a program. A thread's part of the program's verdict has
 * the form of a verdict. */
static void add_threads(const char *user, const char *name, json_t *threads, bool is_current)
{
    char thread_name[RESERVATION_NAME_BYTES];
    json_t *thread;
    size_t i;
    json_array_foreach(threads, i, thread)
    {
        snprintf(thread_name, sizeof thread_name, "%.64s+%d", name, (int)number(thread, "tid"));
        struct row *row = new_row(user, thread_name);
        take_verdict(row, json_incref(thread), is_current);
    }
}

static void add_row(int directory, const char *user, const char *name, const struct stat *status)
{
    char file[CLIENT_NAME_MAX + sizeof ".verdict"];
    struct row *row = new_row(user, name);
    snprintf(file, sizeof file, "%.*s.verdict", CLIENT_NAME_MAX, name);
    json_t *verdict = client_read_object(directory, file);
    const bool is_current = verdict != NULL && verdict_is_current(verdict, status);
    take_verdict(row, verdict, is_current);
    row->left = left_since(row, status);
    add_threads(user, name, json_object_get(verdict, "threads"), is_current);
}

/* Adds a row for each NAME.json. Closes the directory. */
static void read_directory(int directory, const char *user)
{
    static const char suffix[] = ".json";
    struct stat status;
    DIR *entries = fdopendir(directory);
    if (entries == NULL)
        die(EX_OSERR, "%s: %s", user, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char name[NAME_MAX + 1];
        size_t length = strlen(entry->d_name), tail = sizeof suffix - 1;
        if (length <= tail || strcmp(entry->d_name + length - tail, suffix) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(length - tail), entry->d_name);
        if (client_name_ok(name) && is_wanted(name) &&
            fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            add_row(directory, user, name, &status);
    }
    closedir(entries);
}

/* False with errno. */
static bool read_user(int specs, const char *user)
{
    int directory = openat(specs, user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory >= 0)
        read_directory(directory, user);
    return directory >= 0;
}

/* ---- other users', from the broker's journal: root enters no user's directory ---- */

static int64_t left_until(const json_t *lease)
{
    const int64_t left = json_integer_value(lease) / 1000 - now_of(CLOCK_BOOTTIME);
    return !json_is_integer(lease) ? -1 : left < 0 ? 0 : left;
}

static void add_booked(const char *user, const char *name, json_t *verdict)
{
    if (!is_wanted(name) || (options.user != NULL && strcmp(user, options.user) != 0))
        return;
    struct row *row = new_row(user, name);
    take_verdict(row, verdict, true);
    row->left = left_until(json_object_get(verdict, "lease"));
}

static void is_gone(const char *user, const char *name)
{
    (void)user;
    (void)name;
}

static void read_journal(int root)
{
    static const struct journal_listener listener = {add_booked, is_gone};
    if (!journal_read(root, &listener))
        die(EX_NOPERM, "%s/state/current is not root's, or cannot be read", options.spool);
}

/* Refuses a word that names no user, because an empty list would mean that there is such a user,
 * without reservations. */
static void check_user(void)
{
    uint64_t uid;
    if (row_count == 0 && getpwnam(options.user) == NULL &&
        !parse_number(options.user, UINT32_MAX - 1, &uid))
        die(EX_NOUSER, "there is no user %s", options.user);
}

static bool is_own(const char *user)
{
    char uid[16];
    const struct passwd *account = getpwuid(geteuid());
    snprintf(uid, sizeof uid, "%u", (unsigned)geteuid());
    return strcmp(user, uid) == 0 || (account != NULL && strcmp(user, account->pw_name) == 0);
}

/* The message is the same whether the user has a directory or not, because only root may know
 * that. */
static void read_others(int specs)
{
    if (read_user(specs, options.user))
        return;
    const bool is_others = errno == EACCES || errno == ENOENT;
    die(is_others ? EX_NOPERM : EX_OSERR, "%s/specs/%s: %s", options.spool, options.user,
        is_others ? "only root sees the reservations of another user" : strerror(errno));
}

static void read_rows(void)
{
    struct client client;
    const enum client_outcome opened = client_open(&client, options.spool);
    if (opened != CLIENT_OK)
        die(client_status_of_outcome(opened), "%s", client.why);
    if (options.all && geteuid() != 0)
        die(EX_NOPERM, "%s/specs: only root sees the reservations of all users", options.spool);
    if (options.all || (options.user != NULL && geteuid() == 0)) {
        read_journal(client.root);
        if (options.user != NULL)
            check_user();
    } else if (options.user != NULL && !is_own(options.user)) {
        read_others(client.specs);
    } else {
        const enum client_outcome outcome = client_enter(&client, false);
        if (outcome == CLIENT_DENIED || outcome == CLIENT_ERROR)
            die(outcome == CLIENT_DENIED ? EX_NOPERM : EX_OSERR, "%s", client.why);
        if (outcome == CLIENT_OK)
            read_user(client.specs, client.user);
    }
    client_close(&client);
}

/* ---- as JSON ---- */

static json_t *value_of(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return value == NULL ? json_null() : json_incref(value);
}

static json_t *row_as_json(const struct row *row)
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

static void print_json(void)
{
    fputs("{\"reservations\":[", stdout);
    for (size_t i = 0; i < row_count; i++) {
        json_t *object = row_as_json(&rows[i]);
        fputs(i == 0 ? "\n" : ",\n", stdout);
        json_dumpf(object, stdout, JSON_COMPACT);
        json_decref(object);
    }
    fputs(row_count == 0 ? "]}\n" : "\n]}\n", stdout);
}

/* ---- as a table ---- */

static enum column shown[COLUMNS];
static int shown_count;

__attribute__((noreturn)) static void no_column(const char *option, const char *text)
{
    die(EX_USAGE,
        "%s %s: columns are USER, NAME, STATE, PLUGIN, POLICY, CPUS, PRIORITY, RUNTIME, PERIOD, DEADLINE, SHARE, EXPIRES, TID, COMMAND, RESULT, "
        "ANSWERED and REASON",
        option, text);
}

static enum column column_named(const char *option, const char *text, const char *word)
{
    for (enum column column = USER; column < COLUMNS; column++)
        if (strcasecmp(word, headings[column]) == 0)
            return column;
    no_column(option, text);
}

static void show_columns(const char *list)
{
    char *copy = strdup(list), *rest = copy;
    for (const char *word; (word = strsep(&rest, ",")) != NULL;) {
        if (shown_count == COLUMNS)
            die(EX_USAGE, "-o %s: these are more columns than there are", list);
        shown[shown_count++] = column_named("-o", list, word);
    }
    free(copy);
}

/* The column EXPIRES is shown if a reservation has a lease. */
static void show_usual_columns(void)
{
    static const enum column usual[] = {USER,     NAME,  STATE,   PLUGIN, RUNTIME, PERIOD,
                                        PRIORITY, SHARE, EXPIRES, TID,    COMMAND};
    bool any_expires = false;
    for (size_t row = 0; row < row_count; row++)
        any_expires |= rows[row].left >= 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if ((usual[i] != USER || options.all) && (usual[i] != EXPIRES || any_expires))
            shown[shown_count++] = usual[i];
}

static const char *heading(enum column column)
{
    return column < COLUMNS ? headings[column] : "";
}

/* A time in us as text: 1500 is "1500us", 5000 is "5ms". */
static const char *time_text(const json_t *object, const char *key, char text[static CELL])
{
    const json_int_t time = number(object, key);
    if (is_null(object, key))
        return "-";
    if (time % 1000000 == 0)
        snprintf(text, CELL, "%llds", (long long)time / 1000000);
    else if (time % 1000 == 0)
        snprintf(text, CELL, "%lldms", (long long)time / 1000);
    else
        snprintf(text, CELL, "%lldus", (long long)time);
    return text;
}

static const char *number_text(const json_t *object, const char *key, char text[static CELL])
{
    if (is_null(object, key))
        return "-";
    snprintf(text, CELL, "%lld", (long long)number(object, key));
    return text;
}

static const char *word(const json_t *object, const char *key)
{
    const char *text = client_string(object, key);
    return text == NULL || text[0] == '\0' ? "-" : text;
}

static const char *share_text(const json_t *grant, char text[static CELL])
{
    const json_int_t share = number(grant, "utilization");
    return share <= 0 ? "-" : format_utilization((uint64_t)share, text);
}

/* The rest of a lease as text, to a tenth of a second, a second, a minute, an hour or a day. */
static const char *left_text(int64_t left, char text[static CELL])
{
    static const int64_t s = 1000000, min = 60 * s, h = 60 * min, d = 24 * h;
    if (left < 0)
        return "-";
    if (left < 10 * s)
        snprintf(text, CELL, "%d.%ds", (int)(left / s), (int)(left % s / (s / 10)));
    else if (left < 2 * min)
        snprintf(text, CELL, "%llds", (long long)(left / s));
    else if (left < 2 * h)
        snprintf(text, CELL, "%lldmin", (long long)(left / min));
    else if (left < 2 * d)
        snprintf(text, CELL, "%lldh", (long long)(left / h));
    else
        snprintf(text, CELL, "%lldd", (long long)(left / d));
    return text;
}

static const char *cell(const struct row *row, enum column column, char text[static CELL])
{
    const json_t *grant = json_object_get(row->verdict, "grant"),
                 *thread = json_object_get(row->verdict, "thread");
    switch (column) {
    case USER: return row->user;
    case NAME: return row->name;
    case STATE: return state_name(row->state);
    case PLUGIN: return word(grant, "plugin");
    case POLICY: return word(grant, "policy");
    case CPUS: return word(grant, "cpus");
    case PRIORITY: return number_text(grant, "priority", text);
    case RUNTIME:
        return time_text(grant, is_null(grant, "accepted_runtime") ? "runtime" : "accepted_runtime",
                         text);
    case PERIOD: return time_text(grant, "period", text);
    case DEADLINE: return time_text(grant, "deadline", text);
    case SHARE: return share_text(grant, text);
    case EXPIRES: return left_text(row->left, text);
    case TID: return number_text(thread, "tid", text);
    case COMMAND: return row->comm[0] == '\0' ? "-" : row->comm;
    case RESULT: return word(row->verdict, "result");
    case ANSWERED: return word(row->verdict, "time");
    case REASON: return word(row->verdict, "reason");
    case COLUMNS: break;
    }
    return "-";
}

/* ---- order ---- */

/* Returns the number that a column is sorted by; -1: the cell has no number, or the column has
 * texts. */
static json_int_t amount(const struct row *row, enum column column)
{
    static const char *const keys[COLUMNS] = {[PRIORITY] = "priority",
                                              [PERIOD] = "period",
                                              [DEADLINE] = "deadline",
                                              [SHARE] = "utilization"};
    const json_t *grant = json_object_get(row->verdict, "grant"),
                 *thread = json_object_get(row->verdict, "thread");
    const bool is_runtime = column == RUNTIME, is_tid = column == TID;
    const char *key = is_runtime
                          ? is_null(grant, "accepted_runtime") ? "runtime" : "accepted_runtime"
                      : is_tid ? "tid"
                               : keys[column];
    if (column == EXPIRES)
        return row->left;
    if (column == STATE)
        return row->state;
    const json_int_t value = key == NULL ? 0 : number(is_tid ? thread : grant, key);
    return value > 0 ? value : -1;
}

/* Rows without a number come last in both directions. */
static int compare_cells(const struct row *a, const struct row *b, enum column column)
{
    char one[CELL], two[CELL];
    const json_int_t has = amount(a, column), had = amount(b, column);
    if ((has < 0) != (had < 0))
        return has < 0 ? 1 : -1;
    const int by = has < 0     ? strverscmp(cell(a, column, one), cell(b, column, two))
                   : has < had ? -1
                               : has > had;
    return options.reverse ? -by : by;
}

/* By the column of --sort, then by user, then by name: run-9 before run-10. */
static int compare_rows(const void *one, const void *two)
{
    const struct row *a = one, *b = two;
    int by = options.sort == COLUMNS ? 0 : compare_cells(a, b, options.sort);
    if (by == 0)
        by = strcmp(a->user, b->user);
    return by != 0 ? by : strverscmp(a->name, b->name);
}

static void sort_by(const char *text)
{
    options.reverse = text[0] == '-';
    options.sort = column_named("--sort", text, text + options.reverse);
}

/* ---- on a terminal ---- */

static bool paints(void)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (options.color >= 0)
        return options.color > 0;
    return isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0') && terminal != NULL &&
           strcmp(terminal, "dumb") != 0;
}

/* Another user or a program may have written the text: a control character becomes \uXXXX, as JSON
 * writes it, before a terminal sees it. */
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
        die(EX_OSERR, "no memory");
}

static struct libscols_table *begin_table(bool painted)
{
    struct libscols_table *table = scols_new_table();
    if (table == NULL || scols_table_enable_noheadings(table, options.no_headings) != 0 ||
        scols_table_enable_noencoding(table, 1) != 0 ||
        scols_table_enable_colors(table, painted) != 0 ||
        scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER) != 0 ||
        scols_table_set_column_separator(table, "  ") != 0)
        die(EX_OSERR, "no memory");
    for (int i = 0; i < shown_count; i++) {
        struct libscols_column *column =
            scols_table_new_column(table, options.no_headings ? "" : heading(shown[i]), 0, 0);
        if (column == NULL ||
            (painted && scols_cell_set_color(scols_column_get_header(column), "\033[1m") != 0))
            die(EX_OSERR, "no memory");
    }
    return table;
}

static void print_table(void)
{
    const bool painted = paints();
    char text[CELL];
    if (row_count == 0)
        return;
    struct libscols_table *table = begin_table(painted);
    for (size_t row = 0; row < row_count; row++) {
        struct libscols_line *line = scols_table_new_line(table, NULL);
        for (int i = 0; line != NULL && i < shown_count; i++) {
            set_text(line, i, cell(&rows[row], shown[i], text));
            if (painted && shown[i] == STATE && colours[rows[row].state] != NULL)
                scols_cell_set_color(scols_line_get_cell(line, (size_t)i),
                                     colours[rows[row].state]);
        }
    }
    if (scols_print_table(table) != 0)
        die(EX_OSERR, "no memory");
    scols_unref_table(table);
}

/* Without a broker, the list may be out of date. */
static void tell_no_broker(void)
{
    char text[CLIENT_WHY];
    const int root = open(options.spool, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root >= 0 && serving(root) == NOT_SERVED)
        fprintf(stderr, "rtf ls: %s: this is what was in force last\n",
                client_tell_no_broker(options.spool, text));
    if (root >= 0)
        close(root);
}

/* ---- the command line ---- */

static const struct argp_option option_table[] = {
    {"json", KEY_JSON, NULL, 0, "Print one JSON object", 0},
    {"output", 'o', "COLUMN,...", 0, "Print these columns", 0},
    {"sort", KEY_SORT, "[-]COLUMN", 0, "Sort by this column; with -, the largest first", 0},
    {"noheadings", KEY_NO_HEADINGS, NULL, 0, "Leave the headings out", 0},
    {"all", KEY_ALL, NULL, 0, "Of all users (root only)", 0},
    {"user", KEY_USER, "USER", 0, "Of this user (root only)", 0},
    {"color", KEY_COLOR, "WHEN", 0, "auto (the default), always or never", 0},
    {"spool", KEY_SPOOL, "DIR", 0, "The spool (default: " RTF_SPOOL ")", 0},
    {0}};

static int take_color(const char *text)
{
    static const char *const words[] = {"auto", "never", "always"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, words[i]) == 0)
            return i - 1;
    die(EX_USAGE, "--color %s: this is auto, always or never", text);
}

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case KEY_JSON: options.json = true; break;
    case 'o': options.columns = argument; break;
    case KEY_NO_HEADINGS: options.no_headings = true; break;
    case KEY_ALL: options.all = true; break;
    case KEY_SORT: sort_by(argument); break;
    case KEY_USER: options.user = argument; break;
    case KEY_COLOR: options.color = take_color(argument); break;
    case KEY_SPOOL: options.spool = argument; break;
    case ARGP_KEY_ARG:
        if (options.pattern_count == PATTERNS)
            argp_failure(state, EX_USAGE, 0, "no more than %d names", PATTERNS);
        options.patterns[options.pattern_count++] = argument;
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
    argv[0] = name;
    setlocale(LC_ALL, "");
    client_hold_standard_fds();
    if (parse_options(&argp, argc, argv, 0, NULL, EX_USAGE, EX_IOERR) != 0)
        return EX_USAGE;
    if (options.user != NULL && (options.user[0] == '.' || strchr(options.user, '/') != NULL))
        die(EX_USAGE, "--user %s: this is not the name of a user", options.user);
    if (options.columns != NULL)
        show_columns(options.columns);
    read_rows();
    if (options.columns == NULL)
        show_usual_columns();
    if (row_count > 1)
        qsort(rows, row_count, sizeof *rows, compare_rows);
    options.json ? print_json() : print_table();
    if (fflush(stdout) != 0 || ferror(stdout) != 0)
        die(EX_IOERR, "cannot print the list: %s", strerror(errno));
    if (row_count > 0)
        tell_no_broker();
    return EX_OK;
}
