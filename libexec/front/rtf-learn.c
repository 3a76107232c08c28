/* rtf-learn(1): observes the threads of a process, without rights, and says which period and which
 * runtime each thread needs. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "clock.h"
#include "command-line.h"
#include "request/end-signals.h"
#include "learn-observe.h"
#include "learn-report.h"
#include "learn-result.h"
#include "learn/observer.h"
#include "request/declare.h"
#include "request/request.h"
#include "thread.h"
#include "units.h"

/* The exit statuses of env(1), for a command that cannot be started. */
enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

static struct {
    uint64_t duration; /* us */
    const char *name;  /* of --write; NULL: write no spec */
    enum watch_source source;
    bool json;
    struct declaration declaration;
} options = {.duration = 10000000, .declaration = {.timeout = REQUEST_TIMEOUT}};

static const struct command_option table[] = {
    {0, "for", "TIME", "Observe for this time: 30s, 1min (default: 10s)"},
    {'w', "write", "NAME", "Ask for the reservation that the threads need, under this name"},
    {0, "source", "WORD",
     "How to observe: switches (perf events, exact) or samples (/proc); default: the better one"},
    {0, "timeout", "TIME", "With -w: wait no longer than this for the answer (default: 30s)"},
    {0, "json", NULL, "Print one line of JSON"},
    {'v', "verbose", NULL, "With -w: say what is granted"},
    {0}};

static void take_source(const char *value)
{
    if (strcmp(value, "samples") == 0)
        options.source = WATCH_SAMPLES;
    else if (strcmp(value, "switches") != 0)
        command_wrong("--source %s: it must be switches or samples", command_typed(value));
}

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "for") == 0)
        options.duration = command_wait("--for", value);
    else if (strcmp(name, "write") == 0)
        options.name = command_name_option(value);
    else if (strcmp(name, "source") == 0)
        take_source(value);
    else if (strcmp(name, "timeout") == 0)
        options.declaration.timeout = command_wait("--timeout", value);
    else if (strcmp(name, "json") == 0)
        options.json = true;
    else
        options.declaration.verbose = true;
}

/* ---- the process ---- */

static pid_t find_process(const char *word)
{
    uint64_t process;
    struct identity identity;
    if (!parse_number(word, INT32_MAX, &process) || process == 0)
        command_misused("%s is no process id; 'rtf learn -- COMMAND' starts a command",
                        command_typed(word));
    if (!thread_identify((pid_t)process, &identity) || identity.kernel || identity.ended)
        command_fail(EX_NOINPUT, "there is no process %d, or it is the kernel's own", (int)process);
    if (!thread_is_of(&identity, geteuid()))
        command_fail(EX_NOPERM, "process %d is another user's", (int)process);
    return identity.process;
}

/* Starts the command with no signal blocked, although rtf learn has blocked some signals. */
static pid_t start_process(char *const command[])
{
    pid_t process = 0;
    sigset_t none;
    posix_spawnattr_t attributes;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    const int error = posix_spawnp(&process, command[0], NULL, &attributes, command, environ);
    posix_spawnattr_destroy(&attributes);
    if (error != 0)
        command_fail(error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN, "%s: %s",
                     command_typed(command[0]), strerror(error));
    return process;
}

/* Ends the command that rtf learn has started, and waits for its end. If the command has a
 * reservation now, only waits. */
static void end_process(pid_t process, bool stays)
{
    if (!stays)
        (void)kill(process, SIGTERM);
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* ---- observing ---- */

/* Observes until the time is over, the process ends, or a signal comes. */
static void observe(struct observer *observer, int signals)
{
    const int interrupts[2] = {signals, (int)syscall(SYS_pidfd_open, observer->process, 0)};
    (void)learn_observe(observer, interrupts, monotonic_now() + (int64_t)options.duration * 1000,
                        true);
    observer_end(observer, monotonic_now());
    if (interrupts[1] >= 0)
        close(interrupts[1]);
}

static void tell_limits(const struct observer *observer)
{
    size_t sampled = 0, lost = 0;
    for (size_t i = 0; i < observer->count; i++) {
        sampled += observer->threads[i].source == WATCH_SAMPLES;
        lost += observer->threads[i].bursts.overflowed;
    }
    if (sampled > 0 && options.source != WATCH_SAMPLES)
        command_say("the kernel refuses perf events (kernel.perf_event_paranoid), so times of jobs "
                    "are less exact");
    if (observer->overflowed)
        command_say("the process has more than %d threads: the others are not observed",
                    OBSERVER_THREADS);
    if (lost > 0)
        command_say(
            "%zu threads sleep so often that rtf learn observes only the first part of the time",
            lost);
}

/* ---- the command line ---- */

static void report(const struct learned *learned, pid_t process, json_t *spec)
{
    bool good = true;
    if (options.json)
        good = learn_report_json(learned, process, spec);
    else
        learn_report_text(learned, spec);
    if (!good || !command_is_written())
        command_unwritten();
}

static int write_spec(json_t *spec)
{
    if (options.name == NULL)
        return EX_OK;
    if (spec == NULL) {
        command_say("no thread has a period, so there is nothing to reserve");
        return EX_DATAERR;
    }
    options.declaration.name = options.name;
    options.declaration.spec = spec;
    return declare(&options.declaration);
}

static int learn(pid_t process, int signals)
{
    struct observer observer;
    struct learned learned;
    if (!observer_open(&observer, process, options.source))
        command_fail(EX_NOINPUT, "process %d: %s", (int)process, strerror(errno));
    observe(&observer, signals);
    end_signals_close(signals);
    tell_limits(&observer);
    if (!learned_make(&observer, &learned))
        command_fail(EX_OSERR, "no memory");
    json_t *spec = learned_spec(&learned, process);
    report(&learned, process, spec);
    const int status = write_spec(spec);
    json_decref(spec);
    learned_free(&learned);
    observer_close(&observer);
    return status;
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "learn",
        .about = "Find out which period and which runtime the threads of a process need.",
        .operands = "[OPTION...] PID\n       rtf learn [OPTION...] -- COMMAND [ARGUMENT...]",
        .options = table,
        .take = take};
    char **operands = command_parse(&command, argc, argv, NULL);
    const bool starts = strcmp(operands[-1], "--") == 0;
    if (operands[0] == NULL)
        command_misused("a process id or a command is missing");
    if (!starts && operands[1] != NULL)
        command_misused("one process is enough; 'rtf learn -- COMMAND' starts a command");
    const pid_t found = starts ? 0 : find_process(operands[0]);
    const int signals = end_signals_open();
    const pid_t process = starts ? start_process(operands) : found;
    const int status = learn(process, signals);
    if (starts)
        end_process(process, options.name != NULL && status == EX_OK);
    return status;
}
