#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "bench.h"
#include "broker.h"
#include "client.h"
#include "samples.h"

static uint64_t wakeups(const struct broker *broker)
{
    return broker_sum(broker->pid, "voluntary_ctxt_switches:");
}

static void end(struct broker *broker)
{
    broker_stop(broker);
    broker_remove(broker);
}

/* ---- many clients at once ---- */

/* Runs the program of clients.c. */
static void run_clients(const struct bench *bench, const struct broker *broker, int seconds,
                        double figures[static 5])
{
    char command[PATH_MAX + 256];
    snprintf(command, sizeof command, "%s/bench/clients %s %d %d %d %d %d", bench->build,
             broker->specs, GROUP, CROWD, CROWD_USERS, 1000 / CROWD_USERS, seconds);
    FILE *said = popen(command, "re"); // NOLINT(cert-env33-c): its own words
    if (said == NULL ||
        fscanf(said, "%lf %lf %lf %lf %lf", &figures[0], &figures[1], &figures[2], &figures[3],
               &figures[4]) != 5 ||
        pclose(said) != 0)
        errx(EX_SOFTWARE, "%s", command);
}

static void bench_crowd(struct bench *bench)
{
    static const char heading[] = "1,000 clients of 50 users";
    struct broker broker;
    double figures[5];
    if (!is_wanted(bench, heading))
        return;
    broker_make(&broker, bench->where, "FP fp 1-50 all\n");
    broker_start(&broker, bench->build);
    run_clients(bench, &broker, 1, figures);
    uint64_t before = wakeups(&broker);
    run_clients(bench, &broker, bench->quick ? 2 : 10, figures);
    double each = (double)(wakeups(&broker) - before) / figures[4];
    end(&broker);
    printf(
        "%s, each with a spec pending: verdict after p50 %.0f us, p99 %.0f, max %.0f (x %.1f of p50), %.0f verdicts, %.2f wakeups of broker and parts for each\n",
        heading, figures[0], figures[2], figures[3], figures[3] / figures[0], figures[4], each);
    bench_keep(bench, json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "heading", heading, "p50",
                                figures[0], "p99", figures[2], "max", figures[3], "verdicts",
                                figures[4], "wakeups_each", each));
}

/* ---- an idle broker ---- */

enum { THREADS = 1000 };

static void *sleep_on(void *write_end)
{
    pid_t tid = gettid();
    (void)!write(*(const int *)write_end, &tid, sizeof tid);
    for (;;)
        (void)pause();
    return NULL;
}

/* Starts THREADS threads of USER's and reserves for each; writes to `said` when all are
 * attached. */
static void hold_threads(const struct broker *broker, int said)
{
    struct client client;
    char directory[192], name[32], spec[64];
    pthread_attr_t small;
    int ends[2];
    become_user(USER, GROUP);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(directory, sizeof directory, "%s/%d", broker->specs, USER);
    if (mkdir(directory, 0700) != 0 || pipe2(ends, O_CLOEXEC) != 0 ||
        pthread_attr_init(&small) != 0 || pthread_attr_setstacksize(&small, 65536) != 0)
        err(EX_CANTCREAT, "%s", directory);
    client_open(&client, directory);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pid_t tid;
        if (pthread_create(&thread, &small, sleep_on, &ends[1]) != 0 ||
            read(ends[0], &tid, sizeof tid) != (ssize_t)sizeof tid)
            err(EX_OSERR, "a thread");
        snprintf(name, sizeof name, "i%d.json", i);
        snprintf(spec, sizeof spec, "{\"priority\": 5, \"attach\": %d}", (int)tid);
        (void)client_put(&client, name, spec);
        if (!client_says(&client, "\"state\":\"attached\""))
            errx(EX_SOFTWARE, "%s", client.verdict);
    }
    (void)!write(said, "", 1);
    for (;;)
        (void)pause();
}

