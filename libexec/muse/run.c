/* Runs an experiment on this machine, records the beginning of each job, and starts the analysis.
 * Most of this file is the watching process, which runs beside the load and keeps the measurement
 * if the load is killed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "command-line.h"
#include "drain.h"
#include "events.h"
#include "experiment.h"
#include "experiment-values.h"
#include "experiment-file.h"
#include "load.h"
#include "remote.h"
#include "samples.h"
#include "units.h"

/* The two times of patience are long: if other load keeps threads from their CPU, they notice the
 * end of the run late. */
enum { DRAIN_EVERY_MS = 250, PATIENCE_S = 10, PATIENCE_WHEN_STOPPED_S = 3 };

enum ending { ENDED_WELL, ENDED_INTERRUPTED, ENDED_KILLED, ENDED_FULL, ENDED_REFUSED, ENDED_STUCK };

struct options {
    bool compat, quiet, json;
    const char *experiment, *output, *horizon, *remote, *remote_command;
    /* the port for marks, if another machine has started this program by ssh; NULL: a local run */
    const char *send;
    uint64_t duration; /* us; 0: as stated in the experiment */
};

struct watch {
    struct load *load;
    struct drain drain;
    pid_t child;
    int signals, timer;
    int signal;           /* the signal that interrupted us; 0: none */
    int status;           /* the status of the child, as from wait(2) */
    int error;            /* errno of the failed write; 0: none */
    int input;            /* end-of-file at this descriptor ends the run; -1: none */
    struct events events; /* the scheduler's events of commands */
    struct followed *followed;
    size_t followed_count;
    struct samples samples; /* used if the scheduler's events cannot be read */
    int64_t deadline;       /* s of CLOCK_MONOTONIC; 0: not known yet */
};

static const struct command_option option_table[] = {
    {'o', "output", "DIR", "Where marks and results go (default: EXPERIMENT.muse)"},
    {0, "duration", "TIME", "Run for TIME (500ms, 30s) instead of the duration in the experiment"},
    {0, "horizon", "TIME",
     "The interval over which the linear bounds are fitted (default: a tenth of the duration)"},
    {0, "compat", NULL, "Read the experiment as the paper's own tool does"},
    {0, "remote", "HOST", "Run the experiment on HOST, by ssh; marks come back as datagrams"},
    {0, "remote-command", "COMMAND", "The command to run on HOST (default: rtf muse)"},
    {0, "send", "PORT", NULL},
    {0, "json", NULL, "Print result.json instead of a table"},
    {'q', "quiet", NULL, "Print nothing"},
    {0}};

static uint64_t time_of(const char *name, const char *value)
{
    uint64_t time;
    if (!parse_time(value, &time))
        command_wrong("--%s %s: a time must be a whole number with a unit, such as 500ms or 2s",
                      name, command_typed(value));
    return time;
}

static const char *host_of(const char *value)
{
    if (value[0] == '-' || value[0] == '\0')
        command_wrong("--remote %s: not a valid host name", command_typed(value));
    return value;
}

static const char *remote_command_of(const char *value)
{
    if (strlen(value) >= PATH_MAX)
        command_wrong("--remote-command takes a command of less than %d characters", PATH_MAX);
    return value;
}

static void take(void *context, const char *name, const char *value)
{
    struct options *options = context;
    if (strcmp(name, "output") == 0)
        options->output = value;
    else if (strcmp(name, "duration") == 0)
        options->duration = time_of(name, value);
    else if (strcmp(name, "horizon") == 0)
        options->horizon = time_of(name, value) > 0 ? value : NULL;
    else if (strcmp(name, "compat") == 0)
        options->compat = true;
    else if (strcmp(name, "remote") == 0)
        options->remote = host_of(value);
    else if (strcmp(name, "remote-command") == 0)
        options->remote_command = remote_command_of(value);
    else if (strcmp(name, "send") == 0)
        options->send = value;
    else if (strcmp(name, "json") == 0)
        options->json = true;
    else if (strcmp(name, "quiet") == 0)
        options->quiet = true;
}

static const char *experiment_of(char *const operands[])
{
    if (operands[0] == NULL)
        command_misused("EXPERIMENT.json is missing");
    if (operands[1] != NULL)
        command_misused("only one EXPERIMENT.json is allowed");
    return operands[0];
}

