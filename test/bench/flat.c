#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "broker.h"
#include "client.h"
#include "samples.h"

/* the CPUs need not exist, because nothing is attached */
static const struct kind {
    const char *name, *plugins, *spec, *other;
} kinds[] = {
    {"fp", "FP fp 1-50 %s\n", "{\"priority\": 5}", "{\"priority\": 6}"},
    {"rr", "RR rr 1-50 %s\n", "{\"priority\": 5}", "{\"priority\": 6}"},
    {"rm", "RM rm 1-50 %s\n", "{\"runtime\": 2, \"period\": \"1s\"}",
     "{\"runtime\": 2, \"period\": \"2s\"}"},
    {"edf", "EDF edf - %s partition=unthrottled threshold=0.9\n",
     "{\"runtime\": 2, \"period\": \"1s\"}", "{\"runtime\": 2, \"period\": \"2s\"}"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct size {
    const char *cpus;
    int cpu_count, present;
    bool quick;
} sizes[] = {
    {"0-1", 2, 1000, true},         {"0-1", 2, 4096, false},         {"0-1", 2, 10000, false},
    {"0-1", 2, 100000, false},      {"0", 1, 10000, false},          {"0-63", 64, 10000, false},
    {"0-1023", 1024, 10000, false}, {"0-1023", 1024, 100000, false},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

enum operation { CREATE, CHANGE, RELEASE, OPERATIONS };
static const char *const operation_names[] = {"create", "change", "release"};
enum { EMPTY, FULL, BROKERS };

/* ---- many specs ---- */

static int verdicts_in(const char *directory)
{
    int count = 0;
    DIR *listing = opendir(directory);
    for (const struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;)
        count += strstr(entry->d_name, ".verdict") != NULL;
    if (listing != NULL)
        closedir(listing);
    return count;
}

/* Returns the number of verdicts; counts all of them anew if events were lost. */
static int take_verdicts(int watch, const char *directory, int count)
{
    static char events[1 << 16] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t got = read(watch, events, sizeof events);
    for (ssize_t at = 0; at < got;) {
        const struct inotify_event *event = (const void *)(events + at);
        at += (ssize_t)(sizeof *event + event->len);
        if ((event->mask & IN_Q_OVERFLOW) != 0)
            return verdicts_in(directory);
        count += strstr(event->name, ".verdict") != NULL;
    }
    return count;
}

/* Writes specs as fast as one program can, and looks for the answers every millisecond. To wake the
 * program for each answer would cost the broker more than a tenth of its time, and no real program
 * with so many specs would do so. */
static void fill(const char *specs, const char *spec, int how_many)
{
    static const struct timespec between_looks = {.tv_nsec = 1000000};
    char directory[192], name[32];
    snprintf(directory, sizeof directory, "%s/%d", specs, FILLER);
    become_user(FILLER, GROUP);
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), count = 0;
    if (mkdir(directory, 0700) != 0 || chdir(directory) != 0 ||
        inotify_add_watch(watch, directory, IN_MOVED_TO) < 0)
        err(EX_CANTCREAT, "%s", directory);
    for (int i = 0; i < how_many; i++) {
        int fd = open(".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, spec, strlen(spec)) != (ssize_t)strlen(spec))
            err(EX_CANTCREAT, "a spec");
        close(fd);
        snprintf(name, sizeof name, "f%d.json", i);
        if (rename(".new", name) != 0)
            err(EX_CANTCREAT, "%s", name);
        if (i % 256 == 0)
            count = take_verdicts(watch, directory, count);
    }
    while (count < how_many) {
        (void)nanosleep(&between_looks, NULL);
        count = take_verdicts(watch, directory, count);
    }
}

static int64_t filled_in(const struct broker *broker, const char *spec, int how_many)
{
    int status;
    int64_t begun = now();
    pid_t child = fork();
    if (child == 0) {
        fill(broker->specs, spec, how_many);
        _exit(0);
    }
    (void)waitpid(child, &status, 0);
    must_succeed(status);
    return now() - begun;
}

/* The host may give a virtual machine each page only at the first access, which takes 11 us, and
 * take the page back when it is free for some seconds. Specs, verdicts and their inodes take less
 * than 16 KiB each, so this much memory is accessed before. */
static void touch_memory(int how_many)
{
    const size_t bytes = (size_t)how_many * 16384,
                 most = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 2;
    const size_t touched = bytes < most ? bytes : most;
    void *memory = mmap(NULL, touched, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory != MAP_FAILED)
        (void)munmap(memory, touched);
}

/* ---- one operation among many reservations and among none ---- */

static void put(struct samples *samples, struct client *client, const char *spec)
{
    int64_t ns = client_put(client, "b.json", spec);
    if (client_says(client, "\"result\":\"OK\""))
        samples_add(samples, ns);
    else if (samples->failed++ == 0)
        warnx("%s", client->verdict);
}

static void measure(struct samples *samples, const struct broker *brokers, const struct kind *kind,
                    int rounds)
{
    struct client clients[BROKERS];
    char directory[192];
    become_user(USER, GROUP);
    for (int i = 0; i < BROKERS; i++) {
        snprintf(directory, sizeof directory, "%s/%d", brokers[i].specs, USER);
        if (mkdir(directory, 0700) != 0 && errno != EEXIST)
            err(EX_CANTCREAT, "%s", directory);
        client_open(&clients[i], directory);
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < BROKERS; i++) {
            struct samples *mine = samples + (size_t)((round + i) % BROKERS) * OPERATIONS;
            struct client *client = &clients[(round + i) % BROKERS];
            put(&mine[CREATE], client, kind->spec);
            put(&mine[CHANGE], client, kind->other);
            samples_add(&mine[RELEASE], client_release(client, "b.json"));
        }
}

/* Kills the broker and starts it again; returns the ms until the broker answers. */
static double restarted_in(struct broker *broker, const struct bench *bench,
                           const struct kind *kind)
{
    int status;
    kill(broker->pid, SIGKILL);
    (void)waitpid(broker->pid, NULL, 0);
    int64_t begun = now();
    broker_start(broker, bench->build);
    pid_t child = fork();
    if (child == 0) {
        struct client client;
        char directory[192];
        become_user(USER, GROUP);
        snprintf(directory, sizeof directory, "%s/%d", broker->specs, USER);
        client_open(&client, directory);
        (void)client_put(&client, "b.json", kind->spec);
        _exit(0);
    }
    (void)waitpid(child, &status, 0);
    must_succeed(status);
    return (double)(now() - begun) / 1e6;
}

static void report(struct bench *bench, const char *heading, const struct samples *samples,
                   json_t *figures)
{
    printf("%-36s %8.0f verdicts/s %6.2f KiB each, restart %7.1f ms  ", heading,
           json_real_value(json_object_get(figures, "verdicts_per_second")),
           json_real_value(json_object_get(figures, "kib_each")),
           json_real_value(json_object_get(figures, "restart_ms")));
    for (int i = 0; i < OPERATIONS; i++) {
        const struct summary empty = samples_summary(&samples[EMPTY * OPERATIONS + i]),
                             full = samples_summary(&samples[FULL * OPERATIONS + i]);
        printf("  %s %.1f x %.2f", operation_names[i], full.p50, full.p50 / empty.p50);
        json_object_set_new(figures, operation_names[i],
                            json_pack("{s:f, s:f, s:f, s:f}", "p50", full.p50, "p99", full.p99,
                                      "p50_empty", empty.p50, "ratio", full.p50 / empty.p50));
        if (full.failed + empty.failed > 0)
            printf(" (%u NOT GRANTED)", full.failed + empty.failed);
    }
    putchar('\n');
    fflush(stdout);
    bench_keep(bench, figures);
}

static void run_one(struct bench *bench, const struct kind *kind, const struct size *size)
{
    char heading[80], plugins[128];
    struct broker brokers[BROKERS];
    int status;
    snprintf(heading, sizeof heading, "%s, %d CPUs, %d reservations", kind->name, size->cpu_count,
             size->present);
    if (!is_wanted(bench, heading) || (bench->quick && !size->quick))
        return;
    struct samples *samples = samples_shared((size_t)BROKERS * OPERATIONS);
    snprintf(plugins, sizeof plugins, kind->plugins, size->cpus);
    for (int i = 0; i < BROKERS; i++) {
        broker_make(&brokers[i], bench->where, plugins);
        broker_start(&brokers[i], bench->build);
    }
    uint64_t before = broker_sum(brokers[FULL].pid, "VmRSS:");
    touch_memory(size->present);
    double seconds = (double)filled_in(&brokers[FULL], kind->spec, size->present) / 1e9;
    broker_await_readers(&brokers[FULL]);
    double kib = (double)(broker_sum(brokers[FULL].pid, "VmRSS:") - before) / size->present;
    for (int i = 0; i < BROKERS; i++)
        /* both brokers have the same CPU: otherwise the ratio would compare two CPUs */
        broker_pin(&brokers[i], 1);
    pid_t child = fork();
    if (child == 0) {
        pin(0);
        measure(samples, brokers, kind, bench->rounds);
        _exit(0);
    }
    (void)waitpid(child, &status, 0);
    must_succeed(status);
    double restart = restarted_in(&brokers[FULL], bench, kind);
    for (int i = 0; i < BROKERS; i++) {
        broker_stop(&brokers[i]);
        broker_remove(&brokers[i]);
    }
    report(bench, heading, samples,
           json_pack("{s:s, s:f, s:f, s:f}", "heading", heading, "verdicts_per_second",
                     size->present / seconds, "kib_each", kib, "restart_ms", restart));
    samples_free(samples, (size_t)BROKERS * OPERATIONS);
}

void bench_flat(struct bench *bench)
{
    printf("\nAmong many. x: p50 against the same among none, in turn.\n");
    for (int size = 0; size < SIZES; size++)
        for (int kind = 0; kind < KINDS; kind++)
            run_one(bench, &kinds[kind], &sizes[size]);
}
