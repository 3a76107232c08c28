/* spank_rtf.so: srun --rtf=RUNTIME/PERIOD... runs each task of a step under a reservation on the
 * task's node. rtf-slurm(7) is the manual.
 *
 * slurmctld decides where and when a step runs. The broker of each node decides whether the node
 * has the CPU time. The task itself asks this broker, as the user, just before it becomes the
 * program. So no part of Slurm needs a right in rtf.
 *
 * A step on several nodes is reserved on all nodes or on none, before any task starts (gang.h). */
#include <errno.h>
#include <slurm/spank.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "gang.h"
#include "node.h"
#include "request.h"
#include "srun-end.h"
#include "step-layout.h"

SPANK_PLUGIN(rtf, 1)

#ifndef HOLDER
#define HOLDER "/usr/libexec/rtf/rtf-slurm-hold"
#endif

static struct {
    const char *option; /* the value of --rtf; NULL: not stated */
    struct request request;
    bool loose, verbose;
    /* arguments in plugstack.conf */
    const char *spool, *holder;
} plugin = {.spool = "", .holder = HOLDER};

static int take_request(int value, const char *text, int remote)
{
    char why[REQUEST_WHY];
    (void)value;
    (void)remote;
    if (!request_parse(text, &plugin.request, why)) {
        slurm_error("rtf: %s", why);
        return -1;
    }
    plugin.option = strdup(text);
    return plugin.option != NULL ? 0 : -1;
}

static int take_loose(int value, const char *text, int remote)
{
    (void)value;
    (void)text;
    (void)remote;
    plugin.loose = true;
    return 0;
}

static int take_verbose(int value, const char *text, int remote)
{
    (void)value;
    (void)text;
    (void)remote;
    plugin.verbose = true;
    return 0;
}

static struct spank_option options[] = {
    {"rtf", "RUNTIME/PERIOD[/DEADLINE][,plugin=NAME][,priority=N][,desired=TIME]",
     "reserve CPU time on the node of each task, such as 2ms/20ms (rtf-slurm(7))", 1, 0,
     take_request},
    {"rtf-loose", NULL, "reserve on each node by itself, not on all nodes or none", 0, 0,
     take_loose},
    {"rtf-verbose", NULL, "say what each task has got", 0, 0, take_verbose},
    SPANK_OPTIONS_TABLE_END};

static void take_argument(const char *argument)
{
    if (strncmp(argument, "spool=", 6) == 0)
        plugin.spool = argument + 6;
    else if (strncmp(argument, "holder=", 7) == 0)
        plugin.holder = argument + 7;
    else
        slurm_error("rtf: plugstack.conf has '%s': only spool=PATH and holder=PATH are known",
                    argument);
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        take_argument(argv[i]);
    for (struct spank_option *option = options; option->name != NULL; option++)
        if (spank_option_register(spank, option) != ESPANK_SUCCESS)
            return -1;
    return 0;
}

/* ---- in srun ---- */

static void tell(const char *sentence)
{
    slurm_error("rtf: %s", sentence);
}

static bool know_step(spank_t spank, struct gang *gang, uint32_t *nodes)
{
    return spank_get_item(spank, S_JOB_ID, &gang->job) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_JOB_STEPID, &gang->step) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_JOB_NNODES, nodes) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_JOB_TOTAL_TASK_COUNT, &gang->tasks) == ESPANK_SUCCESS;
}

static bool reserve_on_all(struct gang *gang)
{
    char *const nodes = step_layout_nodes(gang->job, gang->step, gang->tasks);
    if (nodes == NULL) {
        tell("slurmctld does not say which node has which task");
        return false;
    }
    gang->nodes = nodes;
    const bool reserved = gang_reserve(gang, tell);
    free(nodes);
    return reserved;
}

