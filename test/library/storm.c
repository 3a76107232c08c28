/* storm SECONDS|FILE: 64 threads create, attach, change, detach and release specs for this time,
 * and one thread calls rtf_process. Half of the threads share one connection; each other thread has
 * its own. The exit status is 1 if a call has an impossible result. FILE begins with a slash: the
 * storm lasts until FILE exists, and the broker may end meanwhile. A broker must serve again before
 * FILE exists, and each thread must find this broker. RTF_SPOOL: the spool. */
#include <pthread.h>
#include <rtf.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 64 };

static struct rtf_connection shared = RTF_CONNECTION_INIT;
static struct timespec end;
static atomic_ulong rounds, wrong, unanswered;
static const char *file;
static bool is_killed;

static bool is_over(void)
{
    if (is_killed)
        return access(file, F_OK) == 0;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > end.tv_sec;
}

static _Thread_local bool is_early; /* the round began before the end */

static void expect(const struct rtf_spec *spec, enum rtf_result result, const char *call)
{
    if (result == RTF_OK || result == RTF_SCHEDULE_FAIL || result == RTF_ACL_FAIL)
        return;
    /* the kernel's sums are wrong for a moment */
    if (result == RTF_ATTACH_FAIL && rtf_spec_code(spec)[0] == 'k')
        return;
    /* the next broker detaches the threads that were attached when the broker ended */
    if (result == RTF_ATTACH_FAIL && is_killed)
        return;
    if (result == RTF_CONNECTION_ERR && is_killed && is_early) {
        atomic_fetch_add(&unanswered, 1);
        return;
    }
    fprintf(stderr, "%s: %s, %s: %s\n", call, rtf_result_name(result), rtf_spec_code(spec),
            rtf_spec_reason(spec));
    atomic_fetch_add(&wrong, 1);
}

static void one_round(struct rtf_connection *connection, struct rtf_spec *spec, unsigned number)
{
    struct rtf_params params = RTF_PARAMS_INIT;
    is_early = !is_over();
    rtf_params_set_runtime(&params, 200 + number % 50);
    rtf_params_set_period(&params, 100000);
    rtf_params_set_lasting(&params, true);
    expect(spec, rtf_spec_create(connection, spec, &params), "create");
    if (rtf_spec_is_granted(spec)) {
        expect(spec, rtf_spec_attach(spec, 0), "attach");
        if (number % 16 < 2 && rtf_task_start(spec) == RTF_OK) {
            (void)rtf_task_wait(spec, NULL);
            (void)rtf_spec_is_attached(spec);
        }
        rtf_params_set_runtime(&params, 300);
        expect(spec, rtf_spec_change(spec, &params), "change");
        if (rtf_spec_get_thread(spec) != 0)
            expect(spec, rtf_spec_detach(spec), "detach");
    }
    expect(spec, rtf_spec_release(spec), "release");
    atomic_fetch_add(&rounds, 1);
}

/* Calls rtf_process beside the calls of other threads, as an event loop does. */
static void *process(void *argument)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    while (!is_over() && atomic_load(&wrong) == 0) {
        (void)rtf_process(argument);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

struct player {
    unsigned number;
    struct rtf_connection own, *connection;
    pthread_t thread;
};

static void *play(void *argument)
{
    const struct player *player = argument;
    struct rtf_spec spec = RTF_SPEC_INIT;
    while (!is_over() && atomic_load(&wrong) == 0)
        one_round(player->connection, &spec, player->number);
    if (is_killed)
        one_round(player->connection, &spec, player->number);
    return NULL;
}

static bool begin(struct player *player, unsigned number)
{
    player->number = number;
    player->connection = number % 2 == 0 ? &shared : &player->own;
    if (number % 2 == 0 || rtf_connect(&player->own, NULL) == RTF_OK)
        return true;
    fprintf(stderr, "connect: %s\n", rtf_reason(&player->own));
    return false;
}

int main(int argc, char **argv)
{
    static struct player players[THREADS];
    pthread_t processor;
    clock_gettime(CLOCK_MONOTONIC, &end);
    file = argc > 1 ? argv[1] : "5";
    is_killed = file[0] == '/';
    end.tv_sec += strtol(file, NULL, 10);
    if (rtf_connect(&shared, NULL) != RTF_OK) {
        fprintf(stderr, "connect: %s\n", rtf_reason(&shared));
        return 1;
    }
    for (unsigned i = 0; i < THREADS; i++)
        if (!begin(&players[i], i))
            return 1;
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&players[i].thread, NULL, play, &players[i]) != 0)
            return 1;
    if (pthread_create(&processor, NULL, process, &shared) != 0)
        return 1;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(players[i].thread, NULL);
    pthread_join(processor, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        rtf_disconnect(&players[i].own);
    rtf_disconnect(&shared);
    printf("%lu rounds\n", atomic_load(&rounds));
    return atomic_load(&wrong) != 0 || (is_killed && atomic_load(&unanswered) == 0);
}
