/* rtf-run(1): asks for a reservation for its own thread, waits for the answer, and becomes the command.
 *
 * With --attach the command is a child instead. rtf-run reserves first, starts the command, and attaches a thread of the command when the sign comes: the
 * command says that it is ready, a thread has the name, or the time has passed. */
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

#include "child.h"
#include "client.h"
#include "disk-option.h"
#include "held-signals.h"
#include "thread-names.h"
#include "net-option.h"
#include "options.h"
#include "ready.h"
#include "units.h"

/* A broker answers within milliseconds. A broker that is stuck must not hold up a cron job for ever. */
#define ANSWER_WITHIN UINT64_C(30000000) /* us */

enum { EXIT_OURS = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };
enum { /* long options without a letter */
    KEY_DESIRED = 256,
    KEY_PRIORITY,
    KEY_PLUGIN,
    KEY_IGNORE,
    KEY_NAME,
    KEY_COMMENT,
    KEY_TIMEOUT,
    KEY_SPOOL,
    KEY_DRY_RUN,
    KEY_FALLBACK,
    KEY_ATTACH,
    KEY_REPLACE,
    KEY_CPUS,
    KEY_NET,
    KEY_DISK,
    KEY_WAIT
};

/* When the command's thread is attached. */
enum when { AT_START, AT_READY, AT_TIME, AT_THREAD };

/* With less CPU time than this in a second, a program takes long to load. */
enum { LITTLE = 20000 }; /* us */

/* The reservation has a lease until a thread is attached: the reservation must end if rtf-run is killed. */
enum { LEASE = 30000000, RENEWAL = 10000 }; /* us; ms */

struct options {
    uint64_t runtime, desired_runtime, period, deadline, priority, timeout; /* times in us; 0: not stated */
    uint64_t attach_after, wait_for; /* us; wait_for 0: no limit */
    const char *plugin, *name, *comment, *spool, *thread, *cpus, *net, *disk; /* thread: pattern of --attach=thread:NAME */
    json_t *claim; /* the claim that --disk states */
    enum when when;
    bool ignore_admission, dry_run, fallback, verbose, says_when, replace, waits;
    char **command;
};

/* The spec that this process has in the spool. */
struct spec {
    char name[CLIENT_NAME_MAX + 1];
    char token[CLIENT_TOKEN];
    ino_t inode; /* of NAME.json; 0: there is no such file */
};

const char *argp_program_version = "rtf-run " RTF_VERSION;

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "What CMD needs. A TIME is a whole number and a unit: 800us, 5ms, 1s", 1},
    {"runtime", 'T', "TIME", 0, "CPU time it uses in each period", 1},
    {"sched-runtime", 0, NULL, OPTION_ALIAS, NULL, 1},
    {"period", 'P', "TIME", 0, "Time from one activation to the next", 1},
    {"sched-period", 0, NULL, OPTION_ALIAS, NULL, 1},
    {"deadline", 'D', "TIME", 0, "Time from an activation within which it gets the runtime (default: the period)", 1},
    {"sched-deadline", 0, NULL, OPTION_ALIAS, NULL, 1},
    {"desired-runtime", KEY_DESIRED, "TIME", 0, "Take up to this much runtime if there is room", 1},
    {"priority", KEY_PRIORITY, "N", 0, "Priority, 1 to 99; higher runs first", 1},
    {"cpus", KEY_CPUS, "LIST", 0, "Only these CPUs, such as 0-3,6; or all (default: the CPUs that taskset(1) has set, if they are fewer)", 1},
    {"net", KEY_NET, "[INTERFACE:]SIZE[/TIME]", 0, "What CMD sends: an amount in each period, 1024B/20ms, or a rate, eth0:10Mbit; with CPU time or alone; eth0:background: without a guarantee", 1},
    {"disk", KEY_DISK, "[DISK:]SIZE[/TIME]", 0, "What CMD reads and writes: an amount in each period, sda:32KiB/50ms, or in each second, on the disk of a path, /var/rec:640kB; "
     "in blocks of a size with ,block=SIZE behind it; with CPU time or alone", 1},
    {"plugin", KEY_PLUGIN, "NAME", 0, "Ask only this plugin", 1},
    {"ignore-admission", KEY_IGNORE, NULL, 0, "Ask to be admitted even if the test fails", 1},
    {NULL, 0, NULL, 0, "How to ask", 2},
    {"attach", KEY_ATTACH, "WHEN", 0, "Attach CMD at its start (start: the default), when it says that it is ready (ready), after a TIME, or attach its "
     "thread with this name (thread:NAME)", 2},
    {"name", KEY_NAME, "NAME", 0, "Name of the spec (default: run-PID)", 2},
    {"replace", KEY_REPLACE, NULL, 0, "Replace a spec of that name that has no thread", 2},
    {"comment", KEY_COMMENT, "TEXT", 0, "A note to put into the spec", 2},
    {"timeout", KEY_TIMEOUT, "TIME", 0, "Wait no longer than this for the answer (default: 30s)", 2},
    {"wait", KEY_WAIT, "TIME", OPTION_ARG_OPTIONAL, "If there is no room, wait for room, in the order of arrival; no longer than this", 2},
    {"fallback", KEY_FALLBACK, NULL, 0, "Run CMD without a reservation if the broker grants none", 2},
    {"spool", KEY_SPOOL, "DIR", 0, "The spool (default: " RTF_SPOOL ")", 2},
    {"dry-run", KEY_DRY_RUN, NULL, 0, "Print the spec and do nothing", 2},
    {"verbose", 'v', NULL, 0, "Print the broker's answer on standard error", 2},
    {0}};