static int fail(int status, const char *what, const char *why)
{
    fprintf(stderr, "rtf-muse: %s%s%s\n", what, what[0] == '\0' ? "" : ": ", why);
    return status;
}

/* ---- the directory ---- */

/* Removes the files of an earlier run, so that nobody takes them for files of this run. */
static bool remove_old(int directory)
{
    static const char *const files[] = {"result.json", "run.json", "report.html", "marks.csv"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (unlinkat(directory, files[i], 0) != 0 && errno != ENOENT)
            return false;
    int marks = openat(directory, "marks", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = marks < 0 ? NULL : fdopendir(marks);
    if (entries == NULL)
        return marks < 0 && errno == ENOENT;
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries))
        if (entry->d_name[strspn(entry->d_name, "0123456789")] == '\0')
            (void)unlinkat(marks, entry->d_name, 0);
    closedir(entries);
    return true;
}

static bool write_text(int directory, const char *name, const char *text, size_t length)
{
    int file = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool good = file >= 0 && write(file, text, length) == (ssize_t)length;
    return file >= 0 && close(file) == 0 && good;
}

/* Writes the experiment, as it was run, into the directory. */
static bool keep_experiment(int directory, const struct experiment *experiment)
{
    char *text = json_dumps(experiment->json, JSON_INDENT(1));
    bool good = text != NULL && write_text(directory, "experiment.json", text, strlen(text));
    free(text);
    return good;
}

static int open_output(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return -1;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0 && remove_old(directory) &&
        (mkdirat(directory, "marks", 0777) == 0 || errno == EEXIST))
        return directory;
    return -1;
}

/* ---- watching ---- */

static int64_t seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static bool start_watch(struct watch *watch)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGCHLD);
    const struct itimerspec every = {{0, DRAIN_EVERY_MS * 1000000L},
                                     {0, DRAIN_EVERY_MS * 1000000L}};
    sigset_t blocked = signals;
    sigaddset(&blocked, LOAD_STOP_SIGNAL);
    watch->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    watch->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return watch->timer >= 0 && watch->signals >= 0 &&
           sigprocmask(SIG_BLOCK, &blocked, NULL) == 0 &&
           timerfd_settime(watch->timer, 0, &every, NULL) == 0;
}

/* Starts the load. The kernel kills the load when this process ends. The load blocks the signals of
 * the terminal, such as Ctrl-C, because this process handles them. */
static bool start_load(const struct experiment *experiment, const char *spool, struct watch *watch)
{
    const pid_t parent = getpid();
    watch->child = fork();
    if (watch->child != 0)
        return watch->child > 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EX_OSERR);
    _exit(load_run(experiment, spool, watch->load));
}

static bool child_has_ended(struct watch *watch)
{
    return waitpid(watch->child, &watch->status, WNOHANG) == watch->child;
}

static void stop(struct watch *watch)
{
    atomic_store(&watch->load->stop, 1);
    kill(watch->child, LOAD_STOP_SIGNAL);
    if (watch->deadline == 0 || watch->deadline > seconds_now() + PATIENCE_WHEN_STOPPED_S)
        watch->deadline = seconds_now() + PATIENCE_WHEN_STOPPED_S;
}

