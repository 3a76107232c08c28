/* rtf-every(1): runs a command once a period inside a reservation; or, with --loop, starts a
 * command once, which reads a line once a period.
 *
 * A reservation belongs to one thread, and processes that this thread starts do not inherit it. So
 * each run of the command is a new process. rtf-every attaches the process before its activation,
 * the process sleeps until then as a real-time thread, and then becomes the command. So no
 * activation is late because of the time that the broker needs to attach the process. A loop is one
 * process. Its activations are lines on its standard input, because a shell reads a line without a
 * new process. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "command-line.h"
#include "every.h"
#include "every-command.h"
#include "every-loop.h"
#include "every-spec.h"
#include "needs.h"
#include "units.h"

/* ---- the command line ---- */

static const struct command_option table[] = {
    COMMAND_NEEDS,
    {0, "loop", NULL, "Start CMD once; each activation is a line on its standard input"},
    {0, "count", "N", "End after N activations"},
    {0, "until", "WHEN",
     "End at this time: +TIME from now, or a time of day such as 17:30 or 17:30:15"},
    {0, "errexit", NULL, "End when CMD fails"},
    {'n', "name", "NAME", "Name of the spec (default: every-PID)"},
    {0, "timeout", "TIME", "Wait no longer than this for an answer (default: 30s)"},
    {0, "json", NULL, "At the end print the counts, as JSON on standard error"},
    {'v', "verbose", NULL,
     "At the end print the counts, also if no activation was missed or skipped"},
    {0}};

static void take_count(const char *text)
{
    if (!parse_number(text, INT64_MAX, &every.options.count) || every.options.count == 0)
        command_wrong("--count %s: this must be from 1 to %llu", command_typed(text),
                      (unsigned long long)INT64_MAX);
}

/* Converts "+90s", a time from now, or "17:30", the next such local time, to CLOCK_MONOTONIC,
 * us. */
static void take_until(const char *text)
{
    struct timespec real;
    struct tm day;
    if (text[0] == '+') {
        every.options.until = every_now() + (int64_t)command_wait("--until", text + 1);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &real);
    localtime_r(&real.tv_sec, &day);
    day.tm_sec = 0;
    const char *rest = strptime(text, "%H:%M:%S", &day);
    if (rest == NULL || *rest != '\0')
        rest = strptime(text, "%H:%M", &day);
    if (rest == NULL || *rest != '\0')
        command_wrong("--until %s: this must be +TIME, or a time of day such as 17:30 or 17:30:15",
                      command_typed(text));
    day.tm_isdst = -1;
    time_t then = mktime(&day);
    if (then <= real.tv_sec) {
        day.tm_mday++;
        day.tm_isdst = -1;
        then = mktime(&day);
    }
    every.options.until =
        every_now() + ((int64_t)then - real.tv_sec) * 1000000 - real.tv_nsec / 1000;
}

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "loop") == 0)
        every.options.loop = true;
    else if (strcmp(name, "count") == 0)
        take_count(value);
    else if (strcmp(name, "until") == 0)
        take_until(value);
    else if (strcmp(name, "errexit") == 0)
        every.options.errexit = true;
    else if (strcmp(name, "name") == 0)
        every.options.name = command_name_option(value);
    else if (strcmp(name, "timeout") == 0)
        every.options.timeout = command_wait("--timeout", value);
    else if (strcmp(name, "json") == 0)
        every.options.json = true;
    else if (strcmp(name, "verbose") == 0)
        every.options.verbose = true;
    else
        (void)needs_take(&every.options.needs, name, value);
}

static uint64_t stated(const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(every.options.spec, key));
}

static void take_line(char **operands)
{
    every.options.command = operands;
    every.options.spec = json_object();
    needs_lay_over(&every.options.needs, every.options.spec);
    every.options.runtime = stated("runtime");
    every.options.period = stated("period");
    every.options.deadline = stated("deadline");
    if (operands[0] == NULL)
        command_misused("a command is missing");
    if (every.options.period == 0)
        command_misused("-P TIME is missing: the period in which CMD runs once");
}

/* ---- the end ---- */

static void tell(void)
{
    const struct every_tally *t = &every.tally;
    if (every.options.json)
        fprintf(
            stderr,
            "{\"activations\":%llu,\"missed\":%llu,\"skipped\":%llu,\"failed\":%llu,\"worst\":%lld}\n",
            (unsigned long long)t->activations, (unsigned long long)t->missed,
            (unsigned long long)t->skipped, (unsigned long long)t->failed, (long long)t->worst);
    else if (every.options.verbose || t->missed + t->skipped > 0)
        command_say(
            "%llu activation%s, %llu missed their deadline, %llu skipped; %s %lld.%03lld ms",
            (unsigned long long)t->activations, t->activations == 1 ? "" : "s",
            (unsigned long long)t->missed, (unsigned long long)t->skipped,
            every.options.loop ? "the latest activation came late by" : "the longest took",
            (long long)t->worst / 1000, (long long)t->worst % 1000);
}

/* Explains the counts, because one long run may be the reason for several skipped activations. */
static void explain(void)
{
    const struct every_tally *t = &every.tally;
    if (every.options.json || (t->skipped == 0 && t->late == 0))
        return;
    if (every.options.loop)
        command_say(
            "an activation is skipped if the loop has not yet read the line of the previous activation");
    else if (t->late > 0)
        command_say(
            "runs longer than the period: %llu (activations are skipped while CMD runs); runs that missed their deadline because they began late: %llu (CPU time beyond the runtime delays the next activations)",
            (unsigned long long)t->longer, (unsigned long long)t->late);
    else
        command_say("runs longer than the period: %llu (activations are skipped while CMD runs)",
                    (unsigned long long)t->longer);
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "every",
        .about =
            "Run CMD once a period. The reservation lasts from the first run of CMD to the last.\nA TIME is a whole number and a unit: 800us, 5ms, 1s.",
        .operands = "[OPTION...] CMD [ARG...]",
        .closing =
            "Exit status: 125 if rtf every fails or is refused, 126 if CMD cannot be run, 127 if CMD is not found, else the last exit status of CMD that was not 0, or 0.",
        .options = table,
        .needs = needs_options,
        .needs_named =
            " runtime period deadline desired-runtime priority plugin lock-memory cpu-latency nice clamp ignore-admission cpus comment sched-runtime sched-period sched-deadline ",
        .runs_command = true,
        .failure = EXIT_OURS,
        .take = take};
    take_line(command_parse(&command, argc, argv, NULL));
    int status = !every_begin()       ? EXIT_OURS
                 : every.options.loop ? every_run_loop()
                                      : every_run_command();
    every_withdraw();
    if (every.tally.activations > 0) {
        tell();
        explain();
    }
    client_close(&every.client);
    json_decref(every.options.spec);
    /* a signal that is still pending ends this process here */
    sigprocmask(SIG_SETMASK, &every.inherited, NULL);
    if (every.ended_by != 0)
        raise(every.ended_by);
    return status;
}
