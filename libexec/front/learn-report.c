#include "learn-report.h"

#include <stdio.h>

#include "client.h"

/* Prints a time in ns as ms with three decimals, rounded to the nearest us. */
static void print_time(int64_t time)
{
    const long long us = (time + 500) / 1000;
    printf(" %9lld.%03d", us / 1000, (int)(us % 1000));
}

const char *learn_report_word(enum behaviour behaviour)
{
    static const char *const texts[] = {
        [BEHAVIOUR_APERIODIC] = "aperiodic: it sleeps for irregular times",
        [BEHAVIOUR_EVENT_DRIVEN] = "event-driven: something else wakes it, at irregular times",
        [BEHAVIOUR_HOG] = "hog: it never sleeps",
        [BEHAVIOUR_STARVED] =
            "starved: it never sleeps, and waits for a CPU; give it room, and learn again",
        [BEHAVIOUR_SLEEPING] = "sleeping: it has hardly run",
        [BEHAVIOUR_TOO_FAST] = "too-fast: it wakes up too often to be observed once a millisecond",
        [BEHAVIOUR_PERIODIC] = ""};
    return texts[behaviour];
}

static void print_thread(const struct learned_thread *thread)
{
    char name[8 * sizeof thread->watch->name];
    printf("%-9d %-16s", (int)thread->watch->tid,
           client_printable(thread->watch->name, name, sizeof name));
    if (thread->behaviour != BEHAVIOUR_PERIODIC) {
        printf(" %s\n", learn_report_word(thread->behaviour));
        return;
    }
    print_time(thread->period);
    printf(" %7zu", thread->times.jobs);
    print_time(thread->times.mean);
    print_time(thread->times.percentile_99);
    print_time(thread->times.longest);
    printf(" %4u%%%s\n", thread->confidence,
           thread->reserved.runtime == 0 ? " too long for the period" : "");
}

void learn_report_text(const struct learned *learned, const json_t *spec)
{
    printf("%-9s %-16s %13s %7s %13s %13s %13s %5s\n", "TID", "NAME", "PERIOD(ms)", "JOBS",
           "MEAN(ms)", "99%(ms)", "MAX(ms)", "SURE");
    for (size_t i = 0; i < learned->count; i++)
        print_thread(&learned->threads[i]);
    if (spec == NULL)
        return;
    (void)json_dumpf(spec, stdout, 0);
    (void)putchar('\n');
}

static void add_period(json_t *row, const struct learned_thread *thread)
{
    json_object_set_new(row, "period_ns", json_integer(thread->period));
    json_object_set_new(row, "jobs", json_integer((json_int_t)thread->times.jobs));
    json_object_set_new(row, "mean_ns", json_integer(thread->times.mean));
    json_object_set_new(row, "percentile_99_ns", json_integer(thread->times.percentile_99));
    json_object_set_new(row, "longest_ns", json_integer(thread->times.longest));
    json_object_set_new(row, "confidence", json_integer(thread->confidence));
}

/* Returns the thread as a JSON object. The name is made printable, because it may have bytes that
 * are no UTF-8, which JSON cannot hold. */
static json_t *row_of(const struct learned_thread *thread)
{
    char name[8 * sizeof thread->watch->name];
    const struct observed *observed = &thread->observed;
    json_t *row =
        json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "tid", (int)thread->watch->tid,
                  "name", client_printable(thread->watch->name, name, sizeof name), "behaviour",
                  behaviour_name(thread->behaviour), "source",
                  thread->watch->source == WATCH_SWITCHES ? "switches" : "samples", "observed_ns",
                  (json_int_t)observed->length, "ran_ns", (json_int_t)observed->ran, "waited_ns",
                  (json_int_t)observed->waited, "wakeups", (json_int_t)observed->wakeups);
    if (row != NULL && thread->behaviour == BEHAVIOUR_PERIODIC)
        add_period(row, thread);
    return row;
}

bool learn_report_json(const struct learned *learned, pid_t process, json_t *spec)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < learned->count; i++)
        json_array_append_new(rows, row_of(&learned->threads[i]));
    json_t *report =
        json_pack("{s:i, s:o, s:O?}", "process", (int)process, "threads", rows, "spec", spec);
    const bool good =
        report != NULL && json_dumpf(report, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;
    json_decref(report);
    return good;
}
