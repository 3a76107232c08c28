/* rtf-brokerd(8): from the command line to the loop. dispatch.c handles the events of the loop. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "check.h"
#include "command-line.h"
#include "event.h"
#include "fatal.h"
#include "loop.h"
#include "place.h"
#include "process.h"
#include "serving.h"
#include "spool.h"
#include "starting.h"
#include "systemd-watchdog.h"

int main(int argc, char **argv)
{
    struct options options;
    char reason[REASON_BYTES];
    int lock, ready = -1;
    command_line_read(argc, argv, &options);
    clean_process();
    find_libexec();
    if (options.check && (options.group != NULL || options.config == NULL))
        (void)find_group(options.group);
    if (options.config == NULL)
        options.config = "/etc/rtf";
    if (!options.check && !options.put_back && geteuid() == 0) {
        event_start(options.spool);
        fatal_logged(true);
    }
    if (!options.put_back)
        serving_configure(options.config);
    if (options.check)
        check(&options);
    if (geteuid() != 0)
        die(EX_NOPERM, "must be started by root");
    if (!options.foreground && !options.put_back)
        ready = go_to_background();
    loop_start();
    if (options.put_back)
        return put_back(&options);
    if (!spool_open(options.spool, find_group(options.group), &lock, reason) || !place_open(reason))
        die(EX_UNAVAILABLE, reason);
    serving_catch_signals();
    broker_start(&options, lock);
    say_ready(ready);
    watchdog_ready();
    serve();
    stop();
    return launcher_was_killed() ? EX_OSERR : EX_OK;
}
