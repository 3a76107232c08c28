/* rtf-trace(1): records what the scheduler does with reserved threads, and shows it.
 *
 * Names of threads and reservations are other users' text; all that is printed goes through
 * client_escape. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "command-line.h"
#include "request/end-signals.h"
#include "trace-recording.h"
#include "watch/awake.h"
#include "watch/timeline.h"
#include "watch/trace-dat.h"
#include "watch/trace-gantt.h"
#include "watch/trace-json.h"

static struct {
    const char *user, *output, *picture, *data;
    bool all, awake, gantt;
    uint64_t duration, span; /* us; span 0: not stated */
} options = {.duration = 5000000};

/* ---- recording ---- */

/* Before the recording, notes the CPU time of each thread. After the recording, replaces it by the
 * CPU time used during the recording. */
static void read_cpu_times(const struct chosen *chosen, bool after)
{
    for (size_t i = 0; i < chosen->count; i++) {
        const int64_t now = chosen_cpu_time(chosen->threads[i].tid);
        int64_t *time = &chosen->labels[i].cpu_time;
        *time = !after ? now : now < 0 || *time < 0 ? -1 : now - *time;
    }
}

static struct timeline record_all(struct trace_source *source, const struct chosen *chosen)
{
    struct timeline timeline = {.threads = chosen->threads,
                                .thread_count = chosen->count,
                                .cpus = recording_cpus(source->recording)};
    const int signals = end_signals_open(); /* before other threads start */
    if (options.awake && !awake_begin())
        command_say("cannot keep all CPUs from idling: %s", strerror(errno));
    read_cpu_times(chosen, false);
    timeline.begin = trace_source_start(source);
    trace_record(source, options.duration, signals, NULL);
    read_cpu_times(chosen, true);
    timeline.end = trace_source_stop(source);
    awake_end();
    end_signals_close(signals);
    return timeline;
}

/* ---- results ---- */

static void print_name(const struct trace_label *label)
{
    char text[512], printable[1024];
    snprintf(text, sizeof text, "%s/%s", label->user, label->name);
    printf("%-24s", client_printable(text, printable, sizeof printable));
}

/* Prints a time in ns as ms with three decimals. */
static void print_time(int64_t time)
{
    printf(" %9lld.%03d", (long long)(time / 1000000), (int)(time / 1000 % 1000));
}

static void print_summary(const struct timeline *timeline, const struct chosen *chosen)
{
    const int64_t length = timeline->end - timeline->begin;
    printf("%-24s %13s %6s %13s %13s %5s %5s %6s %6s %5s\n", "RESERVATION", "RAN(ms)", "SHARE",
           "WAITED(ms)", "THROTTLED(ms)", "TIMES", "REPL", "JOBS", "MISSED", "LOST");
    for (size_t i = 0; i < timeline->thread_count; i++) {
        const struct traced *thread = &timeline->threads[i];
        const int64_t share = length > 0 ? thread->ran * 1000 / length : 0;
        print_name(&chosen->labels[i]);
        print_time(thread->ran);
        printf("  %lld.%03d", (long long)(share / 1000), (int)(share % 1000));
        print_time(thread->waited);
        print_time(thread->throttled);
        printf(" %5u %5u %6u %6u %5u\n", (unsigned)thread->throttles,
               (unsigned)thread->replenishments, (unsigned)thread->jobs, (unsigned)thread->missed,
               (unsigned)thread->lost);
    }
}

/* Reports lost events in any case, because the results are then incomplete. */
static void tell_losses(const struct trace *trace)
{
    uint64_t gaps = 0, dropped = 0, threads = 0;
    for (unsigned cpu = 0; cpu < trace->timeline->cpus; cpu++) {
        gaps += trace->timeline->gaps[cpu];
        dropped += recording_dropped(trace->recording, cpu);
    }
    for (size_t i = 0; i < trace->timeline->thread_count; i++)
        threads += trace->timeline->threads[i].lost;
    if (gaps + dropped + threads > 0)
        command_say(
            "the kernel has lost events, so the results have gaps: %llu gaps on the CPUs, %llu gaps in the records of these threads; a buffer was full %llu times",
            (unsigned long long)gaps, (unsigned long long)threads, (unsigned long long)dropped);
}

/* True if the trace goes to standard output. Then nothing else is printed there. */
static bool takes_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* Makes a file that only root may read out of an open file of root. False: another user owns the
 * file, and could read the trace. */
static bool make_private(int fd, const char **why)
{
    struct stat status;
    *why = "it belongs to another user, who could read the trace";
    if (fstat(fd, &status) != 0 || status.st_uid != geteuid())
        return false;
    *why = strerror(errno);
    return !S_ISREG(status.st_mode) || (fchmod(fd, 0600) == 0 && ftruncate(fd, 0) == 0);
}

/* Opens the file before the recording, so that a wrong path fails at once. The file has names of
 * all users, so only root may read it. O_NONBLOCK: a user may have put a FIFO there. -1: the path
 * is not stated. */
static int open_output(const char *path)
{
    const char *why = NULL;
    if (path == NULL)
        return -1;
    if (takes_output(path))
        return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    const int fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0)
        command_fail(EX_CANTCREAT, "%s: %s", command_typed(path), strerror(errno));
    if (!make_private(fd, &why))
        command_fail(EX_CANTCREAT, "%s: %s", command_typed(path), why);
    (void)fcntl(fd, F_SETFL, 0);
    return fd;
}

static void close_output(FILE *stream, const char *path, bool good)
{
    good &= ferror(stream) == 0;
    if (fclose(stream) != 0 || !good)
        command_fail(EX_IOERR, "%s: %s", command_typed(path), strerror(errno));
}