static void bench_idle(struct bench *bench)
{
    static const char heading[] = "idle, 1,000 threads attached";
    const unsigned seconds = bench->quick ? 5 : 60;
    struct broker broker;
    int ends[2];
    char byte;
    if (!is_wanted(bench, heading))
        return;
    broker_make(&broker, bench->where, "FP fp 1-50 all\n");
    broker_start(&broker, bench->build);
    if (pipe2(ends, O_CLOEXEC) != 0)
        err(EX_OSERR, "pipe");
    pid_t child = fork();
    if (child == 0)
        hold_threads(&broker, ends[1]);
    close(ends[1]);
    must_succeed(read(ends[0], &byte, 1) == 1 ? 0 : 1);
    close(ends[0]);
    /* the broker still tidies up after the last process, and its user's reader ends after two
     * seconds */
    (void)sleep(4);
    uint64_t before = wakeups(&broker);
    (void)sleep(seconds);
    uint64_t woken = wakeups(&broker) - before;
    kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    end(&broker);
    printf("%s: %llu wakeups of broker and parts in %u s\n", heading, (unsigned long long)woken,
           seconds);
    bench_keep(bench, json_pack("{s:s, s:I, s:i}", "heading", heading, "wakeups", (json_int_t)woken,
                                "seconds", (int)seconds));
}

/* ---- whole programs ---- */

/* Returns how long the program takes. Its output goes to /dev/null, and its status must be at most
 * `most`. */
static int64_t run_program(char *const words[], bool as_user, int most)
{
    int status = -1;
    int64_t begun = now();
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
        if (as_user)
            become_user(USER, GROUP);
        execvp(words[0], words);
        _exit(EX_UNAVAILABLE);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) > most)
        errx(EX_SOFTWARE, "%s %s ended with %d", words[0], words[3], status);
    return now() - begun;
}

/* Measures whole programs, one after the other in each round. */
static void bench_program(struct bench *bench, const char *heading, const char *lines,
                          const char *const options[], char *const theirs[])
{
    struct broker broker;
    char program[PATH_MAX];
    if (!is_wanted(bench, heading))
        return;
    broker_make(&broker, bench->where, lines);
    broker_start(&broker, bench->build);
    snprintf(program, sizeof program, "%s/bin/rtf-run", bench->build);
    char *const ours[] = {program, "--spool", broker.spool, (char *)options[0], (char *)options[1],
                          "--",    "true",    NULL};
    struct samples *samples = samples_shared(2);
    for (int round = 0; round < bench->rounds / 2; round++) {
        samples_add(&samples[0], run_program(ours, true, 0));
        samples_add(&samples[1], run_program(theirs, false, 0));
    }
    end(&broker);
    const struct summary run = samples_summary(&samples[0]), chrt = samples_summary(&samples[1]);
    printf("rtf-run %s %s -- true: p50 %.0f us, p99 %.0f; %s %s %s: p50 %.0f, p99 %.0f: x %.2f\n",
           options[0], options[1], run.p50, run.p99, theirs[0], theirs[1], theirs[2], chrt.p50,
           chrt.p99, run.p50 / chrt.p50);
    bench_keep(bench, json_pack("{s:s, s:f, s:f, s:f}", "heading", heading, "p50", run.p50,
                                "p50_chrt", chrt.p50, "ratio", run.p50 / chrt.p50));
    samples_free(samples, 2);
}

static void bench_programs(struct bench *bench)
{
    const char *const by_priority[] = {"--priority", "10"}, *const by_time[] = {"-T10ms",
                                                                                "-P100ms"};
    char *const fifo[] = {"chrt", "-f", "10", "true", NULL},
                *const deadline[] = {"chrt", "-d", "-T10000000", "-P100000000", "0", "true", NULL};
    bench_program(bench, "rtf-run against chrt", "FP fp 1-50 all\n", by_priority, fifo);
    bench_program(bench, "rtf-run against chrt, edf",
                  "EDF edf - all partition=global threshold=0.9\n", by_time, deadline);
}

