/* paper: the measurements of sections 6.2 and 6.3 of the ReTiF paper, for its figures 3 to 5, with
 * the same client as bench. To be started as root; writes DIR/create-two.data, DIR/create-one.data
 * (client and broker on two CPUs, and on one) and DIR/attach.data.
 *
 * As in the paper: one plugin at a time, which manages 1 to 20 CPUs and 0 to 1,024 random tasks;
 * each request adds one task. The CPUs need not exist, because nothing is attached. Unlike in the
 * paper, the client is an ordinary user under access rules. */
#include <argp.h>
#include <cap-ng.h>
#include <err.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "bench.h"
#include "broker.h"
#include "client.h"
#include "samples.h"

enum { TASKS = 1024, STEP = 32, SEED = 1 };

static const char *build = "build", *where = "/dev/shm", *output = ".";
static int runs = 500, attachments = 5000;

/* A random task; TASKS of them together fit on one CPU, whatever the plugin's test. */
static void periodic_task(char spec[static 128])
{
    long period = 10000 + random() % 990000, runtime = period * (2 + random() % 7) / 10000;
    snprintf(spec, 128, "{\"runtime\": %ld, \"period\": %ld}", runtime, period);
}

static void ranked_task(char spec[static 128])
{
    snprintf(spec, 128, "{\"priority\": %ld}", 1 + random() % 50);
}

static const struct kind {
    const char *name, *plugins;
    void (*task)(char spec[static 128]);
} kinds[] = {
    {"EDF", "EDF edf - %s partition=unthrottled threshold=0.9\n", periodic_task},
    {"RM", "RM rm 1-50 %s\n", periodic_task},
    {"RR/FP", "FP fp 1-50 %s\n", ranked_task},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct size {
    const char *cpus;
    int count;
} sizes[] = {{"0", 1}, {"0-1", 2}, {"0-3", 4}, {"0-7", 8}, {"0-15", 16}, {"0-19", 20}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const struct pinning {
    const char *name;
    int client, broker;
} pinnings[] = {{"two", 0, 1}, {"one", 1, 1}};
enum { PINNINGS = sizeof pinnings / sizeof *pinnings };

static FILE *open_data(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.data", output, name);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        err(EX_CANTCREAT, "%s", path);
    return file;
}

static void own_directory(const struct broker *broker, char directory[static 192])
{
    snprintf(directory, 192, "%s/%d", broker->specs, USER);
    if (mkdir(directory, 0700) != 0)
        err(EX_CANTCREAT, "%s", directory);
}

/* A child that measures as a user on its own CPU. */
static void in_child(int cpu, void (*measure)(const struct broker *, const void *, uint32_t *),
                     const struct broker *broker, const void *what, uint32_t *ns)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin(cpu);
        measure(broker, what, ns);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        errx(EX_SOFTWARE, "what measured ended early");
}

static uint32_t *times(size_t count)
{
    uint32_t *ns =
        mmap(NULL, count * sizeof *ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ns == MAP_FAILED)
        err(EX_OSERR, "memory");
    return ns;
}

static int compare(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

/* ---- section 6.2 of the paper ---- */

static void measure_create(const struct broker *broker, const void *what, uint32_t *ns)
{
    const struct kind *kind = what;
    struct client client;
    char directory[192], name[32], spec[128];
    become_user(USER, GROUP);
    own_directory(broker, directory);
    client_open(&client, directory);
    for (int run = 0; run < runs; run++) {
        for (int task = 0; task < TASKS; task++) {
            snprintf(name, sizeof name, "t%d.json", task);
            kind->task(spec);
            *ns++ = (uint32_t)client_put(&client, name, spec);
            if (!client_says(&client, "\"result\":\"OK\""))
                errx(EX_SOFTWARE, "%s", client.verdict);
        }
        for (int task = 0; task < TASKS; task++) {
            snprintf(name, sizeof name, "t%d.json", task);
            (void)client_release(&client, name);
        }
    }
}

/* Writes the median of all runs after each STEP existing tasks, and the least and the largest time
 * when one per cent of the times is left out at each end. */
static void write_creates(FILE *file, const struct kind *kind, const struct size *size,
                          const uint32_t *ns)
{
    const size_t count = (size_t)runs * STEP, half = count / 2, hundredth = count / 100;
    uint32_t *sorted = malloc(count * sizeof *sorted);
    if (sorted == NULL)
        err(EX_OSERR, "memory");
    fprintf(file, "\"%s, %d CPU%s\"\n", kind->name, size->count, size->count == 1 ? "" : "s");
    for (size_t from = 0; from < TASKS; from += STEP) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = ns[i / STEP * TASKS + from + i % STEP];
        qsort(sorted, count, sizeof *sorted, compare);
        const uint32_t middle = sorted[half], low = sorted[hundredth],
                       high = sorted[count - 1 - hundredth];
        fprintf(file, "%zu %.1f %.1f %.1f\n", from, middle / 1000.0, low / 1000.0, high / 1000.0);
    }
    fputs("\n\n", file);
    fflush(file);
    free(sorted);
}

static void create(FILE *file, const struct pinning *pinning, const struct kind *kind,
                   const struct size *size)
{
    char plugins[128];
    struct broker broker;
    uint32_t *ns = times((size_t)runs * TASKS);
    progress("create, %s, %d CPUs, on %s", kind->name, size->count, pinning->name);
    snprintf(plugins, sizeof plugins, kind->plugins, size->cpus);
    broker_make(&broker, where, plugins);
    pin(pinning->broker);
    broker_start(&broker, build);
    in_child(pinning->client, measure_create, &broker, kind, ns);
    broker_stop(&broker);
    pin(-1);
    broker_remove(&broker);
    write_creates(file, kind, size, ns);
    (void)munmap(ns, (size_t)runs * TASKS * sizeof *ns);
}

/* ---- section 6.3 of the paper ---- */

/* Becomes a user who may also call sched_setattr(2) without rtf. */
static void become_scheduler(void)
{
    const gid_t group = GROUP;
    if (setgroups(1, &group) != 0)
        err(EX_NOPERM, "setgroups");
    capng_clear(CAPNG_SELECT_BOTH);
    (void)capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_SYS_NICE);
    if (capng_change_id(USER, USER, 0) != 0)
        errx(EX_NOPERM, "to be uid %d with CAP_SYS_NICE", USER);
}