/* Slurm calls this in srun, after the allocation and before any task starts. */
int slurm_spank_local_user_init(spank_t spank, int argc, char **argv)
{
    uint32_t nodes;
    struct gang gang = {.option = plugin.option, .holder = plugin.holder, .spool = plugin.spool};
    (void)argc;
    (void)argv;
    if (plugin.option == NULL)
        return 0;
    if (!know_step(spank, &gang, &nodes)) {
        tell("srun does not say how many nodes and tasks the step has");
        return -1;
    }
    if (nodes > 1 && !plugin.loose && !reserve_on_all(&gang))
        return -1;
    if (!srun_end_watch(gang.job, gang.step))
        tell(strerror(errno));
    return 0;
}

int slurm_spank_exit(spank_t spank, int argc, char **argv)
{
    (void)spank;
    (void)argc;
    (void)argv;
    srun_end_forget();
    gang_end();
    return 0;
}

/* ---- in the task ---- */

struct task {
    uint32_t job, step, rank, nodes;
    char node[256];
};

static bool know_task(spank_t spank, struct task *task)
{
    if (spank_getenv(spank, "SLURMD_NODENAME", task->node, sizeof task->node) != ESPANK_SUCCESS)
        snprintf(task->node, sizeof task->node, "this node");
    return spank_get_item(spank, S_JOB_ID, &task->job) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_JOB_STEPID, &task->step) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_JOB_NNODES, &task->nodes) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_TASK_GLOBAL_ID, &task->rank) == ESPANK_SUCCESS;
}

/* False: this is the script of a batch job or the extern step. Both run beside the steps, and need
 * no reservation. */
static bool is_a_step(const struct task *task)
{
    return task->step < 0xfffffff0U;
}

static bool reserve(const struct task *task, struct node_reservation *reservation)
{
    char name[NAME_BYTES];
    node_name(name, task->job, task->step, task->rank);
    if (task->nodes < 2 || plugin.loose)
        return node_reserve(reservation, name, &plugin.request);
    const enum rtf_result result = node_take_over(reservation, name);
    if (result == RTF_GONE)
        snprintf(reservation->why, sizeof reservation->why,
                 "srun has prepared no reservation here for task %u", (unsigned)task->rank);
    return result == RTF_OK;
}

static void tell_grant(const struct task *task, const struct rtf_spec *spec)
{
    slurm_spank_log("rtf: %s: %s: %s grants %lluus in each %lluus", task->node,
                    rtf_spec_get_name(spec), rtf_spec_get_plugin(spec),
                    (unsigned long long)rtf_spec_get_accepted_runtime(spec),
                    (unsigned long long)rtf_spec_get_period(spec));
}

static void publish(spank_t spank, const struct rtf_spec *spec)
{
    char runtime[32];
    snprintf(runtime, sizeof runtime, "%llu",
             (unsigned long long)rtf_spec_get_accepted_runtime(spec));
    (void)spank_setenv(spank, "RTF_ACCEPTED_RUNTIME", runtime, 1);
}

int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
    static struct node_reservation reservation = {.connection = RTF_CONNECTION_INIT,
                                                  .spec = RTF_SPEC_INIT};
    struct task task;
    char spool[NODE_SPOOL];
    (void)argc;
    (void)argv;
    if (plugin.option == NULL)
        return 0;
    if (!know_task(spank, &task)) {
        slurm_error("rtf: slurmstepd does not say which task this is");
        return -1;
    }
    if (!is_a_step(&task))
        return 0;
    /* If slurmstepd is killed, Slurm forgets its tasks. Without this signal they keep running and
     * keep their reservations. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!node_spool(spool, plugin.spool, task.node) ||
        !node_connect(&reservation, *spool != '\0' ? spool : NULL) ||
        !reserve(&task, &reservation)) {
        slurm_error("rtf: %s: %s", task.node, reservation.why);
        return -1;
    }
    if (plugin.verbose)
        tell_grant(&task, &reservation.spec);
    publish(spank, &reservation.spec);
    node_leave(&reservation);
    return 0;
}
