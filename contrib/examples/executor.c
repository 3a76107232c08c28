/* Executors as in ROS 2, without ROS: each executor runs its own callbacks in one thread, under one
 * reservation. Callbacks that must not be late have their own executor. Callbacks that may wait
 * share another executor, and cannot delay the first one. The shipped rules give a user half
 * a CPU.
 *
 *     cc executor.c -o executor $(pkg-config --cflags --libs librtf) -pthread */
#include <pthread.h>
#include <rtf.h>
#include <stdio.h>
#include <stdlib.h>

struct callback {
    void (*run)(void *);
    void *argument;
    unsigned every; /* the callback runs once in this many periods of its executor */
};

struct executor {
    const char *name;
    uint64_t runtime, period; /* us */
    const struct callback *callbacks;
    unsigned callback_count, periods;
    struct rtf_connection *connection;
    uint64_t missed;
    enum rtf_result result;
    char reason[256];
};

static void *spin(void *argument)
{
    struct executor *executor = argument;
    struct rtf_spec spec = RTF_SPEC_INIT;
    struct rtf_params params = RTF_PARAMS_INIT;
    rtf_params_set_runtime(&params, executor->runtime);
    rtf_params_set_period(&params, executor->period);
    (void)rtf_params_set_name(&params, executor->name);
    executor->result = rtf_spec_create_attached(executor->connection, &spec, &params, 0);
    snprintf(executor->reason, sizeof executor->reason, "%s", rtf_spec_reason(&spec));
    if (executor->result != RTF_OK) {
        rtf_spec_release(&spec); /* the handle is on the stack of this thread */
        return NULL;
    }
    rtf_task_start(&spec);
    for (unsigned period = 0; period < executor->periods; period++) {
        for (unsigned i = 0; i < executor->callback_count; i++)
            if (period % executor->callbacks[i].every == 0)
                executor->callbacks[i].run(executor->callbacks[i].argument);
        executor->result = rtf_task_wait(&spec, NULL);
        if (executor->result != RTF_OK) /* the thread goes on at this pace, as an ordinary thread */
            snprintf(executor->reason, sizeof executor->reason, "%s", rtf_spec_reason(&spec));
    }
    executor->missed = rtf_task_missed(&spec);
    rtf_spec_release(&spec);
    return NULL;
}

static void count(void *argument)
{
    ++*(unsigned *)argument;
}

int main(void)
{
    static unsigned joints, images, logs;
    const struct callback control[] = {{count, &joints, 1}},
                          perception[] = {{count, &images, 1}, {count, &logs, 5}};
    struct rtf_connection connection = RTF_CONNECTION_INIT;
    struct executor executors[] = {
        {.name = "control",
         .runtime = 1000,
         .period = 10000,
         .callbacks = control,
         .callback_count = 1,
         .periods = 25,
         .connection = &connection},
        {.name = "perception",
         .runtime = 10000,
         .period = 100000,
         .callbacks = perception,
         .callback_count = 2,
         .periods = 10,
         .connection = &connection},
    };
    pthread_t threads[2];
    if (rtf_connect(&connection, NULL) != RTF_OK) {
        fprintf(stderr, "executor: %s\n", rtf_reason(&connection));
        return 69;
    }
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, spin, &executors[i]) != 0)
            return 71;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        if (executors[i].result != RTF_OK)
            fprintf(stderr, "executor: %s: %s\n", executors[i].name, executors[i].reason);
    }
    printf("joints %u, images %u, logs %u\n", joints, images, logs);
    rtf_disconnect(&connection);
    return executors[0].result == RTF_OK && executors[1].result == RTF_OK ? 0 : 75;
}
