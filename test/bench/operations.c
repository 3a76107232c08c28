#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "bench.h"
#include "broker.h"
#include "client.h"
#include "floor.h"
#include "samples.h"

/* ---- operations ---- */

static const struct floor_kind {
    const char *name;
    unsigned parts;
} floors[] = {
    {"spool", FLOOR_SPOOL},
    {"spool, co-process", FLOOR_COPROCESS},
    {"spool, journal", FLOOR_JOURNAL},
    {"spool, JSON", FLOOR_JSON},
    {"floor", FLOOR_ALL},
};
enum { FLOORS = sizeof floors / sizeof *floors, WHOLE_FLOOR = FLOORS - 1 };

static const struct kind {
    /* beside: the spec of another thread that is attached meanwhile, if nothing is pinned */
    const char *name, *plugins, *spec, *other, *attached, *beside;
} kinds[] = {
    {"fp", "FP fp 1-50 all\n", "{\"priority\": 5}", "{\"priority\": 6}",
     "{\"priority\": 5, \"attach\": %d}", NULL},
    {"rr", "RR rr 1-50 all\n", "{\"priority\": 5}", "{\"priority\": 6}",
     "{\"priority\": 5, \"attach\": %d}", NULL},
    {"rm", "RM rm 1-50 all\n", "{\"runtime\": \"1ms\", \"period\": \"100ms\"}",
     "{\"runtime\": \"1ms\", \"period\": \"50ms\"}",
     "{\"runtime\": \"1ms\", \"period\": \"100ms\", \"attach\": %d}", NULL},
    {"edf unthrottled", "EDF edf - all partition=unthrottled\n",
     "{\"runtime\": \"1ms\", \"period\": \"100ms\"}",
     "{\"runtime\": \"1ms\", \"period\": \"50ms\"}",
     "{\"runtime\": \"1ms\", \"period\": \"100ms\", \"attach\": %d}", NULL},
    {"edf global", "EDF edf - all partition=global threshold=0.9\n",
     "{\"runtime\": \"1ms\", \"period\": \"100ms\"}",
     "{\"runtime\": \"1ms\", \"period\": \"50ms\"}",
     "{\"runtime\": \"1ms\", \"period\": \"100ms\", \"attach\": %d}", NULL},
    {"edf apart", "EDF edf - all partition=global threshold=0.9\n",
     "{\"runtime\": \"1ms\", \"period\": \"100ms\"}",
     "{\"runtime\": \"1ms\", \"period\": \"50ms\"}",
     "{\"runtime\": \"1ms\", \"period\": \"100ms\", \"attach\": %d}",
     "{\"runtime\": \"10ms\", \"period\": \"1s\", \"attach\": %d}"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

enum operation {
    CREATE,
    CHANGE,
    ATTACH,
    DETACH,
    RELEASE,
    CREATE_ATTACHED,
    RELEASE_ATTACHED,
    CREATE_BESIDE,
    OPERATIONS
};
static const char *const operation_names[] = {"create",           "change",
                                              "attach",           "detach",
                                              "release",          "create + attach",
                                              "release attached", "create, from beside"};

static const struct pinning {
    const char *name;
    int client, broker; /* the CPUs of the client and the broker; -1: any */
} pinnings[] = {{"one CPU", 1, 1}, {"two CPUs", 0, 1}, {"not pinned", -1, -1}};
enum { PINNINGS = sizeof pinnings / sizeof *pinnings };

/* ---- one run ---- */

struct run {
    struct broker broker;
    char floor_names[FLOORS][96], stage[96];
    struct samples *floors, *operations; /* one for each of FLOORS and OPERATIONS */
};

static void check(struct run *run, enum operation operation, const struct client *client,
                  const char *text, int64_t ns)
{
    if (client_says(client, "\"result\":\"OK\"") && client_says(client, text))
        samples_add(&run->operations[operation], ns);
    else if (run->operations[operation].failed++ == 0)
        warnx("%s: %s", operation_names[operation], client->verdict);
}

/* Every other round writes its first file by client_put_from_beside, so that both ways are measured
 * under the same conditions: the time of an operation depends on the operation just before. */
static void do_operations(struct run *run, struct client *client, const struct kind *kind,
                          const char *attached, const char *tid, bool from_beside)
{
    if (from_beside)
        check(run, CREATE_BESIDE, client, "\"grant\":{",
              client_put_from_beside(client, "b.json", kind->spec));
    else
        check(run, CREATE, client, "\"grant\":{", client_put(client, "b.json", kind->spec));
    check(run, CHANGE, client, "\"request\":\"change\"", client_put(client, "b.json", kind->other));
    check(run, ATTACH, client, "\"state\":\"attached\"", client_put(client, "b.tid", tid));
    check(run, DETACH, client, "\"thread\":null", client_detach(client));
    samples_add(&run->operations[RELEASE], client_release(client, "b.json"));
    check(run, CREATE_ATTACHED, client, "\"state\":\"attached\"",
          client_put(client, "b.json", attached));
    samples_add(&run->operations[RELEASE_ATTACHED], client_release(client, "b.json"));
}

/* Starts a thread of this user that sleeps. */
static pid_t sleeper(void)
{
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    return child;
}

static pid_t attach_beside(struct client *client, const char *spec)
{
    char text[128];
    pid_t thread = sleeper();
    snprintf(text, sizeof text, spec, (int)thread);
    (void)client_put(client, "a.json", text);
    if (!client_says(client, "\"state\":\"attached\""))
        errx(EX_SOFTWARE, "%s: %s", text, client->verdict);
    return thread;
}

static void measure(struct run *run, const struct kind *kind, int rounds)
{
    enum { WARM_UP = 50 };
    struct client floor_clients[FLOORS], client;
    char directory[192], attached[128], tid[16];
    become_user(USER, GROUP);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(directory, sizeof directory, "%s/%d", run->broker.specs, USER);
    if (mkdir(directory, 0700) != 0)
        err(EX_CANTCREAT, "%s", directory);
    client_open(&client, directory);
    for (int i = 0; i < FLOORS; i++)
        client_open(&floor_clients[i], run->floor_names[i]);
    pid_t thread = sleeper();
    snprintf(attached, sizeof attached, kind->attached, (int)thread);
    snprintf(tid, sizeof tid, "%d\n", (int)thread);
    pid_t other = kind->beside == NULL ? -1 : attach_beside(&client, kind->beside);
    for (int i = -WARM_UP; i < rounds; i++) {
        for (int floor = 0; floor < FLOORS; floor++)
            samples_add(&run->floors[floor],
                        client_put(&floor_clients[floor], "b.json", kind->spec));
        do_operations(run, &client, kind, attached, tid, i % 2 != 0);
        if (i < 0) {
            for (int floor = 0; floor < FLOORS; floor++)
                run->floors[floor].count = 0;
            for (int operation = 0; operation < OPERATIONS; operation++)
                run->operations[operation].count = 0;
        }
        if (i % 100 == 0)
            progress("%s, %d of %d", kind->name, i, rounds);
    }
    progress("%s", "");
    kill(thread, SIGKILL);
    if (other > 0)
        kill(other, SIGKILL);
}

/* ---- output ---- */

static void print_line(const char *name, const struct summary *summary, const struct summary *floor)
{
    printf("  %-20s %8.1f %8.1f %8.1f %9.1f", name, summary->p50, summary->p90, summary->p99,
           summary->max);
    if (floor != NULL)
        printf("   x %5.2f", summary->p50 / floor->p50);
    else
        printf("          ");
    printf("   p99/p50 %5.2f   spread %3.0f %%", summary->p99 / summary->p50, summary->spread);
    if (summary->failed > 0)
        printf("   %u NOT ANSWERED AS ASKED", summary->failed);
    putchar('\n');
}

static json_t *as_json(const struct summary *summary, const struct summary *floor)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:f}", "p50", summary->p50, "p90",
                     summary->p90, "p99", summary->p99, "max", summary->max, "spread",
                     summary->spread, "count", (int)summary->count, "failed", (int)summary->failed,
                     "ratio", summary->p50 / floor->p50);
}

