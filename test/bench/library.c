/* library [BUILD [ROUNDS]]: the cost of rtf_spec_create of librtf, against bench's own client. Both
 * create the same spec, in turns, each after a release. Needs root. Prints medians in us, and the
 * median of the quotients of the pairs. Then the cost of rtf_spec_attach and rtf_spec_detach, for
 * the calling thread. */
#include <err.h>
#include <rtf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <sysexits.h>
#include <unistd.h>

#include "bench.h"
#include "broker.h"
#include "client.h"
#include "samples.h"

enum { WARM_UP = 50 };

static const struct kind {
    const char *name, *plugins, *spec;
    unsigned priority, runtime, period;
} kinds[] = {{"fp", "FP fp 1-50 all\n", "{\"priority\": 5}", 5, 0, 0},
             {"edf", "EDF edf - all partition=global threshold=0.9\n",
              "{\"runtime\": 1000, \"period\": 100000}", 0, 1000, 100000}};
static const struct pinning {
    const char *name;
    int client, broker;
} pinnings[] = {{"one CPU", 1, 1}, {"two CPUs", 0, 1}, {"not pinned", -1, -1}};
enum { OURS, THEIRS, ATTACH, DETACH, AGAIN, SIDES };
enum { ATTACHMENTS = 200 };

static int64_t create(struct rtf_connection *connection, const struct kind *kind)
{
    struct rtf_params params = RTF_PARAMS_INIT;
    struct rtf_spec spec = RTF_SPEC_INIT;
    const int64_t begun = now();
    rtf_params_set_priority(&params, kind->priority);
    rtf_params_set_runtime(&params, kind->runtime);
    rtf_params_set_period(&params, kind->period);
    const enum rtf_result result = rtf_spec_create(connection, &spec, &params);
    const int64_t took = now() - begun;
    if (result != RTF_OK)
        errx(EX_SOFTWARE, "%s", rtf_spec_reason(&spec));
    (void)rtf_spec_release(&spec);
    return took;
}

static int64_t put(struct client *client, const struct kind *kind)
{
    const int64_t took = client_put(client, "b.json", kind->spec);
    if (!client_says(client, "\"grant\":{"))
        errx(EX_SOFTWARE, "%s", client->verdict);
    (void)client_release(client, "b.json");
    return took;
}

static void must(enum rtf_result result, const struct rtf_spec *spec)
{
    if (result != RTF_OK)
        errx(EX_SOFTWARE, "%s", rtf_spec_reason(spec));
}

static void attach_and_detach(struct rtf_spec *spec, struct samples *attached,
                              struct samples *detached)
{
    const int64_t begun = now();
    must(rtf_spec_attach(spec, 0), spec);
    const int64_t between = now();
    must(rtf_spec_detach(spec), spec);
    samples_add(attached, between - begun);
    if (detached != NULL)
        samples_add(detached, now() - between);
}

/* The two calls in turns, on one reservation. The runtime that the thread has used is owed until
 * its 0-lag time, and an attachment waits for that: ATTACH begins after it, AGAIN before it. */
static void attach(struct rtf_connection *connection, const struct kind *kind, int rounds,
                   struct samples *samples)
{
    struct rtf_params params = RTF_PARAMS_INIT;
    struct rtf_spec spec = RTF_SPEC_INIT;
    rtf_params_set_priority(&params, kind->priority);
    rtf_params_set_runtime(&params, kind->runtime == 0 ? 0 : 5000);
    rtf_params_set_period(&params, kind->period == 0 ? 0 : 20000);
    must(rtf_spec_create(connection, &spec, &params), &spec);
    for (int i = 0; i < rounds; i++) {
        (void)usleep(kind->period == 0 ? 0 : 25000);
        attach_and_detach(&spec, &samples[ATTACH], &samples[DETACH]);
        attach_and_detach(&spec, &samples[AGAIN], NULL);
    }
    (void)rtf_spec_release(&spec);
}

static void measure(const struct broker *broker, const struct kind *kind, int rounds,
                    struct samples *samples)
{
    struct rtf_connection connection = RTF_CONNECTION_INIT;
    struct client client;
    char directory[192];
    become_user(USER, GROUP);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(directory, sizeof directory, "%s/%d", broker->specs, USER);
    if (mkdir(directory, 0700) != 0 || rtf_connect(&connection, broker->spool) != RTF_OK)
        errx(EX_SOFTWARE, "%s: %s", directory, rtf_reason(&connection));
    client_open(&client, directory);
    for (int i = -2 * WARM_UP; i < 2 * rounds; i++) {
        /* OURS and THEIRS each come first in every second round */
        const int side = (i / 2 + i) % 2 == 0 ? OURS : THEIRS;
        const int64_t took = side == OURS ? create(&connection, kind) : put(&client, kind);
        if (i >= 0)
            samples_add(&samples[side], took);
    }
    attach(&connection, kind, rounds < ATTACHMENTS ? rounds : ATTACHMENTS, samples);
    rtf_disconnect(&connection);
}

static double median_quotient(const struct samples *samples)
{
    struct samples *quotients = samples_shared(1);
    for (uint32_t i = 0; i < samples[OURS].count; i++)
        samples_add(quotients, (int64_t)samples[OURS].ns[i] * 1000 / samples[THEIRS].ns[i]);
    const double median = samples_summary(quotients).p50;
    samples_free(quotients, 1);
    return median;
}

static void run(const char *build, const struct kind *kind, const struct pinning *pinning,
                int rounds)
{
    struct samples *samples = samples_shared(SIDES);
    struct broker broker;
    int status;
    pin(pinning->broker);
    broker_make(&broker, "/dev/shm", kind->plugins);
    broker_start(&broker, build);
    const pid_t child = fork();
    if (child == 0) {
        pin(pinning->client);
        measure(&broker, kind, rounds, samples);
        _exit(0);
    }
    (void)waitpid(child, &status, 0);
    broker_stop(&broker);
    pin(-1);
    broker_remove(&broker);
    if (status != 0)
        errx(EX_SOFTWARE, "it could not be measured");
    const struct summary ours = samples_summary(&samples[OURS]),
                         theirs = samples_summary(&samples[THEIRS]);
    printf("%-4s %-11s librtf %7.1f   bench's client %7.1f   x %.2f, in turns x %.2f\n", kind->name,
           pinning->name, ours.p50, theirs.p50, ours.p50 / theirs.p50, median_quotient(samples));
    const double attached = samples_summary(&samples[ATTACH]).p50,
                 detached = samples_summary(&samples[DETACH]).p50,
                 again = samples_summary(&samples[AGAIN]).p50;
    printf("%-4s %-11s attach %7.1f   detach %7.1f   pair %7.1f   attach at once %7.1f\n",
           kind->name, pinning->name, attached, detached, attached + detached, again);
    fflush(stdout);
    samples_free(samples, SIDES);
}

int main(int argc, char **argv)
{
    const char *build = argc > 1 ? argv[1] : "build";
    const int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1000;
    for (size_t pinning = 0; pinning < sizeof pinnings / sizeof *pinnings; pinning++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
            run(build, &kinds[kind], &pinnings[pinning], rounds);
    return 0;
}
