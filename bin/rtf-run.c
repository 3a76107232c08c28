/* rtf-run(1): asks for a reservation for its own thread, waits for the answer, and replaces itself
 * by the command.
 *
 * With --attach the command runs as a child. rtf-run reserves first, then starts the command, and
 * attaches a thread of the command at the sign that --attach names. The sign is: the command says
 * that it is ready, a thread has a certain name, or a certain time has passed.
 *
 * With --learn rtf-run replaces itself by another program (libexec/front/run-learn.c). */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "beside.h"
#include "command-child.h"
#include "client.h"
#include "command-line.h"
#include "held-signals.h"
#include "thread-names.h"
#include "ready.h"
#include "run-options.h"

/* The time to wait for the broker's answer. A broker answers within milliseconds. The wait has a
 * limit, because a broker that is stuck must not hold up a cron job for ever. */
#define ANSWER_WITHIN UINT64_C(30000000) /* us */

enum { RENEWAL = 10000 }; /* ms: how often the lease (LEASE) is renewed */

/* If a reservation has less CPU time in a second than LITTLE, the loading of the command is
 * slow. */
enum { LITTLE = 20000 }; /* us */

/* The spec that this process has in the spool. */
struct spec {
    char name[CLIENT_NAME_MAX + 1];
    char token[CLIENT_TOKEN];
    ino_t inode; /* the inode of NAME.json; 0: there is no such file */
};

/* Returns the thread that the spec attaches from the start; 0: no thread. */
static pid_t first_thread(const struct options *options)
{
    return options->when == AT_START && !options->by_rules ? getpid() : 0;
}

static int dry_run(const struct options *options)
{
    char token[CLIENT_TOKEN];
    char *text = client_make_token(token)
                     ? run_options_make_spec(options, token, first_thread(options))
                     : NULL;
    bool printed = text != NULL && puts(text) >= 0 && fflush(stdout) == 0;
    free(text);
    if (!printed)
        fprintf(stderr, "rtf-run: cannot print the spec: %s\n", strerror(errno));
    return printed ? 0 : EXIT_OURS;
}

/* Replaces a spec of this name that has no thread. If the old spec ends meanwhile (CLIENT_GONE),
 * makes the new spec without replacing the old one. */
static enum client_outcome replace(struct client *client, struct spec *spec, const char *text)
{
    enum client_outcome outcome = client_find_abandoned(client, spec->name, &spec->inode);
    if (outcome == CLIENT_OK)
        outcome = client_change(client, spec->name, text, &spec->inode);
    return outcome == CLIENT_GONE ? client_put(client, spec->name, text, &spec->inode) : outcome;
}

static enum client_outcome put_spec(struct client *client, const struct options *options,
                                    struct spec *spec)
{
    enum client_outcome outcome = CLIENT_ERROR;
    char *text = client_make_token(spec->token)
                     ? run_options_make_spec(options, spec->token, first_thread(options))
                     : NULL;
    if (text == NULL) {
        snprintf(client->why, sizeof client->why, "cannot make a spec: %s", strerror(errno));
        return CLIENT_ERROR;
    }
    if (options->name != NULL) {
        snprintf(spec->name, sizeof spec->name, "%s", options->name);
        outcome = client_put(client, spec->name, text, &spec->inode);
        if (outcome == CLIENT_TAKEN && options->replace)
            outcome = replace(client, spec, text);
        else if (outcome == CLIENT_TAKEN)
            client_tell_holder(client, spec->name, "--replace takes its place, ");
    } else {
        snprintf(spec->name, sizeof spec->name, "run-%d", getpid());
        outcome = client_put(client, spec->name, text, &spec->inode);
        /* An rtf-run with the same process id may have used the name before: rtf-run can execute
         * rtf-run, and a killed rtf-run leaves its spec behind. */
        if (outcome == CLIENT_TAKEN) {
            snprintf(spec->name, sizeof spec->name, "run-%d-%s", getpid(), spec->token);
            outcome = client_put(client, spec->name, text, &spec->inode);
        }
    }
    free(text);
    if (outcome != CLIENT_OK)
        spec->inode = 0;
    return outcome;
}

/* True if the kernel runs the thread with the policy. The verdict alone is no proof, because it
 * names a thread by its id. If this process is not in the pid namespace of the broker, this id may
 * belong to another thread. */
static bool runs_as(pid_t thread, const char *policy)
{
    const int now = sched_getscheduler(thread), own = now & ~SCHED_RESET_ON_FORK;
    /* a thread with these attributes is suspended until its next period: it has used up its
     * runtime, or has lent its runtime */
    if (now == (SCHED_OTHER | SCHED_RESET_ON_FORK))
        return true;
    if (strcmp(policy, "deadline") == 0)
        return own == SCHED_DEADLINE;
    if (strcmp(policy, "fifo") == 0)
        return own == SCHED_FIFO;
    return strcmp(policy, "rr") != 0 || own == SCHED_RR;
}