static void write_output(const struct trace *trace, int fd)
{
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (stream == NULL)
        return;
    trace_json_write(trace, stream);
    close_output(stream, options.output, true);
}

static void write_data(const struct recorder *recorder, int fd)
{
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (stream != NULL)
        close_output(stream, options.data, trace_dat_write(recorder, stream));
}

/* ---- pictures ---- */

static unsigned terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

/* Starts gnuplot with this standard output, without configuration files. Returns its standard
 * input. */
static FILE *start_gnuplot(int output, pid_t *child)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || (*child = fork()) < 0)
        command_fail(EX_OSERR, "%s", strerror(errno));
    if (*child == 0) {
        if (dup2(ends[0], STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0)
            _exit(EX_OSERR);
        execlp("gnuplot", "gnuplot", "-d", NULL);
        _exit(EX_UNAVAILABLE);
    }
    close(ends[0]);
    FILE *stream = fdopen(ends[1], "w");
    if (stream == NULL)
        command_fail(EX_OSERR, "%s", strerror(errno));
    return stream;
}

static void draw(const struct trace *trace, struct trace_window window, int output)
{
    pid_t child;
    int ended = 0;
    if (output < 0)
        return;
    (void)signal(SIGPIPE, SIG_IGN); /* gnuplot may be missing */
    FILE *stream = start_gnuplot(output, &child);
    trace_plot_write(trace, window, stream);
    (void)fclose(stream);
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
        ;
    (void)signal(SIGPIPE, SIG_DFL);
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == EX_UNAVAILABLE)
        command_fail(EX_UNAVAILABLE, "gnuplot, which draws the picture, is not installed");
    if (ended != 0 || close(output) != 0)
        command_fail(EX_IOERR, "%s: gnuplot has failed", command_typed(options.picture));
}

/* ---- the command line ---- */

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    if (strcmp(name, "for") == 0)
        options.duration = command_wait("--for", value);
    else if (strcmp(name, "user") == 0)
        options.user = value;
    else if (strcmp(name, "all") == 0)
        options.all = true;
    else if (strcmp(name, "awake") == 0)
        options.awake = true;
    else if (strcmp(name, "output") == 0)
        options.output = value;
    else if (strcmp(name, "gantt") == 0)
        options.gantt = true;
    else if (strcmp(name, "svg") == 0)
        options.picture = value;
    else if (strcmp(name, "dat") == 0)
        options.data = value;
    else if (strcmp(name, "span") == 0)
        options.span = command_wait("--span", value);
}

static const struct command_option option_table[] = {
    {0, "for", "TIME", "Record for this time: 500ms, 1min (default: 5s)"},
    {0, "all", NULL, "Record the threads of all users"},
    {0, "user", "USER", "Record the threads of that user"},
    {0, "awake", NULL, "Keep the CPUs from idling: some machines lose events of idle CPUs"},
    {'o', "output", "FILE", "Write a trace for Perfetto (ui.perfetto.dev) to this file"},
    {0, "dat", "FILE", "Write the kernel's own records, for trace-cmd and kernelshark"},
    {0, "gantt", NULL, "Draw when each thread ran, for a terminal"},
    {0, "svg", "FILE", "Draw the same picture as an SVG file, with gnuplot"},
    {0, "span", "TIME",
     "Draw only this much of the recording (default: five times the longest period)"},
    {0}};

/* The kernel's events name the threads of all users. So a user gets only records that rtf-watch has
 * made of them. */
static void refuse_others(void)
{
    if (geteuid() == 0)
        return;
    if (options.all || options.user != NULL)
        command_fail(EX_NOPERM, "only root may trace the threads of other users");
    if (options.data != NULL)
        command_fail(EX_NOPERM,
                     "only root may have the kernel's own records, which name all threads");
}

static void show(const struct trace *trace, const struct chosen *chosen, int picture)
{
    const struct trace_window window = trace_window(trace->timeline, (int64_t)options.span * 1000);
    draw(trace, window, picture);
    if (takes_output(options.output) || takes_output(options.picture) || takes_output(options.data))
        return;
    if (options.gantt)
        trace_gantt_write(trace, window, terminal_columns(), stdout);
    print_summary(trace->timeline, chosen);
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "trace",
        .about = "Record when reserved threads run, wait, and are throttled.",
        .operands = "[NAME...]",
        .options = option_table,
        .take = take};
    char **patterns = command_parse(&command, argc, argv, NULL);
    if (options.all && options.user != NULL)
        command_misused("--all and --user exclude each other");
    refuse_others();
    struct trace_source source;
    const struct trace_wish wish = {.patterns = patterns,
                                    .user = options.user,
                                    .all = options.all,
                                    .more = "--all means the threads of all users, and --user USER "
                                            "the threads of one user",
                                    .keep_pages = options.data != NULL};
    struct chosen chosen = trace_begin(&wish, &source);
    const int output = open_output(options.output), picture = open_output(options.picture),
              data = open_output(options.data);
    if (!source.knows_timers)
        command_say(
            "the kernel hides its addresses (kernel.kptr_restrict), so throttles are not shown");
    struct timeline timeline = record_all(&source, &chosen);
    struct trace trace = {.timeline = &timeline,
                          .labels = chosen.labels,
                          .recording = source.recording,
                          .none = source.recorder != NULL ? "swapper" : "other"};
    trace.records = recording_records(source.recording, &trace.record_count);
    if (trace.records == NULL || !timeline_build(&timeline, trace.records, trace.record_count))
        command_fail(EX_OSERR, "no memory");
    write_output(&trace, output);
    write_data(source.recorder, data);
    show(&trace, &chosen, picture);
    tell_losses(&trace);
    timeline_free(&timeline);
    trace_source_close(&source);
    if (!command_is_written())
        command_unwritten();
    return EX_OK;
}
