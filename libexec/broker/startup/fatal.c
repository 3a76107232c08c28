#include "fatal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "reason.h"

static bool is_logged;

void fatal_logged(bool logged)
{
    is_logged = logged;
}

/* Writes the reason to the log, for an administrator who looks for it after a reboot. The log does
 * not write the reason to standard error once more. */
static void last_words(const char *reason)
{
    if (!is_logged)
        return;
    event_echo(false);
    event_broker("error", "it cannot start: %s", reason);
}

void die(int code, const char *reason)
{
    last_words(reason);
    fprintf(stderr, "rtf-brokerd: %s\n", reason);
    exit(code);
}

void die_errno(int code, const char *what)
{
    char reason[REASON_BYTES];
    snprintf(reason, sizeof reason, "%.300s: %s", what, strerror(errno));
    die(code, reason);
}