/* A thread of a process that is to be attached. */
static void *rest(void *nothing)
{
    for (;;)
        (void)pause();
    return nothing;
}

static pid_t start_sleeper(int threads)
{
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC) != 0)
        err(EX_OSERR, "pipe");
    const pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        become_user(USER, GROUP);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (threads-- > 0)
            must_succeed(pthread_create(&thread, NULL, rest, NULL));
        (void)!write(ends[1], "", 1);
        (void)rest(NULL);
    }
    must_succeed(read(ends[0], &byte, 1) == 1 ? 0 : 1);
    close(ends[0]);
    close(ends[1]);
    return child;
}

static void stop_sleeper(pid_t sleeper)
{
    kill(sleeper, SIGKILL);
    (void)waitpid(sleeper, NULL, 0);
}

enum { COMMANDS = 13, WORDS = 12, MANY = 40 };
struct command {
    const char *called; /* NULL: this operation only tidies up */
    char *words[WORDS];
    bool as_root;
    int most; /* the doctor exits with 1 if it finds a problem of this machine */
};

static void time_commands(const struct command commands[], int count, struct samples *samples,
                          int rounds)
{
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++) {
            const int64_t took =
                run_program(commands[i].words, !commands[i].as_root, commands[i].most);
            if (commands[i].called != NULL)
                samples_add(&samples[i], took);
        }
}

static void tell_commands(struct bench *bench, const char *heading, const struct command commands[],
                          int count, struct samples *samples)
{
    for (int i = 0; i < count; i++) {
        if (commands[i].called == NULL)
            continue;
        const struct summary took = samples_summary(&samples[i]);
        printf("rtf %s: p50 %.0f us, p99 %.0f\n", commands[i].called, took.p50, took.p99);
        bench_keep(bench, json_pack("{s:s, s:s, s:f, s:f}", "heading", heading, "command",
                                    commands[i].called, "p50", took.p50, "p99", took.p99));
    }
}

/* Measures the commands of rtf(1) as a user types them, one after the other in each round. */
static void bench_commands(struct bench *bench)
{
    static const char heading[] = "commands of rtf";
    struct broker broker;
    char program[PATH_MAX], tid[16], many[16], config[sizeof broker.top + 8];
    if (!is_wanted(bench, heading))
        return;
    broker_make(&broker, bench->where, "EDF edf - all partition=global threshold=0.9\n");
    broker_start(&broker, bench->build);
    const pid_t sleeper = start_sleeper(0), crowd = start_sleeper(MANY - 1);
    snprintf(program, sizeof program, "%s/bin/rtf", bench->build);
    snprintf(config, sizeof config, "%s/etc", broker.top);
    snprintf(tid, sizeof tid, "%d", (int)sleeper);
    snprintf(many, sizeof many, "%d", (int)crowd);
    const struct command commands[COMMANDS] = {
        {"declare",
         {program, "--spool", broker.spool, "declare", "cam", "-T1ms", "-P20ms"},
         false,
         0},
        {"change", {program, "--spool", broker.spool, "change", "cam", "runtime=2ms"}, false, 0},
        {"attach", {program, "--spool", broker.spool, "attach", "cam", tid}, false, 0},
        {"show", {program, "--spool", broker.spool, "show", "cam"}, false, 0},
        {"what-if", {program, "--spool", broker.spool, "what-if", "-T1ms", "-P20ms"}, false, 0},
        {"log", {program, "--spool", broker.spool, "log"}, false, 0},
        {"plugins", {program, "--spool", broker.spool, "plugins"}, false, 0},
        {"detach", {program, "--spool", broker.spool, "detach", "cam"}, false, 0},
        {"release", {program, "--spool", broker.spool, "release", "cam"}, false, 0},
        {"attach -a, 40 threads",
         {program, "--spool", broker.spool, "attach", "app", "-T100us", "-P100ms", "-a", "-p",
          many},
         false,
         0},
        {NULL, {program, "--spool", broker.spool, "release", "--all"}, false, 0},
        {"doctor, a user's",
         {program, "--spool", broker.spool, "doctor", "--config", config},
         false,
         1},
        {"doctor, root's",
         {program, "--spool", broker.spool, "doctor", "--config", config},
         true,
         1}};
    struct samples *samples = samples_shared(COMMANDS);
    time_commands(commands, COMMANDS, samples, bench->rounds / 10);
    stop_sleeper(sleeper);
    stop_sleeper(crowd);
    end(&broker);
    tell_commands(bench, heading, commands, COMMANDS, samples);
    samples_free(samples, COMMANDS);
}

