/* rtf-adapt(1): keeps the runtime of a reservation at what its thread uses. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "adapt-change.h"
#include "clock.h"
#include "command-line.h"
#include "learn/adapt-law.h"
#include "learn/thread-watch.h"
#include "request/request.h"
#include "thread.h"
#include "units.h"

enum {
    SAMPLING = 1000000, /* ns: the least time between two samples of the thread */
    LOOKS = 5000000     /* ns: the least time between two looks at the thread's jobs */
};

static struct {
    uint64_t timeout; /* us */
    struct adapt_limits limits;
    enum watch_source source;
} options = {.timeout = REQUEST_TIMEOUT,
             .limits = {.least = ADAPT_LEAST, .most = TIME_MAX, .margin = 10, .window = 12}};

static const struct command_option table[] = {
    {0, "min", "TIME", "Never reserve less than this (default: 100us)"},
    {0, "max", "TIME", "Never reserve more than this (default: the period)"},
    {0, "margin", "PERCENT", "Reserve this much more than the longest job: 10% (the default)"},
    {0, "window", "N", "Look at this many jobs (default: 12)"},
    {0, "source", "WORD",
     "How to observe: switches (perf events, exact) or samples (/proc); default: the better one"},
    {0, "timeout", "TIME", "Wait no longer than this for each answer (default: 30s)"},
    {0}};

static unsigned percent(const char *value)
{
    char digits[8];
    uint64_t number;
    const size_t length = strcspn(value, "%");
    snprintf(digits, sizeof digits, "%.*s", (int)(length < sizeof digits ? length : 0), value);
    if ((value[length] == '%' && value[length + 1] != '\0') || !parse_number(digits, 1000, &number))
        command_wrong("--margin %s: it must be a percentage of at most 1000%%, such as 10%%",
                      command_typed(value));
    return (unsigned)number;
}

static unsigned window(const char *value)
{
    const uint64_t number = command_number("--window", value);
    if (number < 1 || number > ADAPT_WINDOW_MAX)
        command_wrong("--window %s: it must be 1 to %d jobs", command_typed(value),
                      ADAPT_WINDOW_MAX);
    return (unsigned)number;
}

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "min") == 0)
        options.limits.least = command_time("--min", value);
    else if (strcmp(name, "max") == 0)
        options.limits.most = command_time("--max", value);
    else if (strcmp(name, "margin") == 0)
        options.limits.margin = percent(value);
    else if (strcmp(name, "window") == 0)
        options.limits.window = window(value);
    else if (strcmp(name, "timeout") == 0)
        options.timeout = command_wait("--timeout", value);
    else if (strcmp(value, "samples") == 0)
        options.source = WATCH_SAMPLES;
    else if (strcmp(value, "switches") != 0)
        command_wrong("--source %s: it must be switches or samples", command_typed(value));
}

/* ---- decisions ---- */

enum { TIME_BYTES = 32 };

/* Writes the time as rtf-events(5) does. */
static void write_time(char text[static TIME_BYTES])
{
    struct tm parts;
    const int64_t now = realtime_now();
    const time_t second = (time_t)(now / 1000000000);
    (void)gmtime_r(&second, &parts);
    const size_t length = strftime(text, TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + length, TIME_BYTES - length, ".%06dZ", (int)(now % 1000000000 / 1000));
}

static void print(const char *name, const char *decision, const struct adapt_law *law,
                  const struct adapt_wish *wish, const char *sentence)
{
    char time[TIME_BYTES];
    write_time(time);
    json_t *line =
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s*}", "time", time, "name", name,
                  "decision", decision, "cause", adapt_reason_name(wish->reason), "asked",
                  (json_int_t)wish->runtime, "runtime", (json_int_t)law->runtime, "period",
                  (json_int_t)law->period, "longest", (json_int_t)(adapt_law_longest(law) / 1000),
                  "sentence", sentence[0] == '\0' ? NULL : sentence);
    const bool good =
        line != NULL && json_dumpf(line, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;
    json_decref(line);
    if (!good || !command_is_written())
        command_unwritten();
}

