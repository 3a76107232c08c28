/* Listing 1 of the ReTiF paper. Lines that differ from the paper have a comment that begins with
 * "here:"; see also rtf(3), DIFFERENCES. */
#include <rtf.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define T_PERIOD      20000
#define T_RUNTIME     2000
#define T_DES_RUNTIME 4000
#define T_DEADLINE    20000

static int jobs, optional;
static bool computation_ended(void)
{
    return jobs == 10;
}
static void mandatory_computation(void)
{
    jobs++;
}
static void optional_computation(void)
{
    optional++;
}

static void body(void)
{
    /* Task representation */
    struct rtf_spec s = RTF_SPEC_INIT;

    /* Task parameters */
    struct rtf_params p = RTF_PARAM_INIT;

    /* Connect to the daemon */
    /* here: a connection is an object, not hidden state of the process */
    struct rtf_connection c = RTF_CONNECTION_INIT;
    if (rtf_connect(&c, NULL) == RTF_CONNECTION_ERR) /* here: names the connection and the spool */
        return;                                      /* Unable to connect to the daemon. */

    /* Set task parameters */
    rtf_param_set_period(&p, T_PERIOD);
    rtf_param_set_runtime(&p, T_RUNTIME);
    rtf_param_set_des_runtime(&p, T_DES_RUNTIME);
    rtf_param_set_deadline(&p, T_DEADLINE);

    /* Test for admission */
    int res = rtf_spec_create(&c, &s, &p); /* here: names the connection */

    if (res == RTF_SCHEDULE_FAIL)
        return; /* Admission failed, we can retry with different parameters; NOLINT(bugprone-branch-clone): it is the paper's */
    else if (res == RTF_ACL_FAIL)
        return; /* ACL check failed, not authorized */
    else if (res == RTF_CONNECTION_ERR)
        return; /* Communication failed */

    /* res = RTF_OK */

    /* On success we attach an execution flow to the task specification */
    rtf_spec_attach(&s, getpid());

    /* Signals that a task begins its execution */
    rtf_task_start(&s);

    while (!computation_ended()) {
        /* Task runs mandatory actions */
        mandatory_computation();

        /* Enabling optional computation depending on the accepted runtime */
        if (rtf_spec_get_accepted_runtime(&s) > T_RUNTIME)
            optional_computation();

        /* Suspend execution waiting for the next period */
        rtf_task_wait_period(&s);
    }

    /* Cleanup */
    rtf_spec_release(&s);
    rtf_disconnect(&c); /* here: closes the connection, too */
}

int main(void)
{
    body();
    printf("%d jobs, %d with the optional part\n", jobs, optional);
    return jobs == 10 ? 0 : 1;
}
