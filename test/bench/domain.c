#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "broker.h"
#include "cgroup.h"
#include "client.h"
#include "samples.h"
#include "schedattr.h"

static const char
    leaf[] = "rtf-1/bench",
    spec[] = "{\"runtime\": \"1ms\", \"period\": \"100ms\", \"plugin\": \"EDF\", \"attach\": %d}";

/* QUIET and MEANWHILE: how long another user waits for an unrelated grant, without and with a
 * thread that is being moved. */
enum measured { BARE, OURS, QUIET, MEANWHILE, MEASURED };

static pid_t start_sleeper(void)
{
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        become_user(USER, GROUP);
        for (;;)
            (void)pause();
    }
    return child;
}

/* A group of the domain that the broker has made; the thread is moved into this group. */
static void make_leaf(enum cgroups cgroups, int root)
{
    char nodes[256];
    bool good = mkdirat(root, leaf, 0755) == 0 || errno == EEXIST;
    if (good && cgroups == CGROUPS_V1)
        good = group_read(root, ".", "cpuset.mems", nodes, sizeof nodes) &&
               group_write(root, leaf, "cpuset.sched_load_balance", "0") &&
               group_write(root, leaf, "cpuset.cpus", "1") &&
               group_write(root, leaf, "cpuset.mems", nodes);
    if (!good)
        err(EX_CANTCREAT, "%s", leaf);
}

static void must(bool good, const char *what)
{
    if (!good)
        err(EX_OSERR, "%s", what);
}

/* A move right after another move takes a thousandth of the time, because the kernel is still
 * prepared for it. This pause makes each measured move a full one. The pause takes some ticks of
 * the kernel, and varies, so that moves begin at different times after a tick. */
static void let_it_rest(void)
{
    const struct timespec pause = {.tv_nsec = 50000000 + random() % 8000000};
    (void)nanosleep(&pause, NULL);
}

/* Times the move and the call; the way back is not timed. After the way back, the kernel goes on
 * counting the runtime of a thread that sleeps. The runtime is so small that the kernel admits all
 * rounds together. */
static int64_t bare(int root, const char *file, const char *former, pid_t thread)
{
    struct kernel_sched_attr deadline = {.size = sizeof deadline,
                                         .policy = SCHED_DEADLINE,
                                         .flags = SCHED_FLAG_RESET_ON_FORK,
                                         .runtime = 10000,
                                         .deadline = 100000000,
                                         .period = 100000000};
    struct kernel_sched_attr ordinary = {.size = sizeof ordinary, .policy = SCHED_OTHER};
    char id[16];
    snprintf(id, sizeof id, "%d", (int)thread);
    let_it_rest();
    int64_t begun = now();
    must(group_write(root, leaf, file, id), "the move");
    must(sched_setattr_of(thread, &deadline) == 0, "the call");
    int64_t took = now() - begun;
    must(sched_setattr_of(thread, &ordinary) == 0 && group_write(root, former, file, id),
         "the way back");
    return took;
}

/* Another user asks all the time. `what` tells as which kind this user's waiting time is
 * counted. */
static void stand_by(const struct broker *broker, struct samples *samples, const _Atomic int *what)
{
    struct client client;
    char directory[192];
    become_user(FILLER, GROUP);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(directory, sizeof directory, "%s/%d", broker->specs, FILLER);
    if (mkdir(directory, 0700) != 0)
        err(EX_CANTCREAT, "%s", directory);
    client_open(&client, directory);
    for (;;) {
        int begun = *what;
        int64_t ns = client_put(&client, "b.json", "{\"priority\": 5, \"plugin\": \"FP\"}");
        if (begun == *what)
            samples_add(&samples[begun], ns);
        (void)client_release(&client, "b.json");
        (void)poll(NULL, 0, 1);
    }
}

/* A process that asks as a user: for each byte from `ask` it makes one request, and writes the time
 * in ns to `told`. */
static void serve(const struct broker *broker, pid_t thread, int ask, int told, _Atomic int *what)
{
    struct client client;
    char directory[192], text[128], byte;
    become_user(USER, GROUP);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(directory, sizeof directory, "%s/%d", broker->specs, USER);
    if (mkdir(directory, 0700) != 0)
        err(EX_CANTCREAT, "%s", directory);
    client_open(&client, directory);
    snprintf(text, sizeof text, spec, (int)thread);
    while (read(ask, &byte, 1) == 1) {
        let_it_rest();
        *what = MEANWHILE;
        int64_t ns = client_put(&client, "b.json", text);
        *what = QUIET;
        if (!client_says(&client, "\"state\":\"attached\"")) {
            warnx("%s", client.verdict);
            ns = 0;
        }
        (void)client_release(&client, "b.json");
        (void)!write(told, &ns, sizeof ns);
    }
    _exit(0);
}

