#include "declare.h"

#include <sysexits.h>

#include "command-line.h"
#include "request.h"

static void settle(struct request *request, const struct declaration *declaration)
{
    const bool is_granted = request_wait(request);
    if (!is_granted && !declaration->keep)
        request_withdraw(request);
    /* a signal that has come since request_hold_signals ends this process here */
    request_let_signals(request);
    if (!is_granted)
        request_say(request, request->name);
    else if (declaration->verbose)
        request_say_grant(request);
    if (declaration->json && !request_print(request)) {
        request_withdraw(request);
        command_unwritten();
    }
}

int declare(const struct declaration *declaration)
{
    struct request request;
    const char *name = declaration->name;
    request_open(&request, command_spool(), declaration->timeout, true);
    if (!declaration->no_wait && !request_connect(&request)) {
        request_say(&request, name);
        request_close(&request);
        return request.status;
    }
    request_hold_signals(&request);
    if (!request_put(&request, name, declaration->spec))
        command_fail(EX_CANTCREAT,
                     "%s exists already: 'rtf change %s' changes it, 'rtf release %s' ends it",
                     name, name, name);
    if (!declaration->no_wait)
        settle(&request, declaration);
    request_close(&request);
    return request.status;
}
