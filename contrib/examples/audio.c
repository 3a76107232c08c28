/* An audio host and its callback: the host's thread gets its reservation where the host lets a
 * program prepare that thread (for example by JACK's jack_set_thread_init_callback). The callback
 * must never wait, so it cannot ask for the reservation. 256 frames at 48 kHz are 5,333 us.
 *
 * The thread gets SCHED_DEADLINE. The kernel ends a runtime only at its tick (often every 4 ms),
 * and then postpones the thread's next periods. So a callback that takes too long makes the next
 * buffers late, but delays no thread of another user.
 *
 *     cc audio.c -o audio $(pkg-config --cflags --libs librtf) -pthread */
#include <pthread.h>
#include <rtf.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FRAMES = 256, RATE = 48000 };

struct program {
    struct rtf_connection connection;
    struct rtf_spec spec;
    unsigned phase;
    _Atomic int late;
};

/* Runs in the host's thread, before the first callback. */
static void prepare_thread(struct program *program)
{
    struct rtf_params params = RTF_PARAMS_INIT;
    rtf_params_set_runtime(&params, 1000);
    rtf_params_set_period(&params, FRAMES * 1000000 / RATE);
    if (rtf_spec_create_attached(&program->connection, &program->spec, &params, 0) != RTF_OK)
        fprintf(stderr, "audio: goes on without: %s\n", rtf_spec_reason(&program->spec));
}

/* A square wave of 375 Hz: no allocation, no lock, no file. */
static void process(struct program *program, float *out)
{
    for (int i = 0; i < FRAMES; i++)
        out[i] = (program->phase++ / 64) % 2 == 0 ? 0.1F : -0.1F;
}

/* ---- the host, as far as it matters here ---- */

struct host {
    struct program *program;
    int buffers;
};

static void *run(void *argument)
{
    const struct host *host = argument;
    float out[FRAMES];
    struct timespec next, now;
    prepare_thread(host->program);
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int i = 0; i < host->buffers; i++) {
        process(host->program, out);
        next.tv_nsec += 1000000000L / RATE * FRAMES;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > next.tv_sec || (now.tv_sec == next.tv_sec && now.tv_nsec > next.tv_nsec))
            host->program->late++;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    /* This is printed here and not in main, because the reservation ends with this thread. */
    const struct rtf_spec *spec = &host->program->spec;
    printf("%d buffers, %d late, by %s\n", host->buffers, host->program->late,
           rtf_spec_is_granted(spec) ? rtf_spec_get_plugin(spec) : "nobody");
    return NULL;
}

int main(int argc, char **argv)
{
    struct program program = {.connection = RTF_CONNECTION_INIT, .spec = RTF_SPEC_INIT};
    struct host host = {&program, argc > 1 ? atoi(argv[1]) : 200};
    pthread_t thread;
    if (rtf_connect(&program.connection, NULL) != RTF_OK)
        fprintf(stderr, "audio: %s\n", rtf_reason(&program.connection));
    if (pthread_create(&thread, NULL, run, &host) != 0)
        return 71;
    pthread_join(thread, NULL);
    rtf_disconnect(&program.connection);
    return 0;
}
