/* rtf-declare(1): puts a spec of the user's own into the spool and waits for the answer. What is refused is taken back. */
#include <string.h>
#include <sysexits.h>

#include "request/command.h"
#include "request/needs.h"
#include "request/request.h"

struct options {
    struct needs needs;
    const char *file;
    uint64_t timeout;
    bool keep, no_wait, json, verbose;
};

static const struct command_option table[] = {
    COMMAND_NEEDS,
    {'f', "file", "FILE", "Start from the spec in this file; - is standard input"},
    {0, "attach", "TID", "Attach this thread in the same step"},
    {0, "lifetime", "WHEN", "End with the file (spec) or with its thread (thread)"},
    {0, "keep", NULL, "Leave the spec in the spool if it is refused"},
    {0, "no-wait", NULL, "Do not wait for the answer"},
    {0, "timeout", "TIME", "Wait no longer than this (default: 30s)"},
    {0, "json", NULL, "Print the answer, one line of JSON"},
    {'v', "verbose", NULL, "Say what is granted"},
    {0}};

static void take_attach(struct options *options, const char *value)
{
    (void)command_number("--attach", value);
    needs_add(&options->needs, "attach", value);
}

static void take(void *context, const char *name, const char *value)
{
    struct options *options = context;
    if (strcmp(name, "file") == 0)
        options->file = value;
    else if (strcmp(name, "attach") == 0)
        take_attach(options, value);
    else if (strcmp(name, "lifetime") == 0)
        needs_add(&options->needs, name, value);
    else if (strcmp(name, "keep") == 0)
        options->keep = true;
    else if (strcmp(name, "no-wait") == 0)
        options->no_wait = true;
    else if (strcmp(name, "timeout") == 0)
        options->timeout = command_wait("--timeout", value);
    else if (strcmp(name, "json") == 0)
        options->json = true;
    else if (strcmp(name, "verbose") == 0)
        options->verbose = true;
    else
        (void)needs_take(&options->needs, name, value);
}

static void settle(struct request *request, const struct options *options)
{
    const bool is_granted = request_wait(request);
    if (!is_granted && !options->keep)
        request_withdraw(request);
    request_let_signals(request); /* one that came meanwhile ends us here */
    if (!is_granted)
        request_say(request, request->name);
    else if (options->verbose)
        request_say_grant(request);
    if (options->json && !request_print(request)) {
        request_withdraw(request);
        command_unwritten();
    }
}

static void declare(struct request *request, const struct options *options, const char *name, json_t *spec)
{
    request_open(request, command_spool(), options->timeout, true);
    if (!options->no_wait && !request_connect(request)) {
        request_say(request, name);
        return;
    }
    request_hold_signals(request);
    if (!request_put(request, name, spec))
        command_fail(EX_CANTCREAT, "%s exists already: 'rtf change %s' changes it, 'rtf release %s' ends it", name, name, name);
    if (!options->no_wait)
        settle(request, options);
}

int main(int argc, char **argv)
{
    static const struct command command = {.name = "declare",
                                           .about = "Reserve CPU time under a name, and wait for the answer.",
                                           .operands = "NAME [OPTION...]",
                                           .options = table,
                                           .needs = needs_options,
                                           .take = take};
    struct options options = {.timeout = REQUEST_TIMEOUT};
    struct request request;
    char **operands = command_parse(&command, argc, argv, &options);
    if (operands[0] == NULL)
        command_misused("the name of the reservation is missing");
    if (operands[1] != NULL)
        command_misused("one name is enough");
    const char *name = command_name(operands[0]);
    json_t *spec = needs_read_spec(options.file);
    needs_lay_over(&options.needs, spec);
    declare(&request, &options, name, spec);
    json_decref(spec);
    request_close(&request);
    return request.status;
}