/* True if the verdict grants the spec, and the thread runs as granted. thread = 0: there is no
 * thread yet. False: `why` has the reason. */
static bool granted(const json_t *verdict, pid_t thread, char why[static CLIENT_WHY])
{
    const char *result = client_string(verdict, "result");
    const char *policy = client_string(json_object_get(verdict, "grant"), "policy");
    const json_t *attached = json_object_get(verdict, "thread");
    const char *state = client_string(attached, "state");
    if (result == NULL || strcmp(result, "OK") != 0 || (thread != 0 && !json_is_object(attached))) {
        client_tell_refusal(verdict, why);
        return false;
    }
    /* The state of a thread that sleeps may be "pending": the broker makes such a thread real-time
     * as soon as the thread wakes. */
    if (thread != 0 && policy != NULL && (state == NULL || strcmp(state, "pending") != 0) &&
        !runs_as(thread, policy)) {
        snprintf(
            why, CLIENT_WHY,
            "thread %d of the broker's answer is not this thread: the broker is in another pid namespace",
            thread);
        return false;
    }
    return true;
}

/* Waits for the answer to the spec. */
static enum client_outcome take_answer(struct client *client, const struct options *options,
                                       const struct client_wait *wait, pid_t thread)
{
    struct client_verdict verdict;
    enum client_outcome outcome = client_wait(client, wait, &verdict);
    if (outcome != CLIENT_OK)
        return outcome;
    if (options->verbose)
        fprintf(stderr, "%.*s\n", (int)strcspn(verdict.text, "\n"), verdict.text);
    outcome = granted(verdict.json, thread, client->why) ? CLIENT_OK : CLIENT_DENIED;
    client_free_verdict(&verdict);
    return outcome;
}

/* Opens the spool, puts the spec into the spool, and waits for the answer. If the outcome is not
 * CLIENT_OK, client->why has the reason, and the caller withdraws the spec. */
static enum client_outcome reserve(struct client *client, const struct options *options,
                                   struct held_signals *signals, struct spec *spec)
{
    const int64_t until = client_until(options->timeout);
    enum client_outcome outcome = client_open(client, command_spool());
    if (outcome == CLIENT_OK)
        outcome = client_connect(client, until);
    if (outcome == CLIENT_OK)
        outcome = client_enter(client, true);
    if (outcome != CLIENT_OK)
        return outcome;
    if (!signals_hold(signals)) {
        snprintf(client->why, sizeof client->why, "signalfd: %s", strerror(errno));
        return CLIENT_ERROR;
    }
    outcome = put_spec(client, options, spec);
    if (outcome != CLIENT_OK)
        return outcome;
    const struct client_wait wait = {.name = spec->name,
                                     .token = spec->token,
                                     .inode = spec->inode,
                                     .attached = true,
                                     .until =
                                         options->waits ? client_until(options->wait_for) : until,
                                     .interrupt = signals->fd};
    return take_answer(client, options, &wait, first_thread(options));
}

/* ---- a command that is attached later ---- */

/* The sign at which the thread is attached. */
struct start_sign {
    struct ready ready; /* receives the messages for AT_READY */
    int fd;             /* readable when the sign may have come */
};

