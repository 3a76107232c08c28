/* rtf-every(1): runs a command once a period inside a reservation; or, with --loop, starts a
 * command once, which reads a line once a period.
 *
 * A reservation belongs to one thread, and processes that this thread starts do not inherit it. So
 * each run of the command is a new process. rtf-every attaches the process before its activation,
 * the process sleeps until then as a real-time thread, and then becomes the command: the time that
 * the broker needs to attach it makes no activation late. A loop is one process. Its activations
 * are lines on its standard input, because a shell reads a line without a new process. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "command-line.h"
#include "needs.h"
#include "units.h"

#define ANSWER_WITHIN UINT64_C(30000000) /* us, as rtf-run */
/* us: a process is attached at most AHEAD and at least HASTE before its activation */
enum { AHEAD = 5000, HASTE = 500 };
/* us: the reservation ends after this time if rtf-every is killed; a loop's ends with the loop */
enum { LEASE = 60000000 };

enum { EXIT_OURS = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };
struct options {
    struct needs needs;
    /* the needs; without the keys that a thread or a lease adds */
    json_t *spec;
    uint64_t runtime, period, deadline; /* us, of the spec; 0: not stated */
    uint64_t timeout, count;            /* us; 0: no limit */
    int64_t until;                      /* CLOCK_MONOTONIC, us; 0: not stated */
    const char *name;                   /* NULL: every-PID */
    bool loop, errexit, verbose, json;
    char **command;
};

/* The counts that are told at the end. */
struct tally {
    uint64_t activations, missed, skipped, failed;
    uint64_t longer; /* runs of a command that took longer than a period */
    uint64_t late;   /* runs of a command that missed their deadline because they began late */
    /* us: the longest time from an activation to the end of its run; in a loop: the largest
     * lateness of an activation */
    int64_t worst;
};

static struct options options = {.timeout = ANSWER_WITHIN, .needs = {.in_microseconds = true}};
static struct tally tally;
static struct client client;
static struct {
    char name[CLIENT_NAME_MAX + 1], token[CLIENT_TOKEN];
    ino_t inode; /* of NAME.json; 0: there is no such file */
} spec;
static sigset_t inherited;
static int signals = -1;
static int ended_by; /* the signal that ends rtf-every; 0: none has come */

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* ---- the spec ---- */

/* Returns the spec as text, which the caller frees. The reservation of a thread ends with the
 * thread; without a thread (0) it has a lease. */
static char *make_spec(pid_t thread)
{
    json_t *object = json_copy(options.spec);
    if (thread != 0) {
        json_object_set_new(object, "attach", json_integer(thread));
        json_object_set_new(object, "lifetime", json_string("thread"));
    } else
        json_object_set_new(object, "expires", json_integer(LEASE));
    json_object_set_new(object, "token", json_string(spec.token));
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

/* Removes the spec and NAME.tid, which the broker may not have read yet. */
static void withdraw(void)
{
    char file[CLIENT_NAME_MAX + sizeof ".tid"];
    snprintf(file, sizeof file, "%s.tid", spec.name);
    if (spec.inode != 0) {
        unlinkat(client.directory, file, 0);
        client_withdraw(&client, spec.name, spec.inode);
    }
    spec.inode = 0;
}

/* Says the reason of a refusal. */
static bool refused(const json_t *verdict)
{
    char why[CLIENT_WHY];
    if (!json_is_object(json_object_get(verdict, "refusal")))
        return false;
    client_tell_refusal(verdict, why);
    command_say("%s", why);
    return true;
}

/* Waits for an answer for up to `within` us. False: it has said why. */
static bool await(const char *token, ino_t inode, uint64_t within)
{
    struct client_wait wait = {.name = spec.name,
                               .token = token,
                               .inode = inode,
                               .until = client_until(within),
                               .interrupt = signals};
    struct client_verdict verdict;
    enum client_outcome outcome = client_wait(&client, &wait, &verdict);
    if (outcome != CLIENT_OK) {
        if (outcome != CLIENT_INTERRUPTED)
            command_say("%s", client.why);
        return false;
    }
    bool good = !refused(verdict.json);
    client_free_verdict(&verdict);
    return good;
}

static bool reserve(pid_t thread)
{
    char *text = client_make_token(spec.token) ? make_spec(thread) : NULL;
    enum client_outcome outcome = CLIENT_ERROR;
    if (options.name != NULL)
        snprintf(spec.name, sizeof spec.name, "%s", options.name);
    else
        snprintf(spec.name, sizeof spec.name, "every-%d", getpid());
    if (text != NULL)
        outcome = client_put(&client, spec.name, text, &spec.inode);
    /* an rtf every with the same pid was killed, and its spec is left */
    if (outcome == CLIENT_TAKEN && options.name == NULL) {
        snprintf(spec.name, sizeof spec.name, "every-%d-%s", getpid(), spec.token);
        outcome = client_put(&client, spec.name, text, &spec.inode);
    }
    free(text);
    if (outcome == CLIENT_TAKEN)
        client_tell_holder(&client, spec.name, "");
    if (outcome != CLIENT_OK) {
        command_say("%s", client.why);
        spec.inode = 0;
        return false;
    }
    return await(spec.token, spec.inode, options.timeout);
}

/* Opens the spool and finds the broker. From here on SIGINT, SIGTERM and SIGHUP wait until the spec
 * is taken back. */
static bool begin(void)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigprocmask(SIG_BLOCK, &held, &inherited);
    signals = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
    enum client_outcome outcome =
        signals < 0 ? CLIENT_ERROR : client_open(&client, command_spool());
    if (outcome == CLIENT_OK)
        outcome = client_connect(&client, client_until(options.timeout));
    if (outcome == CLIENT_OK)
        outcome = client_enter(&client, true);
    if (outcome != CLIENT_OK)
        command_say("%s", client.why);
    return outcome == CLIENT_OK;
}

