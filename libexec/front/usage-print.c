#include "usage-print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "command-line.h"

/* ---- the figures ---- */

static int64_t migrations(const struct periods *periods)
{
    const int64_t before = periods->first.migrations, now = periods->last.migrations;
    return before < 0 || now < before ? -1 : now - before;
}

/* False, for example, for a thread that sleeps all the time: its periods do not begin. */
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

/* ---- the table ---- */

static const char *const headings[] = {"RUNTIME",   "PERIOD",  "MIN",  "MEAN",      "99%",
                                       "MAX",       "PERIODS", "LOST", "SATURATED", "OVERRUNS",
                                       "THROTTLED", "MOVES",   "JOBS", "MISSES"};
static const int widths[] = {9, 9, 9, 9, 9, 9, 8, 5, 10, 9, 10, 6, 7, 7};

enum {
    RUNTIME,
    PERIOD,
    LEAST,
    MEAN,
    OF_99,
    MOST,
    COUNT,
    LOST,
    SATURATED,
    OVERRUNS,
    THROTTLED,
    MOVES,
    JOBS,
    MISSES,
    COLUMNS
};

static void print_count(int column, bool is_known, uint64_t number)
{
    if (is_known)
        printf(" %*llu", widths[column] - 1, (unsigned long long)number);
    else
        printf(" %*s", widths[column] - 1, "-");
}

static void print_time(int column, bool is_known, uint64_t ns)
{
    if (is_known)
        printf(" %*.3f", widths[column] - 1, (double)ns / 1e6);
    else
        print_count(column, false, 0);
}

static void print_row(struct usage *usage)
{
    struct periods *periods = &usage->periods;
    const int64_t moves = migrations(periods);
    const bool has_period = has_whole_period(periods);
    printf("%-16s", usage->name);
    print_time(RUNTIME, true, periods->runtime);
    print_time(PERIOD, true, periods->period);
    print_time(LEAST, has_period, periods->least);
    print_time(MEAN, has_period, periods_mean(periods));
    print_time(OF_99, has_period, periods_99(periods));
    print_time(MOST, has_period, periods->most);
    print_count(COUNT, true, periods->count);
    print_count(LOST, true, periods->lost);
    print_count(SATURATED, periods->runtime > 0, periods->saturated);
    print_count(OVERRUNS, periods->knows_kernel, periods->overruns);
    print_time(THROTTLED, periods->knows_kernel, periods->throttled);
    print_count(MOVES, moves >= 0, (uint64_t)moves);
    print_count(JOBS, usage->marks.jobs > 0, usage->marks.jobs);
    print_count(MISSES, usage->marks.jobs > 0, usage->marks.missed);
    putchar('\n');
}

void usage_print_table(struct usage *threads, size_t count)
{
    printf("%-16s", "NAME");
    for (int column = 0; column < COLUMNS; column++)
        printf("%*s", widths[column], headings[column]);
    putchar('\n');
    for (size_t i = 0; i < count; i++) {
        tell_wrong_marks(&threads[i]);
        print_row(&threads[i]);
    }
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
