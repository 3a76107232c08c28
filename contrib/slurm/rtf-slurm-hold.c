/* rtf-slurm-hold OPTION JOB.STEP SPOOL: reserves on this node for one task of a Slurm step, before
 * the step starts. rtf-slurm-hold ends when the task has taken the reservation over (gang.h).
 *
 * Until the task takes the reservation over, this process is the thread of the reservation. If this
 * process ends before, the reservation ends, too. */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "hold-words.h"
#include "node.h"
#include "units.h"

static struct node_reservation reservation = {.connection = RTF_CONNECTION_INIT,
                                              .spec = RTF_SPEC_INIT};

static _Noreturn void refuse(const char *sentence)
{
    const char *const node = getenv("SLURMD_NODENAME");
    printf(HOLD_REFUSED "%s: %s\n", node != NULL ? node : "this node", sentence);
    (void)fflush(stdout);
    exit(1);
}

static bool take_name(const char *text, char name[static NAME_BYTES])
{
    uint64_t job, step, rank;
    const char *const task = getenv("SLURM_PROCID");
    if (!take_number(&text, UINT32_MAX, &job) || *text++ != '.' ||
        !parse_number(text, UINT32_MAX, &step) || task == NULL ||
        !parse_number(task, UINT32_MAX, &rank))
        return false;
    node_name(name, (uint32_t)job, (uint32_t)step, (uint32_t)rank);
    return true;
}

/* Waits until this process no longer has the reservation. When the broker stops, the reservation
 * stays, and the next broker restores it. */
static void hold(void)
{
    const pid_t self = getpid();
    struct pollfd news = {.fd = rtf_fd(&reservation.connection), .events = POLLIN};
    while (rtf_spec_get_thread(&reservation.spec) == self) {
        if (poll(&news, 1, -1) > 0)
            (void)rtf_process(&reservation.connection);
    }
}

int main(int argc, char **argv)
{
    struct request request;
    char why[REQUEST_WHY], name[NAME_BYTES], spool[NODE_SPOOL];
    /* Ends this process with its slurmstepd, because nothing else of Slurm would end it. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc != 4) {
        fprintf(stderr, "usage: rtf-slurm-hold OPTION JOB.STEP SPOOL\n");
        return 64;
    }
    if (!request_parse(argv[1], &request, why))
        refuse(why);
    if (!take_name(argv[2], name))
        refuse("Slurm has not said which task this is");
    if (!node_spool(spool, argv[3], getenv("SLURMD_NODENAME")))
        refuse("the path of the spool is too long");
    if (!node_connect(&reservation, *spool != '\0' ? spool : NULL) ||
        !node_reserve(&reservation, name, &request))
        refuse(reservation.why);
    puts(HOLD_HELD);
    (void)fflush(stdout);
    hold();
    return 0;
}
