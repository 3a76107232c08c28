#include "top-screen.h"

#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "top-cpus.h"
#include "units.h"

enum { PAIR_GOOD = 1, PAIR_BUSY, PAIR_FULL, PAIR_HEAD };
static bool painted;

static const char *const orders[ROW_ORDERS] = {
    [BY_NAME] = "name",   [BY_USER] = "user", [BY_PLUGIN] = "plugin",
    [BY_SHARE] = "share", [BY_USE] = "used",  [BY_RATIO] = "% of grant",
    [BY_WAIT] = "wait",   [BY_OVER] = "over", [BY_TID] = "tid"};

/* ---- colours ---- */

static bool wants_colours(void)
{
    const char *none = getenv("NO_COLOR");
    return (none == NULL || none[0] == '\0') && has_colors();
}

void screen_begin(void)
{
    initscr();
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    painted = wants_colours() && start_color() == OK;
    if (!painted)
        return;
    use_default_colors();
    init_pair(PAIR_GOOD, COLOR_GREEN, -1);
    init_pair(PAIR_BUSY, COLOR_YELLOW, -1);
    init_pair(PAIR_FULL, COLOR_RED, -1);
}

void screen_end(void)
{
    endwin();
}

static void paint(int pair, bool on)
{
    if (painted)
        on ? attron(COLOR_PAIR(pair)) : attroff(COLOR_PAIR(pair));
}

/* ---- bars ---- */

static int pair_of(uint64_t thousandths)
{
    return thousandths < 700 ? PAIR_GOOD : thousandths < 950 ? PAIR_BUSY : PAIR_FULL;
}

/* Draws "LABEL [|||||      TEXT]", `width` columns wide. */
static void bar(int y, int x, int width, const char *label, uint64_t thousandths, const char *text)
{
    const int label_width = width / 2 < 20 ? width / 2 : 20, inside = width - label_width - 3,
              length = (int)strlen(text);
    if (inside < 4)
        return;
    const int full = thousandths >= 1000 ? inside : (int)((uint64_t)inside * thousandths / 1000);
    mvprintw(y, x, "%-*.*s [", label_width, label_width, label);
    for (int i = 0; i < inside; i++) {
        const bool is_text = i >= inside - length;
        paint(pair_of(thousandths), i < full);
        addch((chtype)(is_text ? text[i - (inside - length)] : i < full ? '|' : ' '));
        paint(pair_of(thousandths), false);
    }
    addch(']');
}

/* Returns how many bars fit into one row, if each bar is at least 38 columns wide. */
static int bars_in_row(void)
{
    return COLS < 76 ? 1 : COLS / 38;
}

struct place {
    int y, at, rows_left; /* at: how many bars are in line y */
};

/* Finds the place of the next bar. False: the screen has no more room. */
static bool next_place(struct place *place, int *x, int *width)
{
    const int beside = bars_in_row();
    *width = COLS / beside - 1;
    if (place->at == beside) {
        place->at = 0;
        place->y++;
        place->rows_left--;
    }
    *x = place->at++ * (*width + 1);
    return place->rows_left > 0;
}

static void end_of_row(struct place *place)
{
    if (place->at > 0) {
        place->at = 0;
        place->y++;
        place->rows_left--;
    }
}

static void draw_cpus(struct place *place)
{
    const struct cpu *cpus;
    const int count = cpus_look(&cpus);
    int x, width;
    for (int i = 0; i < count && next_place(place, &x, &width); i++) {
        char label[24], text[16];
        snprintf(label, sizeof label, "CPU %d", cpus[i].number);
        snprintf(text, sizeof text, "%d.%d%%", cpus[i].thousandths / 10, cpus[i].thousandths % 10);
        bar(place->y, x, width, label, (uint64_t)cpus[i].thousandths, text);
    }
    end_of_row(place);
}

/* Converts a decimal number to billionths: "1.25" to 1250000000. */
static uint64_t billionths(const char *text)
{
    char *rest;
    uint64_t value = text == NULL ? 0 : strtoull(text, &rest, 10) * UINT64_C(1000000000);
    if (text == NULL || *rest != '.')
        return value;
    uint64_t digit = 100000000;
    for (rest++; *rest >= '0' && *rest <= '9' && digit > 0; rest++, digit /= 10)
        value += (uint64_t)(*rest - '0') * digit;
    return value;
}

/* Returns a text of status.json in printable ASCII: the spool may belong to another user, whose
 * text must not control the terminal. */
static const char *word(const json_t *object, const char *key, char text[static 64])
{
    const char *said = client_string(object, key);
    return client_printable(said == NULL ? "-" : said, text, 64);
}

static void draw_pool(const json_t *pool, struct place *place, int x, int width)
{
    char used[64], capacity[64], name[64], text[132];
    const uint64_t of = billionths(word(pool, "capacity", capacity));
    snprintf(text, sizeof text, "%s of %s", word(pool, "used", used), capacity);
    bar(place->y, x, width, word(pool, "name", name),
        of < 1000 ? 0 : billionths(used) / (of / 1000), text);
}

