#include "run-options.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "command-line.h"
#include "needs-rules.h"
#include "units.h"

static const struct command_option table[] = {
    COMMAND_NEEDS,
    {'f', "file", "FILE",
     "Start from the spec, or from the rules for the threads of CMD, in this file; - is standard input"},
    {0, "attach", "WHEN",
     "When CMD is attached: start (the default), ready (sd_notify(3)), thread:NAME, or after a TIME"},
    {0, "learn", NULL,
     "Run CMD, find out what its threads need, reserve this, and adapt it; no needs can be stated beside this option"},
    {0, "adapt", NULL,
     "Keep the runtime at what CMD uses, as rtf adapt does; -T is the first runtime"},
    {0, "name", "NAME", "Name of the spec (default: run-PID)"},
    {0, "replace", NULL, "Replace a spec of that name that has no thread"},
    {0, "timeout", "TIME", "Wait no longer than this for the answer (default: 30s)"},
    {0, "wait", "[=TIME]",
     "If there is no room, wait for room in the order of arrival, but no longer than this"},
    {0, "fallback", NULL, "Run CMD without a reservation if the broker grants none"},
    {0, "dry-run", NULL, "Print the spec and do nothing"},
    {'v', "verbose", NULL, "Print the broker's answer on standard error"},
    {0}};

