/* Analyses the recording of an experiment. `analyse DIR` analyses a run; `import EXPERIMENT.json
 * MARKS.csv -o DIR` analyses marks of another recorder; `marks DIR` prints the recorded marks as
 * lines of text. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "command-line.h"
#include "experiment.h"
#include "experiment-file.h"
#include "marks.h"
#include "measure.h"
#include "result.h"
#include "units.h"

enum work { ANALYSE, IMPORT, MARKS, WORKS };

struct options {
    enum work work;
    bool import, compat, json, quiet;
    uint64_t horizon; /* us; 0: the default, a tenth of the duration */
    const char *output;
    char **arguments;
};

static const struct command_option option_table[] = {
    {'o', "output", "DIR", "Where the results of an import go"},
    {0, "horizon", "TIME",
     "The interval over which the linear bounds are fitted: 500ms, 2s (default: a tenth of the duration)"},
    {0, "compat", NULL, "Read the experiment as the paper's own tool does"},
    {0, "json", NULL, "Print result.json instead of a table"},
    {'q', "quiet", NULL, "Print nothing"},
    {0}};

static void take(void *context, const char *name, const char *value)
{
    struct options *options = context;
    if (strcmp(name, "output") == 0)
        options->output = value;
    else if (strcmp(name, "horizon") == 0 && !parse_time(value, &options->horizon))
        command_wrong(
            "--horizon %s: a time must be a whole number with a unit, such as 500ms or 2s",
            command_typed(value));
    else if (strcmp(name, "compat") == 0)
        options->compat = true;
    else if (strcmp(name, "json") == 0)
        options->json = true;
    else if (strcmp(name, "quiet") == 0)
        options->quiet = true;
}

static void check_usage(const struct options *options)
{
    const int wanted = options->import ? 2 : 1;
    int count = 0;
    while (options->arguments[count] != NULL)
        count++;
    if (count > wanted)
        command_misused("too many arguments");
    if (count < wanted)
        command_misused("%s", options->import ? "EXPERIMENT.json and MARKS.csv are needed"
                                              : "DIR is missing");
    if (options->import && options->output == NULL)
        command_misused("-o DIR is missing");
    if (!options->import && options->output != NULL)
        command_misused("-o is for import: results are written beside the marks");
}

static int fail(int status, const char *file, const char *why)
{
    fprintf(stderr, "rtf-muse: %s%s%s\n", file, file[0] == '\0' ? "" : ": ", why);
    return status;
}

static int fail_errno(int status, const char *file)
{
    return fail(status, file, strerror(errno));
}

/* ---- marks ---- */

struct text {
    char *at;
    size_t length;
};

static bool map_file(int directory, const char *name, struct text *text)
{
    struct stat stat;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && fstat(fd, &stat) == 0;
    *text = (struct text){0};
    if (good && stat.st_size > 0) {
        text->at = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        good = text->at != MAP_FAILED;
        text->length = good ? (size_t)stat.st_size : 0;
    }
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return good;
}

static void unmap(struct text *text)
{
    if (text->length > 0)
        munmap(text->at, text->length);
}

static int read_lines(int directory, const char *name, struct records *records)
{
    struct text text;
    char why[MARKS_WHY];
    if (!map_file(directory, name, &text))
        return fail_errno(EX_NOINPUT, name);
    bool good = records_parse(text.at == NULL ? "" : text.at, text.length, records, why);
    unmap(&text);
    return good ? EX_OK : fail(EX_DATAERR, name, why);
}

/* Reads the files marks/N that the load program wrote. If a file is missing, the thread never
 * ran. */
static int read_logs(int directory, struct records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        char name[32];
        struct text text;
        struct mark mark;
        snprintf(name, sizeof name, "marks/%zu", i + 1);
        if (!map_file(directory, name, &text)) {
            if (errno == ENOENT)
                continue;
            return fail_errno(EX_NOINPUT, name);
        }
        bool good = true;
        for (size_t at = 0; good && at + sizeof mark <= text.length; at += sizeof mark) {
            memcpy(&mark, text.at + at, sizeof mark);
            good = records_add(&records->threads[i], mark);
        }
        unmap(&text);
        if (!good)
            return fail(EX_OSERR, name, "out of memory");
    }
    return EX_OK;
}