enum { IN_FORCE = 8 };

static void declare_attached(char *program, const struct broker *broker,
                             pid_t sleepers[static IN_FORCE])
{
    char name[16], tid[16];
    char *const declare[] = {program,   "--spool", (char *)broker->spool, "declare", name, "-T1ms",
                             "-P100ms", NULL},
                *const attach[] = {program, "--spool", (char *)broker->spool, "attach", name,
                                   tid,     NULL};
    for (int i = 0; i < IN_FORCE; i++) {
        sleepers[i] = start_sleeper(0);
        snprintf(name, sizeof name, "r%d", i);
        snprintf(tid, sizeof tid, "%d", (int)sleepers[i]);
        (void)run_program(declare, true, 0);
        (void)run_program(attach, true, 0);
    }
}

/* The broker that rtf restart has started is not a child of this process. */
static void end_restarted(const struct bench *bench, const struct broker *broker)
{
    char command[PATH_MAX + 256];
    int process = 0;
    snprintf(command, sizeof command, "%s/libexec/rtf-brokers --spool %s", bench->build,
             broker->spool);
    FILE *said = popen(command, "re"); // NOLINT(cert-env33-c): its own words
    if (said == NULL || fscanf(said, "%d", &process) != 1 || pclose(said) != 0)
        errx(EX_SOFTWARE, "%s", command);
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, process, 0), .events = POLLIN};
    must_succeed(ended.fd < 0 || kill(process, SIGTERM) != 0 || poll(&ended, 1, -1) != 1);
    close(ended.fd);
    broker_remove(broker);
}

/* Measures rtf restart as root, with reservations and attached threads: from the check of the
 * configuration to a broker that serves. */
static void bench_restart(struct bench *bench)
{
    static const char heading[] = "rtf restart";
    struct broker broker;
    char program[PATH_MAX];
    pid_t sleepers[IN_FORCE];
    if (!is_wanted(bench, heading))
        return;
    broker_make(&broker, bench->where,
                "EDF edf - all partition=global threshold=0.9\nFP fp 11-20 all\nRR rr 1-10 all\n");
    broker_start(&broker, bench->build);
    snprintf(program, sizeof program, "%s/bin/rtf", bench->build);
    declare_attached(program, &broker, sleepers);
    char *const restart[] = {program, "--spool", broker.spool, "restart", NULL};
    struct samples *samples = samples_shared(1);
    for (int round = 0; round < (bench->quick ? 5 : 20); round++)
        samples_add(samples, run_program(restart, false, 0));
    (void)waitpid(broker.pid, NULL, 0);
    for (int i = 0; i < IN_FORCE; i++) {
        kill(sleepers[i], SIGKILL);
        (void)waitpid(sleepers[i], NULL, 0);
    }
    end_restarted(bench, &broker);
    const struct summary took = samples_summary(samples);
    printf("rtf restart, %d reservations in force: p50 %.0f us, p99 %.0f\n", IN_FORCE, took.p50,
           took.p99);
    bench_keep(bench,
               json_pack("{s:s, s:f, s:f}", "heading", heading, "p50", took.p50, "p99", took.p99));
    samples_free(samples, 1);
}

void bench_others(struct bench *bench)
{
    printf("\nOthers.\n");
    bench_programs(bench);
    bench_commands(bench);
    bench_restart(bench);
    bench_crowd(bench);
    bench_idle(bench);
}