static void set_scheduler(pid_t thread, int policy, int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    if (sched_setscheduler(thread, policy, &param) != 0)
        err(EX_NOPERM, "sched_setscheduler");
}

static void measure_attach(const struct broker *broker, const void *what, uint32_t *ns)
{
    struct client client;
    char directory[192], tid[16];
    (void)what;
    pid_t thread = fork();
    if (thread == 0) {
        become_user(USER, GROUP);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    become_scheduler();
    own_directory(broker, directory);
    client_open(&client, directory);
    (void)client_put(&client, "b.json", "{\"priority\": 5}");
    snprintf(tid, sizeof tid, "%d\n", (int)thread);
    for (int i = 0; i < attachments; i++) {
        *ns++ = (uint32_t)client_put(&client, "b.tid", tid);
        if (!client_says(&client, "\"state\":\"attached\""))
            errx(EX_SOFTWARE, "%s", client.verdict);
        (void)client_detach(&client);
        int64_t begun = now();
        set_scheduler(thread, SCHED_FIFO, 5);
        *ns++ = (uint32_t)(now() - begun);
        set_scheduler(thread, SCHED_OTHER, 0);
    }
    kill(thread, SIGKILL);
}

/* One line for each round: attach and the bare call on two CPUs, then attach and the bare call on
 * one CPU. */
static void attach(void)
{
    struct broker broker;
    uint32_t *ns[PINNINGS];
    const size_t count = (size_t)attachments * 2;
    for (int i = 0; i < PINNINGS; i++) {
        progress("attach, on %s", pinnings[i].name);
        ns[i] = times(count);
        broker_make(&broker, where, "FP fp 1-50 all\n");
        pin(pinnings[i].broker);
        broker_start(&broker, build);
        in_child(pinnings[i].client, measure_attach, &broker, NULL, ns[i]);
        broker_stop(&broker);
        pin(-1);
        broker_remove(&broker);
    }
    FILE *file = open_data("attach");
    for (size_t round = 0; round < count; round += 2)
        fprintf(file, "%.2f %.2f %.2f %.2f\n", ns[0][round] / 1000.0, ns[0][round + 1] / 1000.0,
                ns[1][round] / 1000.0, ns[1][round + 1] / 1000.0);
    if (fclose(file) != 0)
        err(EX_IOERR, "attach.data");
}

/* ---- the whole run ---- */

static error_t parse(int key, char *word, struct argp_state *state)
{
    switch (key) {
    case 'b': build = word; return 0;
    case 'd': where = word; return 0;
    case 'o': output = word; return 0;
    case 'q':
        runs = 10;
        attachments = 1000;
        return 0;
    case ARGP_KEY_ARG: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int main(int count, char **words)
{
    static const struct argp_option options[] = {
        {"build", 'b', "DIR", 0, "Where rtf was built (build)", 0},
        {"directory", 'd', "DIR", 0, "Where the spools are to be (/dev/shm)", 0},
        {"output", 'o', "DIR", 0, "Where the data are put (.)", 0},
        {"quick", 'q', NULL, 0, "10 runs instead of 500", 0},
        {0},
    };
    static const struct argp argp = {
        options, parse, NULL, "Measures what figures 3 to 5 of the ReTiF paper show.",
        NULL,    NULL,  NULL};
    argp_parse(&argp, count, words, 0, NULL, NULL);
    srandom(SEED);
    for (int pinning = 0; pinning < PINNINGS; pinning++) {
        char name[32];
        snprintf(name, sizeof name, "create-%s", pinnings[pinning].name);
        FILE *file = open_data(name);
        for (int kind = 0; kind < KINDS; kind++)
            for (int size = 0; size < SIZES; size++)
                create(file, &pinnings[pinning], &kinds[kind], &sizes[size]);
        if (fclose(file) != 0)
            err(EX_IOERR, "%s.data", name);
    }
    attach();
    progress("%s", "");
    return 0;
}