static int read_marks(int directory, const struct options *options, struct records *records)
{
    char why[MARKS_WHY];
    int status;
    if (options->import)
        status = read_lines(AT_FDCWD, options->arguments[1], records);
    else if (faccessat(directory, "marks.csv", F_OK, 0) == 0)
        status = read_lines(directory, "marks.csv", records);
    else
        status = read_logs(directory, records);
    if (status != EX_OK)
        return status;
    return records_check(records, why)
               ? EX_OK
               : fail(EX_DATAERR, options->import ? options->arguments[1] : "marks", why);
}

/* ---- files kept beside the results ---- */

static bool copy_to(int directory, const char *from, const char *name)
{
    struct text text;
    if (!map_file(AT_FDCWD, from, &text))
        return false;
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t done = 0;
    bool good = fd >= 0;
    while (good && done < text.length) {
        ssize_t written = write(fd, text.at + done, text.length - done);
        good = written > 0;
        done += good ? (size_t)written : 0;
    }
    int error = errno;
    if (fd >= 0 && close(fd) != 0)
        good = false;
    unmap(&text);
    errno = error;
    return good;
}

static int keep_sources(int directory, const struct options *options)
{
    static const char *const names[] = {"experiment.json", "marks.csv"};
    char aside[32];
    for (int i = 0; i < 2; i++) {
        snprintf(aside, sizeof aside, ".%s", names[i]);
        if (!copy_to(directory, options->arguments[i], aside) ||
            renameat(directory, aside, directory, names[i]) != 0)
            return fail_errno(EX_IOERR, names[i]);
    }
    return EX_OK;
}

/* ---- commands ---- */

static int print_marks(const struct records *records)
{
    puts("thread,start_us,cpu,job");
    for (size_t i = 0; i < records->count; i++)
        for (size_t j = 0; j < records->threads[i].count; j++) {
            const struct mark *mark = &records->threads[i].at[j];
            printf("%zu,%lld.%03lld,%u,%u\n", i + 1, (long long)(mark->time / 1000),
                   (long long)(mark->time % 1000), mark->cpu, mark->job);
        }
    return fflush(stdout) == 0 && !ferror(stdout) ? EX_OK : fail_errno(EX_IOERR, "standard output");
}

/* Reads the load program's report about its run (run.json); NULL: there is no report. */
static json_t *read_run(int directory)
{
    struct text text;
    if (!map_file(directory, "run.json", &text))
        return NULL;
    json_t *run = text.length == 0 ? NULL : json_loadb(text.at, text.length, 0, NULL);
    unmap(&text);
    return run;
}

/* Sets the nominal length of a thread's jobs to the mean CPU time of its jobs, if the experiment
 * asks for this. */
static void take_nominal(struct experiment *experiment, const json_t *run)
{
    for (size_t i = 0; i < experiment->thread_count; i++) {
        const json_t *thread =
            json_object_get(json_object_get(run, "threads"), experiment->threads[i].name);
        double time = json_number_value(json_object_get(thread, "cpu_time")),
               jobs = json_number_value(json_object_get(thread, "jobs"));
        if (experiment->threads[i].nominal_cpu_time && time > 0 && jobs > 0)
            experiment->threads[i].nominal = (int64_t)(time / jobs * 1e9 + 0.5);
    }
}

static int write_results(int directory, const struct options *options,
                         const struct experiment *experiment, const struct measurement *measurement,
                         const json_t *run)
{
    char why[RESULT_WHY];
    json_t *result = result_make(experiment, measurement, run);
    if (result == NULL)
        return fail(EX_OSERR, "", "out of memory");
    bool good = result_write(directory, experiment, measurement, result, why);
    if (!options->quiet && options->json)
        good = json_dumpf(result, stdout, JSON_INDENT(1)) == 0 && putchar('\n') != EOF && good;
    else if (!options->quiet)
        result_print(result);
    json_decref(result);
    if (!options->quiet && (fflush(stdout) != 0 || ferror(stdout)))
        return fail_errno(EX_IOERR, "standard output");
    return good ? EX_OK : fail(EX_IOERR, options->output, why);
}