/* ---- children ---- */

static int pidfd_of(pid_t child)
{
    return (int)syscall(SYS_pidfd_open, child, 0);
}

/* Waits for the time of the activation at the gate, sleeps until then, and becomes the command. The
 * process ends if rtf-every ends before. */
__attribute__((noreturn)) static void become_command(int gate)
{
    int64_t activation;
    ssize_t got;
    do
        got = read(gate, &activation, sizeof activation);
    while (got < 0 && errno == EINTR);
    if (got != sizeof activation)
        _exit(EXIT_OURS);
    const struct timespec time = {.tv_sec = activation / 1000000,
                                  .tv_nsec = activation % 1000000 * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
        ;
    sigprocmask(SIG_SETMASK, &inherited, NULL);
    execvp(options.command[0], options.command);
    int status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    command_say("%s: %s", options.command[0], strerror(errno));
    _exit(status);
}

/* Starts a process that becomes the command when the time of its activation is written to *gate.
 * `input` becomes its standard input; -1: it inherits that of rtf-every. -1: it cannot be
 * started. */
static pid_t start_child(int input, int *gate)
{
    int ends[2];
    *gate = -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        close(ends[1]);
        if (input >= 0)
            dup2(input, STDIN_FILENO);
        prctl(PR_SET_PDEATHSIG, SIGHUP);
        if (getppid() != parent)
            _exit(EXIT_OURS);
        become_command(ends[0]);
    }
    close(ends[0]);
    if (child < 0)
        close(ends[1]);
    else
        *gate = ends[1];
    return child;
}

static bool open_gate(int gate, int64_t activation)
{
    return write(gate, &activation, sizeof activation) == sizeof activation;
}

static int status_of(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_OURS;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Passes signals on to the child; the child has already got a signal that the terminal has sent
 * (SI_KERNEL). */
static void take_signal(pid_t child)
{
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == sizeof info) {
        ended_by = (int)info.ssi_signo;
        if (child > 0 && info.ssi_code != SI_KERNEL)
            kill(child, ended_by);
    }
}

/* ---- time ---- */

/* CLOCK_MONOTONIC, us, of the last renewal of the lease; 0: the reservation has no lease */
static int64_t renewed;

static void renew(void)
{
    char file[CLIENT_NAME_MAX + sizeof ".json"];
    snprintf(file, sizeof file, "%s.json", spec.name);
    utimensat(client.directory, file, NULL, AT_SYMLINK_NOFOLLOW);
    renewed = now();
}

/* Sleeps until the time (CLOCK_MONOTONIC, us), or until one of the descriptors is ready, and renews
 * the lease meanwhile. False: the time has come. */
static bool sleep_until(int64_t time, struct pollfd *fds, nfds_t count)
{
    for (int64_t left; (left = time - now()) > 0;) {
        const int64_t due = renewed != 0 ? renewed + LEASE / 3 - now() : INT64_MAX;
        if (due <= 0)
            renew();
        const int64_t least = left < due ? left : due > 0 ? due : 0;
        const struct timespec wait = {.tv_sec = least / 1000000, .tv_nsec = least % 1000000 * 1000};
        if (ppoll(fds, count, &wait, NULL) > 0)
            return true;
    }
    return false;
}

/* ---- a command once a period ---- */

