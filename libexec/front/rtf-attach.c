/* rtf-attach(1): attaches threads of a running program: (1) one thread to a reservation that
 * exists; (2) one or more threads, each to a new reservation of its own, either all of them or
 * none; or (3) the present and future threads of a process, by rules. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "command-line.h"
#include "needs.h"
#include "request/affinity.h"
#include "request/declare.h"
#include "request/request.h"
#include "needs-rules.h"
#include "units.h"

struct options {
    struct needs needs;
    const char *file, *pattern; /* pattern of --thread: names of threads; NULL: any name */
    uint64_t timeout, process;  /* timeout in us; process of -p, 0: none */
    bool all, json, verbose, replace;
};

static const struct command_option table[] = {
    COMMAND_NEEDS,
    {'f', "file", "FILE",
     "The spec of each thread, or rules for the threads of -p, are in this file; - is standard input"},
    {'p', "pid", "PID", "Attach the main thread of this process"},
    {'a', "all-threads", NULL, "With -p: attach all threads of the process"},
    {0, "thread", "GLOB", "With -a: only threads whose names match this pattern"},
    {0, "replace", NULL, "If another thread has the reservation NAME, detach that thread"},
    {0, "timeout", "TIME", "Wait no longer than this for each answer (default: 30s)"},
    {0, "json", NULL, "Print the answers, a line of JSON each"},
    {'v', "verbose", NULL, "Say what is granted"},
    {0}};

static void take(void *context, const char *name, const char *value)
{
    struct options *options = context;
    if (strcmp(name, "file") == 0)
        options->file = value;
    else if (strcmp(name, "pid") == 0)
        options->process = command_number("-p", value);
    else if (strcmp(name, "all-threads") == 0)
        options->all = true;
    else if (strcmp(name, "thread") == 0)
        options->pattern = value;
    else if (strcmp(name, "timeout") == 0)
        options->timeout = command_wait("--timeout", value);
    else if (strcmp(name, "replace") == 0)
        options->replace = true;
    else if (strcmp(name, "json") == 0)
        options->json = true;
    else if (strcmp(name, "verbose") == 0)
        options->verbose = true;
    else
        (void)needs_take(&options->needs, name, value);
}

/* Says why the thread is not attached; with -v says what is granted; with --json prints the
 * verdict. False: standard output cannot be written. */
static bool tell(const struct request *request, const struct options *options, const char *name)
{
    if (request->status != EX_OK)
        request_say(request, name);
    else if (options->verbose)
        request_say_grant(request);
    return !options->json || request_print(request);
}

/* ---- one thread, to a reservation that exists ---- */