static pid_t parent_of(pid_t process)
{
    char path[32], text[512];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "re");
    const size_t length = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    if (file != NULL)
        (void)fclose(file);
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && sscanf(name_end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* True if this process has inherited its CPUs from a thread that the broker has pinned to CPUs.
 * Then the user has not chosen the CPUs. The function looks for a thread with a grant among the
 * parents with the same CPUs. Such a thread has a real-time policy with reset-on-fork. */
static bool are_inherited_from_grant(const cpu_set_t *own)
{
    cpu_set_t theirs;
    for (pid_t process = getppid(); process > 1; process = parent_of(process)) {
        const int policy = sched_getscheduler(process);
        if (policy < 0 || sched_getaffinity(process, sizeof theirs, &theirs) != 0 ||
            !CPU_EQUAL(own, &theirs))
            return false;
        if ((policy & SCHED_RESET_ON_FORK) != 0 && (policy & ~SCHED_RESET_ON_FORK) != SCHED_OTHER)
            return true;
    }
    return false;
}

/* Returns the CPUs of this process if the user has chosen them, for example with taskset(1). The
 * user has chosen them if they are fewer than the CPUs of process 1, and are not inherited from a
 * thread with a grant. Process 1 has all CPUs of the system or of the container. NULL: the user has
 * not chosen the CPUs. */
static const char *own_cpus(char text[static CPU_LIST_TEXT])
{
    cpu_set_t own, usual, both;
    if (sched_getaffinity(0, sizeof own, &own) != 0 ||
        sched_getaffinity(1, sizeof usual, &usual) != 0)
        return NULL;
    CPU_AND(&both, &own, &usual);
    return CPU_EQUAL(&both, &own) && !CPU_EQUAL(&own, &usual) && !are_inherited_from_grant(&own)
               ? format_cpus(&own, text)
               : NULL;
}

static void take_attach(struct options *options, const char *text)
{
    static const char thread[] = "thread:";
    options->says_when = true;
    if (strcmp(text, "start") == 0)
        options->when = AT_START;
    else if (strcmp(text, "ready") == 0)
        options->when = AT_READY;
    else if (strncmp(text, thread, sizeof thread - 1) == 0 && text[sizeof thread - 1] != '\0') {
        options->when = AT_THREAD;
        options->thread = text + sizeof thread - 1;
    } else if (client_take_wait(text, &options->attach_after) == NULL)
        options->when = AT_TIME;
    else
        command_wrong(
            "--attach %s: it must be start, ready, thread:NAME or a time with a unit such as 200ms",
            command_typed(text));
}

static void take_wait(struct options *options, const char *value)
{
    options->waits = true;
    options->wait_for = value == NULL ? 0 : command_wait("--wait", value);
}

static void take(void *context, const char *name, const char *value)
{
    struct options *options = context;
    if (strcmp(name, "attach") == 0)
        take_attach(options, value);
    else if (strcmp(name, "file") == 0)
        options->file = value;
    else if (strcmp(name, "name") == 0)
        options->name = command_name_option(value);
    else if (strcmp(name, "replace") == 0)
        options->replace = true;
    else if (strcmp(name, "timeout") == 0)
        options->timeout = command_wait("--timeout", value);
    else if (strcmp(name, "wait") == 0)
        take_wait(options, value);
    else if (strcmp(name, "learn") == 0)
        options->learns = true;
    else if (strcmp(name, "adapt") == 0)
        options->adapts = true;
    else if (strcmp(name, "fallback") == 0)
        options->fallback = true;
    else if (strcmp(name, "dry-run") == 0)
        options->dry_run = true;
    else if (strcmp(name, "verbose") == 0)
        options->verbose = true;
    else
        (void)needs_take(&options->needs, name, value);
}

/* Checks the options. If the user writes "--wait 2s CMD" instead of "--wait=2s CMD", the command
 * would be 2s, because the value of --wait is optional and stands behind "=". So this is an
 * error. */
static void check(const struct options *options)
{
    uint64_t time;
    if (options->command == NULL && !options->dry_run)
        command_misused("a command is missing");
    if (options->replace && options->name == NULL)
        command_misused("--replace needs --name");
    if (options->waits && options->wait_for == 0 && options->command != NULL &&
        client_take_wait(options->command[0], &time) == NULL)
        command_wrong("--wait %s: this would run the command \"%s\"; to wait that long: --wait=%s",
                      options->command[0], options->command[0], options->command[0]);
}

/* Refuses options that have no meaning beside --learn, because nothing is reserved when CMD
 * starts. */
static void check_learn(const struct options *options)
{
    if (!options->learns)
        return;
    if (needs_are_stated(&options->needs) || options->file != NULL || options->adapts ||
        options->name != NULL || options->says_when || options->waits || options->dry_run)
        command_misused("--learn finds out what CMD needs: only --timeout, --fallback, --spool and "
                        "-v can stand beside it");
}

/* Refuses --adapt where rtf adapt cannot work: it changes the runtime of one thread, which needs a
 * period. */
static void check_adapt(const struct options *options)
{
    if (options->adapts && (options->by_rules || json_object_get(options->spec, "modes") != NULL ||
                            json_object_get(options->spec, "runtime") == NULL ||
                            json_object_get(options->spec, "period") == NULL))
        command_misused("--adapt needs a runtime (-T) and a period (-P), and no rules or modes");
}

/* Refuses options that have no meaning beside rules for threads. Each rule states the needs of its
 * threads, and the broker attaches threads when they appear. */
static void check_rules(const struct options *options)
{
    if (needs_are_stated(&options->needs))
        command_misused(
            "options for needs, such as -T, cannot stand beside a file with rules for threads: the rules state all needs");
    if (options->says_when || options->waits)
        command_misused("--attach and --wait cannot stand beside a file with rules for threads");
}

static bool has_any(const json_t *spec, const char *const *keys)
{
    while (*keys != NULL && json_object_get(spec, *keys) == NULL)
        keys++;
    return *keys != NULL;
}

/* True if the spec claims a network, a disk or units, but no CPU time. Such a spec must not have
 * the key "cpus", not even for the CPUs that taskset(1) has set. */
static bool claims_no_cpu(const json_t *spec)
{
    static const char *const others[] = {"network", "disk",  "lock_memory", "cpu_latency",
                                         "nice",    "clamp", NULL};
    static const char *const cpu[] = {"runtime",  "desired_runtime",  "period",
                                      "deadline", "priority",         "plugin",
                                      "cpus",     "ignore_admission", "blocking",
                                      "reclaim",  "overrun_signal",   NULL};
    return has_any(spec, others) && !has_any(spec, cpu);
}

/* Sets the keys of the needs in the spec. Without --cpus the spec gets the CPUs that the user has
 * chosen with taskset(1). With --cpus=all the spec states no CPUs. */
static void complete(struct needs *needs, json_t *spec)
{
    char list[CPU_LIST_TEXT];
    needs_lay_over(needs, spec);
    const char *stated = client_string(spec, "cpus"),
               *own = stated == NULL && !claims_no_cpu(spec) ? own_cpus(list) : NULL;
    if (own != NULL)
        json_object_set_new(spec, "cpus", json_string(own));
    else if (stated != NULL && strcmp(stated, "all") == 0)
        (void)json_object_del(spec, "cpus");
}

static void take_spec(struct options *options)
{
    options->spec = needs_read_spec(options->file);
    options->by_rules = needs_rules_are_in(options->spec);
    if (options->by_rules) {
        check_rules(options);
        needs_rules_name_process(options->spec, client_thread_key(getpid()));
    } else
        complete(&options->needs, options->spec);
}

static char *make_rules(const struct options *options, const char *token)
{
    json_object_set_new(options->spec, "token", json_string(token));
    return json_dumps(options->spec, JSON_COMPACT);
}

char *run_options_make_spec(const struct options *options, const char *token, pid_t thread)
{
    if (options->by_rules)
        return make_rules(options, token);
    json_t *spec = json_copy(options->spec);
    if (thread != 0)
        json_object_set_new(spec, "attach", client_thread_key(thread));
    json_object_set_new(spec, "lifetime", json_string("thread"));
    if (options->waits)
        json_object_set_new(spec, "on_refusal", json_string("wait"));
    if (thread == 0)
        json_object_set_new(spec, "expires", json_integer(LEASE));
    json_object_set_new(spec, "token", json_string(token));
    char *text = json_dumps(spec, JSON_COMPACT);
    json_decref(spec);
    return text;
}

void run_options_parse(struct options *options, int argc, char **argv)
{
    static const struct command command = {
        .name = "run",
        .program = "rtf-run",
        .about =
            "Run CMD with real-time scheduling that the rtf broker has reserved for it.\nA TIME is a whole number and a unit: 800us, 5ms, 1s.",
        .operands = "[OPTION...] CMD [ARG...]",
        .closing =
            "Exit status: 125 if rtf-run fails or is refused, 126 if CMD cannot be run, 127 if CMD is not found, else the exit status of CMD.",
        .options = table,
        .needs = needs_options,
        .needs_named =
            " runtime period deadline desired-runtime priority plugin lock-memory cpu-latency nice clamp whole ignore-admission cpus net disk comment sched-runtime sched-period sched-deadline ",
        .runs_command = true,
        .failure = EXIT_OURS,
        .take = take};
    char **operands = command_parse(&command, argc, argv, options);
    options->command = operands[0] == NULL ? NULL : operands;
    check(options);
    check_learn(options);
    take_spec(options);
    check_adapt(options);
}