/* Writes NAME.tid, by rename(2): the broker sees no half of it. */
static bool put_thread(pid_t thread)
{
    char file[CLIENT_NAME_MAX + 8], aside[CLIENT_NAME_MAX + 32];
    snprintf(file, sizeof file, "%s.tid", spec.name);
    snprintf(aside, sizeof aside, ".%s.tid.%d", spec.name, getpid());
    int fd = openat(client.directory, aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    bool good = fd >= 0 && dprintf(fd, "%d\n", thread) > 0;
    if (fd >= 0)
        good = close(fd) == 0 && good;
    good = good && renameat(client.directory, aside, client.directory, file) == 0;
    if (!good) {
        command_say("%s/specs/%s/%s: %s", command_spool(), client.user, file, strerror(errno));
        unlinkat(client.directory, aside, 0);
    }
    return good;
}

/* Returns how long before its activation a process is attached, us. The time counts against the
 * runtime, so it is a quarter of the runtime. */
static int64_t ahead(void)
{
    const int64_t part = (int64_t)options.runtime / 4;
    return part < HASTE ? HASTE : part > AHEAD ? AHEAD : part;
}

/* Returns a child that is attached and waits at its gate; -1: it has said why not. The child is
 * attached as late as possible: from then on its bandwidth counts until its 0-lag time, and its
 * successor can be attached only after that. */
static pid_t ready_child(int64_t activation, int *gate)
{
    pid_t child = start_child(-1, gate);
    if (child < 0) {
        command_say("cannot start a process: %s", strerror(errno));
        return -1;
    }
    struct pollfd fd = {.fd = signals, .events = POLLIN};
    if (!sleep_until(activation - ahead(), &fd, 1) && put_thread(child) &&
        await(NULL, 0, options.timeout))
        return child;
    close(*gate);
    status_of(child);
    return -1;
}

/* Waits until the child has ended, and passes signals on. Returns its exit status. */
static int finish(pid_t child)
{
    struct pollfd fds[] = {{.fd = pidfd_of(child), .events = POLLIN},
                           {.fd = signals, .events = POLLIN}};
    while (fds[0].fd >= 0 && fds[0].revents == 0)
        if (sleep_until(INT64_MAX, fds, 2) && fds[1].revents != 0)
            take_signal(child);
    if (fds[0].fd >= 0)
        close(fds[0].fd);
    return status_of(child);
}

static bool may_go_on(void)
{
    return ended_by == 0 && (options.count == 0 || tally.activations < options.count) &&
           (options.until == 0 || now() < options.until);
}

/* Counts a run for this activation, which began at `begun` and has just ended. Returns the time of
 * the next activation: activations whose period is over are skipped. */
static int64_t book(int64_t activation, int64_t begun, int status)
{
    const int64_t period = (int64_t)options.period, end = now();
    const int64_t deadline = options.deadline != 0 ? (int64_t)options.deadline : period;
    tally.activations++;
    tally.failed += status != 0;
    tally.missed += end - activation > deadline;
    tally.longer += end - begun > period;
    tally.late += end - activation > deadline && end - begun <= deadline;
    if (end - activation > tally.worst)
        tally.worst = end - activation;
    const int64_t over = (end - activation) / period;
    tally.skipped += over > 0 ? (uint64_t)over : 0;
    return activation + (over + 1) * period;
}

static int run_command(void)
{
    int64_t activation = 0;
    int status = 0, last = 0;
    if (!reserve(0))
        return EXIT_OURS;
    renewed = now();
    while (may_go_on()) {
        int gate;
        pid_t child = ready_child(activation, &gate);
        if (child < 0)
            return EXIT_OURS;
        activation = activation == 0 ? now() : activation;
        if (options.until != 0 && activation >= options.until) {
            close(gate);
            status_of(child);
            return last;
        }
        open_gate(gate, activation);
        close(gate);
        /* later than the activation if the child was attached late */
        const int64_t begun = now() > activation ? now() : activation;
        status = finish(child);
        activation = book(activation, begun, status);
        last = status != 0 ? status : last;
        if (status == EXIT_NOT_FOUND || status == EXIT_CANNOT_RUN ||
            (status != 0 && options.errexit))
            break;
    }
    return last;
}

/* ---- a loop ---- */

/* The loop waits for its next line: it is in read(2) of its standard input. True also if /proc does
 * not show the system call. */
static bool is_waiting(pid_t child)
{
    char path[48], text[128];
    snprintf(path, sizeof path, "/proc/%d/syscall", child);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return true;
    text[length] = '\0';
    char *rest;
    const long call = strtol(text, &rest, 10);
    return rest != text && call == SYS_read && strtoul(rest, NULL, 16) == STDIN_FILENO;
}

/* Activates the loop: writes a line, unless the loop has not read the last one. */
static void activate(pid_t child, int output, int64_t activation)
{
    int unread = 0;
    const int64_t late = now() - activation;
    if (late > tally.worst)
        tally.worst = late;
    if (ioctl(output, FIONREAD, &unread) == 0 && unread > 0) {
        tally.skipped++;
        return;
    }
    tally.missed += tally.activations > 0 && !is_waiting(child);
    tally.activations++;
    const unsigned long long number = tally.activations, not_in_time = tally.missed + tally.skipped;
    dprintf(output, "%llu %lld %llu\n", number, (long long)late, not_in_time);
}

static int periodic_timer(int64_t first)
{
    const int64_t period = (int64_t)options.period;
    const struct itimerspec times = {.it_value = {.tv_sec = first / 1000000,
                                                  .tv_nsec = first % 1000000 * 1000},
                                     .it_interval = {.tv_sec = period / 1000000,
                                                     .tv_nsec = period % 1000000 * 1000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd >= 0)
        timerfd_settime(fd, TFD_TIMER_ABSTIME, &times, NULL);
    return fd;
}

/* Activates the loop until it ends, or until the last activation; then the caller closes the loop's
 * input. */
static void keep_time(pid_t child, int output)
{
    int64_t activation = now() + 1000; /* gives the loop time to start */
    struct pollfd fds[] = {{.fd = periodic_timer(activation), .events = POLLIN},
                           {.fd = pidfd_of(child), .events = POLLIN},
                           {.fd = signals, .events = POLLIN}};
    bool ends = fds[0].fd < 0 || fds[1].fd < 0;
    while (!ends && may_go_on()) {
        uint64_t expirations = 0;
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            break;
        if (fds[2].revents != 0)
            take_signal(child);
        ends = fds[1].revents != 0;
        if (ends || read(fds[0].fd, &expirations, sizeof expirations) != sizeof expirations)
            continue;
        tally.skipped += expirations - 1;
        activation += (int64_t)(expirations - 1) * (int64_t)options.period;
        if (options.until != 0 && activation >= options.until)
            break;
        activate(child, output, activation);
        activation += (int64_t)options.period;
    }
    close(fds[0].fd);
    close(fds[1].fd);
}

static int run_loop(void)
{
    int input[2], gate;
    if (pipe2(input, O_CLOEXEC | O_NONBLOCK) != 0 || fcntl(input[0], F_SETFL, 0) != 0) {
        command_say("pipe: %s", strerror(errno));
        return EXIT_OURS;
    }
    pid_t child = start_child(input[0], &gate);
    bool good = child > 0 && reserve(child);
    if (child < 0)
        command_say("cannot start a process: %s", strerror(errno));
    if (good)
        open_gate(gate, now());
    if (gate >= 0)
        close(gate);
    if (good)
        keep_time(child, input[1]);
    close(input[1]);
    int status = child > 0 ? finish(child) : EXIT_OURS;
    close(input[0]);
    return good ? status : EXIT_OURS;
}

/* ---- the command line ---- */

static const struct command_option table[] = {
    COMMAND_NEEDS,
    {0, "loop", NULL, "Start CMD once; each activation is a line on its standard input"},
    {0, "count", "N", "End after N activations"},
    {0, "until", "WHEN", "End then: +TIME from now, or a time of day as 17:30 or 17:30:15"},
    {0, "errexit", NULL, "End when CMD fails"},
    {'n', "name", "NAME", "Name of the spec (default: every-PID)"},
    {0, "timeout", "TIME", "Wait no longer than this for an answer (default: 30s)"},
    {0, "json", NULL, "At the end print the counts, as JSON on standard error"},
    {'v', "verbose", NULL,
     "At the end print the counts, also if no activation was missed or skipped"},
    {0}};

static void take_count(const char *text)
{
    if (!parse_number(text, INT64_MAX, &options.count) || options.count == 0)
        command_wrong("--count %s: this is 1 to %llu", command_typed(text),
                      (unsigned long long)INT64_MAX);
}

/* "+90s" from now, or the next time that the local time is this. To CLOCK_MONOTONIC, us. */
static void take_until(const char *text)
{
    struct timespec real;
    struct tm day;
    if (text[0] == '+') {
        options.until = now() + (int64_t)command_wait("--until", text + 1);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &real);
    localtime_r(&real.tv_sec, &day);
    day.tm_sec = 0;
    const char *rest = strptime(text, "%H:%M:%S", &day);
    if (rest == NULL || *rest != '\0')
        rest = strptime(text, "%H:%M", &day);
    if (rest == NULL || *rest != '\0')
        command_wrong("--until %s: this is +TIME, or a time of day as 17:30 or 17:30:15",
                      command_typed(text));
    day.tm_isdst = -1;
    time_t then = mktime(&day);
    if (then <= real.tv_sec) {
        day.tm_mday++;
        day.tm_isdst = -1;
        then = mktime(&day);
    }
    options.until = now() + ((int64_t)then - real.tv_sec) * 1000000 - real.tv_nsec / 1000;
}

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "loop") == 0)
        options.loop = true;
    else if (strcmp(name, "count") == 0)
        take_count(value);
    else if (strcmp(name, "until") == 0)
        take_until(value);
    else if (strcmp(name, "errexit") == 0)
        options.errexit = true;
    else if (strcmp(name, "name") == 0)
        options.name = command_name_option(value);
    else if (strcmp(name, "timeout") == 0)
        options.timeout = command_wait("--timeout", value);
    else if (strcmp(name, "json") == 0)
        options.json = true;
    else if (strcmp(name, "verbose") == 0)
        options.verbose = true;
    else
        (void)needs_take(&options.needs, name, value);
}