static void take_time(struct argp_state *state, const char *option, const char *text, uint64_t *time)
{
    const char *wrong = client_take_time(text, time);
    if (wrong != NULL)
        argp_failure(state, EXIT_OURS, 0, "%s %s: %s", option, text, wrong);
}

static void take_wait(struct argp_state *state, const char *option, const char *text, uint64_t *time)
{
    const char *wrong = client_take_wait(text, time);
    if (wrong != NULL)
        argp_failure(state, EXIT_OURS, 0, "%s %s: %s", option, text, wrong);
}

static void take_priority(struct argp_state *state, const char *text, uint64_t *priority)
{
    if (!parse_number(text, PRIORITY_MAX, priority) || *priority == 0)
        argp_failure(state, EXIT_OURS, 0, "--priority %s: a priority is 1 to %d", text, PRIORITY_MAX);
}

static void take_name(struct argp_state *state, const char *text, const char **name)
{
    if (!client_name_ok(text))
        argp_failure(state, EXIT_OURS, 0, "--name %s: " CLIENT_NAME_RULE, text);
    *name = text;
}

static void take_cpus(struct argp_state *state, const char *text, const char **cpus)
{
    cpu_set_t set;
    if (strcmp(text, "all") != 0 && !parse_cpus(text, &set))
        argp_failure(state, EXIT_OURS, 0, "--cpus %s: it is a list of CPUs such as 0-3,6, or all", text);
    *cpus = text;
}