static void measure(struct samples *samples, const struct broker *broker, enum cgroups cgroups,
                    int root, int rounds)
{
    const char *file = cgroups == CGROUPS_V1 ? "tasks" : "cgroup.procs";
    char group[GROUP_BYTES], former[GROUP_BYTES + 1];
    int asked[2], told[2];
    _Atomic int *what =
        mmap(NULL, sizeof *what, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(what != MAP_FAILED, "memory");
    *what = QUIET;
    pid_t one = start_sleeper(), other = start_sleeper();
    must(pipe2(asked, O_CLOEXEC) == 0 && pipe2(told, O_CLOEXEC) == 0, "pipe");
    must(thread_group(cgroups, "cpuset", one, group), "the group");
    snprintf(former, sizeof former, ".%s", strcmp(group, "/") == 0 ? "" : group);
    pid_t client = fork();
    if (client == 0) {
        close(asked[1]);
        serve(broker, other, asked[0], told[1], what);
    }
    pid_t bystander = fork();
    if (bystander == 0)
        stand_by(broker, samples, what);
    close(asked[0]);
    close(told[1]);
    (void)poll(NULL, 0, 20); /* by then the threads sleep */
    for (int round = 0; round < rounds; round++) {
        int64_t ns;
        samples_add(&samples[BARE], bare(root, file, former, one));
        must(write(asked[1], "", 1) == 1 && read(told[0], &ns, sizeof ns) == (ssize_t)sizeof ns,
             "the client");
        if (ns > 0)
            samples_add(&samples[OURS], ns);
        else
            samples[OURS].failed++;
        progress("cpuset, %d of %d", round, rounds);
    }
    progress("%s", "");
    close(asked[1]);
    close(told[0]);
    kill(one, SIGKILL);
    kill(other, SIGKILL);
    kill(bystander, SIGKILL);
    (void)waitpid(one, NULL, 0);
    (void)waitpid(other, NULL, 0);
    (void)waitpid(client, NULL, 0);
    (void)waitpid(bystander, NULL, 0);
    (void)munmap((void *)what, sizeof *what);
}

void bench_domain(struct bench *bench)
{
    static const char heading[] = "edf cpuset, create + attach";
    char mount[GROUP_BYTES];
    struct broker broker;
    if (!is_wanted(bench, heading))
        return;
    enum cgroups cgroups = cgroups_find("cpuset", mount);
    int root = cgroups == CGROUPS_NONE ? -1 : open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        printf("%s: no cpusets here, or only one CPU\n", heading);
        return;
    }
    struct samples *samples = samples_shared(MEASURED);
    broker_make(&broker, bench->where, "EDF edf - 1 partition=cpuset\nFP fp 1-50 0\n");
    broker_start(&broker, bench->build);
    make_leaf(cgroups, root);
    measure(samples, &broker, cgroups, root, bench->quick ? 50 : 500);
    (void)unlinkat(root, leaf, AT_REMOVEDIR);
    broker_stop(&broker);
    broker_remove(&broker);
    close(root);
    const struct summary bare_call = samples_summary(&samples[BARE]),
                         ours = samples_summary(&samples[OURS]);
    const struct summary quiet = samples_summary(&samples[QUIET]),
                         meanwhile = samples_summary(&samples[MEANWHILE]);
    printf("%s: p50 %.0f us, p99 %.0f; the bare move and call: p50 %.0f, p99 %.0f: x %.2f", heading,
           ours.p50, ours.p99, bare_call.p50, bare_call.p99, ours.p50 / bare_call.p50);
    if (ours.failed > 0)
        printf(" (%u NOT GRANTED)", ours.failed);
    printf("; another user's create meanwhile: p50 %.0f us, p99 %.0f, else %.0f, %.0f: x %.2f\n",
           meanwhile.p50, meanwhile.p99, quiet.p50, quiet.p99, meanwhile.p50 / quiet.p50);
    bench_keep(bench, json_pack("{s:s, s:f, s:f, s:f, s:f}", "heading", heading, "p50", ours.p50,
                                "p50_bare", bare_call.p50, "ratio", ours.p50 / bare_call.p50,
                                "others_ratio", meanwhile.p50 / quiet.p50));
    samples_free(samples, MEASURED);
}