static void take_signals(struct watch *watch)
{
    struct signalfd_siginfo info;
    while (read(watch->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD) {
            watch->signal = (int)info.ssi_signo;
            stop(watch);
        }
}

/* ---- commands: marks come from the scheduler's events ---- */

static bool mark_command(void *argument, struct mark mark)
{
    struct load_thread *thread = &((struct load *)argument)->thread[mark.thread];
    if (!ring_put(&thread->ring, mark))
        atomic_fetch_add(&thread->dropped, 1);
    return true;
}

static bool follow(const struct experiment *experiment, struct watch *watch)
{
    char why[EVENTS_WHY]; /* not used, because without events this process takes samples */
    pid_t *tids = calloc(experiment->thread_count, sizeof *tids);
    watch->followed = calloc(experiment->thread_count, sizeof *watch->followed);
    for (size_t i = 0; i < experiment->thread_count && tids != NULL && watch->followed != NULL; i++)
        if (experiment->threads[i].command != NULL) {
            tids[watch->followed_count] = atomic_load(&watch->load->thread[i].tid);
            watch->followed[watch->followed_count] =
                (struct followed){.tid = tids[watch->followed_count], .thread = (uint16_t)i};
            watch->followed_count++;
        }
    bool good = watch->followed_count == 0 ||
                events_open(tids, watch->followed_count, &watch->events, why) ||
                samples_open(watch->followed, watch->followed_count, &watch->samples);
    free(tids);
    return good;
}

static void take_samples(struct watch *watch)
{
    if (watch->samples.threads == NULL)
        return;
    samples_take(&watch->samples, watch->followed, watch->followed_count,
                 atomic_load(&watch->load->start), mark_command, watch->load);
    for (size_t i = 0; i < watch->followed_count; i++)
        watch->load->thread[watch->followed[i].thread].apart = watch->samples.threads[i].apart;
}

static void take_events(struct watch *watch)
{
    if (watch->followed_count == 0)
        return;
    if (watch->events.pipe < 0)
        take_samples(watch);
    else
        (void)events_drain(&watch->events, watch->followed, watch->followed_count,
                           atomic_load(&watch->load->start), mark_command, watch->load);
    for (size_t i = 0; i < watch->followed_count; i++) {
        const struct followed *followed = &watch->followed[i];
        struct load_thread *thread = &watch->load->thread[followed->thread];
        thread->asleep = followed->asleep;
        thread->gaps = followed->gaps;
        atomic_store(&thread->cpu_time, followed->supplied);
        atomic_store(&thread->jobs, followed->jobs);
    }
}

static void drain(struct watch *watch)
{
    take_events(watch);
    if (watch->error != 0 || drain_all(&watch->drain))
        return;
    watch->error = errno;
    stop(watch);
}

static enum ending ending_of(const struct watch *watch, bool stuck)
{
    if (atomic_load(&watch->load->failed) != 0)
        return ENDED_REFUSED;
    if (watch->error != 0)
        return ENDED_FULL;
    if (watch->signal != 0)
        return ENDED_INTERRUPTED;
    if (stuck)
        return ENDED_STUCK;
    return WIFSIGNALED(watch->status) || WEXITSTATUS(watch->status) != 0 ? ENDED_KILLED
                                                                         : ENDED_WELL;
}

/* Begins to follow the commands, by their events or by samples. Call this when all threads are set
 * up. Until then the commands wait. */
static void follow_all(const struct experiment *experiment, struct watch *watch)
{
    if (!follow(experiment, watch)) {
        snprintf(watch->load->why, sizeof watch->load->why, "the commands cannot be followed: %s",
                 strerror(errno));
        atomic_store(&watch->load->failed, EX_OSERR);
        stop(watch);
    }
    sem_post(&watch->load->watched);
}

/* True if the load exceeds its time by far. Threads that get no CPU end late. A thread in a very
 * long job, or a thread that waits for a lock whose holder does not run, may never end. */
static bool is_stuck(const struct experiment *experiment, struct watch *watch)
{
    if (watch->deadline == 0 && atomic_load(&watch->load->start) != 0)
        watch->deadline = seconds_now() + experiment->duration / 1000000000 + PATIENCE_S;
    return watch->deadline != 0 && seconds_now() > watch->deadline;
}

/* Waits for a signal, for the next drain, or for the end of the input. Takes the samples of
 * commands meanwhile. */
static void wait_for_work(struct watch *watch, struct pollfd *fds)
{
    enum { INPUT = 2, SAMPLES, COUNT };
    do {
        fds[SAMPLES].fd = watch->samples.threads == NULL ? -1 : watch->samples.timer;
        (void)poll(fds, COUNT, -1);
        if (fds[SAMPLES].revents != 0)
            take_samples(watch);
    } while (fds[0].revents == 0 && fds[1].revents == 0 && fds[INPUT].revents == 0);
    if (fds[INPUT].revents != 0 && watch->signal == 0) {
        watch->signal = SIGHUP;
        fds[INPUT].fd = -1;
        stop(watch);
    }
}

static enum ending watch_load(const struct experiment *experiment, struct watch *watch)
{
    struct pollfd fds[] = {{.fd = watch->signals, .events = POLLIN},
                           {.fd = watch->timer, .events = POLLIN},
                           {.fd = watch->input, .events = POLLIN},
                           {.fd = -1, .events = POLLIN}};
    bool stuck = false, ended = false;
    while (!ended) {
        uint64_t expired;
        wait_for_work(watch, fds);
        (void)!read(watch->timer, &expired, sizeof expired);
        take_signals(watch);
        ended = child_has_ended(watch);
        drain(watch);
        if (watch->followed == NULL && atomic_load(&watch->load->ready) != 0)
            follow_all(experiment, watch);
        if (!ended && is_stuck(experiment, watch)) {
            stuck = true;
            kill(watch->child, SIGKILL);
        }
    }
    drain(watch);
    samples_close(&watch->samples, watch->followed_count);
    if (watch->followed_count > 0)
        events_close(&watch->events);
    free(watch->followed);
    return ending_of(watch, stuck);
}

/* ---- run.json ---- */

static const char *ending_name(enum ending ending)
{
    switch (ending) {
    case ENDED_WELL: return "well";
    case ENDED_INTERRUPTED: return "interrupted";
    case ENDED_KILLED: return "killed";
    case ENDED_FULL: return "full";
    case ENDED_REFUSED: return "refused";
    case ENDED_STUCK: return "stuck";
    }
    return "?";
}

static json_t *thread_json(const struct member *member, const struct load_thread *thread)
{
    json_t *grant = thread->grant[0] == '\0' ? json_null() : json_loads(thread->grant, 0, NULL);
    return json_pack("{s:i, s:s, s:I, s:f, s:f, s:I, s:I, s:I, s:b, s:f, s:I, s:f, s:o}", "tid",
                     (int)atomic_load(&thread->tid), "policy",
                     member->reservation != NULL ? "reservation"
                                                 : experiment_policy_name(member->policy),
                     "dropped", (json_int_t)atomic_load(&thread->dropped), "calibrated_job",
                     (double)thread->calibrated / 1e9, "cpu_time",
                     (double)atomic_load(&thread->cpu_time) / 1e9, "jobs",
                     (json_int_t)atomic_load(&thread->jobs), "preempted",
                     (json_int_t)atomic_load(&thread->preempted), "faults",
                     (json_int_t)atomic_load(&thread->faults), "exited",
                     atomic_load(&thread->exited), "asleep", (double)thread->asleep / 1e9,
                     "events_lost", (json_int_t)thread->gaps, "looked_every",
                     (double)thread->apart / 1e9, "grant", grant == NULL ? json_null() : grant);
}

static json_t *run_json(const struct experiment *experiment, const struct load *load,
                        enum ending ending)
{
    struct utsname system;
    struct rusage own;
    char moment[32] = "";
    time_t now = time(NULL);
    struct tm parts;
    json_t *threads = json_object();
    for (size_t i = 0; i < experiment->thread_count; i++)
        json_object_set_new(threads, experiment->threads[i].name,
                            thread_json(&experiment->threads[i], &load->thread[i]));
    if (gmtime_r(&now, &parts) != NULL)
        strftime(moment, sizeof moment, "%Y-%m-%dT%H:%M:%SZ", &parts);
    uname(&system);
    getrusage(RUSAGE_SELF, &own);
    const double watching = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                            (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6;
    struct timespec tick = {0}; /* the tick, which is the resolution of the coarse clock */
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:i, s:f, s:b, s:f, s:f, s:s, s:o}", "version", 1,
                     "ended_at", moment, "host", system.nodename, "kernel", system.release,
                     "machine", system.machine, "processors", (int)sysconf(_SC_NPROCESSORS_ONLN),
                     "tick", (double)tick.tv_nsec / 1e9, "compat", experiment->compat, "duration",
                     (double)experiment->duration / 1e9, "watching", watching, "ended",
                     ending_name(ending), "threads", threads);
}