static int measure_and_write(int directory, const struct options *options,
                             struct experiment *experiment, const struct records *records)
{
    struct measurement measurement = {0};
    char why[MARKS_WHY];
    const int64_t horizon =
        options->horizon > 0 ? (int64_t)options->horizon * 1000 : experiment->horizon;
    json_t *run = options->import ? NULL : read_run(directory);
    int status = EX_OK;
    take_nominal(experiment, run);
    if (!measure(experiment, records, horizon, &measurement, why))
        status = fail(EX_DATAERR, "marks", why);
    if (status == EX_OK && options->import)
        status = keep_sources(directory, options);
    if (status == EX_OK)
        status = write_results(directory, options, experiment, &measurement, run);
    json_decref(run);
    measurement_free(&measurement);
    return status;
}

static int analyse(int directory, const struct options *options, struct experiment *experiment)
{
    struct records records;
    if (!records_make(&records, experiment->thread_count))
        return fail(EX_OSERR, "", "out of memory");
    int status = read_marks(directory, options, &records);
    if (status == EX_OK && options->work == MARKS)
        status = print_marks(&records);
    else if (status == EX_OK)
        status = measure_and_write(directory, options, experiment, &records);
    records_free(&records);
    return status;
}

/* True if the load program was run with --compat, according to run.json. */
static bool was_compat(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/run.json", directory);
    json_t *run = json_load_file(path, 0, NULL);
    bool compat = json_is_true(json_object_get(run, "compat"));
    json_decref(run);
    return compat;
}

static int open_and_analyse(struct options *options)
{
    struct experiment experiment;
    char why[EXPERIMENT_WHY], path[4096];
    if (!options->import) {
        options->output = options->arguments[0];
        snprintf(path, sizeof path, "%.4000s/experiment.json", options->arguments[0]);
        options->compat = options->compat || was_compat(options->arguments[0]);
    }
    const char *file = options->import ? options->arguments[0] : path;
    int status = EX_OK;
    if (!experiment_read(file, READ_TO_ANALYSE, options->compat, &experiment, why))
        status = fail(access(file, R_OK) == 0 ? EX_DATAERR : EX_NOINPUT, file, why);
    if (status == EX_OK && options->import && mkdir(options->output, 0777) != 0 && errno != EEXIST)
        status = fail_errno(EX_CANTCREAT, options->output);
    if (status == EX_OK) {
        int directory = open(options->output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        status = directory < 0 ? fail_errno(EX_NOINPUT, options->output)
                               : analyse(directory, options, &experiment);
        if (directory >= 0)
            close(directory);
    }
    experiment_free(&experiment);
    return status;
}

static const struct {
    const char *name, *operands, *about;
    const struct command_option *options;
} works[WORKS] = {
    [ANALYSE] = {"analyse", "analyse [OPTION...] DIR",
                 "Analyse what was recorded in DIR, and write the results there.", option_table},
    [IMPORT] = {"import", "import [OPTION...] EXPERIMENT.json MARKS.csv",
                "Analyse marks of another recorder, lines of thread,start_us,cpu,job.",
                option_table},
    [MARKS] = {"marks", "marks [OPTION...] DIR",
               "Print the marks that were recorded in DIR, as lines of thread,start_us,cpu,job.",
               option_table + 2}};

static enum work work_of(const char *word)
{
    for (enum work work = ANALYSE; word != NULL && work < WORKS; work++)
        if (strcmp(word, works[work].name) == 0)
            return work;
    fprintf(stderr,
            "rtf-muse: analyse DIR, marks DIR, or import EXPERIMENT.json MARKS.csv -o DIR\n");
    exit(EX_USAGE);
}

int main(int argc, char **argv)
{
    struct options options = {.work = work_of(argc < 2 ? NULL : argv[1])};
    const struct command command = {.name = "muse",
                                    .program = "rtf-muse",
                                    .about = works[options.work].about,
                                    .operands = works[options.work].operands,
                                    .options = works[options.work].options,
                                    .take = take};
    options.import = options.work == IMPORT;
    options.arguments = command_parse(&command, argc - 1, argv + 1, &options);
    check_usage(&options);
    return open_and_analyse(&options);
}
