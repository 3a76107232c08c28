#include "usage-print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "clock.h"
#include "command-line.h"
#include "name.h"
#include "units.h"

/* ---- the figures ---- */

static int64_t migrations(const struct periods *periods)
{
    const int64_t before = periods->first.migrations, now = periods->last.migrations;
    return before < 0 || now < before ? -1 : now - before;
}

/* True if a whole period was seen. False, for example, for a thread that sleeps all the time,
 * because the periods of such a thread do not begin. */
static bool has_whole_period(const struct periods *periods)
{
    return periods->count > 0;
}

static void tell_wrong_marks(const struct usage *usage)
{
    if (usage->marks.wrong > 0)
        command_say("%s: %llu lines in .jobs/%s are not RELEASE END [DEADLINE]", usage->name,
                    (unsigned long long)usage->marks.wrong, usage->name);
}

/* ---- the table ----
 *
 * The table fits into 80 columns for usual names. So it leaves out figures that --json has. */

enum column {
    NAME,
    BUDGET,
    MEAN,
    OF_99,
    MOST,
    COUNT,
    SATURATED,
    OVERRUNS,
    THROTTLED,
    MISSED,
    COLUMNS
};
static const char *const headings[COLUMNS] = {"NAME",    "BUDGET", "MEAN", "99%",   "MAX",
                                              "PERIODS", "FULL",   "OVER", "THROT", "MISSED"};

enum { CELL = RESERVATION_NAME_BYTES };
struct cells {
    char of[COLUMNS][CELL];
};

static void write_count(char *cell, bool is_known, uint64_t number)
{
    if (is_known)
        snprintf(cell, CELL, "%llu", (unsigned long long)number);
    else
        snprintf(cell, CELL, "-");
}

/* Writes ms with three decimals, or fewer if the number is long. */
static void write_time(char *cell, bool is_known, uint64_t ns)
{
    const int decimals = ns < 99999500 ? 3 : ns < 999995000 ? 2 : 1;
    if (is_known)
        snprintf(cell, CELL, "%.*f", decimals, (double)ns / 1e6);
    else
        write_count(cell, false, 0);
}

static void write_budget(char *cell, const struct periods *periods)
{
    char runtime[TIME_TEXT] = "-", period[TIME_TEXT];
    if (periods->runtime > 0)
        format_time(periods->runtime / 1000, runtime);
    snprintf(cell, CELL, "%s/%s", runtime, format_time(periods->period / 1000, period));
}

/* Writes "3/50": 3 of 50. */
static void write_part(char *cell, uint64_t part, uint64_t all)
{
    snprintf(cell, CELL, "%llu/%llu", (unsigned long long)part, (unsigned long long)all);
}

static void write_row(struct usage *usage, struct cells *cells)
{
    struct periods *periods = &usage->periods;
    const bool has_period = has_whole_period(periods);
    snprintf(cells->of[NAME], CELL, "%s", usage->name);
    write_budget(cells->of[BUDGET], periods);
    write_time(cells->of[MEAN], has_period, periods_mean(periods));
    write_time(cells->of[OF_99], has_period, periods_99(periods));
    write_time(cells->of[MOST], has_period, periods->most);
    write_count(cells->of[COUNT], true, periods->count);
    if (periods->lost > 0)
        write_part(cells->of[COUNT], periods->count, periods->count + periods->lost);
    write_count(cells->of[SATURATED], periods->runtime > 0, periods->saturated);
    write_count(cells->of[OVERRUNS], periods->knows_kernel, periods->overruns);
    write_count(cells->of[THROTTLED], periods->knows_kernel, periods->throttled / 1000000);
    write_count(cells->of[MISSED], false, 0);
    if (usage->marks.jobs > 0)
        write_part(cells->of[MISSED], usage->marks.missed, usage->marks.jobs);
}

/* Returns the width of a column; 0: the column is left out. The column MISSED is left out if no
 * program marks its jobs. */
static int width_of(enum column column, const struct cells *rows, size_t count)
{
    size_t width = strlen(headings[column]);
    bool is_shown = column != MISSED;
    for (size_t i = 0; i < count; i++) {
        const char *cell = rows[i].of[column];
        is_shown |= strcmp(cell, "-") != 0;
        width = strlen(cell) > width ? strlen(cell) : width;
    }
    return is_shown ? (int)width : 0;
}

static void print_cell(enum column column, const char *text, int width)
{
    if (width > 0)
        printf(column == NAME ? "%-*s" : " %*s", width, text);
}