static pid_t parent_of(pid_t process)
{
    char path[32], text[512];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "re");
    const size_t length = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    if (file != NULL)
        (void)fclose(file);
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && sscanf(name_end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* A thread that the broker has pinned passes its CPUs on to the processes that it starts. The user has not chosen these CPUs for them. The search goes up
 * through the parents that have the same CPUs, to a thread with a grant: its policy is real-time with reset-on-fork. */
static bool are_inherited_from_grant(const cpu_set_t *own)
{
    cpu_set_t theirs;
    for (pid_t process = getppid(); process > 1; process = parent_of(process)) {
        const int policy = sched_getscheduler(process);
        if (policy < 0 || sched_getaffinity(process, sizeof theirs, &theirs) != 0 || !CPU_EQUAL(own, &theirs))
            return false;
        if ((policy & SCHED_RESET_ON_FORK) != 0 && (policy & ~SCHED_RESET_ON_FORK) != SCHED_OTHER)
            return true;
    }
    return false;
}

/* Returns this process's CPUs if somebody has chosen them, by taskset(1) for example: they are fewer than the CPUs of process 1, and not inherited from a
 * grant. NULL: nobody has. The CPUs of process 1 are the whole system's, or the container's. */
static const char *own_cpus(char text[static CPU_LIST_TEXT])
{
    cpu_set_t own, usual, both;
    if (sched_getaffinity(0, sizeof own, &own) != 0 || sched_getaffinity(1, sizeof usual, &usual) != 0)
        return NULL;
    CPU_AND(&both, &own, &usual);
    return CPU_EQUAL(&both, &own) && !CPU_EQUAL(&own, &usual) && !are_inherited_from_grant(&own) ? format_cpus(&own, text) : NULL;
}

/* A spec is JSON, and so UTF-8. This message can name the option; the broker's cannot. */
static void take_text(struct argp_state *state, const char *option, const char *text, const char **value)
{
    json_t *string = json_string(text);
    if (string == NULL)
        argp_failure(state, EXIT_OURS, 0, "%s: this is not UTF-8 text", option);
    json_decref(string);
    *value = text;
}

static void take_attach(struct argp_state *state, const char *text, struct options *options)
{
    static const char thread[] = "thread:";
    options->says_when = true;
    if (strcmp(text, "start") == 0)
        options->when = AT_START;
    else if (strcmp(text, "ready") == 0)
        options->when = AT_READY;
    else if (strncmp(text, thread, sizeof thread - 1) == 0 && text[sizeof thread - 1] != '\0') {
        options->when = AT_THREAD;
        options->thread = text + sizeof thread - 1;
    } else if (client_take_wait(text, &options->attach_after) == NULL)
        options->when = AT_TIME;
    else
        argp_failure(state, EXIT_OURS, 0, "--attach %s: it is start, ready, thread:NAME or a time with a unit such as 200ms", text);
}

/* In "--wait 2s CMD" the word 2s would be the command: the value of --wait is optional, and so stands behind "=". */
static void check_command(struct argp_state *state, const struct options *options)
{
    uint64_t time;
    if (options->waits && options->wait_for == 0 && options->command != NULL && client_take_wait(options->command[0], &time) == NULL)
        argp_failure(state, EXIT_OURS, 0, "--wait %s: this would run the command \"%s\"; to wait that long: --wait=%s", options->command[0], options->command[0],
                     options->command[0]);
}

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'T': take_time(state, "-T", argument, &options->runtime); break;
    case 'P': take_time(state, "-P", argument, &options->period); break;
    case 'D': take_time(state, "-D", argument, &options->deadline); break;
    case KEY_DESIRED: take_time(state, "--desired-runtime", argument, &options->desired_runtime); break;
    case KEY_PRIORITY: take_priority(state, argument, &options->priority); break;
    case KEY_PLUGIN: take_text(state, "--plugin", argument, &options->plugin); break;
    case KEY_IGNORE: options->ignore_admission = true; break;
    case KEY_NAME: take_name(state, argument, &options->name); break;
    case KEY_COMMENT: take_text(state, "--comment", argument, &options->comment); break;
    case KEY_TIMEOUT: take_wait(state, "--timeout", argument, &options->timeout); break;
    case KEY_WAIT:
        options->waits = true;
        if (argument != NULL)
            take_wait(state, "--wait", argument, &options->wait_for);
        break;
    case KEY_NET: take_text(state, "--net", argument, &options->net); break;
    case KEY_DISK: take_text(state, "--disk", argument, &options->disk); break;
    case KEY_CPUS: take_cpus(state, argument, &options->cpus); break;
    case KEY_REPLACE: options->replace = true; break;
    case KEY_ATTACH: take_attach(state, argument, options); break;
    case KEY_FALLBACK: options->fallback = true; break;
    case KEY_SPOOL: options->spool = argument; break;
    case KEY_DRY_RUN: options->dry_run = true; break;
    case 'v': options->verbose = true; break;
    case ARGP_KEY_ARG: /* the command; the words that follow are its arguments */
        options->command = state->argv + state->next - 1;
        state->next = state->argc;
        break;
    case ARGP_KEY_END:
        if (options->command == NULL && !options->dry_run)
            argp_error(state, "a command is missing");
        if (options->replace && options->name == NULL)
            argp_error(state, "--replace needs --name");
        check_command(state, options);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void add_number(json_t *spec, const char *key, uint64_t number)
{
    if (number != 0)
        json_object_set_new(spec, key, json_integer((json_int_t)number));
}

static void add_text(json_t *spec, const char *key, const char *text)
{
    if (text != NULL)
        json_object_set_new(spec, key, json_string(text));
}

/* The spec states a network or a disk, and no CPU time. Then it must not state `cpus`, not even the CPUs of taskset(1). */
static bool claims_no_cpu(const struct options *options)
{
    return (options->net != NULL || options->disk != NULL) && options->runtime == 0 && options->desired_runtime == 0 && options->period == 0 && options->deadline == 0 &&
           options->priority == 0 && options->plugin == NULL && options->cpus == NULL && !options->ignore_admission;
}

/* Returns the spec as one line, which the caller frees. NULL: no memory. thread 0: there is no thread to attach yet. */
static char *make_spec(const struct options *options, const char *token, pid_t thread)
{
    json_t *spec = json_object();
    add_number(spec, "runtime", options->runtime);
    add_number(spec, "desired_runtime", options->desired_runtime);
    add_number(spec, "period", options->period);
    add_number(spec, "deadline", options->deadline);
    add_number(spec, "priority", options->priority);
    add_text(spec, "plugin", options->plugin);
    add_text(spec, "cpus", options->cpus);
    if (options->net != NULL)
        json_object_set_new(spec, "network", net_option(options->net));
    if (options->claim != NULL)
        json_object_set(spec, "disk", options->claim);
    if (options->ignore_admission)
        json_object_set_new(spec, "ignore_admission", json_true());
    add_number(spec, "attach", (uint64_t)thread);
    add_text(spec, "lifetime", "thread");
    if (options->waits)
        json_object_set_new(spec, "on_refusal", json_string("wait"));
    add_number(spec, "expires", thread == 0 ? LEASE : 0);
    add_text(spec, "token", token);
    add_text(spec, "comment", options->comment);
    char *text = json_dumps(spec, JSON_COMPACT);
    json_decref(spec);
    return text;
}

static pid_t first_thread(const struct options *options)
{
    return options->when == AT_START ? getpid() : 0;
}

static int dry_run(const struct options *options)
{
    char token[CLIENT_TOKEN];
    char *text = client_make_token(token) ? make_spec(options, token, first_thread(options)) : NULL;
    bool printed = text != NULL && puts(text) >= 0 && fflush(stdout) == 0;
    free(text);
    if (!printed)
        fprintf(stderr, "rtf-run: cannot print the spec: %s\n", strerror(errno));
    return printed ? 0 : EXIT_OURS;
}

/* Replaces a spec that has no thread. The spec may also end by itself at any moment: then there is nothing to replace. */
static enum client_outcome replace(struct client *client, struct spec *spec, const char *text)
{
    enum client_outcome outcome = client_find_abandoned(client, spec->name, &spec->inode);
    if (outcome == CLIENT_OK)
        outcome = client_change(client, spec->name, text, &spec->inode);
    return outcome == CLIENT_GONE ? client_put(client, spec->name, text, &spec->inode) : outcome;
}

static enum client_outcome put_spec(struct client *client, const struct options *options, struct spec *spec)
{
    enum client_outcome outcome = CLIENT_ERROR;
    char *text = client_make_token(spec->token) ? make_spec(options, spec->token, first_thread(options)) : NULL;
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
        if (outcome == CLIENT_TAKEN) { /* CMD of an rtf-run is rtf-run, too; or an rtf-run with the same pid was killed, and its spec is left */
            snprintf(spec->name, sizeof spec->name, "run-%d-%s", getpid(), spec->token);
            outcome = client_put(client, spec->name, text, &spec->inode);
        }
    }
    free(text);
    if (outcome != CLIENT_OK)
        spec->inode = 0;
    return outcome;
}