static bool find_file(const struct request *request, const char *name, struct stat *status,
                      char file[static CLIENT_NAME_MAX + 8])
{
    snprintf(file, CLIENT_NAME_MAX + 8, "%s.tid", name);
    return fstatat(request->client.directory, file, status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Removes NAME.tid if the file still has this inode, so that a thread that could not be attached
 * now is not attached later. */
static void let_go(const struct request *request, const char *name, ino_t placed)
{
    char file[CLIENT_NAME_MAX + 8];
    struct stat status;
    if (placed != 0 && find_file(request, name, &status, file) && status.st_ino == placed)
        unlinkat(request->client.directory, file, 0);
}

/* Writes the thread's id to NAME.tid. Returns the inode. */
static ino_t put_file(struct request *request, const char *name, pid_t thread)
{
    char file[CLIENT_NAME_MAX + 8];
    struct stat status;
    if (client_attach(&request->client, name, thread) != CLIENT_OK)
        command_fail(EX_IOERR, "cannot write %s", request->client.why);
    return find_file(request, name, &status, file) ? status.st_ino : 0;
}

/* Puts the thread into NAME.tid, or into the key `attach` of the spec if the spec has that key
 * already. The broker detaches the thread that had the reservation. Returns the inode of NAME.tid;
 * 0: the spec names the thread. */
static ino_t put_thread(struct request *request, const char *name,
                        const struct request_spec *former, pid_t thread)
{
    const json_t *attach = json_object_get(former->json, "attach");
    if (attach == NULL || json_is_null(attach))
        return put_file(request, name, thread);
    json_object_set_new(former->json, "attach", client_thread_key(thread));
    request_change(request, name, former, former->json);
    return 0;
}

/* True if the spec states the CPUs: then the user needs no message that the affinity has
 * changed. */
static bool says_where(const json_t *spec)
{
    return json_is_string(json_object_get(spec, "cpus"));
}

static void attach_to(struct request *request, const struct options *options, const char *name,
                      const struct request_spec *former, pid_t thread)
{
    const struct affinity before = affinity_of(thread);
    const ino_t placed = put_thread(request, name, former, thread);
    if (!(placed != 0 ? request_wait_for_files(request, name) : request_wait(request)))
        let_go(request, name, placed);
    else if (!says_where(former->json))
        affinity_tell(thread, &before);
    request->name = name;
    if (!tell(request, options, name)) {
        let_go(request, name, placed);
        command_unwritten();
    }
}

/* Refuses if another thread has the reservation already, so that a mistyped name does not take the
 * reservation from that thread. In another pid namespace the verdict's thread id cannot be compared
 * with ours. */
static void check_free(const struct request *request, const char *name, pid_t thread)
{
    const pid_t now = request_thread(request, name);
    if (now > 0 && (now != thread || !client_in_first_namespace()))
        command_fail(
            EX_TEMPFAIL,
            "thread %d has the reservation %s: 'rtf detach %s' lets it go, --replace puts another thread in its place",
            (int)now, name, name);
}

static void attach_one(struct request *request, const struct options *options, const char *name,
                       pid_t thread)
{
    request_open(request, command_spool(), options->timeout, false);
    struct request_spec former = request_read(request, name);
    if (needs_rules_are_in(former.json))
        command_fail(EX_USAGE, "%s is a program file: its rules say which threads are attached",
                     name);
    if (!options->replace)
        check_free(request, name, thread);
    if (request_connect(request))
        attach_to(request, options, name, &former, thread);
    else
        request_say(request, name);
    request_free_spec(&former);
}

/* ---- threads, each to a reservation of its own ---- */

enum { MANY = 65536 };

/* The specs that are in the spool. take_back removes these specs, however the process ends, unless
 * all threads are attached. */
static struct {
    struct request *request;
    struct placed {
        pid_t thread;
        char name[CLIENT_NAME_MAX + 1], token[CLIENT_TOKEN];
        ino_t inode;
        struct affinity before;
    } * all;
    size_t count, told; /* count: how many specs there are; told: how many answers have been read */
    bool says_where;    /* the spec states the CPUs; all threads have the same spec */
} group;

static void take_back(void)
{
    for (size_t i = 0; i < group.count; i++)
        client_withdraw(&group.request->client, group.all[i].name, group.all[i].inode);
    group.count = 0;
}

static bool is_placed(pid_t thread)
{
    for (size_t i = 0; i < group.count; i++)
        if (group.all[i].thread == thread)
            return true;
    return false;
}

static struct placed *new_place(pid_t thread, const char *base)
{
    char name[CLIENT_NAME_MAX + 32];
    struct placed *more =
        group.count >= MANY ? NULL : reallocarray(group.all, group.count + 1, sizeof *group.all);
    if (more == NULL)
        command_fail(EX_OSERR, "there are more than %d threads, or not enough memory", MANY);
    group.all = more;
    snprintf(name, sizeof name, "%s-%d", base, (int)thread);
    struct placed *place = &more[group.count];
    *place = (struct placed){.thread = thread, .before = affinity_of(thread)};
    snprintf(place->name, sizeof place->name, "%s", command_name(name));
    return place;
}

static void put_one(struct request *request, json_t *spec, const char *base, pid_t thread)
{
    struct placed *place = new_place(thread, base);
    json_object_set_new(spec, "attach", client_thread_key(thread));
    json_object_set_new(spec, "lifetime", json_string("thread"));
    if (!request_put(request, place->name, spec))
        command_fail(EX_CANTCREAT, "%s exists already: 'rtf release %s' ends it", place->name,
                     place->name);
    snprintf(place->token, sizeof place->token, "%s", request->token);
    place->inode = request->inode;
    group.count++;
}

/* Waits for one answer. A refusal removes all specs and ends the process. */
static void await_one(struct request *request, const struct options *options,
                      const struct placed *place)
{
    request->name = place->name;
    request->inode = place->inode;
    snprintf(request->token, sizeof request->token, "%s", place->token);
    const bool is_granted = request_wait(request);
    if (!is_granted) {
        take_back();
        /* a signal that has come since request_hold_signals ends this process here */
        request_let_signals(request);
    }
    if (!tell(request, options, place->name)) {
        take_back();
        command_unwritten();
    }
    if (!is_granted)
        exit(request->status);
    if (!group.says_where)
        affinity_tell(place->thread, &place->before);
}

/* Puts all specs into the spool before it waits for the first answer, so that the broker can handle
 * the specs meanwhile. */
static void attach_threads(struct request *request, const struct options *options, json_t *spec,
                           const char *base, const pid_t *threads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_one(request, spec, base, threads[i]);
    for (; group.told < group.count; group.told++)
        await_one(request, options, &group.all[group.told]);
}

/* True if the thread's name matches the pattern; pattern NULL: any name matches. */
static bool is_called(const char *directory, const char *thread, const char *pattern)
{
    char path[320], comm[64] = "";
    snprintf(path, sizeof path, "%s/%s/comm", directory, thread);
    FILE *file = fopen(path, "re");
    const size_t length = file == NULL ? 0 : fread(comm, 1, sizeof comm - 1, file);
    if (file == NULL)
        return false;
    fclose(file);
    size_t kept = 0;
    /* a name may have line feeds, which the pattern does not see */
    for (size_t i = 0; i < length; i++)
        if (comm[i] != '\n')
            comm[kept++] = comm[i];
    comm[kept] = '\0';
    return pattern == NULL || fnmatch(pattern, comm, 0) == 0;
}

/* Finds the threads of the process whose names match the pattern, except threads that have a spec
 * in `group` already. Returns the number of threads; the caller frees *threads. */
static size_t find_threads(const struct options *options, pid_t **threads)
{
    char directory[48];
    size_t count = 0;
    uint64_t thread;
    snprintf(directory, sizeof directory, "/proc/%llu/task", (unsigned long long)options->process);
    DIR *tasks = opendir(directory);
    for (const struct dirent *task;
         tasks != NULL && count < MANY && (task = readdir(tasks)) != NULL;) {
        if (!parse_number(task->d_name, INT32_MAX, &thread) || is_placed((pid_t)thread) ||
            !is_called(directory, task->d_name, options->pattern))
            continue;
        pid_t *more = reallocarray(*threads, count + 1, sizeof **threads);
        if (more == NULL)
            command_fail(EX_OSERR, "no memory");
        *threads = more;
        more[count++] = (pid_t)thread;
    }
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

static _Noreturn void fail_unmatched(const struct options *options)
{
    command_fail(EX_NOINPUT, "process %llu has no thread whose name matches",
                 (unsigned long long)options->process);
}

/* Attaches all threads of the process, and then the threads that the process has started
 * meanwhile. */
static void attach_all(struct request *request, const struct options *options, json_t *spec,
                       const char *base)
{
    enum { ROUNDS = 5 };
    pid_t *threads = NULL;
    size_t count = find_threads(options, &threads);
    if (count == 0)
        fail_unmatched(options);
    for (int round = 0; round < ROUNDS && count > 0; round++) {
        attach_threads(request, options, spec, base, threads, count);
        count = find_threads(options, &threads);
    }
    command_say(
        "%zu thread%s of process %llu %s attached; a thread that the process starts from now on is ordinary",
        group.count, group.count == 1 ? "" : "s", (unsigned long long)options->process,
        group.count == 1 ? "is" : "are");
    free(threads);
}

static void attach_each(struct request *request, struct options *options, const char *base,
                        json_t *spec, const pid_t *threads, size_t count)
{
    request_open(request, command_spool(), options->timeout, true);
    group.request = request;
    group.says_where = says_where(spec);
    if (atexit(take_back) != 0)
        command_fail(EX_OSERR, "no memory");
    request_hold_signals(request);
    if (options->all)
        attach_all(request, options, spec, base);
    else
        attach_threads(request, options, spec, base, threads, count);
    group.count = 0; /* take_back removes no spec */
    request_let_signals(request);
}

/* ---- the threads of a process, by rules ---- */

static void check_rules(const struct options *options)
{
    if (options->process == 0)
        command_misused("a file with rules for threads needs -p PID");
    if (needs_are_stated(&options->needs) || options->pattern != NULL)
        command_misused(
            "--thread and options for needs, such as -T, cannot stand beside a file with rules for threads: the rules state all needs");
}

/* The rules stay in force until the process ends, or until rtf release. */
static int attach_by_rules(const struct options *options, const char *name, json_t *rules)
{
    const struct declaration declaration = {.name = name,
                                            .spec = rules,
                                            .timeout = options->timeout,
                                            .json = options->json,
                                            .verbose = options->verbose};
    needs_rules_name_process(rules, client_thread_key((pid_t)options->process));
    return declare(&declaration);
}

/* ---- the command line ---- */

static pid_t take_thread(const char *word)
{
    uint64_t thread;
    if (!parse_number(word, INT32_MAX, &thread))
        command_misused("%s is not a thread id", command_typed(word));
    return (pid_t)thread;
}

static void check(const struct options *options, size_t count)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%llu", (unsigned long long)options->process);
    if (options->pattern != NULL && options->pattern[0] != '\0' && !options->all)
        command_misused("--thread needs -a");
    if (options->all && options->process == 0)
        command_misused("-a needs -p PID");
    if (options->process != 0 && count > 0)
        command_misused("-p and thread ids exclude each other");
    if (options->process != 0 && access(path, F_OK) != 0)
        command_fail(EX_NOINPUT, "there is no process %llu", (unsigned long long)options->process);
    if (options->process == 0 && count == 0)
        command_misused("a thread id or -p PID is missing");
}

/* Returns the threads of the command line, or the main thread of -p. The caller frees the array. */
static pid_t *take_threads(const struct options *options, char **words, size_t *count)
{
    size_t most = 1;
    while (words[most - 1] != NULL)
        most++;
    pid_t *threads = calloc(most, sizeof *threads);
    if (threads == NULL)
        command_fail(EX_OSERR, "no memory");
    for (*count = 0; words[*count] != NULL; ++*count)
        threads[*count] = take_thread(words[*count]);
    check(options, *count);
    if (options->process != 0 && !options->all)
        threads[(*count)++] = (pid_t)options->process;
    return threads;
}

/* Attaches the threads, each to a spec of its own. */
static int attach_by_specs(struct options *options, const char *name, json_t *spec,
                           const pid_t *threads, size_t count)
{
    struct request request;
    if (!needs_are_stated(&options->needs) && options->file == NULL && !options->all && count == 1)
        attach_one(&request, options, name, threads[0]);
    else if (needs_are_stated(&options->needs) || options->file != NULL)
        attach_each(&request, options, name, spec, threads, count);
    else
        command_misused("say what each thread needs: -T, -P and so on, or -f FILE");
    request_close(&request);
    return request.status;
}

/* Returns the rules for the threads: the rules of the file, or with -a the needs as one rule for
 * all threads. NULL: no rule can state these needs, so each thread gets a spec of its own. */
static json_t *rules_of(struct options *options, json_t *spec)
{
    pid_t *threads = NULL;
    if (needs_rules_are_in(spec)) {
        check_rules(options);
        return json_incref(spec);
    }
    needs_lay_over(&options->needs, spec);
    if (!options->all || json_object_size(spec) == 0)
        return NULL;
    if (find_threads(options, &threads) == 0)
        fail_unmatched(options);
    free(threads);
    return needs_rules_for_all(spec, options->pattern);
}

static int attach(struct options *options, const char *name, char **words)
{
    size_t count;
    pid_t *threads = take_threads(options, words, &count);
    json_t *spec = needs_read_spec(options->file), *rules = rules_of(options, spec);
    const int status = rules != NULL ? attach_by_rules(options, name, rules)
                                     : attach_by_specs(options, name, spec, threads, count);
    json_decref(rules);
    json_decref(spec);
    free(threads);
    return status;
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "attach",
        .about =
            "Attach threads of a running program: one to a reservation that exists, or each to a new one of its own, all of them or none.",
        .operands =
            "NAME TID | NAME [NEEDS] TID... |\n                  NAME [NEEDS] -p PID [-a] | NAME -f RULES -p PID",
        .options = table,
        .needs = needs_options,
        .take = take};
    struct options options = {.timeout = REQUEST_TIMEOUT};
    char **operands = command_parse(&command, argc, argv, &options);
    if (operands[0] == NULL)
        command_misused("the name of the reservation is missing");
    const char *name = command_name(operands[0]);
    return attach(&options, name, operands + 1);
}
