/* rtf-declare(1): puts a spec into the spool and waits for the answer. A refused spec is
 * removed. */
#include <string.h>

#include "command-line.h"
#include "needs.h"
#include "request/declare.h"
#include "request/request.h"

struct options {
    struct needs needs;
    const char *file;
    struct declaration declaration;
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
        options->declaration.keep = true;
    else if (strcmp(name, "no-wait") == 0)
        options->declaration.no_wait = true;
    else if (strcmp(name, "timeout") == 0)
        options->declaration.timeout = command_wait("--timeout", value);
    else if (strcmp(name, "json") == 0)
        options->declaration.json = true;
    else if (strcmp(name, "verbose") == 0)
        options->declaration.verbose = true;
    else
        (void)needs_take(&options->needs, name, value);
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "declare",
        .about = "Reserve CPU time under a name, and wait for the answer.",
        .operands = "NAME [OPTION...]",
        .options = table,
        .needs = needs_options,
        .take = take};
    struct options options = {.declaration = {.timeout = REQUEST_TIMEOUT}};
    char **operands = command_parse(&command, argc, argv, &options);
    if (operands[0] == NULL)
        command_misused("the name of the reservation is missing");
    if (operands[1] != NULL)
        command_misused("only one NAME is allowed");
    options.declaration.name = command_name(operands[0]);
    options.declaration.spec = needs_read_spec(options.file);
    needs_lay_over(&options.needs, options.declaration.spec);
    const int status = declare(&options.declaration);
    json_decref(options.declaration.spec);
    return status;
}