static char *run_text(const struct experiment *experiment, const struct load *load,
                      enum ending ending)
{
    json_t *run = run_json(experiment, load, ending);
    char *text = run == NULL ? NULL : json_dumps(run, JSON_INDENT(1));
    json_decref(run);
    return text;
}

static bool keep_run(int directory, const struct experiment *experiment, const struct load *load,
                     enum ending ending)
{
    char *text = run_text(experiment, load, ending);
    bool good = text != NULL && write_text(directory, "run.json", text, strlen(text));
    free(text);
    return good;
}

static int say_ending(const struct watch *watch, enum ending ending)
{
    char why[128];
    switch (ending) {
    case ENDED_WELL: return EX_OK;
    case ENDED_INTERRUPTED: return 128 + watch->signal;
    case ENDED_REFUSED: return fail(atomic_load(&watch->load->failed), "", watch->load->why);
    case ENDED_FULL:
        snprintf(why, sizeof why, "%s; the marks until then are analysed", strerror(watch->error));
        return fail(EX_IOERR, "marks cannot be written", why);
    case ENDED_STUCK:
        return fail(
            EX_SOFTWARE, "",
            "the load did not end by itself and was killed; the marks until then are analysed");
    case ENDED_KILLED:
        snprintf(why, sizeof why, "by signal %d; the marks until then are analysed",
                 WIFSIGNALED(watch->status) ? WTERMSIG(watch->status) : 0);
        return fail(EX_SOFTWARE, "the load was killed", why);
    }
    return EX_SOFTWARE;
}

