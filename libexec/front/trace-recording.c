#include "trace-recording.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "command-line.h"
#include "open-spool.h"

/* ---- choice of the threads ---- */

static const char *own_directory(void)
{
    static char uid[16];
    const struct passwd *account = getpwuid(geteuid());
    snprintf(uid, sizeof uid, "%u", (unsigned)geteuid());
    return account != NULL ? account->pw_name : uid;
}

/* user: the owner of the recorded threads; NULL: all users. */
static void fail_nothing(const char *user, const struct trace_wish *wish)
{
    const char *which = wish->patterns[0] == NULL ? "" : " of these names";
    if (user == NULL)
        command_fail(EX_NOINPUT, "no reservation%s has a thread", which);
    const bool may_choose = geteuid() == 0 && wish->user == NULL;
    command_fail(EX_NOINPUT, "%s has no reservation%s with a thread%s%s", command_typed(user),
                 which, may_choose ? ": " : "", may_choose ? wish->more : "");
}

static struct chosen choose(const struct client *client, const struct trace_wish *wish)
{
    struct chosen chosen;
    const struct chosen_wish choice = {.user = wish->all            ? NULL
                                               : wish->user != NULL ? wish->user
                                                                    : own_directory(),
                                       .patterns = wish->patterns};
    if (!chosen_read(client->root, &choice, &chosen))
        command_fail(EX_NOPERM, "%s/state/current does not belong to root, or cannot be read",
                     command_spool());
    if (chosen.count == 0)
        fail_nothing(choice.user, wish);
    return chosen;
}

/* Chooses the threads of a user, from the user's verdicts. */
static struct chosen choose_own(struct client *client, const struct trace_wish *wish)
{
    struct chosen chosen = {0};
    const struct chosen_wish choice = {.patterns = wish->patterns};
    const enum client_outcome entered = client_enter(client, false);
    if (entered != CLIENT_OK && entered != CLIENT_GONE)
        command_fail(client_status_of_outcome(entered), "%s", client->why);
    if (entered == CLIENT_OK)
        chosen_read_own(client, &choice, &chosen);
    return chosen;
}

/* Removes the threads that rtf-watch does not trace, because there are no records of them. */
static void keep_traced(struct chosen *chosen, const struct trace_source *source,
                        const struct trace_wish *wish)
{
    size_t kept = 0;
    for (size_t i = 0; i < chosen->count; i++)
        if (trace_source_traces(source, chosen->threads[i].tid)) {
            chosen->threads[kept] = chosen->threads[i];
            chosen->labels[kept++] = chosen->labels[i];
        }
    chosen->count = kept;
    if (kept == 0)
        fail_nothing(own_directory(), wish);
}

struct chosen trace_begin(const struct trace_wish *wish, struct trace_source *source)
{
    struct client client;
    struct chosen chosen;
    open_spool(&client);
    if (geteuid() == 0) {
        chosen = choose(&client, wish);
        trace_source_root(source, &chosen, wish->keep_pages, wish->causes);
    } else {
        trace_source_user(source, client.root, wish->causes);
        chosen = choose_own(&client, wish);
        keep_traced(&chosen, source, wish);
        if (wish->look != NULL)
            wish->look(&client, &chosen);
    }
    client_close(&client);
    return chosen;
}

/* ---- recording ---- */

static int open_timer(uint64_t duration)
{
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    const struct itimerspec end = {.it_value = {.tv_sec = (time_t)(duration / 1000000),
                                                .tv_nsec = (long)(duration % 1000000) * 1000}};
    if (timer < 0 || timerfd_settime(timer, 0, &end, NULL) != 0)
        command_fail(EX_OSERR, "%s", strerror(errno));
    return timer;
}

void trace_record(struct trace_source *source, uint64_t duration, int signals,
                  const struct trace_beside *beside)
{
    struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
                           {.fd = open_timer(duration), .events = POLLIN},
                           {.fd = trace_source_descriptor(source), .events = POLLIN},
                           {.fd = beside == NULL ? -1 : beside->fd, .events = POLLIN}};
    bool goes_on = true;
    while (goes_on && fds[0].revents == 0 && fds[1].revents == 0) {
        (void)poll(fds, sizeof fds / sizeof *fds, -1);
        goes_on = trace_source_drain(source);
        if (beside != NULL && fds[3].revents != 0)
            beside->ready();
    }
    if (!goes_on)
        command_say("there are more events than fit into memory: the recording ends early");
    close(fds[1].fd);
}
