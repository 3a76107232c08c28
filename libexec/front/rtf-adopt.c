/* rtf-adopt(1): makes a reservation from the policy, runtime, period or priority that a thread has
 * already got without rtf. The thread keeps these parameters, and the broker counts them in its
 * admission test. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "command-line.h"
#include "needs.h"
#include "request/declare.h"
#include "request/request.h"
#include "thread.h"

struct options {
    struct needs needs;
    char *name; /* NULL: adopt-TID */
    bool dry_run;
    struct declaration declaration;
};

static const struct command_option table[] = {
    {'n', "name", "NAME", "Name of the reservation (default: adopt-TID)"},
    COMMAND_NEEDS,
    {0, "dry-run", NULL, "Print the spec and do nothing"},
    {0, "timeout", "TIME", "Wait no longer than this for the answer (default: 30s)"},
    {0, "json", NULL, "Print the answer, one line of JSON"},
    {'v', "verbose", NULL, "Say what is granted"},
    {0}};

static void take(void *context, const char *name, const char *value)
{
    struct options *options = context;
    if (strcmp(name, "name") == 0)
        options->name = strdup(value);
    else if (strcmp(name, "dry-run") == 0)
        options->dry_run = true;
    else if (strcmp(name, "timeout") == 0)
        options->declaration.timeout = command_wait("--timeout", value);
    else if (strcmp(name, "json") == 0)
        options->declaration.json = true;
    else if (strcmp(name, "verbose") == 0)
        options->declaration.verbose = true;
    else
        (void)needs_take(&options->needs, name, value);
}

static pid_t take_thread(const char *word)
{
    const size_t length = strspn(word, "0123456789");
    if (length == 0 || length > 9 || word[length] != '\0')
        command_misused("%s is not a thread id", command_typed(word));
    return (pid_t)strtol(word, NULL, 10);
}

__attribute__((noreturn)) static void refuse_ordinary(const struct identity *identity)
{
    const int tid = (int)identity->tid;
    if (!thread_is_of(identity, geteuid()))
        command_fail(
            EX_DATAERR,
            "thread %d is ordinary, there is nothing to adopt; only its owner, uid %u, can "
            "give it a reservation",
            tid, (unsigned)identity->real_uid);
    command_fail(
        EX_DATAERR,
        "thread %d is ordinary, there is nothing to adopt: 'rtf attach NAME %d -T TIME -P TIME' gives it a reservation",
        tid, tid);
}

static struct attributes look_at(pid_t tid)
{
    struct identity identity;
    struct attributes attributes;
    if (tid == 0 || !thread_identify(tid, &identity) || identity.kernel || identity.ended ||
        !thread_attributes(tid, &attributes))
        command_fail(EX_NOINPUT, "there is no thread %d, or it is the kernel's own", (int)tid);
    if (!policy_is_real_time(attributes.policy))
        refuse_ordinary(&identity);
    return attributes;
}

/* True if the plugin, a line of status.json, grants this policy. A fixed-priority plugin grants
 * SCHED_FIFO, and the program rr SCHED_RR; rm chooses priorities itself, and so cannot keep the
 * priority of the thread. */
static bool is_for(const json_t *line, enum policy policy)
{
    const char *kind = client_string(line, "policy"), *program = client_string(line, "program");
    if (kind == NULL || program == NULL)
        return false;
    if (policy == POLICY_DEADLINE)
        return strcmp(kind, "deadline") == 0;
    const bool is_rr = strcmp(program, "rr") == 0;
    return policy == POLICY_RR
               ? is_rr
               : strcmp(kind, "fixed-priority") == 0 && !is_rr && strcmp(program, "rm") != 0;
}

/* Makes the spec ask the first plugin that grants this policy, if there is such a plugin. */
static void add_plugin(json_t *spec, enum policy policy)
{
    const int directory = open(command_spool(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    json_t *status = directory < 0 ? NULL : client_read_object(directory, "status.json");
    const json_t *line;
    size_t i;
    json_array_foreach(json_object_get(status, "plugins"), i, line) if (is_for(line, policy))
    {
        json_object_set(spec, "plugin", json_object_get(line, "name"));
        break;
    }
    json_decref(status);
    if (directory >= 0)
        close(directory);
}

static json_t *spec_of(pid_t tid, const struct attributes *attributes)
{
    json_t *spec =
        attributes->policy == POLICY_DEADLINE
            ? json_pack("{s:I, s:I, s:I}", "runtime", (json_int_t)attributes->runtime, "deadline",
                        (json_int_t)attributes->deadline, "period", (json_int_t)attributes->period)
            : json_pack("{s:i}", "priority", attributes->priority);
    add_plugin(spec, attributes->policy);
    json_object_set_new(spec, "attach", client_thread_key(tid));
    json_object_set_new(spec, "lifetime", json_string("thread"));
    return spec;
}

static int print(const json_t *spec)
{
    if (json_dumpf(spec, stdout, JSON_COMPACT) != 0 || putchar('\n') == EOF ||
        !command_is_written())
        command_unwritten();
    return EX_OK;
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "adopt",
        .about = "Reserve what a thread has already: turn the policy, runtime, period and "
                 "priority that the kernel has for the thread into a reservation.",
        .operands = "TID [OPTION...]",
        .options = table,
        .needs = needs_options,
        .take = take};
    struct options options = {.declaration = {.timeout = REQUEST_TIMEOUT}};
    char name[CLIENT_NAME_MAX + 1];
    char **operands = command_parse(&command, argc, argv, &options);
    if (operands[0] == NULL)
        command_misused("a thread id is missing");
    if (operands[1] != NULL)
        command_misused("only one thread id is allowed");
    const pid_t tid = take_thread(operands[0]);
    snprintf(name, sizeof name, "adopt-%d", (int)tid);
    options.declaration.name = options.name == NULL ? name : command_name(options.name);
    const struct attributes attributes = look_at(tid);
    json_t *spec = options.declaration.spec = spec_of(tid, &attributes);
    needs_lay_over(&options.needs, spec);
    const int status = options.dry_run ? print(spec) : declare(&options.declaration);
    json_decref(spec);
    free(options.name);
    return status;
}
