/* rtf-usage(1): measures how much CPU time attached threads use in each period, while it runs. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "command-line.h"
#include "name.h"
#include "own-specs.h"
#include "states.h"
#include "usage-print.h"

enum { THREADS = 1024, OTHERS = 2 };

static struct {
    uint64_t for_us; /* 0: until all threads have ended */
    bool json, events;
    char **names; /* patterns; NULL: all reservations */
} options;

static struct {
    struct usage of[THREADS];
    size_t count;
} threads;

static const struct command_option option_table[] = {
    {0, "for", "TIME", "How long to measure (default: 10s; Ctrl-C ends it sooner)"},
    {0, "json", NULL, "Print one JSON object"},
    {0, "events", NULL, "Print a JSON object when a job is late, or a runtime is used up"},
    {0}};

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "json") == 0)
        options.json = true;
    else if (strcmp(name, "events") == 0)
        options.events = true;
    else
        options.for_us = command_wait("--for", value);
}

/* ---- choice of the threads ---- */

static int own_directory = -1;

static bool is_wanted(const char *name)
{
    (void)name;
    /* all specs are read, because a pattern may match a thread in a program's verdict (is_named) */
    return true;
}

/* True if a pattern matches the name. A pattern that matches the name of a program also selects all
 * threads of the program. */
static bool is_named(const char *name)
{
    char program[RESERVATION_NAME_BYTES];
    snprintf(program, sizeof program, "%.*s", (int)reservation_name_of_program(name), name);
    for (char **pattern = options.names; pattern != NULL && *pattern != NULL; pattern++)
        if (fnmatch(*pattern, name, 0) == 0 ||
            (program[0] != '\0' && fnmatch(*pattern, program, 0) == 0))
            return true;
    return options.names == NULL;
}

static uint64_t number(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));
    return value < 0 ? 0 : (uint64_t)value;
}

/* True if the spec asks for one runtime for all threads of a process. Reads the spec, because the
 * verdict does not say this. */
static bool is_of_process(const char *name)
{
    char file[CLIENT_NAME_MAX + sizeof ".json"];
    snprintf(file, sizeof file, "%.*s.json", CLIENT_NAME_MAX, name);
    json_t *spec = client_read_object(own_directory, file);
    const char *budget = client_string(spec, "budget");
    const bool is = budget != NULL && strcmp(budget, "process") == 0;
    json_decref(spec);
    return is;
}

/* The first spec that is meant, and has no thread to measure: for the error message. */
static struct {
    char name[RESERVATION_NAME_BYTES];
    const char *state;
} left_out;

static void leave_out(const struct own_spec *spec, enum state state)
{
    if (left_out.state != NULL)
        return;
    snprintf(left_out.name, sizeof left_out.name, "%s", spec->name);
    left_out.state = state_name(state);
}

static void take_spec(const char *user, const struct own_spec *spec)
{
    const enum state state = state_of(spec->verdict, spec->is_current);
    const json_t *grant = json_object_get(spec->verdict, "grant");
    const uint64_t tid = number(json_object_get(spec->verdict, "thread"), "tid");
    const uint64_t deadline = number(grant, "deadline");
    const struct usage_grant wanted = {.tid = (pid_t)tid,
                                       .runtime = number(grant, "accepted_runtime"),
                                       .period = number(grant, "period"),
                                       .deadline =
                                           deadline > 0 ? deadline : number(grant, "period"),
                                       .is_of_process = is_of_process(spec->name)};
    (void)user;
    if (is_named(spec->name) && threads.count < THREADS) {
        if (state >= ATTACHED && wanted.period > 0 && tid <= INT32_MAX &&
            usage_begin(&threads.of[threads.count], spec->name, &wanted))
            threads.count++;
        else
            leave_out(spec, state);
    }
    json_decref(spec->verdict);
}

static void begin_marks(const struct client *client)
{
    const int directory = marks_directory(client->specs, client->user);
    if (directory < 0)
        command_say("cannot read the times of jobs (marks): .jobs: %s", strerror(errno));
    for (size_t i = 0; directory >= 0 && i < threads.count; i++)
        usage_begin_marks(&threads.of[i], directory);
}

static void find_threads(void)
{
    static const struct own_specs_listener listener = {is_wanted, take_spec};
    struct client client;
    enum client_outcome outcome = client_open(&client, command_spool());
    if (outcome == CLIENT_OK)
        outcome = client_enter(&client, false);
    if (outcome == CLIENT_OK) {
        own_directory = openat(client.specs, client.user, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)own_specs_read(client.specs, client.user, &listener);
        close(own_directory);
    } else if (outcome != CLIENT_GONE)
        command_fail(client_status_of_outcome(outcome), "%s", client.why);
    if (threads.count > 0)
        begin_marks(&client);
    client_close(&client);
    if (threads.count == 0 && left_out.state != NULL)
        command_fail(EX_NOINPUT, "no reservation%s has a thread and a period: %s is %s",
                     options.names == NULL ? "" : " of these names", left_out.name, left_out.state);
    if (threads.count == 0)
        command_fail(EX_NOINPUT, "no reservation%s has a thread and a period",
                     options.names == NULL ? "" : " of these names");
}

/* Each thread takes four descriptors. */
static void raise_file_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
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

static void look(struct usage *usage)
{
    usage_look(usage);
    if (!options.events)
        return;
    usage_print_event(usage, usage->has_ended);
    if (!command_is_written())
        command_unwritten();
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
                look(&threads.of[i]);
        if (fds[0].revents != 0 || fds[1].revents != 0)
            return;
    }
}

/* ---- the result ---- */

static void print_all(void)
{
    for (size_t i = 0; i < threads.count; i++)
        usage_end(&threads.of[i]);
    for (size_t i = 0; options.events && i < threads.count; i++)
        usage_print_event(&threads.of[i], true);
    if (options.json)
        usage_print_json(threads.of, threads.count);
    else if (!options.events)
        usage_print_table(threads.of, threads.count);
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
    if (options.for_us == 0 && !options.events)
        options.for_us = 10000000;
    raise_file_limit();
    find_threads();
    measure();
    print_all();
    if (!command_is_written())
        command_unwritten();
    return EX_OK;
}
