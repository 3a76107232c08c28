/* rtf-run --learn becomes this program (rtf-run(1)): starts the command as it is, observes its
 * threads, and gives each thread that has a period a reservation, which follows the thread. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "command-child.h"
#include "command-line.h"
#include "followed.h"
#include "learn-observe.h"
#include "learn-result.h"
#include "next-time.h"
#include "request/request.h"

enum { EXIT_OURS = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

#define SECOND INT64_C(1000000000) /* ns */
/* How long the keepers may take to end after the command. */
#define LEAVE_WITHIN (2 * SECOND)

static struct {
    struct followed followed;
} options = {.followed = {.timeout = REQUEST_TIMEOUT}};

static const struct command_option table[] = {
    {0, "timeout", "TIME", "Wait no longer than this for each answer (default: 30s)"},
    {'v', "verbose", NULL, "Say what is reserved and changed, on standard error"},
    {0}};

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "timeout") == 0)
        options.followed.timeout = command_wait("--timeout", value);
    else
        options.followed.is_verbose = true;
}

/* Returns how long to observe before the threads are judged, in ns. The first times are short, so
 * that a reservation comes soon. Each observation takes no data from the one before, because a
 * program that starts does other things than later. */
static int64_t length_of(unsigned number)
{
    static const int64_t seconds[] = {2, 3, 4, 10};
    enum { LAST = sizeof seconds / sizeof *seconds - 1 };
    return seconds[number < LAST ? number : LAST] * SECOND;
}

/* Observes for this time, and meanwhile starts and ends keepers (followed_serve). True: the command
 * has ended. */
static bool observe(struct observer *observer, const struct child *child, int64_t length,
                    int *status)
{
    const int interrupts[2] = {child->signals, options.followed.grants[0]};
    const int64_t end = monotonic_now() + length;
    for (int64_t now; (now = monotonic_now()) < end;) {
        const int64_t next = followed_serve(&options.followed, now);
        (void)learn_observe(observer, interrupts, next < end ? next : end, length < 10 * SECOND);
        if (child_take(child, status))
            return true;
    }
    return false;
}

static void judge(struct observer *observer, bool is_short)
{
    struct learned learned;
    observer_end(observer, monotonic_now());
    if (!learned_make(observer, &learned))
        return;
    followed_take(&options.followed, &learned, is_short);
    learned_free(&learned);
}

/* Follows the command until its end. Returns its status, as waitpid(2) stores it. */
static int follow(const struct child *child)
{
    int status = 0;
    bool has_ended = false;
    for (unsigned number = 0; !has_ended; number++) {
        struct observer observer;
        if (!observer_open(&observer, child->pid, WATCH_SWITCHES))
            command_say("the threads of process %d cannot be observed: %s", (int)child->pid,
                        strerror(errno));
        has_ended = observe(&observer, child, length_of(number), &status);
        judge(&observer, has_ended);
        observer_close(&observer);
    }
    return status;
}

static bool was_run(int status)
{
    return !WIFEXITED(status) ||
           (WEXITSTATUS(status) != EXIT_CANNOT_RUN && WEXITSTATUS(status) != EXIT_NOT_FOUND);
}

/* Follows the command until it ends, and then prints the last messages (next_time_say). Returns the
 * status of the command. */
static int run(const struct child *child, char *const command[])
{
    const int64_t begin = monotonic_now();
    const int status = follow(child);
    const int64_t end = monotonic_now();
    followed_end(&options.followed, child->signals, end + LEAVE_WITHIN);
    if (was_run(status) && end - begin >= SECOND)
        next_time_say(&options.followed, command);
    else if (was_run(status))
        command_say("%s has ended within a second: too soon to be observed",
                    command_typed(command[0]));
    return status;
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "run",
        .program = "rtf-run",
        .about = "Run CMD, find out what its threads need, and reserve this.",
        .operands = "--learn [OPTION...] CMD [ARG...]",
        .options = table,
        .runs_command = true,
        .failure = EXIT_OURS,
        .take = take};
    char **operands = command_parse(&command, argc, argv, NULL);
    struct child child = {.go = -1, .signals = -1};
    sigset_t inherited;
    if (operands[0] == NULL)
        command_misused("a command is missing");
    sigprocmask(SIG_BLOCK, NULL, &inherited);
    if (!followed_open(&options.followed) || !child_prepare(&child) ||
        !child_make(&child, operands, &inherited, NULL))
        command_fail(EXIT_OURS, "cannot start %s: %s", command_typed(operands[0]), strerror(errno));
    options.followed.process = child.pid;
    child_go(&child);
    return child_end_alike(run(&child, operands));
}
