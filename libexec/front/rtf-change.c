/* rtf-change(1): changes keys of a spec, and waits for the answer. If the broker refuses the
 * change, the former spec is put back. */
#include <string.h>
#include <sysexits.h>

#include "command-line.h"
#include "needs.h"
#include "request/request.h"
#include "needs-rules.h"

struct options {
    struct needs needs;
    uint64_t timeout; /* us */
    bool keep, no_wait, json, verbose;
};

static const struct command_option table[] = {
    COMMAND_NEEDS,
    {0, "keep", NULL, "Leave the spec as changed if it is refused"},
    {0, "no-wait", NULL, "Do not wait for the answer"},
    {0, "timeout", "TIME", "Wait no longer than this (default: 30s)"},
    {0, "json", NULL, "Print the answer, one line of JSON"},
    {'v', "verbose", NULL, "Say what is granted"},
    {0}};

static void take(void *context, const char *name, const char *value)
{
    struct options *options = context;
    if (strcmp(name, "keep") == 0)
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

static void take_pair(struct options *options, const char *word)
{
    if (strchr(word, '=') == NULL)
        command_misused("%s is not KEY=VALUE", command_typed(word));
    needs_add_pair(&options->needs, word);
}

static void settle(struct request *request, const struct options *options,
                   const struct request_spec *former)
{
    const bool is_granted = request_wait(request);
    if (!is_granted && !options->keep)
        request_put_back(request, former);
    /* a signal that has come since request_hold_signals ends this process here */
    request_let_signals(request);
    if (!is_granted)
        request_say(request, request->name);
    else if (options->verbose)
        request_say_grant(request);
    if (options->json && !request_print(request)) {
        request_put_back(request, former);
        command_unwritten();
    }
}

/* Refuses a program file. Its needs are in rules for threads, and no option of this command can
 * name a rule. */
static void refuse_program(const struct request_spec *former, const char *name)
{
    if (needs_rules_are_in(former->json))
        command_fail(
            EX_USAGE,
            "%s is a program file: change the rules in its file, or 'rtf release %s' and put "
            "another one in its place",
            name, name);
}

static void change(struct request *request, struct options *options, const char *name)
{
    request_open(request, command_spool(), options->timeout, false);
    struct request_spec former = request_read(request, name);
    refuse_program(&former, name);
    json_t *spec = json_deep_copy(former.json);
    /* the broker would refuse to attach an ended thread */
    if (request_thread_has_ended(request, name))
        (void)json_object_del(spec, "attach");
    needs_lay_over(&options->needs, spec);
    if (!options->no_wait && !request_connect(request))
        request_say(request, name);
    else {
        request_hold_signals(request);
        request_change(request, name, &former, spec);
        if (!options->no_wait)
            settle(request, options, &former);
    }
    json_decref(spec);
    request_free_spec(&former);
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "change",
        .about = "Change what is reserved under a name, and wait for the answer.",
        .operands = "NAME [KEY=VALUE...] [OPTION...]",
        .options = table,
        .needs = needs_options,
        .take = take};
    struct options options = {.timeout = REQUEST_TIMEOUT};
    struct request request;
    char **operands = command_parse(&command, argc, argv, &options);
    if (operands[0] == NULL)
        command_misused("the name of the reservation is missing");
    const char *name = command_name(*operands++);
    while (*operands != NULL)
        take_pair(&options, *operands++);
    if (!needs_are_stated(&options.needs))
        command_misused("say what to change: KEY=VALUE, or an option such as -T");
    change(&request, &options, name);
    request_close(&request);
    return request.status;
}