static int timer_after(uint64_t microseconds)
{
    const struct itimerspec once = {.it_value = {.tv_sec = (time_t)(microseconds / 1000000),
                                                 .tv_nsec = (long)(microseconds % 1000000) * 1000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd >= 0)
        timerfd_settime(fd, 0, &once, NULL);
    return fd;
}

/* Returns the thread to attach when the sign has come; 0: the sign has not come yet. */
static pid_t thread_of_sign(const struct options *options, const struct start_sign *sign,
                            const struct child *child)
{
    switch (options->when) {
    case AT_READY: return ready_take(&sign->ready) ? child->pid : 0;
    case AT_THREAD: return thread_names_find(child->pid, options->thread);
    case AT_TIME: return child->pid;
    case AT_START: break;
    }
    return 0;
}

static enum client_outcome ask_for_thread(struct client *client, const struct options *options,
                                          struct spec *spec, pid_t thread)
{
    char *text =
        client_make_token(spec->token) ? run_options_make_spec(options, spec->token, thread) : NULL;
    if (text == NULL) {
        snprintf(client->why, sizeof client->why, "cannot make a spec: %s", strerror(errno));
        return CLIENT_ERROR;
    }
    enum client_outcome outcome = client_change(client, spec->name, text, &spec->inode);
    free(text);
    return outcome;
}

/* Passes on the child's messages (ready.h) and signals until the child has ended. */
static void serve_ready(const struct start_sign *sign, const struct child *child, int *status)
{
    struct pollfd fds[] = {{.fd = child->signals, .events = POLLIN},
                           {.fd = sign->ready.fd, .events = POLLIN}};
    do {
        (void)poll(fds, sizeof fds / sizeof *fds, -1);
        if (fds[1].revents != 0)
            (void)ready_take(&sign->ready);
    } while (!child_take(child, status));
}

static void tell_no_sign(const struct options *options)
{
    if (options->when == AT_READY)
        fprintf(
            stderr,
            "rtf-run: %s has not said yet that it is ready (READY=1, sd_notify(3)): it runs without a reservation until it says so\n",
            options->command[0]);
    else if (options->when == AT_THREAD)
        fprintf(
            stderr,
            "rtf-run: %s has no thread named %s yet: it runs without a reservation until it has one\n",
            options->command[0], options->thread);
}

/* Tells the user that the command has ended before the sign came. Prints nothing if the command
 * could not be run, because the child has printed a message already. */
static void tell_no_sign_came(const struct options *options, int status)
{
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == EXIT_CANNOT_RUN || WEXITSTATUS(status) == EXIT_NOT_FOUND))
        return;
    if (options->when == AT_READY)
        fprintf(
            stderr,
            "rtf-run: %s has ended and never said that it is ready (READY=1, sd_notify(3)): it had no reservation\n",
            options->command[0]);
    else if (options->when == AT_THREAD)
        fprintf(stderr,
                "rtf-run: %s has ended and never had a thread named %s: it had no reservation\n",
                options->command[0], options->thread);
}

/* Waits for the sign, and renews the lease of the reservation. True: the child has ended before the
 * sign. */
static bool await_sign(struct client *client, const struct options *options,
                       const struct spec *spec, const struct start_sign *sign,
                       const struct child *child, pid_t *thread, int *status)
{
    struct pollfd fds[] = {{.fd = child->signals, .events = POLLIN},
                           {.fd = sign->fd, .events = POLLIN}};
    /* the time at which the lease has to be renewed; poll may return earlier, because of another
     * event */
    int64_t renewal = client_until(RENEWAL * UINT64_C(1000));
    bool told = false;
    *thread = 0;
    while (*thread == 0) {
        (void)poll(fds, sizeof fds / sizeof *fds, RENEWAL);
        if (client_until(1) > renewal) {
            renewal = client_until(RENEWAL * UINT64_C(1000));
            client_renew(client, spec->name, spec->inode);
            if (!told)
                tell_no_sign(options);
            told = true;
        }
        if (child_take(child, status)) {
            if (!told)
                tell_no_sign_came(options, *status);
            return true;
        }
        if (fds[1].revents != 0)
            *thread = thread_of_sign(options, sign, child);
    }
    return false;
}

/* Attaches the thread. True: the child has ended meanwhile. If the thread cannot be attached, the
 * child goes on without a reservation. */
static bool attach(struct client *client, const struct options *options, struct spec *spec,
                   const struct child *child, pid_t thread, int *status)
{
    const int64_t until = client_until(options->timeout);
    /* connects again, because the broker may have been restarted */
    enum client_outcome outcome = client_connect(client, until);
    if (outcome == CLIENT_OK)
        outcome = ask_for_thread(client, options, spec, thread);
    const struct client_wait wait = {.name = spec->name,
                                     .token = spec->token,
                                     .inode = spec->inode,
                                     .until = until,
                                     .interrupt = child->signals};
    while (outcome == CLIENT_OK || outcome == CLIENT_INTERRUPTED) {
        outcome = take_answer(client, options, &wait, thread);
        if (outcome == CLIENT_OK)
            return false;
        if (outcome == CLIENT_INTERRUPTED && child_take(child, status))
            return true;
    }
    /* the child has ended before the answer was read, and its spec has ended with the child */
    if (outcome == CLIENT_GONE && child_take(child, status))
        return true;
    fprintf(stderr, "rtf-run: %s; %s goes on without a reservation\n", client->why,
            options->command[0]);
    client_withdraw(client, spec->name, spec->inode);
    return false;
}

/* Makes the child, and begins to watch for the sign. The child becomes the command only at
 * child_go, so the sign cannot come before the watch. */
static bool prepare(const struct options *options, struct start_sign *sign, struct child *child,
                    const sigset_t *mask)
{
    *sign = (struct start_sign){.ready = {.fd = -1, .outer = -1}, .fd = -1};
    if ((options->when == AT_READY && !ready_open(&sign->ready)) || !child_prepare(child) ||
        !child_make(child, options->command, mask,
                    options->when == AT_READY ? sign->ready.path : NULL))
        return false;
    sign->fd = options->when == AT_READY  ? sign->ready.fd
               : options->when == AT_TIME ? timer_after(options->attach_after)
                                          : thread_names_open(child->pid);
    return sign->fd >= 0;
}