/* The verdict names a thread by its id. In another pid namespace than the broker's, this id is another thread's. The kernel shows whether this thread has
 * the policy. */
static bool runs_as(pid_t thread, const char *policy)
{
    const int now = sched_getscheduler(thread), own = now & ~SCHED_RESET_ON_FORK;
    if (now == (SCHED_OTHER | SCHED_RESET_ON_FORK))
        return true; /* suspended until its next period: the thread has used up its runtime, or has lent it */
    if (strcmp(policy, "deadline") == 0)
        return own == SCHED_DEADLINE;
    if (strcmp(policy, "fifo") == 0)
        return own == SCHED_FIFO;
    return strcmp(policy, "rr") != 0 || own == SCHED_RR;
}

/* The verdict grants the spec, and the thread runs as granted (0: there is no thread yet). False: `why` says why not. */
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
    /* A thread that sleeps may be pending: the broker makes the thread real-time as soon as it wakes. */
    if (thread != 0 && policy != NULL && (state == NULL || strcmp(state, "pending") != 0) && !runs_as(thread, policy)) {
        snprintf(why, CLIENT_WHY, "thread %d is not this one: the broker is in another pid namespace", thread);
        return false;
    }
    return true;
}

/* Waits for the answer to the spec. */
static enum client_outcome take_answer(struct client *client, const struct options *options, const struct client_wait *wait, pid_t thread)
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