/* ---- commands ---- */

static int run_and_watch(const struct experiment *experiment, int directory)
{
    struct watch watch = {.load = load_make(experiment->thread_count), .input = -1};
    int marks = openat(directory, "marks", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (watch.load == NULL || !start_watch(&watch))
        return fail(EX_OSERR, "", strerror(errno));
    if (marks < 0 || !drain_to_files(watch.load, marks, &watch.drain))
        return fail(EX_CANTCREAT, "marks", strerror(errno));
    if (!start_load(experiment, command_spool(), &watch))
        return fail(EX_OSERR, "fork", strerror(errno));
    enum ending ending = watch_load(experiment, &watch);
    drain_end(&watch.drain);
    close(marks);
    int status = say_ending(&watch, ending);
    if (ending != ENDED_REFUSED && !keep_run(directory, experiment, watch.load, ending) &&
        status == EX_OK)
        status = fail(EX_IOERR, "run.json", strerror(errno));
    return ending == ENDED_REFUSED ? -status : status;
}

/* Runs the program `analyse`, which is in the directory of this program. status: the status of the
 * run. If the run succeeded, the result is the status of `analyse`; otherwise it is `status`. */
static int analyse(const struct options *options, const char *output, int status)
{
    char program[4096];
    const char *arguments[10] = {"analyse", "analyse", output};
    int count = 3, ended = 0;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 16);
    if (length < 0)
        return fail(EX_OSERR, "/proc/self/exe", strerror(errno));
    program[length] = '\0';
    char *name = strrchr(program, '/') + 1;
    snprintf(name, sizeof program - (size_t)(name - program), "analyse");
    if (options->horizon != NULL) {
        arguments[count++] = "--horizon";
        arguments[count++] = options->horizon;
    }
    if (options->json)
        arguments[count++] = "--json";
    if (options->quiet)
        arguments[count++] = "--quiet";
    pid_t child = fork();
    if (child == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execv(program, (char *const *)arguments);
        _exit(fail(EX_OSERR, program, strerror(errno)));
    }
    if (child < 0 || waitpid(child, &ended, 0) != child)
        return fail(EX_OSERR, "analyse", strerror(errno));
    return status != EX_OK ? status : WIFEXITED(ended) ? WEXITSTATUS(ended) : EX_SOFTWARE;
}

/* Runs an experiment for another machine, which has started this process by ssh. Makes no
 * directory, and analyses nothing. */
