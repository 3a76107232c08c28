/* rtf-usage(1): measures how much CPU time attached threads use in each period, while it runs. */
#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "command-line.h"
#include "name.h"
#include "own-specs.h"
#include "states.h"
#include "usage-threads.h"

enum { THREADS = 1024, OTHERS = 2, COLUMN = 12 };

static struct {
    uint64_t for_us;
    bool json;
    char **names; /* patterns; NULL: all reservations */
} options = {.for_us = 10000000};

static struct {
    struct usage of[THREADS];
    size_t count;
} threads;

static const struct command_option option_table[] = {
    {0, "for", "TIME", "How long to measure (default: 10s; Ctrl-C ends it sooner)"},
    {0, "json", NULL, "Print one JSON object"},
    {0}};

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "json") == 0)
        options.json = true;
    else
        options.for_us = command_wait("--for", value);
}

/* ---- choice of the threads ---- */

static bool is_wanted(const char *name)
{
    (void)name;
    return true; /* a pattern may match a thread of a program: see is_named */
}

static bool is_named(const char *name)
{
    for (char **pattern = options.names; pattern != NULL && *pattern != NULL; pattern++)
        if (fnmatch(*pattern, name, 0) == 0)
            return true;
    return options.names == NULL;
}

static uint64_t number(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));
    return value < 0 ? 0 : (uint64_t)value;
}

static void take_spec(const char *user, const struct own_spec *spec)
{
    const json_t *grant = json_object_get(spec->verdict, "grant");
    const uint64_t tid = number(json_object_get(spec->verdict, "thread"), "tid"),
                   period = number(grant, "period");
    (void)user;
    if (state_of(spec->verdict, spec->is_current) >= ATTACHED && period > 0 && tid <= INT32_MAX &&
        is_named(spec->name) && threads.count < THREADS)
        threads.count += usage_begin(&threads.of[threads.count], spec->name, (pid_t)tid,
                                     number(grant, "accepted_runtime"), period);
    json_decref(spec->verdict);
}

static void find_threads(void)
{
    static const struct own_specs_listener listener = {is_wanted, take_spec};
    struct client client;
    enum client_outcome outcome = client_open(&client, command_spool());
    if (outcome == CLIENT_OK)
        outcome = client_enter(&client, false);
    if (outcome == CLIENT_OK)
        (void)own_specs_read(client.specs, client.user, &listener);
    else if (outcome != CLIENT_GONE)
        command_fail(client_status_of_outcome(outcome), "%s", client.why);
    client_close(&client);
    if (threads.count == 0)
        command_fail(EX_NOINPUT, "no reservation%s has a thread and a period",
                     options.names == NULL ? "" : " of these names");
}

/* ---- the measurement ---- */

static int end_timer(void)
{
    const struct itimerspec end = {
        .it_value = {.tv_sec = (time_t)(options.for_us / 1000000),
                     .tv_nsec = (long)(options.for_us % 1000000 * 1000)}};
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timer < 0 || timerfd_settime(timer, 0, &end, NULL) != 0)
        command_fail(EX_OSERR, "%s", strerror(errno));
    return timer;
}

static int end_signals(void)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    const int signals = signalfd(-1, &ends, SFD_CLOEXEC);
    if (signals < 0)
        command_fail(EX_OSERR, "%s", strerror(errno));
    return signals;
}

static bool all_have_ended(void)
{
    for (size_t i = 0; i < threads.count; i++)
        if (!threads.of[i].has_ended)
            return false;
    return true;
}

static void measure(void)
{
    static struct pollfd fds[THREADS + OTHERS];
    fds[0] = (struct pollfd){.fd = end_timer(), .events = POLLIN};
    fds[1] = (struct pollfd){.fd = end_signals(), .events = POLLIN};
    while (!all_have_ended()) {
        for (size_t i = 0; i < threads.count; i++)
            fds[OTHERS + i] = (struct pollfd){.fd = threads.of[i].timer, .events = POLLIN};
        if (poll(fds, OTHERS + threads.count, -1) < 0 && errno != EINTR)
            command_fail(EX_OSERR, "%s", strerror(errno));
        for (size_t i = 0; i < threads.count; i++)
            if (fds[OTHERS + i].revents != 0)
                usage_look(&threads.of[i]);
        if (fds[0].revents != 0 || fds[1].revents != 0)
            return;
    }
}

/* ---- the result ---- */

static json_t *as_json(const struct usage *usage, const struct usage_figures *figures)
{
    return json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "name",
                     usage->name, "tid", (int)usage->tid, "runtime",
                     (json_int_t)(usage->runtime / 1000), "period",
                     (json_int_t)(usage->period / 1000), "periods", (json_int_t)usage->count,
                     "lost", (json_int_t)usage->lost, "min", (json_int_t)(figures->least / 1000),
                     "mean", (json_int_t)(figures->mean / 1000), "p99",
                     (json_int_t)(figures->of_99 / 1000), "max", (json_int_t)(figures->most / 1000),
                     "saturated", (json_int_t)usage->saturated, "migrations",
                     usage->migrations < 0 ? json_null() : json_integer(usage->migrations));
}

static void print_row(const struct usage *usage, const struct usage_figures *figures)
{
    const uint64_t times[] = {usage->runtime, usage->period,  figures->least,
                              figures->mean,  figures->of_99, figures->most};
    printf("%-16s", usage->name);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        printf(" %9.3fms", (double)times[i] / 1e6);
    printf(" %8zu %6llu %10llu", usage->count, (unsigned long long)usage->lost,
           (unsigned long long)usage->saturated);
    if (usage->migrations < 0)
        puts("          -");
    else
        printf(" %10lld\n", (long long)usage->migrations);
}

static void print_all(void)
{
    struct usage_figures figures;
    json_t *list = json_array();
    if (!options.json)
        printf("%-16s %11s %11s %11s %11s %11s %11s %8s %6s %10s %10s\n", "NAME", "RUNTIME",
               "PERIOD", "MIN", "MEAN", "99%", "MAX", "PERIODS", "LOST", "SATURATED", "MIGRATIONS");
    for (size_t i = 0; i < threads.count; i++) {
        figures = (struct usage_figures){0};
        if (!usage_end(&threads.of[i], &figures))
            command_say("%s: no whole period was measured", threads.of[i].name);
        else if (options.json)
            json_array_append_new(list, as_json(&threads.of[i], &figures));
        else
            print_row(&threads.of[i], &figures);
    }
    if (options.json) {
        json_t *whole = json_pack("{s:O}", "reservations", list);
        json_dumpf(whole, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(whole);
    }
    json_decref(list);
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "usage",
        .about = "Measure how much CPU time your attached threads use in each period.",
        .operands = "[OPTION...] [NAME...]",
        .options = option_table,
        .take = take};
    char **names = command_parse(&command, argc, argv, NULL);
    options.names = names[0] == NULL ? NULL : names;
    find_threads();
    measure();
    print_all();
    if (!command_is_written())
        command_unwritten();
    return EX_OK;
}