static void draw_pools(const json_t *status, struct place *place)
{
    size_t i;
    const json_t *pool;
    int x, width;
    json_array_foreach(json_object_get(status, "pools"), i, pool) if (next_place(place, &x, &width))
        draw_pool(pool, place, x, width);
    end_of_row(place);
}

/* ---- the table ---- */

enum column {
    NAME,
    USER,
    STATE,
    PLUGIN,
    PRIORITY,
    BUDGET,
    SHARE,
    USED,
    RATIO,
    WAIT,
    OVER,
    TID,
    COMMAND,
    COLUMNS
};
static const struct {
    const char *heading;
    /* the column is shown on a screen with at least `from` columns, which leaves eight columns for
     * NAME */
    int width, from;
    bool right;
} columns[COLUMNS] = {[NAME] = {"NAME", 16, 0, false},        [USER] = {"USER", 8, 71, false},
                      [STATE] = {"STATE", 8, 57, false},      [PLUGIN] = {"PLUGIN", 6, 84, false},
                      [PRIORITY] = {"PR", 2, 87, true},       [BUDGET] = {"BUDGET", 13, 22, true},
                      [SHARE] = {"SHARE", 5, 28, true},       [USED] = {"USED", 5, 34, true},
                      [RATIO] = {"%GRNT", 5, 48, true},       [WAIT] = {"WAIT", 5, 77, true},
                      [OVER] = {"OVER", 4, 62, true},         [TID] = {"TID", 7, 42, true},
                      [COMMAND] = {"COMMAND", 15, 103, false}};

/* The user's own reservations need no column USER, which leaves room for other columns. */
static bool is_shown(enum column column)
{
    const bool own = !rows_are_everybodys(),
               gains = own && (column == WAIT || column == PLUGIN || column == PRIORITY);
    const int room = gains ? columns[USER].width + 1 : 0;
    return !(own && column == USER) && COLS + room >= columns[column].from;
}

/* If the screen has columns left over, NAME becomes wider, up to the longest name, and then
 * USER. */
static void measure(int widths[static COLUMNS])
{
    int left = COLS + 1;
    for (enum column column = 0; column < COLUMNS; column++) {
        widths[column] = is_shown(column) ? columns[column].width : 0;
        left -= is_shown(column) ? widths[column] + 1 : 0;
    }
    const int more = left < CLIENT_NAME_MAX - widths[NAME] ? left : CLIENT_NAME_MAX - widths[NAME];
    widths[NAME] += more;
    left -= more;
    if (left > 0)
        widths[USER] += left < 24 ? left : 24;
}

static void share_text(uint64_t share, char text[static 64])
{
    snprintf(text, 64, "%llu.%03llu", (unsigned long long)(share / 1000000000),
             (unsigned long long)(share % 1000000000 / 1000000));
}

static void budget_text(const struct row *row, char text[static 64])
{
    char runtime[TIME_TEXT], period[TIME_TEXT];
    if (row->grant.runtime > 0 && row->grant.period > 0)
        snprintf(text, 64, "%s/%s", format_time(row->grant.runtime, runtime),
                 format_time(row->grant.period, period));
}

/* Writes ">100" for a held thread (row.is_held) that uses more than its share: the excess is idle
 * time, which the thread uses as an ordinary thread. */
static void ratio_text(const struct row *row, char text[static 64])
{
    if (row->is_held && row->uses > row->share)
        snprintf(text, 64, ">100");
    else
        snprintf(text, 64, "%llu", (unsigned long long)row_ratio(row) / 10);
}

static const char *cell(const struct row *row, enum column column, char text[static 64])
{
    const bool runs = row->tid != 0;
    snprintf(text, 64, "-");
    switch (column) {
    case NAME: return row->name;
    case USER: return row->owner->name;
    case STATE: return state_name(row->state);
    case PLUGIN: return row->plugin[0] == '\0' ? text : row->plugin;
    case PRIORITY:
        if (row->grant.priority > 0)
            snprintf(text, 64, "%d", row->grant.priority);
        break;
    case BUDGET: budget_text(row, text); break;
    case SHARE:
        if (row->share > 0)
            share_text(row->share, text);
        break;
    case USED:
        if (runs)
            share_text(row->uses, text);
        break;
    case RATIO:
        if (runs && row->share > 0)
            ratio_text(row, text);
        break;
    case WAIT:
        if (runs)
            share_text(row->waits, text);
        break;
    case OVER:
        if (runs)
            snprintf(text, 64, "%u", row->over);
        break;
    case TID:
        if (runs)
            snprintf(text, 64, "%d", (int)row->tid);
        break;
    case COMMAND: return row->command[0] == '\0' ? text : row->command;
    case COLUMNS: break;
    }
    return text;
}

/* A text that is too long is cut, and ends with ~. */
static void put(const char *text, int width, bool right)
{
    const int length = (int)strlen(text);
    if (width <= 0)
        return;
    if (length > width)
        printw("%.*s~", width - 1, text);
    else
        printw(right ? "%*s" : "%-*s", width, text);
}