/* Starts rtf adapt if the user asked for it. If rtf adapt cannot be started, the command runs with
 * an unchanging runtime. */
static void start_adapt(const struct options *options, const struct spec *spec)
{
    if (options->adapts && !beside_start_adapt(spec->name))
        fprintf(stderr, "rtf-run: rtf adapt cannot be started: %s; the runtime stays as it is\n",
                strerror(errno));
}

static int supervise(struct client *client, const struct options *options,
                     const struct held_signals *signals, struct spec *spec)
{
    struct child child = {.go = -1, .signals = -1};
    struct start_sign sign;
    pid_t thread;
    int status;
    if (!prepare(options, &sign, &child, &signals->inherited)) {
        fprintf(stderr, "rtf-run: cannot start %s: %s\n", options->command[0], strerror(errno));
        if (child.pid > 0)
            kill(child.pid, SIGKILL); /* the child has not become the command yet */
        client_withdraw(client, spec->name, spec->inode);
        return EXIT_OURS;
    }
    child_go(&child);
    bool over = await_sign(client, options, spec, &sign, &child, &thread, &status) ||
                attach(client, options, spec, &child, thread, &status);
    if (!over) {
        start_adapt(options, spec);
        serve_ready(&sign, &child, &status);
    }
    client_withdraw(client, spec->name, spec->inode);
    ready_close(&sign.ready);
    return child_end_alike(status);
}

/* ---- all of it ---- */

/* Warns the user if the reservation is small. A small reservation makes the loading of the command
 * slow, and the user could think that the command hangs. */
static void advise(const struct options *options)
{
    const uint64_t runtime =
        (uint64_t)json_integer_value(json_object_get(options->spec, "runtime"));
    const uint64_t period = (uint64_t)json_integer_value(json_object_get(options->spec, "period"));
    if (options->says_when || runtime == 0 || period == 0 || !isatty(STDERR_FILENO))
        return;
    const uint64_t each_second = (uint64_t)((unsigned __int128)runtime * 1000000 / period);
    if (each_second < LITTLE)
        fprintf(
            stderr,
            "rtf-run: %s may start slowly: the reservation gives it only %llu%s of CPU time a second, also while it is loaded; "
            "with --attach=ready or --attach=1s rtf-run attaches it after it is loaded\n",
            options->command[0],
            (unsigned long long)(each_second >= 1000 ? each_second / 1000 : each_second),
            each_second >= 1000 ? "ms" : "us");
}

static int become_command(const struct options *options)
{
    execvp(options->command[0], options->command);
    const int status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    fprintf(stderr, "rtf-run: %s: %s\n", options->command[0], strerror(errno));
    return status;
}

static int run(const struct options *options)
{
    struct client client;
    struct held_signals signals = {.fd = -1};
    struct spec spec = {.inode = 0};
    int status = EXIT_OURS;
    sigprocmask(SIG_BLOCK, NULL, &signals.inherited);
    enum client_outcome outcome = reserve(&client, options, &signals, &spec);
    bool fallback = options->fallback && outcome != CLIENT_OK && outcome != CLIENT_INTERRUPTED;
    if (outcome != CLIENT_OK && spec.inode != 0)
        client_withdraw(&client, spec.name, spec.inode);
    if (fallback)
        fprintf(stderr, "rtf-run: %s; running %s without a reservation\n", client.why,
                options->command[0]);
    else if (outcome != CLIENT_OK && outcome != CLIENT_INTERRUPTED)
        fprintf(stderr, "rtf-run: %s\n", client.why);
    if (outcome == CLIENT_OK && options->when != AT_START) {
        status = supervise(&client, options, &signals, &spec);
    } else if (outcome == CLIENT_OK || fallback) {
        advise(options);
        if (outcome == CLIENT_OK)
            start_adapt(options, &spec);
        signals_release(&signals);
        status = become_command(options);
        if (outcome == CLIENT_OK)
            client_withdraw(&client, spec.name, spec.inode);
    } else
        signals_release(&signals);
    if (signals.fd >= 0)
        close(signals.fd);
    client_close(&client);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = {.timeout = ANSWER_WITHIN, .needs = {.in_microseconds = true}};
    run_options_parse(&options, argc, argv);
    if (options.learns) {
        beside_become_learner(options.timeout, options.verbose, options.command);
        fprintf(stderr, "rtf-run: --learn needs the program rtf beside rtf-run: %s\n",
                strerror(errno));
        return EXIT_OURS;
    }
    const int status = options.dry_run ? dry_run(&options) : run(&options);
    json_decref(options.spec);
    return status;
}
