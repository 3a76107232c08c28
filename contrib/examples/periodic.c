/* A loop with a deadline, at 1 kHz: 200 us of CPU time in every 1 ms.
 *
 *     cc periodic.c -o periodic $(pkg-config --cflags --libs librtf)
 *     ./periodic 10000 */
#include <rtf.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Stands for the work of a real program: uses this much CPU time, which is half of the granted
 * runtime. */
static void work(uint64_t microseconds)
{
    struct timespec begun, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((uint64_t)(now.tv_sec - begun.tv_sec) * 1000000 +
               (uint64_t)(now.tv_nsec - begun.tv_nsec) / 1000 <
           microseconds);
}

int main(int argc, char **argv)
{
    struct rtf_connection connection = RTF_CONNECTION_INIT;
    struct rtf_spec spec = RTF_SPEC_INIT;
    struct rtf_params params = RTF_PARAMS_INIT;
    const int periods = argc > 1 ? atoi(argv[1]) : 10000;

    if (rtf_connect(&connection, NULL) != RTF_OK) {
        fprintf(stderr, "periodic: %s\n", rtf_reason(&connection));
        return 69;
    }
    rtf_params_set_runtime(&params, 200);
    rtf_params_set_period(&params, 1000);
    if (rtf_spec_create_attached(&connection, &spec, &params, 0) != RTF_OK) {
        fprintf(stderr, "periodic: %s\n", rtf_spec_reason(&spec));
        if (rtf_spec_nearest(&spec) != 0)
            fprintf(stderr, "periodic: a runtime of %llu us would be granted\n",
                    (unsigned long long)rtf_spec_nearest(&spec));
        return rtf_spec_result(&spec) == RTF_ACL_FAIL ? 77 : 75;
    }
    /* From here on the loop does not talk to the broker, and allocates no memory. */
    rtf_task_start(&spec);
    for (int i = 0; i < periods; i++) {
        work(rtf_spec_get_accepted_runtime(&spec) / 2);
        if (rtf_task_wait(&spec, NULL) != RTF_OK) {
            fprintf(stderr, "periodic: the reservation has gone: %s\n", rtf_spec_reason(&spec));
            return 75;
        }
    }
    printf("%d periods, %llu missed\n", periods, (unsigned long long)rtf_task_missed(&spec));
    rtf_spec_release(&spec);
    rtf_disconnect(&connection);
    return 0;
}