/* Opens the spool, puts the spec there, and waits for the answer. Not CLIENT_OK: client->why says why, and the caller withdraws the spec. */
static enum client_outcome reserve(struct client *client, const struct options *options,
                                struct held_signals *signals, struct spec *spec)
{
    const int64_t until = client_until(options->timeout);
    enum client_outcome outcome = client_open(client, options->spool);
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
    const struct client_wait wait = {.name = spec->name, .token = spec->token, .inode = spec->inode, .attached = true, .until = options->waits ? client_until(options->wait_for) : until, .interrupt = signals->fd};
    return take_answer(client, options, &wait, first_thread(options));
}

/* ---- a command that is attached later ---- */

/* The sign at which the thread is attached. */
struct start_sign {
    struct ready ready; /* of AT_READY */
    int fd;             /* readable when the sign may have come */
};

static int timer_after(uint64_t microseconds)
{
    const struct itimerspec once = {.it_value = {.tv_sec = (time_t)(microseconds / 1000000), .tv_nsec = (long)(microseconds % 1000000) * 1000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd >= 0)
        timerfd_settime(fd, 0, &once, NULL);
    return fd;
}

/* Returns the thread to attach; 0: the sign has not come yet. */
static pid_t thread_of_sign(const struct options *options, const struct start_sign *sign, const struct child *child)
{
    switch (options->when) {
    case AT_READY: return ready_take(&sign->ready) ? child->pid : 0;
    case AT_THREAD: return thread_names_find(child->pid, options->thread);
    case AT_TIME: return child->pid;
    case AT_START: break;
    }
    return 0;
}

static enum client_outcome ask_for_thread(struct client *client, const struct options *options, struct spec *spec, pid_t thread)
{
    char *text = client_make_token(spec->token) ? make_spec(options, spec->token, thread) : NULL;
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
    struct pollfd fds[] = {{.fd = child->signals, .events = POLLIN}, {.fd = sign->ready.fd, .events = POLLIN}};
    do {
        (void)poll(fds, sizeof fds / sizeof *fds, -1);
        if (fds[1].revents != 0)
            (void)ready_take(&sign->ready);
    } while (!child_take(child, status));
}

static void tell_no_sign(const struct options *options)
{
    if (options->when == AT_READY)
        fprintf(stderr, "rtf-run: %s has not said yet that it is ready (READY=1, sd_notify(3)): it runs without a reservation until then\n", options->command[0]);
    else if (options->when == AT_THREAD)
        fprintf(stderr, "rtf-run: %s has no thread named %s yet: it runs without a reservation until then\n", options->command[0], options->thread);
}

/* A command that cannot be run has told so itself. */
static void tell_no_sign_came(const struct options *options, int status)
{
    if (WIFEXITED(status) && (WEXITSTATUS(status) == EXIT_CANNOT_RUN || WEXITSTATUS(status) == EXIT_NOT_FOUND))
        return;
    if (options->when == AT_READY)
        fprintf(stderr, "rtf-run: %s has ended and never said that it is ready (READY=1, sd_notify(3)): it had no reservation\n", options->command[0]);
    else if (options->when == AT_THREAD)
        fprintf(stderr, "rtf-run: %s has ended and never had a thread named %s: it had no reservation\n", options->command[0], options->thread);
}

/* Waits for the sign, and renews the lease of the reservation. True: the child has ended before the sign. */
static bool await_sign(struct client *client, const struct options *options, const struct spec *spec, const struct start_sign *sign,
                       const struct child *child, pid_t *thread, int *status)
{
    struct pollfd fds[] = {{.fd = child->signals, .events = POLLIN}, {.fd = sign->fd, .events = POLLIN}};
    int64_t renewal = client_until(RENEWAL * UINT64_C(1000)); /* poll may return earlier */
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

/* Attaches the thread. True: the child has ended meanwhile. If the thread cannot be attached, the child goes on without a reservation. */
static bool attach(struct client *client, const struct options *options, struct spec *spec, const struct child *child, pid_t thread, int *status)
{
    const int64_t until = client_until(options->timeout);
    enum client_outcome outcome = client_connect(client, until); /* again: the broker may have been restarted since */
    if (outcome == CLIENT_OK)
        outcome = ask_for_thread(client, options, spec, thread);
    const struct client_wait wait = {.name = spec->name, .token = spec->token, .inode = spec->inode, .until = until, .interrupt = child->signals};
    while (outcome == CLIENT_OK || outcome == CLIENT_INTERRUPTED) {
        outcome = take_answer(client, options, &wait, thread);
        if (outcome == CLIENT_OK)
            return false;
        if (outcome == CLIENT_INTERRUPTED && child_take(child, status))
            return true;
    }
    if (outcome == CLIENT_GONE && child_take(child, status))
        return true; /* the child has ended before the answer was read, and its spec with the child */
    fprintf(stderr, "rtf-run: %s; %s goes on without a reservation\n", client->why, options->command[0]);
    client_withdraw(client, spec->name, spec->inode);
    return false;
}

/* Makes the child and watches for the sign. The child becomes the command at child_go: it cannot give the sign before. */
static bool prepare(const struct options *options, struct start_sign *sign, struct child *child, const sigset_t *mask)
{
    *sign = (struct start_sign){.ready = {.fd = -1, .outer = -1}, .fd = -1};
    if ((options->when == AT_READY && !ready_open(&sign->ready)) || !child_prepare(child) ||
        !child_make(child, options->command, mask, options->when == AT_READY ? sign->ready.path : NULL))
        return false;
    sign->fd = options->when == AT_READY ? sign->ready.fd : options->when == AT_TIME ? timer_after(options->attach_after) : thread_names_open(child->pid);
    return sign->fd >= 0;
}

static int supervise(struct client *client, const struct options *options, const struct held_signals *signals, struct spec *spec)
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
    bool over = await_sign(client, options, spec, &sign, &child, &thread, &status) || attach(client, options, spec, &child, thread, &status);
    if (!over)
        serve_ready(&sign, &child, &status);
    client_withdraw(client, spec->name, spec->inode);
    ready_close(&sign.ready);
    return child_end_alike(status);
}

/* ---- all of it ---- */

/* The reservation also limits how fast the command is loaded: with little CPU time, a user could think that the command hangs. */
static void advise(const struct options *options)
{
    if (options->says_when || options->runtime == 0 || options->period == 0 || !isatty(STDERR_FILENO))
        return;
    const uint64_t each_second = (uint64_t)((unsigned __int128)options->runtime * 1000000 / options->period);
    if (each_second < LITTLE)
        fprintf(stderr, "rtf-run: %s is also loaded with %llu%s of CPU time a second, which may take long; --attach=ready or --attach=1s "
                        "attaches it after it is loaded\n", options->command[0],
                (unsigned long long)(each_second >= 1000 ? each_second / 1000 : each_second), each_second >= 1000 ? "ms" : "us");
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
        fprintf(stderr, "rtf-run: %s; running %s without a reservation\n", client.why, options->command[0]);
    else if (outcome != CLIENT_OK && outcome != CLIENT_INTERRUPTED)
        fprintf(stderr, "rtf-run: %s\n", client.why);
    if (outcome == CLIENT_OK && options->when != AT_START) {
        status = supervise(&client, options, &signals, &spec);
    } else if (outcome == CLIENT_OK || fallback) {
        advise(options);
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

/* Goes after all options: the disk is looked up in the spool that --spool names. */
static bool take_disk(struct options *options)
{
    char why[DISK_OPTION_WHY];
    options->claim = disk_option(options->disk, options->spool, why);
    if (options->claim == NULL)
        fprintf(stderr, "rtf-run: --disk %s: %s\n", options->disk, why);
    return options->claim != NULL;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = take_option,
        .args_doc = "CMD [ARG...]",
        .doc = "Run CMD with real-time scheduling that the rtf broker has reserved for it.\v"
               "Exit status: 125 if rtf-run fails or is refused, 126 if CMD cannot be run, 127 if CMD is not "
               "found, else the exit status of CMD."};
    struct options options = {.spool = RTF_SPOOL, .timeout = ANSWER_WITHIN};
    char cpus[CPU_LIST_TEXT];
    client_hold_standard_fds();
    if (parse_options(&argp, argc, argv, ARGP_IN_ORDER, &options, EXIT_OURS, EXIT_OURS) != 0)
        return EXIT_OURS;
    if (options.disk != NULL && !take_disk(&options))
        return EXIT_OURS;
    options.cpus = claims_no_cpu(&options) ? NULL : options.cpus == NULL ? own_cpus(cpus) : strcmp(options.cpus, "all") == 0 ? NULL : options.cpus;
    return options.dry_run ? dry_run(&options) : run(&options);
}