static void draw_line(int y, const struct row *row, const int widths[static COLUMNS])
{
    char text[64];
    int x = 0;
    for (enum column column = 0; column < COLUMNS; column++) {
        if (widths[column] == 0)
            continue;
        move(y, x);
        if (x > 0)
            addch(' ');
        put(row == NULL ? columns[column].heading : cell(row, column, text),
            widths[column] < COLS - x - 1 ? widths[column] : COLS - x - 1, columns[column].right);
        x += widths[column] + (x > 0);
    }
}

static int pair_of_row(const struct row *row)
{
    static const int pairs[STATES] = {
        [ASKED] = PAIR_BUSY,   [WAITING] = PAIR_BUSY,  [REFUSED] = PAIR_FULL,
        [PENDING] = PAIR_BUSY, [ATTACHED] = PAIR_GOOD, [DRIFTED] = PAIR_FULL};
    return row->over > 0 ? PAIR_FULL : pairs[row->state];
}

/* Keeps the same row selected when the order changes, and keeps the selected row on the screen. */
static void follow_selection(struct view *view, struct row *const *rows, size_t count)
{
    for (size_t i = 0; view->row != NULL && i < count; i++)
        if (rows[i] == view->row)
            view->selected = i;
    if (view->selected >= count)
        view->selected = count == 0 ? 0 : count - 1;
    view->row = count == 0 ? NULL : rows[view->selected];
    if (view->selected < view->first)
        view->first = view->selected;
    if (view->page > 0 && view->selected >= view->first + view->page)
        view->first = view->selected - view->page + 1;
    if (view->first + view->page > count)
        view->first = count > view->page ? count - view->page : 0;
}

static void draw_table(struct view *view, int y)
{
    size_t count;
    int widths[COLUMNS];
    struct row *const *rows = rows_sorted(view->order, view->reverse, view->attached, &count);
    measure(widths);
    attron(A_REVERSE);
    mvhline(y, 0, ' ', COLS);
    draw_line(y, NULL, widths);
    attroff(A_REVERSE);
    view->page = LINES - y - 2 > 0 ? (size_t)(LINES - y - 2) : 0;
    follow_selection(view, rows, count);
    for (size_t i = 0; i < view->page && view->first + i < count; i++) {
        const struct row *row = rows[view->first + i];
        const bool selected = view->first + i == view->selected;
        paint(pair_of_row(row), pair_of_row(row) != 0);
        if (selected)
            attron(A_BOLD | A_UNDERLINE);
        draw_line(y + 1 + (int)i, row, widths);
        attroff(A_BOLD | A_UNDERLINE);
        paint(pair_of_row(row), false);
    }
    if (count == 0)
        mvaddstr(y + 1, 0,
                 view->attached ? "No reservation has a thread." : "There are no reservations.");
}

/* ---- the lines above and below the table ---- */

static void draw_head(const char *spool, const json_t *status, bool served)
{
    char now[16], line[1024], plugins[160] = "", place[512];
    size_t i;
    const json_t *plugin;
    const time_t seconds = time(NULL);
    struct tm local;
    strftime(now, sizeof now, "%H:%M:%S", localtime_r(&seconds, &local));
    json_array_foreach(json_object_get(status, "plugins"), i, plugin)
    {
        const size_t length = strlen(plugins);
        char name[64];
        const char *state = client_string(plugin, "state");
        snprintf(plugins + length, sizeof plugins - length, " %s%s", word(plugin, "name", name),
                 state == NULL                      ? ""
                 : strcmp(state, "restarting") == 0 ? "(restarting)"
                 : strcmp(state, "off") == 0        ? "(off)"
                                                    : "");
    }
    const long long reservations = json_integer_value(json_object_get(status, "reservations"));
    snprintf(line, sizeof line, "rtf top %s  %s%lld reservation%s, %lld attached  plugins%s  %s",
             now, served ? "" : "NO BROKER  ", reservations, reservations == 1 ? "" : "s",
             (long long)json_integer_value(json_object_get(status, "attached")),
             plugins[0] == '\0' ? " -" : plugins, client_printable(spool, place, sizeof place));
    attron(A_BOLD);
    mvaddnstr(0, 0, line, COLS);
    attroff(A_BOLD);
}

static void draw_foot(const struct view *view)
{
    char line[256];
    if (view->message[0] != '\0')
        snprintf(line, sizeof line, "%s", view->message);
    else
        snprintf(line, sizeof line, "q quit  d detach  a %s  r reverse  NUS%%PGWOT <> sort: %s",
                 view->attached ? "all" : "attached", orders[view->order]);
    attron(A_REVERSE);
    mvhline(LINES - 1, 0, ' ', COLS);
    mvaddnstr(LINES - 1, 0, line, COLS);
    attroff(A_REVERSE);
}

void screen_draw(struct view *view, const char *spool, const json_t *status, bool served)
{
    struct place place = {.y = 1, .rows_left = LINES / 3};
    erase();
    draw_head(spool, status, served);
    draw_cpus(&place);
    place.rows_left = place.rows_left < LINES / 4 ? LINES / 4 : place.rows_left;
    draw_pools(status, &place);
    draw_table(view, place.y + 1 < LINES - 2 ? place.y + 1 : place.y);
    draw_foot(view);
    refresh();
}