static uint64_t stated(const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(options.spec, key));
}

static void take_line(char **operands)
{
    options.command = operands;
    options.spec = json_object();
    needs_lay_over(&options.needs, options.spec);
    options.runtime = stated("runtime");
    options.period = stated("period");
    options.deadline = stated("deadline");
    if (operands[0] == NULL)
        command_misused("a command is missing");
    if (options.period == 0)
        command_misused("-P TIME is missing: the period in which CMD runs once");
}

/* ---- the end ---- */

static void tell(void)
{
    const struct tally *t = &tally;
    if (options.json)
        fprintf(
            stderr,
            "{\"activations\":%llu,\"missed\":%llu,\"skipped\":%llu,\"failed\":%llu,\"worst\":%lld}\n",
            (unsigned long long)t->activations, (unsigned long long)t->missed,
            (unsigned long long)t->skipped, (unsigned long long)t->failed, (long long)t->worst);
    else if (options.verbose || t->missed + t->skipped > 0)
        command_say(
            "%llu activation%s, %llu missed their deadline, %llu skipped; %s %lld.%03lld ms",
            (unsigned long long)t->activations, t->activations == 1 ? "" : "s",
            (unsigned long long)t->missed, (unsigned long long)t->skipped,
            options.loop ? "the latest activation came late by" : "the longest took",
            (long long)t->worst / 1000, (long long)t->worst % 1000);
}