/* Changes the runtime if the last jobs call for a change. False: the reservation has another thread
 * now, or none. */
static bool decide(const char *name, struct adapt_law *law, const struct thread_watch *watch)
{
    const struct adapt_wish wish = adapt_law_wish(law, monotonic_now(), watch->awake_since);
    if (wish.reason == ADAPT_NOTHING)
        return true;
    const struct adapt_answer answer = adapt_change(name, wish.runtime, 0, options.timeout);
    const char *decision = !answer.is_granted                      ? "refused"
                           : answer.adapted.runtime > law->runtime ? "raised"
                                                                   : "lowered";
    if (answer.is_granted) {
        law->period = answer.adapted.period;
        print(name, decision, law, &wish, "");
        adapt_law_granted(law, &wish, answer.adapted.runtime, monotonic_now());
        return answer.adapted.thread == watch->tid;
    }
    adapt_law_refused(law, &wish, answer.nearest, answer.nearest_minimum, monotonic_now());
    print(name, answer.is_refused ? decision : "unanswered", law, &wish, answer.sentence);
    return true;
}

/* ---- observing ---- */

static struct timespec time_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* Waits for one period, and meanwhile samples the thread if the source is samples. After that,
 * waits until the thread has run, if it sleeps and the source is switches: before that there is
 * nothing new to see. False: the thread has ended. */
static bool wait_for_news(struct thread_watch *watch, const struct adapt_law *law, int pidfd)
{
    struct pollfd fds[] = {{.fd = pidfd, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    const bool samples = watch->source == WATCH_SAMPLES;
    const int64_t period = (int64_t)law->period * 1000;
    const int64_t end = monotonic_now() + (period < LOOKS ? LOOKS : period);
    for (int64_t left; (left = end - monotonic_now()) > 0;) {
        const struct timespec wait = time_of(samples && left > SAMPLING ? SAMPLING : left);
        if (ppoll(fds, 1, &wait, NULL) > 0)
            return false;
        thread_watch_sample(watch, monotonic_now());
    }
    if (samples || watch->awake_since != 0)
        return true;
    fds[1].fd = switches_descriptor(watch->switches);
    (void)ppoll(fds, 2, NULL, NULL);
    return fds[0].revents == 0;
}

static void take_bursts(struct thread_watch *watch, struct adapt_law *law)
{
    thread_watch_look(watch, monotonic_now());
    for (size_t i = 0; i < watch->bursts.count; i++)
        adapt_law_take(law, &watch->bursts.list[i]);
    thread_watch_forget(watch);
}

static int adapt(const char *name)
{
    struct thread_watch watch;
    struct adapt_law law = {0};
    const struct adapted adapted = adapt_read(name, options.timeout);
    const int pidfd = thread_open(adapted.thread);
    if (pidfd < 0 || !thread_watch_open(&watch, adapted.thread, options.source))
        command_fail(EX_NOINPUT, "thread %d: %s", (int)adapted.thread, strerror(errno));
    if (options.limits.most > adapted.period)
        options.limits.most = adapted.period;
    if (options.limits.least > options.limits.most)
        command_wrong("--min is larger than --max, or than the period");
    adapt_law_begin(&law, &options.limits, monotonic_now());
    law.runtime = adapted.runtime;
    law.period = adapted.period;
    while (wait_for_news(&watch, &law, pidfd)) {
        take_bursts(&watch, &law);
        if (!decide(name, &law, &watch))
            break;
    }
    thread_watch_close(&watch);
    close(pidfd);
    return EX_OK;
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "adapt",
        .about = "Keep the runtime of a reservation at what its thread uses.",
        .operands = "NAME [OPTION...]",
        .options = table,
        .take = take};
    char **operands = command_parse(&command, argc, argv, NULL);
    if (operands[0] == NULL)
        command_misused("the name of the reservation is missing");
    if (operands[1] != NULL)
        command_misused("one name is enough");
    return adapt(command_name(operands[0]));
}
