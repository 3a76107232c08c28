/* rtf-detach(1): detaches threads. Their reservations stay. */
#include <string.h>

#include <sysexits.h>

#include "command-line.h"
#include "request/request.h"
#include "needs-rules.h"

static const struct command_option table[] = {
    {0, "timeout", "TIME", "Wait no longer than this for each answer (default: 30s)"}, {0}};

static void take(void *timeout, const char *name, const char *value)
{
    (void)name;
    *(uint64_t *)timeout = command_wait("--timeout", value);
}

/* Removes NAME.tid, which detaches a thread that NAME.tid named. A thread that the spec names, or
 * has named, is detached by "attach": null in the spec. */
static bool detach(struct request *request, const char *name)
{
    struct request_spec former = request_read(request, name);
    if (needs_rules_are_in(former.json))
        command_fail(EX_USAGE, "%s is a program file: 'rtf release %s' detaches all its threads",
                     name, name);
    const bool is_named = !json_is_null(json_object_get(former.json, "attach")) &&
                          json_object_get(former.json, "attach") != NULL;
    const bool had_file = client_detach(&request->client, name) == CLIENT_OK;
    const bool is_written = had_file ? is_named : request_thread(request, name) != 0;
    if (is_written) {
        json_object_set_new(former.json, "attach", json_null());
        request_change(request, name, &former, former.json);
    }
    request_free_spec(&former);
    return is_written ? request_wait(request) : request_wait_for_files(request, name);
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "detach",
        .about =
            "Detach threads: the threads get their former attributes back, and the reservations stay.",
        .operands = "NAME...",
        .options = table,
        .take = take};
    uint64_t timeout = REQUEST_TIMEOUT;
    struct request request;
    int failed = 0;
    char **operands = command_parse(&command, argc, argv, &timeout);
    if (operands[0] == NULL)
        command_misused("the names of reservations are missing");
    for (char **word = operands; *word != NULL; word++)
        (void)command_name(*word);
    request_open(&request, command_spool(), timeout, false);
    for (char **name = operands; *name != NULL; name++)
        if (!detach(&request, *name)) {
            request_say(&request, *name);
            failed = request.status;
        }
    request_close(&request);
    return failed;
}