static void report(const struct bench *bench, const struct run *run, const struct kind *kind,
                   const struct pinning *pinning)
{
    json_t *one = json_pack("{s:s, s:s}", "plugin", kind->name, "cpus", pinning->name);
    const struct summary floor = samples_summary(&run->floors[WHOLE_FLOOR]);
    printf("%s, %s %*s p50      p90      p99       max\n", kind->name, pinning->name,
           (int)(18 - strlen(kind->name) - strlen(pinning->name)), "");
    for (int i = 0; i < FLOORS; i++) {
        const struct summary summary = samples_summary(&run->floors[i]);
        print_line(floors[i].name, &summary, i == WHOLE_FLOOR ? NULL : &floor);
        json_object_set_new(one, floors[i].name, as_json(&summary, &floor));
    }
    for (int i = 0; i < OPERATIONS; i++) {
        const struct summary summary = samples_summary(&run->operations[i]);
        if (summary.count + summary.failed > 0)
            print_line(operation_names[i], &summary, &floor);
        json_object_set_new(one, operation_names[i], as_json(&summary, &floor));
    }
    fflush(stdout);
    bench_keep(bench, one);
}

/* ---- all runs ---- */

static void run_one(struct bench *bench, const struct kind *kind, const struct pinning *pinning)
{
    struct run run = {.floors = samples_shared(FLOORS), .operations = samples_shared(OPERATIONS)};
    pid_t servers[FLOORS];
    int status;
    char heading[64];
    snprintf(heading, sizeof heading, "%s, %s", kind->name, pinning->name);
    if (!is_wanted(bench, heading))
        return;
    pin(pinning->broker);
    broker_make(&run.broker, bench->where, kind->plugins);
    broker_start(&run.broker, bench->build);
    snprintf(run.stage, sizeof run.stage, "%s/stage", run.broker.top);
    for (int i = 0; i < FLOORS; i++) {
        snprintf(run.floor_names[i], sizeof run.floor_names[i], "%s/floor.%d", run.broker.top, i);
        servers[i] = floor_start(run.floor_names[i], run.stage, USER, floors[i].parts);
    }
    pid_t client = fork();
    if (client == 0) {
        pin(pinning->client);
        measure(&run, kind, bench->rounds);
        _exit(0);
    }
    (void)waitpid(client, &status, 0);
    for (int i = 0; i < FLOORS; i++) {
        kill(servers[i], SIGKILL);
        (void)waitpid(servers[i], NULL, 0);
    }
    broker_stop(&run.broker);
    pin(-1);
    broker_remove(&run.broker);
    must_succeed(status);
    report(bench, &run, kind, pinning);
    samples_free(run.floors, FLOORS);
    samples_free(run.operations, OPERATIONS);
}

void bench_operations(struct bench *bench)
{
    printf("Operations. Times in us; x: p50 against the floor's, which has all its parts.\n");
    for (int pinning = 0; pinning < PINNINGS; pinning++)
        for (int kind = 0; kind < KINDS; kind++)
            if (kinds[kind].beside == NULL || pinnings[pinning].broker < 0)
                run_one(bench, &kinds[kind], &pinnings[pinning]);
}