static void print_rows(const struct cells *rows, size_t count)
{
    int widths[COLUMNS];
    for (enum column column = NAME; column < COLUMNS; column++) {
        widths[column] = width_of(column, rows, count);
        print_cell(column, headings[column], widths[column]);
    }
    putchar('\n');
    for (size_t i = 0; i < count; i++) {
        for (enum column column = NAME; column < COLUMNS; column++)
            print_cell(column, rows[i].of[column], widths[column]);
        putchar('\n');
    }
}

void usage_print_table(struct usage *threads, size_t count)
{
    struct cells *rows = calloc(count, sizeof *rows);
    if (rows == NULL)
        command_fail(EX_OSERR, "no memory");
    for (size_t i = 0; i < count; i++) {
        tell_wrong_marks(&threads[i]);
        write_row(&threads[i], &rows[i]);
    }
    print_rows(rows, count);
    free(rows);
}

/* ---- JSON ---- */

static json_t *known(bool is_known, uint64_t number)
{
    return is_known ? json_integer((json_int_t)number) : json_null();
}

static json_t *as_json(struct usage *usage)
{
    struct periods *periods = &usage->periods;
    const struct marks *marks = &usage->marks;
    const bool has_runtime = periods->runtime > 0, has_jobs = marks->jobs > 0;
    const int64_t moves = migrations(periods);
    const bool has_period = has_whole_period(periods);
    json_t *row =
        json_pack("{s:s, s:i, s:o, s:I, s:I, s:I}", "name", usage->name, "tid",
                  (int)usage->grant.tid, "runtime", known(has_runtime, usage->grant.runtime),
                  "period", (json_int_t)usage->grant.period, "periods", (json_int_t)periods->count,
                  "lost", (json_int_t)periods->lost);
    json_object_set_new(row, "min", known(has_period, periods->least / 1000));
    json_object_set_new(row, "mean", known(has_period, periods_mean(periods) / 1000));
    json_object_set_new(row, "p99", known(has_period, periods_99(periods) / 1000));
    json_object_set_new(row, "max", known(has_period, periods->most / 1000));
    json_object_set_new(row, "saturated", known(has_runtime, periods->saturated));
    json_object_set_new(row, "overruns", known(periods->knows_kernel, periods->overruns));
    json_object_set_new(row, "throttles", known(has_runtime, periods->throttles));
    json_object_set_new(row, "throttled", known(periods->knows_kernel, periods->throttled / 1000));
    json_object_set_new(row, "migrations", known(moves >= 0, (uint64_t)moves));
    json_object_set_new(row, "jobs", known(has_jobs, marks->jobs));
    json_object_set_new(row, "misses", known(has_jobs, marks->missed));
    json_object_set_new(row, "worst", known(has_jobs, marks->worst));
    return row;
}

static void print_line(json_t *object)
{
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

void usage_print_json(struct usage *threads, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        tell_wrong_marks(&threads[i]);
        json_array_append_new(list, as_json(&threads[i]));
    }
    print_line(json_pack("{s:o}", "reservations", list));
}

/* ---- events ---- */

enum { TIME_TEXT_BYTES = 40 };

static const char *time_now(char text[static TIME_TEXT_BYTES])
{
    char second[24];
    struct tm utc;
    const int64_t us = realtime_now() / 1000;
    const time_t seconds = (time_t)(us / 1000000);
    strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &utc));
    snprintf(text, TIME_TEXT_BYTES, "%s.%06dZ", second, (int)(us % 1000000));
    return text;
}

static void print_event(const struct usage *usage, const struct usage_told *now)
{
    char text[TIME_TEXT_BYTES];
    const json_int_t saturated = (json_int_t)(now->saturated - usage->told.saturated),
                     overruns = (json_int_t)(now->overruns - usage->told.overruns),
                     misses = (json_int_t)(now->missed - usage->told.missed);
    const char *event = misses > 0 ? "miss" : overruns > 0 ? "overrun" : "saturated";
    print_line(json_pack("{s:s, s:s, s:s, s:i, s:I, s:I, s:I}", "time", time_now(text), "event",
                         event, "name", usage->name, "tid", (int)usage->grant.tid, "misses", misses,
                         "overruns", overruns, "saturated", saturated));
}

void usage_print_event(struct usage *usage, bool is_last)
{
    static const int64_t pause = 1000000000;
    const struct usage_told now = {.saturated = usage->periods.saturated,
                                   .overruns = usage->periods.overruns,
                                   .missed = usage->marks.missed,
                                   .at = monotonic_now()};
    const struct usage_told *told = &usage->told;
    if (now.saturated == told->saturated && now.overruns == told->overruns &&
        now.missed == told->missed)
        return;
    if (!is_last && told->at != 0 && now.at - told->at < pause)
        return;
    print_event(usage, &now);
    usage->told = now;
}