/* Explains the counts: one long run is the reason for several skipped activations. */
static void explain(void)
{
    const struct tally *t = &tally;
    if (options.json || (t->skipped == 0 && t->late == 0))
        return;
    if (options.loop)
        command_say(
            "an activation is skipped while the loop has not read the line of the activation before");
    else if (t->late > 0)
        command_say(
            "%llu took longer than the period: activations are skipped while CMD runs; %llu began late: CPU time beyond the runtime delays the activations that follow",
            (unsigned long long)t->longer, (unsigned long long)t->late);
    else
        command_say("%llu took longer than the period: activations are skipped while CMD runs",
                    (unsigned long long)t->longer);
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "every",
        .about =
            "Run CMD once a period, inside a reservation that lasts from the first time to the last.\nA TIME is a whole number and a unit: 800us, 5ms, 1s.",
        .operands = "[OPTION...] CMD [ARG...]",
        .closing =
            "Exit status: 125 if rtf every fails or is refused, 126 if CMD cannot be run, 127 if CMD is not\nfound, else the last exit status of CMD that was not 0, or 0.",
        .options = table,
        .needs = needs_options,
        .needs_named =
            " runtime period deadline desired-runtime priority plugin ignore-admission cpus comment sched-runtime sched-period sched-deadline ",
        .runs_command = true,
        .failure = EXIT_OURS,
        .take = take};
    take_line(command_parse(&command, argc, argv, NULL));
    int status = !begin() ? EXIT_OURS : options.loop ? run_loop() : run_command();
    withdraw();
    if (tally.activations > 0) {
        tell();
        explain();
    }
    client_close(&client);
    json_decref(options.spec);
    /* a signal that is still pending ends this process here */
    sigprocmask(SIG_SETMASK, &inherited, NULL);
    if (ended_by != 0)
        raise(ended_by);
    return status;
}