static int run_for_another(const struct options *options)
{
    struct experiment experiment;
    struct sockaddr_storage host;
    struct watch watch = {.input = STDIN_FILENO};
    char why[EXPERIMENT_WHY];
    size_t size;
    socklen_t length;
    uint64_t secret;
    char *text = remote_receive(&size, &secret);
    if (text == NULL || !remote_address(options->send, &host, &length))
        return fail(EX_USAGE, "--send", "is only used by rtf muse run --remote, through ssh");
    bool good = experiment_parse(text, size, READ_TO_RUN, options->compat, &experiment, why);
    free(text);
    if (!good)
        return fail(EX_DATAERR, "the experiment", why);
    watch.load = load_make(experiment.thread_count);
    if (watch.load == NULL || !start_watch(&watch) ||
        !drain_to_host(watch.load, &host, length, secret, &watch.drain) ||
        !start_load(&experiment, command_spool(), &watch))
        return fail(EX_OSERR, "", strerror(errno));
    enum ending ending = watch_load(&experiment, &watch);
    drain_end(&watch.drain);
    int status = say_ending(&watch, ending);
    text = ending == ENDED_REFUSED ? NULL : run_text(&experiment, watch.load, ending);
    if (text != NULL && puts(text) != EOF)
        (void)fflush(stdout);
    free(text);
    experiment_free(&experiment);
    return status;
}

static int run_there(const struct options *options, const struct experiment *experiment,
                     int directory)
{
    char why[REMOTE_WHY];
    struct remote remote = {.host = options->remote,
                            .command = options->remote_command,
                            .experiment = experiment,
                            .compat = experiment->compat};
    remote.marks = openat(directory, "marks", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (remote.marks < 0)
        return fail(EX_CANTCREAT, "marks", strerror(errno));
    int status = remote_run(&remote, why);
    close(remote.marks);
    if (why[0] != '\0')
        (void)fail(status, "", why);
    if (remote.run == NULL)
        return remote.heard ? status : -status;
    char *text = json_dumps(remote.run, JSON_INDENT(1));
    bool kept = text != NULL && write_text(directory, "run.json", text, strlen(text));
    json_decref(remote.run);
    free(text);
    return status == EX_OK && !kept ? fail(EX_IOERR, "run.json", strerror(errno)) : status;
}

static void default_output(const char *experiment, char *output, size_t size)
{
    size_t length = strlen(experiment);
    if (length > 5 && strcmp(experiment + length - 5, ".json") == 0)
        length -= 5;
    snprintf(output, size, "%.*s.muse", (int)length, experiment);
}

static int run(const struct options *options)
{
    struct experiment experiment;
    char why[EXPERIMENT_WHY], output[4096];
    if (!experiment_read(options->experiment, READ_TO_RUN, options->compat, &experiment, why))
        return fail(access(options->experiment, R_OK) == 0 ? EX_DATAERR : EX_NOINPUT,
                    options->experiment, why);
    if (options->duration > 0) {
        experiment.duration = (int64_t)options->duration * 1000;
        json_t *global = json_object_get(experiment.json, "global");
        if (global == NULL)
            json_object_set_new(experiment.json, "global", global = json_object());
        json_object_set_new(global, "duration",
                            json_sprintf("%lluus", (unsigned long long)options->duration));
    }
    default_output(options->experiment, output, sizeof output);
    const char *path = options->output == NULL ? output : options->output;
    int directory = open_output(path);
    if (directory < 0)
        return fail(EX_CANTCREAT, path, strerror(errno));
    int status;
    if (!keep_experiment(directory, &experiment))
        status = fail(EX_IOERR, path, strerror(errno));
    else
        status = options->remote != NULL ? run_there(options, &experiment, directory)
                                         : run_and_watch(&experiment, directory);
    close(directory);
    experiment_free(&experiment);
    return status < 0 ? -status : analyse(options, path, status);
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "muse",
        .program = "rtf-muse",
        .about = "Run an experiment, record when each job begins, and analyse the record.",
        .operands = "run [OPTION...] EXPERIMENT.json",
        .closing =
            "Exit status: 0 all went well, 64 wrong usage, 65 the experiment is wrong, 66 it cannot be read, 69 no broker, 70 the load was killed, "
            "73 the directory cannot be made, 74 marks cannot be written, 75 a reservation is refused for now, 77 it is not allowed, 78 a thread cannot be set up as stated, 130 interrupted.",
        .options = option_table,
        .take = take};
    struct options options = {.remote_command = "rtf muse"};
    options.experiment = experiment_of(command_parse(&command, argc, argv, &options));
    return options.send != NULL ? run_for_another(&options) : run(&options);
}
